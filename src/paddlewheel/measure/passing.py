"""Particles beside solids that move by cells in a step, and how far those take them along."""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.measure.drawn import drawn_at, frames_of, in_box
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Moved
from paddlewheel.types import Grid

__all__ = ["Passing", "carried_along"]

_BLOCK = 4096  # particles


class Passing(NamedTuple):
    """A solid where it is at the start of a step, its pose at the end, and how near to it particles go along [m]."""

    shape: Moved
    to: Pose
    reach: float


def carried_along(grid: Grid, position: np.ndarray, passing: list[Passing]) -> tuple[np.ndarray, np.ndarray]:
    """Particles within the reach of solids: indices, and how far the nearest of these takes each along [m], (m, 3).

    position (n, 3) float32 is that at the start.
    """
    if len(passing) == 1:
        return _taken_by(position, *passing[0])
    with threads_worth(len(position)):
        # most are far from any solid: which are near one at all is seen in one go
        some = _listed(_in_cells, np.ascontiguousarray(position), _cells(grid, passing), 1 / grid.h)
        position = position[some]
        nearest = np.full(len(position), np.inf)
        way = np.empty((len(position), 3), np.float32)
        for shape, to, reach in passing:
            _take_along(nearest, way, position, shape, to, reach)
        taken = np.flatnonzero(np.isfinite(nearest))
        return some[taken], way[taken]


def _taken_by(position, shape, to, reach) -> tuple[np.ndarray, np.ndarray]:
    """The same of one solid: it is the nearest, so that particles are listed with their ways at once."""
    position, frame = np.ascontiguousarray(position), frames_of([shape], 0.0)[0]
    about = np.add(shape.bounds(), np.multiply([[-1], [1]], (1 + 1e-5) * reach)).astype(np.float32)
    inside, counts = np.empty(len(position), np.bool_), np.empty(-(-len(position) // _BLOCK), np.int64)
    with threads_worth(len(position)):
        _mark_about(inside, counts, position, frame, reach, about)
        starts, total = np.cumsum(counts) - counts, counts.sum()
        near, drawn, way = np.empty(total, np.int64), np.empty((total, 3)), np.empty((total, 3), np.float32)
        _list_about(near, drawn, way, starts, inside, position, frame, *_motion(shape, to))
        if isinstance(shape.shape, Box):  # which the box around it is
            return near, way
        mine = shape.shape.distance(drawn) < reach
    return near[mine], way[mine]


def _motion(shape, to) -> tuple[np.ndarray, np.ndarray]:
    """By which matrix and vector [m] a point's place in the frame of a shape gives the way it is taken."""
    return to.rotation - shape.pose.rotation, np.subtract(to.position, shape.pose.position)


def _take_along(nearest, way, position, shape, to, reach) -> None:
    """Let a solid take along what is within its reach and not nearer to others: changes both."""
    frame = frames_of([shape], reach)[0]
    near = _listed(_in_box, position, frame)
    drawn = np.empty((len(near), 3))
    _draw(drawn, near, position, frame)
    distance = shape.shape.distance(drawn)
    _take(nearest, way, near, drawn, distance, reach, *_motion(shape, to))


def _cells(grid, passing) -> np.ndarray:
    """The cells within the reach of any of the solids, bool; those at a side stand for what is beyond it."""
    cells = np.zeros(grid.shape, np.bool_)
    for shape, _, reach in passing:
        low, high = shape.bounds()
        corners = np.clip(np.array([low - reach, high + reach]) / grid.h, 0, np.subtract(grid.shape, 1)).astype(int)
        cells[tuple(slice(first, last + 1) for first, last in corners.T)] = True
    return cells


def _listed(mark, position, *where) -> np.ndarray:
    """Indices of the points that a kernel marks."""
    inside = np.empty(len(position), np.bool_)
    mark(inside, position, *where)
    return np.flatnonzero(inside)


@kernel
def _mark_about(inside, counts, position, frame, reach, about):
    """Those within a reach of the box of a frame, and how many in each block; all are `about` it, in a box of the
    world, where most are not."""
    low, high = frame[4], frame[5]
    for block in prange(len(counts)):
        start, count = np.int64(block) * _BLOCK, 0
        for n in range(start, min(start + _BLOCK, len(inside))):
            p, within = np.uint64(n), False
            x, y, z = position[p, 0], position[p, 1], position[p, 2]
            across = about[0, 0] <= x <= about[1, 0] and about[0, 1] <= y <= about[1, 1]
            if across and about[0, 2] <= z <= about[1, 2]:
                a, b, c = drawn_at(np.float64(x), np.float64(y), np.float64(z), frame)
                da = max(max(low[0] - a, a - high[0]), 0.0)
                db = max(max(low[1] - b, b - high[1]), 0.0)
                dc = max(max(low[2] - c, c - high[2]), 0.0)
                within = da * da + db * db + dc * dc < reach * reach
            inside[p] = within
            count += within
        counts[block] = count


@kernel
def _list_about(near, drawn, way, starts, inside, position, frame, turn, shift):
    """The indices of those inside, where they are in a frame, and the way from there."""
    for block in prange(len(starts)):
        start, at = np.int64(block) * _BLOCK, starts[block]
        for n in range(start, min(start + _BLOCK, len(inside))):
            if inside[n]:
                x, y, z = _drawn(position, np.uint64(n), frame)
                near[at], drawn[at, 0], drawn[at, 1], drawn[at, 2] = n, x, y, z
                for a in range(3):
                    way[at, a] = turn[a, 0] * x + turn[a, 1] * y + turn[a, 2] * z + shift[a]
                at += 1


@kernel
def _in_cells(inside, position, cells, per_h):
    ni, nj, nk = cells.shape
    for block in prange(-(-len(inside) // _BLOCK)):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(inside))):
            i = np.int64(min(max(position[n, 0] * per_h, 0.0), ni - 1.0))
            j = np.int64(min(max(position[n, 1] * per_h, 0.0), nj - 1.0))
            k = np.int64(min(max(position[n, 2] * per_h, 0.0), nk - 1.0))
            inside[n] = cells[np.uint64(i), np.uint64(j), np.uint64(k)]


@kernel
def _in_box(inside, position, frame):
    """Those in the box of a frame."""
    for block in prange(-(-len(inside) // _BLOCK)):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(inside))):
            inside[n] = in_box(*_drawn(position, np.uint64(n), frame), frame)


@kernel
def _draw(drawn, near, position, frame):
    """Some points as seen from a shape."""
    for block in prange(-(-len(near) // _BLOCK)):
        start = np.int64(block) * _BLOCK
        for m in range(start, min(start + _BLOCK, len(near))):
            drawn[m, 0], drawn[m, 1], drawn[m, 2] = _drawn(position, np.uint64(near[m]), frame)


@kernel(parallel=False)
def _drawn(position, n, frame):
    return drawn_at(np.float64(position[n, 0]), np.float64(position[n, 1]), np.float64(position[n, 2]), frame)


@kernel
def _take(nearest, way, near, drawn, distance, reach, turn, shift):
    """way = turn x + shift, from where a point x is drawn, where the distance is within reach and the least so far."""
    for block in prange(-(-len(near) // _BLOCK)):
        start = np.int64(block) * _BLOCK
        for m in range(start, min(start + _BLOCK, len(near))):
            n = near[m]
            if distance[m] < reach and distance[m] < nearest[n]:
                nearest[n] = distance[m]
                for a in range(3):
                    x, y, z = turn[a, 0] * drawn[m, 0], turn[a, 1] * drawn[m, 1], turn[a, 2] * drawn[m, 2]
                    way[n, a] = x + y + z + shift[a]
