"""Points on the surface of a shape, close enough together that nothing the size of their spacing slips between.

Primitives and meshes have their corners, edges and rims among the points.
Anything else, and any outline in a plane, is taken from a lattice: where its
lines cross the surface, and where the tangent planes of a cell meet, which
finds edges and corners (dual contouring, Ju et al. 2002).
"""

import numpy as np

from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, Moved, Shape, Sphere, Torus

_AROUND = 8  # points around a circle, at least
_HALVINGS = 40  # of a lattice edge, down to rounding
_FLAT = 0.05  # a cell whose normals vary by less (their smallest eigenvalues, of a sum of one) has no edge


def surface_points(shape: Shape, spacing: float, plane: float | None = None) -> np.ndarray:
    """Points on the surface, in the coordinates the shape was drawn in [m], shape (n, 3).

    They are about `spacing` [m] apart at most. With `plane` = z they are those
    of the outline of the cross-section at that z [m].
    """
    low, high = shape.bounds()
    axes = slice(3 if plane is None else 2)
    if not (np.isfinite(low[axes]).all() and np.isfinite(high[axes]).all()):
        raise ValueError(f"{type(shape).__name__} has no end, from {low} to {high}: its surface has no end of points")
    points = _lattice(shape, spacing, plane) if plane is not None else _points(shape, spacing)
    if not len(points):
        where = "" if plane is None else f" at z = {plane:.6g}"
        raise ValueError(f"{type(shape).__name__} has no surface{where}")
    return np.ascontiguousarray(points)


def features(shape: Shape, points: np.ndarray, spacing: float, planar: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """What points are, (n,): 0 smooth, 1 on an edge or rim, 2 a corner; and unit vectors into the shape, (n, 3).

    Both come from looking around each point at a small distance: an octant is
    inside at the corner of a box, a quarter at an edge or a rim, half elsewhere.
    In a plane it is a quarter at a corner.
    """
    around, reach = _directions(planar), 0.02 * spacing
    seen = np.empty(len(points))
    inward = np.empty((len(points), 3))
    for start in range(0, len(points), 1000):
        piece = points[start : start + 1000]
        near = (piece[:, None] + reach * around).reshape(-1, 3)
        inside = (shape.distance(near) < 0).reshape(len(piece), -1)
        seen[start : start + 1000] = inside.mean(axis=1)
        inward[start : start + 1000] = inside @ around
    length = np.linalg.norm(inward, axis=1)
    inward = np.where(length[:, None] > 0, inward / np.where(length > 0, length, 1)[:, None], 0)
    kind = np.where(seen < 0.4, 2, 0) if planar else np.select([seen < 0.19, seen < 0.35], [2, 1], 0)
    return kind, inward


def _directions(planar) -> np.ndarray:
    """Unit vectors spread evenly over the sphere (by Fibonacci's spiral) or the circle in the plane."""
    n = 96
    angle = np.arange(n) * (2 * np.pi / n if planar else np.pi * (3 - np.sqrt(5))) + 0.01
    z = np.zeros(n) if planar else 1 - (2 * np.arange(n) + 1) / n
    radius = np.sqrt(1 - z * z)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=-1)


def _points(shape, spacing) -> np.ndarray:
    """Points of a three-dimensional shape."""
    if isinstance(shape, Moved):
        return shape.pose.to_world(_points(shape.shape, spacing))
    rule = _RULES.get(type(shape))
    return rule(shape, spacing) if rule else _lattice(shape, spacing, None)


def _box(box, spacing) -> np.ndarray:
    low, high = box.bounds()
    lines = [np.linspace(a, b, _count(b - a, spacing) + 1) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    return points[((points == low) | (points == high)).any(axis=1)]


def _sphere(ball, spacing) -> np.ndarray:
    angles = np.linspace(0, np.pi, max(_count(np.pi * ball.radius, spacing), _AROUND // 2) + 1)
    return _turned(ball.radius * np.sin(angles), ball.radius * np.cos(angles), spacing) + ball.center


def _cylinder(cylinder, spacing) -> np.ndarray:
    start, end, r = np.array(cylinder.start), np.array(cylinder.end), cylinder.radius
    length = np.linalg.norm(end - start)
    across, along = _line(0, r, spacing), _line(0, length, spacing)
    radius = np.concatenate([across[:-1], np.full(len(along), r), across[-2::-1]])
    height = np.concatenate([np.zeros(len(across) - 1), along, np.full(len(across) - 1, length)])
    return _turned(radius, height, spacing) @ _frame((end - start) / length) + start


def _capsule(capsule, spacing) -> np.ndarray:
    start, end, r = np.array(capsule.start), np.array(capsule.end), capsule.radius
    length = np.linalg.norm(end - start)
    angles = np.linspace(0, np.pi / 2, max(_count(np.pi / 2 * r, spacing), _AROUND // 4) + 1)
    along = _line(0, length, spacing)[1:-1]
    radius = np.concatenate([r * np.sin(angles), np.full(len(along), r), r * np.cos(angles)])
    height = np.concatenate([-r * np.cos(angles), along, length + r * np.sin(angles)])
    return _turned(radius, height, spacing) @ _frame((end - start) / length) + start


def _torus(torus, spacing) -> np.ndarray:
    n = max(_count(2 * np.pi * torus.minor, spacing), _AROUND)
    angles = 2 * np.pi * np.arange(n) / n
    radius, height = torus.major + torus.minor * np.cos(angles), torus.minor * np.sin(angles)
    return _turned(radius, height, spacing) @ _frame(np.array(torus.axis)) + torus.center


def _mesh(mesh, spacing) -> np.ndarray:
    """The vertices, and points inside the triangles that are larger than the spacing."""
    used = np.unique(mesh.faces)
    points = [mesh.vertices[used]]
    corner = mesh.vertices[mesh.faces]
    longest = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).max(axis=1)
    counts = np.maximum(np.ceil(longest / spacing - 1e-9), 1).astype(int)
    for n in np.unique(counts[counts > 1]):
        i, j = (a.ravel() for a in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
        within = (i + j <= n) & (np.maximum.reduce([i, j, n - i - j]) < n)  # the vertices are there already
        weights = np.stack([i, j, n - i - j], axis=-1)[within] / n
        points.append(np.einsum("kc,fcx->fkx", weights, corner[counts == n]).reshape(-1, 3))
    points = np.concatenate(points)
    # an edge that two triangles share has its points twice
    _, first = np.unique(np.round(points / (1e-6 * spacing)), axis=0, return_index=True)
    return points[np.sort(first)]


def _count(length, spacing) -> int:
    return max(1, int(np.ceil(length / spacing - 1e-9)))


def _line(start, end, spacing) -> np.ndarray:
    return np.linspace(start, end, _count(end - start, spacing) + 1)


def _turned(radius, height, spacing) -> np.ndarray:
    """Rings around the z axis through points of a profile (radius, height)."""
    rings = []
    for r, z in zip(radius, height, strict=True):
        n = max(_count(2 * np.pi * r, spacing), _AROUND) if r > 1e-9 * spacing else 1
        angle = 2 * np.pi * np.arange(n) / n
        rings.append(np.stack([r * np.cos(angle), r * np.sin(angle), np.full(n, z)], axis=-1))
    return np.concatenate(rings)


def _frame(axis) -> np.ndarray:
    """Rows: two unit vectors across an axis, and the axis; points @ frame turns z to it."""
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    return np.stack([across, np.cross(axis, across), axis])


def _lattice(shape, spacing, plane) -> np.ndarray:
    """Points of any shape, in space or in the plane z = `plane`."""
    low, high = (np.array(corner, np.float64) for corner in shape.bounds())
    axes = range(3 if plane is None else 2)
    thinnest = min(high[a] - low[a] for a in axes)
    step = min(0.5 * spacing, thinnest / 4)
    # off the bounds by an odd part of a step, or the surface would lie in planes of the lattice
    lines = [low[a] - 0.4137 * step + step * np.arange(int((high[a] - low[a]) / step) + 3) for a in axes]
    if plane is not None:
        lines.append(np.array([plane]))
    inside = sample(shape, lines) < 0
    start, end = _crossings(inside, lines, axes)
    if not len(start):
        return start
    where = _halved(shape, start, end)
    normal = _slopes(shape, where, 1e-4 * step, axes)
    sharp = _meeting(where, normal, lines, axes, step)
    for _ in range(8):  # onto the surface, by Newton's rule
        slope = _slopes(shape, sharp, 1e-4 * step, axes)
        sharp -= shape.distance(sharp)[:, None] * slope
    sharp = sharp[np.abs(shape.distance(sharp)) < 1e-6 * step]
    return _thinned(np.concatenate([sharp, where]), 0.5 * spacing)


def _crossings(inside, lines, axes) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the lattice edges that cross the surface, (n, 3) each."""
    starts, ends = [], []
    for a in axes:
        cut = np.nonzero(np.diff(inside, axis=a))
        start = np.stack([line[i] for line, i in zip(lines, cut, strict=True)], axis=-1)
        end = start.copy()
        end[:, a] = lines[a][cut[a] + 1]
        starts.append(start)
        ends.append(end)
    return np.concatenate(starts), np.concatenate(ends)


def _halved(shape, start, end) -> np.ndarray:
    """Where segments cross the surface."""
    first = shape.distance(start) < 0
    for _ in range(_HALVINGS):
        middle = 0.5 * (start + end)
        same = ((shape.distance(middle) < 0) == first)[:, None]
        start, end = np.where(same, middle, start), np.where(same, end, middle)
    return 0.5 * (start + end)


def _slopes(shape, points, reach, axes) -> np.ndarray:
    """Unit vectors along the gradient of the distance, within the plane if there is one."""
    slope = np.zeros(points.shape)
    for a in axes:
        step = reach * (np.arange(3) == a)
        slope[:, a] = shape.distance(points + step) - shape.distance(points - step)
    length = np.linalg.norm(slope, axis=1)
    return slope / np.where(length > 0, length, 1)[:, None]


def _meeting(where, normal, lines, axes, step) -> np.ndarray:
    """The point of each lattice cell where the tangent planes of its crossings meet, if at an edge or corner."""
    origin = np.array([lines[a][0] for a in axes])
    dims = len(origin)
    where, normal, z = where[:, :dims], normal[:, :dims], where[:1, dims:]
    cell, member = [], []
    scaled = (where - origin) / step
    for shift in np.ndindex(*[2] * dims):  # a crossing belongs to all cells around its lattice edge
        on_plane = np.abs(scaled - np.round(scaled)) < 1e-6
        index = np.where(on_plane, np.round(scaled) - shift, np.floor(scaled))
        valid = (on_plane | (np.array(shift) == 0)).all(axis=1)
        cell.append(index[valid].astype(np.int64))
        member.append(np.flatnonzero(valid))
    member = np.concatenate(member)
    cells, group = np.unique(np.concatenate(cell), axis=0, return_inverse=True)
    group = group.ravel()
    count = np.bincount(group).astype(float)
    middle = np.stack([np.bincount(group, where[member, a]) / count for a in range(dims)], axis=-1)
    offset = np.einsum("ij,ij->i", normal[member], where[member] - middle[group])
    square, right = np.zeros((len(cells), dims, dims)), np.zeros((len(cells), dims))
    for a in range(dims):
        right[:, a] = np.bincount(group, normal[member, a] * offset) / count
        for b in range(dims):
            square[:, a, b] = np.bincount(group, normal[member, a] * normal[member, b]) / count
    values, vectors = np.linalg.eigh(square)
    sharp = values > _FLAT
    inverse = np.where(sharp, 1 / np.where(sharp, values, 1), 0)
    moved = np.einsum("cij,cj,ckj,ck->ci", vectors, inverse, vectors, right)
    point = middle + moved
    centre = origin + (cells + 0.5) * step
    wanted = (sharp.sum(axis=1) > 1) & (np.abs(point - centre) <= 0.75 * step).all(axis=1)
    order = np.argsort(-sharp.sum(axis=1)[wanted], kind="stable")  # corners before edges
    point = point[wanted][order]
    return point if not z.size else np.concatenate([point, np.broadcast_to(z, (len(point), 1))], axis=1)


def _thinned(points, apart) -> np.ndarray:
    """The first point in each cube of a side `apart`."""
    if not len(points):
        return points
    _, first = np.unique(np.floor(points / apart), axis=0, return_index=True)
    return points[np.sort(first)]


_RULES = {Box: _box, Sphere: _sphere, Cylinder: _cylinder, Capsule: _capsule, Torus: _torus, Mesh: _mesh}
