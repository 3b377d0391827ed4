"""Strains that cost nothing, left out of the matrix of strain.

A face without mass that has a part in one strain alone undoes it, whatever the
faces beyond it do: the minimum is the same without both. There are such faces
all along a surface, and those that share strains with each other are what an
iteration is slow to find: a sheet six cells thick takes 17 to 29 iterations
without them, and 59 to 61 with them.
"""

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.packed import FIRST, LAST, START
from paddlewheel.solve.strain import LEAST_MASS, PARITY, Strain, hops, rebuilt


def without_idle(matrix: Strain) -> Strain:
    """The matrix without strains that are undone, and without faces that have neither mass nor a part in a strain."""
    layout = matrix.layout
    mass, stretch, own, cross = (field.copy() for field in (matrix.mass, matrix.stretch, matrix.own, matrix.cross))
    idle = (matrix.inverse > 0) & (mass <= LEAST_MASS)
    undone, found = np.zeros((2, *mass.shape), np.bool_), np.empty(len(layout.blocks) - 1, np.int64)
    while True:
        _find(undone, found, mass, idle, stretch, own, layout.rows, layout.blocks, layout.shape)
        if not found.any():
            return rebuilt(matrix, mass, stretch, own, cross)
        stretch[undone[0]] = 0.0
        cross[undone[1]] = 0.0
        own[np.broadcast_to(undone[1][:, None], own.shape)] = 0.0
        undone[:] = False


@kernel
def _find(undone, found, mass, idle, stretch, own, rows, blocks, shape):
    """Mark the strains at centres and at edges that an idle face has a part in, and in no other, and count them.

    Those that have no part in any lose what counts as mass.
    """
    for block in prange(blocks.shape[0] - 1):
        count = 0
        for r in range(blocks[block], blocks[block + 1]):
            up, down = hops(shape, rows[r, PARITY])
            for at in range(rows[r, START] + rows[r, FIRST], rows[r, START] + rows[r, LAST]):
                for a in range(3):
                    if not idle[a, at]:
                        continue
                    b, c = (a + 1) % 3, (a + 2) % 3
                    strains = (
                        (stretch[a, at], 0, a, at), (stretch[a, at + down[a]], 0, a, at + down[a]),
                        (own[c, 0, at], 1, c, at), (own[c, 0, at + up[b]], 1, c, at + up[b]),
                        (own[b, 1, at], 1, b, at), (own[b, 1, at + up[c]], 1, b, at + up[c]),
                    )  # fmt: skip
                    parts, kind, axis, place = 0, 0, 0, 0
                    for weight, one, two, three in strains:
                        if weight > 0.0:
                            parts, kind, axis, place = parts + 1, one, two, three
                    if parts == 1:
                        undone[kind, axis, place] = True
                        count += 1
                    elif parts == 0:
                        mass[a, at] = 0.0
        found[block] = count
