"""Where liquid may leave walls, and how it moves where it does.  B07 §4.

At the cells that touch a solid the pressure is not negative: nothing sucks
liquid onto it. A wall is let go where the pressure is zero. There the liquid
has a free surface, and the velocity in the wall beside it must be the liquid's
own, if that leads away, and not the wall's.
"""

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Boundary, Faces

__all__ = ["around", "keep_leaving", "touching"]


def touching(boundary: Boundary) -> np.ndarray:
    """The cells beside a solid, or a closed side, that liquid may leave, bool: it fills part of one of their faces.

    The two sides of a 2-D scene are none, and what also touches a solid that holds liquid is held.
    """
    nx, ny, nz = (n - 1 for n in boundary.phi.shape)
    cells = np.zeros((nx, ny, nz), np.bool_)
    _mark_touching(cells, *boundary.open, 2 if nz == 1 else 3)
    if boundary.sticky is not None:
        cells &= ~boundary.sticky
    return cells


def around(cells: np.ndarray) -> np.ndarray:
    """Cells, and those that share a corner with one of them, bool."""
    for a in range(3):
        wide, cells = cells.copy(), np.moveaxis(cells, a, 0)
        out = np.moveaxis(wide, a, 0)
        out[1:] |= cells[:-1]
        out[:-1] |= cells[1:]
        cells = wide
    return cells


def keep_leaving(
    velocity: Faces,
    continued: Faces,
    boundary: Boundary,
    loose: np.ndarray,
    attached: np.ndarray,
    narrow: float = 0.0,
) -> None:
    """Give closed faces beside `loose` cells, bool, the continued velocity back, in place, where it leads out of walls.

    Closed are those with w ≤ narrow. velocity is `continued` with its normal component replaced by the solids'.
    Faces of `attached` cells keep that: the liquid there stays at its wall.
    """
    limit = np.float32(narrow)
    for axis in range(3):
        _keep_leaving(velocity[axis], continued[axis], boundary.open[axis], boundary.phi, loose, attached, axis, limit)


@kernel
def _mark_touching(cells, wx, wy, wz, axes):
    for plane in prange(cells.shape[0]):
        i = np.int64(plane)
        for j in range(cells.shape[1]):
            for k in range(cells.shape[2]):
                least = min(wx[i, j, k], wx[i + 1, j, k], wy[i, j, k], wy[i, j + 1, k])
                if axes == 3:
                    least = min(least, wz[i, j, k], wz[i, j, k + 1])
                cells[i, j, k] = least < 1.0


@kernel
def _keep_leaving(out, before, open, phi, loose, attached, axis, narrow):
    nx, ny, nz = loose.shape
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    for plane in prange(out.shape[0]):
        i = np.int64(plane)
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                if open[i, j, k] > narrow or out[i, j, k] == before[i, j, k]:
                    continue
                free, held = False, False
                for m in range(max(i - 1, 0), min(i + 2 - d0, nx)):
                    for n in range(max(j - 1, 0), min(j + 2 - d1, ny)):
                        for o in range(max(k - 1, 0), min(k + 2 - d2, nz)):
                            free |= loose[m, n, o]
                            beside = (d0 == 1 or m == i) and (d1 == 1 or n == j) and (d2 == 1 or o == k)
                            held |= beside and attached[m, n, o]
                if free and not held:
                    rise = _rise(phi, i, j, k, d0, d1, d2)
                    if rise * (before[i, j, k] - out[i, j, k]) > 0.0:
                        out[i, j, k] = before[i, j, k]


@kernel(parallel=False)
def _rise(phi, i, j, k, d0, d1, d2):
    """How the distance from solids grows across a face along its axis; a closed side is a wall itself."""
    at, last = i * d0 + j * d1 + k * d2, (phi.shape[0] - 1) * d0 + (phi.shape[1] - 1) * d1 + (phi.shape[2] - 1) * d2
    if at == 0:
        return 1.0
    if at == last:
        return -1.0
    rise = 0.0
    for m in range(2 - d0):
        for n in range(2 - d1):
            for o in range(2 - d2):
                rise += phi[i + m + d0, j + n + d1, k + o + d2] - phi[i + m - d0, j + n - d1, k + o - d2]
    return rise
