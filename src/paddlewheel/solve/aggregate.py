"""Coarse levels for multigrid: cells joined by eights, but never across a wall.

A 2×2×2 aggregate that holds cells on two sides of a thin wall would tie
their pressures together and ruin the coarse correction. So an aggregate is
split into its connected parts, each a node of its own. From the first coarse
level on the hierarchy is therefore a graph.

Nodes that share a coarse cell are never joined by an edge, or they would be
one node; so every edge leads to a neighbouring cell, and the parity of the
cell still colours the graph red and black on every level.

With piecewise-constant transfer the Galerkin operator is too stiff: by two in
open water, where the pressure drops evenly along the way between two coarse
centres, but not at all where it drops at one weak link. So each fine face
counts as resistances in series: the face, and on either side half a cell as
conductive as the strongest coupling s of that cell,

    coupling = Σ_f 1 / (1/c_f + ½/s_i + ½/s_j),      extra = ½ Σ_i e_i

which is ½ c where all are equal and c at a weak link. (Series resistances for
the extra as well cost one or two iterations more.)

A node without edges is solved exactly by one relaxation. It is not coarsened
further, so a spray of a thousand drops costs nothing on the coarse levels.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.solve.packed import FIRST, LAST, PLAIN, START, I, J, Packed, place

WEAK = 0.1  # a coupling below this share of the strongest at its weaker end does not join two cells
ENOUGH = 0.6  # a level that keeps more than this share of the nodes is made again with weak couplings joining

# The corners of a 2×2×2 aggregate, 4 i + 2 j + k, those on a side (2 axis + (1 if upper)) first.
_CORNERS = np.array([sorted(range(8), key=lambda q, f=f: (q >> (2 - (f >> 1)) & 1) != (f & 1)) for f in range(6)])


class Graph(NamedTuple):
    """One coarse level, its red nodes first.

    cell       (n, 3) int32: the coarse cell of each node
    start      (n + 1,) int64: the edges of node i are start[i] … start[i + 1] − 1
    neighbour  (edges,) int32
    coupling   (edges,) float32
    extra      (n,) float32
    reds       how many nodes are red
    shape      of the grid of coarse cells
    """

    cell: np.ndarray
    start: np.ndarray
    neighbour: np.ndarray
    coupling: np.ndarray
    extra: np.ndarray
    reds: int
    shape: tuple[int, int, int]


def from_cells(packed: Packed) -> tuple[np.ndarray, Graph]:
    """The first coarse level, and the node of each cell as a packed int32 vector (−1: none)."""
    layout = packed.layout
    node, flat = layout.full(-1, np.int32), (packed.lower.reshape(-1), packed.inverse.reshape(-1))
    parts = _first_level(node, node.reshape(-1), *layout.where, *flat, packed.extra, layout.size)
    return node, Graph(*parts, _halved(layout.shape))


def from_graph(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray, Graph]:
    """The next coarse level; the parent of each node (−1: none), and each parent's nodes as (start, nodes)."""
    shape = _halved(graph.shape)
    parent, members_start, members, *rest = _coarsened(*graph[:5], shape)
    return parent, members_start, members, Graph(*rest, shape)


def _halved(shape):
    return tuple((n + 1) // 2 for n in shape)


@kernel(parallel=False)
def _coarse_row(rows, r):
    """Coarse i and j of the coarse row that begins with row r, the range of coarse k it spans, and the row after it."""
    i, j = rows[r, I] >> 1, rows[r, J] >> 1
    low, high, plain = rows[r, FIRST], rows[r, LAST], True
    while r < rows.shape[0] and rows[r, I] >> 1 == i and rows[r, J] >> 1 == j:
        low, high = min(low, rows[r, FIRST]), max(high, rows[r, LAST])
        plain &= rows[r, PLAIN] == 1
        r += 1
    return i, j, max(low - 1, 0), high, plain, r


@kernel(parallel=False)
def _find_corners(here, there, face, starts, size, ci, cj):
    """Where the corners of the coarse cell (ci, cj, 0) are; those of (ci, cj, ck) are ck further.

    here[q] is the place of corner q in a vector laid flat, there[q, f] that of the cell beyond its side f, and
    face[q, f] that of the coupling between them in Packed.lower laid flat. Side 2a of a cell is its lower face along
    axis a, side 2a + 1 the upper one.
    """
    for q in range(8):
        i, j, k = 2 * ci + (q >> 2), 2 * cj + ((q >> 1) & 1), q & 1
        colour, at = place(starts, i, j, k)
        here[q] = colour * size + at
        for f in range(6):
            a, step = f >> 1, 2 * (f & 1) - 1
            _, across = place(starts, i + step * (a == 0), j + step * (a == 1), k + step * (a == 2))
            there[q, f] = (1 - colour) * size + across
            face[q, f] = 2 * a * size + (there[q, f] if f & 1 else here[q])


@kernel(parallel=False)
def _first_level(node, flat, rows, blocks, starts, lower, inverse, e, size):
    """The parts of from_cells' graph but its shape; `flat` is node laid flat, as the couplings and `inverse` are.

    One call for all: where there are a thousand cells, to call its parts from outside took longer than they do.
    """
    strength, counts = np.zeros(2 * size, np.float32), np.zeros((blocks.shape[0] - 1, 2), np.int64)
    _split_cells(flat, strength, counts, rows, blocks, starts, lower, inverse, size)

    before, reds = np.empty_like(counts), counts[:, 0].sum()
    n = reds
    red = 0
    for block in range(counts.shape[0]):
        before[block, 0], before[block, 1] = red, n
        red, n = red + counts[block, 0], n + counts[block, 1]
    cell, extra, start = np.empty((n, 3), np.int32), np.zeros(n, np.float32), np.zeros(n + 1, np.int64)
    _number_cells(node, cell, extra, before, rows, blocks, starts, e)

    # Each block lists the edges it finds, then they are filed by their nodes. There are about six to a node; should
    # there be more than there is room for, they are listed again.
    found, room = 8 * (counts[:, 0] + counts[:, 1]), np.zeros(counts.shape[0] + 1, np.int64)
    enough = False
    while not enough:
        for block in range(found.shape[0]):
            room[block + 1] = room[block] + found[block]
        own, to, weight = np.empty(room[-1], np.int32), np.empty(room[-1], np.int32), np.empty(room[-1], np.float32)
        start[:] = 0
        _join_cells(own, to, weight, found, start, room, flat, strength, rows, blocks, starts, lower, size)
        enough = True
        for block in range(found.shape[0]):
            enough &= found[block] <= room[block + 1] - room[block]
    for m in range(n):
        start[m + 1] += start[m]
    neighbour, coupling = np.empty(start[n], np.int32), np.empty(start[n], np.float32)
    _file_edges(neighbour, coupling, start[:-1].copy(), own, to, weight, room, found)
    return cell, start, neighbour, coupling, extra, reds


@kernel
def _split_cells(node, strength, counts, rows, blocks, starts, lower, inverse, size):
    """Number the connected parts of each 2×2×2 aggregate, red and black apart, from zero in each block."""
    for block in prange(blocks.shape[0] - 1):
        label, member, side, s = (
            np.empty(8, np.int64),
            np.empty(8, np.int64),
            np.empty(8, np.int64),
            np.empty(8, np.float32),
        )
        here, there, face = np.empty(8, np.int64), np.empty((8, 6), np.int64), np.empty((8, 6), np.int64)
        r, reds, blacks = blocks[block], 0, 0
        while r < blocks[block + 1]:
            ci, cj, low, high, plain, r = _coarse_row(rows, r)
            _find_corners(here, there, face, starts, size, ci, cj)
            for ck in range(low, high):
                parity = (ci + cj + ck) & 1
                full = plain
                for q in range(8):
                    full &= inverse[here[q] + ck] > 0.0
                if full:  # all couplings are one
                    for q in range(8):
                        node[here[q] + ck] = reds if parity == 0 else blacks
                        strength[here[q] + ck] = 1.0
                    reds, blacks = reds + 1 - parity, blacks + parity
                    continue
                for q in range(8):
                    s[q], side[q] = 0.0, -1
                    if inverse[here[q] + ck] > 0.0:
                        for f in range(6):
                            c = lower[face[q, f] + ck]
                            if c > s[q]:
                                s[q], side[q] = c, f
                    label[q] = q if s[q] > 0.0 else -1
                changed = True
                while changed:
                    changed = False
                    for a in range(3):
                        bit = 4 >> a
                        for q in range(8):
                            if q & bit and label[q] != label[q - bit] and label[q] >= 0 and label[q - bit] >= 0:
                                c = lower[face[q, 2 * a] + ck]
                                favoured = c > 0.0 and (side[q] == 2 * a or side[q - bit] == 2 * a + 1)
                                if favoured or c > WEAK * max(s[q], s[q - bit]):
                                    label[q] = label[q - bit] = min(label[q], label[q - bit])
                                    changed = True
                for q in range(8):
                    if label[q] == q:
                        member[q] = reds if parity == 0 else blacks
                        reds, blacks = reds + 1 - parity, blacks + parity
                    if label[q] >= 0:
                        node[here[q] + ck] = member[label[q]]
                        strength[here[q] + ck] = s[q]
        counts[block, 0], counts[block, 1] = reds, blacks


@kernel
def _number_cells(node, cell, extra, before, rows, blocks, starts, e):
    """Number the nodes of all blocks through; set each node's coarse cell and extra."""
    for block in prange(blocks.shape[0] - 1):
        for r in range(blocks[block], blocks[block + 1]):
            i, j = rows[r, I], rows[r, J]
            for colour in range(2):
                odd = (i + j + 1 + colour) & 1  # of k, in this row and colour
                for half in range(rows[r, FIRST], rows[r, LAST]):
                    at = rows[r, START] + half
                    if node[colour, at] >= 0:
                        k = 2 * half - odd
                        n = node[colour, at] + before[block, ((i >> 1) + (j >> 1) + (k >> 1)) & 1]
                        node[colour, at] = n
                        cell[n, 0], cell[n, 1], cell[n, 2] = i >> 1, j >> 1, k >> 1
                        extra[n] += 0.5 * e[colour, at]


@kernel
def _join_cells(own, to, weight, found, degree, room, node, strength, rows, blocks, starts, lower, size):
    """List the edges of the nodes of each block, from room[block] on, and count those of node n in degree[n + 1].

    Of those beyond room[block + 1] only the number is found, and may be too large.
    """
    for block in prange(blocks.shape[0] - 1):
        here, there, face = np.empty(8, np.int64), np.empty((8, 6), np.int64), np.empty((8, 6), np.int64)
        nodes = np.empty(8, np.int32)
        r, end, limit, beyond = blocks[block], room[block], room[block + 1], 0
        while r < blocks[block + 1]:
            ci, cj, low, high, _, r = _coarse_row(rows, r)
            _find_corners(here, there, face, starts, size, ci, cj)
            for ck in range(low, high):
                single = -1
                for q in range(8):
                    nodes[q] = node[here[q] + ck]
                    if nodes[q] >= 0:
                        single = nodes[q] if single == -1 or single == nodes[q] else -2
                if single == -1:
                    continue
                first, e = end, end
                for f in range(6):
                    for m in range(8 if single == -2 else 4):  # edges leave one node on the outside only
                        q = _CORNERS[f, m]
                        w = lower[face[q, f] + ck]
                        if nodes[q] < 0 or w == 0.0:
                            continue
                        mine, theirs = nodes[q], node[there[q, f] + ck]
                        if mine == theirs:
                            continue
                        if e >= end or own[e] != mine or to[e] != theirs:  # mostly the same edge as before
                            e = first
                            while e < end and (own[e] != mine or to[e] != theirs):
                                e += 1
                            if e == limit:
                                beyond += 1
                                continue
                            if e == end:
                                own[e], to[e], weight[e] = mine, theirs, 0.0
                                degree[mine + 1] += 1
                                end += 1
                        s, t = strength[here[q] + ck], strength[there[q, f] + ck]
                        weight[e] += 0.5 * w if w == s and w == t else _in_series(w, s, t)
        found[block] = end - room[block] + beyond


@kernel
def _file_edges(neighbour, coupling, next_free, own, to, weight, room, found):
    """Move each block's edges to their nodes; no two blocks share a node."""
    for block in prange(found.shape[0]):
        for e in range(room[block], room[block] + found[block]):
            at = next_free[own[e]]
            neighbour[at], coupling[at] = to[e], weight[e]
            next_free[own[e]] = at + 1


@kernel(parallel=False)
def _in_series(c, s, t):
    """1 / (1/c + ½/s + ½/t)."""
    return 2.0 * c * s * t / (2.0 * s * t + c * (s + t))


@kernel(parallel=False)
def _coarsened(cell, start, neighbour, coupling, extra, shape):
    """What from_graph returns, of the parts of a graph."""
    order, groups = _grouped(cell, start, shape)
    parent = np.full(extra.shape[0], -1, np.int32)
    strength, favourite = _strongest_edges(start, neighbour, coupling)
    for weak in (WEAK, 0.0):
        counts = _split_nodes(parent, order, groups, cell, start, neighbour, coupling, strength, favourite, weak)
        if counts.sum() < ENOUGH * order.shape[0]:
            break
    reds = counts[0]
    members_start, members, coarse, total = _number_nodes(parent, order, groups, cell, extra, reds, counts.sum())
    edges, to, weight = _join_nodes(parent, members_start, members, start, neighbour, coupling, strength)
    return parent, members_start, members, coarse, edges, to, weight, total, reds


@kernel(parallel=False, inline=True)
def _strongest_edges(start, neighbour, coupling):
    """The largest coupling of each node, and the neighbour it leads to."""
    strength, favourite = np.zeros(start.shape[0] - 1, np.float32), np.full(start.shape[0] - 1, -1, np.int32)
    for n in range(strength.shape[0]):
        for e in range(start[n], start[n + 1]):
            if coupling[e] > strength[n]:
                strength[n], favourite[n] = coupling[e], neighbour[e]
    return strength, favourite


@kernel(parallel=False, inline=True)
def _grouped(cell, start, shape):
    """Nodes that have edges, ordered by their coarse cell; (order, range of each occupied coarse cell)."""
    cells = shape[0] * shape[1] * shape[2]
    first = np.zeros(cells + 1, np.int64)
    for n in range(cell.shape[0]):
        if start[n + 1] > start[n]:
            first[((cell[n, 0] >> 1) * shape[1] + (cell[n, 1] >> 1)) * shape[2] + (cell[n, 2] >> 1) + 1] += 1
    occupied = 0
    for c in range(cells):
        occupied += first[c + 1] > 0
        first[c + 1] += first[c]
    groups = np.empty(occupied + 1, np.int64)
    g = 0
    for c in range(cells):
        if first[c + 1] > first[c]:
            groups[g] = first[c]
            g += 1
    groups[g] = first[cells]
    order = np.empty(first[cells], np.int32)
    for n in range(cell.shape[0]):
        if start[n + 1] > start[n]:
            c = ((cell[n, 0] >> 1) * shape[1] + (cell[n, 1] >> 1)) * shape[2] + (cell[n, 2] >> 1)
            order[first[c]] = n
            first[c] += 1
    return order, groups


@kernel(parallel=False, inline=True)
def _split_nodes(parent, order, groups, cell, start, neighbour, coupling, strength, favourite, weak):
    """Set each node's parent to the least node of its connected part; count the parts, red and black."""
    counts = np.zeros(2, np.int64)
    for g in range(groups.shape[0] - 1):
        nodes = order[groups[g] : groups[g + 1]]
        for n in nodes:
            parent[n] = n
        ci, cj, ck = cell[nodes[0], 0] >> 1, cell[nodes[0], 1] >> 1, cell[nodes[0], 2] >> 1
        changed = True
        while changed:
            changed = False
            for n in nodes:
                for e in range(start[n], start[n + 1]):
                    m = neighbour[e]
                    same = cell[m, 0] >> 1 == ci and cell[m, 1] >> 1 == cj and cell[m, 2] >> 1 == ck
                    if same and parent[m] != parent[n]:
                        favoured = favourite[n] == m or favourite[m] == n
                        if favoured or coupling[e] > weak * max(strength[m], strength[n]):
                            parent[n] = parent[m] = min(parent[n], parent[m])
                            changed = True
        for n in nodes:
            counts[(ci + cj + ck) & 1] += parent[n] == n
    return counts


@kernel(parallel=False, inline=True)
def _number_nodes(parent, order, groups, cell, extra, reds, n):
    """Number the parts through, reds first; list their members."""
    members_start, members = np.zeros(n + 1, np.int64), np.empty(order.shape[0], np.int32)
    coarse, total = np.empty((n, 3), np.int32), np.zeros(n, np.float32)
    number = np.empty(parent.shape[0], np.int32)
    red, black = 0, reds
    for at in range(order.shape[0]):
        node = order[at]
        if parent[node] == node:
            ci, cj, ck = cell[node, 0] >> 1, cell[node, 1] >> 1, cell[node, 2] >> 1
            if (ci + cj + ck) & 1:
                number[node] = black
                black += 1
            else:
                number[node] = red
                red += 1
            p = number[node]
            coarse[p, 0], coarse[p, 1], coarse[p, 2] = ci, cj, ck
    for at in range(order.shape[0]):
        node = order[at]
        parent[node] = number[parent[node]]
        members_start[parent[node] + 1] += 1
        total[parent[node]] += 0.5 * extra[node]
    for p in range(n):
        members_start[p + 1] += members_start[p]
    fill = members_start[:-1].copy()
    for at in range(order.shape[0]):
        p = parent[order[at]]
        members[fill[p]] = order[at]
        fill[p] += 1
    return members_start, members, coarse, total


@kernel(parallel=False, inline=True)
def _join_nodes(parent, members_start, members, start, neighbour, coupling, strength):
    """The edges of each part: those of its members that leave it, merged."""
    n = members_start.shape[0] - 1
    edges = np.zeros(n + 1, np.int64)
    to, weight = np.empty(neighbour.shape[0], np.int32), np.empty(neighbour.shape[0], np.float32)
    end = 0
    for p in range(n):
        first = end
        for member in members[members_start[p] : members_start[p + 1]]:
            for e in range(start[member], start[member + 1]):
                q = parent[neighbour[e]]
                if q != p:
                    at = first
                    while at < end and to[at] != q:
                        at += 1
                    if at == end:
                        to[at], weight[at] = q, 0.0
                        end += 1
                    weight[at] += _in_series(coupling[e], strength[member], strength[neighbour[e]])
        edges[p + 1] = end
    return edges, to[:end].copy(), weight[:end].copy()
