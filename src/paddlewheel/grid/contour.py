"""The closed surface φ = 0 of values on a lattice: curves in 2-D, triangles in 3-D.

The lattice goes on to the sides of a box, and a hair's breadth beyond them to where nothing is inside: so what
reaches a side ends there, with a sharp edge.
"""

import numpy as np

__all__ = ["contour"]

_HAIR = 1e-3  # steps beyond the sides
# Of a cell's corners (0,0) (1,0) (1,1) (0,1), bits 1 2 4 8, those inside; sides 0 1 2 3 are below, right, above, left.
# Pieces go from a side to a side with the inside on their left. Corners that are inside only across a diagonal
# are not connected.
_PIECES = {
    1: [(0, 3)], 2: [(1, 0)], 3: [(1, 3)], 4: [(2, 1)], 5: [(0, 3), (2, 1)], 6: [(2, 0)], 7: [(2, 3)], 8: [(3, 2)],
    9: [(0, 2)], 10: [(1, 0), (3, 2)], 11: [(1, 2)], 12: [(3, 1)], 13: [(0, 1)], 14: [(3, 0)],
}  # fmt: skip


def contour(phi: np.ndarray, lines: list[np.ndarray], size) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) float32 [m] and parts (m, 2) or (m, 3) int32 of φ = 0 in the box from 0 to `size` [m].

    φ (nx, ny, nz) is at points (x[i], y[j], z[k]) of three lines, inside the box; one plane of them is 2-D.
    """
    two = phi.shape[2] == 1
    axes, values = list(lines), np.asarray(phi, np.float64)
    scale = np.abs(values).max(initial=0.0) or 1.0
    values = np.where(np.abs(values) < 1e-6 * scale, 1e-6 * scale, values)  # nothing right through points
    for a in range(2 if two else 3):
        values = np.moveaxis(values, a, 0)
        hair = _HAIR * (axes[a][-1] - axes[a][0]) / max(len(axes[a]) - 1, 1) or _HAIR
        values = np.concatenate(
            [np.abs(values[:1]) + scale, values[:1], values, values[-1:], np.abs(values[-1:]) + scale]
        )
        axes[a] = np.concatenate([[-hair, 0.0], axes[a], [size[a], size[a] + hair]])
        values = np.moveaxis(values, 0, a)
    if not (values < 0).any():
        return np.empty((0, 3), np.float32), np.empty((0, 2 if two else 3), np.int32)
    points, parts = _squares(values[:, :, 0], axes) if two else _cubes(values, axes)
    return np.clip(points, 0, size).astype(np.float32), parts.astype(np.int32)


def _squares(values, lines) -> tuple[np.ndarray, np.ndarray]:
    """Marching squares. Sides are numbered: those along x first, then those along y."""
    (nx, ny), inside = values.shape, values < 0
    kind = inside[:-1, :-1] + 2 * inside[1:, :-1] + 4 * inside[1:, 1:] + 8 * inside[:-1, 1:]
    i, j = np.nonzero((kind > 0) & (kind < 15))
    kind = kind[i, j]
    along_y = (nx - 1) * ny
    sides = np.stack([i * ny + j, along_y + (i + 1) * (ny - 1) + j, i * ny + j + 1, along_y + i * (ny - 1) + j], axis=1)
    found = [sides[np.ix_(kind == case, piece)] for case, pieces in _PIECES.items() for piece in pieces]
    used, parts = np.unique(np.concatenate(found), return_inverse=True)
    points = np.empty((len(used), 3))
    points[:, 2] = lines[2][0]
    x_side = used < along_y
    a, b = np.divmod(used[x_side], ny)
    t = values[a, b] / (values[a, b] - values[a + 1, b])
    points[x_side, 0], points[x_side, 1] = lines[0][a] + t * (lines[0][a + 1] - lines[0][a]), lines[1][b]
    a, b = np.divmod(used[~x_side] - along_y, ny - 1)
    t = values[a, b] / (values[a, b] - values[a, b + 1])
    points[~x_side, 0], points[~x_side, 1] = lines[0][a], lines[1][b] + t * (lines[1][b + 1] - lines[1][b])
    return points, parts.reshape(-1, 2)


def _cubes(values, lines) -> tuple[np.ndarray, np.ndarray]:
    """Marching cubes."""
    import igl  # 0.2 s

    at = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).transpose(2, 1, 0, 3).reshape(-1, 3)  # x fastest
    flat = np.ascontiguousarray(values.transpose(2, 1, 0).ravel())
    points, parts = igl.marching_cubes(flat, np.ascontiguousarray(at), *values.shape, 0.0)[:2]
    return points, parts
