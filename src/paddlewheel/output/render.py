"""Frames as pictures: a 2-D scene as its particles, or as its surface if it has none, with matplotlib; a 3-D scene as
its surface, with pyvista.

Smoke is drawn in rooms of its own, `render_smoke` and `volume`, and needs matplotlib only.

Both packages are optional: pip install 'paddlewheel[picture]' or 'paddlewheel[render]'.
"""

import ctypes
import math
import os
import sys
from pathlib import Path

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.grid.cells import at_centres
from paddlewheel.output import render_smoke
from paddlewheel.output.camera import ANGLE, SIZE, Camera
from paddlewheel.output.canvas import DPI, canvas, pixels_of
from paddlewheel.output.picture import SOLID_COLOUR, SURFACE_COLOUR, MissingExtraError, draw_solids, pyplot
from paddlewheel.scene import Scene
from paddlewheel.types import State

_EMPTY = "#f4f6f8"
_WATER, _HONEY = ("#2f86c1", "YlGnBu_r"), ("#c98a1b", "YlOrBr_r")  # the colour of a surface, and of speeds
_CLEAR = 0.45


def require(scene: Scene) -> None:
    """Raise a MissingExtraError if the pictures of a scene need what is not installed."""
    if scene.grid.is_2d or scene.has_smoke:
        pyplot()
    else:
        _pyvista()


def draw_frame(path: Path, scene: Scene, solid: np.ndarray, state: State) -> None:
    """A picture of a state among the solids, given by their φ at nodes."""
    if state.phi.shape != scene.grid.shape or solid.shape != scene.grid.node_shape:
        raise ValueError(f"the state has {state.phi.shape} cells, the scene {scene.grid.shape}: expected the same")
    if state.density is not None:
        plane, space = render_smoke.draw_plane, render_smoke.draw_space
    else:
        plane, space = _draw_plane, _draw_space
    (plane if scene.grid.is_2d else space)(path, scene, solid, state)


def _colours(scene: Scene) -> tuple[str, str]:
    return _HONEY if Friction(scene).acts else _WATER


def reference_speed(scene: Scene) -> float:
    """The end of the colour scale [m/s], the same for all frames: that of a fall through the domain, √(2 g·size)."""
    fall = sum(abs(g) * side for g, side in zip(scene.gravity, scene.grid.size, strict=True))
    return math.sqrt(2 * fall) or 1.0


def _draw_plane(path, scene, solid, state) -> None:
    """Particles coloured by their speed; without any, what is inside the surface, and the markers on it."""
    grid = scene.grid
    pixels = pixels_of(grid.size)
    if state.tracked:
        with canvas(path, pixels, state.time, _EMPTY) as ax:
            _fill_plane(ax, grid, state, _colours(scene)[0])
            draw_solids(ax, grid, solid[:, :, 0])
            ax.set(xlim=(0, grid.size[0]), ylim=(0, grid.size[1]))
        return
    position, speed = state.particles.position, np.linalg.norm(state.particles.velocity, axis=1)
    spacing = grid.h / scene.particles_per_axis * pixels[0] / grid.size[0]  # pixels between particles
    with canvas(path, pixels, state.time, _EMPTY) as ax:
        ax.scatter(
            position[:, 0], position[:, 1], s=(1.1 * spacing * 72 / DPI) ** 2, c=speed, cmap=_colours(scene)[1],
            vmin=0, vmax=reference_speed(scene), linewidths=0,
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


def _draw_space(path, scene, solid, state) -> None:
    """The surface φ = 0, the solids, and the edges of the domain."""
    pyvista = _pyvista()
    grid = scene.grid
    plotter = pyvista.Plotter(off_screen=True, window_size=SIZE, lighting="light kit")
    try:
        plotter.set_background("white", top="#cfd9e4")
        box = pyvista.Box(bounds=tuple(b for side in grid.size for b in (0, side)))
        plotter.add_mesh(box, style="wireframe", color="#8a8f98", line_width=1)
        # Of a tank, a solid all around, the near walls turn their backs and are left out. VTK calls that the front,
        # because it expects values to grow inwards.
        style = {"smooth_shading": True, "specular": 0.1, "culling": "front"}
        _add_surface(pyvista, plotter, solid, (0, 0, 0), grid.h, color=SOLID_COLOUR, **style)
        # Half a cell into the solids, or the two would flicker where they touch.
        phi = np.pad(np.maximum(state.phi, -at_centres(solid) - 0.5 * grid.h), 1, mode="edge")
        _close(phi)
        style = {"smooth_shading": True, "specular": 0.7, "specular_power": 25, "ambient": 0.1}
        style["opacity"] = _CLEAR if state.bodies else 1.0  # bodies are also under water
        _add_surface(pyvista, plotter, phi, (-0.5 * grid.h,) * 3, grid.h, color=_colours(scene)[0], **style)
        _aim(plotter, grid.size)
        plotter.add_text(f"{state.time:.2f} s", position="upper_right", font_size=11, color=SURFACE_COLOUR)
        plotter.screenshot(path)
    finally:
        plotter.close()


def _add_surface(pyvista, plotter, phi, origin, h, **style) -> None:
    if not phi.min() < 0 < phi.max():
        return
    lattice = pyvista.ImageData(dimensions=phi.shape, spacing=(h, h, h), origin=origin)
    lattice["phi"] = phi.ravel(order="F")
    surface = lattice.contour([0.0], scalars="phi")
    if surface.n_points:
        plotter.add_mesh(surface, **style)


def _close(phi) -> None:
    """Mirror φ in the outermost layer, so that liquid ends at the sides of the domain: halfway between two centres."""
    for axis in range(3):
        layers = np.moveaxis(phi, axis, 0)
        for end, inner in ((0, 1), (-1, -2)):
            layers[end] = np.abs(layers[inner])


def _aim(plotter, size) -> None:
    plotter.camera.focal_point = 0.5 * np.array(size)
    plotter.camera.position = Camera.at(size).position
    plotter.camera.up = (0, 1, 0)
    plotter.camera.view_angle = ANGLE
    plotter.renderer.reset_camera_clipping_range()


def _pyvista():
    try:
        import pyvista
    except ImportError as error:
        raise MissingExtraError("pictures of 3-D scenes need pyvista: pip install 'paddlewheel[render]'") from error
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        try:  # VTK itself would end the process
            ctypes.CDLL("libEGL.so.1")
        except OSError as error:
            raise MissingExtraError(
                "pictures of 3-D scenes need OpenGL: without a display, install libegl1 (Mesa)"
            ) from error
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")  # or it tries the display first
    return pyvista
