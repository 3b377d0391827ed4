"""Points of the world as seen from a shape that was moved: where they are in the frame in which it is drawn."""

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Moved

_AS_DRAWN = Pose()


def frames_of(shapes, more: float) -> np.ndarray:
    """Of each shape the place and axes of its frame, and the corners of the box around it there, wider by `more` [m].

    Shape (m, 6, 3): the origin, the three columns of the rotation, and both corners.
    """
    frames = np.empty((len(shapes), 6, 3))
    for frame, shape in zip(frames, shapes, strict=True):
        pose, drawn = (shape.pose, shape.shape) if isinstance(shape, Moved) else (_AS_DRAWN, shape)
        low, high = drawn.bounds()
        frame[:] = pose.position, *pose.rotation.T, low - more, high + more
    return frames


@kernel(parallel=False, inline=True)
def drawn_at(x, y, z, frame):
    """Where a point is in a frame."""
    x, y, z = x - frame[0, 0], y - frame[0, 1], z - frame[0, 2]
    return (
        frame[1, 0] * x + frame[1, 1] * y + frame[1, 2] * z,
        frame[2, 0] * x + frame[2, 1] * y + frame[2, 2] * z,
        frame[3, 0] * x + frame[3, 1] * y + frame[3, 2] * z,
    )


@kernel(parallel=False)
def in_box(x, y, z, frame):
    """Whether a point of a frame is inside the box there."""
    low, high = frame[4], frame[5]
    return low[0] <= x <= high[0] and low[1] <= y <= high[1] and low[2] <= z <= high[2]
