"""Where a solid is, and how it moves.

A shape is drawn in its own coordinates, the body frame. A pose carries it into
the world,

    x_world = R x_body + position ,        v(x) = velocity + ω × (x − position)

so that the identity leaves the shape where it was drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paddlewheel.solids import argument

# Seconds between the samples of a motion. A difference is off by (ωδ)²/3, which is 3e-7 at ω = 100 rad/s; rounding adds
# 1e-11 m/s to the velocity of a motion a metre wide.
DIFFERENCE = 1e-5


def project_on(points: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """points @ axes, without the threads of BLAS: they spin on for a while and hold up the kernels that follow."""
    return np.einsum("...i,i...->...", points, axes) if axes.ndim == 1 else np.einsum("...i,ij->...j", points, axes)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b of vectors (…, 3): as NumPy's, which takes four times as long for a few of them."""
    a1, a2, a3, b1, b2, b3 = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    first = a2 * b3 - a3 * b2
    out = np.empty((*first.shape, 3), first.dtype)
    out[..., 0], out[..., 1], out[..., 2] = first, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1
    return out


def rotation_of(orientation) -> np.ndarray:
    """The matrix R of a unit quaternion (w, x, y, z), shape (3, 3)."""
    w, x, y, z = orientation
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@dataclass(frozen=True)
class Pose:
    """Position [m] and orientation, a unit quaternion (w, x, y, z), of a body frame in the world.

    velocity [m/s] is that of the frame's origin, angular_velocity [rad/s] is
    given in world axes. Left out, they come from differences of the motion.
    """

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    velocity: tuple[float, float, float] | None = None
    angular_velocity: tuple[float, float, float] | None = None

    def __post_init__(self):
        checks = {"position": argument.vector, "orientation": argument.quaternion}
        checks |= {
            name: argument.vector for name in ("velocity", "angular_velocity") if getattr(self, name) is not None
        }
        for name, check in checks.items():
            object.__setattr__(self, name, check("Pose", name, getattr(self, name)))

    @cached_property
    def rotation(self) -> np.ndarray:
        """The matrix R of the orientation, shape (3, 3)."""
        return rotation_of(self.orientation)

    def to_world(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) of the body frame, in world coordinates [m]."""
        return project_on(points, self.rotation.T) + self.position

    def to_body(self, points: np.ndarray) -> np.ndarray:
        """World points (n, 3), in the body frame [m]."""
        return project_on(points - self.position, self.rotation)

    def velocity_at(self, points: np.ndarray) -> np.ndarray:
        """Velocity of the body at world points [m/s], shape (n, 3):  v + ω × (x − position).

        A velocity that was left out is zero: see `pose_at` for the one a motion implies.
        """
        v = self.velocity or (0.0, 0.0, 0.0)
        omega = self.angular_velocity or (0.0, 0.0, 0.0)
        return v + np.cross(omega, points - np.asarray(self.position))


def pose_at(motion: Callable[[float], Pose], time: float, name: str = "Solid") -> Pose:
    """The pose a motion has at a time [s], with its velocities filled in.

    Those the motion does not give are second-order differences of position and
    of orientation,  ω = 2 q̇ q*; central ones, or forward ones at the start,
    because a motion need not be defined before time zero.
    """
    pose = _sample(motion, time, name)
    if pose.velocity is not None and pose.angular_velocity is not None:
        return pose
    if time >= DIFFERENCE:
        stencil = {-1: -0.5, 1: 0.5}
    else:
        stencil = {0: -1.5, 1: 2.0, 2: -0.5}
    rate = np.zeros(7)
    for offset, weight in stencil.items():
        sample = pose if offset == 0 else _sample(motion, time + offset * DIFFERENCE, name)
        # q and −q are one rotation: follow the one near the pose's own.
        side = 1.0 if np.dot(sample.orientation, pose.orientation) >= 0 else -1.0
        rate += weight / DIFFERENCE * np.array([*sample.position, *(side * q for q in sample.orientation)])
    w, xyz = pose.orientation[0], np.array(pose.orientation[1:])
    omega = 2 * (w * rate[4:] - rate[3] * xyz - np.cross(rate[4:], xyz))
    return Pose(
        pose.position,
        pose.orientation,
        rate[:3] if pose.velocity is None else pose.velocity,
        omega if pose.angular_velocity is None else pose.angular_velocity,
    )


def _sample(motion, time, name) -> Pose:
    """motion(time), or a ValueError that names the solid, the time and the value."""
    try:
        pose = motion(time)
    except ValueError as error:  # Pose refuses NaN and rotations that are none; say whose it was
        raise ValueError(f"{name}: motion({time:.6g}): {error}") from error
    if not isinstance(pose, Pose):
        raise ValueError(f"{name}: motion({time:.6g}) returned {pose!r}, expected a Pose")
    return pose
