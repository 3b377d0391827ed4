"""The solids of a scene on a grid."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from paddlewheel.grid.fractions import open_fractions
from paddlewheel.items import RigidBody, Solid, labelled
from paddlewheel.measure.body_faces import NOWHERE, alone, with_bodies
from paddlewheel.measure.lattice import along, at_nodes, box_around, face_axes, faces_of, node_distance, to_faces, unite
from paddlewheel.measure.passing import Going, cells_taken
from paddlewheel.measure.push_out import Pushed, distance_to, push_out
from paddlewheel.scene import checked_sides
from paddlewheel.solids.mass import Mass, mass_of
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.rigid import placed
from paddlewheel.solids.shapes import Moved, Shape
from paddlewheel.solids.table import tabulated
from paddlewheel.types import AXES, Body, BodyFaces, Boundary, Faces, Grid, Passing, check_memory

PASSED = 0.25  # cells that a solid moves in a step for particles beside it to go in its frame
BESIDE = 2.0  # cells from it, and what it moves besides
_CORNERS = np.array(list(product((False, True), repeat=3)))


class Solids:
    """The solids of a scene on a grid, measured anew for each step.

    Static solids are measured once; each moving one, and each rigid body, only
    in its bounding box and a few cells around it. Of `items` only these count,
    and errors name them by their place among the items. Bodies that the fluid
    carries one-way are known here, but it goes through them.
    """

    def __init__(self, grid: Grid, items, weights: str = "area", open_sides=frozenset()):
        check_memory(grid)
        solids = labelled(items, Solid)
        self.grid, self.weights, self.open_sides = grid, weights, checked_sides("Solids", open_sides, grid)
        self._moving = [(name, solid) for name, solid in solids if solid.motion is not None]
        self._still = [solid.shape for _, solid in solids if solid.motion is None]
        self._phi = node_distance(grid, self._still)
        self._open = open_fractions(self._phi, weights)
        self._sticky = self._touched_by([solid.shape for _, solid in solids if not (solid.motion or solid.separates)])
        bodies = [item for item in items if isinstance(item, RigidBody)]
        masses = [mass_of(body.shape, grid.h if grid.is_2d else None) for body in bodies]
        shapes = tabulated([body.shape for body in bodies], grid.h, 0.5 * grid.h if grid.is_2d else None)
        self._bodies = list(zip(shapes, masses, strict=True))
        self._one_way = [body.one_way for body in bodies]
        self._known_poses: dict[float, list[Pose]] = {}
        self._known_places: dict[tuple, list[Shape]] = {}
        self._last: tuple[float, Boundary] | None = None
        # That of the solids that stay in place, if none moves by itself; and of all, if no body does either.
        self._unmoved = None if self._moving else self._closed(self._phi, self._open, grid.zeros_faces())
        self._static = None if self.moving else self._unmoved
        if self._unmoved is not None:
            self._open = None  # not needed again
        if self._static is not None and bodies:
            self._static = self._static._replace(bodies=(NOWHERE,) * len(bodies), others=self._static.velocity)

    @property
    def moving(self) -> bool:
        """Whether any solid moves that the fluid feels."""
        return bool(self._moving) or not all(self._one_way)

    @property
    def unmoved(self) -> np.ndarray | None:
        """Signed distance [m] at nodes to the solids that stay in place; None if any solid moves by itself."""
        return None if self._unmoved is None else self._unmoved.phi

    @property
    def masses(self) -> list[Mass]:
        """Of the rigid bodies, as drawn."""
        return [mass for _, mass in self._bodies]

    @property
    def body_shapes(self) -> list[Shape]:
        """Of the rigid bodies, as drawn; costly ones with a table of their distances."""
        return [shape for shape, _ in self._bodies]

    @property
    def drawn(self) -> tuple[Body, ...]:
        """The rigid bodies where they were drawn, at rest."""
        return tuple(Body(np.array(m.center), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3)) for m in self.masses)

    def measure(self, time: float, bodies: Sequence[Body] | None = None) -> Boundary:
        """The boundary at a time [s], with the rigid bodies where they are then, or as drawn.

        Its arrays are shared between calls: not to be written to.
        """
        if self._static is not None:
            return self._static
        bodies = self.drawn if bodies is None else bodies
        if not bodies:
            return self._scripted(time)
        boundary, shapes = self._measured(time), self._placed(bodies)
        shapes = [None if passed else shape for shape, passed in zip(shapes, self._one_way, strict=True)]
        return with_bodies(self.grid, boundary, shapes, bodies, self.weights, self.open_sides)

    def borne(self, bodies: Sequence[Body]) -> dict[int, BodyFaces]:
        """What bodies that the fluid carries one-way would fill, by their index."""
        shapes = self._placed(bodies)
        return {n: alone(self.grid, shapes[n]) for n, one_way in enumerate(self._one_way) if one_way}

    def seen(self, time: float, bodies: Sequence[Body]) -> np.ndarray:
        """Signed distance to the nearest solid or body [m] at nodes, also to those that the fluid does not see."""
        phi = self.measure(time, bodies).phi
        passed = [shape for shape, one_way in zip(self._placed(bodies), self._one_way, strict=True) if one_way]
        return np.minimum(phi, node_distance(self.grid, passed)) if passed else phi

    def _scripted(self, time) -> Boundary:
        """The boundary without the rigid bodies. It is asked for more than once in a step."""
        if self._last is None or self._last[0] != time:
            self._last = time, self._measured(time)
        return self._last[1]

    def _measured(self, time) -> Boundary:
        """The boundary without the rigid bodies, in arrays of its own."""
        grid = self.grid
        if self._unmoved is not None:
            phi, open, *_ = self._unmoved
            return self._unmoved._replace(
                phi=phi.copy(), open=Faces(*(w.copy() for w in open)), velocity=grid.zeros_faces()
            )
        phi, open = self._phi.copy(), Faces(*(w.copy() for w in self._open))
        velocity, nearest = grid.zeros_faces(), None
        if len(self._moving) > 1:
            nearest = Faces(*(np.full(grid.face_shape(a), np.inf, np.float32) for a in range(3)))
        boxes, sticky = [], self._sticky
        for (_, solid), pose in zip(self._moving, self._poses(time), strict=True):
            shape = Moved(solid.shape, pose)
            box = box_around(grid, shape.bounds())
            within = at_nodes(grid, shape, box)
            unite(phi, grid, shape, box, within)
            if within is not None:
                self._carry(velocity, nearest, within, pose, box)
                boxes.append(box)
            if not solid.separates:
                sticky = self._touched_by([shape], sticky)
        for box in boxes:
            self._reopen(open, phi, box)
        return self._closed(phi, open, velocity)._replace(sticky=sticky)

    def fastest(self, time: float) -> float:
        """The largest velocity component of any scripted solid where it is on the grid [m/s], at a time [s]."""
        if not self._moving:
            return 0.0
        return max(float(max(u.max(), -u.min())) for u in self._scripted(time).velocity)

    def distance(self, points: np.ndarray, time: float, bodies: Sequence[Body] | None = None) -> np.ndarray:
        """Distance to the nearest solid as it is drawn [m], from points (n, 3), at a time [s]; sides do not count."""
        shapes = self._shapes(time, bodies)
        return distance_to(shapes, np.asarray(points, np.float64), 2 * np.linalg.norm(self.grid.size))

    def push_out(
        self,
        position: np.ndarray,
        boundary: Boundary,
        time: float,
        bodies: Sequence[Body] | None = None,
        among: np.ndarray | None = None,
    ) -> Pushed:
        """Move particles out of the solids as they are drawn; how many were inside, and are left there.

        position [m], (n, 3) float32, is changed in place, boundary is what `measure` gave for that time [s]. Only those
        `among`, (n,) bool, are looked at, if given.
        """
        return push_out(self.grid, position, boundary, self._shapes(time, bodies), self.open_sides, among)

    def passing(self, start: float, end: float, before: Sequence[Body], after: Sequence[Body]) -> Passing | None:
        """The solids that move by PASSED cells or more from start to end [s], and the cells beside them at the start.

        before and after are the rigid bodies at start and end. None if there are no such solids.
        """
        grid, going = self.grid, []
        for shape, to in zip(self._going(start, before), self._going(end, after), strict=True):
            corners = _corners(np.clip(shape.bounds(), -grid.h, np.add(grid.size, grid.h)))
            farthest = np.linalg.norm(_taken(shape, to, corners) - corners, axis=1).max()
            if farthest >= PASSED * grid.h:
                going.append(Going(shape, to.pose, farthest + BESIDE * grid.h))
        return cells_taken(grid, going) if going else None

    def _going(self, time, bodies) -> list[Moved]:
        """The solids that can move, where they are at a time."""
        poses = zip(self._moving, self._poses(time), strict=True)
        felt = [shape for shape, passed in zip(self._placed(bodies), self._one_way, strict=True) if not passed]
        return [Moved(solid.shape, pose) for (_, solid), pose in poses] + felt

    def _poses(self, time) -> list[Pose]:
        """Those of the scripted solids at a time. The last two are kept: a step asks again for its start and end."""
        if time not in self._known_poses:
            last = list(self._known_poses.items())[-1:]
            self._known_poses = dict([*last, (time, [solid.pose(time, name) for name, solid in self._moving])])
        return self._known_poses[time]

    def _placed(self, bodies) -> list[Shape]:
        """The rigid bodies where they are. Those of the last two places are kept, as of poses."""
        places = tuple((np.asarray(b.position).tobytes(), np.asarray(b.orientation).tobytes()) for b in bodies)
        if places not in self._known_places:
            shapes = [placed(*drawn, body) for drawn, body in zip(self._bodies, bodies, strict=True)]
            self._known_places = dict([*list(self._known_places.items())[-1:], (places, shapes)])
        return self._known_places[places]

    def _shapes(self, time, bodies) -> list[Shape]:
        """All solids where they are at a time."""
        return self._still + self._going(time, self.drawn if bodies is None else bodies)

    def _carry(self, velocity, nearest, within, pose, box) -> None:
        """Give the faces in a box the velocity of the solid in it [m/s], where no other is nearer.

        within is the solid's distance at the nodes of the box. Along axis a,

            u_a = v_a + ω_b (x_c − p_c) − ω_c (x_b − p_b) ,      (a, b, c) cyclic
        """
        for a in range(2 if self.grid.is_2d else 3):
            faces = faces_of(box, a)
            distance = to_faces(within, a)
            mine = distance <= to_faces(self._phi[box], a)
            if nearest is not None:
                mine &= distance < nearest[a][faces]
                nearest[a][faces][mine] = distance[mine]
            b, c = (a + 1) % 3, (a + 2) % 3
            x = face_axes(self.grid, a)
            arm = {d: along(d, x[d][faces[d]] - pose.position[d]) for d in (b, c)}
            u = pose.velocity[a] + pose.angular_velocity[b] * arm[c] - pose.angular_velocity[c] * arm[b]
            velocity[a][faces] = np.where(mine, u, velocity[a][faces])

    def _reopen(self, open, phi, box) -> None:
        """Recompute w in a box, up to its last layer: that one's staggered boxes reach beyond."""
        inner = open_fractions(np.ascontiguousarray(phi[box]), self.weights)
        for a in range(3):
            faces = faces_of(box, a)
            kept, target = [], []
            for d, n in enumerate(self.grid.face_shape(a)):
                first, last = faces[d].start, faces[d].stop
                low, high = int(first > 0), int(last < n)
                kept.append(slice(low, last - first - high))
                target.append(slice(first + low, last - high))
            open[a][tuple(target)] = inner[a][tuple(kept)]

    def _closed(self, phi, open, velocity) -> Boundary:
        """The boundary with walls on the sides that are not open.

        A solid may reach through a wall. What it carries through such a face,
        (1 − w) u before the wall closed it, is still carried: u becomes (1 − w) u.
        """
        open = Faces(*(w.copy() for w in open)) if open is self._open else open
        for a in range(3):
            for sign, index in (("-", 0), ("+", -1)):
                if sign + AXES[a] in self.open_sides:
                    continue
                side = tuple(index if d == a else slice(None) for d in range(3))
                velocity[a][side] *= 1 - open[a][side]
                open[a][side] = 0
        return Boundary(phi, open, velocity, sticky=self._sticky)

    def _touched_by(self, shapes, others=None) -> np.ndarray | None:
        """The cells that shapes touch, bool, and `others`; None if there are none."""
        if not shapes:
            return others
        nodes = node_distance(self.grid, shapes) <= 0
        for a in range(3):
            low, high = (tuple(s if d == a else slice(None) for d in range(3)) for s in (slice(-1), slice(1, None)))
            nodes = nodes[low] | nodes[high]
        return nodes if others is None else nodes | others


def _taken(shape, to, points) -> np.ndarray:
    """Where points (n, 3) are once a shape has taken them along to another pose."""
    return to.pose.to_world(shape.pose.to_body(points))


def _corners(box) -> np.ndarray:
    """Those of a box from low to high, (8, 3)."""
    return np.where(_CORNERS, box[1], box[0])


def measure(grid: Grid, items, time: float = 0.0, weights: str = "area", open_sides=frozenset()) -> Boundary:
    """All solids among `items` at one time [s], as arrays. For several times, keep a `Solids`."""
    return Solids(grid, items, weights, open_sides).measure(time)
