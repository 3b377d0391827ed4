"""The liquid's level set where no liquid is: carried into solids, so that the surface meets walls at its own angle."""

import numpy as np

from paddlewheel.kernel import kernel, prange

__all__ = ["STEEPEST", "extend", "node_to_center"]

STEEPEST = 1.5  # |∇φ| of a signed distance is 1: a fit much steeper than that follows noise
_REACH = 2  # cells to each side of a fit: beside a flat wall one cell would see a single plane of data
_RIDGE = 1e-9  # chooses the flattest of all fits where the data leave the slope open


def extend(phi: np.ndarray, known: np.ndarray, h: float, layers: int = 5) -> np.ndarray:
    """φ [m] at cell centres, float32, extrapolated linearly into the cells where `known` is False.

    Layer by layer, from the known cells outwards, each cell takes the value at
    its centre of the plane that fits the cells known so far in its 5×5×5
    neighbourhood best,

        min Σ_c d_c⁻⁴ ( φ_0 + g·x_c − φ_c )²,     |g| ≤ STEEPEST,

    with x_c the offset to cell c and d_c its length. Linear functions continue exactly;
    directions the data say nothing of are continued as constants. Cells farther
    than `layers` from known ones keep their values.  B08 §5.2 and figure 7.
    """
    phi, known = np.array(phi, np.float32, order="C"), np.array(known, bool, order="C")
    if phi.ndim != 3 or phi.shape != known.shape:
        raise ValueError(f"phi of shape {phi.shape}, known of shape {known.shape}: expected one value per cell in both")
    for _ in range(layers):
        front = _beside(known)
        cells = np.stack(np.nonzero(front), axis=1)
        if len(cells) == 0:
            break
        values = np.empty(len(cells), np.float32)
        _fit(values, cells, phi, known, STEEPEST * h)
        phi[front] = values
        known |= front
    return phi


def node_to_center(phi: np.ndarray) -> np.ndarray:
    """Mean of the eight nodes of each cell: (nx+1, ny+1, nz+1) -> (nx, ny, nz), float64."""
    mean = np.asarray(phi, np.float64)
    for _ in range(3):  # each pass halves the first axis and turns the next one to the front
        mean = np.moveaxis(0.5 * (mean[1:] + mean[:-1]), 0, -1)
    return np.ascontiguousarray(mean)


def _beside(known: np.ndarray) -> np.ndarray:
    """Unknown cells that share a face with a known one."""
    beside = np.zeros_like(known)
    for a in range(3):
        low, high = [tuple(s if axis == a else slice(None) for axis in range(3)) for s in (slice(-1), slice(1, None))]
        beside[high] |= known[low]
        beside[low] |= known[high]
    beside &= ~known
    return beside


@kernel
def _fit(values, cells, phi, known, steepest):
    for n in prange(cells.shape[0]):
        values[n] = _fitted_value(phi, known, cells[n, 0], cells[n, 1], cells[n, 2], steepest)


@kernel(parallel=False)
def _fitted_value(phi, known, i, j, k, steepest):
    """Value at cell (i, j, k) of the linear fit to the known cells around it; `steepest` is per cell."""
    total = mean = mx = my = mz = 0.0
    xx = xy = xz = yy = yz = zz = 0.0
    xp = yp = zp = 0.0
    for x in range(max(-_REACH, -i), min(_REACH + 1, phi.shape[0] - i)):
        for y in range(max(-_REACH, -j), min(_REACH + 1, phi.shape[1] - j)):
            for z in range(max(-_REACH, -k), min(_REACH + 1, phi.shape[2] - k)):
                if known[i + x, j + y, k + z]:
                    distance2 = x * x + y * y + z * z
                    w = 1.0 / (distance2 * distance2)
                    p = np.float64(phi[i + x, j + y, k + z])
                    total += w
                    mean += w * p
                    mx += w * x
                    my += w * y
                    mz += w * z
                    xx += w * x * x
                    xy += w * x * y
                    xz += w * x * z
                    yy += w * y * y
                    yz += w * y * z
                    zz += w * z * z
                    xp += w * x * p
                    yp += w * y * p
                    zp += w * z * p
    mean /= total
    mx /= total
    my /= total
    mz /= total

    # Normal equations for the slope about the centroid, C g = b.
    ridge = _RIDGE * (xx + yy + zz)
    xx += ridge - total * mx * mx
    yy += ridge - total * my * my
    zz += ridge - total * mz * mz
    xy -= total * mx * my
    xz -= total * mx * mz
    yz -= total * my * mz
    xp -= total * mx * mean
    yp -= total * my * mean
    zp -= total * mz * mean

    # C = L D Lᵀ
    lyx, lzx = xy / xx, xz / xx
    yy -= lyx * xy
    lzy = (yz - lzx * xy) / yy
    zz -= lzx * xz + lzy * lzy * yy
    yp -= lyx * xp
    zp -= lzx * xp + lzy * yp
    gz = zp / zz
    gy = yp / yy - lzy * gz
    gx = xp / xx - lyx * gy - lzx * gz

    slope = np.sqrt(gx * gx + gy * gy + gz * gz)
    limit = min(1.0, steepest / slope) if slope > 0.0 else 1.0
    return mean - limit * (gx * mx + gy * my + gz * mz)
