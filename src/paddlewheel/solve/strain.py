"""Friction between neighbours on a staggered grid: a matrix of mass and of squared rates of strain.

Of the components u_a on the faces of cells, in units of a cell,

    u·A u  =  Σ_faces m u²  +  Σ_cells 2 w (∂_a u_a)²  +  Σ_edges w (∂_b u_a + ∂_a u_b)²

with one mass for each face and one weight for each sample of strain, at cell
centres and at edges. It is symmetric, couples the components, and a rigid
motion has no strain in any sample: A then leaves it to the masses alone.

Masses and weights are means over the eight octants of a cell's size around
their places, so all are sums of the same numbers. Where a component is known
(its `distance` is not positive) it counts as zero, and a difference that
leads there is taken over the part θ of it that is not known, weighed by θ:
for one component alone this is the ghost fluid method. A strain of two
differences is weighed by the part of its square that is not known.

Vectors have the faces of each component in rows along the last axis, those of
even and of odd index apart, so that neighbours of one colour are next to each
other; there is room for an unknown on either side of the grid, so no kernel
tests for its ends.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.packed import BLOCKS, FIRST, LAST, PLAIN, START, I, J

PARITY = PLAIN + 1  # of the last index in a row; the columns before it are those of a packed system
SMALLEST_THETA = 1e-2
LEAST_MASS = 1e-8  # of a face that takes part in some strain: without mass it could move as it likes


class Layout(NamedTuple):
    """Where the faces of a grid are in a vector, and those that are unknown.

    rows     (n, 7) int64: where a row starts, its first and last position (exclusive) from there, i and j, whether it
             is plain, and the parity of its last index; first all rows of one colour
    blocks   (BLOCKS + 1,) int64: ranges of rows, of about equal work
    colours  (2, BLOCKS + 1) int64: the same of each colour
    shape    of the grid
    size     of one component's array
    """

    rows: np.ndarray
    blocks: np.ndarray
    colours: np.ndarray
    shape: tuple[int, int, int]
    size: int

    def zeros(self, dtype) -> np.ndarray:
        """A vector: one value per face, by component."""
        return np.zeros((3, self.size), dtype)

    def among(self, where: np.ndarray) -> "Layout":
        """The same with only the rows in which any place is `where`, (size,) bool."""
        before = np.append(0, np.cumsum(where))
        start, reds = self.rows[:, START], self.colours[0][-1]
        wanted = before[start + self.rows[:, LAST]] > before[start + self.rows[:, FIRST]]
        return _of_rows(self.rows[wanted], int(np.count_nonzero(wanted[:reds])), self.shape, self.size)


class Strain(NamedTuple):
    """The matrix.

    mass     (3, size) float32: of each unknown; zero where there is none
    inverse  (3, size) float32: one over the diagonal; zero where there is no unknown
    stretch  (3, size) float32: weight of the difference of each component across a cell, at its lower face's place
    own      (3, 2, size) float32: weights at the edges along each axis of the squared differences of the next component
             after it, and of the one after that
    cross    (3, size) float32: of their product
    """

    layout: Layout
    mass: np.ndarray
    inverse: np.ndarray
    stretch: np.ndarray
    own: np.ndarray
    cross: np.ndarray

    @property
    def unknowns(self) -> int:
        return int(np.count_nonzero(self.inverse))

    @property
    def coefficients(self):
        return self.stretch, self.own, self.cross


def strain(
    filled: np.ndarray,
    weight: np.ndarray,
    distance,
    mass_scale: float = 1.0,
    weight_scale: float = 1.0,
    coupled: bool = True,
    tied: np.ndarray | None = None,
) -> Strain:
    """The matrix from `filled` and `weight` of the octants of cells, shape (2 ni, 2 nj, 2 nk), means of m and w.

    distance, of each component on its faces [cells], tells where it is unknown. In a grid one cell thick along the
    first axis that component is not there, nor does anything change along it. Not `coupled`, each component is for
    itself: the energy is that of the squared gradients, Σ w (∂_b u_a)². `tied` takes the place of weight in strains
    that known components have a part in.
    """
    shape = tuple(n // 2 for n in filled.shape)
    room, _ = pitch(shape)
    size = (shape[0] + 3) * room
    mass, inverse, stretch = (np.zeros((3, size), np.float32) for _ in range(3))
    own, cross = np.zeros((3, 2, size), np.float32), np.zeros((3, size), np.float32)
    tied = weight if tied is None else tied
    _measure(mass, stretch, own, cross, filled, weight, tied, *distance, mass_scale, weight_scale, coupled)
    spans = np.empty((shape[0] + 1, shape[1] + 1, 2, 3), np.int64)
    _finish(spans, mass, inverse, stretch, own, cross, shape, LEAST_MASS * mass_scale)
    return Strain(_layout(spans, shape, size), mass, inverse, stretch, own, cross)


def rebuilt(matrix: Strain, mass: np.ndarray, stretch: np.ndarray, own: np.ndarray, cross: np.ndarray) -> Strain:
    """A matrix of other masses and weights on the same grid; what has no mass is not unknown."""
    shape, size = matrix.layout.shape, matrix.layout.size
    mass, inverse = np.where(mass > 0, mass, np.float32(-1)), np.zeros_like(matrix.inverse)
    spans = np.empty((shape[0] + 1, shape[1] + 1, 2, 3), np.int64)
    _finish(spans, mass, inverse, stretch, own, cross, shape, 0.0)
    return Strain(_layout(spans, shape, size), mass, inverse, stretch, own, cross)


class System(NamedTuple):
    """What conjugate gradients need to know of a system."""

    matrix: Strain
    rhs: np.ndarray

    @property
    def layout(self) -> Layout:
        return self.matrix.layout

    @property
    def unknowns(self) -> int:
        return self.matrix.unknowns


def _layout(spans, shape, size) -> Layout:
    i, j, parity = np.nonzero(spans[..., 1] > spans[..., 0])
    black = (i + j + parity) & 1 == 1
    order = np.concatenate([np.flatnonzero(~black), np.flatnonzero(black)])
    i, j, parity = i[order], j[order], parity[order]
    first, last, plain = spans[i, j, parity].T
    room, half = pitch(shape)
    rows = np.empty((len(i), PARITY + 1), np.int64)
    rows[:, START] = (i + 1) * room + ((j + 1) * 2 + parity) * half
    rows[:, FIRST], rows[:, LAST], rows[:, I], rows[:, J] = first, last, i, j
    rows[:, PLAIN], rows[:, PARITY] = plain, parity
    return _of_rows(rows, int(np.count_nonzero(~black)), shape, size)


def _of_rows(rows, reds: int, shape, size) -> Layout:
    """The layout of rows of which so many, the first, are of one colour."""
    work = np.append(0, np.cumsum(rows[:, LAST] - rows[:, FIRST]))
    return Layout(
        rows,
        _shared(work, 0, len(rows)),
        np.stack([_shared(work, 0, reds), _shared(work, reds, len(rows))]),
        shape,
        size,
    )


def _shared(work, start, end) -> np.ndarray:
    """Ranges of the rows from start to end, of about equal work."""
    wanted = work[start] + (work[end] - work[start]) * np.arange(1, BLOCKS) / BLOCKS
    cuts = np.searchsorted(work[start : end + 1], wanted) + start
    return np.concatenate([[start], cuts, [end]]).astype(np.int64)


def pack_faces(layout: Layout, faces, dtype=np.float64) -> np.ndarray:
    """A field on faces as a vector, on the unknowns' rows."""
    vector = layout.zeros(dtype)
    for a in range(3):
        _move(vector[a], faces[a], layout.rows, layout.blocks, layout.shape, a, True)
    return vector


def unpack_faces(layout: Layout, vector: np.ndarray, faces) -> None:
    """Set the faces of the unknowns' rows to a vector's values."""
    for a in range(3):
        _move(vector[a], faces[a], layout.rows, layout.blocks, layout.shape, a, False)


def apply(matrix: Strain):
    """The matrix as a function: `apply(q, x)` sets q = A x and returns x · A x."""
    layout = matrix.layout
    partial = np.empty(len(layout.blocks) - 1)

    def product(q, x):
        _apply(
            q, partial, x, matrix.mass, matrix.inverse, *matrix.coefficients, layout.rows, layout.blocks, layout.shape
        )
        return partial.sum()

    return product


@kernel(parallel=False)
def pitch(shape):
    """Room of a plane (i, ·, ·) and of a half row, with some for those that look for neighbours on another level."""
    half = ((shape[2] + 3) >> 1) + 5
    return (shape[1] + 3) * 2 * half, half


@kernel(parallel=False)
def place(shape, i, j, k):
    """Position of face or cell (i, j, k)."""
    room, half = pitch(shape)
    return (i + 1) * room + ((j + 1) * 2 + (k & 1)) * half + ((k + 2) >> 1)


@kernel(parallel=False)
def hops(shape, parity):
    """From a position of some parity to the next one along each axis, and to the one before."""
    room, half = pitch(shape)
    up = half if parity == 0 else 1 - half
    down = half - 1 if parity == 0 else -half
    return (room, 2 * half, up), (-room, -2 * half, down)


@kernel(parallel=False)
def _mean(octants, i, j, k, inside):
    """Mean over the octants of index below (i, j, k) and at it; beyond the grid, if not all are `inside`, are none."""
    total = np.float32(0)
    for di in range(2):
        for dj in range(2):
            for dk in range(2):
                m, n, o = i - di, j - dj, k - dk
                if inside or (
                    m >= 0
                    and n >= 0
                    and o >= 0
                    and m < octants.shape[0]
                    and n < octants.shape[1]
                    and o < octants.shape[2]
                ):
                    total += octants[m, n, o]
    return np.float32(0.125) * total


@kernel(parallel=False)
def part(one, other):
    """Part of the way between two places that is not known, if one of them is; else one."""
    high, low = max(one, other), min(one, other)
    if high <= 0.0 or low > 0.0:
        return np.float64(1)
    return max(np.float64(high) / (np.float64(high) - np.float64(low)), SMALLEST_THETA)


@kernel
def _measure(mass, stretch, own, cross, filled, weight, tied, d0, d1, d2, mass_scale, weight_scale, coupled):
    """Masses of faces, −1 where they are known, and weights of samples."""
    ni, nj, nk = filled.shape[0] // 2, filled.shape[1] // 2, filled.shape[2] // 2
    shape = (ni, nj, nk)
    flat = ni == 1
    distance = (d0, d1, d2)
    for plane in prange(ni + 1):
        i = np.int64(plane)
        for j in range(nj + 1):
            # whatever has a part in a strain with faces here
            i0, i1, j0, j1 = max(2 * i - 3, 0), min(2 * i + 4, 2 * ni), max(2 * j - 3, 0), min(2 * j + 4, 2 * nj)
            if not _any(filled, i0, i1, j0, j1):
                continue
            for k in range(nk + 1):
                at = place(shape, i, j, k)
                index = (i, j, k)
                whole = 0 < i < ni and 0 < j < nj and 0 < k < nk
                for a in range(3):
                    b, c = (a + 1) % 3, (a + 2) % 3
                    if index[b] < shape[b] and index[c] < shape[c] and not (flat and a == 0):
                        m = _mean(filled, 2 * i + int(a != 0), 2 * j + int(a != 1), 2 * k + int(a != 2), whole)
                        mass[a, at] = mass_scale * m if distance[a][i, j, k] > 0.0 else -1.0
                if i < ni and j < nj and k < nk:
                    scale = (1.0 + coupled) * weight_scale
                    free = scale * _mean(weight, 2 * i + 1, 2 * j + 1, 2 * k + 1, True)
                    for a in range(3):
                        if free > 0.0 and not (flat and a == 0):
                            e0, e1, e2 = int(a == 0), int(a == 1), int(a == 2)
                            one, other = distance[a][i, j, k], distance[a][i + e0, j + e1, k + e2]
                            if min(one, other) > 0.0:
                                stretch[a, at] = free
                            else:
                                held = scale * _mean(tied, 2 * i + 1, 2 * j + 1, 2 * k + 1, True)
                                stretch[a, at] = held / part(one, other)
                for c in range(3):
                    a, b = (c + 1) % 3, (c + 2) % 3
                    inside = index[a] > 0 and index[a] < shape[a] and index[b] > 0 and index[b] < shape[b]
                    if inside and index[c] < shape[c] and not (flat and c != 0):
                        i2, j2, k2 = 2 * i + int(c == 0), 2 * j + int(c == 1), 2 * k + int(c == 2)
                        w = weight_scale * _mean(weight, i2, j2, k2, True)
                        if w > 0.0:
                            first, second, uncovered, known = edge_parts(distance[a], distance[b], a, b, i, j, k)
                            if known:
                                w = weight_scale * _mean(tied, i2, j2, k2, True)
                            if first > 0.0:
                                if coupled:
                                    w *= uncovered
                                    own[c, 0, at] = w / (first * first)
                                    own[c, 1, at] = w / (second * second)
                                    cross[c, at] = w / (first * second)
                                else:
                                    own[c, 0, at] = w / first
                                    own[c, 1, at] = w / second


@kernel(parallel=False)
def edge_parts(da, db, a, b, i, j, k):
    """θ of the differences of components a and b at an edge normal to both, the strain's weight; is any known?

    The weight is the part of the edge's square that is not known, as far as it is between both θ: to one component it
    should be its own. All are zero if all four are known.
    """
    a0, a1, a2 = int(a == 0), int(a == 1), int(a == 2)
    b0, b1, b2 = int(b == 0), int(b == 1), int(b == 2)
    one, other = da[i - b0, j - b1, k - b2], da[i, j, k]
    low, high = db[i - a0, j - a1, k - a2], db[i, j, k]
    if max(max(one, other), max(low, high)) <= 0.0:
        return 0.0, 0.0, 0.0, True
    first, second = part(one, other), part(low, high)
    if min(min(one, other), min(low, high)) > 0.0:
        return first, second, 1.0, False
    if max(one, other) <= 0.0:
        return first, second, second, True
    if max(low, high) <= 0.0:
        return first, second, first, True
    area = part_of_square(0.25 * (one + other + low + high), other - one, high - low)
    return first, second, min(max(area, min(first, second)), max(first, second)), True


@kernel(parallel=False)
def part_of_square(middle, rise, other_rise):
    """Part of a unit square on which a linear function is positive that has a value in its middle and rises so."""
    # where it hardly rises the sum would cancel
    p, q = max(abs(np.float64(rise)), 1e-4), max(abs(np.float64(other_rise)), 1e-4)
    t = np.float64(middle) + 0.5 * (p + q)
    corners = max(t, 0.0) ** 2 - max(t - p, 0.0) ** 2 - max(t - q, 0.0) ** 2 + max(t - p - q, 0.0) ** 2
    return corners / (2 * p * q)


@kernel(parallel=False)
def _any(field, i0, i1, j0, j1):
    """Whether a field is not zero anywhere in a bundle of rows."""
    for i in range(i0, i1):
        for j in range(j0, j1):
            row = field[i, j]
            largest = np.float32(0)
            for k in range(len(row)):
                largest = max(largest, abs(row[k]))
            if largest > 0.0:
                return True
    return False


@kernel
def _finish(spans, mass, inverse, stretch, own, cross, shape, least):
    """Inverse diagonals; the span of the unknowns in each half row, and whether it is plain."""
    for plane in prange(shape[0] + 1):
        i = np.int64(plane)
        for j in range(shape[1] + 1):
            for parity in range(2):
                up, down = hops(shape, parity)
                start = place(shape, i, j, parity) - ((parity + 2) >> 1)
                first, last, plain = 0, 0, True
                for m in range(1, ((shape[2] + 2 - parity) >> 1) + 1):
                    at = start + m
                    found = False
                    for a in range(3):
                        if mass[a, at] < 0.0:
                            mass[a, at] = 0.0
                            continue
                        b, c = (a + 1) % 3, (a + 2) % 3
                        total = np.float64(stretch[a, at]) + stretch[a, at + down[a]]
                        total += np.float64(own[c, 0, at]) + own[c, 0, at + up[b]]
                        total += np.float64(own[b, 1, at]) + own[b, 1, at + up[c]]
                        if total > 0.0 or mass[a, at] > 0.0:
                            mass[a, at] = max(mass[a, at], least)
                            inverse[a, at] = 1.0 / (total + mass[a, at])
                            plain &= own[c, 0, at] == cross[c, at] and own[c, 0, at + up[b]] == cross[c, at + up[b]]
                            plain &= own[b, 1, at] == cross[b, at] and own[b, 1, at + up[c]] == cross[b, at + up[c]]
                            found = True
                    if found:
                        first = m if last == 0 else first
                        last = m + 1
                spans[i, j, parity, 0], spans[i, j, parity, 1], spans[i, j, parity, 2] = first, last, int(plain)


@kernel
def _move(vector, faces, rows, blocks, shape, axis, into):
    """Copy one component of a field on faces into a vector, or back."""
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            i, j, parity = rows[r, I], rows[r, J], rows[r, PARITY]
            if i < faces.shape[0] and j < faces.shape[1]:
                row = faces[i, j]
                for m in range(rows[r, FIRST], rows[r, LAST]):
                    k = 2 * m - 2 + parity
                    if k < faces.shape[2]:
                        if into:
                            vector[rows[r, START] + m] = row[k]
                        else:
                            row[k] = vector[rows[r, START] + m]


@kernel
def _apply(q, partial, x, mass, inverse, stretch, own, cross, rows, blocks, shape):
    """q = A x, and each block's part of x · A x."""
    for block in prange(blocks.shape[0] - 1):
        total = 0.0
        for r in range(blocks[block], blocks[block + 1]):
            up, down = hops(shape, rows[r, PARITY])
            start, count = rows[r, START] + rows[r, FIRST], rows[r, LAST] - rows[r, FIRST]
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                own_b = cross[c] if rows[r, PLAIN] else own[c, 0]
                own_c = cross[b] if rows[r, PLAIN] else own[b, 1]
                total += product_row(
                    q[a], x[a], x[b], x[c], mass[a], inverse[a], stretch[a], own_b, own_c, cross[c], cross[b],
                    start, count, down[a], up[a], down[b], up[b], down[c], up[c],
                )  # fmt: skip
        partial[block] = total


@kernel(parallel=False)
def product_row(
    q, x, y, z, mass, inverse, stretch, own_y, own_z, cross_y, cross_z,
    start, count, down_x, up_x, down_y, up_y, down_z, up_z,
):  # fmt: skip
    """One row of q = A x, of one component x; y and z are the other two, `up_y` leads along y. Returns x · q."""
    for n in range(count):
        at = np.uint64(start + n)
        xd, xu = np.uint64(start + down_x + n), np.uint64(start + up_x + n)
        yd, yu, yud = np.uint64(start + down_y + n), np.uint64(start + up_y + n), np.uint64(start + up_y + down_x + n)
        zd, zu, zud = np.uint64(start + down_z + n), np.uint64(start + up_z + n), np.uint64(start + up_z + down_x + n)
        here = x[at]
        t = mass[at] * here + stretch[xd] * (here - x[xd]) - stretch[at] * (x[xu] - here)
        t += own_y[at] * (here - x[yd]) + cross_y[at] * (y[at] - y[xd])
        t -= own_y[yu] * (x[yu] - here) + cross_y[yu] * (y[yu] - y[yud])
        t += own_z[at] * (here - x[zd]) + cross_z[at] * (z[at] - z[xd])
        t -= own_z[zu] * (x[zu] - here) + cross_z[zu] * (z[zu] - z[zud])
        q[at] = t if inverse[at] > 0.0 else 0.0
    total = 0.0
    for n in range(count):  # by itself: a sum in order cannot be done by several at a time
        at = np.uint64(start + n)
        total += x[at] * q[at]
    return total


def from_known(matrix: Strain, distance, known) -> np.ndarray:
    """What known values pull the unknowns with: a vector to add to the right-hand side.

    known, on the faces of each component, is a field that goes on smoothly beyond where it holds: between two faces
    it is linear.
    """
    layout, vector = matrix.layout, matrix.layout.zeros(np.float64)
    _pull(vector, matrix.inverse, *matrix.coefficients, *distance, *known, layout.rows, layout.blocks, layout.shape)
    return vector


@kernel
def _pull(vector, inverse, stretch, own, cross, d0, d1, d2, u0, u1, u2, rows, blocks, shape):
    distance, known = (d0, d1, d2), (u0, u1, u2)
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            up, down = hops(shape, rows[r, PARITY])
            i, j = rows[r, I], rows[r, J]
            for m in range(rows[r, FIRST], rows[r, LAST]):
                at, k = rows[r, START] + m, 2 * m - 2 + rows[r, PARITY]
                for a in range(3):
                    if inverse[a, at] == 0.0:
                        continue
                    a0, a1, a2 = int(a == 0), int(a == 1), int(a == 2)
                    total = 0.0
                    if stretch[a, at + down[a]] > 0.0:
                        total -= stretch[a, at + down[a]] * _known_rise(distance[a], known[a], a, i, j, k)
                    if stretch[a, at] > 0.0:
                        total += stretch[a, at] * _known_rise(distance[a], known[a], a, i + a0, j + a1, k + a2)
                    for slot in range(2):
                        b = (a + 1 + slot) % 3
                        edge = 3 - a - b
                        for high in range(2):
                            to = at + up[b] if high else at
                            if own[edge, slot, to] > 0.0:
                                n0, n1, n2 = i + high * int(b == 0), j + high * int(b == 1), k + high * int(b == 2)
                                rate = own[edge, slot, to] * _known_rise(distance[a], known[a], b, n0, n1, n2)
                                rate += cross[edge, to] * _known_rise(distance[b], known[b], a, n0, n1, n2)
                                total += rate if high else -rate
                    vector[a, at] = total


@kernel(parallel=False)
def _known_rise(distance, known, axis, i, j, k):
    """What is known of the rise of a component to face (i, j, k) from the one before it along an axis."""
    m, n, o = i - int(axis == 0), j - int(axis == 1), k - int(axis == 2)
    here, before = distance[i, j, k], distance[m, n, o]
    if here > 0.0 and before > 0.0:
        return 0.0
    high, low = np.float64(known[i, j, k]), np.float64(known[m, n, o])
    if here <= 0.0 and before <= 0.0:
        return high - low
    theta = part(here, before)
    return low + theta * (high - low) if here <= 0.0 else -(high + theta * (low - high))
