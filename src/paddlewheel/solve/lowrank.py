"""Terms of low rank beside the stencil, such as rigid bodies:  A + Rᵀ R.

R has a few rows for each term, all on the same few cells. Neither the product
nor its inverse is ever formed. The preconditioner B ≈ A⁻¹ becomes that of the
sum by Woodbury's identity,

    B − B Rᵀ (1 + R B Rᵀ)⁻¹ R B

so the iterations do not notice the terms, however strong they are. That takes
B twice; if it is a V-cycle and terms are few, little more than once (see
response). Of very few rows the columns of B Rᵀ are kept, and it takes it once.

A constant over a closed region is in the null space of A, but not of the sum
if it pushes on a term: a piston between two tanks. B knows nothing of these
constants, so they are solved for on their own (deflation): with E the regions,

    Q = E (Eᵀ Rᵀ R E)⁺ Eᵀ ,      Q + (1 − Q RᵀR) B' (1 − RᵀR Q)
"""

from collections.abc import Callable

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solve.dense import inverse_of_one_and, symmetric_product
from paddlewheel.solve.packed import I, J, Layout, place, span
from paddlewheel.solve.response import Response, add_pushes
from paddlewheel.solve.system import Rows

Apply = Callable[[np.ndarray, np.ndarray], float]  # (q, x): q = A x, and x · A x
Precondition = Callable[[np.ndarray, np.ndarray], None]  # (z, r): z = B r

KEPT = 3  # rows at most whose columns of B Rᵀ are kept: those of one body in a plane
STRONG = 1e6  # of R B Rᵀ, above which they are not: what rounding leaves of z − B Rᵀ y is too much then

_NOTHING = 1e-9  # of what a constant pushes with on one side of a term: the rest is rounding


def times(rows: Rows, x: np.ndarray) -> np.ndarray:
    """R x, shape (count,), of a vector or field whose flat index is the rows' `cell`."""
    out = np.zeros((len(rows.start) - 1, rows.value.shape[1]))
    _times(out, *rows, x.reshape(-1))
    return out.reshape(-1)


def add_transposed(out: np.ndarray, rows: Rows, y: np.ndarray) -> None:
    """out += Rᵀ y."""
    add_pushes(out.reshape(-1), *rows, y.reshape(len(rows.start) - 1, -1))


def free_constants(rows: Rows, label: np.ndarray, regions: int) -> np.ndarray:
    """Combinations of constants over the closed regions that push on no term: (regions, n) with orthogonal columns.

    label is the region of each cell of the system, −1 if none.
    """
    push = _pushes(rows, label.reshape(-1)[rows.cell], regions)
    if not push.any():
        return np.eye(regions)
    _, s, v = np.linalg.svd(push)
    rank = int(np.count_nonzero(s > _NOTHING * s[0]))
    return v[rank:].T


def _pushes(rows, label, regions) -> np.ndarray:
    """R E, (count, regions): what constants over the regions push with; exactly zero if it is rounding only."""
    terms, width = len(rows.start) - 1, rows.value.shape[1]
    term = np.repeat(np.arange(terms), np.diff(rows.start))
    place = term * (regions + 1) + np.where(label < 0, regions, label)  # what is in no region goes to the last, dropped
    push, size = np.empty((terms, width, regions + 1)), np.empty((terms, width, regions + 1))
    for p in range(width):  # ten times as fast as np.add.at
        for out, value in ((push, rows.value[:, p]), (size, np.abs(rows.value[:, p]))):
            out[:, p] = np.bincount(place, value, terms * (regions + 1)).reshape(terms, regions + 1)
    push[np.abs(push) <= _NOTHING * size.max(initial=0.0)] = 0.0
    return push[..., :regions].reshape(rows.count, regions)


class LowRank:
    """The rows of a system in a layout: what they add to the matrix and to a preconditioner.

    label is the closed region of each cell, −1 if none, and `regions` how many
    there are. `reply` is (1 + R B Rᵀ)⁻¹, once a preconditioner B is known.
    """

    reply: np.ndarray | None = None

    def __init__(self, rows: Rows, layout: Layout, label: np.ndarray | None = None, regions: int = 0):
        cell = np.empty(len(rows.cell), np.int64)
        _places(cell, rows.cell, layout.starts, layout.shape, layout.size)
        self._layout, self._rows, self._label = layout, rows._replace(cell=cell), None
        push = _pushes(rows, label.reshape(-1)[rows.cell], regions) if regions else np.zeros((0, 0))
        if push.any():
            self._label = layout.full(-1, np.int32)
            _move_labels(self._label, np.ascontiguousarray(label, np.int32).reshape(layout.shape), *layout.where)
            self._push, self._constants = push, np.linalg.pinv(push.T @ push, rcond=_NOTHING, hermitian=True)

    def added_to(self, apply: Apply) -> Apply:
        """`apply(q, x)` of A + RᵀR from that of A."""

        rows = self._rows
        y = np.empty((len(rows.start) - 1, rows.value.shape[1]))

        def both(q, x):
            return apply(q, x) + _add_product(q.reshape(-1), y, *rows, x.reshape(-1))

        return both

    def corrected(self, precondition: Precondition, seen: Callable[[], Response] | None = None) -> Precondition:
        """The preconditioner of A + RᵀR from that of A, B; seen() is R seen through a V-cycle, if B is one."""
        live = _live(self._rows.start, self._rows.value)
        kept, found, response = None, None, None
        if 0 < len(live) <= KEPT:
            kept = np.empty((len(live), 2, self._layout.size), np.float32)
            found = self._seen_through(precondition, live, kept)
        if found is None or found.max() > STRONG:
            kept, response = None, None if seen is None else seen()
            found = self._seen_through(precondition, live) if seen is None else response.matrix
        self.reply = inverse_of_one_and(found)
        rows, reply, rest = self._rows, self.reply, self._layout.zeros(np.float32)
        y = np.empty((len(rows.start) - 1, rows.value.shape[1]))

        def twice(z, r):
            precondition(z, r)
            np.copyto(rest, r)
            _subtract_reply(rest.reshape(-1), y, *rows, reply, z.reshape(-1))
            precondition(z, rest)

        def once(z, r):
            precondition(z, r)
            _subtract_columns(z, y, *rows, reply, kept, live)

        if kept is not None:
            woodbury = once
        elif response is None or response.wide:
            woodbury = twice
        else:
            woodbury = response.corrected(rows, reply)
        return woodbury if self._label is None else self._deflated(woodbury)

    def _seen_through(self, precondition, live, columns=None) -> np.ndarray:
        """R B Rᵀ, (count, count), from the columns of B Rᵀ that are not zero; those are kept in `columns`, if given."""
        r, z = self._layout.zeros(np.float32), self._layout.zeros(np.float32)
        out = np.zeros((self._rows.count, self._rows.count))
        for n, row in enumerate(live.tolist()):
            column = z if columns is None else columns[n]
            column[:] = 0.0
            _put_row(r.reshape(-1), *self._rows, row)
            precondition(column, r)
            _times(out[row].reshape(len(self._rows.start) - 1, -1), *self._rows, column.reshape(-1))
        return 0.5 * (out + out.T)

    def _deflated(self, precondition) -> Precondition:
        rest, regions = self._layout.zeros(np.float32), len(self._constants)

        def deflated(z, r):
            sums = np.zeros(regions + 1)
            _sum_regions(sums, self._label.reshape(-1), r.reshape(-1))
            constants = _product(self._constants, sums[:regions])
            np.copyto(rest, r)
            add_transposed(rest, self._rows, -_product(self._push, constants))
            precondition(z, rest)
            constants -= _product(self._constants, _product(self._push.T, times(self._rows, z)))
            _add_constants(z.reshape(-1), self._label.reshape(-1), np.append(constants, 0.0))

        return deflated


def _product(matrix, vector) -> np.ndarray:
    """Without the threads of BLAS: they spin on for a while and hold up the kernels that follow."""
    return np.einsum("ij,j->i", matrix, vector)


@kernel(parallel=False)
def _live(start, value):
    """The rows that are not zero: a motion that is not allowed has none."""
    terms, width = len(start) - 1, value.shape[1]
    alive = np.zeros(terms * width, np.bool_)
    for term in range(terms):
        for n in range(start[term], start[term + 1]):
            for row in range(width):
                alive[term * width + row] |= value[n, row] != 0.0
    return np.flatnonzero(alive)


@kernel(parallel=False)
def _put_row(out, start, cell, value, row):
    """out = a column of Rᵀ."""
    out[:] = 0.0
    term, part = row // value.shape[1], row % value.shape[1]
    for n in range(start[term], start[term + 1]):
        out[cell[n]] = value[n, part]


@kernel(parallel=False)
def _times(out, start, cell, value, x):
    for term in range(out.shape[0]):
        for n in range(start[term], start[term + 1]):
            here = np.float64(x[cell[n]])
            for row in range(out.shape[1]):
                out[term, row] += value[n, row] * here


@kernel(parallel=False)
def _add_product(q, y, start, cell, value, x):
    """q += Rᵀ y  with  y = R x, and y · y."""
    y[:] = 0.0
    _times(y, start, cell, value, x)
    add_pushes(q, start, cell, value, y)
    return (y * y).sum()


@kernel(parallel=False)
def _subtract_reply(out, y, start, cell, value, reply, z):
    """out −= Rᵀ (reply R z)."""
    y[:] = 0.0
    _times(y, start, cell, value, z)
    add_pushes(out, start, cell, value, -symmetric_product(reply, y.reshape(-1)).reshape(y.shape))


@kernel(parallel=False)
def _subtract_columns(z, y, start, cell, value, reply, columns, live):
    """z −= Σ columns (reply R z), over the rows that are live."""
    y[:] = 0.0
    _times(y, start, cell, value, z.reshape(-1))
    push = symmetric_product(reply, y.reshape(-1))
    for p in range(len(live)):
        for colour in range(z.shape[0]):
            for n in range(z.shape[1]):
                z[colour, n] -= push[live[p]] * columns[p, colour, n]


@kernel(parallel=False)
def _places(out, cell, starts, shape, size):
    """Where cells of the system are in a vector, as flat indices."""
    for n in range(len(cell)):
        i, j, k = cell[n] // (shape[1] * shape[2]), cell[n] // shape[2] % shape[1], cell[n] % shape[2]
        colour, at = place(starts, i, j, k)
        out[n] = colour * size + at


@kernel(parallel=False)
def _move_labels(out, label, rows, blocks, starts):
    for r in range(rows.shape[0]):
        i, j = rows[r, I], rows[r, J]
        first, last = span(rows[r], label.shape[2])
        for k in range(first, last):
            colour, at = place(starts, i, j, k)
            out[colour, at] = label[i, j, k]


@kernel(parallel=False)
def _sum_regions(sums, label, x):
    for n in range(len(label)):
        if label[n] >= 0:
            sums[label[n]] += x[n]


@kernel(parallel=False)
def _add_constants(x, label, constants):
    for n in range(len(label)):
        if label[n] >= 0:
            x[n] += constants[label[n]]
