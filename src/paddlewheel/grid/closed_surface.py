"""A closed surface of points seen from a lattice: which of its points are inside, and how far they are from it.

A surface is `points` (n, 3) [m] and `parts`: of two points each in 2-D, pieces of curves that go round liquid
counter-clockwise; or of three, triangles that do so seen from outside. A lattice is the points
first + step (i, j, k), of a shape.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel

__all__ = ["Lattice", "distance_to", "enclosed", "extent", "winding"]

_ASIDE = 1.234e-6  # steps by which lines of the lattice are moved, so that they do not run through points


class Lattice(NamedTuple):
    """Points first + step (i, j, k) [m]."""

    first: tuple[float, float, float]
    step: float
    shape: tuple[int, int, int]

    def lines(self) -> list[np.ndarray]:
        """Coordinates along each axis."""
        return [f + self.step * np.arange(n) for f, n in zip(self.first, self.shape, strict=True)]

    def points(self) -> np.ndarray:
        """(nx, ny, nz, 3) [m]."""
        return np.stack(np.meshgrid(*self.lines(), indexing="ij"), axis=-1)


def enclosed(points: np.ndarray, parts: np.ndarray) -> float:
    """Volume [m³] inside triangles, or area [m²] inside curves; what is inside twice counts twice."""
    corners = np.asarray(points, float)[parts]
    if parts.shape[1] == 2:
        (ax, ay), (bx, by) = corners[:, 0, :2].T, corners[:, 1, :2].T
        return float(0.5 * np.sum(ax * by - bx * ay))
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    return float(np.einsum("ia,ia->", a, np.cross(b, c)) / 6)


def extent(points: np.ndarray, parts: np.ndarray) -> float:
    """Area [m²] of triangles, or length [m] of curves."""
    corners = np.asarray(points, float)[parts]
    if parts.shape[1] == 2:
        return float(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1).sum())
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(0.5 * np.linalg.norm(normals, axis=1).sum())


def winding(points: np.ndarray, parts: np.ndarray, lattice: Lattice) -> np.ndarray:
    """How often the surface goes round each point of a lattice, int32: 1 inside, 0 outside.

    Counted along lines of the lattice, upwards: each part that is crossed adds or takes one.
    """
    steps = np.zeros((lattice.shape[0], lattice.shape[1] + 1, lattice.shape[2]), np.int32)
    crossed = _cross_pieces if parts.shape[1] == 2 else _cross_triangles
    crossed(steps, np.ascontiguousarray(points, np.float32), parts, lattice.first, lattice.step)
    return np.cumsum(steps[:, :-1], axis=1, dtype=np.int32)


def distance_to(points: np.ndarray, parts: np.ndarray, lattice: Lattice, reach: float) -> np.ndarray:
    """Distance [m] of each point of a lattice from a surface, float32; infinite if it is more than `reach` [m]."""
    squared = np.full(lattice.shape, np.inf)
    near = _near_pieces if parts.shape[1] == 2 else _near_triangles
    near(squared, np.ascontiguousarray(points, np.float32), parts, lattice.first, lattice.step, reach)
    squared[squared > reach * reach] = np.inf
    return np.sqrt(squared).astype(np.float32)


@kernel(parallel=False)
def _first_at(x, first, step, n):
    """Index of the first of n points of a line at or above x."""
    return int(min(max(np.ceil((x - first) / step), 0.0), float(n)))


@kernel(parallel=False)
def _cross_pieces(steps, points, parts, first, step):
    nx, ny = steps.shape[0], steps.shape[1] - 1
    x0 = first[0] + _ASIDE * step
    for m in range(len(parts)):
        a, b = points[parts[m, 0]], points[parts[m, 1]]
        ax, ay, bx, by = np.float64(a[0]), np.float64(a[1]), np.float64(b[0]), np.float64(b[1])
        low, high = _first_at(min(ax, bx), x0, step, nx), _first_at(max(ax, bx), x0, step, nx)
        for i in range(low, high):
            y = ay + (by - ay) * (x0 + step * i - ax) / (bx - ax)
            steps[i, _first_at(y, first[1], step, ny), 0] += 1 if bx > ax else -1


@kernel(parallel=False)
def _cross_triangles(steps, points, parts, first, step):
    nx, ny, nz = steps.shape[0], steps.shape[1] - 1, steps.shape[2]
    x0, z0 = first[0] + _ASIDE * step, first[2] + 1.7 * _ASIDE * step
    for m in range(len(parts)):
        p, q, r = parts[m, 0], parts[m, 1], parts[m, 2]
        ax, ay, az = np.float64(points[p, 0]), np.float64(points[p, 1]), np.float64(points[p, 2])
        bx, by, bz = np.float64(points[q, 0]), np.float64(points[q, 1]), np.float64(points[q, 2])
        cx, cy, cz = np.float64(points[r, 0]), np.float64(points[r, 1]), np.float64(points[r, 2])
        up = (bz - az) * (cx - ax) - (bx - ax) * (cz - az)  # y of the normal
        if up == 0.0:
            continue
        for i in range(_first_at(min(ax, bx, cx), x0, step, nx), _first_at(max(ax, bx, cx), x0, step, nx)):
            x = x0 + step * i
            for k in range(_first_at(min(az, bz, cz), z0, step, nz), _first_at(max(az, bz, cz), z0, step, nz)):
                z = z0 + step * k
                one, two = _left(points, p, q, x, z), _left(points, q, r, x, z)
                if one == two and two == _left(points, r, p, x, z):
                    slope_x = ((by - ay) * (cz - az) - (cy - ay) * (bz - az)) / -up
                    slope_z = ((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / -up
                    y = ay + slope_x * (x - ax) + slope_z * (z - az)
                    steps[i, _first_at(y, first[1], step, ny), k] += -1 if up > 0.0 else 1


@kernel(parallel=False)
def _left(points, p, q, x, z):
    """Whether (x, z) is left of the edge from p to q: for each of both triangles at an edge the opposite."""
    if p > q:
        return not _left_of(points, q, p, x, z)
    return _left_of(points, p, q, x, z)


@kernel(parallel=False)
def _left_of(points, p, q, x, z):
    px, pz = np.float64(points[p, 0]), np.float64(points[p, 2])
    return (np.float64(points[q, 0]) - px) * (z - pz) - (np.float64(points[q, 2]) - pz) * (x - px) >= 0.0


@kernel(parallel=False)
def _near_pieces(squared, points, parts, first, step, reach):
    nx, ny, _ = squared.shape
    for m in range(len(parts)):
        a, b = points[parts[m, 0]], points[parts[m, 1]]
        ax, ay, bx, by = np.float64(a[0]), np.float64(a[1]), np.float64(b[0]), np.float64(b[1])
        dx, dy = bx - ax, by - ay
        length = dx * dx + dy * dy
        for i in range(
            _first_at(min(ax, bx) - reach, first[0], step, nx), _first_at(max(ax, bx) + reach, first[0], step, nx)
        ):
            x = first[0] + step * i - ax
            for j in range(
                _first_at(min(ay, by) - reach, first[1], step, ny), _first_at(max(ay, by) + reach, first[1], step, ny)
            ):
                y = first[1] + step * j - ay
                t = min(max((x * dx + y * dy) / length, 0.0), 1.0) if length > 0.0 else 0.0
                squared[i, j, 0] = min(squared[i, j, 0], (x - t * dx) ** 2 + (y - t * dy) ** 2)


@kernel(parallel=False)
def _near_triangles(squared, points, parts, first, step, reach):
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    corner, at = np.empty((3, 3)), np.empty(3)
    for m in range(len(parts)):
        for n in range(3):
            for axis in range(3):
                corner[n, axis] = points[parts[m, n], axis]
        for axis in range(3):
            least = min(corner[0, axis], corner[1, axis], corner[2, axis]) - reach
            most = max(corner[0, axis], corner[1, axis], corner[2, axis]) + reach
            low[axis] = _first_at(least, first[axis], step, squared.shape[axis])
            high[axis] = _first_at(most, first[axis], step, squared.shape[axis])
        for i in range(low[0], high[0]):
            at[0] = first[0] + step * i
            for j in range(low[1], high[1]):
                at[1] = first[1] + step * j
                for k in range(low[2], high[2]):
                    at[2] = first[2] + step * k
                    squared[i, j, k] = min(squared[i, j, k], _squared_distance(corner, at))


@kernel(parallel=False)
def _squared_distance(corner, at):
    """From a triangle: to its plane if the foot is inside, else to the nearest side."""
    ux, uy, uz = corner[1, 0] - corner[0, 0], corner[1, 1] - corner[0, 1], corner[1, 2] - corner[0, 2]
    vx, vy, vz = corner[2, 0] - corner[0, 0], corner[2, 1] - corner[0, 1], corner[2, 2] - corner[0, 2]
    px, py, pz = at[0] - corner[0, 0], at[1] - corner[0, 1], at[2] - corner[0, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    area = nx * nx + ny * ny + nz * nz
    if area > 0.0:
        s = ((py * vz - pz * vy) * nx + (pz * vx - px * vz) * ny + (px * vy - py * vx) * nz) / area
        t = ((uy * pz - uz * py) * nx + (uz * px - ux * pz) * ny + (ux * py - uy * px) * nz) / area
        if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
            return (px * nx + py * ny + pz * nz) ** 2 / area
    return min(_to_side(corner, 0, 1, at), _to_side(corner, 1, 2, at), _to_side(corner, 2, 0, at))


@kernel(parallel=False)
def _to_side(corner, n, m, at):
    ux, uy, uz = corner[m, 0] - corner[n, 0], corner[m, 1] - corner[n, 1], corner[m, 2] - corner[n, 2]
    px, py, pz = at[0] - corner[n, 0], at[1] - corner[n, 1], at[2] - corner[n, 2]
    length = ux * ux + uy * uy + uz * uz
    t = min(max((px * ux + py * uy + pz * uz) / length, 0.0), 1.0) if length > 0.0 else 0.0
    return (px - t * ux) ** 2 + (py - t * uy) ** 2 + (pz - t * uz) ** 2
