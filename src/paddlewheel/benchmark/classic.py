"""Thirty years of pressure solves: sweeps of relaxation (FM96) against the size of the grid, beside other solvers."""

import time
from collections.abc import Callable, Iterable

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import checked_cells, in_process, load, machine, remarks, triad_bandwidth
from paddlewheel.kernel import compile_seconds
from paddlewheel.measure import measure
from paddlewheel.physics.pressure import project
from paddlewheel.physics.relaxation import relax
from paddlewheel.types import Boundary, Faces, Grid

CLASSIC_CELLS = (16, 24, 32, 48, 64)
RELAXATIONS = {"relaxation, β₀ = 1": 1.0, "relaxation, β₀ = 1.7": 1.7, "relaxation, best β₀": None}
SOLVERS = {"incomplete Cholesky": "mic", "multigrid": "multigrid"}
WAYS = (*RELAXATIONS, *SOLVERS)
TOLERANCE = 1e-4
STEP = 0.01  # s
_REPETITIONS = 2  # of each way; the faster one counts


def classic(cells: Iterable[int] = CLASSIC_CELLS, progress: Callable[[list], Iterable] = iter) -> dict:
    """Find the pressure on every grid in all WAYS, each grid in a process of its own."""
    before = load()
    rows = [in_process(run_classic, n, name=f"classic {n}³") for n in progress(list(checked_cells(cells)))]
    return {"benchmark": "classic", "tolerance": TOLERANCE, "machine": machine(rows, before), "rows": rows}


def run_classic(cells: int) -> dict:
    """One row: sweeps or iterations, and seconds, of each way."""
    _solved(8)  # compiles, or loads, every kernel
    compiling, found = compile_seconds(), _solved(cells, _REPETITIONS)
    return {
        "cells": cells,
        "unknowns": found["multigrid"][2],
        "iterations": {way: found[way][0] for way in WAYS},
        "seconds": {way: found[way][1] for way in WAYS},
        "compile_seconds": compiling,
        "triad": triad_bandwidth(),
    }


def best(cells: int) -> float:
    """The β₀ that takes the fewest sweeps in a cube of n³ cells,  2/(1 + sin(π/n))  (Young 1954)."""
    return 2 / (1 + np.sin(np.pi / cells))


def _solved(cells: int, repetitions: int = 1) -> dict[str, tuple[int, float, int]]:
    """Iterations, seconds and unknowns of each way."""
    grid, velocity, full, surface, boundary = tank(cells)
    phi = np.where(full, -grid.h, grid.h).astype(np.float32)
    phi[surface] = 1e-3 * grid.h  # so that the pressure is that of the air at the centres of surface cells
    found = {}
    for way in WAYS:
        for _ in range(repetitions):
            began = time.perf_counter()
            if way in SOLVERS:
                info = project(grid, velocity, phi, boundary, STEP, solver=SOLVERS[way], tolerance=TOLERANCE).info
            else:
                beta = RELAXATIONS[way] or best(cells)
                info = relax(
                    grid, velocity, full, surface, boundary, STEP, tolerance=TOLERANCE, over_relaxation=beta
                ).info
            if not info.converged:
                raise ValueError(f"bench classic: {way} on {cells}³ cells did not converge in {info.iterations}")
            seconds = min(time.perf_counter() - began, found.get(way, (0, np.inf))[1])
            found[way] = info.iterations, seconds, info.unknowns
    return found


def tank(cells: int) -> tuple[Grid, Faces, np.ndarray, np.ndarray, Boundary]:
    """A cube of one metre, half full of water that has fallen for a step and turns, and what is in its cells.

    The velocity is the same function of place on every grid.
    """
    grid = Grid((cells,) * 3, 1 / cells)
    boundary = measure(grid, [], weights="voxel")
    full, surface = np.zeros(grid.shape, bool), np.zeros(grid.shape, bool)
    full[:, : cells // 2], surface[:, cells // 2] = True, True
    velocity = []
    for a in range(3):
        x, y, z = np.moveaxis(grid.face_points(a) - 0.5, -1, 0)
        u = (-y + z, x - z, y - x)[a] - 9.81 * STEP * (a == 1)
        velocity.append(np.where(boundary.open[a] > 0, u, 0.0).astype(np.float32))
    return grid, Faces(*velocity), full, surface, boundary


def classic_table(result: dict) -> Table:
    """One row per grid."""
    table = Table(
        title=f"sweeps or iterations to {result['tolerance']:g}, and milliseconds", title_justify="left",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
    table.add_column("cells")
    table.add_column("unknowns", justify="right")
    for way in WAYS:
        table.add_column(way, justify="right")
        table.add_column("ms", justify="right")
    for row in result["rows"]:
        figures = (f for way in WAYS for f in (str(row["iterations"][way]), f"{1e3 * row['seconds'][way]:.1f}"))
        table.add_row(f"{row['cells']}³", f"{row['unknowns']:,}".replace(",", " "), *figures)
    return table


def classic_summary(result: dict) -> list[str]:
    """How the sweeps grow with the grid, and what the machine is, in words."""
    lines = []
    n = np.log([row["cells"] for row in result["rows"]])
    for way in WAYS if len(n) > 1 else ():
        order = np.polyfit(n, np.log([row["iterations"][way] for row in result["rows"]]), 1)[0]
        lines.append(f"{way}: as n to the power of {order:.2f}")
    return lines + remarks(result)
