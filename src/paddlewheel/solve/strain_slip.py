"""Solids that viscous liquid slips along: it does not pass through them while friction acts.

Cells that touch one keep their volume. To the energy of a velocity is added, for each,

    W κ ( Σ_a ( w u + (1 − w) v )|_{c+a/2} − ( … )|_{c−a/2} )²

with w the open part of a face and v the solid's velocity: the sum that the
pressure makes zero. Motion along a wall of any direction costs nothing.
Without it stiff liquid would go through a wall as one, and the pressure, which
knows nothing of friction, would turn it aside as if it were water.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.solve.strain import Strain, unpack_faces

WEIGHT = 4.0  # a strain along an axis has 2


class Slip(NamedTuple):
    """The sums, of n cells.

    index     (n, 6) of the unknowns of their faces in a vector, 0 where there is none
    part      (n, 6): w or −w, 0 where there is no unknown
    flow      (n,) [m/s]: what the solid's own motion adds
    strength  (n,): W κ
    """

    index: np.ndarray
    part: np.ndarray
    flow: np.ndarray
    strength: np.ndarray

    def added_to(self, product):
        """The matrix as a function, with these terms."""

        def both(q, x):
            energy = product(q, x)
            sums = (self.part * x.reshape(-1)[self.index]).sum(axis=1)
            self._scatter(q, self.strength * sums)
            return energy + (self.strength * sums**2).sum()

        return both

    def add_flow(self, rhs: np.ndarray) -> None:
        """What the solids' motion adds to a right-hand side, in place."""
        self._scatter(rhs, -self.strength * self.flow)

    def _scatter(self, vector, values) -> None:
        np.add.at(vector.reshape(-1), self.index, self.part * values[:, None])


def slip(matrix: Strain, cells: np.ndarray, open, solid_velocity, kappa: float | np.ndarray) -> Slip:
    """The terms of some cells, bool; the open parts of faces and the velocity [m/s] of solids are on all of them."""
    shape = matrix.layout.shape
    unknown = [np.zeros([n + (a == b) for b, n in enumerate(shape)]) for a in range(3)]
    numbers = np.arange(1.0, matrix.mass.size + 1.0).reshape(matrix.mass.shape)
    unpack_faces(matrix.layout, np.where(matrix.inverse > 0, numbers, 0.0), unknown)
    at = np.argwhere(cells)
    index, part, flow = np.zeros((len(at), 6), np.int64), np.zeros((len(at), 6)), np.zeros(len(at))
    for a in range(3):
        for side, sign in enumerate((-1.0, 1.0)):
            face = tuple((at + side * (np.arange(3) == a)).T)
            number, w = unknown[a][face].astype(np.int64), open[a][face].astype(float)
            index[:, 2 * a + side] = np.maximum(number - 1, 0)
            part[:, 2 * a + side] = np.where(number > 0, sign * w, 0.0)
            flow += sign * (1.0 - w) * solid_velocity[a][face]
    # no stiffer than what is there: of slivers the preconditioner would make far too much
    inverse = matrix.inverse.reshape(-1)[index].astype(float) * part**2
    most = 1.0 / np.maximum(inverse.max(axis=1, initial=0.0), 1e-30)
    return Slip(index, part, flow, np.minimum(WEIGHT * np.broadcast_to(kappa, cells.shape)[cells], most))
