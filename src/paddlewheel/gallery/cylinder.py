"""The wake of a cylinder in a wind: vortices come off its sides by turns (Strouhal 1878, von Kármán 1911).

Their frequency is f = St U/D, with St about 0.13 behind a square in viscous
flow, and 0.2 behind a circle. Without viscosity the flow leaves an edge, but
not a round surface: around that it slips to the back, and there is no wake, as
d'Alembert found. With voxels there is one, St = 0.26, as its steps are edges.
"""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Inflow, Smoke, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Cylinder, Shape

caption = "Wind blows past a square cylinder, and vortices come off its two sides by turns."
shown = (132, 150, 168)

LIMITS = common.SMOKE_LIMITS | {
    "Strouhal number": 0.35,
    "1 / Strouhal number": 10.0,
    "wind / cross velocity behind": 5.0,
    "|mean of cross velocity| / its deviation": 0.5,
}

FRAMES, MEASURED = 168, 96  # what a check simulates, and how many of the last of it are measured
SECTIONS = ("square", "plate", "round")
SIZE = (2.0, 1.0)  # [m]
CENTER, RADIUS = (0.5, 0.49), 0.08  # a little beside the middle, so that there are two sides [m]


def scene(
    cells: int = 128,
    section: str = "square",
    speed: float = 1.0,
    advection: str = "flip",
    cfl: float = 3.0,
    weights: str = "area",
) -> Scene:
    """A 2-D channel 2 m long and 1 m wide with a wind along x, open at its end, and smoke that shows the wake.

    section is "square", "plate" or "round".
    """
    h = SIZE[0] / argument.positive("cylinder", "cells", cells)
    argument.positive("cylinder", "speed", speed)
    y, high = CENTER[1], common.in_cells(SIZE[1], h)
    upstream = max(2 * h, 0.05)
    return Scene(
        size=(SIZE[0], high, h),
        cells=cells,
        gravity=(0, 0, 0),
        method=Method(advection=advection, weights=weights, cfl=cfl),
        items=[
            Inflow(Box((-1, -1, -1), (upstream, 2, 2)), velocity=(speed, 0, 0)),
            Smoke(Box((0, 0, 0), (SIZE[0], high, h)), density=0.0, velocity=(speed, 0, 0)),
            *(Smoke(Box((0.2, y + s - 0.02, 0), (0.3, y + s + 0.02, h)), rate=math.inf) for s in (-RADIUS, 0, RADIUS)),
            Solid(shape(section)),
        ],
        open_sides={"+x"},
    )


def shape(section: str) -> Shape:
    """A cylinder along z, as wide as two radii whatever its section is."""
    argument.choice("cylinder", "section", section, SECTIONS)
    (x, y), r = CENTER, RADIUS
    if section == "round":
        return Cylinder((x, y, -1), (x, y, 1), r)
    if section == "plate":
        return Box((x - r / 2, y - r, -1), (x, y + r, 1))
    return Box((x - r, y - r, -1), (x + r, y + r, 1))


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any smoke; and how fast, how evenly and how far the flow behind swings to and fro."""
    scene, watch = simulation.scene, common.Watch(simulation)
    swing = np.array([cross_velocity(frame.state, scene.grid.h) for frame in watch.run(FRAMES)])[-MEASURED:]
    speed = scene.items[0].velocity[0]
    number = frequency(swing - swing.mean(), scene.fps) * 2 * RADIUS / speed
    return watch.figures() | {
        "Strouhal number": number,
        "1 / Strouhal number": 1 / number if number else math.inf,
        "wind / cross velocity behind": float(speed / np.abs(swing).max()),
        "|mean of cross velocity| / its deviation": float(abs(swing.mean()) / swing.std()),
    }


def cross_velocity(state, h: float) -> float:
    """v [m/s] three radii behind the centre, on its line."""
    i, j = int((CENTER[0] + 3 * RADIUS) / h), round(CENTER[1] / h)
    return float(state.velocity.y[i, j, 0])


def frequency(signal: np.ndarray, rate: float) -> float:
    """[1/s]: half the number of times that a signal of so many samples a second changes its sign, for each second."""
    changes = np.flatnonzero(np.diff(np.signbit(signal)))
    return 0.5 * rate * (len(changes) - 1) / (changes[-1] - changes[0]) if len(changes) > 1 else 0.0
