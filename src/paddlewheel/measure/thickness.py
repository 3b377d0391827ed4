"""How thick a solid is: one that is thinner than a cell slips between the points at which the grid knows it."""

import numpy as np

from paddlewheel.solids.shapes import Shape
from paddlewheel.types import Grid

_POINTS = 20_000  # at which a shape is looked at, whatever the grid, so that a large mesh costs no more than a moment
_ENOUGH = 500  # of these from which the surface is looked for
_ON_SURFACE = 0.01  # cells from it: a distance that is only a bound leads nowhere


def thickness(grid: Grid, shape: Shape, most: float) -> float:
    """How thick a shape is across its surface inside the domain, in the median [m]; at most `most`.

    A way s inward from the surface, a wall of the thickness t has the distance  s − t  if it ends within 2 s, and
    −s if not. Places where a wall leans on a side of the domain count as thick, for nothing gets through there.
    """
    axes = 2 if grid.is_2d else 3
    size, x = np.array(grid.size), _points_around(grid, shape, axes)
    phi = shape.distance(x)
    near = np.flatnonzero((phi > 0) & (phi < most))
    if not len(near):  # the lattice is coarser than that
        near = np.flatnonzero(phi > 0)
    near = near[:: -(-len(near) // _ENOUGH) or 1]
    inward = -_slopes(shape, x[near], 1e-3 * grid.h, axes)
    surface = x[near] + phi[near, None] * inward
    beyond = surface + most * inward
    counts = np.abs(shape.distance(surface)) < _ON_SURFACE * grid.h
    counts &= ((surface > 0) & (surface < size))[:, :axes].all(axis=1)
    if not counts.any():
        return most
    measured = 0.5 * most - shape.distance(surface + 0.5 * most * inward)
    leans = ((beyond <= 0) | (beyond >= size))[:, :axes].any(axis=1)
    return float(np.median(np.where(leans, most, measured)[counts]))


def _points_around(grid, shape, axes) -> np.ndarray:
    """A lattice of points around the part of a shape in the domain, (n, 3); it is no finer than the grid."""
    low, high = (np.clip(corner, 0.0, grid.size) for corner in shape.bounds())
    extent = (high - low)[:axes] + 2 * grid.h
    step = max(grid.h, (extent.prod() / _POINTS) ** (1 / axes))
    # off the bounds by an odd part of a step, or flat walls would lie between its planes, and only their edges count
    lines = [np.arange(a - 1.4137 * step, b + 2 * step, step) for a, b in zip(low[:axes], high[:axes], strict=True)]
    if grid.is_2d:
        lines.append(np.array([0.5 * grid.h]))
    return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)


def _slopes(shape, x, way, axes) -> np.ndarray:
    """∇φ at points by central differences, with the length one."""
    out = np.zeros_like(x)
    for a in range(axes):
        step = np.where(np.arange(3) == a, way, 0.0)
        out[:, a] = shape.distance(x + step) - shape.distance(x - step)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-300)
