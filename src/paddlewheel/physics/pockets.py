"""Pockets of air at walls under water that are a lack of particles, and no air.

Beside what moves under water, and where water flows around something, particles
are a little too few in places. A gap there would be a vacuum, which collapses in
a few steps and kicks what is beside it, though nothing of that is in the flow. A
real bubble of that size would keep its volume. So it counts as liquid, and
particles are spread into it.
"""

import numpy as np

from paddlewheel.grid.stencil import faces_with_long_rows, with_long_rows
from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.regions import join, root
from paddlewheel.types import Faces

__all__ = ["fill_pockets"]

LARGEST, LARGEST_2D = 64, 32  # cells of a pocket
DEPTH = 0.5  # cells below the surface that its centres then are


def fill_pockets(phi: np.ndarray, open: Faces, h: float, drains: np.ndarray | None = None) -> int:
    """Make small pockets of air that liquid encloses liquid: φ [m] at centres becomes −DEPTH h, in place.

    φ is C-contiguous. Returns how many runs of cells along z, in 2-D along y, that were.

    Air are cells with φ ≥ 0 and an open face, w > 0. They are joined along the
    axes, whatever w is between them; a pocket has LARGEST cells at most, in 2-D
    LARGEST_2D, liquid and a wall beside it, and is at no open side, nor in a cell of `drains`, bool.
    """
    drains = np.zeros((0, 0, 0), np.bool_) if drains is None else drains
    most, flat = LARGEST, -1
    if phi.shape[2] == 1:  # in a plane the same memory, with rows along y, and no walls across z
        phi, open, drains = with_long_rows(phi), faces_with_long_rows(open), with_long_rows(drains)
        most, flat = LARGEST_2D, 1
    shape = phi.shape
    counts = np.zeros(shape[0] * shape[1] + 1, np.int64)
    none = np.empty(0, np.int32)
    _find_runs(counts[1:], none, none, phi, open, np.int64(0))
    first = np.cumsum(counts)
    begin, end = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    _find_runs(first, begin, end, phi, open, np.int64(1))
    found = np.flatnonzero(_in_pocket(first, begin, end, phi, open, drains, most, flat))
    row = np.searchsorted(first, found, "right") - 1
    for i, j, low, high in zip(row // shape[1], row % shape[1], begin[found], end[found], strict=True):
        phi[i, j, low:high] = np.float32(-DEPTH * h)
    return len(found)


@kernel
def _find_runs(first, begin, end, phi, open, writing):
    """Runs of air along the rows: how many each has; or if writing, where they begin and end, from first[row] on."""
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            at, inside = first[i * ny + j] if writing else np.int64(0), False
            values = phi[i, j]
            for k in range(nz):
                air = values[k] >= 0.0 and _is_open(open, i, j, k)
                if air != inside:
                    if writing:
                        if air:
                            begin[at] = k
                        else:
                            end[at] = k
                    at += not air
                    inside = air
            if inside:
                if writing:
                    end[at] = nz
                at += 1
            if not writing:
                first[i * ny + j] = at


@kernel(parallel=False)
def _is_open(open, i, j, k):
    wx = open[0][i, j, k] + open[0][i + 1, j, k]
    wy = open[1][i, j, k] + open[1][i, j + 1, k]
    return wx + wy + open[2][i, j, k] + open[2][i, j, k + 1] > 0.0


@kernel(parallel=False)
def _in_pocket(first, begin, end, phi, open, drains, most, flat):
    """Whether each run is in a pocket; `flat` is the axis across a plane, if it is one."""
    nx, ny, _ = phi.shape
    parent, size = np.arange(len(begin)), np.zeros(len(begin), np.int64)
    for i in range(nx):
        for j in range(ny):
            row = i * ny + j
            if i > 0:
                _join_rows(parent, begin, end, first[row], first[row + 1], first[row - ny], first[row - ny + 1])
            if j > 0:
                _join_rows(parent, begin, end, first[row], first[row + 1], first[row - 1], first[row])
    for run in range(len(begin)):
        size[root(parent, run)] += end[run] - begin[run]
    wet, walled, outside = np.zeros(len(begin), np.bool_), np.zeros(len(begin), np.bool_), size > most
    for i in range(nx):
        for j in range(ny):
            for run in range(first[i * ny + j], first[i * ny + j + 1]):
                own = root(parent, run)
                if not outside[own]:
                    for k in range(begin[run], end[run]):
                        found = _surroundings(phi, open, flat, i, j, k)
                        wet[own] |= found[0]
                        walled[own] |= found[1]
                        outside[own] |= found[2] or (len(drains) > 0 and drains[i, j, k])
    out = np.zeros(len(begin), np.bool_)
    for run in range(len(begin)):
        own = root(parent, run)
        out[run] = wet[own] and walled[own] and not outside[own]
    return out


@kernel(parallel=False)
def _join_rows(parent, begin, end, a, last_a, b, last_b):
    """Join the runs of two rows that overlap."""
    while a < last_a and b < last_b:
        if begin[a] < end[b] and begin[b] < end[a]:
            join(parent, a, b)
        if end[a] < end[b]:
            a += 1
        else:
            b += 1


@kernel(parallel=False)
def _surroundings(phi, open, flat, i, j, k):
    """Whether there is liquid beyond an open face of a cell, a wall in one, and whether one is on an open side."""
    wet = walled = outside = False
    for a in range(3):
        d0, d1, d2 = int(a == 0), int(a == 1), int(a == 2)
        for side in range(2):
            w = open[a][i + side * d0, j + side * d1, k + side * d2]
            walled |= w < 1.0 and a != flat
            if w > 0.0:
                m, n, o = i + (2 * side - 1) * d0, j + (2 * side - 1) * d1, k + (2 * side - 1) * d2
                if 0 <= m < phi.shape[0] and 0 <= n < phi.shape[1] and 0 <= o < phi.shape[2]:
                    wet |= phi[m, n, o] < 0.0
                else:
                    outside = True
    return wet, walled, outside
