"""Where liquid comes in and where it leaves: inflows, outflows and open sides.

An inflow is measured like a solid that lets its own liquid out: the faces
inside it are closed to the pressure and carry its velocity, so what leaves it
in a step is velocity × area × Δt, to rounding, but for what a rigid body in
its way covers of it. It only gives: where the
velocity points into the shape the face stands still, so that an inflow under
water does not drink at its back what it pours out in front.

Inside it, particles go with the velocity, and where that has just come in
from outside, new ones are drawn at random.
"""

import numpy as np

from paddlewheel.grid.fractions import open_fractions
from paddlewheel.measure import node_distance
from paddlewheel.physics.seeding import seed
from paddlewheel.scene import Inflow, Outflow, Scene
from paddlewheel.types import AXES, Boundary, Faces, Particles


class Sources:
    """The inflows and outflows of a scene on its grid. They do not move."""

    def __init__(self, scene: Scene):
        self.scene, self.grid = scene, scene.grid
        self.per_cell = scene.particles_per_axis ** (2 if scene.grid.is_2d else 3)
        self._inflows = [item for item in scene.items if isinstance(item, Inflow)]
        self._outflows = [item for item in scene.items if isinstance(item, Outflow)]
        self._phi = node_distance(self.grid, [item.shape for item in self._inflows]) if self._inflows else None
        self._measured: tuple[Boundary, Boundary] | None = None
        if self._inflows:
            self._given = self._face_velocity(leaving=True)
            self._carried = self._face_velocity(leaving=False)

    def opened(self, boundary: Boundary) -> Boundary:
        """The boundary as the pressure sees it: faces inside inflows are closed, and give."""
        if not self._inflows:
            return boundary
        if self._measured is None or self._measured[0] is not boundary:
            self._measured = boundary, self._closed(boundary)
        return self._measured[1]

    def carry(self, velocity: Faces) -> None:
        """Give the faces inside inflows their velocity [m/s], in place."""
        if self._inflows:
            for u, (inside, given) in zip(velocity, self._carried, strict=True):
                u[inside] = given[inside]

    def emit(self, dt: float | None, number: int, outside_solids) -> Particles:
        """New particles for a step of dt [s]; all that the inflows hold if dt is None.

        outside_solids(points) tells which points no solid covers.
        """
        new = Particles.at(np.empty((0, 3)), (0, 0, 0), self._affine)
        for index, item in enumerate(self._inflows):
            position = seed(
                self.grid,
                item.shape.distance,
                per_cell=self.per_cell,
                number=number * len(self._inflows) + index,
                bounds=item.shape.bounds(),
            )
            velocity = _velocity(item, position)
            if dt is not None:  # those that came in just now
                before = position - dt * velocity
                beyond = (before < 0) | (before > self.grid.size)  # an inflow may reach through a side
                fresh = (item.shape.distance(before) >= 0) | beyond.any(axis=1)
                position, velocity = position[fresh], velocity[fresh]
            free = outside_solids(position)
            new = new.joined(Particles.at(position[free], velocity[free], self._affine))
        return new

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
            low, high = item.shape.bounds()
            axes = range(2 if self.grid.is_2d else 3)
            near = np.ones(len(position), bool)
            for a in axes:
                near &= (position[:, a] >= low[a]) & (position[:, a] <= high[a])
            near = np.flatnonzero(near)
            gone[near[item.shape.distance(position[near]) < 0]] = True
        return gone

    @property
    def _affine(self) -> bool:
        return self.scene.method.advection == "apic"

    def _closed(self, boundary: Boundary) -> Boundary:
        weights = self.scene.method.weights
        open = open_fractions(np.minimum(boundary.phi, self._phi), weights)
        alone, velocity = open_fractions(self._phi, weights), []
        for a in range(3):
            np.minimum(open[a], boundary.open[a], out=open[a])  # keeps the walls of the domain
            np.copyto(open[a], boundary.open[a], where=alone[a] == 1)  # what others are there measured best themselves
            inside, given = self._given[a]
            velocity.append(np.where(inside, given, boundary.velocity[a]))
        if boundary.bodies:
            self._leave_to_bodies(velocity, open, boundary)
        return boundary._replace(open=open, velocity=Faces(*velocity))

    def _leave_to_bodies(self, velocity, open, boundary) -> None:
        """Give bodies back their part of the faces of inflows: an inflow gives nothing where they are.

        Bodies carry  Σ s u = (1 − w) (velocity − others)  through a face.
        """
        for a in range(3):
            filled = np.zeros(open[a].shape, np.float32)
            for body in boundary.bodies:
                s = body.filled[a]
                filled[tuple(slice(o, o + n) for o, n in zip(body.origin, s.shape, strict=True))] += s
            at = np.nonzero(self._given[a][0] & (filled > 0))
            theirs = (1 - boundary.open[a][at]) * (boundary.velocity[a][at] - boundary.others[a][at])
            closed = 1 - open[a][at]
            velocity[a][at] = (theirs + (closed - filled[at]) * velocity[a][at]) / closed

    def _face_velocity(self, leaving: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each axis the faces an inflow has a say in, and its velocity there.

        leaving: at all faces it touches, and only what leaves it; else at those whose centre is inside.
        """
        result = []
        for a in range(3):
            points = self.grid.face_points(a).reshape(-1, 3)
            inside, given = np.zeros(len(points), bool), np.zeros(len(points), np.float32)
            for item in self._inflows:
                distance = item.shape.distance(points)
                mine = np.flatnonzero(distance < (self.grid.h if leaving else 0.0))
                u = _velocity(item, points[mine])[:, a]
                if leaving:
                    step = 0.5 * self.grid.h * (np.arange(3) == a)
                    rise = item.shape.distance(points[mine] + step) - item.shape.distance(points[mine] - step)
                    u = np.where(u * rise >= 0, u, 0.0)
                inside[mine], given[mine] = True, u
            shape = self.grid.face_shape(a)
            result.append((inside.reshape(shape), given.reshape(shape)))
        return result


def _velocity(item: Inflow, points: np.ndarray) -> np.ndarray:
    if callable(item.velocity):
        return np.asarray(item.velocity(np.asarray(points, np.float64)), np.float32)
    return np.broadcast_to(np.float32(item.velocity), points.shape)
