"""FM96, G05: bodies of several densities float at Archimedes' draught."""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, RigidBody
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Cylinder

caption = "Rafts and a round log of several densities float, each as deep as Archimedes says."
figure = "FM96, results"
shown = (192,)

LIMITS = common.LIMITS | {
    "|height − Archimedes'| / h, mean of the end": 0.25,
    "tilt of a raft, degrees": 3.0,
}

FRAMES, SETTLED = 192, 96  # what a check simulates, and from when on it looks
WIDTH, LEVEL = 2.4, 0.6  # of the tank, and of the water when all bodies float [m]
RAFTS = {0.2: 0.4, 0.5: 1.0, 0.8: 1.6}  # their density, in that of the liquid, and where along the tank [m]
SIZE = (0.4, 0.16)  # of a raft [m]
LOG, RADIUS = 2.1, 0.12  # where it is, and its radius [m]: half as dense as water, so half of it is wet
LIFT = 0.01  # how far above its draught each body starts [m]


def scene(cells: int = 96, advection: str = "flip", weights: str = "area", cfl: float = 5.0) -> Scene:
    """A 2-D tank with rafts and a log, a little too high in water that stands LEVEL high when all of them float."""
    h = WIDTH / argument.positive("floating", "cells", cells)
    size = (WIDTH, common.in_cells(1.0, h), h)
    bodies = [RigidBody(Cylinder((LOG, LEVEL + LIFT, -1), (LOG, LEVEL + LIFT, 2), RADIUS), 500.0)]
    for ratio, x in RAFTS.items():
        low = LEVEL + LIFT - ratio * SIZE[1]
        bodies.append(RigidBody(Box((x - SIZE[0] / 2, low, -1), (x + SIZE[0] / 2, low + SIZE[1], 2)), 1000 * ratio))
    covered = len(RAFTS) * SIZE[0] + 2 * RADIUS  # of the surface
    lower = LIFT * covered / (WIDTH - covered)  # what is missing under the bodies was taken from the rest
    water = Liquid(Box((0, 0, -1), (WIDTH, LEVEL - lower, 2)))
    method = Method(advection=advection, weights=weights, cfl=cfl)
    return Scene(size, (cells, round(size[1] / h), 1), method=method, items=[water, *bodies])


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the mean height of each body against that at its draught."""
    watch, heights, tilts = common.Watch(simulation), [], []
    for frame in watch.run(FRAMES):
        if frame.number > SETTLED:
            bodies = frame.state.bodies
            heights.append([body.position[1] for body in bodies])
            tilts.append([2 * math.atan2(body.orientation[3], body.orientation[0]) for body in bodies[1:]])
    exact = [LEVEL, *(LEVEL + (0.5 - ratio) * SIZE[1] for ratio in RAFTS)]
    off = np.abs(np.mean(heights, axis=0) - exact).max() / simulation.scene.grid.h
    return watch.figures() | {
        "|height − Archimedes'| / h, mean of the end": float(off),
        "tilt of a raft, degrees": float(np.degrees(np.abs(np.mean(tilts, axis=0)).max())),
    }
