"""From points that may touch to contacts: where two surfaces are nearest, and which few of them hold a pair apart."""

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.pose import cross

MOST = 8  # contacts of two things

_STEPS = 8  # to the point of least distance
_STRAIGHT = 1e-6  # rad that normals turn in the last of them

# in spacings of the surface points:
_INSIDE = 0.25  # how far inside the body the normal is taken: there the distance to the other is smooth
_PROBE = 0.02  # how far outside the body it is checked that the normal leaves it

_DISTINCT = 0.3  # between contacts of one pair, in details of the body


def walked(things, surfaces, pairs, which, p, inward, corner, depth) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, gap [m] and normal (in the thing's frame), after all but corners have gone to where the gap is least.

    p, inward  (m, 3) points of the bodies of the pairs `which`, and unit vectors into them; `depth` (m,) [m]

    A step is  p ← P(p − L n): as far as L against the normal, and back to the
    nearest point P of the body. It is the projected gradient of the distance,
    and L the other's radius of curvature as the last step showed it
    (Barzilai and Borwein 1988). None goes farther than a spacing, so that both
    ends of a cylinder stay in place if it lies a little askew.
    """
    body, spacing, reach = pairs.body[which], surfaces.spacing[pairs.body[which]], surfaces.reach[pairs.body[which]]
    p, inward, start = p.copy(), inward.copy(), p
    gap, normal = _touch(things, pairs, which, spacing, p, inward, np.maximum(depth, 0), rough=True)
    length, strayed = 4 * reach, np.zeros(len(p), np.bool_)
    going = np.flatnonzero(~corner)
    for _ in range(_STEPS):
        if not len(going):
            break
        w, h = which[going], spacing[going]
        out = p[going] - length[going, None] * pairs.seen_back(normal[going], w)
        there = things.distances.nearest(body[going], out, h, rough=True)
        into = there - out
        into /= np.maximum(np.linalg.norm(into, axis=1), 1e-300)[:, None]
        depth = np.maximum(-gap[going], 0)
        new_gap, new_normal = _touch(things, pairs, w, h, there, into, depth, rough=True)
        near = np.linalg.norm(there - start[going], axis=1) <= h
        better = near & (new_gap <= gap[going] + 1e-8 * h)
        step = there - p[going]
        bend = np.einsum("ni,nji,nj->n", step, pairs.turn[w], new_normal - normal[going])
        square = np.sum(step**2, axis=1)
        radius = square / np.maximum(bend, square / (64 * reach[going]) + 1e-300)
        length[going] = np.where(better, radius, 0.25 * length[going])
        turn = np.linalg.norm(into - inward[going], axis=1) + np.linalg.norm(new_normal - normal[going], axis=1)
        taken = going[better]
        p[taken], inward[taken] = there[better], into[better]
        gap[taken], normal[taken] = new_gap[better], new_normal[better]
        strayed[going] = ~near & (turn > 1e-3)
        # where neither surface bends there is nothing to find, however long the slope
        going = going[near & (turn > _STRAIGHT) & (square > (1e-6 * h) ** 2)]
    _exactly(things, pairs, which, spacing, p, inward, corner, gap, normal)
    return p, np.where(strayed & _beside_a_nearer(which, p, gap, 2 * spacing + 0.15 * reach), np.inf, gap), normal


def _touch(things, pairs, which, spacing, p, inward, depth, rough=False) -> tuple[np.ndarray, np.ndarray]:
    """Gap [m] and unit normal of the other thing at points p of the bodies.

    The slope of its distance is taken a little inside the body, which lies
    outside the other: there it is smooth, also over edges and corners.
    """
    y = pairs.seen(p, which) + pairs.shift[which]
    step = (_INSIDE * spacing + 1.5 * depth)[:, None] * pairs.seen(inward, which)
    phi, slope = things.distances.slopes(pairs.thing[which], y + step, spacing, rough)
    length = np.maximum(np.linalg.norm(slope, axis=1), 1e-12)
    normal = slope / length[:, None]
    return phi / length - np.sum(step * normal, axis=1), normal


def _exactly(things, pairs, which, spacing, p, inward, corner, gap, normal) -> None:
    """Once more, where it was found by rough distances: changes p, gap and normal."""
    body, costly = pairs.body[which], things.distances.costly
    again = np.flatnonzero(costly[body] | costly[pairs.thing[which]])
    if len(again):
        onto = things.distances.nearest(body[again], p[again], spacing[again])
        p[again] = np.where(corner[again, None], p[again], onto)
        depth = np.maximum(-gap[again], 0)
        gap[again], normal[again] = _touch(things, pairs, which[again], spacing[again], p[again], inward[again], depth)


def _beside_a_nearer(which, p, gap, close) -> np.ndarray:
    """Whether points lie close to the nearest one of their pair, which a round surface leads them to: no contacts."""
    order = np.lexsort((gap, which))
    pair, first = np.unique(which[order], return_index=True)
    nearest = order[first][np.searchsorted(pair, which)]
    return (np.linalg.norm(p - p[nearest], axis=1) < close) & (gap > gap[nearest])


def leaves(things, surfaces, pairs, which, p, normal, planar) -> np.ndarray:
    """Whether a body is left at its points p against the normal: else it does not touch there, but is cut by it."""
    body = pairs.body[which]
    probe = _PROBE * surfaces.spacing[body]
    outside = p - probe[:, None] * pairs.seen_back(normal, which)
    return things.distances.at(body, outside) >= (0.5 if planar else 0.7) * probe


def manifolds(things, surfaces, pairs, which, p, corner, gap, normal, dt) -> tuple[np.ndarray, ...]:
    """First, other, arms, normal, gap, carried and approach of `Contacts`: few for each pair, in world axes."""
    good = np.flatnonzero(gap <= pairs.reach[which])
    which, p, corner, gap, normal = which[good], p[good], corner[good], gap[good], normal[good]
    body, thing, after, drift = (part[which] for part in pairs[:4])
    is_body = thing < things.bodies
    origin, rotation = things.later(body, after, drift)
    there, turned_there = things.later(thing, after, drift)
    normal = np.einsum("nij,nj->ni", turned_there, normal)
    arm = np.einsum("nij,nj->ni", rotation, p)
    arm = arm - np.where(is_body, 0.5 * gap, 0)[:, None] * normal  # a point common to both
    other_arm = origin + arm - there

    V, U = things.velocity[body], things.velocity[thing]
    carried = np.where(is_body[:, None], 0.0, U[:, :3] + cross(U[:, 3:], other_arm))
    going, turning = V[:, :3] - U[:, :3], cross(V[:, 3:], arm) - cross(U[:, 3:], other_arm)
    approach = np.sum(normal * (going + turning), axis=1)
    gap = gap - np.sum(normal * (drift[:, None] * going + after[:, None] * turning), axis=1)  # as it is now
    # A corner is the same point all the time; elsewhere another one comes to touch as the body turns.
    bend = _bend(V, arm, dt) - np.where(is_body[:, None], _bend(U, other_arm, dt), 0)
    gap += np.where(corner & (after == 0), np.maximum(np.sum(normal * bend, axis=1), 0), 0)

    swap = is_body & (thing < body)
    first, other = np.where(swap, thing, body), np.where(swap, body, thing)
    arms = np.where(swap[:, None], np.stack([other_arm, arm]), np.stack([arm, other_arm]))
    normal = np.where(swap[:, None], -normal, normal)
    order = np.lexsort((gap, other, first))
    spacing, apart = surfaces.spacing[body[order]], _DISTINCT * surfaces.detail[body[order]]
    kept = order[_few(first[order], other[order], arms[0][order], normal[order], corner[order], spacing, apart)]
    arms = np.ascontiguousarray(arms[:, kept])
    return first[kept], other[kept], arms, normal[kept], gap[kept], carried[kept], approach[kept]


def _bend(velocity, arm, dt) -> np.ndarray:
    """How far the path of points at arms (n, 3) bends away from a straight one in dt [m], (n, 3); to second order."""
    w = dt * velocity[:, 3:]
    w = w / np.maximum(np.linalg.norm(w, axis=1), 1)[:, None]
    return 0.5 * cross(w, cross(w, arm))


@kernel(parallel=False)
def _few(first, other, arm, normal, corner, spacing, apart):
    """Indices of at most MOST contacts of each pair, which come sorted by gap: the deepest, and what spans most."""
    m = len(first)
    kept = np.empty(m, np.int64)
    count, begin = 0, 0
    away = np.empty(m)
    while begin < m:
        end = begin + 1
        while end < m and first[end] == first[begin] and other[end] == other[begin]:
            end += 1
        away[begin:end] = np.inf
        best = begin
        for _ in range(MOST):
            kept[count] = best
            count += 1
            farthest, chosen = 0.0, -1
            for i in range(begin, end):
                d = c = 0.0
                for a in range(3):
                    d += (arm[i, a] - arm[best, a]) ** 2
                    c += (normal[i, a] - normal[best, a]) ** 2
                away[i] = min(away[i], np.sqrt(d) + spacing[i] * np.sqrt(c))
                score = away[i] if corner[i] else 0.7 * away[i]
                if away[i] > apart[i] and score > farthest:
                    farthest, chosen = score, i
            if chosen < 0:
                break
            best = chosen
        begin = end
    return kept[:count].copy()
