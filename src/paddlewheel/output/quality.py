"""Frames as pictures by light that is followed through them, with Mitsuba 3: pip install 'paddlewheel[quality]'.

Water bends and mirrors light at its surface, and tints it; bodies are of plastic, solids and floor are dull; smoke
is a medium that scatters light. The sky is that of `water.sky`. It takes minutes for a picture.
"""

from pathlib import Path

import numpy as np

from paddlewheel.emitters import largest_given
from paddlewheel.friction import Friction
from paddlewheel.measure import Solids
from paddlewheel.output.camera import DEFAULT_VIEW, Camera, View
from paddlewheel.output.export.rigid import Rigids
from paddlewheel.output.export.shape_mesh import with_edges
from paddlewheel.output.export.surface import marching_cubes
from paddlewheel.output.export.things import Mesh
from paddlewheel.output.picture import SOLID_COLOUR, MissingExtraError
from paddlewheel.output.render_liquid import BODY_COLOURS, is_tank, liquid_mesh, without_bodies
from paddlewheel.output.water import sky
from paddlewheel.scene import Scene
from paddlewheel.types import State

SAMPLES = 64  # rays for a pixel
_DEEP = 16  # times that light is turned, at most; in smoke:
_DEEP_IN_SMOKE = 48
_SKY = (256, 128)  # pixels of the sky
_SUN, _NARROW = 11.0, 40.0  # how bright, and how narrow: not very, for through water it is found by chance
_DIM, _SUN_ON_SMOKE = 0.15, 22.0  # of the sky and the sun above smoke, before a dark floor
_MOST_HOLES = 1e-3  # part of the pixels
_WATER = {"int_ior": 1.33, "specular_transmittance": (0.72, 0.90, 0.96)}
_HONEY = {"int_ior": 1.49, "specular_transmittance": (0.93, 0.52, 0.08)}
_FLOOR, _DARK, _FLOOR_SIDE = (0.66, 0.68, 0.70), (0.06, 0.07, 0.08), 40.0  # colours; size in the domain's longest side
_FREE_PATH, _BRIGHT = 0.04, 0.97  # of light in the densest smoke, by the domain's mean side; part that it sends on


def require_mitsuba():
    """The package, set to compute one ray after the other, which any machine can; a MissingExtraError if it is not."""
    try:
        import mitsuba
    except ImportError as error:
        raise MissingExtraError("--quality needs Mitsuba 3: pip install 'paddlewheel[quality]'") from error
    mitsuba.set_variant("scalar_rgb")
    mitsuba.set_log_level(mitsuba.LogLevel.Error)
    return mitsuba


class QualityPainter:
    """Draws states of a 3-D scene as they are seen in a view, with so many rays for a pixel."""

    def __init__(self, scene: Scene, view: View = DEFAULT_VIEW, samples: int = SAMPLES):
        self._mitsuba = require_mitsuba()
        if scene.grid.is_2d:
            raise ValueError("render: --quality is for 3-D scenes, and this one is 2-D")
        self.scene, self.view, self.samples = scene, view, samples
        self.solids = Solids(scene.grid, scene.items, scene.method.weights, scene.open_sides)
        self._rigid = Rigids(scene)

    def draw(self, path: Path, state: State, orbit: float = 0.0) -> None:
        """A picture of a state, from a camera that has gone round by an angle [degrees]."""
        mi = self._mitsuba
        image = np.array(mi.render(mi.load_dict(self._described(state, orbit)), seed=0))
        bitmap = mi.Bitmap(_without_holes(image)).convert(
            mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.UInt8, srgb_gamma=True
        )
        bitmap.write(str(path))

    def _described(self, state, orbit) -> dict:
        """All that Mitsuba is told of a state."""
        view, grid = self.view._replace(orbit=self.view.orbit + orbit), self.scene.grid
        camera = view.camera(grid.size)
        smoke = state.density is not None
        light = (_DIM, _SUN_ON_SMOKE) if smoke else (1.0, _SUN)
        found = {
            "type": "scene",
            "integrator": self._integrator(smoke),
            "sensor": self._sensor(camera),
            "sky": {
                "type": "envmap",
                "bitmap": self._mitsuba.Bitmap(_sky(*light)),
            },
            "floor": self._floor(_DARK if smoke else _FLOOR),
        }
        solid = self.solids.measure(state.time, state.bodies).phi
        found |= self._solids(without_bodies(self.scene, state) if state.bodies else solid, camera)
        bodies = [body.placed() for body in self._rigid.at(state.time, state.bodies) if body.is_body]
        for n, mesh in enumerate(bodies):
            found[f"body_{n}"] = self._mesh(mesh, self._plastic(BODY_COLOURS[n % len(BODY_COLOURS)]))
        found |= {"smoke": self._smoke(state)} if smoke else self._liquid(solid, state)
        return found

    def _integrator(self, smoke) -> dict:
        if smoke:
            return {"type": "volpath", "max_depth": _DEEP_IN_SMOKE, "rr_depth": 8}
        return {"type": "path", "max_depth": _DEEP}

    def _sensor(self, camera: Camera) -> dict:
        transform, (width, height) = self._mitsuba.ScalarTransform4f(), camera.pixels
        at = camera.position + camera.look
        return {
            "type": "perspective",
            "fov": camera.angle,
            "fov_axis": "y",
            "to_world": transform.look_at(*(v.tolist() for v in (camera.position, at, camera.up))),
            "film": {"type": "hdrfilm", "width": width, "height": height, "rfilter": {"type": "box"}},
            "sampler": {"type": "multijitter", "sample_count": self.samples},
        }

    def _floor(self, colour) -> dict:
        transform, (x, _, z) = self._mitsuba.ScalarTransform4f(), self.scene.grid.size
        side = _FLOOR_SIDE * max(self.scene.grid.size)
        place = transform.translate((x / 2, -1e-3 * side / _FLOOR_SIDE, z / 2)).rotate((1, 0, 0), -90)
        return {"type": "rectangle", "to_world": place.scale(side), "bsdf": self._dull(colour)}

    def _solids(self, solid, camera) -> dict:
        if not solid.min() < 0 < solid.max():
            return {}
        vertices, faces = marching_cubes(solid, [np.arange(n) * self.scene.grid.h for n in solid.shape])
        mesh = Mesh(np.float32(vertices), np.int32(faces), np.zeros_like(vertices))
        if is_tank(solid):
            corners = mesh.vertices[mesh.faces].astype(float)
            outwards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            seen = (outwards * (corners.mean(axis=1) - camera.position)).sum(axis=1) < 0
            mesh = mesh._replace(faces=mesh.faces[seen])
        if not len(mesh.faces):
            return {}
        return {"solids": self._mesh(mesh, {"type": "twosided", "bsdf": self._dull(_linear(SOLID_COLOUR))})}

    def _liquid(self, solid, state) -> dict:
        mesh = liquid_mesh(self.scene.grid, solid, state)
        if not len(mesh.faces):
            return {}
        kind = _HONEY if Friction(self.scene).acts else _WATER
        tint = {"type": "rgb", "value": list(kind["specular_transmittance"])}
        return {"liquid": self._mesh(mesh, {"type": "dielectric", **kind, "specular_transmittance": tint})}

    def _smoke(self, state) -> dict:
        mi, grid = self._mitsuba, self.scene.grid
        transform = mi.ScalarTransform4f()
        density = np.maximum(state.density, 0) / np.float32(largest_given(self.scene)[0] or 1)
        side = float(np.prod(grid.size)) ** (1 / 3)
        box = transform.scale(grid.size)
        medium = {
            "type": "heterogeneous",
            "albedo": {"type": "constvolume", "value": {"type": "rgb", "value": _BRIGHT}},
            "sigma_t": {
                "type": "gridvolume",
                "grid": mi.VolumeGrid(np.ascontiguousarray(density.transpose(2, 1, 0)[..., None])),
                "to_world": box,
            },
            "scale": 1 / (_FREE_PATH * side),
        }
        around = transform.scale(grid.size).translate((0.5, 0.5, 0.5)).scale(0.5)
        return {"type": "cube", "to_world": around, "bsdf": {"type": "null"}, "interior": medium}

    def _mesh(self, mesh: Mesh, surface: dict):
        """A mesh that is smooth but for its edges."""
        mi, mesh = self._mitsuba, with_edges(mesh.vertices, mesh.faces)
        properties = mi.Properties()
        properties["bsdf"] = mi.load_dict(surface)
        made = mi.Mesh(surface["type"], len(mesh.vertices), len(mesh.faces), properties, has_vertex_normals=True)
        parameters = mi.traverse(made)
        parameters["vertex_positions"] = np.float32(mesh.vertices).ravel()
        parameters["vertex_normals"] = np.float32(mesh.vertex_normals).ravel()
        parameters["faces"] = mesh.faces.astype(np.uint32).ravel()
        parameters.update()
        return made

    def _plastic(self, colour: str) -> dict:
        return {"type": "roughplastic", "alpha": 0.15, "diffuse_reflectance": {"type": "rgb", "value": _linear(colour)}}

    def _dull(self, colour) -> dict:
        return {"type": "diffuse", "reflectance": {"type": "rgb", "value": list(colour)}}


def _sky(strength: float, sun: float) -> np.ndarray:
    """The light from all directions, float32 (rows, columns, 3): from the zenith down, round from −z by way of +x.

    Of the sky, so strong, and of the sun.
    """
    width, height = _SKY
    polar = (np.arange(height) + 0.5)[:, None] * np.pi / height
    around = (np.arange(width) + 0.5) * 2 * np.pi / width
    x, y, z = np.sin(polar) * np.sin(around), np.cos(polar) + 0 * around, -np.sin(polar) * np.cos(around)
    rays = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    return np.float32(strength * sky(rays, sun / strength, _NARROW).reshape(height, width, 3))


def _without_holes(image: np.ndarray) -> np.ndarray:
    """The picture with the median of all around in place of single pixels that rounding in a medium made no number."""
    holes = ~np.isfinite(image).all(axis=-1)
    if holes.mean() > _MOST_HOLES:
        raise ValueError(f"render: {holes.sum()} of {holes.size} pixels are no numbers")
    rows, columns = np.nonzero(holes)
    image[holes] = np.nan
    for i, j in zip(rows, columns, strict=True):
        around = image[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].reshape(-1, image.shape[-1])
        image[i, j] = np.nanmedian(around, axis=0)
    return image


def _linear(colour: str) -> list[float]:
    return [(int(colour[n : n + 2], 16) / 255) ** 2.2 for n in (1, 3, 5)]
