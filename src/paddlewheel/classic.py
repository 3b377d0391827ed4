"""The time step of Foster & Metaxas 1996, a list of calls from top to bottom.

Explicit and by whole cells: liquid is in a cell or not, a solid fills a cell or
not, and the pressure at the centre of a surface cell is that of the air. What
the other steps solve for, this one sweeps away.
"""

import math

import numpy as np

from paddlewheel.continuation import Known
from paddlewheel.fluid import Clock, Fluid
from paddlewheel.grid.window import Window
from paddlewheel.items import Inflow, Liquid, labelled, velocity_at
from paddlewheel.physics.audit import audit
from paddlewheel.physics.momentum import carried, longest_step
from paddlewheel.physics.relaxation import Relaxed, relax
from paddlewheel.physics.surface import liquid_volume
from paddlewheel.physics.surface_cells import beside, free_faces, meet_air
from paddlewheel.scene import Scene
from paddlewheel.surface_trackers import HeightField, SurfaceMarkers
from paddlewheel.trackers import Markers, Seen, Tracked, Tracker, Way
from paddlewheel.types import Boundary, Faces, SolveInfo, State, StepReport

HALF = 0.5 + 1e-6  # a cell, and some rounding
FARTHEST_SHIFT = 0.25  # cells that particles are moved in a sub-step to keep their density
SHIFT_RATE = 4.0  # part of an error of density that is mended while the fastest liquid goes a cell
MOST_SHIFTED = 1.0  # and in one sub-step
SPREAD_TOLERANCE = 0.1
TRACKERS: dict[str, type[Tracker]] = {
    "markers": Markers,
    "surface-markers": SurfaceMarkers,
    "height-field": HeightField,
}


class ClassicStepper(Fluid):
    """The time step of a scene with liquid by the explicit method."""

    def __init__(self, scene: Scene):
        super().__init__(scene)
        self.tracker = TRACKERS[scene.method.surface](self)
        self._window = Window(scene.grid, scene.grid)
        self._friction = (self.friction.same or 0.0) / scene.density  # m²/s

    def check(self) -> None:
        """Refuse what cannot start."""
        self.tracker.check()

    def start(self) -> State:
        """The state at time zero: what is tracked, and the velocity that its liquids were given, if solids let it."""
        bodies = self.bodies.start()
        solids = self.boundary(0.0, bodies)
        tracked, seen = self.tracker.seen(self.tracker.start(solids, bodies), solids)
        boundary = self.sources.opened(solids, self._window)
        cells = _Cells(seen, boundary, solids, self.grid.h)
        relaxed = self._relaxed(self._given(cells, boundary), cells, boundary, 1.0, 0.0, None)
        velocity = self._everywhere(relaxed.velocity, cells, solids, boundary)
        return self._state(0.0, 0, velocity, np.zeros(self.grid.shape), seen.phi, tracked, bodies, {})

    def limit(self, state: State) -> float:
        """The largest step [s]: the fastest liquid or solid crosses `cfl` cells; sub-steps may be shorter."""
        fastest = max(_fastest(state.velocity), self.fastest_solid(state))
        limits = [self.scene.method.cfl * self.grid.h / fastest] if fastest else []
        if any(self.scene.gravity):  # what is at rest may fall from now on
            limits.append(self.scene.method.cfl * self._stable(state))
        return min(limits, default=math.inf)

    def step(self, state: State, dt: float) -> tuple[State, StepReport]:
        """The state dt [s] later, and what happened, in as many sub-steps as are stable. The old one loses its arrays.

        They are of the same length, but for the velocity that grows on the way.
        """
        reports, end = [], state.time + dt
        with self.threads(state.particles):
            while True:
                left = end - state.time
                parts = max(1, math.ceil(left / self._stable(state) - 1e-9))
                state, report = self._step(state, left / parts)
                reports.append(report)
                if parts == 1:
                    break
        state.time = end
        return state, StepReport.joined(reports)._replace(dt=dt)

    def _step(self, state, dt) -> tuple[State, StepReport]:
        scene, now, number, clock = self.scene, state.time + dt, state.steps + 1, Clock()

        bodies, contacts = self.bodies.moved(state.bodies, state.contacts, state.time, dt)
        clock.stop("contact")

        solids = self.boundary(now, bodies)
        boundary = self.sources.opened(solids, self._window)
        clock.stop("solids")

        flow, pressure, particles, shift = state.release()
        way = Way(flow, solids, state.time, dt, number, state.bodies, bodies, shift)
        tracked, inflow, outflow, warnings = self.tracker.moved(Tracked(particles, state.tracked), way)
        clock.stop("move")

        tracked, seen = self.tracker.seen(tracked, solids)
        cells = _Cells(seen, boundary, solids, self.grid.h)
        clock.stop("surface")

        velocity = carried(
            self.grid, _closed(flow, boundary), cells.faces, solids.velocity,
            Faces(*(w == 0 for w in solids.open)), dt,
            viscosity=self._friction, slip=self._slip, solids_slip=scene.walls == "free-slip",
        )  # fmt: skip
        clock.stop("transfer")

        self._push(velocity, cells, now, dt)
        air = self.surface_pressure(self.grid, now)
        bodies = self.bodies.pulled(bodies, now, dt)
        bodies = self.borne(bodies, self.grid, pressure, state.time, boundary, seen.phi, flow, dt)
        bodies = self.bodies.led(bodies, solids, self.hands.at(now, dt), dt)
        clock.stop("forces")

        if cells.head is not None:  # the weight of what is above the centres of cells
            air = air - scene.density * scene.gravity[1] * cells.head
        relaxed = self._relaxed(velocity, cells, boundary, dt, air, pressure)
        clock.stop("pressure")

        velocity = Faces(*(u.astype(np.float32) for u in relaxed.velocity))
        worst, _ = audit(self.grid, velocity, cells.sign, boundary, scene.density)
        _, energy = audit(self.grid, velocity, seen.phi, boundary, scene.density)
        volume = liquid_volume(seen.phi, solids.phi, self.grid.h) if seen.volume is None else seen.volume
        clock.stop("report")

        velocity = self._everywhere(velocity, cells, solids, boundary)
        clock.stop("extrapolate")

        shift, solves = self._spread(seen, cells, boundary, solids, dt * _fastest(velocity))
        clock.stop("density")

        report = StepReport(
            dt, 1, worst, volume, energy, inflow, outflow,
            [*warnings, *self.warnings(0, relaxed)], [relaxed.info, *solves], clock.seconds,
        )  # fmt: skip
        return self._state(now, number, velocity, relaxed.pressure, seen.phi, tracked, bodies, contacts, shift), report

    def _stable(self, state) -> float:
        """The longest sub-step [s]."""
        return longest_step(self.grid, state.velocity, self._friction, self.scene.gravity)

    @property
    def _slip(self) -> dict[str, bool]:
        """The sides that are walls, and whether liquid slips along them; in 2-D it does along z."""
        flat = {"-z", "+z"} if self.grid.is_2d else set()
        sides = {a + b for a in "-+" for b in "xyz"} - self.scene.open_sides
        return {side: self.scene.walls != "no-slip" or side in flat for side in sides}

    def _push(self, velocity, cells, time, dt) -> None:
        """Let gravity and the scene's forces act for dt on the faces beside liquid, in place."""
        for u, g, where in zip(velocity, self.scene.gravity, cells.faces, strict=True):
            if g:
                u[where] += g * dt
        self.push(self.grid, velocity, cells.faces, time, dt)

    def _relaxed(self, velocity, cells, boundary, dt, air, start) -> Relaxed:
        """The pressure, and the velocity after it, also that of free faces; see `meet_air`."""
        method = self.scene.method
        relaxed = relax(
            self.grid, velocity, cells.full, cells.surface, boundary, dt,
            density=self.scene.density, surface_pressure=air, tolerance=method.tolerance,
            over_relaxation=method.over_relaxation, start=start, head=cells.head,
        )  # fmt: skip
        meet_air(relaxed.velocity, cells.free, held=cells.held)
        return relaxed

    def _everywhere(self, velocity, cells, solids, boundary) -> Faces:
        """The velocity beyond the liquid, in solids and in sources, float32. Inflows give through faces they close."""
        velocity = Faces(*(np.asarray(u, np.float32) for u in velocity))
        parts = zip(cells.faces, boundary.open, solids.open, boundary.velocity, strict=True)
        known = Faces(*(f | (w == 0) & (room > 0) & (given != 0) for f, w, room, given in parts))
        return self.continued(velocity, Known(known, None, None), solids, self._window)

    def _spread(self, seen, cells, boundary, solids, way) -> tuple[Faces, list[SolveInfo]]:
        """The displacement [m] that evens out the density of particles, and how it was relaxed.

        Cells whose liquid came together around air are full, though they are not full of particles, and what is full
        stays as large as it is: nothing else would ever close them again. The more so the longer a `way` [m] the
        fastest liquid goes in the sub-step, so that what rests is left alone.
        """
        still = self.grid.zeros_faces()
        if seen.excess is None:
            return still, []
        rate = min(MOST_SHIFTED, SHIFT_RATE * way / self.grid.h)
        relaxed = relax(
            self.grid, still, cells.full, cells.surface, boundary._replace(velocity=still), 1.0,
            tolerance=SPREAD_TOLERANCE, over_relaxation=self.scene.method.over_relaxation,
            gain=rate * seen.excess,
        )  # fmt: skip
        most = FARTHEST_SHIFT * self.grid.h
        shift = Faces(*(np.clip(s, -most, most).astype(np.float32) for s in relaxed.velocity))
        shift = self.beyond.shift(shift, Known(cells.faces, None, None), solids)
        for part, w, before in zip(shift, boundary.open, solids.open, strict=True):
            part[(w == 0) & (before > 0)] = 0  # what is in an inflow goes as that does
        return shift, [relaxed.info._replace(name="density")]

    def _given(self, cells, boundary) -> Faces:
        """The velocity that liquids and inflows have at the start, on faces beside liquid: that of the nearest."""
        velocity = _closed(self.grid.zeros_faces(), boundary)
        items = labelled(self.scene.items, Liquid | Inflow)
        for a, where in enumerate(cells.faces):
            points = self.grid.face_points(a)[where]
            if not len(points):
                continue
            distances = np.array([item.shape.distance(points) for _, item in items])
            nearest = distances.argmin(axis=0)
            for n, (name, item) in enumerate(items):
                mine = nearest == n
                velocity[a][tuple(i[mine] for i in np.nonzero(where))] = velocity_at(name, item, points[mine])[:, a]
        return velocity

    def _state(self, time, steps, velocity, pressure, phi, tracked, bodies, contacts, shift=None) -> State:
        return State(
            time, steps, velocity, pressure, phi, tracked.particles,
            self.grid.zeros_faces() if shift is None else shift, bodies, contacts, tracked=tracked.arrays,
        )  # fmt: skip


class _Cells:
    """The cells with liquid, and their faces.

    free     which faces of each meet the air, see `free_faces`
    surface  those with any,
    full     those with none, bool
    faces    the open faces of both, bool
    sign     a level set of the full ones
    head     how far the surface is above each centre [m], if that is tracked; zero in surface cells that have it not
             within them, but face the air at the side: they have its pressure
    held     whether surface cells may keep for a while what flows into them
    """

    def __init__(self, seen: Seen, boundary: Boundary, solids: Boundary, h: float):
        wet = seen.wet & _touched(solids.open)
        self.free = free_faces(wet, boundary.open)
        self.surface = self.free > 0
        self.full = wet & ~self.surface
        self.faces = beside(wet, boundary.open)
        self.sign = np.where(self.full, np.float32(-1), np.float32(1))
        self.head, self.held = seen.head, seen.held
        if seen.head is not None:
            self.head = np.where(self.surface & (np.abs(seen.head) > HALF * h), 0.0, seen.head)


def _fastest(velocity: Faces) -> float:
    """The largest velocity along an axis [m/s]."""
    return max(float(max(u.max(), -u.min())) for u in velocity)


def _closed(velocity: Faces, boundary: Boundary) -> Faces:
    """The velocity, float64, with that of solids and inflows on the faces they close."""
    parts = zip(velocity, boundary.open, boundary.velocity, strict=True)
    return Faces(*(np.where(w > 0, u, v).astype(np.float64) for u, w, v in parts))


def _touched(open) -> np.ndarray:
    """The cells with an open face, bool."""
    return np.any([w.take(range(w.shape[a] - 1), a) > 0 for a, w in enumerate(open)], axis=0) | np.any(
        [w.take(range(1, w.shape[a]), a) > 0 for a, w in enumerate(open)], axis=0
    )
