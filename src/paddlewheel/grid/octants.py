"""How much of each octant of a cell is liquid: the one measure that all volumes around centres, faces and edges share.

φ is taken at points half a cell apart, by linear interpolation from the
centres, and as linear on the tetrahedra of each octant, on which the part
that is negative has a closed form (see fractions). A flat surface is measured
exactly; volumes around any two places that overlap agree on what they share.
"""

import numpy as np

from paddlewheel.grid.fractions import box_fraction
from paddlewheel.kernel import kernel, prange

__all__ = ["liquid_octants"]


def liquid_octants(phi: np.ndarray, solid: np.ndarray | None = None) -> np.ndarray:
    """Part of each octant where φ < 0, float32, shape (2 nx, 2 ny, 2 nz), from φ at the centres of cells.

    With `solid`, a signed distance at nodes, the part outside of it, where that is positive. Beyond the last centres φ
    is constant.
    """
    phi = np.require(phi, np.float32, "CAW")
    solid = np.empty((0, 0, 0), np.float32) if solid is None else np.require(solid, np.float32, "CAW")
    if solid.size and solid.shape != tuple(n + 1 for n in phi.shape):
        raise ValueError(f"solid of shape {solid.shape}: expected values at the nodes of {phi.shape} cells")
    out = np.empty([2 * n for n in phi.shape], np.float32)
    _octants(out, phi, solid)
    return out


@kernel
def _octants(out, phi, solid):
    ni, nj, nk = phi.shape
    for plane in prange(ni):
        i = np.int64(plane)
        around, corner = np.empty((3, 3, 3)), np.empty((2, 2, 2))
        for j in range(nj):
            for k in range(nk):
                low = high = np.float64(phi[i, j, k])
                for a in range(3):
                    for b in range(3):
                        for c in range(3):
                            value = np.float64(
                                phi[
                                    min(max(i + a - 1, 0), ni - 1),
                                    min(max(j + b - 1, 0), nj - 1),
                                    min(max(k + c - 1, 0), nk - 1),
                                ]
                            )
                            around[a, b, c] = value
                            low, high = min(low, value), max(high, value)
                dry = low >= 0.0
                cut = not dry and high >= 0.0
                if solid.shape[0] > 0 and not dry:
                    deepest, farthest = _fill_corners(corner, solid, i, j, k)
                    dry = farthest <= 0.0
                    cut |= deepest <= 0.0
                for a in range(2):
                    for b in range(2):
                        for c in range(2):
                            part = 0.0 if dry else 1.0
                            if cut and not dry:
                                part = _part(around, corner, solid.shape[0] > 0, a, b, c)
                            out[2 * i + a, 2 * j + b, 2 * k + c] = part


@kernel(parallel=False)
def _fill_corners(corner, solid, i, j, k):
    """The distance at the corners of a cell; the least and the largest."""
    low = high = np.float64(solid[i, j, k])
    for a in range(2):
        for b in range(2):
            for c in range(2):
                value = np.float64(solid[i + a, j + b, k + c])
                corner[a, b, c] = value
                low, high = min(low, value), max(high, value)
    return low, high


@kernel(parallel=False)
def _part(around, corner, walled, a, b, c):
    """Part of one octant of a cell that is liquid."""
    p = (
        _value(around, corner, walled, a, b, c), _value(around, corner, walled, a + 1, b, c),
        _value(around, corner, walled, a + 1, b + 1, c), _value(around, corner, walled, a, b + 1, c),
        _value(around, corner, walled, a, b, c + 1), _value(around, corner, walled, a + 1, b, c + 1),
        _value(around, corner, walled, a + 1, b + 1, c + 1), _value(around, corner, walled, a, b + 1, c + 1),
    )  # fmt: skip
    return box_fraction(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7])


@kernel(parallel=False)
def _value(around, corner, walled, a, b, c):
    """−φ at a point of the lattice of half cells, or the solid's distance if that is less; (1, 1, 1) is the centre."""
    i0, i1 = (a + 1) // 2, a // 2 + 1
    j0, j1 = (b + 1) // 2, b // 2 + 1
    k0, k1 = (c + 1) // 2, c // 2 + 1
    low = around[i0, j0, k0] + around[i0, j0, k1] + around[i0, j1, k0] + around[i0, j1, k1]
    high = around[i1, j0, k0] + around[i1, j0, k1] + around[i1, j1, k0] + around[i1, j1, k1]
    value = -0.125 * (low + high)
    if not walled:
        return value
    total = 0.0
    for m in (a // 2, (a + 1) // 2):
        for n in (b // 2, (b + 1) // 2):
            for o in (c // 2, (c + 1) // 2):
                total += corner[m, n, o]
    return min(value, 0.125 * total)
