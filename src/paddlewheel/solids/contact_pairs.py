"""Which bodies and things may meet within a step, and when: before their contacts are looked at closely."""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.contact_things import measure_apart

# in spacings of the surface points:
_SKIN = 0.1  # what counts as near, at rest
_FAST = 1.1  # a way in a step from which on a pair is looked at when it meets
_SWEPT = 0.25  # a way by turning in a step from which on a pair is also looked at as it is turned at its end

_CLEAR = 0.5  # more than the way they can go, by which things are apart that are not looked at

_ADVANCES = 24  # steps of a fast pair towards each other


class Pairs(NamedTuple):
    """Pairs in one direction, n rows: the surface points p of a body in the frame of a thing,  y = turn p + shift.

    body, thing   indices
    after, drift  time for which both have turned, and moved, when they are looked at [s]
    reach         how near they count [m]
    turn, shift   (n, 3, 3) and (n, 3)
    """

    body: np.ndarray
    thing: np.ndarray
    after: np.ndarray
    drift: np.ndarray
    reach: np.ndarray
    turn: np.ndarray
    shift: np.ndarray

    def seen(self, p, which) -> np.ndarray:
        """Vectors p (m, 3) of the bodies of the pairs `which` (m,), in the axes of the things."""
        return np.einsum("nij,nj->ni", self.turn[which], p)

    def seen_back(self, y, which) -> np.ndarray:
        """Vectors y (m, 3) of the things of the pairs `which` (m,), in the axes of the bodies."""
        return np.einsum("nji,nj->ni", self.turn[which], y)


def near_pairs(things, surfaces, from_centres, dt: float) -> Pairs | None:
    """Pairs near enough to meet within dt [s], if any. Fast ones are looked at when they come near, if they do.

    from_centres (bodies, f) are distances of things from the bodies' centres of mass [m], or less.
    """
    n, f = things.bodies, len(things.origin)
    near, (speed, turning, way, spacing) = np.empty((n, f), np.bool_), np.empty((4, n, f))
    _find_near(near, speed, turning, way, spacing, *things[3:], from_centres, surfaces.reach, surfaces.spacing, dt)
    body, thing = near.nonzero()
    if not len(body):
        return None
    pair = body, thing
    after = np.zeros(len(body))
    reach = way[pair]
    fast = reach > _FAST * spacing[pair]
    if fast.any():
        after, reach, meets = _advanced(things, surfaces, pair, reach, fast, speed[pair], dt)
        pair, after, reach = (body[meets], thing[meets]), after[meets], reach[meets]
    # What turns may touch elsewhere at the end of the step than at its start: the far end of a capsule, say.
    turns = np.flatnonzero((dt * turning[pair] > _SWEPT * spacing[pair]) & (after == 0))
    row = np.append(np.arange(len(after)), turns)
    drift = after[row]
    after = np.append(after, np.full(len(turns), dt))
    order = np.argsort(pair[1][row], kind="stable")
    row = row[order]
    return _seen_from(things, pair[0][row], pair[1][row], after[order], drift[order], reach[row])


def _seen_from(things, body, thing, after, drift, reach) -> Pairs:
    """Pairs with the frames of the bodies as seen from those of the things."""
    origin, rotation = things.later(body, after, drift)
    there, turned_there = things.later(thing, after, drift)
    turn = np.einsum("nji,njk->nik", turned_there, rotation)
    return Pairs(body, thing, after, drift, reach, turn, np.einsum("nji,nj->ni", turned_there, origin - there))


def _advanced(things, surfaces, pair, reach, fast, speed, dt) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time [s] and reach [m] at which fast pairs come within a spacing, by conservative advancement; and who meets."""
    body, thing = pair
    after = np.zeros(len(fast))
    # from the far side a spinning thing sweeps past faster than its own surface
    spin = np.linalg.norm(things.velocity[:, 3:], axis=1)[thing]
    speed = speed + spin * np.linalg.norm(things.origin[body] - things.origin[thing], axis=1)
    going = np.flatnonzero(fast)
    # What is farther than a pair can go never counts: of a large body most.
    farthest = dt * speed + surfaces.spacing[body]
    some = _seen_from(things, body[going], thing[going], after[going], after[going], reach[going])
    cuts, sample, y = gathered(things, surfaces, some, farthest[going])
    of = np.repeat(going, np.diff(cuts))
    phi = things.distances.at(thing[of], y, rough=True)
    near = phi <= farthest[of]
    sample, of, phi = sample[near], of[near], phi[near]
    for _ in range(_ADVANCES):
        least = np.full(len(fast), np.inf)
        np.minimum.at(least, of, phi)
        spacing = surfaces.spacing[body[going]]
        far = least[going] > spacing
        after[going] += np.where(far, (least[going] - 0.5 * spacing) / speed[going], 0)
        going = going[far & (after[going] < dt)]
        if not len(going):
            break
        row = np.full(len(fast), -1)
        row[going] = np.arange(len(going))
        near = row[of] >= 0
        sample, of = sample[near], of[near]
        some = _seen_from(things, body[going], thing[going], after[going], after[going], reach[going])
        y = some.seen(surfaces.points[sample], row[of]) + some.shift[row[of]]
        phi = things.distances.at(thing[of], y, rough=True)
    meets = after < dt
    for both in _two_ways(body, thing, things.bodies):
        after[both] = after[both].min()
        meets[both] = meets[both].any()
    left = np.maximum(reach - np.minimum(after, dt) * speed, _SKIN * surfaces.spacing[body])
    return after, np.where(fast & (after > 0), np.minimum(left, surfaces.reach[body]), reach), meets


def _two_ways(body, thing, n) -> list[list[int]]:
    """Indices of pairs of bodies, both directions together: they meet when the first of them says so."""
    table = {}
    for i in np.flatnonzero(thing < n):
        table.setdefault((min(body[i], thing[i]), max(body[i], thing[i])), []).append(i)
    return list(table.values())


def gathered(things, surfaces, pairs: Pairs, margin) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Surface points within a margin (n,) [m] of the box of the other thing.

    Where those of each pair begin (n + 1,), which points they are (m,), and where, in the thing's frame (m, 3).
    """
    low, high = things.low[pairs.thing], things.high[pairs.thing]
    return _gathered(pairs.body, low, high, pairs.turn, pairs.shift, margin, surfaces.start, surfaces.points)


@kernel(parallel=False)
def _find_near(near, speed, turning, way, spacing, low, high, origin, rotation, velocity, centre, reach, step, dt):
    """Which pairs of bodies and things, (bodies, f), may come near each other in dt, by the boxes around them.

    And by the distance at the body's centre of mass, which changes by no more than the way gone.

    speed    how fast anything of a pair comes near, at most, and
    turning  the part of it from turning [m/s]
    way      how near counts, with what they go in dt [m]
    spacing  of the surface points of the finer one [m]
    """
    bodies, things = near.shape
    apart, spin = np.empty((bodies, things)), np.empty(things)
    measure_apart(apart, low, high, origin, rotation)
    for m in range(things):
        spin[m] = np.sqrt(velocity[m, 3] ** 2 + velocity[m, 4] ** 2 + velocity[m, 5] ** 2)
    for n in range(bodies):
        for m in range(things):
            going = 0.0
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                u = velocity[n, a] - velocity[m, a]
                if m >= bodies:  # an obstacle has no reach to bound what its turning does: take it at the body
                    u -= velocity[m, 3 + b] * (origin[n, c] - origin[m, c])
                    u += velocity[m, 3 + c] * (origin[n, b] - origin[m, b])
                going += u * u
            turning[n, m] = reach[n] * spin[n] + reach[m if m < bodies else n] * spin[m]
            speed[n, m] = np.sqrt(going) + turning[n, m]
            spacing[n, m] = min(step[n], step[m]) if m < bodies else step[n]
            way[n, m] = speed[n, m] * dt + _SKIN * spacing[n, m]
            clear = centre[n, m] > reach[n] + way[n, m] + _CLEAR * spacing[n, m]
            near[n, m] = n != m and apart[n, m] <= way[n, m] and not clear


@kernel(parallel=False)
def _gathered(body, low, high, turn, shift, margin, start, points):
    cuts = np.zeros(len(body) + 1, np.int64)
    most = 0
    for k in range(len(body)):
        most += start[body[k] + 1] - start[body[k]]
    which, where = np.empty(most, np.int64), np.empty((most, 3))
    count = 0
    for k in range(len(body)):
        for i in range(start[body[k]], start[body[k] + 1]):
            near = True
            for a in range(3):
                y = shift[k, a]
                for b in range(3):
                    y += turn[k, a, b] * points[i, b]
                where[count, a] = y
                near = near and low[k, a] - margin[k] <= y and y <= high[k, a] + margin[k]
            if near:
                which[count] = i
                count += 1
        cuts[k + 1] = count
    return cuts, which[:count].copy(), where[:count].copy()
