"""Planes through a level set: tangent to a solid, and fitted to the cells around one."""

import numpy as np

from paddlewheel.kernel import kernel

_REACH = 2  # cells to each side of a fit: beside a flat wall one cell would see a single plane of data
_WEIGHT = np.array([np.inf, *(1 / d2**2 for d2 in range(1, 3 * _REACH**2 + 1))])  # by the square of an offset's length
_RIDGE = 1e-9  # chooses the flattest of all fits where the data leave the slope open
# Cells that a line of sight may come into a solid, to see along curved walls: at nodes a wall that is a little thicker
# than a cell is hardly deeper. And cells from one point that is looked at on such a line to the next.
_HIDING, _BETWEEN = 0.05, 0.5


@kernel(parallel=False)
def tangent_plane(solid, i, j, k):
    """A field at nodes and its differences along x, y, z at the centre of a cell, from its eight nodes."""
    value = gx = gy = gz = np.float32(0)
    for corner in range(8):
        x, y, z = corner >> 2, (corner >> 1) & 1, corner & 1
        part = np.float32(0.125) * solid[i + x, j + y, k + z]
        value += part
        gx += part * np.float32(4 * x - 2)
        gy += part * np.float32(4 * y - 2)
        gz += part * np.float32(4 * z - 2)
    return value, gx, gy, gz


@kernel(parallel=False)
def open_side(solid, i, j, k):
    """The corners of a cell in no solid, as bits 4 x + 2 y + z; of one side of a wall that has two in the cell.

    If the centre is in the wall, and edges of the cell join the open corners to more than one group, those of the group
    that is farther from the wall. A cell has one pressure, and belongs to one side.
    """
    mask, center = 0, np.float32(0)
    for corner in range(8):
        value = solid[i + (corner >> 2), j + (corner >> 1 & 1), k + (corner & 1)]
        center += value
        mask |= (value > 0.0) << corner
    if center > 0.0 or mask == 0:
        return mask
    best, most, rest = 0, np.float32(0), mask
    while rest:
        group = rest & -rest
        for _ in range(7):
            group |= mask & (
                (group & 0xF0) >> 4 | (group & 0x0F) << 4 | (group & 0xCC) >> 2 | (group & 0x33) << 2
                | (group & 0xAA) >> 1 | (group & 0x55) << 1
            )  # fmt: skip
        rest &= ~group
        total = np.float32(0)
        for corner in range(8):
            if group >> corner & 1:
                total += solid[i + (corner >> 2), j + (corner >> 1 & 1), k + (corner & 1)]
        if total > most:
            best, most = group, total
    return best


@kernel(parallel=False)
def open_part(solid, i, j, k):
    """Where in a cell that is open, as an offset from its centre, is the middle of the corners on its open side, and
    whether there is any: (found, x, y, z). Corners count by how far from the solid they are."""
    total = mx = my = mz = np.float32(0)
    side = open_side(solid, i, j, k)
    for corner in range(8):
        if side >> corner & 1:
            x, y, z = corner >> 2, (corner >> 1) & 1, corner & 1
            part = solid[i + x, j + y, k + z]
            total += part
            mx, my, mz = mx + part * np.float32(x), my + part * np.float32(y), mz + part * np.float32(z)
    if total == 0.0:
        return False, 0.0, 0.0, 0.0
    return True, mx / total - 0.5, my / total - 0.5, mz / total - 0.5


@kernel(parallel=False)
def _sees(solid, h, i, j, k, eye, near, x, y, z):
    """Whether no wall is on the line from the eye, an offset from the centre of a cell, to another cell's centre.

    The eye is `near` [cells] from the nearest solid. Points on the line are looked at as far apart as there is none.
    """
    ex, ey, ez = eye
    dx, dy, dz = x - ex, y - ey, z - ez
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    end, way, per_h = length - _center(solid, i + x, j + y, k + z) / h, max(near, _BETWEEN), 1.0 / h
    while way < end:
        t = way / length
        distance = _at(solid, i + 0.5 + ex + t * dx, j + 0.5 + ey + t * dy, k + 0.5 + ez + t * dz) * per_h
        if distance < -_HIDING:
            return False
        way += max(distance, _BETWEEN)
    return True


@kernel(parallel=False)
def _center(solid, i, j, k):
    """A field at nodes at the centre of a cell."""
    low = solid[i, j, k] + solid[i, j, k + 1] + solid[i, j + 1, k] + solid[i, j + 1, k + 1]
    high = solid[i + 1, j, k] + solid[i + 1, j, k + 1] + solid[i + 1, j + 1, k] + solid[i + 1, j + 1, k + 1]
    return np.float64(np.float32(0.125) * (low + high))


@kernel(parallel=False)
def _at(solid, x, y, z):
    """A field at nodes at a point [cells], which is inside the grid."""
    i = min(np.int64(x), solid.shape[0] - 2)
    j = min(np.int64(y), solid.shape[1] - 2)
    k = min(np.int64(z), solid.shape[2] - 2)
    u, v, w = np.float32(x - i), np.float32(y - j), np.float32(z - k)
    a = solid[i, j, k] + w * (solid[i, j, k + 1] - solid[i, j, k])
    b = solid[i, j + 1, k] + w * (solid[i, j + 1, k + 1] - solid[i, j + 1, k])
    c = solid[i + 1, j, k] + w * (solid[i + 1, j, k + 1] - solid[i + 1, j, k])
    d = solid[i + 1, j + 1, k] + w * (solid[i + 1, j + 1, k + 1] - solid[i + 1, j + 1, k])
    a, c = a + v * (b - a), c + v * (d - c)
    return np.float64(a + u * (c - a))


@kernel(parallel=False)
def fitted_plane(phi, layer, before, wall, solid, eye, h, i, j, k):
    """The plane that fits best what is known of φ around cell (i, j, k):  (found, mean, centroid, slope).

        min Σ_c d_c⁻⁴ ( φ_0 + g·x_c − φ_c )²

    over the cells c in 5×5×5 with layer < `before`, on the open side of the
    plane `wall` = (value, slope x, y, z), and, if there is a solid, [m] at nodes, seen from the
    `eye`, an offset from the centre [cells]; x_c is the offset to a cell [cells] and
    d_c its length. φ_0 = mean − g·centroid. Not found if there is no such cell.
    """
    near = _at(solid, i + 0.5 + eye[0], j + 0.5 + eye[1], k + 0.5 + eye[2]) / h if solid.shape[0] > 0 else 0.0
    total = mean = mx = my = mz = 0.0
    xx = xy = xz = yy = yz = zz = 0.0
    xp = yp = zp = 0.0
    for x in range(max(-_REACH, -i), min(_REACH + 1, phi.shape[0] - i)):
        for y in range(max(-_REACH, -j), min(_REACH + 1, phi.shape[1] - j)):
            at, known = phi[i + x, j + y], layer[i + x, j + y]
            side = wall[0] + wall[1] * x + wall[2] * y
            for z in range(max(-_REACH, -k), min(_REACH + 1, phi.shape[2] - k)):
                if known[np.uint64(k + z)] < before and side + wall[3] * z > 0.0:
                    if solid.shape[0] > 0 and not _sees(solid, h, i, j, k, eye, near, x, y, z):
                        continue
                    w = _WEIGHT[np.uint64(x * x + y * y + z * z)]
                    p = np.float64(at[np.uint64(k + z)])
                    total += w
                    mean += w * p
                    mx, my, mz = mx + w * x, my + w * y, mz + w * z
                    xx, yy, zz = xx + w * x * x, yy + w * y * y, zz + w * z * z
                    xy, xz, yz = xy + w * x * y, xz + w * x * z, yz + w * y * z
                    xp, yp, zp = xp + w * x * p, yp + w * y * p, zp + w * z * p
    if total == 0.0:
        return False, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    mean, mx, my, mz = mean / total, mx / total, my / total, mz / total

    # Normal equations for the slope about the centroid, C g = b, and C = L D Lᵀ.
    ridge = _RIDGE * (xx + yy + zz)
    xx, yy, zz = xx + ridge - total * mx * mx, yy + ridge - total * my * my, zz + ridge - total * mz * mz
    xy, xz, yz = xy - total * mx * my, xz - total * mx * mz, yz - total * my * mz
    xp, yp, zp = xp - total * mx * mean, yp - total * my * mean, zp - total * mz * mean
    yx, zx = xy / xx, xz / xx
    yy -= yx * xy
    zy = (yz - zx * xy) / yy
    zz -= zx * xz + zy * zy * yy
    yp -= yx * xp
    gz = (zp - zx * xp - zy * yp) / zz
    gy = yp / yy - zy * gz
    gx = xp / xx - yx * gy - zx * gz
    return True, mean, (mx, my, mz), (gx, gy, gz)
