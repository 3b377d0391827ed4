"""The linear system every pressure term adds itself to."""

from typing import NamedTuple

import numpy as np

from paddlewheel.types import Faces


class Rows(NamedTuple):
    """The rows of R, `width` of them for each term.

    start   (terms + 1,) int64: the cells of term t are start[t] … start[t + 1] − 1
    cell    (n,) int64: which cells of the system, in C order
    value   (n, width) float64
    """

    start: np.ndarray
    cell: np.ndarray
    value: np.ndarray

    @property
    def count(self) -> int:
        """How many rows there are."""
        return (len(self.start) - 1) * self.value.shape[1]


class System(NamedTuple):
    """A symmetric M-matrix on a 7-point stencil, and its right-hand side.

        (A p)_i = Σ_f c_f (p_i − p_nb) + e_i p_i = b_i        for every unknown i

    coupling  c ≥ 0 at faces, float32; zero unless both cells of the face are unknowns
    extra     e ≥ 0 at cells, float64: ties to values that are known, such as the air's
    rhs       b at cells, float64
    unknown   which cells have an unknown, bool
    rows      R, if terms of low rank are added:  A + RᵀR

    Fields are shaped (nx, ny, nz), the faces with one more along their axis.
    """

    coupling: Faces
    extra: np.ndarray
    rhs: np.ndarray
    unknown: np.ndarray
    rows: Rows | None = None


def oriented(system: System) -> System:
    """The same system with its longest rows last, so that kernels have rows to run along.

    A 2-D system (nx, ny, 1) becomes (1, nx, ny): the same memory, no copy.
    """
    nx, ny, nz = system.unknown.shape
    if nz != 1:
        return system
    shape = (1, nx, ny)
    coupling = Faces(
        np.zeros((2, nx, ny), np.float32),
        system.coupling.x.reshape(1, nx + 1, ny),
        system.coupling.y.reshape(1, nx, ny + 1),
    )
    fields = (field.reshape(shape) for field in (system.extra, system.rhs, system.unknown))
    return System(coupling, *fields, system.rows)
