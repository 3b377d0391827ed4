"""The linear system every pressure term adds itself to."""

from typing import NamedTuple

import numpy as np

from paddlewheel.types import Faces


class System(NamedTuple):
    """A symmetric M-matrix on a 7-point stencil, and its right-hand side.

        (A p)_i = Σ_f c_f (p_i − p_nb) + e_i p_i = b_i        for every unknown i

    coupling  c ≥ 0 at faces, float32; zero unless both cells of the face are unknowns
    extra     e ≥ 0 at cells, float64: ties to values that are known, such as the air's
    rhs       b at cells, float64
    unknown   which cells have an unknown, bool

    All are shaped (nx, ny, nz), the faces with one more along their axis.
    """

    coupling: Faces
    extra: np.ndarray
    rhs: np.ndarray
    unknown: np.ndarray


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
    return System(coupling, system.extra.reshape(shape), system.rhs.reshape(shape), system.unknown.reshape(shape))
