"""Smoke in space as it is seen: a medium that absorbs light and sends it on, and solids in it.

Along a ray from the camera, with extinction σ [1/cell] and radiance c of the
medium, what arrives is

    L = ∫ T σ c ds + T(s_hit) L_surface,    T(s) = exp(−∫ σ ds).

Light comes from one direction. What is left of it is swept through the grid
once (`sunlight`), so that a ray need not look for the sun at each of its steps.
"""

from typing import NamedTuple

import numpy as np
from scipy import ndimage

from paddlewheel.grid.cells import at_centres
from paddlewheel.grid.sample import node_value
from paddlewheel.kernel import kernel, prange

STEP = 0.75  # cells along a ray
_OPAQUE = 1 / 256  # what is left of light that is no longer followed
_BLOCKS = 64  # of rays, each spread over the picture so that all take about the same time
_TOGETHER = 32  # rays side by side in a block, which read the same memory
_FLUSH = 1e-3  # cells from a side of the domain, within which a solid ends there


class Volume(NamedTuple):
    """A medium among solids, on a grid of unit cells.

    medium  (nx + 2, ny + 2, nz + 2, 4) float32 at centres, and a frame around them: σ, and c in red, green and blue
    solid   φ of the solids at nodes, float32
    free    (nx, ny, nz, 2) float32: how far from all points of a cell there is no medium, and no solid
    """

    medium: np.ndarray
    solid: np.ndarray
    free: np.ndarray

    @classmethod
    def of(cls, extinction: np.ndarray, radiance: np.ndarray, solid: np.ndarray) -> "Volume":
        """The volume with σ [1/cell] and c (nx, ny, nz, 3) at centres, and φ [cells] at nodes."""
        empty = np.pad(extinction <= 0, 1, constant_values=True)
        if empty.all():
            away = np.full(extinction.shape, max(extinction.shape))
        else:
            away = ndimage.distance_transform_cdt(empty, "chessboard")[1:-1, 1:-1, 1:-1]
        # A sample reaches a cell far from its own centre, and a point is up to half a cell beside its cell's.
        free = np.stack([away - 1.5, at_centres(solid) - 1.5], axis=-1)
        medium = np.concatenate([extinction[..., None], radiance], axis=-1)
        medium = np.pad(medium, [(1, 1), (1, 1), (1, 1), (0, 0)], mode="edge")
        return cls(*(np.ascontiguousarray(array, np.float32) for array in (medium, solid, free)))

    def trace(self, origin: np.ndarray, rays: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Along unit vectors (n, 3) from a point, up to distances `far` (n,): (n, 5) float32.

        The light that arrives in red, green and blue, what is left of light from
        the far end, and the distance at which a solid is hit, inf if none is.
        The walls of a tank that turn their backs are looked through; what a ray enters in a solid that it never leaves
        is the cut through that.
        """
        out = np.empty((len(rays), 5), np.float32)
        _trace(out, np.asarray(origin, np.float64), rays, far, *self)
        return out


def with_ends(solid: np.ndarray) -> np.ndarray:
    """φ of solids at nodes [cells], such that an axle that goes through a side of the domain, or up to it, ends there.

    So does everything that the whole rim of a side is free of. What reaches the rim may be the wall of a tank, to be
    looked through: it begins at the side, even if it ends there, where φ would be zero but for rounding.
    """
    solid = solid.copy()
    for axis in range(3):
        for end in (0, -1):
            side = np.moveaxis(solid, axis, 0)[end]
            parts, _ = ndimage.label(side < _FLUSH, np.ones((3, 3)))
            rim = np.unique(np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]]))
            wall = np.isin(parts, rim[rim > 0])
            side[wall] = np.minimum(side[wall], -_FLUSH)
            side[(parts > 0) & ~wall] = _FLUSH
    return solid


def sunlight(extinction: np.ndarray, to_sun: tuple[float, float, float]) -> np.ndarray:
    """What is left of the sun's light at each centre, from 0 to 1, float32; it stands in a direction with y > 0.

    From the top down, a plane of cells gets what the plane above lets through, where the sun shines from.
    In a 2-D scene it shines along it.
    """
    dx, _, dz = np.array(to_sun) / to_sun[1]
    dz *= extinction.shape[2] > 1
    way = np.float32(np.hypot(1, np.hypot(dx, dz)))  # [cells] from one plane to the next
    through = np.exp(-0.5 * way * extinction)  # by half a plane
    out, arriving = np.empty_like(through), np.ones_like(through[:, 0])
    for j in reversed(range(extinction.shape[1])):
        out[:, j] = arriving * through[:, j]
        arriving = ndimage.shift(out[:, j] * through[:, j], (-dx, -dz), order=1, mode="grid-constant", cval=1.0)
    return out


@kernel
def _trace(out, origin, rays, far, medium, solid, free):
    for block in prange(_BLOCKS):
        for first in range(np.int64(block) * _TOGETHER, len(rays), _BLOCKS * _TOGETHER):
            for n in range(first, min(first + _TOGETHER, len(rays))):
                _follow(out[n], origin, rays[n], far[n], medium, solid, free)


@kernel(parallel=False)
def _follow(out, origin, ray, far, medium, solid, free):
    """Follow one ray through the box, in steps that begin where it enters."""
    x, y, z = origin
    u, v, w = ray
    near = 0.0
    for a in range(3):
        one, other = -origin[a] / ray[a], (free.shape[a] - origin[a]) / ray[a]
        near, far = max(near, min(one, other)), min(far, max(one, other))
    red, green, blue, left, hit = 0.0, 0.0, 0.0, 1.0, np.inf
    behind = near < far and node_value(solid, x + near * u, y + near * v, z + near * w) < 0
    step = 0
    while near + step * STEP < far and left > _OPAQUE:
        start = near + step * STEP
        end = min(start + STEP, far)
        i, j, k = (
            _cell(x + start * u, free.shape[0]),
            _cell(y + start * v, free.shape[1]),
            _cell(z + start * w, free.shape[2]),
        )
        to_medium, to_solid = free[i, j, k, 0], free[i, j, k, 1]
        clear = np.int64(min(to_medium, to_solid) / STEP)
        if clear > 0:
            step += clear
            continue
        step += 1
        if behind or to_solid < STEP:
            before = node_value(solid, x + start * u, y + start * v, z + start * w)
            after = node_value(solid, x + end * u, y + end * v, z + end * w)
            if behind:
                behind = after < 0
                continue
            if after < 0:
                end = start + (end - start) * max(before, 0.0) / (max(before, 0.0) - after)
                hit = end
        if to_medium < STEP:
            middle = 0.5 * (start + end)
            sigma, r, g, b = _medium_at(medium, x + middle * u, y + middle * v, z + middle * w)
            sent = left * (1.0 - np.exp(-sigma * (end - start)))
            red, green, blue, left = red + sent * r, green + sent * g, blue + sent * b, left - sent
        if hit < np.inf:
            break
    if behind:
        left, hit = 1.0, near
    out[0], out[1], out[2], out[3], out[4] = red, green, blue, left, hit


@kernel(parallel=False)
def _cell(x, n):
    return np.uint64(min(max(x, 0.0), n - 1.0))


@kernel(parallel=False)
def _medium_at(medium, x, y, z):
    """The four values of a medium at a point, trilinear, constant beyond the outermost centres of the grid."""
    x, y, z = x + 0.5, y + 0.5, z + 0.5  # from the first centre, that of the frame
    i, j, k = np.uint64(x), np.uint64(y), np.uint64(z)
    f = np.float32(x - np.float64(i)), np.float32(y - np.float64(j)), np.float32(z - np.float64(k))
    return (
        _between(medium, 0, i, j, k, f),
        _between(medium, 1, i, j, k, f),
        _between(medium, 2, i, j, k, f),
        _between(medium, 3, i, j, k, f),
    )


@kernel(parallel=False, inline=True)
def _between(medium, n, i, j, k, f):
    i1, j1, k1 = i + np.uint64(1), j + np.uint64(1), k + np.uint64(1)
    a = _mix(medium[i, j, k, n], medium[i, j, k1, n], f[2])
    b = _mix(medium[i, j1, k, n], medium[i, j1, k1, n], f[2])
    c = _mix(medium[i1, j, k, n], medium[i1, j, k1, n], f[2])
    d = _mix(medium[i1, j1, k, n], medium[i1, j1, k1, n], f[2])
    return _mix(_mix(a, b, f[1]), _mix(c, d, f[1]), f[0])


@kernel(parallel=False, inline=True)
def _mix(a, b, t):
    return a + t * (b - a)
