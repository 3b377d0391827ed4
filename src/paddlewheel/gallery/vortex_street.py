"""The wake of a round cylinder in viscous flow at Reynolds number 100: a street of vortices (von Kármán 1911).

Their frequency is f = St U/D. In a wide stream St is 0.165 at Re = U D/ν = 100
(Williamson 1989); between walls 8 D apart, along which the liquid slips, it is
a little higher. Below Re = 47 there are none. What makes them is friction on the
cylinder: without it, liquid goes around it to the back.
"""

import math

import numpy as np

from paddlewheel.gallery import common, cylinder
from paddlewheel.items import Inflow, Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Cylinder

caption = "Syrup flows past a round cylinder, and vortices come off its two sides by turns."
shown = (132,)

LIMITS = common.LIMITS | {
    "Strouhal number": 0.18,
    "0.155 / Strouhal number": 1.0,
    "speed / cross velocity behind": 4.0,
    "|mean of cross velocity| / its deviation": 0.2,
}

FRAMES, MEASURED = 132, 72  # what a check simulates, and how many of the last of it are measured
SPEED, DIAMETER = 1.0, 0.1  # [m/s], [m]
SIZE = (1.6, 0.8)  # [m]
CENTER = (0.45, 0.4013)  # a little beside the middle [m]
DENSITY = 1000.0  # [kg/m³]


def scene(cells: int = 192, reynolds: float = 100.0, advection: str = "flip", cfl: float = 2.0) -> Scene:
    """A 2-D channel 16 diameters long and 8 wide, full of liquid that flows along x and leaves at its open end."""
    h = SIZE[0] / argument.positive("vortex-street", "cells", cells)
    high = common.in_cells(SIZE[1], h)
    viscosity = DENSITY * SPEED * DIAMETER / argument.positive("vortex-street", "reynolds", reynolds)
    (x, y), r = CENTER, DIAMETER / 2
    return Scene(
        size=(SIZE[0], high, h),
        cells=cells,
        gravity=(0, 0, 0),
        density=DENSITY,
        method=Method(advection=advection, cfl=cfl, tolerance=1e-5),
        items=[
            Inflow(Box((-1, -1, -1), (3 * h, 2, 1)), velocity=(SPEED, 0, 0), viscosity=viscosity),
            Liquid(Box((0, 0, -1), (SIZE[0], high, 1)), velocity=start, viscosity=viscosity),
            Solid(Cylinder((x, y, -1), (x, y, 1), r)),
        ],
        open_sides={"+x"},
    )


def start(points: np.ndarray) -> np.ndarray:
    """The stream [m/s], and a gust across it behind the cylinder: else a street takes long to begin."""
    (x, y), wide = CENTER, DIAMETER
    away = ((points[:, 0] - x - 1.5 * wide) ** 2 + (points[:, 1] - y) ** 2) / wide**2
    across = 0.5 * SPEED * np.exp(-away)
    return np.stack([np.full(len(points), SPEED), across, 0 * across], axis=1)


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and how fast, how evenly and how far the flow behind swings to and fro."""
    scene, watch = simulation.scene, common.Watch(simulation)
    swing = np.array([cross_velocity(frame.state, scene.grid.h) for frame in watch.run(FRAMES)])[-MEASURED:]
    number = cylinder.frequency(swing - swing.mean(), scene.fps) * DIAMETER / SPEED
    return watch.figures() | {
        "Strouhal number": number,
        "0.155 / Strouhal number": 0.155 / number if number else math.inf,
        "speed / cross velocity behind": float(SPEED / np.abs(swing).max()),
        "|mean of cross velocity| / its deviation": float(abs(swing.mean()) / swing.std()),
    }


def cross_velocity(state, h: float) -> float:
    """v [m/s] one and a half diameters behind the centre, on its line."""
    i, j = int((CENTER[0] + 1.5 * DIAMETER) / h), round(CENTER[1] / h)
    return float(state.velocity.y[i, j, 0])
