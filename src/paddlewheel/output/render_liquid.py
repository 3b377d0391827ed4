"""Frames of liquid in space as pictures, with pyvista: water between the solids and bodies, on a floor with shadows."""

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import ndimage

from paddlewheel.friction import Friction
from paddlewheel.items import RigidBody
from paddlewheel.measure import Solids
from paddlewheel.output.camera import Camera
from paddlewheel.output.export.surface import into_solids, mesh_of
from paddlewheel.output.export.things import Mesh
from paddlewheel.output.picture import SOLID_COLOUR, SURFACE_COLOUR, MissingExtraError
from paddlewheel.output.volume import sunlight
from paddlewheel.output.water import HONEY, TO_SUN, WATER, shaded
from paddlewheel.scene import Scene
from paddlewheel.types import Grid, State

BODY_COLOURS = ("#d9622b", "#e3b23c", "#4f8a5b", "#8d5a97", "#c8553d", "#588b8b", "#b08d57", "#7a6c5d")
_BODY = {"smooth_shading": True, "split_sharp_edges": True, "specular": 0.3, "specular_power": 20, "ambient": 0.2}
_TOP, _BOTTOM, _FLOOR = "#c3d3e2", "#f7f8f9", (0.93, 0.935, 0.94)
_FINER = 2  # times as fine as the grid is what is drawn, so that drops are round
_MOST_FINER = 1_500_000  # cells, above which they are round by themselves
_FINE_EDGE = 50.0  # degrees, from which on two triangles meet in an edge
_CLEARER = 0.4  # what is drawn of its absorption if there are bodies in it
_SAMPLES = 2  # pixels drawn for one of the picture, along each side
_SHADOW, _SHADE = 0.4, (0.12, 6.0)  # how dark shadows are; and what a cell of liquid or of a solid takes, of 64
_ROOF = 0.5  # part of the top of the domain, from which on solids are a tank
_COARSE = 64  # cells along the longest side of what throws shadows
_REACH = 1.0  # of the floor beyond the domain, in its longest side


def draw_space(path: Path, scene: Scene, solid: np.ndarray, state: State, camera: Camera, bodies: Sequence[Mesh] = ()):
    """The liquid, the solids and the bodies, each given by its mesh, the floor, and the edges of the domain."""
    from PIL import Image

    pyvista = require_pyvista()
    grid = scene.grid
    window = [_SAMPLES * n for n in camera.pixels]
    plotter = pyvista.Plotter(off_screen=True, window_size=window, lighting=None)
    try:
        plotter.set_background(_BOTTOM, top=_TOP)
        plotter.renderer.SetUseOIT(False)  # it mixes what is clear in no order; here all is drawn from back to front
        _light(pyvista, plotter)
        _add_floor(pyvista, plotter, grid, solid, state.phi)
        box = pyvista.Box(bounds=tuple(b for side in grid.size for b in (0, side)))
        plotter.add_mesh(box, style="wireframe", color="#8a8f98", line_width=_SAMPLES, lighting=False)
        _add_solids(pyvista, plotter, grid, without_bodies(scene, state) if bodies else solid)
        for number, mesh in enumerate(bodies):
            surface = pyvista.PolyData.from_regular_faces(mesh.vertices, mesh.faces)
            plotter.add_mesh(surface, color=BODY_COLOURS[number % len(BODY_COLOURS)], **_BODY)
        _add_liquid(pyvista, plotter, scene, solid, state, camera)
        _aim(plotter, camera)
        size = round(8 * _SAMPLES * camera.pixels[1] / 720)
        plotter.add_text(f"{state.time:.2f} s", position="upper_right", font_size=size, color=SURFACE_COLOUR)
        image = Image.fromarray(plotter.screenshot(return_img=True))
        image.resize(camera.pixels, Image.Resampling.BOX).save(path)
    finally:
        plotter.close()


def _light(pyvista, plotter) -> None:
    """A sun, and the sky from above and from the other side."""
    for direction, strength in ((TO_SUN, 0.75), ((0.6, 0.4, 0.9), 0.45), ((-0.9, 0.3, 0.6), 0.2)):
        light = pyvista.Light(position=tuple(direction), focal_point=(0, 0, 0), intensity=strength)
        light.positional = False
        plotter.add_light(light)


def without_bodies(scene: Scene, state: State) -> np.ndarray:
    """φ [m] at nodes of the solids that are no bodies."""
    items = [item for item in scene.items if not isinstance(item, RigidBody)]
    return Solids(scene.grid, items, scene.method.weights, scene.open_sides).measure(state.time).phi


def _add_solids(pyvista, plotter, grid, solid) -> None:
    if not solid.min() < 0 < solid.max():
        return
    lattice = pyvista.ImageData(dimensions=solid.shape, spacing=(grid.h,) * 3)
    lattice["phi"] = solid.ravel(order="F")
    surface = lattice.contour([0.0], scalars="phi")
    if surface.n_points:
        # Of a tank, a solid all around, the near walls turn their backs and are left out. VTK calls that the front,
        # because it expects values to grow inwards.
        style = {"smooth_shading": True, "specular": 0.1, "ambient": 0.2, "culling": "front"}
        plotter.add_mesh(surface, color=SOLID_COLOUR, **style)


def _add_liquid(pyvista, plotter, scene, solid, state, camera) -> None:
    grid = scene.grid
    mesh = liquid_mesh(grid, solid, state)
    if not len(mesh.faces):
        return
    surface = pyvista.PolyData.from_regular_faces(mesh.vertices, mesh.faces)
    surface = surface.compute_normals(split_vertices=True, feature_angle=_FINE_EDGE, consistent_normals=False)
    points, normals = np.array(surface.points, float), np.array(surface.point_data["Normals"], float)
    absorption, own = HONEY if Friction(scene).acts else WATER
    liquid = (_CLEARER * absorption if state.bodies else absorption, own)  # bodies are also under water
    colours = shaded(points, normals, camera, grid, state.phi, solid, liquid)
    faces = surface.regular_faces
    corners = points[faces]
    towards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    away = corners.mean(axis=1) - camera.position
    faces, away = (array[(towards * away).sum(axis=1) < 0] for array in (faces, away))
    if not len(faces):
        return
    order = np.argsort(-np.linalg.norm(away, axis=1))  # what is drawn later is in front
    surface = pyvista.PolyData.from_regular_faces(points, faces[order])
    plotter.add_mesh(surface, scalars=colours, rgba=True, lighting=False)


def liquid_mesh(grid: Grid, solid: np.ndarray, state: State) -> Mesh:
    """The surface as it is drawn. Half a cell into the solids, or the two would flicker where they touch."""
    phi, h = into_solids(state.phi, solid, grid.h), grid.h
    if phi.size * _FINER**3 <= _MOST_FINER * 8:
        phi, h = ndimage.zoom(phi, _FINER, order=3, mode="nearest", grid_mode=True), h / _FINER
    return mesh_of(phi, h, state.velocity, grid.h)


def _add_floor(pyvista, plotter, grid, solid, phi) -> None:
    """Under the domain and beyond it, where it fades; one side of it, so that a camera below looks through."""
    every = max(1, round(max(grid.shape) / _COARSE))
    liquid, solids = phi[::every, ::every, ::every] < 0, solid[:-1:every, :-1:every, :-1:every] < 0
    if is_tank(solid):
        solids = np.zeros_like(solids)
    around = round(_REACH * max(liquid.shape))
    shade = np.where(solids, _SHADE[1], np.where(liquid, _SHADE[0], 0.0)) * 64 / _COARSE
    shade = np.pad(shade.astype(np.float32), [(around, around), (0, 0), (around, around)])
    light = ndimage.gaussian_filter(sunlight(shade, tuple(TO_SUN))[:, 0], 1.0, mode="nearest")
    nx, nz = light.shape
    x, z = ((np.arange(n) + 0.5 - around) * every * grid.h for n in (nx, nz))
    far = np.hypot(*(np.meshgrid((x - 0.5 * grid.size[0]), (z - 0.5 * grid.size[2]), indexing="ij")))
    radius = 0.5 * np.hypot(grid.size[0], grid.size[2])
    fade = np.clip((radius + 0.9 * _REACH * max(grid.size) - far) / (_REACH * max(grid.size)), 0, 1)
    colours = np.empty((nx, nz, 4))
    colours[..., :3] = (1 - _SHADOW * (1 - light[..., None])) * _FLOOR
    colours[..., 3] = fade**2 * (3 - 2 * fade)
    floor = pyvista.StructuredGrid(*np.meshgrid(x, [-0.02 * grid.h], z, indexing="ij"))
    rgba = (255 * colours + 0.5).astype(np.uint8)[:, None].reshape(-1, 4, order="F")
    plotter.add_mesh(floor.extract_surface(algorithm=None), scalars=rgba, rgba=True, lighting=False)


def is_tank(solid: np.ndarray) -> bool:
    """Whether solids, by their φ at nodes, are all around: light has to be let in, and the near walls left out."""
    return bool((solid[:, -1] < 0).mean() > _ROOF)


def _aim(plotter, camera) -> None:
    plotter.camera.position = camera.position
    plotter.camera.focal_point = camera.position + camera.look
    plotter.camera.up = camera.up
    plotter.camera.view_angle = camera.angle
    plotter.renderer.reset_camera_clipping_range()


def require_pyvista():
    """The package, ready to draw; a MissingExtraError if it or OpenGL is not there."""
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
