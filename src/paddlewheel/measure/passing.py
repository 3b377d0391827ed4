"""Particles beside solids that move by cells in a step, and how far those take them along."""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.measure.drawn import drawn_at, frames_of
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Box, Moved
from paddlewheel.types import Grid

__all__ = ["Passing", "carried_along"]

_BLOCK = 4096  # particles
_ROUND = 0.5 * np.sqrt(3.0) + 0.1  # cells from the centre of a cell to its corners, and what a table may be wrong by


class Passing(NamedTuple):
    """A solid where it is at the start of a step, its pose at the end, and how near to it particles go along [m]."""

    shape: Moved
    to: Pose
    reach: float


def carried_along(grid: Grid, position: np.ndarray, passing: list[Passing]) -> tuple[np.ndarray, np.ndarray]:
    """Particles within the reach of solids: indices, and how far the nearest of these takes each along [m], (m, 3).

    position (n, 3) float32 is that at the start.
    """
    position = np.ascontiguousarray(position)
    if len(passing) == 1:
        return _taken_by(position, *passing[0])
    with threads_worth(len(position)):
        index, lists = _reached(grid, position, passing)
        nearest = np.full(len(index), np.inf, np.float32)
        way = np.empty((len(index), 3), np.float32)
        for (shape, to, reach), near in zip(passing, lists, strict=True):
            drawn = np.empty((len(near), 3))
            _draw(drawn, near, index, position, frames_of([shape], 0.0)[0])
            distance = shape.shape.distance(drawn)
            _take(nearest, way, near, drawn, distance, reach, *_motion(shape, to))
        taken = np.flatnonzero(nearest < np.inf)
        return index[taken], way[taken]


def _reached(grid, position, passing) -> tuple[np.ndarray, list[np.ndarray]]:
    """The particles in cells that any solid reaches, and for each solid which of them are in those it reaches itself.

    All are listed in one go: most particles are in a cell that few solids reach, or none.
    """
    reaching, where = _reaching(grid, passing), (grid.shape, 1 / grid.h)
    each, any_near = np.zeros(-(-len(position) // _BLOCK), np.int64), np.empty(len(position), np.bool_)
    counts = np.zeros((len(each), len(passing)), np.int64)
    _count_reached(any_near, each, counts, position, *reaching, *where)
    ends = np.cumsum(counts.T).reshape(counts.T.shape)  # those of a solid together, block after block
    starts, totals = ends - counts.T, counts.sum(axis=0)
    index, near = np.empty(each.sum(), np.int64), np.empty(totals.sum(), np.int32)
    each = np.cumsum(each) - each
    _list_reached(index, near, each, np.ascontiguousarray(starts.T), any_near, position, *reaching, *where)
    return index, np.split(near, np.cumsum(totals)[:-1])


def _reaching(grid, passing) -> tuple[np.ndarray, np.ndarray]:
    """Which solids reach each cell: those of cell c, in C order, are which[first[c]] to which[first[c + 1] − 1].

    Cells at a side stand for what is beyond it.
    """
    boxes, counts = [], np.zeros(grid.shape, np.int32)
    for shape, _, reach in passing:
        low, high = shape.bounds()
        corners = np.clip(np.array([low - reach, high + reach]) / grid.h, 0, np.subtract(grid.shape, 1)).astype(int)
        box = tuple(slice(begin, end + 1) for begin, end in corners.T)
        boxes.append((box, _cells_near(grid, shape, reach, box)))
        counts[box] += boxes[-1][1]
    first = np.append(0, np.cumsum(counts)).astype(np.int32)
    at, which = first[:-1].reshape(grid.shape).copy(), np.empty(first[-1], np.int32)
    for m, (box, near) in enumerate(boxes):
        which[at[box][near]] = m
        at[box] += near
    return first, which


def _cells_near(grid, shape, reach, box) -> np.ndarray:
    """The cells of a box with points within reach of a solid, bool, and few others.

    A distance changes by no more than the way gone, so that of a cell's centre tells. Where it is looked up that is not
    quite so: then the box around the shape stands for it.
    """
    if shape.formula is None:
        shape = Moved(Box(*shape.shape.bounds()), shape.pose)
    near = sample(shape, [(np.arange(s.start, s.stop) + 0.5) * grid.h for s in box]) < reach + _ROUND * grid.h
    for a in range(2 if grid.is_2d else 3):
        ends = near.swapaxes(0, a)
        ends[0] |= box[a].start == 0
        ends[-1] |= box[a].stop == grid.shape[a]
    return near


def _taken_by(position, shape, to, reach) -> tuple[np.ndarray, np.ndarray]:
    """The same of one solid: it is the nearest, so that particles are listed with their ways at once."""
    frame = frames_of([shape], 0.0)[0]
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
def _count_reached(any_near, each, counts, position, first, which, shape, per_h):
    """The points in cells that any solid reaches, how many these are in each block, and how many of them by solid."""
    for block in prange(len(counts)):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(position))):
            cell = _cell(position, np.uint64(n), shape, per_h)
            begin, end = first[cell], first[cell + np.uint64(1)]
            any_near[n] = begin < end
            each[block] += begin < end
            for at in range(begin, end):
                counts[block, which[at]] += 1


@kernel
def _list_reached(index, near, each, starts, any_near, position, first, which, shape, per_h):
    """And which they are; by solid their places in that list, from the starts of each block on."""
    for block in prange(len(starts)):
        start, mine = np.int64(block) * _BLOCK, each[block]
        for n in range(start, min(start + _BLOCK, len(position))):
            if any_near[n]:
                index[mine] = n
                cell = _cell(position, np.uint64(n), shape, per_h)
                for at in range(first[cell], first[cell + np.uint64(1)]):
                    near[starts[block, which[at]]] = mine
                    starts[block, which[at]] += 1
                mine += 1


@kernel(parallel=False)
def _cell(position, n, shape, per_h):
    """The number of the cell that a point is in or nearest to."""
    i = np.int64(min(max(position[n, 0] * per_h, 0.0), shape[0] - 1.0))
    j = np.int64(min(max(position[n, 1] * per_h, 0.0), shape[1] - 1.0))
    k = np.int64(min(max(position[n, 2] * per_h, 0.0), shape[2] - 1.0))
    return np.uint64((i * shape[1] + j) * shape[2] + k)


@kernel
def _draw(drawn, near, index, position, frame):
    """Some of the points in a list as seen from a shape."""
    for block in prange(-(-len(near) // _BLOCK)):
        start = np.int64(block) * _BLOCK
        for m in range(start, min(start + _BLOCK, len(near))):
            drawn[m, 0], drawn[m, 1], drawn[m, 2] = _drawn(position, np.uint64(index[near[m]]), frame)


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
