"""Systems with a bound: p ≥ 0 at some cells, as where liquid may leave a wall but is not sucked onto it.

    0 ≤ p ⟂ A p − b ≥ 0    at bounded cells,      A p = b    at all others

which is the least of ½ pᵀ A p − bᵀ p under the bound (B07 §4). Policy iteration
(Howard 1960; as a primal–dual active set, Hintermüller, Ito & Kunisch 2003):
some bounded cells are held at p = 0, all others are free. Conjugate gradients
go on over the free ones until what they leave is less than what is wrong with
the choice itself; then cells with p < 0 are held, and held ones with A p < b
are let go, once also those with A p = b. For an M-matrix p only grows from the
second choice on, so that a cell is held twice and let go twice at most, and the
iteration ends.

A held cell is to its neighbours what air is: a tie to a known value. The
smoother knows that at once, as it leaves such cells alone. The coarse levels
need the ties, and are set up again, at the cost of about two iterations, when
the choice has changed by much. (To set the correction to zero at held cells
afterwards is not enough: a few of them then double the iterations.)

Rows of low rank may take the M-matrix away, and then the choice may go round
in circles. If it does, MPRGP ends what is left to do (see mprgp).
"""

import time

import numpy as np

from paddlewheel.kernel import threads_worth
from paddlewheel.solve.cg import RESTARTS, Descent
from paddlewheel.solve.linear import SOLVERS, Prepared
from paddlewheel.solve.mprgp import mprgp
from paddlewheel.solve.multigrid import Multigrid
from paddlewheel.solve.packed import Packed, unpack_field
from paddlewheel.solve.regions import Regions
from paddlewheel.solve.system import System, oriented
from paddlewheel.types import SolveInfo

ENOUGH = 0.1  # part of what is wrong with a choice that iterations may leave before it is changed
STALE = 0.1  # part of the held cells that may be others than when the coarse levels were made
ROUNDS = 3  # times that a cell may be let go before the choice is said to go round in circles
_SHRINKS = 1e-10  # of Σ|b| over a closed region: less than this is rounding, and not the walls moving out


class Bounded(Prepared):
    """A system with the bound p ≥ 0 at some cells, laid out and set up.

    bounded are the cells that have it, and held those of them at which p is expected to be 0, such as the last
    step's; others are left out. After a solve, `held` are the cells at which it was 0.

    at       where the bounded cells are in a vector, as flat indices
    choice   which of them are held; the preconditioner knows it after a `refresh`
    """

    def __init__(
        self,
        system: System,
        bounded: np.ndarray,
        held: np.ndarray | None = None,
        solver: str = "multigrid",
        regions: Regions | None = None,
    ):
        self._system, self._rhs = oriented(system), system.rhs
        self._bounded = np.flatnonzero(bounded & system.unknown)
        self.choice = np.zeros(len(self._bounded), np.bool_)
        if held is not None:
            self.choice = held.reshape(-1)[self._bounded]
        super().__init__(system, solver, regions)

    @property
    def held(self) -> np.ndarray:
        """The cells at which p is 0 by the bound."""
        cells = np.zeros(self._shape, np.bool_)
        cells.reshape(-1)[self._bounded[self.choice]] = True
        return cells

    def consistent(self, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The right-hand side with which there is a solution, and what each closed region had to lose for it, per cell.

        Walls that move into a closed region leave no room for what is in it. If they move out, a gap opens.
        """
        regions = self._regions
        loss = regions.means(rhs)
        loss[self._gaps(rhs)[1]] = 0.0
        return regions.less(rhs, loss), loss

    def solve(
        self,
        rhs: np.ndarray | None = None,
        *,
        tolerance: float = 1e-6,
        start: np.ndarray | None = None,
        iterations: int = 2000,
        name: str = "pressure",
        coupled: bool = True,
    ) -> tuple[np.ndarray, SolveInfo]:
        """The bounded solution at cells, zero where there is no unknown; see Prepared.solve.

        The residual is the largest |min(d p, A p − b)| at bounded cells, d the diagonal, and |A p − b| elsewhere,
        relative to max|b|. In a closed region p is as low as the bound allows. Unless `coupled`, rows of low rank and
        the bound are left out, and p is zero at the cells that are held.
        """
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance={tolerance!r}: expected a number between 0 and 1")
        began = time.perf_counter()
        with threads_worth(self._packed.unknowns):
            packed, field = self._packed, self._rhs
            if rhs is not None:
                packed, field = packed._replace(rhs=self._vector(rhs)), rhs
            bound = self._effective(field) if coupled else np.zeros(len(self._bounded), np.bool_)
            x = None if start is None else self._vector(start)
            search = _Search(self, packed, x, bound, tolerance, iterations, name, coupled)
            info = search.run()
            p = unpack_field(packed.layout, search.x).reshape(self._shape)
            if coupled and self._regions is not None:
                self._lift(p)
        return p, info._replace(seconds=time.perf_counter() - began)

    def _set_up(self, rows, terms) -> None:
        self.at = _places(self._packed.layout, self._bounded)
        if self.choice.any():
            self._hold_all()
        else:
            super()._set_up(rows, terms)
            self._fine = self._coarse = self.choice

    def refresh(self) -> None:
        """Bring the preconditioner up to the choice: its finest level alone, if the others are about right."""
        changed = self.choice != self._fine
        if not changed.any():
            return
        stale = np.count_nonzero(self.choice != self._coarse)
        if self._solver == "multigrid" and self.reply is None and stale <= STALE * np.count_nonzero(self._coarse):
            self._hold_in_finest(changed)
        else:
            self._hold_all()

    def _hold_all(self) -> None:
        """The preconditioner of the matrix with its held cells known: their rows and columns are empty."""
        packed, rows, held = self._packed, self._system.rows, self.choice
        inverse = packed.inverse.copy()
        inverse.reshape(-1)[self.at[held]] = 0.0
        packed = packed._replace(inverse=inverse)
        if self._solver == "multigrid":
            precondition = Multigrid(packed, _cut(packed, self._bounded[held]))
            self._node = precondition.node.reshape(-1)[self.at]
        else:
            precondition = SOLVERS[self._solver](packed)
        label = None
        if rows is not None and rows.count:
            rows = rows._replace(value=np.where(np.isin(rows.cell, self._bounded[held])[:, None], 0.0, rows.value))
            label = self._still_closed()
        self._precondition_by(precondition, rows, self._terms(rows, label))
        self._fine = self._coarse = held

    def _still_closed(self) -> np.ndarray | None:
        """The closed region of each cell, −1 if none: without those that held cells tie to a known value."""
        if self._regions is None:
            return None
        closed = np.ones(len(self._regions.cells) + 1, np.bool_)
        closed[self._labels()[self.choice]] = False
        label = self._regions.label
        return np.where(closed[label], label, np.int32(-1))

    def _hold_in_finest(self, changed) -> None:
        """Let the smoother leave held cells alone, and nothing pass between them and coarse levels."""
        multigrid, at, held = self._precondition, self.at[changed], self.choice[changed]
        joined = ~held & ~self._coarse[changed]
        whole = self._packed.inverse.reshape(-1)[at]
        multigrid.packed.inverse.reshape(-1)[at] = np.where(held, 0.0, whole)
        multigrid.node.reshape(-1)[at] = np.where(joined, self._node[changed], -1)
        self._fine = self.choice

    def _labels(self) -> np.ndarray:
        """The closed region of each bounded cell, −1 if none."""
        return self._regions.label.reshape(-1)[self._bounded]

    def _rising(self) -> np.ndarray:
        """(regions, n): free constants that may be added to p as they are, which nothing else holds.

        Others raise p in one region and lower it in another, as of two tubes that one plug closes: there the bound
        holds them.
        """
        free = self._regions.apart()
        return np.abs(free[:, (free >= 0.0).all(axis=0) | (free <= 0.0).all(axis=0)])

    def _gaps(self, rhs) -> tuple[np.ndarray, np.ndarray]:
        """Closed regions in which a gap must open, as walls leave more room than there is liquid, and those that
        have their volume by that: with a body between them, others too."""
        regions = self._regions
        flows, sizes = regions.sums(rhs), regions.sums(np.abs(rhs))
        with_bound = np.bincount(self._labels() + 1, minlength=len(sizes) + 1)[1:] > 0
        opening, settled = np.zeros(len(sizes), np.bool_), np.zeros(len(sizes), np.bool_)
        for constants in regions.apart().T:
            lower = constants if constants @ flows < 0.0 else -constants
            if lower @ flows < -_SHRINKS * (np.abs(lower) @ sizes) and with_bound[lower > 0.0].any():
                opening |= (lower > 0.0) & with_bound
                settled |= lower != 0.0
        return opening, settled

    def _effective(self, rhs) -> np.ndarray:
        """The bounded cells but those in closed regions that keep their volume: p ≥ 0 says there what the constant is.

        Where a gap must open a cell must be held, or the matrix is singular: those that flow out most.
        """
        if self._regions is None:
            return np.ones(len(self._bounded), np.bool_)
        label, (opening, settled) = self._labels(), self._gaps(rhs)
        bound = ~np.append((self._rising() > 0.0).any(axis=1) & ~settled, False)[label]
        self.choice = self.choice & bound
        b = rhs.reshape(-1)[self._bounded]
        for region in np.flatnonzero(opening):
            own = label == region
            if not self.choice[own].any():
                self.choice |= own & (b <= max(0.5 * b[own].min(), b[own].min()))
        return bound

    def _lift(self, p) -> None:
        """Add the constants of closed regions with which p is just not negative at their bounded cells."""
        label, p = self._labels(), p.reshape(-1)
        for constants in self._rising().T:
            share = np.append(constants, 0.0)[label]
            own = np.flatnonzero(share)
            if not len(own) or self.choice[own].any():
                continue
            at, share = self._bounded[own], share[own]
            rise = (-p[at] / share).max()
            lifted = np.maximum(p[at] + rise * share, 0.0)
            p += rise * np.append(constants, 0.0)[self._regions.label.reshape(-1)]
            p[at] = lifted


class _Search:
    """One solve of a bounded system: which cells to hold, and p at the others.

    bound tells which of its bounded cells have the bound in this solve.
    """

    def __init__(self, system: Bounded, packed, x, bound, tolerance, iterations, name, coupled):
        self._system, self._packed, self._bound, self._coupled = system, packed, bound, coupled
        self._tolerance, self._iterations, self._name = tolerance, iterations, name
        self._descent, self._count, self._stuck = Descent(packed, x), 0, False
        self._diagonal = packed.diagonal.reshape(-1)[system.at]
        self._tried = np.zeros(len(bound), np.bool_)
        self.x = self._descent.x

    def run(self) -> SolveInfo:
        began, descent, unknowns = time.perf_counter(), self._descent, self._packed.unknowns
        largest = descent.size(self._name)
        if largest == 0.0:
            self.x[:] = 0.0
            return SolveInfo(self._name, unknowns, 0, 0.0, time.perf_counter() - began, True)
        self._enough = self._tolerance * largest
        x, system = self._values(), self._system
        self._put(np.where(system.choice | (self._bound & (x < 0.0)), 0.0, x))
        released, starts = np.zeros(len(x), np.int64), 0
        while self._count < self._iterations:
            before = self._count
            self._begin()
            self._descend()
            choice = self._better()
            if (choice != system.choice).any():
                released += system.choice & ~choice
                system.choice = choice
                self._put(np.where(choice, 0.0, self._values()))
                if released.max() > ROUNDS:
                    self._end_safely(corrected=True)
                    break
            elif self._stuck:
                self._end_safely(corrected=False)
                break
            elif before == self._count or starts == RESTARTS:  # the residual is the true one
                break
            else:
                starts += 1
        self._put(np.where(self._bound, np.maximum(self._values(), 0.0), self._values()))  # if there was no time to end
        self._begin()
        residual = float(max(descent.left, self._pulled())) / largest
        converged = bool(residual <= self._tolerance)
        return SolveInfo(self._name, unknowns, self._count, residual, time.perf_counter() - began, converged)

    def _values(self) -> np.ndarray:
        """p at the bounded cells."""
        return self.x.reshape(-1)[self._system.at]

    def _put(self, values) -> None:
        self.x.reshape(-1)[self._system.at] = values

    def _begin(self) -> None:
        """Begin to iterate over the cells that are free now."""
        apply, _ = self._system.operators(self._coupled)
        held, rhs = self._system.at[self._system.choice], self._packed.rhs.reshape(-1)

        def free(out, x):
            total, out = apply(out, x), out.reshape(-1)
            self._flow = out[held]
            out[held] = 0.0
            return total

        def residual(out, x):
            free(out, x)
            self._pull = rhs[held] - self._flow  # b − A p
            out.reshape(-1)[held] = rhs[held]  # so that nothing is left

        self._free = free
        self._descent.begin(residual)

    def _descend(self) -> None:
        """Iterate until the choice is worse than what is left."""
        descent, system = self._descent, self._system
        while descent.left > max(self._enough, ENOUGH * self._wrong()) and self._count < self._iterations:
            system.refresh()
            self._stuck = not descent.advance(self._free, system.operators(self._coupled)[1])
            if self._stuck:
                break
            self._pull -= descent.alpha * self._flow
            self._count += 1

    def _wrong(self) -> float:
        """What is wrong with the choice at most: d |p| where p is negative, or b − A p at held cells."""
        below = (self._diagonal * self._values())[self._bound & ~self._system.choice]
        return max(-below.min(initial=0.0), self._pulled())

    def _pulled(self) -> float:
        """The most that flows into a held cell, and should have been held back by a pressure."""
        return self._pull.max(initial=0.0) if self._coupled else 0.0

    def _better(self) -> np.ndarray:
        """The choice that p itself suggests."""
        choice = self._system.choice.copy()
        if self._coupled:
            # Once a cell is let go also if nothing says whether to hold it. Where too many were held, those on a plumb
            # wall have neither p nor flow: else they would be let go layer by layer, in more rounds the finer the grid.
            least, tried = max(self._enough, self._descent.left), self._tried[choice]
            self._tried |= self._system.choice
            choice[choice] = self._pull <= np.where(tried, least, -least)
            choice |= self._bound & ~self._system.choice & (self._values() < 0.0)
        return choice

    def _end_safely(self, corrected: bool) -> None:
        """Find p by MPRGP from where it is, with the preconditioner of a matrix without held cells.

        Rounding may leave a correction by strong rows that is not positive: then without it.
        """
        system = self._system
        self._put(np.where(self._bound, np.maximum(self._values(), 0.0), self._values()))
        system.choice = np.zeros(len(self._bound), np.bool_)
        system.refresh()
        (apply, _), (_, precondition) = system.operators(self._coupled), system.operators(self._coupled and corrected)
        own, left = system.at[self._bound], self._iterations - self._count
        self._count += mprgp(self._packed, self.x, own, apply, precondition, 0.5 * self._enough, left)
        system.choice = self._bound & (self._values() == 0.0)


def _places(layout, cell) -> np.ndarray:
    """Where cells of the system, in C order, are in a vector, as flat indices."""
    return _place(layout, *np.unravel_index(cell, layout.shape))


def _place(layout, i, j, k) -> np.ndarray:
    return ((i + j + k + 1) & 1) * layout.size + layout.starts[i + 1, j + 1] + ((k + 1) >> 1)


def _cut(packed: Packed, held: np.ndarray) -> Packed:
    """The system with some cells known to be 0: their couplings become ties of their neighbours."""
    layout, lower, extra = packed.layout, packed.lower.reshape(3, -1).copy(), packed.extra.copy()
    cells = np.array(np.unravel_index(held, layout.shape))
    for a in range(3):
        for end in (-1, 1):
            there = cells.copy()
            there[a] += end
            inside = (there[a] >= 0) & (there[a] < layout.shape[a])
            beyond = _place(layout, *there[:, inside])
            face = _place(layout, *cells[:, inside]) if end < 0 else beyond
            extra.reshape(-1)[beyond] += lower[a, face]
            lower[a, face] = 0.0
    return packed._replace(lower=lower.reshape(packed.lower.shape), extra=extra)
