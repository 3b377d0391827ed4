"""The liquid as a height field: how deep it stands in each column of cells, FM96's third way to track it.

FM96 moves heights by  ∂η/∂t = v − u ∂η/∂x − w ∂η/∂z.  In an incompressible flow
over a bed that is the same as

    ∂d/∂t = −∂/∂x ∫ u dy − ∂/∂z ∫ w dy ,      d the liquid of a column per area of its floor [m]

and so a column loses exactly what its neighbours gain: volume is kept to rounding, whatever the velocity is.
What a column holds is d; how high it stands, η, follows from d and the room that solids leave in its cells.
"""

import numpy as np

from paddlewheel.grid.stencil import as_faces
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces

__all__ = ["advance", "depths", "heights", "level_set"]

_X, _Z = 0, 2


def heights(depth: np.ndarray, room: np.ndarray, h: float) -> np.ndarray:
    """η [m] above the floor of the domain up to which columns stand that hold depth [m], (nx, nz) float64.

    room is the part of each cell that solids leave, (nx, ny, nz). An empty column stands at its bed; one that holds
    more than there is room for, higher than the domain by the rest.
    """
    out = np.empty(depth.shape)
    _heights(out, depth, room, h)
    return out


def depths(height: np.ndarray, room: np.ndarray, h: float) -> np.ndarray:
    """What columns hold [m], (nx, nz) float64, that stand at a height [m]: the inverse of `heights`."""
    base = h * np.arange(room.shape[1])[None, :, None]
    wet = np.clip(height[:, None, :] - base, 0, h)
    return np.einsum("ijk,ijk->ik", wet, room) + np.maximum(height - h * room.shape[1], 0)


def level_set(height: np.ndarray, ny: int, h: float, far: float) -> np.ndarray:
    """φ [m] at centres, (nx, ny, nz) float32, of liquid below a height [m], (nx, nz); at most `far` cells.

        φ = (y − η) / √(1 + |∇η|²)

    which is the distance if η is a plane, and zero at η in every column.
    """
    steepness = np.ones(height.shape)
    for axis, n in enumerate(height.shape):
        if n > 1:
            steepness += np.gradient(height, h, axis=axis) ** 2
    y = h * (np.arange(ny) + 0.5)
    phi = (y[None, :, None] - height[:, None, :]) / np.sqrt(steepness)[:, None, :]
    return np.clip(phi, -far * h, far * h).astype(np.float32)


def advance(
    depth: np.ndarray, velocity: Faces, open: Faces, room: np.ndarray, h: float, dt: float
) -> tuple[np.ndarray, float, float]:
    """What columns hold [m] after dt [s], and the volumes [m³] that came in and left through open sides.

    Through a face goes what is below the surface there,  F = Σ_j w u s h,  s the wet part of face j. The surface at a
    face is that of the column the liquid comes from, with a slope limited by van Leer's harmonic mean, half a step
    back: of second order where η is smooth, and no new heights where it is not. What columns hold is not negative:
    where more would leave in a step than is there, all that leaves is reduced by the same factor.

    Beyond an open side the surface is as high as inside. Sides are open where w there is not zero.
    """
    velocity, open = as_faces(velocity, np.float32), as_faces(open, np.float32)
    depth = np.ascontiguousarray(depth, np.float64)
    room = np.ascontiguousarray(room, np.float32)
    if velocity.x.shape[0] != room.shape[0] + 1 or depth.shape != (room.shape[0], room.shape[2]):
        raise ValueError(f"depth {depth.shape}, room {room.shape}, velocity.x {velocity.x.shape}: not of one grid")
    height = heights(depth, room, h)
    (nx, nz), flux = depth.shape, []
    for axis, shape in ((_X, (nx + 1, nz)), (_Z, (nx, nz + 1))):
        flux.append(np.empty(shape))
        _flux(flux[-1], height, velocity[axis], open[axis], axis, h, dt)
    x, z = flux
    part, out = np.empty(depth.shape), np.empty(depth.shape)
    _leaving_part(part, depth, x, z, dt / h)
    _reduce(x, part, 1, 0)
    _reduce(z, part, 0, 1)
    _exchange(out, depth, x, z, dt / h)
    through = h * dt * np.concatenate([x[0], -x[-1], z[:, 0], -z[:, -1]])  # F is per length of the face
    return out, float(through[through > 0].sum()), float(-through[through < 0].sum())


@kernel
def _heights(out, depth, room, h):
    nx, ny, nz = room.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for k in range(nz):
            left, height = depth[i, k], h * ny
            for j in range(ny):
                there = h * np.float64(room[i, j, k])
                if there > 0.0 and left <= there:
                    height, left = h * (j + max(left, 0.0) / there), 0.0
                    break
                left -= there
            out[i, k] = height + max(left, 0.0)


@kernel
def _flux(out, height, u, open, axis, h, dt):
    """F [m²/s] through the sides between columns along an axis."""
    ny = u.shape[1]
    di, dk = int(axis == 0), int(axis == 2)
    last = height.shape[0] if axis == 0 else height.shape[1]
    for plane in prange(out.shape[0]):
        i = np.int64(plane)
        for k in range(out.shape[1]):
            n = i if axis == 0 else k  # the column after the side
            before = height[i - di, k - dk] if n > 0 else height[i, k]
            after = height[i, k] if n < last else before
            rise = after - before
            below = before - height[i - 2 * di, k - 2 * dk] if n > 1 else 0.0
            above = height[i + di, k + dk] - after if n < last - 1 else 0.0
            forward, backward = _harmonic(below, rise), _harmonic(rise, above)
            flux = 0.0
            for j in range(ny):
                w = np.float64(open[i, j, k])
                if w > 0.0:
                    v = np.float64(u[i, j, k])
                    away = 0.5 * (1.0 - min(abs(v) * dt / h, 1.0))
                    surface = before + away * forward if v > 0.0 else after - away * backward
                    flux += w * v * min(max(surface - h * j, 0.0), h)
            out[i, k] = flux


@kernel(parallel=False)
def _harmonic(a, b):
    """Van Leer's mean of two differences: zero at extrema."""
    return 2.0 * a * b / (a + b) if a * b > 0.0 else 0.0


@kernel
def _leaving_part(part, depth, x, z, per_h):
    """What part of that which is to leave a column is there."""
    for plane in prange(depth.shape[0]):
        i = np.int64(plane)
        for k in range(depth.shape[1]):
            leaving = max(x[i + 1, k], 0.0) + max(-x[i, k], 0.0) + max(z[i, k + 1], 0.0) + max(-z[i, k], 0.0)
            leaving *= per_h
            part[i, k] = max(depth[i, k], 0.0) / leaving if leaving > depth[i, k] else 1.0


@kernel
def _reduce(flux, part, di, dk):
    """Let only that part through sides that is there; what comes through open sides is not reduced."""
    for plane in prange(flux.shape[0]):
        i = np.int64(plane)
        for k in range(flux.shape[1]):
            if flux[i, k] > 0.0 and i >= di and k >= dk:
                flux[i, k] *= part[i - di, k - dk]
            elif flux[i, k] < 0.0 and i < part.shape[0] and k < part.shape[1]:
                flux[i, k] *= part[i, k]


@kernel
def _exchange(out, depth, x, z, per_h):
    for plane in prange(depth.shape[0]):
        i = np.int64(plane)
        for k in range(depth.shape[1]):
            net = (x[i + 1, k] - x[i, k]) + (z[i, k + 1] - z[i, k])
            out[i, k] = max(depth[i, k] - per_h * net, 0.0)
