"""What the user describes: a box of space, what is in it, and how to compute it."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from paddlewheel.items import (
    MOST_VISCOUS,
    Force,
    Hand,
    Inflow,
    Item,
    Liquid,
    Outflow,
    RigidBody,
    Smoke,
    Solid,
    SurfacePressure,
    kind_of,
    label,
    labelled,
    smoke_at,
    temperature_at,
    values_at,
    velocity_at,
    viscosity_at,
)
from paddlewheel.method import Method
from paddlewheel.solids import argument
from paddlewheel.types import SIDES, Grid, check_memory

WALLS = ("free-slip", "no-slip")
OF_GAS = ("vorticity", "dissipation", "viscosity")  # numbers of a scene that act on smoke only
PARTICLES_PER_CELL = {2: (1, 4, 9), 3: (1, 4, 8, 27)}  # by the number of dimensions
WATER, AIR = 1000.0, 1.2  # kg/m³
WARM_AIR_RISES = 9.81 / 293  # m/s² for each kelvin: what is warmer is lighter, by 1/293 of its weight
_PROBED = 4  # points along each axis at which a function of the user's is tried


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
            raise ValueError(f"Scene: items is a single {kind_of(self.items)}, expected a list of items")
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
    def particles_per_cell(self) -> int:
        """Particles of a full cell at the start."""
        count = self.method.particles_per_cell
        if count is not None:
            return count
        return 4 if self.grid.is_2d or self.has_smoke else 8

    @property
    def particle_spacing(self) -> float:
        """About how far one particle is from the next at the start [m]."""
        return self.grid.h / self.particles_per_cell ** (1 / self._dimensions)

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
        counts = PARTICLES_PER_CELL[self._dimensions]
        if count is not None and (isinstance(count, bool) or count not in counts):
            raise ValueError(
                f"Method: particles_per_cell={count!r} in a {self._dimensions}-D scene, expected "
                f"{', '.join(map(str, counts[:-1]))} or {counts[-1]}"
            )
        if count == 1 and (self.method.advection != "flip" or self.has_smoke):
            what = "smoke" if self.has_smoke else f"advection={self.method.advection!r}"
            raise ValueError(
                f"Method: particles_per_cell=1 with {what}: so few are seen by a wide kernel, and what is lost by that "
                f"only the particles of liquid by 'flip' keep; expected at least {counts[1]}"
            )


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
        temperature_at(name, item, _probe(grid))
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
        raise ValueError(f"{name}: its body, a {kind_of(item.body)}, is none of the scene's items")
    point = (*item.point[:2], 0.5 * grid.h) if grid.is_2d else item.point
    away = float(item.body.shape.distance(np.array([point]))[0])
    if away > grid.h:
        raise ValueError(f"{name}: point={item.point} is {away:.3g} m beside its body, a {kind_of(item.body)}")
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
