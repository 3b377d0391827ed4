"""Small dense matrices, without the threads of BLAS: they spin on for a while and hold up the kernels that follow."""

import numpy as np

from paddlewheel.kernel import kernel


def inverse(matrix: np.ndarray) -> np.ndarray:
    """That of a symmetric positive matrix, of which only the lower triangle is read.

    By sweeping one pivot after another. In place, on half of the matrix, this is as much arithmetic as a factor and
    its inverse, and all of it runs along rows.
    """
    out = np.array(matrix, np.float64)
    _invert(out)
    return out


@kernel(parallel=False)
def _invert(A):
    """With pivot k,  A_ij − A_ik A_kj / A_kk,  A_ik / A_kk  and  −1 / A_kk; after all of them it is −A⁻¹."""
    n = len(A)
    row = np.empty(n)
    for k in range(n):
        row[: k + 1], row[k + 1 :] = A[k, : k + 1], A[k + 1 :, k]
        pivot = 1.0 / A[k, k]
        for i in range(n):
            _subtract(A[i, : i + 1], pivot * row[i], row)
        A[k, :k], A[k, k], A[k + 1 :, k] = pivot * row[:k], -pivot, pivot * row[k + 1 :]
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[j, i] = -A[i, j]


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
