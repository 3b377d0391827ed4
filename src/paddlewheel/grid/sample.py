"""Fields of the grid at points, and points' values on the grid: interpolation and its transpose."""

import numpy as np

from paddlewheel.kernel import kernel


@kernel(parallel=False)
def face_value(u, axis, x, y, z):
    """Component `axis` of a face field at a point given in cells: trilinear, constant beyond the outermost samples.

    u is faces[axis]; its sample (i, j, k) is at (i, j, k) + ½ but along the axis itself, where it is at i.
    """
    ni, nj, nk = u.shape
    x = min(max(x - 0.5 * (axis != 0), 0.0), ni - 1.0)
    y = min(max(y - 0.5 * (axis != 1), 0.0), nj - 1.0)
    z = min(max(z - 0.5 * (axis != 2), 0.0), nk - 1.0)
    i, j, k = np.uint64(x), np.uint64(y), np.uint64(z)
    i1, j1, k1 = (
        min(i + np.uint64(1), np.uint64(ni - 1)),
        min(j + np.uint64(1), np.uint64(nj - 1)),
        min(k + np.uint64(1), np.uint64(nk - 1)),
    )
    fx, fy, fz = x - np.float64(i), y - np.float64(j), z - np.float64(k)
    low = (1 - fy) * ((1 - fz) * u[i, j, k] + fz * u[i, j, k1]) + fy * ((1 - fz) * u[i, j1, k] + fz * u[i, j1, k1])
    high = (1 - fy) * ((1 - fz) * u[i1, j, k] + fz * u[i1, j, k1]) + fy * ((1 - fz) * u[i1, j1, k] + fz * u[i1, j1, k1])
    return (1 - fx) * low + fx * high


@kernel(parallel=False)
def node_value(phi, x, y, z):
    """A field at nodes at a point given in cells, trilinear."""
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
