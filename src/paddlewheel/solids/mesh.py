"""Solids bounded by triangles, from a file or from arrays.

The distance is exact, to the nearest triangle. The sign comes from the
generalised winding number (Jacobson et al. 2013, in the fast form of Barill et
al. 2018): inside is where the surface winds around a point by more than a half.
So a mesh may have small holes, cracks, self-intersections, double vertices and
flipped faces. What it may not be is wide open: then there is no inside.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from paddlewheel.solids.shapes import Shape

MISSING = 0.05  # largest part of the surface that may be missing
_CRACK = 1e-3  # rims closer than this, in diagonals of the mesh, bound a crack and not two holes


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(Shape):
    """The inside of a closed triangle mesh [m]: a file in any format trimesh reads, or (vertices, faces).

    vertices has shape (n, 3), faces (m, 3) with indices into them.
    """

    source: object
    vertices: np.ndarray = field(init=False)
    faces: np.ndarray = field(init=False)

    costly = True

    def __post_init__(self):
        vertices, faces = _read(self.source) if isinstance(self.source, str | Path) else self._pair()
        vertices, faces = _checked(self.name, vertices, faces)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", _solid(self.name, vertices, faces))

    @property
    def name(self) -> str:
        return f"Mesh({self.source!s})" if isinstance(self.source, str | Path) else "Mesh"

    def __repr__(self):
        return self.name

    def __getstate__(self):
        """Without the search trees, which are quickly built again and cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "_trees"}

    def bounds(self):
        low, high = self._bounds
        return low.copy(), high.copy()

    def _distance(self, points):
        nearest, winding = self._trees
        points = np.ascontiguousarray(points)
        distance = np.sqrt(nearest.squared_distance(self.vertices, self.faces, points)[0])
        return np.where(np.abs(winding.winding_number(points)) > 0.5, -distance, distance)

    @cached_property
    def _bounds(self):
        corners = self.vertices[np.unique(self.faces)]
        return corners.min(axis=0), corners.max(axis=0)

    @cached_property
    def _trees(self):
        import igl  # 0.2 s, which scenes without meshes need not wait for

        nearest, winding = igl.AABB(), igl.FastWindingNumberBVH()
        nearest.init(self.vertices, self.faces)
        winding.init(self.vertices, self.faces)
        return nearest, winding

    def _pair(self):
        if not isinstance(self.source, tuple | list) or len(self.source) != 2:
            kind = type(self.source).__name__
            raise ValueError(f"Mesh: source is a {kind}, expected a file name or a pair (vertices, faces)")
        return self.source


def _read(path) -> tuple[np.ndarray, np.ndarray]:
    import trimesh  # 0.5 s, likewise

    if not Path(path).is_file():
        raise ValueError(f"Mesh({path}): there is no such file")
    if Path(path).stat().st_size == 0:
        raise ValueError(f"Mesh({path}): the file is empty")
    try:
        mesh = trimesh.load_mesh(path, process=False)
    except Exception as error:  # each of trimesh's readers has its own
        raise ValueError(f"Mesh({path}): cannot be read as a mesh: {error}") from error
    return mesh.vertices, mesh.faces


def _checked(name, vertices, faces) -> tuple[np.ndarray, np.ndarray]:
    """Contiguous arrays of finite vertices and of triangles that exist."""
    try:
        vertices, faces = np.array(vertices, np.float64, order="C"), np.asarray(faces)
    except (TypeError, ValueError) as error:  # text, ragged lists
        raise ValueError(f"{name}: vertices and faces are not arrays of numbers: {error}") from error
    if vertices.size == 0 or faces.size == 0:
        raise ValueError(f"{name}: empty, with {len(vertices)} vertices and {len(faces)} faces")
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise ValueError(f"{name}: vertices have shape {vertices.shape}, expected (n, 3)")
    if faces.ndim != 2 or faces.shape[1] != 3 or not np.issubdtype(faces.dtype, np.integer):
        raise ValueError(f"{name}: faces have shape {faces.shape} and type {faces.dtype}, expected integers (m, 3)")
    bad = ~np.isfinite(vertices).all(axis=1)
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(f"{name}: {bad.sum()} vertices are not finite, the first is [{first}] = {vertices[first]}")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(f"{name}: faces name vertices {faces.min()} to {faces.max()}, of {len(vertices)}")
    return vertices, np.array(faces, np.int64, order="C")


def _solid(name, vertices, faces) -> np.ndarray:
    """The faces, turned to face the same way and rid of those that bound nothing; a ValueError if there is no inside.

    Vertices that coincide count as one here, but stay where they are.
    """
    area = np.linalg.norm(_normals(vertices, faces), axis=1)
    if not area.any():
        raise ValueError(f"{name}: all {len(faces)} faces have zero area")
    faces = faces[area > 0]
    welded = _weld(vertices)[faces]
    kept = _without_twins(welded)
    if not len(kept):
        raise ValueError(f"{name}: every face has a twin facing the other way, so it encloses nothing")
    faces, welded = faces[kept], welded[kept]

    flip = _flips(welded, np.linalg.norm(_normals(vertices, faces), axis=1))
    faces[flip], welded[flip] = faces[flip, ::-1], welded[flip, ::-1]

    edges, missing = _openings(vertices, faces, welded)
    if missing > MISSING:
        raise ValueError(
            f"{name}: not closed: {edges} boundary edges, {100 * missing:.3g} % of the surface is missing "
            f"(up to {100 * MISSING:.3g} % can be bridged)"
        )
    normals, center = _normals(vertices, faces), vertices[faces].mean(axis=(0, 1))
    volume = np.abs(np.einsum("ij,ij->i", normals, vertices[faces[:, 0]] - center)).sum() / 3
    if volume <= 1e-9 * np.linalg.norm(normals, axis=1).sum() ** 1.5:
        raise ValueError(f"{name}: flat, it encloses no volume")
    return np.ascontiguousarray(faces)


def _normals(vertices, faces) -> np.ndarray:
    """Normals with the length of the area, shape (m, 3)."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return 0.5 * np.cross(b - a, c - a)


def _weld(vertices) -> np.ndarray:
    """For each vertex a number it shares with those that coincide with it, within 5e-7 of the mesh's extent."""
    low = vertices.min(axis=0)
    cell = np.ptp(vertices, axis=0).max() / (2**21 - 1)
    x, y, z = np.round((vertices - low) / cell).astype(np.int64).T
    return np.unique(x << 42 | y << 21 | z, return_inverse=True)[1]


def _without_twins(welded) -> np.ndarray:
    """Indices of the faces that count: one of several alike, none of two that face each other."""
    key = np.sort(welded, axis=1)
    a, b, c = welded.T
    even = np.where((a < b) == (b < c), a < c, c < a)  # of the three permutations that turn, not swap
    rows, first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
    net = np.bincount(group.ravel(), np.where(even, 1, -1), minlength=len(rows))
    proper = (rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2])
    return np.sort(first[proper & (net != 0)])


def _flips(welded, area) -> np.ndarray:
    """Which faces to turn so that neighbours agree; each connected patch keeps the way most of its area faces."""
    import igl

    oriented, patch = igl.bfs_orient(welded)
    flip = (oriented != welded).any(axis=1)
    against = np.bincount(patch, np.where(flip, area, 0)) > 0.5 * np.bincount(patch, area)
    return flip != against[patch]


def _openings(vertices, faces, welded) -> tuple[int, float]:
    """Number of boundary edges, and the part of the surface that is missing.

    An edge is on the boundary if the faces run along it more often one way
    than the other: where there is none, winding numbers are whole. A hole of
    any outline has the area  |½ Σ a × b|  over the edges (a, b) of its rim.
    """
    pairs = [(0, 1), (1, 2), (2, 0)]
    tail, head = (np.concatenate([welded[:, p[end]] for p in pairs]) for end in range(2))
    where_tail, where_head = (np.concatenate([faces[:, p[end]] for p in pairs]) for end in range(2))
    forward = tail < head
    key = np.where(forward, tail, head) * (welded.max() + 1) + np.where(forward, head, tail)
    _, first, edge = np.unique(key, return_index=True, return_inverse=True)
    net = np.bincount(edge, np.where(forward, 1, -1))
    net = np.where(forward[first], net, -net)
    rim, net = first[net != 0], net[net != 0]
    if not len(rim):
        return 0, 0.0
    a, b = vertices[where_tail[rim]], vertices[where_head[rim]]
    hole = _rims(np.concatenate([a, b]), _CRACK * np.linalg.norm(np.ptp(vertices[faces], axis=(0, 1))))[: len(a)]
    center = a.mean(axis=0)
    swept = 0.5 * net[:, None] * np.cross(a - center, b - center)
    holes = np.stack([np.bincount(hole, swept[:, i]) for i in range(3)], axis=-1)
    missing = np.linalg.norm(holes, axis=1).sum()
    return len(rim), float(missing / (missing + np.linalg.norm(_normals(vertices, faces), axis=1).sum()))


def _rims(ends, crack) -> np.ndarray:
    """Numbers the connected rims; edge i runs from ends[i] to ends[i + n/2], and points closer than `crack` connect."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    n = len(ends) // 2
    close = cKDTree(ends).query_pairs(crack, output_type="ndarray")
    i, j = np.concatenate([np.arange(n), close[:, 0]]), np.concatenate([np.arange(n, 2 * n), close[:, 1]])
    return connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(2 * n, 2 * n)), directed=False)[1]
