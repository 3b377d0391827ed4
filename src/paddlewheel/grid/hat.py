"""Hats that are twice as wide, for points that lie twice as far apart."""

import numpy as np

from paddlewheel.kernel import kernel, prange

__all__ = ["hat_reach", "weighed", "widened"]


def hat_reach(per_cell: float) -> int:
    """Cells to each side that the hat of particles reaches: so far that it has eight of them under it, in 2-D four."""
    return 1 if per_cell > 1 else 2


def widened(fields: np.ndarray) -> np.ndarray:
    """Means under hats of two cells to each side, from those under hats of one at the same samples.

        ½ Λ(x/2) = ¼ Λ(x − 1) + ½ Λ(x) + ¼ Λ(x + 1)

    along each axis but the first, which counts the fields, and but those with one sample: (n, nx, ny, nz), float32. It
    is exact; beyond the sides there is nothing.
    """
    for axis in range(3):
        if fields.shape[1 + axis] > 1:
            fields = weighed(fields, axis, 0.5, 0.25)
    return fields


def weighed(fields: np.ndarray, axis: int, own: float, others: float) -> np.ndarray:
    """Each sample and its two neighbours along an axis, weighed; (n, nx, ny, nz), float32. Beyond the sides is zero."""
    out = np.empty_like(fields)
    _weigh(out, fields, axis, np.float32(own), np.float32(others))
    return out


@kernel
def _weigh(out, fields, axis, own, others):
    count, nx, ny, nz = fields.shape
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    for plane in prange(nx):
        i = np.int64(plane)
        for m in range(count):
            for j in range(ny):
                here, to = fields[m, i, j], out[m, i, j]
                for k in range(nz):
                    to[k] = own * here[k]
                if i >= di and j >= dj:
                    below = fields[m, i - di, j - dj]
                    for k in range(dk, nz):
                        to[k] += others * below[k - dk]
                if i + di < nx and j + dj < ny:
                    above = fields[m, i + di, j + dj]
                    for k in range(nz - dk):
                        to[k] += others * above[k + dk]
