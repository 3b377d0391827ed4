"""A tank half full of water is tilted faster than water falls: the wall that turns away leaves it behind."""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.physics.separation import touching
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box

caption = "A tank is tilted faster than water falls: its floor turns away under the water, and does not take it along."
shown = (4, 8, 16)
beside = {"held by the floor": {"wall_separation": False}}

LIMITS = common.LIMITS | {
    "pressure iterations, most": 24,  # when the floor leaves the water
    "−min p at walls [Pa]": 0.0,
}

FRAMES = 30  # what a check simulates: the turn, the fall, and the splash
SIDE, DEPTH = 0.6, 0.3  # of the tank, of the water in it [m]
DEGREES, SECONDS = 80.0, 0.2  # of the turn, and how long it takes


def scene(cells: int = 64, wall_separation: bool = True, cfl: float = 3.0) -> Scene:
    """A square tank in a domain of 1 m, in 2-D, that turns about its centre."""
    h = 1 / argument.positive("tilting-tank", "cells", cells)
    tank = Box((-SIDE / 2, -SIDE / 2, -1), (SIDE / 2, SIDE / 2, 1))
    low, high = 0.5 - SIDE / 2, 0.5 + SIDE / 2
    return Scene(
        size=(1, 1, h),
        cells=cells,
        method=Method(wall_separation=wall_separation, cfl=cfl),
        items=[Solid(~tank, motion=turned), Liquid(Box((low, low, -1), (high, low + DEPTH, 1)))],
    )


def turned(time: float) -> Pose:
    """Where the tank is: it starts to turn and ends gently."""
    part = np.clip(time / SECONDS, 0, 1)
    half = 0.5 * np.radians(DEGREES) * part * part * (3 - 2 * part)
    return Pose((0.5, 0.5, 0.0), (np.cos(half), 0.0, 0.0, np.sin(half)))


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and no wall sucks."""
    watch, suction = common.Watch(simulation), 0.0
    for frame in watch.run(FRAMES):
        suction = max(suction, -frame.state.pressure[touching(simulation.boundary)].min())
    return watch.figures() | {"−min p at walls [Pa]": float(suction)}
