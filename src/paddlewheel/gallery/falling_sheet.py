"""B08 figure 3 as in the paper: a tall sheet of viscous liquid is dropped on the floor and folds up as it comes down.

Its viscosities are 0.2, 1 and 5 m²/s; at 45 cells across it is the paper's grid of 45 × 300 × 45.
"""

import math
from itertools import pairwise

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A tall sheet of honey falls on its edge and folds; the stiffer it is, the longer the folds."
figure = "B08 figure 3"
shown = (8, 12, 24)
beside = {"200 Pa s": {"viscosity": 200.0}}

LIMITS = common.LIMITS | {
    "|volume error|, at the end": 0.03,  # by the level set, of a sheet three cells thick
    "thickness / sway": 1.0,
    "sway at 200 Pa s / thickness": 0.3,
    "viscosity iterations, most": 50,
}

FRAMES, SEEN = 24, 12  # what a check simulates, and when the sheet is folding
WIDTH, HEIGHT = 0.3, 2.0  # of the box [m]
THICKNESS, BREADTH, LOW, HIGH = 0.04, 0.22, 0.04, 1.9  # of the sheet, and where it begins and ends [m]
LEAN = 0.005  # rad, half of it
THIN, VISCOSITY = 200.0, 1000.0  # one that does not fold, and one that does [Pa s]


def scene(cells: int = 24, viscosity: float = VISCOSITY) -> Scene:
    """A box 0.3 m wide and deep, with so many cells across, and 2 m high; the sheet leans by a hundredth."""
    h = WIDTH / argument.positive("falling-sheet", "cells", cells)
    middle, up = 0.5 * WIDTH, max(1, round(HEIGHT / h))
    x, z = ((middle - 0.5 * side, middle + 0.5 * side) for side in (THICKNESS, BREADTH))
    sheet = Box((x[0], LOW, z[0]), (x[1], HIGH, z[1]))
    leaning = sheet.moved(rotate=(math.cos(LEAN), 0, 0, math.sin(LEAN)), about=(middle, LOW, middle))
    return Scene(
        size=(WIDTH, up * h, WIDTH),
        cells=(cells, up, cells),
        walls="no-slip",
        method=Method(advection="apic", cfl=4.0, tolerance=1e-5),
        items=[Liquid(leaning, viscosity=viscosity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and that the sheet folds, as one of less viscous liquid does not."""
    watch, most, folding = common.Watch(simulation), 0, 0.0
    for frame in watch.run(FRAMES):
        most = max(most, *(solve.iterations for solve in frame.report.solves if solve.name == "viscosity"))
        if frame.number == SEEN:
            folding = sway(frame.state)
    thin = Simulation(scene(simulation.scene.grid.shape[0], THIN))
    for _ in thin.run(SEEN):
        pass
    return watch.figures() | {
        "thickness / sway": THICKNESS / folding,
        "sway at 200 Pa s / thickness": sway(thin.state) / THICKNESS,
        "viscosity iterations, most": float(most),
    }


def sway(state) -> float:
    """How far the middle of the sheet goes to and fro [m], from a quarter to one and a half widths of the box up."""
    x, y, _ = state.particles.position.T.astype(float)
    edges = np.linspace(0.25 * WIDTH, 1.5 * WIDTH, 16)
    middles = [x[(y > low) & (y < high)].mean() for low, high in pairwise(edges)]
    return float(np.ptp(middles))
