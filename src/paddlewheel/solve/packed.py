"""A system laid out for the machine: red and black cells apart, empty rows left out.

A cell (i, j, k) has the colour (i + j + k + 1) mod 2 and all its neighbours
have the other one. Cells of one colour are stored together, so a sweep over a
colour reads and writes unit stride: cell k of a row is at (k + 1) // 2 of its
colour. A row has room for an empty cell at either end, so no kernel tests for
the ends of the grid.

Only the rows (i, j, ·) that hold any unknown are stored. Each knows where its
four neighbours are; one that is not stored is the row of zeros that comes
before all others. Rows are grouped by twos in i and j, the rows of one coarse
row together, and cut into BLOCKS blocks of about the same number of cells.
Sums are taken per block and then over the blocks, so no result depends on the
number of threads.

In a plain row, as most are away from cut cells, a sum of coupling × value
over the neighbours is the sum of their values, because where there is no
unknown the value is zero. So smoothing need not read the couplings there,
and it is bound by what it reads.

A call with arrays costs as much as fifty cells, and so does a loop with more
pointers than there are registers. So kernels go through runs of plain rows and
of others by functions of their own, with the loop over the rows inside.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.system import System

BLOCKS = 64

# What is known of a row: where it starts, its first and last half index (exclusive), its i and j, whether it is plain
# (all couplings between unknowns are one), and where its neighbours in i and j start.
START, FIRST, LAST, I, J, PLAIN, BELOW_I, ABOVE_I, BELOW_J, ABOVE_J = range(10)


class Layout(NamedTuple):
    """Where the cells of a system are.

    rows    (n, 10) int64: what is known of each row, as listed above
    blocks  (BLOCKS + 1,) int64: ranges of rows, of about equal work, whole coarse rows each
    starts  (n0 + 3, n1 + 3) int64: where row (i, j) starts is at [i + 1, j + 1]; 0 if it is not stored
    shape   of the system
    size    of one colour's array
    """

    rows: np.ndarray
    blocks: np.ndarray
    starts: np.ndarray
    shape: tuple[int, int, int]
    size: int

    @property
    def where(self):
        """What a kernel needs to find cells: (rows, blocks, starts)."""
        return self.rows, self.blocks, self.starts

    def zeros(self, dtype) -> np.ndarray:
        """A vector: one value per cell, by colour."""
        return np.zeros((2, self.size), dtype)

    def full(self, value, dtype) -> np.ndarray:
        return np.full((2, self.size), value, dtype)


class Packed(NamedTuple):
    """The matrix and right-hand side of a system in a layout.

    lower    (3, 2, size) float32: coupling of each cell over its lower face, by axis and colour
    extra    (2, size) float32: ties to known values; the system's own precision is in the diagonal
    diagonal (2, size) float64
    inverse  (2, size) float32: one over the diagonal; zero where there is no unknown or a singular one
    rhs      (2, size) float64
    unknowns how many there are
    """

    layout: Layout
    lower: np.ndarray
    extra: np.ndarray
    diagonal: np.ndarray
    inverse: np.ndarray
    rhs: np.ndarray
    unknowns: int


def pack(system: System) -> Packed:
    """Lay out a system."""
    layout = _layout(system.unknown)
    lower = np.zeros((3, 2, layout.size), np.float32)
    diagonal, rhs = layout.zeros(np.float64), layout.zeros(np.float64)
    extra, inverse = layout.zeros(np.float32), layout.zeros(np.float32)
    _pack(lower, extra, diagonal, rhs, inverse, *layout.where, *system[:4])
    return Packed(layout, lower, extra, diagonal, inverse, rhs, int(np.count_nonzero(system.unknown)))


def pack_field(layout: Layout, field: np.ndarray) -> np.ndarray:
    """A field at cells as a vector."""
    vector = layout.zeros(np.float64)
    _move(vector, np.ascontiguousarray(field, np.float64), *layout.where, True)
    return vector


def unpack_field(layout: Layout, vector: np.ndarray) -> np.ndarray:
    """A vector as a field at cells, zero where there is no unknown."""
    field = np.zeros(layout.shape)
    _move(vector, field, *layout.where, False)
    return field


def _layout(unknown: np.ndarray) -> Layout:
    n0, n1, n2 = unknown.shape
    spans = np.empty((n0, n1, 2), np.int32)
    _spans(spans, unknown)
    pitch = ((n2 + 2) // 2 + 8) // 8 * 8  # room for the neighbours of the last cell of either colour
    starts, blocks = np.zeros((n0 + 3, n1 + 3), np.int64), np.zeros(BLOCKS + 1, np.int64)
    rows = _lay_out(starts, blocks, spans, pitch)
    return Layout(rows, blocks, starts, unknown.shape, pitch * (len(rows) + 1))


@kernel(parallel=False)
def _lay_out(starts, blocks, spans, pitch):
    """The rows that hold any unknown, by twos in i and j; sets where each starts, and where blocks begin and end."""
    n0, n1, _ = spans.shape
    count = work = 0
    for i in range(n0):
        for j in range(n1):
            if spans[i, j, 1] > 0:
                count += 1
                work += spans[i, j, 1] // 2 + 1 - (spans[i, j, 0] + 1) // 2
    rows = np.zeros((count, 10), np.int64)
    end = done = 0
    block = 1
    for ci in range((n0 + 1) // 2):
        for cj in range((n1 + 1) // 2):
            before = end
            for i in range(2 * ci, min(2 * ci + 2, n0)):
                for j in range(2 * cj, min(2 * cj + 2, n1)):
                    if spans[i, j, 1] > 0:
                        row = rows[end]
                        end += 1
                        row[START] = starts[i + 1, j + 1] = pitch * end
                        row[FIRST], row[LAST] = (spans[i, j, 0] + 1) // 2, spans[i, j, 1] // 2 + 1
                        row[I], row[J] = i, j
                        done += row[LAST] - row[FIRST]
            # A block ends only where a coarse row does.
            while end > before and block < blocks.shape[0] and done >= work * block / (blocks.shape[0] - 1):
                blocks[block] = end
                block += 1
    for r in range(count):
        row = rows[r]
        i, j = row[I], row[J]
        row[BELOW_I], row[ABOVE_I] = starts[i, j + 1], starts[i + 2, j + 1]
        row[BELOW_J], row[ABOVE_J] = starts[i + 1, j], starts[i + 1, j + 2]
    return rows


@kernel(parallel=False)
def place(starts, i, j, k):
    """Colour and position of cell (i, j, k)."""
    return (i + j + k + 1) & 1, starts[i + 1, j + 1] + ((k + 1) >> 1)


@kernel(parallel=False)
def end_of_run(rows, r, end):
    """One past the last of the rows from r on that are plain as r is, or are not as r is not."""
    last = r + 1
    while last < end and rows[last, PLAIN] == rows[r, PLAIN]:
        last += 1
    return last


@kernel(parallel=False, inline=True)
def cells_of(rows, r):
    """The first position of a row, and how many it has, from its first cell to its last."""
    return rows[r, START] + rows[r, FIRST], rows[r, LAST] - rows[r, FIRST]


@kernel(parallel=False, inline=True)
def beside(rows, r, colour):
    """Positions of the neighbours of a row's first cell of one colour: i ± 1, j ± 1 and k + 1; k − 1 is one less."""
    first = rows[r, FIRST]
    below_i, above_i, below_j, above_j = rows[r, BELOW_I], rows[r, ABOVE_I], rows[r, BELOW_J], rows[r, ABOVE_J]
    above_k = rows[r, START] + ((rows[r, I] + rows[r, J] + colour) & 1)
    return below_i + first, above_i + first, below_j + first, above_j + first, above_k + first


@kernel(parallel=False)
def span(row, n2):
    """The range of k that a row's half indices stand for."""
    return max(2 * row[FIRST] - 1, 0), min(2 * row[LAST] - 1, n2)


@kernel
def _spans(spans, unknown):
    """First unknown of each row and one past the last; (0, 0) where there is none."""
    for i in prange(unknown.shape[0]):
        for j in range(unknown.shape[1]):
            first, last = 0, 0
            for k in range(unknown.shape[2]):
                if unknown[i, j, k]:
                    if last == 0:
                        first = k
                    last = k + 1
            spans[i, j, 0], spans[i, j, 1] = first, last


@kernel
def _pack(lower, extra, diagonal, rhs, inverse, rows, blocks, starts, coupling, e, b, unknown):
    n0, n1, n2 = unknown.shape
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            i, j = rows[r, I], rows[r, J]
            first, last = span(rows[r], n2)
            e_row, b_row, here = e[i, j], b[i, j], unknown[i, j]
            below_i, above_i = unknown[max(i - 1, 0), j], unknown[min(i + 1, n0 - 1), j]
            below_j, above_j = unknown[i, max(j - 1, 0)], unknown[i, min(j + 1, n1 - 1)]
            c0_row, c1_row, c2_row = coupling[0][i, j], coupling[1][i, j], coupling[2][i, j]
            d0_row, d1_row = coupling[0][i + 1, j], coupling[1][i, j + 1]
            plain = True
            for k in range(first, last):
                if here[k]:
                    colour, at = (i + j + k + 1) & 1, rows[r, START] + ((k + 1) >> 1)
                    c0, c1, c2, d0, d1, d2 = c0_row[k], c1_row[k], c2_row[k], d0_row[k], d1_row[k], c2_row[k + 1]
                    lower[0, colour, at], lower[1, colour, at], lower[2, colour, at] = c0, c1, c2
                    extra[colour, at], rhs[colour, at] = e_row[k], b_row[k]
                    total = e_row[k] + c0 + c1 + c2 + d0 + d1 + d2
                    diagonal[colour, at] = total
                    inverse[colour, at] = 1.0 / total if total > 0.0 else 0.0
                    plain &= c0 == (i > 0 and below_i[k]) and d0 == (i + 1 < n0 and above_i[k])
                    plain &= c1 == (j > 0 and below_j[k]) and d1 == (j + 1 < n1 and above_j[k])
                    plain &= c2 == (k > 0 and here[k - 1]) and d2 == (k + 1 < n2 and here[k + 1])
            rows[r, PLAIN] = plain


@kernel
def _move(vector, field, rows, blocks, starts, into):
    """Copy a field into a vector, or the vector's unknowns back into the field."""
    n2 = field.shape[2]
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            i, j = rows[r, I], rows[r, J]
            first, last = span(rows[r], n2)
            for k in range(first, last):
                colour, at = place(starts, i, j, k)
                if into:
                    vector[colour, at] = field[i, j, k]
                else:
                    field[i, j, k] = vector[colour, at]
