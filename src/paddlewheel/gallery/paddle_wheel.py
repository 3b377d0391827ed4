"""The paddle wheel: a hinged wheel that a falling stream turns, or that drives the water itself."""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Inflow, Liquid, Outflow, RigidBody, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Cylinder, Shape

caption = (
    "A stream falls on a wheel that is free to turn about its axle: the water drives it, and it splashes the water."
)
shown = (30, 60, 96)

LIMITS = common.LIMITS | {
    "axle off its bearings / h": 1e-6,
    "1 / turns": 2.0,
    "½ m (speed of the blades' ends)² / energy of the water": 50.0,
}

FRAMES = 96  # what a check simulates
AXLE, REACH, HUB = (1.0, 0.75), 0.4, 0.08  # [m]
BLADES, THICKNESS = 6, 0.06


def wheel() -> Shape:
    """Blades around a hub, as a cut through them: the scene is two-dimensional."""
    x, y = AXLE
    shape: Shape = Cylinder((x, y, -1), (x, y, 2), HUB)
    for n in range(BLADES):
        half = math.pi * n / BLADES
        blade = Box((x, y - THICKNESS / 2, -1), (x + REACH, y + THICKNESS / 2, 2))
        shape = shape | blade.moved(rotate=(math.cos(half), 0, 0, math.sin(half)), about=(x, y, 0))
    return shape


def scene(
    cells: int = 96,
    density: float = 600.0,
    speed: float = 1.5,
    driven: float = 0.0,
    advection: str = "flip",
    cfl: float = 5.0,
) -> Scene:
    """A 2-D trough with a wheel; a stream of `speed` [m/s] falls on it, or it makes `driven` turns a second itself."""
    h = 2 / argument.positive("paddle-wheel", "cells", cells)
    size = (2.0, common.in_cells(1.5, h), h)
    method = Method(advection=advection, cfl=cfl)
    pool = Liquid(Box((0, 0, -1), (2, 0.42, 2)))
    if driven:
        shape = wheel().moved(translate=(-AXLE[0], -AXLE[1], 0))

        def motion(t):
            half = math.pi * driven * (t - 0.5 + 0.5 * math.exp(-2 * t))  # at rest at the start
            return Pose((*AXLE, 0), (math.cos(half), 0, 0, math.sin(half)))

        return Scene(size, (cells, round(size[1] / h), 1), method=method, items=[pool, Solid(shape, motion)])
    stream = Inflow(Box((1.2, size[1] - 0.1, -1), (1.32, size[1], 2)), velocity=(0, -speed, 0))
    drain = Outflow(Box((0, 0.44, -1), (0.06, size[1], 2)))  # a weir: the pool keeps its level
    body = RigidBody(wheel(), density=density, axis=(0, 0, 1), pivot=(*AXLE, 0))
    return Scene(size, (cells, round(size[1] / h), 1), method=method, items=[pool, stream, drain, body])


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the wheel stays on its axle and turns, away from the stream or as it is driven, and
    moves the water."""
    watch, scene = common.Watch(simulation), simulation.scene
    turned = off = energy = fastest = 0.0
    for frame in watch.run(FRAMES):
        if frame.state.bodies:
            (body,) = frame.state.bodies
            spin = -body.angular_velocity[2]
            off = max(off, float(np.abs(body.position[:2] - AXLE).max()))
        else:
            spin = scene.items[1].pose(frame.time).angular_velocity[2]
        turned += spin / scene.fps / (2 * math.pi)
        energy, fastest = max(energy, frame.report.kinetic_energy), max(fastest, REACH * abs(spin))
    return watch.figures() | {
        "axle off its bearings / h": off / scene.grid.h,
        "1 / turns": 1 / turned if turned > 0 else math.inf,
        "½ m (speed of the blades' ends)² / energy of the water": (
            0.5 * scene.density * watch.volumes[0] * fastest**2 / energy
        ),
    }
