"""How far a body gets that comes out of the air and meets liquid within a step.

Bodies move before the pressure acts. A light one would go on into the liquid for
a whole step at the speed at which it fell, as nothing but the liquid stops it;
and then be as deep as it could never have come by its energy, which it gets back
from buoyancy many times over.
"""

import math

import numpy as np

from paddlewheel.types import Faces, Grid

__all__ = ["way_into"]

GRIP = 0.25  # cells that a body goes at least beyond where it first touches: the pressure is to get hold of it
_PIECE = 0.1  # cells of a way at a time
_PIECES = 100  # at most


def way_into(
    grid: Grid, shape, mass: float, way: np.ndarray, phi: np.ndarray, velocity: Faces, dt: float, density: float
) -> np.ndarray:
    """The way (3,) [m] that a body goes in dt [s] instead of `way`, if it meets liquid on it.

    shape is the body where it is, mass [kg] its own, phi [m] at centres and velocity on faces [m/s] are the liquid's.
    What the body displaces it has to set in motion. Seen from the liquid, with D the volume displaced after x,

        m v₀ = (m + ρ D(x)) dx/dt ,   so that   v₀ Δt = x + ρ/m ∫ D dx
    """
    h, cells = grid.h, _liquid_near(grid, shape, way, phi)
    points = (cells + grid.first + 0.5) * h

    def covered(way) -> np.ndarray:
        """The part of each cell that the body covers after a way."""
        return np.clip(0.5 - shape.distance(points - way) / h, 0, 1)

    met = covered(way) if len(points) else np.zeros(0)
    if not met.any():
        return way
    carried = dt * np.array([np.average(_at(u, a, cells), weights=met) for a, u in enumerate(velocity)])
    way = way - carried
    length = np.linalg.norm(way)
    pieces = min(math.ceil(length / (_PIECE * h)), _PIECES)
    if pieces == 0:
        return way + carried
    x = np.linspace(0, length, pieces + 1)
    D = h**3 * np.array([covered(way * (s / length)).sum() for s in x])
    D = np.maximum(D - D[0], 0)
    spent = x + density / mass * np.append(0, np.cumsum(0.5 * np.diff(x) * (D[1:] + D[:-1])))
    touched = x[np.argmax(D > 0)] if D.any() else length
    return carried + way * min(1.0, max(np.interp(length, spent, x), touched + GRIP * h) / length)


def _liquid_near(grid, shape, way, phi) -> np.ndarray:
    """Cells (n, 3) with liquid in the box that a body passes."""
    low, high = shape.bounds()
    first = np.floor(np.minimum(low, low + way) / grid.h).astype(int) - grid.first
    last = np.ceil(np.maximum(high, high + way) / grid.h).astype(int) - grid.first
    box = tuple(slice(max(a, 0), max(b, 0)) for a, b in zip(first, last, strict=True))
    return np.argwhere(phi[box] < 0) + [part.start for part in box]


def _at(u, axis, cells) -> np.ndarray:
    """A component of velocity at the centres of cells (n, 3)."""
    return 0.5 * (u[tuple(cells.T)] + u[tuple((cells + np.eye(3, dtype=int)[axis]).T)])
