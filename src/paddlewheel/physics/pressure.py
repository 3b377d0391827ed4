"""Pressure: the p that minimises the kinetic energy after u = ũ − (Δt/ρ) ∇p.

B07 §2 around solids of any shape, with the free surface of B08 §5.2. Per
liquid cell, divided by Δt/(ρ h²),

    Σ_f w_f (p_i − p_nb)  =  −(ρ h/Δt) Σ_f ±[ w_f ũ_f + (1 − w_f) u_solid,f ]

w_f is the part of the face's box that is not solid. Across a face to the air
the pressure is p_s at the surface, θ of the way to the other centre,

    w_f (p_i − p_nb)  →  (w_f/θ) (p_i − p_s),      θ = φ_i / (φ_i − φ_nb)

A surface pressure is given as a field s at all centres. Unknown is p − s: then
(w/θ) p_s, which would drown the rest of the right-hand side where θ is small,
is gone, and ũ − (Δt/ρ) ∇s takes the place of ũ.

Where liquid may leave a wall, p − s is not negative: 0 ≤ p − s ⟂ A (p − s) − b ≥ 0
(B07 §4, which has no s). If it leaves, it has a free surface there, with the
pressure of one.

The same matrix spreads particles where they crowd (Kugelstadt et al. 2019): a
displacement δ = −∇ψ that is to have the divergence e, the excess of their
density, moves them in the next step, and changes no velocity.

All that is done in the box around the liquid, which may be a small part of the grid.

Domain sides are weights too: a closed one has w = 0. Beyond an open one lies
a layer of ghost cells that mirror the liquid as air, which puts p = 0 on the
side itself.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.levelset import liquid_box
from paddlewheel.grid.stencil import as_faces, required
from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.bounded import Bounded
from paddlewheel.solve.linear import Prepared
from paddlewheel.solve.regions import closed_regions
from paddlewheel.solve.system import Rows, System
from paddlewheel.types import Boundary, Faces, Grid, SolveInfo

# The customary 1e-2 alone leaves 0.13 g Δt of motion in still water at 17°.
SMALLEST_THETA = 1e-6
ALIGNED = 8  # cells: the box around the liquid begins at multiples of this, so that coarse grids do not creep with it
SPREAD_TOLERANCE = 0.05  # of the displacement: what is left of an excess is seen again in the next step


class Projection(NamedTuple):
    """What a projection leaves behind.

    velocity  after the projection [m/s], float32
    known     the faces it determined: open, and next to liquid
    pressure  [Pa] at centres, float64, zero in air; in a closed region of zero mean, or with the bound the lowest
    info      how the solve went
    seconds   of assembly, set-up, solve and update
    lost      volume [m³] that each closed region had to lose in the step, because
              its walls moved in (positive) or out (negative); empty if there is none
    spread    spread(excess): the displacement [m] on faces that makes room for a relative excess of
              volume in each cell, which is not in more than SPREAD_TOLERANCE of it; and how that solve went
    again     again(boundary, velocity, dt, start): the same beside solids that move otherwise, or of another velocity
              and step; what is left out is as it was, but for start, which is this pressure. Costs no set-up
    reply     how much the rows that others added still move if they are pushed, (rows, rows); see `Prepared`
    loose     the cells in which liquid leaves a wall, bool, and
    attached  all other cells of liquid; both None if it may not leave, or leaves nowhere
    """

    velocity: Faces
    known: Faces
    pressure: np.ndarray
    info: SolveInfo
    seconds: dict[str, float]
    lost: np.ndarray
    spread: Callable[[np.ndarray], tuple[Faces, SolveInfo]]
    again: "Callable[..., Projection]"
    reply: np.ndarray | None
    loose: np.ndarray | None = None
    attached: np.ndarray | None = None


class Solved(NamedTuple):
    """A pressure that has not acted yet: where bodies rest on something, the first ones never do.

    pressure, info, reply   as of a Projection
    again     again(boundary): the same beside solids that move otherwise, from this pressure on
    acted     acted(): the projection, of the last one that was solved for
    """

    pressure: np.ndarray
    info: SolveInfo
    reply: np.ndarray | None
    again: "Callable[[Boundary], Solved]"
    acted: Callable[[], Projection]


def project(grid: Grid, velocity: Faces, phi: np.ndarray, boundary: Boundary, dt: float, **options) -> Projection:
    """Make the liquid's velocity divergence-free and tangential to the solids. Arguments are those of `solved`."""
    return solved(grid, velocity, phi, boundary, dt, **options).acted()


def solved(
    grid: Grid,
    velocity: Faces,
    phi: np.ndarray,
    boundary: Boundary,
    dt: float,
    *,
    density: float = 1000.0,
    surface_pressure: float | np.ndarray = 0.0,
    solver: str = "multigrid",
    tolerance: float = 1e-6,
    start: np.ndarray | None = None,
    terms: Callable[[tuple[slice, slice, slice], np.ndarray], Rows] | None = None,
    separating: np.ndarray | None = None,
    acting: np.ndarray | None = None,
) -> Solved:
    """The pressure of a projection, before it acts.

    phi is the liquid's level set at centres [m], extended into the solids;
    surface_pressure [Pa] a number or a field at centres; start a pressure to
    begin from, such as the last step's; terms(box, unknown) the rows that others,
    such as rigid bodies, add to the system in a box of cells; separating the
    cells at walls, bool, that liquid may leave: those at which this pressure and
    the one that is `acting` already [Pa, above that on the surface] are zero together.
    """
    pressed, phi = _checked(grid, velocity, phi, boundary, dt, density, surface_pressure, start)
    problem = _Problem(grid, velocity, pressed, phi, boundary, dt, density, surface_pressure, tolerance)
    if separating is not None and acting is not None:
        problem.acting = acting[problem.box]
    problem.set_up(boundary, solver, terms, separating, start)
    return problem.solved(boundary, start)


class Pressed(NamedTuple):
    """What a pressure does that is known already: velocity, known, pressure, lost and loose as of a Projection."""

    velocity: Faces
    known: Faces
    pressure: np.ndarray
    lost: np.ndarray
    loose: None = None


def pressed(
    grid: Grid,
    velocity: Faces,
    phi: np.ndarray,
    boundary: Boundary,
    dt: float,
    *,
    pressure: np.ndarray,
    density: float = 1000.0,
) -> Pressed:
    """Let a pressure [Pa], such as the last step's, act on the liquid for dt [s]."""
    velocity, phi = _checked(grid, velocity, phi, boundary, dt, density, 0.0, pressure)
    box = tuple(slice(0, n) for n in grid.shape)
    known = Faces(*(np.zeros(u.shape, np.bool_) for u in velocity))
    after = Faces(*(np.array(u, np.float32) for u in velocity))
    ghosted, scale = _with_ghosts(phi, np.abs, box), dt / (density * grid.h)
    _update(after, known, velocity, boundary.open, pressure, ghosted, box, scale, _is_plane(boundary))
    return Pressed(after, known, pressure, np.empty(0))


class _Problem:
    """A projection set up: its matrix, for one right-hand side or several."""

    def __init__(self, grid, velocity, pressed, phi, boundary, dt, density, surface_pressure, tolerance):
        self.began = time.perf_counter()
        self.grid, self.velocity, self.pressed, self.open = grid, velocity, pressed, boundary.open
        self.dt, self.density, self.tolerance = dt, density, tolerance
        self.surface_pressure = surface_pressure if presses(surface_pressure) else None
        self.box = liquid_box(phi, aligned=ALIGNED)
        self.ghosted = _with_ghosts(phi, np.abs, self.box)
        self.plane = _is_plane(boundary)
        self.acting = None

    def set_up(self, boundary, solver, terms, separating, start) -> None:
        """Assemble the system, with its terms and its bound, and its preconditioner."""
        system = self._assembled(boundary)
        self.unknown = system.unknown
        if terms is not None:
            system = system._replace(rows=terms(self.box, system.unknown))
        self.regions = closed_regions(system)
        self.rhs, self.seconds = system.rhs, {"assembly": time.perf_counter() - self.began}
        if separating is None:
            self.prepared = Prepared(system, solver, self.regions)
        else:
            # what was let go in the last step has p = s, and so has what was air
            last = None if start is None or not np.any(start) else self._relative(start) == 0.0
            last = last if self.acting is None else self.acting == 0.0
            self.prepared = Bounded(system, separating[self.box], last, solver, self.regions)
        self.seconds["set-up"] = self.prepared.seconds

    def again(self, pressure, boundary, velocity=None, dt=None, start=None) -> Projection:
        """See Projection. A surface pressure, which is in the velocity, stays with it."""
        if velocity is not None:
            self.velocity = self.pressed = as_faces(velocity, np.float32)
        self.dt = self.dt if dt is None else dt
        return self.solved(boundary, pressure if start is None else start).acted()

    def solved(self, boundary, start) -> Solved:
        """The pressure beside solids that move as they do in a boundary, from one to start with."""
        grid, regions, rhs, seconds = self.grid, self.regions, self.rhs, self.seconds
        self.rhs, self.seconds = None, {}
        if rhs is None:
            rhs = self._right_hand_side(boundary)
        lost = np.empty(0)
        if regions is not None:
            rhs, lost = self.prepared.consistent(rhs)
            lost = lost * regions.cells * grid.h * self.dt**2 / self.density
        start = None if start is None else self._relative(start)
        if self.acting is None:
            p, info = self.prepared.solve(rhs, tolerance=self.tolerance, start=start)
        else:  # the bound is on what acts in all
            rhs = rhs + self.prepared.product(self.acting)
            start = self.acting if start is None else self.acting + start
            p, info = self.prepared.solve(rhs, tolerance=self.tolerance, start=start)
            p = np.where(self.unknown, p - self.acting, 0.0)
        if regions is not None and not isinstance(self.prepared, Bounded):
            p = regions.centred(p)
        pressure = np.zeros(grid.shape)
        pressure[self.box] = p
        if self.surface_pressure is not None:
            pressure[self.box] = np.where(self.unknown, (pressure + self.surface_pressure)[self.box], 0.0)
        seconds["solve"] = info.seconds
        info = info._replace(seconds=seconds.get("set-up", 0.0) + info.seconds)
        acted = partial(self._acted, p, pressure, info, seconds, lost)
        return Solved(pressure, info, self.prepared.reply, partial(self.solved, start=pressure), acted)

    def _acted(self, p, pressure, info, seconds, lost) -> Projection:
        """What a solution p in the box does."""
        grid, began = self.grid, time.perf_counter()
        known = Faces(*(np.zeros(u.shape, np.bool_) for u in self.pressed))
        projected = Faces(*(np.array(u, np.float32) for u in self.velocity))
        scale = self.dt / (self.density * grid.h)
        _update(projected, known, self.pressed, self.open, p, self.ghosted, self.box, scale, self.plane)
        seconds |= {"update": time.perf_counter() - began}
        again = partial(self.again, pressure)
        spread = partial(_spread, grid, self.open, self.box, self.ghosted, self.plane, self.regions, self.prepared)
        return Projection(
            projected, known, pressure, info, seconds, lost, spread, again, self.prepared.reply, *self._left()
        )

    def _left(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The cells in which liquid leaves a wall, and those in which it stays, of the grid; None if it leaves none."""
        if not isinstance(self.prepared, Bounded) or not self.prepared.held.any():
            return None, None
        loose, attached = np.zeros(self.grid.shape, np.bool_), np.zeros(self.grid.shape, np.bool_)
        loose[self.box] = self.prepared.held
        attached[self.box] = self.unknown & ~loose[self.box]
        return loose, attached

    def _relative(self, pressure) -> np.ndarray:
        """p − s in the box."""
        pressure = np.asarray(pressure)[self.box]
        if self.surface_pressure is not None:
            pressure = pressure - np.broadcast_to(self.surface_pressure, self.grid.shape)[self.box]
        return pressure

    def _assembled(self, boundary) -> System:
        scale = self.density * self.grid.h / self.dt
        return _assembled(self.box, self.pressed, self.ghosted, boundary, scale, self.plane)

    def _right_hand_side(self, boundary) -> np.ndarray:
        """That of the system, if only it is wanted."""
        rhs, scale = np.empty(self.unknown.shape), self.density * self.grid.h / self.dt
        parts = rhs, self.unknown, self.pressed, boundary.open, boundary.velocity
        _sum_inflow(*_in_rows(parts, self.box, self.plane), scale)
        _add_given(rhs, self.unknown, boundary, self.box, scale)
        return rhs


def _spread(grid, open, box, ghosted, plane, regions, prepared, excess: np.ndarray) -> tuple[Faces, SolveInfo]:
    """See Projection. It must not keep the velocities alive that the problem has."""
    rhs = np.float32(grid.h**2) * excess[box]
    rhs = rhs if regions is None else regions._replace(free=np.eye(len(regions.cells))).centred(rhs)
    psi, info = prepared.solve(rhs, tolerance=SPREAD_TOLERANCE, name="density", coupled=False)
    shift = grid.zeros_faces()
    known = Faces(*(np.zeros(u.shape, np.bool_) for u in shift))
    _update(shift, known, shift, open, psi, ghosted, box, 1 / grid.h, plane)
    return shift, info


def assemble(
    grid: Grid,
    velocity: Faces,
    phi: np.ndarray,
    boundary: Boundary,
    dt: float,
    *,
    density: float = 1000.0,
    surface_pressure: float | np.ndarray = 0.0,
) -> System:
    """The system for p − s as it stands above; closed regions are not yet made consistent."""
    velocity, phi = _checked(grid, velocity, phi, boundary, dt, density, surface_pressure)
    everywhere = tuple(slice(0, n) for n in grid.shape)
    ghosted, scale = _with_ghosts(phi, np.abs, everywhere), density * grid.h / dt
    return _assembled(everywhere, velocity, ghosted, boundary, scale, _is_plane(boundary))


def _checked(grid, velocity, phi, boundary, dt, density, surface_pressure, start=None):
    """Velocity as faces, with the surface pressure's part of the acceleration; φ in float32."""
    for name, value in (("dt", dt), ("density", density)):
        if not isinstance(value, int | float | np.number) or not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name}={value!r}: expected a positive number")
    if boundary.phi.shape != grid.node_shape:
        raise ValueError(f"boundary was measured on another grid: {boundary.phi.shape} nodes, not {grid.node_shape}")
    for name, field in (("phi", phi), ("start", start), ("surface_pressure", surface_pressure)):
        if field is None or (isinstance(field, float) and not math.isnan(field)):
            continue
        if np.shape(field) not in ((), grid.shape):
            raise ValueError(f"{name} has shape {np.shape(field)}: expected one value per cell, {grid.shape}")
        if np.isnan(np.min(field)):
            raise ValueError(f"{name} is not a number (NaN) in {np.count_nonzero(np.isnan(field))} cells")
    velocity = as_faces(velocity, np.float32)
    if velocity.x.shape != grid.face_shape(0):
        raise ValueError(f"velocity.x has shape {velocity.x.shape}: expected {grid.face_shape(0)}")
    if presses(surface_pressure):
        everywhere = tuple(slice(0, n) for n in grid.shape)
        s = _with_ghosts(np.broadcast_to(np.asarray(surface_pressure, float), grid.shape), np.negative, everywhere)
        inner, scale = [slice(1, -1)] * 3, dt / (density * grid.h)
        slope = [np.diff(s[(*inner[:a], slice(None), *inner[a + 1 :])], axis=a) for a in range(3)]
        # In float64: a jump of s between two cells is cancelled by p in the end.
        velocity = Faces(*(u - scale * g for u, g in zip(velocity, slope, strict=True)))
    return velocity, required(phi, np.float32)


def presses(surface_pressure: float | np.ndarray) -> bool:
    """Whether there is any pressure on the surface. NumPy takes long to see that of one number."""
    return surface_pressure != 0.0 if isinstance(surface_pressure, float) else bool(np.any(surface_pressure))


def _with_ghosts(field: np.ndarray, mirrored, box) -> np.ndarray:
    """The field in a box, with a layer of cells on each side; beyond the domain each is `mirrored` of the one beside.

    With φ and its absolute value that is air on the far side of an open side, as far from it as the liquid on this
    side; air stays air.
    """
    padded = np.zeros(tuple(s.stop - s.start + 2 for s in box), field.dtype)
    around = [slice(max(s.start - 1, 0), min(s.stop + 1, n)) for s, n in zip(box, field.shape, strict=True)]
    padded[tuple(slice(a.start - s.start + 1, a.stop - s.start + 1) for a, s in zip(around, box, strict=True))] = field[
        tuple(around)
    ]
    for axis in range(3):
        view = padded.swapaxes(axis, 0)
        if box[axis].start == 0:
            view[0] = mirrored(view[1])
        if box[axis].stop == field.shape[axis]:
            view[-1] = mirrored(view[-2])
    return padded


def _assembled(box, velocity, ghosted, boundary, scale, plane) -> System:
    shape = tuple(s.stop - s.start for s in box)
    coupling = Faces(*(np.zeros([n + (a == d) for d, n in enumerate(shape)], np.float32) for a in range(3)))
    extra, rhs, unknown = np.empty(shape), np.empty(shape), np.empty(shape, np.bool_)
    parts = coupling, extra, rhs, unknown, velocity, ghosted, boundary.open, boundary.velocity
    _assemble(*_in_rows(parts, box, plane), scale)
    _add_given(rhs, unknown, boundary, box, scale)
    return System(coupling, extra, rhs, unknown)


def _add_given(rhs, unknown, boundary, box, scale) -> None:
    """What sources give cells besides what comes through their faces."""
    if boundary.given is not None:
        np.add(rhs, scale * boundary.given[box], out=rhs, where=unknown)


def _update(out, known, velocity, open, p, ghosted, box, scale, plane) -> None:
    """out = velocity − scale × the differences of p, in place if they are one array, and known, where p is known."""
    _subtract_gradients(*_in_rows((out, known, velocity, open, p, ghosted), box, plane), scale)


def _is_plane(boundary) -> bool:
    """Whether it is that of a plane, closed along z: then nothing is to be done on those faces."""
    return boundary.phi.shape[2] == 2 and not boundary.open.z.any() and not boundary.velocity.z.any()


def _in_rows(parts, box, plane) -> tuple:
    """Fields and faces as kernels want them, the first cell of the box, and the first axis that counts.

    In a plane, with rows of one cell along z, that takes the first place, so that kernels have rows to run along; it
    does not count. Fields without ghosts and faces along x and y stay the same memory.
    """
    i, j, k = (s.start for s in box)
    return (*map(_turned, parts), (k, i, j), 1) if plane else (*parts, (i, j, k), 0)


def _turned(part):
    if isinstance(part, Faces):
        return Faces(part.z, part.x.reshape(1, *part.x.shape[:2]), part.y.reshape(1, *part.y.shape[:2]))
    nx, ny, nz = part.shape
    return part.reshape(1, nx, ny) if nz == 1 else np.ascontiguousarray(part.transpose(2, 0, 1))


@kernel(parallel=False)
def _theta(inside, outside):
    """Part of the way from a liquid centre to an air one that is liquid."""
    return max(np.float64(inside) / (np.float64(inside) - np.float64(outside)), SMALLEST_THETA)


@kernel
def _assemble(coupling, extra, rhs, unknown, velocity, phi, open, solid_velocity, origin, lowest_axis, scale):
    """The system in a box whose first cell is `origin`, from the faces of the axes from `lowest_axis` on.

    phi has a layer of cells more: that of cell (i, j, k) of the box is at (i + 1, j + 1, k + 1).
    """
    nx, ny, nz = unknown.shape
    i0, j0, k0 = origin
    for i in prange(nx):
        for j in range(ny):
            inside, e, b, touched = phi[i + 1, j + 1], extra[i, j], rhs[i, j], unknown[i, j]
            liquid = False
            for k in range(nz):
                touched[k], e[k], b[k] = False, 0.0, 0.0
                liquid |= inside[k + 1] < 0.0
            if not liquid:
                continue
            for a in range(lowest_axis, 3):
                d0, d1, d2 = int(a == 0), int(a == 1), int(a == 2)
                below, above = phi[i + 1 - d0, j + 1 - d1], phi[i + 1 + d0, j + 1 + d1]
                m, n = i0 + np.int64(i), j0 + j
                w_below, w_above = open[a][m, n, k0:], open[a][m + d0, n + d1, k0:]
                u_below, u_above = velocity[a][m, n, k0:], velocity[a][m + d0, n + d1, k0:]
                v_below, v_above = solid_velocity[a][m, n, k0:], solid_velocity[a][m + d0, n + d1, k0:]
                c = coupling[a][i, j]
                for k in range(nz):
                    if inside[k + 1] < 0.0:
                        w0, w1 = np.float64(w_below[k]), np.float64(w_above[k + d2])
                        inflow = w0 * u_below[k] + (1.0 - w0) * v_below[k]
                        outflow = w1 * u_above[k + d2] + (1.0 - w1) * v_above[k + d2]
                        b[k] += scale * (inflow - outflow)
                        if below[k + 1 - d2] < 0.0:
                            c[k] = w0
                        else:
                            e[k] += w0 / _theta(inside[k + 1], below[k + 1 - d2])
                        if above[k + 1 + d2] >= 0.0:
                            e[k] += w1 / _theta(inside[k + 1], above[k + 1 + d2])
                        touched[k] |= w0 + w1 > 0.0
            for k in range(nz):
                if not touched[k]:
                    b[k] = 0.0


@kernel(parallel=False)
def _subtract_gradients(out, known, velocity, open, p, phi, origin, lowest_axis, scale):
    for axis in range(lowest_axis, 3):
        _subtract_gradient(out[axis], known[axis], velocity[axis], open[axis], p, phi, axis, origin, scale)


@kernel
def _sum_inflow(rhs, unknown, velocity, open, solid_velocity, origin, lowest_axis, scale):
    """The right-hand side as _assemble has it."""
    nx, ny, nz = unknown.shape
    i0, j0, k0 = origin
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            b, wanted = rhs[i, j], unknown[i, j]
            for k in range(nz):
                b[k] = 0.0
            for a in range(lowest_axis, 3):
                d0, d1, d2 = int(a == 0), int(a == 1), int(a == 2)
                m, n = i0 + i, j0 + j
                w_below, w_above = open[a][m, n, k0:], open[a][m + d0, n + d1, k0 + d2 :]
                u_below, u_above = velocity[a][m, n, k0:], velocity[a][m + d0, n + d1, k0 + d2 :]
                v_below, v_above = solid_velocity[a][m, n, k0:], solid_velocity[a][m + d0, n + d1, k0 + d2 :]
                for k in range(nz):
                    w0, w1 = np.float64(w_below[k]), np.float64(w_above[k])
                    inflow = w0 * u_below[k] + (1.0 - w0) * v_below[k]
                    outflow = w1 * u_above[k] + (1.0 - w1) * v_above[k]
                    b[k] += scale * (inflow - outflow)
            for k in range(nz):
                b[k] = b[k] if wanted[k] else 0.0


@kernel
def _subtract_gradient(out, known, velocity, open, p, phi, axis, origin, scale):
    """u −= Δt/ρ ∂p/∂a on the faces of one axis in a box, with the θ of the matrix at the surface."""
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    i0, j0, k0 = origin
    for plane in prange(p.shape[0] + d0):
        i = np.int64(plane)
        for j in range(p.shape[1] + d1):
            below, above = phi[i + 1 - d0, j + 1 - d1], phi[i + 1, j + 1]
            liquid = air = False
            for k in range(len(below)):
                liquid |= (below[k] < 0.0) | (above[k] < 0.0)
            if not liquid:  # beside the whole row
                continue
            for k in range(1, len(below) - 1):
                air |= (below[k] >= 0.0) | (above[k] >= 0.0)
            w, before = open[i0 + i, j0 + j, k0:], velocity[i0 + i, j0 + j, k0:]
            after, determined = out[i0 + i, j0 + j, k0:], known[i0 + i, j0 + j, k0:]
            faces = p.shape[2] + d2
            first, stride = 0, 1
            if not air:  # liquid on both sides, but for the two ends of a row along its axis
                _subtract_inside(after, determined, before, w, p[i - d0, j - d1], p[i, j], d2, scale)
                first, stride = (0, faces - 1) if d2 == 1 else (faces, 1)
            for k in range(first, faces, stride):
                lower, upper = below[k + 1 - d2], above[k + 1]
                if w[k] > 0.0 and (lower < 0.0 or upper < 0.0):
                    determined[k] = True
                    if upper >= 0.0:
                        difference = -p[i - d0, j - d1, k - d2] / _theta(lower, upper)
                    elif lower >= 0.0:
                        difference = p[i, j, k] / _theta(upper, lower)
                    else:
                        difference = p[i, j, k] - p[i - d0, j - d1, k - d2]
                    after[k] = np.float64(before[k]) - scale * difference


@kernel(parallel=False)
def _subtract_inside(after, determined, before, w, lower, upper, shift, scale):
    """The same in a row inside the liquid; along it, the pressure before a face is `shift` cells back."""
    after, determined, before, w, upper = after[shift:], determined[shift:], before[shift:], w[shift:], upper[shift:]
    for k in range(len(upper)):
        u = np.float32(np.float64(before[k]) - scale * (upper[k] - lower[k]))
        determined[k] |= w[k] > np.float32(0)
        after[k] = u if w[k] > np.float32(0) else after[k]
