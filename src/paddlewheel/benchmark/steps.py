"""The time step of a liquid on a ladder of grids."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import (
    checked_cells,
    checked_count,
    forget_peak,
    in_process,
    load,
    machine,
    peak_bytes,
    remarks,
    triad_bandwidth,
)
from paddlewheel.benchmark.projection import RESIDUAL_TRAFFIC, traffic
from paddlewheel.items import Liquid
from paddlewheel.kernel import compile_seconds
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box
from paddlewheel.types import StepReport

DAM_CELLS, SPHERE_CELLS = (32, 64, 96, 128, 192), (64, 128)
STEPS = 10  # that are timed
WARM_STEPS = 5  # before them, until memory that one frees is found again by the next
WARM_FRAMES = 3  # before frames that are timed
MOST_GROWTH = 1.25  # of the time per cell and step from 64³ to 192³: what a step should keep to
_SMALL = 16  # cells of the grid on which kernels are compiled

# Bytes of a value, the three components of a vector being one: float32, but the pressure
_POSITION = _VELOCITY = _FACES = 12
_GRADIENT = 36
_SCALAR = _FIRST = 4
_PRESSURE = 8


def step_traffic(advection: str) -> tuple[int, int]:
    """Bytes a step must move for each particle, and for each liquid cell beside the iterations of its solves.

    Each pass reads what it needs once and writes what it gives once, as the triad does, in liquid cells only, and
    whatever it needs in between comes from the cache. No pass leaves anything in the cache for the next. The passes
    are listed in docs/benchmarks.md.
    """
    on_grid = advection == "semi-lagrangian"
    carried = _VELOCITY + (_GRADIENT if advection == "apic" else 0)
    particle = (
        2 * _POSITION  # move
        + 2 * (_POSITION + carried)  # sort
        + _POSITION  # surface and density
        + (0 if on_grid else _POSITION + carried)  # particles to faces
        + _POSITION + carried + (_VELOCITY if advection == "flip" else 0)  # faces to particles
    )  # fmt: skip
    cell = (
        2 * _FACES  # move: velocity, shift
        + _FIRST  # sort: where the particles of a cell begin
        + _FIRST + 2 * _SCALAR  # surface and density: φ, excess
        + (2 * _FACES if on_grid else _FIRST + _FACES)  # velocity looked up on the grid, or from particles
        + 2 * _FACES + _SCALAR  # pressure, from velocity, w, φ
        + _FACES + _PRESSURE  # to velocity, p
        + 2 * _FACES  # faces to particles: velocity before and after
        + 2 * _FACES + 2 * _SCALAR  # density: from velocity, φ, excess to shift
        + 2 * _FACES + _SCALAR  # report: velocity, w, φ
    )  # fmt: skip
    return particle, cell


class LiquidCase(NamedTuple):
    """One row of the liquid benchmark."""

    scene_name: str
    cells: int
    scene: Scene
    steps: int

    @property
    def name(self) -> str:
        return f"{self.scene_name} {self.cells}³"

    @property
    def work(self) -> float:
        """About how long it takes, in units of no meaning: to start, and to repeat the step."""
        return 1 + (WARM_STEPS + self.steps) * (self.cells / 100) ** 3


def liquid_ladder(
    name: str, scene: Callable[[int], Scene], cells: Iterable[int] = DAM_CELLS, steps: int = STEPS
) -> list[LiquidCase]:
    """The cases of a benchmark: the scene called `name`, scene(n), on every grid of n cells along a side."""
    checked_count("steps", steps)
    return [LiquidCase(name, n, scene(n), steps) for n in checked_cells(cells)]


def dam_break(cells: int) -> Scene:
    """A column of water in a corner of a unit cube, 0.24 of its volume: 4 million particles at 128³."""
    return Scene(size=(1, 1, 1), cells=cells, items=[Liquid(Box((0, 0, 0), (0.31, 0.775, 1)))])


def liquid(cases: list[LiquidCase], progress: Callable[[list], Iterable] = iter) -> dict:
    """Run the cases, each in its own process, and gather what docs/benchmarks.md describes.

    `progress(cases)` yields the cases one by one and may show how far it is.
    """
    before, rows = load(), []
    for case in progress(cases):
        if not rows:
            compiling = in_process(compile_kernels, case.scene, name=case.name)
        rows.append({"cells": case.cells} | in_process(run_steps, case.scene, case.steps, name=case.name) | compiling)
    return {
        "benchmark": "liquid",
        "scene": cases[0].scene_name,
        "advection": cases[0].scene.method.advection,
        "tolerance": cases[0].scene.method.tolerance,
        "machine": machine(rows, before),
        "rows": rows,
        "ratios": {"time_per_cell_over_64": _growth(rows)},
    }


def compile_kernels(scene: Scene) -> dict:
    """Take two steps on a small grid, which compiles every kernel, or loads it.

    In a process of its own, or the memory that the compiler frees would later be that of the step, and not count.
    """
    small = Simulation(replace(scene, cells=_SMALL))
    for _ in range(2):
        small.step()
    return {"compile_seconds": compile_seconds()}


def run_steps(scene: Scene, steps: int) -> dict:
    """Most of a row: steps of the largest size allowed, timed after a few that are not."""
    compile_kernels(scene)
    loaded = peak_bytes()
    forget_peak()
    held = peak_bytes()
    simulation = Simulation(scene)
    for _ in range(WARM_STEPS):
        simulation.step()
    began, reports, walls = simulation.time, [], []
    for _ in range(steps):
        start = time.perf_counter()
        reports.append(simulation.step())
        walls.append(time.perf_counter() - start)
    peak = peak_bytes()  # before the triad takes its own memory

    particles, cells = len(simulation.state.particles.position), int(np.prod(scene.grid.shape))
    seconds, triad = medians(reports, walls), triad_bandwidth()
    moved = float(np.median([_bytes_moved(scene, particles, report) for report in reports]))
    return {
        "unknowns": round(np.median([report.solves[0].unknowns for report in reports])),
        "particles": particles,
        "seconds": seconds,
        "fastest": min(walls),
        "iterations": float(np.median([report.solves[0].iterations for report in reports])),
        "particles_per_second": particles / seconds["total"],
        "nanoseconds_per_cell": 1e9 * seconds["total"] / cells,
        "peak_bytes": max(loaded, peak),
        "grown_bytes": peak - held,
        "bytes_per_particle": (peak - held) / particles,
        "bytes_moved": moved,
        "triad": triad,
        "bandwidth_fraction": moved / seconds["total"] / triad,
        "steps": steps,
        "simulated_seconds": simulation.time - began,
    }


def liquid_table(result: dict) -> Table:
    """One row per case."""
    title = f"one step of {result['scene']}, {result['advection']}, to {result['tolerance']:g}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    headings = ("cells", "particles", "unknowns", "iterations", "ms/step", "best", "ns/cell", "M particles/s")
    for heading in (*headings, "B/particle", "peak MB", "grown MB", "of triad"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result["rows"]:
        table.add_row(
            f"{row['cells']}³",
            f"{row['particles']:,}".replace(",", " "),
            f"{row['unknowns']:,}".replace(",", " "),
            f"{row['iterations']:g}",
            f"{1e3 * row['seconds']['total']:.1f}",
            f"{1e3 * row['fastest']:.1f}",
            f"{row['nanoseconds_per_cell']:.0f}",
            f"{1e-6 * row['particles_per_second']:.2f}",
            f"{row['bytes_per_particle']:.0f}",
            f"{row['peak_bytes'] / 1e6:.0f}",
            f"{row['grown_bytes'] / 1e6:.0f}",
            f"{row['bandwidth_fraction']:.0%}",
        )
    return table


def liquid_stages_table(result: dict) -> Table:
    """One row per stage, one column per case."""
    rows = result["rows"]
    table = Table(
        title="milliseconds per stage", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("stage")
    for row in rows:
        table.add_column(f"{row['cells']}³", justify="right", no_wrap=True)
    for stage in rows[0]["seconds"]:
        table.add_row(stage, *(f"{1e3 * row['seconds'][stage]:.1f}" for row in rows))
    return table


def liquid_summary(result: dict) -> list[str]:
    """How the time grows with the grid, in words, and what the machine is."""
    lines = []
    growth = result["ratios"]["time_per_cell_over_64"]
    if growth:
        largest = max(growth, key=int)
        bound = f"; it should be at most {MOST_GROWTH}" if largest == "192" and result["scene"] == "dam-break" else ""
        lines.append(f"time per cell and step at {largest}³: {growth[largest]:.2f} times that at 64³{bound}")
    return lines + remarks(result)


def timed_frames(simulation: Simulation, frames: int) -> tuple[list[StepReport], list[float]]:
    """Reports of frames and the time each took by the clock on the wall [s], after a few that are not timed."""
    for _ in simulation.run(WARM_FRAMES):
        pass
    reports, walls, start = [], [], time.perf_counter()
    for frame in simulation.run(frames):
        walls.append(time.perf_counter() - start)
        reports.append(frame.report)
        start = time.perf_counter()
    return reports, walls


def medians(reports: list[StepReport], walls: list[float]) -> dict[str, float]:
    """Median seconds of each stage, of what is in no stage, and of the whole step."""
    stages = {stage: None for report in reports for stage in report.seconds}  # in their order
    rounds = [report.seconds for report in reports]
    seconds = {stage: float(np.median([r.get(stage, 0.0) for r in rounds])) for stage in stages}
    outside = [wall - sum(r.values()) for wall, r in zip(walls, rounds, strict=True)]
    return seconds | {"other": float(np.median(outside)), "total": float(np.median(walls))}


def _bytes_moved(scene: Scene, particles: int, report: StepReport) -> float:
    """A lower bound of the bytes a step moves, by `step_traffic` and by that of the iterations of its solves."""
    per_particle, per_cell = step_traffic(scene.method.advection)
    iteration = traffic(scene.method.solver, plain=1.0)
    solves = sum(s.unknowns * (s.iterations * iteration + 2 * RESIDUAL_TRAFFIC) for s in report.solves)
    return particles * per_particle + report.solves[0].unknowns * per_cell + solves


def _growth(rows) -> dict[str, float]:
    """Time per cell and step over that at 64³, of every larger grid."""
    per_cell = {row["cells"]: row["nanoseconds_per_cell"] for row in rows}
    return {str(n): per_cell[n] / per_cell[64] for n in per_cell if 64 in per_cell and n > 64}
