"""Frames as pictures: a 2-D scene as its particles, or as its surface if it has none, with matplotlib; a 3-D scene as
its surface, with pyvista.

3-D liquid is drawn in rooms of its own, `render_liquid` and `water`; so is smoke, in `render_smoke` and `volume`, which
needs matplotlib only.

Both packages are optional: pip install 'paddlewheel[picture]' or 'paddlewheel[render]'.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.items import RigidBody
from paddlewheel.measure import Solids
from paddlewheel.output import render_liquid, render_smoke
from paddlewheel.output.camera import DEFAULT_VIEW, View
from paddlewheel.output.canvas import DPI, canvas, pixels_of
from paddlewheel.output.export.rigid import Rigids
from paddlewheel.output.export.things import Mesh
from paddlewheel.output.picture import SURFACE_COLOUR, draw_solids, pyplot
from paddlewheel.scene import Scene
from paddlewheel.types import State

_EMPTY = "#f4f6f8"
_WATER, _HONEY = ("#2f86c1", "YlGnBu_r"), ("#c98a1b", "YlOrBr_r")  # the colour of a surface, and those of speeds
_DOT = 1.45  # distances between particles: so wide that no gaps show between them


def require(scene: Scene) -> None:
    """Raise a MissingExtraError if the pictures of a scene need what is not installed."""
    if scene.grid.is_2d or scene.has_smoke:
        pyplot()
    else:
        render_liquid.require_pyvista()


class Painter:
    """Draws states of a scene as they are seen in a view."""

    def __init__(self, scene: Scene, view: View = DEFAULT_VIEW):
        if scene.grid.is_2d and view[:3] != DEFAULT_VIEW[:3]:
            raise ValueError("render: a 2-D scene is seen from the front, expected no camera for it")
        require(scene)
        self.scene, self.view = scene, view
        self.solids = Solids(scene.grid, scene.items, scene.method.weights, scene.open_sides)
        shaped = any(isinstance(item, RigidBody) for item in scene.items) and not (scene.grid.is_2d or scene.has_smoke)
        self._rigid = Rigids(scene) if shaped else None

    def draw(self, path: Path, state: State, orbit: float = 0.0) -> None:
        """A picture of a state, from a camera that has gone round by an angle [degrees]."""
        measured = self.solids.measure(state.time, state.bodies).phi
        solid = measured if self._rigid else self.solids.seen(state.time, state.bodies)  # others are drawn as meshes
        rigid = self._rigid.at(state.time, state.bodies) if self._rigid else ()
        meshes = [body.placed() for body in rigid if body.is_body]
        draw_frame(path, self.scene, solid, state, self.view._replace(orbit=self.view.orbit + orbit), meshes)


def draw_frame(
    path: Path, scene: Scene, solid: np.ndarray, state: State, view: View = DEFAULT_VIEW, bodies: Sequence[Mesh] = ()
) -> None:
    """A picture of a state among the solids, given by their φ at nodes; bodies in 3-D by their meshes, if given."""
    if state.phi.shape != scene.grid.shape or solid.shape != scene.grid.node_shape:
        raise ValueError(f"the state has {state.phi.shape} cells, the scene {scene.grid.shape}: expected the same")
    if scene.grid.is_2d:
        plane = _draw_plane if state.density is None else render_smoke.draw_plane
        plane(path, scene, solid, state, view.pixels)
        return
    camera = view.camera(scene.grid.size)
    if state.density is None:
        render_liquid.draw_space(path, scene, solid, state, camera, bodies)
    else:
        render_smoke.draw_space(path, scene, solid, state, camera)


def reference_speed(scene: Scene) -> float:
    """The end of the colour scale [m/s], the same for all frames: that of a fall through the domain, √(2 g·size)."""
    fall = sum(abs(g) * side for g, side in zip(scene.gravity, scene.grid.size, strict=True))
    return math.sqrt(2 * fall) or 1.0


def _draw_plane(path, scene, solid, state, within) -> None:
    """Particles coloured by their speed; without any, what is inside the surface, and the markers on it."""
    grid, (colour, colours) = scene.grid, _HONEY if Friction(scene).acts else _WATER
    pixels = pixels_of(grid.size, within)
    if not len(state.particles.position):
        with canvas(path, pixels, state.time, _EMPTY) as ax:
            _fill_plane(ax, grid, state, colour)
            draw_solids(ax, grid, solid[:, :, 0])
            ax.set(xlim=(0, grid.size[0]), ylim=(0, grid.size[1]))
        return
    position, speed = state.particles.position, np.linalg.norm(state.particles.velocity, axis=1)
    spacing = scene.particle_spacing * pixels[0] / grid.size[0]  # pixels between particles
    with canvas(path, pixels, state.time, _EMPTY) as ax:
        ax.scatter(
            position[:, 0], position[:, 1], s=(_DOT * spacing * 72 / DPI) ** 2, c=speed, vmin=0,
            vmax=reference_speed(scene), cmap=colours, linewidths=0,
        )  # fmt: skip
        draw_solids(ax, grid, solid[:, :, 0])
        ax.set(xlim=(0, grid.size[0]), ylim=(0, grid.size[1]))


def _fill_plane(ax, grid, state, colour) -> None:
    """Liquid in one colour: inside the curves that are tracked, with the markers on them, or where φ < 0."""
    if "parts" in state.tracked:
        points, parts = state.tracked["points"][:, :2], state.tracked["parts"]
        first = np.flatnonzero(parts[:, 1] <= parts[:, 0])  # where a curve comes back to its first point
        codes = np.full(len(points), 2, np.uint8)  # of matplotlib's paths: on by a line, and
        codes[np.append(0, first[:-1] + 1)] = 1  # to a new curve
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Outline

        ax.add_patch(PathPatch(Outline(points, codes), facecolor=colour, linewidth=0, alpha=0.6))
        ax.scatter(*points.T, s=4, color=SURFACE_COLOUR, linewidths=0)
        return
    if not (state.phi < 0).any():
        return
    phi = np.pad(state.phi[:, :, 0], 1, mode="edge")  # on to the sides
    x, y = (np.concatenate([[0.0], (np.arange(n) + 0.5) * grid.h, [n * grid.h]]) for n in grid.shape[:2])
    ax.contourf(x, y, phi.T, [phi.min() - 1.0, 0.0], colors=[colour])
