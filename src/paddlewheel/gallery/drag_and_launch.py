"""B07 figure 1, right: a heavy body is dragged through the water by hand and launched."""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Hand, Liquid, RigidBody
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Sphere

caption = "A hand drags a heavy ball through the water, past a light box that floats, and throws it into the air."
figure = "B07 figure 1, right"
shown = (12, 30, 48)

LIMITS = common.LIMITS | {
    "ball off the path / h": 1.0,
    "|apex − that of a throw| / h": 1.0,
    "1 / height above the water, in radii": 0.5,
}

FRAMES = 60  # what a check simulates
LEVEL, RADIUS = 0.6, 0.11  # of the water, and of the ball [m]
START, UNDER = np.array([0.3, 0.25, 0.5]), np.array([0.65, 0.25, 0.5])  # it is dragged from here to there [m]
DRAGGED, LIFTED = 1.0, 1.5  # when the first way ends, and the second [s]
SPEED = 3.0  # at which it is let go [m/s]


def path(t: float) -> tuple[float, float, float] | None:
    """Where the hand is [m]: along the ground, then up, ever faster; None once it has let go."""
    if t < DRAGGED:
        return tuple(START + (UNDER - START) * 0.5 * (1 - math.cos(math.pi * t / DRAGGED)))
    if t > LIFTED:
        return None
    rise = 0.5 * SPEED * (t - DRAGGED) ** 2 / (LIFTED - DRAGGED)
    return tuple(UNDER + np.array([0, rise, 0]))


def scene(cells: int = 64, density: float = 2000.0, advection: str = "flip", cfl: float = 5.0) -> Scene:
    """A tank 1 m wide with a ball of this density [kg/m³] that a hand holds, and a box ten times lighter than water."""
    h = 2 / argument.positive("drag-and-launch", "cells", cells)
    counts = (max(1, round(1 / h)), cells, max(1, round(1 / h)))
    ball = RigidBody(Sphere(START, RADIUS), density)
    box = RigidBody(Box((0.15, 0.58, 0.15), (0.35, 0.7, 0.35)), 100.0)
    return Scene(
        size=[n * h for n in counts],
        cells=counts,
        method=Method(advection=advection, cfl=cfl),
        items=[Liquid(Box((0, 0, 0), (2, LEVEL, 2))), ball, box, Hand(ball, START, path)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the ball follows the hand and then flies, as high as how fast it left the water."""
    watch, off, heights, speed = common.Watch(simulation), 0.0, [], None
    for frame in watch.run(FRAMES):
        ball, target = frame.state.bodies[0], path(frame.time)
        if target is not None:
            off = max(off, float(np.linalg.norm(ball.position - target)))
        elif ball.position[1] > LEVEL + 2 * RADIUS:
            speed = ball.velocity[1] if speed is None else speed
            heights.append(ball.position[1])
    g, h = -simulation.scene.gravity[1], simulation.scene.grid.h
    apex = max(heights, default=0.0)
    return watch.figures() | {
        "ball off the path / h": off / h,
        "|apex − that of a throw| / h": abs(apex - heights[0] - 0.5 * speed**2 / g) / h if heights else math.inf,
        "1 / height above the water, in radii": RADIUS / max(apex - LEVEL, 1e-9),
    }
