"""How the flow turns, and a force that keeps small vortices turning where the grid would smear them out."""

import numpy as np

from paddlewheel.grid.stencil import as_faces, required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces

__all__ = ["confined", "confinement", "vorticity"]

FLAT = 1e-3  # if |ω| changes by less than this part of itself in a cell, its direction is one of rounding errors


def vorticity(velocity: Faces, h: float) -> np.ndarray:
    """ω = ∇ × u [1/s] at centres, shape (3, nx, ny, nz), float32.

    From the means of the faces of the cells beside each, of one side at the
    domain's sides. In solids velocity has to be known too, as continued from outside.
    """
    velocity = as_faces(velocity, np.float32)
    out = np.empty((3, *_cells(velocity)), np.float32)
    _vorticity(out, velocity, 1.0 / h)
    return out


def confinement(velocity: Faces, h: float, strength: float, among: np.ndarray | None = None) -> np.ndarray:
    """The acceleration [m/s²] at centres, shape (3, nx, ny, nz), float32, that drives vortices where they turn.

        f = ε h (N × ω),      N = ∇|ω| / |∇|ω||

    ε [1/s] is the strength. It is zero where |ω| has no gradient, and in cells
    that are not `among` those with smoke, bool, whose vorticity is not looked at
    either: a wall looks as if |ω| went on as it is.  Fedkiw et al. 2001, after Steinhoff.
    """
    omega = vorticity(velocity, h)
    among = np.ones(omega.shape[1:], bool) if among is None else required(among, bool)
    if among.shape != omega.shape[1:]:
        raise ValueError(f"among has shape {among.shape}: expected {omega.shape[1:]}")
    size, force = np.empty(among.shape, np.float32), np.empty_like(omega)
    _size(size, omega)
    _confine(force, omega, size, among, np.float32(strength * h))
    return force


def confined(velocity: Faces, h: float, dt: float, strength: float, among: np.ndarray | None = None) -> Faces:
    """Velocity [m/s], float32, after `confinement` acted for dt [s]; on a face half of it from either side."""
    velocity = as_faces(velocity, np.float32)
    if strength == 0:
        return velocity
    force = confinement(velocity, h, strength, among)
    out = Faces(*(np.empty_like(u) for u in velocity))
    _push(out, velocity, force, np.float32(0.5 * dt))
    return out


def _cells(velocity) -> tuple[int, int, int]:
    return velocity.y.shape[0], velocity.z.shape[1], velocity.x.shape[2]


@kernel
def _vorticity(out, velocity, per_h):
    for plane in prange(out.shape[1]):
        i = np.int64(plane)
        for j in range(out.shape[2]):
            for k in range(out.shape[3]):
                for a in range(3):
                    b, c = (a + 1) % 3, (a + 2) % 3
                    turning = _slope(velocity[c], c, b, i, j, k) - _slope(velocity[b], b, c, i, j, k)
                    out[a, i, j, k] = per_h * turning


@kernel(parallel=False)
def _slope(u, a, b, i, j, k):
    """∂u_a/∂x_b at the centre of a cell, per cell, b ≠ a; zero if there is only one cell along b."""
    i0, i1 = max(i - (b == 0), 0), min(i + (b == 0), u.shape[0] - 1)
    j0, j1 = max(j - (b == 1), 0), min(j + (b == 1), u.shape[1] - 1)
    k0, k1 = max(k - (b == 2), 0), min(k + (b == 2), u.shape[2] - 1)
    di, dj, dk = int(a == 0), int(a == 1), int(a == 2)
    low = np.float64(u[i0, j0, k0]) + u[i0 + di, j0 + dj, k0 + dk]
    high = np.float64(u[i1, j1, k1]) + u[i1 + di, j1 + dj, k1 + dk]
    return 0.5 * (high - low) / max(i1 - i0 + j1 - j0 + k1 - k0, 1)


@kernel
def _size(size, omega):
    for plane in prange(size.shape[0]):
        for j in range(size.shape[1]):
            x, y, z = omega[0, plane, j], omega[1, plane, j], omega[2, plane, j]
            for k in range(size.shape[2]):
                size[plane, j, k] = np.sqrt(x[k] * x[k] + y[k] * y[k] + z[k] * z[k])


@kernel
def _confine(force, omega, size, among, scale):
    for plane in prange(size.shape[0]):
        i = np.int64(plane)
        for j in range(size.shape[1]):
            for k in range(size.shape[2]):
                fx = fy = fz = np.float32(0)
                if among[i, j, k]:
                    gx, gy, gz = _gradient(size, among, i, j, k)
                    steep = np.sqrt(gx * gx + gy * gy + gz * gz)
                    if steep > FLAT * size[i, j, k]:
                        s = scale / steep
                        x, y, z = omega[0, i, j, k], omega[1, i, j, k], omega[2, i, j, k]
                        fx, fy, fz = s * (gy * z - gz * y), s * (gz * x - gx * z), s * (gx * y - gy * x)
                force[0, i, j, k], force[1, i, j, k], force[2, i, j, k] = fx, fy, fz


@kernel(parallel=False)
def _gradient(size, among, i, j, k):
    """∇|ω| per cell, as if beyond sides and in cells that are not among those with smoke it went on as it is."""
    nx, ny, nz = size.shape
    i0, i1 = max(i - 1, 0), min(i + 1, nx - 1)
    j0, j1 = max(j - 1, 0), min(j + 1, ny - 1)
    k0, k1 = max(k - 1, 0), min(k + 1, nz - 1)
    i0, i1 = i0 if among[i0, j, k] else i, i1 if among[i1, j, k] else i
    j0, j1 = j0 if among[i, j0, k] else j, j1 if among[i, j1, k] else j
    k0, k1 = k0 if among[i, j, k0] else k, k1 if among[i, j, k1] else k
    return (
        (size[i1, j, k] - size[i0, j, k]) / np.float32(max(i1 - i0, 1)),
        (size[i, j1, k] - size[i, j0, k]) / np.float32(max(j1 - j0, 1)),
        (size[i, j, k1] - size[i, j, k0]) / np.float32(max(k1 - k0, 1)),
    )


@kernel
def _push(out, velocity, force, half_dt):
    nx, ny, nz = force.shape[1:]
    for plane in prange(nx + 1):
        i = np.int64(plane)
        for a in range(3):
            u, after, f = velocity[a], out[a], force[a]
            di, dj, dk = int(a == 0), int(a == 1), int(a == 2)
            if i < u.shape[0]:
                for j in range(u.shape[1]):
                    for k in range(u.shape[2]):
                        below = above = np.float32(0)
                        if i >= di and j >= dj and k >= dk:
                            below = f[i - di, j - dj, k - dk]
                        if i < nx and j < ny and k < nz:
                            above = f[i, j, k]
                        after[i, j, k] = u[i, j, k] + half_dt * (below + above)
