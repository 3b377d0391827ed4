"""A piston is pulled out of a closed cylinder full of water: a gap opens, and the water falls from the lid."""

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.physics.separation import touching
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box

caption = "A piston is pulled out of a cylinder full of water: it leaves a gap, and no water is made to fill it."
shown = (12, 24)
beside = {"without a gap": {"wall_separation": False}}

LIMITS = common.LIMITS | {
    "pressure iterations, most": 24,  # when the gap opens
    "−min p at walls [Pa]": 0.0,
    "frames in which a closed region gained volume": 0,
}

FRAMES = 36  # what a check simulates: the stroke, and the waves after it
LENGTH, STROKE, SPEED = 0.6, 0.15, 0.3  # of the water [m], of the piston [m], [m/s]


def scene(cells: int = 48, wall_separation: bool = True, cfl: float = 3.0) -> Scene:
    """A cylinder of 1 m × 0.5 m in 2-D, full of water to the left of the piston."""
    h = 1 / argument.positive("piston", "cells", cells)
    high = common.in_cells(0.5, h)
    return Scene(
        size=(1, high, h),
        cells=cells,
        method=Method(wall_separation=wall_separation, cfl=cfl),
        items=[
            Solid(Box((LENGTH, -1, -1), (3, 2, 2)), motion=lambda t: Pose((min(SPEED * t, STROKE), 0, 0))),
            Liquid(Box((0, 0, -1), (LENGTH, high, 2))),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene, above all its volume; and no suction at any time."""
    watch, suction, grown = common.Watch(simulation), 0.0, 0
    for frame in watch.run(FRAMES):
        suction = max(suction, -frame.state.pressure[touching(simulation.boundary)].min())
        grown += any("closed regions" in warning for warning in frame.report.warnings)
    return watch.figures() | {
        "−min p at walls [Pa]": float(suction),
        "frames in which a closed region gained volume": grown,
    }
