"""B07 figures 1 (left) and 4: a paddle turns in a box and stirs the smoke in it."""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Smoke, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Cylinder
from paddlewheel.types import Grid, State

caption = "A paddle stirs smoke in a closed box: the smoke is drawn out into whirls, and none gets into the paddle."
figure = "B07 figures 1 (left) and 4"
shown = (12, 24, 40)

LIMITS = common.SMOKE_LIMITS | {
    "change of all smoke": 1e-5,  # particles keep theirs, to rounding
    "|part of the smoke in its half − ½|": 0.15,
    "energy / ½ m (speed of the tip)²": 0.5,
    "−turning of the gas / that of the paddle": -0.05,
}

FRAMES = 72  # what a check simulates
SIZE = (1.0, 0.5, 0.75)  # [m]: 40 × 20 × 30 cells or 80 × 40 × 60, as in the paper
REACH = 0.3  # of the paddle, from its axis [m]
PADDLE = Box((-REACH, 0.1, -0.04), (REACH, 0.4, 0.04)) | Cylinder((0, 0, 0), (0, SIZE[1], 0), 0.05)


def scene(cells: int = 40, turns: float = 0.5, advection: str = "flip", flip: float = 0.97, cfl: float = 3.0) -> Scene:
    """A closed box, one half of it full of smoke, and a board that makes so many turns in a second, slowly at first."""
    argument.number("paddle", "turns", turns)
    h = 1 / argument.positive("paddle", "cells", cells)

    def motion(t):
        angle = 2 * math.pi * turns * (t - 0.25 + 0.25 * math.exp(-4 * t))  # at rest at the start
        return Pose((0.5, 0.0, SIZE[2] / 2), (math.cos(angle / 2), 0, math.sin(angle / 2), 0))

    return Scene(
        size=[common.in_cells(side, h) for side in SIZE],
        cells=cells,
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[
            Smoke(Box((0, 0, 0), (0.5, SIZE[1], SIZE[2]))),
            Solid(PADDLE, motion),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any smoke; none is lost, the halves are mixed, and the gas turns with the paddle."""
    scene, watch = simulation.scene, common.Watch(simulation)
    energy = tip = spin = 0.0
    for frame in watch.run(FRAMES):
        spin = scene.items[1].pose(frame.time).angular_velocity[1]
        energy, tip = max(energy, frame.report.kinetic_energy), max(tip, abs(spin) * REACH)
    density = simulation.state.density
    left = float(density[: len(density) // 2].sum(dtype=float) / density.sum(dtype=float))
    return watch.figures() | {
        "change of all smoke": max(abs(amount / watch.smoke[0] - 1) for amount in watch.smoke),
        "|part of the smoke in its half − ½|": abs(left - 0.5),
        "energy / ½ m (speed of the tip)²": energy / (0.5 * scene.density * watch.volumes[0] * tip**2),
        "−turning of the gas / that of the paddle": -turning(scene.grid, simulation.state) / spin,
    }


def turning(grid: Grid, state: State) -> float:
    """Mean angular velocity [1/s] of the gas about the paddle's axis,  ∫ (r × u) dV / ∫ r² dV."""
    u, w = (0.5 * (q[:-1] + q[1:]) for q in (state.velocity.x, np.moveaxis(state.velocity.z, 2, 0)))
    x = grid.cell_points() - [0.5, 0.0, SIZE[2] / 2]
    return float((x[..., 2] * u - x[..., 0] * np.moveaxis(w, 0, 2)).sum() / (x[..., 0] ** 2 + x[..., 2] ** 2).sum())
