"""Rigid bodies: a small scene in the plane, a container full of bodies, and what many add to a pressure solve.

The container is handed in: this room does not know the scenes of the gallery.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import checked_cells, in_process, load, machine, remarks, triad_bandwidth
from paddlewheel.benchmark.steps import WARM_STEPS, medians, timed_frames
from paddlewheel.items import Liquid, RigidBody, Solid
from paddlewheel.kernel import compile_seconds
from paddlewheel.physics.coupling import pressure_rows
from paddlewheel.physics.pressure import project
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box, Cylinder, HalfSpace, Sphere
from paddlewheel.step import Stepper
from paddlewheel.types import Faces

PLANE_CELLS, CONTAINER_CELLS, ROOM_CELLS = (40, 80), (90,), (64, 128)
COUNTS = (0, 1, 8, 64)  # bodies
RATIOS = (10.0, 1.0, 0.1, 0.001)  # their density over that of the liquid
PLANE_STEPS = 100
CONTAINER_FRAMES = 36  # that are timed

LEVEL = 0.6  # of the surface in the room [m]
STEP = 0.01  # [s]
_REPETITIONS = 3


class BodiesCase(NamedTuple):
    """Some rows of the benchmark: one of a "plane" or a "container", or of a "room" one for each ratio of densities."""

    scene: str
    cells: int
    count: int = 0  # of bodies in a room

    @property
    def name(self) -> str:
        return {
            "plane": f"plane {self.cells}²",
            "container": f"container {self.cells}",
            "room": f"{self.count} bodies {self.cells}³",
        }[self.scene]

    @property
    def work(self) -> float:
        """About how long it takes, in units of no meaning."""
        volume = (self.cells / 100) ** 3
        return (
            1
            + {
                "plane": (self.cells / 100) ** 2,
                "container": 20 * volume,
                "room": (4 + 0.5 * self.count) * volume,
            }[self.scene]
        )


def bodies_ladder(
    plane: Iterable[int] = PLANE_CELLS,
    container: Iterable[int] = CONTAINER_CELLS,
    room: Iterable[int] = ROOM_CELLS,
    counts: Iterable[int] = COUNTS,
) -> list[BodiesCase]:
    """The cases of a benchmark: plane and container on every grid, and each room with every number of bodies."""
    return [
        *(BodiesCase("plane", n) for n in checked_cells(plane)),
        *(BodiesCase("container", n) for n in checked_cells(container)),
        *(BodiesCase("room", n, count) for n, count in product(checked_cells(room), counts)),
    ]


def floating_box(cells: int) -> Scene:
    """A box of 0.6 of the water's density falls into a round bowl, 0.9 m wide and half full, in a plane of 1 m²."""
    bowl = Cylinder((0.5, 0.5, -1), (0.5, 0.5, 2), 0.45)
    return Scene(
        size=(1, 1, 1 / cells),
        cells=(cells, cells, 1),
        items=[
            Solid(~bowl),
            Liquid(bowl & HalfSpace((0, 0.5, 0), (0, 1, 0))),
            RigidBody(Box((0.4, 0.55, -1), (0.65, 0.7, 2)), density=600.0),
        ],
    )


def room(cells: int, count: int, ratio: float) -> Scene:
    """Balls on a lattice in a cube of 1 m with water 0.6 m deep, 64 of them half of the way to each other wide."""
    per_side = max(1, round(count ** (1 / 3)))
    radius = min(5 / cells, 0.2 / per_side)
    places = (np.array(list(product(range(per_side), repeat=3))[:count]).reshape(-1, 3) + 0.5) / per_side
    balls = [Sphere(place * (0.9, 0.5, 0.9) + 0.05, radius) for place in places]
    water = Liquid(HalfSpace((0, LEVEL, 0), (0, 1, 0)))
    return Scene(size=(1, 1, 1), cells=cells, items=[water, *(RigidBody(ball, 1000 * ratio) for ball in balls)])


def rigid_bodies(
    cases: list[BodiesCase], container: Callable[[int], Scene], progress: Callable[[list], Iterable] = iter
) -> dict:
    """Run the cases, each in its own process, and gather what docs/benchmarks.md describes."""
    before, found = load(), {"plane": [], "container": [], "room": []}
    for case in progress(cases):
        run = {
            "plane": (run_plane, case.cells),
            "container": (run_container, container, case.cells),
            "room": (run_room, case.cells, case.count),
        }[case.scene]
        found[case.scene] += in_process(*run, name=case.name)["rows"]
    rows = [row for some in found.values() for row in some]
    return {"benchmark": "bodies", "machine": machine(rows, before), "rows": rows, **found}


def run_plane(cells: int, steps: int = PLANE_STEPS) -> dict:
    """One row: steps of the largest size allowed, timed after a few that are not."""
    simulation = Simulation(floating_box(cells))
    for _ in range(WARM_STEPS):
        simulation.step()
    reports, walls = [], []
    for _ in range(steps):
        start = time.perf_counter()
        reports.append(simulation.step())
        walls.append(time.perf_counter() - start)
    return {"rows": [_timed(cells, simulation, reports, walls)]}


def run_container(scene: Callable[[int], Scene], cells: int, frames: int = CONTAINER_FRAMES) -> dict:
    """One row: frames, timed after a few that are not."""
    simulation = Simulation(scene(cells))
    return {"rows": [_timed(cells, simulation, *timed_frames(simulation, frames))]}


def _timed(cells, simulation, reports, walls) -> dict:
    """A row of steps or frames that took so long by the clock on the wall [s]."""
    return {
        "cells": cells,
        "particles": len(simulation.state.particles.position),
        "unknowns": round(np.median([report.solves[0].unknowns for report in reports])),
        "seconds": medians(reports, walls),
        "fastest": min(walls),
        "mean": float(np.mean(walls)),
        "steps": sum(report.substeps for report in reports),
        "simulated_seconds": simulation.time,
        "compile_seconds": compile_seconds(),
        "triad": triad_bandwidth(),
    }


def run_room(cells: int, count: int) -> dict:
    """A row for each ratio of densities, or one without bodies."""
    return {"rows": [projected(cells, count, ratio) for ratio in (RATIOS if count else (1.0,))]}


def projected(cells: int, count: int, ratio: float) -> dict:
    """The first projection of a room: its liquid has a random velocity."""
    scene = room(cells, count, ratio)
    stepper, grid = Stepper(scene), scene.grid
    bodies = stepper.bodies.pulled(stepper.bodies.start(), 0.0, STEP)
    for _ in range(2):  # the first loads kernels
        began = time.perf_counter()
        boundary = stepper.boundary(0.0, bodies)
        measuring = time.perf_counter() - began
    phi = (grid.cell_points()[..., 1] - LEVEL).astype(np.float32)
    rng = np.random.default_rng(1)
    velocity = Faces(*(0.1 * rng.standard_normal(u.shape, np.float32) for u in grid.zeros_faces()))
    velocity.y[...] += np.float32(STEP * scene.gravity[1])
    coupled = stepper.bodies.coupled(bodies, boundary)
    terms = partial(pressure_rows, coupled, grid=grid, density=scene.density) if coupled else None
    rounds = [project(grid, velocity, phi, boundary, STEP, terms=terms) for _ in range(1 + _REPETITIONS)][1:]
    info = rounds[-1].info
    seconds = {stage: float(np.median([r.seconds[stage] for r in rounds])) for stage in rounds[0].seconds}
    return {
        "cells": cells,
        "bodies": count,
        "ratio": ratio,
        "unknowns": info.unknowns,
        "iterations": info.iterations,
        "converged": info.converged,
        "seconds": {"measure": measuring} | seconds,
        "compile_seconds": compile_seconds(),
        "triad": triad_bandwidth(),
    }


def plane_table(result: dict) -> Table:
    """Milliseconds of a step: one row per stage, one column per grid."""
    return _stages_table("a floating box: ms a step", result["plane"], "{}²")


def container_table(result: dict) -> Table:
    """Milliseconds of a frame: one row per stage, one column per grid."""
    return _stages_table("a container full of bodies: ms a frame", result["container"], "{} cells high")


def _stages_table(title, rows, heading) -> Table:
    table = _table(title, "stage")
    for row in rows:
        table.add_column(heading.format(row["cells"]), justify="right", no_wrap=True)
    for stage in rows[0]["seconds"] if rows else ():
        table.add_row(stage, *(f"{1e3 * row['seconds'][stage]:.2f}" for row in rows))
    for name, key in (("mean", "mean"), ("best", "fastest")):
        table.add_row(name, *(f"{1e3 * row[key]:.2f}" for row in rows))
    return table


def room_table(result: dict) -> Table:
    """One row per grid, number of bodies and ratio of densities."""
    table = _table("the pressure with bodies", "cells")
    headings = ("bodies", "ratio", "unknowns", "iterations", "measure ms", "set-up ms", "solve ms", "beside none")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    alone = {row["cells"]: _solving(row) for row in result["room"] if row["bodies"] == 0}
    for row in result["room"]:
        table.add_row(
            f"{row['cells']}³",
            str(row["bodies"]),
            f"{row['ratio']:g}" if row["bodies"] else "",
            f"{row['unknowns']:,}".replace(",", " "),
            str(row["iterations"]),
            *(f"{1e3 * row['seconds'][stage]:.1f}" for stage in ("measure", "set-up", "solve")),
            f"{_solving(row) / alone[row['cells']]:.2f}" if row["cells"] in alone else "",
        )
    return table


def bodies_summary(result: dict) -> list[str]:
    """What the machine is, in words."""
    return remarks(result)


def _solving(row) -> float:
    return row["seconds"]["set-up"] + row["seconds"]["solve"]


def _table(title, first) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(first)
    return table
