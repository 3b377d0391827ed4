"""What the user describes: a box of space, what is in it, and how to compute it."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from paddlewheel.grid.fractions import WEIGHTS
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose, pose_at
from paddlewheel.solids.shapes import Shape
from paddlewheel.solve.linear import SOLVERS
from paddlewheel.types import SIDES, Grid, check_memory

WALLS = ("free-slip", "no-slip")
_PROBED = 4  # points along each axis at which a liquid's velocity is tried


@dataclass(frozen=True)
class Method:
    """How to compute: every choice by name.

    weights     what part of a face is open (B07 §2.1): "area", "volume", "length", or 0 and 1 by "voxel"
    solver      of the pressure: conjugate gradients with "multigrid", or with "mic", the classical reference
    tolerance   of the solves, relative, in the max norm: max|b − Ap| ≤ tolerance · max|b|
    """

    weights: str = "area"
    solver: str = "multigrid"
    tolerance: float = 1e-6

    def __post_init__(self):
        argument.choice("Method", "weights", self.weights, WEIGHTS)
        argument.choice("Method", "solver", self.solver, SOLVERS)
        if argument.positive("Method", "tolerance", self.tolerance) >= 1:
            raise ValueError(f"Method: tolerance={self.tolerance!r}, expected less than 1")


@dataclass(frozen=True)
class Solid:
    """A wall of any shape: static, or moved by a script.

    motion      f(t) -> Pose at time t [s]: where the shape's own coordinates are then; None is static
    separates   whether liquid may leave it freely, where the method knows how to
    """

    shape: Shape
    motion: Callable[[float], Pose] | None = None
    separates: bool = True

    def __post_init__(self):
        _check_shape(self)
        if self.motion is not None and not callable(self.motion):
            raise ValueError(f"{_kind(self)}: motion={self.motion!r}, expected None or a function of time")

    def pose(self, time: float, name: str | None = None) -> Pose:
        """The pose at a time [s] with its velocities; errors name the solid by `name`."""
        if self.motion is None:
            return Pose(velocity=(0, 0, 0), angular_velocity=(0, 0, 0))
        return pose_at(self.motion, time, name or _kind(self))


@dataclass(frozen=True)
class Liquid:
    """Liquid that fills a shape at the start.

    velocity    [m/s], three numbers or f(points (n, 3)) -> (n, 3)
    viscosity   [Pa s], a number or f(points (n, 3)) -> (n,)
    """

    shape: Shape
    velocity: tuple[float, float, float] | Callable = (0.0, 0.0, 0.0)
    viscosity: float | Callable = 0.0

    def __post_init__(self):
        _check_shape(self)
        if not callable(self.velocity):
            object.__setattr__(self, "velocity", argument.vector(_kind(self), "velocity", self.velocity))
        if not callable(self.viscosity) and argument.number(_kind(self), "viscosity", self.viscosity) < 0:
            raise ValueError(f"{_kind(self)}: viscosity={self.viscosity!r}, expected at least 0")


@dataclass(frozen=True)
class Scene:
    """A box of space with liquid and solids in it.

    size        length of each side [m], y up; the lowest corner is the origin
    cells       along the longest side, or (nx, ny, nz); nz = 1 is a two-dimensional scene
    gravity     [m/s²]
    density     of the liquid [kg/m³]
    fps         frames per second
    items       what is in the box
    open_sides  sides of the box without a wall, where p = 0: any of -x +x -y +y -z +z
    walls       whether viscous liquid slips along them: "free-slip" or "no-slip"
    """

    size: tuple[float, float, float]
    cells: int | tuple[int, int, int]
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    density: float = 1000.0
    fps: float = 24
    method: Method = field(default_factory=Method)
    items: tuple[Solid | Liquid, ...] = ()
    open_sides: frozenset[str] = frozenset()
    walls: str = "free-slip"

    def __post_init__(self):
        check_memory(self.grid)
        object.__setattr__(self, "size", tuple(float(side) for side in self.size))
        object.__setattr__(self, "gravity", argument.vector("Scene", "gravity", self.gravity))
        argument.positive("Scene", "density", self.density)
        argument.positive("Scene", "fps", self.fps)
        argument.choice("Scene", "walls", self.walls, WALLS)
        if not isinstance(self.method, Method):
            raise ValueError(f"Scene: method={self.method!r}, expected a Method")
        object.__setattr__(self, "open_sides", checked_sides("Scene", self.open_sides, self.grid))
        if isinstance(self.items, Solid | Liquid):
            raise ValueError(f"Scene: items is a single {_kind(self.items)}, expected a list of items")
        if not isinstance(self.items, Iterable):
            raise ValueError(f"Scene: items={self.items!r}, expected a list of items")
        object.__setattr__(self, "items", tuple(self.items))
        for index, item in enumerate(self.items):
            _check_item(index, item, self.grid)

    @cached_property
    def grid(self) -> Grid:
        """The cells of the box."""
        return Grid.from_size(self.size, self.cells)


def label(index: int, item) -> str:
    """How errors name an item: "items[2] Solid(Sphere)"."""
    return f"items[{index}] {_kind(item)}"


def checked_sides(owner: str, sides, grid: Grid) -> frozenset[str]:
    """The sides of a box without a wall, as a set; errors name the `owner` of the argument open_sides."""
    if isinstance(sides, str):
        raise ValueError(f"{owner}: open_sides={sides!r} is text, expected a set such as {{{sides!r}}}")
    if not isinstance(sides, Iterable):
        raise ValueError(f"{owner}: open_sides={sides!r}, expected a set of sides")
    sides = tuple(sides)
    for side in sides:
        argument.choice(owner, "open_sides", side, SIDES)
        if grid.is_2d and side[1] == "z":
            raise ValueError(f"{owner}: open_sides={side!r}, but a two-dimensional scene (nz = 1) is closed along z")
    return frozenset(sides)


def _check_item(index, item, grid) -> None:
    if not isinstance(item, Solid | Liquid):
        raise ValueError(f"items[{index}] is {item!r}, expected a Solid or a Liquid")
    shape = item.shape
    if isinstance(item, Solid) and item.motion is not None:
        item.pose(0.0, label(index, item))
        return  # it may still come in
    if isinstance(item, Liquid) and callable(item.velocity):
        _check_velocity(label(index, item), item, grid)
    low, high = shape.bounds()
    start, end = np.zeros(3), np.array(grid.size)
    if grid.is_2d:
        start[2] = end[2] = 0.5 * grid.h
    if np.any(high < start) or np.any(low > end):
        warnings.warn(
            f"{label(index, item)} lies from {_short(low)} to {_short(high)} m, wholly outside the domain "
            f"from {_short(start)} to {_short(end)} m: it has no effect",
            stacklevel=4,
        )


def _check_velocity(name, liquid, grid) -> None:
    """Try a liquid's velocity at a few points of the box: it must give (n, 3), and finite numbers in the liquid."""
    axes = [(np.arange(_PROBED) + 0.5) * side / _PROBED for side in grid.size]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    velocity = np.asarray(liquid.velocity(points.copy()))
    if velocity.shape != points.shape or velocity.dtype.kind not in "iuf":
        raise ValueError(
            f"{name}: velocity(points) returned {velocity.dtype} of shape {velocity.shape} for points of shape "
            f"{points.shape}, expected numbers of the same shape"
        )
    wrong = ~np.isfinite(velocity).all(axis=1)
    if wrong.any() and (wrong := wrong & (liquid.shape.distance(points) < 0)).any():
        at = np.argmax(wrong)
        raise ValueError(
            f"{name}: velocity at {_short(points[at])} m is {_short(velocity[at])}, expected three finite numbers"
        )


def _check_shape(item) -> None:
    if not isinstance(item.shape, Shape):
        raise ValueError(f"{type(item).__name__}: shape={item.shape!r}, expected a Shape such as Box or Mesh")


def _kind(item) -> str:
    return f"{type(item).__name__}({type(item.shape).__name__})"


def _short(vector) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in vector) + ")"
