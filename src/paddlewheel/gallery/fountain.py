"""FM96: pressure on the surface of a reservoir drives a fountain.

The air over the reservoir, on the left, presses on its surface by p more than that over the fountain. So the water goes
down, under a wall, and up through an opening in a lid. Bernoulli says how fast it is there, steady or not:

    v²/2g = p/ρg + η − y − p'/ρg − 1/g d/dt ∫ u·ds

η being the level of the reservoir, y the height of the opening, p' the pressure in it, and the integral along the water
from the surface to there: the water has to be set in motion, which takes half a second, and by then the level has
fallen. In the air what is left of p' turns into speed, and the water rises by v²/2g + p'/ρg. Then it falls back onto
what rises, and some of it into the opening: that is no flow of Bernoulli's any more, and some per cent slower.

`SurfacePressure` takes any function of place and time: with a period the pressure goes up and down, and so does the
fountain.
"""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Outflow, Solid, SurfacePressure
from paddlewheel.method import Method
from paddlewheel.run import Frame, Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box
from paddlewheel.types import Grid

caption = (
    "Pressure on a reservoir drives a fountain: it leaves the opening as fast as Bernoulli says, and rises as high."
)
figure = "FM96, results"
shown = (6, 12, 24)

FRAMES, BEGUN, FALLEN = 36, 6, 18  # what a check simulates, when water flows, and when much of it has fallen back
WALL, DUCT = 1.25, 0.25  # where the reservoir ends, and how high the wall is above the floor [m]
LEVEL, LID = 0.75, 0.5  # of the reservoir, and of the upper side of the lid [m]
OPENING, WIDTH = 1.875, 0.1875  # the middle of it, and how wide it is [m]
DRY = 0.0625  # from the opening on to where water is drained [m]
GRAVITY, DENSITY = 9.81, 1000.0
LIMITS = common.CLASSIC_LIMITS | {
    "|speed in the opening / Bernoulli's − 1|": 0.05,
    "|height of the fountain / Bernoulli's − 1|": 0.15,
}


def scene(cells: int = 80, pressure: float = 4000.0, period: float = 0.0) -> Scene:
    """A 2-D reservoir 1.25 m wide under a pressure [Pa], and an opening 0.1875 m wide; what falls back is drained.

    With a period [s] the pressure swings between that and none. The more of it, the higher is the room; more than some
    10 kPa empty the reservoir before the fountain stands.
    """
    h = 2.5 / argument.positive("fountain", "cells", cells)
    head = argument.positive("fountain", "pressure", pressure) / (DENSITY * GRAVITY) + LEVEL - LID

    def presses(points, t):
        part = 0.5 - 0.5 * math.cos(2 * math.pi * t / period) if period else 1.0
        return np.where(points[:, 0] < WALL, pressure * part, 0.0)

    left, right, top = (h * n for n in _opening(h))
    high = common.in_cells(LID + 1.5 * head, h)
    return Scene(
        size=(2.5, high, h),
        cells=max(cells, round(high / h)),  # along the longer side
        gravity=(0, -GRAVITY, 0),
        density=DENSITY,
        method=Method.foster_metaxas(),
        items=[
            Liquid(Box((-1, -1, -1), (WALL, LEVEL, 1)) | Box((-1, -1, -1), (4, top, 1))),
            Solid(Box((WALL, DUCT, -1), (WALL + 2 * h, 100, 1)) | Box((WALL, top - 2 * h, -1), (left, top, 1))),
            Solid(Box((right, top - 2 * h, -1), (4, top, 1))),
            Outflow(Box((WALL + 2 * h, top, -1), (left - DRY, top + 1.5 * h, 1))),
            Outflow(Box((right + DRY, top, -1), (4, top + 1.5 * h, 1))),
            SurfacePressure(presses),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """The speed in the opening until water falls back into it, and how high it rises at all, against Bernoulli's.

    As long as the reservoir stands higher than the duct: then air comes through.
    """
    watch, grid = common.Watch(simulation), simulation.scene.grid
    pressing, rows = simulation.scene.items[-1].f, []
    for frame in watch.run(FRAMES):
        position = frame.state.particles.position
        level = _level(position, grid.h)
        if level > 1.2 * DUCT:
            pressure = float(pressing(np.array([[0.5 * WALL, level, 0.0]]), frame.time)[0])
            potential, within, speed, y = _along(frame, grid, level)
            jet = position[(np.abs(position[:, 0] - OPENING) < 2 * WIDTH) & (position[:, 1] > y), 1]
            height = float(np.quantile(jet, 0.99, method="lower")) - y if len(jet) else 0.0
            weight = DENSITY * GRAVITY
            rows.append((frame.time, pressure / weight + level - y, potential, within / weight, speed, height))
    times, driven, potentials, within, speeds, heights = np.array(rows).T
    head = driven - np.gradient(potentials, times) / GRAVITY
    expected = np.sqrt(2 * GRAVITY * np.maximum(head - within, 1e-3))
    # medians, over half a second and over five frames: pressure jumps where cells come and go
    speed = float(np.median((speeds / expected)[BEGUN:FALLEN]))
    highest = float(np.median(np.lib.stride_tricks.sliding_window_view(head[BEGUN:], 5), axis=1).max())
    return watch.figures() | {
        "|speed in the opening / Bernoulli's − 1|": abs(speed - 1),
        "|height of the fountain / Bernoulli's − 1|": abs(float(heights.max()) / highest - 1),
    }


def _opening(h: float) -> tuple[int, int, int]:
    """Left and right end of the opening, and the upper side of the lid [cells]."""
    width = max(2, round(WIDTH / h))
    left = round(OPENING / h - 0.5 * width)
    return left, left + width, round(LID / h)


def _along(frame: Frame, grid: Grid, level: float) -> tuple[float, float, float, float]:
    """∫ u·ds [m²/s] to the middle of the opening, and pressure [Pa], speed and height there.

    It leads down from the surface in the middle of the reservoir, along the duct, and up.
    """
    h, u = grid.h, frame.state.velocity
    left, right, top = _opening(h)
    i, j, k, above = int(0.5 * WALL / h), int(0.5 * DUCT / h), (left + right) // 2, top - 1
    covered = np.clip(level / h + 0.5 - np.arange(j + 1, grid.shape[1] + 1), 0.0, 1.0)  # of what is about each face
    down = -float(covered @ u.y[i, j + 1 :, 0])
    along = float(u.x[i + 1 : k + 1, j, 0].sum() + u.y[k, j + 1 : above + 1, 0].sum())
    speed = 0.5 * float(u.y[k, above, 0] + u.y[k, above + 1, 0])
    return h * (down + along), float(frame.state.pressure[k, above, 0]), speed, (above + 0.5) * h


def _level(position, h) -> float:
    """How high the reservoir stands [m]: the mean over it of the highest particle of each column."""
    column = np.floor(position[:, 0] / h).astype(int)
    highest = [position[column == i, 1].max() for i in range(int(WALL / h) - 1) if (column == i).any()]
    return float(np.mean(highest))
