"""Systems with the bound p ≥ 0: against other solvers, complementary, and the linear solution where nothing is held."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import zoo
from paddlewheel.physics.pressure import assemble
from paddlewheel.solve import bounded as module
from paddlewheel.solve.bounded import Bounded
from paddlewheel.solve.linear import Prepared
from paddlewheel.solve.lowrank import add_transposed, times
from paddlewheel.solve.regions import closed_regions
from paddlewheel.solve.system import Rows, System
from paddlewheel.types import Faces
from reference import matrix

KINDS = ["tilted wall", "booleans", "flat maze", "thin films", "narrow gaps", "tiny fractions"]


def tank(shape=(6, 5, 4), seed=0, held=True, rows=None):
    """A tank of random couplings and a random right-hand side; p is known at the top, if it is held."""
    rng = np.random.default_rng(seed)
    coupling = Faces(*(rng.random([n + (a == d) for d, n in enumerate(shape)], np.float32) for a in range(3)))
    for a in range(3):
        np.moveaxis(coupling[a], a, 0)[[0, -1]] = 0
    extra = np.zeros(shape)
    if held:
        extra[:, -1] = rng.random((shape[0], shape[2]))
    rhs = rng.standard_normal(shape)
    return System(coupling, extra, rhs - rhs.mean(), np.ones(shape, bool), rows)


def random_rows(strength, terms=2, width=6, shape=(6, 5, 4), seed=2, cells=30):
    rng = np.random.default_rng(seed)
    cells = [np.sort(rng.choice(np.prod(shape), cells, replace=False)) for _ in range(terms)]
    start = np.cumsum([0, *(len(c) for c in cells)])
    return Rows(start, np.concatenate(cells), strength * rng.standard_normal((start[-1], width)))


def some_cells(system, part=0.6, seed=1):
    return system.unknown & (np.random.default_rng(seed).random(system.unknown.shape) < part)


def product(system, p):
    """A p at the unknowns, with the rows."""
    out = np.zeros(p.shape)
    out[system.unknown] = matrix(system) @ p[system.unknown]
    if system.rows is not None:
        add_transposed(out, system.rows, times(system.rows, p))
    return out


def dense(system):
    """The matrix over the unknowns, with the rows, column by column."""
    columns = []
    for cell in np.flatnonzero(system.unknown):
        unit = np.zeros(system.unknown.shape)
        unit.reshape(-1)[cell] = 1.0
        columns.append(product(system, unit)[system.unknown])
    return np.array(columns)


def by_scipy(system, bounded):
    """min ½ pᵀAp − bᵀp as a least-squares problem, solved by an active-set method of SciPy's."""
    upper = scipy.linalg.cholesky(dense(system))
    rest = scipy.linalg.solve_triangular(upper, system.rhs[system.unknown], trans="T")
    low = np.where(bounded[system.unknown], 0.0, -np.inf)
    found = scipy.optimize.lsq_linear(upper, rest, (low, np.inf), method="bvls", tol=1e-14, max_iter=2000)
    assert found.success
    return found.x


def complementarity(system, bounded, p):
    """The largest |min(d p, A p − b)| at bounded cells and |A p − b| elsewhere, relative to max|b|."""
    left = (product(system, p) - system.rhs)[system.unknown]
    own = bounded[system.unknown]
    diagonal = matrix(system).diagonal()
    left[own] = np.minimum(diagonal[own] * p[system.unknown][own], left[own])
    return np.abs(left).max() / np.abs(system.rhs[system.unknown]).max()


@pytest.mark.parametrize("solver", ["multigrid", "mic"])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_scipy(seed, solver):
    system = tank(seed=seed)
    bounded = some_cells(system)
    prepared = Bounded(system, bounded, solver=solver)
    p, info = prepared.solve(tolerance=1e-10)
    exact = by_scipy(system, bounded)
    assert info.converged
    assert prepared.held.any()
    assert p[system.unknown] == pytest.approx(exact, abs=1e-7 * np.abs(exact).max())


@pytest.mark.parametrize("strength", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_scipy_where_rows_take_the_m_matrix_away(seed, strength):
    system = tank(seed=seed, rows=random_rows(strength, seed=seed + 10))
    off_diagonal = dense(system)
    np.fill_diagonal(off_diagonal, 0.0)
    assert off_diagonal.max() > 1e-3
    bounded = some_cells(system)
    p, info = Bounded(system, bounded).solve(tolerance=1e-11)
    exact = by_scipy(system, bounded)
    assert info.converged
    assert p[system.unknown] == pytest.approx(exact, abs=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_the_safe_way_agrees_too(strength, monkeypatch):
    """With no round allowed, MPRGP does all that the first choice leaves."""
    monkeypatch.setattr(module, "ROUNDS", -1)
    system = tank(seed=5, rows=random_rows(strength))
    bounded = some_cells(system)
    prepared = Bounded(system, bounded)
    p, info = prepared.solve(tolerance=1e-10)
    exact = by_scipy(system, bounded)
    assert info.converged
    assert np.array_equal(prepared.held, bounded & (p == 0.0))
    assert p[system.unknown] == pytest.approx(exact, abs=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_complementary_in_the_zoo(kind, seed):
    """p ≥ 0 exactly, and complementary as the report says; from its own solution it takes next to nothing."""
    system = assemble(*zoo.build(kind, seed))
    regions = closed_regions(system)
    bounded = some_cells(system, 0.4)
    prepared = Bounded(system, bounded, regions=regions)
    if regions is not None:
        system = system._replace(rhs=prepared.consistent(system.rhs)[0])
    p, info = prepared.solve(system.rhs)
    assert info.converged
    assert complementarity(system, bounded, p) <= info.residual * (1 + 1e-6) + 1e-12
    assert p[bounded].min() >= 0.0
    assert np.array_equal(prepared.held[bounded], (p == 0.0)[bounded]) or regions is not None
    again, warm = Bounded(system, bounded, prepared.held, regions=regions).solve(start=p)
    assert warm.iterations <= 2
    assert again == pytest.approx(p, abs=1e-4 * np.abs(p).max())


def test_is_the_linear_solution_where_that_is_not_negative():
    """Bit for bit: nothing is held, and the iterations are the same."""
    system = assemble(*zoo.cut_cells(24))
    exact, linear = Prepared(system).solve()
    bounded = system.unknown & (exact > 0.0)
    prepared = Bounded(system, bounded)
    p, info = prepared.solve()
    assert not prepared.held.any()
    assert info.iterations == linear.iterations
    assert np.array_equal(p, exact)


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_too_few_iterations_are_said_to_be_too_few(iterations):
    """Failure is a value, and even then no pressure is negative where it must not be."""
    system = assemble(*zoo.build("booleans", 0))
    bounded = some_cells(system, 0.4)
    p, info = Bounded(system, bounded).solve(iterations=iterations)
    assert not info.converged
    assert info.iterations == iterations
    assert p[bounded].min() >= 0.0
    assert info.residual >= complementarity(system, bounded, p) * (1 - 1e-6)


def test_a_wrong_guess_costs_iterations_only():
    system = assemble(*zoo.build("booleans", 0))
    bounded = some_cells(system, 0.4)
    prepared = Bounded(system, bounded)
    p, _ = prepared.solve(tolerance=1e-9)
    for guess in (bounded, bounded & ~prepared.held):
        other, info = Bounded(system, bounded, guess).solve(tolerance=1e-9)
        assert info.converged
        assert other == pytest.approx(p, abs=1e-7 * np.abs(p).max())


def test_a_closed_region_has_the_linear_solution_as_low_as_the_bound_allows():
    system = tank(held=False)
    regions = closed_regions(system)
    system = system._replace(rhs=regions.centred(system.rhs))
    linear, _ = Prepared(system, regions=regions).solve(tolerance=1e-10)
    bounded = some_cells(system)
    prepared = Bounded(system, bounded, regions=regions)
    p, info = prepared.solve(tolerance=1e-10)
    assert info.converged
    assert not prepared.held.any()
    assert p[bounded].min() == 0.0
    assert regions.centred(p) == pytest.approx(regions.centred(linear), abs=1e-12 * np.abs(linear).max())


def test_a_closed_region_that_grows_has_a_gap():
    """Its right-hand side has no linear solution. What flows into the gap is what the walls make room for."""
    system = tank(held=False)
    regions = closed_regions(system)
    system = system._replace(rhs=regions.centred(system.rhs) - 0.1)
    bounded = some_cells(system)
    prepared = Bounded(system, bounded, regions=regions)
    rhs, loss = prepared.consistent(system.rhs)
    assert np.array_equal(rhs, system.rhs)
    assert loss.tolist() == [0.0]
    p, info = prepared.solve(rhs, tolerance=1e-10)
    assert info.converged
    assert complementarity(system, bounded, p) <= 1e-10
    gap = (product(system, p) - rhs)[prepared.held]
    assert gap.sum() == pytest.approx(0.1 * rhs.size, rel=1e-6)
    rhs, loss = prepared.consistent(system.rhs + 0.3)
    assert loss == pytest.approx(0.2)
    assert rhs.sum() == pytest.approx(0.0, abs=1e-9)


def chambers(rng):
    """Two to four closed chambers, the first open in some, and one or two terms that push or pull on some of them."""
    count, long = int(rng.integers(2, 5)), 4
    system = tank((count * long, 3, 3), rng, held=False)
    system.coupling.x[::long] = 0
    system.extra[:long, -1] = float(rng.random() < 0.3)
    chamber = np.repeat(np.arange(count), long * 9)
    start, cells, values = [0], [], []
    for _ in range(rng.integers(1, 3)):
        cell = np.flatnonzero(rng.random(len(chamber)) < 0.4)
        value = np.zeros((len(cell), 6))
        for row in range(rng.integers(1, 3)):
            value[:, row] = rng.uniform(0.5, 1.0, len(cell))
            push = rng.choice([-1, 0, 1], count) * rng.choice([0.5, 1.0, 2.0], count)
            value[:, row] *= (push / np.bincount(chamber[cell], value[:, row], count))[chamber[cell]]
        start, cells, values = [*start, start[-1] + len(cell)], [*cells, cell], [*values, value]
    rows = Rows(np.array(start), np.concatenate(cells), 10 ** rng.uniform(-1, 1) * np.concatenate(values))
    return system._replace(rows=rows)


@pytest.mark.parametrize("seed", range(5))
def test_closed_regions_that_a_term_ties_to_each_other(seed):
    """Constants may be free only if one rises as another falls, as in two tubes closed by one plug: bounded as any."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        system = chambers(rng)
        regions = closed_regions(system)
        bounded = some_cells(system, rng.uniform(0.1, 1.0), rng)
        prepared = Bounded(system, bounded, regions=regions)
        if regions is not None:
            system = system._replace(rhs=prepared.consistent(system.rhs)[0])
        p, info = prepared.solve(system.rhs, tolerance=1e-8)
        assert info.converged
        assert p[bounded].min(initial=0.0) >= 0.0
        assert complementarity(system, bounded, p) <= 1.01e-8


def test_a_gap_on_one_side_of_a_term_leaves_volume_alone():
    """Two chambers that push on one term alike: as one is pressed, the other has a gap, and nothing is lost."""
    system = tank((8, 3, 3), held=False)
    system.coupling.x[4] = 0
    ends = np.concatenate([np.arange(9), np.arange(63, 72)])
    system = system._replace(rows=Rows(np.array([0, 18]), ends, np.repeat(np.eye(6)[:1], 18, axis=0)))
    regions = closed_regions(system)
    assert regions.free.shape == (2, 1)
    rhs = regions.centred(system.rhs) + np.where(np.arange(8) < 4, 0.2, -0.2)[:, None, None]
    prepared = Bounded(system, system.unknown, regions=regions)
    consistent, loss = prepared.consistent(rhs)
    assert not loss.any()
    system = system._replace(rhs=consistent)
    p, info = prepared.solve(consistent, tolerance=1e-9)
    assert info.converged
    assert p.min() >= 0.0
    assert prepared.held[4:].any()
    assert complementarity(system, system.unknown, p) <= 1e-9


def test_held_cells_stay_at_zero_without_the_bound():
    """As the displacement that spreads particles is solved for."""
    system = tank(seed=3)
    prepared = Bounded(system, some_cells(system))
    prepared.solve()
    held = prepared.held
    rhs = np.random.default_rng(4).standard_normal(system.rhs.shape)
    p, info = prepared.solve(rhs, tolerance=1e-8, coupled=False)
    assert info.converged
    assert not p[held].any()
    assert p.min() < 0.0
    left = (product(system, p) - rhs)[~held]
    assert np.abs(left).max() <= 1.1e-8 * np.abs(rhs).max()
    assert np.array_equal(prepared.held, held)


def test_does_not_depend_on_threads(on_threads):
    system = assemble(*zoo.build("booleans", 0))
    bounded = some_cells(system, 0.4)
    one, many = (on_threads(n, lambda: Bounded(system, bounded).solve()) for n in (1, 64))
    assert np.array_equal(one[0], many[0])
    assert one[1].iterations == many[1].iterations


@pytest.mark.parametrize("cells", [32, 64])
def test_costs_little_more_than_the_linear_solve_at_any_size(cells):
    """The cells of all walls are bounded, and the liquid is about to leave one of them."""
    grid, _, phi, boundary, dt = zoo.cut_cells(cells)
    system = assemble(
        grid, Faces(*(np.full(grid.face_shape(a), u, np.float32) for a, u in enumerate((1, 0, 0)))), phi, boundary, dt
    )
    closed = [np.minimum(w[tuple(slice(-1) if d == a else slice(None) for d in range(3))],
                         w[tuple(slice(1, None) if d == a else slice(None) for d in range(3))]) < 1
              for a, w in enumerate(boundary.open)]  # fmt: skip
    bounded = system.unknown & np.any(closed, axis=0)
    linear = Prepared(system).solve()[1]
    prepared = Bounded(system, bounded)
    cold = prepared.solve()[1]
    assert prepared.held.any()
    warm = Bounded(system, bounded, prepared.held).solve()[1]
    assert cold.converged
    assert warm.converged
    assert cold.iterations <= 8 * linear.iterations
    assert warm.iterations <= 2 * linear.iterations


@pytest.mark.parametrize("seed", range(5))
def test_any_system_with_any_guess(seed):
    """Small ones with and without rows, of any strength, open, closed, growing or pressed: all end, complementary."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        shape = tuple(rng.integers(2, 9, 3).tolist())
        held, with_rows, strength = rng.random() < 0.6, rng.random() < 0.8, 10 ** rng.uniform(-2, 2.5)
        rows = (
            random_rows(strength, int(rng.integers(1, 4)), shape=shape, seed=rng, cells=int(rng.integers(2, 9)))
            if with_rows
            else None
        )
        system = tank(shape, rng, held, rows)
        regions = closed_regions(system)
        if not held:
            system = system._replace(rhs=system.rhs + rng.choice([-0.2, 0.0, 0.2]))
        bounded = some_cells(system, rng.uniform(0.1, 1.0), rng)
        guess = rng.random(shape) < 0.3 if rng.random() < 0.5 else None
        prepared = Bounded(system, bounded, guess, regions=regions)
        if regions is not None:
            system = system._replace(rhs=prepared.consistent(system.rhs)[0])
        p, info = prepared.solve(system.rhs, tolerance=1e-8)
        assert info.converged
        assert p[bounded].min(initial=0.0) >= 0.0
        assert complementarity(system, bounded, p) <= 1.01e-8
