"""B08 figures 1 and 6: a thread of honey that falls on a plate coils up.

Where viscosity alone decides, gravity and inertia being too weak to thin the
thread, its coil turns with Ω ∝ Q/(H a²), whatever the viscosity (Ribe 2004): as
fast as the thread of radius a comes, over the height H. A little twist
decides which way it turns; without one it folds to and fro for a while first.
Its rate has a part in Ω, so here Ω is not quite that (docs/method.md, "Viscosity").
"""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Inflow
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Cylinder

caption = "A thread of honey falls on a plate and coils up."
figure = "B08 figures 1 and 6"
shown = (40, 80, 120)

LIMITS = common.LIMITS | {
    "|volume error|, worst": 0.12,  # by the level set, of a thread five cells thick and what it encloses as it coils
    "|volume error|, at the end": 0.06,
    "1 / turns": 0.8,
    "viscosity iterations, most": 80,  # 30 and less in all frames but one in some runs
}

FRAMES = 120  # what a check simulates
RADIUS, NOZZLE = 0.012, 0.02  # of the thread, and how far the nozzle reaches into the box [m]
WIDTH = 0.8  # of the box, of its height: the coil is as wide as 0.6
TWIST = 0.3  # speed of its rim, of that at which it comes


def scene(
    cells: int = 32, height: float = 0.2, speed: float = 0.2, viscosity: float = 40000.0, twist: float = TWIST
) -> Scene:
    """A box so high [m], with so many cells across, into which a thread comes from above at a speed [m/s]."""
    width = WIDTH * argument.positive("coiling", "height", height)
    h = width / argument.positive("coiling", "cells", cells)
    up = max(1, round(height / h))
    x, z = 0.5 * width, 0.5 * width
    top = up * h

    def velocity(points):
        turn = twist * speed / RADIUS
        return np.stack([turn * (points[:, 2] - z), np.full(len(points), -speed), -turn * (points[:, 0] - x)], axis=1)

    return Scene(
        size=(width, top, width),
        cells=(cells, up, cells),
        walls="no-slip",
        method=Method(advection="apic", cfl=2.0, tolerance=1e-5),
        items=[Inflow(Cylinder((x, top - NOZZLE, z), (x, top + 1, z), RADIUS), velocity=velocity, viscosity=viscosity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and that the thread turns around above the plate."""
    watch, places, most = common.Watch(simulation), [], 0
    for frame in watch.run(FRAMES):
        places.append(place(frame.state, simulation.scene.grid.size))
        most = max(most, *(solve.iterations for solve in frame.report.solves if solve.name == "viscosity"))
    count = turns(places)
    return watch.figures() | {
        "1 / turns": 1 / count if count else math.inf,
        "viscosity iterations, most": float(most),
    }


def place(state, size) -> np.ndarray:
    """Where the thread is at half the height, (x, z) from the middle [m]; not a number if it is not there."""
    position = state.particles.position
    there = position[np.abs(position[:, 1] - size[1] / 2) < 0.02 * size[1]]
    return there[:, [0, 2]].mean(axis=0) - np.array(size)[[0, 2]] / 2 if len(there) else np.full(2, np.nan)


def turns(places) -> float:
    """How often a path goes around the middle, of what of it is well beside it."""
    x, z = np.array([p for p in places if np.linalg.norm(p) > 0.2 * RADIUS]).reshape(-1, 2).T
    return float(abs(np.ptp(np.unwrap(np.arctan2(z, x))))) / (2 * math.pi) if len(x) > 1 else 0.0
