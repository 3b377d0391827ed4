"""Closed surfaces of triangles, kept evenly spaced: edges are split where they are long, and collapsed where short.

A split leaves the surface as it is, and an edge collapses to where the volume inside stays. Edges are flipped where
that makes them shorter and the surface is nearly flat. Points that touch something, by bits of what they touch, do
not leave it.
"""

import numpy as np

from paddlewheel.kernel import kernel

__all__ = ["evened_triangles", "surface_count"]

_CLOSE = 0.1  # of the shortest edge, below which also points merge of which one touches more than the other
_FLAT = 0.9  # cosine between neighbours that may be flipped
_TURN = 0.2  # cosine by which triangles may turn when an edge collapses
_PASSES = 4  # of collapses
_MOST_AROUND = 48  # triangles at a point: with more, nothing there is touched


def surface_count(points: int, parts: np.ndarray) -> int:
    """How many connected surfaces triangles (m, 3) make, of so many points, each of which is on one."""
    from scipy import sparse  # 0.1 s

    first, second = parts[:, [0, 1, 2]].ravel(), parts[:, [1, 2, 0]].ravel()
    graph = sparse.coo_matrix((np.ones(len(first), np.int8), (first, second)), (points, points))
    return int(sparse.csgraph.connected_components(graph, directed=False, return_labels=False))


def evened_triangles(
    points: np.ndarray, parts: np.ndarray, touching: np.ndarray, shortest: float, longest: float
) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) float32 and triangles (m, 3) int32 of about the same surface, with edges from shortest to longest.

    An edge stays short if to collapse it would fold the surface or change its topology.
    """
    points, parts = np.array(points, np.float64), np.array(parts, np.int64)
    count = 1
    while count:  # each pass divides the longest edge of all
        points, parts, touching, count = _split(points, parts, touching, longest)
    for _ in range(_PASSES):
        removed, locked = np.zeros(len(parts), np.bool_), np.zeros(len(points), np.bool_)
        around = _around(len(points), parts)
        count = _collapse(points, parts, touching, removed, locked, *around, shortest, longest)
        parts = parts[~removed]
        if not count:
            break
    locked = np.zeros(len(points), np.bool_)
    _flip(points, parts, touching, locked, *_around(len(points), parts))
    used, parts = np.unique(parts, return_inverse=True)
    return points[used].astype(np.float32), parts.reshape(-1, 3).astype(np.int32)


def _split(points, parts, touching, longest) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Divide each triangle whose longest edge is too long, and is that also of its neighbour; how many edges were."""
    ends = np.stack([parts[:, [0, 1]], parts[:, [1, 2]], parts[:, [2, 0]]], axis=1)
    ends.sort(axis=2)
    code = ends[:, :, 0] * len(points) + ends[:, :, 1]
    length = np.linalg.norm(points[ends[:, :, 1]] - points[ends[:, :, 0]], axis=2)
    # the longest of a triangle, of those as long the one with the larger number: the same seen from both sides
    best = np.lexsort((code, length), axis=1)[:, 2]
    rows = np.arange(len(parts))
    chosen, counts = np.unique(code[rows, best][length[rows, best] > longest], return_counts=True)
    chosen = chosen[counts == 2]
    if not len(chosen):
        return points, parts, touching, 0
    place = np.searchsorted(chosen, code[rows, best])
    place[place == len(chosen)] = 0
    mine = chosen[place] == code[rows, best]
    a, b = chosen // len(points), chosen % len(points)
    middle = len(points) + place[mine]
    corner = (best[mine][:, None] + np.arange(3)) % 3
    p, q, r = np.take_along_axis(parts[mine], corner, axis=1).T
    one, two = np.stack([p, middle, r], axis=1), np.stack([middle, q, r], axis=1)
    return (
        np.concatenate([points, 0.5 * (points[a] + points[b])]),
        np.concatenate([parts[~mine], one, two]),
        np.concatenate([touching, touching[a] & touching[b]]),
        len(chosen),
    )


def _around(count, parts) -> tuple[np.ndarray, np.ndarray]:
    """The triangles at each point: those of point p are order[first[p] : first[p + 1]]."""
    order = np.argsort(parts.ravel(), kind="stable") // 3
    first = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(parts.ravel(), minlength=count), out=first[1:])
    return first, order


@kernel(parallel=False)
def _neighbours(out, parts, first, order, p):
    """The points beside p; how many, or −1 for too many."""
    count = 0
    if first[p + 1] - first[p] > _MOST_AROUND:
        return -1
    for n in range(first[p], first[p + 1]):
        for c in range(3):
            q = parts[order[n], c]
            new = q != p
            for m in range(count):
                new = new and out[m] != q
            if new:
                out[count] = q
                count += 1
    return count


@kernel(parallel=False)
def _collapse(points, parts, touching, removed, locked, first, order, shortest, longest):
    """Collapse short edges, no two of them beside each other; how many."""
    at_a, at_b = np.empty(3 * _MOST_AROUND, np.int64), np.empty(3 * _MOST_AROUND, np.int64)
    target, count = np.empty(3), 0
    for m in range(len(parts)):
        for c in range(3):
            a, b = parts[m, c], parts[m, (c + 1) % 3]
            if removed[m] or a > b or locked[a] or locked[b]:
                continue
            d = points[b] - points[a]
            length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
            if length >= shortest:
                continue
            more_a, more_b = touching[a] & ~touching[b], touching[b] & ~touching[a]
            if (more_a and more_b) or ((more_a or more_b) and length >= _CLOSE * shortest):
                continue
            na, nb = _neighbours(at_a, parts, first, order, a), _neighbours(at_b, parts, first, order, b)
            common, free = 0, na >= 0 and nb >= 0
            for i in range(na):
                free = free and not locked[at_a[i]]
                for j in range(nb):
                    common += at_a[i] == at_b[j]
            for j in range(nb):
                free = free and not locked[at_b[j]]
            if not free or common != 2 or na + nb < 8:  # else a tube is pinched, or a tetrahedron is left
                continue
            if more_a:
                target[:] = points[a]
            elif more_b:
                target[:] = points[b]
            else:
                _place(target, points, parts, first, order, a, b, touching[a] != 0)
            if _reaches(points, at_a, na, target) > longest or _reaches(points, at_b, nb, target) > longest:
                continue
            if _folds(points, parts, first, order, a, b, target) or _folds(points, parts, first, order, b, a, target):
                continue
            points[a] = target
            touching[a] |= touching[b]
            for n in range(first[b], first[b + 1]):
                t = order[n]
                for e in range(3):
                    if parts[t, e] == a:
                        removed[t] = True
            for n in range(first[b], first[b + 1]):
                for e in range(3):
                    if parts[order[n], e] == b:
                        parts[order[n], e] = a
            for i in range(na):
                locked[at_a[i]] = True
            for j in range(nb):
                locked[at_b[j]] = True
            locked[a] = locked[b] = True
            count += 1
    return count


@kernel(parallel=False)
def _place(target, points, parts, first, order, a, b, touching):
    """The middle of an edge, and beside that along the normal so that the volume inside stays."""
    target[:] = 0.5 * (points[a] + points[b])
    if touching:
        return
    normal, missing = np.zeros(3), 0.0
    for end in range(2):
        p, other = (a, b) if end == 0 else (b, a)
        for n in range(first[p], first[p + 1]):
            t = order[n]
            i, j, k = parts[t, 0], parts[t, 1], parts[t, 2]
            if i == other or j == other or k == other:
                if end == 1:
                    continue
                missing += _volume(points[i] - target, points[j] - target, points[k] - target)
                continue
            missing += _volume(points[i] - target, points[j] - target, points[k] - target)
            u, v = (points[j], points[k]) if i == p else ((points[k], points[i]) if j == p else (points[i], points[j]))
            u, v = u - target, v - target
            normal[0] += u[1] * v[2] - u[2] * v[1]
            normal[1] += u[2] * v[0] - u[0] * v[2]
            normal[2] += u[0] * v[1] - u[1] * v[0]
    # moving the apex of the fan by s n changes six times its volume by s n·n
    squared = normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2
    if squared > 0.0:
        aside = missing / squared
        d = points[b] - points[a]
        most = np.sqrt((d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / squared)
        aside = min(max(aside, -most), most)
        for axis in range(3):
            target[axis] += aside * normal[axis]


@kernel(parallel=False)
def _volume(u, v, w):
    """Six times that of a tetrahedron with one corner at the origin."""
    return u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) + u[2] * (v[0] * w[1] - v[1] * w[0])


@kernel(parallel=False)
def _reaches(points, beside, count, target):
    """Distance of the farthest of some points from the target."""
    most = 0.0
    for n in range(count):
        d = points[beside[n]] - target
        most = max(most, d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    return np.sqrt(most)


@kernel(parallel=False)
def _folds(points, parts, first, order, p, other, target):
    """Whether a triangle at p that is not at the other point turns too far, or loses its area, if p goes to target."""
    for n in range(first[p], first[p + 1]):
        t = order[n]
        i, j, k = parts[t, 0], parts[t, 1], parts[t, 2]
        if i == other or j == other or k == other:
            continue
        if j == p:
            i, j, k = j, k, i
        elif k == p:
            i, j, k = k, i, j
        ux, uy, uz, one = _normal(points[i], points[j], points[k])
        vx, vy, vz, two = _normal(target, points[j], points[k])
        if ux * vx + uy * vy + uz * vz < _TURN * one * two or two == 0.0:
            return True
    return False


@kernel(parallel=False)
def _normal(a, b, c):
    """Twice the area vector of a triangle, and its length."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    return x, y, z, np.sqrt(x * x + y * y + z * z)


@kernel(parallel=False)
def _flip(points, parts, touching, locked, first, order):
    """Flip edges a b between triangles a b c and b a d to c d where that is shorter; no two beside each other."""
    beside = np.empty(3 * _MOST_AROUND, np.int64)
    for m in range(len(parts)):
        for e in range(3):
            a, b, c = parts[m, e], parts[m, (e + 1) % 3], parts[m, (e + 2) % 3]
            if a > b or locked[a] or locked[b] or locked[c]:
                continue
            other, d = -1, -1
            for n in range(first[b], first[b + 1]):
                t = order[n]
                for f in range(3):
                    if parts[t, f] == b and parts[t, (f + 1) % 3] == a:
                        other, d = t, parts[t, (f + 2) % 3]
            if other < 0 or locked[d] or c == d:
                continue
            if touching[a] & touching[b] & ~(touching[c] & touching[d]):
                continue  # an edge along which surface and wall meet stays
            now = (points[b] - points[a]) ** 2
            then = (points[d] - points[c]) ** 2
            if then[0] + then[1] + then[2] >= 0.9 * (now[0] + now[1] + now[2]):
                continue
            ax, ay, az, one = _normal(points[a], points[b], points[c])
            bx, by, bz, two = _normal(points[b], points[a], points[d])
            if ax * bx + ay * by + az * bz < _FLAT * one * two:
                continue
            cx, cy, cz, three = _normal(points[c], points[d], points[b])
            dx, dy, dz, four = _normal(points[d], points[c], points[a])
            if cx * dx + cy * dy + cz * dz < _FLAT * three * four or ax * cx + ay * cy + az * cz < _FLAT * one * three:
                continue
            count = _neighbours(beside, parts, first, order, c)
            known = count < 0
            for n in range(count):
                known = known or beside[n] == d
            if known:
                continue
            parts[m, 0], parts[m, 1], parts[m, 2] = c, d, b
            parts[other, 0], parts[other, 1], parts[other, 2] = d, c, a
            locked[a] = locked[b] = locked[c] = locked[d] = True
