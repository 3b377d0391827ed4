"""The time step of smoke, a list of calls from top to bottom.

Gas fills all that is not solid; smoke is what it carries. Gravity does not act
on the gas itself: in all of it that is a pressure, and what is called pressure
here is without it. So bodies are pulled less, by the weight of the gas they
displace, and smoke by what it is heavier or lighter.

Velocity and smoke are carried by particles all over the domain (FLIP or APIC,
as in B07), or by the grid (semi-Lagrangian or MacCormack). Particles keep what
they have; they are spread evenly by the same displacement that keeps the volume
of liquids, and new ones are set out only where gas comes in.

What is carried is the velocity as it would be after half of what forces and
pressure did to it in the last step, m = ½ Δt a, which is taken off again where
it arrives,

    u' = A (u + m) − m + Δt a' ,      a = f − ∇p/ρ

A being the motion along the flow. That is of second order in Δt; without it a
step is of first order whatever carries, and takes (ωΔt)² of the energy of what
turns by ωΔt in it. It is the reflection of Zehnder et al. 2018, by the last
step's a, so that what is wrong with one p does not come back in the next.
"""

import math

import numpy as np

from paddlewheel.emitters import Emitters
from paddlewheel.fluid import Clock, Fluid, from_particles
from paddlewheel.grid.cells import open_cells, open_volumes
from paddlewheel.grid.extrapolate import extrapolate
from paddlewheel.grid.window import Window
from paddlewheel.physics.advect import move
from paddlewheel.physics.audit import audit
from paddlewheel.physics.buoyancy import decay, lifted
from paddlewheel.physics.carried import carried, carried_faces
from paddlewheel.physics.deform import rates
from paddlewheel.physics.seeding import density_error, refill, reseed, seed, volume_seen
from paddlewheel.physics.surface import FAR
from paddlewheel.physics.transfer import density, sorted_by_cell, to_cells, to_particles
from paddlewheel.physics.vorticity import confined
from paddlewheel.scene import Scene
from paddlewheel.types import AXES, Boundary, Faces, Particles, State, StepReport

FARTHEST_SHIFT = 0.25  # cells that particles are moved in a step to spread them
SHIFT_RATE = 0.5  # part of an error of density that one step mends
STAGES = 2  # of Runge–Kutta


class SmokeStepper(Fluid):
    """The time step of a scene with smoke: solids, sources and forces, and the state that they change."""

    def __init__(self, scene: Scene):
        super().__init__(scene)
        self.emitters = Emitters(scene)
        self._window = Window(scene.grid, scene.grid)
        self._everywhere = np.full(scene.grid.shape, -FAR * scene.grid.h, np.float32)
        self._by_particles = scene.method.surface == "particles"
        self._entrance = _beside_open_sides(scene, self.beyond.layers)
        self._last: tuple[float, Boundary] | None = None
        self._room: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None

    def check(self) -> None:
        """Refuse what cannot start."""
        self.emitters.check(open_cells(self.boundary(0.0, self.bodies.start()).phi))

    def start(self) -> State:
        """The state at time zero: smoke in its shapes, and gas that moves as they say, if solids let it."""
        grid, bodies = self.grid, self.bodies.start()
        boundary = self.boundary(0.0, bodies)
        open, outside = open_cells(boundary.phi), self.outside_solids(0.0, bodies)
        self.emitters.check(open)
        smoke, heat = (np.zeros(grid.shape, np.float32) for _ in range(2))
        velocity, markers = grid.zeros_faces(), self.emitters.markers(0, outside)
        self.emitters.onto_cells(smoke, heat, open)
        self.emitters.onto_faces(velocity, boundary.open)
        projection, _, bodies, boundary, _ = self.projected(
            self._window, velocity, self._everywhere, boundary, bodies, 0.0, 1.0
        )
        velocity = self.continued(projection.velocity, self.beyond.known(projection, boundary), boundary, self._window)
        particles = Particles.at(np.empty((0, 3)), (0, 0, 0))
        if self._by_particles:
            position = seed(grid, lambda points: np.where(outside(points), -1, 1), per_cell=self.per_cell)
            particles = self._particles(position, velocity)
            particles, first = sorted_by_cell(grid, particles)
            self.emitters.onto_particles(particles, first)
        return State(
            0.0, 0, velocity, np.zeros(grid.shape), self._everywhere, particles, grid.zeros_faces(), bodies, {},
            density=smoke, temperature=heat, markers=markers, ahead=grid.zeros_faces(),
        )  # fmt: skip

    def limit(self, state: State) -> float:
        """The largest step [s]: the fastest gas or solid, or what buoyancy makes of it, crosses `cfl` cells.

        And not more than a source is thick: what passes it unseen would have no smoke.
        """
        with self.threads(state.particles):
            fastest, _ = rates(self.grid, state.velocity, state.phi)
        fastest = max(fastest, self.fastest_solid(state), self.emitters.fastest)
        lift, (alpha, beta) = 0.0, self.scene.buoyancy
        if any(self.scene.gravity):
            lift = abs(alpha) * _largest(state.density) + abs(beta) * _largest(state.temperature)
        way = min(self.scene.method.cfl * self.grid.h, self.emitters.thinnest)
        if not fastest + lift:
            return math.inf
        return 2 * way / (fastest + math.sqrt(fastest**2 + 4 * lift * way))  # Δt (u + lift Δt) = way

    def step(self, state: State, dt: float) -> tuple[State, StepReport]:
        """The state dt [s] later, and what happened. The old one loses its arrays."""
        with self.threads(state.particles):
            return self._step(state, dt)

    def _step(self, state, dt) -> tuple[State, StepReport]:
        scene, grid = self.scene, self.grid
        now, number, clock = state.time + dt, state.steps + 1, Clock()
        before = self._boundary_before(state)
        flow, pressure, particles, shift = state.release()
        smoke, heat, markers, ahead = state.density, state.temperature, state.markers, state.ahead

        bodies, contacts = self.bodies.moved(state.bodies, state.contacts, state.time, dt)
        clock.stop("contact")

        boundary = self.boundary(now, bodies)
        self._last = now, boundary
        open, volume, seen = self._measured(boundary)
        clock.stop("solids")

        inflow, outflow, warnings = 0.0, 0.0, []
        stuck = self._move(markers, flow, boundary, state, bodies, dt)
        markers = self._inside(markers)
        if self._by_particles:
            stuck += self._move(particles.position, flow, boundary, state, bodies, dt, shift)
            particles, inflow, outflow, warnings = self.exchanged(particles, boundary, bodies, now, dt, number)
        clock.stop("move")

        first = counted = None
        if self._by_particles:
            particles, first = sorted_by_cell(grid, particles)
            clock.stop("sort")
            old, _ = extrapolate(*from_particles(grid, particles, first), self.beyond.layers)
            clock.stop("transfer")
            self.emitters.onto_particles(particles, first, dt)
            decay(particles.smoke[:, 0], scene.dissipation, dt)
            decay(particles.smoke[:, 1], scene.cooling, dt)
            counted = density(grid, particles.position, first)
            smoke, heat = to_cells(grid, particles, first, counted)
            smoke[~open] = heat[~open] = 0
        else:
            args = {"before": before, "open_sides": scene.open_sides, "scheme": scene.method.advection}
            old = carried_faces(grid, _sum(flow, ahead), flow, boundary, dt, **args)
            clock.stop("transfer")
            smoke, heat = carried(grid, (smoke, heat), flow, boundary, dt, ambient=(0.0, 0.0), **args)
            self.emitters.onto_cells(smoke, heat, open, dt)
            decay(smoke, scene.dissipation, dt)
            decay(heat, scene.cooling, dt)
        clock.stop("smoke")

        given = self._given(old, ahead, boundary, dt)
        velocity = self._forced(given, smoke, heat, boundary, open, now, dt)
        pulled = self.bodies.pulled(bodies, now, dt)
        clock.stop("forces")

        projection, solves, bodies, boundary, rest = self.projected(
            self._window, velocity, self._everywhere, boundary, pulled, now, dt, start=pressure,
            holds=self.hands.at(now, dt), known=state.contacts,
        )  # fmt: skip
        if bodies:
            contacts |= rest | self.bodies.free(pulled, bodies, dt)
        clock.stop("pressure")

        opened = self.sources.opened(boundary, self._window)
        worst, energy = audit(grid, projection.velocity, self._everywhere, opened, scene.density)
        warnings += self.warnings(stuck, projection)
        clock.stop("report")

        known = self.beyond.known(projection, boundary)
        velocity = self.continued(projection.velocity, known, boundary, self._window)
        ahead = Faces(*(np.float32(0.5) * (u - v) for u, v in zip(velocity, given, strict=True)))
        clock.stop("extrapolate")

        if self._by_particles:
            carried_on = _sum(velocity, ahead)
            particles = to_particles(grid, particles, carried_on, old, scene.method.flip)
            clock.stop("gather")
            shift, info = self._spread(projection, counted, seen, known, boundary)
            if reseed(grid, particles.position, first, boundary.phi, per_cell=self.per_cell, number=number):
                self.solids.push_out(particles.position, boundary, now, bodies)
            particles = self._come_in(particles, first, carried_on, volume, boundary, number)
            solves.append(info)
            clock.stop("density")

        markers = np.concatenate([markers, self.emitters.markers(number, self.outside_solids(now, bodies), dt)])
        total = self._amount(particles, smoke, volume)
        report = StepReport(
            dt, 1, worst, float(volume.sum(dtype=np.float64)) * grid.h**3, energy, inflow, outflow, warnings, solves,
            clock.seconds, total,
        )  # fmt: skip
        clock.stop("report")
        state = State(
            now, number, velocity, projection.pressure, self._everywhere, particles, shift, bodies, contacts,
            density=smoke, temperature=heat, markers=markers, ahead=ahead,
        )  # fmt: skip
        return state, report

    def _boundary_before(self, state) -> Boundary:
        """The solids at the time of a state; those of the last step, unless it was another one's."""
        if self._last is not None and self._last[0] == state.time:
            return self._last[1]
        return self.boundary(state.time, state.bodies)

    def _move(self, position, flow, boundary, state, bodies, dt, shift=None) -> int:
        """Carry points for dt [s], in place; how many ended deep in a solid. Uses up the shift."""
        if not len(position):
            return 0
        with_solids = None
        if self.solids.moving:
            with_solids = self.solids.carried(position, state.time, state.time + dt, state.bodies, bodies)
        if shift is not None:
            for u, way in zip(flow, shift, strict=True):
                way *= np.float32(1 / dt)
                way += u
            flow = shift
        stuck = move(
            self.grid, position, flow, boundary, dt,
            open_sides=self.scene.open_sides, stages=STAGES, centroids=self.centroids(boundary), carried=with_solids,
        )  # fmt: skip
        self.solids.push_out(position, boundary, state.time + dt, bodies)
        return stuck

    def _inside(self, position) -> np.ndarray:
        """The positions that have not left through an open side."""
        if not self.scene.open_sides or not len(position):
            return position
        return position[((position >= 0) & (position <= np.array(self.grid.size, np.float32))).all(axis=1)]

    def _given(self, old, ahead, boundary, dt) -> Faces:
        """What was carried, without what it was ahead, and after sources gave their velocity for dt."""
        velocity = Faces(*(u - more for u, more in zip(old, ahead, strict=True)))
        self.emitters.onto_faces(velocity, boundary.open, dt)
        return velocity

    def _forced(self, given, smoke, heat, boundary, open, time, dt) -> Faces:
        """Velocity after buoyancy, confinement and the scene's forces acted for dt."""
        scene, (alpha, beta) = self.scene, self.scene.buoyancy
        velocity = Faces(*map(np.copy, given))
        velocity = lifted(velocity, smoke, heat, dt, alpha=alpha, beta=beta, gravity=scene.gravity, among=open)
        if scene.vorticity:
            velocity = confined(velocity, self.grid.h, dt, scene.vorticity, open)
        self.push(self.grid, velocity, Faces(*(w > 0 for w in boundary.open)), time, dt)
        return velocity

    def _spread(self, projection, counted, seen, known, boundary):
        """The displacement [m] that spreads particles evenly, and how its solve went."""
        excess = density_error(counted, seen, self._everywhere, self.grid.h, per_cell=self.per_cell)
        shift, info = projection.spread(np.float32(SHIFT_RATE) * excess)
        most = np.float32(FARTHEST_SHIFT * self.grid.h)
        for s in shift:
            np.clip(s, -most, most, out=s)
        return self.beyond.shift(shift, known, boundary), info

    def _come_in(self, particles, first, flow, volume, boundary, number) -> Particles:
        """The particles, and new ones at open sides where gas comes in, with its velocity and without smoke."""
        if self._entrance is None:
            return particles
        room = volume * self._entrance
        position = refill(self.grid, first, room, boundary.phi, per_cell=self.per_cell, number=number)
        return particles.joined(self._particles(position, flow)) if len(position) else particles

    def _amount(self, particles, smoke, volume) -> float:
        """[m³] that all smoke would fill at density 1: that which particles carry, if they do."""
        if self._by_particles:
            return float(particles.smoke[:, 0].sum(dtype=np.float64)) * self.grid.h**3 / self.per_cell
        return float((smoke * volume).sum(dtype=np.float64)) * self.grid.h**3

    def _particles(self, position, velocity) -> Particles:
        """Particles with a flow's velocity, without smoke."""
        affine = self.scene.method.advection == "apic"
        particles = Particles.at(position, (0, 0, 0), affine, np.zeros((len(position), 2)))
        return to_particles(self.grid, particles, velocity)

    def _measured(self, boundary: Boundary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cells with their centre outside solids, bool; their open volume, 0 in the others, and what hats see of it."""
        if self._room is None or self._room[0] is not boundary.phi:
            open = open_cells(boundary.phi)
            seen = volume_seen(boundary.phi) if self._by_particles else np.empty(0)
            self._room = boundary.phi, open, np.where(open, open_volumes(boundary.phi), np.float32(0)), seen
        return self._room[1:]


def _beside_open_sides(scene, layers) -> np.ndarray | None:
    """The cells within so many layers of an open side, bool; None if all are closed."""
    if not scene.open_sides:
        return None
    near = np.zeros(scene.grid.shape, bool)
    for side in scene.open_sides:
        across = np.moveaxis(near, AXES.index(side[1]), 0)
        across[slice(layers) if side[0] == "-" else slice(-layers, None)] = True
    return near


def _largest(field) -> float:
    return float(np.abs(field).max(initial=0.0))


def _sum(velocity, more) -> Faces:
    return Faces(*(u + v for u, v in zip(velocity, more, strict=True)))
