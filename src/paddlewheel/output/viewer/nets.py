"""The surface φ = 0 of a lattice as triangles: surface nets (Gibson 1998), fast enough for every frame.

Each cell of the lattice that the surface passes has one vertex, the mean of where the surface cuts its edges. Each
edge that is cut makes a quadrangle of the four cells around it. No tables, and no slivers as marching cubes make them.
"""

import numpy as np


def surface_net(phi: np.ndarray, origin, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) float32 [m] and triangles (m, 3) uint32, which turn their front to where φ > 0.

    phi is given at points `h` apart, the first of them at `origin` [m]. The surface is closed if φ > 0 all around.
    """
    cells = tuple(n - 1 for n in phi.shape)
    cut = [_edges(phi, axis, cells) for axis in range(3)]
    around = np.concatenate([c.ravel() for _, corners, _ in cut for c in corners])
    points = np.concatenate([np.tile(at, (4, 1)) for at, _, _ in cut])
    there = around >= 0
    used, index = np.unique(around[there], return_inverse=True)
    count = np.bincount(index, minlength=len(used))
    mean = [np.bincount(index, weights=points[there, d], minlength=len(used)) / np.maximum(count, 1) for d in range(3)]
    vertices = np.stack(mean, axis=1) * h + origin

    quads = np.concatenate([_turned(corners, rising) for _, corners, rising in cut])
    quads = np.searchsorted(used, quads[(quads >= 0).all(axis=1)])
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return vertices.astype(np.float32), faces.astype(np.uint32)


def _edges(phi, axis, cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The edges along an axis that are cut: where (n, 3) [points], the cells around (4, n), and where φ grows along.

    Cells are counted in order, −1 beyond the lattice; around means by turns from the first axis after it to the second.
    """
    low, high = (np.moveaxis(phi, axis, 0)[part] for part in (slice(-1), slice(1, None)))
    at = np.nonzero((low < 0) != (high < 0))
    before, after = low[at].astype(float), high[at].astype(float)
    place = np.empty((len(at[0]), 3), int)
    place[:, [axis, *(d for d in range(3) if d != axis)]] = np.stack(at, axis=1)
    points = place.astype(float)
    points[:, axis] += before / (before - after)
    b, c = (axis + 1) % 3, (axis + 2) % 3
    around = []
    for back_b, back_c in ((1, 1), (0, 1), (0, 0), (1, 0)):
        cell = place.copy()
        cell[:, b] -= back_b
        cell[:, c] -= back_c
        outside = (cell < 0).any(axis=1) | (cell >= cells).any(axis=1)
        around.append(np.where(outside, -1, np.ravel_multi_index(tuple(np.maximum(cell, 0).T), cells, mode="clip")))
    return points, np.stack(around), before < 0


def _turned(corners, rising) -> np.ndarray:
    """Quadrangles (n, 4) of cells around edges, which turn their front to where φ > 0."""
    return np.where(rising[:, None], corners.T, corners.T[:, ::-1])
