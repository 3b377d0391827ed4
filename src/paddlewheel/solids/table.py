"""Distances that cost much, computed once for a body that moves: a table in the body's own frame.

Between the points of the table the distance is a piecewise cubic. Measured for
balls and boxes of triangles, with points a quarter of a cell apart: a ball of
four cells' radius keeps its volume to 1e-4, where a piecewise linear function
takes 2e-3 off it; the volume of a box of six cells is 2e-3 off with either.
Twice as far apart the ball is as good, but the box gains 7e-3.
"""

import math
import warnings
from dataclasses import dataclass, field

import numpy as np

from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Moved, Shape

SPACING = 0.25  # of the points of a table, in cells of the grid
ACROSS = 8  # points, at least, across the thickest part of a body, but
FINEST = 0.05  # cells apart
MARGIN = 4.0  # cells around a body that its table covers
EXACT = 1.5  # cells around the surface in which every point of the table is exact
MOST = 1 << 24  # points of one table (64 MB), and a quarter of what all may have
COARSE = 0.5  # cells between points from which on a table is not good any more

_BLOCK = 1024  # points


@dataclass(frozen=True, eq=False)
class Table(Shape):
    """A shape with its distance looked up: beyond the table, the way to it is added.

    exact    the shape itself
    spacing  of the points along each axis [m], about; the bounds of the shape lie on them
    margin   how far the table reaches beyond the bounds [m]
    band     how far from the surface it is exact at its points [m]
    plane    z of the one plane it is made for [m], or None
    """

    exact: Shape
    spacing: float
    margin: float
    band: float = 0.0
    plane: float | None = None
    _low: np.ndarray = field(init=False, repr=False)
    _step: np.ndarray = field(init=False, repr=False)
    _values: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        low, step, counts = _lattice(self.exact, self.spacing, self.margin, self.plane)
        axes = [first + d * np.arange(n) for first, d, n in zip(low, step, counts, strict=True)]
        values = sample(self.exact, axes, band=max(2.0, self.band / step.min())).astype(np.float32)
        for name, value in (("_low", low), ("_step", step), ("_values", values)):
            object.__setattr__(self, name, value)

    @property
    def deepest(self) -> float:
        """Largest distance of any point inside [m]."""
        return max(0.0, -float(self._values.min()))

    def bounds(self):
        return self.exact.bounds()

    def _distance(self, points):
        out = np.empty(len(points))
        with threads_worth(len(points)):
            _interpolate(out, self._values, self._low, self._step, np.ascontiguousarray(points))
        return out


def tabulated(shapes, h: float, plane: float | None = None, most: int = MOST) -> list[Shape]:
    """The shapes, with tables for those that are costly, on a grid of cells h [m]; in 2-D only of a `plane` z [m].

    Shapes alike share one. A table that would have more than `most` points is coarser, with a warning when that
    spoils it.
    """
    tables: dict[Shape, Table] = {}
    costly = {_bare(shape, plane) for shape in shapes if shape.costly}
    most = min(most, 4 * most // max(1, len(costly)))
    for shape in costly:
        tables[shape] = _table(shape, h, plane, most)
    return [_with_table(shape, tables, plane) if shape.costly else shape for shape in shapes]


def untabulated(shape: Shape) -> Shape:
    """The shape without the table it may have."""
    match shape:
        case Table():
            return shape.exact
        case Moved(child, pose) if isinstance(child, Table | Moved):
            return Moved(untabulated(child), pose)
    return shape


def _bare(shape, plane) -> Shape:
    """What the table is made of: a shape before it was moved, but as it lies in its plane."""
    return _bare(shape.shape, plane) if isinstance(shape, Moved) and plane is None else shape


def _with_table(shape, tables, plane) -> Shape:
    if isinstance(shape, Moved) and plane is None:
        return Moved(_with_table(shape.shape, tables, plane), shape.pose)
    return tables[shape]


def _table(shape, h, plane, most) -> Table:
    """A table as fine as the shape needs it and as may be."""
    finest = FINEST * h
    while math.prod(_lattice(shape, finest, MARGIN * h, plane)[2]) > most:
        finest *= 1.05
    table = Table(shape, max(SPACING * h, finest), MARGIN * h, EXACT * h, plane)
    spacing = max(2 * table.deepest / ACROSS, finest)
    if finest > COARSE * h:
        name = getattr(shape, "name", type(shape).__name__)
        warnings.warn(
            f"{name}: its table of distances is limited to {most} points, {finest / h:.2g} cells apart", stacklevel=4
        )
    return table if spacing >= table.spacing else Table(shape, spacing, MARGIN * h, EXACT * h, plane)


def _lattice(shape, spacing, margin, plane) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First point, step and number of points of a table along each axis."""
    low, high = (np.array(corner) for corner in shape.bounds())
    if plane is not None:
        low[2], high[2] = 0.0, spacing  # it may have no end there
    cells = np.maximum(np.ceil((high - low) / spacing), 1)
    step = (high - low) / cells
    beyond = np.ceil(margin / step) + 1  # the cubic needs one more
    low, counts = low - beyond * step, (cells + 2 * beyond + 1).astype(int)
    if plane is not None:
        low[2], step[2], counts[2] = plane, 1.0, 1
    return low, step, counts


@kernel
def _interpolate(out, values, low, step, points):
    """Cubic convolution along each axis (Keys 1981): continuous slopes, exact for parabolas."""
    ni, nj, nk = values.shape
    # in the plane of a 2-D scene there is one point along z, which is all four
    flat, next_x, next_y, next_z = values.reshape(-1), np.uint64(nj * nk), np.uint64(nk), np.uint64(nk > 1)
    for block in prange((len(out) + _BLOCK - 1) // _BLOCK):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(out))):
            i, tx, square_x = _place(ni, low[0], step[0], points[n, 0])
            j, ty, square_y = _place(nj, low[1], step[1], points[n, 1])
            k, tz, square_z = _place(nk, low[2], step[2], points[n, 2])
            weights_y, (z0, z1, z2, z3) = _weights(ty), _weights(tz)
            at = np.uint64((i * nj + j) * nk + k)
            one, two, three, four = 0.0, 0.0, 0.0, 0.0  # the four along z side by side
            for weight_x in _weights(tx):
                row = at
                for weight_y in weights_y:
                    weight = weight_x * weight_y
                    one += weight * flat[row]
                    two += weight * flat[row + next_z]
                    three += weight * flat[row + next_z + next_z]
                    four += weight * flat[row + next_z + next_z + next_z]
                    row += next_y
                at += next_x
            total = (z0 * one + z1 * two) + (z2 * three + z3 * four)
            out[n] = total + np.sqrt(square_x + square_y + square_z)


@kernel(parallel=False, inline=True)
def _weights(t):
    """Of four points, for a place t between the second and the third."""
    return (
        t * (-0.5 + t * (1.0 - 0.5 * t)),
        1.0 + t * t * (1.5 * t - 2.5),
        t * (0.5 + t * (2.0 - 1.5 * t)),
        t * t * (0.5 * t - 0.5),
    )


@kernel(parallel=False, inline=True)
def _place(count, low, step, x):
    """The first of four points along an axis, the place between the inner two, and the square of the way to the table
    [m²]; nothing of that in the plane of a 2-D scene."""
    wanted = (x - low) / step
    at = min(max(wanted, 1.0), max(count - 2.0, 1.0))
    left = min(np.int64(at), max(count - 3, 1))
    inside = int(count > 1)
    return inside * (left - 1), inside * (at - left), inside * ((wanted - at) * step) ** 2
