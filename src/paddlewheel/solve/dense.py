"""Small dense matrices, without the threads of BLAS: they spin on for a while and hold up the kernels that follow."""

import numpy as np

from paddlewheel.kernel import kernel

_LEAST_PIVOT = 0.9  # which rounding may leave of one


def inverse_of_one_and(matrix: np.ndarray) -> np.ndarray:
    """(1 + F)⁻¹ of a symmetric F ≥ 0, of which only the lower triangle is read.

    By sweeping one pivot after another. In place, on half of the matrix, this is as much arithmetic as a factor and
    its inverse, and all of it runs along rows. No pivot is less than one, unless what rounding left of F is negative
    for some vectors: then that part of it is taken for none.
    """
    out = np.array(matrix, np.float64)
    if not _invert(out):
        sizes, vectors = np.linalg.eigh(matrix)
        out = (vectors / (1.0 + np.maximum(sizes, 0.0))) @ vectors.T
        out = 0.5 * (out + out.T)
    return out


@kernel(parallel=False)
def _invert(A):
    """With pivot k of 1 + A,  A_ij − A_ik A_kj / A_kk,  A_ik / A_kk  and  −1 / A_kk; in the end it is −(1 + A)⁻¹.

    Whether all pivots were as large as they should be; if not, A is spoiled.
    """
    n = len(A)
    row = np.empty(n)
    for k in range(n):
        A[k, k] += 1.0
    for k in range(n):
        if not A[k, k] > _LEAST_PIVOT:
            return False
        row[: k + 1], row[k + 1 :] = A[k, : k + 1], A[k + 1 :, k]
        pivot = 1.0 / A[k, k]
        for i in range(n):
            _subtract(A[i, : i + 1], pivot * row[i], row)
        A[k, :k], A[k, k], A[k + 1 :, k] = pivot * row[:k], -pivot, pivot * row[k + 1 :]
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[j, i] = -A[i, j]
    return True


@kernel(parallel=False)
def _subtract(out, factor, row):
    for j in range(len(out)):
        out[j] -= factor * row[j]


@kernel(parallel=False)
def symmetric_product(matrix, vector):
    """The product of a symmetric matrix and a vector, as a sum of rows: sums along them would wait for themselves."""
    out = np.zeros(len(vector))
    for i in range(len(vector)):
        _subtract(out, -vector[i], matrix[i])
    return out
