"""What the user describes: a box of space, what is in it, and how to compute it."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from paddlewheel.method import Method
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose, pose_at
from paddlewheel.solids.shapes import Shape
from paddlewheel.types import SIDES, Grid, check_memory

WALLS = ("free-slip", "no-slip")
MOST_VISCOUS = 1e30  # Pa s: single precision ends at 3e38
OF_GAS = ("vorticity", "dissipation", "viscosity")  # numbers of a scene that act on smoke only
MOTIONS = ("x", "y", "z", "rx", "ry", "rz")
PARTICLES_PER_AXIS = (2, 3)  # with one alone, still water boils and loses volume
WATER, AIR = 1000.0, 1.2  # kg/m³
WARM_AIR_RISES = 9.81 / 293  # m/s² for each kelvin: what is warmer is lighter, by 1/293 of its weight
_AT_REST = Pose(velocity=(0, 0, 0), angular_velocity=(0, 0, 0))
_PROBED = 4  # points along each axis at which a function of the user's is tried


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
            raise ValueError(f"{_kind(self)}: motion={self.motion!r}, expected None or a function of time")
        argument.flag(_kind(self), "separates", self.separates)
        if self.temperature is not None:
            argument.number(_kind(self), "temperature", self.temperature)

    def pose(self, time: float, name: str | None = None) -> Pose:
        """The pose at a time [s] with its velocities; errors name the solid by `name`."""
        if self.motion is None:
            return _AT_REST
        return pose_at(self.motion, time, name or _kind(self))


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
        name = _kind(self)
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
        if not callable(self.velocity):
            object.__setattr__(self, "velocity", argument.vector(_kind(self), "velocity", self.velocity))
        _check_viscosity(self)
        if not callable(self.temperature):
            argument.number(_kind(self), "temperature", self.temperature)


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
        if not callable(self.velocity):
            object.__setattr__(self, "velocity", argument.vector(_kind(self), "velocity", self.velocity))
        _check_viscosity(self)
        if not callable(self.temperature):
            argument.number(_kind(self), "temperature", self.temperature)


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
        name = _kind(self)
        if not callable(self.density) and argument.number(name, "density", self.density) < 0:
            raise ValueError(f"{name}: density={self.density!r}, expected at least 0")
        if not callable(self.temperature):
            argument.number(name, "temperature", self.temperature)
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


@dataclass(frozen=True)
class Scene:
    """A box of space with liquid, or with gas and smoke, and solids in it.

    size        length of each side [m], y up; the lowest corner is the origin
    cells       along the longest side, or (nx, ny, nz); nz = 1 is a two-dimensional scene
    gravity     [m/s²]
    density     of the liquid or the gas [kg/m³]; None is that of water, or with smoke that of air
    fps         frames per second
    items       what is in the box
    open_sides  sides of the box without a wall, where p = 0: any of -x +x -y +y -z +z
    walls       what holds viscous liquid: all sides and solids, "no-slip", or none of them, "free-slip"; None the
                solids, but not the sides of the box
    buoyancy    (α, β): smoke sinks with α [m/s²] × its density, and rises with β [m/s²] for each kelvin
    vorticity   ε [1/s] of the force that keeps small vortices of smoke turning (Fedkiw et al. 2001)
    cooling     [1/s]: how fast smoke or liquid takes the temperature of the surroundings
    dissipation [1/s]: how fast its density fades
    viscosity   of the gas [Pa s]; liquids have their own each
    thinning    f(temperature (n,)) -> (n,): how many times as viscous liquid is when it is so warm [K]; None if that
                does not matter. What melts is 1 when it is cold, and much less when it is warm
    conduction  thermal diffusivity of the liquid [m²/s]
    """

    size: tuple[float, float, float]
    cells: int | tuple[int, int, int]
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    density: float | None = None
    fps: float = 24
    method: Method = field(default_factory=Method)
    items: tuple[Item, ...] = ()
    open_sides: frozenset[str] = frozenset()
    walls: str | None = None
    buoyancy: tuple[float, float] = (0.0, WARM_AIR_RISES)
    vorticity: float = 0.0
    cooling: float = 0.0
    dissipation: float = 0.0
    viscosity: float = 0.0
    thinning: Callable | None = None
    conduction: float = 0.0

    def __post_init__(self):
        check_memory(self.grid)
        object.__setattr__(self, "size", tuple(float(side) for side in self.size))
        object.__setattr__(self, "gravity", argument.vector("Scene", "gravity", self.gravity))
        argument.positive("Scene", "fps", self.fps)
        if self.walls is not None:
            argument.choice("Scene", "walls", self.walls, WALLS)
        if not isinstance(self.method, Method):
            raise ValueError(f"Scene: method={self.method!r}, expected a Method")
        object.__setattr__(self, "open_sides", checked_sides("Scene", self.open_sides, self.grid))
        if isinstance(self.items, Item):
            raise ValueError(f"Scene: items is a single {_kind(self.items)}, expected a list of items")
        if not isinstance(self.items, Iterable):
            raise ValueError(f"Scene: items={self.items!r}, expected a list of items")
        object.__setattr__(self, "items", tuple(self.items))
        for index, item in enumerate(self.items):
            _check_item(index, item, self.grid)
            if isinstance(item, Hand):
                _check_hand(label(index, item), item, self.items, self.grid)
        self._check_particles()
        self._check_fluid()
        self._check_friction()
        self._check_heat()
        self._check_explicit()

    @cached_property
    def grid(self) -> Grid:
        """The cells of the box."""
        return Grid.from_size(self.size, self.cells)

    @property
    def has_smoke(self) -> bool:
        """Whether what is simulated is gas with smoke in it, and no liquid."""
        return any(isinstance(item, Smoke) for item in self.items)

    @property
    def has_particles(self) -> bool:
        """Whether particles carry the fluid, or mark the liquid; else its surface is all there is of it."""
        return self.method.surface == "particles" or (self.method.surface == "markers" and not self.has_smoke)

    @property
    def particles_per_axis(self) -> int:
        """Particles along each axis of a full cell at the start: 2 or 3."""
        count = self.method.particles_per_cell
        return 2 if count is None else round(count ** (1 / self._dimensions))

    @property
    def bytes_per_particle(self) -> int:
        """Position and velocity of a particle, the gradient of APIC, and the smoke it carries."""
        return 24 + 36 * (self.method.advection == "apic") + 8 * self.has_smoke

    def _check_fluid(self) -> None:
        """Fill in what depends on the fluid, and refuse what does not go together."""
        if self.density is None:
            object.__setattr__(self, "density", AIR if self.has_smoke else WATER)
        argument.positive("Scene", "density", self.density)
        object.__setattr__(self, "buoyancy", argument.pair("Scene", "buoyancy", self.buoyancy))
        for name in (*OF_GAS, "cooling", "conduction"):
            if argument.number("Scene", name, getattr(self, name)) < 0:
                raise ValueError(f"Scene: {name}={getattr(self, name)!r}, expected at least 0")
        if not self.has_smoke:
            for name in OF_GAS:
                if getattr(self, name):
                    raise ValueError(
                        f"Scene: {name}={getattr(self, name)!r} acts on smoke only, and the scene has none"
                    )
            return
        for name, _ in labelled(self.items, Liquid | Outflow | SurfacePressure):
            raise ValueError(f"{name}: is not for gas, and the scene has Smoke; expected a scene of one or the other")
        if self.method.wall_separation:
            raise ValueError("Method: wall_separation=True: gas is all around walls and cannot leave them")
        if self.method.interpolation != "staggered" and self.method.surface == "markers":
            raise ValueError(
                f"Method: interpolation={self.method.interpolation!r} is for smoke that particles carry, not for "
                f"advection={self.method.advection!r}"
            )

    def _check_friction(self) -> None:
        """Refuse schemes of viscosity that cannot do with the scene."""
        if self.method.viscous_surface == "nichols-hirt" and not self.grid.is_2d:
            raise ValueError(
                "Method: viscous_surface='nichols-hirt' in a 3-D scene: it sets the one shear stress of 2-D to zero; "
                "in 3-D there are three, and which are zero depends on the surface's direction; expected 'natural'"
            )
        if self.viscosity > MOST_VISCOUS:
            raise ValueError(f"Scene: viscosity={self.viscosity!r}, expected at most {MOST_VISCOUS:g}")
        viscous = self.viscosity or any(item.viscosity != 0 for _, item in labelled(self.items, Liquid | Inflow))
        if self.method.viscosity in ("imex", "explicit") and viscous:
            for name, item in labelled(self.items, RigidBody):
                if not item.one_way and self.walls != "free-slip":
                    raise ValueError(
                        f"{name}: Method viscosity={self.method.viscosity!r} does not drag bodies; expected "
                        "'variational', or one_way=True, or walls='free-slip'"
                    )

    def _check_heat(self) -> None:
        """Refuse temperatures of a liquid that would do nothing, and a function that cannot thin it."""
        if self.thinning is not None:
            if self.has_smoke:
                raise ValueError("Scene: thinning acts on liquid only, and the scene has Smoke")
            if not callable(self.thinning):
                raise ValueError(f"Scene: thinning={self.thinning!r}, expected a function of the temperature, or None")
            thinned(self.thinning, np.zeros(2))
            return
        if self.conduction or (self.cooling and not self.has_smoke):
            name = "conduction" if self.conduction else "cooling"
            raise ValueError(
                f"Scene: {name}={getattr(self, name)!r} does nothing without `thinning`, which says what warmth does"
            )
        for name, item in labelled(self.items, Liquid | Inflow | Solid):
            if item.temperature is not None and (callable(item.temperature) or item.temperature != 0):
                raise ValueError(
                    f"{name}: temperature does nothing without Scene `thinning`, which says what warmth does"
                )

    def _check_explicit(self) -> None:
        """Refuse what the explicit method does not do."""
        if not self.method.is_explicit:
            return
        if self.has_smoke:
            raise ValueError("Method: advection='explicit' is for liquid, and the scene has Smoke")
        if self.thinning is not None:
            raise ValueError("Scene: thinning with Method advection='explicit', which has one viscosity everywhere")
        viscosities = {}
        for name, item in labelled(self.items, Liquid | Inflow):
            viscosities.setdefault(item.viscosity, name)
            if callable(item.viscosity) or len(viscosities) > 1:
                raise ValueError(
                    f"{name}: viscosity={item.viscosity!r} with Method advection='explicit', which has one viscosity "
                    "everywhere; expected the same number for all"
                )
        for name, item in labelled(self.items, RigidBody):
            if not item.one_way:
                raise ValueError(
                    f"{name}: Method advection='explicit' moves bodies with the liquid and not the liquid with them; "
                    "expected one_way=True"
                )

    @property
    def _dimensions(self) -> int:
        return 2 if self.grid.is_2d else 3

    def _check_particles(self) -> None:
        count = self.method.particles_per_cell
        counts = [n**self._dimensions for n in PARTICLES_PER_AXIS]
        if count is not None and (isinstance(count, bool) or count not in counts):
            raise ValueError(
                f"Method: particles_per_cell={count!r} in a {self._dimensions}-D scene, expected "
                f"{' or '.join(map(str, counts))}: {' or '.join(map(str, PARTICLES_PER_AXIS))} along each axis"
            )


def label(index: int, item) -> str:
    """How errors name an item: "items[2] Solid(Sphere)"."""
    return f"items[{index}] {_kind(item)}"


def labelled(items: Iterable[Item], kind) -> list[tuple[str, Item]]:
    """The items of a kind, each with the name that errors give it."""
    return [(label(index, item), item) for index, item in enumerate(items) if isinstance(item, kind)]


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
            if what == "density":
                _check_range(name, what, item.shape, points, value)
        out[:, column] = value
    return out


def _check_range(name, what, shape, points, values, most=math.inf) -> None:
    """Refuse values below zero, or above the most there may be, in a shape."""
    wrong = (values < 0) | (values > most)
    if wrong.any():
        wrong &= shape.distance(points) < 0
    if wrong.any():
        at = np.argmax(wrong)
        limit = "at least 0" if values[at] < 0 else f"at most {most:g}"
        raise ValueError(f"{name}: {what} at {argument.short(points[at])} m is {values[at]:.6g}, expected {limit}")


def values_at(name: str, item: Force | SurfacePressure, points: np.ndarray, time: float) -> np.ndarray:
    """The acceleration (n, 3) [m/s²] or the pressure (n,) [Pa] of an item at points (n, 3) and a time [s]."""
    width = 3 if isinstance(item, Force) else None
    return argument.evaluated(name, "f", item.f, points, width, time=time)


def viscosity_at(name: str, item: Liquid | Inflow, points: np.ndarray) -> np.ndarray:
    """The viscosity [Pa s] that an item gives its liquid at points (n, 3), shape (n,); errors call it `name`."""
    if not callable(item.viscosity):
        return np.full(len(points), float(item.viscosity))
    values = argument.evaluated(name, "viscosity", item.viscosity, points, within=item.shape)
    _check_range(name, "viscosity", item.shape, points, values, MOST_VISCOUS)
    return values


def temperature_at(name: str, item: Liquid | Inflow, points: np.ndarray) -> np.ndarray:
    """The temperature [K] that an item gives its liquid at points (n, 3), shape (n,); errors call it `name`."""
    if not callable(item.temperature):
        return np.full(len(points), float(item.temperature))
    return argument.evaluated(name, "temperature", item.temperature, points, within=item.shape)


def thinned(thinning: Callable, temperature: np.ndarray) -> np.ndarray:
    """How many times as viscous liquid is at temperatures [K], (n,); a ValueError if that is not a number ≥ 0 each."""
    factor = np.asarray(thinning(temperature), float)
    if factor.shape != temperature.shape:
        raise ValueError(
            f"Scene: thinning gave shape {factor.shape} for {temperature.shape} temperatures, expected the same"
        )
    wrong = ~(np.isfinite(factor) & (factor >= 0))
    if wrong.any():
        at = np.argmax(wrong)
        raise ValueError(
            f"Scene: thinning at {temperature[at]:.6g} K is {factor[at]:.6g}, expected a number of at least 0"
        )
    return factor


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
    if not isinstance(item, Item):
        kinds = ", ".join(kind.__name__ for kind in Item.__args__[:-1])
        raise ValueError(f"items[{index}] is {item!r}, expected a {kinds} or {Item.__args__[-1].__name__}")
    name = label(index, item)
    if isinstance(item, Force | SurfacePressure):
        values_at(name, item, _probe(grid), 0.0)
        return
    if isinstance(item, Hand):
        return
    if isinstance(item, Solid) and item.motion is not None:
        item.pose(0.0, name)
        return  # it may still come in
    if isinstance(item, RigidBody):
        _check_body(name, item, grid)
    if isinstance(item, Liquid | Inflow) or (isinstance(item, Smoke) and item.velocity is not None):
        velocity_at(name, item, _probe(grid))
    if isinstance(item, Liquid | Inflow):
        viscosity_at(name, item, _probe(grid))
    if isinstance(item, Smoke):
        smoke_at(name, item, _probe(grid))
    _check_inside(name, item, grid)
    if isinstance(item, Inflow):
        _check_thickness(name, item, grid)


def _check_thickness(name, item, grid) -> None:
    """An inflow of which the grid sees no way out pours into itself."""
    low, high = (np.clip(corner, 0, grid.size) for corner in item.shape.bounds())
    thickness = (high - low)[: 2 if grid.is_2d else 3].min()
    if thickness < (1 - 1e-6) * grid.h:
        warnings.warn(
            f"{name} is {thickness:.3g} m thick, less than a cell of {grid.h:.3g} m: it may give less than it should",
            stacklevel=5,
        )


def _check_body(name, item, grid) -> None:
    if not np.all(np.isfinite(item.shape.bounds())):
        raise ValueError(f"{name} has no end: a body needs a mass")
    if grid.is_2d and item.axis is not None and abs(item.axis[2]) != 1:
        raise ValueError(f"{name}: axis={item.axis}, but a two-dimensional scene (nz = 1) turns about z only")


def _check_hand(name, item, items, grid) -> None:
    if not any(other is item.body for other in items):
        raise ValueError(f"{name}: its body, a {_kind(item.body)}, is none of the scene's items")
    point = (*item.point[:2], 0.5 * grid.h) if grid.is_2d else item.point
    away = float(item.body.shape.distance(np.array([point]))[0])
    if away > grid.h:
        raise ValueError(f"{name}: point={item.point} is {away:.3g} m beside its body, a {_kind(item.body)}")
    item.target(0.0, name)


def _check_inside(name, item, grid) -> None:
    """Liquid wholly outside the domain is a mistake; a solid or a drain there only has no effect."""
    low, high = item.shape.bounds()
    start, end = np.zeros(3), np.array(grid.size)
    if grid.is_2d:
        start[2] = end[2] = 0.5 * grid.h
    if np.any(high < start) or np.any(low > end):
        where = (
            f"{name} lies from {argument.short(low)} to {argument.short(high)} m, wholly outside the domain "
            f"from {argument.short(start)} to {argument.short(end)} m"
        )
        if isinstance(item, Liquid | Smoke | Inflow | RigidBody):
            raise ValueError(where)
        warnings.warn(f"{where}: it has no effect", stacklevel=5)


def _probe(grid) -> np.ndarray:
    """A few points of the box, at which functions of the user's are tried."""
    axes = [(np.arange(_PROBED) + 0.5) * side / _PROBED for side in grid.size]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _check_shape(item) -> None:
    if not isinstance(item.shape, Shape):
        raise ValueError(f"{type(item).__name__}: shape={item.shape!r}, expected a Shape such as Box or Mesh")


def _check_viscosity(item) -> None:
    if not callable(item.viscosity) and argument.number(_kind(item), "viscosity", item.viscosity) < 0:
        raise ValueError(f"{_kind(item)}: viscosity={item.viscosity!r}, expected at least 0")
    if not callable(item.viscosity) and item.viscosity > MOST_VISCOUS:
        raise ValueError(f"{_kind(item)}: viscosity={item.viscosity!r}, expected at most {MOST_VISCOUS:g}")


def _check_function(item) -> None:
    if not callable(item.f):
        raise ValueError(f"{_kind(item)}: f={item.f!r}, expected a function f(points, t)")


def _kind(item) -> str:
    shape = getattr(item, "shape", None)
    return type(item).__name__ if shape is None else f"{type(item).__name__}({type(shape).__name__})"
