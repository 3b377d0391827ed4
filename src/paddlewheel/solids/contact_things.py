"""Everything that can be touched, at one time: bodies first, then the sides of the domain and obstacles."""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.contact_distances import Distances


class Things(NamedTuple):
    """Each array has a row per thing.

    bodies     how many of them are bodies
    distances  of all, each in its own frame
    around     (f,) whether a thing has no end along any axis, and its distance costs little: a wall around everything
    low, high  (f, 3) boxes around them in their own frames [m]; ±inf where they have no end
    origin     (f, 3) of their frames: for bodies the centre of mass [m]
    rotation   (f, 3, 3) from their frames to the world
    velocity   (f, 6): of the origin [m/s], and angular [rad/s]
    """

    bodies: int
    distances: Distances
    around: np.ndarray
    low: np.ndarray
    high: np.ndarray
    origin: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray

    def later(self, which, after, drift) -> tuple[np.ndarray, np.ndarray]:
        """Origins (n, 3) and rotations (n, 3, 3) of some, turned for a time `after` and moved for `drift` (n,) [s]."""
        origin = self.origin[which] + drift[:, None] * self.velocity[which, :3]
        rotation = self.rotation[which]
        late = np.flatnonzero(after > 0)
        if len(late):
            w = after[late, None] * self.velocity[which[late], 3:]
            angle = np.linalg.norm(w, axis=1)
            half = 0.5 * np.sinc(0.5 * angle / np.pi)
            rotation = rotation.copy()
            rotation[late] = rotations(np.column_stack([np.cos(0.5 * angle), half[:, None] * w])) @ rotation[late]
        return origin, rotation

    def apart(self) -> np.ndarray:
        """Distance between the boxes around bodies and around all things, in world axes [m], (bodies, f)."""
        out = np.empty((self.bodies, len(self.low)))
        measure_apart(out, self.low, self.high, self.origin, self.rotation)
        return out


def frames(bodies, poses, velocity) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Origin, rotation and velocity of `Things`, from bodies with velocities (n, 6) and the poses of the others."""
    n = len(bodies)
    V = np.zeros((n + len(poses), 6))
    V[:n] = velocity
    for k, pose in enumerate(poses):
        if pose.velocity or pose.angular_velocity:
            V[n + k] = [*(pose.velocity or (0, 0, 0)), *(pose.angular_velocity or (0, 0, 0))]
    origin = np.array([b.position for b in bodies] + [pose.position for pose in poses])
    orientation = np.array([b.orientation for b in bodies] + [pose.orientation for pose in poses])
    return origin, rotations(orientation), V


def rotations(q) -> np.ndarray:
    """Matrices (n, 3, 3) of unit quaternions (n, 4):  2 v vᵀ + 2 w [v ×] + (1 − 2 v·v) 1 ."""
    out = np.empty((len(q), 3, 3))
    _rotations(out, q)
    return out


@kernel(parallel=False)
def _rotations(out, q):
    for n in range(len(q)):
        w, x, y, z = q[n, 0], q[n, 1], q[n, 2], q[n, 3]
        out[n, 0, 0], out[n, 0, 1], out[n, 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
        out[n, 1, 0], out[n, 1, 1], out[n, 1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
        out[n, 2, 0], out[n, 2, 1], out[n, 2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@kernel(parallel=False)
def _place_boxes(lower, upper, low, high, origin, rotation):
    """Corners of the boxes in world axes. Turned, a thing without end along one axis has none along any."""
    for n in range(len(low)):
        straight, ends = True, True
        for a in range(3):
            ends &= np.isfinite(low[n, a]) and np.isfinite(high[n, a])
            for b in range(3):
                straight &= rotation[n, a, b] == (a == b)
        for a in range(3):
            lower[n, a] = upper[n, a] = origin[n, a]
            if straight:
                lower[n, a] += low[n, a]
                upper[n, a] += high[n, a]
            for b in range(0 if straight else 3):
                centre = rotation[n, a, b] * 0.5 * (low[n, b] + high[n, b]) if ends else 0.0
                reach = abs(rotation[n, a, b]) * 0.5 * (high[n, b] - low[n, b]) if ends else np.inf
                lower[n, a] += centre - reach
                upper[n, a] += centre + reach


@kernel(parallel=False)
def measure_apart(out, low, high, origin, rotation):
    """See Things.apart."""
    lower, upper = np.empty(low.shape), np.empty(low.shape)
    _place_boxes(lower, upper, low, high, origin, rotation)
    for n in range(out.shape[0]):
        for m in range(out.shape[1]):
            total = 0.0
            for a in range(3):
                total += max(lower[m, a] - upper[n, a], lower[n, a] - upper[m, a], 0.0) ** 2
            out[n, m] = np.sqrt(total)
