"""What a step left behind, in two numbers."""

import numpy as np

from paddlewheel.grid.stencil import with_rows, z_first
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Boundary, Faces, Grid


def audit(grid: Grid, velocity: Faces, phi: np.ndarray, boundary: Boundary, density: float) -> tuple[float, float]:
    """Largest divergence of a liquid cell [1/s], and the liquid's kinetic energy [J].

        max_c |1/h ( Σ_f ±( w u + (1 − w) u_solid ) − given )|,      Σ_c ¼ ρ h³ Σ_f w u²

    over cells with φ < 0 and an open face, f the six faces of each.
    """
    given = np.empty((0, 0, 0), np.float32) if boundary.given is None else boundary.given
    phi, faces = with_rows(phi) if grid.is_2d else phi, map(z_first, (velocity, boundary.open, boundary.velocity))
    planes = np.zeros((len(phi), 2))
    _audit(planes, phi, *faces, with_rows(given) if grid.is_2d else given)
    return float(planes[:, 0].max()) / grid.h, float(planes[:, 1].sum()) * 0.25 * density * grid.h**3


@kernel
def _audit(planes, phi, velocity, open, solid, given):
    """For each plane of cells the largest net outflow, and the sum of w u²."""
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        largest, total = 0.0, 0.0
        flow, touched, squares = np.empty(nz), np.empty(nz), np.empty(nz)
        for j in range(ny):
            inside = phi[i, j]
            wet = False
            for k in range(nz):
                wet |= inside[k] < 0.0
            if not wet:
                continue
            for k in range(nz):
                flow[k] = -given[i, j, k] if given.shape[0] > 0 else 0.0
                touched[k] = squares[k] = 0.0
            for a in range(3):
                d0, d1, d2 = int(a == 0), int(a == 1), int(a == 2)
                w_below, w_above = open[a][i, j], open[a][i + d0, j + d1, d2:]
                u_below, u_above = velocity[a][i, j], velocity[a][i + d0, j + d1, d2:]
                v_below, v_above = solid[a][i, j], solid[a][i + d0, j + d1, d2:]
                for k in range(nz):
                    w0, w1 = np.float64(w_below[k]), np.float64(w_above[k])
                    u0, u1 = np.float64(u_below[k]), np.float64(u_above[k])
                    flow[k] += w1 * u1 + (1.0 - w1) * v_above[k] - w0 * u0 - (1.0 - w0) * v_below[k]
                    touched[k] += w0 + w1
                    squares[k] += w0 * u0 * u0 + w1 * u1 * u1
            for k in range(nz):
                if inside[k] < 0.0:
                    total += squares[k]
                    if touched[k] > 0.0:
                        largest = max(largest, abs(flow[k]))
        planes[i, 0], planes[i, 1] = largest, total
