"""The pressure solve on a ladder of grids, and the first use after an install."""

import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import (
    checked_cells,
    forget_peak,
    in_process,
    load,
    machine,
    peak_bytes,
    remarks,
    triad_bandwidth,
)
from paddlewheel.items import Solid
from paddlewheel.kernel import compile_seconds
from paddlewheel.measure import measure
from paddlewheel.method import SOLVERS
from paddlewheel.physics.pressure import assemble, project
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import HalfSpace, Sphere
from paddlewheel.solve.packed import FIRST, LAST, PLAIN, pack
from paddlewheel.types import Faces, Grid

CELLS = (32, 64, 96, 128, 160, 192)
MOST_MIC = 128  # cells: above, MIC(0) takes minutes and says nothing new
STAGES = ("assembly", "set-up", "solve", "update")
STARTUP_CELLS = 32

LEVEL = 0.3935  # of the surface [m]: 459 thousand unknowns at 128³
STEP = 0.01  # [s]

# Bytes an unknown moves per iteration, each array of a pass counted once, as the triad counts its own; the passes are
# listed in docs/benchmarks.md.
_HALF_SWEEP = 8  # half the cells: x, b, 1/diagonal and the other colour's x,
_COUPLINGS = 12  # and in rows that are not plain the couplings of both colours
_CONJUGATE_GRADIENTS = 36 + 12 + 20 + 52  # A d, r·z, direction, advance
RESIDUAL_TRAFFIC = 36 + 28  # A x and b − A x: before the first iteration and after the last


def traffic(solver: str, plain: float) -> float:
    """Bytes an unknown moves per iteration, if a part `plain` of the unknowns is in plain rows."""
    if solver == "mic":  # forward and backward substitution
        return 28 + 24 + _CONJUGATE_GRADIENTS
    # half a sweep from zero and eleven more; restrict and correct; 460 bytes for each of N/7 coarse nodes
    sweeps = 6 + 11 * (_HALF_SWEEP + (1 - plain) * _COUPLINGS)
    return sweeps + 22 + 6 + 460 / 7 + _CONJUGATE_GRADIENTS


_ENOUGH_SECONDS, _FEWEST, _MOST = 3.0, 3, 9  # repetitions of a case
_WARM = 4  # that are not timed: until memory that one frees is found again by the next, as from step to step


class Case(NamedTuple):
    """One row of the pressure benchmark."""

    cells: int
    solver: str
    tolerance: float

    @property
    def name(self) -> str:
        return f"{self.solver} {self.cells}³"

    @property
    def work(self) -> float:
        """About how long it takes, in units of no meaning: to start, and to repeat the solve."""
        growth = self.cells / 32 if self.solver == "mic" else 1
        return 1 + growth * (self.cells / 100) ** 3


def ladder(cells: Iterable[int] = CELLS, solver: str | None = None, tolerance: float = 1e-6) -> list[Case]:
    """The cases of a benchmark: one solver on every grid, or both, MIC(0) on the smaller ones."""
    cells = checked_cells(cells)
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance={tolerance!r}: expected a number between 0 and 1")
    if solver is not None:
        argument.choice("bench", "solver", solver, SOLVERS)
        return [Case(n, solver, tolerance) for n in cells]
    mic = [Case(n, "mic", tolerance) for n in cells if n <= MOST_MIC]
    return [Case(n, "multigrid", tolerance) for n in cells] + mic


def pressure(cases: list[Case], progress: Callable[[list], Iterable] = iter) -> dict:
    """Run the cases, each in its own process, and gather what docs/benchmarks.md describes.

    `progress(cases)` yields the cases one by one and may show how far it is.
    """
    before = load()
    rows = [in_process(run_case, *case) for case in progress(cases)]
    return {
        "benchmark": "pressure",
        "tolerance": cases[0].tolerance,
        "machine": machine(rows, before),
        "rows": rows,
        "ratios": _ratios(rows),
    }


def run_case(cells: int, solver: str, tolerance: float) -> dict:
    """One row: warm up, measure memory once, then time until it is steady."""
    _project(16, solver, tolerance)  # compiles, or loads, every kernel
    compiling = compile_seconds()
    case = scene(cells)
    measured = peak_bytes()
    forget_peak()
    held = peak_bytes()
    projection = project(*case, solver=solver, tolerance=tolerance)
    grown = peak_bytes() - held

    for _ in range(_WARM):
        project(*case, solver=solver, tolerance=tolerance)
    rounds, began = [], time.perf_counter()
    while len(rounds) < _FEWEST or (len(rounds) < _MOST and time.perf_counter() - began < _ENOUGH_SECONDS):
        rounds.append(project(*case, solver=solver, tolerance=tolerance).seconds)
    seconds = {stage: float(np.median([r[stage] for r in rounds])) for stage in STAGES}
    seconds["total"] = float(np.median([sum(r.values()) for r in rounds]))
    fastest = float(min(sum(r.values()) for r in rounds))

    peak = max(measured, peak_bytes())  # before the triad takes its own memory
    info, triad = projection.info, triad_bandwidth()
    moved = info.unknowns * (info.iterations * traffic(solver, _plain_part(case)) + 2 * RESIDUAL_TRAFFIC)
    return {
        "cells": cells,
        "solver": solver,
        "unknowns": info.unknowns,
        "seconds": seconds,
        "fastest": fastest,
        "iterations": info.iterations,
        "residual": _true_residual(case, projection.pressure),
        "reported_residual": info.residual,
        "converged": info.converged,
        "bytes_per_cell": grown / cells**3,
        "peak_bytes": peak,
        "bytes_moved": moved,
        "triad": triad,
        "bandwidth_fraction": moved / seconds["solve"] / triad,
        "repetitions": len(rounds),
        "compile_seconds": compiling,
    }


def scene(cells: int) -> tuple:
    """The cut-cell scene as `project` takes it: a sphere that breaks a wavy surface over a sloping floor."""
    grid = Grid((cells, cells, cells), 1.0 / cells)
    solids = [Solid(Sphere((0.5, 0.3, 0.5), 0.2)), Solid(HalfSpace((0, 0.08, 0), (-0.15, 1, 0)))]
    x, y, z = ((np.arange(cells) + 0.5) * grid.h for _ in range(3))
    phi = y[:, None] - LEVEL - 0.03 * np.sin(6 * x)[:, None, None] * np.cos(4 * z)
    velocity = Faces(*(np.zeros(grid.face_shape(a), np.float32) for a in range(3)))
    velocity.x[:] = (0.3 * np.sin(7 * y))[:, None]
    velocity.y[:] = -9.81 * STEP + (0.2 * np.cos(5 * x))[:, None, None]
    velocity.z[:] = (0.1 * np.sin(4 * x))[:, None, None]
    return grid, velocity, phi.astype(np.float32), measure(grid, solids), STEP


def startup(progress: Callable[[list], Iterable] = iter) -> dict:
    """Seconds of a process that must compile every kernel for one 32³ projection, and of the one after it.

    With the kernels that are on disk then, and the size of their machine code [bytes], which no other program changes.
    """
    result = {"benchmark": "startup", "machine": machine()}
    with tempfile.TemporaryDirectory(prefix="paddlewheel-") as cache:
        for name in progress(["first", "second"]):
            began = time.perf_counter()
            inside = in_process(first_use, environment={"NUMBA_CACHE_DIR": cache})
            code = [path.stat().st_size for path in Path(cache).rglob("*.nbc")]
            found = {"seconds": time.perf_counter() - began, "kernels": len(code), "code_bytes": sum(code)}
            result[name] = found | inside
    return result


def first_use() -> dict:
    """What a new process does: measure and project at 32³."""
    began = time.perf_counter()
    info = _project(STARTUP_CELLS, "multigrid", 1e-6).info
    return {
        "solve_seconds": time.perf_counter() - began,
        "compile_seconds": compile_seconds(),
        "processor_seconds": time.process_time(),
        "converged": info.converged,
    }


def pressure_table(result: dict) -> Table:
    """One row per case."""
    title = f"one projection to {result['tolerance']:g}, milliseconds"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    times = (*STAGES, "total")
    for heading in ("cells", "solver", "unknowns", *times, "iterations", "residual", "B/cell", "peak MB", "of triad"):
        table.add_column(heading, justify="left" if heading == "solver" else "right", no_wrap=True)
    for row in result["rows"]:
        table.add_row(
            f"{row['cells']}³",
            row["solver"],
            f"{row['unknowns']:,}".replace(",", " "),
            *(f"{1e3 * row['seconds'][stage]:.1f}" for stage in times),
            ("" if row["converged"] else "! ") + str(row["iterations"]),
            f"{row['residual']:.1e}",
            f"{row['bytes_per_cell']:.0f}",
            f"{row['peak_bytes'] / 1e6:.0f}",
            f"{row['bandwidth_fraction']:.0%}",
        )
    return table


def pressure_summary(result: dict) -> list[str]:
    """The ratios in words, and what the machine is."""
    ratios, lines = result["ratios"], []
    for cells, ratio in ratios["mic_over_multigrid"].items():
        lines.append(f"{cells}³: multigrid is {ratio:.1f} times as fast as MIC(0)")
    growth = ratios["time_per_unknown_192_over_64"]
    if growth is not None:
        lines.append(f"time per unknown at 192³: {growth:.2f} times that at 64³")
    lines += remarks(result)
    if not all(row["converged"] for row in result["rows"]):
        lines.append("! did not converge")
    return lines


def startup_table(result: dict) -> Table:
    """Both processes."""
    title = f"from start to a solved {STARTUP_CELLS}³ projection"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("process", "seconds", "of it compiling", "kernels on disk", "their MB"):
        table.add_column(heading, justify="left" if heading == "process" else "right")
    for name, words in (("first", "first, no kernel compiled yet"), ("second", "second, kernels on disk")):
        seconds = (f"{result[name][what]:.2f}" for what in ("seconds", "compile_seconds"))
        table.add_row(words, *seconds, str(result[name]["kernels"]), f"{result[name]['code_bytes'] / 1e6:.1f}")
    return table


def _project(cells, solver, tolerance):
    return project(*scene(cells), solver=solver, tolerance=tolerance)


def _true_residual(case, pressure) -> float:
    """max|b − A p| / max|b| in float64, from the system as it was assembled."""
    system = assemble(*case)
    r = system.rhs - system.extra * pressure
    for a, c in enumerate(system.coupling):
        inner = tuple(slice(1, -1) if axis == a else slice(None) for axis in range(3))
        flux = c[inner].astype(np.float64) * np.diff(pressure, axis=a)
        low, high = (tuple(s if axis == a else slice(None) for axis in range(3)) for s in (slice(-1), slice(1, None)))
        r[low] += flux
        r[high] -= flux
    return float(np.abs(r).max() / np.abs(system.rhs).max())


def _plain_part(case) -> float:
    """Part of the half indices that are in plain rows, where smoothing reads no couplings."""
    rows = pack(assemble(*case)).layout.rows
    lengths = rows[:, LAST] - rows[:, FIRST]
    return float(lengths[rows[:, PLAIN] == 1].sum() / lengths.sum())


def _ratios(rows) -> dict:
    total = {(row["solver"], row["cells"]): row["seconds"]["total"] for row in rows}
    unknowns = {row["cells"]: row["unknowns"] for row in rows}
    both = [n for n in unknowns if ("mic", n) in total and ("multigrid", n) in total]
    growth = None
    if ("multigrid", 64) in total and ("multigrid", 192) in total:
        growth = total["multigrid", 192] / unknowns[192] / (total["multigrid", 64] / unknowns[64])
    return {
        "mic_over_multigrid": {str(n): total["mic", n] / total["multigrid", n] for n in both},
        "time_per_unknown_192_over_64": growth,
    }
