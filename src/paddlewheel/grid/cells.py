"""Which cells are outside a shape that is known by its distance at nodes, and how much of each."""

import numpy as np

from paddlewheel.grid.fractions import box_fraction
from paddlewheel.grid.stencil import required
from paddlewheel.kernel import kernel, prange

__all__ = ["at_centres", "open_cells", "open_volumes"]


def at_centres(nodes: np.ndarray) -> np.ndarray:
    """A field at nodes, at cell centres: the mean of each cell's eight nodes, (nx, ny, nz)."""
    for axis in range(3):
        below, above = ([slice(None)] * 3 for _ in range(2))
        below[axis], above[axis] = slice(-1), slice(1, None)
        nodes = 0.5 * (nodes[tuple(below)] + nodes[tuple(above)])
    return nodes


def open_cells(phi: np.ndarray) -> np.ndarray:
    """The cells whose centre is outside, bool (nx, ny, nz); φ there is the mean of the cell's eight nodes."""
    return at_centres(phi) > 0


def open_volumes(phi: np.ndarray) -> np.ndarray:
    """The part of each cell that is outside, in [0, 1], float32 (nx, ny, nz)."""
    phi = required(phi, np.float32)
    out = np.empty([n - 1 for n in phi.shape], np.float32)
    _open_volumes(out, phi)
    return out


@kernel
def _open_volumes(out, phi):
    for plane in prange(out.shape[0]):
        i = np.int64(plane)
        for j in range(out.shape[1]):
            a, b, c, d = phi[i, j], phi[i + 1, j], phi[i + 1, j + 1], phi[i, j + 1]
            for k in range(out.shape[2]):
                out[i, j, k] = box_fraction(a[k], b[k], c[k], d[k], a[k + 1], b[k + 1], c[k + 1], d[k + 1])
