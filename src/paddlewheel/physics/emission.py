"""Where smoke comes from: shapes that give cells and faces their density, temperature and velocity.

A cell has its share of a shape, the part of it that the shape fills, so that a
source may be anywhere on the grid without steps.
"""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.cells import open_volumes
from paddlewheel.grid.fractions import open_fractions
from paddlewheel.types import Faces

__all__ = ["Shares", "fill", "shares"]


class Shares(NamedTuple):
    """The part of each cell and of the box around each face that a shape fills, in [0, 1], float32."""

    cells: np.ndarray
    faces: Faces


def shares(phi: np.ndarray) -> Shares:
    """The shares of a shape of signed distance φ [m] at nodes."""
    return Shares(1 - open_volumes(phi), Faces(*(1 - w for w in open_fractions(phi, "volume"))))


def fill(
    field: np.ndarray, value: float | np.ndarray, share: np.ndarray, rate: float = math.inf, dt: float = 1.0
) -> None:
    """Mix a source's value into its share s of a field, in place: at once, or for dt [s] at a rate [1/s].

        q ← q + s (1 − exp(−rate Δt)) (q_source − q)

    In a cell that is all source q comes to q_source as fast whatever the step.
    """
    if not (rate >= 0 and 0 <= dt < math.inf):  # nor for NaN
        raise ValueError(f"rate={rate!r}, dt={dt!r}: expected a rate per second and a time in seconds")
    part = -math.expm1(-rate * dt) if dt else 0.0
    field += share * field.dtype.type(part) * (np.asarray(value, field.dtype) - field)
