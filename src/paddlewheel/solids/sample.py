"""The distance to a shape at the points of a lattice."""

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.formula import on_lattice
from paddlewheel.solids.shapes import CHUNK, Moved, Shape

_COARSEST = 8  # steps between the first samples of a costly shape
_SAFE = 1.1  # times as near to its surface as needed that a shape is looked at half-way between points


def sample(shape: Shape, axes, band: float = 2.0) -> np.ndarray:
    """Signed distance [m] at all points (x[i], y[j], z[k]), `axes` = (x, y, z): shape (len(x), len(y), len(z)).

    A costly shape is exact within `band` steps of its surface. Farther away it
    is interpolated from every second, fourth, … point, with the right sign: a
    distance changes by no more than the way gone, so a coarse sample clears
    its surroundings, and only what it does not clear is looked at again.
    """
    axes = [np.asarray(axis, np.float64) for axis in axes]
    if not shape.costly:
        return _sample_all(shape, axes)
    stride = _COARSEST
    knots = [_knots(len(axis), stride) for axis in axes]
    phi = _sample_all(shape, [axis[k] for axis, k in zip(axes, knots, strict=True)])
    step = max((np.diff(axis).max() for axis in axes if len(axis) > 1), default=0.0)
    while stride > 1:
        diagonal = _diagonal(axes, knots)
        stride //= 2
        finer = [_knots(len(axis), stride) for axis in axes]
        for a in range(3):
            phi = _interpolate(phi, knots[a], finer[a], a)
        known = np.ix_(*(np.searchsorted(f, k) for f, k in zip(finer, knots, strict=True)))
        knots = finer
        # Interpolation is off by at most half the coarse diagonal, and the next, finer level may start from here
        # only if all that lies within half a diagonal of its own band is exact.
        needed = band * step + (diagonal if stride > 1 else 0.5 * diagonal)
        near = np.abs(phi) <= needed
        near[known] = False
        near = np.nonzero(near)
        phi[near] = shape.distance(np.stack([x[k][i] for x, k, i in zip(axes, knots, near, strict=True)], axis=-1))
    return phi


def sample_halves(shape: Shape, axes) -> np.ndarray:
    """The same at every second point of axes of an odd length and even spacing, and between them near the surface.

    What is between the points has their distance, of the one farthest from the surface, if that is farther than a
    diagonal from all that lies half-way to the next points: there the sign is all that is wanted.
    """
    if shape.costly or shape.formula is not None:  # which costs less than to find out where
        return sample(shape, axes)
    half = max(axis[1] - axis[0] for axis in axes if len(axis) > 1)
    phi = np.empty([len(axis) for axis in axes])
    phi[::2, ::2, ::2] = _sample_all(shape, [axis[::2] for axis in axes])
    near, points = np.empty(phi.size, np.int64), np.empty((phi.size, 3))
    count = _fill_between(phi, near, points, *axes, half)
    phi.reshape(-1)[near[:count]] = shape.distance(points[:count])
    return phi


@kernel(parallel=False)
def _fill_between(phi, near, points, x, y, z, half):
    """Give what is between every second point the value of those around it that is farthest from zero.

    Lists the places where that is not far enough, by their flat index, and how many they are.
    """
    ni, nj, nk = phi.shape
    count = 0
    for i in range(ni):
        for j in range(nj):
            for k in range(nk):
                a, b, c = i & 1, j & 1, k & 1
                if a + b + c == 0:
                    continue
                value = 0.0
                for m in range(i - a, i + a + 1, 2):
                    for n in range(j - b, j + b + 1, 2):
                        for o in range(k - c, k + c + 1, 2):
                            value = phi[m, n, o] if abs(phi[m, n, o]) > abs(value) else value
                phi[i, j, k] = value
                if abs(value) <= _SAFE * (np.sqrt(a + b + c) + np.sqrt(3.0)) * half:
                    near[count] = (i * nj + j) * nk + k
                    points[count, 0], points[count, 1], points[count, 2] = x[i], y[j], z[k]
                    count += 1
    return count


def _sample_all(shape, axes) -> np.ndarray:
    """The distance at every point of the lattice, a few planes at a time.

    Turned into the frame of a moved shape, a lattice is still a sum of one part for each axis.
    """
    if shape.formula is not None:
        return on_lattice(shape.formula, axes)
    nx, ny, nz = (len(axis) for axis in axes)
    origin, directions = np.zeros(3), np.eye(3)
    if isinstance(shape, Moved):
        origin, directions, shape = shape.pose.position, shape.pose.rotation, shape.shape
    x, y, z = ((axis - o)[:, None] * d for axis, o, d in zip(axes, origin, directions, strict=True))
    plane = y[:, None] + z
    out = np.empty((nx, ny, nz))
    planes = max(1, CHUNK // max(1, ny * nz))
    for start in range(0, nx, planes):
        points = x[start : start + planes, None, None] + plane
        out[start : start + planes] = shape.distance(points.reshape(-1, 3)).reshape(points.shape[:3])
    return out


def _knots(n: int, stride: int) -> np.ndarray:
    """Every stride-th of n indices, and the last."""
    return np.unique(np.append(np.arange(0, n, stride), n - 1))


def _diagonal(axes, knots) -> float:
    """Longest diagonal of the boxes between knots."""
    gaps = [np.diff(axis[k]).max() if len(k) > 1 else 0.0 for axis, k in zip(axes, knots, strict=True)]
    return float(np.linalg.norm(gaps))


def _interpolate(values, coarse, fine, axis) -> np.ndarray:
    """Values at the indices `coarse` along an axis, interpolated linearly to the indices `fine`."""
    right = np.clip(np.searchsorted(coarse, fine), 1, max(1, len(coarse) - 1))
    left = right - 1
    right = np.minimum(right, len(coarse) - 1)
    t = (fine - coarse[left]) / np.maximum(coarse[right] - coarse[left], 1)
    t = t.reshape([-1 if a == axis else 1 for a in range(3)])
    return values.take(left, axis) * (1 - t) + values.take(right, axis) * t
