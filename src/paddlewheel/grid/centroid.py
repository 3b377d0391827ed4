"""Velocity where it belongs on cut faces: at the centroid of their open part.

The pressure solve balances fluxes w u through the open parts of faces. For a
velocity that is linear in space the mean over an open part is the value at
its centroid, so that is where the sample of a cut face belongs.  R05 §2.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.grid.fractions import corner_mean, face_corners
from paddlewheel.grid.sample import face_value
from paddlewheel.grid.stencil import as_faces, required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces, Grid

__all__ = ["Centroids", "interpolate", "open_centroids", "recentered"]

_SLIVER = 1e-6  # of a face: a smaller open part has no centroid worth the name
_STIFF = 1e-3  # cells²; samples spread less than this along a direction say nothing about the slope in it
_NEARNESS = (1.0, 0.5, 0.25, 0.125)  # weight of a sample that many steps away
_BLOCK = 4096  # points


class Centroids(NamedTuple):
    """The open part of each face, float32: of a face normal to axis a

    area    in [0, 1]; the sides of the domain are no walls here
    first   offset of its centroid from the face's centre along axis a+1, in cells
    second  the same along axis a+2, cyclic

    Wholly open and wholly closed faces have no offset.
    """

    area: Faces
    first: Faces
    second: Faces


def open_centroids(phi: np.ndarray) -> Centroids:
    """Area and centroid of the part of each face that is not solid.

    phi is the solids' signed distance at nodes [m], shape (nx+1, ny+1, nz+1),
    linear on the four triangles about a face's centre: exact for planes, and
    of the same area as `fractions.open_fractions`.
    """
    phi = required(phi, np.float32)
    if phi.ndim != 3 or min(phi.shape) < 2:
        raise ValueError(f"phi of shape {phi.shape}: expected values at the nodes of a grid, (nx+1, ny+1, nz+1)")
    cells = tuple(n - 1 for n in phi.shape)
    shapes = [[n + (a == axis) for a, n in enumerate(cells)] for axis in range(3)]
    out = Centroids(*(Faces(*(np.zeros(shape, np.float32) for shape in shapes)) for _ in range(3)))
    _open_centroids(out.area, out.first, out.second, phi.reshape(-1), cells)
    return out


@kernel
def _open_centroids(area, first, second, phi, cells):
    strides = ((cells[1] + 1) * (cells[2] + 1), cells[2] + 1, 1)
    for plane in prange(cells[0] + 1):
        i = np.int64(plane)
        for a in range(3):
            w, s, t = area[a], first[a], second[a]
            b, c = strides[(a + 1) % 3], strides[(a + 2) % 3]
            if i < w.shape[0]:
                for j in range(w.shape[1]):
                    for k in range(w.shape[2]):
                        corners = face_corners(phi, i * strides[0] + j * strides[1] + k, b, c)
                        if min(corners) > 0.0:
                            w[i, j, k] = 1.0
                        elif max(corners) > 0.0:
                            w[i, j, k], s[i, j, k], t[i, j, k] = _open_part(corners)


@kernel(parallel=False)
def _open_part(corners):
    """Area of the open part of a unit square and the offset of its centroid from the square's centre."""
    centre = corner_mean(corners)
    total, along, across = 0.0, 0.0, 0.0
    for n in range(4):  # corners go round: (−½, −½), (½, −½), (½, ½), (−½, ½)
        m = (n + 1) % 4
        p, q = 0.5 - (n == 0 or n == 3), 0.5 - (n < 2)
        r, s = 0.5 - (m == 0 or m == 3), 0.5 - (m < 2)
        part, x, y = _open_triangle(centre, corners[n], corners[m], p, q, r, s)
        total += 0.25 * part
        along += 0.25 * x
        across += 0.25 * y
    if total < _SLIVER:
        return 0.0, 0.0, 0.0
    if total > 1.0 - _SLIVER:
        return 1.0, 0.0, 0.0
    return total, along / total, across / total


@kernel(parallel=False)
def _open_triangle(f, g, h, p, q, r, s):
    """Part of a triangle where a linear function is positive, and that part times its centroid.

    The function is f at (0, 0), g at (p, q) and h at (r, s). A corner alone on
    its side is cut off at t = f/(f − g) and f/(f − h) of the edges from it.
    """
    if f > 0.0 and g > 0.0 and h > 0.0:
        return 1.0, (p + r) / 3.0, (q + s) / 3.0
    if f <= 0.0 and g <= 0.0 and h <= 0.0:
        return 0.0, 0.0, 0.0
    if (g > 0.0) == (h > 0.0):
        alone, one, two = f, f / (f - g), f / (f - h)
        x, y = (one * p + two * r) / 3.0, (one * q + two * s) / 3.0
    elif (f > 0.0) == (h > 0.0):
        alone, one, two = g, g / (g - f), g / (g - h)
        x, y = p + (one * -p + two * (r - p)) / 3.0, q + (one * -q + two * (s - q)) / 3.0
    else:
        alone, one, two = h, h / (h - f), h / (h - g)
        x, y = r + (one * -r + two * (p - r)) / 3.0, s + (one * -s + two * (q - s)) / 3.0
    part = one * two
    if alone > 0.0:
        return part, part * x, part * y
    return 1.0 - part, (p + r) / 3.0 - part * x, (q + s) / 3.0 - part * y


def recentered(velocity: Faces, centroids: Centroids) -> Faces:
    """Velocity [m/s], float32, at the centres of faces, from samples at the centroids of their open parts.

    Interpolated between face centres as usual, the result is linear
    interpolation between the centroids, and continuous. A cut or closed face
    takes, with its own sample u_f at x_f and its area w_f,

        ũ(centre) + w_f (u_f − ũ(x_f)),     ũ = c + g·x

    ũ the least-squares fit to the faces up to two cells around it, weighted by
    area and nearness: linear fields are exact and areas that vanish lose their say.
    Wholly open faces, and closed ones with no open face beside them, are kept.
    """
    velocity = as_faces(velocity, np.float32)
    if velocity.x.shape != centroids.area.x.shape:
        raise ValueError(
            f"velocity has {velocity.x.shape} faces along x, centroids {centroids.area.x.shape}: expected the same grid"
        )
    out = Faces(*(u.copy() for u in velocity))
    _recenter(out, velocity, *(as_faces(part, np.float32) for part in centroids))
    return out


@kernel
def _recenter(out, velocity, area, first, second):
    for plane in prange(out[0].shape[0]):
        i = np.int64(plane)
        for a in range(3):
            u, w, s, t = velocity[a], area[a], first[a], second[a]
            if i < u.shape[0]:
                for j in range(u.shape[1]):
                    for k in range(u.shape[2]):
                        if w[i, j, k] < 1.0:
                            out[a][i, j, k] = _at_centre(u, w, s, t, a, i, j, k)


@kernel(parallel=False)
def _at_centre(u, w, first, second, a, i, j, k):
    """ũ(centre) + w (u − ũ(x)) of one face; coordinates are cells from its centre along axes a, a+1, a+2."""
    ni, nj, nk = u.shape
    b, c = (a + 1) % 3, (a + 2) % 3
    own, total, mean, beside = np.float64(u[i, j, k]), 0.0, 0.0, False
    x, y, z = 0.0, 0.0, 0.0
    xx, yy, zz, xy, xz, yz, xu, yu, zu = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i1 in range(max(i - 2, 0), min(i + 3, ni)):
        for j1 in range(max(j - 2, 0), min(j + 3, nj)):
            for k1 in range(max(k - 2, 0), min(k + 3, nk)):
                step = (i1 - i, j1 - j, k1 - k)
                steps = abs(step[0]) + abs(step[1]) + abs(step[2])
                if steps <= 3 and w[i1, j1, k1] > 0.0:
                    beside = beside or max(abs(step[0]), abs(step[1]), abs(step[2])) <= 1
                    weight = w[i1, j1, k1] * _NEARNESS[steps]
                    px = np.float64(step[a])
                    py, pz = step[b] + np.float64(first[i1, j1, k1]), step[c] + np.float64(second[i1, j1, k1])
                    more = np.float64(u[i1, j1, k1]) - own  # a constant gives exactly zero
                    total += weight
                    mean += weight * more
                    x, y, z = x + weight * px, y + weight * py, z + weight * pz
                    xx, yy, zz = xx + weight * px * px, yy + weight * py * py, zz + weight * pz * pz
                    xy, xz, yz = xy + weight * px * py, xz + weight * px * pz, yz + weight * py * pz
                    xu, yu, zu = xu + weight * px * more, yu + weight * py * more, zu + weight * pz * more
    if not beside:  # then it has no part in any value outside the solid
        return own
    mean, x, y, z = mean / total, x / total, y / total, z / total
    gx, gy, gz = _solve(
        xx - total * x * x + _STIFF, yy - total * y * y + _STIFF, zz - total * z * z + _STIFF,
        xy - total * x * y, xz - total * x * z, yz - total * y * z,
        xu - total * x * mean, yu - total * y * mean, zu - total * z * mean,
    )  # fmt: skip
    part = np.float64(w[i, j, k])
    centre = mean - (gx * x + gy * y + gz * z)
    sample = centre + gy * first[i, j, k] + gz * second[i, j, k]
    return own + centre - part * sample


@kernel(parallel=False)
def _solve(xx, yy, zz, xy, xz, yz, p, q, r):
    """Solution of a symmetric positive definite 3×3 system, by Cholesky's L D Lᵀ."""
    yx, zx = xy / xx, xz / xx
    d = yy - yx * xy
    zy = (yz - zx * xy) / d
    e = zz - zx * xz - zy * zy * d
    q -= yx * p
    r -= zx * p + zy * q
    z = r / e
    y = q / d - zy * z
    return p / xx - yx * y - zx * z, y, z


def interpolate(grid: Grid, velocity: Faces, points: np.ndarray, centroids: Centroids | None = None) -> np.ndarray:
    """Velocity [m/s] at `points` [m], both (n, 3), float64; constant beyond the outermost samples.

    Samples are at face centres, or with `centroids` at those of the open parts.
    """
    points = required(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"points have shape {points.shape}, expected (n, 3)")
    velocity = as_faces(velocity, np.float32)
    if velocity.x.shape != grid.face_shape(0):
        raise ValueError(f"velocity.x has shape {velocity.x.shape}: expected {grid.face_shape(0)}")
    if centroids is not None:
        velocity = recentered(velocity, centroids)
    out = np.empty(points.shape)
    _interpolate(out, velocity, points, 1.0 / grid.h)
    return out


@kernel
def _interpolate(out, velocity, points, per_h):
    for block in prange((len(out) + _BLOCK - 1) // _BLOCK):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(out))):
            x, y, z = per_h * points[n, 0], per_h * points[n, 1], per_h * points[n, 2]
            for a in range(3):
                out[n, a] = face_value(velocity[a], a, x, y, z)
