"""Where smoke comes from: shapes that give cells and faces their density, temperature and velocity.

A cell has its share of a shape, the part of it that the shape fills, so that a
source may be anywhere on the grid, and move, without steps.
"""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.cells import open_cells, open_volumes
from paddlewheel.grid.fractions import open_fractions
from paddlewheel.types import Boundary, Faces

__all__ = ["Shares", "add", "fill", "shares"]


class Shares(NamedTuple):
    """The part of each cell and of the box around each face that a shape fills, in [0, 1], float32; none in solids."""

    cells: np.ndarray
    faces: Faces


def shares(phi: np.ndarray, boundary: Boundary) -> Shares:
    """The shares of a shape, of signed distance φ [m] at nodes, in the cells and faces that solids leave open."""
    if phi.shape != boundary.phi.shape:
        raise ValueError(f"phi at {phi.shape} nodes, boundary at {boundary.phi.shape}: expected the same grid")
    cells, faces = 1 - open_volumes(phi), [1 - w for w in open_fractions(phi, "volume")]
    cells[~open_cells(boundary.phi)] = 0
    for share, w in zip(faces, boundary.open, strict=True):
        share[w == 0] = 0
    return Shares(cells, Faces(*faces))


def fill(field: np.ndarray, value: float, share: np.ndarray, rate: float = math.inf, dt: float = 1.0) -> None:
    """Mix a source's value into its share s of a field, in place: at once, or for dt [s] at a rate [1/s].

        q ← q + s (1 − exp(−rate Δt)) (q_source − q)

    In a cell that is all source q comes to q_source as fast whatever the step.
    """
    part = -math.expm1(-_positive(rate, dt))
    field += share * field.dtype.type(part) * (field.dtype.type(value) - field)


def add(field: np.ndarray, per_second: float, share: np.ndarray, dt: float) -> None:
    """Add what a source gives in dt [s] to its share of a field, in place:  q ← q + s Δt q̇.

    The amount ∫ q dV grows by q̇ Δt times the volume of the shape.
    """
    field += share * field.dtype.type(_positive(dt, 1.0) * per_second)


def _positive(rate, dt) -> float:
    if not (rate >= 0 and 0 <= dt < math.inf):  # nor for NaN
        raise ValueError(f"rate={rate!r}, dt={dt!r}: expected a rate per second and a time in seconds")
    return rate * dt if dt else 0.0
