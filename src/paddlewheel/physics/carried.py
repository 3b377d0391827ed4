"""What the flow carries on the grid: smoke and heat at centres, velocity on faces.

Along a path of the flow a carried q stays what it is, q(x, t + Δt) = q(x*, t),
where x* is the foot of the path that ends at x, found by Runge–Kutta through
the field of one step. Steps may be many cells long. Two schemes:

    semi-lagrangian   q̂ = A q: the trilinear value at the foot. First order, and smears
    maccormack        q̂ + ½ (q − A⁻¹ q̂), kept between the lowest and the highest sample about the foot

A⁻¹ carries q̂ back along the flow: what then is missing has been lost twice, so
half of it is added (Selle et al. 2008). BFECC, which carries the mended field
once more, is of second order too, but it goes three times through the flow
where this goes twice, and what is mended before the last step cannot be kept
between samples about a foot. Kept so, no value arises that was not there.

Only open samples are read. The weights of those in solids are shared out among
the others, and a path ends where it meets a solid: no smoke comes out of one,
or goes through a wall that has a cell's centre inside. Where samples are
lacking, beside solids and open sides, the second scheme is the first.

Fields are framed by a layer of samples beyond the sides: the ambient value
beyond an open one, what is inside beyond a closed one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.cells import open_cells
from paddlewheel.grid.sample import face_value, node_value
from paddlewheel.grid.stencil import as_faces
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import AXES, SIDES, Boundary, Faces, Grid

__all__ = ["SCHEMES", "carried", "carried_faces"]

SCHEMES = ("semi-lagrangian", "maccormack")
_STRIDE = 0.25  # cells a path goes at a time beside a solid, at least
_HAIR = 1e-3  # cells a path keeps from a solid; in a wall one cell thick φ may be 0 throughout
_ROUND = 0.5 * np.sqrt(3.0)  # cells from a centre or a face to one of its nodes, at most


class _Samples(NamedTuple):
    """The samples of a field at one time, framed, and the solids among them.

    known  (n + 2): those that may be read
    whole  (n + 1): whether all eight from here to the next are known, and are in the domain or beside a closed side
    phi    signed distance to solids at nodes [m]
    """

    known: np.ndarray
    whole: np.ndarray
    phi: np.ndarray


def carried(
    grid: Grid,
    fields: Sequence[np.ndarray],
    flow: Faces,
    boundary: Boundary,
    dt: float,
    *,
    before: Boundary | None = None,
    ambient: Sequence[float] = (0.0,),
    open_sides=frozenset(),
    scheme: str = "maccormack",
    stages: int = 2,
) -> tuple[np.ndarray, ...]:
    """Fields at centres, float32, after dt [s] in a flow [m/s] that is known on all faces, also in solids.

    Each has its ambient value, which comes in through open sides and is left in
    cells whose centre is in a solid. If solids move, `before` is where they were
    when the fields were as given. `stages` of Runge–Kutta are 2 or 3.
    """
    flow, before = _checked(grid, flow, boundary, before, dt, open_sides, scheme, stages)
    if len(fields) != len(ambient) or any(np.shape(q) != grid.shape for q in fields):
        shapes = ", ".join(str(np.shape(q)) for q in fields)
        raise ValueError(f"fields of shapes {shapes}, {len(ambient)} ambient values: expected {grid.shape}, one each")
    wanted = open_cells(boundary.phi)
    old = _samples(open_cells(before.phi), before.phi, open_sides)
    new = old if before is boundary else _samples(wanted, boundary.phi, open_sides)
    framed = np.stack([_framed(q, value, open_sides) for q, value in zip(fields, ambient, strict=True)])
    out = _carried(framed, wanted, old, new, flow, -1, dt / grid.h, grid.h, scheme, stages)
    for q, value in zip(out, ambient, strict=True):
        _inner(q)[~wanted] = value
        _fill_gaps(_inner(q), wanted, value)
    return tuple(np.ascontiguousarray(_inner(q)) for q in out)


def carried_faces(
    grid: Grid,
    velocity: Faces,
    flow: Faces,
    boundary: Boundary,
    dt: float,
    *,
    before: Boundary | None = None,
    ambient: Sequence[float] | None = None,
    open_sides=frozenset(),
    scheme: str = "maccormack",
    stages: int = 2,
) -> Faces:
    """Velocity [m/s], float32, after dt [s] in a flow, which may be the velocity itself.

    Faces with w > 0 are read, before, and written, now; others keep their
    velocity. Through open sides comes the ambient velocity if it is given, else
    what is at the side. The rest is as for `carried`.
    """
    flow, before = _checked(grid, flow, boundary, before, dt, open_sides, scheme, stages)
    velocity = as_faces(velocity, np.float32)
    if velocity.x.shape != grid.face_shape(0):
        raise ValueError(f"velocity.x has shape {velocity.x.shape}: expected {grid.face_shape(0)}")
    sides = frozenset() if ambient is None else open_sides
    result = []
    for a, u in enumerate(velocity):
        wanted, value = boundary.open[a] > 0, 0.0 if ambient is None else ambient[a]
        old = _samples(before.open[a] > 0, before.phi, sides)
        new = old if before is boundary else _samples(wanted, boundary.phi, sides)
        framed = _framed(u, value, sides)[None]
        out = _carried(framed, wanted, old, new, flow, a, dt / grid.h, grid.h, scheme, stages)
        u = np.where(wanted, _inner(out[0]), u)
        _fill_gaps(u, wanted, value)
        result.append(u)
    return Faces(*result)


def _checked(grid, flow, boundary, before, dt, open_sides, scheme, stages) -> tuple[Faces, Boundary]:
    if not isinstance(dt, int | float | np.number) or not (np.isfinite(dt) and dt >= 0):
        raise ValueError(f"dt={dt!r}: expected a time in seconds")
    if scheme not in SCHEMES or stages not in (2, 3):
        raise ValueError(f"scheme={scheme!r}, stages={stages!r}: expected one of {', '.join(SCHEMES)}, and 2 or 3")
    if isinstance(open_sides, str) or set(open_sides) - set(SIDES):
        raise ValueError(f"open_sides={open_sides!r}: expected a set of {', '.join(SIDES)}")
    before = boundary if before is None else before
    for solids in (boundary, before):
        if solids.phi.shape != grid.node_shape:
            raise ValueError(f"boundary was measured on another grid: {solids.phi.shape} nodes, not {grid.node_shape}")
    flow = as_faces(flow, np.float32)
    if flow.x.shape != grid.face_shape(0):
        raise ValueError(f"flow.x has shape {flow.x.shape}: expected {grid.face_shape(0)}")
    if not all(np.isfinite(u).all() for u in flow):
        raise ValueError("the flow has velocities that are not finite")
    return flow, before


def _samples(known, phi, open_sides) -> _Samples:
    whole = _framed(known, False, open_sides)
    for axis in range(3):
        below, above = ([slice(None)] * 3 for _ in range(2))
        below[axis], above[axis] = slice(-1), slice(1, None)
        whole = whole[tuple(below)] & whole[tuple(above)]
    return _Samples(_framed(known, True, open_sides), whole, np.require(phi, np.float32, "CAW"))


def _framed(field, beyond, open_sides) -> np.ndarray:
    """A field with a layer more at each side: one value beyond open sides, that of the side beyond closed ones."""
    out = np.empty([n + 2 for n in field.shape], np.bool_ if field.dtype == bool else np.float32)
    _inner(out)[:] = field
    for a, axis in enumerate(AXES):
        for side, (layer, next_to) in {"-": (0, 1), "+": (-1, -2)}.items():
            at, inside = ([slice(None)] * 3 for _ in range(2))
            at[a], inside[a] = layer, next_to
            out[tuple(at)] = beyond if side + axis in open_sides else out[tuple(inside)]
    return out


def _inner(framed) -> np.ndarray:
    return framed[1:-1, 1:-1, 1:-1]


def _carried(framed, wanted, old, new, flow, axis, scale, h, scheme, stages) -> np.ndarray:
    """Framed fields (m, …) carried on; the samples that are not wanted are left as they were."""
    second = scheme == "maccormack"
    way = np.empty((3, *wanted.shape), np.float32)
    low = np.empty((len(framed), *wanted.shape) if second else (0, 0, 0, 0), np.float32)
    high = np.empty_like(low)
    ahead = framed.copy()
    _trace_back(way, wanted, flow, axis, old.phi, scale, 1.0 / h, stages)
    _bring(ahead, low, high, framed, wanted, way, old.known, old.whole)
    if not second:
        return ahead
    out = ahead.copy()
    _mend(out, ahead, low, high, framed, wanted & _inner(old.known), way, new, flow, axis, scale, 1.0 / h)
    return out


def _fill_gaps(field, wanted, value) -> None:
    """Give wanted samples with no open one about their foot, which are NaN, the mean of those beside them, in place.

    They were uncovered by a solid that moved faster than the flow. What no other reaches gets the value given.
    """
    gaps = np.argwhere(wanted & np.isnan(field))
    while len(gaps):
        total, count = np.zeros(len(gaps)), np.zeros(len(gaps), int)
        for step in (*np.eye(3, dtype=int), *-np.eye(3, dtype=int)):
            beside = tuple(np.clip(gaps + step, 0, np.array(field.shape) - 1).T)
            found = wanted[beside] & ~np.isnan(field[beside])
            total[found] += field[beside][found]
            count += found
        reached = count > 0 if count.any() else np.full(len(gaps), True)
        field[tuple(gaps[reached].T)] = np.where(count > 0, total / np.maximum(count, 1), value)[reached]
        gaps = gaps[~reached]


@kernel
def _trace_back(way, wanted, flow, axis, phi, scale, per_h, stages):
    """The way [cells] from each wanted sample to the foot of its path; scale is the step over h."""
    for plane in prange(wanted.shape[0]):
        i = np.int64(plane)
        for j in range(wanted.shape[1]):
            for k in range(wanted.shape[2]):
                if wanted[i, j, k]:
                    dx, dy, dz = _way(flow, axis, i, j, k, -scale, stages)
                    part = _free_part(phi, per_h, axis, i, j, k, dx, dy, dz)
                    way[0, i, j, k], way[1, i, j, k], way[2, i, j, k] = part * dx, part * dy, part * dz


@kernel
def _bring(out, low, high, fields, wanted, way, known, whole):
    """Give wanted samples the fields' values at the foot of their path and, if asked for, the range of them there."""
    for plane in prange(wanted.shape[0]):
        i = np.int64(plane)
        for j in range(wanted.shape[1]):
            for k in range(wanted.shape[2]):
                if wanted[i, j, k]:
                    at = _place(wanted.shape, i, j, k, way[0, i, j, k], way[1, i, j, k], way[2, i, j, k])
                    for n in range(len(fields)):
                        value, lowest, highest = _value(fields[n], known, whole, at)
                        out[n, i + 1, j + 1, k + 1] = value
                        if len(low) > 0:
                            low[n, i, j, k], high[n, i, j, k] = lowest, highest


@kernel
def _mend(out, ahead, low, high, fields, wanted, way, samples, flow, axis, scale, per_h):
    """Add half of what is missing if the fields carried ahead are carried back to where they came from.

    That way is  Δt u + ½ Δt² (u·∇) u  where the one to the foot is  −Δt u + ½ Δt² (u·∇) u, and so 2 Δt u more than it,
    to the order of the scheme.
    """
    for plane in prange(wanted.shape[0]):
        i = np.int64(plane)
        for j in range(wanted.shape[1]):
            for k in range(wanted.shape[2]):
                if wanted[i, j, k]:
                    u, v, w = _velocity_at(flow, axis, i, j, k, 2.0 * scale)
                    dx, dy, dz = u + way[0, i, j, k], v + way[1, i, j, k], w + way[2, i, j, k]
                    at = _place(wanted.shape, i, j, k, dx, dy, dz)
                    part = _free_part(samples.phi, per_h, axis, i, j, k, dx, dy, dz)
                    if part == 1.0 and samples.whole[at[0], at[1], at[2]]:
                        for n in range(len(fields)):
                            back = _value(ahead[n], samples.known, samples.whole, at)[0]
                            there = ahead[n, i + 1, j + 1, k + 1]
                            mended = there + np.float32(0.5) * (fields[n, i + 1, j + 1, k + 1] - back)
                            out[n, i + 1, j + 1, k + 1] = min(max(mended, low[n, i, j, k]), high[n, i, j, k])


@kernel(parallel=False)
def _way(flow, axis, i, j, k, scale, stages):
    """The way [cells] that a sample goes in a step, by the midpoint rule or by Ralston's three stages."""
    x, y, z = _point(axis, i, j, k)
    u, v, w = _velocity_at(flow, axis, i, j, k, scale)
    u2, v2, w2 = _velocity(flow, x + 0.5 * u, y + 0.5 * v, z + 0.5 * w, scale)
    if stages == 2:
        return u2, v2, w2
    u3, v3, w3 = _velocity(flow, x + 0.75 * u2, y + 0.75 * v2, z + 0.75 * w2, scale)
    return (2 * u + 3 * u2 + 4 * u3) / 9, (2 * v + 3 * v2 + 4 * v3) / 9, (2 * w + 3 * w2 + 4 * w3) / 9


@kernel(parallel=False)
def _point(axis, i, j, k):
    """Where a sample on the faces of an axis is, or a centre for axis −1 [cells]."""
    return i + 0.5 * (axis != 0), j + 0.5 * (axis != 1), k + 0.5 * (axis != 2)


@kernel(parallel=False)
def _velocity(flow, x, y, z, scale):
    return (
        scale * face_value(flow[0], 0, x, y, z),
        scale * face_value(flow[1], 1, x, y, z),
        scale * face_value(flow[2], 2, x, y, z),
    )


@kernel(parallel=False)
def _velocity_at(flow, axis, i, j, k, scale):
    """The same at a sample."""
    return (
        scale * _mean_at(flow[0], 0, axis, i, j, k),
        scale * _mean_at(flow[1], 1, axis, i, j, k),
        scale * _mean_at(flow[2], 2, axis, i, j, k),
    )


@kernel(parallel=False)
def _mean_at(u, b, axis, i, j, k):
    """Component b at a sample: there, or the mean of the faces on both sides along b, and along the sample's axis."""
    if b == axis:
        return u[i, j, k]
    di, dj, dk = int(b == 0), int(b == 1), int(b == 2)
    i0, j0, k0 = max(i - (axis == 0), 0), max(j - (axis == 1), 0), max(k - (axis == 2), 0)
    i1, j1, k1 = min(i, u.shape[0] - 1), min(j, u.shape[1] - 1), min(k, u.shape[2] - 1)
    before, after = u[i0, j0, k0] + u[i0 + di, j0 + dj, k0 + dk], u[i1, j1, k1] + u[i1 + di, j1 + dj, k1 + dk]
    return np.float32(0.25) * (before + after)


@kernel(parallel=False)
def _free_part(phi, per_h, axis, i, j, k, dx, dy, dz):
    """The part of a sample's way before it goes into a solid; one that begins inside may first come out."""
    length2 = dx * dx + dy * dy + dz * dz
    away = per_h * phi[i, j, k] - _ROUND - _HAIR
    if away > 0.0 and away * away > length2:  # φ changes by no more than the way gone
        return 1.0
    x, y, z = _point(axis, i, j, k)
    length = np.sqrt(length2)
    free = gone = 0.0
    outside = False
    while gone < length:
        part = gone / length
        distance = per_h * node_value(phi, x + part * dx, y + part * dy, z + part * dz)
        if distance > _HAIR:
            outside, free = True, part
        elif outside:
            return free
        gone += max(distance, _STRIDE)
    return 1.0 if per_h * node_value(phi, x + dx, y + dy, z + dz) > _HAIR else free


@kernel(parallel=False)
def _place(shape, i, j, k, dx, dy, dz):
    """Where the way of a sample ends: framed indices of the first of the eight about it, and parts from there."""
    i0, fx = _first(i + 1.0 + dx, shape[0])
    j0, fy = _first(j + 1.0 + dy, shape[1])
    k0, fz = _first(k + 1.0 + dz, shape[2])
    return i0, j0, k0, fx, fy, fz


@kernel(parallel=False)
def _first(x, n):
    x = min(max(x, 0.0), n + 1.0)
    i = min(np.uint64(x), np.uint64(n))
    return i, np.float32(x - np.float64(i))


@kernel(parallel=False)
def _value(field, known, whole, at):
    """The trilinear value of what is known, and the range of it; NaN if nothing is. The range is the value itself
    where not all is known."""
    i, j, k, fx, fy, fz = at
    one = np.uint64(1)
    if not whole[i, j, k]:
        value = _value_of_known(field, known, i, j, k, fx, fy, fz)
        return value, value, value
    a, b, c, d = field[i, j, k], field[i, j + one, k], field[i + one, j, k], field[i + one, j + one, k]
    e, f = field[i, j, k + one], field[i, j + one, k + one]
    g, h = field[i + one, j, k + one], field[i + one, j + one, k + one]
    lowest = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
    highest = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
    a, b, c, d = a + fz * (e - a), b + fz * (f - b), c + fz * (g - c), d + fz * (h - d)
    a, c = a + fy * (b - a), c + fy * (d - c)
    # mixing rounds, and may leave the range
    return min(max(a + fx * (c - a), lowest), highest), lowest, highest


@kernel(parallel=False)
def _value_of_known(field, known, i, j, k, fx, fy, fz):
    """The same of samples of which some are unknown; if those that are known have no weight, their mean."""
    total = weight = unweighted = 0.0
    count = 0
    lowest, highest = np.float32(np.inf), np.float32(-np.inf)
    for n in range(8):
        di, dj, dk = n >> 2, n >> 1 & 1, n & 1
        i1, j1, k1 = i + np.uint64(di), j + np.uint64(dj), k + np.uint64(dk)
        if known[i1, j1, k1]:
            value = field[i1, j1, k1]
            hat = abs(1 - di - np.float64(fx)) * abs(1 - dj - np.float64(fy)) * abs(1 - dk - np.float64(fz))
            total, weight = total + hat * value, weight + hat
            unweighted, count = unweighted + value, count + 1
            lowest, highest = min(lowest, value), max(highest, value)
    if count == 0:
        return np.float32(np.nan)
    return min(max(np.float32(total / weight if weight > 0.0 else unweighted / count), lowest), highest)
