"""Distances carried on: away from the cells where they are known, and past the line where a surface meets a wall."""

import numpy as np

from paddlewheel.grid.plane import fitted_plane, tangent_plane
from paddlewheel.kernel import kernel, prange

__all__ = ["CLOSED", "UNKNOWN", "grow", "straighten_at_walls"]

UNKNOWN, CLOSED = 254, 255  # layers: not reached yet, and never to be
_THINNEST = 0.1  # cells: a distance that has been carried on is at least this large, or its sign would be lost
_TOUCHING = 0.25  # cells by which the surface must be nearer than a wall for its distance to be believed
_FARTHEST = 3.5  # cells from the surface up to which distances are believed
_AIR = 0.02  # cells: the least distance of what was air and is carried on; it does not become liquid by that
_GENTLE, _STEEP = 0.7, 1.3  # |∇φ| of a distance is 1: a plane far from that is not determined by its data


def grow(phi: np.ndarray, layer: np.ndarray, layers: int, h: float) -> None:
    """Carry the distance φ [m], float32 at centres, on from cells where layer = 0 to those where it is UNKNOWN.

    Layer by layer, |∇φ| = 1 by differences to the known neighbours (Godunov),
    with the sign that φ has there already. Cells reached get the number of their
    layer; CLOSED ones are neither read nor written.
    """
    for n in range(1, layers + 1):
        _distance_layer(phi, layer, n, np.float32(h))


@kernel
def _distance_layer(phi, layer, n, h):
    """Give the cells beside layers before n a distance that grows by h per h, and mark them n.

    Cells marked by other threads meanwhile are n or unknown, neither of which is read.
    """
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                if layer[i, j, k] == UNKNOWN:
                    sign = np.copysign(np.float32(1), phi[i, j, k])
                    x = _nearest(phi, layer, n, sign, max(i - 1, 0), j, k, min(i + 1, nx - 1), j, k)
                    y = _nearest(phi, layer, n, sign, i, max(j - 1, 0), k, i, min(j + 1, ny - 1), k)
                    z = _nearest(phi, layer, n, sign, i, j, max(k - 1, 0), i, j, min(k + 1, nz - 1))
                    if min(x, y, z) < np.float32(np.inf):
                        phi[i, j, k] = sign * max(_eikonal(x, y, z, h), np.float32(_THINNEST) * h)
                        layer[i, j, k] = n


@kernel(parallel=False)
def _nearest(phi, layer, n, sign, i0, j0, k0, i1, j1, k1):
    """The smaller distance of two cells on one side of the surface, infinite if neither is known."""
    before = sign * phi[i0, j0, k0] if layer[i0, j0, k0] < n else np.float32(np.inf)
    after = sign * phi[i1, j1, k1] if layer[i1, j1, k1] < n else np.float32(np.inf)
    return min(before, after)


@kernel(parallel=False)
def _eikonal(x, y, z, h):
    """The d with Σ max(0, d − d_a)² = h² over the nearest distances along the axes."""
    low, high = min(x, y, z), max(x, y, z)
    middle = max(min(x, y), min(max(x, y), z))
    d = low + h
    if d > middle:
        d = np.float32(0.5) * (low + middle + np.sqrt(2 * h * h - (middle - low) ** 2))
    if d > high:
        mean = (low + middle + high) / np.float32(3)
        spread = (low - mean) ** 2 + (middle - mean) ** 2 + (high - mean) ** 2
        d = mean + np.sqrt(max(h * h - spread, np.float32(0)) / np.float32(3))
    return d


def straighten_at_walls(phi: np.ndarray, solid: np.ndarray, h: float, layers: int = 5) -> None:
    """Replace φ [m] in air beside walls, where it is the distance from the line in which liquid and wall meet.

    Where a wall, of signed distance `solid` [m] at nodes, is nearer than the
    surface, φ is carried on from where it is not, layer by layer: it becomes the
    value of the plane that fits the believed cells around best, weighted by
    distance⁻⁴, if that plane has the slope of a distance. It does not rise, and
    air remains air.
    """
    trust = np.empty(phi.shape, np.uint8)
    _mark(trust, phi, solid, np.float32(h))
    cells = np.flatnonzero(trust == UNKNOWN)
    for n in range(1, layers + 1):
        _straighten(phi, trust, cells, solid, n, h)


@kernel
def _mark(trust, phi, solid, h):
    """0 where φ is believed, UNKNOWN in the air that is to be reached, else CLOSED."""
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                trust[i, j, k] = CLOSED
                if abs(phi[i, j, k]) < np.float32(_FARTHEST) * h:
                    wall = tangent_plane(solid, i, j, k)[0]
                    if wall > 0.0:
                        if abs(phi[i, j, k]) < wall - np.float32(_TOUCHING) * h:
                            trust[i, j, k] = 0
                        elif phi[i, j, k] >= 0.0:
                            trust[i, j, k] = UNKNOWN


@kernel
def _straighten(phi, trust, cells, solid, n, h):
    """Layer n. Cells marked by other threads meanwhile are n or unknown, neither of which is read."""
    nx, ny, nz = phi.shape
    for m in prange(len(cells)):
        cell = np.int64(cells[m])
        i, j, k = cell // (ny * nz), cell // nz % ny, cell % nz
        if trust[i, j, k] == UNKNOWN:
            x = min(trust[max(i - 1, 0), j, k], trust[min(i + 1, nx - 1), j, k])
            y = min(trust[i, max(j - 1, 0), k], trust[i, min(j + 1, ny - 1), k])
            z = min(trust[i, j, max(k - 1, 0)], trust[i, j, min(k + 1, nz - 1)])
            if min(x, y, z) < n:
                found, mean, c, g = fitted_plane(
                    phi, trust, n, tangent_plane(solid, i, j, k), solid, (0.0, 0.0, 0.0), h, i, j, k
                )
                slope = np.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
                if found and _GENTLE * h < slope < _STEEP * h:
                    value = mean - (g[0] * c[0] + g[1] * c[1] + g[2] * c[2])
                    phi[i, j, k] = min(phi[i, j, k], np.float32(max(value, _AIR * h)))
                    trust[i, j, k] = n
