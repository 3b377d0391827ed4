"""A hand that holds a rigid body by a point: a spring and a damper to where the point should be.

Both pull with what the step ends with, in the same solve as the pressure and
the contacts, so no hand is too strong for a step or for a light body. With
u = G V the velocity of the point x, and U that of its target,

    j = −k Δt (x + Δt G V − target) − c Δt (G V − U)

is the hand's impulse in a step, and  M V = M V* + … + Gᵀ j  becomes

    (M + s GᵀG) V = M V* + … + Gᵀ (k Δt (target − x) + c Δt U) ,      s = k Δt² + c Δt

A target far away pulls as one LEAD away would: water has to make way.

Honey resists by about  d = 6π μ r  times a body's speed, r being the radius of a ball as large, so there
k = m ω² + d ω: it follows about as soon as in water, if walls near it do not hold it back.

A weight is held  m g / k  below its target; buoyancy counts. A target that moves
at U is followed without delay if U is known, and c U / k behind it if not.
"""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel.items import Hand, Inflow, Liquid, RigidBody, labelled
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.mass import Mass
from paddlewheel.solids.pose import rotation_of
from paddlewheel.solids.rigid import placed
from paddlewheel.types import Body

# ω = √(k/m) in frames: half a frame is the time constant, so that a hand that is dragged is 2/ω, one frame, behind.
# m is the body's mass and that of the liquid in its place: what is light still has to move about as much water.
# c = 2 m ω is critical: in air, where only the body moves, the hand is a little slow, and never swings.
QUICK = 2.0
LEAD = 0.125  # longest sides of the domain: a body is then drawn along at ω/2 of this a second, three sides at 24 fps
REACH = 1.0  # cells beside a body in which a point still counts as its own


class Hold(NamedTuple):
    """A body that is held.

    body       its index among the state's
    point      (3,) where, as drawn, from its centre of mass [m]
    target     (3,) where the point should be at the end of the next step [m]
    velocity   (3,) of the target [m/s]
    stiffness  k [N/m]
    damping    c [N s/m]
    lead       how far away a target still pulls more [m]
    """

    body: int
    point: np.ndarray
    target: np.ndarray
    velocity: np.ndarray
    stiffness: float
    damping: float
    lead: float


class Hands:
    """The hands of a scene: those that follow a path, and the one of who looks on."""

    def __init__(self, scene: Scene, masses: list[Mass]):
        self.scene, self._masses = scene, masses
        self._bodies = [item for item in scene.items if isinstance(item, RigidBody)]
        self._scripted = labelled(scene.items, Hand)
        liquids = (item for _, item in labelled(scene.items, Liquid | Inflow))
        self._thickest = max((item.viscosity for item in liquids if not callable(item.viscosity)), default=0.0)
        self._own: Hold | None = None

    def grab(self, bodies, body: int | RigidBody, point) -> None:
        """Hold one of the bodies by a point [m] of it, where it is now."""
        n = self._index(body)
        point = np.array(argument.vector("grab", "point", point))
        placing = placed(self._bodies[n].shape, self._masses[n], bodies[n])
        probe = point * [1, 1, 0] + [0, 0, 0.5 * self.scene.grid.h] if self.scene.grid.is_2d else point
        away = float(placing.distance(probe[None])[0])
        if away > REACH * self.scene.grid.h:
            raise ValueError(f"grab: point={tuple(point.tolist())} is {away:.3g} m beside body {n}")
        arm = rotation_of(bodies[n].orientation).T @ (point - bodies[n].position)
        self._own = self._hold(n, arm, point, np.zeros(3))

    def drag(self, target) -> None:
        """Move the hand to a place [m]."""
        target = np.array(argument.vector("drag", "target", target))
        self._own = self._holding("drag")._replace(target=target)

    def release(self) -> int:
        """Let go; which body it was."""
        body = self._holding("release").body
        self._own = None
        return body

    def holding_on(self, other: "Hands") -> None:
        """Hold what the hand of who looks on holds in the same scene, with other densities."""
        if other._own is not None:
            held = other._own
            self._own = self._hold(held.body, held.point, held.target, held.velocity)

    def at(self, time: float, dt: float) -> list[Hold]:
        """What is held in a step that ends at a time [s], if the next one lasts as long."""
        found = [] if self._own is None else [self._own]
        for name, item in self._scripted:
            before, after = (item.target(t, name) for t in (time, time + dt))
            if after is not None:
                n, velocity = self._index(item.body), np.zeros(3) if before is None else (after - before) / dt
                found.append(self._hold(n, item.point - self._masses[n].center, after, velocity))
        return found

    def holding(self, time: float) -> list[int]:
        """Which bodies are held at a time [s] by the hands that follow a path."""
        return [self._index(item.body) for name, item in self._scripted if item.target(time, name) is not None]

    def _hold(self, n, point, target, velocity) -> Hold:
        volume, quick = self._masses[n].volume, QUICK * self.scene.fps
        mass = volume * (self._bodies[n].density + self.scene.density)
        stiffness = mass * quick**2 + self._drag(volume) * quick
        return Hold(n, point, target, velocity, stiffness, 2 * mass * quick, LEAD * max(self.scene.size))

    def _drag(self, volume) -> float:
        """About what the thickest liquid that has one viscosity resists a body with, over its speed [N s/m]."""
        if self.scene.grid.is_2d:
            return 4 * math.pi * self._thickest * self.scene.grid.h
        return 6 * math.pi * self._thickest * (0.75 / math.pi * volume) ** (1 / 3)

    def _index(self, body) -> int:
        if isinstance(body, RigidBody):
            found = [n for n, item in enumerate(self._bodies) if item is body]
            if not found:
                raise ValueError(f"grab: body={body!r} is none of the scene's items")
            return found[0]
        if isinstance(body, bool) or not isinstance(body, int | np.integer) or not 0 <= body < len(self._bodies):
            raise ValueError(f"grab: body={body!r}, but the scene has {len(self._bodies)} bodies, counted from 0")
        return int(body)

    def _holding(self, what) -> Hold:
        if self._own is None:
            raise ValueError(f"{what}: nothing is held, grab a body first")
        return self._own


def gripped(hold: Hold, body: Body, M: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """The mass (6, 6) of a body with the hand that holds it, and the impulse (6,) of that hand if nothing moved."""
    arm = rotation_of(body.orientation) @ hold.point
    G = np.hstack([np.eye(3), -_cross(arm)])
    way = hold.target - body.position - arm
    way *= min(1.0, hold.lead / max(np.linalg.norm(way), 1e-300))
    j = dt * (hold.stiffness * way + hold.damping * hold.velocity)
    return M + (hold.stiffness * dt**2 + hold.damping * dt) * G.T @ G, G.T @ j


def _cross(a) -> np.ndarray:
    """The matrix of  a × ·"""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
