"""Frames of smoke as pictures, lit by a sun: a plane as it is, and space by rays.

Scales are those of the scene and not of a frame: what is as dense as the
densest Smoke looks the same in all frames of a run, and so does what is as hot.
Colours are linear, proportional to light, until the picture is written.
"""

from pathlib import Path

import numpy as np
from scipy import ndimage

from paddlewheel.emitters import largest_given
from paddlewheel.grid.cells import at_centres
from paddlewheel.output.camera import SIZE, Camera
from paddlewheel.output.canvas import DPI, canvas, pixels_of
from paddlewheel.output.picture import SOLID_COLOUR, draw_solids
from paddlewheel.output.volume import Volume, sunlight, with_ends
from paddlewheel.scene import Scene
from paddlewheel.types import Grid, State

THICK = 2.5  # optical depth of a plane of the densest smoke
MEAN_FREE_PATH = 0.04  # of light in the densest smoke, as a part of the domain's mean side

_TEXT, _EDGE, _MARKER = "#dfe5ec", "#9aa6b4", "#2fb0f0"
_TOP, _BOTTOM = "#1d2530", "#55616f"  # of the background
_GREY, _HOT, _COLD = "#f2f3f5", "#ffae70", "#8fc0ff"  # smoke as warm as the surroundings, hottest and coldest
_DOT = 2.2  # pixels of a marker

_TO_SUN = (-0.7, 1.0, 0.45)
_SUN, _SKY = np.array([1.0, 0.96, 0.9]), np.array([0.16, 0.18, 0.22])
_DEEP = 0.4  # part of the light that smoke passes on many times, and that so comes deeper into it
_FRONT = 0.5  # part of its light that a plane gets from where it is seen
_SHADOW = 0.6  # part of its light that the bottom of the domain gets from the sun
_SOLID = 10.0  # optical depth of a cell of solid
_CUT = 1e-3  # cells from a side of the domain, up to which what is seen in a solid is the cut through it
_UNSEEN = 1e-3  # of the density of the densest smoke

_CONTRAST = 0.04  # between neighbouring pixels, from which on they are looked at more closely
_FINER = np.array([(-0.375, -0.125), (0.125, -0.375), (0.375, 0.125), (-0.125, 0.375)])  # points of a pixel


def draw_plane(path: Path, scene: Scene, solid: np.ndarray, state: State, within: tuple[int, int] = SIZE) -> None:
    """Smoke in a plane, the solids over it, and markers as dots; so many pixels at most.

    Between centres it is a quadratic spline of the cells around, which shows no grid and never overshoots.
    """
    grid = scene.grid
    pixels = pixels_of(grid.size, within)
    at = np.meshgrid(*((np.arange(n) + 0.5) * m / n - 0.5 for n, m in zip(pixels, grid.shape[:2], strict=True)))
    density, warmth = _scaled(scene, solid, state)
    light = _FRONT + (1 - _FRONT) * _light(_extinction(grid, density), solid / grid.h)
    density, *radiance = (
        ndimage.map_coordinates(field[:, :, 0], at, order=2, mode="nearest", prefilter=False)
        for field in (density, *np.moveaxis(_radiance(warmth, light), -1, 0))
    )
    opacity = 1 - np.exp(-THICK * density)[..., None]
    image = opacity * np.stack(radiance, axis=-1) + (1 - opacity) * _background(pixels[1])[::-1]
    with canvas(path, pixels, state.time, _BOTTOM, _TEXT) as ax:
        ax.imshow(_encoded(image), origin="lower", extent=(0, grid.size[0], 0, grid.size[1]), interpolation="none")
        ax.scatter(*state.markers[:, :2].T, s=(_DOT * 72 / DPI) ** 2, color=_MARKER, linewidths=0)
        draw_solids(ax, grid, solid[:, :, 0])
        ax.set(xlim=(0, grid.size[0]), ylim=(0, grid.size[1]))


def draw_space(path: Path, scene: Scene, solid: np.ndarray, state: State, camera: Camera) -> None:
    """Smoke with its own shadow among the solids, the edges of the domain, and markers as dots."""
    grid = scene.grid
    picture = _Picture(grid, *_scaled(scene, solid, state), solid / grid.h, camera.scaled(1 / grid.h))
    image = picture.drawn()
    image = picture.with_dots(image, _along_edges(grid), _EDGE)
    image = picture.with_dots(image, state.markers / grid.h, _MARKER, _DOT)
    width, height = camera.pixels
    with canvas(path, camera.pixels, state.time, _BOTTOM, _TEXT) as ax:
        ax.imshow(_encoded(image), extent=(0, width, 0, height), interpolation="none", aspect="auto")


def _scaled(scene, solid, state) -> tuple[np.ndarray, np.ndarray]:
    """Density and temperature by the largest of the scene, at centres.

    In solids they go on for two cells as beside them: else smoke would fade towards walls, in the half cell to the
    centre of the next cell.
    """
    fields = [
        field / np.float32(largest or 1)
        for field, largest in zip((state.density, state.temperature), largest_given(scene), strict=True)
    ]
    known = at_centres(solid) > 0
    for _ in range(2):
        count = ndimage.uniform_filter(known.astype(np.float32), 3)
        for field in fields:
            beside = ndimage.uniform_filter(np.where(known, field, 0), 3) / np.maximum(count, 1e-6)
            field[~known] = beside[~known]
        known |= count > 1e-6
    return np.maximum(fields[0], 0), np.clip(fields[1], -1, 1)


def _extinction(grid, density) -> np.ndarray:
    """σ [1/cell] of a density by its largest; none of what is too little to be seen."""
    shape = grid.shape[:2] if grid.is_2d else grid.shape
    side = float(np.prod(shape)) ** (1 / len(shape))
    return np.where(density < _UNSEEN, 0, density / np.float32(MEAN_FREE_PATH * side))


def _light(extinction, solid) -> np.ndarray:
    """What is left of the sun's light at centres, behind smoke and solids, φ [cells]."""
    return sunlight(extinction + _SOLID * np.clip(0.5 - at_centres(solid), 0, 1), _TO_SUN)


def _radiance(warmth, light) -> np.ndarray:
    """Linear colours (…, 3) that smoke of a temperature sends on."""
    t = np.abs(warmth)[..., None]
    own = (1 - t) * _linear(_GREY) + t * np.where(warmth[..., None] > 0, _linear(_HOT), _linear(_COLD))
    light = (1 - _DEEP) * light + _DEEP * light**0.25
    return own * (light[..., None] * _SUN + _SKY)


class _Picture:
    """A picture of space, in cells; density and warmth by their largest."""

    def __init__(self, grid: Grid, density: np.ndarray, warmth: np.ndarray, solid: np.ndarray, camera: Camera):
        solid = with_ends(solid)
        self._solid, self._slopes = solid, np.gradient(solid)
        extinction = _extinction(grid, density)
        self._light = _light(extinction, solid)
        self._volume = Volume.of(extinction, _radiance(warmth, self._light), solid)
        self._camera = camera

    def drawn(self) -> np.ndarray:
        """Linear colours (rows, columns, 3). Pixels unlike their neighbours are the mean of several rays."""
        width, height = self._camera.pixels
        image = np.broadcast_to(_background(height), (height, width, 3)).copy()
        corners = self._camera.seen(np.array(list(np.ndindex(2, 2, 2))) * self._light.shape)
        if np.isnan(corners).any():  # some of the domain is behind the camera, and it may be seen everywhere
            corners = np.array([(0, 0), (width, height)])
        corners = np.clip([corners.min(axis=0), corners.max(axis=0) + 1], 0, (width, height)).astype(int)
        (left, top), (right, bottom) = corners
        if left == right or top == bottom:
            return image
        y, x = np.mgrid[top:bottom, left:right] + 0.5
        pixels = np.stack([x, y], axis=-1)
        inside = image[top:bottom, left:right]  # beside, there is nothing
        inside[:] = self._colours(pixels.reshape(-1, 2)).reshape(inside.shape)
        rough = _rough(_encoded(inside).astype(np.int16))
        inside[rough] = np.mean([self._colours(pixels[rough] + offset) for offset in _FINER], axis=0)
        return image

    def with_dots(self, image: np.ndarray, points: np.ndarray, colour: str, size: float = 1.0) -> np.ndarray:
        """The picture with dots at points (n, 3), each some pixels wide, as far as they are seen."""
        width, height = self._camera.pixels
        points = points[(points - self._camera.position) @ self._camera.look > 0]
        away = points - self._camera.position
        far = np.linalg.norm(away, axis=1)
        *_, left, hit = self._volume.trace(self._camera.position, away / far[:, None], far).T
        seen = np.where(hit < far, 0, left)
        at = self._camera.seen(points) - 0.5
        first = np.floor(at).astype(int)
        cover = np.zeros(width * height)
        for dx in range(2):
            for dy in range(2):
                x, y = first[:, 0] + dx, first[:, 1] + dy
                weight = seen * (1 - np.abs(at[:, 0] - x)) * (1 - np.abs(at[:, 1] - y))
                inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
                cover += np.bincount((y * width + x)[inside], weight[inside], width * height)
        cover = np.minimum(size**2 * cover, 1).reshape(height, width, 1)
        return (1 - cover) * image + cover * _linear(colour)

    def _colours(self, pixels) -> np.ndarray:
        """Linear colours (n, 3) at points of the picture (n, 2)."""
        rays = self._camera.rays(pixels)
        traced = self._volume.trace(self._camera.position, rays, np.full(len(rays), np.inf))
        height = self._camera.pixels[1]
        behind = _background(height)[np.clip(pixels[:, 1].astype(int), 0, height - 1), 0]
        hit = np.isfinite(traced[:, 4])
        behind *= self._on_floor(rays)[:, None]
        behind[hit] = self._surface(self._camera.position + rays[hit] * traced[hit, 4:], rays[hit])
        return traced[:, :3] + traced[:, 3:4] * behind

    def _on_floor(self, rays) -> np.ndarray:
        """What is left of light, (n,), where rays meet the bottom of the domain; elsewhere 1."""
        position, (nx, _, nz) = self._camera.position, self._light.shape
        down = np.minimum(rays[:, 1], -1e-6)
        x, z = (position[a] - position[1] * rays[:, a] / down for a in (0, 2))
        inside = (x > 0) & (x < nx) & (z > 0) & (z < nz)
        light = np.ones(len(rays))
        floor = self._light[:, 0]
        light[inside] = ndimage.map_coordinates(floor, (x[inside] - 0.5, z[inside] - 0.5), order=1, mode="nearest")
        return 1 - _SHADOW * (1 - light)

    def _surface(self, points, rays) -> np.ndarray:
        """Linear colours (n, 3) of solids at points of their surface, where rays hit them."""
        outside = points - rays  # where thin solids do not yet feel their other side
        normal = np.stack([_at(slope, outside) for slope in self._slopes], axis=1)
        away = np.concatenate([np.abs(points), np.abs(points - self._light.shape)], axis=1)  # from the six sides
        cut = (away.min(axis=1) < _CUT) & (_at(self._solid, points) < 0)
        normal[cut] = np.concatenate([-np.eye(3), np.eye(3)])[away[cut].argmin(axis=1)]
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
        sun = np.maximum(normal @ (np.array(_TO_SUN) / np.linalg.norm(_TO_SUN)), 0)
        # outside of what the solid itself keeps dark; beyond the domain nothing does
        sun *= _at(self._light, points + 1.5 * normal - 0.5, mode="grid-constant", cval=1.0)
        sky = 1 + 0.5 * normal[:, 1:2]
        return _linear(SOLID_COLOUR) * (sun[:, None] * _SUN + 1.2 * sky * _SKY)


def _rough(image) -> np.ndarray:
    """The pixels that differ from one beside them, bool (rows, columns), of a picture in whole numbers."""
    rough = np.zeros(image.shape[:2], bool)
    for axis in range(2):
        unlike = np.moveaxis(np.abs(np.diff(image, axis=axis)).max(axis=-1) > 255 * _CONTRAST, axis, 0)
        along = np.moveaxis(rough, axis, 0)
        along[:-1] |= unlike
        along[1:] |= unlike
    return rough


def _at(field, points, mode="nearest", cval=0.0) -> np.ndarray:
    return ndimage.map_coordinates(field, points.T, order=1, mode=mode, cval=cval)


def _along_edges(grid) -> np.ndarray:
    """Points on the edges of the domain, in cells, less than a pixel apart."""
    t = np.linspace(0, 1, 2 * max(SIZE))[:, None]
    points = []
    for axis in range(3):
        for corner in np.ndindex(2, 2):
            start = np.insert(np.array(corner, float), axis, 0)
            points.append((start + t * np.eye(3)[axis]) * grid.shape)
    return np.concatenate(points)


def _background(height) -> np.ndarray:
    """Linear colours (rows, 1, 3), from top to bottom."""
    t = np.linspace(0, 1, height)[:, None, None]
    return (1 - t) * _linear(_TOP) + t * _linear(_BOTTOM)


def _linear(colour: str) -> np.ndarray:
    """Red, green and blue of "#rrggbb", proportional to the light."""
    return np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]) ** 2.2


def _encoded(image) -> np.ndarray:
    """Linear colours as a picture has them, uint8."""
    return (255 * np.clip(image, 0, 1) ** (1 / 2.2) + 0.5).astype(np.uint8)
