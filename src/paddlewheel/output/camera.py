"""Where pictures of 3-D scenes are seen from."""

import math
from typing import NamedTuple

import numpy as np

SIZE = (1280, 720)  # pixels of a 3-D picture, and at most of a 2-D one
ANGLE = 24.0  # of view, from top to bottom [degrees]
_LOOK = np.array([-0.42, -0.36, -1.0])  # the direction in which the camera looks
_MARGIN = 1.08


class Camera(NamedTuple):
    """A camera of SIZE pixels: where it is [m], and unit vectors to the right, up, and where it looks."""

    position: np.ndarray
    right: np.ndarray
    up: np.ndarray
    look: np.ndarray

    @classmethod
    def at(cls, size) -> "Camera":
        """One that looks at the middle of a domain, from so far that all of it is seen."""
        look = _LOOK / np.linalg.norm(_LOOK)
        right = np.cross(look, (0, 1, 0))
        right /= np.linalg.norm(right)
        up = np.cross(right, look)
        corners = np.array(np.meshgrid(*((-0.5 * s, 0.5 * s) for s in size))).reshape(3, -1).T
        slope = _SLOPE / _MARGIN
        # A corner is seen if its offset across is within the cone at its own distance.
        needed = [
            (max(abs(corner @ up), abs(corner @ right) * SIZE[1] / SIZE[0]) / slope - corner @ look)
            for corner in corners
        ]
        return cls(0.5 * np.array(size) - max(needed) * look, right, up, look)

    def rays(self, pixels: np.ndarray) -> np.ndarray:
        """Unit vectors from the camera through points of the picture (n, 2), in pixels from its upper left corner."""
        across = (pixels - 0.5 * np.array(SIZE)) * (2 * _SLOPE / SIZE[1])
        rays = self.look + across[:, :1] * self.right - across[:, 1:] * self.up
        return rays / np.linalg.norm(rays, axis=1, keepdims=True)

    def seen(self, points: np.ndarray) -> np.ndarray:
        """Where points [m] (n, 3) are in the picture, in pixels (n, 2)."""
        away = points - self.position
        across = np.stack([away @ self.right, -(away @ self.up)], axis=1) / (away @ self.look)[:, None]
        return across * (SIZE[1] / (2 * _SLOPE)) + 0.5 * np.array(SIZE)


_SLOPE = math.tan(math.radians(ANGLE / 2))
