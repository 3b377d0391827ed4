"""Velocity where there is no fluid to have one: beyond the surface and inside solids."""

import numpy as np

from paddlewheel.grid.fractions import corner_mean, face_corners
from paddlewheel.grid.stencil import as_faces, required, with_rows, without_rows, z_first, z_last
from paddlewheel.kernel import kernel, lowest_bit, prange
from paddlewheel.types import Boundary, Faces

__all__ = ["constrain", "continued", "extrapolate", "extrapolate_along", "trusted"]

_FLAT = 1e-5  # a difference of φ this small beside φ itself is rounding, not a direction


def extrapolate(velocity: Faces, known: Faces, layers: int) -> tuple[Faces, Faces]:
    """Velocity [m/s], float32, continued as constants `layers` faces beyond those where `known` is True.

    Layer by layer, each unknown face takes the mean of its nearest faces of the
    same axis (six, or four in 2-D) that were known before the layer. Faces out
    of reach are zero; the second result is True where they are not.  B07 §3.2.
    """
    velocity, known = _checked(velocity, known, layers)
    u, reached = _extrapolated(z_first(velocity), z_first(known), layers)
    shape = _cells(velocity)
    return z_last(u, shape), z_last(reached, shape)


def extrapolate_along(
    velocity: Faces, known: Faces, layers: int, boundary: Boundary, deepest: float = np.inf, narrow: float = 0.0
) -> tuple[Faces, Faces]:
    """Velocity [m/s] as `extrapolate` gives it, and that constrained where it is reached, with fields turned once."""
    velocity, known = _checked(velocity, known, layers)
    phi, open, solid = _walls(boundary, velocity)
    u, reached = _extrapolated(z_first(velocity), z_first(known), layers)
    out, shape = _constrained(u, phi, open, solid, reached, deepest, narrow), _cells(velocity)
    return z_last(u, shape), z_last(out, shape)


def continued(field: np.ndarray, known: np.ndarray, layers: int) -> tuple[np.ndarray, np.ndarray]:
    """The same as `extrapolate` of one field, float32."""
    before, at = with_rows(field), with_rows(known)
    u, reached = np.empty_like(before), np.empty_like(at)
    _continue(u, reached, before, at, layers)
    return without_rows(u, field.shape), without_rows(reached, field.shape)


def _checked(velocity, known, layers) -> tuple[Faces, Faces]:
    if layers < 0:
        raise ValueError(f"layers={layers!r}: expected zero or more")
    velocity, known = as_faces(velocity, np.float32), as_faces(known, bool)
    if velocity.x.shape != known.x.shape:
        raise ValueError(
            f"velocity has {velocity.x.shape} faces along x, known {known.x.shape}: expected the same grid"
        )
    return velocity, known


def _cells(faces) -> tuple[int, int, int]:
    """Shape of the grid that faces belong to."""
    return faces.y.shape[0], *faces.x.shape[1:]


def _extrapolated(before, known, layers) -> tuple[Faces, Faces]:
    """See extrapolate; fields have rows."""
    u, reached = Faces(*map(np.empty_like, before)), Faces(*map(np.empty_like, known))
    _continue_faces(u, reached, before, known, layers)
    return u, reached


def trusted(known: Faces, open: Faces, narrow: float) -> Faces:
    """The faces that fields are continued from: of those that are known, bool, the ones with w above `narrow`.

    Others are continued from these. With none of their axis beside them, as around a drop in a corner, they have only
    their own.
    """
    known, open = as_faces(known, bool), as_faces(open, np.float32)
    at = z_first(known)
    out = Faces(*map(np.empty_like, at))
    _trust(out, at, z_first(open), np.float32(narrow))
    return z_last(out, _cells(known))


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
def _continue_faces(u, reached, before, known, layers):
    for a in range(3):
        _continue(u[a], reached[a], before[a], known[a], layers)


@kernel(parallel=False)
def _continue(u, reached, before, known, layers):
    """By a bit for each value, 64 of a row in a word, the lowest first."""
    ni, nj, nk = known.shape
    bits, after = np.empty((ni, nj, (nk + 63) // 64), np.uint64), np.empty((ni, nj, (nk + 63) // 64), np.uint64)
    _first_layer(u, bits, before, known)
    for _ in range(layers):
        _average_layer(u, after, bits)
        bits, after = after, bits
    _unpack(reached, bits)


@kernel
def _unpack(out, bits):
    """Bits as bool."""
    for plane in prange(out.shape[0]):
        for j in range(out.shape[1]):
            row, packed = out[plane, j], bits[plane, j]
            for word in range(len(packed)):
                some, part = packed[word], row[64 * word : 64 * word + 64]
                for k in range(len(part)):
                    part[k] = some >> np.uint64(k) & np.uint64(1)


@kernel
def _first_layer(u, bits, before, known):
    """Keep known faces, with a bit for each, and make others zero."""
    for plane in prange(known.shape[0]):
        for j in range(known.shape[1]):
            value, given, at, row = u[plane, j], before[plane, j], known[plane, j], bits[plane, j]
            for k in range(len(at)):
                value[k] = given[k] if at[k] else np.float32(0)
            for word in range(len(row)):
                some = np.uint64(0)
                for k in range(64 * word, min(64 * word + 64, len(at))):
                    some |= np.uint64(at[np.uint64(k)]) << np.uint64(k & 63)
                row[word] = some


@kernel
def _average_layer(u, after, bits):
    """Fill the faces of one axis beside those that have bits, and give them theirs in `after`.

    What other threads fill meanwhile has none yet, and does not count: so the order does not matter.
    """
    ni, nj, nk = u.shape
    last, one, end = bits.shape[2] - 1, np.uint64(1), np.uint64(63)
    beyond = np.uint64(nk - 1) & end  # bit of the last face
    for plane in prange(ni):
        i = np.int64(plane)
        i0, i1 = max(i - 1, 0), min(i + 1, ni - 1)  # at the sides the row itself, whose face has no bit
        for j in range(nj):
            j0, j1 = max(j - 1, 0), min(j + 1, nj - 1)
            for word in range(last + 1):
                here = bits[i, j, word]
                a, b, c, d = bits[i0, j, word], bits[i1, j, word], bits[i, j0, word], bits[i, j1, word]
                e, f = here << one, here >> one
                if word > 0:
                    e |= bits[i, j, word - 1] >> end
                if word < last:
                    f |= bits[i, j, word + 1] << end
                fresh = (a | b | c | d | e | f) & ~here
                if word == last:
                    fresh &= ~(~one << beyond)
                after[i, j, word] = here | fresh
                if fresh == 0:
                    continue
                value, u_i0, u_i1, u_j0, u_j1 = u[i, j], u[i0, j], u[i1, j], u[i, j0], u[i, j1]
                while fresh:
                    bit = lowest_bit(fresh)
                    fresh &= fresh - one
                    k = np.uint64(64 * word) + bit
                    total, count = 0.0, 0
                    if a >> bit & one:
                        total, count = total + u_i0[k], count + 1
                    if b >> bit & one:
                        total, count = total + u_i1[k], count + 1
                    if c >> bit & one:
                        total, count = total + u_j0[k], count + 1
                    if d >> bit & one:
                        total, count = total + u_j1[k], count + 1
                    if e >> bit & one:
                        total, count = total + value[k - one], count + 1
                    if f >> bit & one:
                        total, count = total + value[k + one], count + 1
                    value[k] = total / count


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
    phi, open, solid = _walls(boundary, velocity)
    reached = as_faces(reached or Faces(*(np.ones(u.shape, bool) for u in velocity)), bool)
    out = _constrained(z_first(velocity), phi, open, solid, z_first(reached), deepest, narrow)
    return z_last(out, _cells(velocity))


def _walls(boundary, velocity) -> tuple[np.ndarray, Faces, Faces]:
    """φ, w and the velocity of a boundary, with rows, if they are on the grid of a velocity."""
    open, solid = as_faces(boundary.open, np.float32), as_faces(boundary.velocity, np.float32)
    phi = required(boundary.phi, np.float32)
    nodes = tuple(f.shape[a] for a, f in enumerate(velocity))
    if not (phi.shape == nodes and velocity.x.shape == open.x.shape == solid.x.shape):
        raise ValueError(f"velocity and boundary (nodes {phi.shape}) do not belong to one grid (nodes {nodes})")
    return with_rows(phi) if velocity.x.shape[2] == 1 else phi, z_first(open), z_first(solid)


def _constrained(velocity, phi, open, solid, reached, deepest, narrow) -> Faces:
    """See constrain; fields have rows."""
    out = Faces(*(u.copy() for u in velocity))
    strides = phi.shape[1] * phi.shape[2], phi.shape[2], 1
    _constrain(out, velocity, phi.reshape(-1), open, solid, reached, strides, np.float32(-deepest), np.float32(narrow))
    return out


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
