"""The rigid bodies of a scene through a step: what they touch, where they go, and what the liquid feels of them."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paddlewheel.hand import gripped
from paddlewheel.items import Force, RigidBody, Solid, labelled, values_at
from paddlewheel.kernel import kernel
from paddlewheel.measure import carried, thickness
from paddlewheel.physics.borne import floated, soaked
from paddlewheel.physics.coupling import Coupled, accelerated, beside_liquid, pressure_rows, wet, yielding
from paddlewheel.physics.entry import way_into
from paddlewheel.physics.pressure import Projection
from paddlewheel.physics.viscosity import RigidBodies
from paddlewheel.scene import Scene
from paddlewheel.solids import rigid
from paddlewheel.solids.contact import Contact, Contacts, Memory, Obstacle
from paddlewheel.solids.contact_things import rotations
from paddlewheel.solids.mass import Mass
from paddlewheel.solids.shapes import Moved, Shape
from paddlewheel.types import AXES, SIDES, Body, BodyFaces, Boundary, Faces, Grid, SolveFailedError, SolveInfo

RESTS = 4  # times at most that what bodies rest on and the pressure are found from each other
LIGHTEST = 1e-5  # of the fluid's density, which a body has at least: less is lost beside the tolerance of the pressure
STILL = 3e-3  # part of the bodies' velocities by which the liquid may see them move otherwise than they do
_SETTLED = 1e-7  # of the largest approach, for impulses
_TOUCHING = 0.05  # cells between things that count as touching
_FREE = 1e-3  # part of gravity's acceleration that others may add to that of a body which falls freely
_THIN = (
    0.9  # cells, below which a body is said to be thinner than one: what is curved seems a little thinner than it is
)
# Cells of thickness below which a solid may not hold liquid that moves: two surfaces in one cell lead it astray. Voxels
# see a whole cell, and gas has no surface of its own.
_HOLDING = {"area": 1.35, "volume": 2.5, "length": 2.5, "voxel": _THIN}
_WHOLE = 0.5  # part of a body that the grid may miss for its discrete mass to be believed: of two cells it may miss one
_WILD = 100.0  # longest sides of the domain that a body may go in a frame, with the coupling that is not stable
_TURNED = 0.01  # of the fluid's density: what is lighter turns in it as if it had this
_LEAST = 0.25  # part of its inertia that must be there, for any motion


class Coupling(NamedTuple):
    """Liquid and rigid bodies after a projection: all solves it took, the boundary, which carries the bodies, and what
    the next one may know of this: forces and torques `rest` (n, 6) that hold the bodies [N, N m]."""

    projection: Projection
    solves: list[SolveInfo]
    bodies: tuple[Body, ...]
    boundary: Boundary
    known: dict[str, np.ndarray]


class Bodies:
    """The rigid bodies among a scene's items, with their masses and shapes as drawn.

    The order of a step is that of Guendelman et al. 2003: contact, move,
    collisions, forces; then the pressure (B07 §3.2).
    """

    def __init__(self, scene: Scene, masses: Sequence[Mass], shapes: Sequence[Shape]):
        self.scene, self.masses, self._shapes = scene, list(masses), list(shapes)
        self._named = labelled(scene.items, RigidBody)
        least = LIGHTEST * scene.density
        self.items = [replace(item, density=max(item.density, least)) for _, item in self._named]
        self._solids = labelled(scene.items, Solid)
        self._one_way = np.array([item.one_way for item in self.items], np.bool_)
        self._lever = np.array([rigid.lever(shape) for shape in self._shapes]).reshape(-1, 3, 3)  # as drawn
        self._hinged = np.array([item.axis is not None for item in self.items], np.bool_)
        self._forces = labelled(scene.items, Force)
        grid = scene.grid
        pairs = list(zip(self.items, self.masses, strict=True))
        self._reach = np.array([_reach(item.shape, mass) for item, mass in pairs])
        self._weights = np.array([item.density * mass.volume for item, mass in pairs])  # kg
        self._contact = Contact(
            shapes,
            self.masses,
            [item.friction for item in self.items],
            [item.restitution for item in self.items],
            size=grid.size,
            closed_sides=set(SIDES) - scene.open_sides,
            spacing=grid.h,
            planar=grid.is_2d,
        )

    def start(self) -> tuple[Body, ...]:
        """The bodies as they were drawn, but apart: those that overlap, are thin or too light are named in warnings."""
        self._check_sizes()
        for (name, item), counted in zip(self._named, self.items, strict=True):
            if item.density < counted.density:
                warnings.warn(
                    f"{name} of {item.density:g} kg/m³ moves as one of {counted.density:g}: what is lighter than "
                    f"{LIGHTEST:g} of the fluid's density is moved by what the pressure solve leaves",
                    stacklevel=4,
                )
        bodies = []
        for item, mass in zip(self.items, self.masses, strict=True):
            body = Body(np.array(mass.center), np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), np.zeros(3))
            bodies.append(self._moving(item, body, item.velocity, item.angular_velocity))
        bodies, overlaps = self._contact.separate(bodies, self._obstacles(0.0), self.inverses(bodies))
        names = {
            "body": [name for name, _ in self._named],
            "side": [f"the {side} side of the domain" for side in self._contact.sides],
            "obstacle": [name for name, _ in self._solids],
        }
        for first, kind, number, mended in overlaps:
            done = "moved apart" if mended else "it has no way out, and stays there"
            warnings.warn(f"{self._named[first][0]} overlaps {names[kind][number]} at the start: {done}", stacklevel=4)
        return tuple(bodies)

    def thrown(self, bodies, which: int, velocity) -> tuple[Body, ...]:
        """The bodies, one of them with a velocity [m/s], as far as it may have it; its spin stays."""
        body, item = bodies[which], self.items[which]
        return (*bodies[:which], self._moving(item, body, velocity, body.angular_velocity), *bodies[which + 1 :])

    def moved(
        self,
        bodies,
        known: dict[str, np.ndarray],
        time: float,
        dt: float,
        liquid: tuple[np.ndarray, Faces] | None = None,
    ) -> tuple[tuple[Body, ...], dict[str, np.ndarray]]:
        """The bodies dt [s] later: they do not enter anything, and what has hit something bounces.

        `known` is what was learnt of contacts in earlier steps; the second result is that for the next one. The liquid
        that bodies may fall into is φ [m] and the velocity [m/s] at the start.
        """
        if not bodies:
            return (), {}
        contact, pull = self._contact, self._pull(bodies, time, dt)
        free = known.get("free", np.zeros(len(bodies), np.bool_))
        # theirs is the velocity at the start of the step: this takes it to the middle of it
        lead = 0.5 * free[:, None] * pull
        if "acceleration" in known:
            lead[:, :3] = 0.5 * dt * known["acceleration"]
        V = velocities(bodies)
        if "swing" in known:  # theirs is that of half a step ago, and steps may differ: leapfrog
            V += 0.5 * (dt - known["swing.dt"]) * known["swing"]
        if liquid is not None:
            lead[:, :3] += self._braked(bodies, V + lead, free, liquid, dt)
        V += lead
        contact.held, contact.coming = (_recalled(known, name) for name in ("held", "coming"))
        contacts = contact.find(bodies, self._obstacles(time), V, dt)
        if contacts.count:
            contact.resolve(V, self.inverses(bodies), contacts, dt, bounce=False, pull=pull)
        else:
            contact.forget()
        bodies = [
            rigid.moved(body, mass, dt, item.pivot, self.scene.grid.is_2d or bool(item.locked & {"rx", "ry", "rz"}))
            for body, mass, item in zip(with_velocities(bodies, V), self.masses, self.items, strict=True)
        ]
        V, mended = velocities(bodies), bodies
        if self._forces or self._hinged.any():  # else it is the same everywhere
            pull = self._pull(bodies, time + dt, dt)
        contacts = contact.find(bodies, self._obstacles(time + dt), V + pull, dt)
        if contacts.count:
            W = self.inverses(bodies)
            mended = contact.mend(bodies, contacts, W)
            raised = self._raised(bodies, mended, pull / dt)
            contact.resolve(V, W, contacts, dt, bounce=True, pull=pull, gained=raised, free=free)
        else:
            contact.forget()
        known = {
            f"{name}.{part}": array
            for name in ("held", "coming")
            for part, array in getattr(contact, name)._asdict().items()
        }
        return with_velocities(mended, V - lead), known

    def touching(self, bodies, velocity: np.ndarray, time: float, dt: float) -> Contacts:
        """Contacts that bodies rest on, if they move at `velocity` (n, 6).

        Only what touches counts: what is about to hit must do so at its full speed.
        """
        contacts = self._contact.find(bodies, self._obstacles(time), velocity, dt)
        return contacts.taken(contacts.gap < _TOUCHING * self.scene.grid.h) if contacts.count else contacts

    def held(self, free: np.ndarray, inverse: np.ndarray, contacts: Contacts, dt: float) -> np.ndarray:
        """Impulses (n, 6) at contacts, if the bodies would move at `free` (n, 6) without.

        inverse (n, 6, n, 6) tells how impulses change those velocities.
        """
        return self._contact.resting(free, inverse, contacts, dt, tolerance=_SETTLED)

    def projected(
        self,
        grid: Grid,
        bodies,
        boundary: Boundary,
        solve,
        opened,
        air: np.ndarray | None,
        time: float,
        dt: float,
        holds=(),
        known=None,
        pull: bool = True,
        *,
        phi: np.ndarray,
    ) -> "Coupling":
        """Liquid and bodies after the pressure has acted on both, and what bodies rest on has held them.

        boundary is that in a grid, which may be a part of the domain with all bodies in it.
        solve(boundary, terms) finds the pressure beside solids that move as in a
        boundary; opened(boundary) is that with the sources in it; air is the
        pressure on the surface [Pa], if any; holds are the hands at work, which have had
        their pull in this step already if not `pull`; known is what the last step
        knew, and φ [m] tells where the liquid is. Under the pressure alone a body would move into what it
        rests on, and drag liquid along. So the impulses that hold it are found, from
        those of the last step on, with the liquid that it has to move counted in its
        mass, and the pressure is solved for again until both agree.
        """
        method = self.scene.method
        V, W = self._held_by_hand(bodies, boundary, holds, dt, pull, (grid, phi))
        coupled = self._seen(bodies, boundary, W)
        levers = np.array([body.lever for body in coupled])

        def carrying(V):
            seen = with_velocities(bodies, np.einsum("nij,nj->ni", levers, V))
            return boundary._replace(velocity=carried(grid, boundary, seen))

        def in_air(V):
            return V if air is None else accelerated(V, coupled, air, grid, dt)

        def pushed(V, solved):
            pressure = solved.pressure
            pressure = pressure if air is None else np.where(pressure != 0.0, pressure, air)
            return accelerated(V, coupled, pressure, grid, dt)

        terms = None
        if method.coupling == "monolithic":
            terms = partial(pressure_rows, coupled, grid=grid, density=self.scene.density)
        impulses = dt * known["rest"] if known and "rest" in known else np.zeros(V.shape)
        resting = bool(impulses.any())
        held = V + np.einsum("nij,nj->ni", W, impulses) if resting else V
        solved = solve(carrying(in_air(held)), terms)
        after, solves = pushed(held, solved), [solved.info]
        yielded = self._yielding(coupled, W, solved.reply) if resting else None
        contacts = self.touching(bodies, after - _times(yielded, impulses) if resting else after, time, dt)
        if not resting and not contacts.count:  # nothing has held them, and nothing is to
            self._refuse_wild(after, time)
            moving = with_velocities(bodies, after)
            return Coupling(solved.acted(), solves, moving, carrying(after), {"rest": impulses})
        yielded = self._yielding(coupled, W, solved.reply) if yielded is None else yielded
        for again in reversed(range(RESTS + 1)):
            free = after - _times(yielded, impulses)
            self._refuse_wild(free, time)
            found = self.held(free, yielded, contacts, dt)
            push = found - impulses
            more = _times(yielded, push)
            if not again or self._speeds(more).max() <= STILL * self._speeds(free).max():
                break
            impulses, before = found, after
            held = V + np.einsum("nij,nj->ni", W, impulses)
            solved = solved.again(opened(carrying(in_air(held))))
            after = pushed(held, solved)
            solves.append(solved.info)
            yielded = _learnt(yielded, push, after - before)
        self._refuse_wild(after + more, time)
        known = {"rest": found / dt}
        moving = with_velocities(bodies, after + more)
        return Coupling(solved.acted(), solves, moving, carrying(after), known)

    def in_friction(
        self, bodies, boundary: Boundary, holds, dt: float, grid: Grid, phi: np.ndarray
    ) -> RigidBodies | None:
        """The bodies as viscosity sees them in a step of dt [s], after hands pulled them; None if there are none."""
        if not bodies:
            return None
        V, inverse = self._held_by_hand(bodies, boundary, holds, dt, False, (grid, phi))
        inverse[self._one_way] = 0.0
        return RigidBodies(np.array([body.position for body in bodies]), V, inverse)

    def dragged(self, bodies, boundary: Boundary, motion, grid: Grid) -> tuple[tuple[Body, ...], Boundary]:
        """The bodies, moving as viscosity let them, (n, 6), or if None as before; and the boundary beside them."""
        if motion is None:
            return bodies, boundary
        bodies = with_velocities(bodies, motion)
        return bodies, boundary._replace(velocity=carried(grid, boundary, bodies))

    def pulled(self, bodies, time: float, dt: float) -> tuple[Body, ...]:
        """The bodies after gravity and the scene's forces, at their centres, acted for dt [s]."""
        return with_velocities(bodies, velocities(bodies) + self._pull(bodies, time, dt))

    def borne(
        self,
        bodies,
        filled: dict[int, BodyFaces],
        grid: Grid,
        pressure: np.ndarray,
        closed: Faces,
        phi: np.ndarray,
        velocity: Faces,
        dt: float,
    ) -> tuple[Body, ...]:
        """The bodies after the fluid acted for dt [s] on those that it carries one-way, which would fill `filled`.

        pressure [Pa] at all centres of a grid, also those in air, φ [m] and velocity [m/s] are those of the fluid;
        through faces that are closed, bool, the pressure is not felt. The damping is that at the end of the step,
        (M + Δt D) V' = M V + Δt (f + D u) .
        """
        weight = (0.0 if self.scene.has_smoke else self.scene.density) * np.array(self.scene.gravity)  # gas has none
        V = velocities(bodies)
        for n, faces in filled.items():
            item, body = self.items[n], bodies[n]
            M = rigid.mass_matrix(self.masses[n], item.density, body.orientation)
            S, momentum = soaked(grid, faces, body.position, phi, velocity)
            rate = dt * item.damping * self.scene.density
            push = dt * floated(grid, faces, body.position, phi, pressure, closed, weight)
            F = self._freedom(item, body.position)
            V[n] = rigid.restricted_inverse(M + rate * S, F) @ (M @ V[n] + push + rate * momentum)
        return with_velocities(bodies, V)

    def led(self, bodies, boundary: Boundary, holds, dt: float) -> tuple[Body, ...]:
        """The bodies after hands pulled them, where no pressure solve does that."""
        if not bodies or not holds:
            return tuple(bodies)
        return with_velocities(bodies, self._held_by_hand(bodies, boundary, holds, dt, True)[0])

    def free(self, pulled, after, dt: float, most: float = _FREE) -> dict[str, np.ndarray]:
        """Which bodies fall freely, for `moved` to know: neither pressure, friction, contact, nor a hinge changed what
        forces did in dt [s], by more than this part of gravity."""
        change = np.abs(velocities(after) - velocities(pulled)).max(axis=1, initial=0.0)
        return {"free": ~self._hinged & ~self._one_way & (change <= most * dt * math.hypot(*self.scene.gravity))}

    def swing(self, before, after, dt: float, known, holds) -> dict[str, np.ndarray]:
        """What a step of dt [s] did to the velocities of hinged bodies, (n, 6) [m/s², rad/s²], for `moved` to know.

        Not to those that rest on something, as the step knows, or that hands hold. Nothing if there are no hinges.
        """
        if not self._hinged.any():
            return {}
        gained = (velocities(after) - velocities(before)) / dt
        gained[~self._hinged | known["rest"].any(axis=1)] = 0.0
        gained[[hold.body for hold in holds]] = 0.0
        return {"swing": gained, "swing.dt": np.array(dt)}

    def acceleration(self, before, after, dt: float, held) -> dict[str, np.ndarray]:
        """What forces, pressure and contact did to bodies in dt [s], (n, 3) [m/s²], for `moved` to know.

        It is zero for those on hinges and those `held` by a hand: what swings would be braked by going ahead.
        """
        gained = (velocities(after) - velocities(before))[:, :3] / dt
        gained[self._hinged] = 0.0
        gained[held] = 0.0
        return {"acceleration": gained}

    def let_go(self, bodies, boundary: Boundary, liquid: np.ndarray, grid: Grid, held) -> dict[str, np.ndarray]:
        """Which bodies begin to fall freely at time zero, as `free` says later: no liquid (a mask of cells) is beside
        them, nothing they touch holds them, and no hand does: those are `held`."""
        pulled = velocities(bodies) + self._pull(bodies, 0.0, 1 / self.scene.fps)
        contacts = self.touching(bodies, pulled, 0.0, 0.0)
        bound = self._hinged | self._one_way | wet(self.coupled(bodies, boundary), liquid, grid)
        bound |= self.held(pulled, self.inverses(bodies), contacts, 0.0).any(axis=1)
        bound[held] = True
        return {"free": ~bound}

    def fastest(self, bodies) -> float:
        """A speed [m/s] that no point of any body exceeds; those that have left the domain do not count."""
        position = np.array([body.position for body in bodies]).reshape(-1, 3)
        beyond = np.maximum(np.maximum(-position, position - self.scene.grid.size), 0.0)
        inside = (beyond * beyond).sum(axis=1) <= self._reach**2
        return float(self._speeds(velocities(bodies))[inside].max(initial=0.0))

    def inverses(self, bodies) -> np.ndarray:
        """(n, 6, 6): inverse masses, restricted to the motions each body has."""
        parts = zip(self.items, self.masses, bodies, strict=True)
        return self._restricted(bodies, [rigid.mass_matrix(mass, i.density, b.orientation) for i, mass, b in parts])

    def coupled(self, bodies, boundary: Boundary) -> list[Coupled]:
        """The bodies as the pressure of liquid all around them sees them."""
        return self._seen(bodies, boundary, self._restricted(bodies, self._masses(bodies, boundary)))

    def _speeds(self, V) -> np.ndarray:
        """Speeds [m/s] that no point of the bodies exceeds, if they move at V (n, 6)."""
        speed, spin = np.sqrt((V * V).reshape(-1, 2, 3).sum(axis=2)).T
        return speed + self._reach * spin

    def _refuse_wild(self, V, time) -> None:
        """Stop a run in which the liquid and the bodies, each moved by what the other did, have flung these off."""
        if self.scene.method.coupling != "alternating":
            return
        speeds, most = self._speeds(V), _WILD * max(self.scene.grid.size) * self.scene.fps
        for n in np.flatnonzero(~(speeds <= most))[:1]:
            name, density = self._named[n][0], self.items[n].density
            raise SolveFailedError(
                f"{name} was flung off at {speeds[n]:.3g} m/s at {time:.6g} s: coupling='alternating' is unstable for "
                f"bodies that have to move more liquid than they weigh, as this one of {density:g} kg/m³ has to beside "
                "a wall or another body; 'monolithic' is not"
            )

    def _seen(self, bodies, boundary, W) -> list[Coupled]:
        """The bodies with these inverse masses, which are zero for the pressure if it does not move them."""
        W = np.where(self._one_way[:, None, None], 0.0, W)
        parts = zip(boundary.bodies, bodies, W, self._levers(bodies), strict=True)
        return [Coupled(faces, body.position, inverse, lever) for faces, body, inverse, lever in parts]

    def _levers(self, bodies) -> np.ndarray:
        """(n, 6, 6): the projections on what a pressure can do to bodies; see `rigid.lever`."""
        R = rotations(np.array([body.orientation for body in bodies]).reshape(-1, 4))
        out = np.zeros((len(bodies), 6, 6))
        out[:, :3, :3] = np.eye(3)
        out[:, 3:, 3:] = np.einsum("nij,njk,nlk->nil", R, self._lever, R)
        return out

    def _check_sizes(self) -> None:
        """Refuse bodies that do not fit between two walls of the domain, and warn of those thinner than a cell.

        And of solids alike.
        """
        grid, open_sides = self.scene.grid, self.scene.open_sides
        for n, (name, _) in enumerate(self._named):
            extent = self._contact.extent(n)
            for a, axis in enumerate(AXES[: 2 if grid.is_2d else 3]):
                if extent[a] > (1 + 1e-6) * grid.size[a] and not open_sides & {f"-{axis}", f"+{axis}"}:
                    raise ValueError(
                        f"{name} is {extent[a]:.4g} m long along {axis}: there is no room for it between walls "
                        f"{grid.size[a]:.4g} m apart"
                    )
            thick = self._contact.thickness(n, grid.h)
            if thick < _THIN * grid.h:
                warnings.warn(
                    f"{name} is {thick:.3g} m thick, less than a cell of {grid.h:.3g} m: liquid may leak through "
                    "it and lift it too little; make it thicker, or use more cells",
                    stacklevel=5,
                )
        weights = self.scene.method.weights
        least = _THIN if self.scene.has_smoke else _HOLDING[weights]
        for name, solid in self._solids:
            shape = solid.shape if solid.motion is None else Moved(solid.shape, solid.pose(0.0, name))
            thick = thickness(grid, shape, least / _THIN * grid.h)
            if thick < _THIN * grid.h:
                told = f"less than a cell of {grid.h:.3g} m: the fluid may leak through it"
            elif thick < least * grid.h:
                told = (
                    f"less than {least:g} cells of {grid.h:.3g} m: with weights={weights!r} liquid that moves may leak "
                )
                told += "through it or gather beside it"
            else:
                continue
            warnings.warn(f"{name} is {thick:.3g} m thick, {told}; make it thicker, or use more cells", stacklevel=5)

    def _yielding(self, coupled, W, reply) -> np.ndarray:
        """(n, 6, n, 6): how impulses change the velocities of all bodies, with the liquid that they move or without."""
        n = len(coupled)
        out = np.zeros((n, 6, n, 6)) if reply is None else yielding(coupled, reply)
        alone = np.flatnonzero(self._one_way | (reply is None))
        out[alone, :, alone] = W[alone]
        return out

    def _masses(self, bodies, boundary, liquid: tuple[Grid, np.ndarray] | None = None) -> np.ndarray:
        """(n, 6, 6): masses, those on the grid if the method says so; exact ones of what is dry, or held by a hinge.

        The liquid is a grid and φ there; without it all are wet. A hinged body turns by its weight's moment, and weight
        and inertia on a grid are not wrong by the same: one of 1.7 cells' thickness, 10 % too light, would be pulled by
        30 % less. What no pressure acts on has nothing to agree with: a ball of two cells' radius would roll 3 % late.
        """
        h, out, levers = self.scene.grid.h, np.zeros((len(bodies), 6, 6)), self._levers(bodies)
        for n, (item, mass, body) in enumerate(zip(self.items, self.masses, bodies, strict=True)):
            out[n], faces = rigid.mass_matrix(mass, item.density, body.orientation), boundary.bodies[n]
            discrete = self.scene.method.body_mass == "discrete" and item.axis is None
            if discrete and (liquid is None or beside_liquid(faces, *liquid)):
                measured = np.zeros((6, 6))
                for a in range(2 if self.scene.grid.is_2d else 3):
                    _add_mass(measured, faces.filled[a], faces.origin, a, body.position, h)
                measured *= item.density * h**3
                if _alike(measured, out[n], self._freedom(item, body.position)):
                    spun = np.eye(6) - levers[n]
                    out[n] = levers[n] @ measured @ levers[n] + spun @ out[n] @ spun
            lacking = _TURNED * self.scene.density - item.density
            if lacking > 0.0 and (liquid is None or beside_liquid(faces, *liquid)):
                # on a grid the pressure turns what is nearly round a little, and if it had no inertia it would spin
                turned, seen = rigid.mass_matrix(mass, lacking, body.orientation)[3:, 3:], levers[n, 3:, 3:]
                out[n, 3:, 3:] += seen @ turned @ seen
        return out

    def _held_by_hand(self, bodies, boundary, holds, dt, pull, liquid=None) -> tuple[np.ndarray, np.ndarray]:
        """Velocities (n, 6) and inverse masses (n, 6, 6), see `_masses`, with the hands that hold the bodies.

        A hand pulls with what the step ends with, so one that had its `pull` still gives way, or more, to all that
        changes these velocities later in the step:  (M + s GᵀG) (V' − V) = what does.
        """
        V, M, pulls = velocities(bodies), self._masses(bodies, boundary, liquid), {}
        for hold in holds:
            n = hold.body
            before = pulls.get(n, M[n] @ V[n])
            M[n], impulse = gripped(hold, bodies[n], M[n], dt)
            pulls[n] = before + impulse
        W = self._restricted(bodies, M)
        for n, momentum in pulls.items() if pull else ():
            V[n] = W[n] @ momentum
        return V, W

    def _restricted(self, bodies, M) -> np.ndarray:
        """Inverses of masses (n, 6, 6) on the motions each body has."""
        parts = zip(self.items, bodies, M, strict=True)
        return np.array([rigid.restricted_inverse(m, self._freedom(item, body.position)) for item, body, m in parts])

    def _moving(self, item, body, velocity, angular_velocity) -> Body:
        """A body at these velocities, or what a hinge leaves of them."""
        F = self._freedom(item, body.position)
        V = F @ np.linalg.lstsq(F, np.concatenate([velocity, angular_velocity]), rcond=None)[0]
        return body._replace(velocity=V[:3], angular_velocity=V[3:])

    def _freedom(self, item, position) -> np.ndarray:
        return rigid.freedom(
            position, axis=item.axis, pivot=item.pivot, locked=item.locked, planar=self.scene.grid.is_2d
        )

    def _obstacles(self, time) -> list[Obstacle]:
        return [Obstacle(solid.shape, solid.pose(time, name)) for name, solid in self._solids]

    def _weight(self, n, body) -> np.ndarray:
        """Acceleration [m/s²] of gravity on a body.

        In gas, whose pressure is that without it, it is less by the weight of what the body displaces. Gas beyond an
        open side lifts too, but as no pressure is found there that holds against it, the body has to move as much gas
        along as it displaces, (s − 1)/(s + 1) g: else one of little weight would be flung off.
        """
        gravity, item = np.array(self.scene.gravity), self.items[n]
        if not self.scene.has_smoke:
            return gravity
        s, inside = item.density / self.scene.density, self._part_inside(n, body)
        return gravity * (inside * (1 - 1 / s) + (1 - inside) * (s - 1) / (s + 1))

    def _part_inside(self, n, body) -> float:
        """How much of a body has not left through open sides, by the box around it."""
        size, part = self.scene.grid.size, 1.0
        near = np.concatenate([body.position, size - body.position]) < self._reach[n]
        if not any(near[AXES.index(side[1]) + 3 * (side[0] == "+")] for side in self.scene.open_sides):
            return part
        low, high = rigid.placed(self._shapes[n], self.masses[n], body).bounds()
        for a, axis in enumerate(AXES):
            first = max(low[a], 0.0) if f"-{axis}" in self.scene.open_sides else low[a]
            last = min(high[a], size[a]) if f"+{axis}" in self.scene.open_sides else high[a]
            part *= max(last - first, 0.0) / (high[a] - low[a])
        return part

    def _braked(self, bodies, V, free, liquid, dt) -> np.ndarray:
        """What bodies that fall into liquid lack of their velocity [m/s], (n, 3), for the way of this step."""
        out, grid = np.zeros((len(bodies), 3)), self.scene.grid
        for n in np.flatnonzero(free & ~self._one_way):
            shape, mass = rigid.placed(self._shapes[n], self.masses[n], bodies[n]), self._weights[n]
            way = dt * V[n, :3]
            out[n] = way_into(grid, shape, mass, way, *liquid, dt, self.scene.density) - way
        return out / dt

    def _raised(self, bodies, mended, acceleration) -> np.ndarray:
        """Energy [J] that bodies gain against an acceleration (n, 6) if they are put elsewhere, (n,)."""
        way = np.array([there.position - body.position for body, there in zip(bodies, mended, strict=True)])
        return -self._weights * np.sum(way * acceleration[:, :3], axis=1)

    def _pull(self, bodies, time, dt) -> np.ndarray:
        """What forces add to the velocities in dt, (n, 6)."""
        out = np.zeros((len(bodies), 6))
        for n, (item, mass, body) in enumerate(zip(self.items, self.masses, bodies, strict=True)):
            g = self._weight(n, body)
            for name, force in self._forces:
                g = g + values_at(name, force, body.position[None], time)[0]
            if item.axis is None:  # each motion for itself
                out[n, :3] = dt * g
                out[n, rigid.fixed(item.locked, self.scene.grid.is_2d)] = 0.0
            else:
                F, pull = self._freedom(item, body.position), np.array([*g, 0.0, 0.0, 0.0])
                M = rigid.mass_matrix(mass, item.density, body.orientation)
                out[n] = dt * rigid.restricted_inverse(M, F) @ (M @ pull)
        return out


def velocities(bodies) -> np.ndarray:
    """V = (v, ω) of each body, (n, 6)."""
    out = np.empty((len(bodies), 6))
    for V, body in zip(out, bodies, strict=True):
        V[:3], V[3:] = body.velocity, body.angular_velocity
    return out


def with_velocities(bodies, V: np.ndarray) -> tuple[Body, ...]:
    """The bodies, moving at V (n, 6)."""
    return tuple(Body(*body[:2], v[:3].copy(), v[3:].copy()) for body, v in zip(bodies, V, strict=True))


def _reach(shape, mass) -> float:
    """How far a body reaches from its centre of mass [m], at most."""
    low, high = shape.bounds()
    return float(np.linalg.norm(np.maximum(high - mass.center, mass.center - low)))


def _times(inverse, impulses) -> np.ndarray:
    """What impulses (n, 6) add to velocities, with inverse masses (n, 6, n, 6)."""
    return np.einsum("nimj,mj->ni", inverse, impulses)


def _learnt(inverse, push, change) -> np.ndarray:
    """Inverse masses (n, 6, n, 6), such that a push (n, 6) makes this change of velocity (n, 6).

        W − (W s)(W s)ᵀ / (s·W s) + y yᵀ / (s·y)

    the update of Broyden, Fletcher, Goldfarb and Shanno, which leaves it symmetric and positive.
    """
    expected = _times(inverse, push)
    was, real = np.vdot(push, expected), np.vdot(push, change)
    if min(was, real) <= 0.0:
        return inverse
    return inverse - np.multiply.outer(expected, expected) / was + np.multiply.outer(change, change) / real


def _alike(measured, M, F) -> bool:
    """Whether a mass on the grid is to be believed: else the body is cut off by a side, squeezed, or too thin."""
    if F.shape[1] == 0 or abs(measured[1, 1] - M[1, 1]) > _WHOLE * M[1, 1]:
        return False
    return bool(rigid.factor(F.T @ (measured - _LEAST * M) @ F).diagonal().all())


def _recalled(known, name) -> Memory:
    parts = [known.get(f"{name}.{part}") for part in Memory._fields]
    return Memory.none() if parts[0] is None else Memory(*parts)


@kernel(parallel=False)
def _add_mass(out, filled, origin, axis, center, h):
    """out += Σ s j jᵀ over the faces of an axis, per h³ and density."""
    j = np.zeros(6)
    b, c = (axis + 1) % 3, (axis + 2) % 3
    for m in range(filled.shape[0]):
        for n in range(filled.shape[1]):
            for o in range(filled.shape[2]):
                s = np.float64(filled[m, n, o])
                if s > 0.0:
                    at = (
                        h * (m + origin[0] + 0.5 * (axis != 0)) - center[0],
                        h * (n + origin[1] + 0.5 * (axis != 1)) - center[1],
                        h * (o + origin[2] + 0.5 * (axis != 2)) - center[2],
                    )
                    # r × e_a has components r_c along b and −r_b along c, (a, b, c) cyclic
                    j[:] = 0.0
                    j[axis], j[3 + b], j[3 + c] = 1.0, at[c], -at[b]
                    for p in range(6):
                        for q in range(6):
                            out[p, q] += s * j[p] * j[q]
