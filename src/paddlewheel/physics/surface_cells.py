"""Cells that are empty, surface or full, and the velocity at which the faces of surface cells meet the air.  FM96.

A cell with liquid in it is a surface cell if it has a free face, one that is open and beyond which there is none;
else it is full. Which of its six faces are free is one of 64 configurations, and one number:

    bit 2a      the lower face along axis a
    bit 2a + 1  the upper one
"""

import numpy as np

from paddlewheel.grid.stencil import as_faces, faces_beside, required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces

__all__ = ["beside", "free_faces", "meet_air"]


def free_faces(wet: np.ndarray, open: Faces) -> np.ndarray:
    """The configuration of each cell, uint8 (nx, ny, nz): 0 for full and for empty ones.

    wet are the cells with liquid, bool; open w > 0 the faces that are not closed by a solid. Beyond the domain there
    is air.
    """
    out = np.empty(wet.shape, np.uint8)
    _free_faces(out, required(wet, np.bool_), as_faces(open, np.float32))
    return out


def beside(wet: np.ndarray, open: Faces) -> Faces:
    """The open faces that have liquid on one side or both, bool."""
    return Faces(*(f & (w > 0) for f, w in zip(faces_beside(wet), open, strict=True)))


def meet_air(velocity: Faces, free: np.ndarray, held: bool = False) -> None:
    """Set the velocity [m/s] of free faces, in place, so that no surface cell has a divergence.

    Along an axis with one free face, that moves as the one opposite to it does, and the axis has no divergence. Along
    one with two, they go on as they were: it is in free flight. What all axes together still let in or out is shared
    among the free faces of the first kind, or if there are none, of the second. With one free face alone that is
    continuity; a layer parts from nothing but what flows along it, and what falls freely keeps its velocity. Faces
    between two cells of liquid, and at walls, are not touched.

    If they are `held`, none becomes faster by that than the fastest of the cell's faces was. Where splashes meet in
    surface cells, which have no pressure to part them, what five faces let in would have to leave by the sixth; in the
    next step that is one of the five of another cell, and so on: energy from nowhere. Cells that do not hold all that
    they have room for need not lose at once what they are given.
    """
    _meet_air(velocity, free, held)


@kernel
def _free_faces(out, wet, open):
    nx, ny, nz = wet.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                bits = 0
                if wet[i, j, k]:
                    for a in range(3):
                        d0, d1, d2 = int(a == 0), int(a == 1), int(a == 2)
                        below = i - d0 >= 0 and j - d1 >= 0 and k - d2 >= 0 and wet[i - d0, j - d1, k - d2]
                        above = i + d0 < nx and j + d1 < ny and k + d2 < nz and wet[i + d0, j + d1, k + d2]
                        if open[a][i, j, k] > 0.0 and not below:
                            bits |= 1 << (2 * a)
                        if open[a][i + d0, j + d1, k + d2] > 0.0 and not above:
                            bits |= 2 << (2 * a)
                out[i, j, k] = bits


@kernel
def _meet_air(velocity, free, held):
    """Each free face has one cell of liquid, so no two cells write to the same."""
    nx, ny, nz = free.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                bits = int(free[i, j, k])
                if bits == 0:
                    continue
                single, double, outflow, fastest = 0, 0, 0.0, 0.0
                for a in range(3):
                    d0, d1, d2 = int(a == 0), int(a == 1), int(a == 2)
                    which = bits >> (2 * a) & 3
                    if which == 1:
                        velocity[a][i, j, k] = velocity[a][i + d0, j + d1, k + d2]
                    elif which == 2:
                        velocity[a][i + d0, j + d1, k + d2] = velocity[a][i, j, k]
                    else:
                        outflow += np.float64(velocity[a][i + d0, j + d1, k + d2]) - velocity[a][i, j, k]
                    fastest = max(fastest, abs(velocity[a][i, j, k]), abs(velocity[a][i + d0, j + d1, k + d2]))
                    single += which == 1 or which == 2
                    double += which == 3
                most = fastest if held else np.inf
                less = outflow / single if single > 0 else 0.5 * outflow / double
                for a in range(3):
                    d0, d1, d2 = int(a == 0), int(a == 1), int(a == 2)
                    which = bits >> (2 * a) & 3
                    if which == 3 and single > 0:
                        continue
                    if which & 1:
                        velocity[a][i, j, k] = min(max(velocity[a][i, j, k] + less, -most), most)
                    if which & 2:
                        after = velocity[a][i + d0, j + d1, k + d2] - less
                        velocity[a][i + d0, j + d1, k + d2] = min(max(after, -most), most)
