"""What pushes on some cells do to each other through a V-cycle B:  R B Rᵀ, without a V-cycle for each row of R.

Let a and b be two rows, x(a) what SMOOTHING sweeps make of a from zero, r(a)
what they leave of it, and g(a) the sum of that over each coarse node. The
sweeps on the way up are those on the way down, transposed, so

    a · B b = x(a) · b + r(a) · x(b) + g(a) · B_c g(b)

with the coarse levels' own cycle B_c. Sweeps reach no farther than a cell for
each colour they go through: x and r are found in the neighbourhood of a term,
for all its rows at once. Only the coarse levels are gone through as a whole,
for LANES rows at once; and of the finest of them, which takes most of the time,
only planes that rows reach on the way down, and that others ask for on the way up.

The same tells R B b for any b half way through its V-cycle, and what the sweeps
and the coarse levels' right-hand side would be for b − Rᵀ y: so Woodbury's
identity (see lowrank) takes the finest level once, and the others twice. Where
terms are many, two V-cycles take less.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, threads
from paddlewheel.solve.dense import symmetric_product
from paddlewheel.solve.multigrid import SMOOTHING, UNROLLED, Multigrid, ascend, coarse_cycle, descend
from paddlewheel.solve.packed import place
from paddlewheel.solve.system import Rows

REACH = 2 * SMOOTHING  # cells from a term's own to where its sweeps leave anything
WIDTH = 8  # rows of a term that are swept together, at most
LANES = 24  # rows that go through the coarse levels together: those of four bodies
WIDE = 0.75  # cells in reach of the terms for each unknown, beyond which to go through them takes longer than a V-cycle


class _Near(NamedTuple):
    """The neighbourhood of every term: cells that its sweeps reach, red ones first, from place 1 on. Place 0 is empty.

    low     (terms, 3) int64: first cell of a box around it
    size    (terms, 3) int64: of that box
    box     (terms + 1,) int64: where the places of a term's box start
    place   (all boxes,) int32: place of each cell of a box, 0 if none
    start   (terms + 1,) int64: where the values of a term start
    reds    (terms,) int64: how many of its cells are red
    at      (all,) int64: where its cells are in a vector, as flat indices
    node    (all,) int32: coarse node of each red cell
    x, r    (all, WIDTH) float32: the rows after the sweeps, and what these leave of them (at red cells: else nothing)
    """

    low: np.ndarray
    size: np.ndarray
    box: np.ndarray
    place: np.ndarray
    start: np.ndarray
    reds: np.ndarray
    at: np.ndarray
    node: np.ndarray
    x: np.ndarray
    r: np.ndarray


class _Pushes(NamedTuple):
    """g of all rows: (terms, 2) where those of a term begin and end, their coarse nodes, and (all, WIDTH) values."""

    span: np.ndarray
    node: np.ndarray
    value: np.ndarray


class Response:
    """Rows R, with their cells in C order of a system, seen through the V-cycle B of a hierarchy.

    matrix   R B Rᵀ, (count, count)
    wide     whether terms reach so many cells that two V-cycles take less time than `corrected`
    """

    def __init__(self, multigrid: Multigrid, rows: Rows):
        terms, width = len(rows.start) - 1, rows.value.shape[1]
        if width > WIDTH:
            raise ValueError(f"rows of width {width}: expected at most {WIDTH}")
        self._multigrid, near = multigrid, _neighbourhoods(multigrid, rows)
        self.wide = len(near.at) > WIDE * multigrid.packed.unknowns
        self._near, self._pushes = near, _pushes(near, multigrid.coarse.levels[0, 2])
        out = np.zeros((terms, width, terms, width))
        _meet(out, near, rows.start, rows.cell, rows.value, np.array(multigrid.packed.layout.shape))
        self.matrix, coarse = out.reshape(rows.count, rows.count), multigrid.coarse
        planes = np.stack([near.low[:, 0] // 2, (near.low[:, 0] + near.size[:, 0] + 1) // 2], axis=1)
        planes = np.clip(planes, 0, coarse.planes.shape[1] - 1)
        order = np.argsort(planes[:, 0], kind="stable")
        if rows.count:
            _through_coarse(self.matrix, width, order, planes, *self._pushes, coarse, threads())

    def corrected(self, rows: Rows, reply: np.ndarray) -> Callable[[np.ndarray, np.ndarray], None]:
        """B − B Rᵀ reply R B as a function of (z, r), which sets z; rows have their cells as indices of a vector."""
        rest = self._multigrid.packed.layout.zeros(np.float32)

        def cycle(z, r):
            multigrid = self._multigrid
            _corrected_cycle(
                z, r, rest, *rows, reply, self._near, self._pushes, *multigrid.finest, multigrid.coarse,
                *multigrid.where,
            )  # fmt: skip

        return cycle


def _neighbourhoods(multigrid, rows) -> _Near:
    packed = multigrid.packed
    layout, terms = packed.layout, len(rows.start) - 1
    shape = np.array(layout.shape)
    low, size = np.zeros((terms, 3), np.int64), np.zeros((terms, 3), np.int64)
    for t in range(terms):
        cells = np.array(np.unravel_index(rows.cell[rows.start[t] : rows.start[t + 1]], layout.shape))
        if cells.size:
            low[t] = cells.min(axis=1) - REACH
            size[t] = cells.max(axis=1) + REACH + 1 - low[t]
    box = np.append(0, np.cumsum(size.prod(axis=1)))
    places, counts = np.zeros(box[-1], np.int32), np.zeros((terms, 2), np.int64)
    _find(places, counts, low, size, box, rows.start, rows.cell, packed.inverse, layout.starts, shape)
    start = np.append(0, np.cumsum(counts.sum(axis=1) + 1))
    n = int(start[-1])
    near = _Near(
        low, size, box, places, start, counts[:, 0].copy(), np.zeros(n, np.int64), np.empty(n, np.int32),
        np.zeros((n, WIDTH), np.float32), np.zeros((n, WIDTH), np.float32),
    )  # fmt: skip
    _sweep(near, rows.start, rows.cell, rows.value, packed.inverse, packed.lower, multigrid.node, layout.starts, shape)
    return near


def _pushes(near, nodes) -> _Pushes:
    """A node has four red cells, where there are all: summed once, they need not be for each of the lots."""
    span = np.stack([near.start[:-1], near.start[:-1]], axis=1)
    onto, push = np.empty(len(near.node), np.int32), np.zeros((len(near.node), WIDTH), np.float32)
    _sum_at_nodes(span, onto, push, near.reds, near.node, near.r, nodes)
    return _Pushes(span, onto, push)


@kernel
def _sum_at_nodes(span, onto, push, reds, node, r, nodes):
    for term in prange(span.shape[0]):
        first, end = span[term, 0], span[term, 0]
        found = np.full(nodes, -1, np.int64)
        for me in range(first + 1, first + 1 + reds[term]):
            if node[me] >= 0:
                at = found[node[me]]
                if at < 0:
                    at = end
                    found[node[me]], onto[at] = at, node[me]
                    end += 1
                for p in range(WIDTH):
                    push[at, p] += r[me, p]
        span[term, 1] = end


@kernel(parallel=False)
def _corrected_cycle(
    z, r, rest, start, cell, value, reply, near, pushes, room, inverse, lower, node, coarse, rows, blocks, parts
):
    """z = V(r − Rᵀ y)  with  y = reply R V(r)."""
    descend(z, r, room, inverse, lower, node, coarse, rows, blocks, parts)
    coarse_cycle(coarse)
    y, width = np.zeros((len(start) - 1, WIDTH)), value.shape[1]
    _see(y, near, pushes, z.reshape(-1), r.reshape(-1), coarse.x)
    y[:, :width] = symmetric_product(reply, y[:, :width].copy().reshape(-1)).reshape((len(y), width))
    for colour in range(2):
        for n in range(r.shape[1]):
            rest[colour, n] = r[colour, n]
    add_pushes(rest.reshape(-1), start, cell, value, -y)
    _take_back(z.reshape(-1), coarse.b, near, pushes, y.astype(np.float32))
    coarse_cycle(coarse)
    ascend(z, rest, inverse, lower, node, coarse, rows, blocks, parts)


@kernel
def _see(y, near, pushes, z, r, coarse_x):
    """y = R V(r), from z after the sweeps on the way down and x of the coarse levels."""
    for term in prange(y.shape[0]):
        first, total = near.start[term], y[term]
        for me in range(first + 1, near.start[term + 1]):
            here, own = np.float64(r[np.uint64(near.at[me])]), near.x[me]
            for p in range(WIDTH):
                total[p] += own[p] * here
        for me in range(first + 1, first + 1 + near.reds[term]):
            here, own = np.float64(z[np.uint64(near.at[me])]), near.r[me]
            for p in range(WIDTH):
                total[p] += own[p] * here
        for m in range(pushes.span[term, 0], pushes.span[term, 1]):
            here, own = np.float64(coarse_x[np.uint64(pushes.node[m])]), pushes.value[m]
            for p in range(WIDTH):
                total[p] += own[p] * here


@kernel(parallel=False)
def add_pushes(out, start, cell, value, y):
    """out += Rᵀ y, of a y that may have more columns than R has rows to a term."""
    for term in range(y.shape[0]):
        for n in range(start[term], start[term + 1]):
            total = 0.0
            for row in range(value.shape[1]):
                total += value[n, row] * y[term, row]
            out[cell[n]] += total


@kernel(parallel=False)
def _take_back(z, coarse_b, near, pushes, y):
    """Take what the sweeps make of Rᵀ y from z, and what they leave of it from the coarse levels' right-hand side."""
    for term in range(y.shape[0]):
        for me in range(near.start[term] + 1, near.start[term + 1]):
            total = np.float32(0.0)
            for p in range(WIDTH):
                total += near.x[me, p] * y[term, p]
            z[np.uint64(near.at[me])] -= total
        for m in range(pushes.span[term, 0], pushes.span[term, 1]):
            total = np.float32(0.0)
            for p in range(WIDTH):
                total += pushes.value[m, p] * y[term, p]
            coarse_b[np.uint64(pushes.node[m])] -= total


@kernel(parallel=False)
def _within(low, size, shape, cell):
    """Where a cell of the system is in a box, −1 if outside."""
    i = cell // (shape[1] * shape[2]) - low[0]
    j = cell // shape[2] % shape[1] - low[1]
    k = cell % shape[2] - low[2]
    if 0 <= i < size[0] and 0 <= j < size[1] and 0 <= k < size[2]:
        return (i * size[1] + j) * size[2] + k
    return -1


@kernel
def _find(places, counts, low, size, box, start, cell, inverse, starts, shape):
    """Number the cells in reach of each term, red ones first; count both colours."""
    for term in prange(counts.shape[0]):
        own, cells = places[box[term] : box[term + 1]], cell[start[term] : start[term + 1]]
        _find_one(own, counts[term], low[term], size[term], cells, inverse, starts, shape)


@kernel(parallel=False)
def _find_one(own, count, low, size, cell, inverse, starts, shape):
    """In the order of the box. Of what is farthest, only red cells have anything: what the last black ones left."""
    kind = _kinds(low, size, inverse, starts, shape)
    reached, before = np.zeros(len(kind), np.int8), np.zeros(len(kind), np.int8)
    for n in range(cell.shape[0]):
        at = _within(low, size, shape, cell[n])
        reached[at] = kind[at]
    for _ in range(REACH):
        before[:] = reached
        stride = 1
        for a in range(2, -1, -1):
            _join(reached[stride:], before)
            _join(reached, before[stride:])
            stride *= size[a]
        for at in range(len(kind)):
            reached[at] &= kind[at]
    red, black = 0, 0
    for at in range(len(own)):
        red += reached[at] == 1
    count[0] = red
    red = 0
    for at in range(len(own)):
        if reached[at] == 1:
            red += 1
            own[at] = red
        elif reached[at] == 2 and before[at] > 0:
            black += 1
            own[at] = count[0] + black
    count[1] = black


@kernel(parallel=False)
def _join(out, other):
    """To all bits: a cell that is reached keeps its own only."""
    for n in range(min(len(out), len(other))):
        out[n] |= np.int8(3) if other[n] > 0 else np.int8(0)


@kernel(parallel=False)
def _kinds(low, size, inverse, starts, shape):
    """Of each cell of a box: 0 if it has no unknown, 1 if it is red, 2 if it is black."""
    kind = np.zeros(size[0] * size[1] * size[2], np.int8)
    for i in range(max(low[0], 0), min(low[0] + size[0], shape[0])):
        for j in range(max(low[1], 0), min(low[1] + size[1], shape[1])):
            row = ((i - low[0]) * size[1] + j - low[1]) * size[2] - low[2]
            for k in range(max(low[2], 0), min(low[2] + size[2], shape[2])):
                colour, here = place(starts, i, j, k)
                if inverse[colour, here] > 0.0:
                    kind[row + k] = 1 + colour
    return kind


@kernel
def _sweep(near, start, cell, value, inverse, lower, node, starts, shape):
    """x and r of each term, and which cells and nodes they are at."""
    for term in prange(near.low.shape[0]):
        _sweep_one(near, term, start[term], start[term + 1], cell, value, inverse, lower, node, starts, shape)


@kernel(parallel=False)
def _sweep_one(near, term, begin, stop, cell, value, inverse, lower, node, starts, shape):
    first, n = near.start[term], near.start[term + 1] - near.start[term]
    low, size, own = near.low[term], near.size[term], near.place[near.box[term] : near.box[term + 1]]
    x, r, reds = near.x[first : first + n], near.r[first : first + n], near.reds[term]
    neighbour, coupling = np.zeros((n, 6), np.int32), np.zeros((n, 6), np.float32)
    reciprocal, b = np.zeros(n, np.float32), np.zeros((n, WIDTH), np.float32)
    at = -1
    for i in range(low[0], low[0] + size[0]):
        for j in range(low[1], low[1] + size[1]):
            for k in range(low[2], low[2] + size[2]):
                at += 1
                me = own[at]
                if me == 0:
                    continue
                colour, here = place(starts, i, j, k)
                near.at[first + me], near.node[first + me] = colour * inverse.shape[1] + here, node[colour, here]
                reciprocal[me] = inverse[colour, here]
                stride = size[1] * size[2]
                for a in range(3):
                    _, above = place(starts, i + (a == 0), j + (a == 1), k + (a == 2))
                    neighbour[me, 2 * a], coupling[me, 2 * a] = _beside(own, at - stride), lower[a, colour, here]
                    neighbour[me, 2 * a + 1] = _beside(own, at + stride)
                    coupling[me, 2 * a + 1] = lower[a, 1 - colour, above]
                    stride = size[2] if a == 0 else 1
    for m in range(begin, stop):
        me = own[_within(low, size, shape, cell[m])]
        if me > 0:
            for p in range(value.shape[1]):
                b[me, p] += value[m, p]
    for half in range(2 * SMOOTHING):
        black = half & 1
        for me in range(1 + reds * black, n if black else 1 + reds):
            _relaxed(x, x, b, neighbour, coupling, reciprocal, me)
    for me in range(1, 1 + reds):
        _relaxed(r, x, b, neighbour, coupling, reciprocal, me)
        for p in range(WIDTH):
            r[me, p] = (r[me, p] - x[me, p]) / reciprocal[me]


@kernel(parallel=False)
def _beside(own, at):
    """The place of a cell of a box; none beyond its ends, where no sweep gets to."""
    return own[at] if 0 <= at < own.shape[0] else 0


@kernel(parallel=False, inline=True)
def _relaxed(out, x, b, neighbour, coupling, inverse, me):
    """All rows of a cell, relaxed, into `out`."""
    n0, n1, n2 = np.uint64(neighbour[me, 0]), np.uint64(neighbour[me, 1]), np.uint64(neighbour[me, 2])
    n3, n4, n5 = np.uint64(neighbour[me, 3]), np.uint64(neighbour[me, 4]), np.uint64(neighbour[me, 5])
    c0, c1, c2 = coupling[me, 0], coupling[me, 1], coupling[me, 2]
    c3, c4, c5 = coupling[me, 3], coupling[me, 4], coupling[me, 5]
    for p in range(WIDTH):
        t = b[me, p] + c0 * x[n0, p] + c1 * x[n1, p] + c2 * x[n2, p] + c3 * x[n3, p] + c4 * x[n4, p] + c5 * x[n5, p]
        out[me, p] = t * inverse[me]


@kernel
def _meet(out, near, start, cell, value, shape):
    """x(a) · b + r(a) · x(b) of the rows of each two terms."""
    for term in prange(out.shape[0]):
        for other in range(out.shape[0]):
            if other >= term and _overlap(near.low[term], near.size[term], near.low[other], near.size[other]):
                _meet_two(out, near, term, other, start[other], start[other + 1], cell, value, shape)


@kernel(parallel=False)
def _meet_two(out, near, term, other, begin, stop, cell, value, shape):
    width, first, low, size = out.shape[1], near.start[term], near.low[term], near.size[term]
    own, total = near.place[near.box[term] : near.box[term + 1]], np.zeros((WIDTH, WIDTH))
    for m in range(begin, stop):
        at = _within(low, size, shape, cell[m])
        if at >= 0 and own[at] > 0:
            x = near.x[first + own[at]]
            for p in range(width):
                for q in range(width):
                    total[p, q] += x[p] * value[m, q]
    their_low, their_size, start, reds = near.low[other], near.size[other], near.start[other], near.reds[other]
    theirs = near.place[near.box[other] : near.box[other + 1]]
    begin, end = np.maximum(low, their_low), np.minimum(low + size, their_low + their_size)
    for i in range(begin[0], end[0]):
        for j in range(begin[1], end[1]):
            here = ((i - low[0]) * size[1] + j - low[1]) * size[2] - low[2]
            there = ((i - their_low[0]) * their_size[1] + j - their_low[1]) * their_size[2] - their_low[2]
            for k in range(begin[2], end[2]):
                me, you = own[here + k], theirs[there + k]
                if me > 0 and 0 < you <= reds:
                    for p in range(width):
                        for q in range(WIDTH):
                            total[p, q] += near.r[first + me, p] * near.x[start + you, q]
    for p in range(width):
        for q in range(width):
            out[term, p, other, q] = out[other, q, term, p] = total[p, q]


@kernel(parallel=False)
def _overlap(low, size, other, other_size):
    """Whether two boxes share a cell."""
    apart = False
    for a in range(3):
        apart |= low[a] + size[a] <= other[a] or other[a] + other_size[a] <= low[a]
    return not apart


@kernel
def _through_coarse(out, width, order, planes, span, onto, push, coarse, parts):
    """Add g(a) · B_c g(b) of all rows, `width` of each term: b by b, in this order of the terms, and a from b on.

    Term t pushes on nodes in planes[t, 0] … planes[t, 1] − 1 of the first level.
    """
    lots = (out.shape[0] + LANES - 1) // LANES
    for part in prange(parts):
        x, b = np.empty(LANES * len(coarse.x), np.float32), np.empty(LANES * len(coarse.x), np.float32)
        for lot in range(np.int64(part), lots, parts):  # the last ones take less time
            x[:], b[:] = 0.0, 0.0
            _through_coarse_lot(out, x, b, LANES * lot, width, order, planes, span, onto, push, coarse)


@kernel(parallel=False)
def _through_coarse_lot(out, x, b, first, width, order, planes, span, onto, push, coarse):
    """The same for LANES rows b at most, from the first on."""
    lanes = min(LANES, out.shape[0] - first)
    for lane in range(lanes):
        term, p = order[(first + lane) // width], (first + lane) % width
        for m in range(span[term, 0], span[term, 1]):
            b[LANES * onto[m] + lane] = push[m, p]
    begin, end = first // width, (first + lanes - 1) // width + 1
    _coarse_cycles(x, b, coarse, _union(planes, order[begin:end]), _union(planes, order[begin:]))
    total = np.zeros((WIDTH, LANES), np.float32)
    for turn in range(begin, len(order)):
        term = order[turn]
        total[:] = 0.0
        for m in range(span[term, 0], span[term, 1]):
            here = np.uint64(LANES * onto[m])
            for p in range(width):
                factor, sums = push[m, p], total[p]
                for lane in range(LANES):
                    sums[lane] += factor * x[here + np.uint64(lane)]
        for p in range(width):
            row = width * term + p
            for lane in range(min(lanes, width * turn + p + 1 - first)):
                other = width * order[(first + lane) // width] + (first + lane) % width
                out[row, other] += total[p, lane]
                if other != row:
                    out[other, row] += total[p, lane]


@kernel(parallel=False)
def _union(planes, terms):
    """The planes from the first of some terms to the last."""
    first, end = planes[terms[0], 0], planes[terms[0], 1]
    for term in terms:
        first, end = min(first, planes[term, 0]), max(end, planes[term, 1])
    return first, end


@kernel(parallel=False)
def _coarse_cycles(x, b, coarse, given, wanted):
    """What multigrid.coarse_cycle does, for LANES right-hand sides: those of node n are from LANES · n on.

    On the first level b is zero but in the planes `given`, as x is at first, and x is right in those `wanted`. A sweep
    over a colour reaches one plane more.
    """
    levels, parent, inverse, planes = coarse.levels, coarse.parent, coarse.inverse, coarse.planes
    deepest, sweeps = levels.shape[0] - 1, 2 * SMOOTHING
    for station in range(2 * deepest + 1):
        upward = station > deepest
        level = 2 * deepest - station if upward else station
        first, black, end = levels[level, 0], levels[level, 1], levels[level, 2]
        if upward:
            low, high = _within_reach(planes[0], wanted, sweeps) if level == 0 else (first, black)
            for n in range(low, high):
                for lane in range(LANES if parent[n] >= 0 else 0):
                    x[LANES * n + lane] += x[LANES * parent[n] + lane]
        elif level > 0:
            low, high = (
                _within_reach(planes[0], given, sweeps) if level == 1 else (levels[level - 1, 0], levels[level - 1, 1])
            )
            _restrict(x, b, coarse, first, end, low, high)
        if level < deepest:
            for half in range(sweeps):
                colour = 1 if (half & 1) != upward else 0
                low, high = (black, end) if colour == 1 else (first, black)
                if level == 0:
                    low, high = _within_reach(
                        planes[colour], wanted if upward else given, sweeps - 1 - half if upward else half
                    )
                _relax(x, b, coarse, low, high, upward)
        else:
            for n in range(LANES * first, LANES * end):
                x[n] = b[n] * inverse[n // LANES]
            _solve_dense(x, b, coarse.dense, coarse.dense_inverse)


@kernel(parallel=False)
def _within_reach(start, span, reach):
    """The nodes of one colour in some planes and so many beside them; those of plane i begin at start[i]."""
    return start[max(span[0] - reach, 0)], start[min(span[1] + reach, len(start) - 1)]


@kernel(parallel=False)
def _relax(x, b, coarse, first, end, backward):
    """Gauss–Seidel over nodes in turn, or in reverse."""
    inverse, start, neighbour, coupling = coarse.inverse, coarse.start, coarse.neighbour, coarse.coupling
    relaxed = np.empty(LANES, np.float32)
    for step in range(end - first):
        n = end - 1 - step if backward else first + step
        _neighbours(relaxed, x, b, start[n], start[n + 1], neighbour, coupling, n)
        for lane in range(LANES):
            x[np.uint64(LANES * n + lane)] = relaxed[lane] * inverse[n]


@kernel(parallel=False)
def _restrict(x, b, coarse, first, end, low, high):
    """b of a level: the sum of the residuals of the red nodes that each node was made of."""
    inverse, start, neighbour, coupling = coarse.inverse, coarse.start, coarse.neighbour, coarse.coupling
    residual = np.empty(LANES, np.float32)
    for n in range(first, end):
        for m in range(coarse.members_start[n], coarse.members_start[n + 1]):
            i = coarse.members[m]
            if low <= i < high and inverse[i] > 0.0:
                _neighbours(residual, x, b, start[i], start[i + 1], neighbour, coupling, i)
                for lane in range(LANES):
                    b[LANES * n + lane] += residual[lane] - x[LANES * i + lane] / inverse[i]


@kernel(parallel=False, inline=True)
def _neighbours(out, x, b, more, last, neighbour, coupling, n):
    """b of a node, and the sum of coupling × value over its edges; not in a loop, which would not be vectorised."""
    e, here = UNROLLED * n, LANES * n
    n0, n1, n2 = LANES * neighbour[e], LANES * neighbour[e + 1], LANES * neighbour[e + 2]
    n3, n4, n5 = LANES * neighbour[e + 3], LANES * neighbour[e + 4], LANES * neighbour[e + 5]
    c0, c1, c2 = coupling[e], coupling[e + 1], coupling[e + 2]
    c3, c4, c5 = coupling[e + 3], coupling[e + 4], coupling[e + 5]
    for lane in range(LANES):
        t = c0 * x[np.uint64(n0 + lane)] + c1 * x[np.uint64(n1 + lane)] + c2 * x[np.uint64(n2 + lane)]
        t += c3 * x[np.uint64(n3 + lane)] + c4 * x[np.uint64(n4 + lane)] + c5 * x[np.uint64(n5 + lane)]
        out[lane] = b[np.uint64(here + lane)] + t
    for rest in range(more, last):
        for lane in range(LANES):
            out[lane] += coupling[rest] * x[np.uint64(LANES * neighbour[rest] + lane)]


@kernel(parallel=False)
def _solve_dense(x, b, dense, dense_inverse):
    """x of the nodes of the last level that have edges."""
    for m in range(dense.shape[0]):
        for lane in range(LANES):
            total = 0.0
            for n in range(dense.shape[0]):
                total += dense_inverse[m, n] * b[LANES * dense[n] + lane]
            x[LANES * dense[m] + lane] = total
