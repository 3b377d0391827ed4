"""The liquid's level set where no liquid is: carried into solids, so that the surface meets walls at its own angle."""

import numpy as np

from paddlewheel.grid.plane import fitted_plane, tangent_plane
from paddlewheel.grid.stencil import required, with_rows, without_rows
from paddlewheel.kernel import kernel, prange

__all__ = ["STEEPEST", "extend", "extend_into_solids", "liquid_box"]

STEEPEST = 1.5  # |∇φ| of a signed distance is 1: a fit much steeper than that follows noise
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
    phi = np.ascontiguousarray(whole[box])
    solid = np.ascontiguousarray(solid[tuple(slice(s.start, s.stop + 1) for s in box)])
    outside, believed = np.empty(phi.shape, np.bool_), np.empty(phi.shape, np.bool_)
    _believe(outside, believed, phi, solid, _TOUCHING * h)
    extended, reached = _extended(phi, believed, h, layers, solid, outside)
    wet = (outside | reached) & (extended < 0)
    for _ in range(2):  # in a cut corner a centre can be more than a cell deep
        front = _beside(wet) & ~outside & ~reached
        extended[front] = -0.5 * h
        wet |= front
    whole[box] = extended
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
    phi, known = np.array(phi, np.float32, order="C"), np.array(known, bool, order="C")
    if phi.ndim != 3 or phi.shape != known.shape:
        raise ValueError(f"phi of shape {phi.shape}, known of shape {known.shape}: expected one value per cell in both")
    return _extended(phi, known, h, layers, np.empty((0, 0, 0), np.float32), np.array(True))[0]


def _extended(phi, known, h, layers, solid, source) -> tuple[np.ndarray, np.ndarray]:
    """φ carried into the cells that are not known, and the cells where it is known then.

    Fits are to cells of `source` only. With `solid`, its distance at nodes, they keep to their side of a wall.
    """
    phi, known = phi.copy(), known.copy()
    for _ in range(layers):
        cells = np.flatnonzero(_beside(known))
        if len(cells) == 0:
            break
        values = np.empty(len(cells), np.float32)
        _fit(values, cells, phi, (~(known & source)).view(np.uint8), solid, h)
        found = ~np.isnan(values)
        phi.reshape(-1)[cells[found]] = values[found]
        known.reshape(-1)[cells[found]] = True
    return phi, known


def _beside(known: np.ndarray) -> np.ndarray:
    """Unknown cells that share a face with a known one."""
    rows = with_rows(known)
    beside = np.empty_like(rows)
    _mark_beside(beside, rows)
    return without_rows(beside, known.shape)


@kernel
def _mark_beside(beside, known):
    ni, nj, nk = known.shape
    for plane in prange(ni):
        i = np.int64(plane)
        for j in range(nj):
            out, here = beside[i, j], known[i, j]
            below_i, above_i = known[max(i - 1, 0), j], known[min(i + 1, ni - 1), j]
            below_j, above_j = known[i, max(j - 1, 0)], known[i, min(j + 1, nj - 1)]
            for k in range(nk):
                out[k] = below_i[k] | above_i[k] | below_j[k] | above_j[k]
            before, after = out[1:], here[1:]
            for k in range(nk - 1):
                before[k] |= here[k]
            for k in range(nk - 1):
                out[k] |= after[k]
            for k in range(nk):
                out[k] &= not here[k]


@kernel
def _believe(outside, believed, phi, solid, touching):
    """Cells whose centre is in no solid; those of them where φ is that of the free surface and not of a wall."""
    for plane in prange(phi.shape[0]):
        i = np.int64(plane)
        for j in range(phi.shape[1]):
            p, out, yes = phi[i, j], outside[i, j], believed[i, j]
            a, b, c, d = solid[i, j], solid[i + 1, j], solid[i, j + 1], solid[i + 1, j + 1]
            for k in range(p.shape[0]):
                center = 0.125 * (np.float64(a[k]) + b[k] + c[k] + d[k] + a[k + 1] + b[k + 1] + c[k + 1] + d[k + 1])
                out[k] = center > 0.0
                yes[k] = center > 0.0 and (p[k] >= 0.0 or -p[k] < center - touching)


@kernel
def _fit(values, cells, phi, layer, solid, h):
    ny, nz = phi.shape[1], phi.shape[2]
    for n in prange(len(cells)):
        cell = np.int64(cells[n])
        values[n] = _fitted_value(phi, layer, solid, h, cell // (ny * nz), cell // nz % ny, cell % nz)


@kernel(parallel=False)
def _fitted_value(phi, layer, solid, h, i, j, k):
    """Value at cell (i, j, k) of the linear fit to the cells around it with layer 0, not a number if there is none.

    If a solid is given, cells count that its tangent plane at (i, j, k) leaves on the open side: a wall may be thin,
    and what is behind it is another matter.
    """
    wall = (1.0, 0.0, 0.0, 0.0)
    if solid.shape[0] > 0:
        distance, gx, gy, gz = tangent_plane(solid, i, j, k)
        slope = np.sqrt(np.float64(gx * gx + gy * gy + gz * gz))
        scale = h / slope if slope > 0.0 else 0.0  # a distance grows by h from cell to cell
        wall = (np.float64(distance), scale * gx, scale * gy, scale * gz)
    found, mean, m, g = fitted_plane(phi, layer, 1, wall, i, j, k)
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
