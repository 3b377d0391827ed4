"""Where the liquid of the explicit method is, found in one of several ways (FM96), behind one small interface.

A tracker keeps nothing of its own between steps: what it knows is `Tracked`, a
part of the state, so that runs are saved and go on as they were.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from paddlewheel.fluid import Fluid
from paddlewheel.grid.cells import open_volumes
from paddlewheel.items import Inflow, Liquid, labelled
from paddlewheel.liquids import check_room, filled, particle_surface
from paddlewheel.physics.advect import move
from paddlewheel.physics.seeding import density_error, volume_seen
from paddlewheel.physics.transfer import sorted_by_cell
from paddlewheel.types import Body, Boundary, Faces, Particles

__all__ = ["Markers", "Moved", "Seen", "Tracked", "Tracker", "Way"]

RISEN, AT_START, LEFT = 0.45, 0.25, 0.05  # cells that the surface is above the lower side of a cell
STILL = 0.02  # × √(g h): liquid that is slower rests


class Tracked(NamedTuple):
    """What a tracker knows of the liquid: particles, if it has any, and arrays by name (`State.tracked`)."""

    particles: Particles
    arrays: dict[str, np.ndarray]


class Way(NamedTuple):
    """What a tracker is told of a step.

    velocity  [m/s] on faces, float32, known as far beyond the liquid as it goes in the step, and in solids
    boundary  the solids at the end of it, without the sources
    time      [s] at its start
    dt        [s]
    number    of the step, for what is drawn at random
    before    the bodies at its start, and
    bodies    at its end
    shift     [m] on faces: how far particles are to go besides, to keep their density
    """

    velocity: Faces
    boundary: Boundary
    time: float
    dt: float
    number: int
    before: Sequence[Body] = ()
    bodies: Sequence[Body] = ()
    shift: Faces | None = None


class Moved(NamedTuple):
    """What a tracker knows after a step, the volumes [m³] that came in and that left, and warnings."""

    tracked: Tracked
    inflow: float = 0.0
    outflow: float = 0.0
    warnings: Sequence[str] = ()


class Seen(NamedTuple):
    """Where the liquid is.

    phi  its level set [m] at centres, float32, extended into solids
    wet  the cells that have liquid in them, bool; those with φ < 0 must be among them, solid ones may be
    head     how far the surface is above each centre [m], if there is one surface in each column; else None
    volume   [m³] that the tracker itself knows; None for that of φ
    excess   of the density of particles, relative, at centres; None if there are none all over the liquid
    held     whether splashes may keep for a while what flows into them: see `meet_air`
    """

    phi: np.ndarray
    wet: np.ndarray
    head: np.ndarray | None = None
    volume: float | None = None
    excess: np.ndarray | None = None
    held: bool = False


class Tracker(Protocol):
    """What finds the liquid."""

    def __init__(self, fluid: Fluid): ...

    def check(self) -> None:
        """Refuse what cannot start."""

    def start(self, boundary: Boundary, bodies: Sequence[Body]) -> Tracked:
        """The liquids and inflows of the scene at time zero."""

    def moved(self, tracked: Tracked, way: Way) -> Moved:
        """The liquid after a step; what is tracked may be used up."""

    def seen(self, tracked: Tracked, boundary: Boundary) -> tuple[Tracked, Seen]:
        """Where it is; what is tracked, perhaps in another order."""


class Markers:
    """Particles all over the liquid, which go with the flow and carry nothing. A cell with one of them has liquid.

    But not at once: the surface has to be within it by AT_START, from which on none is without a particle; and where
    it rests by RISEN, or to leave it but for LEFT until it has none again. Chance moves the surface of particles by a
    fifth of a cell, and a cell more or less changes the pressure below by its weight: still water would not stay still.
    So which cells have liquid is remembered; at the start shapes tell it. Where it moves, pressure that comes late when
    the surface rises, and goes late, would drive the waves.

    Cells without a particle have no liquid: in splashes velocities would run away. But those that a solid fills in part
    may have some: there particles are so few that their coming and going would drive the rest.
    """

    def __init__(self, fluid: Fluid):
        self.fluid, self.grid, self.scene = fluid, fluid.grid, fluid.scene
        self._room: tuple[np.ndarray, tuple[np.ndarray, float, np.ndarray]] | None = None

    def check(self) -> None:
        fluid = self.fluid
        check_room(self.scene, fluid.per_cell, fluid.outside_solids(0.0, fluid.bodies.start()))

    def start(self, boundary: Boundary, bodies: Sequence[Body]) -> Tracked:
        fluid = self.fluid
        outside = fluid.outside_solids(0.0, bodies)
        check_room(self.scene, fluid.per_cell, outside)
        particles = filled(self.scene, fluid.per_cell, outside).joined(fluid.sources.emit(None, 0, outside)[0])
        fluid.solids.push_out(particles.position, boundary, 0.0, bodies)
        centres, items = self.grid.cell_points().reshape(-1, 3), labelled(self.scene.items, Liquid | Inflow)
        nearest = np.min([item.shape.distance(centres) for _, item in items], axis=0).reshape(self.grid.shape)
        return Tracked(particles, {"wet": nearest < self.grid.h * (0.5 - AT_START)})

    def moved(self, tracked: Tracked, way: Way) -> Moved:
        fluid, particles, now = self.fluid, tracked.particles, way.time + way.dt
        near = np.empty(len(particles.position), np.bool_)
        passing = fluid.solids.passing(way.time, now, way.before, way.bodies)
        parts = zip(way.velocity, way.shift, strict=True)
        velocity = Faces(*(u + s * np.float32(1 / way.dt) for u, s in parts))
        move(
            self.grid, particles.position, velocity, way.boundary, way.dt,
            open_sides=self.scene.open_sides, stages=2, passing=passing, near=near,
        )  # fmt: skip
        stuck = fluid.solids.push_out(particles.position, way.boundary, now, way.bodies, near).stuck
        particles, inflow, outflow, warnings = fluid.exchanged(
            particles, way.boundary, way.bodies, now, way.dt, way.number
        )
        warnings += [f"{stuck} particles are left in a solid"] if stuck else []
        arrays = {"wet": tracked.arrays["wet"], "still": self._still(way.velocity)}
        return Moved(Tracked(particles, arrays), inflow, outflow, warnings)

    def seen(self, tracked: Tracked, boundary: Boundary) -> tuple[Tracked, Seen]:
        particles, first = sorted_by_cell(self.grid, tracked.particles)
        seen, room, cut = self._seen(boundary)
        phi, counted = particle_surface(
            self.grid, particles, first, boundary, seen, room,
            per_cell=self.fluid.per_cell, drains=self.fluid.sources.drains,
        )  # fmt: skip
        excess = density_error(counted, seen, phi, self.grid.h, per_cell=self.fluid.per_cell, below=0.0, noise=0.0)
        needed = np.where(tracked.arrays["wet"], LEFT, RISEN)
        within = self.grid.h * (0.5 - np.where(tracked.arrays.get("still", True), needed, AT_START))
        found = (np.diff(first).reshape(self.grid.shape) > 0) | cut
        wet = found & (phi < within) | (phi < 0)
        return Tracked(particles, {"wet": wet}), Seen(phi, wet, excess=excess, held=True)

    def _still(self, velocity) -> np.ndarray:
        """The cells in which liquid rests, bool."""
        still, slow = np.full(self.grid.shape, True), STILL * math.sqrt(math.hypot(*self.scene.gravity) * self.grid.h)
        for a, u in enumerate(velocity):
            slower = np.abs(u) < slow
            still &= slower.take(range(self.grid.shape[a]), a) & slower.take(range(1, self.grid.shape[a] + 1), a)
        return still

    def _seen(self, boundary) -> tuple[np.ndarray, float, np.ndarray]:
        """The open volume about each cell centre [cells], the sum of all, and the cells that solids fill in part.

        They are measured anew where solids move.
        """
        if self._room is None or self._room[0] is not boundary.phi:
            seen, cut = volume_seen(boundary.phi), open_volumes(boundary.phi) < 1
            self._room = boundary.phi, (seen, float(seen.sum(dtype=np.float64)), cut)
        return self._room[1]
