"""What liquid does to bodies that it carries and that do nothing to it.  FM96.

    M V' + D (V − u) = Σ ( −∇p dV + m g )

The pressure is summed over what a body fills, as if it were liquid there too.
D is the paper's damping, without which nothing that floats would ever settle.
It acts on what is under the surface, against the velocity u of the liquid
there, so that bodies are carried along.
"""

import numpy as np

from paddlewheel.grid.stencil import as_faces
from paddlewheel.kernel import kernel
from paddlewheel.types import BodyFaces, Faces, Grid

__all__ = ["soaked"]


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
    b, c = (axis + 1) % 3, (axis + 2) % 3
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
                at = (
                    h * (m + origin[0] + 0.5 * (axis != 0)) - center[0],
                    h * (n + origin[1] + 0.5 * (axis != 1)) - center[1],
                    h * (o + origin[2] + 0.5 * (axis != 2)) - center[2],
                )
                # r × e_a has components r_c along b and −r_b along c, (a, b, c) cyclic
                j[:] = 0.0
                j[axis], j[3 + b], j[3 + c] = 1.0, at[c], -at[b]
                for p in range(6):
                    momentum[p] += s * u[x, y, z] * j[p]
                    for q in range(6):
                        S[p, q] += s * j[p] * j[q]
