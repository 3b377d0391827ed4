"""The arrays a simulation is made of, and what a step and a solve report."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

AXES = "xyz"
NEW = -1  # id of a particle that has none yet
SIDES = ("-x", "+x", "-y", "+y", "-z", "+z")

BYTES_PER_CELL = 256  # a step needs for each cell of the grid, liquid or not: measured 176–190 at 128³–192³


class Faces(NamedTuple):
    """One array per axis, at the centres of the faces normal to it.

    x has shape (nx+1, ny, nz), y (nx, ny+1, nz), z (nx, ny, nz+1). Kernels
    index it by the axis: faces[a].
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray


@dataclass(frozen=True)
class Grid:
    """A box of cubic cells of size h [m], the domain or a part of it.

    A grid one cell thick (shape[2] == 1) is a two-dimensional scene. The lowest
    corner of a domain is the origin of coordinates; a part begins at cell `first` of it.
    """

    shape: tuple[int, int, int]
    h: float
    first: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self):
        shape = self.shape.tolist() if isinstance(self.shape, np.ndarray) else self.shape
        if not isinstance(shape, tuple | list) or len(shape) != 3:
            raise ValueError(f"Grid: shape={self.shape!r}, expected three whole numbers")
        object.__setattr__(self, "shape", tuple(_whole("Grid: shape", n) for n in shape))
        if not _is_number(self.h) or not 0 < self.h < math.inf:  # False for NaN
            raise ValueError(f"Grid: h={self.h!r}, expected a positive length in metres")
        object.__setattr__(self, "h", float(self.h))

    @classmethod
    def from_size(cls, size, cells) -> "Grid":
        """The grid of a domain `size` [m] with `cells` along its longest side, or (nx, ny, nz) of them.

        The cells are cubes, so every side must be a whole number of them; a
        two-dimensional scene has nz = 1 and a size in z of one cell.
        """
        size = _positive_triple("size", size)
        cells = cells.tolist() if isinstance(cells, np.ndarray) else cells
        if not isinstance(cells, tuple | list):
            n = _whole("cells", cells)
            h = max(size) / n
            counts = tuple(max(1, round(s / h)) for s in size)
        else:
            if len(cells) != 3:
                raise ValueError(f"cells={cells!r}: expected a number or three of them")
            counts = tuple(_whole("cells", c) for c in cells)
            h = max(s / c for s, c in zip(size, counts, strict=True))
        if any(abs(s - c * h) > 1e-6 * h for s, c in zip(size, counts, strict=True)):
            if isinstance(cells, tuple | list):
                lengths = " × ".join(f"{s / c:.6g}" for s, c in zip(size, counts, strict=True))
                raise ValueError(f"size={size}, cells={cells!r}: the cells are not cubes but {lengths} m")
            nearest = tuple(float(f"{c * h:.9g}") for c in counts)
            raise ValueError(
                f"size={size} is not a whole number of cells of {h:.6g} m (cells={cells!r}); the nearest is {nearest}"
            )
        return cls(counts, h)

    @property
    def size(self) -> tuple[float, float, float]:
        """Length of each side [m]."""
        return tuple(n * self.h for n in self.shape)

    @property
    def is_2d(self) -> bool:
        return self.shape[2] == 1

    @property
    def node_shape(self) -> tuple[int, int, int]:
        nx, ny, nz = self.shape
        return nx + 1, ny + 1, nz + 1

    def face_shape(self, axis: int) -> tuple[int, int, int]:
        nx, ny, nz = self.shape
        return nx + (axis == 0), ny + (axis == 1), nz + (axis == 2)

    def zeros_faces(self, dtype=np.float32) -> Faces:
        """A field of zeros on the faces."""
        return Faces(*(np.zeros(self.face_shape(a), dtype) for a in range(3)))

    def cell_points(self) -> np.ndarray:
        """Cell centres [m], shape (nx, ny, nz, 3)."""
        return self._points((0.5, 0.5, 0.5), self.shape)

    def face_points(self, axis: int) -> np.ndarray:
        """Centres of the faces normal to `axis` [m], shape (*face_shape(axis), 3)."""
        return self._points(tuple(0.5 * (a != axis) for a in range(3)), self.face_shape(axis))

    def node_points(self) -> np.ndarray:
        """Corners of the cells [m], shape (nx+1, ny+1, nz+1, 3).

        In a 2-D grid both layers lie on the mid-plane of the slab, where shapes are cut.
        """
        points = self._points((0.0, 0.0, 0.0), self.node_shape)
        if self.is_2d:
            points[..., 2] = 0.5 * self.h
        return points

    def _points(self, offset, shape) -> np.ndarray:
        axes = [(np.arange(f, f + n) + o) * self.h for f, n, o in zip(self.first, shape, offset, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


class BodyFaces(NamedTuple):
    """A rigid body measured into arrays on the faces of a box of cells.

    origin  first cell of the box
    filled  s, the part of each face's box that the body fills, float32: on every face w + Σ s is at most 1, and what
            is left is filled by other solids
    near    whether the body is the nearest solid, bool
    """

    origin: tuple[int, int, int]
    filled: Faces
    near: Faces

    @property
    def nodes(self) -> tuple[slice, slice, slice]:
        """The nodes of the box."""
        return tuple(slice(o, o + f.shape[a]) for a, (o, f) in enumerate(zip(self.origin, self.filled, strict=True)))


class Passing(NamedTuple):
    """Solids that move by cells in a step, and the cells at its start in which particles go with them.

    which        the solid by its number, int16, shape of the cells; −1 for none
    turn, shift  (m, 3, 3) and (m, 3) [m]: how far each takes a point x along, turn x + shift
    """

    which: np.ndarray
    turn: np.ndarray
    shift: np.ndarray


class Boundary(NamedTuple):
    """All solids, measured into arrays for one step.

    phi       signed distance to the nearest solid at nodes [m], negative inside, float32
    open      w, the part of each face's box that is not solid, in [0, 1], float32
    velocity  the solids' velocity component at each face [m/s], float32; the mean over what they fill of its box
    bodies    the rigid bodies among them, each for itself
    others    what `velocity` is if the bodies stand still
    sticky    the cells that touch a solid which liquid does not leave, bool; None if there is no such solid
    given     what sources give cells besides, as the sum over their faces of w u [m/s], float32; None if there are none
    """

    phi: np.ndarray
    open: Faces
    velocity: Faces
    bodies: tuple[BodyFaces, ...] = ()
    others: Faces | None = None
    sticky: np.ndarray | None = None
    given: np.ndarray | None = None


class SolveFailedError(RuntimeError):
    """A step without an answer: a solve did not converge, or left numbers that are not finite."""


class SolveInfo(NamedTuple):
    """How a linear solve went. residual is max|b − Ap| / max|b|, recomputed from p, not recurred.

    substeps is into how many parts the step was divided for it: one, but for explicit viscosity and IMEX, whose
    iterations are those of all.
    """

    name: str
    unknowns: int
    iterations: int
    residual: float
    seconds: float
    converged: bool
    substeps: int = 1


class Particles(NamedTuple):
    """What carries the fluid: points that move with it, in the order of their cells after a step.

    position  (n, 3) float32 [m]
    velocity  (n, 3) float32 [m/s]
    affine    (n, 3, 3) float32 [1/s]: row a is the gradient of velocity component a (APIC); (0, 3, 3) where unused
    carried   (n, 2) float32: density and temperature [K] of smoke, or viscosity [Pa s] and temperature [K] of liquid
              if the first varies; (0, 2) where unused
    id        (n,) int32: a number that a particle keeps, NEW until it has one; (0,) where unused
    """

    position: np.ndarray
    velocity: np.ndarray
    affine: np.ndarray
    carried: np.ndarray
    id: np.ndarray

    @classmethod
    def at(
        cls, position: np.ndarray, velocity: np.ndarray, affine: bool = False, carried: np.ndarray | None = None
    ) -> "Particles":
        """Particles at positions, with velocities and, if wanted, a gradient of zero, and what else they carry."""
        position = np.ascontiguousarray(position, np.float32).reshape(-1, 3)
        velocity = np.ascontiguousarray(np.broadcast_to(velocity, position.shape), np.float32)
        affine = np.zeros((len(position) if affine else 0, 3, 3), np.float32)
        carried = np.ascontiguousarray(np.empty((0, 2)) if carried is None else carried, np.float32)
        return cls(position, velocity, affine, carried, np.empty(0, np.int32))

    def take(self, which: np.ndarray) -> "Particles":
        """Those of a boolean mask or of an array of indices."""
        position, velocity, *unused = self
        return Particles(position[which], velocity[which], *(part[which] if len(part) else part for part in unused))

    def joined(self, other: "Particles") -> "Particles":
        """These and then the others; NEW are those without an id, if the rest has one."""
        *pairs, ids = zip(self, other, strict=True)
        if len(self.id) or len(other.id):
            ids = (p.id if len(p.id) else np.full(len(p.position), NEW, np.int32) for p in (self, other))
        return Particles(*(np.concatenate(pair) for pair in pairs), np.concatenate(tuple(ids)))


class Body(NamedTuple):
    """Where a rigid body is and how it moves, each float64.

    position          (3,) of its centre of mass [m]
    orientation       (4,) unit quaternion (w, x, y, z): turns it from how it was drawn
    velocity          (3,) of the centre of mass [m/s]
    angular_velocity  (3,) in world axes [rad/s]
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


@dataclass
class State:
    """Everything a simulation knows of the fluid at one time: what a step starts from, and what it leaves.

    time       [s]
    steps      taken so far; what is drawn at random depends on it
    velocity   [m/s] on faces, float32, also beyond the surface and in solids
    pressure   [Pa] at centres, float64
    phi        the liquid's level set [m] at centres, float32
    particles  about in the order of their cells; smoke that the grid carries has none
    shift      [m] on faces, float32: how far the next step moves particles besides, to keep their density and to fall
    bodies     the rigid bodies, in the order of the scene's items
    contacts   what is known of their earlier contacts, what they rest on, and which fall freely: arrays by name
    within     (3, 2): from which cell on, and up to which, along each axis there can be velocity, pressure and shift;
               all are zero beyond. None for everywhere
    density, temperature   of smoke, the latter [K] above the surroundings, at centres, float32; None without
    markers    (n, 3) float32 [m]: points that go with smoke, to be seen; None without
    ahead      [m/s] on faces, float32: half of what forces and pressure did to smoke's velocity in the last step; what
               is carried, by particles too, is ahead of the flow by that. None without smoke
    numbered   how many particles have got an id so far; None if they get none
    tracked    what else is known, arrays by name: of where the liquid is, by trackers that need more than particles; of
               smoke, the velocity beyond open sides
    """

    time: float
    steps: int
    velocity: Faces
    pressure: np.ndarray
    phi: np.ndarray
    particles: Particles
    shift: Faces
    bodies: tuple[Body, ...] = ()
    contacts: dict[str, np.ndarray] = field(default_factory=dict)
    within: np.ndarray | None = None
    density: np.ndarray | None = None
    temperature: np.ndarray | None = None
    markers: np.ndarray | None = None
    ahead: Faces | None = None
    numbered: int | None = None
    tracked: dict[str, np.ndarray] = field(default_factory=dict)

    def copy(self) -> "State":
        """A state that shares no array with this one."""
        bodies = tuple(Body(*map(np.copy, body)) for body in self.bodies)
        contacts = {name: array.copy() for name, array in self.contacts.items()}
        optional = {name: np.copy(array) for name, array in self._optional().items()}
        if self.ahead is not None:
            optional["ahead"] = Faces(*map(np.copy, self.ahead))
        optional["numbered"] = self.numbered
        optional["tracked"] = {name: array.copy() for name, array in self.tracked.items()}
        return State(self.time, self.steps, *(self._mapped(np.copy)), bodies, contacts, **optional)

    def number(self, given: int) -> None:
        """Give the particles that have no id the next ones, after so many that were given before."""
        n, ids = len(self.particles.position), self.particles.id
        if len(ids) != n:
            ids = np.full(n, NEW, np.int32)
        new = ids < 0
        count = int(np.count_nonzero(new))
        if given + count >= 2**31:
            raise ValueError(f"{given + count} particles were made since the start: expected fewer than {2**31}")
        if count:
            ids[new] = np.arange(given, given + count, dtype=np.int32)
        self.particles, self.numbered = self.particles._replace(id=ids), given + count

    def release(self) -> tuple[Faces, np.ndarray, Particles, Faces]:
        """Velocity, pressure, particles and shift, which the state forgets."""
        released = self.velocity, self.pressure, self.particles, self.shift
        self.velocity = self.pressure = self.particles = self.shift = self.phi = None
        return released

    def save(self, path) -> None:
        """Write the state to a file (.npz), exactly."""
        arrays = {"time": np.float64(self.time), "steps": np.int64(self.steps)}
        for name, value in zip(_FIELDS, self._mapped(np.asarray), strict=True):
            parts = value._asdict().items() if isinstance(value, tuple) else [("", value)]
            arrays |= {f"{name}.{part}".rstrip("."): array for part, array in parts}
        for part in Body._fields if self.bodies else ():
            arrays[f"bodies.{part}"] = np.array([getattr(body, part) for body in self.bodies])
        arrays |= {f"contacts.{name}": array for name, array in self.contacts.items()}
        arrays |= {f"tracked.{name}": array for name, array in self.tracked.items()}
        arrays |= self._optional()
        if self.ahead is not None:
            arrays |= {f"ahead.{a}": u for a, u in zip(AXES, self.ahead, strict=True)}
        if self.numbered is not None:
            arrays["numbered"] = np.int64(self.numbered)
        with open(path, "wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path) -> "State":
        """Read a state that `save` wrote."""
        with np.load(path) as file:
            velocity, shift = (Faces(*(file[f"{name}.{a}"] for a in AXES)) for name in ("velocity", "shift"))
            ids = file["particles.id"] if "particles.id" in file else np.empty(0, np.int32)  # of before there were any
            particles = Particles(*(file[f"particles.{part}"] for part in Particles._fields[:-1]), ids)
            optional = {name: file[name] for name in _OPTIONAL if name in file}
            if "ahead.x" in file:
                optional["ahead"] = Faces(*(file[f"ahead.{a}"] for a in AXES))
            if "numbered" in file:
                optional["numbered"] = int(file["numbered"])
            bodies = [file[f"bodies.{part}"] for part in Body._fields if f"bodies.{part}" in file]
            bodies = tuple(Body(*row) for row in zip(*bodies, strict=True))
            contacts, optional["tracked"] = (
                {name.removeprefix(prefix): file[name] for name in file if name.startswith(prefix)}
                for prefix in ("contacts.", "tracked.")
            )
            return cls(
                float(file["time"]), int(file["steps"]), velocity, file["pressure"], file["phi"], particles, shift,
                bodies, contacts, **optional,
            )  # fmt: skip

    def _mapped(self, function) -> list:
        values = (getattr(self, name) for name in _FIELDS)
        return [type(v)(*map(function, v)) if isinstance(v, tuple) else function(v) for v in values]

    def _optional(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in _OPTIONAL if getattr(self, name) is not None}


_FIELDS = ("velocity", "pressure", "phi", "particles", "shift")
_OPTIONAL = ("within", "density", "temperature", "markers")


class StepReport(NamedTuple):
    """What a step did.

    dt              [s]
    substeps        how many steps the report sums up
    divergence      largest, over cells of fluid, weighted by the open part of their faces [1/s]
    volume          [m³] of the liquid's level set outside solids, or of the gas that smoke is in
    kinetic_energy  [J]
    inflow          [m³] that sources gave; of gas, also what came in through open sides
    outflow         [m³] that was drained or left through open sides
    warnings        what the user should know
    solves          how each linear solve went
    seconds         of each stage
    smoke           [m³] that all smoke would fill at density 1
    """

    dt: float
    substeps: int
    divergence: float
    volume: float
    kinetic_energy: float
    inflow: float
    outflow: float
    warnings: list[str]
    solves: list[SolveInfo]
    seconds: dict[str, float]
    smoke: float = 0.0

    @classmethod
    def joined(cls, reports: "list[StepReport]") -> "StepReport":
        """What steps did one after another: the last report, with sums, the worst divergence, and all that was said."""
        stages = {stage: None for report in reports for stage in report.seconds}  # in their order
        return reports[-1]._replace(
            substeps=sum(report.substeps for report in reports),
            divergence=max(report.divergence for report in reports),
            inflow=sum(report.inflow for report in reports),
            outflow=sum(report.outflow for report in reports),
            warnings=list(dict.fromkeys(warning for report in reports for warning in report.warnings)),
            solves=[solve for report in reports for solve in report.solves],
            seconds={stage: sum(report.seconds.get(stage, 0.0) for report in reports) for stage in stages},
        )


def check_memory(grid: Grid, needed: int | None = None) -> None:
    """Refuse a grid on which a step needs more memory than there is: so many bytes, or BYTES_PER_CELL."""
    needed = math.prod(grid.shape) * BYTES_PER_CELL if needed is None else needed
    available = available_memory()
    if available is not None and needed > available:
        nx, ny, nz = grid.shape
        raise ValueError(
            f"{nx} × {ny} × {nz} cells need {needed} bytes ({needed / 2**30:.3g} GiB), "
            f"but only {available} bytes ({available / 2**30:.3g} GiB) are available"
        )


def available_memory() -> int | None:
    """Bytes this machine can still give; None if it does not say."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        if "MemAvailable" in lines:  # unlike the free pages, with what the page cache can give back
            return 1024 * int(lines["MemAvailable"].split()[0])
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(getattr(os, "sysconf_names", ())):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _positive_triple(name, value) -> tuple[float, float, float]:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):  # text, ragged lists
        array = np.array(np.nan)
    if array.shape != (3,) or not np.all(np.isfinite(array)) or np.any(array <= 0):
        raise ValueError(f"{name}={value!r}: expected three positive lengths in metres")
    return tuple(array.tolist())


def _whole(name, value) -> int:
    if not _is_number(value) or not 1 <= value <= _MOST_CELLS or value != int(value):
        raise ValueError(f"{name}={value!r}: expected a whole number from 1 to {_MOST_CELLS}")
    return int(value)


def _is_number(value) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


_MOST_CELLS = 2**31 - 1  # along one side; what fits memory is far less, and for check_memory to say
