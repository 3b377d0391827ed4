"""The time step of liquid, a list of calls from top to bottom."""

import math

import numpy as np

from paddlewheel.fluid import Clock, Fluid, from_particles
from paddlewheel.grid.extrapolate import extrapolate
from paddlewheel.grid.stencil import faces_beside
from paddlewheel.grid.window import Window, window_around
from paddlewheel.heat import Heat
from paddlewheel.items import values_at
from paddlewheel.liquids import check_room, filled, particle_surface
from paddlewheel.physics.advect import move, semi_lagrangian
from paddlewheel.physics.audit import audit
from paddlewheel.physics.carried import carried_faces
from paddlewheel.physics.deform import rates, straight_loss
from paddlewheel.physics.free_parts import free_parts
from paddlewheel.physics.pressure import presses
from paddlewheel.physics.seeding import density_error, reseed, volume_seen, volume_seen_anew
from paddlewheel.physics.separation import around, touching
from paddlewheel.physics.surface import FAR, liquid_volume
from paddlewheel.physics.transfer import sorted_by_cell, to_particles
from paddlewheel.physics.ways import fallen, joined, less_room, together
from paddlewheel.scene import Scene
from paddlewheel.types import Boundary, Faces, Particles, SolveInfo, State, StepReport

WAVES = 0.7  # a step lasts at most this × √(h/g): the shortest waves a grid can hold go unstable at 1.1
FARTHEST_APART = 2.0  # cells by which neighbours a cell apart may part in a step
FARTHEST_SHIFT = 0.25  # cells that particles are moved in a step to keep their density
SHIFT_RATE = 0.5  # part of an error of density that one step mends
MOST_SPREAD = 0.5  # part of its volume that a cell may gain or lose by that
MARGIN = 2  # cells around the liquid that are looked at besides those whose velocity is wanted


class Stepper(Fluid):
    """The time step of a scene with liquid: solids, sources and forces, and the state that they change."""

    def __init__(self, scene: Scene):
        super().__init__(scene)
        self._measured: tuple[np.ndarray, tuple[np.ndarray, float]] | None = None
        self._seen_unmoved: np.ndarray | None = None
        self._looked_at: tuple[Boundary, Window, Boundary, tuple[np.ndarray, float]] | None = None
        self._touching: tuple[np.ndarray, np.ndarray] | None = None
        self.heat = Heat(scene)

    def check(self) -> None:
        """Refuse what cannot start."""
        check_room(self.scene, self.per_cell, self.outside_solids(0.0, self.bodies.start()))

    def start(self) -> State:
        """The state at time zero: liquids and inflows filled with particles."""
        bodies = self.bodies.start()
        boundary = self.boundary(0.0, bodies)
        outside = self.outside_solids(0.0, bodies)
        check_room(self.scene, self.per_cell, outside)
        particles = filled(self.scene, self.per_cell, outside).joined(self.sources.emit(None, 0, outside)[0])
        self.solids.push_out(particles.position, boundary, 0.0, bodies)
        window, boundary, seen = self._window(particles, boundary)
        particles, first = sorted_by_cell(window.grid, particles)
        phi, _ = self._surface(window, particles, first, boundary, seen)
        old, _ = extrapolate(*from_particles(window.grid, particles, first, self.reach), 2)
        # solids may move already
        projection, _, bodies, boundary, _ = self.projected(
            window, old, phi, boundary, bodies, 0.0, 1.0, separating=self._separating(boundary)
        )
        velocity = self.continued(projection.velocity, self.beyond.known(projection, boundary), boundary, window)
        contacts = {}
        if bodies:  # they gave the liquid of their momentum, and must not do so again
            particles = to_particles(window.grid, particles, velocity, old, 1.0)
            contacts = self.bodies.let_go(bodies, boundary, phi < 0, window.grid, self.hands.holding(0.0))
        return self._state(window, 0.0, 0, velocity, None, phi, particles, None, bodies, contacts)

    def limit(self, state: State) -> float:
        """The largest step [s].

        The fastest liquid or solid crosses `cfl` cells, and if there is a surface,
        what is a cell apart parts by FARTHEST_APART, and waves stay stable.
        """
        with self.threads(state.particles):
            fastest, steepest = rates(self.grid, state.velocity, state.phi, state.within)
        fastest = max(fastest, self.fastest_solid(state))
        limits = [self.scene.method.cfl * self.grid.h / fastest] if fastest else []
        if state.phi.max() < 0 and not self.sources.giving:
            return min(limits, default=math.inf)
        g = math.hypot(*self.scene.gravity)
        limits += [FARTHEST_APART / steepest] if steepest else []
        limits += [WAVES * math.sqrt(self.grid.h / g)] if g else []
        return min(limits, default=math.inf)

    def step(self, state: State, dt: float) -> tuple[State, StepReport]:
        """The state dt [s] later, and what happened. The old one loses its arrays: they are a third of the memory."""
        with self.threads(state.particles):
            return self._step(state, dt)

    def _step(self, state, dt) -> tuple[State, StepReport]:
        method, by_grid = self.scene.method, self.scene.method.surface == "markers"
        now, number, clock = state.time + dt, state.steps + 1, Clock()
        liquid = state.phi, state.velocity
        bodies, contacts = self.bodies.moved(state.bodies, state.contacts, state.time, dt, liquid)
        del liquid
        flow, pressure, particles, shift = state.release()
        clock.stop("contact")

        solids = self.boundary(now, bodies)
        clock.stop("solids")

        stuck = self._move(particles.position, flow, shift, solids, state, bodies, dt)
        del shift
        clock.stop("move")

        particles, inflow, outflow, full = self.exchanged(particles, solids, bodies, now, dt, number)
        clock.stop("sources")

        window, boundary, seen = self._window(particles, solids)
        grid, pressure = window.grid, window.cells(pressure)
        flow = window.faces(flow) if by_grid else None
        clock.stop("window")

        particles, first = sorted_by_cell(grid, particles)
        clock.stop("sort")

        phi, crowding = self._surface(window, particles, first, boundary, seen)
        clock.stop("surface")

        if by_grid:
            given = _open_beside(phi < 0, boundary)
            if method.advection == "maccormack":
                old = carried_faces(grid, flow, flow, boundary, dt)
            else:
                old = semi_lagrangian(grid, flow, dt, where=given)
        else:
            old, given = from_particles(grid, particles, first, self.reach)
            old, _ = extrapolate(old, given, 2)
        del flow
        clock.stop("transfer")

        velocity = self._forced(grid, old, phi, now, dt)
        air = self.surface_pressure(grid, now)
        began, pulled = bodies, self.bodies.pulled(bodies, now, dt)
        pulled = self.borne(pulled, grid, pressure, state.time, boundary, phi, old, dt)
        clock.stop("forces")

        holds = self.hands.at(now, dt)
        if self.friction.acts and not bodies and phi.max() < 0 and not method.wall_separation:  # no surface but walls
            projection, solves = self.pressed(window, velocity, phi, boundary, pressure, dt), []
        else:
            projection, solves, bodies, boundary, rest = self.projected(
                window, velocity, phi, boundary, pulled, now, dt, start=pressure,
                surface_pressure=air, holds=holds, known=state.contacts,
                separating=self._separating(boundary),
            )  # fmt: skip
        clock.stop("pressure")

        if self.heat.acts:
            particles, conduction = self.heat.spread(window, particles, first, phi, boundary, now, dt)
            solves += conduction
            clock.stop("heat")

        rubbed = None
        if self.friction.acts:
            value = self.friction.value(window, particles, first)
            projection, rubbed, more, bodies, boundary = self.rubbed(
                window, projection, given, value, phi, boundary, bodies, holds, now, dt,
                separating=self._separating(boundary), air=air,
            )  # fmt: skip
            solves += more
            clock.stop("viscosity")
        if bodies:
            contacts |= rest | self.bodies.free(pulled, bodies, dt) | self.bodies.swing(began, bodies, dt, rest, holds)

        worst, energy = self._audited(projection, phi, boundary, window)
        warnings = self.warnings(stuck, projection)
        clock.stop("report")

        pressure, spread = projection.pressure, projection.spread
        known = self.beyond.known(projection, boundary, rubbed)
        velocity = self.continued(projection.velocity, known, boundary, window)
        del projection  # and the velocities it has
        clock.stop("extrapolate")

        if by_grid:  # markers have the velocity of the flow
            particles = to_particles(grid, particles, velocity, old, 0.0, first)
        else:
            particles = self._gathered(window, particles, first, velocity, old, boundary, air, now, dt)
        falling = fallen(old, velocity, self.scene.gravity, dt)
        del old
        clock.stop("gather")

        excess = SHIFT_RATE * crowding + straight_loss(grid, velocity, phi, boundary.open, dt)
        del crowding
        shift, spread_info = self._spread(spread, excess, falling, known, boundary)
        del spread, excess  # and the matrix
        shift = self.beyond.shift(shift, known, boundary)
        scattered = reseed(grid, particles.position, first, boundary.phi, per_cell=self.per_cell, number=number)
        if scattered is not None:
            self.solids.push_out(particles.position, solids, now, bodies, scattered)
        clock.stop("density")

        report = StepReport(
            dt, 1, worst, liquid_volume(phi, boundary.phi, grid.h), energy, inflow, outflow,
            full + warnings, [*solves, spread_info], clock.seconds,
        )  # fmt: skip
        clock.stop("report")
        state = self._state(window, now, number, velocity, pressure, phi, particles, shift, bodies, contacts)
        clock.stop("window")
        return state, report

    def _move(self, position, flow, shift, solids, state, bodies, dt) -> int:
        """Carry particles of a state for dt [s], in place; how many are left in a solid. Uses up the shift.

        Straight on: u is that of one time, and its bumps move along with the particles, which would cross them on a
        way through it, by the midpoint rule say, and gather. For the volume that loses the last step has made room.
        """
        now, near = state.time + dt, np.empty(len(position), np.bool_)
        passing = self.solids.passing(state.time, now, state.bodies, bodies)
        move(
            self.grid, position, joined(flow, shift, dt, state.within), solids, dt,
            open_sides=self.scene.open_sides, stages=1, centroids=self.centroids(solids), passing=passing,
            near=near,
        )  # fmt: skip
        return self.solids.push_out(position, solids, now, bodies, near).stuck

    def _window(self, particles, boundary) -> tuple[Window, Boundary, tuple[np.ndarray, float]]:
        """The part of the domain that has to be looked at, and the boundary and the open volume in it; see `_seen`."""
        window = window_around(self.grid, particles.position, self.beyond.layers + MARGIN, boundary)
        if self._looked_at is None or self._looked_at[0] is not boundary or self._looked_at[1] != window:
            self._looked_at = None  # its memory is free first
            part, (seen, room) = window.boundary(boundary, self.solids.moving), self._seen(boundary)
            self._looked_at = boundary, window, part, (window.cells(seen), room)
        return window, *self._looked_at[2:]

    def _state(self, window, time, steps, velocity, pressure, phi, particles, shift, bodies, contacts) -> State:
        """The state in the domain from what is known in a window; None is zero."""
        grid, h = self.grid, self.grid.h
        return State(
            time, steps, window.on_faces(velocity),
            np.zeros(grid.shape) if pressure is None else window.on_cells(pressure),
            window.on_cells(phi, np.float32(FAR * h)), particles,
            grid.zeros_faces() if shift is None else window.on_faces(shift),
            bodies, contacts, window.within,
        )  # fmt: skip

    def _surface(self, window, particles, first, boundary, seen) -> tuple[np.ndarray, np.ndarray]:
        """φ [m] of the particles, extended into the solids, and the relative excess of their density."""
        grid, drains, per_cell, (seen, room) = window.grid, self.sources.drains, self.per_cell, seen
        phi, counted = particle_surface(
            grid, particles, first, boundary, seen, room, per_cell=per_cell,
            drains=None if drains is None else window.cells(drains), gaps=self.scene.method.wall_separation,
        )  # fmt: skip
        return phi, density_error(counted, seen, phi, grid.h, per_cell=per_cell)

    def _seen(self, boundary) -> tuple[np.ndarray, float]:
        """The open volume about each cell centre [cells], and the sum of all; measured anew where solids move."""
        if self._measured is None or self._measured[0] is not boundary.phi:
            seen = self._volume_seen(boundary)
            self._measured = boundary.phi, (seen, float(seen.sum(dtype=np.float64)))
        return self._measured[1]

    def _volume_seen(self, boundary) -> np.ndarray:
        """See `_seen`; where bodies are all that moves, only what sees them is looked at again."""
        unmoved = self.solids.unmoved
        if unmoved is None or not boundary.bodies:
            return volume_seen(boundary.phi, reach=self.reach)
        if self._seen_unmoved is None:
            self._seen_unmoved = volume_seen(unmoved, reach=self.reach)
        boxes = [faces.nodes for faces in boundary.bodies if faces.filled.x.size]
        return volume_seen_anew(self._seen_unmoved, boundary.phi, boxes, reach=self.reach)

    def _forced(self, grid, velocity, phi, time, dt) -> Faces:
        """Velocity after gravity and the scene's forces acted for dt; components that none acts on are not copied."""
        pull = [np.float32(g * dt) for g in self.scene.gravity]
        velocity = Faces(*(u + g if g or self.forces else u for u, g in zip(velocity, pull, strict=True)))
        if self.forces:
            self.push(grid, velocity, faces_beside(phi < 0), time, dt)
        return velocity

    def _gathered(self, window, particles, first, velocity, old, boundary, air, now, dt) -> Particles:
        """The particles with the velocity of the faces, what touches nothing with the momentum that forces gave it."""
        parts = None if presses(air) else free_parts(window.grid, first, self.sources.opened(boundary, window).open)
        before = None if parts is None else parts.sums(particles.velocity)
        particles = to_particles(window.grid, particles, velocity, old, self.scene.method.flip, first)
        if parts is not None:
            gained = np.tile(dt * np.array(self.scene.gravity), (parts.count, 1))
            if self.forces:
                part = parts.of_particles()
                inside = part >= 0
                for name, item in self.forces:
                    pull = values_at(name, item, particles.position[inside], now)
                    gained += dt * parts.means(pull, part[inside])
            parts.restore(particles.velocity, before, gained)
        return particles

    def _spread(self, spread, excess, falling, known, boundary) -> tuple[Faces, SolveInfo]:
        """The displacement that makes room for an excess of volume, `falling` included, and how its solve went.

        No farther than particles may go. The excess is used up.
        """
        less_room(excess, falling, boundary.open, self.grid.h)
        if known.loose is not None:  # beside a gap there is room for a good reason
            excess[around(known.loose) & (excess < 0)] = 0
        shift, info = spread(np.clip(excess, -MOST_SPREAD, MOST_SPREAD, out=excess))
        together(shift, falling, FARTHEST_SHIFT * self.grid.h)
        return shift, info

    def _separating(self, boundary) -> np.ndarray | None:
        """The cells at walls that liquid may leave, measured anew where solids move; None if the method lets it not."""
        if not self.scene.method.wall_separation:
            return None
        if self._touching is None or self._touching[0] is not boundary.phi:
            self._touching = boundary.phi, touching(boundary)
        return self._touching[1]

    def _audited(self, projection, phi, boundary, window) -> tuple[float, float]:
        """The largest divergence of a liquid cell [1/s], other than those that leave a wall, and the energy [J]."""
        opened, density = self.sources.opened(boundary, window), self.scene.density
        worst, energy = audit(window.grid, projection.velocity, phi, opened, density)
        if projection.loose is not None:
            closed = np.where(projection.loose, np.float32(self.grid.h), phi)
            worst, _ = audit(window.grid, projection.velocity, closed, opened, density)
        return worst, energy


def _open_beside(cells, boundary) -> Faces:
    """The faces beside some cells that are not closed, bool."""
    return Faces(*(f & (w > 0) for f, w in zip(faces_beside(cells), boundary.open, strict=True)))
