"""FM96: water is poured from an inflow into a tank, by the explicit method with marker particles.

The stream leaves a spout on the left, falls as Galilei says, and fills the tank. What is in it must be what was poured.
"""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Inflow, Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "Water is poured into a tank by the method of 1996: what was poured is there, and its stream falls freely."
figure = "FM96, results"
shown = (8, 24, 48)

LIMITS = common.CLASSIC_LIMITS | {
    # In short sub-steps chance crowds some cells of the spout, and none come into those.
    "|inflow / (area · velocity · time) − 1|": 0.05,
    "|stream − Galilei's parabola| / h, worst": 1.0,
}

FRAMES, EARLY = 48, 7  # what a check simulates, and when the stream has not met the water yet
SPEED, WIDTH = 2.0, 0.125  # of the stream [m/s, m]
SPOUT, BOTTOM = 0.125, 0.75  # where it ends, and how high it is [m]
LEVEL = 0.125  # of the water at the start [m]


def scene(cells: int = 72, dimensions: int = 2) -> Scene:
    """A tank 1.5 m long and 1 m high with 0.125 m of water; the spout is as wide as the tank is deep in 2-D."""
    common.check_dimensions("pouring", dimensions)
    h = 1.5 / argument.positive("pouring", "cells", cells)
    deep = common.in_cells(0.375, h, 2) if dimensions == 3 else h
    across = (0.5 * (deep - WIDTH), 0.5 * (deep + WIDTH)) if dimensions == 3 else (-1.0, 1.0)
    return Scene(
        size=(1.5, common.in_cells(1.0, h), deep),
        cells=cells,
        method=Method.foster_metaxas(),
        items=[
            Liquid(Box((-1.0, -1.0, -1.0), (2.0, LEVEL, 2.0))),
            Inflow(Box((-1.0, BOTTOM, across[0]), (SPOUT, BOTTOM + WIDTH, across[1])), (SPEED, 0, 0)),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What was poured against what should be, and how the stream falls."""
    watch, grid = common.Watch(simulation), simulation.scene.grid
    inflow = falls = 0.0
    for frame in watch.run(FRAMES):
        inflow += frame.report.inflow
        if frame.number == EARLY:
            falls = _fallen(frame.state.particles.position, grid.h)
    area = WIDTH * (grid.h if grid.is_2d else WIDTH)
    return watch.figures() | {
        "|inflow / (area · velocity · time) − 1|": abs(inflow / (area * SPEED * simulation.time) - 1),
        "|stream − Galilei's parabola| / h, worst": falls,
    }


def _fallen(position, h) -> float:
    """How far the middle of the stream is from a parabola [cells], the worst of some places beyond the spout.

    x − x₀ = U t and y₀ − y = ½ g t²: a stream faster than √(gW), for what is slower speeds up at the brink.
    """
    worst = 0.0
    for x in SPOUT + np.array([0.1, 0.2, 0.3, 0.4]):
        there = (np.abs(position[:, 0] - x) < h) & (position[:, 1] > LEVEL + WIDTH)
        fall = BOTTOM + 0.5 * WIDTH - float(position[there, 1].mean())
        worst = max(worst, abs(fall - 0.5 * 9.81 * ((x - SPOUT) / SPEED) ** 2) / h)
    return worst
