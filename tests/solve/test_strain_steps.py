"""Explicit and IMEX friction: the split of the matrix, its largest eigenvalue, and how many steps are stable."""

import itertools
import math

import numpy as np
import pytest

from paddlewheel.solve.strain import apply, strain
from paddlewheel.solve.strain_steps import explicit, halves, stiffness, whole_cells

SHAPES = {"plane": (1, 11, 12), "space": (5, 6, 5), "wide plane": (1, 40, 42), "wide space": (18, 20, 19)}
SMALL, WIDE = list(SHAPES)[:2], {"wide plane": 16, "wide space": 24}
FAR = 1e3


def blob(name, kappa=3.5, varied=0.0, filled=0.85, seed=4):
    """The matrix of a blob, ragged if not all is filled, of whole cells in the middle of a box."""
    shape, rng = SHAPES[name], np.random.default_rng(seed)
    full = np.zeros(shape, bool)
    inner = tuple(slice(None) if n == 1 else slice(1, -1) for n in shape)
    full[inner] = rng.random(full[inner].shape) < filled
    octants, kappas = full.astype(np.float32), kappa * np.exp(varied * rng.standard_normal(shape)).astype(np.float32)
    for a in range(3):
        octants, kappas = np.repeat(octants, 2, axis=a), np.repeat(kappas, 2, axis=a)
    distance = [np.full([n + (a == b) for b, n in enumerate(shape)], FAR, np.float32) for a in range(3)]
    return whole_cells(strain(octants, octants * kappas, distance), full)


def dense(matrix):
    """Masses, and K as a full matrix, of the unknowns."""
    places, product = np.argwhere(matrix.inverse > 0), apply(matrix)
    mass = matrix.mass[tuple(places.T)].astype(float)
    columns, q, x = [], matrix.layout.zeros(float), matrix.layout.zeros(float)
    for at in map(tuple, places):
        x[at] = 1.0
        product(q, x)
        columns.append(q[tuple(places.T)])
        x[at] = 0.0
    return mass, np.array(columns) - np.diag(mass)


@pytest.mark.parametrize("varied", [0.0, 1.0])
@pytest.mark.parametrize("name", SMALL)
def test_the_two_parts_are_the_whole(name, varied):
    matrix = blob(name, varied=varied)
    (mass, K), (_, G), (_, X) = dense(matrix), *map(dense, halves(matrix))
    assert np.all(mass == 1)
    assert np.allclose(G + X, K, rtol=1e-6, atol=1e-6)
    assert np.allclose(K, K.T)
    assert np.linalg.eigvalsh(G - X)[0] > -1e-4  # the energy of vorticity


@pytest.mark.parametrize("varied", [0.0, 1.0])
@pytest.mark.parametrize("name", SMALL)
def test_the_stiffness_is_the_largest_eigenvalue(name, varied):
    matrix = blob(name, varied=varied)
    for part in (matrix, halves(matrix)[1]):
        largest = np.abs(np.linalg.eigvalsh(dense(part)[1])).max()
        assert largest * (1 - 1e-6) <= stiffness(part) <= 1.03 * largest


@pytest.mark.parametrize("name", WIDE)
def test_liquid_all_around_has_the_stiffness_of_its_roughest_wave(name):
    matrix, waves = blob(name, kappa=1.0, filled=1.0), WIDE[name]
    assert 0.96 * waves < stiffness(matrix) <= waves * (1 + 1e-6)
    assert 0.96 * waves / 2 < stiffness(halves(matrix)[1]) <= waves / 2 * (1 + 1e-6)


@pytest.mark.parametrize("name", SMALL)
def test_explicit_steps_are_as_few_as_are_stable(name):
    matrix = blob(name)
    mass, K = dense(matrix)
    start = matrix.layout.zeros(float)
    start[matrix.inverse > 0] = np.random.default_rng(1).standard_normal(len(mass))
    u, energy, info = start, [], None
    for _ in range(20):
        u, info = explicit(matrix, u, 0.0)
        energy.append(np.vdot(u, u))
    assert info.substeps == math.ceil(stiffness(matrix) / 2)
    assert all(late <= early * (1 + 1e-9) for early, late in itertools.pairwise(energy))
    fewer = math.floor(0.9 * info.substeps)
    x = start[matrix.inverse > 0]
    for _ in range(20 * fewer):
        x = x - K @ x / fewer
    assert np.linalg.norm(x) > 1e6 * np.linalg.norm(start)


@pytest.mark.parametrize("varied", [0.0, 1.0])
@pytest.mark.parametrize("name", SMALL)
def test_imex_does_not_blow_up_but_makes_energy_in_long_steps(name, varied):
    matrix = blob(name, varied=varied)
    (mass, G), (_, X) = map(dense, halves(matrix))
    steps, norm = math.ceil(stiffness(halves(matrix)[1]) / 2), {}
    for n in (1, steps):
        once = np.linalg.solve(np.diag(mass) + G / n, np.diag(mass) - X / n)
        assert np.abs(np.linalg.eigvals(once)).max() < 1 + 1e-6
        norm[n] = np.linalg.norm(np.linalg.matrix_power(once, n), 2)
    assert norm[steps] - 1 < 0.5 * (norm[1] - 1)
