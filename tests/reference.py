"""The pressure system a second time, written for reading and not for speed: what the tests compare with."""

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from paddlewheel.solve.system import System

SIDES = [(axis, up) for axis in range(3) for up in (0, 1)]


def by_the_book(grid, velocity, phi, boundary, dt, density=1000.0, surface_pressure=0.0):
    """docs/method.md §2, cell by cell: dense matrix, right-hand side [Pa] and each cell's number (−1: no unknown).

        Σ_f w_f (p_i − p_nb) = − ρ h/Δt Σ_f ±[ w_f u_f + (1 − w_f) u_solid ]

    with (p_i − p_surface)/θ in place of the difference where the neighbour is air, θ = φ_i/(φ_i − φ_nb), and
    θ = ½, p = 0 at an open side of the domain.
    """
    w = [f.astype(float) for f in boundary.open]
    u = [f.astype(float) for f in velocity]
    solid = [f.astype(float) for f in boundary.velocity]
    level = phi.astype(float)
    surface_pressure = np.broadcast_to(surface_pressure, grid.shape)

    def face(cell, axis, up):
        return tuple(c + up * (d == axis) for d, c in enumerate(cell))

    number = np.full(grid.shape, -1)
    cells = [
        cell
        for cell in np.ndindex(grid.shape)
        if level[cell] < 0 and any(w[axis][face(cell, axis, up)] > 0 for axis, up in SIDES)
    ]
    for n, cell in enumerate(cells):
        number[cell] = n
    A, b = np.zeros((len(cells), len(cells))), np.zeros(len(cells))
    for i, cell in enumerate(cells):
        for axis, up in SIDES:
            f = face(cell, axis, up)
            open = w[axis][f]
            flux = open * u[axis][f] + (1 - open) * solid[axis][f]
            b[i] -= (1 if up else -1) * flux * density * grid.h / dt
            if open == 0:
                continue
            beyond = tuple(c + (2 * up - 1) * (d == axis) for d, c in enumerate(cell))
            if not 0 <= beyond[axis] < grid.shape[axis]:
                A[i, i] += open / 0.5
            elif level[beyond] < 0:
                A[i, i] += open
                A[i, number[beyond]] -= open
            else:
                theta = max(level[cell] / (level[cell] - level[beyond]), 1e-6)
                A[i, i] += open / theta
                applied = (1 - theta) * surface_pressure[cell] + theta * surface_pressure[beyond]
                b[i] += open / theta * applied
    return A, b, number


def matrix(system: System) -> scipy.sparse.csr_matrix:
    """The matrix of a system, its unknowns in the order of the cells."""
    n = int(np.count_nonzero(system.unknown))
    number = np.full(system.unknown.shape, -1)
    number[system.unknown] = np.arange(n)
    diagonal = system.extra[system.unknown].astype(float)
    rows, columns, values = [], [], []
    for axis, coupling in enumerate(system.coupling):
        inside = np.moveaxis(coupling, axis, 0)[1:-1].astype(float)
        below, above = np.moveaxis(number, axis, 0)[:-1], np.moveaxis(number, axis, 0)[1:]
        joined = inside > 0
        i, j, c = below[joined], above[joined], inside[joined]
        assert (i >= 0).all(), "a coupling leads to a cell without unknown"
        assert (j >= 0).all(), "a coupling leads to a cell without unknown"
        rows += [i, j]
        columns += [j, i]
        values += [-c, -c]
        np.add.at(diagonal, i, c)
        np.add.at(diagonal, j, c)
    rows, columns, values = (np.concatenate([*parts, last]) for parts, last in
                             ((rows, np.arange(n)), (columns, np.arange(n)), (values, diagonal)))  # fmt: skip
    return scipy.sparse.csr_matrix((values, (rows, columns)), shape=(n, n))


def regions(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Label of the connected region of each unknown, and for each region whether it is closed off from known values."""
    A = matrix(system)
    count, label = connected_components(A, directed=False)
    ties = np.bincount(label, system.extra[system.unknown], count)
    return label, ties == 0


def consistent(system: System) -> System:
    """The same system with the mean taken out of the right-hand side of every closed region."""
    label, closed = regions(system)
    b = system.rhs[system.unknown]
    mean = np.bincount(label, b, len(closed)) / np.maximum(np.bincount(label, minlength=len(closed)), 1)
    rhs = np.zeros_like(system.rhs)
    rhs[system.unknown] = b - (mean * closed)[label]
    return system._replace(rhs=rhs)


def residual(system: System, pressure: np.ndarray) -> float:
    """max|b − A p| / max|b| in float64."""
    b = system.rhs[system.unknown]
    largest = np.abs(b).max(initial=0.0)
    if largest == 0:
        return 0.0
    return float(np.abs(b - matrix(system) @ pressure[system.unknown]).max() / largest)
