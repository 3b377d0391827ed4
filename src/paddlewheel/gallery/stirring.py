"""A paddle turns in a tank and stirs the water."""

import math

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Cylinder

caption = "A paddle stirs a tank: the water goes round with it, and none gets into it."
shown = (24, 48, 72)

LIMITS = common.LIMITS | {
    "energy / ½ m (speed of the tip)²": 0.5,
}

FRAMES = 72  # what a check simulates: a turn and a half
DEPTH = 0.4  # of the water [m]
REACH = 0.28  # of the paddle, from its axis [m]
PADDLE = Box((-REACH, 0.1, -0.03), (REACH, 0.5, 0.03)) | Cylinder((0, 0.1, 0), (0, 1.0, 0), 0.05)


def scene(cells: int = 40, turns: float = 0.5, advection: str = "flip", flip: float = 0.97, cfl: float = 5.0) -> Scene:
    """A tank 1 m wide with 0.4 m of water and a paddle that makes so many turns in a second, slowly at first."""
    argument.number("stirring", "turns", turns)
    h = 1 / argument.positive("stirring", "cells", cells)

    def motion(t):
        angle = 2 * math.pi * turns * (t - 0.5 + 0.5 * math.exp(-2 * t))  # at rest at the start
        return Pose((0.5, 0.0, 0.5), (math.cos(angle / 2), 0, math.sin(angle / 2), 0))

    return Scene(
        size=(1, common.in_cells(0.75, h), 1),
        cells=cells,
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[
            Liquid(Box((0, 0, 0), (1, DEPTH, 1))),
            Solid(PADDLE, motion),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and the water's energy against what it would have if all were as fast as the tip."""
    scene, watch = simulation.scene, common.Watch(simulation)
    energy = tip = 0.0
    for frame in watch.run(FRAMES):
        energy = max(energy, frame.report.kinetic_energy)
        tip = max(tip, abs(scene.items[1].pose(frame.time).angular_velocity[1]) * REACH)
    return watch.figures() | {
        "energy / ½ m (speed of the tip)²": energy / (0.5 * scene.density * watch.volumes[0] * tip**2)
    }
