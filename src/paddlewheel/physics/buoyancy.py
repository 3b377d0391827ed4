"""What lifts smoke, and how it fades: buoyancy, cooling and dissipation."""

import math
from collections.abc import Sequence

import numpy as np

from paddlewheel.grid.stencil import as_faces, required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces

__all__ = ["decay", "lifted"]


def lifted(
    velocity: Faces,
    density: np.ndarray,
    temperature: np.ndarray,
    dt: float,
    *,
    alpha: float,
    beta: float,
    ambient: float = 0.0,
    gravity: Sequence[float] = (0.0, -9.81, 0.0),
    among: np.ndarray | None = None,
) -> Faces:
    """Velocity [m/s], float32, after buoyancy acted for dt [s]. Components that it does not act on are not copied.

        f = (−α d + β (T − T_amb)) up,      up = −g/|g|

    α [m/s²] per unit of density d is the weight of smoke, β [m/s²] per kelvin the
    lift of heat. On a face d and T are means of the cells on both sides, of those
    `among` which there is smoke, bool, if given: in solids there is none. A face
    beside no such cell, which a wall may cut all the same, has the mean of those up
    to a cell farther, or else heat would stir where it is everywhere the same; and if
    there is none, nothing. Without gravity nothing is up.  Fedkiw et al. 2001.
    """
    velocity = as_faces(velocity, np.float32)
    density, temperature = required(density, np.float32), required(temperature, np.float32)
    shape = velocity.y.shape[0], velocity.z.shape[1], velocity.x.shape[2]
    among = np.ones(shape, bool) if among is None else required(among, bool)
    if not shape == density.shape == temperature.shape == among.shape:
        raise ValueError(
            f"density {density.shape}, temperature {temperature.shape}, among {among.shape}: expected {shape} cells"
        )
    strength = math.hypot(*gravity)
    up = [-g / strength if strength else 0.0 for g in gravity]
    result = list(velocity)
    for a in range(3):
        if up[a]:
            result[a] = np.empty_like(velocity[a])
            heavy, hot = np.float32(-dt * alpha * up[a]), np.float32(dt * beta * up[a])
            _lift(result[a], velocity[a], density, temperature, among, a, heavy, hot, np.float32(ambient))
    return Faces(*result)


def decay(field: np.ndarray, rate: float, dt: float, ambient: float = 0.0) -> None:
    """Let a field approach its ambient value at a rate [1/s] for dt [s], in place and exactly:

        q ← q_amb + (q − q_amb) exp(−rate Δt)

    It is how smoke dissipates and, after Newton, how it cools. Any step may be taken.
    """
    if not (math.isfinite(rate * dt) and rate >= 0 and dt >= 0):
        raise ValueError(f"rate={rate!r}, dt={dt!r}: expected a rate per second and a time in seconds")
    if rate * dt > 0:
        kept, ambient = field.dtype.type(math.exp(-rate * dt)), field.dtype.type(ambient)
        field -= ambient
        field *= kept
        field += ambient


@kernel
def _lift(out, u, density, temperature, among, axis, heavy, hot, ambient):
    """Add the mean of heavy × d + hot × (T − T_amb) of the cells beside each face of an axis."""
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    nx, ny, nz = density.shape
    for plane in prange(u.shape[0]):
        i = np.int64(plane)
        # of the cells below and above a row of faces, with an empty one at both ends
        below, above = np.zeros(nz + 2, np.float32), np.zeros(nz + 2, np.float32)
        is_below, is_above = np.zeros(nz + 2, np.bool_), np.zeros(nz + 2, np.bool_)
        for j in range(u.shape[1]):
            for push, there, a, b in ((below, is_below, i - di, j - dj), (above, is_above, i, j)):
                inside = 0 <= a < nx and 0 <= b < ny
                a, b = min(max(a, 0), nx - 1), min(max(b, 0), ny - 1)
                d, t, smoky = density[a, b], temperature[a, b], among[a, b]
                for k in range(nz):
                    there[k + 1] = inside and smoky[k]
                    push[k + 1] = heavy * d[k] + hot * (t[k] - ambient) if there[k + 1] else np.float32(0)
            before, after, lacking = u[i, j], out[i, j], False
            for k in range(u.shape[2]):
                both = is_below[k + 1 - dk] and is_above[k + 1]
                total = below[k + 1 - dk] + above[k + 1]
                after[k] = before[k] + (np.float32(0.5) * total if both else total)
                lacking |= not (is_below[k + 1 - dk] or is_above[k + 1])
            for k in range(u.shape[2] if lacking else 0):
                if not (is_below[k + 1 - dk] or is_above[k + 1]):
                    after[k] = before[k] + _mean_push(density, temperature, among, axis, i, j, k, heavy, hot, ambient)


@kernel(parallel=False)
def _mean_push(density, temperature, among, axis, i, j, k, heavy, hot, ambient):
    """The mean over the cells up to a cell from those beside a face; 0 if there are none."""
    nx, ny, nz = density.shape
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    total, count = np.float32(0), 0
    for i1 in range(max(i - di - 1, 0), min(i + 1, nx - 1) + 1):
        for j1 in range(max(j - dj - 1, 0), min(j + 1, ny - 1) + 1):
            for k1 in range(max(k - dk - 1, 0), min(k + 1, nz - 1) + 1):
                if among[i1, j1, k1]:
                    total += heavy * density[i1, j1, k1] + hot * (temperature[i1, j1, k1] - ambient)
                    count += 1
    return total / np.float32(count) if count > 0 else np.float32(0)
