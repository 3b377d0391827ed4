"""Smoke: frames of a stirring paddle and of a plume past a ball, beside PhiFlow if it is installed.

PhiFlow (pip install 'paddlewheel[peers]') has the same grid, the same steps of a
frame each, the same tolerance, and MacCormack's scheme, with NumPy as it comes, but
in double precision: in single its conjugate gradients do not reach that tolerance.
"""

import importlib.util
import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import (
    checked_cells,
    checked_count,
    in_process,
    load,
    machine,
    remarks,
    triad_bandwidth,
)
from paddlewheel.benchmark.steps import medians, timed_frames
from paddlewheel.items import Smoke, Solid
from paddlewheel.kernel import compile_seconds
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Sphere

PADDLE_CELLS, PLUME_CELLS = (40, 80), (24, 48)
MOST_PEER_CELLS = 46_340  # PhiFlow 3.4 counts the entries of a full matrix in 32 bits, and fails beyond
FRAMES = 24  # that are timed
PEER_FRAMES = 3  # of PhiFlow

_SIZES = {"paddle": (2.0, 1.0, 1.5), "plume": (1.0, 1.75, 1.0)}  # [m]
_PUFF = (0.2, 0.1, 0.2), (0.8, 0.9, 1.3)  # two corners [m]
_PADDLE = (0.9, 0.7, 0.08)  # [m]
_TURN = math.pi  # [rad/s]
_SOURCE, _BALL = ((0.5, 0.15, 0.5), 0.1), ((0.52, 0.8, 0.5), 0.15)  # [m]
_HEAT = 100.0  # [K]


class SmokeCase(NamedTuple):
    """A row of the benchmark."""

    scene: str
    cells: int
    program: str  # a way of advection, or "phiflow"

    @property
    def name(self) -> str:
        return f"{self.scene} {self.cells} {self.program}"

    @property
    def work(self) -> float:
        """About how long it takes, in units of no meaning."""
        return 1 + (10 if self.program == "phiflow" else 1) * (self.cells / 40) ** 3


def smoke_ladder(paddle: Iterable[int] = PADDLE_CELLS, plume: Iterable[int] = PLUME_CELLS) -> list[SmokeCase]:
    """The cases of a benchmark; with PhiFlow's if it is there, on the grids that it can do."""
    ladders = ("paddle", paddle, ("flip", "maccormack")), ("plume", plume, ("maccormack",))
    cases = []
    for scene, cells, ways in ladders:
        for n in checked_cells(cells):
            small = math.prod(_counts(scene, n)) <= MOST_PEER_CELLS
            peers = ("phiflow",) if small and importlib.util.find_spec("phi") else ()
            cases += [SmokeCase(scene, n, way) for way in (*ways, *peers)]
    return cases


def paddle(cells: int, advection: str = "flip") -> Scene:
    """A board turns in a closed box of 2 m × 1 m × 1.5 m, B07's 40 × 20 × 30 or 80 × 40 × 60 cells, full of smoke."""

    def motion(t):
        return Pose((1.0, 0.5, 0.75), (math.cos(0.5 * _TURN * t), 0, math.sin(0.5 * _TURN * t), 0))

    half = 0.5 * np.array(_PADDLE)
    return Scene(
        size=_SIZES["paddle"],
        cells=cells,
        method=Method(advection=advection, cfl=5.0),
        items=[Smoke(Box(*_PUFF)), Solid(Box(-half, half), motion)],
    )


def plume(cells: int, advection: str = "maccormack") -> Scene:
    """Hot smoke rises past a ball in a room of 1 m × 1.75 m × 1 m with an open top; 48 cells are 192 thousand."""
    return Scene(
        size=_SIZES["plume"],
        cells=_counts("plume", cells),
        method=Method(advection=advection, cfl=5.0),
        open_sides={"+y"},
        items=[Smoke(Sphere(*_SOURCE), temperature=_HEAT, rate=math.inf), Solid(Sphere(*_BALL))],
    )


def smoke(cases: list[SmokeCase], frames: int = FRAMES, progress: Callable[[list], Iterable] = iter) -> dict:
    """Run the cases, each in its own process, and gather what docs/benchmarks.md describes."""
    before, frames, rows = load(), checked_count("frames", frames), []
    for case in progress(cases):
        function = run_phiflow if case.program == "phiflow" else run_frames
        arguments = (case, PEER_FRAMES) if case.program == "phiflow" else (case, frames)
        rows.append(case._asdict() | in_process(function, *arguments, name=case.name))
    ratios = {}
    for row in rows:
        for other in rows:
            if other["program"] == "phiflow" and row is not other and _same(row, other):
                ratios[SmokeCase(row["scene"], row["cells"], row["program"]).name] = (
                    other["seconds"]["total"] / row["seconds"]["total"]
                )
    ours = [row for row in rows if "triad" in row]
    return {"benchmark": "smoke", "machine": machine(ours, before), "rows": rows, "ratios": ratios}


def run_frames(case: SmokeCase, frames: int) -> dict:
    """Frames of ours, timed after a few that are not."""
    simulation = Simulation({"paddle": paddle, "plume": plume}[case.scene](case.cells, case.program))
    reports, walls = timed_frames(simulation, frames)
    return {
        "unknowns": reports[-1].solves[0].unknowns,
        "particles": len(simulation.state.particles.position),
        "steps": sum(report.substeps for report in reports) / frames,
        "iterations": float(np.median([s.iterations for r in reports for s in r.solves if s.name == "pressure"])),
        "seconds": medians(reports, walls),
        "fastest": min(walls),
        "compile_seconds": compile_seconds(),
        "triad": triad_bandwidth(),
    }


def run_phiflow(case: SmokeCase, frames: int) -> dict:
    """Frames of PhiFlow, one step each."""
    import warnings

    from phi import flow

    warnings.simplefilter("ignore")  # closed boxes are singular, which it says in every frame
    flow.math.set_global_precision(64)
    counts = _counts(case.scene, case.cells)
    domain, cells = (
        flow.Box(**dict(zip("xyz", _SIZES[case.scene], strict=True))),
        flow.spatial(**dict(zip("xyz", counts, strict=True))),
    )
    step, pressure, seconds = 1 / 24, None, []
    sides = {"x": 0, "y": (0, flow.ZERO_GRADIENT), "z": 0} if case.scene == "plume" else 0
    velocity = flow.StaggeredGrid(0, sides, domain, cells)
    at_start = flow.Box(**{a: ends for a, *ends in zip("xyz", *_PUFF, strict=True)})
    ball = flow.Sphere(**dict(zip("xyz", _BALL[0], strict=True)), radius=_BALL[1])
    source = flow.Sphere(**dict(zip("xyz", _SOURCE[0], strict=True)), radius=_SOURCE[1])
    density = flow.CenteredGrid(at_start if case.scene == "paddle" else 0, flow.ZERO_GRADIENT, domain, cells)
    given = flow.resample(source, to=density, soft=True)
    lift = step * _HEAT * Scene.buoyancy[1]
    for frame in range(1 + frames):
        start = time.perf_counter()
        density = flow.advect.mac_cormack(density, velocity, step)
        velocity = flow.advect.mac_cormack(velocity, velocity, step)
        if case.scene == "plume":
            density = flow.CenteredGrid(
                flow.math.maximum(density.values, given.values), flow.ZERO_GRADIENT, domain, cells
            )
            velocity = velocity + flow.resample(density * (0, lift, 0), to=velocity)
            obstacle = flow.Obstacle(ball)
        else:
            board = flow.Cuboid(flow.vec(x=1, y=0.5, z=0.75), **dict(zip("xyz", _PADDLE, strict=True)))
            board = board.rotated(flow.vec(x=0, y=_TURN * frame * step, z=0))
            obstacle = flow.Obstacle(board, angular_velocity=flow.vec(x=0, y=_TURN, z=0))
        solve = flow.Solve(
            "CG", Method.tolerance, 0, x0=pressure, max_iterations=2000, rank_deficiency=int(case.scene == "paddle")
        )
        velocity, pressure = flow.fluid.make_incompressible(velocity, obstacle, solve)
        seconds.append(time.perf_counter() - start)
    return {
        "unknowns": math.prod(counts), "particles": 0, "steps": 1.0, "iterations": math.nan,
        "seconds": {"total": float(np.median(seconds[1:]))}, "fastest": min(seconds[1:]), "compile_seconds": 0.0,
    }  # fmt: skip


def smoke_table(result: dict) -> Table:
    """One row per case."""
    table = Table(
        title="frames of smoke", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    for heading in ("scene", "cells", "by"):
        table.add_column(heading)
    for heading in ("unknowns", "particles", "steps/frame", "iterations", "ms/frame", "best", "frames/s", "PhiFlow"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result["rows"]:
        total = row["seconds"]["total"]
        ratio = result["ratios"].get(SmokeCase(row["scene"], row["cells"], row["program"]).name)
        table.add_row(
            row["scene"], str(row["cells"]), row["program"],
            f"{row['unknowns']:,}".replace(",", " "), f"{row['particles']:,}".replace(",", " "),
            f"{row['steps']:.2g}", "" if math.isnan(row["iterations"]) else f"{row['iterations']:g}",
            f"{1e3 * total:.1f}", f"{1e3 * row['fastest']:.1f}", f"{1 / total:.3g}",
            "" if ratio is None else f"{ratio:.1f} ×",
        )  # fmt: skip
    return table


def smoke_stages_table(result: dict) -> Table:
    """Milliseconds of each stage in a frame, one column per case of ours."""
    rows = [row for row in result["rows"] if row["program"] != "phiflow"]
    table = Table(
        title="milliseconds per stage", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("stage")
    for row in rows:
        table.add_column(f"{row['scene']} {row['cells']} {row['program']}", justify="right")
    for stage in {stage: None for row in rows for stage in row["seconds"]}:
        table.add_row(stage, *(f"{1e3 * row['seconds'].get(stage, 0.0):.1f}" for row in rows))
    return table


def smoke_summary(result: dict) -> list[str]:
    """What is missing, in words, and what the machine is."""
    lines = []
    if not any(row["program"] == "phiflow" for row in result["rows"]):
        lines.append("PhiFlow is not installed, so there is none beside: pip install 'paddlewheel[peers]'")
    return lines + remarks(result)


def _counts(scene: str, cells: int) -> tuple[int, int, int]:
    """Cells along each side, so many along the first."""
    return tuple(round(side * cells / _SIZES[scene][0]) for side in _SIZES[scene])


def _same(row, other) -> bool:
    return (row["scene"], row["cells"]) == (other["scene"], other["cells"])
