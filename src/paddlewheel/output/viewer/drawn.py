"""What is shown of a scene and its states, as triangles and points: pure functions, which know nothing of a browser."""

from typing import NamedTuple

import numpy as np

from paddlewheel.items import Solid
from paddlewheel.measure import node_distance
from paddlewheel.output.export.shape_mesh import with_edges
from paddlewheel.output.export.surface import into_solids, marching_cubes
from paddlewheel.output.viewer.nets import surface_net
from paddlewheel.scene import Scene

MOST_POINTS = 60_000  # particles that are shown
HAIR = 1e-3  # cells
THIN = 0.9  # of a plane's thickness: that of its liquid, so that solids are before it
FAINT = 0.02  # part of the densest smoke below which it is not shown
PUFFS = 40_000  # of smoke, at most


class Surface(NamedTuple):
    """Triangles: vertices (n, 3) float32 [m] and faces (m, 3) uint32."""

    vertices: np.ndarray
    faces: np.ndarray


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

    It reaches half a cell into those, or the two would flicker where they touch. In a plane it is thinner than they.
    """
    flat = phi.shape[2] == 1
    if solid is not None:
        phi = into_solids(phi, solid, h)
    phi = np.pad(phi, 1, mode="edge")
    for axis in range(3):  # mirrored, so that it ends halfway between two centres, at the side
        layers = np.moveaxis(phi, axis, 0)
        layers[0], layers[-1] = np.abs(layers[1]), np.abs(layers[-2])
    vertices, faces = surface_net(phi, -0.5 * h, h)
    for axis, n in enumerate(phi.shape):  # the mean of what is cut would round off edges at the sides
        along, end = vertices[:, axis], (n - 2) * h
        along[along < 0.5 * h] = 0
        along[along > end - 0.5 * h] = end
    if flat:
        vertices[:, 2] += (1 - THIN) * (0.5 * h - vertices[:, 2])
    return Surface(vertices, faces)


def walls(solid: np.ndarray, h: float, closed: bool = False) -> Surface:
    """The solids that do not move, by their φ [m] at nodes. They end where they leave the domain.

    There they are open, so that one can look into a tank, or closed: a plane is looked at from that side.
    """
    if not closed:
        return Surface(*surface_net(solid, 0.0, h))
    phi = np.abs(np.pad(solid, 1, mode="edge")) + h  # a hair's breadth beyond the sides, which so have sharp edges
    phi[1:-1, 1:-1, 1:-1] = solid
    ends = [(n - 1) * h for n in solid.shape]
    lines = [np.concatenate([[-HAIR * h], np.arange(n) * h, [(n - 1 + HAIR) * h]]) for n in solid.shape]
    vertices, faces = marching_cubes(phi, lines)
    return body(np.clip(vertices, 0, ends), faces)


def body(vertices: np.ndarray, faces: np.ndarray) -> Surface:
    """A mesh [m] with edges that stay sharp, although the page draws surfaces round: their vertices are split."""
    mesh = with_edges(vertices, faces)
    return Surface(np.float32(mesh.vertices), mesh.faces.astype(np.uint32))


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
