"""Signed distances of shapes at the points of a grid: its nodes, its centres, or points half a cell apart."""

import math

import numpy as np

from paddlewheel.grid.cells import at_centres, open_volumes
from paddlewheel.items import Liquid
from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.solids.sample import sample, sample_halves
from paddlewheel.types import Grid

MARGIN = 3  # cells around a moving solid in which it is measured; beyond, the distance to its box is a bound

_AT_ONCE = 4096  # cells that a surface may cut

ON_SURFACE = 1e-6  # cells; a node closer to the surface than this is on it


def node_distance(grid: Grid, shapes) -> np.ndarray:
    """Signed distance to the nearest of some shapes [m] at nodes, shape (nx+1, ny+1, nz+1), float32."""
    return union(grid, node_axes(grid), shapes)


def refine_volumes(volumes: np.ndarray, grid: Grid, shape, phi: np.ndarray) -> None:
    """Take the part that a shape fills of each cell near its surface, in place, from points a quarter of a cell apart.

    φ is its distance at nodes. A surface that is taken as flat from node to node makes a ball of three cells' radius
    6 % too small, and 0.4 % so. Costly shapes, meshes of many cells' size most of them, are looked at half as finely.
    """
    cut = np.argwhere(np.abs(at_centres(phi)) < grid.h)  # half a diagonal is less
    parts = 2 if shape.costly else 4  # along each side of a cell
    steps = np.arange(parts + 1) / parts
    within = np.stack(np.meshgrid(steps, steps, [0.5, 0.5] if grid.is_2d else steps, indexing="ij"), axis=-1)
    for start in range(0, len(cut), _AT_ONCE):
        cells = cut[start : start + _AT_ONCE]
        points = (cells[:, None] + within.reshape(-1, 3)) * grid.h
        fine = shape.distance(points.reshape(-1, 3)).reshape(-1, *within.shape[1:3])  # one block after another
        fine[np.abs(fine) < ON_SURFACE * grid.h] = 0
        filled = np.append(1 - open_volumes(fine), np.zeros((1, *fine[0, 1:, 1:].shape)), axis=0)
        blocks = filled.reshape(len(cells), parts + 1, *filled.shape[1:])[:, :parts]  # without what is between them
        volumes[tuple(cells.T)] = blocks.mean(axis=(1, 2, 3))


def liquid_distance(grid: Grid, items) -> np.ndarray:
    """Signed distance to the liquids among `items` [m] at cell centres, shape (nx, ny, nz), float32."""
    axes = [(np.arange(n) + 0.5) * grid.h for n in grid.shape]
    return union(grid, axes, [item.shape for item in items if isinstance(item, Liquid)])


def union(grid, axes, shapes, sample=sample) -> np.ndarray:
    """Distance to the nearest of the shapes at the points of a lattice, float32; two domain diagonals if there is none.

    A 2-D scene is one plane: it is sampled once and repeated.
    """
    counts = tuple(len(axis) for axis in axes)
    axes = [*axes[:2], axes[2][:1]] if grid.is_2d else axes
    farthest = 2 * math.hypot(*grid.size)
    phi = np.full([len(axis) for axis in axes], farthest) if not shapes else sample(shapes[0], axes)
    for shape in shapes[1:]:
        np.minimum(phi, sample(shape, axes), out=phi)
    out = np.empty(phi.shape, np.float32)
    with threads_worth(out.size):
        _settle(out, phi, farthest, ON_SURFACE * grid.h)
    return out if out.shape == counts else np.repeat(out, counts[2], axis=2)


@kernel
def _settle(out, phi, most, least):
    """φ up to `most`; less than `least` is 0, else rounding decides how open a face is that lies in a wall."""
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                value = min(phi[i, j, k], most)
                out[i, j, k] = 0.0 if abs(value) < least else value


def at_nodes(grid, shape, box) -> np.ndarray | None:
    """The distance of a shape at the nodes of a box, or None if that misses the grid."""
    if _is_empty(box):
        return None
    return union(grid, [x[s] for x, s in zip(node_axes(grid), box, strict=True)], [shape])


def at_half_nodes(grid, shape, box) -> np.ndarray | None:
    """The same at points half a cell apart; every second one is a node. See `sample_halves`."""
    return None if _is_empty(box) else union(grid, half_axes(grid, box), [shape], sample_halves)


def unite(phi, grid, shape, box, within) -> None:
    """Unite φ at nodes with a shape, of which `within` is the distance at the nodes of a box, if any.

    Beyond the box the distance to the shape's bounds is a bound from below, and enough: the surface is far.
    """
    inside = None if within is None else np.minimum(phi[box], within)
    with threads_worth(phi.size):
        _come_near(phi, *shape.bounds(), *node_axes(grid))
    if within is not None:
        phi[box] = inside


@kernel
def _come_near(phi, low, high, x, y, z):
    """φ is no more than the distance to a box, at all points (x[i], y[j], z[k])."""
    ny, nz = phi.shape[1], phi.shape[2]
    square_y, square_z = np.empty(ny, np.float32), np.empty(nz, np.float32)
    for j in range(ny):
        square_y[j] = np.float32(max(low[1] - y[j], y[j] - high[1], 0.0)) ** 2
    for k in range(nz):
        square_z[k] = np.float32(max(low[2] - z[k], z[k] - high[2], 0.0)) ** 2
    for i in prange(phi.shape[0]):
        square_x = np.float32(max(low[0] - x[i], x[i] - high[0], 0.0)) ** 2
        for j in range(ny):
            for k in range(nz):
                phi[i, j, k] = min(phi[i, j, k], np.sqrt(square_x + (square_y[j] + square_z[k])))


def _is_empty(box) -> bool:
    """Whether there is no cell in a box of nodes."""
    return min(s.stop - s.start for s in box) < 2


def box_around(grid, bounds) -> tuple[slice, slice, slice]:
    """The nodes within MARGIN cells of a bounding box, as slices; in 2-D both layers."""
    box = []
    for low, high, n in zip(*(corner.tolist() for corner in bounds), grid.node_shape, strict=True):
        first, last = (min(max(x / grid.h, -1e9), 1e9) for x in (low, high))
        ends = math.floor(first) - MARGIN, math.ceil(last) + MARGIN + 1
        box.append(slice(*(min(max(end, 0), n) for end in ends)))
    return (*box[:2], slice(0, 2)) if grid.is_2d else tuple(box)


def hull(boxes) -> tuple[slice, slice, slice]:
    """The smallest box of nodes around some."""
    return tuple(slice(min(s.start for s in along), max(s.stop for s in along)) for along in zip(*boxes, strict=True))


def faces_of(box, axis) -> tuple[slice, slice, slice]:
    """The faces normal to an axis between the nodes of a box."""
    return tuple(slice(s.start, s.stop - (d != axis)) for d, s in enumerate(box))


def to_faces(phi, axis) -> np.ndarray:
    """Mean over the four nodes of each face normal to an axis."""
    for d in range(3):
        if d != axis:
            low, high = (tuple(s if e == d else slice(None) for e in range(3)) for s in (slice(-1), slice(1, None)))
            phi = 0.5 * (phi[low] + phi[high])
    return phi


def node_axes(grid) -> list[np.ndarray]:
    """Coordinates of the nodes along each axis [m]; in 2-D both layers lie on the mid-plane, where shapes are cut."""
    axes = [np.arange(n) * grid.h for n in grid.node_shape]
    if grid.is_2d:
        axes[2] = np.full(2, 0.5 * grid.h)
    return axes


def half_axes(grid, box) -> list[np.ndarray]:
    """Coordinates along each axis of points half a cell apart, from the first to the last node of a box [m]."""
    axes = [grid.h * (s.start + 0.5 * np.arange(2 * (s.stop - s.start) - 1)) for s in box]
    if grid.is_2d:
        axes[2] = np.full(3, 0.5 * grid.h)
    return axes


def face_axes(grid, axis) -> list[np.ndarray]:
    """Coordinates of the centres of the faces normal to an axis, along each axis [m]."""
    return [(np.arange(n) + 0.5 * (d != axis)) * grid.h for d, n in enumerate(grid.face_shape(axis))]


def along(axis, values) -> np.ndarray:
    """One value per index along an axis, shaped to broadcast over the grid."""
    return values.reshape([-1 if d == axis else 1 for d in range(3)])
