"""Fields with a frame, a layer of samples beyond the sides, and their values at many places at once.

An axis says where samples are: on the faces normal to it, or for axis −1 at
centres. With a frame no sample about a place is missing, so that many places
can be gone through operation by operation, which is faster than place by place.
Places are in cells, in rows of x, y and z.
"""

import numpy as np

from paddlewheel.grid.stencil import required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import AXES

__all__ = [
    "fetch",
    "fetch_at_samples",
    "fetch_range",
    "find",
    "framed",
    "inner",
    "locate",
    "sample_before",
    "samples_from",
    "value_of_known",
]


def framed(field: np.ndarray, beyond, open_sides, out: np.ndarray | None = None) -> np.ndarray:
    """A field with a layer more at each side: one value beyond open sides, that of the side beyond closed ones."""
    if out is None:
        out = np.empty([n + 2 for n in field.shape], np.bool_ if field.dtype == bool else np.float32)
    open = np.array([(f"-{axis}" in open_sides, f"+{axis}" in open_sides) for axis in AXES])
    _frame(out, required(field, out.dtype), out.dtype.type(beyond), open)
    return out


@kernel
def _frame(out, field, beyond, open):
    """Row by row. What is beyond several sides is beyond an open one if any of them is."""
    ni, nj, nk = field.shape
    for plane in prange(ni + 2):
        i = np.int64(plane)
        for j in range(nj + 2):
            row = out[i, j]
            away = (i == 0 and open[0, 0]) or (i == ni + 1 and open[0, 1])
            if away or (j == 0 and open[1, 0]) or (j == nj + 1 and open[1, 1]):
                for k in range(nk + 2):
                    row[k] = beyond
            else:
                given, to = field[min(max(i - 1, 0), ni - 1), min(max(j - 1, 0), nj - 1)], row[1:]
                for k in range(nk):
                    to[k] = given[k]
                row[0] = beyond if open[2, 0] else given[0]
                row[nk + 1] = beyond if open[2, 1] else given[nk - 1]


def inner(field: np.ndarray) -> np.ndarray:
    """A framed field without its frame."""
    return field[1:-1, 1:-1, 1:-1]


@kernel(parallel=False)
def locate(place, first, cells, axis):
    """Where the samples from the first on are [cells]."""
    nj, nk = cells[1] + (axis == 1), cells[2] + (axis == 2)
    i, j, k = first // (nj * nk), first // nk % nj, first % nk
    p = 0
    while p < place.shape[1]:
        count = min(nk - k, place.shape[1] - p)
        x, y, z = place[0, p:], place[1, p:], place[2, p:]
        x0, y0, z0 = np.float32(i + 0.5 * (axis != 0)), np.float32(j + 0.5 * (axis != 1)), k + 0.5 * (axis != 2)
        for m in range(count):
            x[m], y[m], z[m] = x0, y0, z0 + m
        p, j, k = p + count, j + 1, 0
        if j == nj:
            i, j = i + 1, 0


@kernel(parallel=False)
def samples_from(out, field, first, cells, axis):
    """The samples of a framed field from the first on, counted without the frame."""
    nj, nk = cells[1] + (axis == 1), cells[2] + (axis == 2)
    i, j, k = first // (nj * nk), first // nk % nj, first % nk
    p = 0
    while p < len(out):
        row, count = ((i + 1) * (nj + 2) + j + 1) * (nk + 2) + k + 1, min(nk - k, len(out) - p)
        to, here = out[p:], field[row:]
        for m in range(count):
            to[m] = here[m]
        p, j, k = p + count, j + 1, 0
        if j == nj:
            i, j = i + 1, 0


@kernel(parallel=False)
def find(index, part, place, cells):
    """Along each axis the framed index of the sample before a place, and the part of the way to the next one.

    The first three rows are for samples on planes of faces, the others for those between.
    """
    for kind in range(2):
        for b in range(3):
            at, low, f = place[b], index[3 * kind + b], part[3 * kind + b]
            shift, last = np.float32(1 - 0.5 * kind), np.float32(cells[b] + 2 - kind)
            most = np.int32(cells[b] + 1 - kind)
            for p in range(place.shape[1]):
                x = min(max(at[p] + shift, np.float32(0)), last)
                low[p] = min(np.int32(x), most)
                f[p] = x - np.float32(low[p])


@kernel(parallel=False, inline=True)
def _steps(cells, axis):
    """From a framed sample of an axis to the next along x and along y, in the order of memory."""
    nk = cells[2] + 2 + (axis == 2)
    return np.uint64((cells[1] + 2 + (axis == 1)) * nk), np.uint64(nk)


@kernel(parallel=False)
def sample_before(index, p, cells, axis):
    """The framed sample of an axis before the place p."""
    si, sj = _steps(cells, axis)
    i, j, k = index[3 * (axis != 0), p], index[3 * (axis != 1) + 1, p], index[3 * (axis != 2) + 2, p]
    return np.uint64(i) * si + np.uint64(j) * sj + np.uint64(k)


@kernel(parallel=False)
def fetch(out, field, index, part, cells, axis):
    """A framed field at the places found, trilinear."""
    si, sj = _steps(cells, axis)
    i, j, k = index[3 * (axis != 0)], index[3 * (axis != 1) + 1], index[3 * (axis != 2) + 2]
    fx, fy, fz = part[3 * (axis != 0)], part[3 * (axis != 1) + 1], part[3 * (axis != 2) + 2]
    one = np.uint64(1)
    for p in range(len(out)):
        at = np.uint64(i[p]) * si + np.uint64(j[p]) * sj + np.uint64(k[p])
        a, b = field[at], field[at + sj]
        c, d = field[at + si], field[at + si + sj]
        a, b = a + fz[p] * (field[at + one] - a), b + fz[p] * (field[at + sj + one] - b)
        c, d = c + fz[p] * (field[at + si + one] - c), d + fz[p] * (field[at + si + sj + one] - d)
        a, c = a + fy[p] * (b - a), c + fy[p] * (d - c)
        out[p] = a + fx[p] * (c - a)


@kernel(parallel=False)
def fetch_at_samples(out, field, first, cells, axis, of):
    """What `fetch` gives of a framed field on the faces of the axis `of`, at the samples of an axis from the first on.

    They are in the middle of one, two or four of its own, whose means these are.
    """
    nj, nk = cells[1] + (axis == 1), cells[2] + (axis == 2)
    i, j, k = first // (nj * nk), first // nk % nj, first % nk
    # own samples are half a cell on along their axis, and those of the other axis half a cell back along that
    ai, aj, ak = int(of == 0 and axis != 0), int(of == 1 and axis != 1), int(of == 2 and axis != 2)
    bi, bj, bk = int(axis == 0 and of != 0), int(axis == 1 and of != 1), int(axis == 2 and of != 2)
    p = 0
    while p < len(out):
        count = min(nk - k, len(out) - p)
        i1, j1, k1 = i + 1, j + 1, k + 1
        to, one, three = out[p:], field[i1 - bi, j1 - bj, k1 - bk :], field[i1, j1, k1:]
        two, four = field[i1 - bi + ai, j1 - bj + aj, k1 - bk + ak :], field[i1 + ai, j1 + aj, k1 + ak :]
        for m in range(count):
            to[m] = np.float32(0.25) * (one[m] + two[m] + (three[m] + four[m]))
        p, k = p + count, 0
        j += 1
        if j == nj:
            i, j = i + 1, 0


@kernel(parallel=False)
def fetch_range(out, lowest, highest, field, index, part, cells, axis):
    """The same, and the least and the largest of the samples about each place; rounding does not leave that range."""
    si, sj = _steps(cells, axis)
    i, j, k = index[3 * (axis != 0)], index[3 * (axis != 1) + 1], index[3 * (axis != 2) + 2]
    fx, fy, fz = part[3 * (axis != 0)], part[3 * (axis != 1) + 1], part[3 * (axis != 2) + 2]
    one = np.uint64(1)
    for p in range(len(out)):
        at = np.uint64(i[p]) * si + np.uint64(j[p]) * sj + np.uint64(k[p])
        a, b, c, d = field[at], field[at + sj], field[at + si], field[at + si + sj]
        e, f = field[at + one], field[at + sj + one]
        g, h = field[at + si + one], field[at + si + sj + one]
        low = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
        high = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
        a, b, c, d = a + fz[p] * (e - a), b + fz[p] * (f - b), c + fz[p] * (g - c), d + fz[p] * (h - d)
        a, c = a + fy[p] * (b - a), c + fy[p] * (d - c)
        out[p], lowest[p], highest[p] = min(max(a + fx[p] * (c - a), low), high), low, high


@kernel(parallel=False)
def value_of_known(field, known, at, part, p, cells, axis):
    """The trilinear value of those about a place that are known; their mean if they have no weight, NaN if none is."""
    si, sj = _steps(cells, axis)
    fx, fy, fz = part[3 * (axis != 0), p], part[3 * (axis != 1) + 1, p], part[3 * (axis != 2) + 2, p]
    total = weight = unweighted = 0.0
    count = 0
    lowest, highest = np.float32(np.inf), np.float32(-np.inf)
    for n in range(8):
        di, dj, dk = n >> 2, n >> 1 & 1, n & 1
        there = at + np.uint64(di) * si + np.uint64(dj) * sj + np.uint64(dk)
        if known[there]:
            value = field[there]
            hat = abs(1 - di - np.float64(fx)) * abs(1 - dj - np.float64(fy)) * abs(1 - dk - np.float64(fz))
            total, weight = total + hat * value, weight + hat
            unweighted, count = unweighted + value, count + 1
            lowest, highest = min(lowest, value), max(highest, value)
    if count == 0:
        return np.float32(np.nan)
    return min(max(np.float32(total / weight if weight > 0.0 else unweighted / count), lowest), highest)
