"""Solids of any shape, as signed distances: negative inside, positive outside.

Primitives give the exact Euclidean distance. Booleans are minima and maxima:
zero on the right surface, right in sign everywhere, and never farther from
zero than the exact distance.

To add a shape: one frozen dataclass with `bounds`, and with `_formula` or
`_distance`, and one line in the tests' table.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paddlewheel.solids import argument, formula
from paddlewheel.solids.formula import Formula
from paddlewheel.solids.pose import Pose

CHUNK = 1 << 16  # points at a time: what an expression needs in between then stays in the cache


class Shape:
    """A part of space. `a | b`, `a & b`, `a - b` and `~a` (everything but a) make new ones."""

    # A costly shape is sampled from coarse to fine: exact near its surface, interpolated far from it.
    costly = False

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distance to the surface [m] at `points` (n, 3), shape (n,), float64."""
        points = np.asarray(points, np.float64)
        if points.ndim != 2 or points.shape[1] != 3:
            raise ValueError(f"{type(self).__name__}.distance: points have shape {points.shape}, expected (n, 3)")
        if self.formula is not None:
            return formula.at_points(self.formula, points)
        out = np.empty(len(points))
        for start in range(0, len(points), CHUNK):
            piece = slice(start, start + CHUNK)
            out[piece] = self._distance(points[piece])
        return out

    @cached_property
    def formula(self) -> Formula | None:
        """The distance as a kernel evaluates it, or None: then `_distance` gives it."""
        return self._formula()

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners (low, high) [m] of an axis-aligned box around the shape; ±inf where it has no end."""
        raise NotImplementedError

    def moved(self, translate=(0, 0, 0), rotate=(1, 0, 0, 0), about=(0, 0, 0)) -> "Shape":
        """The shape, first rotated about a point by a unit quaternion (w, x, y, z), then translated [m]."""
        owner = f"{type(self).__name__}.moved"
        translate, about = argument.vector(owner, "translate", translate), argument.vector(owner, "about", about)
        turn = Pose(orientation=argument.quaternion(owner, "rotate", rotate))
        return Moved(self, Pose(np.add(about, translate) - turn.rotation @ about, turn.orientation))

    def __or__(self, other: "Shape") -> "Shape":
        return Union(self, other) if isinstance(other, Shape) else NotImplemented

    def __and__(self, other: "Shape") -> "Shape":
        return Intersection(self, other) if isinstance(other, Shape) else NotImplemented

    def __sub__(self, other: "Shape") -> "Shape":
        return Intersection(self, Complement(other)) if isinstance(other, Shape) else NotImplemented

    def __invert__(self) -> "Shape":
        return Complement(self)

    def _formula(self) -> Formula | None:
        return None

    def _distance(self, points: np.ndarray) -> np.ndarray:
        """`distance` of one chunk of points, if there is no formula."""
        raise NotImplementedError

    def _check(self, **checks) -> None:
        """Replace each argument by its checked value; errors name the shape, the argument and the value."""
        for name, check in checks.items():
            object.__setattr__(self, name, check(type(self).__name__, name, getattr(self, name)))


@dataclass(frozen=True)
class Box(Shape):
    """The box between the corners `low` and `high` [m]."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    def __post_init__(self):
        self._check(low=argument.vector, high=argument.vector)
        if not np.all(np.less(self.low, self.high)):
            raise ValueError(f"Box: high={self.high} must be greater than low={self.low} along every axis")

    def bounds(self):
        return np.array(self.low), np.array(self.high)

    def _formula(self):
        return formula.primitive(formula.BOX, 0.5 * np.add(self.low, self.high), 0.5 * np.subtract(self.high, self.low))


@dataclass(frozen=True)
class Sphere(Shape):
    """The ball around `center` [m] of `radius` [m]."""

    center: tuple[float, float, float]
    radius: float

    def __post_init__(self):
        self._check(center=argument.vector, radius=argument.positive)

    def bounds(self):
        return np.subtract(self.center, self.radius), np.add(self.center, self.radius)

    def _formula(self):
        return formula.primitive(formula.SPHERE, self.center, first=self.radius)


class _Straight(Shape):
    """What has an axis from `start` to `end` [m] and a `radius` [m]."""

    def __post_init__(self):
        self._check(start=argument.vector, end=argument.vector, radius=argument.positive)
        if self.start == self.end:
            owner = type(self).__name__
            raise ValueError(f"{owner}: start and end are the same point {self.end}, expected an axis of some length")

    @cached_property
    def _axis(self) -> np.ndarray:
        """Unit vector from start to end."""
        return np.array(argument.direction(type(self).__name__, "end - start", np.subtract(self.end, self.start)))

    @property
    def _length(self) -> float:
        return float(np.linalg.norm(np.subtract(self.end, self.start)))


@dataclass(frozen=True)
class Cylinder(_Straight):
    """The cylinder of `radius` [m] with flat ends at `start` and `end` [m]."""

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float

    def bounds(self):
        reach = self.radius * _across(self._axis)
        return np.minimum(self.start, self.end) - reach, np.maximum(self.start, self.end) + reach

    def _formula(self):
        middle = 0.5 * np.add(self.start, self.end)
        return formula.primitive(formula.CYLINDER, middle, self._axis, 0.5 * self._length, self.radius)


@dataclass(frozen=True)
class Capsule(_Straight):
    """All points within `radius` [m] of the segment from `start` to `end` [m]."""

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float

    def bounds(self):
        return np.minimum(self.start, self.end) - self.radius, np.maximum(self.start, self.end) + self.radius

    def _formula(self):
        return formula.primitive(formula.CAPSULE, self.start, self._axis, self._length, self.radius)


@dataclass(frozen=True)
class Torus(Shape):
    """The ring around `center` [m] and `axis`: a tube of radius `minor` [m] along a circle of radius `major` [m]."""

    center: tuple[float, float, float]
    axis: tuple[float, float, float]
    major: float
    minor: float

    def __post_init__(self):
        self._check(center=argument.vector, axis=argument.direction, major=argument.positive, minor=argument.positive)
        if self.minor > self.major:
            raise ValueError(f"Torus: minor={self.minor!r} must not exceed major={self.major!r}")

    def bounds(self):
        reach = self.major * _across(self.axis) + self.minor
        return self.center - reach, self.center + reach

    def _formula(self):
        return formula.primitive(formula.TORUS, self.center, self.axis, self.major, self.minor)


@dataclass(frozen=True)
class HalfSpace(Shape):
    """Everything on the side of the plane through `point` [m] that `normal` points away from."""

    point: tuple[float, float, float]
    normal: tuple[float, float, float]

    def __post_init__(self):
        self._check(point=argument.vector, normal=argument.direction)

    def bounds(self):
        low = np.where(np.equal(self.normal, -1), self.point, -np.inf)
        high = np.where(np.equal(self.normal, 1), self.point, np.inf)
        return low, high

    def _formula(self):
        return formula.primitive(formula.HALF_SPACE, self.point, self.normal)


@dataclass(frozen=True)
class _Pair(Shape):
    first: Shape
    second: Shape

    @property
    def costly(self):
        return self.first.costly or self.second.costly


@dataclass(frozen=True)
class Union(_Pair):
    """What is in either shape:  min(φ₁, φ₂)."""

    def bounds(self):
        (low1, high1), (low2, high2) = self.first.bounds(), self.second.bounds()
        return np.minimum(low1, low2), np.maximum(high1, high2)

    def _formula(self):
        return formula.joined(formula.UNION, self.first.formula, self.second.formula)

    def _distance(self, points):
        return np.minimum(self.first.distance(points), self.second.distance(points))


@dataclass(frozen=True)
class Intersection(_Pair):
    """What is in both shapes:  max(φ₁, φ₂)."""

    def bounds(self):
        (low1, high1), (low2, high2) = self.first.bounds(), self.second.bounds()
        return np.maximum(low1, low2), np.minimum(high1, high2)

    def _formula(self):
        return formula.joined(formula.INTERSECTION, self.first.formula, self.second.formula)

    def _distance(self, points):
        return np.maximum(self.first.distance(points), self.second.distance(points))


@dataclass(frozen=True)
class Complement(Shape):
    """Everything but a shape:  −φ."""

    shape: Shape

    @property
    def costly(self):
        return self.shape.costly

    def bounds(self):
        if isinstance(self.shape, Complement):
            return self.shape.shape.bounds()
        return np.full(3, -np.inf), np.full(3, np.inf)

    def _formula(self):
        return formula.joined(formula.COMPLEMENT, self.shape.formula)

    def _distance(self, points):
        return -self.shape.distance(points)


@dataclass(frozen=True)
class Moved(Shape):
    """A shape carried by a pose:  φ(x) = φ_body(Rᵀ (x − position))."""

    shape: Shape
    pose: Pose

    @property
    def costly(self):
        return self.shape.costly

    def bounds(self):
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """A step asks for them several times."""
        low, high = self.shape.bounds()
        if self.pose.orientation[0] in (1.0, -1.0):
            return low + self.pose.position, high + self.pose.position
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return np.full(3, -np.inf), np.full(3, np.inf)
        center = self.pose.to_world(0.5 * (low + high))
        reach = np.abs(self.pose.rotation) @ (0.5 * (high - low))
        return center - reach, center + reach

    def _formula(self):
        return formula.moved(self.shape.formula, self.pose.rotation, self.pose.position)

    def _distance(self, points):
        return self.shape.distance(self.pose.to_body(points))


def _across(axis) -> np.ndarray:
    """Half-extent along x, y and z of the unit disc normal to a unit axis."""
    return np.sqrt(np.clip(1 - np.square(axis), 0, 1))
