"""B07 figure 5: a box sinks in a tube through gaps half a cell wide, and is pushed up again."""

from dataclasses import replace

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Hand, Liquid, RigidBody, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Shape

caption = (
    "A heavy box sinks in a tube of water hardly wider than itself, more slowly where the gaps narrow to half a cell; "
    "then a hand lifts it. Voxels see no gap there, and with them it stops."
)
figure = "B07 figure 5"
shown = (24, 60, 95)
beside = {"with voxels": {"weights": "voxel"}}

LIMITS = common.LIMITS | {
    "|volume error|, at the end": 0.03,  # of what φ sees in gaps of half a cell; 0.024 with 48 cells
    "speed below / speed above": 0.9,  # 0.56 to 0.71 with 48 to 128 cells: it bumps into walls
    "1 / cells sunk in any half second": 5.0,
    "1 / cells sunk in the last half second, on rails": 5.0,
    "cells sunk in the last half second, on rails, with voxels": 0.01,
    "box in the wall / h": 0.02,
    "lifted, off the path / h": 1.0,
}

HEIGHT = 1.5  # of the tube [m]
WIDE, NARROW = 0.55, 0.5  # parts of the height from which on the tube is wide, and up to which it is narrow
GAPS = (1.0, 0.5)  # on either side of the box, above and below [cells]
LIFTED, SPEED = 4.0, 0.15  # when the hand begins to lift [s], and how fast [m/s]
LEAST_CELLS = 48
FRAMES = 144  # what a check simulates


def scene(
    cells: int = 64,
    density: float = 2000.0,
    rails: bool = False,
    advection: str = "flip",
    weights: str = "area",
    cfl: float = 5.0,
) -> Scene:
    """A closed 2-D tube full of water, with so many cells along it; the box has this density [kg/m³].

    On `rails` it stays in the middle, and both gaps are alike.
    """
    h = HEIGHT / argument.positive("narrow-tube", "cells", cells)
    counts = (2 * max(4, round(cells / 8)), cells, 1)
    width = counts[0] * h
    # no friction: where it leans on a wall the water on its other side presses it there
    body = RigidBody(box(h, width), density, friction=0.0, locked={"x", "rz"} if rails else frozenset())
    return Scene(
        size=(width, HEIGHT, h),
        cells=counts,
        method=Method(advection=advection, weights=weights, cfl=cfl),
        items=[
            Liquid(Box((0, 0, -1), (width, HEIGHT, 2))),
            Solid(wall(h, width)),
            body,
            Hand(body, (width / 2, 0.86 * HEIGHT, 0), lambda t: path(t, width)),
        ],
    )


def box(h: float, width: float) -> Box:
    """The box at the start [m]: in the wide part, near the top."""
    side = (2 + GAPS[1]) * h
    return Box((side, 0.76 * HEIGHT, -1), (width - side, 0.96 * HEIGHT, 2))


def wall(h: float, width: float) -> Shape:
    """What narrows the tube: two cells thick below, and less above, with a ramp between."""
    thin, thick = (2 + GAPS[1] - gap for gap in GAPS)
    ramp = HalfSpace((thick * h, NARROW * HEIGHT, 0), ((WIDE - NARROW) * HEIGHT, (thick - thin) * h, 0))
    left = Box((-1, -1, -1), (thin * h, 3, 2)) | (Box((-1, -1, -1), (thick * h, 3, 2)) & ramp)
    turned = left.moved(rotate=(0, 0, 1, 0), about=(width / 2, 0, 0))  # half a turn about the axis of the tube
    return left | turned


def path(t: float, width: float) -> tuple[float, float, float] | None:
    """Where the hand wants the middle of the box [m]: it waits where the box is to have sunk to, and then goes up."""
    return None if t < LIFTED else (width / 2, 0.2 * HEIGHT + SPEED * (t - LIFTED), 0)


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; how the box sinks, with this scene's weights and with voxels, and is lifted."""
    scene, watch, heights, deepest = simulation.scene, common.Watch(simulation), [], 0.0
    if scene.grid.shape[1] < LEAST_CELLS:
        raise ValueError(
            f"narrow-tube: cells={scene.grid.shape[1]}, expected at least {LEAST_CELLS} to check: with fewer the gaps "
            "are so wide that the box is on the ground before the hand comes"
        )
    for frame in watch.run(FRAMES):
        heights.append(frame.state.bodies[0].position[1])
        deepest = max(deepest, depth(scene, frame.state.bodies[0]))
    half, sinking = round(0.5 * scene.fps), np.array(heights[: round(LIFTED * scene.fps)])
    h, inside = scene.grid.h, 0.1 * HEIGHT  # half of the box
    wide, narrow = sinking[sinking > WIDE * HEIGHT + inside], sinking[-1 - 2 * half :]
    off = heights[-1] - path(simulation.time, scene.size[0])[1]
    return watch.figures() | {
        "speed below / speed above": float(np.diff(narrow).mean() / np.diff(wide).mean()),
        "1 / cells sunk in any half second": h / max((sinking[:-half] - sinking[half:]).min(), 1e-9),
        "1 / cells sunk in the last half second, on rails": h / max(_sunk_on_rails(scene, half), 1e-9),
        "cells sunk in the last half second, on rails, with voxels": _sunk_on_rails(scene, half, "voxel") / h,
        "box in the wall / h": deepest / h,
        "lifted, off the path / h": abs(float(off)) / h,
    }


def _sunk_on_rails(like: Scene, frames: int, weights: str | None = None) -> float:
    """How far the box sinks [m] in so many frames before the hand would lift it."""
    method = like.method if weights is None else replace(like.method, weights=weights)
    other = scene(like.grid.shape[1], like.items[2].density, rails=True)
    before = Simulation(replace(other, method=method))
    heights = [frame.state.bodies[0].position[1] for frame in before.run(round(LIFTED * like.fps))]
    return float(heights[-1 - frames] - heights[-1])


def depth(scene: Scene, body) -> float:
    """How deep a corner of the box is in the wall [m]."""
    low, high = scene.items[2].shape.bounds()
    corners = np.array([[x, y, 0.5 * scene.grid.h] for x in (low[0], high[0]) for y in (low[1], high[1])])
    center = np.array([*(low + high)[:2] / 2, 0.5 * scene.grid.h])
    at = Pose(orientation=body.orientation).rotation @ (corners - center).T
    return max(0.0, -float(scene.items[1].shape.distance(at.T + body.position).min()))
