"""Conjugate gradients in float64 on a packed system, with any preconditioner.

Recurring a residual in float32 lies: the true one is 30 to 80 times larger.
So vectors and sums are float64 and only the preconditioner is float32; and
the residual that is reported is always recomputed from the solution.
"""

import time
from collections.abc import Callable

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.packed import ABOVE_I, ABOVE_J, BELOW_I, BELOW_J, FIRST, LAST, PLAIN, START, Packed, shift
from paddlewheel.types import SolveInfo

RESTARTS = 3


def stencil(packed: Packed) -> Callable[[np.ndarray, np.ndarray], float]:
    """The matrix as a function: `apply(q, x)` sets q = A x and returns x · A x."""
    partial = np.empty(len(packed.layout.blocks) - 1)

    def apply(q, x):
        return _applied(q, partial, x, packed.lower, packed.diagonal, *packed.layout.where)

    return apply


def conjugate_gradients(
    packed: Packed,
    x: np.ndarray | None,
    apply: Callable[[np.ndarray, np.ndarray], float],
    precondition: Callable[[np.ndarray, np.ndarray], None],
    tolerance: float,
    iterations: int,
    name: str,
) -> tuple[np.ndarray, SolveInfo]:
    """Improve x, or zero if there is none, until max|b − A x| ≤ tolerance · max|b|.

    `apply(q, x)` sets q = A x and returns x · A x: the stencil, and whatever
    else a term adds to it. `precondition(z, r)` sets the float32 vector z to
    about A⁻¹ r, by a symmetric positive operator. When the recurred residual
    has converged but the true one has not, the iteration is begun anew.
    """
    began = time.perf_counter()
    begin_at_zero = x is None
    descent = Descent(packed, x)
    x, largest = descent.x, descent.size(name)
    if largest == 0.0:
        x[:] = 0.0
        return x, SolveInfo(name, packed.unknowns, 0, 0.0, time.perf_counter() - began, True)

    count, residual = 0, np.inf
    for start in range(RESTARTS):
        if start > 0 or not begin_at_zero:  # the residual of zero is there already
            descent.begin(apply)
        before, residual = residual, descent.left / largest
        if residual <= tolerance or count >= iterations or not residual < before:
            break
        while descent.left / largest > tolerance and count < iterations and descent.advance(apply, precondition):
            count += 1
    return x, SolveInfo(
        name, packed.unknowns, count, float(residual), time.perf_counter() - began, bool(residual <= tolerance)
    )


class Descent:
    """The vectors of conjugate gradients on A x = b, from x, or from zero if there is none.

    x      the solution so far
    left   max|r|, the recurred residual r = b − A x
    alpha  how far the last step went along its direction, and
    q      A times that direction
    """

    def __init__(self, packed: Packed, x: np.ndarray | None):
        layout = packed.layout
        self._rhs, self._where = packed.rhs, (layout.rows, layout.blocks)
        self._partial = np.zeros(len(layout.blocks) - 1)
        self.r, self._d, self.q = (layout.zeros(np.float64) for _ in range(3))
        self.x = layout.zeros(np.float64) if x is None else x
        self._r32, self._z = layout.zeros(np.float32), layout.zeros(np.float32)
        self._rho = self.alpha = self.left = 0.0

    def size(self, name: str) -> float:
        """max|b|, to be asked for first: r is then that of zero."""
        self._set_residual()
        if not np.isfinite(self.left):
            raise ValueError(
                f"{name}: the right-hand side is not finite: something it was made from is NaN or infinite"
            )
        return self.left

    def begin(self, apply) -> None:
        """The true residual of x; the next direction forgets those before."""
        apply(self.q, self.x)
        self._set_residual()

    def advance(self, apply, precondition) -> bool:
        """One iteration, unless there is nothing left that the preconditioner can see, or what it sees is no number.

        Nor along a direction in which A seems not positive: only rounding makes it so, and the step would be endless.
        """
        where = self._where
        precondition(self._z, self._r32)
        rho = _new_direction(self._d, self._partial, self.r, self._z, self._rho, *where)
        if not rho > 0.0:
            return False
        curvature = apply(self.q, self._d)
        if not curvature > 0.0:
            return False
        self.alpha = rho / curvature
        self.left = _advanced(self.x, self.r, self._r32, self._partial, self._d, self.q, self.alpha, *where)
        self._rho = rho
        return True

    def _set_residual(self) -> None:
        _residual(self.r, self._r32, self._partial, self._rhs, self.q, *self._where)
        self._rho, self.left = 0.0, self._partial.max()


@kernel(parallel=False)
def _applied(q, partial, x, lower, diagonal, rows, blocks, starts):
    """q = A x, and x · A x."""
    _apply(q, partial, x, lower, diagonal, rows, blocks, starts)
    return partial.sum()


@kernel(parallel=False)
def _new_direction(d, partial, r, z, old, rows, blocks):
    """r · z, and if that is positive  d = z + (r · z / old) d, where old is that of the last direction, if any."""
    _dot(partial, r, z, rows, blocks)
    rho = partial.sum()
    if rho > 0.0:
        _direction(d, z, rho / old if old > 0.0 else 0.0, rows, blocks)
    return rho


@kernel(parallel=False)
def _advanced(x, r, r32, partial, d, q, alpha, rows, blocks):
    """What _advance does, and the largest |r|, not a number if any is none."""
    _advance(x, r, r32, partial, d, q, alpha, rows, blocks)
    return _largest(partial)


@kernel(parallel=False)
def _largest(partial):
    """The maximum, not a number if any is none."""
    largest = 0.0
    for n in range(len(partial)):
        if not partial[n] <= largest:
            largest = partial[n]
            if np.isnan(largest):
                break
    return largest


@kernel
def _apply(q, partial, x, lower, diagonal, rows, blocks, starts):
    """q = A x, and each block's part of x · A x."""
    for block in prange(blocks.shape[0] - 1):
        total = 0.0
        for colour in range(2):
            other = 1 - colour
            for r in range(blocks[block], blocks[block + 1]):
                hop = shift(rows[r], colour)
                if rows[r, PLAIN]:
                    total += _apply_plain_row(q[colour], x[colour], x[other], diagonal[colour], rows[r], hop)
                else:
                    total += _apply_row(
                        q[colour], x[colour], x[other], diagonal[colour],
                        lower[0, colour], lower[1, colour], lower[2, colour],
                        lower[0, other], lower[1, other], lower[2, other],
                        rows[r], hop,
                    )  # fmt: skip
        partial[block] = total


@kernel(parallel=False)
def _apply_row(q, x, y, diagonal, c0, c1, c2, d0, d1, d2, row, hop):
    """One row of one colour: x is that colour, y the other; c and d their lower couplings."""
    total = 0.0
    first, count = row[FIRST], row[LAST] - row[FIRST]
    start, below_i, above_i = row[START] + first, row[BELOW_I] + first, row[ABOVE_I] + first
    below_j, above_j, above_k = row[BELOW_J] + first, row[ABOVE_J] + first, row[START] + first + hop
    for n in range(count):
        at, ak = np.uint64(start + n), np.uint64(above_k + n)
        bi, ai = np.uint64(below_i + n), np.uint64(above_i + n)
        bj, aj = np.uint64(below_j + n), np.uint64(above_j + n)
        t = diagonal[at] * x[at] - c0[at] * y[bi] - d0[ai] * y[ai]
        t -= c1[at] * y[bj] + d1[aj] * y[aj]
        t -= c2[at] * y[ak - np.uint64(1)] + d2[ak] * y[ak]
        q[at] = t
        total += x[at] * t
    return total


@kernel(parallel=False)
def _apply_plain_row(q, x, y, diagonal, row, hop):
    """The same where all couplings between unknowns are one."""
    total = 0.0
    first, count = row[FIRST], row[LAST] - row[FIRST]
    start, below_i, above_i = row[START] + first, row[BELOW_I] + first, row[ABOVE_I] + first
    below_j, above_j, above_k = row[BELOW_J] + first, row[ABOVE_J] + first, row[START] + first + hop
    for n in range(count):
        at, ak = np.uint64(start + n), np.uint64(above_k + n)
        bi, ai = np.uint64(below_i + n), np.uint64(above_i + n)
        bj, aj = np.uint64(below_j + n), np.uint64(above_j + n)
        t = diagonal[at] * x[at] - (y[bi] + y[ai] + y[bj] + y[aj] + y[ak - np.uint64(1)] + y[ak])
        t = t if diagonal[at] > 0.0 else 0.0  # a cell without an unknown stays zero
        q[at] = t
        total += x[at] * t
    return total


@kernel
def _residual(r, r32, partial, b, q, rows, blocks):
    """r = b − q, its float32 copy, and each block's largest |r|."""
    for block in prange(blocks.shape[0] - 1):
        largest, spoiled = 0.0, 0.0
        for colour in range(r.shape[0]):
            for row in range(blocks[block], blocks[block + 1]):
                start, count = rows[row, START] + rows[row, FIRST], rows[row, LAST] - rows[row, FIRST]
                high, nan = _residual_row(r[colour], r32[colour], b[colour], q[colour], start, count)
                largest, spoiled = max(largest, high), spoiled + nan
        partial[block] = largest + spoiled


@kernel(parallel=False)
def _residual_row(r, r32, b, q, start, count):
    largest, spoiled = 0.0, 0.0
    for n in range(count):
        at = np.uint64(start + n)
        v = b[at] - q[at]
        r[at] = v
        r32[at] = v
        largest = max(largest, abs(v))
        spoiled += 0.0 * v  # not a number if v is none or infinite, which a maximum would hide
    return largest, spoiled


@kernel
def _advance(x, r, r32, partial, d, q, alpha, rows, blocks):
    """x += α d, r −= α q, the float32 copy of r, and each block's largest |r|."""
    for block in prange(blocks.shape[0] - 1):
        largest, spoiled = 0.0, 0.0
        for colour in range(r.shape[0]):
            for row in range(blocks[block], blocks[block + 1]):
                start, count = rows[row, START] + rows[row, FIRST], rows[row, LAST] - rows[row, FIRST]
                high, nan = _advance_row(x[colour], r[colour], r32[colour], d[colour], q[colour], alpha, start, count)
                largest, spoiled = max(largest, high), spoiled + nan
        partial[block] = largest + spoiled


@kernel(parallel=False)
def _advance_row(x, r, r32, d, q, alpha, start, count):
    largest, spoiled = 0.0, 0.0
    for n in range(count):
        at = np.uint64(start + n)
        x[at] += alpha * d[at]
        v = r[at] - alpha * q[at]
        r[at] = v
        r32[at] = v
        largest = max(largest, abs(v))
        spoiled += 0.0 * v  # not a number if v is none or infinite, which a maximum would hide
    return largest, spoiled


@kernel
def _dot(partial, r, z, rows, blocks):
    """Each block's part of r · z."""
    for block in prange(blocks.shape[0] - 1):
        total = 0.0
        for colour in range(r.shape[0]):
            for row in range(blocks[block], blocks[block + 1]):
                start, count = rows[row, START] + rows[row, FIRST], rows[row, LAST] - rows[row, FIRST]
                total += _dot_row(r[colour], z[colour], start, count)
        partial[block] = total


@kernel(parallel=False)
def _dot_row(r, z, start, count):
    total = 0.0
    for n in range(count):
        at = np.uint64(start + n)
        total += r[at] * z[at]
    return total


@kernel
def _direction(d, z, beta, rows, blocks):
    """d = z + β d."""
    for block in prange(blocks.shape[0] - 1):
        for colour in range(d.shape[0]):
            for row in range(blocks[block], blocks[block + 1]):
                start, count = rows[row, START] + rows[row, FIRST], rows[row, LAST] - rows[row, FIRST]
                _direction_row(d[colour], z[colour], beta, start, count)


@kernel(parallel=False)
def _direction_row(d, z, beta, start, count):
    for n in range(count):
        at = np.uint64(start + n)
        d[at] = z[at] + beta * d[at]
