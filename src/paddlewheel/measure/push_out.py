"""Particles out of the solids as they are drawn, and not only as the grid sees them."""

from typing import NamedTuple

import numpy as np

from paddlewheel.grid.sample import node_value
from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.measure.drawn import frames_of, in_box
from paddlewheel.types import AXES, Boundary, Grid

HAIR = 1e-3  # cells that a particle which was inside a solid is put outside of it
DEEP = 1e-2  # cells that a particle which is left inside may be deep, before it is worth a warning
_ROUND = 0.5 * np.sqrt(3.0)  # cells from a point to its nearest node, at most
_REACH = 0.01  # cells to both sides over which a slope of the distance is taken
_TURNS = 24  # at most, to push a particle out
_SLACK = 0.1  # cells around the box about a shape in which a table of its distances may still see a point inside
_BLOCK = 4096  # particles
_RUN = 64  # of them, of which mostly none is near a solid
_FEW = 1000  # points


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
    frames = frames_of(shapes, _SLACK * grid.h)
    with threads_worth(len(position)):
        _mark_near(near, np.ascontiguousarray(position), boundary.phi, 1 / grid.h, frames, plane)
    near = np.flatnonzero(near)
    if not len(near):
        return Pushed(0, 0)
    points = position[near].astype(np.float64)
    if grid.is_2d:
        points[:, 2] = 0.5 * grid.h
    phi = distance_to(shapes, points, grid.h)
    inside = phi < 0
    if not inside.any():
        return Pushed(0, 0)
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
    phi, near = np.full(len(points), most), np.empty(len(points), np.bool_)
    for shape in shapes:
        if shape.formula is not None and len(points) <= _FEW:  # to look which are near would take longer
            np.minimum(phi, shape.distance(points), out=phi)
            continue
        low, high = shape.bounds()
        with threads_worth(len(points)):
            _mark_between(near, points, low - most, high + most)
        some = np.flatnonzero(near)
        phi[some] = np.minimum(phi[some], shape.distance(points[some]))
    return phi


@kernel
def _mark_between(near, points, low, high):
    """The points in a box."""
    for block in prange((len(near) + _BLOCK - 1) // _BLOCK):
        start = np.int64(block) * _BLOCK
        for n in range(start, min(start + _BLOCK, len(near))):
            p = np.uint64(n)
            x, y, z = points[p, 0], points[p, 1], points[p, 2]
            across = (low[0] < x) & (x < high[0]) & (low[1] < y) & (y < high[1])
            near[p] = across & (low[2] < z) & (z < high[2])


@kernel
def _mark_near(near, position, phi, per_h, frames, plane):
    """Of the points near, keep those of the domain that can be inside a solid.

    A distance changes by no more than the way gone: neither at the nearest node
    nor between the nodes is φ of such a point more than half a cell's diagonal.
    And it is inside the box around the solid as that is drawn. In 2-D all are on
    one plane z, else that is not a number.
    """
    for block in prange((len(near) + _BLOCK - 1) // _BLOCK):
        start = np.int64(block) * _BLOCK
        for first in range(start, min(start + _BLOCK, len(near)), _RUN):
            some, any_near = near[first : first + _RUN], False
            for n in range(len(some)):
                any_near |= some[n]
            if any_near:  # of most there is none
                _keep_near(some, position[first : first + _RUN], phi, per_h, frames, plane)


@kernel(parallel=False)
def _keep_near(near, position, phi, per_h, frames, plane):
    ni, nj, nk = phi.shape
    for n in range(len(near)):
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
    inside = False
    for m in range(len(frames)):
        inside = inside or in_box(x, y, z, frames, m)
    return inside
