"""Where rigid bodies touch each other, obstacles and the sides of the domain, and what happens there.

Contacts come from signed distances: surface points of one body in the distance
of another, walked to where the distance is least. They are found before bodies
touch, within the way they can go in a step, and bound the approach:

    n·u ≥ −gap / dt

so that nothing passes through anything, and nothing stops short of touching.
The order of a step is that of Guendelman et al. 2003, begun with the contact:

    contact → move → collision (bounces, before gravity) → gravity → pressure
"""

from functools import cache, partial
from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids.contact_bounce import admissible, given, groups
from paddlewheel.solids.contact_impulses import impulses
from paddlewheel.solids.contact_overlap import with_overlaps
from paddlewheel.solids.contact_search import Search
from paddlewheel.solids.mass import Mass
from paddlewheel.solids.pose import Pose, cross
from paddlewheel.solids.rigid import mass_matrix, turned
from paddlewheel.solids.shapes import Box, Complement, HalfSpace, Intersection, Moved, Shape, Union
from paddlewheel.types import SIDES, Body

TOLERANCE = 3e-9  # of the largest approach, for a change of velocity in a sweep

# in spacings of the surface points:
_TOUCHING = 0.01  # what counts as touching, for a bounce
_SLACK = 1e-3  # depth that is not worth mending


class Obstacle(NamedTuple):
    """A solid that moves as it is told: its shape as drawn, its pose with velocities, and its own friction if any."""

    shape: Shape
    pose: Pose
    friction: float | None = None


class Contacts(NamedTuple):
    """Points where two things touch or may do so within a step; each array has m rows.

    first, second  indices of the bodies; second is −1 for obstacles and sides
    other          which thing the second is: bodies, then sides, then obstacles
    arms           (2, m, 3) from both centres of mass to the point [m]; unused for obstacles
    normal         (m, 3) from second to first
    gap            what is left between them along the normal [m], negative where they overlap
    carried        (m, 3) velocity of the obstacle's surface [m/s]
    approach       n·u [m/s] at the velocities they were found with
    friction, restitution
    """

    first: np.ndarray
    second: np.ndarray
    other: np.ndarray
    arms: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    carried: np.ndarray
    approach: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.gap)

    def taken(self, which: np.ndarray) -> "Contacts":
        """Some of them, by a mask (m,)."""
        return Contacts(*(p[:, which] if name == "arms" else p[which] for name, p in self._asdict().items()))

    @classmethod
    @cache
    def none(cls) -> "Contacts":
        number, vector, index = np.zeros(0), np.zeros((0, 3)), np.zeros(0, np.int64)
        return cls(index, index, index, np.zeros((2, 0, 3)), vector, number, vector, number, number, number)


class Overlap(NamedTuple):
    """Body `first` was where something else is, which is given by its kind and number; and whether it is there no more.

    kind  "body", "side" (of those that are walls, see `Contact.sides`) or "obstacle"
    """

    first: int
    kind: str
    number: int
    mended: bool


class Memory(NamedTuple):
    """What is known of earlier contacts, to be saved with a run: plain arrays of m rows.

    first, other, arm  as in `Contacts`, the arm that of the first body
    value              (m, 3): force [N] from which the next solve starts; or of an approach the speed [m/s] it had, and
                       the energy [J] that it has lost on the way to touch
    """

    first: np.ndarray
    other: np.ndarray
    arm: np.ndarray
    value: np.ndarray

    @classmethod
    @cache
    def none(cls) -> "Memory":
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3)))

    @classmethod
    def of(cls, contacts: Contacts, value, which=slice(None)) -> "Memory":
        """That some contacts had these values: (m, 3), or (m,) for the first of three."""
        if np.ndim(value) == 1:
            value = np.column_stack([value, np.zeros((len(value), 2))])
        return cls(*(part[which] for part in (contacts.first, contacts.other, contacts.arms[0], value)))

    def joined(self, other: "Memory") -> "Memory":
        return Memory(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def recall(self, contacts: Contacts, within: np.ndarray | None = None) -> np.ndarray:
        """Values (m, 3) of the nearest contacts of the same pairs; zero where none is `within` (n,) [m] of it."""
        out = np.zeros(contacts.normal.shape)
        if within is None:
            within = np.full(contacts.first.max(initial=-1) + 1, np.inf)
        if len(self.first) and len(out):
            _recall(out, contacts.first, contacts.other, contacts.arms[0], within, *self)
        return out


class Contact:
    """Finds the contacts of rigid bodies and resolves them.

    shapes, masses         of the bodies, as drawn; friction and restitution per body
    size, closed_sides     the domain [m], and which of "-x", "+x", … are walls
    spacing                of the surface points [m]: smaller things than this may slip between
    planar                 a 2-D scene: everything happens at the z of the centres of mass
    sides                  the names of those that are walls
    held, coming           what was learnt in earlier steps: forces, and speeds of bodies about to bounce. A run that
                           is to go on exactly where it stopped saves both
    """

    def __init__(self, shapes, masses, friction, restitution, *, size, closed_sides, spacing, planar=False):
        self.masses: list[Mass] = list(masses)
        self.planar = planar
        self._friction = np.array(friction, np.float64).reshape(-1)
        self._restitution = np.array(restitution, np.float64).reshape(-1)
        self.sides = [side for side in SIDES[: 4 if planar else 6] if side in closed_sides]
        self._sides = [Obstacle(_side(side, size), Pose()) for side in self.sides]
        self.held, self.coming = Memory.none(), Memory.none()
        self._search = Search(shapes, self.masses, spacing, planar) if self.masses else None

    def find(self, bodies, obstacles, velocity: np.ndarray, dt: float) -> Contacts:
        """Where bodies touch, or would within dt [s] at these velocities (n, 6), or come near it."""
        if self._search is None:
            return Contacts.none()
        others = self._others(obstacles)
        found = self._search.find(bodies, others, velocity, dt)
        if found is None:
            return Contacts.none()
        first, other, *found = found
        own = np.array([np.nan if thing.friction is None else thing.friction for thing in others])
        theirs = np.append(self._friction, own)[other]
        theirs = np.where(np.isnan(theirs), self._friction[first], theirs)
        bounce = np.append(self._restitution, np.zeros(len(others)))[other]
        friction, restitution = np.sqrt(self._friction[first] * theirs), np.maximum(self._restitution[first], bounce)
        return Contacts(first, np.where(other < len(bodies), other, -1), other, *found, friction, restitution)

    def resolve(
        self,
        velocity: np.ndarray,
        inverse: np.ndarray,
        contacts: Contacts,
        dt: float,
        bounce: bool,
        pull: np.ndarray | None = None,
        gained: np.ndarray | None = None,
        free: np.ndarray | None = None,
    ) -> np.ndarray:
        """Change velocities (n, 6) so that no contact is violated; the impulses on each body (n, 6) [N s, N m s].

        inverse    (n, 6, 6) of the bodies' masses, positive semi-definite:  ΔV = inverse · impulse; or (n, 6, n, 6)
        bounce     those that have come to touch part again, with restitution; else they just stop
        pull       (n, 6) what forces add to the velocities in dt: nothing, unless it is told
        gained     (n,) energy [J] that the bodies got otherwise since they were stopped, and a bounce may not give
        free       (n,) bodies that nothing but contacts acts on: in a bounce they are not held back before they touch.
                   Of the others liquid has to know how far they will get
        """
        if not contacts.count:
            self.forget()
            return np.zeros((len(self.masses), 6))
        pull = np.zeros(velocity.shape) if pull is None else pull
        plain = _least_speeds(contacts, dt)
        target, start, lost = plain, np.zeros(contacts.normal.shape), self._lost()
        if gained is not None:
            lost = lost - gained
        if bounce:
            target = self._bounces(velocity, contacts, plain)
        else:
            start = self._start(contacts, dt)
            self._notice(velocity, contacts, plain, pull)
        tolerance = TOLERANCE * _largest(contacts, target)
        if bounce and free is not None:
            ahead = free[contacts.first] & (free[contacts.second] | (contacts.second < 0)) & ~self._touching(contacts)
            target, plain = np.where(ahead, -np.inf, target), np.where(ahead, -np.inf, plain)

        def solve(velocity, target):
            return impulses(velocity, inverse, contacts, target, contacts.friction, start, tolerance)[0]

        # Velocities are those of the middle of the step; energy is that at its start, or at its end for a bounce.
        late = (0.5 if bounce else -0.5) * pull
        u, before = _relative(velocity + late, contacts), velocity.copy()
        pushes = solve(velocity, target)
        if bounce and np.any(target > plain):
            pushes = self._tamed(velocity, pushes, before, partial(solve, target=plain), contacts, lost, late)
        elif not bounce and dt > 0:
            self.held = Memory.of(contacts, pushes / dt)
        energy = given(pushes, u, _relative(velocity + late, contacts))
        self._lose(lost - np.bincount(contacts.first, energy, len(lost)))
        return _totals(pushes, contacts, len(self.masses))

    def forget(self) -> None:
        """What `resolve` does if there are no contacts."""
        self.held = self.coming = Memory.none()

    def resting(
        self, velocity: np.ndarray, inverse: np.ndarray, contacts: Contacts, dt: float, tolerance: float
    ) -> np.ndarray:
        """The impulses (n, 6) of `resolve` without a bounce, of which nothing is remembered.

        tolerance is a part of the largest approach, for a change of velocity in a sweep.
        """
        if not contacts.count:
            return np.zeros(velocity.shape)
        target = _least_speeds(contacts, dt)
        start, tolerance = self._start(contacts, dt), tolerance * _largest(contacts, target)
        pushes, _ = impulses(velocity.copy(), inverse, contacts, target, contacts.friction, start, tolerance)
        return _totals(pushes, contacts, len(self.masses))

    def mend(self, bodies, contacts: Contacts, inverse: np.ndarray) -> list[Body]:
        """The bodies, moved apart where contacts overlap; velocities are left alone, so that it adds no energy to them.

        The least motion in the metric of the masses, as `inverse` (n, 6, 6) allows it, for which
        n·Δ ≥ −gap  at every contact.
        """
        slack = self._slack(contacts)
        if not (contacts.gap < -slack).any():
            return list(bodies)
        shift = np.zeros((len(self.masses), 6))
        target = np.where(contacts.gap < 0, np.maximum(-contacts.gap - slack, 0), -contacts.gap)
        nothing = np.zeros(contacts.normal.shape)
        still = contacts._replace(carried=nothing)
        impulses(shift, inverse, still, target, np.zeros(len(target)), nothing, TOLERANCE * np.abs(target).max())
        return [_shifted(body, move) for body, move in zip(bodies, shift, strict=True)]

    def separate(self, bodies, obstacles, inverse=None, passes: int = 50) -> tuple[list[Body], list[Overlap]]:
        """The bodies moved apart as far as they can move, and which overlapped."""
        bodies, still = list(bodies), np.zeros((len(self.masses), 6))
        if inverse is None:
            units = zip(self.masses, bodies, strict=True)
            inverse = np.array([np.linalg.inv(mass_matrix(mass, 1.0, body.orientation)) for mass, body in units])
        pairs, left = set(), set()
        for again in reversed(range(passes + 1 if bodies else 0)):
            contacts = self.find(bodies, obstacles, still, 0.0)
            things = self._search.things(bodies, self._others(obstacles), still)
            contacts = with_overlaps(contacts, things, self._search.surfaces, 1.01 * _SLACK)
            deep = contacts.gap < -1.01 * self._slack(contacts)
            left = set(zip(contacts.first[deep].tolist(), contacts.other[deep].tolist(), strict=True))
            pairs |= left
            if not left:
                break
            if again:
                bodies = self.mend(bodies, contacts, inverse)
        owners, found = self._owners(obstacles), {}
        for first, other in sorted(pairs):
            pair = first, *owners[other]
            found[pair] = found.get(pair, True) and (first, other) not in left
        return bodies, [Overlap(*pair, mended) for pair, mended in found.items()]

    def extent(self, n: int) -> np.ndarray:
        """Size of body n along the axes, as drawn [m], (3,)."""
        return np.ptp(self._search.surfaces.points_of(n), axis=0)

    def thickness(self, n: int, most: float) -> float:
        """How thick body n is, or its wall if it is hollow, at half of its surface or more [m]; no more than `most`."""
        return self._search.thickness(n, most)

    def _others(self, obstacles) -> list[Obstacle]:
        """What there is besides bodies."""
        return [*self._sides, *(part for obstacle in obstacles for part in _parts(obstacle))]

    def _owners(self, obstacles) -> list[tuple[str, int]]:
        """Kind and number, as in `Overlap`, of each thing that a search knows."""
        parts = [("obstacle", k) for k, obstacle in enumerate(obstacles) for _ in _parts(obstacle)]
        return [*(("body", n) for n in range(len(self.masses))), *(("side", n) for n in range(len(self.sides))), *parts]

    def _slack(self, contacts) -> np.ndarray:
        """Depth [m] that is not worth mending, (m,)."""
        return _SLACK * self._search.surfaces.spacing[contacts.first] if self._search else np.zeros(0)

    def _touching(self, contacts) -> np.ndarray:
        return contacts.gap <= _TOUCHING * self._search.surfaces.spacing[contacts.first]

    def _start(self, contacts, dt) -> np.ndarray:
        """Impulses (m, 3) [N s] in dt by the forces of the last step."""
        return dt * self.held.recall(contacts, self._search.surfaces.reach)

    def _notice(self, velocity, contacts, target, pull) -> None:
        """Remember the speeds of those who are about to be stopped unannounced: thrown, pushed by something else, or
        because the step is longer than the last one."""
        u, known = _speeds(velocity, contacts), self.coming.recall(contacts)[:, 0] > 0
        fresh = ~self._touching(contacts) & (u < target) & ~known
        pull = np.maximum(u - _speeds(velocity + pull, contacts), 0)
        came = _came(-u - 0.5 * pull, pull, target)
        self.coming = self.coming.joined(Memory.of(contacts, came, fresh))

    def _lost(self) -> np.ndarray:
        """Energy [J] that those about to bounce have lost on the way, by the first body of each contact, (n,)."""
        return np.bincount(self.coming.first, self.coming.value[:, 1], len(self.masses))

    def _lose(self, energy) -> None:
        """Remember what those about to bounce have lost by now, (n,) [J]."""
        first, value = self.coming.first, self.coming.value.copy()
        value[:, 1] = np.maximum(energy, 0)[first] / np.bincount(first, minlength=len(energy))[first]
        self.coming = self.coming._replace(value=value)

    def _bounces(self, velocity, contacts, target) -> np.ndarray:
        """Targets [m/s] with those of bodies that bounce; remembers who is about to.

        A body is first brought to touch, by the contact that follows, and parts
        in the collision after that, with the speed it would have come to touch at.
        """
        u = _speeds(velocity, contacts)
        pull = np.maximum(u - contacts.approach, 0)  # what the forces of a step add to the approach
        touching = self._touching(contacts)
        meets = contacts.approach <= np.where(touching, 1e-9, target)
        # Velocities are those of the middle of the step, half a step of forces ago. What is slower than one step of
        # the forces is at rest.
        came = np.where(-u > pull, _came(0.5 * pull - u, pull, target), np.maximum(-u, 0))
        came = np.maximum(came, self.coming.recall(contacts)[:, 0])
        self.coming = Memory.of(contacts, came, ~touching & meets & (came > 0))
        parting = contacts.restitution * came
        parting += np.where(parting > pull, 0.5 * pull, 0)
        return np.where(touching & meets, np.maximum(parting, target), target)

    def _tamed(self, velocity, pushes, before, calmly, contacts, lost, late) -> np.ndarray:
        """Impulses (m, 3) of a bounce, made less where they add energy; `velocity` is changed with them.

        before  (n, 6) velocities without them; calmly(velocity) changes velocities and gives impulses if none bounces
        lost    (n,) energy [J] that the bodies have lost on the way, which they may gain again
        late    (n, 6) what forces add to the velocities until the time of that energy
        """
        group, u = groups(contacts, len(self.masses)), _relative(before + late, contacts)
        own = group[contacts.first]
        allowed = np.bincount(group, lost)
        bouncing = pushes, _relative(velocity + late, contacts)
        if np.all(np.bincount(own, given(pushes, u, bouncing[1]), len(allowed)) <= allowed):
            return pushes
        calm = calmly(before)
        part = admissible(own, allowed, u, (calm, _relative(before + late, contacts)), bouncing)
        velocity[:] = before + part[group, None] * (velocity - before)
        return calm + part[own, None] * (pushes - calm)


def _parts(obstacle) -> list[Obstacle]:
    """The parts of an obstacle, each for itself, see `_pieces`."""
    return [obstacle._replace(shape=shape) for shape in _pieces(obstacle.shape)]


def _pieces(shape: Shape) -> list[Shape]:
    """Shapes that together are this one, without the inner edges of it that are known.

    A corner of a body in such an edge touches on both sides of it, but the distance of the whole knows only the nearer
    one: a box that fits a square tube could turn in it. And what slides fast along one part is then seen to meet the
    other.
    """
    match shape:
        case Union(first, second):
            return [*_pieces(first), *_pieces(second)]
        case Complement(Intersection(first, second)):
            return [*_pieces(Complement(first)), *_pieces(Complement(second))]
        case Complement(Box(low, high)):
            axes = np.eye(3)
            return [HalfSpace(corner, side * n) for corner, side in ((low, 1), (high, -1)) for n in axes]
        case Complement(Complement(inner)):
            return _pieces(inner)
        case Intersection(first, Complement(Box()) as around):
            return [Intersection(first, side) for side in _pieces(around)]
        case Moved(inner, pose):
            pieces = _pieces(inner)
            return [shape] if pieces == [inner] else [Moved(piece, pose) for piece in pieces]
        case Complement(Moved(inner, pose)):
            return _pieces(Moved(Complement(inner), pose))
    return [shape]


def _side(side, size) -> HalfSpace:
    """What is beyond a side of the domain."""
    a, upper = "xyz".index(side[1]), side[0] == "+"
    normal = np.zeros(3)
    normal[a] = -1 if upper else 1
    return HalfSpace(np.where(np.arange(3) == a, size, 0) if upper else (0, 0, 0), normal)


def _shifted(body, move) -> Body:
    """A body moved by a small twist (translation, rotation), as a screw: so that a hinge stays where it is."""
    d, w = move[:3], move[3:]
    angle = np.linalg.norm(w)
    if angle > 1e-12:
        first, second = (1 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
        d = d + first * cross(w, d) + second * cross(w, cross(w, d))
    return body._replace(position=body.position + d, orientation=turned(body.orientation, w))


def _least_speeds(contacts, dt) -> np.ndarray:
    """n·u [m/s] with which what has a gap just touches in dt, (m,)."""
    return -np.maximum(contacts.gap, 0) / dt if dt > 0 else np.zeros(len(contacts.gap))


def _largest(contacts, target) -> float:
    """The largest approach of contacts, or wanted of them [m/s]."""
    return max(np.abs(contacts.approach).max(), np.abs(target).max())


def _came(speed, pull, target) -> np.ndarray:
    """Speed [m/s] at which things will touch that approach at a speed now, (m,):  v² + 2 gap pull/Δt.

    pull is what forces add to it in Δt, target −gap/Δt.
    """
    return np.sqrt(np.maximum(speed, 0) ** 2 - 2 * np.minimum(target, 0) * pull)


def _speeds(velocity, contacts) -> np.ndarray:
    """n·u [m/s] at contacts, (m,)."""
    return np.sum(contacts.normal * _relative(velocity, contacts), axis=1)


def _relative(velocity, contacts) -> np.ndarray:
    """u [m/s] at contacts, (m, 3): the velocity of the first body against the second, or an obstacle's surface."""
    out = np.empty(contacts.normal.shape)
    _subtract_velocities(out, velocity, contacts.first, contacts.second, contacts.arms, contacts.carried)
    return out


def _totals(pushes, contacts, n) -> np.ndarray:
    """What impulses (m, 3) at contacts come to on each of n bodies, about its centre of mass, (n, 6)."""
    out = np.zeros((n, 6))
    _add_impulses(out, pushes, contacts.first, contacts.second, contacts.arms)
    return out


@kernel(parallel=False)
def _subtract_velocities(out, velocity, first, second, arms, carried):
    """u = v₁ + ω₁ × r₁ − v₂ − ω₂ × r₂, without the second where there is none, and less what is carried."""
    for i in range(len(out)):
        V = velocity[first[i]]
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            turning = V[3 + b] * arms[0, i, c] - V[3 + c] * arms[0, i, b]
            if second[i] >= 0:
                U = velocity[second[i]]
                turning_there = U[3 + b] * arms[1, i, c] - U[3 + c] * arms[1, i, b]
                out[i, a] = V[a] - U[a] + turning - turning_there - carried[i, a]
            else:
                out[i, a] = V[a] + turning - carried[i, a]


@kernel(parallel=False)
def _add_impulses(out, pushes, first, second, arms):
    """Forces and torques of impulses on the first bodies, and of the opposite ones on the second."""
    for end in range(2):
        sign = 1.0 - 2.0 * end
        for i in range(len(pushes)):
            body = second[i] if end else first[i]
            if body >= 0:
                for a in range(3):
                    b, c = (a + 1) % 3, (a + 2) % 3
                    out[body, a] += sign * pushes[i, a]
                    out[body, 3 + a] += sign * (arms[end, i, b] * pushes[i, c] - arms[end, i, c] * pushes[i, b])


@kernel(parallel=False)
def _recall(out, first, other, arm, within, old_first, old_other, old_arm, value):
    """Write to `out` (m, 3) the values of the nearest old contacts, by their arms."""
    for i in range(len(first)):
        best = within[first[i]] ** 2
        for j in range(len(old_first)):
            if old_first[j] == first[i] and old_other[j] == other[i]:
                d = 0.0
                for a in range(3):
                    d += (arm[i, a] - old_arm[j, a]) ** 2
                if d < best:
                    best = d
                    out[i] = value[j]
