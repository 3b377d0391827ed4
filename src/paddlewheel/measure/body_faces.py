"""Rigid bodies on the grid: what part of each face a body fills, and the velocity it carries there."""

from collections.abc import Sequence

import numpy as np

from paddlewheel.grid.fractions import SMALLEST, refined_fractions
from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.measure.lattice import at_half_nodes, box_around, faces_of, hull, unite
from paddlewheel.types import AXES, Body, BodyFaces, Boundary, Faces, Grid

NOWHERE = BodyFaces((0, 0, 0), *(Faces(*(np.zeros((0, 0, 0), t),) * 3) for t in "f?"))  # of a body that is not there
_FAR = 2.0  # cells from a face's middle; a surface beyond does not cut its box, also where φ is a bound or filled in
_FILM = 1e-3  # part of a face that is open beside a body, below which it is of a film, if those around it are not open
_ALIKE = 0.25  # cells by which nodes on one side of a gap may differ in depth


def with_bodies(grid: Grid, boundary: Boundary, shapes, bodies: Sequence[Body], weights: str, open_sides) -> Boundary:
    """The boundary with the rigid bodies in it, each in its share of every face; `shapes` are theirs, where they are.

    Each is measured by its own distance, so that gaps narrower than a cell
    stay open. Where bodies and solids meet they may want more of a face than
    there is: then the bodies get less. Or nearly all of it: then they get the rest too. Liquid in a film would be shut
    in, and the pressure there so stiff that rounding flung off bodies that touch. Those without a shape, None, take no
    room. The arrays of the boundary are changed.
    """
    phi, found = boundary.phi, [_filled(grid, boundary.phi, shape, weights) for shape in shapes]
    _share_out(boundary, [(box, filled) for box, filled, _ in found if filled])
    measured = [_body_faces(grid, phi, *each, open_sides) for each in found]
    phi = _with_gaps(grid, boundary, [box for box, filled, _ in found if filled])
    boundary = boundary._replace(phi=phi, bodies=tuple(measured), others=boundary.velocity)
    return boundary._replace(velocity=carried(grid, boundary, bodies))


def alone(grid: Grid, shape) -> BodyFaces:
    """What a body would fill of the faces around it, by volume, if nothing else were there."""
    box, filled, _ = _filled(grid, np.full(grid.node_shape, np.inf, np.float32), shape, "volume")
    if filled is None:
        return NOWHERE
    return BodyFaces(tuple(s.start for s in box), filled, Faces(*(np.zeros(f.shape, np.bool_) for f in filled)))


def carried(grid: Grid, boundary: Boundary, bodies: Sequence[Body]) -> Faces:
    """The velocity of all solids at faces [m/s], if the rigid bodies move as they do.

    On a face of which a body fills s, its own part of (1 − w) u is  s (v_a + (ω × (x_f − x_com))_a).
    """
    out = Faces(*(u.copy() for u in boundary.others))
    for body, faces in zip(bodies, boundary.bodies, strict=True):
        if faces.filled.x.size:
            _carry_body(
                out, faces.filled, faces.near, boundary.open, faces.origin, grid.first,
                body.position, body.velocity, body.angular_velocity, grid.h,
            )  # fmt: skip
    return out


def _filled(grid, phi, shape, weights) -> tuple:
    """The box of a shape, the parts of its faces it fills and its distance at nodes; None for both if it is not there.

    Unites φ with it.
    """
    if shape is None:
        return None, None, None
    box = box_around(grid, shape.bounds())
    fine = at_half_nodes(grid, shape, box)
    within = None if fine is None else np.ascontiguousarray(fine[::2, ::2, ::2])
    unite(phi, grid, shape, box, within)
    if within is None:
        return box, None, None
    filled = refined_fractions(fine, weights, _FAR * grid.h)
    for w in filled:
        np.subtract(1, w, out=w)
    return box, filled, within


def _share_out(boundary, found) -> None:
    """Close the faces by what bodies fill of them, (box, filled) each; `filled` becomes what is left for them."""
    if not found:
        return
    whole = hull([box for box, _ in found])
    for a in range(3):
        open, others = (field[a][faces_of(whole, a)] for field in (boundary.open, boundary.velocity))
        wanted, given = np.zeros(open.shape, np.float32), np.empty(open.shape, np.float32)
        places = [_within(faces_of(box, a), faces_of(whole, a)) for box, _ in found]
        for place, (_, filled) in zip(places, found, strict=True):
            wanted[place] += filled[a]
        with threads_worth(wanted.size):
            _share(given, open, others, wanted)
            _close_films(given, open, others, wanted, a)
        for place, (_, filled) in zip(places, found, strict=True):
            filled[a][...] *= given[place]


def _within(inner, outer) -> tuple[slice, slice, slice]:
    """Where a box is in a larger one."""
    return tuple(slice(s.start - o.start, s.stop - o.start) for s, o in zip(inner, outer, strict=True))


def _body_faces(grid, phi, box, filled, within, open_sides) -> BodyFaces:
    """What a body fills of the faces in its box, and those it is nearest to."""
    if filled is None:
        return NOWHERE
    near, origin = Faces(*(np.empty(f.shape, np.bool_) for f in filled)), tuple(s.start for s in box)
    _mark_near(near, within, phi, origin)
    for a in range(3):
        _leave_sides(grid, near[a], box, a, open_sides)
    return BodyFaces(origin, filled, near)


def _with_gaps(grid, boundary, boxes) -> np.ndarray:
    """φ at nodes, positive at some of those around faces that are open although all their nodes are in solids.

    Between nodes in a body and nodes in the wall beside it φ knows of no gap, and particles would not find it. So
    the nodes least deep get half of what is open. Particles then may come into the wall by as much, and are pushed
    out by the exact distance.
    """
    phi = boundary.phi.copy()
    for box in boxes:
        for a in range(3):
            faces = faces_of(box, a)
            first, last = (tuple(getattr(s, end) for s in faces) for end in ("start", "stop"))
            _open_gaps(phi, boundary.phi, boundary.open[a], a, first, last, grid.h)
    return phi


def _leave_sides(grid, near, box, axis, open_sides) -> None:
    """A wall of the domain is nobody's."""
    before = (slice(None),) * axis
    if box[axis].start == 0 and f"-{AXES[axis]}" not in open_sides:
        near[(*before, 0)] = False
    if box[axis].stop == grid.node_shape[axis] and f"+{AXES[axis]}" not in open_sides:
        near[(*before, -1)] = False


@kernel
def _mark_near(near, within, phi, origin):
    """The faces that are no farther from a body, by its distance at the nodes of its box, than from any solid."""
    for plane in prange(near[0].shape[0]):
        i = np.int64(plane)
        for a in range(3):
            mine = near[a]
            for j in range(mine.shape[1] if i < mine.shape[0] else 0):
                for k in range(mine.shape[2]):
                    own = _at_face(within, a, i, j, k)
                    mine[i, j, k] = own <= _at_face(phi, a, i + origin[0], j + origin[1], k + origin[2])


@kernel(parallel=False)
def _at_face(phi, a, i, j, k):
    """Mean over the four nodes of a face normal to an axis."""
    b, c = (1 if a == 0 else 0), (1 if a == 2 else 2)
    b0, b1, c1, c2 = int(b == 0), int(b == 1), int(c == 1), int(c == 2)
    half = np.float32(0.5)
    low = half * (phi[i, j, k] + phi[i + b0, j + b1, k])
    high = half * (phi[i, j + c1, k + c2] + phi[i + b0, j + b1 + c1, k + c2])
    return half * (low + high)


@kernel
def _share(given, open, others, wanted):
    """Part of what bodies want of each face that they get; w and the others' part of its velocity after that."""
    for i in prange(given.shape[0]):
        for j in range(given.shape[1]):
            for k in range(given.shape[2]):
                given[i, j, k] = 1.0
                if wanted[i, j, k] > 0.0:
                    before = open[i, j, k]
                    left = before - wanted[i, j, k]
                    if left < SMALLEST:
                        given[i, j, k], left = before / wanted[i, j, k], 0.0
                    open[i, j, k] = left
                    others[i, j, k] *= (1.0 - before) / max(1.0 - left, SMALLEST)


@kernel
def _close_films(given, open, others, wanted, axis):
    """Give bodies the rest of what is hardly open, where none of the faces normal to the same axis around it is either.

    At the surface of a body in the open one of them is: there liquid is not shut in.
    """
    b, c = (axis + 1) % 3, (axis + 2) % 3
    for plane in prange(open.shape[0]):
        i = np.int64(plane)
        for j in range(open.shape[1]):
            for k in range(open.shape[2]):
                left, want = open[i, j, k], wanted[i, j, k]
                if not 0.0 < left < _FILM or want == 0.0:
                    continue
                around = np.float32(0.0)
                for end in (-1, 1):
                    for d in (b, c):
                        p, q, r = i + end * (d == 0), j + end * (d == 1), k + end * (d == 2)
                        if 0 <= p < open.shape[0] and 0 <= q < open.shape[1] and 0 <= r < open.shape[2]:
                            around = max(around, open[p, q, r])
                if around < _FILM:
                    given[i, j, k], open[i, j, k] = (left + want) / want, 0.0
                    others[i, j, k] *= 1.0 - left


@kernel(parallel=False)
def _open_gaps(out, phi, open, axis, first, last, h):
    b, c = (axis + 1) % 3, (axis + 2) % 3
    b0, b1, b2, c0, c1, c2 = int(b == 0), int(b == 1), int(b == 2), int(c == 0), int(c == 1), int(c == 2)
    for i in range(first[0], last[0]):
        for j in range(first[1], last[1]):
            for k in range(first[2], last[2]):
                most = phi[i, j, k]
                if most <= 0.0 and open[i, j, k] > 0.0:  # elsewhere there is no gap that φ does not know
                    for m in range(1, 4):
                        p, q = m // 2, m % 2
                        most = max(most, phi[i + p * b0 + q * c0, j + p * b1 + q * c1, k + p * b2 + q * c2])
                    for m in range(4 if most <= 0.0 else 0):
                        p, q = m // 2, m % 2
                        at = i + p * b0 + q * c0, j + p * b1 + q * c1, k + p * b2 + q * c2
                        if phi[at] >= most - _ALIKE * h:
                            out[at] = max(out[at], 0.5 * open[i, j, k] * h)


@kernel
def _carry_body(out, filled, near, open, origin, lowest, position, velocity, omega, h):
    for plane in prange(filled[0].shape[0]):
        i = np.int64(plane)
        m = i + origin[0]
        for axis in range(3):
            part, mine, weight, carried = filled[axis], near[axis], open[axis], out[axis]
            if i >= part.shape[0]:
                continue
            b, c = (axis + 1) % 3, (axis + 2) % 3
            x = h * (m + 0.5 * (axis != 0)) - position[0]
            for j in range(part.shape[1]):
                n = j + origin[1]
                y = h * (n + 0.5 * (axis != 1)) - position[1]
                for k in range(part.shape[2]):
                    s = part[i, j, k]
                    if s > 0.0 or mine[i, j, k]:
                        o = k + origin[2]
                        z = h * (o + 0.5 * (axis != 2)) - position[2]
                        arm_b = y if axis == 0 else z if axis == 1 else x
                        arm_c = z if axis == 0 else x if axis == 1 else y
                        u = velocity[axis] + omega[b] * arm_c - omega[c] * arm_b
                        at = m - lowest[0], n - lowest[1], o - lowest[2]
                        if s > 0.0:
                            carried[at] += s / (1.0 - weight[at]) * u
                        elif weight[at] >= 1.0:  # else others fill it
                            carried[at] = u
