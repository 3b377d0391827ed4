"""Conjugate gradients in float64 on a packed system, with any preconditioner.

Recurring a residual in float32 lies: the true one is 30 to 80 times larger.
So vectors and sums are float64 and only the preconditioner is float32; and
the residual that is reported is always recomputed from the solution.
"""

import time
from collections.abc import Callable

import numpy as np

from paddlewheel.kernel import kernel, prange, share, threads
from paddlewheel.solve.packed import PLAIN, Packed, beside, cells_of, end_of_run
from paddlewheel.types import SolveInfo

RESTARTS = 3


def stencil(packed: Packed) -> Callable[[np.ndarray, np.ndarray], float]:
    """The matrix as a function: `apply(q, x)` sets q = A x and returns x · A x."""
    layout, parts = packed.layout, threads()
    partial = np.empty(len(layout.blocks) - 1)

    def apply(q, x):
        return _applied(q, partial, x, packed.lower, packed.diagonal, layout.rows, layout.blocks, parts)

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
        self._rhs, self._where = packed.rhs, (layout.rows, layout.blocks, threads())
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
        _residual(self.r, self._r32, self._partial.view(np.int64), self._rhs, self.q, *self._where)
        self._rho, self.left = 0.0, self._partial.max()


@kernel(parallel=False)
def _applied(q, partial, x, lower, diagonal, rows, blocks, parts):
    """q = A x, and x · A x."""
    _apply(q, partial, x, lower, diagonal, rows, blocks, parts)
    return partial.sum()


@kernel(parallel=False)
def _new_direction(d, partial, r, z, old, rows, blocks, parts):
    """r · z, and if that is positive  d = z + (r · z / old) d, where old is that of the last direction, if any."""
    _dot(partial, r, z, rows, blocks, parts)
    rho = partial.sum()
    if rho > 0.0:
        _direction(d, z, rho / old if old > 0.0 else 0.0, rows, blocks, parts)
    return rho


@kernel(parallel=False)
def _advanced(x, r, r32, partial, d, q, alpha, rows, blocks, parts):
    """What _advance does, and the largest |r|, not a number if any is none."""
    _advance(x, r, r32, partial.view(np.int64), d, q, alpha, rows, blocks, parts)
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
def _apply(q, partial, x, lower, diagonal, rows, blocks, parts):
    """q = A x, and each block's part of x · A x."""
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        for colour in range(2):
            other = 1 - colour
            _apply_blocks(
                q[colour], partial, x[colour], x[other], diagonal[colour], lower[:, colour], lower[:, other],
                rows, blocks, first, last, colour,
            )  # fmt: skip


@kernel(parallel=False)
def _apply_blocks(q, partial, x, y, diagonal, c, d, rows, blocks, first, last, colour):
    """Blocks of one colour: x is that colour, y the other; c and d are their lower couplings."""
    for block in range(first, last):
        total, r, end = partial[block] if colour > 0 else 0.0, blocks[block], blocks[block + 1]
        while r < end:
            run = end_of_run(rows, r, end)
            if rows[r, PLAIN]:
                total = _apply_plain(total, q, x, y, diagonal, rows, r, run, colour)
            else:
                total = _apply_cut(total, q, x, y, diagonal, c[0], c[1], c[2], d[0], d[1], d[2], rows, r, run, colour)
            r = run
        partial[block] = total


@kernel(parallel=False)
def _apply_cut(total, q, x, y, diagonal, c0, c1, c2, d0, d1, d2, rows, begin, end, colour):
    """A total plus x · A x of some rows."""
    for r in range(begin, end):
        start, count = cells_of(rows, r)
        below_i, above_i, below_j, above_j, above_k = beside(rows, r, colour)
        for n in range(count):
            at, ak = np.uint64(start + n), np.uint64(above_k + n)
            bi, ai = np.uint64(below_i + n), np.uint64(above_i + n)
            bj, aj = np.uint64(below_j + n), np.uint64(above_j + n)
            t = diagonal[at] * x[at] - c0[at] * y[bi] - d0[ai] * y[ai]
            t -= c1[at] * y[bj] + d1[aj] * y[aj]
            t -= c2[at] * y[ak - np.uint64(1)] + d2[ak] * y[ak]
            q[at] = t
        total += _dot_row(x, q, start, count)
    return total


@kernel(parallel=False)
def _apply_plain(total, q, x, y, diagonal, rows, begin, end, colour):
    """The same where all couplings between unknowns are one."""
    for r in range(begin, end):
        start, count = cells_of(rows, r)
        below_i, above_i, below_j, above_j, above_k = beside(rows, r, colour)
        for n in range(count):
            at, ak = np.uint64(start + n), np.uint64(above_k + n)
            bi, ai = np.uint64(below_i + n), np.uint64(above_i + n)
            bj, aj = np.uint64(below_j + n), np.uint64(above_j + n)
            t = diagonal[at] * x[at] - (y[bi] + y[ai] + y[bj] + y[aj] + y[ak - np.uint64(1)] + y[ak])
            q[at] = t if diagonal[at] > 0.0 else 0.0  # a cell without an unknown stays zero
        total += _dot_row(x, q, start, count)
    return total


@kernel
def _residual(r, r32, bits, b, q, rows, blocks, parts):
    """r = b − q, its float32 copy, and each block's largest |r|, by its bits."""
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        bits[first:last] = 0
        for colour in range(r.shape[0]):
            _residual_blocks(r[colour], r32[colour], bits, b[colour], q[colour], rows, blocks, first, last)


@kernel(parallel=False)
def _residual_blocks(r, r32, bits, b, q, rows, blocks, first, last):
    own = r.view(np.int64)
    for block in range(first, last):
        for row in range(blocks[block], blocks[block + 1]):
            start, count = cells_of(rows, row)
            for n in range(count):
                at = np.uint64(start + n)
                v = b[at] - q[at]
                r[at] = v
                r32[at] = v
            bits[block] = _highest(bits[block], own, start, count)


@kernel
def _advance(x, r, r32, bits, d, q, alpha, rows, blocks, parts):
    """x += α d, r −= α q, the float32 copy of r, and each block's largest |r|, by its bits."""
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        bits[first:last] = 0
        for colour in range(r.shape[0]):
            _advance_blocks(
                x[colour], r[colour], r32[colour], bits, d[colour], q[colour], alpha, rows, blocks, first, last
            )


@kernel(parallel=False)
def _advance_blocks(x, r, r32, bits, d, q, alpha, rows, blocks, first, last):
    own = r.view(np.int64)
    for block in range(first, last):
        for row in range(blocks[block], blocks[block + 1]):
            start, count = cells_of(rows, row)
            for n in range(count):
                at = np.uint64(start + n)
                x[at] += alpha * d[at]
                v = r[at] - alpha * q[at]
                r[at] = v
                r32[at] = v
            bits[block] = _highest(bits[block], own, start, count)


@kernel(parallel=False, inline=True)
def _highest(highest, bits, start, count):
    """The largest |r| of a row and before it, as the bits of a float64 without its sign.

    They are in the order of the numbers, and after those come infinity and what is no number, which a maximum of
    numbers would hide.
    """
    for n in range(count):
        highest = max(highest, bits[np.uint64(start + n)] & np.int64(0x7FFFFFFFFFFFFFFF))
    return highest


@kernel
def _dot(partial, r, z, rows, blocks, parts):
    """Each block's part of r · z."""
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        partial[first:last] = 0.0
        for colour in range(r.shape[0]):
            _dot_blocks(partial, r[colour], z[colour], rows, blocks, first, last)


@kernel(parallel=False)
def _dot_blocks(partial, r, z, rows, blocks, first, last):
    for block in range(first, last):
        total = partial[block]
        for row in range(blocks[block], blocks[block + 1]):
            start, count = cells_of(rows, row)
            total += _dot_row(r, z, start, count)
        partial[block] = total


@kernel(parallel=False, inline=True)
def _dot_row(x, y, start, count):
    """By four sums side by side: one alone would wait for itself at each cell."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    one, whole = np.uint64(1), count // 4 * 4
    for n in range(0, whole, 4):
        at = np.uint64(start + n)
        to = at + one + one
        a += x[at] * y[at]
        b += x[at + one] * y[at + one]
        c += x[to] * y[to]
        d += x[to + one] * y[to + one]
    for n in range(whole, count):
        at = np.uint64(start + n)
        a += x[at] * y[at]
    return (a + b) + (c + d)


@kernel
def _direction(d, z, beta, rows, blocks, parts):
    """d = z + β d."""
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        for colour in range(d.shape[0]):
            _direction_rows(d[colour], z[colour], beta, rows, blocks[first], blocks[last])


@kernel(parallel=False)
def _direction_rows(d, z, beta, rows, begin, end):
    for row in range(begin, end):
        start, count = cells_of(rows, row)
        for n in range(count):
            at = np.uint64(start + n)
            d[at] = z[at] + beta * d[at]
