"""Hot smoke in a box with a lid: it rises, spreads under the lid, and comes down along the walls."""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Smoke
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "Hot smoke rises in a closed box and spreads under its lid: none is lost, and none goes through the walls."
shown = (24, 48, 72)

LIMITS = common.SMOKE_LIMITS | {
    "change of all smoke": 1e-5,
    "flow through walls / max|u|": 0.0,
    "energy / work of the heat": 1.0,
    "height of the smoke below the lid / that at the start": 0.7,
    "side of the smoke not under the lid / width": 0.1,
}

FRAMES = 72  # what a check simulates: until it has reached the walls, and some of it come down


def scene(
    cells: int = 64,
    dimensions: int = 2,
    temperature: float = 100.0,
    vorticity: float = 0.0,
    cooling: float = 0.0,
    advection: str = "flip",
    flip: float = 0.97,
    cfl: float = 3.0,
) -> Scene:
    """A closed room 1 m wide and 0.75 m high, one cell or 0.5 m deep, with a block of hot smoke on its floor."""
    common.check_dimensions("plume-box", dimensions)
    argument.number("plume-box", "temperature", temperature)
    h = 1 / argument.positive("plume-box", "cells", cells)
    deep = common.in_cells(0.5, h, 2) if dimensions == 3 else h
    low, high = (0, deep) if dimensions == 2 else (0.35 * deep, 0.65 * deep)
    return Scene(
        size=(1, common.in_cells(0.75, h), deep),
        cells=cells,
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[Smoke(Box((0.4, 0, low), (0.6, 0.3, high)), temperature=temperature)],
        vorticity=vorticity,
        cooling=cooling,
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any smoke; none is lost, and what moves has its energy from the heat that rose.

    Heat T at a height y gives  ρ β ∫ T Δy dV.
    """
    scene, watch, start = simulation.scene, common.Watch(simulation), simulation.state
    y = scene.grid.cell_points()[..., 1]
    lid, below = scene.grid.size[1], np.average(y, weights=start.density)
    lift = _lift(scene, start, y)
    through, energy = 0.0, math.inf
    for frame in watch.run(FRAMES):
        velocity = frame.state.velocity
        walls = [q for u, a in zip(velocity, range(3), strict=True) for q in np.moveaxis(u, a, 0)[[0, -1]]]
        through = max(
            through, max(float(np.abs(q).max()) for q in walls) / max(float(np.abs(u).max()) for u in velocity)
        )
        energy = frame.report.kinetic_energy / (_lift(scene, frame.state, y) - lift)
    density = simulation.state.density
    under = density[:, y[0, :, 0] > 0.75 * lid].max(axis=(1, 2)) > 0.1
    return watch.figures() | {
        "change of all smoke": max(abs(amount / watch.smoke[0] - 1) for amount in watch.smoke),
        "flow through walls / max|u|": through,
        "energy / work of the heat": energy,
        "height of the smoke below the lid / that at the start": float(
            (lid - np.average(y, weights=density)) / (lid - below)
        ),
        "side of the smoke not under the lid / width": float(1 - under.mean()),
    }


def _lift(scene, state, y) -> float:
    """ρ β ∫ T y dV [J]."""
    return float(scene.density * scene.buoyancy[1] * (state.temperature * y).sum(dtype=float) * scene.grid.h**3)
