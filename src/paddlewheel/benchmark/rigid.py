"""Rigid bodies: the time step of a small scene in the plane, and what many of them add to a pressure solve."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import checked_cells, in_process, load, machine, remarks, triad_bandwidth
from paddlewheel.benchmark.steps import WARM_STEPS, medians
from paddlewheel.items import Liquid, RigidBody, Solid
from paddlewheel.kernel import compile_seconds
from paddlewheel.physics.coupling import pressure_rows
from paddlewheel.physics.pressure import project
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box, Cylinder, HalfSpace, Sphere
from paddlewheel.step import Stepper
from paddlewheel.types import Faces

PLANE_CELLS, ROOM_CELLS = (40, 80), (64, 128)
COUNTS = (0, 1, 8, 64)  # bodies
RATIOS = (10.0, 1.0, 0.1, 0.001)  # their density over that of the liquid
PLANE_STEPS = 100

LEVEL = 0.6  # of the surface in the room [m]
STEP = 0.01  # [s]
_REPETITIONS = 3


class BodiesCase(NamedTuple):
    """Some rows of the benchmark: one of a plane (no `count` of bodies), or one for each ratio of densities."""

    cells: int
    count: int | None

    @property
    def name(self) -> str:
        return f"plane {self.cells}²" if self.count is None else f"{self.count} bodies {self.cells}³"

    @property
    def work(self) -> float:
        """About how long it takes, in units of no meaning."""
        return (
            1 + (self.cells / 100) ** 2 if self.count is None else 1 + (4 + 0.5 * self.count) * (self.cells / 100) ** 3
        )


def bodies_ladder(
    plane: Iterable[int] = PLANE_CELLS, room: Iterable[int] = ROOM_CELLS, counts: Iterable[int] = COUNTS
) -> list[BodiesCase]:
    """The cases of a benchmark: the plane on every grid, and each room with every number of bodies."""
    return [BodiesCase(n, None) for n in checked_cells(plane)] + [
        BodiesCase(n, count) for n, count in product(checked_cells(room), counts)
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


def rigid_bodies(cases: list[BodiesCase], progress: Callable[[list], Iterable] = iter) -> dict:
    """Run the cases, each in its own process, and gather what docs/benchmarks.md describes."""
    before, plane, rooms = load(), [], []
    for case in progress(cases):
        if case.count is None:
            plane.append(in_process(run_plane, case.cells, name=case.name))
        else:
            rooms += in_process(run_room, case.cells, case.count, name=case.name)["rows"]
    rows = plane + rooms
    return {"benchmark": "bodies", "machine": machine(rows, before), "rows": rows, "plane": plane, "room": rooms}


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
    return {
        "cells": cells,
        "particles": len(simulation.state.particles.position),
        "unknowns": round(np.median([report.solves[0].unknowns for report in reports])),
        "seconds": medians(reports, walls),
        "fastest": min(walls),
        "steps": steps,
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
    """One row per stage, one column per grid."""
    table = _table("a floating box: ms", "stage")
    for row in result["plane"]:
        table.add_column(f"{row['cells']}²", justify="right", no_wrap=True)
    stages = result["plane"][0]["seconds"] if result["plane"] else ()
    for stage in stages:
        table.add_row(stage, *(f"{1e3 * row['seconds'][stage]:.2f}" for row in result["plane"]))
    table.add_row("best", *(f"{1e3 * row['fastest']:.2f}" for row in result["plane"]))
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
