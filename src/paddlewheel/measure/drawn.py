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
def in_box(x, y, z, frames, m):
    """Whether a point is inside the box of frame m. By its number: to take it out first would take twice as long."""
    x, y, z = x - frames[m, 0, 0], y - frames[m, 0, 1], z - frames[m, 0, 2]
    for a in range(3):
        along = frames[m, 1 + a, 0] * x + frames[m, 1 + a, 1] * y + frames[m, 1 + a, 2] * z
        if not frames[m, 4, a] <= along <= frames[m, 5, a]:
            return False
    return True
