"""Terms of low rank beside the stencil: the product, the preconditioner, and what they do to closed regions."""

import numpy as np
import pytest

from paddlewheel.solve.linear import Prepared, solve
from paddlewheel.solve.lowrank import KEPT, add_transposed, free_constants, times
from paddlewheel.solve.regions import closed_regions
from paddlewheel.solve.system import Rows, System
from paddlewheel.types import Faces

SHAPE = (8, 7, 6)


def tank(shape=SHAPE, wall=None, held=True):
    """A tank of open cells; a closed plane of x-faces at `wall`; p is known at the top, if it is held."""
    rng = np.random.default_rng(1)
    coupling = Faces(*(np.ones([n + (a == d) for d, n in enumerate(shape)], np.float32) for a in range(3)))
    for a in range(3):
        np.moveaxis(coupling[a], a, 0)[[0, -1]] = 0
    if wall is not None:
        coupling.x[wall] = 0
    extra = np.zeros(shape)
    if held:
        extra[:, -1] = 2.0
    return System(coupling, extra, rng.standard_normal(shape), np.ones(shape, bool))


def random_rows(terms=3, width=6, strength=1.0, shape=SHAPE, seed=2):
    rng = np.random.default_rng(seed)
    cells = [np.sort(rng.choice(np.prod(shape), 20, replace=False)) for _ in range(terms)]
    start = np.cumsum([0, *(len(c) for c in cells)])
    return Rows(start, np.concatenate(cells), strength * rng.standard_normal((start[-1], width)))


def piston(shape=SHAPE, wall=4, strength=1.0):
    """One row that is pushed by the cells on one side of a wall, and by those on the other the other way."""
    cell = np.arange(np.prod(shape)).reshape(shape)
    left, right = cell[wall - 1].ravel(), cell[wall].ravel()
    value = strength * np.concatenate([np.ones(len(left)), -np.ones(len(right))])[:, None]
    return Rows(np.array([0, 2 * len(left)]), np.concatenate([left, right]), value)


def dense(system):
    """A, and the rows R, as matrices."""
    n = system.unknown.size
    index, A = np.arange(n).reshape(system.unknown.shape), np.zeros((n, n))
    for a in range(3):
        low, high = (np.moveaxis(index, a, 0)[s].ravel() for s in (slice(-1), slice(1, None)))
        c = np.moveaxis(system.coupling[a], a, 0)[1:-1].ravel()
        for i, j, w in zip(low, high, c, strict=True):
            A[i, i] += w
            A[j, j] += w
            A[i, j] -= w
            A[j, i] -= w
    A += np.diag(system.extra.ravel())
    R = np.zeros((system.rows.count, n))
    for t in range(len(system.rows.start) - 1):
        for m in range(system.rows.start[t], system.rows.start[t + 1]):
            R[t * system.rows.value.shape[1] : (t + 1) * system.rows.value.shape[1], system.rows.cell[m]] += (
                system.rows.value[m]
            )
    return A, R


def test_product_and_transpose_agree():
    rng = np.random.default_rng(3)
    rows, x, y = random_rows(), rng.standard_normal(SHAPE), rng.standard_normal(18)
    lifted = np.zeros(SHAPE)
    add_transposed(lifted, rows, y)
    assert np.vdot(times(rows, x), y) == pytest.approx(np.vdot(x, lifted), rel=1e-13)


@pytest.mark.parametrize("solver", ["multigrid", "mic"])
@pytest.mark.parametrize("strength", [1e-2, 1.0, 30.0])
def test_solution_is_that_of_the_sum(solver, strength):
    system = tank()._replace(rows=random_rows(strength=strength))
    A, R = dense(system)
    exact = np.linalg.solve(A + R.T @ R, system.rhs.ravel())
    p, info, _ = solve(system, solver=solver, tolerance=1e-12)
    assert info.converged
    assert p.ravel() == pytest.approx(exact, abs=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize(("terms", "width"), [(3, 6), (1, KEPT)])
@pytest.mark.parametrize("strength", [1e-3, 1.0, 30.0])  # a body of 1e-3 times the liquid's density has about 3
def test_strong_terms_cost_no_iterations(strength, terms, width):
    alone = solve(tank(), tolerance=1e-8).info
    terms = solve(tank()._replace(rows=random_rows(terms, width, strength)), tolerance=1e-8).info
    assert terms.converged
    assert terms.iterations <= alone.iterations + 2


def test_rows_of_zeros_and_few_others_need_one_v_cycle_an_iteration(monkeypatch):
    """A body in a plane has three rows that are not zero: the same solution as with any number of them."""
    rows = random_rows(terms=1)
    rows.value[:, [0, 2, 5]] = 0.0
    A, R = dense(tank()._replace(rows=rows))
    exact = np.linalg.solve(A + R.T @ R, tank().rhs.ravel())
    prepared, cycles = Prepared(tank()._replace(rows=rows)), []
    inner = type(prepared._precondition).__call__
    monkeypatch.setattr(type(prepared._precondition), "__call__", lambda *args: cycles.append(1) or inner(*args))
    p, info = prepared.solve(tolerance=1e-12)
    assert len(cycles) == info.iterations
    assert p.ravel() == pytest.approx(exact, abs=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize(("strength", "tolerance"), [(1e-3, 1e-10), (1.0, 1e-10), (1e3, 1e-8)])
def test_a_piston_between_two_closed_tanks_holds_their_difference(strength, tolerance):
    """Each tank's constant pushes on it, but not both together: the null space shrinks from two to one.

    With the strongest, rounding alone leaves 1e-9 of the right-hand side.
    """
    system = tank(wall=4, held=False)._replace(rows=piston(strength=strength))
    regions = closed_regions(system)
    assert len(regions.cells) == 2
    assert np.abs(regions.free[:, 0]) == pytest.approx(np.full(2, np.sqrt(0.5)))
    assert regions.free.shape == (2, 1)
    system = system._replace(rhs=regions.centred(system.rhs))
    A, R = dense(system)
    exact = np.linalg.lstsq(A + R.T @ R, system.rhs.ravel(), rcond=1e-13)[0].reshape(SHAPE)
    p, info = Prepared(system, regions=regions).solve(tolerance=tolerance)
    assert info.converged
    assert info.iterations <= 16
    assert regions.centred(p) == pytest.approx(regions.centred(exact), abs=1e-6 * np.abs(exact).max())


def test_what_pushes_on_nothing_leaves_all_constants_free():
    """A body all around which there is liquid telescopes: a constant pressure does not move it."""
    label = np.zeros(SHAPE, np.int32)
    rows = piston()
    assert free_constants(rows, label, 1) == pytest.approx(np.eye(1))


def test_without_coupling_the_rows_are_left_out():
    system = tank()._replace(rows=random_rows())
    p, _ = Prepared(system).solve(tolerance=1e-10, coupled=False)
    alone, *_ = solve(tank(), tolerance=1e-10)
    assert p == pytest.approx(alone, abs=1e-8 * np.abs(alone).max())
