"""Quadratic programs with a bound, for any matrix that is symmetric and positive.

Modified proportioning with reduced gradient projections (Dostál & Schöberl
2005, "Minimizing quadratic functions subject to bound constraints with the rate
of convergence and finite termination"), preconditioned in the face, and scaled
by the diagonal d. With g = A x − b, the cells at the bound held and all others
free, an iteration is one of three:

    conjugate gradients     over the free cells, if that leaves none below the bound
    expansion               as far as that goes, and on along the gradient, projected onto the bound
    proportioning           to let go held cells with g < 0, when they are what is wrong
"""

from collections.abc import Callable

import numpy as np

from paddlewheel.solve.packed import Packed

_POWER = 15  # iterations to estimate the largest eigenvalue: enough to know it within a factor of two


def mprgp(
    packed: Packed,
    x: np.ndarray,
    bounded: np.ndarray,
    apply: Callable[[np.ndarray, np.ndarray], float],
    precondition: Callable[[np.ndarray, np.ndarray], None],
    enough: float,
    iterations: int,
) -> int:
    """Improve x, which is not negative at the bounded places, in place, until what is wrong is at most `enough`.

    `apply` and `precondition` are those of conjugate gradients. Returns the iterations it took.
    """
    layout = packed.layout
    b, diagonal = packed.rhs.reshape(-1), packed.diagonal.reshape(-1)
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
    flat, has_bound = x.reshape(-1), np.zeros(x.size, np.bool_)
    has_bound[bounded] = True
    r32, z32 = layout.zeros(np.float32), layout.zeros(np.float32)
    out = layout.zeros(np.float64)

    def times(v):
        apply(out, v.reshape(x.shape))
        return np.where(diagonal > 0.0, out.reshape(-1), 0.0)

    def face(gradient, free):
        r32.reshape(-1)[:] = gradient
        precondition(z32, r32)
        return np.where(free, z32.reshape(-1), 0.0).astype(np.float64)

    step = 1.0 / _largest_eigenvalue(times, inverse)
    g = times(flat) - b
    p = None
    for count in range(iterations):
        free = ~has_bound | (flat > 0.0)
        gradient, chopped = np.where(free, g, 0.0), np.where(free, 0.0, np.minimum(g, 0.0))
        if max(np.abs(gradient).max(), -chopped.min()) <= enough:
            return count
        reduced = np.where(has_bound & free, np.minimum(flat * diagonal / step, gradient), gradient)
        if (chopped * chopped * inverse).sum() > (reduced * gradient * inverse).sum():
            d = chopped * inverse
            q = times(d)
            alpha = (g @ d) / (d @ q)
            flat -= alpha * d
            g -= alpha * q
            p = None
            continue
        z = face(gradient, free)
        p = z if p is None else z - (z @ q) / (p @ q) * p
        q = times(p)
        alpha = (gradient @ p) / (p @ q)
        toward = has_bound & (p > 0.0)
        most = (flat[toward] / p[toward]).min(initial=np.inf)
        way = min(alpha, most)
        flat -= way * p
        g -= way * q
        flat[bounded] = np.maximum(flat[bounded], 0.0)  # rounding may have gone below
        if alpha > most:
            free = ~has_bound | (flat > 0.0)
            flat -= step * inverse * np.where(free, g, 0.0)
            flat[bounded] = np.maximum(flat[bounded], 0.0)
            g = times(flat) - b
            p = None
    return iterations


def _largest_eigenvalue(times, inverse) -> float:
    """Of the matrix scaled by its diagonal, at least half of it, by the power method."""
    v = np.where(inverse > 0.0, 1.0 + 0.5 * np.sin(np.arange(len(inverse))), 0.0)
    size = 1.0
    for _ in range(_POWER):
        v = inverse * times(v)
        size = np.sqrt((v * v).sum())
        v /= size
    return max(float(size), 2.0)
