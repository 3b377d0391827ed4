"""What a scene is made of: solids, bodies, liquids, smoke, sources and forces, and what they are at points."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose, pose_at
from paddlewheel.solids.shapes import Shape

MOST_VISCOUS = 1e30  # Pa s: single precision ends at 3e38
MOST_SMOKE = 1e30  # density, or K of either sign, likewise
MOTIONS = ("x", "y", "z", "rx", "ry", "rz")
_AT_REST = Pose(velocity=(0, 0, 0), angular_velocity=(0, 0, 0))


@dataclass(frozen=True)
class Solid:
    """A wall of any shape: static, or moved by a script.

    motion      f(t) -> Pose at time t [s]: where the shape's own coordinates are then; None is static
    separates   whether liquid may leave it, if the method has `wall_separation`; from a wet sponge it does not
    temperature [K] above that of the surroundings, which it gives to liquid that conducts; None is one that insulates
    """

    shape: Shape
    motion: Callable[[float], Pose] | None = None
    separates: bool = True
    temperature: float | None = None

    def __post_init__(self):
        _check_shape(self)
        if self.motion is not None and not callable(self.motion):
            raise ValueError(f"{kind_of(self)}: motion={self.motion!r}, expected None or a function of time")
        argument.flag(kind_of(self), "separates", self.separates)
        if self.temperature is not None:
            argument.number(kind_of(self), "temperature", self.temperature)

    def pose(self, time: float, name: str | None = None) -> Pose:
        """The pose at a time [s] with its velocities; errors name the solid by `name`."""
        if self.motion is None:
            return _AT_REST
        return pose_at(self.motion, time, name or kind_of(self))


@dataclass(frozen=True)
class RigidBody:
    """A body that the liquid moves, and that moves the liquid.

    density           [kg/m³]
    velocity          of its centre of mass at the start [m/s]
    angular_velocity  at the start [rad/s]
    friction, restitution   where it touches solids and other bodies
    axis, pivot       a hinge: it only turns about the line through `pivot` [m] along `axis`
    locked            motions it does not have: any of x, y, z, and rx, ry, rz, to turn about them
    one_way           the fluid carries it, and flows as if it were not there (FM96)
    damping           [1/s] of what is carried one-way: how fast the part of it that is under the surface would take
                      the fluid's velocity, if it were as heavy as that
    """

    shape: Shape
    density: float
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    angular_velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    friction: float = 0.3
    restitution: float = 0.2
    axis: tuple[float, float, float] | None = None
    pivot: tuple[float, float, float] | None = None
    locked: frozenset[str] = frozenset()
    one_way: bool = False
    damping: float = 2.0

    def __post_init__(self):
        _check_shape(self)
        name = kind_of(self)
        argument.positive(name, "density", self.density)
        if argument.number(name, "damping", self.damping) < 0:
            raise ValueError(f"{name}: damping={self.damping!r}, expected at least 0")
        for field_name in ("velocity", "angular_velocity"):
            object.__setattr__(self, field_name, argument.vector(name, field_name, getattr(self, field_name)))
        if argument.number(name, "friction", self.friction) < 0:
            raise ValueError(f"{name}: friction={self.friction!r}, expected at least 0")
        if not 0 <= argument.number(name, "restitution", self.restitution) <= 1:
            raise ValueError(f"{name}: restitution={self.restitution!r}, expected a number from 0 to 1")
        if (self.axis is None) != (self.pivot is None):
            raise ValueError(f"{name}: axis={self.axis!r}, pivot={self.pivot!r}: a hinge needs both")
        if self.axis is not None:
            object.__setattr__(self, "axis", argument.direction(name, "axis", self.axis))
            object.__setattr__(self, "pivot", argument.vector(name, "pivot", self.pivot))
        if isinstance(self.locked, str) or not isinstance(self.locked, Iterable):
            raise ValueError(f"{name}: locked={self.locked!r}, expected a set such as {{'x', 'rz'}}")
        for motion in self.locked:
            argument.choice(name, "locked", motion, MOTIONS)
        object.__setattr__(self, "locked", frozenset(self.locked))
        argument.flag(name, "one_way", self.one_way)


@dataclass(frozen=True)
class Hand:
    """A hand that holds a body of the scene and leads it.

    body    the RigidBody, as it is in the scene's items
    point   of the body, as drawn [m]
    path    f(t) -> where the point should be at time t [m]; None while the hand does not hold it
    """

    body: RigidBody
    point: tuple[float, float, float]
    path: Callable[[float], tuple[float, float, float] | None]

    def __post_init__(self):
        if not isinstance(self.body, RigidBody):
            raise ValueError(f"Hand: body={self.body!r}, expected a RigidBody")
        object.__setattr__(self, "point", argument.vector("Hand", "point", self.point))
        if not callable(self.path):
            raise ValueError(f"Hand: path={self.path!r}, expected a function of time")

    def target(self, time: float, name: str = "Hand") -> np.ndarray | None:
        """The path at a time [s]; errors name the hand by `name`."""
        found = self.path(time)
        return None if found is None else np.array(argument.vector(name, f"path({time:.6g})", found))


@dataclass(frozen=True)
class Liquid:
    """Liquid that fills a shape at the start.

    velocity    [m/s], three numbers or f(points (n, 3)) -> (n, 3)
    viscosity   [Pa s], a number or f(points (n, 3)) -> (n,), at the start: then it goes with the liquid
    temperature [K] above that of the surroundings, likewise; it makes the liquid thinner as Scene `thinning` says
    """

    shape: Shape
    velocity: tuple[float, float, float] | Callable = (0.0, 0.0, 0.0)
    viscosity: float | Callable = 0.0
    temperature: float | Callable = 0.0

    def __post_init__(self):
        _check_shape(self)
        _check_liquid(self)


@dataclass(frozen=True)
class Inflow:
    """A source: a shape that is always full of liquid, which leaves it with a velocity, as long as there is room.

    velocity    [m/s], three numbers or f(points (n, 3)) -> (n, 3)
    viscosity   [Pa s] of what comes out, a number or f(points (n, 3)) -> (n,)
    temperature [K] above that of the surroundings, likewise
    """

    shape: Shape
    velocity: tuple[float, float, float] | Callable
    viscosity: float | Callable = 0.0
    temperature: float | Callable = 0.0

    def __post_init__(self):
        _check_shape(self)
        _check_liquid(self)


@dataclass(frozen=True)
class Outflow:
    """A drain: liquid that comes into the shape, from whatever side, is gone."""

    shape: Shape

    def __post_init__(self):
        _check_shape(self)


@dataclass(frozen=True)
class Smoke:
    """Smoke in a shape, at the start or all the time. A scene with smoke is filled with gas, between its solids.

    density       of the smoke, a number or f(points (n, 3)) -> (n,)
    temperature   [K] above that of the surroundings, likewise
    velocity      [m/s] of the gas there, three numbers or f(points (n, 3)) -> (n, 3); None leaves it as it is
    rate          [1/s] at which a source brings what is in the shape to these values, from nothing at the start;
                  math.inf for always at once. None is no source: they are those at the start
    markers       whether points are set out in it that go with the flow, to be seen
    """

    shape: Shape
    density: float | Callable = 1.0
    temperature: float | Callable = 0.0
    velocity: tuple[float, float, float] | Callable | None = None
    rate: float | None = None
    markers: bool = False

    def __post_init__(self):
        _check_shape(self)
        name = kind_of(self)
        for what, least in (("density", 0.0), ("temperature", -MOST_SMOKE)):
            value = getattr(self, what)
            if callable(value):
                continue
            if argument.number(name, what, value) < least:
                raise ValueError(f"{name}: {what}={value!r}, expected at least {least:g}")
            if value > MOST_SMOKE:
                raise ValueError(f"{name}: {what}={value!r}, expected at most {MOST_SMOKE:g}")
        if self.velocity is not None and not callable(self.velocity):
            object.__setattr__(self, "velocity", argument.vector(name, "velocity", self.velocity))
        if self.rate is not None and self.rate != math.inf:
            argument.positive(name, "rate", self.rate)
        argument.flag(name, "markers", self.markers)


@dataclass(frozen=True)
class Force:
    """A force on the fluid beside gravity: f(points (n, 3), t) -> its acceleration [m/s²], (n, 3)."""

    f: Callable

    def __post_init__(self):
        _check_function(self)


@dataclass(frozen=True)
class SurfacePressure:
    """A pressure on the liquid's surface: f(points (n, 3), t) -> [Pa], (n,).  FM96."""

    f: Callable

    def __post_init__(self):
        _check_function(self)

    @classmethod
    def by_height(
        cls, mean: float, amplitude: float = 0.0, wave_number: float = 0.0, frequency: float = 0.0, dt: float = 1.0
    ) -> "SurfacePressure":
        """The paper's pressure by the height y of the surface,  p = (A + B cos(C y − ω t)) / Δt .

        mean, amplitude    A and B [Pa s]
        wave_number        C [1/m]
        frequency          ω [1/s]
        dt                 Δt [s] over which A and B act; with one second they are pressures [Pa]
        """
        for name, value in (("mean", mean), ("amplitude", amplitude), ("wave_number", wave_number)):
            argument.number("SurfacePressure", name, value)
        argument.number("SurfacePressure", "frequency", frequency)
        argument.positive("SurfacePressure", "dt", dt)
        return cls(lambda points, t: (mean + amplitude * np.cos(wave_number * points[:, 1] - frequency * t)) / dt)


Item = Solid | RigidBody | Hand | Liquid | Smoke | Inflow | Outflow | Force | SurfacePressure


def label(index: int, item) -> str:
    """How errors name an item: "items[2] Solid(Sphere)"."""
    return f"items[{index}] {kind_of(item)}"


def labelled(items: Iterable[Item], kind) -> list[tuple[str, Item]]:
    """The items of a kind, each with the name that errors give it."""
    return [(label(index, item), item) for index, item in enumerate(items) if isinstance(item, kind)]


def kind_of(item) -> str:
    """What an item is: "Solid(Sphere)"."""
    shape = getattr(item, "shape", None)
    return type(item).__name__ if shape is None else f"{type(item).__name__}({type(shape).__name__})"


def velocity_at(name: str, item: Liquid | Inflow | Smoke, points: np.ndarray) -> np.ndarray:
    """The velocity [m/s] that an item gives its liquid at points (n, 3), shape (n, 3); errors call it `name`.

    Outside its shape a function of the user's need not give finite numbers.
    """
    if callable(item.velocity):
        return argument.evaluated(name, "velocity", item.velocity, points, 3, within=item.shape)
    return np.broadcast_to(item.velocity, points.shape)


def smoke_at(name: str, item: Smoke, points: np.ndarray) -> np.ndarray:
    """Density and temperature [K] that an item gives smoke at points (n, 3), shape (n, 2); errors call it `name`."""
    out = np.empty((len(points), 2))
    for column, what in enumerate(("density", "temperature")):
        value = getattr(item, what)
        if callable(value):
            value = argument.evaluated(name, what, value, points, within=item.shape)
            least = 0.0 if what == "density" else -MOST_SMOKE
            _check_range(name, what, item.shape, points, value, least, MOST_SMOKE)
        out[:, column] = value
    return out


def values_at(name: str, item: Force | SurfacePressure, points: np.ndarray, time: float) -> np.ndarray:
    """The acceleration (n, 3) [m/s²] or the pressure (n,) [Pa] of an item at points (n, 3) and a time [s]."""
    width = 3 if isinstance(item, Force) else None
    return argument.evaluated(name, "f", item.f, points, width, time=time)


def viscosity_at(name: str, item: Liquid | Inflow, points: np.ndarray) -> np.ndarray:
    """The viscosity [Pa s] that an item gives its liquid at points (n, 3), shape (n,); errors call it `name`."""
    if not callable(item.viscosity):
        return np.full(len(points), float(item.viscosity))
    values = argument.evaluated(name, "viscosity", item.viscosity, points, within=item.shape)
    _check_range(name, "viscosity", item.shape, points, values, 0.0, MOST_VISCOUS)
    return values


def temperature_at(name: str, item: Liquid | Inflow, points: np.ndarray) -> np.ndarray:
    """The temperature [K] that an item gives its liquid at points (n, 3), shape (n,); errors call it `name`."""
    if not callable(item.temperature):
        return np.full(len(points), float(item.temperature))
    return argument.evaluated(name, "temperature", item.temperature, points, within=item.shape)


def _check_range(name, what, shape, points, values, least, most) -> None:
    """Refuse values below the least, or above the most there may be, in a shape."""
    wrong = (values < least) | (values > most)
    if wrong.any():
        wrong &= shape.distance(points) < 0
    if wrong.any():
        at = np.argmax(wrong)
        limit = f"at least {least:g}" if values[at] < least else f"at most {most:g}"
        raise ValueError(f"{name}: {what} at {argument.short(points[at])} m is {values[at]:.6g}, expected {limit}")


def _check_shape(item) -> None:
    if not isinstance(item.shape, Shape):
        raise ValueError(f"{type(item).__name__}: shape={item.shape!r}, expected a Shape such as Box or Mesh")


def _check_liquid(item) -> None:
    """Of what an item says of its liquid, what is not a function."""
    name = kind_of(item)
    if not callable(item.velocity):
        object.__setattr__(item, "velocity", argument.vector(name, "velocity", item.velocity))
    if not callable(item.temperature):
        object.__setattr__(item, "temperature", argument.number(name, "temperature", item.temperature))
    if not callable(item.viscosity):
        if argument.number(name, "viscosity", item.viscosity) < 0:
            raise ValueError(f"{name}: viscosity={item.viscosity!r}, expected at least 0")
        if item.viscosity > MOST_VISCOUS:
            raise ValueError(f"{name}: viscosity={item.viscosity!r}, expected at most {MOST_VISCOUS:g}")
        object.__setattr__(item, "viscosity", float(item.viscosity))


def _check_function(item) -> None:
    if not callable(item.f):
        raise ValueError(f"{kind_of(item)}: f={item.f!r}, expected a function f(points, t)")
