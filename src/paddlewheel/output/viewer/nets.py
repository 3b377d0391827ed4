"""The surface φ = 0 of a lattice as triangles: surface nets (Gibson 1998), fast enough for every frame.

Each cell of the lattice that the surface passes has one vertex, the mean of where the surface cuts its edges. Each
edge that is cut makes a quadrangle of the four cells around it. No tables, and no slivers as marching cubes make them.
"""

import numpy as np

from paddlewheel.kernel import kernel


def surface_net(phi: np.ndarray, origin, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) float32 [m] and triangles (m, 3) uint32, which turn their front to where φ > 0.

    phi is given at points `h` apart, the first of them at `origin` [m]. The surface is closed if φ > 0 all around.
    """
    phi = np.ascontiguousarray(phi, np.float32)
    cells = np.full([n - 1 for n in phi.shape], -1, np.int32)
    vertices, quads = np.empty((_number_cells(cells, phi), 3), np.float32), _count_quads(phi)
    faces = np.empty((2 * quads, 3), np.uint32)
    _place_vertices(vertices, cells, phi, np.broadcast_to(np.asarray(origin, np.float64), 3).copy(), float(h))
    _join(faces, cells, phi)
    return vertices, faces


@kernel(parallel=False)
def _number_cells(cells, phi):
    """Count the cells whose corners are not all on one side, and number them in order."""
    count = 0
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            for k in range(cells.shape[2]):
                below = 0
                for corner in range(8):
                    below += phi[i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2)] < 0
                if 0 < below < 8:
                    cells[i, j, k] = count
                    count += 1
    return count


@kernel(parallel=False)
def _place_vertices(vertices, cells, phi, origin, h):
    """The vertex of each numbered cell: the mean of where the surface cuts its twelve edges [m]."""
    total = np.empty(3)
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            for k in range(cells.shape[2]):
                if cells[i, j, k] < 0:
                    continue
                total[:] = 0.0
                count = 0
                for axis in range(3):
                    di, dj, dk = axis == 0, axis == 1, axis == 2
                    for side in range(4):
                        b, c = side & 1, side >> 1  # along the axes after this one
                        ci, cj, ck = dj * c + dk * b, dk * c + di * b, di * c + dj * b
                        before = np.float64(phi[i + ci, j + cj, k + ck])
                        after = np.float64(phi[i + ci + di, j + cj + dj, k + ck + dk])
                        if (before < 0) != (after < 0):
                            part = before / (before - after)
                            total[0] += ci + di * part
                            total[1] += cj + dj * part
                            total[2] += ck + dk * part
                            count += 1
                at = cells[i, j, k]
                vertices[at, 0] = origin[0] + h * (i + total[0] / count)
                vertices[at, 1] = origin[1] + h * (j + total[1] / count)
                vertices[at, 2] = origin[2] + h * (k + total[2] / count)


@kernel(parallel=False)
def _count_quads(phi):
    """How many edges are cut that have a cell on all four sides."""
    count = 0
    for axis in range(3):
        di, dj, dk = axis == 0, axis == 1, axis == 2
        for i in range(1 - di, phi.shape[0] - 1):
            for j in range(1 - dj, phi.shape[1] - 1):
                for k in range(1 - dk, phi.shape[2] - 1):
                    count += (phi[i, j, k] < 0) != (phi[i + di, j + dj, k + dk] < 0)
    return count


@kernel(parallel=False)
def _join(faces, cells, phi):
    """Two triangles for each edge that is cut, of the cells around it by turns from the first axis after it."""
    corners, at = np.empty(4, np.uint32), 0
    for axis in range(3):
        di, dj, dk = axis == 0, axis == 1, axis == 2
        for i in range(1 - di, phi.shape[0] - 1):
            for j in range(1 - dj, phi.shape[1] - 1):
                for k in range(1 - dk, phi.shape[2] - 1):
                    below = phi[i, j, k] < 0
                    if below == (phi[i + di, j + dj, k + dk] < 0):
                        continue
                    for n in range(4):
                        b, c = n == 0 or n == 3, n < 2  # steps back along the axes after this one
                        turn = n if below else 3 - n
                        corners[turn] = cells[i - dj * c - dk * b, j - dk * c - di * b, k - di * c - dj * b]
                    faces[at, 0], faces[at, 1], faces[at, 2] = corners[0], corners[1], corners[2]
                    faces[at + 1, 0], faces[at + 1, 1], faces[at + 1, 2] = corners[0], corners[2], corners[3]
                    at += 2
