"""Solids that move by cells in a step: in which cells they take particles along, and how far."""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, threads_worth
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Moved
from paddlewheel.types import Grid, Passing

__all__ = ["Going", "cells_taken"]

_ROUND = 0.5 * np.sqrt(3.0)  # cells from the centre of a cell to its corners


class Going(NamedTuple):
    """A solid where it is at the start of a step, its pose at the end, and how near to it particles go along [m]."""

    shape: Moved
    to: Pose
    reach: float


def cells_taken(grid: Grid, going: list[Going]) -> Passing:
    """The cells with any point within the reach of solids: the one nearest to its centre takes along what is in a cell.

    A distance changes by no more than the way gone, so that of the centre tells.
    """
    which, nearest = np.full(grid.shape, -1, np.int16), np.full(grid.shape, np.inf, np.float32)
    turn, shift = np.empty((len(going), 3, 3)), np.empty((len(going), 3))
    for m, (shape, to, reach) in enumerate(going):
        low, high = shape.bounds()
        reach += _ROUND * grid.h
        corners = np.clip(np.array([low - reach, high + reach]) / grid.h, 0, np.subtract(grid.shape, 1)).astype(int)
        box = tuple(slice(begin, end + 1) for begin, end in corners.T)
        distance = sample(shape, [(np.arange(s.start, s.stop) + 0.5) * grid.h for s in box])
        with threads_worth(distance.size):
            _take(which[box], nearest[box], distance, reach, m)
        rotation = to.rotation @ shape.pose.rotation.T
        turn[m], shift[m] = rotation - np.eye(3), np.subtract(to.position, rotation @ np.asarray(shape.pose.position))
    return Passing(which, turn, shift)


@kernel
def _take(which, nearest, distance, reach, m):
    """Give solid m the cells within its reach that no other one is nearer to."""
    for plane in prange(distance.shape[0]):
        i = np.int64(plane)
        for j in range(distance.shape[1]):
            for k in range(distance.shape[2]):
                d = distance[i, j, k]
                if d < nearest[i, j, k] and d < reach:
                    which[i, j, k], nearest[i, j, k] = m, d
