"""B07 §1: a stopper in a closed tube rests on the water under it and holds the water above it."""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, RigidBody, Solid
from paddlewheel.method import Method
from paddlewheel.physics.surface import liquid_volume
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "A heavy plug fits a tube that is closed below: it rests on the water under it, and none passes it."
figure = "B07 §1"
shown = (240,)

LIMITS = common.LIMITS | {
    "water above that is lost, by volume": 1e-3,
    "water above that is lost, by particles": 0.0,
    "plug sunk / h": 0.05,
}

FRAMES = 240  # what a check simulates: ten seconds
WALLS = (0.15, 0.45)  # of the tube [m]
PLUG = (0.4, 0.52)  # from where to where it is [m]
LEVEL = 0.9  # of the water above it [m]


def scene(
    cells: int = 48, density: float = 3000.0, advection: str = "flip", weights: str = "area", cfl: float = 5.0
) -> Scene:
    """A 2-D tube with water, a plug of this density [kg/m³] that fits exactly, and water on it."""
    h = 1.2 / argument.positive("plug", "cells", cells)
    counts = (max(1, round(0.6 / h)), cells, 1)
    left, right = WALLS
    return Scene(
        size=[n * h for n in counts],
        cells=counts,
        method=Method(advection=advection, weights=weights, cfl=cfl),
        items=[
            Solid(Box((-1, -1, -1), (left, 3, 2)) | Box((right, -1, -1), (3, 3, 2))),
            Liquid(Box((left, 0, -1), (right, LEVEL, 2))),
            RigidBody(Box((left, PLUG[0], -1), (right, PLUG[1], 2)), density, friction=0.0),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the plug stays, and so does the water above it."""
    watch, (volume, count) = common.Watch(simulation), above(simulation)
    lost = []
    for _ in watch.run(FRAMES):
        now, particles = above(simulation)
        lost.append((1 - now / volume, 1 - particles / count))
    by_volume, by_particles = np.max(lost, axis=0)
    sunk = sum(PLUG) / 2 - simulation.state.bodies[0].position[1]
    return watch.figures() | {
        "water above that is lost, by volume": float(by_volume),
        "water above that is lost, by particles": float(by_particles),
        "plug sunk / h": abs(float(sunk)) / simulation.scene.grid.h,
    }


def above(simulation: Simulation) -> tuple[float, int]:
    """Volume [m³] and particles of the water above the middle of the plug."""
    grid, state = simulation.scene.grid, simulation.state
    middle = state.bodies[0].position[1]
    phi = np.where(grid.cell_points()[..., 1] > middle, state.phi, np.float32(grid.h))
    volume = liquid_volume(phi.astype(np.float32), simulation.boundary.phi, grid.h)
    return volume, int(np.count_nonzero(state.particles.position[:, 1] > middle))
