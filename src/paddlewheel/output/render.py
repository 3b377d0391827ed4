"""Frames as pictures: a 2-D scene as its particles, with matplotlib; a 3-D scene as its surface, with pyvista.

3-D liquid is drawn in rooms of its own, `render_liquid` and `water`; so is smoke, in `render_smoke` and `volume`, which
needs matplotlib only.

Both packages are optional: pip install 'paddlewheel[picture]' or 'paddlewheel[render]'.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.measure import Solids
from paddlewheel.output import render_liquid, render_smoke
from paddlewheel.output.camera import DEFAULT_VIEW, View
from paddlewheel.output.canvas import DPI, canvas, pixels_of
from paddlewheel.output.export.frames import Frames
from paddlewheel.output.export.things import Mesh
from paddlewheel.output.picture import draw_solids, pyplot
from paddlewheel.scene import RigidBody, Scene
from paddlewheel.types import State

_EMPTY = "#f4f6f8"
_WATER, _HONEY = "YlGnBu_r", "YlOrBr_r"  # colours of speeds
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
        self._bodies = Frames(scene, {"bodies"}) if shaped else None

    def draw(self, path: Path, state: State, orbit: float = 0.0) -> None:
        """A picture of a state, from a camera that has gone round by an angle [degrees]."""
        solid = self.solids.measure(state.time, state.bodies).phi
        bodies = self._bodies.make(0, state).bodies if self._bodies else ()
        meshes = [body.placed() for body in bodies if body.is_body]
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
    """Particles coloured by their speed."""
    grid = scene.grid
    pixels = pixels_of(grid.size, within)
    position, speed = state.particles.position, np.linalg.norm(state.particles.velocity, axis=1)
    spacing = grid.h / scene.particles_per_axis * pixels[0] / grid.size[0]  # pixels between particles
    with canvas(path, pixels, state.time, _EMPTY) as ax:
        ax.scatter(
            position[:, 0], position[:, 1], s=(_DOT * spacing * 72 / DPI) ** 2, c=speed, vmin=0,
            vmax=reference_speed(scene), cmap=_HONEY if Friction(scene).acts else _WATER, linewidths=0,
        )  # fmt: skip
        draw_solids(ax, grid, solid[:, :, 0])
        ax.set(xlim=(0, grid.size[0]), ylim=(0, grid.size[1]))
