"""FM96: a jet fills a tank, and a hole in the floor drains it."""

from paddlewheel.gallery import common
from paddlewheel.items import Inflow, Liquid, Outflow
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A jet fills a tank that a hole in its floor drains: what came in and did not go out is there."
figure = "FM96, results"
shown = (6, 24, 60)

LIMITS = common.LIMITS | {
    "|volume error|, at the end": 0.01,
    "|inflow / (area · velocity · time) − 1|": 0.01,
}

FRAMES = 60  # what a check simulates
SPEED = 1.25  # of the jet [m/s]
WIDTH, HOLE = 0.125, 0.04  # of the jet and of the hole [m]


def scene(cells: int = 48, dimensions: int = 3, advection: str = "flip", flip: float = 0.97, cfl: float = 5.0) -> Scene:
    """A tank 1 m long, 0.75 m high and 0.5 m deep with 0.3 m of water; jet on the left, hole on the right."""
    common.check_dimensions("filling", dimensions)
    h = 1 / argument.positive("filling", "cells", cells)
    deep = common.in_cells(0.5, h, 2) if dimensions == 3 else h
    jet, hole = ((0.5 * (deep - w), 0.5 * (deep + w)) if dimensions == 3 else (0, deep) for w in (WIDTH, HOLE))
    return Scene(
        size=(1, common.in_cells(0.75, h), deep),
        cells=cells,
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[
            Liquid(Box((0, 0, 0), (1, 0.3, deep))),
            Inflow(Box((-0.1, 0.4, jet[0]), (0.0625, 0.4 + WIDTH, jet[1])), (SPEED, 0, 0)),
            Outflow(Box((0.8, -0.1, hole[0]), (0.8 + HOLE, h, hole[1]))),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene, with what flowed in and out; and what the jet gave against what it should."""
    watch, grid = common.Watch(simulation), simulation.scene.grid
    inflow = 0.0
    for frame in watch.run(FRAMES):
        inflow += frame.report.inflow
    area = WIDTH * (grid.h if grid.is_2d else WIDTH)
    return watch.figures() | {
        "|inflow / (area · velocity · time) − 1|": abs(inflow / (area * SPEED * simulation.time) - 1)
    }
