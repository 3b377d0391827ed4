"""What is shown of a scene and its states, as triangles and points: pure functions, which know nothing of a browser."""

from typing import NamedTuple

import numpy as np

from paddlewheel.grid.cells import at_centres
from paddlewheel.measure import node_distance
from paddlewheel.output.viewer.nets import surface_net
from paddlewheel.scene import Scene, Solid
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.shapes import Box, Shape

FINE = 40  # cells along the longest side of a body that is not made of triangles, to draw it
FACETS = 2000  # triangles of a mesh, below which its edges are drawn sharp
MOST_POINTS = 60_000  # particles that are shown
FAINT = 0.02  # part of the densest smoke below which it is not shown
PUFFS = 40_000  # of smoke, at most


class Surface(NamedTuple):
    """Triangles: vertices (n, 3) float32 [m], faces (m, 3) uint32, and whether their edges are sharp."""

    vertices: np.ndarray
    faces: np.ndarray
    sharp: bool = False


class Puffs(NamedTuple):
    """Smoke as soft balls: centres (n, 3) float32 [m], how much of the light each keeps back (n,), and how warm it
    is (n,), from −1 to 1."""

    centres: np.ndarray
    opacity: np.ndarray
    warmth: np.ndarray


def static_distance(scene: Scene) -> np.ndarray | None:
    """Distance [m] to the solids that do not move, at nodes; None if there are none."""
    shapes = [item.shape for item in scene.items if isinstance(item, Solid) and item.motion is None]
    return node_distance(scene.grid, shapes) if shapes else None


def liquid(phi: np.ndarray, h: float, solid: np.ndarray | None = None) -> Surface:
    """The surface of liquid with φ [m] at centres, closed at the sides of the domain; `solid` is φ of walls at nodes.

    It reaches half a cell into those, or the two would flicker where they touch.
    """
    if solid is not None:
        phi = np.maximum(phi, -at_centres(solid) - 0.5 * h)
    phi = np.pad(phi, 1, mode="edge")
    for axis in range(3):  # mirrored, so that it ends halfway between two centres, at the side
        layers = np.moveaxis(phi, axis, 0)
        layers[0], layers[-1] = np.abs(layers[1]), np.abs(layers[-2])
    vertices, faces = surface_net(phi, -0.5 * h, h)
    for axis, n in enumerate(phi.shape):  # the mean of what is cut would round off edges at the sides
        along, end = vertices[:, axis], (n - 2) * h
        along[along < 0.5 * h] = 0
        along[along > end - 0.5 * h] = end
    return Surface(vertices, faces)


def walls(solid: np.ndarray, h: float) -> Surface:
    """The solids that do not move, by their φ [m] at nodes. They are open where they leave the domain."""
    return Surface(*surface_net(solid, 0.0, h))


def body(shape: Shape, center, thickness: float | None = None) -> Surface:
    """A shape as drawn, from a point of it [m]; in 2-D cut to a slab from z = 0 to `thickness` [m]."""
    if thickness is not None:
        low, high = shape.bounds()
        shape = shape & Box((*(low[:2] - 1), 0), (*(high[:2] + 1), thickness))
    if isinstance(shape, Mesh):
        vertices, faces = shape.vertices, shape.faces
        sharp = len(faces) < FACETS
    elif isinstance(shape, Box):
        vertices, faces, sharp = *_box(*shape.bounds()), True
    else:
        (vertices, faces), sharp = _sampled(shape), False
    return Surface((vertices - center).astype(np.float32), faces.astype(np.uint32), sharp)


def particles(position: np.ndarray) -> np.ndarray:
    """Positions [m], (n, 3) float32: every second, third, … so that there are not too many."""
    return np.ascontiguousarray(position[:: max(1, -(-len(position) // MOST_POINTS))])


def smoke(density: np.ndarray, temperature: np.ndarray, h: float, scale: tuple[float, float]) -> Puffs:
    """The cells that have smoke in them; the scales are the densities and temperatures [K] that show fully."""
    thick = density / scale[0]
    at = np.argwhere(thick > FAINT)
    if len(at) > PUFFS:
        at = at[np.argsort(-thick[tuple(at.T)], kind="stable")[:PUFFS]]
    where = tuple(at.T)
    opacity = 1 - np.exp(-0.6 * thick[where])
    warmth = np.clip(temperature[where] / (scale[1] or 1.0), -1, 1)
    return Puffs(((at + 0.5) * h).astype(np.float32), opacity.astype(np.float32), warmth.astype(np.float32))


def edges(size) -> np.ndarray:
    """The twelve edges of the domain, (12, 2, 3) [m]."""
    corners = np.array(np.meshgrid(*((0.0, s) for s in size), indexing="ij")).reshape(3, -1).T
    pairs = [(m, n) for m in range(8) for n in range(m) if np.count_nonzero(corners[m] != corners[n]) == 1]
    return corners[np.array(pairs)].astype(np.float32)


def _sampled(shape) -> tuple[np.ndarray, np.ndarray]:
    """The surface of a shape from its distances."""
    low, high = shape.bounds()
    h = float((high - low).max()) / FINE
    counts = np.ceil((high - low) / h).astype(int) + 3
    axes = [low[d] - h + h * np.arange(counts[d]) for d in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return surface_net(shape.distance(points.reshape(-1, 3)).reshape(points.shape[:3]), low - h, h)


def _box(low, high) -> tuple[np.ndarray, np.ndarray]:
    """Corners and triangles of a box."""
    corners = np.array(np.meshgrid(*zip(low, high, strict=True), indexing="ij")).reshape(3, -1).T
    quads = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    return corners, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
