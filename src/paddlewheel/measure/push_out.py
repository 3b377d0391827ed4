"""Particles out of the solids as they are drawn, and not only as the grid sees them."""

from typing import NamedTuple

import numpy as np

from paddlewheel.grid.sample import node_value
from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Moved
from paddlewheel.types import AXES, Boundary, Grid

HAIR = 1e-3  # cells that a particle which was inside a solid is put outside of it
DEEP = 1e-2  # cells that a particle which is left inside may be deep, before it is worth a warning
_ROUND = 0.5 * np.sqrt(3.0)  # cells from a point to its nearest node, at most
_REACH = 0.01  # cells to both sides over which a slope of the distance is taken
_TURNS = 24  # at most, to push a particle out
_SLACK = 0.1  # cells around the box about a shape in which a table of its distances may still see a point inside
_BLOCK = 4096  # particles


class Pushed(NamedTuple):
    """How many particles were inside solids, and how many of them are left there, deeper than DEEP cells."""

    inside: int
    stuck: int


def push_out(
    grid: Grid, position: np.ndarray, boundary: Boundary, shapes, open_sides, among: np.ndarray | None = None
) -> Pushed:
    """Move particles out of shapes.

    φ between nodes rounds edges off and flattens curved walls, so a particle
    outside by φ can be inside the shape. position [m], (n, 3) float32, is
    changed in place, boundary has the shapes in it. Those inside go along the
    slope of the exact distance until they are a hair outside, and stay within
    the closed sides; wedged between two solids they end where they are least deep.
    Only those `among`, (n,) bool, are looked at, if given.
    """
    if position.dtype != np.float32 or position.ndim != 2 or position.shape[1] != 3:
        raise ValueError(f"position is {position.dtype} of shape {position.shape}, expected float32 (n, 3)")
    if boundary.phi.shape != grid.node_shape:
        raise ValueError(f"boundary has {boundary.phi.shape} nodes, the solids' grid {grid.node_shape}")
    if not shapes:
        return Pushed(0, 0)
    near = np.ones(len(position), np.bool_) if among is None else among.copy()
    plane = 0.5 * grid.h if grid.is_2d else np.nan
    frames = _frames(shapes, _SLACK * grid.h)
    with threads_worth(len(position)):
        _mark_near(near, np.ascontiguousarray(position), boundary.phi, 1 / grid.h, frames, plane)
    near = np.flatnonzero(near)
    points = position[near].astype(np.float64)
    if grid.is_2d:
        points[:, 2] = 0.5 * grid.h
    phi = distance_to(shapes, points, grid.h)
    inside = phi < 0
    axes = slice(2 if grid.is_2d else 3)  # the plane of a 2-D scene
    there, left = _outward(grid, open_sides, shapes, points[inside], phi[inside])
    position[near[inside], axes] = there[:, axes]
    return Pushed(int(np.count_nonzero(inside)), int(np.count_nonzero(left < -DEEP * grid.h)))


def _outward(grid, open_sides, shapes, points, phi) -> tuple[np.ndarray, np.ndarray]:
    """Points inside, at distances phi, moved by Newton's rule along its slope until it is positive; and phi there."""
    h, axes = grid.h, 2 if grid.is_2d else 3
    low = np.array([-np.inf if f"-{a}" in open_sides else HAIR * h for a in AXES])
    high = np.array([np.inf if f"+{a}" in open_sides else -HAIR * h for a in AXES]) + grid.size
    result, best = points.copy(), phi.copy()
    left = np.arange(len(points))
    for _ in range(_TURNS):
        if not len(left):
            break
        slope = _slope(shapes, points, h, axes)
        # pressed against a side, slide along it
        slope[((points <= low) & (slope < 0)) | ((points >= high) & (slope > 0))] = 0
        way = (HAIR * h - phi) / np.maximum((slope * slope).sum(axis=1), 0.25)
        points = np.clip(points + way[:, None] * slope, low, high).astype(np.float32).astype(np.float64)
        phi = distance_to(shapes, points, h)
        better = phi > best[left]
        result[left[better]], best[left[better]] = points[better], phi[better]
        wanting = phi < 0.1 * HAIR * h
        left, points, phi = left[wanting], points[wanting], phi[wanting]
    return result, best


def _slope(shapes, points, h, axes) -> np.ndarray:
    """Gradient of the distance at points (n, 3) along the first so many axes, by central differences."""
    steps = _REACH * h * np.eye(3)[:axes]
    there = points[None] + np.concatenate([steps, -steps])[:, None]
    phi = distance_to(shapes, there.reshape(-1, 3), h).reshape(2, axes, -1)
    slope = np.zeros(points.shape)
    slope[:, :axes] = ((phi[0] - phi[1]) / (2 * _REACH * h)).T
    return slope


def distance_to(shapes, points, most) -> np.ndarray:
    """Distance to the nearest of the shapes [m] at points (n, 3), at most `most`."""
    phi = np.full(len(points), most)
    for shape in shapes:
        low, high = shape.bounds()
        near = np.flatnonzero(((points > low - most) & (points < high + most)).all(axis=1))
        phi[near] = np.minimum(phi[near], shape.distance(points[near]))
    return phi


def beside(position: np.ndarray, shape: Moved, to: Moved, reach: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The points (n, 3), float32, that are within a reach [m] of the box around a shape as it is drawn.

    Their indices, where they are as seen from the shape, (m, 3) float64, and how far that takes them along if it goes
    on to another pose, (m, 3) float32 [m].
    """
    inside = np.empty(len(position), np.bool_)
    counts = np.zeros(-(-len(position) // _BLOCK), np.int64)
    position, frame = np.ascontiguousarray(position), _frames([shape], 0.0)[0]
    about = np.add(shape.bounds(), np.multiply([[-1], [1]], (1 + 1e-5) * reach))
    turn, shift = to.pose.rotation - shape.pose.rotation, np.subtract(to.pose.position, shape.pose.position)
    with threads_worth(len(position)):
        _mark_beside(inside, counts, position, frame, reach, *(corner.astype(np.float32) for corner in about))
        starts, total = np.cumsum(counts) - counts, counts.sum()
        index, drawn, way = np.empty(total, np.int64), np.empty((total, 3)), np.empty((total, 3), np.float32)
        _list_beside(index, drawn, way, starts, inside, position, frame, turn, shift)
    return index, drawn, way


def _frames(shapes, more) -> np.ndarray:
    """Of each shape the place and axes of its frame, and the corners of the box around it there, `more` [m] apart.

    Shape (m, 6, 3): the origin, the three columns of the rotation, and both corners.
    """
    frames = np.empty((len(shapes), 6, 3))
    for frame, shape in zip(frames, shapes, strict=True):
        pose, drawn = (shape.pose, shape.shape) if isinstance(shape, Moved) else (Pose(), shape)
        low, high = drawn.bounds()
        frame[:] = pose.position, *pose.rotation.T, low - more, high + more
    return frames


@kernel
def _mark_beside(inside, counts, position, frame, reach, lowest, highest):
    """lowest and highest are the corners of a box of the world that has all of them in it: most are not even there."""
    low, high = frame[4], frame[5]
    for block in prange(len(counts)):
        start, count = np.int64(block) * _BLOCK, 0
        for n in range(start, min(start + _BLOCK, len(inside))):
            p, within = np.uint64(n), False
            x, y, z = position[p, 0], position[p, 1], position[p, 2]
            if (
                lowest[0] <= x <= highest[0] and lowest[1] <= y <= highest[1] and lowest[2] <= z <= highest[2]
            ):  # nor for NaN
                a, b, c = _drawn(np.float64(x), np.float64(y), np.float64(z), frame)
                da = max(max(low[0] - a, a - high[0]), 0.0)
                db = max(max(low[1] - b, b - high[1]), 0.0)
                dc = max(max(low[2] - c, c - high[2]), 0.0)
                within = da * da + db * db + dc * dc < reach * reach
            inside[p] = within
            count += within
        counts[block] = count


@kernel
def _list_beside(index, drawn, way, starts, inside, position, frame, turn, shift):
    for block in prange(len(starts)):
        start, at = np.int64(block) * _BLOCK, starts[block]
        for n in range(start, min(start + _BLOCK, len(inside))):
            if inside[n]:
                p = np.uint64(n)
                x, y, z = _drawn(
                    np.float64(position[p, 0]), np.float64(position[p, 1]), np.float64(position[p, 2]), frame
                )
                index[at], drawn[at, 0], drawn[at, 1], drawn[at, 2] = n, x, y, z
                for a in range(3):
                    way[at, a] = turn[a, 0] * x + turn[a, 1] * y + turn[a, 2] * z + shift[a]
                at += 1


@kernel(parallel=False, inline=True)
def _drawn(x, y, z, frame):
    """Where a point is as seen from a shape."""
    x, y, z = x - frame[0, 0], y - frame[0, 1], z - frame[0, 2]
    return (
        frame[1, 0] * x + frame[1, 1] * y + frame[1, 2] * z,
        frame[2, 0] * x + frame[2, 1] * y + frame[2, 2] * z,
        frame[3, 0] * x + frame[3, 1] * y + frame[3, 2] * z,
    )


@kernel
def _mark_near(near, position, phi, per_h, frames, plane):
    """Of the points near, keep those of the domain that can be inside a solid.

    A distance changes by no more than the way gone: neither at the nearest node
    nor between the nodes is φ of such a point more than half a cell's diagonal.
    And it is inside the box around the solid as that is drawn. In 2-D all are on
    one plane z, else that is not a number.
    """
    ni, nj, nk = phi.shape
    for block in prange((len(near) + _BLOCK - 1) // _BLOCK):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(near))):
            if not near[n]:
                continue
            x, y, z = per_h * position[n, 0], per_h * position[n, 1], per_h * position[n, 2]
            near[n] = False
            if 0.0 <= x <= ni - 1.0 and 0.0 <= y <= nj - 1.0 and 0.0 <= z <= nk - 1.0:
                i, j, k = np.uint64(np.int64(x + 0.5)), np.uint64(np.int64(y + 0.5)), np.uint64(np.int64(z + 0.5))
                if per_h * phi[i, j, k] <= _ROUND and per_h * node_value(phi, x, y, z) <= _ROUND:
                    near[n] = _boxed(position[n], frames, plane)


@kernel(parallel=False)
def _boxed(point, frames, plane):
    """Whether a point is inside the box around any shape."""
    x, y, z = np.float64(point[0]), np.float64(point[1]), np.float64(point[2])
    z = z if np.isnan(plane) else plane
    for m in range(len(frames)):
        frame = frames[m]
        low, high = frame[4], frame[5]
        a, b, c = _drawn(x, y, z, frame)
        if low[0] <= a <= high[0] and low[1] <= b <= high[1] and low[2] <= c <= high[2]:
            return True
    return False
