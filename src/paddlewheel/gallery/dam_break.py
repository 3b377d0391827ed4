"""A column of water, let go: it falls, runs along the floor and up the far wall.

A column a wide and 2a high is the experiment of Martin & Moyce 1952.
"""

from paddlewheel.run import Simulation
from paddlewheel.scene import Liquid, Method, Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A dam breaks: nothing is lost on the way, and the flow stays free of divergence."

LIMITS = {
    "|volume change|": 0.02,
    "max|∇·u| h / √(gH)": 1e-4,
}

FRAMES = 36  # what a check simulates: down, along the floor and up the wall
WIDTH, HEIGHT = 0.5, 1.0  # of the column [m]
LENGTH = 2.0  # of the tank [m]


def scene(
    cells: int = 64,
    dimensions: int = 3,
    advection: str = "flip",
    flip: float = 0.97,
    weights: str = "area",
    cfl: float = 3.0,
    particles_per_cell: int | None = None,
) -> Scene:
    """A tank 2 m long, 1.25 m high and 0.5 m deep, or one cell deep in two dimensions, with a column at its end."""
    if dimensions not in (2, 3):
        raise ValueError(f"dam-break: dimensions={dimensions!r}, expected 2 or 3")
    h = LENGTH / argument.positive("dam-break", "cells", cells)
    high, deep = h * max(1, round(1.25 / h)), h * (1 if dimensions == 2 else max(2, round(0.5 / h)))
    return Scene(
        size=(LENGTH, high, deep),
        cells=cells,
        method=Method(
            advection=advection, flip=flip, weights=weights, cfl=cfl, particles_per_cell=particles_per_cell
        ),
        items=[Liquid(Box((0, 0, 0), (WIDTH, HEIGHT, deep)))],
    )  # fmt: skip


def check(simulation: Simulation) -> dict[str, float]:
    """How far the volume of the liquid leaves that of the column; the largest divergence any frame is left with."""
    size, h = simulation.scene.grid.size, simulation.scene.grid.h
    column, g = WIDTH * HEIGHT * size[2], -simulation.scene.gravity[1]
    change = divergence = 0.0
    for frame in simulation.run(FRAMES):
        change = max(change, abs(frame.report.volume / column - 1))
        divergence = max(divergence, frame.report.divergence)
    return {
        "|volume change|": change,
        "max|∇·u| h / √(gH)": divergence * h / (g * HEIGHT) ** 0.5,
    }
