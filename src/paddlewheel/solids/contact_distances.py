"""Signed distances of many things at once, each in its own frame.

Things of the same shape share one call, and a costly shape has a lattice that
stands for it while contacts are still being looked for.
"""

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Moved, Shape, Sphere, Torus

_CELLS = 40  # of the lattice that stands for a costly shape, along its longest side
_SLOPE = 1e-4  # step of differences, in spacings of the surface points
_EXACT = (Box, Sphere, Cylinder, Capsule, Torus, HalfSpace, Mesh)


class Distances:
    """The distances of some shapes, known by their indices.

    planar    slopes, and what is nearest, are taken within a plane of constant z
    lattices  those made so far, by shape; new ones are added
    costly    (n,) whether a shape is
    """

    def __init__(self, shapes, planar: bool, lattices: dict):
        numbers = {}
        self._kind = np.array([numbers.setdefault(shape, len(numbers)) for shape in shapes])
        self._shapes, self._planar, self._lattices = list(numbers), planar, lattices
        self.costly = np.array([shape.costly for shape in self._shapes])[self._kind]
        self._is_bound = np.array([planar or not _is_exact(shape) for shape in self._shapes])[self._kind]

    def at(self, thing, points, rough: bool = False) -> np.ndarray:
        """Distance [m] to thing number `thing` (n,) of points (n, 3) in its frame.

        A `rough` one is interpolated, where the exact one is costly.
        """
        out = np.empty(len(points))
        kind = self._kind[thing]
        order = np.argsort(kind, kind="stable")
        cuts = np.flatnonzero(np.diff(kind[order])) + 1
        for piece in np.split(order, cuts) if len(order) else ():
            shape = self._shapes[kind[piece[0]]]
            out[piece] = (self._lattice(shape) if rough and shape.costly else shape).distance(points[piece])
        return out

    def slopes(self, thing, points, spacing, rough: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Distance (n,) and its gradient (n, 3) by differences over a small part of the spacings (n,)."""
        dims = 2 if self._planar else 3
        step = np.zeros((2 * dims + 1, 3))
        for a in range(dims):
            step[2 * a, a], step[2 * a + 1, a] = 1, -1
        reach = _SLOPE * spacing
        near = points[:, None] + reach[:, None, None] * step
        phi = self.at(np.repeat(thing, len(step)), near.reshape(-1, 3), rough).reshape(-1, len(step))
        slope = np.zeros(points.shape)
        slope[:, :dims] = (phi[:, 0 : 2 * dims : 2] - phi[:, 1 : 2 * dims : 2]) / (2 * reach[:, None])
        return phi[:, -1], slope

    def nearest(self, thing, points, spacing, rough: bool = False) -> np.ndarray:
        """The nearest points (n, 3) of the surfaces."""
        there, unsure = points.copy(), np.arange(len(points))
        for _ in range(3):
            phi, slope = self.slopes(thing[unsure], there[unsure], spacing[unsure], rough)
            size = np.maximum(np.linalg.norm(slope, axis=1), 1e-3)
            # of a distance it is 1, which differences do not give exactly
            steep = np.where(np.abs(size - 1) < 1e-6, 1, size)
            there[unsure] -= (phi / steep / size)[:, None] * slope
            unsure = unsure[self._is_bound[thing[unsure]]]  # there the distance is only a bound, so go on
        return there

    def _lattice(self, shape):
        """The interpolated distance of a shape; itself, if it has no end."""
        if shape not in self._lattices:
            low, high = shape.bounds()
            ends = np.isfinite(low).all() and np.isfinite(high).all()
            self._lattices[shape] = _Lattice(shape, self._planar) if ends else shape
        return self._lattices[shape]


class _Lattice:
    """The distance of a shape, interpolated from a lattice around it; off by a part of a cell at edges."""

    def __init__(self, shape, planar):
        low, high = (np.array(corner) for corner in shape.bounds())
        if planar:
            low[2] = high[2] = 0.0  # the plane of the centres
        step = (high - low).max() / _CELLS
        counts = np.where(high > low, np.ceil((high - low) / step) + 9, 1).astype(int)
        self._low, self._step = np.where(high > low, low - 4 * step, low), step
        self._values = sample(shape, [a + step * np.arange(n) for a, n in zip(self._low, counts, strict=True)])

    def distance(self, points) -> np.ndarray:
        out = np.empty(len(points))
        _interpolate(out, self._values, self._low, self._step, np.ascontiguousarray(points))
        return out


def centred(shape: Shape, center) -> Shape:
    """The shape about its centre. Rounded a little, so that bodies alike are equal wherever they were drawn."""

    def moved(point):
        return np.round(np.subtract(point, center), 13)

    match shape:
        case Box(low, high):
            return Box(moved(low), moved(high))
        case Sphere(middle, radius):
            return Sphere(moved(middle), radius)
        case Cylinder(start, end, radius) | Capsule(start, end, radius):
            return type(shape)(moved(start), moved(end), radius)
        case Torus(middle, axis, major, minor):
            return Torus(moved(middle), axis, major, minor)
        case Moved(child, pose):
            return Moved(child, Pose(moved(pose.position), pose.orientation))
    return Moved(shape, Pose(np.negative(center)))


def _is_exact(shape) -> bool:
    """Whether a shape gives the distance to the nearest point of its surface; booleans give a bound."""
    return isinstance(shape, _EXACT) or (isinstance(shape, Moved) and _is_exact(shape.shape))


@kernel(parallel=False)
def _interpolate(out, values, low, step, points):
    """Trilinear; beyond the lattice the way to it is added, so that it still is about a distance."""
    i, t = np.empty(3, np.int64), np.empty(3)
    for k in range(len(points)):
        beyond = 0.0
        for a in range(3):
            last = values.shape[a] - 1
            x = (points[k, a] - low[a]) / step
            inside = min(max(x, 0.0), float(last))
            beyond += (x - inside) ** 2 if last > 0 else 0.0
            i[a] = min(int(inside), max(last - 1, 0))
            t[a] = inside - i[a]
        total = 0.0
        for c in range(8):
            w = t[0] if c & 1 else 1.0 - t[0]
            w *= t[1] if c & 2 else 1.0 - t[1]
            w *= t[2] if c & 4 else 1.0 - t[2]
            if w > 0.0:  # also: there is no second layer in a plane
                total += w * values[i[0] + (c & 1), i[1] + ((c & 2) >> 1), i[2] + ((c & 4) >> 2)]
        out[k] = total + step * np.sqrt(beyond)
