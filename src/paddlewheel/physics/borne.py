"""What liquid does to bodies that it carries and that do nothing to it.  FM96.

    M V' + D (V − u) = Σ ( −∇p dV + m g )

The pressure is summed over what a body fills, as if it were liquid there too,
and so it is at faces that a wall closes: liquid beside it does not go through
it, so its pressure has to carry it there, ∂p/∂n = ρ g_n. What lies on a floor
or against a wall is lifted as in the open, and nothing sucks it on.
D is the paper's damping, without which nothing that floats would ever settle.
It acts on what is under the surface, against the velocity u of the liquid
there, so that bodies are carried along.
"""

import numpy as np

from paddlewheel.grid.stencil import as_faces
from paddlewheel.kernel import kernel
from paddlewheel.types import BodyFaces, Faces, Grid

__all__ = ["floated", "soaked"]


def floated(
    grid: Grid,
    faces: BodyFaces,
    center: np.ndarray,
    phi: np.ndarray,
    pressure: np.ndarray,
    closed: Faces,
    weight: np.ndarray,
) -> np.ndarray:
    """The force [N] and torque [N m] of a pressure [Pa] at centres on a body, (6,).

        f = −h³ Σ_f s_f ∂p_f j_f ,      ∂p_f the difference of p over h, on faces that are closed, bool, ρ g

    if there is liquid, φ < 0, beside them; j and s as in `soaked`, ρ g is the `weight` [N/m³]. Beyond the grid the
    pressure does not change.
    """
    out = np.zeros(6)
    for a in range(2 if grid.is_2d else 3):
        _add_floated(
            out, faces.filled[a], faces.origin, grid.first, a, np.asarray(center), phi,
            np.asarray(pressure, np.float64), closed[a], float(weight[a]), grid.h,
        )  # fmt: skip
    return grid.h**3 * out


def soaked(
    grid: Grid, faces: BodyFaces, center: np.ndarray, phi: np.ndarray, velocity: Faces
) -> tuple[np.ndarray, np.ndarray]:
    """The part of a body that is under the surface, (6, 6) [m³ …], and the velocity of the liquid there times that.

        S = h³ Σ_f s_f j_f j_fᵀ ,      S u = h³ Σ_f s_f u_f j_f ,      j_f = (e_a, (x_f − x_com) × e_a)

    s is what it fills of a face, f the faces beside liquid, φ < 0; half of it, if that is on one side only.
    """
    S, momentum = np.zeros((6, 6)), np.zeros(6)
    velocity = as_faces(velocity, np.float32)
    for a in range(2 if grid.is_2d else 3):
        _add_soaked(
            S, momentum, faces.filled[a], faces.origin, grid.first, a, np.asarray(center), phi, velocity[a], grid.h
        )
    return grid.h**3 * S, grid.h**3 * momentum


@kernel(parallel=False)
def _add_soaked(S, momentum, filled, origin, first, axis, center, phi, u, h):
    j = np.zeros(6)
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    for m in range(filled.shape[0]):
        for n in range(filled.shape[1]):
            for o in range(filled.shape[2]):
                x, y, z = m + origin[0] - first[0], n + origin[1] - first[1], o + origin[2] - first[2]
                inside = 0 <= x < u.shape[0] and 0 <= y < u.shape[1] and 0 <= z < u.shape[2]
                if not inside or not filled[m, n, o] > 0.0:
                    continue
                below = x - d0 >= 0 and y - d1 >= 0 and z - d2 >= 0 and phi[x - d0, y - d1, z - d2] < 0.0
                above = x < phi.shape[0] and y < phi.shape[1] and z < phi.shape[2] and phi[x, y, z] < 0.0
                s = 0.5 * filled[m, n, o] * (int(below) + int(above))
                _arm(j, axis, m + origin[0], n + origin[1], o + origin[2], center, h)
                for p in range(6):
                    momentum[p] += s * u[x, y, z] * j[p]
                    for q in range(6):
                        S[p, q] += s * j[p] * j[q]


@kernel(parallel=False)
def _add_floated(out, filled, origin, first, axis, center, phi, p, closed, weight, h):
    j = np.zeros(6)
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    for m in range(filled.shape[0]):
        for n in range(filled.shape[1]):
            for o in range(filled.shape[2]):
                x, y, z = m + origin[0] - first[0], n + origin[1] - first[1], o + origin[2] - first[2]
                inside = 0 <= x < closed.shape[0] and 0 <= y < closed.shape[1] and 0 <= z < closed.shape[2]
                if not inside or not filled[m, n, o] > 0.0:
                    continue
                below = x >= d0 and y >= d1 and z >= d2
                above = x < p.shape[0] and y < p.shape[1] and z < p.shape[2]
                slope = 0.0
                if closed[x, y, z]:
                    wet = int(below and phi[x - d0, y - d1, z - d2] < 0.0) + int(above and phi[x, y, z] < 0.0)
                    slope = weight * wet / (int(below) + int(above))
                elif below and above:
                    slope = (p[x, y, z] - p[x - d0, y - d1, z - d2]) / h
                _arm(j, axis, m + origin[0], n + origin[1], o + origin[2], center, h)
                for q in range(6):
                    out[q] -= filled[m, n, o] * slope * j[q]


@kernel(parallel=False)
def _arm(j, axis, x, y, z, center, h):
    """j of the face across an axis at (x, y, z) cells."""
    b, c = (axis + 1) % 3, (axis + 2) % 3
    at = (
        h * (x + 0.5 * (axis != 0)) - center[0],
        h * (y + 0.5 * (axis != 1)) - center[1],
        h * (z + 0.5 * (axis != 2)) - center[2],
    )
    # r × e_a has components r_c along b and −r_b along c, (a, b, c) cyclic
    j[:] = 0.0
    j[axis], j[3 + b], j[3 + c] = 1.0, at[c], -at[b]
