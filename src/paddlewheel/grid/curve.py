"""Closed curves of points, kept evenly spaced: points are inserted where they are far apart and merged where close.

Neither changes the area inside: a new point is on the piece it divides, and two that become one are put where the
area stays. Points that touch something, by bits of what they touch, do not leave it.
"""

import numpy as np

from paddlewheel.kernel import kernel

__all__ = ["curve_count", "evened_curves"]

_CLOSE = 0.1  # of the shortest piece, below which also points merge of which one touches more than the other


def curve_count(parts: np.ndarray) -> int:
    """How many closed curves pieces (m, 2) make."""
    return int(_ordered(_after(parts))[1].max(initial=-1)) + 1


def evened_curves(
    points: np.ndarray, parts: np.ndarray, touching: np.ndarray, shortest: float, longest: float
) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) float32 and pieces (m, 2) int32 of the same curves, with no piece longer than `longest` [m].

    None is shorter than `shortest`, but those that lead from what they touch to what they do not, and those of a
    curve of three points. The points come in the order in which the curves go through them.
    """
    points, after = np.array(points, np.float64), _after(parts)
    before = np.empty_like(after)
    before[after] = np.arange(len(after))
    kept = np.ones(len(points), np.bool_)
    _merge(points, touching, after, before, kept, shortest)
    order, curve = _ordered(after, kept)
    start, end = points[order], points[after[order]]
    count = np.maximum(np.ceil(np.linalg.norm(end - start, axis=1) / longest - 1e-6), 1).astype(int)
    piece = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    part = ((np.arange(len(piece)) - first[piece]) / count[piece])[:, None]
    curve = curve[piece]
    following = np.arange(1, len(piece) + 1)
    last = np.append(curve[1:] != curve[:-1], True) if len(piece) else np.empty(0, bool)
    following[last] = np.flatnonzero(np.append(True, last[:-1])) if len(piece) else 0
    new = start[piece] + part * (end[piece] - start[piece])
    return new.astype(np.float32), np.stack([np.arange(len(piece)), following], axis=1).astype(np.int32)


def _after(parts) -> np.ndarray:
    """The point after each."""
    after = np.empty(len(parts), np.int64)
    after[parts[:, 0]] = parts[:, 1]
    return after


def _ordered(after, kept=None) -> tuple[np.ndarray, np.ndarray]:
    """The points that are kept in the order of their curves, and the number of the curve of each."""
    kept = np.ones(len(after), np.bool_) if kept is None else kept
    order, curve = np.empty(np.count_nonzero(kept), np.int64), np.empty(np.count_nonzero(kept), np.int64)
    _walk(order, curve, after, kept.copy())
    return order, curve


@kernel(parallel=False)
def _walk(order, curve, after, left):
    n, number = 0, 0
    for start in range(len(after)):
        if left[start]:
            p = start
            while left[p]:
                left[p] = False
                order[n], curve[n] = p, number
                p, n = after[p], n + 1
            number += 1


@kernel(parallel=False)
def _merge(points, touching, after, before, kept, shortest):
    for p in range(len(after)):
        while kept[p]:
            a, b = p, after[p]
            o, c = before[a], after[b]
            length = np.hypot(points[b, 0] - points[a, 0], points[b, 1] - points[a, 1])
            if o == b or after[c] == a or c == a or length >= shortest:
                break  # a curve keeps three points
            if touching[a] == touching[b]:
                _put_between(points, o, a, b, c, touching[a] != 0)
            elif length >= _CLOSE * shortest:
                break
            elif touching[b] & ~touching[a]:
                if touching[a] & ~touching[b]:
                    break
                points[a], touching[a] = points[b], touching[b]
            kept[b] = False
            after[a], before[c] = c, a


@kernel(parallel=False)
def _put_between(points, o, a, b, c, touching):
    """Put a halfway to b, and beside that so that the area of o, a, c is that of o, a, b, c."""
    ox, oy = points[o, 0], points[o, 1]
    ax, ay = points[a, 0] - ox, points[a, 1] - oy
    bx, by = points[b, 0] - ox, points[b, 1] - oy
    cx, cy = points[c, 0] - ox, points[c, 1] - oy
    mx, my = 0.5 * (ax + bx), 0.5 * (ay + by)
    squared = cx * cx + cy * cy
    if not touching and squared > 0.0:
        missing = (ax * by - bx * ay) + (bx * cy - cx * by) - (mx * cy - cx * my)  # twice the area
        aside = missing / squared  # m + aside (cy, −cx) has the cross product with c that is missing
        most = np.hypot(bx - ax, by - ay) / np.sqrt(squared)
        aside = min(max(aside, -most), most)  # not far, where o and c are close
        mx, my = mx + aside * cy, my - aside * cx
    points[a, 0], points[a, 1] = ox + mx, oy + my
