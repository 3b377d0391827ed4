"""Velocity where there is no fluid to have one: beyond the surface and inside solids."""

import numpy as np

from paddlewheel.grid.fractions import corner_mean, face_corners
from paddlewheel.grid.stencil import as_faces
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Boundary, Faces

__all__ = ["constrain", "extrapolate"]

_UNKNOWN = 32767
_FLAT = 1e-5  # a difference of φ this small beside φ itself is rounding, not a direction


def extrapolate(velocity: Faces, known: Faces, layers: int) -> Faces:
    """Velocity [m/s], float32, continued as constants `layers` faces beyond those where `known` is True.

    Layer by layer, each unknown face takes the mean of its nearest faces of the
    same axis (six, or four in 2-D) that were known before the layer. Faces out
    of reach keep their values.  B07 §3.2.
    """
    if not 0 <= layers < _UNKNOWN:
        raise ValueError(f"layers={layers!r}: expected a number from 0 to {_UNKNOWN - 1}")
    velocity = Faces(*(u.copy() for u in as_faces(velocity, np.float32)))
    known = as_faces(known, bool)
    if velocity.x.shape != known.x.shape:
        raise ValueError(
            f"velocity has {velocity.x.shape} faces along x, known {known.x.shape}: expected the same grid"
        )
    layer = Faces(*(np.where(k, 0, _UNKNOWN).astype(np.int16) for k in known))
    for n in range(1, layers + 1):
        _average_layer(velocity, layer, n)
    return velocity


@kernel
def _average_layer(velocity, layer, n):
    """Fill the faces beside those of layers before n, and mark them n.

    Faces marked by other threads meanwhile are n or unknown, neither of which
    is read, so the order does not matter.
    """
    for plane in prange(velocity[0].shape[0]):
        i = np.int64(plane)
        for a in range(3):
            u, layer_a = velocity[a], layer[a]
            ni, nj, nk = u.shape
            if i < ni:
                for j in range(nj):
                    for k in range(nk):
                        if layer_a[i, j, k] == _UNKNOWN:
                            total, count = 0.0, 0
                            for b in range(3):
                                for step in (-1, 1):  # clamped at the sides to the face itself, which is unknown
                                    i1 = min(max(i + step * (b == 0), 0), ni - 1)
                                    j1 = min(max(j + step * (b == 1), 0), nj - 1)
                                    k1 = min(max(k + step * (b == 2), 0), nk - 1)
                                    if layer_a[i1, j1, k1] < n:
                                        total += u[i1, j1, k1]
                                        count += 1
                            if count > 0:
                                u[i, j, k] = total / count
                                layer_a[i, j, k] = n


def constrain(velocity: Faces, boundary: Boundary) -> Faces:
    """Velocity [m/s], float32, whose normal component in closed faces (w = 0) is the solid's.

        u ← u − ((u − u_solid)·n) n,     n = ∇φ/|∇φ|

    so that advection near a wall slips along it. The other two components of u
    and u_solid at a face are means of the four faces around it, from the field
    before the change: u should be extrapolated into the solids first, and
    boundary.velocity be the solids' also in the open faces beside them. Where φ
    has no gradient the solid's velocity is taken. On a closed face of the
    domain's sides the normal is the face's own.  B07 §3.2, after Houston et al.
    2003.
    """
    velocity = as_faces(velocity, np.float32)
    open, solid = as_faces(boundary.open, np.float32), as_faces(boundary.velocity, np.float32)
    phi = np.require(boundary.phi, np.float32, "CAW")
    nodes = tuple(f.shape[a] for a, f in enumerate(velocity))
    if not (phi.shape == nodes and velocity.x.shape == open.x.shape == solid.x.shape):
        raise ValueError(f"velocity and boundary (nodes {phi.shape}) do not belong to one grid (nodes {nodes})")
    out = Faces(*(u.copy() for u in velocity))
    for a in range(3):
        for side in (0, -1):
            at = tuple(side if axis == a else slice(None) for axis in range(3))
            np.copyto(out[a][at], solid[a][at], where=open[a][at] == 0)
    _constrain(out, velocity, phi.reshape(-1), open, solid, (nodes[1] * nodes[2], nodes[2], 1))
    return out


@kernel
def _constrain(out, velocity, phi, open, solid, strides):
    for plane in prange(out[0].shape[0]):
        i = np.int64(plane)
        for a in range(3):
            w = open[a]
            ni, nj, nk = w.shape
            if int(a == 0) <= i < ni - (a == 0):
                for j in range(int(a == 1), nj - (a == 1)):
                    for k in range(int(a == 2), nk - (a == 2)):
                        if w[i, j, k] == 0.0:
                            out[a][i, j, k] = _slipping(velocity, phi, solid, strides, a, i, j, k)


@kernel(parallel=False)
def _slipping(velocity, phi, solid, strides, a, i, j, k):
    """Component a, at its face (i, j, k), of the velocity with its normal part replaced by the solid's."""
    b, c = (a + 1) % 3, (a + 2) % 3
    node = i * strides[0] + j * strides[1] + k * strides[2]
    before = face_corners(phi, node - strides[a], strides[b], strides[c])
    face = face_corners(phi, node, strides[b], strides[c])
    after = face_corners(phi, node + strides[a], strides[b], strides[c])

    # ∇φ per cell
    phi_before, phi_after = corner_mean(before), corner_mean(after)
    na = 0.5 * (phi_after - phi_before)
    nb = 0.5 * ((face[1] - face[0]) + (face[2] - face[3]))
    nc = 0.5 * ((face[3] - face[0]) + (face[2] - face[1]))
    n2 = na * na + nb * nb + nc * nc
    if n2 <= (_FLAT * max(abs(phi_before), abs(phi_after))) ** 2:
        return np.float64(solid[a][i, j, k])

    u, u_solid = np.float64(velocity[a][i, j, k]), np.float64(solid[a][i, j, k])
    outflow = (u - u_solid) * na
    outflow += (_mean_around(velocity, b, a, i, j, k) - _mean_around(solid, b, a, i, j, k)) * nb
    outflow += (_mean_around(velocity, c, a, i, j, k) - _mean_around(solid, c, a, i, j, k)) * nc
    return u - outflow * na / n2


@kernel(parallel=False)
def _mean_around(field, b, a, i, j, k):
    """Mean of the four faces normal to b around face (i, j, k) normal to a: those of the cells on both sides of it."""
    f = field[b]
    total = 0.0
    for side in range(2):
        for end in range(2):
            total += f[
                i - side * (a == 0) + end * (b == 0),
                j - side * (a == 1) + end * (b == 1),
                k - side * (a == 2) + end * (b == 2),
            ]
    return 0.25 * total
