"""A dam breaks against a pillar: water climbs it, parts, and closes behind it."""

import math

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Cylinder

caption = "A dam breaks against a pillar: water climbs it, parts, closes behind it, and none of it gets inside."
shown = (11, 18, 40)

LIMITS = common.LIMITS

FRAMES = 48  # what a check simulates: around the pillar, up the far wall and back
SIZE = (2.0, 1.0, 1.0)  # of the tank [m]
_EIGHTH = (math.cos(math.pi / 8), 0, math.sin(math.pi / 8), 0)  # of a turn
PILLARS = {
    "square": Box((1.12, -1, 0.41), (1.3, 2, 0.59)),
    "turned": Box((1.12, -1, 0.41), (1.3, 2, 0.59)).moved(rotate=_EIGHTH, about=(1.21, 0, 0.5)),
    "round": Cylinder((1.21, -1, 0.5), (1.21, 2, 0.5), 0.11),
}


def scene(cells: int = 64, pillar: str = "square", advection: str = "flip", flip: float = 0.97, cfl: float = 5.0):
    """A tank 2 m long, 1 m high and 1 m deep, with a column 0.55 m wide and 0.7 m high, and a pillar."""
    argument.choice("dam-break-pillar", "pillar", pillar, PILLARS)
    h = SIZE[0] / argument.positive("dam-break-pillar", "cells", cells)
    return Scene(
        size=tuple(common.in_cells(side, h) for side in SIZE),
        cells=cells,
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[
            Liquid(Box((0, 0, 0), (0.55, 0.7, SIZE[2]))),
            Solid(PILLARS[pillar]),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene, around the pillar and back."""
    watch = common.Watch(simulation)
    for _ in watch.run(FRAMES):
        pass
    return watch.figures()
