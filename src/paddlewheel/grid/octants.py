"""How much of each octant of a cell is liquid: the one measure that all volumes around centres, faces and edges share.

φ is taken at points half a cell apart, by linear interpolation from the
centres, and as linear on the tetrahedra of each octant, on which the part
that is negative has a closed form (see fractions). A flat surface is measured
exactly; volumes around any two places that overlap agree on what they share.
"""

import numpy as np

from paddlewheel.grid.fractions import box_fraction
from paddlewheel.grid.stencil import required
from paddlewheel.kernel import kernel, prange

__all__ = ["liquid_octants"]


def liquid_octants(phi: np.ndarray, solid: np.ndarray | None = None) -> np.ndarray:
    """Part of each octant where φ < 0, float32, shape (2 nx, 2 ny, 2 nz), from φ at the centres of cells.

    With `solid`, a signed distance at nodes, the part outside of it, where that is positive. Beyond the last centres φ
    is constant.
    """
    phi = required(phi, np.float32)
    solid = np.empty((0, 0, 0), np.float32) if solid is None else required(solid, np.float32)
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
        around, corner, points = np.empty((3, 3, 3)), np.empty((2, 2, 2)), np.empty((3, 3, 3))
        lowest, highest = np.empty(nk, np.float32), np.empty(nk, np.float32)
        for j in range(nj):
            _range_across(lowest, highest, phi, i, j)
            for k in range(nk):
                before, after = max(k - 1, 0), min(k + 1, nk - 1)
                dry = min(lowest[before], lowest[k], lowest[after]) >= 0.0
                cut = not dry and max(highest[before], highest[k], highest[after]) >= 0.0
                if solid.shape[0] > 0 and not dry:
                    deepest, farthest = _fill_corners(corner, solid, i, j, k)
                    dry = farthest <= 0.0
                    cut |= deepest <= 0.0
                if cut and not dry:
                    _fill_points(points, around, phi, corner, solid.shape[0] > 0, i, j, k)
                for a in range(2):
                    for b in range(2):
                        for c in range(2):
                            part = 0.0 if dry else 1.0
                            if cut and not dry:
                                part = _part(points, a, b, c)
                            out[2 * i + a, 2 * j + b, 2 * k + c] = part


@kernel(parallel=False)
def _range_across(lowest, highest, phi, i, j):
    """The least and the largest φ in a row of cells and those beside it, at each k."""
    lowest[:] = phi[i, j]
    highest[:] = phi[i, j]
    for m in range(max(i - 1, 0), min(i + 2, phi.shape[0])):
        for n in range(max(j - 1, 0), min(j + 2, phi.shape[1])):
            row = phi[m, n]
            for k in range(len(row)):
                lowest[k], highest[k] = min(lowest[k], row[k]), max(highest[k], row[k])


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
def _fill_points(points, around, phi, corner, walled, i, j, k):
    """−φ on the lattice of half cells in a cell, or the solid's distance if that is less; (1, 1, 1) is the centre."""
    ni, nj, nk = phi.shape
    for a in range(3):
        for b in range(3):
            for c in range(3):
                m, n, o = min(max(i + a - 1, 0), ni - 1), min(max(j + b - 1, 0), nj - 1), min(max(k + c - 1, 0), nk - 1)
                around[a, b, c] = phi[m, n, o]
    for a in range(3):
        for b in range(3):
            for c in range(3):
                points[a, b, c] = _value(around, corner, walled, a, b, c)


@kernel(parallel=False)
def _part(points, a, b, c):
    """Part of one octant of a cell that is liquid."""
    return box_fraction(
        points[a, b, c], points[a + 1, b, c], points[a + 1, b + 1, c], points[a, b + 1, c],
        points[a, b, c + 1], points[a + 1, b, c + 1], points[a + 1, b + 1, c + 1], points[a, b + 1, c + 1],
    )  # fmt: skip


@kernel(parallel=False)
def _value(around, corner, walled, a, b, c):
    """One of these points."""
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
