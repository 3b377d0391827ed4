"""One multigrid V-cycle in float32, as a preconditioner.

Red-black Gauss–Seidel, SMOOTHING sweeps on the way down and as many in
reverse order on the way up, so that the cycle is symmetric. The finest level
is the packed stencil, all coarser ones are graphs (see aggregate), kept end
to end in shared arrays so that one kernel serves every level.

After a sweep that ends with black, the residual of every black cell is zero,
and a sweep that begins with black overwrites whatever was there: so only red
cells are restricted and corrected.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, share, threads
from paddlewheel.solve.aggregate import from_cells, from_graph
from paddlewheel.solve.packed import PLAIN, Packed, beside, cells_of, end_of_run

SMOOTHING = 3
PARTS = 16  # a colour of a coarse level is relaxed in so many parts,
FEW = 4000  # unless it has no more nodes, or cells, than this: then waking the threads costs more than they save
UNROLLED = 6  # edges that every node is given, so that they are found without a look: in open water a node has six
DENSE = 32  # a level with no more nodes that have edges is solved by its inverse


class Coarse(NamedTuple):
    """All coarse levels end to end.

    levels          (L, 3) int64: first node of a level, its first black one, one past its last
    neighbour       int32, coupling float32: edges, UNROLLED of each node, and after them all that are more. Those that
                    a node lacks lead from it to itself with coupling zero
    start           (n + 1,) int64: the edges that node i has more are start[i] … start[i + 1] − 1
    rich            int64: the nodes that have more, and n, which is none
    inverse         (n,) float32: one over the diagonal; zero at a singular node
    same_cell       (n,) bool: the node shares its cell with the one before it
    parent          (n,) int32: node on the next level, −1: none
    members_start   (n + 1,) int64, members int32: the nodes a node was made of (none on the first level)
    x, b            (n,) float32: solution and right-hand side
    planes          (2, planes + 1) int64: on the first level, those of a colour whose cells are in plane i come from
                    planes[colour, i] to planes[colour, i + 1] − 1
    dense           int64: the nodes the dense inverse solves for
    dense_inverse  (m, m) float64: its entries may span many orders
    """

    levels: np.ndarray
    neighbour: np.ndarray
    coupling: np.ndarray
    start: np.ndarray
    rich: np.ndarray
    inverse: np.ndarray
    same_cell: np.ndarray
    parent: np.ndarray
    members_start: np.ndarray
    members: np.ndarray
    x: np.ndarray
    b: np.ndarray
    planes: np.ndarray
    dense: np.ndarray
    dense_inverse: np.ndarray


class Multigrid:
    """The hierarchy of a system; called as `multigrid(z, r)` it sets z to about A⁻¹ r.

    finest  what sweeps of the finest level need: room, one over the diagonal, couplings, and coarse nodes
    where   its rows, in blocks, and how many parts these are shared out in

    Cells where `inverse` is zero stay zero. If that are unknowns, `coarse` is the system with their couplings cut, to
    make the coarse levels from.
    """

    def __init__(self, packed: Packed, coarse: Packed | None = None):
        self.packed = packed
        self.node, first = from_cells(coarse or packed)
        self.coarse = _hierarchy(first)
        layout = packed.layout
        self.finest = np.empty(layout.size, np.float32), packed.inverse, packed.lower, self.node
        self.where = layout.rows, layout.blocks, threads() if layout.size > FEW else 1

    def __call__(self, z: np.ndarray, r: np.ndarray) -> None:
        _cycle(z, r, *self.finest, self.coarse, *self.where)


def _hierarchy(graph) -> Coarse:
    graphs, parents, members = [graph], [], [(np.zeros(len(graph.extra) + 1, np.int64), np.empty(0, np.int32))]
    while np.count_nonzero(_joined(graphs[-1])) > DENSE:
        parent, members_start, nodes, graph = from_graph(graphs[-1])
        parents.append(parent)
        members.append((members_start, nodes))
        graphs.append(graph)
    parents.append(np.full(len(graph.extra), -1, np.int32))

    n = sum(len(g.extra) for g in graphs)
    levels, start = np.empty((len(graphs), 3), np.int64), np.full(n + 1, UNROLLED * n)
    edges = UNROLLED * n + sum(_more(g.start) for g in graphs)
    neighbour, coupling = np.empty(edges, np.int32), np.empty(edges, np.float32)
    inverse, same_cell, parent = np.empty(n, np.float32), np.empty(n, np.bool_), np.empty(n, np.int32)
    members_start, nodes = np.zeros(n + 1, np.int64), np.empty(sum(len(own) for _, own in members), np.int32)
    first = end = 0
    for level, (graph, above, made_of) in enumerate(zip(graphs, parents, members, strict=True)):
        below, first, end = first, end, end + len(graph.extra)
        levels[level] = first, first + graph.reds, end
        _append(start, neighbour, coupling, inverse, same_cell, first, *graph[:5])
        _append_kin(parent, members_start, nodes, below, first, end, above, *made_of)
    dense = np.flatnonzero(_joined(graph))
    return Coarse(
        levels,
        neighbour,
        coupling,
        start,
        np.append(np.flatnonzero(start[1:] > start[:-1]), n),
        inverse,
        same_cell,
        parent,
        members_start,
        nodes,
        np.zeros(n, np.float32),
        np.zeros(n, np.float32),
        _planes(graphs[0]),
        dense + first,
        _dense_inverse(dense, graph.extra, graph.start, graph.neighbour, graph.coupling),
    )


def _planes(graph) -> np.ndarray:
    """Where the nodes of each plane of cells begin, by colour: they are in the order of the planes."""
    plane, ends = graph.cell[:, 0], np.arange(graph.shape[0] + 1)
    red, black = plane[: graph.reds], plane[graph.reds :]
    return np.stack([np.searchsorted(red, ends), graph.reds + np.searchsorted(black, ends)])


def _joined(graph) -> np.ndarray:
    """Which nodes have edges, bool."""
    return graph.start[1:] > graph.start[:-1]


@kernel(parallel=False)
def _dense_inverse(nodes, extra, start, neighbour, coupling):
    """A symmetric inverse of the matrix over some nodes that have edges only among each other.

    By L D Lᵀ, keeping couplings and extras in place of the diagonal: elimination then only ever adds what is
    positive, so no digit is lost between strong and weak links, and the last pivot of a closed region is exactly
    zero. That node keeps the value zero: any constant will do.
    """
    m = nodes.shape[0]
    index, W, e = np.zeros(extra.shape[0], np.int64), np.zeros((m, m)), np.empty(m)
    for k in range(m):
        index[nodes[k]], e[k] = k, extra[nodes[k]]
    for k in range(m):  # the two ends of an edge were summed in different orders: take their mean
        for edge in range(start[nodes[k]], start[nodes[k] + 1]):
            half = 0.5 * coupling[edge]
            W[k, index[neighbour[edge]]] += half
            W[index[neighbour[edge]], k] += half

    pivot, lower = np.zeros(m), np.eye(m)  # D⁻¹ and L⁻¹
    for k in range(m):
        diagonal = e[k]
        for j in range(k + 1, m):
            diagonal += W[k, j]
        pivot[k] = 1.0 / diagonal if diagonal > 0.0 else 0.0
        for i in range(k + 1, m):
            factor = pivot[k] * W[i, k]
            if factor > 0.0:
                e[i] += factor * e[k]
                for j in range(k + 1, m):  # what lands on the diagonal is never read
                    W[i, j] += factor * W[k, j]
                for j in range(k + 1):
                    lower[i, j] += factor * lower[k, j]
    out = np.zeros((m, m))
    for k in range(m):
        for i in range(k + 1):
            scaled = pivot[k] * lower[k, i]
            for j in range(k + 1):
                out[i, j] += scaled * lower[k, j]
    return out


@kernel(parallel=False)
def _more(start):
    """Number of edges beyond UNROLLED of each node."""
    total = 0
    for n in range(len(start) - 1):
        total += max(start[n + 1] - start[n] - UNROLLED, 0)
    return total


@kernel(parallel=False)
def _append(start, neighbour, coupling, inverse, same_cell, first, cell, edges, to, weight, extra):
    """Add the nodes of one level, from node `first` on."""
    for n in range(extra.shape[0]):
        diagonal, own, count = np.float64(extra[n]), UNROLLED * (first + n), edges[n + 1] - edges[n]
        start[first + n + 1] = start[first + n] + max(count - UNROLLED, 0)
        for e in range(count):
            at = own + e if e < UNROLLED else start[first + n] + e - UNROLLED
            diagonal += weight[edges[n] + e]
            neighbour[at], coupling[at] = first + to[edges[n] + e], weight[edges[n] + e]
        for lacking in range(own + count, own + UNROLLED):
            neighbour[lacking], coupling[lacking] = first + n, 0.0
        inverse[first + n] = 1.0 / diagonal if diagonal > 0.0 else 0.0
        same = n > 0 and cell[n, 0] == cell[n - 1, 0] and cell[n, 1] == cell[n - 1, 1] and cell[n, 2] == cell[n - 1, 2]
        same_cell[first + n] = same


@kernel(parallel=False)
def _append_kin(parent, members_start, members, below, first, end, own_parent, own_start, own_members):
    """Add the parents and members of the nodes of one level, from `first` to `end`; the level before is at `below`."""
    for n in range(end - first):
        parent[first + n] = own_parent[n] + end if own_parent[n] >= 0 else -1
        at = members_start[first + n]
        for m in range(own_start[n], own_start[n + 1]):
            members[at] = own_members[m] + below
            at += 1
        members_start[first + n + 1] = at


@kernel(parallel=False, inline=True)
def _neighbours(coarse_x, neighbour, coupling, n):
    """Sum of coupling × value over UNROLLED edges of node n. As a call of its own it would take three times as long."""
    one, two, four = np.uint64(1), np.uint64(2), np.uint64(4)
    e = np.uint64(UNROLLED) * n
    total = _pair(coarse_x, neighbour, coupling, e, e + one)
    total += _pair(coarse_x, neighbour, coupling, e + two, e + two + one)
    total += _pair(coarse_x, neighbour, coupling, e + four, e + four + one)
    return total


@kernel(parallel=False, inline=True)
def _all_neighbours(coarse_x, neighbour, coupling, start, n):
    """The same over all edges."""
    total = _neighbours(coarse_x, neighbour, coupling, n)
    for rest in range(start[n], start[n + np.uint64(1)]):
        total += coupling[np.uint64(rest)] * coarse_x[np.uint64(neighbour[np.uint64(rest)])]
    return total


@kernel(parallel=False, inline=True)
def _pair(coarse_x, neighbour, coupling, e, f):
    return coupling[e] * coarse_x[np.uint64(neighbour[e])] + coupling[f] * coarse_x[np.uint64(neighbour[f])]


@kernel(parallel=False)
def _cycle(z, r, room, inverse, lower, node, coarse, rows, blocks, parts):
    """z = V(r)."""
    descend(z, r, room, inverse, lower, node, coarse, rows, blocks, parts)
    coarse_cycle(coarse)
    ascend(z, r, inverse, lower, node, coarse, rows, blocks, parts)


@kernel(parallel=False, inline=True)
def descend(z, r, room, inverse, lower, node, coarse, rows, blocks, parts):
    """Sweeps of the finest level from zero; what they leave of r goes to b of the first coarse one."""
    _relax_from_zero(z, r, inverse, rows, blocks, parts)
    for half in range(1, 2 * SMOOTHING):
        _relax(z, r, inverse, lower, rows, blocks, half & 1, parts)
    for n in range(coarse.levels[0, 2]):
        coarse.b[n] = 0.0
    _restrict_cells(coarse.b, room, z, r, inverse, lower, node, rows, blocks, parts)


@kernel(parallel=False, inline=True)
def ascend(z, r, inverse, lower, node, coarse, rows, blocks, parts):
    """The correction of the coarse levels, and the sweeps in reverse."""
    _prolong_cells(z, coarse.x, node, rows, blocks, parts)
    for half in range(1, 2 * SMOOTHING + 1):
        _relax(z, r, inverse, lower, rows, blocks, half & 1, parts)


@kernel(parallel=False)
def coarse_cycle(coarse):
    """x = V(b) on the graph levels: down to the last, and up again.

    Whether it goes up is a variable, not a constant: Numba would compile all it calls twice.
    """
    levels, x, parent = coarse.levels, coarse.x, coarse.parent
    deepest = levels.shape[0] - 1
    for station in range(2 * deepest + 1):
        upward = station > deepest
        level = 2 * deepest - station if upward else station
        first, black, end = levels[level, 0], levels[level, 1], levels[level, 2]
        if upward:
            for n in range(first, black):
                if parent[n] >= 0:
                    x[n] += x[parent[n]]
        else:
            if level > 0:
                _restrict(coarse, first, end, levels[level - 1, 1])
            for n in range(first, end):
                x[n] = 0.0
        if level < deepest:
            _smooth(coarse, first, black, end, upward)
        else:
            _solve_last(x, coarse.b, coarse.inverse, first, coarse.dense, coarse.dense_inverse)


@kernel(parallel=False)
def _solve_last(x, b, inverse, first, dense, dense_inverse):
    """x on the last level, exactly: each node without edges by itself, the rest by their inverse."""
    for n in range(first, x.shape[0]):
        x[n] = b[n] * inverse[n]
    for m in range(dense.shape[0]):
        total = 0.0
        for n in range(dense.shape[0]):
            total += dense_inverse[m, n] * b[dense[n]]
        x[dense[m]] = total


@kernel(parallel=False)
def _smooth(coarse, first, black, end, upward):
    """Sweeps over a level, red before black, or in reverse; on all threads where there are enough nodes."""
    for half in range(2 * SMOOTHING):
        low, high = (black, end) if (half & 1) != upward else (first, black)
        if high - low > FEW:
            _relax_shared(coarse, low, high, upward)
        else:
            _relax_nodes(coarse, low, high, upward)


@kernel
def _relax_shared(coarse, first, end, backward):
    """Only nodes of one cell can be joined within a colour, by a weak edge: they stay in one part."""
    for part in prange(PARTS):
        low, high = first + (end - first) * part // PARTS, first + (end - first) * (part + 1) // PARTS
        while low < end and coarse.same_cell[low] and low > first:
            low += 1
        while high < end and coarse.same_cell[high]:
            high += 1
        _relax_nodes(coarse, low, high, backward)


@kernel(parallel=False)
def _relax_nodes(coarse, first, end, backward):
    """Gauss–Seidel over nodes in turn, in reverse on the way up, so that the cycle is symmetric."""
    x, b, inverse, rich = coarse.x, coarse.b, coarse.inverse, coarse.rich
    start, neighbour, coupling = coarse.start, coarse.neighbour, coarse.coupling
    at, step, count = np.searchsorted(rich, end if backward else first), 0, end - first
    while step < count:  # up to the next node that has more edges, and then that one
        if backward:
            poor = min(end - 1 - rich[at - 1] if at > 0 else count, count)
        else:
            poor = min(rich[at] - first, count)
        for near in range(step, poor):
            n = np.uint64(end - 1 - near if backward else first + near)
            x[n] = (b[n] + _neighbours(x, neighbour, coupling, n)) * inverse[n]
        if poor < count:
            n = np.uint64(end - 1 - poor if backward else first + poor)
            x[n] = (b[n] + _all_neighbours(x, neighbour, coupling, start, n)) * inverse[n]
        step, at = poor + 1, at - 1 if backward else at + 1


@kernel(parallel=False)
def _restrict(coarse, first, end, black):
    """b of a level: the sum of the residuals of the red nodes that each node was made of."""
    x, b, inverse = coarse.x, coarse.b, coarse.inverse
    start, neighbour, coupling = coarse.start, coarse.neighbour, coarse.coupling
    for n in range(first, end):
        total = np.float32(0.0)
        for m in range(coarse.members_start[n], coarse.members_start[n + 1]):
            i = np.uint64(coarse.members[m])
            if i < np.uint64(black) and inverse[i] > 0.0:
                edges = _all_neighbours(x, neighbour, coupling, start, i)
                total += b[i] - x[i] / inverse[i] + edges
        b[n] = total


@kernel
def _relax_from_zero(x, b, inverse, rows, blocks, parts):
    """Gauss–Seidel over the red cells when x is zero; the black ones need not be cleared."""
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        for r in range(blocks[first], blocks[last]):
            start, count = cells_of(rows, r)
            for n in range(count):
                at = np.uint64(start + n)
                x[0, at] = b[0, at] * inverse[0, at]


@kernel(parallel=False)
def _relax(x, b, inverse, lower, rows, blocks, colour, parts):
    """Gauss–Seidel over the cells of one colour."""
    if parts > 1:
        _relax_parts(x, b, inverse, lower, rows, blocks, colour, parts)
    else:  # to begin a loop that is shared out takes as long as some hundred cells
        _relax_rows(x[colour], x[1 - colour], b, inverse, lower, rows, blocks[0], blocks[-1], colour)


@kernel
def _relax_parts(x, b, inverse, lower, rows, blocks, colour, parts):
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        _relax_rows(x[colour], x[1 - colour], b, inverse, lower, rows, blocks[first], blocks[last], colour)


@kernel(parallel=False)
def _relax_rows(out, y, b, inverse, lower, rows, begin, end, colour):
    """Rows of one colour, into `out`; y is the other."""
    b, inverse, own, other = b[colour], inverse[colour], lower[:, colour], lower[:, 1 - colour]
    r = begin
    while r < end:
        last = end_of_run(rows, r, end)
        if rows[r, PLAIN]:
            _relax_plain(out, y, b, inverse, rows, r, last, colour)
        else:
            _relax_cut(out, y, b, inverse, own[0], own[1], own[2], other[0], other[1], other[2], rows, r, last, colour)
        r = last


@kernel(parallel=False)
def _relax_cut(out, y, b, inverse, c0, c1, c2, d0, d1, d2, rows, begin, end, colour):
    """c and d are the lower couplings of both colours."""
    for r in range(begin, end):
        start, count = cells_of(rows, r)
        below_i, above_i, below_j, above_j, above_k = beside(rows, r, colour)
        for n in range(count):
            at, ak = np.uint64(start + n), np.uint64(above_k + n)
            bi, ai = np.uint64(below_i + n), np.uint64(above_i + n)
            bj, aj = np.uint64(below_j + n), np.uint64(above_j + n)
            t = b[at] + c0[at] * y[bi] + d0[ai] * y[ai]
            t += c1[at] * y[bj] + d1[aj] * y[aj]
            t += c2[at] * y[ak - np.uint64(1)] + d2[ak] * y[ak]
            out[at] = t * inverse[at]


@kernel(parallel=False)
def _relax_plain(out, y, b, inverse, rows, begin, end, colour):
    """The same where all couplings between unknowns are one."""
    for r in range(begin, end):
        start, count = cells_of(rows, r)
        below_i, above_i, below_j, above_j, above_k = beside(rows, r, colour)
        for n in range(count):
            at, ak = np.uint64(start + n), np.uint64(above_k + n)
            bi, ai = np.uint64(below_i + n), np.uint64(above_i + n)
            bj, aj = np.uint64(below_j + n), np.uint64(above_j + n)
            t = b[at] + y[bi] + y[ai] + y[bj] + y[aj] + y[ak - np.uint64(1)] + y[ak]
            out[at] = t * inverse[at]


@kernel
def _restrict_cells(coarse_b, relaxed, x, b, inverse, lower, node, rows, blocks, parts):
    """Add to b of the first coarse level the residuals of each node's red cells; `relaxed` is room for them."""
    for part in prange(parts):
        # No two blocks share a node: a block is made of whole coarse rows.
        first, last = share(part, blocks.shape[0] - 1, parts)
        red = np.int64(0)  # for a constant Numba would compile all that is called once more
        _relax_rows(relaxed, x[1], b, inverse, lower, rows, blocks[first], blocks[last], red)
        _restrict_rows(coarse_b, relaxed, x[0], inverse[0], node[0], rows, blocks[first], blocks[last])


@kernel(parallel=False)
def _restrict_rows(coarse_b, relaxed, x, inverse, node, rows, begin, end):
    for r in range(begin, end):
        start, count = cells_of(rows, r)
        for m in range(count):
            at = np.uint64(start + m)
            relaxed[at] = (relaxed[at] - x[at]) / inverse[at]
        for m in range(count):
            at = np.uint64(start + m)
            if node[at] >= 0:
                coarse_b[np.uint64(node[at])] += relaxed[at]


@kernel
def _prolong_cells(x, coarse_x, node, rows, blocks, parts):
    """Add the correction to the red cells."""
    for part in prange(parts):
        first, last = share(part, blocks.shape[0] - 1, parts)
        for r in range(blocks[first], blocks[last]):
            start, count = cells_of(rows, r)
            for m in range(count):
                at = np.uint64(start + m)
                if node[0, at] >= 0:
                    x[0, at] += coarse_x[np.uint64(node[0, at])]
