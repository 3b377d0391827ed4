"""The liquid's level set where no liquid is: carried into solids, so that the surface meets walls at its own angle."""

import numpy as np

from paddlewheel.grid.plane import fitted_plane, open_part, tangent_plane
from paddlewheel.grid.stencil import required, with_long_rows
from paddlewheel.kernel import kernel, prange

__all__ = ["STEEPEST", "extend", "extend_into_solids", "liquid_box"]

STEEPEST = 1.5  # |∇φ| of a signed distance is 1: a fit much steeper than that follows noise
_UNKNOWN, _SOLID = 127, 128  # layers: that of a cell that is not reached yet, and what is added in solids
_TOUCHING = 0.25  # cells by which liquid must be nearer to its surface than to a wall: the wall's distance is a mean


def extend_into_solids(phi: np.ndarray, solid: np.ndarray, h: float, layers: int = 3) -> np.ndarray:
    """φ [m] at cell centres, carried into solids of signed distance `solid` [m] at nodes, as its free surface would go.

    A body of liquid that ends at a wall has φ = 0 there, and carried on as it
    is, the wall would become a free surface. So φ is believed only in air, and
    in liquid that is nearer to the liquid's surface than to a wall; to other
    cells it is carried on from there. What is not reached that way is deep in
    the liquid and keeps its value, or is a solid cell beside such liquid, and
    counts as liquid.
    """
    whole, solid = np.array(phi, np.float32, order="C"), required(solid, np.float32)
    # Farther from liquid than the layers of a wall reach, it does not care how φ goes on.
    box = liquid_box(whole, margin=layers + 3)
    around = tuple(slice(s.start, s.stop + 1) for s in box)
    phi, solid = (np.ascontiguousarray(field) for field in (whole[box], solid[around]))
    if whole.shape[2] == 1:
        phi, solid = with_long_rows(phi), with_long_rows(solid)
    layer = np.empty(phi.shape, np.uint8)
    _believe(layer, phi, solid, _TOUCHING * h)
    _carry_on(phi, layer, layers, solid, h)
    for n in range(layers + 1, layers + 3):  # in a cut corner a centre can be more than a cell deep
        _soak(phi, layer, n, np.float32(-0.5 * h))
    whole[box] = phi.reshape([s.stop - s.start for s in box])
    return whole


def liquid_box(phi: np.ndarray, margin: int = 0, aligned: int = 1) -> tuple[slice, slice, slice]:
    """A box of cells around the liquid, φ < 0, and `margin` cells more, that begins at multiples of `aligned`.

    Of one cell if there is no liquid.
    """
    lows, highs = _liquid_ends(required(phi, np.float32))
    if highs[0] == 0:
        return (slice(0, 1),) * 3
    return tuple(
        slice(max(low - margin, 0) // aligned * aligned, min(high + margin, n))
        for low, high, n in zip(lows, highs, phi.shape, strict=True)
    )


def extend(phi: np.ndarray, known: np.ndarray, h: float, layers: int = 5) -> np.ndarray:
    """φ [m] at cell centres, float32, extrapolated linearly into the cells where `known` is False.

    Layer by layer, from the known cells outwards, each cell takes the value at
    its centre of the plane that fits the cells known so far in its 5×5×5
    neighbourhood best,

        min Σ_c d_c⁻⁴ ( φ_0 + g·x_c − φ_c )²,     |g| ≤ STEEPEST,

    with x_c the offset to cell c and d_c its length. Linear functions continue exactly;
    directions the data say nothing of are continued as constants. Cells farther
    than `layers` from known ones keep their values.  B08 §5.2 and figure 7.
    """
    phi, known = np.array(phi, np.float32, order="C"), np.asarray(known, bool)
    if phi.ndim != 3 or phi.shape != known.shape:
        raise ValueError(f"phi of shape {phi.shape}, known of shape {known.shape}: expected one value per cell in both")
    _carry_on(phi, np.where(known, 0, _UNKNOWN).astype(np.uint8), layers, np.empty((0, 0, 0), np.float32), h)
    return phi


def _carry_on(phi, layer, layers, solid, h) -> None:
    """Carry φ, in place, on from the cells of layer 0 to the UNKNOWN ones, which get the number of their layer.

    Cells in solids have _SOLID added to their number: they are reached, but nothing is fitted to them. With `solid`,
    its distance at nodes, fits keep to their side of a wall.
    """
    for n in range(1, layers + 1):
        _fit_layer(phi, layer, n, solid, h)


@kernel
def _believe(layer, phi, solid, touching):
    """Layer 0 are cells outside solids where φ is that of the free surface and not of a wall."""
    for plane in prange(phi.shape[0]):
        i = np.int64(plane)
        for j in range(phi.shape[1]):
            p, mark = phi[i, j], layer[i, j]
            a, b, c, d = solid[i, j], solid[i + 1, j], solid[i, j + 1], solid[i + 1, j + 1]
            for k in range(p.shape[0]):
                center = 0.125 * (np.float64(a[k]) + b[k] + c[k] + d[k] + a[k + 1] + b[k + 1] + c[k + 1] + d[k + 1])
                believed = (center > 0.0) & ((p[k] >= 0.0) | (-p[k] < center - touching))
                mark[k] = (_SOLID if center <= 0.0 else 0) + (0 if believed else _UNKNOWN)


@kernel
def _fit_layer(phi, layer, n, solid, h):
    """Layer n. Cells that other threads reach meanwhile have n or are unknown, neither of which is read."""
    ni, nj, nk = phi.shape
    for turn in prange(ni):
        i = _spread_out(np.int64(turn), ni)
        for j in range(nj):
            here, value = layer[i, j], phi[i, j]
            west, east = layer[max(i - 1, 0), j], layer[min(i + 1, ni - 1), j]
            below, above = layer[i, max(j - 1, 0)], layer[i, min(j + 1, nj - 1)]
            for k in range(nk):
                if here[k] & _UNKNOWN == _UNKNOWN:
                    nearest = min(west[k] & _UNKNOWN, east[k] & _UNKNOWN, below[k] & _UNKNOWN, above[k] & _UNKNOWN)
                    nearest = min(nearest, here[max(k - 1, 0)] & _UNKNOWN, here[min(k + 1, nk - 1)] & _UNKNOWN)
                    if nearest < n:
                        found = _fitted_value(phi, layer, n, solid, h, i, j, k)
                        if not np.isnan(found):
                            value[k] = found
                            here[k] = here[k] - _UNKNOWN + n


@kernel(parallel=False)
def _spread_out(turn, n):
    """One of n planes for each turn, far from the last one: those beside walls lie together, and threads share them."""
    half = (n + 1) // 2
    return 2 * turn if turn < half else 2 * (turn - half) + 1


@kernel
def _soak(phi, layer, n, value):
    """Give cells in solids that were not reached, beside liquid, a value, and the number n."""
    ni, nj, nk = phi.shape
    for plane in prange(ni):
        i = np.int64(plane)
        for j in range(nj):
            for k in range(nk):
                if layer[i, j, k] == _SOLID + _UNKNOWN and (
                    _is_wet(phi, layer, n, max(i - 1, 0), j, k)
                    or _is_wet(phi, layer, n, min(i + 1, ni - 1), j, k)
                    or _is_wet(phi, layer, n, i, max(j - 1, 0), k)
                    or _is_wet(phi, layer, n, i, min(j + 1, nj - 1), k)
                    or _is_wet(phi, layer, n, i, j, max(k - 1, 0))
                    or _is_wet(phi, layer, n, i, j, min(k + 1, nk - 1))
                ):
                    phi[i, j, k], layer[i, j, k] = value, _SOLID + n


@kernel(parallel=False)
def _is_wet(phi, layer, n, i, j, k):
    """Whether there is liquid outside solids, or where they were reached before n."""
    return phi[i, j, k] < 0.0 and layer[i, j, k] < _SOLID + n


@kernel(parallel=False)
def _fitted_value(phi, layer, n, solid, h, i, j, k):
    """Value at cell (i, j, k) of the linear fit to the cells around it of layers before n, if any, else not a number.

    If a solid is given, cells count that are seen from this one, or from what is open of it: a wall may be thin, and
    what is behind it is another matter. And those that the solid's tangent plane at (i, j, k) leaves on the open side.
    """
    wall, eye = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if solid.shape[0] > 0:
        distance, gx, gy, gz = tangent_plane(solid, i, j, k)
        slope = np.sqrt(np.float64(gx * gx + gy * gy + gz * gz))
        scale = h / slope if slope > 0.0 else 0.0  # a distance grows by h from cell to cell
        wall = (np.float64(distance), scale * gx, scale * gy, scale * gz)
        if distance <= 0.0:  # in an edge, or in a thin wall, its slope there says nothing of where it is open
            found, ex, ey, ez = open_part(solid, i, j, k)
            if found:
                wall, eye = (1.0, 0.0, 0.0, 0.0), (ex, ey, ez)
            else:
                solid = solid[:0]
    found, mean, m, g = fitted_plane(phi, layer, n, wall, solid, eye, h, i, j, k)
    if not found:
        return np.nan
    slope = np.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
    limit = min(1.0, STEEPEST * h / slope) if slope > 0.0 else 1.0
    return mean - limit * (g[0] * m[0] + g[1] * m[1] + g[2] * m[2])


@kernel(parallel=False)
def _liquid_ends(phi):
    """The first cell with liquid along each axis, and the one after the last; zeros are the latter if there is none."""
    (i0, j0, k0), (i1, j1, k1) = phi.shape, (0, 0, 0)
    for i in range(phi.shape[0]):
        for j in range(phi.shape[1]):
            row = phi[i, j]
            lowest = np.float32(0)
            for k in range(len(row)):
                lowest = min(lowest, row[k])
            if lowest < 0.0:
                i0, i1, j0, j1 = min(i0, i), i + 1, min(j0, j), max(j1, j + 1)
                for k in range(len(row)):
                    if row[k] < 0.0:
                        k0, k1 = min(k0, k), max(k1, k + 1)
    return (i0, j0, k0), (i1, j1, k1)
