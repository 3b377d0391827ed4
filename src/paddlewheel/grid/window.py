"""The part of a domain that a step looks at: a box of cells around the liquid, and what fields are in it."""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Boundary, Faces, Grid

__all__ = ["Window", "window_around"]

# Cells: windows begin and end at multiples of these, so that they seldom change, and coarse grids do not creep along.
BEGINS, ENDS = 8, 4
WORTHWHILE = 0.8  # part of the domain above which all of it is looked at: to cut out fields costs time too
_BLOCK = 1 << 14  # points


class Window(NamedTuple):
    """A part of a domain. Fields of the domain become those of the part by `cells`, `nodes` and `faces`, which copy
    only if it is not the whole, and `on_cells` and `on_faces` put them back.

    grid    of the part
    domain  the grid of the whole
    """

    grid: Grid
    domain: Grid

    @property
    def is_all(self) -> bool:
        """Whether the part is the whole."""
        return self.grid == self.domain

    @property
    def within(self) -> np.ndarray:
        """(3, 2): its first cell along each axis, and the one after its last."""
        return np.array([(f, f + n) for f, n in zip(self.grid.first, self.grid.shape, strict=True)])

    def cells(self, field: np.ndarray) -> np.ndarray:
        """The part of a field at centres."""
        return self._cut(field, self.grid.shape)

    def nodes(self, field: np.ndarray) -> np.ndarray:
        """The part of a field at nodes."""
        return self._cut(field, self.grid.node_shape)

    def faces(self, fields) -> Faces:
        """The part of fields on the faces of each axis."""
        return Faces(*(self._cut(field, self.grid.face_shape(a)) for a, field in enumerate(fields)))

    def boundary(self, boundary: Boundary, moving: bool) -> Boundary:
        """The part of what was measured of solids, of which some may be moving. Bodies are whole, and must be in it."""
        if self.is_all:
            return boundary
        velocity = self.faces(boundary.velocity) if moving else self.grid.zeros_faces()
        others = None if boundary.others is None else self.faces(boundary.others)
        sticky = None if boundary.sticky is None else self.cells(boundary.sticky)
        return Boundary(self.nodes(boundary.phi), self.faces(boundary.open), velocity, boundary.bodies, others, sticky)

    def on_cells(self, field: np.ndarray, beyond: float = 0.0) -> np.ndarray:
        """A field at the centres of the part on the domain, with one value beyond it."""
        return self._put(field, self.domain.shape, beyond)

    def on_faces(self, fields) -> Faces:
        """Fields on the faces of the part on the domain, zero beyond it."""
        return Faces(*(self._put(field, self.domain.face_shape(a), 0.0) for a, field in enumerate(fields)))

    def _cut(self, field, shape) -> np.ndarray:
        return field if self.is_all else np.ascontiguousarray(field[self._box(shape)])

    def _put(self, field, shape, beyond) -> np.ndarray:
        if self.is_all:
            return field
        out = np.full(shape, beyond, field.dtype) if beyond else np.zeros(shape, field.dtype)
        out[self._box(field.shape)] = field
        return out

    def _box(self, shape) -> tuple[slice, ...]:
        (i, j, k), (nx, ny, nz) = self.grid.first, shape
        return slice(i, i + nx), slice(j, j + ny), slice(k, k + nz)


def window_around(domain: Grid, position: np.ndarray, margin: int, boundary: Boundary) -> Window:
    """The window in which points [m], (n, 3) float32, are, with `margin` cells around them, and the rigid bodies."""
    if not len(position):
        return Window(domain, domain)
    low, high = _extent(position)
    if not all(map(math.isfinite, (*low, *high))):
        return Window(domain, domain)
    # Lists of numbers: NumPy takes ten times as long for three of them.
    low = [math.floor(x / domain.h) - margin for x in low]
    high = [math.ceil(x / domain.h) + margin for x in high]
    for body in boundary.bodies:
        if body.filled.x.size:  # else it has left the domain
            low = list(map(min, low, body.origin))
            cells = body.filled.y.shape[0], *body.filled.x.shape[1:]
            high = [max(end, first + n) for end, first, n in zip(high, body.origin, cells, strict=True)]
    low = tuple(min(max(x // BEGINS * BEGINS, 0), n - 1) for x, n in zip(low, domain.shape, strict=True))
    high = (max(-(-x // ENDS) * ENDS, first + 1) for x, first in zip(high, low, strict=True))
    shape = tuple(min(end, n) - first for end, first, n in zip(high, low, domain.shape, strict=True))
    if math.prod(shape) > WORTHWHILE * math.prod(domain.shape):
        return Window(domain, domain)
    return Window(Grid(shape, domain.h, low), domain)


def _extent(position) -> tuple[list[float], list[float]]:
    """Lowest and highest coordinates."""
    blocks = np.empty((-(-len(position) // _BLOCK), 2, 3), np.float32)
    _extents(blocks, position)
    return blocks[:, 0].min(axis=0).tolist(), blocks[:, 1].max(axis=0).tolist()


@kernel
def _extents(blocks, position):
    for block in prange(len(blocks)):
        start = np.int64(block) * _BLOCK
        x0 = x1 = position[start, 0]
        y0 = y1 = position[start, 1]
        z0 = z1 = position[start, 2]
        for p in range(start + 1, min(start + _BLOCK, len(position))):
            x, y, z = position[p, 0], position[p, 1], position[p, 2]
            x0, x1, y0, y1, z0, z1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y), min(z0, z), max(z1, z)
        blocks[block, 0, 0], blocks[block, 0, 1], blocks[block, 0, 2] = x0, y0, z0
        blocks[block, 1, 0], blocks[block, 1, 1], blocks[block, 1, 2] = x1, y1, z1
