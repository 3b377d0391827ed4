"""A plume of hot smoke rises past a tilted plate."""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Smoke, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Cylinder, Shape

caption = "Hot smoke rises against a tilted plate and leaves along it, by its upper end; none gets through."
shown = (32, 64, 96)

LIMITS = common.SMOKE_LIMITS | {
    "seconds until smoke is at the top": 4.0,
    "smoke that went by the lower end / by the upper": 0.5,
}

FRAMES = 96  # what a check simulates
WIDTH, HEIGHT = 1.0, 1.5  # [m]
MIDDLE, REACH, THICKNESS = (0.5, 0.7), 0.2, 0.06  # of the plate [m]


def scene(
    cells: int = 72,
    dimensions: int = 2,
    degrees: float = 30.0,
    temperature: float = 150.0,
    vorticity: float = 0.0,
    advection: str = "flip",
    cfl: float = 3.0,
) -> Scene:
    """A room 1 m wide and 1.5 m high without a ceiling, with a source on its floor and a plate tilted by `degrees`.

    cells are those of the height; a scene of 3 dimensions is as deep as wide.
    """
    common.check_dimensions("plume-plate", dimensions)
    argument.number("plume-plate", "temperature", temperature)
    h = HEIGHT / argument.positive("plume-plate", "cells", cells)
    wide = common.in_cells(WIDTH, h)
    deep = wide if dimensions == 3 else h
    source = Cylinder((MIDDLE[0], 0, deep / 2), (MIDDLE[0], 0.08, deep / 2), 0.12)
    if dimensions == 2:
        source = Box((MIDDLE[0] - 0.12, 0, 0), (MIDDLE[0] + 0.12, 0.08, deep))
    return Scene(
        size=(wide, HEIGHT, deep),
        cells=cells,
        method=Method(advection=advection, cfl=cfl),
        items=[
            Smoke(source, temperature=temperature, rate=math.inf),
            Solid(plate(degrees, deep)),
        ],
        open_sides={"+y"},
        vorticity=vorticity,
    )


def plate(degrees: float = 30.0, deep: float = 1.0) -> Shape:
    """In the middle of a room so deep [m], tilted about z."""
    half = 0.5 * math.radians(argument.number("plume-plate", "degrees", degrees))
    flat = Box((-REACH, -THICKNESS / 2, -REACH), (REACH, THICKNESS / 2, REACH))
    return flat.moved((*MIDDLE, deep / 2), (math.cos(half), 0, 0, math.sin(half)))


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any smoke; it comes to the top, and most of it by the side that is higher."""
    scene, watch = simulation.scene, common.Watch(simulation)
    points = scene.grid.cell_points()
    above, lower = points[..., 1] > MIDDLE[1], points[..., 0] < MIDDLE[0]
    arrival, passed = math.inf, np.zeros(2)
    for frame in watch.run(FRAMES):
        density = frame.state.density
        if density[:, -1].max() > 0.1:
            arrival = min(arrival, frame.time)
        passed += [float(density[above & side].sum(dtype=float)) for side in (lower, ~lower)]
    return watch.figures() | {
        "seconds until smoke is at the top": arrival,
        "smoke that went by the lower end / by the upper": float(passed[0] / passed[1]),
    }
