"""Heat in a liquid: conduction, and solids that warm or cool it.

    ∂T/∂t + u·∇T = α ∇²T ,      T known in solids that have a temperature

Particles carry T; what conduction changes in Δt is found on the grid, implicitly,
for it may go far in a step:

    T'_i + κ Σ_f w_f (T'_i − T'_nb) + κ Σ_s (T'_i − T_s)/θ  =  T_i ,      κ = α Δt/h²

between cells of liquid through the open part w of their faces, and to a solid at
its true distance θ h, as pressure is tied to a surface. Other walls and the
surface let no heat pass.
"""

from collections.abc import Iterable

import numpy as np

from paddlewheel.solve.linear import Prepared
from paddlewheel.solve.system import System
from paddlewheel.types import Faces, SolveInfo

__all__ = ["conducted"]

NEAREST = 0.1  # cells: a solid counts as so far at least


def conducted(
    temperature: np.ndarray,
    liquid: np.ndarray,
    open: Faces,
    kappa: float,
    solids: Iterable[tuple[np.ndarray, float]] = (),
    tolerance: float = 1e-6,
) -> tuple[np.ndarray, SolveInfo]:
    """The temperature [K] of the cells that are `liquid`, bool, after conduction, and how the solve went.

    kappa is κ; solids are those with a temperature: their distance [cells] at centres, and that. Cells whose centre is
    in one of them have it.
    """
    unknown, solids = liquid.copy(), list(solids)
    temperature = temperature.astype(np.float64)
    for distance, value in solids:
        unknown &= distance > 0
        temperature[liquid & (distance <= 0)] = value  # what liquid there is beside the solid
    extra, rhs = unknown.astype(np.float64), np.where(unknown, temperature, 0.0)
    coupling = Faces(*(np.zeros(w.shape, np.float32) for w in open))
    for axis in range(3):
        lower, upper, inner = _sides(axis)
        both = unknown[lower] & unknown[upper]
        coupling[axis][inner] = np.where(both, np.float32(kappa) * open[axis][inner], 0)
        for distance, value in solids:
            for near, far in ((lower, upper), (upper, lower)):
                touching = unknown[near] & (distance[far] <= 0)
                theta = np.ones(touching.shape)
                np.divide(distance[near], distance[near] - distance[far], out=theta, where=touching)
                tie = np.where(touching, kappa / np.maximum(theta, NEAREST), 0.0)
                extra[near] += tie
                rhs[near] += tie * value
    field, info = Prepared(System(coupling, extra, rhs, unknown)).solve(
        tolerance=tolerance, start=temperature, name="heat"
    )
    return np.where(unknown, field, temperature), info


def _sides(axis: int) -> tuple:
    """The cells below and above the inner faces of an axis, and those faces."""
    return tuple(
        tuple(s if a == axis else slice(None) for a in range(3)) for s in (slice(-1), slice(1, None), slice(1, -1))
    )
