"""Velocity where there is no fluid to have one: beyond the surface and inside solids."""

import numpy as np

from paddlewheel.grid.fractions import corner_mean, face_corners
from paddlewheel.grid.stencil import as_faces, required, with_rows, without_rows
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Boundary, Faces

__all__ = ["constrain", "continued", "extrapolate", "trusted"]

_UNKNOWN = 255
_SOME, _LACK = 1, 2  # a row has known faces; has unknown ones
_FLAT = 1e-5  # a difference of φ this small beside φ itself is rounding, not a direction


def extrapolate(velocity: Faces, known: Faces, layers: int) -> tuple[Faces, Faces]:
    """Velocity [m/s], float32, continued as constants `layers` faces beyond those where `known` is True.

    Layer by layer, each unknown face takes the mean of its nearest faces of the
    same axis (six, or four in 2-D) that were known before the layer. Faces out
    of reach are zero; the second result is True where they are not.  B07 §3.2.
    """
    if not 0 <= layers < _UNKNOWN:
        raise ValueError(f"layers={layers!r}: expected a number from 0 to {_UNKNOWN - 1}")
    velocity, known = as_faces(velocity, np.float32), as_faces(known, bool)
    if velocity.x.shape != known.x.shape:
        raise ValueError(
            f"velocity has {velocity.x.shape} faces along x, known {known.x.shape}: expected the same grid"
        )
    before, at = Faces(*map(with_rows, velocity)), Faces(*map(with_rows, known))
    u, layer = (Faces(*(np.empty(b.shape, dtype) for b in before)) for dtype in (np.float32, np.uint8))
    rows, after = (Faces(*(np.empty(b.shape[:2], np.uint8) for b in before)) for _ in range(2))
    _continue_faces(u, layer, rows, after, before, at, layers)
    reached = (mark != _UNKNOWN for mark in layer)
    shapes = [k.shape for k in known]
    return Faces(*map(without_rows, u, shapes)), Faces(*map(without_rows, reached, shapes))


def continued(field: np.ndarray, known: np.ndarray, layers: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of one field, float32."""
    before = with_rows(field)
    u, layer = np.empty_like(before), np.empty(before.shape, np.uint8)
    rows, after = np.empty(u.shape[:2], np.uint8), np.empty(u.shape[:2], np.uint8)
    _continue(u, layer, rows, after, before, with_rows(known), layers)
    return without_rows(u, field.shape), without_rows(layer != _UNKNOWN, field.shape)


def trusted(known: Faces, open: Faces, narrow: float) -> Faces:
    """The faces that fields are continued from: of those that are known, bool, the ones with w above `narrow`.

    Others are continued from these. With none of their axis beside them, as around a drop in a corner, they have only
    their own.
    """
    known, open = as_faces(known, bool), as_faces(open, np.float32)
    at, w = Faces(*map(with_rows, known)), Faces(*map(with_rows, open))
    out = Faces(*(np.empty(k.shape, np.bool_) for k in at))
    _trust(out, at, w, np.float32(narrow))
    return Faces(*map(without_rows, out, (k.shape for k in known)))


@kernel(parallel=False)
def _trust(out, known, open, narrow):
    for a in range(3):
        _trust_axis(out[a], known[a], open[a], narrow)


@kernel
def _trust_axis(out, known, open, narrow):
    ni, nj, nk = known.shape
    for plane in prange(ni):
        i = np.int64(plane)
        for j in range(nj):
            here, w, trusted = known[i, j], open[i, j], out[i, j]
            wanting = False
            for k in range(nk):
                trusted[k] = here[k] & (w[k] > narrow)
                wanting |= here[k] & (w[k] <= narrow)
            for k in range(nk if wanting else 0):
                if here[k] and w[k] <= narrow:
                    trusted[k] = not _beside_trusted(known, open, narrow, i, j, k)


@kernel(parallel=False)
def _beside_trusted(known, open, narrow, i, j, k):
    """Whether any of the six faces of the same axis around one is known and open enough."""
    ni, nj, nk = known.shape
    for m in range(max(i - 1, 0), min(i + 2, ni)):
        for n in range(max(j - 1, 0), min(j + 2, nj)):
            for o in range(max(k - 1, 0), min(k + 2, nk)):
                if abs(m - i) + abs(n - j) + abs(o - k) == 1 and known[m, n, o] and open[m, n, o] > narrow:
                    return True
    return False


@kernel(parallel=False)
def _continue_faces(u, layer, rows, after, before, known, layers):
    for a in range(3):
        _continue(u[a], layer[a], rows[a], after[a], before[a], known[a], layers)


@kernel(parallel=False)
def _continue(u, layer, rows, after, before, known, layers):
    _first_layer(u, layer, rows, before, known)
    for n in range(1, layers + 1):
        if n & 1:
            _average_layer(u, layer, after, rows, n)
        else:
            _average_layer(u, layer, rows, after, n)


@kernel
def _first_layer(u, layer, rows, before, known):
    """Keep known faces and mark them 0, make others zero and unknown, and mark each row by what it has."""
    for plane in prange(known.shape[0]):
        for j in range(known.shape[1]):
            value, mark, given, at = u[plane, j], layer[plane, j], before[plane, j], known[plane, j]
            count = 0
            for k in range(at.shape[0]):
                value[k] = given[k] if at[k] else np.float32(0)
                mark[k] = 0 if at[k] else _UNKNOWN
                count += at[k]
            rows[plane, j] = (_SOME if count > 0 else 0) | (0 if count == at.shape[0] else _LACK)


@kernel
def _average_layer(u, layer, after, rows, n):
    """Fill the faces of one axis beside those of layers before n, and mark them n; `after` says what rows have then.

    Faces marked by other threads meanwhile are n or unknown, neither of which
    is read, so the order does not matter.
    """
    ni, nj, nk = u.shape
    for plane in prange(ni):
        i = np.int64(plane)
        i0, i1 = max(i - 1, 0), min(i + 1, ni - 1)  # at the sides the row itself, whose face is unknown
        fresh = np.empty(nk, np.bool_)  # faces of a row to be filled
        for j in range(nj):
            j0, j1 = max(j - 1, 0), min(j + 1, nj - 1)
            after[i, j] = rows[i, j]
            around = rows[i, j] | rows[i0, j] | rows[i1, j] | rows[i, j0] | rows[i, j1]
            if not rows[i, j] & _LACK or not around & _SOME:
                continue
            mark, value = layer[i, j], u[i, j]
            mark_i0, mark_i1, mark_j0, mark_j1 = layer[i0, j], layer[i1, j], layer[i, j0], layer[i, j1]
            for k in range(nk):  # without branches: most rows have nothing to fill
                fresh[k] = (mark_i0[k] < n) | (mark_i1[k] < n) | (mark_j0[k] < n) | (mark_j1[k] < n)
            next_fresh, next_mark = fresh[1:], mark[1:]
            for k in range(nk - 1):
                next_fresh[k] |= mark[k] < n
            for k in range(nk - 1):
                fresh[k] |= next_mark[k] < n
            lacking = filled = 0
            for k in range(nk):
                fresh[k] &= mark[k] == _UNKNOWN
                lacking += mark[k] == _UNKNOWN
                filled += fresh[k]
            if filled == lacking:
                after[i, j] &= _SOME
            if filled == 0:
                continue
            after[i, j] |= _SOME
            u_i0, u_i1, u_j0, u_j1 = u[i0, j], u[i1, j], u[i, j0], u[i, j1]
            for k in range(nk):
                if not fresh[k]:
                    continue
                k0, k1 = max(k - 1, 0), min(k + 1, nk - 1)
                total, count = 0.0, 0
                if mark_i0[k] < n:
                    total, count = total + u_i0[k], count + 1
                if mark_i1[k] < n:
                    total, count = total + u_i1[k], count + 1
                if mark_j0[k] < n:
                    total, count = total + u_j0[k], count + 1
                if mark_j1[k] < n:
                    total, count = total + u_j1[k], count + 1
                if mark[k0] < n:
                    total, count = total + value[k0], count + 1
                if mark[k1] < n:
                    total, count = total + value[k1], count + 1
                value[k] = total / count
                mark[k] = n


def constrain(
    velocity: Faces,
    boundary: Boundary,
    reached: Faces | None = None,
    deepest: float = np.inf,
    narrow: float = 0.0,
) -> Faces:
    """Velocity [m/s], float32, whose normal component in closed faces (w ≤ narrow) is the solid's.

        u ← u − ((u − u_solid)·n) n,     n = ∇φ/|∇φ|

    so that advection near a wall slips along it. The other two components of u
    and u_solid at a face are means of the four faces around it, from the field
    before the change: u should be extrapolated into the solids first, and
    boundary.velocity be the solids' also in the open faces beside them. Where φ
    has no gradient the solid's velocity is taken. On a closed side of the domain the
    normal is the side's own; where a solid covers a part of an open one, velocity is as
    a face farther in. Faces that are not `reached`, or deeper in a solid than `deepest`
    [m], are left alone.  B07 §3.2, after Houston et al. 2003.
    """
    velocity = as_faces(velocity, np.float32)
    open, solid = as_faces(boundary.open, np.float32), as_faces(boundary.velocity, np.float32)
    phi = required(boundary.phi, np.float32)
    nodes = tuple(f.shape[a] for a, f in enumerate(velocity))
    if not (phi.shape == nodes and velocity.x.shape == open.x.shape == solid.x.shape):
        raise ValueError(f"velocity and boundary (nodes {phi.shape}) do not belong to one grid (nodes {nodes})")
    reached = as_faces(reached or Faces(*(np.ones(u.shape, bool) for u in velocity)), bool)
    shapes = [u.shape for u in velocity]
    plane = shapes[0][2] == 1
    if plane:  # z comes first, so that kernels have rows to run along
        phi, (velocity, open, solid, reached) = with_rows(phi), map(_z_first, (velocity, open, solid, reached))
    out = Faces(*(u.copy() for u in velocity))
    strides = phi.shape[1] * phi.shape[2], phi.shape[2], 1
    _constrain(out, velocity, phi.reshape(-1), open, solid, reached, strides, np.float32(-deepest), np.float32(narrow))
    return Faces(*map(without_rows, (out[1], out[2], out[0]), shapes)) if plane else out


def _z_first(faces) -> Faces:
    """Faces of a plane with its axes as z, x, y."""
    x, y, z = map(with_rows, faces)
    return Faces(z, x, y)


@kernel(parallel=False)
def _constrain(out, velocity, phi, open, solid, reached, strides, lowest, narrow):
    _constrain_inside(out, velocity, phi, open, solid, reached, strides, lowest, narrow)
    for end in range(2):
        x, y, z = end * (out[0].shape[0] - 1), end * (out[1].shape[1] - 1), end * (out[2].shape[2] - 1)
        step = 1 - 2 * end
        _constrain_side(out[0][x], out[0][x + step], open[0][x], solid[0][x], narrow)
        _constrain_side(out[1][:, y], out[1][:, y + step], open[1][:, y], solid[1][:, y], narrow)
        _constrain_side(out[2][:, :, z], out[2][:, :, z + step], open[2][:, :, z], solid[2][:, :, z], narrow)


@kernel(parallel=False)
def _constrain_side(u, inner, open, solid, narrow):
    """Closed faces of a side of the domain: the side's own velocity, or if it is open elsewhere that farther in."""
    closed = True
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            closed &= open[i, j] <= narrow
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            if open[i, j] <= narrow:
                u[i, j] = solid[i, j] if closed else inner[i, j]


@kernel
def _constrain_inside(out, velocity, phi, open, solid, reached, strides, lowest, narrow):
    for plane in prange(out[0].shape[0]):
        for a in range(3):
            _constrain_plane(out, velocity, phi, open, solid, reached, strides, lowest, narrow, a, np.int64(plane))


@kernel(parallel=False)
def _constrain_plane(out, velocity, phi, open, solid, reached, strides, lowest, narrow, a, i):
    """Component a on the faces (i, …) that are not on a side of the domain.

    Fields are flat here: a component and the two others, u, and the solid's, v, each with its own ways between faces.
    """
    ni, nj, nk = open[a].shape
    if not int(a == 0) <= i < ni - (a == 0):
        return
    b, c = (a + 1) % 3, (a + 2) % 3
    ua, ub, uc = velocity[a].reshape(-1), velocity[b].reshape(-1), velocity[c].reshape(-1)
    va, vb, vc = solid[a].reshape(-1), solid[b].reshape(-1), solid[c].reshape(-1)
    ways_a, ways_b, ways_c = _ways(open[a]), _ways(open[b]), _ways(open[c])
    around_b, around_c = (np.uint64(ways_b[b]), np.uint64(ways_b[a])), (np.uint64(ways_c[c]), np.uint64(ways_c[a]))
    to = np.uint64(strides[a]), np.uint64(strides[b]), np.uint64(strides[c])
    for j in range(int(a == 1), nj - (a == 1)):
        row, wanted, some = open[a][i, j], reached[a][i, j], False
        for k in range(nk):
            some |= wanted[k] & (row[k] <= narrow)
        for k in range(int(a == 2), nk - (a == 2) if some else 0):
            node = _index(strides, i, j, k)
            if wanted[k] and row[k] <= narrow and phi[node] >= lowest:
                na, nb, nc, n2 = _normal(phi, node, to)
                at, at_b, at_c = _index(ways_a, i, j, k), _index(ways_b, i, j, k), _index(ways_c, i, j, k)
                outflow = (np.float64(ua[at]) - np.float64(va[at])) * na
                outflow += (_mean_around(ub, at_b, around_b) - _mean_around(vb, at_b, around_b)) * nb
                outflow += (_mean_around(uc, at_c, around_c) - _mean_around(vc, at_c, around_c)) * nc
                out[a][i, j, k] = ua[at] - outflow * na / n2 if n2 > 0.0 else va[at]


@kernel(parallel=False)
def _ways(field):
    """From one value of a field to the next along each axis."""
    return field.shape[1] * field.shape[2], field.shape[2], 1


@kernel(parallel=False)
def _index(ways, i, j, k):
    return np.uint64(i * ways[0] + j * ways[1] + k)


@kernel(parallel=False)
def _normal(phi, node, to):
    """∇φ per cell at a face, along its own axis and the two others, and its square; zero if it is rounding.

    phi is flat; the face has its lowest corner at `node`, and `to` are the ways along these axes.
    """
    before = face_corners(phi, node - to[0], to[1], to[2])
    face = face_corners(phi, node, to[1], to[2])
    after = face_corners(phi, node + to[0], to[1], to[2])
    phi_before, phi_after = corner_mean(before), corner_mean(after)
    na = 0.5 * (phi_after - phi_before)
    nb = 0.5 * ((face[1] - face[0]) + (face[2] - face[3]))
    nc = 0.5 * ((face[3] - face[0]) + (face[2] - face[1]))
    n2 = na * na + nb * nb + nc * nc
    return na, nb, nc, n2 if n2 > (_FLAT * max(abs(phi_before), abs(phi_after))) ** 2 else 0.0


@kernel(parallel=False)
def _mean_around(u, at, around):
    """Mean of four values: one and the next along an axis, and those before them along another."""
    ahead, back = around
    return 0.25 * (((np.float64(u[at]) + u[at + ahead]) + u[at - back]) + u[at - back + ahead])
