"""Friction in small steps: schemes that take it, or a part of it, from the velocity before.

The matrix of strain is M + K, and K = G + X, from the parts of squared strain

    u·G u  =  Σ w (∂_b u_a)² ,      u·X u  =  Σ w ∂_b u_a ∂_a u_b ,

the components each for itself and what couples them. In n steps,

    explicit   M u' = M u − K u/n
    IMEX       (M + G/n) u' = M u − X u/n            (Rasmussen et al. 2004)

What is explicit must not overshoot by more than there was: n is at least half
the largest eigenvalue of M⁻¹K, or of M⁻¹X. With more in a step the explicit
scheme blows up. IMEX as it is here does not, since u·(G − X) u is the energy
of vorticity and never negative, but it makes kinetic energy where there should
be friction.

Masses must not be small beside weights, or n is without bound: `whole_cells`.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from paddlewheel.solve.cg import conjugate_gradients
from paddlewheel.solve.strain import Strain, System, apply, pack_faces, rebuilt
from paddlewheel.types import SolveInfo

__all__ = ["MOST_STEPS", "explicit", "halves", "imex", "stiffness", "whole_cells"]

MOST_STEPS = 10_000
LOOKS = 30  # products with the matrix to find its largest eigenvalue, at most
CLOSE = 0.01  # relative, between its bounds


def whole_cells(matrix: Strain, full: np.ndarray) -> Strain:
    """The matrix where cells are `full`, bool, or empty.

    Strain at a centre counts if its cell is full, at an edge if all four cells around it are; a face with a full cell
    beside it has the mass of a whole one. In 2-D this is what Nichols & Hirt (1971) have at a surface: along the sides
    of cells no shear stress, ∂u/∂y = −∂v/∂x.
    """
    inside = pack_faces(matrix.layout, [_all_around(full, axis) for axis in range(3)], np.float32)
    mass = (matrix.mass > 0.25).astype(np.float32)  # half a cell's at least, or only that of strains left out here
    return rebuilt(matrix, mass, matrix.stretch, matrix.own * inside[:, None], matrix.cross * inside)


def _all_around(full, axis) -> np.ndarray:
    """Whether the four cells around each edge along an axis are full."""
    edges = full
    for a in range(3):
        if a != axis:
            edges = np.pad(edges, [(1, 1) if b == a else (0, 0) for b in range(3)])
            low, high = (tuple(s if b == a else slice(None) for b in range(3)) for s in (slice(-1), slice(1, None)))
            edges = edges[low] & edges[high]
    return edges


def halves(matrix: Strain) -> tuple[Strain, Strain]:
    """M + G and M + X."""
    none, half = np.zeros_like(matrix.cross), np.float32(0.5) * matrix.stretch
    gradients = rebuilt(matrix, matrix.mass, half, matrix.own, none)
    return gradients, gradients._replace(own=np.zeros_like(matrix.own), cross=matrix.cross)


def stiffness(matrix: Strain) -> float:
    """The largest magnitude of an eigenvalue of M⁻¹K, at most a little more.

    With signs c that alternate from face to face, c K c has no negative entry. So for any x > 0 the largest of
    (M⁻¹ c K c x)/x is a bound (Collatz), that of Gershgorin for x = 1, and each product makes x a better one.
    """
    layout, there = matrix.layout, matrix.inverse > 0
    parity = np.indices([n + 1 for n in layout.shape]).sum(axis=0) % 2
    sign = pack_faces(layout, [1.0 - 2.0 * parity] * 3) * there
    x, q, product = np.abs(sign), layout.zeros(np.float64), _friction(matrix)
    bound = math.inf
    for _ in range(LOOKS):
        product(q, sign * x)
        after = np.divide(np.abs(q), matrix.mass, out=np.zeros_like(q), where=there)
        alive = x > 0
        rates = after[alive] / x[alive]
        bound = min(bound, rates.max(initial=0.0))
        if bound == 0.0 or rates.min() > (1 - CLOSE) * bound:
            break
        x = after / after.max()
    return float(bound)


def explicit(matrix: Strain, start: np.ndarray, pull: np.ndarray | float) -> tuple[np.ndarray, SolveInfo]:
    """The velocity after friction from `start`, in as many explicit steps as are needed.

    pull is what known values do to it, `from_known`.
    """
    began, steps = time.perf_counter(), _steps("explicit", matrix)
    q, product = matrix.layout.zeros(np.float64), _friction(matrix)
    rate = np.divide(1 / steps, matrix.mass, out=np.zeros_like(q), where=matrix.inverse > 0)
    u = start.copy()
    for _ in range(steps):
        product(q, u)
        u += rate * (pull - q)
    seconds = time.perf_counter() - began
    return u, SolveInfo("viscosity", matrix.unknowns, steps, 0.0, seconds, bool(np.isfinite(u).all()), steps)


def imex(
    matrix: Strain,
    start: np.ndarray,
    pull: np.ndarray | float,
    preconditioner: Callable[..., Callable],
    tolerance: float,
    iterations: int,
) -> tuple[np.ndarray, SolveInfo]:
    """The same, with only the coupling X explicit. `preconditioner(A, parts=n)` is one of A = M + G/n."""
    began, (gradients, coupling) = time.perf_counter(), halves(matrix)
    steps = _steps("imex", coupling)
    part = np.float32(1 / steps)
    implicit = rebuilt(gradients, gradients.mass, gradients.stretch * part, gradients.own * part, gradients.cross)
    q, product, inverted = matrix.layout.zeros(np.float64), _friction(coupling), apply(implicit)
    precondition = preconditioner(implicit, parts=steps)
    u, infos = start.copy(), []
    for _ in range(steps):
        product(q, u)
        rhs = matrix.mass * u + (pull - q) / steps
        u, info = conjugate_gradients(
            System(implicit, rhs), u, inverted, precondition, tolerance, iterations, "viscosity"
        )
        infos.append(info)
    return u, SolveInfo(
        "viscosity",
        matrix.unknowns,
        sum(info.iterations for info in infos),
        max(info.residual for info in infos),
        time.perf_counter() - began,
        all(info.converged for info in infos),
        steps,
    )


def _friction(matrix):
    """K as a function like `apply`."""
    return apply(matrix._replace(mass=np.zeros_like(matrix.mass)))


def _steps(scheme, matrix) -> int:
    needed = stiffness(matrix) / 2
    if not needed <= MOST_STEPS:
        raise ValueError(
            f"viscosity={scheme!r} needs {needed:.3g} sub-steps here, and takes {MOST_STEPS} at most; expected shorter "
            "steps, less viscous liquid, or viscosity='variational', which needs none"
        )
    return max(1, math.ceil(needed))
