"""Regions of a system that no known value holds: their matrix is singular.

In a region closed off from any free surface the pressure is known up to a
constant only, and there is one at all only if the right-hand side sums to
zero over the region.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, share, threads_worth
from paddlewheel.solve.lowrank import free_constants
from paddlewheel.solve.system import System, oriented

_ROUNDING = 1e-9  # of the largest of a combination of constants
_BLOCKS = 16  # of cells, each added up by itself: the same for any number of threads


class Regions(NamedTuple):
    """Closed regions, numbered from 0.

    label   of each cell, −1 in no closed region, int32, shaped as the system
    cells   how many each has
    free    (regions, n): combinations of constants that are in the matrix's null space, all of them unless rows of
            low rank hold some (see lowrank)
    """

    label: np.ndarray
    cells: np.ndarray
    free: np.ndarray

    def sums(self, field: np.ndarray) -> np.ndarray:
        """Sum of a field over each region."""
        totals = np.zeros((_BLOCKS, len(self.cells)))
        with threads_worth(field.size):
            _sum_by_label(totals, self.label.reshape(-1), np.ascontiguousarray(field).reshape(-1))
        return totals.sum(axis=0)

    def means(self, field: np.ndarray) -> np.ndarray:
        """The part of a field in the null space, as a constant for each region: its mean, if all constants are free."""
        weighted = self.free.T * self.cells
        return self.free @ np.linalg.solve(weighted @ self.free, self.free.T @ self.sums(field))

    def apart(self) -> np.ndarray:
        """(regions, n): those of the free combinations that share no region with another; rounding is zero."""
        free = np.where(np.abs(self.free) > _ROUNDING * np.abs(self.free).max(initial=0.0), self.free, 0.0)
        taken = (free != 0.0).astype(int)
        return free[:, np.count_nonzero(taken.T @ taken, axis=1) == 1]

    def centred(self, field: np.ndarray) -> np.ndarray:
        """The field less its part in the null space."""
        return self.less(field, self.means(field))

    def less(self, field: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """The field less a constant in each region."""
        out = np.empty(field.shape)
        flat = (np.ascontiguousarray(array).reshape(-1) for array in (field, self.label))
        with threads_worth(field.size):
            _subtract_by_label(out.reshape(-1), *flat, constants)
        return out


def closed_regions(system: System) -> Regions | None:
    """The closed regions of a system, or None if every region is held by a known value."""
    shape = system.unknown.shape
    system = oriented(system)
    label = np.empty(system.unknown.shape, np.int32)
    most = int(np.count_nonzero(system.unknown))
    roots, closed = _label_runs(label, np.empty(most, np.int32), system.coupling, system.extra, system.unknown)
    if not closed.any():
        return None
    number = np.where(closed, np.cumsum(closed) - 1, -1).astype(np.int32)[roots]
    totals = np.zeros((_BLOCKS, np.count_nonzero(closed)), np.int64)
    with threads_worth(label.size):
        _renumber(totals, label.reshape(-1), number, system.unknown.reshape(-1))
    cells = totals.sum(axis=0)
    free = np.eye(len(cells)) if system.rows is None else free_constants(system.rows, label, len(cells))
    return Regions(label.reshape(shape), cells, free)


@kernel
def _renumber(totals, label, number, unknown):
    """Give each cell its region's number in place of its run's, −1 if it has none; and count those of each region."""
    for block in prange(len(totals)):
        total = totals[block]
        for n in range(*share(block, len(label), len(totals))):
            label[n] = number[label[n]] if unknown[n] else -1
            if label[n] >= 0:
                total[label[n]] += 1


@kernel
def _sum_by_label(totals, label, field):
    """Add up a field over the cells of each region, in each block by itself."""
    for block in prange(len(totals)):
        total, region, added = totals[block], -1, 0.0  # of the cells of one region in a row
        for n in range(*share(block, len(label), len(totals))):
            if label[n] != region:
                if region >= 0:
                    total[region] += added
                region, added = label[n], 0.0
            added += field[n]
        if region >= 0:
            total[region] += added


@kernel
def _subtract_by_label(out, field, label, constants):
    for block in prange(_BLOCKS):
        for n in range(*share(block, len(label), _BLOCKS)):
            out[n] = field[n] - (constants[label[n]] if label[n] >= 0 else 0.0)


@kernel(parallel=False)
def root(parent, run):
    """The run that stands for all that are joined with this one."""
    while parent[run] != run:
        parent[run] = parent[parent[run]]
        run = parent[run]
    return run


@kernel(parallel=False)
def join(parent, a, b):
    """Join two runs, and all that are joined with them."""
    a, b = root(parent, a), root(parent, b)
    parent[max(a, b)] = min(a, b)


@kernel(parallel=False)
def _label_runs(label, parent, coupling, extra, unknown):
    """Union-find over runs of joined cells along the rows.

    `label` becomes the run of each unknown. Returned: the root of each run,
    and for each run whether it is the root of a closed region.
    """
    runs = 0
    held = np.zeros(parent.shape[0], np.bool_)
    for i in range(unknown.shape[0]):
        for j in range(unknown.shape[1]):
            mine, below_i, below_j = label[i, j], label[max(i - 1, 0), j], label[i, max(j - 1, 0)]
            c0, c1, c2 = coupling[0][i, j], coupling[1][i, j], coupling[2][i, j]
            e, is_unknown = extra[i, j], unknown[i, j]
            run, joined_i, joined_j = -1, -1, -1  # the runs beside this one that it has last been joined to
            for k in range(unknown.shape[2]):
                if not is_unknown[k]:
                    continue
                if c2[k] == 0.0:
                    run = runs
                    parent[run] = run
                    runs += 1
                    joined_i, joined_j = -1, -1
                mine[k] = run
                held[run] |= e[k] > 0.0
                if c0[k] > 0.0 and below_i[k] != joined_i:
                    joined_i = below_i[k]
                    join(parent, run, joined_i)
                if c1[k] > 0.0 and below_j[k] != joined_j:
                    joined_j = below_j[k]
                    join(parent, run, joined_j)
    roots = np.empty(runs, np.int32)
    for run in range(runs):
        roots[run] = root(parent, run)
        held[roots[run]] |= held[run]
    closed = np.zeros(runs, np.bool_)
    for run in range(runs):
        closed[run] = roots[run] == run and not held[run]
    return roots, closed
