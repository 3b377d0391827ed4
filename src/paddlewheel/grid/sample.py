"""Fields of the grid at points, and points' values on the grid: interpolation and its transpose.

Both use the trilinear hat w_f(x) of each sample f, on faces kept constant
beyond the outermost samples, so that Σ_f w_f(x) = 1 everywhere.

To add up points on the grid they come sorted by cell. LANES cells in a row
are worked on at once: in turn the first point of each of them, the second,
and so on, so that one instruction serves many cells. What a cell's points
leave on the samples around it is summed in a buffer and added to the grid
once for all of them, a row of samples at a time.

To take from the grid, sorted points are worked on ABREAST at a time, with the
samples around their cell. The last of them may be of the next cells, which
then have their turn.
"""

import numpy as np

from paddlewheel.kernel import kernel, prange

LANES = 32  # at most
ABREAST = 8  # points of a cell, about as many as there are, and as a processor works on at once
GROUP = 64  # cells, whose points are brought together by component
_X_PLACE, _Y_PLACE, _Z_PLACE, _U_THERE, _V_THERE, _W_THERE = (np.uint64(n * ABREAST) for n in range(6))
SLABS = 32  # of about equal numbers of points; those of one colour are two planes apart or more and never meet

# Rows of the buffer, with a number for each lane and then zeros: where in its cell a point is, what it carries (the
# gradient by component and direction), whether there is a point at all, how many there are, where the cell is, in which
# part of it the hats at centres change, and the sums: weight and weighted velocity of 3 × 18 faces, or weights of 27
# cells.
_X, _Y, _Z, _U, _V, _W, _GRADIENT, _THERE, _COUNT = 0, 1, 2, 3, 4, 5, 6, 15, 16
_CELL, _LOW, _HIGH, _SUMS = 17, 20, 23, 26
_FACE_ROWS, _CELL_ROWS = _SUMS + 108, _SUMS + 27
_ROW = LANES + 8  # numbers

_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)


@kernel(parallel=False)
def face_value(u, axis, x, y, z):
    """Component `axis` of a face field at a point given in cells: trilinear, constant beyond the outermost samples.

    u is faces[axis]; its sample (i, j, k) is at (i, j, k) + ½ but along the axis itself, where it is at i.
    """
    i, i1, fx = _between(x - 0.5 * (axis != 0), u.shape[0])
    j, j1, fy = _between(y - 0.5 * (axis != 1), u.shape[1])
    k, k1, fz = _between(z - 0.5 * (axis != 2), u.shape[2])
    low = _mix(_mix(u[i, j, k], u[i, j, k1], fz), _mix(u[i, j1, k], u[i, j1, k1], fz), fy)
    high = _mix(_mix(u[i1, j, k], u[i1, j, k1], fz), _mix(u[i1, j1, k], u[i1, j1, k1], fz), fy)
    return _mix(low, high, fx)


@kernel(parallel=False)
def face_value_and_gradient(u, axis, x, y, z):
    """What face_value gives, and its gradient per cell: zero in a direction along which it is constant."""
    x, y, z = x - 0.5 * (axis != 0), y - 0.5 * (axis != 1), z - 0.5 * (axis != 2)
    i, i1, fx = _between(x, u.shape[0])
    j, j1, fy = _between(y, u.shape[1])
    k, k1, fz = _between(z, u.shape[2])
    # along z, then along y, then along x; above the last sample both are the same one, below the first they are not
    a, b, c, d = u[i, j, k], u[i, j1, k], u[i1, j, k], u[i1, j1, k]
    az, bz, cz, dz = u[i, j, k1] - a, u[i, j1, k1] - b, u[i1, j, k1] - c, u[i1, j1, k1] - d
    a, b, c, d = a + fz * az, b + fz * bz, c + fz * cz, d + fz * dz
    ay, cy = b - a, d - c
    a, c = a + fy * ay, c + fy * cy
    along_x = (x > 0.0) * (c - a)
    along_y = (y > 0.0) * _mix(ay, cy, fx)
    along_z = (z > 0.0) * _mix(_mix(az, bz, fy), _mix(cz, dz, fy), fx)
    return _mix(a, c, fx), along_x, along_y, along_z


@kernel(parallel=False)
def node_value(phi, x, y, z):
    """A field at nodes at a point given in cells, trilinear; in float64, so that differences of it can be taken."""
    ni, nj, nk = phi.shape
    x, y, z = min(max(x, 0.0), ni - 1.0), min(max(y, 0.0), nj - 1.0), min(max(z, 0.0), nk - 1.0)
    i, j, k = (
        min(np.uint64(x), np.uint64(ni - 2)),
        min(np.uint64(y), np.uint64(nj - 2)),
        min(np.uint64(z), np.uint64(nk - 2)),
    )
    fx, fy, fz = x - np.float64(i), y - np.float64(j), z - np.float64(k)
    i1, j1, k1 = i + np.uint64(1), j + np.uint64(1), k + np.uint64(1)
    low = (1 - fy) * ((1 - fz) * phi[i, j, k] + fz * phi[i, j, k1]) + fy * (
        (1 - fz) * phi[i, j1, k] + fz * phi[i, j1, k1]
    )
    high = (1 - fy) * ((1 - fz) * phi[i1, j, k] + fz * phi[i1, j, k1]) + fy * (
        (1 - fz) * phi[i1, j1, k] + fz * phi[i1, j1, k1]
    )
    return (1 - fx) * low + fx * high


@kernel(parallel=False)
def _between(x, n):
    """The two of n samples around x, clamped to them, and how far x is from the first to the second."""
    x = min(max(x, 0.0), n - 1.0)
    i = np.uint64(x)
    return i, min(i + np.uint64(1), np.uint64(n - 1)), np.float32(x - np.float64(i))


@kernel(parallel=False)
def _mix(a, b, t):
    return a + t * (b - a)


def slabs_of(first: np.ndarray, shape) -> np.ndarray:
    """Bounds of slabs of planes i, each two planes or more and with about as many points as any other."""
    nx, ny, nz = shape
    return _slabs(first, nx, ny * nz)


@kernel(parallel=False)
def _slabs(first, planes, cells):
    out = np.zeros(SLABS + 1, np.int64)
    last, plane = 0, 0
    for slab in range(1, SLABS):
        wanted = slab * (first[-1] / SLABS)
        while plane < planes and first[plane * cells] < wanted:
            plane += 2
        if out[last] < plane < planes:
            last += 1
            out[last] = plane
    out[last + 1] = planes
    return out[: last + 2].copy()


@kernel
def add_to_faces(total, weight, position, velocity, gradient, first, lowest, shape, slabs, colour, h):
    """Add points to faces, in every second slab: Σ w (v_a + g_a·(x_f − x_p)) to total and Σ w to weight.

    g is empty, or the gradient of the velocity [1/s]. first gives each cell's range of points, lowest is the first
    cell of the grid.
    """
    rows, length = shape[1], shape[2]
    lanes = _lanes(length)
    for n in prange((len(slabs) - colour) // 2):
        work, who = np.zeros(_FACE_ROWS * _ROW, np.float32), np.empty(LANES, np.int64)
        slab = np.int64(2 * n + colour)
        for row in range(slabs[slab] * rows, slabs[slab + 1] * rows):
            for begin in range(0, length, lanes):
                cell, count = row * length + begin, min(lanes, length - begin)
                if first[cell] < first[cell + count]:
                    width, at = _locate(work, who, first, cell, count, shape, lowest)
                    for nth in range(_most(first, cell, count)):
                        _place(work, who, width, position, nth, h)
                        _carry(work, who, width, velocity, gradient, nth, h)
                        _sum_on_faces(work, width)
                    for axis in range(3):
                        _add_faces(total[axis], weight[axis], work, axis, at, count)
                    for m in range(_SUMS * _ROW, _FACE_ROWS * _ROW):
                        work[m] = _ZERO


@kernel
def add_to_cells(total, position, first, lowest, slabs, colour, h):
    """Add points to cell centres, in every second slab: Σ w, without the share that falls outside the grid."""
    shape = total.shape
    rows, length = shape[1], shape[2]
    lanes = _lanes(length)
    for n in prange((len(slabs) - colour) // 2):
        work, who = np.zeros(_CELL_ROWS * _ROW, np.float32), np.empty(LANES, np.int64)
        slab = np.int64(2 * n + colour)
        for row in range(slabs[slab] * rows, slabs[slab + 1] * rows):
            for begin in range(0, length, lanes):
                cell, count = row * length + begin, min(lanes, length - begin)
                if first[cell] < first[cell + count]:
                    width, at = _locate(work, who, first, cell, count, shape, lowest)
                    for nth in range(_most(first, cell, count)):
                        _place(work, who, width, position, nth, h)
                        _sum_on_cells(work, width)
                    for m in range(9):
                        i, j = at[0] + m // 3 - 1, at[1] + m % 3 - 1
                        if 0 <= i < shape[0] and 0 <= j < rows:
                            _add_three(total[i, j], work, _SUMS + 3 * m, 1, at[2], count)
                    for m in range(_SUMS * _ROW, _CELL_ROWS * _ROW):
                        work[m] = _ZERO


@kernel(parallel=False)
def _lanes(length):
    """Cells to be worked on at once, so that a row is shared out evenly."""
    return -(-length // (-(-length // LANES)))


@kernel
def take_from_faces(values, kept, faces, position, turn, first, lowest, slabs, h):
    """Give points what `face_value` is where they are, and of the values they had the part to be kept.

    turn tells along which axis of the faces each of their coordinates and components is.
    """
    ny, nz = faces[2].shape[1], faces[0].shape[2]
    for n in prange(len(slabs) - 1):
        slab = np.int64(n)
        begin, end = slabs[slab] * ny * nz, slabs[slab + 1] * ny * nz
        longest = 0
        for group in range(begin, end, GROUP):
            longest = max(longest, first[min(group + GROUP, end)] - first[group])
        work, rows = np.empty(6 * ABREAST, np.float32), np.zeros((6, longest + ABREAST), np.float32)
        for group in range(begin, end, GROUP):
            cell, stop = group, min(group + GROUP, end)
            start, count = first[group], first[stop] - first[group]
            _bring_together(rows, position, turn, start, count)
            while cell < stop:
                after = min((cell // nz + 1) * nz, stop)
                _take_in_row(rows, work, faces, first, start, cell, after, lowest, 1.0 / h)
                cell = after
            _give(values, kept, rows, turn, start, count)


@kernel(parallel=False)
def _bring_together(rows, position, turn, start, count):
    """Where some points from `start` on are, in rows of x, y and z."""
    x, y, z = rows[turn[0]], rows[turn[1]], rows[turn[2]]
    for n in range(count):
        m, p = np.uint64(n), np.uint64(start + n)
        x[m], y[m], z[m] = position[p, 0], position[p, 1], position[p, 2]


@kernel(parallel=False)
def _take_in_row(rows, work, faces, first, start, begin, end, lowest, per_cell):
    """The velocity, in the last three rows, where the points of some cells of a row of the grid are.

    By the samples on the 18 faces of each component about a cell. Of those outside the grid the nearest inside: the
    field is constant there. `work` has place and velocity of those abreast.
    """
    u, v, w = faces[0].reshape(-1), faces[1].reshape(-1), faces[2].reshape(-1)
    nx, ny, nz = faces[1].shape[0], faces[2].shape[1], faces[0].shape[2]
    i, j, k = _indices(begin, ny, nz)
    # rows of faces before, at and after this one, below and above it
    i0, i2, j0, j2 = max(i - 1, 0), min(i + 1, nx - 1), max(j - 1, 0), min(j + 1, ny - 1)
    wests = _row(i, j0, ny, nz), _row(i, j, ny, nz), _row(i, j2, ny, nz)
    easts = _row(i + 1, j0, ny, nz), _row(i + 1, j, ny, nz), _row(i + 1, j2, ny, nz)
    lows = _row(i0, j, ny + 1, nz), _row(i, j, ny + 1, nz), _row(i2, j, ny + 1, nz)
    highs = _row(i0, j + 1, ny + 1, nz), _row(i, j + 1, ny + 1, nz), _row(i2, j + 1, ny + 1, nz)
    first_three = _row(i0, j0, ny, nz + 1), _row(i0, j, ny, nz + 1), _row(i0, j2, ny, nz + 1)
    next_three = _row(i, j0, ny, nz + 1), _row(i, j, ny, nz + 1), _row(i, j2, ny, nz + 1)
    last_three = _row(i2, j0, ny, nz + 1), _row(i2, j, ny, nz + 1), _row(i2, j2, ny, nz + 1)
    low_x, low_y, low_z = np.float64(lowest[0] + i), np.float64(lowest[1] + j), lowest[2] - begin + k
    for cell in range(begin, end):
        points, beyond = first[cell] - start, first[cell + 1] - start
        if points == beyond:
            continue
        # None of them is loaded again in the loop over the points, which must not be afraid to write over them.
        here = k + cell - begin
        k0, k1, k2 = np.uint64(max(here - 1, 0)), np.uint64(here), np.uint64(min(here + 1, nz - 1))
        west, east = _nine(u, wests, k0, k1, k2), _nine(u, easts, k0, k1, k2)
        below, above = _nine(v, lows, k0, k1, k2), _nine(v, highs, k0, k1, k2)
        back = _three(w, first_three, k1) + _three(w, next_three, k1) + _three(w, last_three, k1)
        k1 += np.uint64(1)
        front = _three(w, first_three, k1) + _three(w, next_three, k1) + _three(w, last_three, k1)
        for some in range(points, beyond, ABREAST):
            at = np.uint64(some)
            _put_eight(work, _X_PLACE, _parts(_eight(rows[0], at), per_cell, low_x))
            _put_eight(work, _Y_PLACE, _parts(_eight(rows[1], at), per_cell, low_y))
            _put_eight(work, _Z_PLACE, _parts(_eight(rows[2], at), per_cell, np.float64(low_z + cell)))
            for n in range(ABREAST):
                x, y, z = work[n], work[ABREAST + n], work[2 * ABREAST + n]
                x_hats, y_hats, z_hats = _hats(x), _hats(y), _hats(z)
                low, high = _mix_nine(west, y_hats, z_hats), _mix_nine(east, y_hats, z_hats)
                work[3 * ABREAST + n] = low + x * (high - low)
                low, high = _mix_nine(below, x_hats, z_hats), _mix_nine(above, x_hats, z_hats)
                work[4 * ABREAST + n] = low + y * (high - low)
                low, high = _mix_nine(back, x_hats, y_hats), _mix_nine(front, x_hats, y_hats)
                work[5 * ABREAST + n] = low + z * (high - low)
            _put_eight(rows[3], at, _eight(work, _U_THERE))
            _put_eight(rows[4], at, _eight(work, _V_THERE))
            _put_eight(rows[5], at, _eight(work, _W_THERE))


@kernel(parallel=False, inline=True)
def _row(i, j, rows, length):
    """Where in a flat field of rows of some length a row begins."""
    return np.uint64((i * rows + j) * length)


@kernel(parallel=False, inline=True)
def _three(u, rows, k):
    """One sample of each of three rows."""
    return u[rows[0] + k], u[rows[1] + k], u[rows[2] + k]


# All eight are read before any is written, so that one instruction reads them, and one writes them.
@kernel(parallel=False, inline=True)
def _eight(row, at):
    """Eight numbers of a row, those from a place on."""
    a, b = at + np.uint64(2), at + np.uint64(4)
    c, one = b + np.uint64(2), np.uint64(1)
    return row[at], row[at + one], row[a], row[a + one], row[b], row[b + one], row[c], row[c + one]


@kernel(parallel=False, inline=True)
def _put_eight(row, at, numbers):
    """Put eight numbers into a row, from a place on."""
    a, b = at + np.uint64(2), at + np.uint64(4)
    c, one = b + np.uint64(2), np.uint64(1)
    row[at], row[at + one], row[a], row[a + one], row[b], row[b + one], row[c], row[c + one] = numbers


@kernel(parallel=False, inline=True)
def _parts(x, per_cell, low):
    """How far through a cell that begins at `low` [cells] eight coordinates are, from 0 to 1."""
    return (
        _part(x[0], per_cell, low), _part(x[1], per_cell, low), _part(x[2], per_cell, low), _part(x[3], per_cell, low),
        _part(x[4], per_cell, low), _part(x[5], per_cell, low), _part(x[6], per_cell, low), _part(x[7], per_cell, low),
    )  # fmt: skip


@kernel(parallel=False, inline=True)
def _part(x, per_cell, low):
    return np.float32(min(max(x * per_cell - low, 0.0), 1.0))


@kernel(parallel=False, inline=True)
def _nine(u, rows, k0, k1, k2):
    """Three samples of each of three rows."""
    a, b, c = rows
    return u[a + k0], u[a + k1], u[a + k2], u[b + k0], u[b + k1], u[b + k2], u[c + k0], u[c + k1], u[c + k2]


@kernel(parallel=False, inline=True)
def _mix_nine(s, b, c):
    """Σ b_m c_n of nine samples."""
    one = c[0] * s[0] + c[1] * s[1] + c[2] * s[2]
    two = c[0] * s[3] + c[1] * s[4] + c[2] * s[5]
    three = c[0] * s[6] + c[1] * s[7] + c[2] * s[8]
    return b[0] * one + b[1] * two + b[2] * three


@kernel(parallel=False)
def _give(values, kept, rows, turn, start, count):
    """Add to the part to be kept of the values of points what the last three rows have."""
    u, v, w = rows[3 + turn[0]], rows[3 + turn[1]], rows[3 + turn[2]]
    for n in range(count):
        m, p = np.uint64(n), np.uint64(start + n)
        values[p, 0] = kept * values[p, 0] + u[m]
        values[p, 1] = kept * values[p, 1] + v[m]
        values[p, 2] = kept * values[p, 2] + w[m]


@kernel(parallel=False)
def _most(first, cell, lanes):
    """The most points that any of the cells has."""
    most = 0
    for lane in range(lanes):
        most = max(most, first[cell + lane + 1] - first[cell + lane])
    return most


@kernel(parallel=False)
def _locate(work, who, first, cell, count, shape, lowest):
    """Where each of some cells of a row is, between which parts of it the hats at centres change, not in the outermost
    halves, how many points it has, and which is the first.

    How many lanes there are, a multiple of eight, and the indices of the first cell.
    """
    index = _indices(cell, shape[1], shape[2])
    width = (count + 7) // 8 * 8
    for d in range(3):
        for lane in range(width):
            n = index[d] + (lane if d == 2 else 0)
            work[(_CELL + d) * _ROW + lane] = lowest[d] + n
            work[(_LOW + d) * _ROW + lane] = _HALF if n == 0 else _ZERO
            work[(_HIGH + d) * _ROW + lane] = _HALF if n == shape[d] - 1 else _ONE
    for lane in range(count):
        who[lane] = first[cell + lane]
        work[_COUNT * _ROW + lane] = first[cell + lane + 1] - first[cell + lane]
    for lane in range(count, width):
        who[lane], work[_COUNT * _ROW + lane] = 0, _ZERO
    return width, index


@kernel(parallel=False)
def _place(work, who, width, position, nth, h):
    """Where in its cell the nth point of each cell is, from 0 to 1, and whether there is one; else it is anywhere."""
    last, per_cell = len(position) - 1, 1.0 / h
    for lane in range(width):
        p, to = np.uint64(min(who[lane] + nth, last)), np.uint64(_X * _ROW + lane)
        work[to] = position[p, 0]
        work[to + np.uint64(_ROW)] = position[p, 1]
        work[to + np.uint64(2 * _ROW)] = position[p, 2]
    for lane in range(width):
        work[_THERE * _ROW + lane] = _ONE if np.float32(nth) < work[_COUNT * _ROW + lane] else _ZERO
    for lane in range(3 * _ROW):
        x = work[_X * _ROW + lane] * per_cell - work[_CELL * _ROW + lane]
        work[_X * _ROW + lane] = min(max(x, 0.0), 1.0)


@kernel(parallel=False)
def _carry(work, who, width, velocity, gradient, nth, h):
    """The velocity of the nth point of each cell and, if given, its change per cell; any, if there is no point."""
    last = len(velocity) - 1
    for lane in range(width):
        p, to = np.uint64(min(who[lane] + nth, last)), np.uint64(_U * _ROW + lane)
        work[to] = velocity[p, 0]
        work[to + np.uint64(_ROW)] = velocity[p, 1]
        work[to + np.uint64(2 * _ROW)] = velocity[p, 2]
    for lane in range(width if len(gradient) > 0 else 0):
        p = np.uint64(min(who[lane] + nth, last))
        for a in range(3):
            for d in range(3):
                work[(_GRADIENT + 3 * a + d) * _ROW + lane] = gradient[p, a, d] * h


@kernel(parallel=False)
def _sum_on_faces(work, width):
    """Sum up on each cell's 3 × 18 faces what one point in it, if there, leaves on them.

    Along its own axis a component has samples on both sides of the cell, and
    along the two others at its centre and at those of the cells before and after.
    """
    for lane in range(width):
        x, y, z = work[_X * _ROW + lane], work[_Y * _ROW + lane], work[_Z * _ROW + lane]
        u, v, w = work[_U * _ROW + lane], work[_V * _ROW + lane], work[_W * _ROW + lane]
        ux, uy, uz = _triple(work, _GRADIENT, lane)
        vx, vy, vz = _triple(work, _GRADIENT + 3, lane)
        wx, wy, wz = _triple(work, _GRADIENT + 6, lane)
        low_x, low_y, low_z = _triple(work, _LOW, lane)
        high_x, high_y, high_z = _triple(work, _HIGH, lane)
        x_hats = _hats(min(max(x, low_x), high_x))
        y_hats = _hats(min(max(y, low_y), high_y))
        z_hats = _hats(min(max(z, low_z), high_z))
        there = work[_THERE * _ROW + lane]

        # at the cell's centre but for the component's own axis, where at its lower side
        u = u - x * ux + (_HALF - y) * uy + (_HALF - z) * uz
        v = v - y * vy + (_HALF - x) * vx + (_HALF - z) * vz
        w = w - z * wz + (_HALF - x) * wx + (_HALF - y) * wy
        _add_nine(work, _SUMS, lane, there * (_ONE - x), y_hats, z_hats, u, uy, uz)
        _add_nine(work, _SUMS + 18, lane, there * x, y_hats, z_hats, u + ux, uy, uz)
        _add_nine(work, _SUMS + 36, lane, there * (_ONE - y), x_hats, z_hats, v, vx, vz)
        _add_nine(work, _SUMS + 54, lane, there * y, x_hats, z_hats, v + vy, vx, vz)
        _add_nine(work, _SUMS + 72, lane, there * (_ONE - z), x_hats, y_hats, w, wx, wy)
        _add_nine(work, _SUMS + 90, lane, there * z, x_hats, y_hats, w + wz, wx, wy)


# Written into their caller: a call inside a loop keeps it from being vectorised.
@kernel(parallel=False, inline=True)
def _triple(work, row, lane):
    return work[row * _ROW + lane], work[(row + 1) * _ROW + lane], work[(row + 2) * _ROW + lane]


@kernel(parallel=False, inline=True)
def _hats(f):
    """The hats of three centres, those of the cells before, at and after a point f of the way through a cell."""
    return max(_HALF - f, _ZERO), _ONE - abs(f - _HALF), max(f - _HALF, _ZERO)


@kernel(parallel=False, inline=True)
def _add_nine(work, row, lane, a, b, c, value, along_b, along_c):
    """Add weights a b_m c_n, and the weights times value + (m − 1) along_b + (n − 1) along_c."""
    for m in range(3):
        for n in range(3):
            w = a * b[m] * c[n]
            at = (row + 6 * m + 2 * n) * _ROW + lane
            work[at] += w
            work[at + _ROW] += w * (value + np.float32(m - 1) * along_b + np.float32(n - 1) * along_c)


@kernel(parallel=False)
def _sum_on_cells(work, width):
    """Sum up on each cell and the 26 around it what one point in it, if there, leaves on them."""
    for lane in range(width):
        x, y, z = _triple(work, _X, lane)
        x_hats, y_hats, z_hats = _hats(x), _hats(y), _hats(z)
        there = work[_THERE * _ROW + lane]
        _add_weights(work, _SUMS, lane, there * x_hats[0], y_hats, z_hats)
        _add_weights(work, _SUMS + 9, lane, there * x_hats[1], y_hats, z_hats)
        _add_weights(work, _SUMS + 18, lane, there * x_hats[2], y_hats, z_hats)


@kernel(parallel=False, inline=True)
def _add_weights(work, row, lane, a, b, c):
    for m in range(3):
        for n in range(3):
            work[(row + 3 * m + n) * _ROW + lane] += a * b[m] * c[n]


@kernel(parallel=False)
def _add_faces(total, weight, work, axis, index, count):
    """Add the buffer's sums for one component to its faces about some cells of a row. Those outside the grid are
    zero."""
    for m in range(9 if axis == 2 else 6):
        if axis == 0:
            i, j, row = index[0] + m // 3, index[1] + m % 3 - 1, 6 * m
        elif axis == 1:
            i, j, row = index[0] + m % 3 - 1, index[1] + m // 3, 18 * (m // 3) + 6 * (m % 3)
        else:
            i, j, row = index[0] + m // 3 - 1, index[1] + m % 3 - 1, 2 * m
        if 0 <= i < total.shape[0] and 0 <= j < total.shape[1]:
            for n in range(2):
                to, sums = (weight if n == 0 else total)[i, j], _SUMS + 36 * axis + row + n
                if axis == 2:
                    _add_two(to, work, sums, 18, index[2], count)
                else:
                    _add_three(to, work, sums, 2, index[2], count)


@kernel(parallel=False)
def _add_three(to, work, row, step, k, count):
    """Add three rows of the buffer, of the samples before, at and after `count` cells from k on, to a row of them."""
    low, high = max(k - 1, 0), min(k + count + 1, len(to))
    one, two, three = row * _ROW - k + 1, (row + step) * _ROW - k, (row + 2 * step) * _ROW - k - 1
    for m in range(low, high):
        to[np.uint64(m)] += work[np.uint64(one + m)] + work[np.uint64(two + m)] + work[np.uint64(three + m)]


@kernel(parallel=False)
def _add_two(to, work, row, step, k, count):
    """The same of the samples on both sides of cells."""
    one, two = row * _ROW - k, (row + step) * _ROW - k - 1
    for m in range(k, k + count + 1):
        to[np.uint64(m)] += work[np.uint64(one + m)] + work[np.uint64(two + m)]


@kernel(parallel=False)
def _indices(cell, ny, nz):
    return cell // (ny * nz), (cell // nz) % ny, cell % nz
