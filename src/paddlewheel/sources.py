"""Where liquid comes in and where it leaves: inflows, outflows and open sides.

An inflow is measured like a solid that lets its own liquid out: the faces
inside it are closed to the pressure and carry its velocity, so what leaves it
in a step is velocity × area × Δt, to rounding, but for what a rigid body in
its way covers of it. It only gives: where the
velocity points into the shape the face stands still, so that an inflow under
water does not drink at its back what it pours out in front. Nor does it drain
a cell that it cuts, as those on its widest part, which it leaves by a face and
enters by none that gives: what it takes there it gives the cell besides. Else
that would have to come in by what is left open of the cell's faces, and if
that is a hundredth it would do so a hundred times as fast.

Inside it, particles go with the velocity, and where that has just come in
from outside, new ones are drawn at random. Where there is no room for them,
because a closed tank is full, none are.
"""

import math

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.grid.fractions import open_fractions
from paddlewheel.grid.window import Window
from paddlewheel.items import Inflow, Outflow, labelled, velocity_at
from paddlewheel.measure import node_distance
from paddlewheel.physics.seeding import CROWDED, seed
from paddlewheel.physics.surface import liquid_volume
from paddlewheel.scene import Scene
from paddlewheel.types import AXES, Boundary, Faces, Particles

FULL = 1.1  # times the liquid that fits into the domain, beyond which no more comes in
USUAL = (
    0.9  # part of what an inflow should give, below which it says that there is no room: single cells crowd by chance
)
_MOST_STRIDES = 100  # of an inflow in a step


class Sources:
    """The inflows and outflows of a scene on its grid. They do not move.

    drains    the cells that outflows touch, bool; None if there is none
    friction  how viscous is what they give
    """

    def __init__(self, scene: Scene):
        self.scene, self.grid, self.friction = scene, scene.grid, Friction(scene)
        self.per_cell = scene.particles_per_cell
        self._inflows = labelled(scene.items, Inflow)
        self._outflows = [item for item in scene.items if isinstance(item, Outflow)]
        self.drains = self._touched(item.shape for item in self._outflows) if self._outflows else None
        self._phi = node_distance(self.grid, [item.shape for _, item in self._inflows]) if self._inflows else None
        self._pace = [self._crossings(name, item) for name, item in self._inflows]
        self._measured: tuple[Boundary, Boundary] | None = None
        self._room: tuple[np.ndarray, float] | None = None
        if self._inflows:
            self._given = self._face_velocity(leaving=True)
            self._carried = self._face_velocity(leaving=False)
            self._about = self._face_velocity(leaving=False, reach=2.0) if self.friction.acts else None

    @property
    def giving(self) -> bool:
        """Whether there is any inflow."""
        return bool(self._inflows)

    def opened(self, boundary: Boundary, window: Window) -> Boundary:
        """The boundary in a window as the pressure sees it: faces inside inflows are closed, and give."""
        if not self._inflows:
            return boundary
        if self._measured is None or self._measured[0] is not boundary:
            self._measured = boundary, self._closed(boundary, window)
        return self._measured[1]

    def carry(self, velocity: Faces, window: Window) -> None:
        """Give the faces inside inflows their velocity [m/s] in a window, in place."""
        if self._inflows:
            for u, inside, given in zip(velocity, *map(window.faces, self._carried), strict=True):
                u[inside] = given[inside]

    def held(self, boundary: Boundary, window: Window) -> Boundary:
        """The boundary in a window as viscosity sees it: what is in an inflow goes with its velocity."""
        if not self._inflows:
            return boundary
        velocity = [
            np.where(near, given, u)
            for u, near, given in zip(boundary.velocity, *map(window.faces, self._about), strict=True)
        ]
        return boundary._replace(phi=np.minimum(boundary.phi, window.nodes(self._phi)), velocity=Faces(*velocity))

    def emit(
        self,
        dt: float | None,
        number: int,
        outside_solids,
        particles: Particles | None = None,
        boundary: Boundary | None = None,
    ) -> tuple[Particles, list[str]]:
        """New particles for a step of dt [s], or all that the inflows hold if dt is None; and warnings.

        outside_solids(points) tells which points no solid covers. None come into
        cells in which `particles` are CROWDED times as many as should be, and none
        at all if these stand for FULL times the volume that the boundary leaves: an
        inflow into a tank that is full stops.
        """
        there = self._none() if particles is None else particles
        full = boundary is not None and self._full(len(there.position), boundary)
        new, warnings = self._none(), []
        for index, (name, _) in enumerate(self._inflows):
            mine = self._poured(index, dt, number * len(self._inflows) + index, outside_solids)
            free = ~self._crowded(mine.position, there.position, new.position) & (not full)
            if np.count_nonzero(free) < USUAL * len(free):
                warnings.append(f"{name}: has no room: there is more liquid than fits where it gives")
            new = new.joined(mine.take(free))
        return new, warnings

    def drained(self, particles: Particles) -> np.ndarray | None:
        """Which particles have left, through outflows or open sides, as a mask; None if none can."""
        if not self._outflows and not self.scene.open_sides:
            return None
        position = particles.position
        gone = np.zeros(len(position), bool)
        for side in self.scene.open_sides:
            a = AXES.index(side[1])
            gone |= position[:, a] < 0 if side[0] == "-" else position[:, a] > self.grid.size[a]
        for item in self._outflows:
            near = _between(position, *(corner[: 2 if self.grid.is_2d else 3] for corner in item.shape.bounds()))
            gone[near[item.shape.distance(position[near]) < 0]] = True
        return gone

    def _poured(self, index, dt, number, outside_solids) -> Particles:
        """What an inflow gives in a step, in strides no longer than it is thick: in longer ones it would give less."""
        if dt is None:
            return self._fresh(index, None, number, outside_solids)
        strides = min(max(1, math.ceil(dt * self._pace[index])), _MOST_STRIDES)
        new = self._none()
        for stride in range(strides):
            new.position[:] += np.float32(dt / strides) * new.velocity
            new = new.take(self._inside(new.position) & outside_solids(new.position))
            new = new.joined(self._fresh(index, dt / strides, number + (stride << 40), outside_solids))
        return new

    def _fresh(self, index, dt, number, outside_solids) -> Particles:
        """Particles in an inflow that have come into it within dt [s], or all of them."""
        name, item = self._inflows[index]
        position = self._seeds(item, number)
        velocity = velocity_at(name, item, position).astype(np.float32)
        if dt is not None:
            before = position - dt * velocity
            fresh = (item.shape.distance(before) >= 0) | ~self._inside(before)  # an inflow may reach through a side
            position, velocity = position[fresh], velocity[fresh]
        free = outside_solids(position)
        return self._particles(position[free], velocity[free], self.friction.carried(name, item, position[free]))

    def _seeds(self, item, number) -> np.ndarray:
        shape = item.shape
        return seed(self.grid, shape.distance, per_cell=self.per_cell, number=number, bounds=shape.bounds())

    def _crossings(self, name, item) -> float:
        """How often in a second [1/s] its liquid can cross an inflow, or what of it is in the domain."""
        low, high = (np.clip(corner, 0, self.grid.size) for corner in item.shape.bounds())
        fastest = np.abs(velocity_at(name, item, self._seeds(item, 0))).max(axis=0, initial=0.0)
        return float((fastest / np.maximum(high - low, 1e-3 * self.grid.h)).max())

    def _full(self, count, boundary) -> bool:
        """Whether so many particles are more than fit into the domain outside solids, measured anew where they move."""
        if not self._inflows:
            return False
        if self._room is None or self._room[0] is not boundary.phi:
            everywhere = np.full(self.grid.shape, -self.grid.h, np.float32)
            self._room = boundary.phi, liquid_volume(everywhere, boundary.phi, self.grid.h)
        return count * self.grid.h**3 / self.per_cell > FULL * self._room[1]

    def _crowded(self, new, *there) -> np.ndarray:
        """Which of new positions (n, 3) [m] are in cells that are crowded by those `there`, as a mask."""
        if not len(new):
            return np.zeros(0, bool)
        cells = self._cell(new)
        low, high = cells.min(axis=0), cells.max(axis=0) + 1
        counts = np.zeros(high - low + 1, int)  # one more, for what lies on the upper sides of the last cells
        for position in there:
            near = _between(position, low * self.grid.h, high * self.grid.h)
            np.add.at(counts, tuple((self._cell(position[near]) - low).T), 1)
        return counts[tuple((cells - low).T)] >= CROWDED * self.per_cell

    def _cell(self, position) -> np.ndarray:
        return np.floor(position / self.grid.h).astype(int)

    def _inside(self, position) -> np.ndarray:
        return ((position >= 0) & (position <= self.grid.size)).all(axis=1)

    def _touched(self, shapes) -> np.ndarray:
        """The cells that have a part of a shape in them, or nearly, bool."""
        points = self.grid.cell_points().reshape(-1, 3)
        near = [shape.distance(points) < self.grid.h for shape in shapes]
        return np.any(near, axis=0).reshape(self.grid.shape)

    def _none(self) -> Particles:
        return self._particles(np.empty((0, 3)), (0, 0, 0), None)

    def _particles(self, position, velocity, carried) -> Particles:
        if self.scene.has_smoke:
            carried = np.zeros((len(position), 2))
        return Particles.at(position, velocity, self.scene.method.advection == "apic", carried)

    def _closed(self, boundary: Boundary, window: Window) -> Boundary:
        weights, phi = self.scene.method.weights, window.nodes(self._phi)
        open = open_fractions(np.minimum(boundary.phi, phi), weights)
        alone, velocity = open_fractions(phi, weights), []
        inside, given = map(window.faces, self._given)
        for a in range(3):
            np.minimum(open[a], boundary.open[a], out=open[a])  # keeps the walls of the domain
            np.copyto(open[a], boundary.open[a], where=alone[a] == 1)  # what others are there measured best themselves
            # what other solids close beside it gives nothing
            velocity.append(np.where(inside[a] & (alone[a] < 1), given[a], boundary.velocity[a]))
        if boundary.bodies:
            self._leave_to_bodies(velocity, open, boundary, inside, window.grid.first)
        taken = sum(np.diff((1 - w) * u, axis=a) for a, (w, u) in enumerate(zip(alone, given, strict=True)))
        besides = np.maximum(taken, np.float32(0)).astype(np.float32)
        return boundary._replace(open=open, velocity=Faces(*velocity), given=besides)

    def _leave_to_bodies(self, velocity, open, boundary, inside, first) -> None:
        """Give bodies back their part of the faces of inflows: an inflow gives nothing where they are.

        Bodies carry  Σ s u = (1 − w) (velocity − others)  through a face.
        """
        for a in range(3):
            filled = np.zeros(open[a].shape, np.float32)
            for body in boundary.bodies:
                s = body.filled[a]
                begin = np.subtract(body.origin, first)
                filled[tuple(slice(b, b + n) for b, n in zip(begin, s.shape, strict=True))] += s
            at = np.nonzero(inside[a] & (filled > 0))
            theirs = (1 - boundary.open[a][at]) * (boundary.velocity[a][at] - boundary.others[a][at])
            closed = 1 - open[a][at]
            velocity[a][at] = (theirs + (closed - filled[at]) * velocity[a][at]) / closed

    def _face_velocity(self, leaving: bool, reach: float | None = None) -> tuple[Faces, Faces]:
        """The faces an inflow has a say in, and its velocity there.

        leaving: at all faces it touches, and only what leaves it; else at those whose centre is inside, and of the
        domain's sides at those that have a cell beside them which is: what comes through a wall does not wait there.
        reach: also at those so many cells from it, as far as its velocity is known there.
        """
        result = []
        for a in range(3):
            shape = self.grid.face_shape(a)
            points = self.grid.face_points(a).reshape(-1, 3)
            inside, given = np.zeros(len(points), bool), np.zeros(len(points), np.float32)
            if not leaving:
                points[:, a] = np.clip(points[:, a], 0.5 * self.grid.h, self.grid.size[a] - 0.5 * self.grid.h)
            for name, item in self._inflows:
                distance = item.shape.distance(points)
                mine = np.flatnonzero(distance < (reach * self.grid.h if reach else self.grid.h if leaving else 0.0))
                u = np.nan_to_num(velocity_at(name, item, points[mine])[:, a])
                if leaving:
                    step = 0.5 * self.grid.h * (np.arange(3) == a)
                    rise = item.shape.distance(points[mine] + step) - item.shape.distance(points[mine] - step)
                    u = np.where(u * rise >= 0, u, 0.0)
                inside[mine], given[mine] = True, u
            result.append((inside.reshape(shape), given.reshape(shape)))
        return tuple(Faces(*fields) for fields in zip(*result, strict=True))


def _between(position, low, high) -> np.ndarray:
    """Indices of the positions in a box, found axis by axis, so that most are looked at only once."""
    near = np.arange(len(position))
    for a in range(len(low)):
        x = position[near, a] if a else position[:, a]
        near = near[(x >= low[a]) & (x <= high[a])]
    return near
