"""Velocity and displacement where the pressure does not know them: beyond the surface and inside solids."""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.extrapolate import extrapolate_along, trusted
from paddlewheel.kernel import kernel, prange, share
from paddlewheel.physics.pressure import Projection
from paddlewheel.physics.separation import keep_leaving
from paddlewheel.types import Boundary, Faces

DEEP = 4.0  # cells in a solid, at which no particle looks for its velocity any more
_BLOCKS = 64  # of faces
HARDLY_OPEN = 0.1  # w of a face whose velocity no particle should get: it is that of a nozzle


class Known(NamedTuple):
    """Where fields are known, to be continued from there, and at which cells they may lead out of walls.

    faces     bool
    loose     cells of liquid that leaves its wall, and
    attached  cells of liquid that does not, bool; None if none leaves
    """

    faces: Faces
    loose: np.ndarray | None
    attached: np.ndarray | None


class Continuation:
    """How fields on faces are continued, on a grid of cells of h [m], for steps in which liquid crosses `cfl` of them.

    moving tells whether any solid does.
    """

    def __init__(self, h: float, cfl: float, moving: bool):
        self.layers = math.ceil(cfl) + 2  # beyond the liquid in which a step needs to know the velocity
        self._depth, self._moving = DEEP * h, moving

    def known(self, projection: Projection, boundary: Boundary, more: Faces | None = None) -> Known:
        """Of what a projection knows, that from which fields are continued, and what `more` is known."""
        faces = trusted(projection.known, boundary.open, HARDLY_OPEN)
        if more is not None:
            faces = Faces(*(f | m for f, m in zip(faces, more, strict=True)))
        return Known(faces, projection.loose, projection.attached)

    def velocity(self, velocity: Faces, known: Known, boundary: Boundary) -> Faces:
        """Velocity [m/s] beyond the liquid and in solids, as far as particles go in a step.

        Where the surface meets an oblique wall, cells are slivers: what comes in through a w of 0.2 leaves through one
        of 0.05, four times as fast. Seen by w that is hardly any energy, but particles see the face as a whole one.
        """
        if self._moving:
            velocity = _without_jets(velocity, boundary)
        return self._continued(velocity, known, boundary, self.layers)

    def shift(self, shift: Faces, known: Known, boundary: Boundary) -> Faces:
        """A displacement [m] along solids or away, and a little beyond the surface."""
        still = Faces(*(np.zeros_like(s) for s in shift))
        return self._continued(shift, known, boundary._replace(velocity=still), 1)

    def _continued(self, field, known, walls, layers) -> Faces:
        field, along = extrapolate_along(field, known.faces, layers, walls, self._depth, HARDLY_OPEN)
        if known.loose is not None:
            keep_leaving(along, field, walls, known.loose, known.attached, HARDLY_OPEN)
        return along


def _without_jets(velocity, boundary) -> Faces:
    """The velocity, the less its own and the more the solids' on faces that are hardly open, the less they are.

    What a body presses out of the last bit of room before a wall is as fast as that is narrow.
    """
    out = Faces(*map(np.empty_like, velocity))
    fields = (tuple(u.reshape(-1) for u in faces) for faces in (out, velocity, boundary.open, boundary.velocity))
    _calm_jets(*fields, np.float32(HARDLY_OPEN))
    return out


@kernel
def _calm_jets(out, velocity, open, carried, narrow):
    for block in prange(_BLOCKS):
        for a in range(3):
            first, last = share(block, len(out[a]), _BLOCKS)
            result, u = out[a][first:last], velocity[a][first:last]
            w, solid = open[a][first:last], carried[a][first:last]
            slit = False
            for n in range(len(u)):
                result[n] = u[n]
                slit |= (w[n] > np.float32(0)) & (w[n] < narrow)
            for n in range(len(u) if slit else 0):
                if np.float32(0) < w[n] < narrow:
                    result[n] = solid[n] + (u[n] - solid[n]) * w[n] / narrow
