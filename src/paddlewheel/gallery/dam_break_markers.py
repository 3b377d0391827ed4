"""A dam breaks in 2-D, and all that is known of the water is the curve around it: the surface markers of FM96.

Markers are inserted where the curve is drawn out and merged where it is pushed together. Where liquid meets liquid
the curve is set anew, and a warning says so.
"""

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A dam breaks, known by the curve around it alone: the area inside stays until liquid meets liquid."
shown = (6, 12, 30)

LIMITS = common.CLASSIC_LIMITS | {
    "|volume error|, worst": 0.05,
    "|volume error|, until topology changes": 0.02,
    "frames after which topology changes, too few of": 0,
}

FRAMES = 36  # what a check simulates: down, along the floor, up the wall and back
WIDTH, HEIGHT = 0.5, 0.5  # of the column [m]
EARLY = 12  # frames: the water has met the far wall then, but not itself


def scene(cells: int = 64, length: float = 2.0, high: float = 1.5) -> Scene:
    """A tank `length` [m] long and `high`, with a column of water 0.5 m wide and high at its end."""
    h = argument.positive("dam-break-markers", "length", length)
    h /= argument.positive("dam-break-markers", "cells", cells)
    return Scene(
        size=(length, common.in_cells(argument.positive("dam-break-markers", "high", high), h), h),
        cells=cells,
        method=Method.foster_metaxas(surface="surface-markers"),
        items=[Liquid(Box((-1.0, -1.0, -1.0), (WIDTH, HEIGHT, 1.0)))],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """The area inside the curve, up to when parts of it first meet, and after; and that this is not at once."""
    watch = common.Watch(simulation)
    first = None
    for frame in watch.run(FRAMES):
        if first is None and any("topology" in warning for warning in frame.report.warnings):
            first = frame.number
    until = watch.volumes[: FRAMES + 1 if first is None else first]  # the start is the first of them
    return watch.figures() | {
        "|volume error|, until topology changes": max(abs(v / watch.volumes[0] - 1) for v in until),
        "frames after which topology changes, too few of": 0 if first is None else max(0, EARLY - first),
    }
