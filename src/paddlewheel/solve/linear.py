"""Solve a system by the name of the solver."""

import time
from functools import partial
from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import threads_worth
from paddlewheel.solve.cg import conjugate_gradients, stencil
from paddlewheel.solve.lowrank import LowRank
from paddlewheel.solve.mic import IncompleteCholesky
from paddlewheel.solve.multigrid import Multigrid
from paddlewheel.solve.packed import pack, pack_field, unpack_field
from paddlewheel.solve.regions import Regions
from paddlewheel.solve.response import Response
from paddlewheel.solve.system import System, oriented
from paddlewheel.types import SolveInfo

SOLVERS = {"multigrid": Multigrid, "mic": IncompleteCholesky}


class Solution(NamedTuple):
    """p at cells, float64, zero where there is no unknown; how the solve went; seconds of set-up and solve."""

    pressure: np.ndarray
    info: SolveInfo
    seconds: dict[str, float]


class Prepared:
    """A system laid out, with its preconditioner: ready for any number of right-hand sides.

    regions are its closed ones, if any, as `closed_regions` finds them. `reply` is about (1 + R A⁻¹ Rᵀ)⁻¹, if the
    system has rows R of low rank: what is left of a push on them that all the rest resists.
    """

    def __init__(self, system: System, solver: str = "multigrid", regions: Regions | None = None):
        if solver not in SOLVERS:
            raise ValueError(f"solver={solver!r}: expected one of {', '.join(SOLVERS)}")
        began = time.perf_counter()
        self._shape, self._solver, self._regions = system.unknown.shape, solver, regions
        system = oriented(system)
        with threads_worth(np.count_nonzero(system.unknown)):
            self._packed = pack(system)
            self._apply = stencil(self._packed)
            terms = self._terms(system.rows)
            self._coupled_apply = self._apply if terms is None else terms.added_to(self._apply)
            self._set_up(system.rows, terms)
        self.seconds = time.perf_counter() - began

    def _terms(self, rows, label=None) -> LowRank | None:
        """The rows of low rank in the layout, if any; label is that of the closed regions, if not their own."""
        if rows is None or not rows.count:
            return None
        regions = self._regions
        closed = {}
        if regions is not None:
            closed = {"label": regions.label if label is None else label, "regions": len(regions.cells)}
        return LowRank(rows, self._packed.layout, **closed)

    def _set_up(self, rows, terms) -> None:
        self._precondition_by(SOLVERS[self._solver](self._packed), rows, terms)

    def _precondition_by(self, precondition, rows, terms) -> None:
        """Take the preconditioner of the matrix without its rows, and make of it the one with them."""
        self._precondition = self._coupled_precondition = precondition
        self.reply = None
        if terms is not None:
            seen = partial(Response, precondition, rows) if self._solver == "multigrid" else None
            self._coupled_precondition = terms.corrected(precondition, seen)
            self.reply = terms.reply

    def consistent(self, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The right-hand side with which there is a solution, and what each closed region loses for it, per cell."""
        means = self._regions.means(rhs)
        return self._regions.less(rhs, means), means

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
        """Solve A p = b until max|b − A p| ≤ tolerance · max|b|: p at cells, zero where there is no unknown.

        b is `rhs`, or the system's own; it must have no part in the null space (see regions). Unless `coupled`,
        the rows of low rank are left out.
        """
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance={tolerance!r}: expected a number between 0 and 1")
        began = time.perf_counter()
        packed = self._packed
        with threads_worth(packed.unknowns):
            if rhs is not None:
                packed = packed._replace(rhs=self._vector(rhs))
            x = None if start is None else self._vector(start)
            apply, precondition = self.operators(coupled)
            x, info = conjugate_gradients(packed, x, apply, precondition, tolerance, iterations, name)
            if coupled and not info.converged and precondition is not self._precondition:
                # Very strong rows on liquid that is almost shut in: what rounding leaves of the correction may not be
                # positive. Without it many more iterations are needed, but they get there.
                done = info.iterations
                x, info = conjugate_gradients(packed, x, apply, self._precondition, tolerance, iterations, name)
                info = info._replace(iterations=done + info.iterations)
            field = unpack_field(packed.layout, x).reshape(self._shape)
        return field, info._replace(seconds=time.perf_counter() - began)

    def product(self, field: np.ndarray) -> np.ndarray:
        """A times a field at cells, with the rows of low rank; zero where there is no unknown."""
        with threads_worth(self._packed.unknowns):
            x = self._vector(field)
            q = np.zeros_like(x)
            self._coupled_apply(q, x)
            return unpack_field(self._packed.layout, q).reshape(self._shape)

    def operators(self, coupled):
        """The matrix as a function, and its preconditioner, with the rows of low rank or without."""
        if coupled:
            return self._coupled_apply, self._coupled_precondition
        return self._apply, self._precondition

    def _vector(self, field) -> np.ndarray:
        """A field at cells as a vector, zero where there is no unknown."""
        vector = pack_field(self._packed.layout, field.reshape(self._packed.layout.shape))
        np.putmask(vector, self._packed.diagonal == 0.0, 0.0)
        return vector


def solve(
    system: System,
    *,
    solver: str = "multigrid",
    tolerance: float = 1e-6,
    start: np.ndarray | None = None,
    iterations: int = 2000,
    name: str = "pressure",
) -> Solution:
    """Solve one system once: see Prepared."""
    prepared = Prepared(system, solver)
    pressure, info = prepared.solve(tolerance=tolerance, start=start, iterations=iterations, name=name)
    seconds = {"set-up": prepared.seconds, "solve": info.seconds}
    return Solution(pressure, info._replace(seconds=sum(seconds.values())), seconds)
