"""Solve a system by the name of the solver."""

import time
from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import threads_worth
from paddlewheel.solve.cg import conjugate_gradients, stencil
from paddlewheel.solve.mic import IncompleteCholesky
from paddlewheel.solve.multigrid import Multigrid
from paddlewheel.solve.packed import pack, pack_field, unpack_field
from paddlewheel.solve.system import System, oriented
from paddlewheel.types import SolveInfo

SOLVERS = {"multigrid": Multigrid, "mic": IncompleteCholesky}


class Solution(NamedTuple):
    """p at cells, float64, zero where there is no unknown; how the solve went; seconds of set-up and solve."""

    pressure: np.ndarray
    info: SolveInfo
    seconds: dict[str, float]


def solve(
    system: System,
    *,
    solver: str = "multigrid",
    tolerance: float = 1e-6,
    start: np.ndarray | None = None,
    iterations: int = 2000,
    name: str = "pressure",
) -> Solution:
    """Solve A p = b until max|b − A p| ≤ tolerance · max|b|, beginning at `start`.

    The right-hand side must sum to zero over every closed region (see regions).
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r}: expected one of {', '.join(SOLVERS)}")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance={tolerance!r}: expected a number between 0 and 1")
    began = time.perf_counter()
    shape = system.unknown.shape
    system = oriented(system)
    with threads_worth(np.count_nonzero(system.unknown)):
        packed = pack(system)
        precondition = SOLVERS[solver](system, packed)
        if start is None:
            x = packed.layout.zeros(np.float64)
        else:
            x = pack_field(packed.layout, np.where(system.unknown, start.reshape(system.unknown.shape), 0.0))
        ready = time.perf_counter()
        info = conjugate_gradients(packed, x, stencil(packed), precondition, tolerance, iterations, name)
        pressure = unpack_field(packed.layout, x).reshape(shape)
    done = time.perf_counter()
    return Solution(pressure, info._replace(seconds=done - began), {"set-up": ready - began, "solve": done - ready})
