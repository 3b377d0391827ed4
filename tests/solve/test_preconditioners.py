"""Conjugate gradients need a preconditioner that is symmetric and positive: every one in the table is."""

import numpy as np
import pytest

import zoo
from paddlewheel.physics.pressure import assemble
from paddlewheel.solve.cg import _apply
from paddlewheel.solve.linear import SOLVERS
from paddlewheel.solve.multigrid import _dense_inverse
from paddlewheel.solve.packed import pack, pack_field, unpack_field
from paddlewheel.solve.system import oriented
from reference import consistent, matrix, regions

SCENES = [
    ("one-cell wall", 0),
    ("tilted wall", 1),
    ("baffles", 1),
    ("closed pockets", 0),
    ("tiny fractions", 0),
    ("porous", 0),
    ("full tank", 1),
    ("drops", 0),
    ("flat ball", 0),
    ("flat maze", 0),
    ("single cell", 0),
]
scenes = pytest.mark.parametrize(("kind", "seed"), SCENES)


@pytest.fixture
def packed_system(kind, seed):
    system = oriented(assemble(*zoo.build(kind, seed)))
    return system, pack(system)


def random_vector(rng, system, packed):
    """A random vector over the unknowns, without the constants of closed regions: as a field and packed."""
    field = consistent(system._replace(rhs=rng.standard_normal(system.unknown.shape))).rhs
    return field, pack_field(packed.layout, field)


@scenes
def test_packed_matrix_is_the_matrix(packed_system):
    system, packed = packed_system
    layout, field = packed.layout, np.random.default_rng(1).standard_normal(system.unknown.shape) * system.unknown
    q, partial = layout.zeros(np.float64), np.empty(len(layout.blocks) - 1)
    x = pack_field(layout, field)
    _apply(q, partial, x, packed.lower, packed.diagonal, layout.rows, layout.blocks, 1)
    exact = matrix(system) @ field[system.unknown]
    assert unpack_field(layout, q)[system.unknown] == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert partial.sum() == pytest.approx(field[system.unknown] @ exact, rel=1e-12)
    assert np.array_equal(unpack_field(layout, x), field)


@scenes
@pytest.mark.parametrize("name", SOLVERS)
def test_preconditioner_is_symmetric_and_positive(packed_system, name):
    """⟨r₁, V r₂⟩ = ⟨r₂, V r₁⟩ to float32 accuracy, ⟨r, V r⟩ > 0, on what a consistent right-hand side can reach."""
    system, packed = packed_system
    precondition = SOLVERS[name](packed)
    rng = np.random.default_rng(2)

    def apply(r):
        z = packed.layout.zeros(np.float32)
        precondition(z, r.astype(np.float32))
        return unpack_field(packed.layout, z)[system.unknown].astype(float)

    fields, images = [], []
    for _ in range(3):
        field, vector = random_vector(rng, system, packed)
        fields.append(field[system.unknown])
        images.append(apply(vector))
    for i, r in enumerate(fields):
        if np.abs(r).max() > 0:
            assert r @ images[i] > 0
        for j in range(i):
            scale = np.linalg.norm(r) * np.linalg.norm(images[j])
            assert abs(r @ images[j] - fields[j] @ images[i]) <= 2e-6 * scale


@scenes
def test_multigrid_is_close_to_the_inverse(packed_system):
    """V A has its spectrum near 1: after a cycle the A-norm of an error is at most a half, on random errors."""
    system, packed = packed_system
    A, rng = matrix(system), np.random.default_rng(3)
    precondition = SOLVERS["multigrid"](packed)
    for _ in range(2):
        error, _ = random_vector(rng, system, packed)
        e = error[system.unknown]
        if not e.any():
            continue
        r = np.zeros(system.unknown.shape)
        r[system.unknown] = A @ e
        z = packed.layout.zeros(np.float32)
        precondition(z, pack_field(packed.layout, r).astype(np.float32))
        after = e - unpack_field(packed.layout, z)[system.unknown]
        assert after @ (A @ after) <= 0.25 * (e @ (A @ e)) + 1e-20


@scenes
def test_matrix_is_symmetric_with_the_closed_regions_as_null_space(packed_system):
    system, _ = packed_system
    A = matrix(system)
    assert abs(A - A.T).max() == 0
    assert np.all(A.diagonal() >= 0)
    label, closed = regions(system)
    for region in np.nonzero(closed)[0]:
        constant = (label == region).astype(float)
        assert np.abs(A @ constant).max() <= 1e-13
    if A.shape[0] <= 3000:
        smallest = np.linalg.eigvalsh(A.toarray())
        assert np.count_nonzero(smallest < 1e-9) == np.count_nonzero(closed)
        assert smallest.min(initial=0.0) >= -1e-12


def test_the_coarsest_level_is_exact_across_weak_links():
    """A closed chain with links from 1e-9 to 1: A x = b for every b that sums to zero."""
    links = np.array([1.0, 1e-9, 1.0, 1e-4, 1.0, 1e-6], np.float32)
    n = len(links) + 1
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    tails, heads = np.concatenate([ends, ends[:, ::-1]]).T
    order = np.argsort(tails, kind="stable")
    start = np.searchsorted(tails[order], np.arange(n + 1))
    weights = np.concatenate([links, links])[order]
    inverse = _dense_inverse(np.arange(n), np.zeros(n, np.float32), start, heads[order].astype(np.int32), weights)
    A = np.zeros((n, n))
    np.add.at(A, (tails, heads), -np.concatenate([links, links]).astype(float))
    A -= np.diag(A.sum(axis=1))
    assert inverse == pytest.approx(inverse.T, rel=1e-12)
    for k in range(n - 1):
        b = np.eye(n)[k] - np.eye(n)[k + 1]
        assert A @ (inverse @ b) == pytest.approx(b, abs=1e-6)
