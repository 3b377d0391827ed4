"""Looks for contacts: surface points of all bodies in the signed distances of all things.

pairs that may meet  →  points of theirs that may touch  →  walked to where they are nearest  →  a few for each pair
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.contact_distances import Distances, centred
from paddlewheel.solids.contact_manifold import leaves, manifolds, walked
from paddlewheel.solids.contact_pairs import gathered, near_pairs
from paddlewheel.solids.contact_things import Things, frames
from paddlewheel.solids.surface_points import features, surface_points
from paddlewheel.solids.table import untabulated

MOST_POINTS = 4000  # of a body: a larger one has them farther apart
MOST_OUTLINE = 400  # the same in a plane

_LEVEL = 0.05  # slope up to which a valley counts as level: both ends of a capsule that lies askew
_CORNERS, _OTHERS = 8, 6  # points of one body near one thing that are looked at closely
_BESIDE = 12  # neighbours of a surface point, at most


class Surfaces(NamedTuple):
    """The surfaces of all bodies as points, one body's after another's, about their centres of mass.

    start    (n + 1,) where those of each body begin
    spacing  of each body's points [m], (n,)
    detail   of each body [m], (n,): its spacing, or less where corners are closer together
    reach    of each body from its centre of mass [m], (n,)
    points   (m, 3) [m]
    sharp    (m,): 0 smooth, 1 on an edge, 2 a corner
    inward   (m, 3) unit vectors into the body
    near     (m, _BESIDE) neighbours, counted from the first of their body; −1 for none
    """

    start: np.ndarray
    spacing: np.ndarray
    detail: np.ndarray
    reach: np.ndarray
    points: np.ndarray
    sharp: np.ndarray
    inward: np.ndarray
    near: np.ndarray

    def points_of(self, n: int) -> np.ndarray:
        """Those of body n, (k, 3) [m]."""
        return self.points[self.start[n] : self.start[n + 1]]


class Search:
    """Finds contacts of bodies with these shapes; their surface points are about `spacing` [m] apart."""

    def __init__(self, shapes, masses, spacing: float, planar: bool):
        self.planar, self._tables, self._seen = planar, {}, None
        self._centres = self._nearest = (None, None)  # the last of each, and what it was asked for
        self.surfaces = _surfaces([untabulated(shape) for shape in shapes], masses, spacing, planar)
        self._shapes = [centred(shape, mass.center) for shape, mass in zip(shapes, masses, strict=True)]
        flat = np.array([1, 1, 0]) if planar else 1
        self._boxes = [
            [(corner - mass.center) * flat for corner in shape.bounds()]
            for shape, mass in zip(shapes, masses, strict=True)
        ]

    def find(self, bodies, obstacles, velocity, dt: float) -> tuple[np.ndarray, ...] | None:
        """First, other, arms, normal, gap, carried and approach of `Contacts`; None if nothing is near anything."""
        things, surfaces = self.things(bodies, obstacles, velocity), self.surfaces
        pairs = near_pairs(things, surfaces, self._from_centres(things), dt)
        if pairs is None:
            return None
        which, sample, depth = self._candidates(things, pairs)
        if not len(which):
            return None
        corner = surfaces.sharp[sample] == 2
        p, gap, normal = self._walked(things, pairs, which, sample, corner, depth)
        return manifolds(things, surfaces, pairs, which, p, corner, gap, normal, dt)

    def thickness(self, n: int, most: float) -> float:
        """How thick body n is across its surface [m], in the median; at most `most`.

        A way s inward from the surface, a wall of the thickness t has the distance  s − t  if it ends within 2 s, and
        −s if not. Edges and corners do not count, if there is anything else.
        """
        surfaces, own = self.surfaces, slice(self.surfaces.start[n], self.surfaces.start[n + 1])
        smooth = surfaces.sharp[own] == 0
        smooth |= not smooth.any()
        way = 0.5 * most
        inside = surfaces.points[own][smooth] + way * surfaces.inward[own][smooth]
        return float(np.median(way - self._shapes[n].distance(inside)))

    def things(self, bodies, obstacles, velocity) -> Things:
        """Bodies and obstacles alike, as they are now."""
        measured = self._measured([obstacle.shape for obstacle in obstacles])
        return Things(len(bodies), *measured, *frames(bodies, [obstacle.pose for obstacle in obstacles], velocity))

    def _measured(self, obstacles) -> tuple[Distances, np.ndarray, np.ndarray, np.ndarray]:
        """What `Things` knows of all whatever they do; that of the last obstacles is kept."""
        if self._seen is None or self._seen[0] != obstacles:
            boxes = [*self._boxes, *(shape.bounds() for shape in obstacles)]
            low, high = (np.array(corners) for corners in zip(*boxes, strict=True))
            distances = Distances([*self._shapes, *obstacles], self.planar, self._tables)
            around = np.isinf(low).all(axis=1) & ~distances.costly
            self._seen = obstacles, distances, around, low, high
        return self._seen[1:]

    def _from_centres(self, things) -> np.ndarray:
        """Distance from the bodies' centres of mass to walls around everything [m], (bodies, f); −inf to other things.

        The last are kept: of the three searches of a step two have the bodies where they were.
        """
        asked = things.distances, things.origin.tobytes(), things.rotation.tobytes()
        if self._centres[0] != asked:
            out = np.full((things.bodies, len(things.origin)), -np.inf)
            for m in np.flatnonzero(things.around):
                centre = np.einsum("ji,nj->ni", things.rotation[m], things.origin[: things.bodies] - things.origin[m])
                out[:, m] = things.distances.at(np.full(things.bodies, m), centre)
            self._centres = asked, out
        return self._centres[1]

    def _walked(self, things, pairs, which, sample, corner, depth) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `walked`; gaps are infinite where a body is cut, and not touched. The last are kept, as from centres."""
        parts = which, sample, depth, pairs.body, pairs.thing, pairs.turn, pairs.shift
        asked = things.distances, *(part.tobytes() for part in parts)
        if self._nearest[0] != asked:
            surfaces = self.surfaces
            p, inward = surfaces.points[sample], surfaces.inward[sample]
            p, gap, normal = walked(things, surfaces, pairs, which, p, inward, corner, depth)
            gap[~leaves(things, surfaces, pairs, which, p, normal, self.planar)] = np.inf
            self._nearest = asked, (p, gap, normal)
        return self._nearest[1]

    def _candidates(self, things, pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners within reach, and other points that are nearer than their neighbours: pair, point and depth [m]."""
        surfaces, spacing = self.surfaces, self.surfaces.spacing[pairs.body]
        cuts, sample, y = gathered(things, surfaces, pairs, pairs.reach + spacing)
        phi = things.distances.at(np.repeat(pairs.thing, np.diff(cuts)), y, rough=True)
        mark = np.zeros(len(phi), np.int64)
        enough = 2 if self.planar else 4
        _select(mark, cuts, pairs.body, sample, y, phi, pairs.reach, surfaces, enough)
        chosen = np.flatnonzero(mark)
        which = np.repeat(np.arange(len(pairs.body)), np.diff(cuts))[chosen]
        return which, sample[chosen], -phi[chosen]


def _surfaces(shapes, masses, spacing, planar) -> Surfaces:
    from scipy.spatial import cKDTree

    rows = []
    for shape, mass in zip(shapes, masses, strict=True):
        step = _spacing(shape, spacing, planar)
        points = surface_points(shape, step, mass.center[2] if planar else None)
        sharp, inward = features(shape, points, step, planar)
        _, beside = cKDTree(points).query(points, k=_BESIDE + 1, distance_upper_bound=1.6 * step)
        near = np.where(beside < len(points), beside, -1)[:, 1:]
        reach = np.linalg.norm(points - mass.center, axis=1).max()
        rows.append((step, _detail(points[sharp == 2], step), reach, points - mass.center, sharp, inward, near))
    *lengths, points, sharp, inward, near = zip(*rows, strict=True)
    start = np.append(0, np.cumsum([len(p) for p in points]))
    arrays = (np.concatenate(array) for array in (points, sharp, inward, near))
    return Surfaces(start, *(np.array(length) for length in lengths), *arrays)


def _detail(corners, spacing) -> float:
    """Least distance between corners [m], but no more than the spacing; nearly the same point does not count."""
    from scipy.spatial import cKDTree

    if len(corners) < 2:
        return spacing
    apart = cKDTree(corners).query(corners, k=2)[0][:, 1]
    return apart[apart > 0.05 * spacing].min(initial=spacing)


def _spacing(shape, spacing, planar) -> float:
    """The wanted spacing [m], but at least four of it along a body, and not too many points in all."""
    low, high = shape.bounds()
    extent = (high - low)[: 2 if planar else 3]
    if planar:
        coarsest = 2 * extent.sum() / MOST_OUTLINE
    else:
        coarsest = np.sqrt(2 * (extent.prod() / extent).sum() / MOST_POINTS)
    return max(min(spacing, extent.max() / 4), coarsest)


@kernel(parallel=False)
def _select(mark, cuts, body, sample, y, phi, reach, surfaces, enough):
    """Mark corners within reach by 1, and by 2 points that are no farther than their neighbours; a few of each.

    With `enough` corners that are as near as anything else, no other points are needed.
    """
    start, sharp = surfaces.start, surfaces.sharp
    value = np.empty(np.max(start[1:] - start[:-1]))
    for k in range(len(body)):
        first, last, offset = cuts[k], cuts[k + 1], start[body[k]]
        spacing = surfaces.spacing[body[k]]
        value[: start[body[k] + 1] - offset] = np.inf
        for i in range(first, last):
            value[sample[i] - offset] = phi[i]
        corners, lowest, lowest_corner = 0, np.inf, np.inf
        for i in range(first, last):
            lowest = min(lowest, phi[i])
            if sharp[sample[i]] == 2:
                if phi[i] <= reach[k]:
                    mark[i] = 1
                    corners += 1
                    lowest_corner = min(lowest_corner, phi[i])
            elif phi[i] <= reach[k] + 0.25 * spacing and _is_least(value, sample[i], offset, spacing, surfaces):
                mark[i] = 2
        _spread(mark, y, phi, first, last, 1, _CORNERS)
        done = corners >= enough and lowest_corner <= lowest + 1e-3 * spacing
        _spread(mark, y, phi, first, last, 2, 0 if done else _OTHERS)


@kernel(parallel=False)
def _is_least(value, point, offset, spacing, surfaces):
    """Whether no neighbour of a point has a lower value; `offset` is the first point of its body.

    A point of an edge is measured by the edge, else both ends of a cylinder would not count.
    """
    for j in surfaces.near[point]:
        lower = j >= 0 and value[j] < value[point - offset] - _LEVEL * spacing
        if lower and surfaces.sharp[offset + j] >= surfaces.sharp[point]:
            return False
    return True


@kernel(parallel=False)
def _spread(mark, y, phi, first, last, wanted, most):
    """Of the points marked `wanted` keep the deepest, and then always the one farthest from those kept."""
    away = np.full(last - first, np.inf)
    best = -1
    for i in range(first, last):
        if mark[i] == wanted and (best < 0 or phi[i] < phi[best]):
            best = i
    for _ in range(most):
        if best < 0:
            break
        mark[best] = -wanted
        farthest, chosen = 0.0, -1
        for i in range(first, last):
            if mark[i] == wanted:
                d = (y[i, 0] - y[best, 0]) ** 2 + (y[i, 1] - y[best, 1]) ** 2 + (y[i, 2] - y[best, 2]) ** 2
                away[i - first] = min(away[i - first], d)
                if away[i - first] > farthest:
                    farthest, chosen = away[i - first], i
        best = chosen
    for i in range(first, last):
        if mark[i] == wanted:
            mark[i] = 0
        elif mark[i] == -wanted:
            mark[i] = wanted
