"""Systems with a bound: p ≥ 0 at some cells, as where liquid may leave a wall but is not sucked onto it.

    0 ≤ p ⟂ A p − b ≥ 0    at bounded cells,      A p = b    at all others

which is the least of ½ pᵀ A p − bᵀ p under the bound (B07 §4). Policy iteration
(Howard 1960; as a primal–dual active set, Hintermüller, Ito & Kunisch 2003):
some bounded cells are held at p = 0, all others are free. Conjugate gradients
go on over the free ones until what they leave is less than what is wrong with
the choice itself; then cells with p < 0 are held, and held ones with A p < b
are let go. For an M-matrix p only grows from the second choice on, so that a
cell is held once and let go once at most, and the iteration ends.

A held cell is to its neighbours what air is: a tie to a known value. The
hierarchy is set up again with such ties whenever the choice has changed, which
costs about two iterations.

Rows of low rank may take the M-matrix away, and then the choice may go round
in circles. If it does, MPRGP ends what is left to do (see mprgp).
"""

import time

import numpy as np

from paddlewheel.kernel import threads_worth
from paddlewheel.solve.cg import RESTARTS, Descent
from paddlewheel.solve.linear import Prepared
from paddlewheel.solve.mprgp import mprgp
from paddlewheel.solve.packed import pack, unpack_field
from paddlewheel.solve.regions import Regions
from paddlewheel.solve.system import System, oriented
from paddlewheel.types import Faces, SolveInfo

ENOUGH = 0.3  # part of what is wrong with a choice that iterations may leave before it is changed
ROUNDS = 3  # times that a cell may be let go before the choice is said to go round in circles
_SHRINKS = 1e-10  # of Σ|b| over a closed region: less than this is rounding, and not the walls moving out


class Bounded(Prepared):
    """A system with the bound p ≥ 0 at some cells, laid out and set up.

    bounded are the cells that have it, and held those of them at which p is expected to be 0, such as the last
    step's; others are left out. After a solve, `held` are the cells at which it was 0.
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
        self._choice = np.zeros(len(self._bounded), np.bool_)
        if held is not None:
            self._choice = held.reshape(-1)[self._bounded]
        self._at = None
        super().__init__(system, solver, regions)

    @property
    def held(self) -> np.ndarray:
        """The cells at which p is 0 by the bound."""
        cells = np.zeros(self._shape, np.bool_)
        cells.reshape(-1)[self._bounded[self._choice]] = True
        return cells

    def consistent(self, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The right-hand side with which there is a solution, and what each closed region had to lose for it, per cell.

        Walls that move into a closed region leave no room for what is in it. If they move out, a gap opens.
        """
        regions = self._regions
        loss = regions.means(rhs)
        loss[self._growing(rhs)] = 0.0
        return rhs - np.append(loss, 0.0)[regions.label], loss

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
            packed = self._packed
            if rhs is not None:
                packed = packed._replace(rhs=self._vector(rhs))
            field = self._rhs if rhs is None else rhs
            x = None if start is None else self._vector(start)
            search = _Search(self, packed, x, tolerance, iterations, name, coupled, self._floating(field))
            info = search.run()
            p = unpack_field(packed.layout, search.x).reshape(self._shape)
            if coupled and self._regions is not None:
                self._lift(p)
        return p, info._replace(seconds=time.perf_counter() - began)

    def _set_up(self, packed, rows, terms) -> None:
        """The preconditioner of the matrix with its held cells known: their rows and columns are empty."""
        if self._at is None:
            self._at = _places(packed.layout, self._bounded)
        if self._choice.any():
            held = self._bounded[self._choice]
            cut = _cut(self._system, held)
            packed, rows = pack(cut), cut.rows
            terms = self._terms(rows)
        super()._set_up(packed, rows, terms)

    def _choose(self, choice) -> None:
        """Hold other cells."""
        self._choice = choice
        self._set_up(self._packed, self._system.rows, self._terms(self._system.rows))

    def _singular(self) -> np.ndarray:
        """Closed regions with a constant that nothing else holds."""
        return np.abs(self._regions.free).max(axis=1, initial=0.0) > 0.0

    def _labels(self) -> np.ndarray:
        """The closed region of each bounded cell, −1 if none."""
        return self._regions.label.reshape(-1)[self._bounded]

    def _growing(self, rhs) -> np.ndarray:
        """Closed regions that walls leave more room than there is liquid, and that may have a gap."""
        regions = self._regions
        size = regions.sums(np.abs(rhs))
        with_bound = np.bincount(self._labels() + 1, minlength=len(size) + 1)[1:] > 0
        return self._singular() & with_bound & (regions.means(rhs) * regions.cells < -_SHRINKS * size)

    def _floating(self, rhs) -> np.ndarray:
        """Bounded cells, of closed regions that keep their volume, where p ≥ 0 says only what the constant must be.

        Others must have a cell held in every region that grows, or their matrix is singular.
        """
        floating = np.zeros(len(self._bounded), np.bool_)
        if self._regions is None:
            return floating
        label, growing, choice = self._labels(), self._growing(rhs), self._choice.copy()
        floating = np.append(self._singular() & ~growing, False)[label]
        choice &= ~floating
        b = rhs.reshape(-1)[self._bounded]
        for region in np.flatnonzero(growing):
            own = label == region
            if not choice[own].any():
                choice |= own & (b <= min(b[own].min(), 0.0) / 2)
        if (choice != self._choice).any():
            self._choose(choice)
        return floating

    def _lift(self, p) -> None:
        """Add the constants of closed regions with which p is at least 0 at their bounded cells."""
        label, at = self._labels(), p.reshape(-1)[self._bounded]
        for constants in self._regions.free.T:
            constants = constants if constants.sum() > 0 else -constants
            share = np.append(constants, 0.0)[label]
            if constants.min() < 0.0 or self._choice[share > 0.0].any() or not (share > 0.0).any():
                continue
            rise = (-at[share > 0.0] / share[share > 0.0]).max()
            p += rise * np.append(constants, 0.0)[self._regions.label]
            p.reshape(-1)[self._bounded] = np.where(share > 0.0, np.maximum(at + rise * share, 0.0), at)


class _Search:
    """One solve of a bounded system: which cells to hold, and p at the others."""

    def __init__(self, system: Bounded, packed, x, tolerance, iterations, name, coupled, floating):
        self._system, self._packed, self._coupled, self._name = system, packed, coupled, name
        self._iterations, self._count = iterations, 0
        self._at = system._at
        self._descent = Descent(packed, x)
        self._zero = x is None
        self._largest = self._descent.size(name)
        self._enough = tolerance * self._largest
        self._tolerance = tolerance
        self._bound = ~floating if coupled else np.zeros(len(self._at), np.bool_)
        self._diagonal = packed.diagonal.reshape(-1)[self._at]
        self._pull = np.zeros(0)  # b − A p at held cells
        self.x = self._descent.x

    def run(self) -> SolveInfo:
        began, descent = time.perf_counter(), self._descent
        if self._largest == 0.0:
            self.x[:] = 0.0
            return SolveInfo(self._name, self._packed.unknowns, 0, 0.0, time.perf_counter() - began, True)
        x = self.x.reshape(-1)
        values = x[self._at]
        x[self._at] = np.where(self._held | (self._bound & (values < 0.0)), 0.0, values)
        released, starts = np.zeros(len(self._at), np.int64), 0
        while True:
            self._begin()
            before = self._count
            self._descend()
            choice = self._better()
            if (choice != self._held).any() and self._count < self._iterations:
                released += self._held & ~choice
                x[self._at[choice]] = 0.0
                self._system._choose(choice)
                if released.max() > ROUNDS:
                    self._end_safely()
                    break
            elif before == self._count or starts == RESTARTS:
                break
            else:
                starts += 1
        residual = self._residual() / self._largest
        return SolveInfo(
            self._name, self._packed.unknowns, self._count, residual,
            time.perf_counter() - began, bool(residual <= self._tolerance),
        )  # fmt: skip

    @property
    def _held(self) -> np.ndarray:
        return self._system._choice

    def _begin(self) -> None:
        descent, held = self._descent, self._at[self._held]
        apply, precondition = self._system._operators(self._coupled)
        rhs, q = self._packed.rhs.reshape(-1), descent.q.reshape(-1)

        def of_free(out, x):
            total = apply(out, x)
            self._flow = out.reshape(-1)[held]
            out.reshape(-1)[held] = 0.0
            return total

        def at_free(z, r):
            precondition(z, r)
            z.reshape(-1)[held] = 0.0

        def residual(out, x):
            of_free(out, x)
            self._pull = rhs[held] - self._flow
            out.reshape(-1)[held] = rhs[held]  # so that nothing is left there

        self._of_free, self._at_free = of_free, at_free
        descent.begin(residual)

    def _descend(self) -> None:
        """Iterate over the free cells until the choice is worse than what is left."""
        descent = self._descent
        while descent.left > max(self._enough, ENOUGH * self._wrong()) and self._count < self._iterations:
            if not descent.advance(self._of_free, self._at_free):
                break
            self._pull -= descent.alpha * self._flow
            self._count += 1

    def _wrong(self) -> float:
        """The largest violation by the choice: d |p| where it is negative, b − A p at held cells where that is positive."""
        below = -(self._diagonal * self.x.reshape(-1)[self._at])[self._bound & ~self._held]
        return max(below.max(initial=0.0), self._pull.max(initial=0.0) if self._coupled else 0.0)

    def _better(self) -> np.ndarray:
        """The choice that p itself suggests."""
        if not self._coupled:
            return self._held
        choice = self._held.copy()
        choice[self._held] = self._pull <= max(self._enough, self._descent.left)
        choice |= self._bound & ~self._held & (self.x.reshape(-1)[self._at] < 0.0)
        return choice

    def _residual(self) -> float:
        """The largest residual, with what the bound leaves of it at bounded cells."""
        apply, _ = self._system._operators(self._coupled)
        q = self._descent.q
        apply(q, self.x)
        left = (q - self._packed.rhs).reshape(-1)
        if self._coupled:
            own = self._at[self._bound]
            left[own] = np.minimum(self._diagonal[self._bound] * self.x.reshape(-1)[own], left[own])
        else:
            left[self._at[self._held]] = 0.0
        left[self._packed.diagonal.reshape(-1) == 0.0] = 0.0
        return float(np.abs(left).max())

    def _end_safely(self) -> None:
        """By MPRGP, from p as it is."""
        apply, precondition = self._system._operators(self._coupled)
        own = self._at[self._bound]
        self.x.reshape(-1)[own] = np.maximum(self.x.reshape(-1)[own], 0.0)
        self._count += mprgp(
            self._packed, self.x, own, apply, precondition, self._enough, self._iterations - self._count
        )
        choice = self._bound & (self.x.reshape(-1)[self._at] == 0.0)
        self._system._choose(choice)


def _places(layout, cell) -> np.ndarray:
    """Where cells of the system, in C order, are in a vector, as flat indices."""
    i, j, k = np.unravel_index(cell, layout.shape)
    return ((i + j + k + 1) & 1) * layout.size + layout.starts[i + 1, j + 1] + ((k + 1) >> 1)


def _cut(system: System, held: np.ndarray) -> System:
    """The system in which p is known to be 0 at some cells: their couplings become ties, on both sides."""
    coupling, extra = Faces(*(c.copy() for c in system.coupling)), system.extra.copy()
    cells = np.unravel_index(held, system.unknown.shape)
    for a in range(3):
        for end in (0, 1):
            face = tuple(x + (end if d == a else 0) for d, x in enumerate(cells))
            c = coupling[a][face].astype(np.float64)
            extra[cells] += c
            tied = c > 0.0  # beyond a side there is no cell, and no coupling to it
            beyond = tuple(x[tied] + (2 * end - 1 if d == a else 0) for d, x in enumerate(cells))
            extra[beyond] += c[tied]
            coupling[a][face] = 0.0
    rows = system.rows
    if rows is not None and rows.count:
        free = ~np.isin(rows.cell, held)
        rows = rows._replace(value=rows.value * free[:, None])
    return system._replace(coupling=coupling, extra=extra, rows=rows)
