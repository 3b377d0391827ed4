"""One multigrid V-cycle in float32 for the matrix of strain, as a preconditioner.

Every level is made anew of the octants, on cells twice as large: means of
masses and weights over eight cells are the octants of the next level. A coarse
field that is linear is carried to the fine faces as it is, so a coarse rigid
motion is a fine one and has no strain on any level.

At the surface the octants of a coarse level are blurred over neighbours. Else
some coarse unknowns would hang on a single sample of strain; they could move
almost freely, but not so the fine ones they stand for (without the blur a ball
takes 39 iterations at w = 100, with it 8). What is tied to known components is
not blurred: liquid near a wall is not held by it.

Gauss–Seidel goes through the components and their red and black faces, on the
way up in reverse order, so that the cycle is symmetric. On the finest level rows
with faces at the surface, which may hang on little, are gone through more often: a
sheet six cells thick takes 17 to 42 iterations, and without 50 to 65.
"""

import math

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.packed import FIRST, LAST, PLAIN, START, I, J
from paddlewheel.solve.strain import PARITY, Strain, hops, pitch, place, product_row, strain

SMOOTHING = 3
AT_THE_SURFACE = 3  # sweeps more, on the finest level
FULL = 0.99  # of a face's mass: one with less is at the surface
DENSE = 700  # a level with no more unknowns is solved directly


class StrainMultigrid:
    """The hierarchy of a matrix of strain; called as `multigrid(z, r)` it sets z to about A⁻¹ r."""

    def __init__(self, finest: Strain, filled: np.ndarray, weight: np.ndarray, distance, coupled: bool = True):
        self.levels, self._vectors = [finest], []
        mass_scale = weight_scale = 1.0
        tied, flat = weight, filled.shape[0] == 2
        while self.levels[-1].unknowns > DENSE:
            filled, weight, tied = (
                _blurred(_means(filled), flat),
                _blurred(_means(weight), flat),
                _widened(_means(tied), flat),
            )
            distance = [_coarser_distance(d, a, flat) for a, d in enumerate(distance)]
            mass_scale, weight_scale = mass_scale * (4 if flat else 8), weight_scale * (1 if flat else 2)
            self.levels.append(strain(filled, weight, distance, mass_scale, weight_scale, coupled, tied))
        for level in self.levels:
            self._vectors.append(tuple(level.layout.zeros(np.float32) for _ in range(3)))
        self._direct = _Direct(self.levels[-1])
        self._edge = finest.layout.among(((finest.inverse > 0) & (finest.mass < FULL)).any(axis=0))

    def __call__(self, z: np.ndarray, r: np.ndarray) -> None:
        self._cycle(0, z, r)

    def _cycle(self, depth, x, b) -> None:
        level = self.levels[depth]
        if depth == len(self.levels) - 1:
            self._direct(x, b)
            return
        layout, below = level.layout, self.levels[depth + 1].layout
        residual = self._vectors[depth][2]
        coarse_x, coarse_b, _ = self._vectors[depth + 1]
        matrix = b, level.inverse, *level.coefficients
        x[:] = 0.0
        if depth == 0:
            _smooth(x, *matrix, self._edge.rows, self._edge.colours, layout.shape, AT_THE_SURFACE, False)
        _smooth(x, *matrix, layout.rows, layout.colours, layout.shape, SMOOTHING, False)
        _residual(
            residual, x, b, level.mass, level.inverse, *level.coefficients, layout.rows, layout.blocks, layout.shape
        )
        _restrict(
            coarse_b, residual, self.levels[depth + 1].inverse, below.rows, below.blocks, below.shape, layout.shape
        )
        self._cycle(depth + 1, coarse_x, coarse_b)
        _prolong(x, coarse_x, level.inverse, layout.rows, layout.blocks, layout.shape, below.shape)
        _smooth(x, *matrix, layout.rows, layout.colours, layout.shape, SMOOTHING, True)
        if depth == 0:
            _smooth(x, *matrix, self._edge.rows, self._edge.colours, layout.shape, AT_THE_SURFACE, True)


class _Direct:
    """A small level solved by its Cholesky factor.

    Unknowns are numbered plane by plane, so the matrix is a band. Not by a library: on several threads that would not
    always give the same.
    """

    def __init__(self, level: Strain):
        position, component = np.nonzero(level.inverse.T)
        self._where, n = (component, position), len(position)
        number = np.full(level.inverse.shape, -1, np.int64)
        number[self._where] = np.arange(n)
        matrix = np.zeros((n, n))
        _fill_dense(matrix, number, level.mass, *level.coefficients, level.layout.rows, level.layout.shape)
        matrix[np.diag_indices(n)] *= 1 + 1e-9  # unknowns without mass may hang on too few strains
        rows, columns = np.nonzero(matrix)
        self._factor, self._band = matrix, int(np.abs(rows - columns).max(initial=0))
        _factorise(matrix, self._band)

    def __call__(self, x, b) -> None:
        right = b[self._where].astype(np.float64)
        _substitute(right, self._factor, self._band)
        x[self._where] = right


@kernel(parallel=False)
def _factorise(matrix, band):
    """The upper triangle U of a band, with A = Uᵀ U, in place of it."""
    n = matrix.shape[0]
    for j in range(n):
        end = min(j + band + 1, n)
        row = matrix[j]
        scale = 1.0 / np.sqrt(row[j])
        for k in range(j, end):
            row[k] *= scale
        for i in range(j + 1, end):
            factor, other = row[i], matrix[i]
            if factor != 0.0:
                for k in range(i, end):
                    other[k] -= factor * row[k]


@kernel(parallel=False)
def _substitute(x, factor, band):
    """Solve Uᵀ U x = b, in place of b."""
    n = len(x)
    for j in range(n):
        row = factor[j]
        x[j] /= row[j]
        for k in range(j + 1, min(j + band + 1, n)):
            x[k] -= x[j] * row[k]
    for j in range(n - 1, -1, -1):
        row = factor[j]
        total = x[j]
        for k in range(j + 1, min(j + band + 1, n)):
            total -= row[k] * x[k]
        x[j] = total / row[j]


def _means(octants: np.ndarray) -> np.ndarray:
    """Means over the octants of each cell."""
    means = np.empty([n // 2 for n in octants.shape], np.float32)
    _cell_means(means, octants)
    return means


def _room(cells, flat: bool) -> list[int]:
    """The shape of the octants of cells twice as large, with a cell more on either side; the same along a flat axis."""
    return [2 if a == 0 and flat else 2 * (-(-n // 2) + 2) for a, n in enumerate(cells)]


def _blurred(means: np.ndarray, flat: bool) -> np.ndarray:
    """Cells as octants of cells twice as large, blurred."""
    out = np.empty(_room(means.shape, flat), np.float32)
    _blur(out, means, flat)
    return out


def _widened(means: np.ndarray, flat: bool) -> np.ndarray:
    """The same as they are."""
    if flat:
        means = np.concatenate([means, means])
    more = [
        (0, 0) if a == 0 and flat else (2, n - m - 2)
        for a, (n, m) in enumerate(zip(_room(means.shape, flat), means.shape, strict=True))
    ]
    return np.pad(means, more)


def _coarser_distance(distance: np.ndarray, axis: int, flat: bool) -> np.ndarray:
    """The distances of a component on the faces of cells twice as large, in those cells."""
    for a in range(2, 0 if flat else -1, -1):
        *before, n = distance.shape[: a + 1]
        coarse = -(-(n - (a == axis)) // 2) + 2 + (a == axis)
        out = np.empty((math.prod(before), coarse, math.prod(distance.shape[a + 1 :])), np.float32)
        _thin_out(out, distance.reshape(len(out), n, -1), a == axis)
        distance = out.reshape(*before, coarse, *distance.shape[a + 1 :])
    return np.float32(0.5) * distance


@kernel
def _thin_out(out, fine, normal):
    """Along the middle axis every other value, or the means of two, from two before the first on."""
    for outer in prange(out.shape[0]):
        for i in range(out.shape[1]):
            for c in range(out.shape[2]):
                value = _beyond(fine, outer, 2 * i - 2, c)
                if not normal:
                    value = np.float32(0.5) * (value + _beyond(fine, outer, 2 * i - 1, c))
                out[outer, i, c] = value


@kernel(parallel=False)
def _beyond(fine, outer, i, c):
    """A value along the middle axis; beyond its ends they go on as they came, mirrored there in place and in value."""
    last = fine.shape[1] - 1
    end = min(max(i, 0), last)
    if end == i:
        return fine[outer, i, c]
    return np.float32(2) * fine[outer, end, c] - fine[outer, 2 * end - i, c]


@kernel
def _cell_means(means, octants):
    for plane in prange(means.shape[0]):
        i = np.int64(plane)
        for j in range(means.shape[1]):
            a, b = octants[2 * i, 2 * j], octants[2 * i, 2 * j + 1]
            c, d = octants[2 * i + 1, 2 * j], octants[2 * i + 1, 2 * j + 1]
            row = means[i, j]
            for k in range(row.shape[0]):
                low = a[2 * k] + b[2 * k] + c[2 * k] + d[2 * k]
                row[k] = np.float32(0.125) * (low + a[2 * k + 1] + b[2 * k + 1] + c[2 * k + 1] + d[2 * k + 1])


@kernel
def _blur(out, means, flat):
    """out(i, j, k) = Σ ¼ ½ ¼ of the means around cell (i − 2, j − 2, k − 2) along each axis."""
    ni, nj, nk = means.shape
    for plane in prange(out.shape[0]):
        i = np.int64(plane)
        for j in range(out.shape[1]):
            row = out[i, j]
            row[:] = 0.0
            for di in range(3):
                m = 0 if flat else i - 3 + di
                if m < 0 or m >= ni or (flat and di != 1):
                    continue
                for dj in range(3):
                    n = j - 3 + dj
                    if n < 0 or n >= nj:
                        continue
                    share = (np.float32(1) if flat else np.float32(0.25) * (1 + int(di == 1))) * np.float32(0.25)
                    share *= np.float32(0.25) * (1 + int(dj == 1))
                    for k in range(nk):
                        value = share * means[m, n, k]
                        row[k + 1] += value
                        row[k + 2] += value + value
                        row[k + 3] += value


@kernel
def _smooth(x, b, inverse, stretch, own, cross, rows, colours, shape, sweeps, backward):
    """Gauss–Seidel through components and colours, or through them in reverse order."""
    for step in range(6 * sweeps):
        stage = 5 - step % 6 if backward else step % 6
        a, colour = stage // 2, stage % 2
        second, third = (a + 1) % 3, (a + 2) % 3
        blocks = colours[colour]
        for block in prange(blocks.shape[0] - 1):
            for r in range(blocks[block], blocks[block + 1]):
                up, down = hops(shape, rows[r, PARITY])
                own_b = cross[third] if rows[r, PLAIN] else own[third, 0]
                own_c = cross[second] if rows[r, PLAIN] else own[second, 1]
                _relax_row(
                    x[a], x[second], x[third], b[a], inverse[a], stretch[a], own_b, own_c, cross[third], cross[second],
                    rows[r, START] + rows[r, FIRST], rows[r, LAST] - rows[r, FIRST],
                    down[a], up[a], down[second], up[second], down[third], up[third],
                )  # fmt: skip


@kernel(parallel=False)
def _relax_row(
    x, y, z, b, inverse, stretch, own_y, own_z, cross_y, cross_z,
    start, count, down_x, up_x, down_y, up_y, down_z, up_z,
):  # fmt: skip
    for n in range(count):
        at = np.uint64(start + n)
        xd, xu = np.uint64(start + down_x + n), np.uint64(start + up_x + n)
        yd, yu, yud = np.uint64(start + down_y + n), np.uint64(start + up_y + n), np.uint64(start + up_y + down_x + n)
        zd, zu, zud = np.uint64(start + down_z + n), np.uint64(start + up_z + n), np.uint64(start + up_z + down_x + n)
        t = b[at] + stretch[xd] * x[xd] + stretch[at] * x[xu]
        t += own_y[at] * x[yd] + own_y[yu] * x[yu] - cross_y[at] * (y[at] - y[xd]) + cross_y[yu] * (y[yu] - y[yud])
        t += own_z[at] * x[zd] + own_z[zu] * x[zu] - cross_z[at] * (z[at] - z[xd]) + cross_z[zu] * (z[zu] - z[zud])
        x[at] = inverse[at] * t


@kernel
def _residual(out, x, b, mass, inverse, stretch, own, cross, rows, blocks, shape):
    """out = b − A x where there are unknowns."""
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            up, down = hops(shape, rows[r, PARITY])
            start, count = rows[r, START] + rows[r, FIRST], rows[r, LAST] - rows[r, FIRST]
            for a in range(3):
                second, third = (a + 1) % 3, (a + 2) % 3
                own_b = cross[third] if rows[r, PLAIN] else own[third, 0]
                own_c = cross[second] if rows[r, PLAIN] else own[second, 1]
                product_row(
                    out[a], x[a], x[second], x[third], mass[a], inverse[a], stretch[a],
                    own_b, own_c, cross[third], cross[second],
                    start, count, down[a], up[a], down[second], up[second], down[third], up[third],
                )  # fmt: skip
                for n in range(start, start + count):
                    out[a, n] = b[a, n] - out[a, n] if inverse[a, n] > 0.0 else np.float32(0)


# Between two levels. Along an axis normal to the faces of a component, every other fine face is a coarse one, and the
# others are halfway between two. Along another axis a fine face is ¼ of a coarse cell from the coarse face near it, on
# the side of a far one. So of a field that is linear it has ¼ of the far one along each such axis, and the rest of the
# near one. A fine index i is near the coarse one (i >> 1) + 1; along a flat axis both are the same.


@kernel(parallel=False)
def _bits(shape):
    """By how much a fine index shifts to a coarse one along each axis: not at all along a flat one."""
    return int(shape[0] > 1), 1, 1


@kernel
def _prolong(fine, coarse, inverse, rows, blocks, shape, coarse_shape):
    """Add the coarse field, linear in between, to the unknowns of the fine one."""
    bits = _bits(shape)
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            i, j, odd = rows[r, I], rows[r, J], rows[r, PARITY]
            ci, cj = (i >> bits[0]) + bits[0], (j >> 1) + 1
            side_i, side_j = 2 * (i & 1) - 1, 2 * (j & 1) - 1
            here = place(coarse_shape, ci, cj, 0) - 1
            step_i, step_j = place(coarse_shape, 1, 0, 0) - place(coarse_shape, 0, 0, 0), place(coarse_shape, 0, 1, 0)
            step_j -= place(coarse_shape, 0, 0, 0)
            far = 0.25
            for a in range(3):
                near = 1.0 - 0.25 * (bits[0] + 2 - bits[a])
                # up to four coarse rows, each with the weight of the face near along the row and of the next one
                one = two = three = four = here
                w1, w2, w3, w4 = near, 0.0, 0.0, 0.0
                if a == 0:  # not if flat
                    two, three, four = here + side_j * step_j, here + step_i, here + step_i + side_j * step_j
                    half = 0.5 * (i & 1)
                    w1, w2, w3, w4 = (1 - half) * near, (1 - half) * far, half * near, half * far
                elif a == 1:
                    two, three, four = here + side_i * step_i * bits[0], here + step_j, here + step_j
                    four += side_i * step_i * bits[0]
                    half = 0.5 * (j & 1)
                    w1, w2 = (1 - half) * near, (1 - half) * far * bits[0]
                    w3, w4 = half * near, half * far * bits[0]
                else:
                    two, three = here + side_i * step_i * bits[0], here + side_j * step_j
                    w2, w3 = far * bits[0], far
                if a == 2:
                    half = 0.5 * odd
                    v1, v2, v3, v4 = half * w1, half * w2, half * w3, 0.0
                    w1, w2, w3 = (1 - half) * w1, (1 - half) * w2, (1 - half) * w3
                    side = 1
                else:  # along the row the next one is far: of the near rows only
                    v1, v2, v3, v4 = far / near * w1, 0.0, far / near * w3, 0.0
                    side = 2 * odd - 1
                _prolong_row(
                    fine[a], coarse[a], inverse[a], rows[r, START], rows[r, FIRST], rows[r, LAST],
                    one, two, three, four, w1, w2, w3, w4, v1, v2, v3, v4, side, pitch(coarse_shape)[1],
                )  # fmt: skip


@kernel(parallel=False)
def _prolong_row(
    fine, coarse, inverse, start, first, last,
    one, two, three, four, w1, w2, w3, w4, v1, v2, v3, v4, side, half,
):  # fmt: skip
    """One row, of which position m is near the coarse index m."""
    for m in range(first, last):
        if inverse[start + m] > 0.0:
            at = (m & 1) * half + ((m + 2) >> 1)
            n = m + side
            to = (n & 1) * half + ((n + 2) >> 1)
            total = w1 * coarse[one + at] + w2 * coarse[two + at] + w3 * coarse[three + at] + w4 * coarse[four + at]
            total += v1 * coarse[one + to] + v2 * coarse[two + to] + v3 * coarse[three + to] + v4 * coarse[four + to]
            fine[start + m] += total


@kernel
def _restrict(coarse, fine, inverse, rows, blocks, shape, fine_shape):
    """The transpose of `_prolong`."""
    bits = _bits(fine_shape)
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            ci, cj, parity = rows[r, I], rows[r, J], rows[r, PARITY]
            start, first, last = rows[r, START], rows[r, FIRST], rows[r, LAST]
            for a in range(3):
                near = 1.0 - 0.25 * (bits[0] + 2 - bits[a])
                for m in range(first, last):
                    coarse[a, start + m] = 0.0
                i0, i1 = _reach(ci, bits[0], a == 0, fine_shape[0])
                j0, j1 = _reach(cj, 1, a == 1, fine_shape[1])
                for i in range(i0, i1):
                    part_i, far_i = _share(i, ci, bits[0], a == 0)
                    for j in range(j0, j1):
                        part_j, far_j = _share(j, cj, 1, a == 1)
                        if far_i + far_j < 2:
                            w = part_i * part_j
                            row = place(fine_shape, i, j, 0) - 1
                            _restrict_row(
                                coarse[a], fine[a], inverse[a], start, first, last, parity,
                                row, pitch(fine_shape)[1], w * (0.25 if far_i + far_j else near),
                                0.0 if far_i + far_j else 0.25 * w, a == 2,
                            )  # fmt: skip


@kernel(parallel=False)
def _restrict_row(coarse, fine, inverse, start, first, last, parity, row, half, near, far, normal):
    """What one fine row sends to a coarse one, of which position m has the index 2 m − 2 + parity."""
    odd = row + half
    for m in range(first, last):
        if inverse[start + m] > 0.0:
            k = 2 * m - 2 + parity
            if normal:
                coarse[start + m] += near * (fine[row + k] + 0.5 * (fine[odd + k - 1] + fine[odd + k]))
            else:
                total = near * (fine[row + k] + fine[odd + k])
                coarse[start + m] += total + far * (fine[odd + k - 1] + fine[row + k + 1])


@kernel(parallel=False)
def _reach(coarse, bit, normal, cells):
    """The fine indices along one axis that a coarse one is carried to."""
    if bit == 0:
        return coarse, min(coarse + 1, cells + int(normal))
    middle = 2 * (coarse - 1)
    return max(middle - 1, 0), min(middle + (2 if normal else 3), cells + int(normal))


@kernel(parallel=False)
def _share(fine, coarse, bit, normal):
    """Along one axis: what part a fine index takes of a coarse one if that is normal to the faces; else whether the
    coarse one is far from it."""
    if bit == 0:
        return 1.0, 0
    middle = 2 * (coarse - 1)
    if normal:
        return (1.0 if fine == middle else 0.5), 0
    return 1.0, int(fine < middle or fine > middle + 1)


@kernel(parallel=False)
def _fill_dense(matrix, number, mass, stretch, own, cross, rows, shape):
    """The matrix of a small level in full."""
    for r in range(rows.shape[0]):
        up, down = hops(shape, rows[r, PARITY])
        for m in range(rows[r, FIRST], rows[r, LAST]):
            at = rows[r, START] + m
            for a in range(3):
                n = number[a, at]
                if n < 0:
                    continue
                matrix[n, n] += mass[a, at]
                _tie(matrix, number, n, a, at + down[a], np.float64(stretch[a, at + down[a]]))
                _tie(matrix, number, n, a, at + up[a], np.float64(stretch[a, at]))
                for slot in range(2):
                    b = (a + 1 + slot) % 3
                    edge = 3 - a - b
                    w0, w1 = np.float64(own[edge, slot, at]), np.float64(own[edge, slot, at + up[b]])
                    t0, t1 = np.float64(cross[edge, at]), np.float64(cross[edge, at + up[b]])
                    _tie(matrix, number, n, a, at + down[b], w0)
                    _tie(matrix, number, n, a, at + up[b], w1)
                    _link(matrix, number, n, b, at, t0)
                    _link(matrix, number, n, b, at + down[a], -t0)
                    _link(matrix, number, n, b, at + up[b], -t1)
                    _link(matrix, number, n, b, at + up[b] + down[a], t1)


@kernel(parallel=False)
def _tie(matrix, number, n, a, at, w):
    """Add w (x_n − x_other) to a row."""
    matrix[n, n] += w
    _link(matrix, number, n, a, at, -w)


@kernel(parallel=False)
def _link(matrix, number, n, a, at, w):
    if number[a, at] >= 0:
        matrix[n, number[a, at]] += w
