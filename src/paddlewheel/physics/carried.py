"""What the flow carries on the grid: smoke and heat at centres, velocity on faces.

Along a path of the flow a carried q stays what it is, q(x, t + Δt) = q(x*, t),
where x* is the foot of the path that ends at x, found by Runge–Kutta through
the field of one step. Steps may be many cells long. Two schemes:

    semi-lagrangian   q̂ = A q: the trilinear value at the foot. First order, and smears
    maccormack        q̂ + ½ (q − A⁻¹ q̂), kept between the lowest and the highest sample about the foot

A⁻¹ carries q̂ back along the flow: what then is missing has been lost twice, so
half of it is added (Selle et al. 2008). BFECC, which carries the mended field
once more, is of second order too, but it carries three times where this carries
twice, and what is mended before the last of them cannot be kept between samples
about a foot. Kept so, no value arises that was not there.

Of smoke only open samples are read. The weights of those in solids are shared
out among the others, and a path ends where it meets a solid: no smoke comes out
of one, or goes through a wall that has a cell's centre inside. Where samples
are lacking, beside solids and open sides, the second scheme is the first.

Fields are framed by a layer of samples beyond the sides: the ambient value
beyond an open one, what is inside beyond a closed one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.cells import open_cells
from paddlewheel.grid.framed import (
    fetch,
    fetch_at_samples,
    fetch_range,
    find,
    framed,
    inner,
    locate,
    sample_before,
    samples_from,
    value_of_known,
)
from paddlewheel.grid.sample import node_value
from paddlewheel.grid.stencil import as_faces, required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import AXES, SIDES, Boundary, Faces, Grid

__all__ = ["SCHEMES", "carried", "carried_faces"]

SCHEMES = ("semi-lagrangian", "maccormack")
_STRIDE = 0.25  # cells a path goes at a time beside a solid, at least
_HAIR = 1e-3  # cells a path keeps from a solid; in a wall one cell thick φ may be 0 throughout
_ROUND = 0.5 * np.sqrt(3.0)  # cells from a centre or a face to one of its nodes, at most
_STRIDES = 2000  # at most
_FARTHEST = 1e6  # cells that the flow may go in a step
_BLOCK = 512  # samples at a time


class _Samples(NamedTuple):
    """The samples of a field at one time, framed, and the solids among them.

    known  those that may be read, bool; empty if all may
    whole  whether all eight from here to the next are known, and are in the domain or beside a closed side, bool; empty
           if all are
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
    old = _samples(wanted if before is boundary else open_cells(before.phi), before.phi, open_sides)
    new = old if before is boundary else _samples(wanted, boundary.phi, open_sides)
    mendable = wanted & inner(old.known)
    out = _carried(grid, fields, ambient, open_sides, wanted, mendable, old, new, flow, -1, dt, scheme, stages)
    for q, value in zip(out, ambient, strict=True):
        q[~wanted] = value
    return tuple(out)


def carried_faces(
    grid: Grid,
    velocity: Faces,
    flow: Faces,
    boundary: Boundary,
    dt: float,
    *,
    before: Boundary | None = None,
    ambient: Sequence[float] | None = None,
    beyond: Mapping[str, Sequence[np.ndarray]] | None = None,
    open_sides=frozenset(),
    scheme: str = "maccormack",
    stages: int = 2,
) -> Faces:
    """Velocity [m/s], float32, after dt [s] in a flow, which may be the velocity itself.

    Faces with w > 0 change. Velocity, unlike smoke, is read in solids too, where it
    must be continued and have their normal component, so that paths need not end at
    them: many faces of oblique walls have their centre inside. Without that the largest
    error of a step of Taylor–Green, beside the walls, is 40 times larger on 32²
    cells and 170 times on 128². Faces that a wall cuts are not mended: there one of
    0.23 came to 11 m/s in a flow of 2.5. Through open sides comes the ambient velocity if
    it is given, else what is `beyond` them, the three components by the side's name, for each face of the layer next to
    it; else what is at the side. The rest is as for `carried`.
    """
    flow, before = _checked(grid, flow, boundary, before, dt, open_sides, scheme, stages)
    velocity = as_faces(velocity, np.float32)
    if velocity.x.shape != grid.face_shape(0):
        raise ValueError(f"velocity.x has shape {velocity.x.shape}: expected {grid.face_shape(0)}")
    sides = frozenset() if ambient is None else open_sides
    result = []
    for a, u in enumerate(velocity):
        everywhere, value = np.ones(u.shape, bool), 0.0 if ambient is None else ambient[a]
        old = _samples(everywhere if sides else None, before.phi, sides)
        new = old if before is boundary else _samples(everywhere if sides else None, boundary.phi, sides)
        whole = boundary.open[a] == 1
        out = {side: velocities[a] for side, velocities in (beyond or {}).items()}
        after = _carried(grid, [u], (value,), sides, everywhere, whole, old, new, flow, a, dt, scheme, stages, out)[0]
        np.copyto(after, u, where=boundary.open[a] == 0)
        result.append(after)
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
    farthest = max(max(u.max(), -u.min()) for u in flow) * dt / grid.h
    if not farthest <= _FARTHEST:  # nor for NaN
        raise ValueError(f"the flow goes {farthest:.3g} cells in a step: expected at most {_FARTHEST:.0e}")
    return Faces(*(framed(u, 0.0, frozenset()) for u in flow)), before


def _samples(known, phi, open_sides) -> _Samples:
    phi = required(phi, np.float32)
    if known is None:
        return _Samples(*np.empty((2, 0, 0, 0), np.bool_), phi)
    whole = framed(known, False, open_sides)
    for axis in range(3):
        below, above = ([slice(None)] * 3 for _ in range(2))
        below[axis], above[axis] = slice(-1), slice(1, None)
        whole[tuple(below)] &= whole[tuple(above)]
    return _Samples(framed(known, True, open_sides), whole, phi)


def _carried(
    grid, fields, ambient, open_sides, wanted, mendable, old, new, flow, axis, dt, scheme, stages, beyond=None
) -> np.ndarray:
    """Fields at the faces of an axis, or for axis −1 at centres, carried on: (m, …). Not all samples are wanted."""
    shape = len(fields), *wanted.shape
    before = _all_framed(fields, ambient, open_sides)
    for side, values in (beyond or {}).items():
        for field in before:
            np.moveaxis(field, AXES.index(side[1]), 0)[0 if side[0] == "-" else -1] = np.pad(values, 1, mode="edge")
    ahead = np.empty((3, wanted.size), np.float32)
    out, low, high = (np.empty(shape, np.float32) for _ in range(3))
    _bring(
        _rows(out), _rows(low), _rows(high), ahead, _rows(before), flow, old, grid.shape, axis,
        dt / grid.h, 1.0 / grid.h, stages,
    )  # fmt: skip
    for q, value in zip(out, ambient, strict=True):
        if old.known.size:
            _fill_gaps(q, wanted, value)
    if scheme == "maccormack":
        brought = _all_framed(out, ambient, open_sides)
        _mend(
            _rows(out), _rows(low), _rows(high), _rows(before), _rows(brought), ahead, mendable.reshape(-1), new,
            grid.shape, axis, 1.0 / grid.h,
        )  # fmt: skip
        for m in range(len(fields) if axis < 0 else 0):
            _balance(out[m], inner(brought[m]), low[m])
    return out


def _balance(field, first, cut) -> None:
    """Take as much of what was mended of a field, in place, as being kept between samples has `cut` off all in all.

    Where smoke ends, less than none of it cannot be mended away, but what was mended beside can: that would make smoke.
    """
    planes = np.empty((len(field), 3))
    _add_up(planes, field, first, cut)
    lacking, less, more = planes.sum(axis=0).tolist()
    total = -less if lacking > 0 else more
    if lacking and total:
        _scale_change(field, first, np.float32(max(1 - abs(lacking) / total, 0)), lacking > 0)


@kernel
def _add_up(planes, field, first, cut):
    """Of each plane the sums of what was cut off, and of what was mended downwards and upwards."""
    for plane in prange(len(planes)):
        i, lacking, less, more = np.int64(plane), 0.0, 0.0, 0.0
        for j in range(field.shape[1]):
            after, before, off = field[i, j], first[i, j], cut[i, j]
            for k in range(len(after)):
                change = np.float64(after[k] - before[k])
                lacking += off[k]
                less += change if change < 0.0 else 0.0  # and 0.0 in solids, where it is not a number
                more += change if change > 0.0 else 0.0
        planes[i, 0], planes[i, 1], planes[i, 2] = lacking, less, more


@kernel
def _scale_change(field, first, factor, downwards):
    for plane in prange(len(field)):
        i = np.int64(plane)
        for j in range(field.shape[1]):
            after, before = field[i, j], first[i, j]
            for k in range(len(after)):
                change = after[k] - before[k]
                if (change < 0.0) if downwards else (change > 0.0):
                    after[k] = before[k] + factor * change


def _all_framed(fields, ambient, open_sides) -> np.ndarray:
    out = np.empty((len(fields), *(n + 2 for n in fields[0].shape)), np.float32)
    for q, value, to in zip(fields, ambient, out, strict=True):
        framed(q, value, open_sides, to)
    return out


def _rows(fields) -> np.ndarray:
    return fields.reshape(len(fields), -1)


def _fill_gaps(field, wanted, value) -> None:
    """Give wanted samples with no open one about their foot, which are NaN, the mean of those beside them, in place.

    They were uncovered by a solid that moved faster than the flow. What no other reaches gets the value given.
    """
    lacking = wanted & np.isnan(field)
    gaps = np.argwhere(lacking) if lacking.any() else ()
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
def _bring(out, low, high, ahead, fields, flow, samples, cells, axis, scale, per_h, stages):
    """The fields' values at the feet of all paths, their range about them, and the ways ahead.

    scale is the step over h.
    """
    for block in prange(-(-ahead.shape[1] // _BLOCK)):
        first = np.int64(block) * _BLOCK
        n = min(_BLOCK, ahead.shape[1] - first)
        place, back = np.empty((3, n), np.float32), np.empty((3, n), np.float32)
        index, part = np.empty((6, n), np.int32), np.empty((6, n), np.float32)
        _trace(place, back, ahead, index, part, first, flow, cells, axis, samples.phi, scale, per_h, stages)
        _arrive(place, index, part, back, 0, cells)
        _fetch_known(first, out, low, high, fields, index, part, samples, cells, axis)


@kernel
def _mend(out, low, high, fields, brought, ahead, wanted, samples, cells, axis, per_h):
    """Add half of what is missing if what was brought is carried back to where it came from; low becomes what of it
    is cut off to keep it in the range."""
    for block in prange(-(-ahead.shape[1] // _BLOCK)):
        start = np.int64(block) * _BLOCK
        _mend_block(start, out, low, high, fields, brought, ahead, wanted, samples, cells, axis, per_h)


@kernel(parallel=False)
def _trace(start, back, ahead, index, part, first, flow, cells, axis, phi, scale, per_h, stages):
    """The ways [cells] from the samples from the first on to the feet of their paths, up to solids, and on.

    To the order of the schemes the foot is at  −Δt u + ½ Δt² (u·∇) u  and the other end at  Δt u + ½ Δt² (u·∇) u,
    which is 2 Δt u more.
    """
    n = start.shape[1]
    place, gone = np.empty((3, n), np.float32), np.empty((3, n), np.float32)
    locate(start, first, cells, axis)
    for stage in range(stages):  # of the midpoint rule, or of Ralston's method
        step = np.float32((0.0, 0.5, 0.75)[stage])
        weight = np.float32((2 / 9, 3 / 9, 4 / 9)[stage] if stages == 3 else (0.0, 1.0, 0.0)[stage])
        if stage > 0:
            for b in range(3):
                for p in range(n):
                    place[b, p] = start[b, p] + step * gone[b, p]
            find(index, part, place, cells)
        for b in range(3):
            row, to, on = gone[b], back[b], ahead[b, first : first + n]
            if stage > 0:
                fetch(row, flow[b].reshape(-1), index, part, cells, b)
            else:
                fetch_at_samples(row, flow[b], first, cells, axis, b)
            for p in range(n):
                row[p] *= np.float32(-scale)
                if stage == 0:
                    to[p], on[p] = weight * row[p], np.float32(-2) * row[p]
                else:
                    to[p] += weight * row[p]
    for b in range(3):
        to, on = back[b], ahead[b, first : first + n]
        for p in range(n):
            on[p] += to[p]
    if axis < 0:
        clear = np.empty(n, np.bool_)
        _look_about(clear, back, 0, first, phi, per_h)
        for p in range(n):
            if not clear[p]:
                free = _free_part(phi, per_h, start, p, back, p)
                for b in range(3):
                    back[b, p] *= np.float32(free)


@kernel(parallel=False)
def _fetch_known(first, out, low, high, fields, index, part, samples, cells, axis):
    """The fields at the places found and their range about them, of the samples that are known."""
    n, lacking = index.shape[1], 0
    known, whole = samples.known.reshape(-1), samples.whole.reshape(-1)
    who = np.empty(n, np.int64)
    for p in range(n if len(whole) > 0 else 0):
        who[lacking] = p
        lacking += not whole[sample_before(index, p, cells, axis)]
    for m in range(len(fields)):
        value, lowest, highest = out[m, first : first + n], low[m, first : first + n], high[m, first : first + n]
        fetch_range(value, lowest, highest, fields[m], index, part, cells, axis)
        for p in who[:lacking]:
            at = sample_before(index, p, cells, axis)
            value[p] = value_of_known(fields[m], known, at, part, p, cells, axis)
            lowest[p] = highest[p] = value[p]  # nothing can be mended


@kernel(parallel=False)
def _mend_block(first, out, low, high, fields, brought, ahead, wanted, samples, cells, axis, per_h):
    n = min(_BLOCK, ahead.shape[1] - first)
    place, index, part = np.empty((3, n), np.float32), np.empty((6, n), np.int32), np.empty((6, n), np.float32)
    lost, given, mendable = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.bool_)
    locate(place, first, cells, axis)
    if axis < 0:
        _look_about(mendable, ahead, first, first, samples.phi, per_h)
        for p in range(n):
            if not mendable[p]:
                mendable[p] = wanted[first + p] and _free_part(samples.phi, per_h, place, p, ahead, first + p) == 1.0
            else:
                mendable[p] = wanted[first + p]
    else:
        for p in range(n):
            mendable[p] = wanted[first + p]
    _arrive(place, index, part, ahead, first, cells)
    whole = samples.whole.reshape(-1)
    for p in range(n if len(whole) > 0 else 0):
        mendable[p] &= whole[sample_before(index, p, cells, axis)]
    for m in range(len(fields)):
        value, lowest, highest = out[m, first : first + n], low[m, first : first + n], high[m, first : first + n]
        fetch(lost, brought[m], index, part, cells, axis)
        samples_from(given, fields[m], first, cells, axis)
        for p in range(n):
            mended = value[p] + np.float32(0.5) * (given[p] - lost[p])
            kept = min(max(mended, lowest[p]), highest[p]) if mendable[p] else value[p]
            lowest[p] = mended - kept if mendable[p] else np.float32(0)
            value[p] = kept


@kernel(parallel=False)
def _arrive(place, index, part, way, first, cells):
    """Go from places the ways from the first on, and find between which samples they end."""
    for b in range(3):
        to, by = place[b], way[b, first : first + place.shape[1]]
        for p in range(len(to)):
            to[p] += by[p]
    find(index, part, place, cells)


@kernel(parallel=False)
def _look_about(clear, way, from_way, first, phi, per_h):
    """Which ways from the centres from the first on meet no solid for sure: none is near enough to where they start.

    φ changes by no more than the way gone.
    """
    nj, nk = phi.shape[1] - 1, phi.shape[2] - 1
    i, j, k = first // (nj * nk), first // nk % nj, first % nk
    scale, round = np.float32(per_h), np.float32(_ROUND + _HAIR)
    p = 0
    while p < len(clear):
        count, distance, to = min(nk - k, len(clear) - p), phi[i, j, k:], clear[p:]
        x, y, z = way[0, from_way + p :], way[1, from_way + p :], way[2, from_way + p :]
        for m in range(count):
            away = scale * distance[m] - round
            to[m] = (away > np.float32(0)) & (away * away > x[m] * x[m] + y[m] * y[m] + z[m] * z[m])
        p, j, k = p + count, j + 1, 0
        if j == nj:
            i, j = i + 1, 0


@kernel(parallel=False)
def _free_part(phi, per_h, start, p, way, q):
    """The part of the way q from a place p before it goes into a solid; one that begins inside may first come out."""
    x, y, z = np.float64(start[0, p]), np.float64(start[1, p]), np.float64(start[2, p])
    dx, dy, dz = np.float64(way[0, q]), np.float64(way[1, q]), np.float64(way[2, q])
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    stride = max(_STRIDE, length / _STRIDES)
    free = gone = 0.0
    outside = False
    while gone < length:
        part = gone / length
        distance = per_h * node_value(phi, x + part * dx, y + part * dy, z + part * dz)
        if distance > _HAIR:
            outside, free = True, part
        elif outside:
            return free
        gone += max(distance, stride)
    return 1.0 if per_h * node_value(phi, x + dx, y + dy, z + dz) > _HAIR else free
