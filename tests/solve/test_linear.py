"""The linear solve: right, the same on any number of threads, and in few iterations at any size."""

import numpy as np
import pytest
import scipy.sparse.linalg

import zoo
from paddlewheel.physics.pressure import assemble
from paddlewheel.solve.cg import conjugate_gradients, stencil
from paddlewheel.solve.linear import SOLVERS, solve
from paddlewheel.solve.packed import pack, pack_field, unpack_field
from paddlewheel.solve.system import oriented
from reference import consistent, matrix, regions, residual

ANY = [("tilted wall", 0), ("closed pockets", 0), ("flat maze", 1), ("booleans", 0), ("tiny fractions", 1)]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
scenes = pytest.mark.parametrize(("kind", "seed"), ANY)


@scenes
@every_solver
def test_agrees_with_a_direct_solver(kind, seed, solver):
    system = consistent(assemble(*zoo.build(kind, seed, 14)))
    solution = solve(system, solver=solver, tolerance=1e-11, iterations=600)
    assert solution.info.converged
    label, closed = regions(system)
    A, b = matrix(system).tolil(), system.rhs[system.unknown].copy()
    for region in np.nonzero(closed)[0]:  # tie one cell of each closed region to zero
        pinned = np.nonzero(label == region)[0][0]
        A[pinned] = 0
        A[pinned, pinned] = 1
        b[pinned] = 0
    exact = scipy.sparse.linalg.spsolve(A.tocsc(), b)
    p = solution.pressure[system.unknown].copy()
    for region in np.nonzero(closed)[0]:
        p[label == region] -= p[label == region].mean()
        exact[label == region] -= exact[label == region].mean()
    assert p == pytest.approx(exact, abs=1e-8 * np.abs(exact).max())


@scenes
@every_solver
def test_does_not_depend_on_threads(kind, seed, solver, on_threads):
    """Bit for bit: sums run over fixed blocks."""
    system = consistent(assemble(*zoo.build(kind, seed)))
    one = on_threads(1, solve, system, solver=solver)
    many = on_threads(64, solve, system, solver=solver)
    assert np.array_equal(one.pressure, many.pressure)
    assert one.info.iterations == many.info.iterations


@every_solver
def test_warm_start(solver):
    """From its own solution a solve takes no iteration; from near it, fewer than from zero."""
    system = consistent(assemble(*zoo.build("tilted wall", 0)))
    cold = solve(system, solver=solver, tolerance=1e-8)
    again = solve(system, solver=solver, tolerance=1e-7, start=cold.pressure)
    assert again.info.iterations == 0
    assert again.info.converged
    assert np.array_equal(again.pressure, cold.pressure)
    rng = np.random.default_rng(1)
    near = cold.pressure * (1 + 1e-4 * rng.standard_normal(cold.pressure.shape))
    warm = solve(system, solver=solver, tolerance=1e-8, start=near)
    assert warm.info.converged
    assert warm.info.iterations < cold.info.iterations


def test_too_few_iterations_are_said_to_be_too_few():
    """Failure is a value: the residual is the true one, and converged is False."""
    system = consistent(assemble(*zoo.cut_cells(16)))
    solution = solve(system, tolerance=1e-10, iterations=2)
    assert not solution.info.converged
    assert solution.info.iterations == 2
    assert solution.info.residual == pytest.approx(residual(system, solution.pressure), rel=1e-6)


def test_zero_right_hand_side_takes_nothing():
    system = assemble(*zoo.cut_cells(16))
    solution = solve(system._replace(rhs=np.zeros_like(system.rhs)), start=np.ones(system.unknown.shape))
    assert solution.info.converged
    assert solution.info.iterations == 0
    assert not solution.pressure.any()


@pytest.mark.parametrize(("tolerance", "most"), [(1e-6, 9), (1e-10, 14)])
@pytest.mark.parametrize(
    "cells", [32, 64, pytest.param(128, marks=pytest.mark.slow), pytest.param(192, marks=pytest.mark.slow)]
)
def test_iterations_do_not_grow_with_the_grid(cells, tolerance, most):
    system = assemble(*zoo.cut_cells(cells))
    solution = solve(system, tolerance=tolerance)
    assert solution.info.converged
    assert solution.info.iterations <= most
    assert residual(system, solution.pressure) <= tolerance


def test_a_term_of_low_rank_needs_only_a_function():
    """A + JᵀM⁻¹J, as a rigid body will add: the solver takes the matrix as a function and does not know its terms."""
    system = oriented(consistent(assemble(*zoo.build("narrow gaps", 0, 14))))
    packed = pack(system)
    rng = np.random.default_rng(3)
    body = np.zeros(system.unknown.shape)
    body[system.unknown] = rng.standard_normal(packed.unknowns) / np.sqrt(packed.unknowns)
    j, mass = pack_field(packed.layout, body), 0.3
    plain = stencil(packed)

    def apply(q, x):
        energy, work = plain(q, x), np.vdot(j, x)
        q += j * (work / mass)
        return energy + work**2 / mass

    x = packed.layout.zeros(np.float64)
    x, info = conjugate_gradients(packed, x, apply, SOLVERS["multigrid"](packed), 1e-10, 100, "pressure")
    assert info.converged
    A, b = matrix(system), system.rhs[system.unknown]
    dense = body[system.unknown]
    exact = np.linalg.solve(A.toarray() + np.outer(dense, dense) / mass, b)
    p = unpack_field(packed.layout, x)[system.unknown]
    assert p == pytest.approx(exact, abs=1e-8 * np.abs(exact).max())
