"""Small dense matrices."""

import numpy as np
import pytest

from paddlewheel.solve.dense import inverse_of_one_and, symmetric_product


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_inverse_of_a_positive_matrix(n):
    """Its rows span ten orders, as those of bodies of very different masses do."""
    rng = np.random.default_rng(n)
    R = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-5, 5, (n, 1))
    A = np.eye(n) + R @ R.T
    found, scale = inverse_of_one_and(R @ R.T), np.sqrt(np.outer(A.diagonal(), A.diagonal()))
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose((found * scale) @ (A / scale), np.eye(n), atol=1e-8 * (1 + np.abs(found * scale).max()))


def test_only_the_lower_triangle_is_read():
    A = np.array([[2.0, np.nan, np.nan], [0.5, 3.0, np.nan], [-0.5, 1.0, 4.0]])
    whole = np.where(np.isnan(A), A.T, A)
    np.testing.assert_allclose(inverse_of_one_and(A), np.linalg.inv(np.eye(3) + whole), rtol=1e-14)


def test_what_rounding_left_below_zero_counts_as_none():
    """A push on liquid that is almost shut in is answered by so much that single precision loses all of the others."""
    rng = np.random.default_rng(3)
    R = rng.standard_normal((8, 8)) * np.append(1e4, np.ones(7))
    F = R @ R.T
    noise = 1e-7 * np.abs(F) * rng.standard_normal(F.shape)
    spoiled = F + noise + noise.T
    assert np.linalg.eigvalsh(spoiled).min() < -1
    found = inverse_of_one_and(spoiled)
    assert np.array_equal(found, found.T)
    sizes = np.linalg.eigvalsh(found)
    assert sizes.min() >= 0
    assert sizes.max() <= 1 + 1e-9
    kept = np.linalg.eigh(F)[1][:, -1]  # what is answered by most, still is
    assert kept @ found @ kept == pytest.approx(1 / (1 + kept @ F @ kept), rel=0.1, abs=1e-12)


def test_symmetric_product():
    rng = np.random.default_rng(1)
    A, x = rng.standard_normal((9, 9)), rng.standard_normal(9)
    np.testing.assert_allclose(symmetric_product(A + A.T, x), (A + A.T) @ x, rtol=1e-12)
