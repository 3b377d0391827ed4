"""The time step of smoke, a list of calls from top to bottom.

Gas fills all that is not solid; smoke is what it carries. Gravity does not act
on the gas itself: in all of it that is a pressure, and what is called pressure
here is without it. So bodies are pulled less, by the weight of the gas they
displace, and smoke by what it is heavier or lighter.

Velocity and smoke are carried by particles all over the domain (FLIP or APIC,
as in B07), or by the grid (semi-Lagrangian or MacCormack). What is carried is the
velocity as it would be after half of what forces and pressure did to it in the
last step, m = ½ Δt a, which is taken off again where it arrives,

    u' = A (u + m) − m + Δt a' ,      a = f − ∇p/ρ

A being the motion along the flow. That is of second order in Δt; without it a
step is of first order whatever carries, and takes (ωΔt)² of the energy of what
turns by ωΔt in it. It is the reflection of Zehnder et al. 2018, by the last
step's a, so that what is wrong with one p does not come back in the next.
"""

import math

import numpy as np

from paddlewheel.bodies import Coupling
from paddlewheel.carriers import Brought, ByGrid, ByParticles, Step, moved
from paddlewheel.emitters import Emitters
from paddlewheel.fluid import Clock, Fluid
from paddlewheel.grid.cells import open_cells, open_volumes
from paddlewheel.grid.stencil import mixed
from paddlewheel.grid.window import Window
from paddlewheel.physics import ambient
from paddlewheel.physics.audit import audit
from paddlewheel.physics.buoyancy import lifted
from paddlewheel.physics.pressure import Projection
from paddlewheel.physics.surface import FAR
from paddlewheel.physics.vorticity import confined
from paddlewheel.scene import Scene
from paddlewheel.types import AXES, Boundary, Faces, State, StepReport, check_memory

FREE = 0.5  # part of gravity up to which gas may hold a body back, for that to bounce as what falls freely
BYTES_PER_CELL = 350  # a step needs besides particles: measured 331–381 at 64³ and 96³
_COPIES = 2  # of the particles: with 8 in a cell 862 by FLIP, 1438 by APIC; measured 817–903 and 1393–1434


class SmokeStepper(Fluid):
    """The time step of a scene with smoke: solids, sources and forces, and the state that they change."""

    def __init__(self, scene: Scene):
        super().__init__(scene)
        self.emitters = Emitters(scene)
        carrier = ByParticles if scene.method.surface == "particles" else ByGrid
        self.carrier = carrier(self, self.emitters)
        self._window = Window(scene.grid, scene.grid)
        self._everywhere = np.full(scene.grid.shape, -FAR * scene.grid.h, np.float32)
        self._kept: Projection | None = None
        self._last: tuple[float, Boundary] | None = None
        self._room: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def check(self) -> None:
        """Refuse what cannot start."""
        self._refuse(open_cells(self.boundary(0.0, self.bodies.start()).phi))

    def start(self) -> State:
        """The state at time zero: smoke in its shapes, and gas that moves as they say, if solids let it."""
        grid, bodies = self.grid, self.bodies.start()
        boundary = self.boundary(0.0, bodies)
        open, outside = open_cells(boundary.phi), self.outside_solids(0.0, bodies)
        self._refuse(open)
        smoke, heat = (np.zeros(grid.shape, np.float32) for _ in range(2))
        velocity = grid.zeros_faces()
        self.emitters.onto_cells(smoke, heat, open)
        self.emitters.onto_faces(velocity, boundary.open)
        projection, _, bodies, boundary, _ = self.projected(
            self._window, velocity, self._everywhere, boundary, bodies, 0.0, 1.0
        )
        velocity = self.continued(projection.velocity, self.beyond.known(projection, boundary), boundary, self._window)
        return State(
            0.0, 0, velocity, np.zeros(grid.shape), self._everywhere, self.carrier.start(velocity, outside),
            grid.zeros_faces(), bodies, {}, density=smoke, temperature=heat, markers=self.emitters.markers(0, outside),
            ahead=grid.zeros_faces(), tracked=ambient.at_start(self.scene.open_sides, velocity),
        )  # fmt: skip

    def limit(self, state: State) -> float:
        """The largest step [s]: the fastest gas or solid, or what buoyancy makes of it, crosses `cfl` cells.

        And not more than a source is thick: what passes it unseen would have no smoke.
        """
        fastest = max(*map(_largest, state.velocity), self.fastest_solid(state), self.emitters.fastest)
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
        grid, now, number, clock = self.grid, state.time + dt, state.steps + 1, Clock()

        bodies, contacts = self.bodies.moved(state.bodies, state.contacts, state.time, dt)
        clock.stop("contact")

        before, boundary = self._boundaries(state, bodies, now)
        open, volume = self._measured(boundary)
        beyond = state.tracked or ambient.at_start(self.scene.open_sides, state.velocity)
        step = Step(state, dt, number, bodies, before, boundary, open, volume, beyond)
        clock.stop("solids")

        flow, pressure, particles, shift = state.release()
        stuck = moved(self, step, state.markers, flow)
        markers = self._inside(state.markers)
        brought = self.carrier.carry(step, flow, particles, shift, clock)

        given = self._given(brought.velocity, state.ahead, boundary, dt)
        velocity = self._forced(given, brought, boundary, open, now - 0.5 * dt, dt)  # forces as in the middle of it
        pulled = self.bodies.pulled(bodies, now, dt)
        pulled = self.borne(pulled, grid, pressure, state.time, boundary, self._everywhere, given, dt)
        clock.stop("forces")

        holds = self.hands.at(now, dt)
        if self.friction.acts and not bodies:
            projection = self.pressed(self._window, velocity, self._everywhere, boundary, pressure, dt)
            solves, after = [], ()
        else:
            projection, solves, after, boundary, rest = self.projected(
                self._window, velocity, self._everywhere, boundary, pulled, now, dt,
                start=pressure, holds=holds, known=state.contacts,
            )  # fmt: skip
        clock.stop("pressure")

        rubbed = None
        if self.friction.acts:
            projection, rubbed, more, after, boundary = self.rubbed(
                self._window, projection, projection.known, self.friction.same, self._everywhere, boundary, after,
                holds, now, dt,
            )  # fmt: skip
            solves += more
            clock.stop("viscosity")
        if bodies:
            contacts |= rest | self.bodies.free(pulled, after, dt, FREE)
            contacts |= self.bodies.swing(bodies, after, dt, rest, holds)
            contacts |= self.bodies.acceleration(bodies, after, dt, [hold.body for hold in holds])
        bodies = after

        opened = self.sources.opened(boundary, self._window)
        worst, energy = audit(grid, projection.velocity, self._everywhere, opened, self.scene.density)
        inflow, outflow = self._exchanged(projection.velocity, boundary, dt)
        warnings = [*brought.warnings, *self.warnings(stuck + brought.stuck, projection)]
        clock.stop("report")

        known = self.beyond.known(projection, boundary, rubbed)
        velocity = self.continued(projection.velocity, known, boundary, self._window)
        ahead = mixed(0.5, velocity, -0.5, given)
        clock.stop("extrapolate")

        beyond = self._pushed(beyond, boundary, ahead, now - 0.5 * dt, dt)
        particles, shift, spread = self.carrier.settle(step, brought, velocity, ahead, beyond, projection, known, clock)
        new = self.emitters.markers(number, self.outside_solids(now, bodies), dt)
        report = StepReport(
            dt, 1, worst, float(volume.sum(dtype=np.float64)) * grid.h**3, energy, inflow, outflow,
            warnings, solves + spread, clock.seconds, self.carrier.amount(brought, particles, volume),
        )  # fmt: skip
        state = State(
            now, number, velocity, projection.pressure, self._everywhere, particles, shift, bodies, contacts,
            density=brought.smoke, temperature=brought.heat, markers=np.concatenate([markers, new]), ahead=ahead,
            tracked=beyond,
        )  # fmt: skip
        clock.stop("report")
        return state, report

    def projected(self, window, velocity, phi, boundary, bodies, time, dt, **rest) -> Coupling:
        """As of any fluid; but where no solid moves the matrix stays the same, and its set-up is kept."""
        if self._kept is None or bodies:
            coupling = super().projected(window, velocity, phi, boundary, bodies, time, dt, **rest)
            self._kept = None if self.solids.moving or bodies else coupling.projection
            return coupling
        opened = self.sources.opened(boundary, window)
        projection = self._kept.again(opened, velocity, dt, rest.get("start"))
        return Coupling(projection, [projection.info], (), boundary, {})

    def _refuse(self, open) -> None:
        """Raise a ValueError if smoke has no room among the open cells, or what carries it none in memory."""
        self.emitters.check(open, self.solids.moving)
        by_particles = self.scene.method.surface == "particles"
        check_memory(self.grid, memory_of_gas(self.scene, self.per_cell * np.count_nonzero(open) * by_particles))

    def _boundaries(self, state, bodies, now) -> tuple[Boundary, Boundary]:
        """The solids at the time of a state, which the last step may know, and those at the end of this one."""
        before = self._last[1] if self._last is not None and self._last[0] == state.time else None
        if before is None:
            before = self.boundary(state.time, state.bodies)
        self._last = now, self.boundary(now, bodies)
        return before, self._last[1]

    def _inside(self, position) -> np.ndarray:
        """The positions that have not left through an open side."""
        if not self.scene.open_sides or not len(position):
            return position
        return position[((position >= 0) & (position <= np.array(self.grid.size, np.float32))).all(axis=1)]

    def _exchanged(self, velocity, boundary, dt) -> tuple[float, float]:
        """The volumes of gas [m³] that came in and that left in dt [s]: what sources give leaves by open sides."""
        flows = [np.zeros(0)]
        for side in self.scene.open_sides:
            a, end, out = AXES.index(side[1]), *((0, -1) if side[0] == "-" else (-1, 1))
            u, w = (np.moveaxis(field[a], a, 0)[end].astype(float) for field in (velocity, boundary.open))
            flows.append((out * w * u).ravel())
        flow = np.concatenate(flows) * self.grid.h**2 * dt
        came, left = float(-flow.sum(where=flow < 0)), float(flow.sum(where=flow > 0))
        return max(came, left) if self.sources.giving else came, left

    def _given(self, carried, ahead, boundary, dt) -> Faces:
        """What was carried, without what it was ahead, and after sources gave their velocity for dt."""
        velocity = mixed(1, carried, -1, ahead)
        self.emitters.onto_faces(velocity, boundary.open, dt)
        return velocity

    def _forced(self, given, brought: Brought, boundary, open, time, dt) -> Faces:
        """Velocity after buoyancy, confinement and the scene's forces acted for dt."""
        scene, (alpha, beta) = self.scene, self.scene.buoyancy
        velocity = lifted(
            given, brought.smoke, brought.heat, dt, alpha=alpha, beta=beta, gravity=scene.gravity, among=open
        )
        velocity = Faces(*(u.copy() if u is before else u for u, before in zip(velocity, given, strict=True)))
        if scene.vorticity:
            velocity = confined(velocity, self.grid.h, dt, scene.vorticity, open)
        self.push(self.grid, velocity, Faces(*(w > 0 for w in boundary.open)), time, dt)
        return velocity

    def _pushed(self, beyond, boundary, ahead, time, dt) -> dict[str, np.ndarray]:
        """The velocity beyond open sides after the scene's forces acted for dt, where gas at the sides follows them."""
        sides = self.scene.open_sides
        if not self.forces or not sides:
            return beyond
        where, push = Faces(*(np.zeros(m.shape, bool) for m in ahead)), self.grid.zeros_faces()
        for side in sides:
            for there in where:
                ambient.layer(there, side)[...] = True
        self.push(self.grid, push, where, time, dt)
        return ambient.pushed(beyond, sides, boundary.open, push, mixed(2, ahead, 0, ahead))

    def _measured(self, boundary: Boundary) -> tuple[np.ndarray, np.ndarray]:
        """Cells with their centre outside solids, bool, and the open part of these, 0 in the others."""
        if self._room is None or self._room[0] is not boundary.phi:
            open = open_cells(boundary.phi)
            self._room = boundary.phi, open, np.where(open, open_volumes(boundary.phi), np.float32(0))
        return self._room[1:]


def memory_of_gas(scene: Scene, particles: int) -> int:
    """Bytes that a step needs, with so many particles in the scene."""
    return math.prod(scene.grid.shape) * BYTES_PER_CELL + _COPIES * particles * scene.bytes_per_particle


def _largest(field) -> float:
    return float(max(field.max(), -field.min()))
