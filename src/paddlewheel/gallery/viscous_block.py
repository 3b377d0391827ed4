"""B08 figure 2: a block whose viscosity grows along it falls without turning, and then splashes at one end only."""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = (
    "A block of liquid, thin as water at one end and stiff at the other, falls level and splashes at one end only."
)
figure = "B08 figure 2"
shown = (4, 10, 20)

LIMITS = common.LIMITS | {
    "sideways momentum in the fall / momentum": 1e-4,
    "angular momentum in the fall / momentum × length": 1e-4,
    "stiff end's height at the end / its height": 1.05,
    "its height / stiff end's at the end": 1.6,
    "thin end's height at the end / its height": 0.6,
}

FALL, FRAMES = 4, 24  # frames before it reaches the floor, and those that a check simulates
BLOCK = ((0.2, 0.2), (1.4, 0.6))  # lowest and highest corner [m]
STIFF, DECADES = 5000.0, 7.0  # the largest viscosity [Pa s], and by how many powers of ten it falls along the block


def scene(cells: int = 96, stiff: float = STIFF, advection: str = "apic") -> Scene:
    """A 2-D box of 2 × 1 m, and a block with its viscous end on the left."""
    h = 2 / argument.positive("viscous-block", "cells", cells)
    (left, low), (right, high) = BLOCK

    def viscosity(points):
        return stiff * 10 ** (-DECADES * np.clip((points[:, 0] - left) / (right - left), 0, 1))

    up = max(1, round(1 / h))
    return Scene(
        size=(2, up * h, h),
        cells=(cells, up, 1),
        walls="no-slip",
        method=Method(advection=advection),
        items=[Liquid(Box((left, low, -1), (right, high, 1)), viscosity=viscosity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; no sideways or angular momentum in the fall; the stiff end stands at the end."""
    watch, sideways, turning = common.Watch(simulation), 0.0, 0.0
    (left, low), (right, high) = BLOCK
    for frame in watch.run(FRAMES):
        if frame.number <= FALL:
            p, v = (a.astype(float) for a in frame.state.particles[:2])
            r = p - p.mean(axis=0)
            down = np.abs(v[:, 1]).sum()
            sideways = max(sideways, abs(v[:, 0].sum()) / down)
            turning = max(turning, abs((r[:, 0] * v[:, 1] - r[:, 1] * v[:, 0]).sum()) / (down * (right - left)))
    x, y, _ = simulation.state.particles.position.T.astype(float)
    stiff, thin = (np.quantile(y[near], 0.98) / (high - low) for near in (x < left + 0.2, (x > 1.0) & (x < right)))
    return watch.figures() | {
        "sideways momentum in the fall / momentum": float(sideways),
        "angular momentum in the fall / momentum × length": float(turning),
        "stiff end's height at the end / its height": float(stiff),
        "its height / stiff end's at the end": float(1 / stiff),
        "thin end's height at the end / its height": float(thin),
    }
