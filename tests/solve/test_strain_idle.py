"""Strains that faces without mass undo: left out, the liquid moves as it does with them."""

import numpy as np
import pytest

from paddlewheel.solve.strain import LEAST_MASS, apply, strain
from paddlewheel.solve.strain_idle import without_idle

FAR = 1e3


def far_walls(shape):
    return [np.full([n + (a == b) for b, n in enumerate(shape)], FAR, np.float32) for a in range(3)]


def droplets(shape, seed):
    """Octants of which most are empty, so that many faces beside the others have no mass."""
    random = np.random.default_rng(seed)
    size = [2 * n for n in shape]
    filled = np.where(random.uniform(size=size) < 0.15, random.uniform(0.1, 1, size), 0)
    for axis in range(3):
        if shape[axis] > 1:
            view = np.moveaxis(filled, axis, 0)
            view[:4] = view[-4:] = 0
    if shape[0] == 1:
        filled[1] = filled[0]
    return filled.astype(np.float32)


def felt(matrix, where):
    """The matrix of the faces `where`, the others being as they like best."""
    product, q, n = apply(matrix), matrix.layout.zeros(np.float64), matrix.inverse.size
    dense = np.zeros((n, n))
    for at in np.flatnonzero(matrix.inverse):
        x = matrix.layout.zeros(np.float64)
        x.flat[at] = 1
        product(q, x)
        dense[at] = q.ravel()
    one, other = np.flatnonzero(where), np.flatnonzero((matrix.inverse > 0) & ~where)
    between = dense[np.ix_(one, other)]
    return dense[np.ix_(one, one)] - between @ np.linalg.pinv(dense[np.ix_(other, other)], rcond=1e-6) @ between.T


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(6, 6, 6), (1, 9, 8)])
def test_faces_with_mass_feel_the_same(shape, seed):
    filled = droplets(shape, seed)
    matrix = strain(filled, 3 * filled, far_walls(shape))
    found = without_idle(matrix)
    assert found.unknowns < 0.9 * matrix.unknowns
    heavy = matrix.mass > LEAST_MASS
    assert np.all((found.inverse > 0)[heavy])
    with_all, without = felt(matrix, heavy), felt(found, heavy)
    np.testing.assert_allclose(without, with_all, atol=2e-5 * np.abs(with_all).max())
