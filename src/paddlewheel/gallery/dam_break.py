"""A column of water, let go: it falls, runs along the floor and up the far wall.

A column a wide and 2a high is the experiment of Martin & Moyce 1952.
"""

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A dam breaks: nothing is lost on the way, and the flow stays free of divergence."
shown = (10, 18, 32)

LIMITS = common.LIMITS

FRAMES = 36  # what a check simulates: down, along the floor and up the wall
WIDTH, HEIGHT = 0.5, 1.0  # of the column [m]


def scene(
    cells: int = 64,
    dimensions: int = 3,
    length: float = 2.0,
    advection: str = "flip",
    flip: float = 0.97,
    weights: str = "area",
    cfl: float = 5.0,
    particles_per_cell: int | None = None,
) -> Scene:
    """A tank `length` [m] long, 1.25 m high and 0.5 m deep, or one cell deep in 2-D, with a column at its end."""
    common.check_dimensions("dam-break", dimensions)
    h = argument.positive("dam-break", "length", length) / argument.positive("dam-break", "cells", cells)
    high, deep = common.in_cells(1.25, h), common.in_cells(0.5, h, 2) if dimensions == 3 else h
    return Scene(
        size=(length, high, deep),
        cells=cells,
        method=Method(
            advection=advection, flip=flip, weights=weights, cfl=cfl, particles_per_cell=particles_per_cell
        ),
        items=[Liquid(Box((0, 0, 0), (WIDTH, HEIGHT, deep)))],
    )  # fmt: skip


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene, all the way to the far wall and up."""
    watch = common.Watch(simulation)
    for _ in watch.run(FRAMES):
        pass
    return watch.figures()
