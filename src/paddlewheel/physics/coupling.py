"""Rigid bodies in the pressure solve: they push and are pushed in the same minimisation.  B07 §3.

The kinetic energy of the bodies joins that of the liquid. With s the part of a
face's box that a body fills, and p = p_s in the air, its force and torque are

    J p = −Σ_f s_f h³ (∂p/∂a)_f j_f ,      j_f = (e_a, (x_f − x_com) × e_a)

so the system gets the term  Δt Jᵀ W J  and the velocities are

    V = V* + Δt W J p

W is the inverse mass, restricted to the motions that a hinge or a locked axis
allows. A pressure does not turn a body about an axis that it is round about; on
a grid it would, a little, and so J leaves that out. Inside the body the terms
telescope away: only cells at its surface take part. The faces carry V* to the
right-hand side as they do that of any solid, but for such turning.
"""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.rigid import factor
from paddlewheel.solve.system import Rows
from paddlewheel.types import BodyFaces, Grid

__all__ = ["Coupled", "accelerated", "beside_liquid", "pressure_rows", "wet", "yielding"]


class Coupled(NamedTuple):
    """A rigid body as the pressure sees it.

    faces     what it fills
    center    of mass [m]
    inverse   (6, 6) W, its inverse mass for forces and torques about that [1/kg …]
    lever     (6, 6) the projection on what a pressure can do to it
    """

    faces: BodyFaces
    center: np.ndarray
    inverse: np.ndarray
    lever: np.ndarray


def pressure_rows(bodies, box, unknown: np.ndarray, grid: Grid, density: float) -> Rows:
    """The rows R of the bodies' term, R = √(ρ/h) Lᵀ J with W = L Lᵀ, in the system of `unknown` cells of a box."""
    starts, cells, values = [0], [], []
    h, origin = grid.h, tuple(first + s.start for first, s in zip(grid.first, box, strict=True))
    for body in bodies:
        cell, J = _touched(body, origin, unknown, h)
        cells.append(cell)
        values.append(np.einsum("ni,ij->nj", J, math.sqrt(density / h) * body.lever @ factor(body.inverse)))
        starts.append(starts[-1] + len(cell))
    return Rows(np.array(starts), np.concatenate(cells), np.concatenate(values))


def yielding(bodies, reply: np.ndarray) -> np.ndarray:
    """(n, 6, n, 6): inverse masses with the liquid that bodies have to move,  L (1 + LᵀYL)⁻¹ Lᵀ ≈ (M + Y)⁻¹.

    Y is the added mass, by which a push on one body moves the others too; reply is (1 + LᵀYL)⁻¹ for the rows of all
    bodies, as a projection tells it.
    """
    n = len(bodies)
    L = np.array([factor(body.inverse) for body in bodies])
    half = np.einsum("nia,namb->nimb", L, reply.reshape(n, 6, n, 6))
    return np.einsum("nimb,mjb->nimj", half, L)


def wet(bodies, liquid: np.ndarray, grid: Grid) -> np.ndarray:
    """Which bodies a pressure in the cells of the liquid, a mask, would act on, (n,)."""
    return np.array([len(_touched(body, grid.first, liquid, grid.h)[0]) > 0 for body in bodies], np.bool_)


def beside_liquid(faces: BodyFaces, grid: Grid, phi: np.ndarray) -> bool:
    """Whether liquid, φ < 0 at centres, touches what a body fills."""
    return _any_touched(*faces.filled, faces.origin, grid.first, phi)


def accelerated(V: np.ndarray, bodies, pressure: np.ndarray, grid: Grid, dt: float) -> np.ndarray:
    """Velocities (n, 6) of the bodies after a pressure [Pa] at all centres acted for dt [s]:  V + Δt W J p."""
    out, force, pressure = V.copy(), np.empty(6), np.ascontiguousarray(pressure)
    for n, body in enumerate(bodies):
        _push(force, *body.faces.filled, body.faces.origin, grid.first, pressure, np.asarray(body.center), grid.h)
        out[n] += dt * np.einsum("ij,jk,k->i", body.inverse, body.lever, force)
    return out


def _touched(body, origin, unknown, h) -> tuple[np.ndarray, np.ndarray]:
    """The unknown cells that a body's surface touches, in C order of their box, and J there, (n, 6)."""
    filled = body.faces.filled
    most = math.prod(filled.x.shape)
    cell, J = np.empty(most, np.int64), np.empty((most, 6))
    count = _columns(cell, J, *filled, body.faces.origin, origin, unknown, np.asarray(body.center), h)
    return cell[:count], J[:count]


@kernel(parallel=False)
def _columns(cell, J, sx, sy, sz, first, origin, unknown, center, h):
    """J of each cell: what its pressure does through its six faces,  ± h² s j."""
    count = 0
    for i in range(sy.shape[0]):
        m = i + first[0] - origin[0]
        for j in range(sx.shape[1]):
            n = j + first[1] - origin[1]
            for k in range(sx.shape[2]):
                o = k + first[2] - origin[2]
                inside = 0 <= m < unknown.shape[0] and 0 <= n < unknown.shape[1] and 0 <= o < unknown.shape[2]
                if not inside or not unknown[m, n, o]:
                    continue
                if _wrench(J[count], sx, sy, sz, i, j, k, first, center, h):
                    cell[count] = (m * unknown.shape[1] + n) * unknown.shape[2] + o
                    count += 1
    return count


@kernel(parallel=False)
def _any_touched(sx, sy, sz, first, origin, phi):
    for i in range(sy.shape[0]):
        m = i + first[0] - origin[0]
        for j in range(sx.shape[1]):
            n = j + first[1] - origin[1]
            for k in range(sx.shape[2]):
                o = k + first[2] - origin[2]
                inside = 0 <= m < phi.shape[0] and 0 <= n < phi.shape[1] and 0 <= o < phi.shape[2]
                beside = sx[i, j, k] != sx[i + 1, j, k] or sy[i, j, k] != sy[i, j + 1, k]
                beside |= sz[i, j, k] != sz[i, j, k + 1]
                if beside and inside and phi[m, n, o] < 0.0:
                    return True
    return False


@kernel(parallel=False)
def _wrench(out, sx, sy, sz, i, j, k, first, center, h):
    """J of one cell: force and torque of a unit pressure; whether there are any."""
    x = (i + first[0] + 0.5) * h - center[0]
    y = (j + first[1] + 0.5) * h - center[1]
    z = (k + first[2] + 0.5) * h - center[2]
    fx = h * h * (np.float64(sx[i + 1, j, k]) - sx[i, j, k])
    fy = h * h * (np.float64(sy[i, j + 1, k]) - sy[i, j, k])
    fz = h * h * (np.float64(sz[i, j, k + 1]) - sz[i, j, k])
    if fx == 0.0 and fy == 0.0 and fz == 0.0:
        return False
    # a force along an axis acts on the faces across it, at the same other two coordinates
    out[0], out[1], out[2] = fx, fy, fz
    out[3], out[4], out[5] = y * fz - z * fy, z * fx - x * fz, x * fy - y * fx
    return True


@kernel(parallel=False)
def _push(out, sx, sy, sz, first, origin, pressure, center, h):
    """J p."""
    out[:] = 0.0
    J = np.empty(6)
    for i in range(sy.shape[0]):
        m = i + first[0] - origin[0]
        for j in range(sx.shape[1]):
            n = j + first[1] - origin[1]
            for k in range(sx.shape[2]):
                o = k + first[2] - origin[2]
                inside = 0 <= m < pressure.shape[0] and 0 <= n < pressure.shape[1] and 0 <= o < pressure.shape[2]
                if inside and pressure[m, n, o] != 0.0 and _wrench(J, sx, sy, sz, i, j, k, first, center, h):
                    for a in range(6):
                        out[a] += pressure[m, n, o] * J[a]
