"""How the flow stretches and turns what it carries: the gradient of its velocity."""

import math

import numpy as np

from paddlewheel.grid.stencil import as_faces, faces_with_long_rows, required, with_long_rows
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces, Grid

__all__ = ["displaced", "rates", "straight_loss"]


def rates(grid: Grid, velocity: Faces, phi: np.ndarray, within: np.ndarray | None = None) -> tuple[float, float]:
    """The largest component of the velocity [m/s], and the largest √|tr(∇u ∇u)| in liquid cells [1/s].

    The latter is |∇u| in strain and in rotation, but zero in shear: what slides past a wall is not torn apart.
    Looked at are the cells `within` (3, 2), from and up to which, along each axis.
    """
    velocity, phi = _checked(grid, velocity, phi)
    within = np.array([(0, n) for n in grid.shape]) if within is None else within
    planes = np.zeros((within[0, 1] - within[0, 0] + 1, 2), np.float32)
    if grid.is_2d:
        velocity, phi, within = faces_with_long_rows(velocity), with_long_rows(phi), within[[0, 2, 1]]
    _rates(planes, velocity, phi, within)
    return float(planes[:, 0].max()), math.sqrt(planes[:, 1].max()) / grid.h


def straight_loss(grid: Grid, velocity: Faces, phi: np.ndarray, open: Faces, dt: float) -> np.ndarray:
    """The part of a liquid cell's volume that is lost if all in its open part goes straight on for dt [s], float32.

        1 − det(1 + Δt ∇u)  =  ½ Δt² tr(∇u ∇u)  + O(Δt³)     if ∇·u = 0

    In strain, where ways converge, it is positive, in rotation negative. Beside
    air, where ∇u is in part that of a velocity made up beyond the surface, 0.
    """
    velocity, phi = _checked(grid, velocity, phi)
    open, loss = as_faces(open, np.float32), np.empty(grid.shape, np.float32)
    if grid.is_2d:
        velocity, open = faces_with_long_rows(velocity), faces_with_long_rows(open)
        phi, part = with_long_rows(phi), loss.reshape(grid.shape[0], 1, grid.shape[1])
    else:
        part = loss
    _straight_loss(part, velocity, phi, *open, np.float32(0.5 * (dt / grid.h) ** 2))
    return loss


def displaced(velocity: Faces, shift: Faces, h: float) -> Faces:
    """What velocity changes over a shift [m] on the faces,  (δ·∇) u  [m/s], float32."""
    velocity, shift = as_faces(velocity, np.float32), as_faces(shift, np.float32)
    out = Faces(*(np.empty_like(u) for u in velocity))
    for axis in range(3):
        _displace(out[axis], velocity[axis], shift, axis, np.float32(1 / h))
    return out


@kernel
def _displace(out, u, shift, axis, per_h):
    nx, ny, nz = u.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(0, nz, max(nz - 1, 1)):  # the ends of the row, beyond which there is nothing
                total = np.float32(0)
                for b in range(3):
                    bi, bj, bk = int(b == 0), int(b == 1), int(b == 2)
                    i0, j0, k0 = max(i - bi, 0), max(j - bj, 0), max(k - bk, 0)
                    i1, j1, k1 = min(i + bi, nx - 1), min(j + bj, ny - 1), min(k + bk, nz - 1)
                    apart = i1 - i0 + j1 - j0 + k1 - k0
                    if apart > 0:
                        slope = (u[i1, j1, k1] - u[i0, j0, k0]) / np.float32(apart)
                        total += slope * _at_face(shift[b], b, axis, i, j, k)
                out[i, j, k] = per_h * total
            if nz > 2:
                _displace_row(out[i, j, 1 : nz - 1], u, shift, axis, i, j, per_h)


@kernel(parallel=False)
def _displace_row(out, u, shift, axis, i, j, per_h):
    """The same in a row but for its ends."""
    for m in range(len(out)):
        out[m] = np.float32(0)
    for b in range(3):
        bi, bj, bk = int(b == 0), int(b == 1), int(b == 2)
        i0, j0, i1, j1 = max(i - bi, 0), max(j - bj, 0), min(i + bi, u.shape[0] - 1), min(j + bj, u.shape[1] - 1)
        apart = i1 - i0 + j1 - j0 + 2 * bk
        if apart > 0:
            low, high, scale = u[i0, j0, 1 - bk :], u[i1, j1, 1 + bk :], per_h / np.float32(apart)
            one, two, three, four = _rows_about(shift[b], b, axis, i, j)
            for m in range(len(out)):
                way = np.float32(0.25) * (one[m] + two[m] + (three[m] + four[m]))
                out[m] += scale * (high[m] - low[m]) * way


@kernel(parallel=False)
def _rows_about(s, b, axis, i, j):
    """The four rows of a component whose mean it has on a row of faces of an axis, from its second on; see _at_face."""
    if b == axis:
        own = s[i, j, 1:]
        return own, own, own, own
    ai, aj, ak = int(axis == 0), int(axis == 1), int(axis == 2)
    bi, bj, bk = int(b == 0), int(b == 1), int(b == 2)
    i0, j0, i1, j1 = max(i - ai, 0), max(j - aj, 0), min(i, s.shape[0] - 1 - bi), min(j, s.shape[1] - 1 - bj)
    return s[i0, j0, 1 - ak :], s[i0 + bi, j0 + bj, 1 - ak + bk :], s[i1, j1, 1:], s[i1 + bi, j1 + bj, 1 + bk :]


@kernel(parallel=False)
def _at_face(s, b, axis, i, j, k):
    """The component b of a field at a face of an axis: its own, or the mean of the four around."""
    if b == axis:
        return s[i, j, k]
    ai, aj, ak = int(axis == 0), int(axis == 1), int(axis == 2)
    bi, bj, bk = int(b == 0), int(b == 1), int(b == 2)
    i0, j0, k0 = max(i - ai, 0), max(j - aj, 0), max(k - ak, 0)
    i1, j1, k1 = min(i, s.shape[0] - 1 - bi), min(j, s.shape[1] - 1 - bj), min(k, s.shape[2] - 1 - bk)
    low = s[i0, j0, k0] + s[i0 + bi, j0 + bj, k0 + bk]
    return np.float32(0.25) * (low + s[i1, j1, k1] + s[i1 + bi, j1 + bj, k1 + bk])


def _checked(grid, velocity, phi) -> tuple[Faces, np.ndarray]:
    velocity, phi = as_faces(velocity, np.float32), required(phi, np.float32)
    if velocity.x.shape != grid.face_shape(0) or phi.shape != grid.shape:
        raise ValueError(f"velocity.x {velocity.x.shape}, phi {phi.shape}: expected those of {grid.shape} cells")
    return velocity, phi


@kernel
def _rates(planes, velocity, phi, within):
    """For each plane the largest |u| of its faces, and the largest |tr(∇u ∇u)| of its liquid cells, per cell²."""
    nx, ny, nz = phi.shape
    for plane in prange(len(planes)):
        i = within[0, 0] + np.int64(plane)
        fastest = steepest = np.float32(0)
        for a in range(3):
            if i < within[0, 1] + (a == 0):
                for j in range(within[1, 0], within[1, 1] + (a == 1)):
                    row = velocity[a][i, j, within[2, 0] : within[2, 1] + (a == 2)]
                    for k in range(len(row)):
                        fastest = max(fastest, abs(row[k]))
        if i < within[0, 1]:
            for j in range(within[1, 0], within[1, 1]):
                for k in range(within[2, 0], within[2, 1]):
                    if phi[i, j, k] < 0.0:
                        steepest = max(steepest, abs(_trace_squared(velocity, i, j, k, nx, ny, nz)))
        planes[plane, 0], planes[plane, 1] = fastest, steepest


@kernel
def _straight_loss(loss, velocity, phi, wx, wy, wz, scale):
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        i0, i1 = max(i - 1, 0), min(i + 1, nx - 1)
        for j in range(ny):
            j0, j1 = max(j - 1, 0), min(j + 1, ny - 1)
            for k in range(nz):
                highest = max(phi[i, j, k], phi[i, j, max(k - 1, 0)], phi[i, j, min(k + 1, nz - 1)])
                loss[i, j, k] = 0.0
                if highest < 0.0 and max(phi[i0, j, k], phi[i1, j, k], phi[i, j0, k], phi[i, j1, k]) < 0.0:
                    open = wx[i, j, k] + wx[i + 1, j, k] + wy[i, j, k] + wy[i, j + 1, k] + wz[i, j, k] + wz[i, j, k + 1]
                    loss[i, j, k] = scale * (open / 6) * _trace_squared(velocity, i, j, k, nx, ny, nz)


@kernel(parallel=False)
def _trace_squared(velocity, i, j, k, nx, ny, nz):
    """tr(∇u ∇u) at the centre of a cell, per cell²."""
    xx, xy, xz, yx, yy, yz, zx, zy, zz = _gradient(velocity, i, j, k, nx, ny, nz)
    across = xy * yx + xz * zx + yz * zy
    return xx * xx + yy * yy + zz * zz + across + across


@kernel(parallel=False)
def _gradient(velocity, i, j, k, nx, ny, nz):
    """∂u_a/∂x_b at the centre of a cell, per cell: xx, xy, xz, yx, …, zz.

    From the faces across it, and from the means of the faces of its neighbours, of one side at the domain's sides.
    """
    i0, i1, j0, j1 = max(i - 1, 0), min(i + 1, nx - 1), max(j - 1, 0), min(j + 1, ny - 1)
    k0, k1 = max(k - 1, 0), min(k + 1, nz - 1)
    half = np.float32(0.5)
    per_x, per_y = half / np.float32(max(i1 - i0, 1)), half / np.float32(max(j1 - j0, 1))
    per_z = half / np.float32(max(k1 - k0, 1))
    one = np.uint64(1)
    i, i0, i1 = np.uint64(i), np.uint64(i0), np.uint64(i1)
    j, j0, j1 = np.uint64(j), np.uint64(j0), np.uint64(j1)
    k, k0, k1 = np.uint64(k), np.uint64(k0), np.uint64(k1)
    u, v, w = velocity
    return (
        u[i + one, j, k] - u[i, j, k],
        per_y * (u[i, j1, k] + u[i + one, j1, k] - u[i, j0, k] - u[i + one, j0, k]),
        per_z * (u[i, j, k1] + u[i + one, j, k1] - u[i, j, k0] - u[i + one, j, k0]),
        per_x * (v[i1, j, k] + v[i1, j + one, k] - v[i0, j, k] - v[i0, j + one, k]),
        v[i, j + one, k] - v[i, j, k],
        per_z * (v[i, j, k1] + v[i, j + one, k1] - v[i, j, k0] - v[i, j + one, k0]),
        per_x * (w[i1, j, k] + w[i1, j, k + one] - w[i0, j, k] - w[i0, j, k + one]),
        per_y * (w[i, j1, k] + w[i, j1, k + one] - w[i, j0, k] - w[i, j0, k + one]),
        w[i, j, k + one] - w[i, j, k],
    )
