"""Pressure by relaxation, cell by cell, until no full cell has a divergence.  FM96.

    D = ∇·u ,      δp = −β D ,      u_{i±½} ±= (Δt/h) δp ,      β = β₀ h²/(n Δt)

p being that per density, and n the faces of the cell that are open: 6 as in the
paper, 4 in 2-D, and fewer at walls, which do not give way. That is successive
over-relaxation of the pressure. So the sweeps go over

    D_i = b_i + Σ_f (q_i − q_nb) ,      q = Δt p/h²

which is the divergence as it would be, and the velocity is updated once, at the
end. Cells go in two colours, like a chessboard: none has a neighbour of its own
colour, so their order does not matter.

Surface cells have the pressure of the air at their centres. A surface pressure
is given as a field s at all centres, and unknown is p − s.

If it is known how far the surface is above their centres, e cells, p − s is zero
there instead, and linear between it and the centre of the full cell below, as in
SOLA-SURF (Nichols, Hirt & Hotchkiss 1980):

    q = r q_below ,      r = e/(1 + e) ,      −½ ≤ e ≤ ½
"""

import time
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.stencil import divergence
from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.regions import Regions, closed_regions
from paddlewheel.solve.system import System
from paddlewheel.types import Boundary, Faces, Grid, SolveInfo

__all__ = ["Relaxed", "relax"]

MOST_SWEEPS = 20_000


class Relaxed(NamedTuple):
    """What a relaxation leaves behind.

    velocity  [m/s] on faces, float64
    pressure  [Pa] at centres, float64: that of the air in surface cells, zero in empty ones
    info      how it went: iterations are sweeps, the residual is max|D| over that before
    lost      volume [m³] that each closed region had to lose, because its walls moved in (positive) or out
    """

    velocity: Faces
    pressure: np.ndarray
    info: SolveInfo
    lost: np.ndarray


def relax(
    grid: Grid,
    velocity: Faces,
    full: np.ndarray,
    surface: np.ndarray,
    boundary: Boundary,
    dt: float,
    *,
    density: float = 1000.0,
    surface_pressure: float | np.ndarray = 0.0,
    tolerance: float = 1e-4,
    over_relaxation: float = 1.7,
    start: np.ndarray | None = None,
    head: np.ndarray | None = None,
    gain: np.ndarray | None = None,
) -> Relaxed:
    """Take the divergence from full cells: it ends up below `tolerance` × the largest there was before.

    velocity is that after forces acted, with the solids' on closed faces; full and surface are cells, bool; start is a
    pressure [Pa] to begin from, such as the last step's; head, if known, how far the surface is above each centre [m];
    gain the divergence [1/s] that cells should have instead of none. Open faces are those with w > 0.
    """
    began = time.perf_counter()
    liquid = full | surface
    inside = _between(liquid, boundary.open)
    air = np.broadcast_to(np.asarray(surface_pressure, float), grid.shape) / density
    velocity = Faces(*(np.array(u, np.float64) for u in velocity))
    _press(velocity, air, inside, dt / grid.h)

    whole = Faces(*(np.ones(u.shape, np.float32) for u in velocity))
    b = divergence(velocity, whole, grid.h)
    if gain is not None:
        b -= gain
    bits, cells, reds = _unknowns(full, boundary.open)
    regions = _closed(full, surface, bits, boundary.open)
    lost = np.empty(0)
    if regions is not None:
        lost = -regions.means(b) * regions.cells * grid.h**3 * dt
        b = regions.centred(b)

    q = np.zeros([n + 2 for n in grid.shape])
    within = (slice(1, -1),) * 3
    scale = dt / grid.h**2
    if start is not None:
        q[within] = np.where(full, scale * (np.asarray(start, float) / density - air), 0.0)
        if regions is not None:  # rounding of a constant may be more than what is wanted
            q[within] = regions.centred(q[within])
    before = float(np.abs(b.reshape(-1)[cells]).max(initial=0.0))
    part = _part_of_below(full, surface, boundary.open, head, grid.h)
    sweeps, after = _relaxed(q, cells, reds, bits, b, part, tolerance * before, over_relaxation)
    q = np.where(full | (part != 0), q[within], 0.0)
    if regions is not None:
        q = regions.centred(q)

    _press(velocity, q, inside, grid.h)
    pressure = density * np.where(liquid, q / scale + air, 0.0)
    residual = after / before if before > 0.0 else 0.0
    seconds = time.perf_counter() - began
    info = SolveInfo("pressure", len(cells), sweeps, residual, seconds, residual <= tolerance)
    return Relaxed(velocity, pressure, info, lost)


def _between(liquid, open) -> Faces:
    """Open faces with liquid on both sides, bool."""
    out = []
    for a, w in enumerate(open):
        both = np.zeros(w.shape, np.bool_)
        low, high, inner = (
            tuple(s if axis == a else slice(None) for axis in range(3))
            for s in (slice(-1), slice(1, None), slice(1, -1))
        )
        both[inner] = liquid[low] & liquid[high] & (w[inner] > 0)
        out.append(both)
    return Faces(*out)


def _press(velocity, p, inside, scale) -> None:
    """u −= scale × the differences of p on the faces inside the liquid, in place."""
    for a in range(3):
        inner = tuple(slice(1, -1) if axis == a else slice(None) for axis in range(3))
        velocity[a][inner] -= scale * np.where(inside[a][inner], np.diff(p, axis=a), 0.0)


def _unknowns(full, open) -> tuple[np.ndarray, np.ndarray, int]:
    """The open faces of each cell as bits, the full cells with any, red ones first, and how many are red."""
    bits = np.zeros(full.shape, np.uint8)
    for a, w in enumerate(open):
        low, high = (tuple(s if axis == a else slice(None) for axis in range(3)) for s in (slice(-1), slice(1, None)))
        bits |= (w[low] > 0).astype(np.uint8) << np.uint8(2 * a) | (w[high] > 0).astype(np.uint8) << np.uint8(2 * a + 1)
    cells = np.flatnonzero(full & (bits > 0))
    black = np.sum(np.unravel_index(cells, full.shape), axis=0) % 2 == 1
    return bits, np.concatenate([cells[~black], cells[black]]), int(np.count_nonzero(~black))


def _closed(full, surface, bits, open) -> Regions | None:
    """The regions of full cells that no surface cell is beside."""
    coupling = Faces(*(both.astype(np.float32) for both in _between(full, open)))
    tied = _between(full | surface, open)
    extra = np.zeros(full.shape)
    for a in range(3):
        low, high = (tuple(s if axis == a else slice(None) for axis in range(3)) for s in (slice(-1), slice(1, None)))
        to_air = tied[a] & (coupling[a] == 0)
        extra += to_air[low].astype(float) + to_air[high]
    return closed_regions(System(coupling, np.where(full, extra, 0.0), np.zeros(full.shape), full & (bits > 0)))


def _part_of_below(full, surface, open, head, h) -> np.ndarray:
    """r of the surface cells with a full one below, whose surface is known; zero elsewhere."""
    part = np.zeros(full.shape)
    if head is not None:
        part[:, 1:] = np.where(surface[:, 1:] & full[:, :-1] & (open.y[:, 1:-1] > 0), head[:, 1:] / h, 0.0)
        part = np.clip(part, -0.5, 0.5)
        part /= 1 + part
    return part


def _relaxed(q, cells, reds, bits, b, part, enough, over_relaxation) -> tuple[int, float]:
    """Sweep over q until max|D| is no more than `enough`; how many sweeps it took, and what is left of it."""
    if not len(cells):
        return 0, 0.0
    _, ny, nz = b.shape
    strides = (ny + 2) * (nz + 2), nz + 2, 1

    def padded(cells):
        i, j, k = np.unravel_index(cells, b.shape)
        return ((i + 1) * strides[0] + (j + 1) * strides[1] + k + 1).astype(np.int64)

    tied = np.flatnonzero(part)
    above = np.zeros(b.shape)  # r of the cell above
    above[:, :-1] = part[:, 1:]
    tie = padded(tied), part.reshape(-1)[tied]
    parts = (
        q.reshape(-1), padded(cells), reds, bits.reshape(-1)[cells], b.reshape(-1)[cells], above.reshape(-1)[cells],
        tie, strides,
    )  # fmt: skip
    _follow(parts[0], tie, strides)
    sweeps, left = 0, _residual(*parts)
    while left > enough and sweeps < MOST_SWEEPS:
        sweeps += _sweep(*parts, enough, over_relaxation, MOST_SWEEPS - sweeps)
        left = _residual(*parts)
    return sweeps, left


@kernel(parallel=False)
def _divergence_at(q, c, bits, b, strides):
    """D of a cell, and how many of its faces are open."""
    total, count = 0.0, 0
    for a in range(3):
        stride = strides[a]
        if bits >> (2 * a) & 1:
            total += q[c - stride]
            count += 1
        if bits >> (2 * a) & 2:
            total += q[c + stride]
            count += 1
    return b + count * q[c] - total, count


@kernel(parallel=False)
def _follow(q, tie, strides):
    """Give surface cells the part they have of the cell below."""
    tied, part = tie
    for n in range(len(tied)):
        q[tied[n]] = part[n] * q[tied[n] - strides[1]]


@kernel
def _sweep(q, cells, reds, bits, b, above, tie, strides, enough, over_relaxation, most):
    """Sweeps until one sees no divergence that is more than `enough`, but at most so many; how many they were."""
    for sweep in range(most):
        worst = 0.0
        for colour in range(2):
            begin, end = (reds, len(cells)) if colour else (0, reds)
            seen = 0.0
            for n in prange(begin, end):
                D, count = _divergence_at(q, cells[n], bits[n], b[n], strides)
                q[cells[n]] -= over_relaxation * D / (count - above[n])
                seen = max(seen, abs(D))
            worst = max(worst, seen)
            _follow(q, tie, strides)
        if worst <= enough:
            return sweep + 1
    return most


@kernel
def _residual(q, cells, reds, bits, b, above, tie, strides):
    worst = 0.0
    for n in prange(len(cells)):
        D, _ = _divergence_at(q, cells[n], bits[n], b[n], strides)
        worst = max(worst, abs(D))
    return worst
