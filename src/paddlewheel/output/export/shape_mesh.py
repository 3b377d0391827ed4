"""Shapes as triangle meshes.

Meshes are what they are, boxes and cylinders have their edges. All else comes from a lattice of distances by
marching cubes, and its vertices are then moved onto the surface; edges of booleans are cut off by a part of a step.
"""

import numpy as np

from paddlewheel.output.export.surface import marching_cubes
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Box, Cylinder, Moved, Shape
from paddlewheel.types import Grid

_STEPS = 32  # of the lattice, along the longest side of a shape
_AROUND = 64  # corners of a cylinder's ends
_ONTO = 3  # steps by Newton's rule
_HAIR = 1e-3  # of the slab
_EDGE = 40.0  # degrees, from which on two triangles meet in an edge
_FLAT = 2  # lattice steps beyond the bounds


def shape_mesh(shape: Shape, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) float64 [m] and faces (m, 3) int32, outside to the front; what has no end ends with the domain.

    In a 2-D scene it is the cross-section, as thick as the slab.
    """
    if grid.is_2d:
        vertices, faces = _slab(shape, grid)
    else:
        vertices, faces = _solid(shape, grid)
    return np.ascontiguousarray(vertices, np.float64), np.ascontiguousarray(faces, np.int32)


def with_edges(vertices: np.ndarray, faces: np.ndarray):
    """The mesh as a trimesh whose normals are smooth but for its edges, where each side has vertices of its own."""
    from trimesh import Trimesh  # 0.5 s
    from trimesh.graph import smooth_shade

    return smooth_shade(Trimesh(vertices, faces, process=False), angle=np.radians(_EDGE))


def _solid(shape, grid) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(shape, Mesh):
        used, faces = np.unique(shape.faces, return_inverse=True)
        return shape.vertices[used], faces.reshape(-1, 3)
    if isinstance(shape, Moved) and np.isfinite(shape.shape.bounds()).all():
        vertices, faces = _solid(shape.shape, grid)
        return shape.pose.to_world(vertices), faces
    if isinstance(shape, Box | Cylinder):
        from trimesh import creation  # 0.5 s

        if isinstance(shape, Box):
            made = creation.box(bounds=(shape.low, shape.high))
        else:
            made = creation.cylinder(shape.radius, segment=(shape.start, shape.end), sections=_AROUND)
        return made.vertices, made.faces
    return _lattice(shape, grid)


def _bounded(shape, grid) -> Shape:
    """The shape, or if it has no end, what of it is in the domain."""
    return shape if np.isfinite(shape.bounds()).all() else shape & Box((0, 0, 0), grid.size)


def _lattice(shape, grid) -> tuple[np.ndarray, np.ndarray]:
    shape = _bounded(shape, grid)
    low, high = shape.bounds()
    step = (high - low).max() / _STEPS
    lines = [_line(low[a], high[a], step) for a in range(3)]
    vertices, faces = marching_cubes(sample(shape, lines), lines)
    return _onto(shape, vertices, step, range(3)), faces


def _slab(shape, grid) -> tuple[np.ndarray, np.ndarray]:
    """The cross-section in the mid-plane, drawn out over the slab."""
    h = grid.h
    shape = _bounded(shape, grid)
    low, high = shape.bounds()
    step = (high - low)[:2].max() / _STEPS
    lines = [*(_line(low[a], high[a], step) for a in range(2)), np.array([0.5 * h])]
    phi = sample(shape, lines)
    beyond = np.abs(phi) + step
    # The sides a hair's breadth apart from where there is nothing, so that they have sharp edges.
    layers = np.array([-_HAIR * h, 0, h, (1 + _HAIR) * h])
    vertices, faces = marching_cubes(np.concatenate([beyond, phi, phi, beyond], axis=2), [*lines[:2], layers])
    outline = np.isin(vertices[:, 2], (0, h))  # all others are on the flat sides
    vertices[outline, :2] = _onto(shape, vertices[outline] * [1, 1, 0] + [0, 0, 0.5 * h], step, range(2))[:, :2]
    return np.clip(vertices, (-np.inf, -np.inf, 0), (np.inf, np.inf, h)), faces


def _line(low, high, step) -> np.ndarray:
    """Beginning at an odd part of a step beyond the bounds, or flat sides would lie in planes of the lattice."""
    return low - (_FLAT - 0.4137) * step + step * np.arange(int((high - low) / step) + 2 * _FLAT + 1)


def _onto(shape, points, step, axes) -> np.ndarray:
    """Points near a surface, moved onto it along the gradient of the distance; none by more than a step."""
    reach = 1e-4 * step
    start = points.copy()
    for _ in range(_ONTO):
        slope = np.zeros(points.shape)
        for a in axes:
            beside = reach * (np.arange(3) == a)
            slope[:, a] = (shape.distance(points + beside) - shape.distance(points - beside)) / (2 * reach)
        square = np.maximum((slope * slope).sum(axis=1), 0.25)  # less is a ridge of the distance
        points = points - (shape.distance(points) / square)[:, None] * slope
    far = np.linalg.norm(points - start, axis=1) > step
    points[far] = start[far]
    return points
