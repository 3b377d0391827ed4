"""Where pictures of 3-D scenes are seen from."""

import math
from typing import NamedTuple

import numpy as np

SIZE = (1280, 720)  # pixels of a 3-D picture, and at most of a 2-D one
ANGLE = 24.0  # of view, from top to bottom [degrees]
_LOOK = np.array([-0.42, -0.36, -1.0])  # the direction in which the camera looks
_MARGIN = 1.08
_UP = np.array([0.0, 1.0, 0.0])


class View(NamedTuple):
    """How a scene is to be seen.

    eye     where from [m]; None is from the front, the right and above, so far away that all of the domain is seen
    at      which point is in the middle of the picture [m]; None is the middle of the domain
    angle   of view, from top to bottom [degrees]
    pixels  wide and high
    orbit   how far the camera has gone round that point, anticlockwise as seen from above [degrees]
    """

    eye: tuple[float, float, float] | None = None
    at: tuple[float, float, float] | None = None
    angle: float = ANGLE
    pixels: tuple[int, int] = SIZE
    orbit: float = 0.0

    def camera(self, size) -> "Camera":
        """The camera that sees a domain of a size [m] so."""
        at = 0.5 * np.array(size) if self.at is None else np.array(self.at, float)
        if self.eye is None:
            look = _unit(_LOOK)
            eye = at - self._far_enough(size, look) * look
        else:
            eye = np.array(self.eye, float)
        turn = math.radians(self.orbit)
        c, s = math.cos(turn), math.sin(turn)
        eye = at + np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ (eye - at)
        return Camera.towards(eye, at, self.angle, self.pixels)

    def _far_enough(self, size, look) -> float:
        """The distance from which all corners are within the picture."""
        right, up = _across(look)
        slope, (width, height) = math.tan(math.radians(self.angle / 2)) / _MARGIN, self.pixels
        corners = np.array(np.meshgrid(*((-0.5 * s, 0.5 * s) for s in size))).reshape(3, -1).T
        # A corner is seen if its offset across is within the cone at its own distance.
        return max(
            max(abs(corner @ up), abs(corner @ right) * height / width) / slope - corner @ look for corner in corners
        )


DEFAULT_VIEW = View()


class Camera(NamedTuple):
    """A camera: where it is, unit vectors to the right, up, and where it looks, the angle of view, and its pixels."""

    position: np.ndarray
    right: np.ndarray
    up: np.ndarray
    look: np.ndarray
    angle: float = ANGLE
    pixels: tuple[int, int] = SIZE

    @classmethod
    def at(cls, size) -> "Camera":
        """One that looks at the middle of a domain, from so far that all of it is seen."""
        return DEFAULT_VIEW.camera(size)

    @classmethod
    def towards(cls, eye, at, angle: float = ANGLE, pixels: tuple[int, int] = SIZE) -> "Camera":
        """One that looks from a point at another."""
        look = np.subtract(at, eye)
        if not np.linalg.norm(look) > 0:
            raise ValueError(f"the camera is at {tuple(map(float, eye))}, where it looks: expected two points")
        look = _unit(look)
        return cls(np.asarray(eye, float), *_across(look), look, angle, pixels)

    @property
    def slope(self) -> float:
        """Half the height of the picture at a distance of 1."""
        return math.tan(math.radians(self.angle / 2))

    def scaled(self, factor: float) -> "Camera":
        """The same in other units of length."""
        return self._replace(position=factor * self.position)

    def rays(self, pixels: np.ndarray) -> np.ndarray:
        """Unit vectors from the camera through points of the picture (n, 2), in pixels from its upper left corner."""
        across = (pixels - 0.5 * np.array(self.pixels)) * (2 * self.slope / self.pixels[1])
        rays = self.look + across[:, :1] * self.right - across[:, 1:] * self.up
        return rays / np.linalg.norm(rays, axis=1, keepdims=True)

    def seen(self, points: np.ndarray) -> np.ndarray:
        """Where points (n, 3) before the camera are in the picture, in pixels (n, 2); NaN if they are behind it."""
        away = points - self.position
        ahead = away @ self.look
        ahead = np.where(ahead > 0, ahead, np.nan)
        across = np.stack([away @ self.right, -(away @ self.up)], axis=1) / ahead[:, None]
        return across * (self.pixels[1] / (2 * self.slope)) + 0.5 * np.array(self.pixels)


def _across(look) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors to the right and up of one in which a camera looks; straight down, up is away from z."""
    up = _UP if abs(look[1]) < 1 - 1e-9 else np.array([0.0, 0.0, -1.0])
    right = _unit(np.cross(look, up))
    return right, np.cross(right, look)


def _unit(vector) -> np.ndarray:
    return vector / np.linalg.norm(vector)
