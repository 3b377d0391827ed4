"""Parts of the liquid that touch nothing: what pulls on them changes their momentum, and nothing else.

The pressure keeps the momentum of faces, which at the surface weigh θ of a cell, and
particles there are as many as they are; and faces beyond the surface, whose velocity
is continued from others, lose that of the particles at them. Where drops meet that is a
tenth of it. So what particles of such a part have gained or lost besides is given
back to them, to each alike: that turns and deforms nothing.

Parts are told apart by blocks of 2³ cells (2² in a plane) with particles in them, which
are joined with all 26 around: particles whose hats share a face are in one part.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.grid.stencil import faces_with_long_rows
from paddlewheel.kernel import kernel, prange, share
from paddlewheel.solve.regions import join, root
from paddlewheel.types import Faces, Grid

__all__ = ["FreeParts", "free_parts"]

BLOCK = 2  # cells along a side
_SHARES = 16  # of blocks, each added up by itself: the same for any number of threads


class FreeParts(NamedTuple):
    """The parts of the liquid that touch nothing, numbered from 0.

    label   of each block, −1 in no such part, int32
    first   where the particles of each cell begin, as `sorted_by_cell` gives it
    count   how many parts there are
    shape   of the grid; in a plane y and z change places
    """

    label: np.ndarray
    first: np.ndarray
    count: int
    shape: tuple[int, int, int]

    def sums(self, velocity: np.ndarray) -> np.ndarray:
        """Sum of a vector of each particle over each part, and how many particles it has, (count, 4)."""
        totals = np.zeros((_SHARES, self.count, 4))
        _add_up(totals, velocity, self.label, self.first, self.shape)
        return totals.sum(axis=0)

    def of_particles(self) -> np.ndarray:
        """The part of each particle, −1 if it is in none."""
        cells = self.label
        for axis, n in enumerate(self.shape):
            cells = np.repeat(cells, BLOCK, axis).take(range(n), axis)
        return np.repeat(cells.reshape(-1), np.diff(self.first))

    def means(self, values: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Mean of a vector of each of some particles over each part, (count, 3), given the part of each."""
        columns = [np.bincount(part, column, self.count) for column in values.T]
        return np.stack(columns, axis=1) / np.bincount(part, minlength=self.count)[:, None]

    def restore(self, velocity: np.ndarray, before: np.ndarray, gained: np.ndarray) -> None:
        """Give particles the velocity [m/s], in place, with which each part has the momentum it should.

        before is what `sums` told at the start of the step, and gained (count, 3) what pulls on a part has
        given each of its particles since, on average.
        """
        now = self.sums(velocity)
        lacking = (before[:, :3] - now[:, :3]) / now[:, 3:] + gained
        if self.shape[1] == 1:
            lacking[:, 2] = 0.0
        _add(velocity, lacking.astype(np.float32), self.label, self.first, self.shape)


def free_parts(grid: Grid, first: np.ndarray, open: Faces) -> FreeParts | None:
    """The parts with no face that is not fully open in the blocks around theirs, nor a side of the grid; None if none.

    first is where the particles of each cell begin, and open w of the faces.
    """
    (nx, ny, nz), open = grid.shape, faces_with_long_rows(open)
    shape = (nx, nz, ny) if grid.is_2d else (nx, ny, nz)
    blocks = tuple(-(-n // BLOCK) for n in shape)
    occupied, held, label = np.empty(blocks, np.bool_), np.empty(blocks, np.bool_), np.empty(blocks, np.int32)
    _occupy(occupied, first, shape)
    _hold(held, occupied, open, shape, grid.is_2d)
    count = _label(label, occupied, held)
    return FreeParts(label, first, count, shape) if count else None


@kernel
def _occupy(occupied, first, shape):
    """Which blocks have particles."""
    nx, ny, nz = shape
    for plane in prange(occupied.shape[0]):
        a = np.int64(plane)
        occupied[a] = False
        for i in range(BLOCK * a, min(BLOCK * a + BLOCK, nx)):
            for j in range(ny):
                full, row = occupied[a, j // BLOCK], first[(i * ny + j) * nz : (i * ny + j + 1) * nz + 1]
                for c in range(len(full)):
                    full[c] |= row[min(BLOCK * c + BLOCK, nz)] > row[BLOCK * c]


@kernel
def _hold(held, occupied, open, shape, plane):
    """Which blocks have a face that is not fully open, or that is a side of the grid; but for rows far from particles.

    Of a plane the faces across it, here those along the second axis, do not count.
    """
    _, ny, nz = shape
    for layer in prange(held.shape[0]):
        a = np.int64(layer)
        least = np.empty(nz, np.float32)
        for b in range(held.shape[1]):
            row = held[a, b]
            side = a == 0 or a == held.shape[0] - 1 or (not plane and (b == 0 or b == held.shape[1] - 1))
            row[:] = side
            if side or not occupied[a - 1 : a + 2, max(b - 1, 0) : b + 2].any():
                continue
            row[0] = row[-1] = True
            least[:] = 1.0
            for i in range(BLOCK * a, BLOCK * a + BLOCK):
                for j in range(BLOCK * b, min(BLOCK * b + BLOCK, ny)):
                    along = open[2][i, j]
                    _lower(least, open[0][i, j], open[0][i + 1, j], along[:-1], along[1:])
                    if not plane:
                        _lower(least, open[1][i, j], open[1][i, j + 1], along[:-1], along[1:])
            for k in range(nz):
                row[k // BLOCK] |= least[k] < np.float32(1)


@kernel(parallel=False)
def _lower(least, a, b, c, d):
    for k in range(len(least)):
        least[k] = min(least[k], min(min(a[k], b[k]), min(c[k], d[k])))


@kernel(parallel=False)
def _label(label, occupied, held):
    """Number the free parts, and return how many there are. Blocks in a row are joined as they are met."""
    nx, ny, nz = occupied.shape
    parent, runs = np.empty(occupied.size, np.int32), 0
    touches = np.zeros(occupied.size, np.bool_)
    for i in range(nx):
        for j in range(ny):
            run = -1
            for k in range(nz):
                label[i, j, k] = -1
                if not occupied[i, j, k]:
                    run = -1
                    continue
                begin = k + 1  # what is before that was seen from the block before
                if run < 0:
                    run, begin = runs, max(k - 1, 0)
                    parent[run] = run
                    runs += 1
                label[i, j, k] = run
                for m in range(max(i - 1, 0), min(i + 2, nx)):
                    for n in range(max(j - 1, 0), min(j + 2, ny)):
                        for o in range(begin, min(k + 2, nz)):
                            touches[run] |= held[m, n, o]
                            if (m < i or (m == i and n < j)) and occupied[m, n, o]:
                                join(parent, run, label[m, n, o])
    for run in range(runs):
        touches[root(parent, run)] |= touches[run]
    number, count = np.full(runs, -1, np.int32), 0
    for run in range(runs):
        if parent[run] == run and not touches[run]:
            number[run] = count
            count += 1
    if count > 0:
        for i in range(nx):
            for j in range(ny):
                for k in range(nz):
                    if label[i, j, k] >= 0:
                        label[i, j, k] = number[root(parent, label[i, j, k])]
    return count


@kernel
def _add_up(totals, velocity, label, first, shape):
    """Sums of velocities, and the number of particles, of each part in each share of the planes of blocks."""
    nx, ny, nz = shape
    for part in prange(len(totals)):
        total = totals[part]
        begin, end = share(part, label.shape[0], len(totals))
        for i in range(BLOCK * begin, min(BLOCK * end, nx)):
            for j in range(ny):
                numbers, cell = label[i // BLOCK, j // BLOCK], (i * ny + j) * nz
                for k in range(nz):
                    number = numbers[k // BLOCK]
                    if number >= 0:
                        for p in range(first[cell + k], first[cell + k + 1]):
                            for a in range(3):
                                total[number, a] += velocity[p, a]
                            total[number, 3] += 1.0


@kernel
def _add(velocity, more, label, first, shape):
    """Add what its part is to get to the velocity of each particle."""
    nx, ny, nz = shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            numbers, cell = label[i // BLOCK, j // BLOCK], (i * ny + j) * nz
            for k in range(nz):
                number = numbers[k // BLOCK]
                if number >= 0:
                    for p in range(first[cell + k], first[cell + k + 1]):
                        for a in range(3):
                            velocity[p, a] += more[number, a]
