"""Planes through a level set: tangent to a solid, and fitted to the cells around one."""

import numpy as np

from paddlewheel.kernel import kernel

_REACH = 2  # cells to each side of a fit: beside a flat wall one cell would see a single plane of data
_WEIGHT = np.array([np.inf, *(1 / d2**2 for d2 in range(1, 3 * _REACH**2 + 1))])  # by the square of an offset's length
_RIDGE = 1e-9  # chooses the flattest of all fits where the data leave the slope open


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
def fitted_plane(phi, layer, before, wall, i, j, k):
    """The plane that fits best what is known of φ around cell (i, j, k):  (found, mean, centroid, slope).

        min Σ_c d_c⁻⁴ ( φ_0 + g·x_c − φ_c )²

    over the cells c in 5×5×5 with layer < `before`, on the open side of the
    plane `wall` = (value, slope x, y, z); x_c is the offset to a cell [cells] and
    d_c its length. φ_0 = mean − g·centroid. Not found if there is no such cell.
    """
    total = mean = mx = my = mz = 0.0
    xx = xy = xz = yy = yz = zz = 0.0
    xp = yp = zp = 0.0
    for x in range(max(-_REACH, -i), min(_REACH + 1, phi.shape[0] - i)):
        for y in range(max(-_REACH, -j), min(_REACH + 1, phi.shape[1] - j)):
            at, known = phi[i + x, j + y], layer[i + x, j + y]
            side = wall[0] + wall[1] * x + wall[2] * y
            for z in range(max(-_REACH, -k), min(_REACH + 1, phi.shape[2] - k)):
                if known[np.uint64(k + z)] < before and side + wall[3] * z > 0.0:
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
