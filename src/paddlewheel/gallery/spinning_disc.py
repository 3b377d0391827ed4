"""B08 §7: a disc of viscous liquid turns freely, if nothing is wrong at its surface.

A rigid motion has no friction. With ∂u/∂n = 0 at the surface (neumann) the
liquid there must not turn, nor may what it is glued to; velocities
extrapolated to the air hold it for some steps. What is left of the loss comes
from splitting a step: liquid goes straight on before pressure bends its way,
which takes about π ω Δt of the angular momentum in a turn.
"""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Cylinder

caption = "A disc of honey turns on and on where its surface is free, and stops where others held it."
figure = "B08 §7"
shown = (192,)

LIMITS = common.LIMITS | {
    "angular momentum lost in a turn": 0.15,
    "angular momentum left after 4 frames, neumann": 0.02,
    "angular momentum left after 24 frames, extrapolated": 0.6,
    # going straight on, its edge goes outwards, and comes back by a part of a cell in a step
    "|volume error|, at the end": 0.04,
}

RADIUS, TURNS = 0.3, 0.25  # [m], [1/s]
FRAMES = 192  # what a check simulates: two turns


def scene(
    cells: int = 48, viscosity: float = 1000.0, advection: str = "apic", surface: str = "natural", cfl: float = 0.5
) -> Scene:
    """A disc in a 2-D box of 1 m, that turns once in four seconds, without gravity."""
    h = 1 / argument.positive("spinning-disc", "cells", cells)
    speed = 2 * math.pi * TURNS

    def turning(points):
        x, y, _ = (points - 0.5).T
        return speed * np.stack([-y, x, 0 * x], axis=1)

    return Scene(
        size=(1, 1, h),
        cells=(cells, cells, 1),
        gravity=(0, 0, 0),
        method=Method(advection=advection, viscous_surface=surface, cfl=cfl),
        items=[Liquid(Cylinder((0.5, 0.5, -1), (0.5, 0.5, 1), RADIUS), velocity=turning, viscosity=viscosity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and what is lost of the angular momentum, also with the other surfaces."""
    watch, before = common.Watch(simulation), angular_momentum(simulation)
    list(watch.run(FRAMES))
    lost = 1 - angular_momentum(simulation) / before
    cells = simulation.scene.grid.shape[0]
    return watch.figures() | {
        "angular momentum lost in a turn": lost / (FRAMES / simulation.scene.fps * TURNS),
        "angular momentum left after 4 frames, neumann": _left(scene(cells, surface="neumann"), 4),
        "angular momentum left after 24 frames, extrapolated": _left(scene(cells, surface="extrapolated"), 24),
    }


def _left(other: Scene, frames: int) -> float:
    simulation = Simulation(other)
    before = angular_momentum(simulation)
    list(simulation.run(frames))
    return angular_momentum(simulation) / before


def angular_momentum(simulation: Simulation) -> float:
    """Of the particles about the middle of the box, for unit mass each [m²/s]."""
    particles = simulation.state.particles
    x, y = (particles.position[:, :2].astype(float) - 0.5).T
    u, v = particles.velocity[:, :2].astype(float).T
    return float((x * v - y * u).sum())
