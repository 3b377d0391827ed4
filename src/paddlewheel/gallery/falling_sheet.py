"""B08 figure 3 as in the paper: a tall sheet of viscous liquid is dropped on the floor and folds up as it comes down.

Its viscosities are 0.2, 1 and 5 m²/s; at 45 cells across it is the paper's grid of 45 × 300 × 45.
"""

import math

from paddlewheel.gallery import common
from paddlewheel.run import Simulation
from paddlewheel.scene import Liquid, Method, Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A tall sheet of honey falls on its edge and folds; the stiffer it is, the longer the folds."

LIMITS = common.LIMITS

FRAMES = 24  # what a check simulates
WIDTH, HEIGHT = 0.3, 2.0  # of the box [m]
THICKNESS, BREADTH, LOW, HIGH = 0.04, 0.22, 0.04, 1.9  # of the sheet, and where it begins and ends [m]
VISCOSITY = 1000.0  # [Pa s]


def scene(cells: int = 24, viscosity: float = VISCOSITY) -> Scene:
    """A box 0.3 m wide and deep, with so many cells across, and 2 m high; the sheet leans by a hundredth."""
    h = WIDTH / argument.positive("falling-sheet", "cells", cells)
    middle, up = 0.5 * WIDTH, max(1, round(HEIGHT / h))
    sheet = Box(
        (middle - THICKNESS / 2, LOW, middle - BREADTH / 2), (middle + THICKNESS / 2, HIGH, middle + BREADTH / 2)
    )
    return Scene(
        size=(WIDTH, up * h, WIDTH),
        cells=(cells, up, cells),
        walls="no-slip",
        method=Method(advection="apic", cfl=2.0, tolerance=1e-5),
        items=[
            Liquid(
                sheet.moved(rotate=(math.cos(0.005), 0, 0, math.sin(0.005)), about=(middle, LOW, middle)),
                viscosity=viscosity,
            )
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    watch = common.Watch(simulation)
    list(watch.run(FRAMES))
    return watch.figures()
