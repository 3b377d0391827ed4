"""The one place that sees both solids and grid: shapes and motions become arrays, once per step."""

from collections.abc import Sequence

import numpy as np

from paddlewheel.grid.fractions import SMALLEST, open_fractions, refined_fractions
from paddlewheel.grid.sample import node_value
from paddlewheel.kernel import kernel, prange
from paddlewheel.scene import Liquid, RigidBody, Solid, checked_sides, labelled
from paddlewheel.solids.mass import Mass, mass_of
from paddlewheel.solids.rigid import placed
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Moved, Shape
from paddlewheel.types import AXES, Body, BodyFaces, Boundary, Faces, Grid, check_memory

MARGIN = 3  # cells around a moving solid in which it is measured; beyond, the distance to its box is a bound

ON_SURFACE = 1e-6  # cells; a node closer to the surface than this is on it

HAIR = 1e-3  # cells that a particle which was inside a solid is put outside of it
_ROUND = 0.5 * np.sqrt(3.0)  # cells from a point to its nearest node, at most
_REACH = 0.01  # cells to both sides over which a slope of the distance is taken
_TURNS = 24  # at most, to push a particle out
_BLOCK = 4096  # particles


class Solids:
    """The solids of a scene on a grid, measured anew for each step.

    Static solids are measured once; each moving one, and each rigid body, only
    in its bounding box and a few cells around it. Of `items` only these count,
    and errors name them by their place among the items.
    """

    def __init__(self, grid: Grid, items, weights: str = "area", open_sides=frozenset()):
        check_memory(grid)
        solids = labelled(items, Solid)
        self.grid, self.weights, self.open_sides = grid, weights, checked_sides("Solids", open_sides, grid)
        self._moving = [(name, solid) for name, solid in solids if solid.motion is not None]
        self._still = [solid.shape for _, solid in solids if solid.motion is None]
        self._phi = _union(grid, _node_axes(grid), self._still)
        self._open = open_fractions(self._phi, weights)
        bodies = [item for item in items if isinstance(item, RigidBody)]
        self._bodies = [(body.shape, mass_of(body.shape, grid.h if grid.is_2d else None)) for body in bodies]
        self._static = None if self.moving else self._closed(self._phi, self._open, grid.zeros_faces())
        if self._static is not None:
            self._open = None  # not needed again

    @property
    def moving(self) -> bool:
        """Whether any solid moves."""
        return bool(self._moving or self._bodies)

    @property
    def masses(self) -> list[Mass]:
        """Of the rigid bodies, as drawn."""
        return [mass for _, mass in self._bodies]

    @property
    def drawn(self) -> tuple[Body, ...]:
        """The rigid bodies where they were drawn, at rest."""
        return tuple(Body(np.array(m.center), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3)) for m in self.masses)

    def measure(self, time: float, bodies: Sequence[Body] | None = None) -> Boundary:
        """The boundary at a time [s], with the rigid bodies where they are then, or as drawn.

        Its arrays are shared between steps if nothing moves: not to be written to.
        """
        if self._static is not None:
            return self._static
        grid, bodies = self.grid, self.drawn if bodies is None else bodies
        phi, open = self._phi.copy(), Faces(*(w.copy() for w in self._open))
        velocity, nearest = grid.zeros_faces(), None
        if len(self._moving) > 1:
            nearest = Faces(*(np.full(grid.face_shape(a), np.inf, np.float32) for a in range(3)))
        boxes = []
        for name, solid in self._moving:
            pose = solid.pose(time, name)
            shape = Moved(solid.shape, pose)
            box = _box(grid, shape.bounds())
            within = _add(phi, grid, shape, box)
            if within is not None:
                self._carry(velocity, nearest, within, pose, box)
                boxes.append(box)
        for box in boxes:
            self._reopen(open, phi, box)
        boundary = self._closed(phi, open, velocity)
        return self._with_bodies(boundary, bodies) if bodies else boundary

    def fastest(self, time: float) -> float:
        """The largest velocity component of any scripted solid where it is on the grid [m/s], at a time [s]."""
        if not self._moving:
            return 0.0
        return max(float(np.abs(u).max()) for u in self.measure(time, ()).velocity)

    def distance(self, points: np.ndarray, time: float, bodies: Sequence[Body] | None = None) -> np.ndarray:
        """Distance to the nearest solid as it is drawn [m], from points (n, 3), at a time [s]; sides do not count."""
        shapes = self._shapes(time, bodies)
        return _distance(shapes, np.asarray(points, np.float64), 2 * np.linalg.norm(self.grid.size))

    def push_out(
        self, position: np.ndarray, boundary: Boundary, time: float, bodies: Sequence[Body] | None = None
    ) -> int:
        """Move particles out of the solids as they are drawn; how many were inside.

        φ between nodes rounds edges off and flattens curved walls, so a particle
        outside by φ can be inside the shape. position [m], (n, 3) float32, is
        changed in place, boundary is what `measure` gave for that time [s]. Those
        inside go along the slope of the exact distance until they are a hair
        outside, and stay within the closed sides; wedged between two solids they
        end where they are least deep.
        """
        if position.dtype != np.float32 or position.ndim != 2 or position.shape[1] != 3:
            raise ValueError(f"position is {position.dtype} of shape {position.shape}, expected float32 (n, 3)")
        if boundary.phi.shape != self.grid.node_shape:
            raise ValueError(f"boundary has {boundary.phi.shape} nodes, the solids' grid {self.grid.node_shape}")
        shapes = self._shapes(time, bodies)
        if not shapes:
            return 0
        near = np.empty(len(position), np.bool_)
        _mark_near(near, np.ascontiguousarray(position), boundary.phi, 1 / self.grid.h)
        near = np.flatnonzero(near)
        points = position[near].astype(np.float64)
        if self.grid.is_2d:
            points[:, 2] = 0.5 * self.grid.h
        phi = _distance(shapes, points, self.grid.h)
        inside = phi < 0
        axes = slice(2 if self.grid.is_2d else 3)  # the plane of a 2-D scene
        position[near[inside], axes] = self._outward(shapes, points[inside], phi[inside])[:, axes]
        return int(np.count_nonzero(inside))

    def _shapes(self, time, bodies) -> list[Shape]:
        """All solids where they are at a time."""
        bodies = self.drawn if bodies is None else bodies
        moving = [Moved(solid.shape, solid.pose(time, name)) for name, solid in self._moving]
        return self._still + moving + [placed(*drawn, body) for drawn, body in zip(self._bodies, bodies, strict=True)]

    def _with_bodies(self, boundary, bodies) -> Boundary:
        """The boundary with the rigid bodies in it, each in its share of every face.

        Each is measured by its own distance, so that gaps narrower than a cell
        stay open. Where bodies and solids meet they may want more of a face than
        there is: then the bodies get less.
        """
        phi, wanted, found = boundary.phi, self.grid.zeros_faces(), []
        for drawn, body in zip(self._bodies, bodies, strict=True):
            shape = placed(*drawn, body)
            box = _box(self.grid, shape.bounds())
            within = _add(phi, self.grid, shape, box)
            if within is None:
                found.append((box, None, None))
                continue
            filled = refined_fractions(_union(self.grid, _half_axes(self.grid, box), [shape]), self.weights)
            for a in range(3):
                np.subtract(1, filled[a], out=filled[a])
                wanted[a][_faces_of(box, a)] += filled[a]
            found.append((box, filled, within))
        others = boundary.velocity
        given = Faces(*(np.empty_like(w) for w in wanted))
        for a in range(3):
            _share(given[a].reshape(-1), boundary.open[a].reshape(-1), others[a].reshape(-1), wanted[a].reshape(-1))
        measured = []
        for box, filled, within in found:
            faces = [_faces_of(box, a) for a in range(3)]
            if filled is None:
                measured.append(BodyFaces((0, 0, 0), *(Faces(*(np.zeros((0, 0, 0), t),) * 3) for t in "f?")))
                continue
            near = Faces(*(_to_faces(within, a) <= _to_faces(phi[box], a) for a in range(3)))
            for a in range(3):
                filled[a][...] *= given[a][faces[a]]
                self._leave_sides(near[a], box, a)
            measured.append(BodyFaces(tuple(s.start for s in box), filled, near))
        boundary = boundary._replace(bodies=tuple(measured), others=others)
        return boundary._replace(velocity=carried(self.grid, boundary, bodies))

    def _leave_sides(self, near, box, axis) -> None:
        """A wall of the domain is nobody's."""
        view = np.moveaxis(near, axis, 0)
        if box[axis].start == 0 and f"-{AXES[axis]}" not in self.open_sides:
            view[0] = False
        if box[axis].stop == self.grid.node_shape[axis] and f"+{AXES[axis]}" not in self.open_sides:
            view[-1] = False

    def _outward(self, shapes, points, phi) -> np.ndarray:
        """Points inside, at distances phi, moved by Newton's rule along its slope until it is positive."""
        h, axes = self.grid.h, range(2 if self.grid.is_2d else 3)
        low = np.array([-np.inf if f"-{a}" in self.open_sides else HAIR * h for a in AXES])
        high = np.array([np.inf if f"+{a}" in self.open_sides else -HAIR * h for a in AXES]) + self.grid.size
        result, best = points.copy(), phi.copy()
        left = np.arange(len(points))
        for _ in range(_TURNS):
            if not len(left):
                break
            slope = np.zeros(points.shape)
            for a in axes:
                step = _REACH * h * (np.arange(3) == a)
                slope[:, a] = _distance(shapes, points + step, h) - _distance(shapes, points - step, h)
            slope /= 2 * _REACH * h
            # pressed against a side, slide along it
            slope[((points <= low) & (slope < 0)) | ((points >= high) & (slope > 0))] = 0
            way = (HAIR * h - phi) / np.maximum((slope * slope).sum(axis=1), 0.25)
            points = np.clip(points + way[:, None] * slope, low, high).astype(np.float32).astype(np.float64)
            phi = _distance(shapes, points, h)
            better = phi > best[left]
            result[left[better]], best[left[better]] = points[better], phi[better]
            wanting = phi < 0.1 * HAIR * h
            left, points, phi = left[wanting], points[wanting], phi[wanting]
        return result

    def _carry(self, velocity, nearest, within, pose, box) -> None:
        """Give the faces in a box the velocity of the solid in it [m/s], where no other is nearer.

        within is the solid's distance at the nodes of the box. Along axis a,

            u_a = v_a + ω_b (x_c − p_c) − ω_c (x_b − p_b) ,      (a, b, c) cyclic
        """
        for a in range(2 if self.grid.is_2d else 3):
            faces = _faces_of(box, a)
            distance = _to_faces(within, a)
            mine = distance <= _to_faces(self._phi[box], a)
            if nearest is not None:
                mine &= distance < nearest[a][faces]
                nearest[a][faces][mine] = distance[mine]
            b, c = (a + 1) % 3, (a + 2) % 3
            x = _face_axes(self.grid, a)
            arm = {d: _along(d, x[d][faces[d]] - pose.position[d]) for d in (b, c)}
            u = pose.velocity[a] + pose.angular_velocity[b] * arm[c] - pose.angular_velocity[c] * arm[b]
            velocity[a][faces] = np.where(mine, u, velocity[a][faces])

    def _reopen(self, open, phi, box) -> None:
        """Recompute w in a box, up to its last layer: that one's staggered boxes reach beyond."""
        inner = open_fractions(np.ascontiguousarray(phi[box]), self.weights)
        for a in range(3):
            faces = _faces_of(box, a)
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
        return Boundary(phi, open, velocity)


def carried(grid: Grid, boundary: Boundary, bodies: Sequence[Body]) -> Faces:
    """The velocity of all solids at faces [m/s], if the rigid bodies move as they do.

    On a face of which a body fills s, its own part of (1 − w) u is  s (v_a + (ω × (x_f − x_com))_a).
    """
    out = Faces(*(u.copy() for u in boundary.others))
    for body, faces in zip(bodies, boundary.bodies, strict=True):
        for a in range(3):
            _carry_body(
                out[a], faces.filled[a], faces.near[a], boundary.open[a], faces.origin, a,
                body.position, body.velocity, body.angular_velocity, grid.h,
            )  # fmt: skip
    return out


def measure(grid: Grid, items, time: float = 0.0, weights: str = "area", open_sides=frozenset()) -> Boundary:
    """All solids among `items` at one time [s], as arrays. For several times, keep a `Solids`."""
    return Solids(grid, items, weights, open_sides).measure(time)


def liquid_distance(grid: Grid, items) -> np.ndarray:
    """Signed distance to the liquids among `items` [m] at cell centres, shape (nx, ny, nz), float32."""
    axes = [(np.arange(n) + 0.5) * grid.h for n in grid.shape]
    return _union(grid, axes, [item.shape for item in items if isinstance(item, Liquid)])


@kernel
def _share(given, open, others, wanted):
    """Part of what bodies want of each face that they get; w and the others' part of its velocity after that."""
    for n in prange(len(given)):
        given[n] = 1.0
        if wanted[n] > 0.0:
            before = open[n]
            left = before - wanted[n]
            if left < SMALLEST:
                given[n], left = before / wanted[n], 0.0
            open[n] = left
            others[n] *= (1.0 - before) / max(1.0 - left, SMALLEST)


@kernel(parallel=False)
def _carry_body(out, filled, near, open, origin, axis, position, velocity, omega, h):
    b, c = (axis + 1) % 3, (axis + 2) % 3
    for i in range(filled.shape[0]):
        for j in range(filled.shape[1]):
            for k in range(filled.shape[2]):
                s = filled[i, j, k]
                if s > 0.0 or near[i, j, k]:
                    m, n, o = i + origin[0], j + origin[1], k + origin[2]
                    at = (m + 0.5 * (axis != 0), n + 0.5 * (axis != 1), o + 0.5 * (axis != 2))
                    u = velocity[axis] + omega[b] * (h * at[c] - position[c]) - omega[c] * (h * at[b] - position[b])
                    if s > 0.0:
                        out[m, n, o] += s / (1.0 - open[m, n, o]) * u
                    else:
                        out[m, n, o] = u


@kernel
def _mark_near(near, position, phi, per_h):
    """Mark the points of the domain that can be inside a solid.

    A distance changes by no more than the way gone: neither at the nearest node
    nor between the nodes is φ of such a point more than half a cell's diagonal.
    """
    ni, nj, nk = phi.shape
    for block in prange((len(near) + _BLOCK - 1) // _BLOCK):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(near))):
            x, y, z = per_h * position[n, 0], per_h * position[n, 1], per_h * position[n, 2]
            near[n] = False
            if 0.0 <= x <= ni - 1.0 and 0.0 <= y <= nj - 1.0 and 0.0 <= z <= nk - 1.0:
                i, j, k = np.uint64(np.int64(x + 0.5)), np.uint64(np.int64(y + 0.5)), np.uint64(np.int64(z + 0.5))
                if per_h * phi[i, j, k] <= _ROUND:
                    near[n] = per_h * node_value(phi, x, y, z) <= _ROUND


def _distance(shapes, points, most) -> np.ndarray:
    """Distance to the nearest of the shapes [m] at points (n, 3), at most `most`."""
    phi = np.full(len(points), most)
    for shape in shapes:
        low, high = shape.bounds()
        near = np.flatnonzero(((points > low - most) & (points < high + most)).all(axis=1))
        phi[near] = np.minimum(phi[near], shape.distance(points[near]))
    return phi


def node_distance(grid: Grid, shapes) -> np.ndarray:
    """Signed distance to the nearest of some shapes [m] at nodes, shape (nx+1, ny+1, nz+1), float32."""
    return _union(grid, _node_axes(grid), shapes)


def _union(grid, axes, shapes) -> np.ndarray:
    """Distance to the nearest of the shapes at the points of a lattice, float32; two domain diagonals if there is none.

    A 2-D scene is one plane: it is sampled once and repeated.
    """
    counts = tuple(len(axis) for axis in axes)
    axes = [*axes[:2], axes[2][:1]] if grid.is_2d else axes
    phi = np.full([len(axis) for axis in axes], 2 * np.linalg.norm(grid.size))
    for shape in shapes:
        np.minimum(phi, sample(shape, axes), out=phi)
    phi[np.abs(phi) < ON_SURFACE * grid.h] = 0  # else rounding decides how open a face is that lies in a wall
    return np.ascontiguousarray(np.broadcast_to(phi, counts), np.float32)


def _add(phi, grid, shape, box) -> np.ndarray | None:
    """Unite φ at nodes with a shape; its own distance at the nodes of the box, or None if that misses the grid.

    Beyond the box the distance to the shape's bounds is a bound from below, and enough: the surface is far.
    """
    axes = _node_axes(grid)
    low, high = shape.bounds()
    gaps = [
        _along(d, np.maximum(np.maximum(low[d] - x, x - high[d]), 0).astype(np.float32)) for d, x in enumerate(axes)
    ]
    before = phi[box].copy()
    np.minimum(phi, np.sqrt(gaps[0] ** 2 + (gaps[1] ** 2 + gaps[2] ** 2)), out=phi)
    if min(before.shape) < 2:
        return None
    within = _union(grid, [x[s] for x, s in zip(axes, box, strict=True)], [shape])
    phi[box] = np.minimum(before, within)
    return within


def _box(grid, bounds) -> tuple[slice, slice, slice]:
    """The nodes within MARGIN cells of a bounding box, as slices; in 2-D both layers."""
    low, high = (np.clip(np.nan_to_num(corner / grid.h), -1e9, 1e9) for corner in bounds)
    starts = np.floor(low).astype(int) - MARGIN
    stops = np.ceil(high).astype(int) + MARGIN + 1
    box = [slice(*np.clip((s, e), 0, n).tolist()) for s, e, n in zip(starts, stops, grid.node_shape, strict=True)]
    return (*box[:2], slice(0, 2)) if grid.is_2d else tuple(box)


def _faces_of(box, axis) -> tuple[slice, slice, slice]:
    """The faces normal to an axis between the nodes of a box."""
    return tuple(slice(s.start, s.stop - (d != axis)) for d, s in enumerate(box))


def _to_faces(phi, axis) -> np.ndarray:
    """Mean over the four nodes of each face normal to an axis."""
    for d in range(3):
        if d != axis:
            low, high = (tuple(s if e == d else slice(None) for e in range(3)) for s in (slice(-1), slice(1, None)))
            phi = 0.5 * (phi[low] + phi[high])
    return phi


def _node_axes(grid) -> list[np.ndarray]:
    """Coordinates of the nodes along each axis [m]; in 2-D both layers lie on the mid-plane, where shapes are cut."""
    axes = [np.arange(n) * grid.h for n in grid.node_shape]
    if grid.is_2d:
        axes[2] = np.full(2, 0.5 * grid.h)
    return axes


def _half_axes(grid, box) -> list[np.ndarray]:
    """Coordinates along each axis of points half a cell apart, from the first to the last node of a box [m]."""
    axes = [grid.h * (s.start + 0.5 * np.arange(2 * (s.stop - s.start) - 1)) for s in box]
    if grid.is_2d:
        axes[2] = np.full(3, 0.5 * grid.h)
    return axes


def _face_axes(grid, axis) -> list[np.ndarray]:
    """Coordinates of the centres of the faces normal to an axis, along each axis [m]."""
    return [(np.arange(n) + 0.5 * (d != axis)) * grid.h for d, n in enumerate(grid.face_shape(axis))]


def _along(axis, values) -> np.ndarray:
    """One value per index along an axis, shaped to broadcast over the grid."""
    return values.reshape([-1 if d == axis else 1 for d in range(3)])
