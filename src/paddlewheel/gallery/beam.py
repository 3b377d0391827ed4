"""B08 figure 8: a beam of viscous liquid at a wall bends, shears or falls, by what holds at its surface."""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A beam of honey that sticks to a wall turns down towards it; with a wrong surface it cannot turn, or falls."
figure = "B08 figure 8"
shown = (8,)
beside = {"∂u/∂n = 0": {"surface": "neumann"}, "extrapolated": {"surface": "extrapolated"}}

LIMITS = common.LIMITS | {
    "|volume error|, at the end": 0.04,  # where it hangs on the wall it is drawn to a film of two cells
    # the end comes towards the wall only if the beam turns
    "way of the end to the wall, neumann / natural": 0.35,
    "way of the end to the wall, extrapolated / natural": 0.35,
    # held too much, or not at all: it should sink by about ½ g t² less what the wall holds
    "sunk, neumann / natural": 0.95,
    "sunk, natural / extrapolated": 0.95,
}

FRAMES = 8  # what a check simulates: before any of it reaches the floor
BEAM = ((0.0, 0.65), (0.55, 0.85))  # lowest and highest corner [m]


def scene(cells: int = 64, viscosity: float = 400.0, advection: str = "apic", surface: str = "natural") -> Scene:
    """A 2-D box of 1 m with a beam at its left wall, which holds it."""
    h = 1 / argument.positive("beam", "cells", cells)
    (left, low), (right, high) = BEAM
    return Scene(
        size=(1, 1, h),
        cells=(cells, cells, 1),
        walls="no-slip",
        method=Method(advection=advection, viscous_surface=surface),
        items=[Liquid(Box((left - 1, low, -1), (right, high, 1)), viscosity=viscosity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and how far beams go with each surface: ends to the wall, middles down."""
    watch = common.Watch(simulation)
    before = _end_and_middle(simulation)
    list(watch.run(FRAMES))
    (way, sunk), cells = before - _end_and_middle(simulation), simulation.scene.grid.shape[0]
    figures = watch.figures()
    others = {}
    for surface in ("neumann", "extrapolated"):
        other = Simulation(scene(cells, surface=surface))
        start = _end_and_middle(other)
        list(other.run(FRAMES))
        others[surface] = start - _end_and_middle(other)
        figures[f"way of the end to the wall, {surface} / natural"] = float(others[surface][0] / way)
    figures["sunk, neumann / natural"] = float(others["neumann"][1] / sunk)
    figures["sunk, natural / extrapolated"] = float(sunk / others["extrapolated"][1])
    return figures


def _end_and_middle(simulation) -> np.ndarray:
    """How far the end is from the wall, and how high the middle of all liquid [m]."""
    x, y, _ = simulation.state.particles.position.T.astype(float)
    return np.array([np.quantile(x, 0.99), y.mean()])
