"""Modified incomplete Cholesky, level 0: the classical preconditioner, to compare with.

Its triangular solves follow the cells one after the other, so it runs on one
thread, and its iterations grow with the grid. B07 §2.1; the formulae and the
two constants are those of Bridson's course notes.
"""

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solve.packed import I, J, Packed, place, span

TUNING = 0.97  # share of the dropped fill-in that is put back on the diagonal
SAFETY = 0.25  # a pivot below this share of the diagonal is replaced by the diagonal


class IncompleteCholesky:
    """The factors of a system; called as `cholesky(z, r)` it sets z to about A⁻¹ r."""

    def __init__(self, packed: Packed):
        self.packed = packed
        self.pivot = packed.layout.zeros(np.float32)
        _factor(self.pivot, packed.inverse, packed.lower, *packed.layout.where, packed.layout.shape[2])

    def __call__(self, z: np.ndarray, r: np.ndarray) -> None:
        _substitute(z, r, self.pivot, self.packed.lower, *self.packed.layout.where, self.packed.layout.shape[2])


@kernel(parallel=False)
def _below(starts, i, j, k):
    """Positions of a cell's lower neighbours, which have the other colour."""
    half = (k + 1) >> 1
    return starts[i, j + 1] + half, starts[i + 1, j] + half, starts[i + 1, j + 1] + (k >> 1)


@kernel(parallel=False)
def _above(starts, i, j, k):
    """Positions of a cell's upper neighbours."""
    half = (k + 1) >> 1
    return starts[i + 2, j + 1] + half, starts[i + 1, j + 2] + half, starts[i + 1, j + 1] + ((k + 2) >> 1)


@kernel(parallel=False)
def _factor(pivot, inverse, lower, rows, blocks, starts, n2):
    for row in range(rows.shape[0]):
        i, j = rows[row, I], rows[row, J]
        first, last = span(rows[row], n2)
        for k in range(first, last):
            colour, at = place(starts, i, j, k)
            if inverse[colour, at] == 0.0:
                continue
            other = 1 - colour
            diagonal = 1.0 / inverse[colour, at]
            e = diagonal
            below = _below(starts, i, j, k)
            for a in range(3):
                c = lower[a, colour, at]
                if c > 0.0:
                    above = _above(starts, i - (a == 0), j - (a == 1), k - (a == 2))
                    filled = 0.0  # the neighbour's couplings that elimination would spread
                    for b in range(3):
                        if b != a:
                            filled += lower[b, colour, above[b]]
                    p = pivot[other, below[a]]
                    e -= c * (c + TUNING * filled) * p * p
            pivot[colour, at] = 1.0 / np.sqrt(e if e > SAFETY * diagonal else diagonal)


@kernel(parallel=False)
def _substitute(z, r, pivot, lower, rows, blocks, starts, n2):
    """Solve L q = r, then Lᵀ z = q, both in z."""
    for row in range(rows.shape[0]):
        i, j = rows[row, I], rows[row, J]
        first, last = span(rows[row], n2)
        for k in range(first, last):
            colour, at = place(starts, i, j, k)
            other = 1 - colour
            below = _below(starts, i, j, k)
            t = r[colour, at]
            for a in range(3):
                t += lower[a, colour, at] * pivot[other, below[a]] * z[other, below[a]]
            z[colour, at] = t * pivot[colour, at]
    for row in range(rows.shape[0] - 1, -1, -1):
        i, j = rows[row, I], rows[row, J]
        first, last = span(rows[row], n2)
        for k in range(last - 1, first - 1, -1):
            colour, at = place(starts, i, j, k)
            other = 1 - colour
            above = _above(starts, i, j, k)
            t = z[colour, at]
            for a in range(3):
                t += lower[a, other, above[a]] * pivot[colour, at] * z[other, above[a]]
            z[colour, at] = t * pivot[colour, at]
