"""A shape on a hot plate melts from below: warmth goes into it, and what is warm runs off."""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Sphere

caption = "A tower on a hot plate melts from below and runs off; on a cold one it stands."
shown = (6, 16, 36)

LIMITS = common.LIMITS | {
    "height at the end / at the start": 0.6,
    "height on a cold plate, at the start / at the end": 1.05,
    "warmth of the top / of the foot, half melted": 0.3,
}

FRAMES, SEEN = 72, 16  # what a check simulates, and when it is half melted
PLATE, TOWER, WIDE = 0.1, 0.5, 0.3  # tops of the plate and of the tower, and the tower's width [m]
STIFF, HOT, TENTH = 1e5, 100.0, 20.0  # viscosity when cold [Pa s], the plate [K]; and what makes it a tenth of it [K]
CONDUCTION = 0.01  # [m²/s]: ten thousand times that of wax, so that it does not take all day


def scene(cells: int = 64, temperature: float = HOT, conduction: float = CONDUCTION) -> Scene:
    """A 2-D box of a metre, with a plate as its floor, on which a tower stands with a ball as its roof."""
    h = 1 / argument.positive("melting", "cells", cells)
    left, right = 0.5 * (1 - WIDE), 0.5 * (1 + WIDE)
    tower = Box((left, PLATE, -1), (right, TOWER, 1)) | Sphere((0.5, TOWER, 0.5 * h), 0.5 * WIDE)
    return Scene(
        size=(1, 1, h),
        cells=(cells, cells, 1),
        walls="no-slip",
        method=Method(advection="apic"),
        thinning=lambda warmth: 10 ** (-np.maximum(warmth, 0) / TENTH),
        conduction=conduction,
        items=[
            Solid(Box((-1, -1, -1), (2, PLATE, 2)), temperature=temperature),
            Liquid(tower, viscosity=STIFF),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the tower comes down, warm at its foot; and stays up on a cold plate."""
    watch, start = common.Watch(simulation), height(simulation)
    for frame in watch.run(FRAMES):
        if frame.number == SEEN:
            y, warmth = frame.state.particles.position[:, 1], frame.state.particles.carried[:, 1]
            foot, top = (float(warmth[near].mean()) for near in (y < np.quantile(y, 0.1), y > np.quantile(y, 0.9)))
    cold = Simulation(scene(simulation.scene.grid.shape[0], temperature=0.0))
    for _ in cold.run(FRAMES):
        pass
    return watch.figures() | {
        "height at the end / at the start": height(simulation) / start,
        "height on a cold plate, at the start / at the end": start / height(cold),
        "warmth of the top / of the foot, half melted": top / foot,
    }


def height(simulation: Simulation) -> float:
    """Of the liquid above the plate [m]."""
    return float(np.quantile(simulation.state.particles.position[:, 1], 0.99)) - PLATE
