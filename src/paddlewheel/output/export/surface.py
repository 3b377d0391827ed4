"""The liquid's surface as a mesh: from φ of a frame, or from its particles on a coarser or finer grid."""

from math import ceil

import numpy as np
from scipy import ndimage

from paddlewheel.grid.cells import at_centres
from paddlewheel.grid.levelset import extend_into_solids, liquid_box
from paddlewheel.items import Solid
from paddlewheel.output.export.things import Mesh
from paddlewheel.physics.seeding import enclose_strays
from paddlewheel.physics.surface import liquid_volume, surface_distance
from paddlewheel.physics.transfer import sorted_by_cell
from paddlewheel.solids.shapes import Box
from paddlewheel.types import Boundary, Faces, Grid, Particles

BEYOND = 4  # layers of cells around the domain, in which liquid ends
_OVERLAP = 0.5  # cells that liquid reaches into solids, so that no gap shows between the two
_MARGIN = 2  # cells around what is meshed
_HAIR = 1e-3  # cells
_MOST_SHIFT, _HALVINGS = 0.5, 12  # cells, of what φ is moved by; down to 1e-4


def covering(size, cells: int) -> Grid:
    """The grid of `cells` cubes along the longest side of a domain [m] that covers it: by up to a cell more at the far
    sides, of which the liquid must know nothing (`beyond`, `ended`, and the size in `mesh_of`)."""
    if cells < 1:
        raise ValueError(f"export: cells={cells}: expected a whole number from 1 on")
    h = max(size) / cells
    return Grid(tuple(max(1, ceil(side / h - _HAIR)) for side in size), h)


def beyond(grid: Grid, size) -> list[Solid]:
    """What keeps liquid out of the room that a grid has beyond the far sides of a domain [m], if it has any."""
    if np.allclose(grid.size, size, rtol=0, atol=_HAIR * grid.h):
        return []
    return [Solid(~Box(np.negative(grid.size), size))]


def ended(phi: np.ndarray, grid: Grid, size) -> np.ndarray:
    """φ [m] of liquid that ends at the far sides of a domain [m], if the grid goes on."""
    for axis, side in enumerate(size):
        if grid.size[axis] > side + _HAIR * grid.h:
            past = (np.arange(grid.shape[axis]) + 0.5) * grid.h - side
            phi = np.maximum(phi, np.float32(past).reshape(np.where(np.arange(3) == axis, -1, 1)))
    return phi


def from_particles(grid: Grid, particles: Particles, boundary: Boundary, per_cell: float) -> np.ndarray:
    """φ [m] of particles at the centres of any grid, float32, extended into solids; per_cell of them fill a cell."""
    position, velocity = particles.position.copy(), particles.velocity.copy()  # sorting uses them up
    particles, first = sorted_by_cell(grid, Particles.at(position, velocity))
    phi = surface_distance(grid, particles.position, first, boundary.phi, per_cell=per_cell)
    phi = extend_into_solids(phi, boundary.phi, grid.h)
    enclose_strays(phi, first, boundary.open, grid.h)
    return phi


def smoothed(phi: np.ndarray, cells: float) -> np.ndarray:
    """φ without bumps: the mean of its neighbourhood, by a Gaussian of so many cells, mirrored at the sides.

    Planes stay where they are; drops and sheets thinner than that vanish.
    """
    return ndimage.gaussian_filter(phi, cells, mode="reflect", truncate=3.0)


def holding(phi: np.ndarray, solid: np.ndarray, h: float, volume: float) -> np.ndarray:
    """φ plus a number, by which it holds a volume [m³] of liquid outside solids: at most half a cell, by bisection."""
    low, high = -_MOST_SHIFT * h, _MOST_SHIFT * h
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if liquid_volume(phi + np.float32(middle), solid, h) > volume:
            low = middle
        else:
            high = middle
    return phi + np.float32(0.5 * (low + high))


def into_solids(phi: np.ndarray, solid: np.ndarray, h: float) -> np.ndarray:
    """φ [m] of liquid that ends half a cell within solids, of distance `solid` [m] at nodes."""
    return np.maximum(phi, -at_centres(solid) - np.float32(_OVERLAP * h))


def closed(phi: np.ndarray, h: float) -> np.ndarray:
    """φ [m] with BEYOND layers of cells around it, such that liquid ends at the sides of the domain.

    The first layer mirrors φ, so that the surface is halfway between two centres, on the side. Deep in liquid, where
    no neighbour is in air, the sides are a surface too; so φ is about a distance on both sides of them.
    """
    phi = np.where(phi < -h, np.maximum(phi, _to_sides(phi.shape, h)), phi)
    for axis in range(3):
        phi = np.moveaxis(phi, axis, 0)
        away = h * np.arange(BEYOND).reshape(-1, 1, 1)
        phi = np.concatenate([np.abs(phi[0]) + away[::-1], phi, np.abs(phi[-1]) + away])
        phi = np.moveaxis(phi, 0, axis)
    return np.ascontiguousarray(phi, np.float32)


def _to_sides(shape, h) -> np.ndarray:
    """Minus the distance of centres from the nearest side of the domain [m]."""
    steps = [np.minimum(np.arange(n), np.arange(n)[::-1]) + 0.5 for n in shape]
    return -h * np.minimum(np.minimum.outer(steps[0], steps[1])[:, :, None], steps[2])


def mesh_of(phi: np.ndarray, h: float, velocity: Faces, cell: float, size=None) -> Mesh:
    """The surface φ = 0 by marching cubes, closed at the sides of the domain; velocity on faces of length `cell` [m].

    The lattice goes on to the sides, and a hair's breadth beyond them to where there is no liquid: so sides are met
    by sharp edges. A domain may be smaller than its cells: of `size` [m].
    """
    size = np.array(phi.shape) * h if size is None else np.asarray(size)
    if not (phi < 0).any():
        nothing = np.empty((0, 3), np.float32)
        return Mesh(nothing, np.empty((0, 3), np.int32), nothing)
    box = liquid_box(phi, _MARGIN)
    lines = []
    values = phi[box]
    for axis, (part, n) in enumerate(zip(box, phi.shape, strict=True)):
        centres, values = (np.arange(part.start, part.stop) + 0.5) * h, np.moveaxis(values, axis, 0)
        inside = np.count_nonzero(centres < size[axis] - _HAIR * h)
        line, values = [centres[:inside]], values[:inside]
        if part.start == 0:
            line.insert(0, [-_HAIR * h, 0.0])
            values = np.concatenate([np.abs(values[:1]) + h, values[:1], values])
        if part.stop == n or inside < len(centres):
            line.append([size[axis], size[axis] + _HAIR * h])
            values = np.concatenate([values, values[-1:], np.abs(values[-1:]) + h])
        lines.append(np.concatenate(line))
        values = np.moveaxis(values, 0, axis)
    vertices, faces = marching_cubes(values, lines)
    vertices = np.clip(vertices, 0, size)
    return Mesh(np.float32(vertices), np.int32(faces), at_points(velocity, cell, vertices))


def marching_cubes(phi: np.ndarray, lines) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3), facing φ > 0, of φ = 0 on a lattice of points (x[i], y[j], z[k])."""
    import igl  # 0.2 s

    values = np.asarray(phi, np.float64)
    # What goes right through points of the lattice makes triangles without area: a little beside them there are none.
    values = np.where(values == 0, 1e-6 * np.abs(values).max(), values)
    lattice = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).astype(np.float64)
    lattice = np.ascontiguousarray(lattice.transpose(2, 1, 0, 3).reshape(-1, 3))  # x fastest
    return igl.marching_cubes(np.ascontiguousarray(values.transpose(2, 1, 0).ravel()), lattice, *phi.shape, 0.0)[:2]


def at_points(velocity: Faces, h: float, points: np.ndarray) -> np.ndarray:
    """Velocity [m/s] on faces at points [m] (n, 3), trilinear, constant beyond the outermost samples: float32."""
    out = np.empty(points.shape, np.float32)
    for axis, component in enumerate(velocity):
        offset = 0.5 * (np.arange(3) != axis)
        out[:, axis] = ndimage.map_coordinates(component, (points / h - offset).T, order=1, mode="nearest")
    return out


def at_cells(velocity: Faces) -> np.ndarray:
    """Velocity on faces at the centres of cells, the mean of two faces: (nx, ny, nz, 3) float32."""
    means = []
    for axis, component in enumerate(velocity):
        u = np.moveaxis(component, axis, 0)
        means.append(np.moveaxis(0.5 * (u[1:] + u[:-1]), 0, axis))
    return np.stack(means, axis=-1)
