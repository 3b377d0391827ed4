"""Modified incomplete Cholesky, level 0: the classical preconditioner, to compare with.

Its triangular solves follow the cells one after the other, so it runs on one
thread, and its iterations grow with the grid. B07 §2.1; the formulae and the
two constants are those of Bridson's course notes.
"""

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solve.packed import Packed, place
from paddlewheel.solve.system import System

TUNING = 0.97  # share of the dropped fill-in that is put back on the diagonal
SAFETY = 0.25  # a pivot below this share of the diagonal is replaced by the diagonal


class IncompleteCholesky:
    """The factors of a system; called as `cholesky(z, r)` it sets z to about A⁻¹ r."""

    def __init__(self, system: System, packed: Packed):
        self.packed = packed
        self.pivot = packed.layout.zeros(np.float32)
        _factor(self.pivot, packed.inverse, packed.lower, *packed.layout.where)

    def __call__(self, z: np.ndarray, r: np.ndarray) -> None:
        _substitute(z, r, self.pivot, self.packed.lower, *self.packed.layout.where)


@kernel(parallel=False)
def _steps(k, stride, pitch):
    """From a cell's position to those of its lower and upper neighbours, which have the other colour."""
    down, up = (k >> 1) - ((k + 1) >> 1), ((k + 2) >> 1) - ((k + 1) >> 1)
    return (-stride, -pitch, down), (stride, pitch, up)


@kernel(parallel=False)
def _factor(pivot, inverse, lower, rows, blocks, stride, pitch):
    for row in range(rows.shape[0]):
        i, j = rows[row, 4] - 1, rows[row, 5] - 1
        for k in range(2 * rows[row, 1] - 1, 2 * rows[row, 2] - 1):
            colour, at = place(i, j, k, stride, pitch)
            if inverse[colour, at] == 0.0:
                continue
            other = 1 - colour
            diagonal = 1.0 / inverse[colour, at]
            e = diagonal
            below, _ = _steps(k, stride, pitch)
            for a in range(3):
                c = lower[a, colour, at]
                if c > 0.0:
                    there = at + below[a]
                    _, above = _steps(k - 1 if a == 2 else k, stride, pitch)
                    filled = 0.0  # the neighbour's couplings that elimination would spread
                    for b in range(3):
                        if b != a:
                            filled += lower[b, colour, there + above[b]]
                    p = pivot[other, there]
                    e -= c * (c + TUNING * filled) * p * p
            pivot[colour, at] = 1.0 / np.sqrt(e if e > SAFETY * diagonal else diagonal)


@kernel(parallel=False)
def _substitute(z, r, pivot, lower, rows, blocks, stride, pitch):
    """Solve L q = r, then Lᵀ z = q, both in z."""
    for row in range(rows.shape[0]):
        i, j = rows[row, 4] - 1, rows[row, 5] - 1
        for k in range(2 * rows[row, 1] - 1, 2 * rows[row, 2] - 1):
            colour, at = place(i, j, k, stride, pitch)
            other = 1 - colour
            below, _ = _steps(k, stride, pitch)
            t = r[colour, at]
            for a in range(3):
                t += lower[a, colour, at] * pivot[other, at + below[a]] * z[other, at + below[a]]
            z[colour, at] = t * pivot[colour, at]
    for row in range(rows.shape[0] - 1, -1, -1):
        i, j = rows[row, 4] - 1, rows[row, 5] - 1
        for k in range(2 * rows[row, 2] - 2, 2 * rows[row, 1] - 2, -1):
            colour, at = place(i, j, k, stride, pitch)
            other = 1 - colour
            _, above = _steps(k, stride, pitch)
            t = z[colour, at]
            for a in range(3):
                t += lower[a, other, at + above[a]] * pivot[colour, at] * z[other, at + above[a]]
            z[colour, at] = t * pivot[colour, at]
