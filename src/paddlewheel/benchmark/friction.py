"""The viscous solve alone: iterations, set-up and solve for liquids and grids, from hardly viscous to stiff."""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import checked_cells, in_process, load, machine, remarks, triad_bandwidth
from paddlewheel.kernel import compile_seconds
from paddlewheel.measure import measure
from paddlewheel.physics.viscosity import viscous
from paddlewheel.types import SIDES, Faces, Grid

VISCOUS_CELLS = (32, 64, 128)
KAPPAS = (1.0, 1e2, 1e4, 1e6)  # ν Δt/h²
LIQUIDS = ("dam", "blob")
_REPETITIONS = 3  # of each solve; the fastest counts


class ViscousCase(NamedTuple):
    """A liquid on a grid, solved to a tolerance."""

    liquid: str
    cells: int
    tolerance: float = 1e-4


def viscous_ladder(cells: Iterable[int] = VISCOUS_CELLS, tolerance: float = 1e-4) -> list[ViscousCase]:
    """Both liquids on every grid."""
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance={tolerance!r}: expected a number between 0 and 1")
    return [ViscousCase(liquid, n, tolerance) for liquid in LIQUIDS for n in checked_cells(cells)]


def viscosity(cases: list[ViscousCase], progress: Callable[[list], Iterable] = iter) -> dict:
    """Run cases, each in its own process, and gather what docs/benchmarks.md describes."""
    before = load()
    rows = [
        row
        for case in progress(cases)
        for row in in_process(run_viscous, *case, name=f"{case.liquid} {case.cells}³")["rows"]
    ]
    return {"benchmark": "viscosity", "machine": machine(rows, before), "rows": rows}


def run_viscous(liquid: str, cells: int, tolerance: float) -> dict:
    """The rows of one case: one for each κ."""
    grid = Grid((cells,) * 3, 1 / cells)
    phi = _level_set(liquid, grid)
    boundary = measure(grid, [])
    random = np.random.default_rng(1)
    velocity = Faces(*(random.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    walls = dict.fromkeys(SIDES, "no-slip")
    rows = []
    for kappa in KAPPAS:
        best = None
        for _ in range(_REPETITIONS):
            began = time.perf_counter()
            rubbed = viscous(
                grid, velocity, phi, boundary, 1.0,
                density=1.0, viscosity=kappa * grid.h**2, walls=walls, tolerance=tolerance,
            )  # fmt: skip
            whole, info = time.perf_counter() - began, rubbed.info
            if best is None or whole < sum(best):
                best = whole - info.seconds, info.seconds
        rows.append(
            {
                "liquid": liquid,
                "cells": cells,
                "kappa": kappa,
                "tolerance": tolerance,
                "unknowns": info.unknowns,
                "iterations": info.iterations,
                "residual": info.residual,
                "converged": info.converged,
                "setup_seconds": best[0],
                "solve_seconds": best[1],
                "compile_seconds": compile_seconds(),
                "triad": triad_bandwidth(),
            }
        )
    return {"rows": rows}


def _level_set(liquid, grid) -> np.ndarray:
    """A column of liquid in a corner of the box, or a free ball in it."""
    x, y, z = np.moveaxis(grid.cell_points(), -1, 0)
    if liquid == "dam":
        phi = np.maximum(x - 0.4, y - 0.57 - 0.03 * np.sin(7 * z))
    else:
        phi = np.sqrt((x - 0.51) ** 2 + (y - 0.47) ** 2 + (z - 0.5) ** 2) - 0.24
    return phi.astype(np.float32)


def viscosity_table(result: dict) -> Table:
    """One row per liquid, grid and κ."""
    table = Table(
        title="the viscous solve", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("liquid")
    for heading in ("cells", "ν Δt/h²", "unknowns", "iterations", "set-up ms", "solve ms", "residual"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result["rows"]:
        table.add_row(
            row["liquid"],
            f"{row['cells']}³",
            f"{row['kappa']:g}",
            f"{row['unknowns']:,}".replace(",", " "),
            f"{row['iterations']}" + ("" if row["converged"] else " (not converged)"),
            f"{1e3 * row['setup_seconds']:.1f}",
            f"{1e3 * row['solve_seconds']:.1f}",
            f"{row['residual']:.1e}",
        )
    return table


def viscosity_summary(result: dict) -> list[str]:
    """What the machine is, in words."""
    return remarks(result)
