"""Ways that particles go in a step besides what their velocity takes them: to where there is room, and falling freely.

Each is one pass over the faces, and not one for each operation: in a small scene a call takes longer than its work.
"""

import numpy as np

from paddlewheel.grid.stencil import with_long_rows
from paddlewheel.kernel import kernel, prange, share
from paddlewheel.types import Faces

__all__ = ["fallen", "joined", "less_room", "together"]

FREE = 0.75  # part of gravity's acceleration above which liquid begins to count as falling freely
_BLOCKS = 16
_NOTHING = np.empty(0, np.float32)


def fallen(old: Faces, velocity: Faces, gravity, dt: float) -> dict[int, np.ndarray]:
    """How much farther liquid on faces goes in the next step than its velocity takes it, if it falls freely [m].

    By the axes along which there is gravity [m/s²]. A step that begins with the velocity u moves liquid by u Δt, and
    what falls by ½ g Δt² too little. To add that where pressure holds against gravity would stir still water.
    """
    ways = {}
    for a, g in enumerate(gravity):
        if g != 0:
            ways[a] = np.empty_like(velocity[a])
            part = np.float32(1 / ((1 - FREE) * g * dt)), np.float32(FREE / (1 - FREE)), np.float32(0.5 * g * dt**2)
            _fall(*(field.reshape(-1) for field in (ways[a], old[a], velocity[a])), *part)
    return ways


@kernel
def _fall(way, old, velocity, scale, least, whole):
    for n in prange(len(way)):
        free = (velocity[n] - old[n]) * scale - least
        way[n] = min(max(free, np.float32(0)), np.float32(1)) * whole


def less_room(excess: np.ndarray, ways: dict[int, np.ndarray], open: Faces, h: float) -> None:
    """Take the volume that ways [m] on faces bring to each cell from its relative excess, in place.

    excess is float32 and C-contiguous.
    """
    for a, way in ways.items():
        fields, axis = (excess, way, open[a]), a
        if excess.shape[2] == 1:
            fields, axis = map(with_long_rows, fields), (0, 2, 1)[a]
        _take_room(*fields, axis, np.float32(1 / h))


@kernel
def _take_room(excess, way, open, axis, per_h):
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    for plane in prange(excess.shape[0]):
        i = np.int64(plane)
        for j in range(excess.shape[1]):
            row, s0, w0 = excess[i, j], way[i, j], open[i, j]
            s1, w1 = way[i + d0, j + d1, d2:], open[i + d0, j + d1, d2:]
            for k in range(len(row)):
                row[k] -= per_h * (w1[k] * s1[k] - w0[k] * s0[k])


def together(shift: Faces, ways: dict[int, np.ndarray], most: float) -> None:
    """Add ways [m] to a shift, in place, and let no component be larger than `most`."""
    flat = tuple(s.reshape(-1) for s in shift)
    _add_bounded(flat, tuple(ways[a].reshape(-1) if a in ways else _NOTHING for a in range(3)), np.float32(most))


@kernel
def _add_bounded(shift, ways, most):
    for block in prange(_BLOCKS):
        for a in range(3):
            first, last = share(block, len(shift[a]), _BLOCKS)
            s, way = shift[a][first:last], ways[a][first:last]
            for n in range(len(way)):
                s[n] += way[n]
            for n in range(len(s)):
                s[n] = min(max(s[n], -most), most)


def joined(flow: Faces, shift: Faces, dt: float, within: np.ndarray | None = None) -> Faces:
    """Velocity [m/s] that in dt also moves by the shift [m], in place of it.

    Both are zero but on the faces of the cells `within` (3, 2), from and up to which, along each axis.
    """
    if within is None:
        within = np.array([(0, flow[a].shape[a] - 1) for a in range(3)])
    _join(shift, flow, within, np.float32(1 / dt))
    return shift


@kernel
def _join(shift, flow, within, per_dt):
    for plane in prange(within[0, 1] - within[0, 0] + 1):
        i = within[0, 0] + np.int64(plane)
        for a in range(3):
            if i < within[0, 1] + (a == 0):
                n = shift[a].shape[2]
                way, u = shift[a][i].reshape(-1), flow[a][i].reshape(-1)
                j0, j1 = within[1, 0], within[1, 1] + (a == 1)
                k0, k1 = within[2, 0], within[2, 1] + (a == 2)
                if k1 - k0 == n:  # whole rows follow one another
                    _add_flow(way[j0 * n : j1 * n], u[j0 * n : j1 * n], per_dt)
                else:
                    for j in range(j0, j1):
                        _add_flow(way[j * n + k0 : j * n + k1], u[j * n + k0 : j * n + k1], per_dt)


@kernel(parallel=False)
def _add_flow(way, u, per_dt):
    for n in range(len(way)):
        way[n] = way[n] * per_dt + u[n]
