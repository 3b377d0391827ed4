"""The explicit update of momentum: what carries velocity along, and friction, by differences on the grid.  FM96.

    u += Δt ( −(u·∇) u + ν ∇²u )

Differences are central, as in the paper, and with them Euler's rule alone is
unstable: it needs a viscosity of at least ½ Δt |u_b| s along each axis b, with
s = Σ_b |u_b|. What is missing of that is added by leaning to the donor cell,

    u_b ∂q/∂b  →  ½ (U₊ − A₊)(q₊ − q)/h + ½ (U₋ + A₋)(q − q₋)/h ,      A = max(0, |U| s Δt/h − 2 ν/h)

U₊ and U₋ being u_b half a cell on. For A = |U| that is the donor cell's value
(upwind), for A = 0 central differences. It is stable for

    s Δt/h ≤ C   and   2 d ν Δt/h² ≤ 1 − C²      in d dimensions

in which the paper's limits, 1 > u Δt/h and Δt < h²/6ν, are for each alone.
"""

import math

import numpy as np

from paddlewheel.grid.stencil import as_faces
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import AXES, Faces, Grid

__all__ = ["COURANT", "carried", "longest_step"]

COURANT = 0.7  # C: cells that liquid crosses in a sub-step, summed over the axes
WAVES = 0.7  # a sub-step lasts at most this × √(h/g): the shortest waves a grid can hold go unstable at 1.1


def longest_step(grid: Grid, velocity: Faces, viscosity: float, gravity) -> float:
    """The longest stable sub-step [s]; viscosity is the kinematic one [m²/s].

    Gravity [m/s²] may act for all of it: the sum of velocities may not cross more than COURANT cells.
    """
    s = sum(float(max(u.max(), -u.min())) for u in velocity)
    g, way = sum(map(abs, gravity)), COURANT * grid.h
    limits = [2 * way / (s + math.sqrt(s**2 + 4 * g * way))] if s or g else []
    limits += [WAVES * math.sqrt(grid.h / math.hypot(*gravity))] if g else []
    d = 2 if grid.is_2d else 3
    limits += [(1 - COURANT**2) * grid.h**2 / (2 * d * viscosity)] if viscosity else []
    return min(limits, default=math.inf)


def carried(
    grid: Grid,
    velocity: Faces,
    where: Faces,
    solid: Faces,
    closed: Faces,
    dt: float,
    *,
    viscosity: float = 0.0,
    slip: dict[str, bool] | None = None,
    solids_slip: bool = False,
) -> Faces:
    """Velocity [m/s], float64, after dt [s] of being carried by itself and of friction, on the faces `where`, bool.

    velocity holds on all faces beside those, and that of solids and inflows on the faces these close. Faces `closed` by
    solids, bool, which move at `solid` [m/s], are mirrored for those that go along them: with the same velocity if
    solids slip, else so that it is the solid's half way. slip says the same for the sides of the domain that are walls,
    "-x" and so on; beyond others velocity does not change. viscosity is the kinematic one [m²/s].
    """
    velocity, where = as_faces(velocity, np.float64), as_faces(where, bool)
    solid, closed = as_faces(solid, np.float32), as_faces(closed, bool)
    sides = np.ones((3, 2))
    for side, slips in (slip or {}).items():
        sides[AXES.index(side[1]), int(side[0] == "+")] = 1.0 if slips else -1.0
    courant = np.empty(grid.shape)
    _courant(courant, velocity, dt / grid.h)
    out = Faces(*(u.copy() for u in velocity))
    for a in range(3):
        _carry(
            out[a], a, velocity, where[a], solid[a], closed[a], courant, sides, solids_slip, dt / grid.h,
            viscosity * dt / grid.h**2,
        )  # fmt: skip
    return out


@kernel
def _courant(out, velocity, scale):
    """Cells that the fastest of each cell's faces cross in the step, summed over the axes."""
    nx, ny, nz = out.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                total = 0.0
                for a in range(3):
                    u = velocity[a]
                    total += max(abs(u[i, j, k]), abs(u[i + (a == 0), j + (a == 1), k + (a == 2)]))
                out[i, j, k] = total * scale


@kernel
def _carry(out, axis, velocity, where, solid, closed, courant, sides, solids_slip, scale, friction):
    """One component; scale is Δt/h, friction ν Δt/h²."""
    u = velocity[axis]
    ni, nj, nk = u.shape
    for plane in prange(ni):
        i = np.int64(plane)
        for j in range(nj):
            for k in range(nk):
                if not where[i, j, k]:
                    continue
                q, change = u[i, j, k], 0.0
                for b in range(3):
                    for end in range(2):
                        beyond = _beside(u, axis, b, end, i, j, k, solid, closed, sides, solids_slip)
                        U, s = _through(velocity, courant, axis, b, end, i, j, k)
                        lean = max(0.0, abs(U) * s * scale - 2.0 * friction)
                        sign = 1.0 if end else -1.0
                        change -= 0.5 * (sign * U * scale - lean) * (beyond - q)
                        change += friction * (beyond - q)
                out[i, j, k] = q + change


@kernel(parallel=False)
def _beside(u, axis, b, end, i, j, k, solid, closed, sides, solids_slip):
    """The velocity of the next face along an axis b, as friction and differences see it."""
    step = 1 if end else -1
    m, n, o = i + step * (b == 0), j + step * (b == 1), k + step * (b == 2)
    q = u[i, j, k]
    if not (0 <= m < u.shape[0] and 0 <= n < u.shape[1] and 0 <= o < u.shape[2]):
        return q if b == axis else sides[b, end] * q
    if b != axis and closed[m, n, o]:
        return q if solids_slip else 2.0 * solid[m, n, o] - q
    return u[m, n, o]


@kernel(parallel=False)
def _through(velocity, courant, axis, b, end, i, j, k):
    """u_b half a cell along b from a face, and Σ|u| Δt/h there, at most."""
    nx, ny, nz = courant.shape
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    i0, j0, k0 = max(i - d0, 0), max(j - d1, 0), max(k - d2, 0)  # the cells on both sides of the face
    i1, j1, k1 = min(i, nx - 1), min(j, ny - 1), min(k, nz - 1)
    e0, e1, e2 = int(b == 0), int(b == 1), int(b == 2)
    if b == axis:
        u = velocity[axis]
        if end:
            m, n, o = min(i + e0, u.shape[0] - 1), min(j + e1, u.shape[1] - 1), min(k + e2, u.shape[2] - 1)
            s = courant[i1, j1, k1]
        else:
            m, n, o = max(i - e0, 0), max(j - e1, 0), max(k - e2, 0)
            s = courant[i0, j0, k0]
        return 0.5 * (u[i, j, k] + u[m, n, o]), s
    f0, f1, f2 = e0 * end, e1 * end, e2 * end
    u = velocity[b]
    U = 0.5 * (u[i0 + f0, j0 + f1, k0 + f2] + u[i1 + f0, j1 + f1, k1 + f2])
    step = 1 if end else -1
    s = max(courant[i0, j0, k0], courant[i1, j1, k1])
    p0, q0, r0 = i0 + step * e0, j0 + step * e1, k0 + step * e2
    p1, q1, r1 = i1 + step * e0, j1 + step * e1, k1 + step * e2
    if 0 <= p0 < nx and 0 <= q0 < ny and 0 <= r0 < nz:
        s = max(s, courant[p0, q0, r0], courant[p1, q1, r1])
    return U, s
