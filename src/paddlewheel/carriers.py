"""What carries velocity and smoke through a step of gas: particles all over the domain, or the grid."""

from typing import NamedTuple

import numpy as np

from paddlewheel.emitters import Emitters
from paddlewheel.fluid import Clock, Fluid, from_particles
from paddlewheel.grid.extrapolate import extrapolate
from paddlewheel.grid.stencil import mixed
from paddlewheel.physics import ambient
from paddlewheel.physics.advect import move
from paddlewheel.physics.buoyancy import decay
from paddlewheel.physics.carried import carried, carried_faces
from paddlewheel.physics.deform import displaced
from paddlewheel.physics.seeding import density_error, refill, reseed, seed, volume_seen
from paddlewheel.physics.transfer import density, sorted_by_cell, to_cells, to_particles
from paddlewheel.types import AXES, Body, Boundary, Faces, Particles, SolveInfo, State

__all__ = ["Brought", "ByGrid", "ByParticles", "Step", "moved"]

FARTHEST_SHIFT = 0.25  # cells that particles are moved in a step to spread them
SHIFT_RATE = 1.0  # part of an error of density that is mended at a time
SPREAD_EVERY = 2  # steps: particles are then as even as if half as much were mended in each step
STAGES = 2  # of Runge–Kutta


class Step(NamedTuple):
    """A step of dt [s], with its number, from a state whose arrays are used up.

    before, boundary  the solids at its start and at its end, and `bodies` those that move freely, at the end
    open, volume      cells with their centre outside solids, bool, and the open part of these
    ambient           the velocity beyond open sides at its start, see `physics.ambient`
    """

    state: State
    dt: float
    number: int
    bodies: tuple[Body, ...]
    before: Boundary
    boundary: Boundary
    open: np.ndarray
    volume: np.ndarray
    ambient: dict[str, np.ndarray]

    @property
    def end(self) -> float:
        return self.state.time + self.dt


class Brought(NamedTuple):
    """What was carried to the end of a step.

    velocity      on faces [m/s], before forces, and ahead of the flow as that was in the state
    smoke, heat   density and temperature [K] at centres
    particles     in the order of their cells; `first` is where those of each cell begin
    stuck         how many are left in a solid
    """

    velocity: Faces
    smoke: np.ndarray
    heat: np.ndarray
    particles: Particles
    first: np.ndarray | None = None
    stuck: int = 0
    warnings: tuple[str, ...] = ()


class ByGrid:
    """The grid carries, by a scheme of `physics.carried`."""

    def __init__(self, fluid: Fluid, emitters: Emitters):
        self.fluid, self.emitters = fluid, emitters
        self._still = fluid.grid.zeros_faces()

    def start(self, velocity: Faces, outside) -> Particles:
        """No particles."""
        return Particles.at(np.empty((0, 3)), (0, 0, 0))

    def carry(self, step: Step, flow: Faces, particles: Particles, shift: Faces, clock: Clock) -> Brought:
        """Velocity and smoke at the end of a step in a flow, with what the sources gave."""
        scene, grid, dt = self.fluid.scene, self.fluid.grid, step.dt
        how = {"before": step.before, "open_sides": scene.open_sides, "scheme": scene.method.advection}
        ahead, beyond = step.state.ahead, {}
        for side in scene.open_sides:  # gas beyond it is as much ahead of its velocity as that at the side
            gas = zip(ambient.beyond(step.ambient, side), ahead, strict=True)
            beyond[side] = [v + ambient.layer(m, side) for v, m in gas]
        velocity = carried_faces(grid, mixed(1, flow, 1, ahead), flow, step.boundary, dt, beyond=beyond, **how)
        clock.stop("transfer")
        smoke, heat = self._carried((step.state.density, step.state.temperature), flow, step.boundary, dt, how)
        self.emitters.onto_cells(smoke, heat, step.open, dt)
        decay(smoke, scene.dissipation, dt)
        decay(heat, scene.cooling, dt)
        clock.stop("smoke")
        return Brought(velocity, smoke, heat, particles)

    def _carried(self, fields, flow, boundary, dt, how) -> list[np.ndarray]:
        """Fields after dt [s]; those that are zero everywhere are so again."""
        some = [q for q in fields if q.any()]
        if not some:
            return list(fields)
        found = iter(carried(self.fluid.grid, some, flow, boundary, dt, ambient=(0.0,) * len(some), **how))
        return [next(found) if q.any() else q for q in fields]

    def settle(self, step: Step, brought: Brought, velocity, ahead, beyond, projection, known, clock) -> tuple:
        """Particles, the displacement that spreads them, and the solves it took: none of them."""
        return brought.particles, self._still, []

    def amount(self, brought: Brought, particles: Particles, volume: np.ndarray) -> float:
        """[m³] that all smoke would fill at density 1."""
        return float((brought.smoke * volume).sum(dtype=np.float64)) * self.fluid.grid.h**3


class ByParticles:
    """Particles carry, by FLIP or APIC.

    They keep what they have, and none is made or lost but at open sides and inflows: so the amount of smoke stays what
    it is. The displacement that keeps the volume of liquids keeps them even.
    """

    def __init__(self, fluid: Fluid, emitters: Emitters):
        self.fluid, self.emitters = fluid, emitters
        grid = fluid.grid
        self._everywhere = np.full(grid.shape, -grid.h, np.float32)
        self._entrance = _beside_open_sides(fluid.scene, fluid.beyond.layers)
        self._seen: tuple[np.ndarray, np.ndarray] | None = None

    def start(self, velocity: Faces, outside) -> Particles:
        """Particles wherever it is `outside` solids, with the velocity, and the smoke of the start."""
        fluid = self.fluid
        position = seed(fluid.grid, lambda points: np.where(outside(points), -1, 1), per_cell=fluid.per_cell)
        particles, first = sorted_by_cell(fluid.grid, self._fresh(position, velocity))
        self.emitters.onto_particles(particles, first)
        return particles

    def carry(self, step: Step, flow: Faces, particles: Particles, shift: Faces, clock: Clock) -> Brought:
        """Velocity and smoke at the end of a step in a flow, with what the sources gave."""
        fluid, scene, grid, dt = self.fluid, self.fluid.scene, self.fluid.grid, step.dt
        # first to where they lie evenly: a shift is known where they are, and not on their way
        if (step.number - 1) % SPREAD_EVERY == 0:  # else there is no shift
            move(grid, particles.position, shift, step.before, 1.0, open_sides=scene.open_sides, stages=1)
        stuck = moved(fluid, step, particles.position, flow)
        particles, *_, warnings = fluid.exchanged(particles, step.boundary, step.bodies, step.end, dt, step.number)
        clock.stop("move")
        particles, first = sorted_by_cell(grid, particles)
        clock.stop("sort")
        velocity, _ = extrapolate(*from_particles(grid, particles, first), fluid.beyond.layers)
        clock.stop("transfer")
        self.emitters.onto_particles(particles, first, dt)
        decay(particles.carried[:, 0], scene.dissipation, dt)
        decay(particles.carried[:, 1], scene.cooling, dt)
        smoke, heat = to_cells(grid, particles, first)
        smoke[~step.open] = heat[~step.open] = 0
        clock.stop("smoke")
        return Brought(velocity, smoke, heat, particles, first, stuck, tuple(warnings))

    def settle(
        self, step: Step, brought: Brought, velocity: Faces, ahead: Faces, beyond, projection, known, clock: Clock
    ) -> tuple[Particles, Faces, list[SolveInfo]]:
        """Particles with the velocity after the pressure and what they are ahead of it, the displacement [m] that
        spreads them in the next step, and how its solve went."""
        fluid, grid, boundary, first = self.fluid, self.fluid.grid, step.boundary, brought.first
        particles = brought.particles
        carried, shift, solves = mixed(1, velocity, 1, ahead), grid.zeros_faces(), []
        there = carried
        if step.number % SPREAD_EVERY == 0:
            shift, solves = self._spread(particles, first, boundary, projection, known)
            there = mixed(1, carried, 1, displaced(carried, shift, grid.h))  # where the shift will take them
        clock.stop("density")
        particles = to_particles(grid, particles, there, brought.velocity, fluid.scene.method.flip, first)
        clock.stop("gather")
        scattered = reseed(grid, particles.position, first, boundary.phi, per_cell=fluid.per_cell, number=step.number)
        if scattered is not None:
            fluid.solids.push_out(particles.position, boundary, step.end, step.bodies, scattered)
        particles = self._come_in(step, particles, first, velocity, ahead, beyond)
        clock.stop("sources")
        return particles, shift, solves

    def _spread(self, particles, first, boundary, projection, known) -> tuple[Faces, list[SolveInfo]]:
        """The displacement [m] that spreads particles, and how its solve went."""
        fluid, grid = self.fluid, self.fluid.grid
        counted = density(grid, particles.position, first)
        excess = density_error(counted, self._room(boundary), self._everywhere, grid.h, per_cell=fluid.per_cell)
        shift, info = projection.spread(np.float32(SHIFT_RATE) * excess)
        most = np.float32(FARTHEST_SHIFT * grid.h)
        for s in shift:
            np.clip(s, -most, most, out=s)
        return fluid.beyond.shift(shift, known, boundary), [info]

    def amount(self, brought: Brought, particles: Particles, volume: np.ndarray) -> float:
        """[m³] that all smoke would fill at density 1: that which particles carry."""
        return float(particles.carried[:, 0].sum(dtype=np.float64)) * self.fluid.grid.h**3 / self.fluid.per_cell

    def _come_in(self, step, particles, first, velocity, ahead, beyond) -> Particles:
        """The particles, and new ones at open sides, with the velocity beyond where gas comes in, without smoke."""
        if self._entrance is None:
            return particles
        fluid, room = self.fluid, step.volume * self._entrance
        position = refill(fluid.grid, first, room, step.boundary.phi, per_cell=fluid.per_cell, number=step.number)
        if not len(position):
            return particles
        velocity = ambient.coming_in(beyond, fluid.scene.open_sides, velocity, ahead, fluid.beyond.layers)
        return particles.joined(self._fresh(position, velocity))

    def _fresh(self, position, velocity) -> Particles:
        """Particles with a flow's velocity, without smoke."""
        affine = self.fluid.scene.method.advection == "apic"
        particles = Particles.at(position, (0, 0, 0), affine, np.zeros((len(position), 2)))
        return to_particles(self.fluid.grid, particles, velocity)

    def _room(self, boundary) -> np.ndarray:
        """The open volume that hats at centres see [cells], measured anew where solids move."""
        if self._seen is None or self._seen[0] is not boundary.phi:
            self._seen = boundary.phi, volume_seen(boundary.phi)
        return self._seen[1]


def moved(fluid: Fluid, step: Step, position: np.ndarray, flow: Faces) -> int:
    """Carry points (n, 3) through a step, in place; how many are left in a solid."""
    if not len(position):
        return 0
    state, near = step.state, np.empty(len(position), np.bool_)
    passing = fluid.solids.passing(state.time, step.end, state.bodies, step.bodies)
    move(
        fluid.grid, position, flow, step.boundary, step.dt,
        open_sides=fluid.scene.open_sides, stages=STAGES, centroids=fluid.centroids(step.boundary), passing=passing,
        near=near,
    )  # fmt: skip
    return fluid.solids.push_out(position, step.boundary, step.end, step.bodies, near).stuck


def _beside_open_sides(scene, layers) -> np.ndarray | None:
    """The cells within so many layers of an open side, bool; None if all are closed."""
    if not scene.open_sides:
        return None
    near = np.zeros(scene.grid.shape, bool)
    for side in scene.open_sides:
        across = np.moveaxis(near, AXES.index(side[1]), 0)
        across[slice(layers) if side[0] == "-" else slice(-layers, None)] = True
    return near
