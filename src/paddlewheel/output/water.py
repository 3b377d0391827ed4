"""The light that comes from the surface of clear liquid, at points of it.

Of light that arrives at an angle θ to the normal, the part (Schlick 1994)

    F = F₀ + (1 − F₀)(1 − cos θ)⁵ ,      F₀ = ((n − 1)/(n + 1))²

is mirrored; the rest goes into the liquid and on its way of length s there
loses exp(−σ s), more of red than of blue, for which the liquid's own colour is
scattered to the eye. What is behind is drawn by others, and shines through;
so the way goes straight on, and is not bent.
"""

import numpy as np
from scipy import ndimage

from paddlewheel.output.camera import Camera
from paddlewheel.types import Grid

TO_SUN = np.array([-0.45, 0.8, 0.4]) / np.linalg.norm([-0.45, 0.8, 0.4])
_INDEX = 1.33
_MIRRORED = ((_INDEX - 1) / (_INDEX + 1)) ** 2
_STEP = 0.75  # cells along a ray
_ZENITH, _HORIZON, _GROUND = np.array([[0.30, 0.52, 0.80], [0.93, 0.96, 0.99], [0.62, 0.66, 0.70]])
_GLINT, _SHARP = 1.6, 220.0  # of the sun

# What a way as long as the domain's mean side takes of red, green and blue, and the liquid's own colour.
WATER = (np.array([8.0, 3.6, 2.2]), np.array([0.015, 0.19, 0.42]))
HONEY = (np.array([60.0, 90.0, 180.0]), np.array([0.66, 0.27, 0.02]))
_CLEAR = 0.85  # part of light that goes through the thinnest film


def sky(rays: np.ndarray, glint: float = _GLINT, sharp: float = _SHARP) -> np.ndarray:
    """Colours (n, 3) in directions (n, 3), unit vectors: blue above, bright at the horizon, ground below, and a sun."""
    up = np.clip(rays[:, 1:2], -1, 1)
    above = _HORIZON + (_ZENITH - _HORIZON) * np.maximum(up, 0) ** 0.6
    below = _HORIZON + (_GROUND - _HORIZON) * np.minimum(6 * np.maximum(-up, 0), 1)
    sun = glint * np.maximum(rays @ TO_SUN, 0) ** sharp
    return np.where(up > 0, above, below) + sun[:, None]


def shaded(
    points: np.ndarray, normals: np.ndarray, camera: Camera, grid: Grid, phi: np.ndarray, solid: np.ndarray, liquid
) -> np.ndarray:
    """Red, green, blue and opacity, uint8 (n, 4), at points [m] of a surface with unit normals.

    phi, solid  of liquid at centres and of solids at nodes [m]
    liquid      absorption and colour, such as WATER or HONEY
    """
    rays = points - camera.position
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    cosine = np.clip(-(rays * normals).sum(axis=1, keepdims=True), 0, 1)
    mirrored = _MIRRORED + (1 - _MIRRORED) * (1 - cosine) ** 5
    absorption, own = liquid
    side = float(np.prod(grid.size)) ** (1 / 3)
    passing = _CLEAR * np.exp(-absorption * _wet(points, rays, grid, phi, solid)[:, None] / side)
    lit = 0.45 + 0.65 * np.clip(normals @ TO_SUN, 0, 1)[:, None]
    light = mirrored * sky(rays + 2 * cosine * normals) + (1 - mirrored) * (1 - passing) * own * lit
    opacity = 1 - (1 - mirrored) * passing.mean(axis=1, keepdims=True)
    return _encoded(np.concatenate([light / np.maximum(opacity, 1e-3), opacity], axis=1))


def _wet(points, rays, grid, phi, solid) -> np.ndarray:
    """How far rays go through liquid [m], up to a solid or the end of the domain; some begin a little within a wall."""
    step, length = _STEP * grid.h, np.zeros(len(points))
    going, at = np.arange(len(points)), points + 0.5 * step * rays
    been_out = np.zeros(len(points), bool)
    while len(going):
        cell = at / grid.h
        out = ndimage.map_coordinates(solid, cell.T, order=1, mode="nearest") >= 0
        ends = ((cell < 0) | (cell > grid.shape)).any(axis=1) | (been_out[going] & ~out)
        been_out[going] |= out
        going, at, cell = going[~ends], at[~ends], cell[~ends]
        length[going] += step * (ndimage.map_coordinates(phi, cell.T - 0.5, order=1, mode="nearest") < 0)
        at = at + step * rays[going]
    return length


def _encoded(colours) -> np.ndarray:
    """Linear red, green, blue, and opacity, as a picture has them."""
    colours = np.clip(colours, 0, 1)
    colours[:, :3] **= 1 / 2.2
    return (255 * colours + 0.5).astype(np.uint8)
