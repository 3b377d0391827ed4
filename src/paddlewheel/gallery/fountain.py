"""FM96: pressure on the surface of a reservoir drives a fountain.

The air over the reservoir, on the left, presses on its surface by p more than that over the nozzle. So the water goes
down, through a duct, and out of the nozzle; where the flow is steady Bernoulli says how fast, and how high it may rise:

    v² = 2 p/ρ + 2 g (η − y) ,      v²/2g = p/ρg + η − y

η being the level of the reservoir and y the height of the nozzle. That holds along the core of the flow; where it turns
into the nozzle it leaves the inner wall, and water circles beside it. `SurfacePressure` takes any function of place and
time: with a period the pressure goes up and down, and so does the fountain.
"""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Outflow, Solid, SurfacePressure
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = (
    "Pressure on a reservoir drives a fountain: it leaves the nozzle as fast as Bernoulli says, and rises as high."
)
figure = "FM96, results"
shown = (6, 12, 24)

FRAMES, STEADY = 30, 15  # what a check simulates, and from when on the flow is steady
WALL, TOP = 1.25, 0.5  # where the reservoir ends, and the height of the nozzle [m]
NOZZLE, WIDTH, DUCT = 1.75, 0.125, 0.1875  # where it is, how wide; how high the duct is that leads to it [m]
LEVEL, DRY = 0.625, 0.125  # of the reservoir; from the nozzle on to where water is drained [m]
GRAVITY, DENSITY = 9.81, 1000.0
LIMITS = common.CLASSIC_LIMITS | {
    "|speed in the nozzle / Bernoulli's − 1|": 0.05,
    "|height of the fountain / Bernoulli's − 1|": 0.2,
}


def scene(cells: int = 80, pressure: float = 4000.0, period: float = 0.0) -> Scene:
    """A 2-D reservoir 1.25 m wide under a pressure [Pa], and a nozzle 0.125 m wide; what falls back is drained.

    With a period [s] the pressure swings between that and none.
    """
    h = 2.5 / argument.positive("fountain", "cells", cells)
    argument.positive("fountain", "pressure", pressure)

    def presses(points, t):
        part = 0.5 - 0.5 * math.cos(2 * math.pi * t / period) if period else 1.0
        return np.where(points[:, 0] < WALL, pressure * part, 0.0)

    left, right = NOZZLE - WIDTH / 2, NOZZLE + WIDTH / 2
    dry = min(WALL + 2 * h, left - DRY - h)  # a coarse wall reaches as far as the drain
    return Scene(
        size=(2.5, common.in_cells(1.5, h), h),
        cells=cells,
        gravity=(0, -GRAVITY, 0),
        density=DENSITY,
        method=Method.foster_metaxas(),
        items=[
            Liquid(Box((-1, -1, -1), (WALL, LEVEL, 1)) | Box((-1, -1, -1), (right, TOP, 1))),
            Solid(Box((WALL, DUCT, -1), (left, TOP, 1)) | Box((WALL, DUCT, -1), (WALL + 2 * h, 3, 1))),
            Solid(Box((right, -1, -1), (4, TOP, 1))),
            Outflow(Box((dry, TOP, -1), (left - DRY, TOP + 1.5 * h, 1))),
            Outflow(Box((right + DRY, TOP, -1), (4, TOP + 1.5 * h, 1))),
            SurfacePressure(presses),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """The speed of the core of the flow in the nozzle, and how high the water rises, both against Bernoulli's."""
    watch, grid = common.Watch(simulation), simulation.scene.grid
    centres = grid.cell_points()[:, 0, 0, 0]
    within, row = np.abs(centres - NOZZLE) < WIDTH / 2, round(TOP / grid.h) - 2
    pressing = simulation.scene.items[-1].f
    speeds, heights = [], []
    for frame in watch.run(FRAMES):
        if frame.number <= STEADY:
            continue
        position = frame.state.particles.position
        level = _level(position, grid.h)
        pressure = float(pressing(np.array([[0.5 * WALL, level, 0.0]]), frame.time)[0])
        head = pressure / (DENSITY * GRAVITY) + level - TOP
        speeds.append(float(frame.state.velocity.y[within, row, 0].max()) / math.sqrt(2 * GRAVITY * head))
        jet = position[(np.abs(position[:, 0] - NOZZLE) < 2 * WIDTH) & (position[:, 1] > TOP), 1] - TOP
        heights.append(float(np.quantile(jet, 0.99, method="lower")) / head if len(jet) else 0.0)
    return watch.figures() | {
        "|speed in the nozzle / Bernoulli's − 1|": abs(float(np.mean(speeds)) - 1),
        "|height of the fountain / Bernoulli's − 1|": abs(float(np.mean(heights)) - 1),
    }


def _level(position, h) -> float:
    """How high the reservoir stands [m]: the mean over it of the highest particle of each column."""
    column = np.floor(position[:, 0] / h).astype(int)
    highest = [position[column == i, 1].max() for i in range(int(WALL / h) - 1) if (column == i).any()]
    return float(np.mean(highest))
