"""Signed distances of many things at once, each in its own frame.

Shapes that have a formula share one call, things of the same other shape too, and a costly shape has a table that
stands for it while contacts are still being looked for.
"""

import numpy as np

from paddlewheel.solids import formula
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Moved, Shape, Sphere, Torus
from paddlewheel.solids.table import Table, untabulated

_CELLS = 40  # of the table that stands for a costly shape that has none, along its longest side
_SLOPE = 1e-4  # step of differences, in spacings of the surface points
_EXACT = (Box, Sphere, Cylinder, Capsule, Torus, HalfSpace, Mesh)


class Distances:
    """The distances of some shapes, known by their indices.

    shapes    may have tables, which are used for rough distances
    planar    slopes, and what is nearest, are taken within a plane of constant z
    tables    those made so far, by shape; new ones are added
    costly    (n,) whether a shape is
    """

    def __init__(self, shapes, planar: bool, tables: dict):
        numbers = {}
        self._kind = np.array([numbers.setdefault(shape, len(numbers)) for shape in shapes])
        self._given, self._shapes = list(numbers), [untabulated(shape) for shape in numbers]
        self._planar, self._tables = planar, tables
        self._formulas = formula.together([shape.formula for shape in self._shapes])
        self._others = [number for number, shape in enumerate(self._shapes) if shape.formula is None]
        self.costly = np.array([shape.costly for shape in self._shapes])[self._kind]
        self._is_bound = np.array([planar or not _is_exact(shape) for shape in self._shapes])[self._kind]
        axes = np.eye(3)[: 2 if planar else 3]
        self._steps = np.concatenate([axes, -axes, np.zeros((1, 3))])  # of differences, and the point itself

    def at(self, thing, points, rough: bool = False) -> np.ndarray:
        """Distance [m] to thing number `thing` (n,) of points (n, 3) in its frame.

        A `rough` one is interpolated, where the exact one is costly.
        """
        kind = self._kind[thing]
        out = formula.at_points_of(self._formulas, kind, points)
        for number in self._others:
            piece = np.flatnonzero(kind == number)
            if len(piece):
                shape = self._table(number) if rough else self._shapes[number]
                out[piece] = shape.distance(points[piece])
        return out

    def slopes(self, thing, points, spacing, rough: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Distance (n,) and its gradient (n, 3) by differences over a small part of the spacings (n,)."""
        dims, steps, reach = 2 if self._planar else 3, self._steps, _SLOPE * spacing
        near = points[:, None] + reach[:, None, None] * steps
        phi = self.at(np.repeat(thing, len(steps)), near.reshape(-1, 3), rough).reshape(-1, len(steps))
        slope = np.zeros(points.shape)
        slope[:, :dims] = (phi[:, :dims] - phi[:, dims:-1]) / (2 * reach[:, None])
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
            if not len(unsure):
                break
        return there

    def _table(self, number) -> Shape:
        """A shape, looked up if it is costly; itself, if it has no end."""
        shape = self._given[number]
        if not shape.costly:  # or has a table
            return shape
        if shape not in self._tables:
            low, high = shape.bounds()
            ends = np.isfinite(low).all() and np.isfinite(high).all()
            step = (high - low).max() / _CELLS
            plane = 0.0 if self._planar else None  # of the centres
            self._tables[shape] = Table(shape, step, 3 * step, plane=plane) if ends else shape
        return self._tables[shape]


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
