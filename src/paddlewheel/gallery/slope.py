"""R05: water runs down a gentle slope, on which voxels would be long steps."""

from dataclasses import replace

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, HalfSpace
from paddlewheel.types import State

caption = "Water runs down a gentle slope into a pool. Open areas let all of it go; with voxels it stays on the steps."
figure = "R05 figures 1–3"
shown = (12, 30, 120)
beside = {"with voxels": {"weights": "voxel"}}

LIMITS = common.LIMITS | {
    "|volume error|, worst": 0.15,  # of a film thinner than a cell, which φ cannot tell to better
    "part of the water left on the slope": 0.02,
    "the same / that with voxels": 0.1,
}

FRAMES = 120  # what a check simulates, until the water is at rest
FOOT = (1.5, 0.15)  # where the slope ends and the bank of the pool begins [m]


def scene(
    cells: int = 128,
    degrees: float = 4.0,
    weights: str = "area",
    interpolation: str = "staggered",
    advection: str = "flip",
    cfl: float = 5.0,
) -> Scene:
    """A 2-D tank 2 m long, with a slope of 1.5 m that falls by `degrees`, and a block of water at its top."""
    if not 0 < argument.number("slope", "degrees", degrees) <= 8:
        raise ValueError(f"slope: degrees={degrees!r}, expected more than 0 and at most 8")
    h, slope = 2 / argument.positive("slope", "cells", cells), np.radians(degrees)
    ramp = HalfSpace((*FOOT, 0), (np.sin(slope), np.cos(slope), 0))
    bank = HalfSpace((*FOOT, 0), (2, 1, 0))
    top = FOOT[1] + FOOT[0] * np.tan(slope)
    return Scene(
        size=(2, common.in_cells(0.5, h), h),
        cells=cells,
        method=Method(weights=weights, interpolation=interpolation, advection=advection, cfl=cfl),
        items=[Solid(ramp & bank), Liquid(Box((0, 0, 0), (0.3, top + 0.12, h)))],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the part of the water that is on the slope at the end, by itself and by voxels."""
    given = simulation.scene
    watch = common.Watch(simulation)
    for _ in watch.run(FRAMES):
        pass
    voxels = Simulation(replace(given, method=replace(given.method, weights="voxel")))
    for _ in voxels.run(FRAMES):
        pass
    left, coarse = left_on_slope(simulation.state), left_on_slope(voxels.state)
    return watch.figures() | {
        "part of the water left on the slope": left,
        "the same / that with voxels": left / coarse if coarse else np.inf,
    }


def left_on_slope(state: State) -> float:
    """The part of the particles above the foot of the slope."""
    return float(np.mean(state.particles.position[:, 0] < FOOT[0]))
