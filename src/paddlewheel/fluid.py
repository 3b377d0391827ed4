"""What the time steps of liquid and of smoke have in common: a fluid among solids, which push it and are pushed."""

import math
import time
from collections.abc import Sequence

import numpy as np

from paddlewheel.bodies import Bodies, Coupling
from paddlewheel.continuation import Continuation, Known
from paddlewheel.grid.centroid import Centroids, open_centroids
from paddlewheel.grid.hat import hat_reach
from paddlewheel.grid.window import Window
from paddlewheel.hand import Hands
from paddlewheel.items import Force, SurfacePressure, labelled, values_at
from paddlewheel.kernel import threads_worth
from paddlewheel.measure import Solids
from paddlewheel.physics.pressure import Pressed, Projection, Solved, pressed, presses, solved
from paddlewheel.physics.transfer import to_faces
from paddlewheel.scene import Scene
from paddlewheel.sources import Sources
from paddlewheel.types import Body, Boundary, Faces, Grid, Particles, State

__all__ = ["Clock", "Fluid", "from_particles"]


class Fluid:
    """A scene's fluid: its solids and bodies, sources and forces, and the pressure between them."""

    def __init__(self, scene: Scene):
        self.scene, self.grid = scene, scene.grid
        self.solids = Solids(scene.grid, scene.items, scene.method.weights, scene.open_sides)
        self.sources = Sources(scene)
        self.friction = self.sources.friction
        self.bodies = Bodies(scene, self.solids.masses, self.solids.body_shapes)
        self.hands = Hands(scene, self.solids.masses)
        self.beyond = Continuation(scene.grid.h, scene.method.cfl, self.solids.moving)
        self.forces = labelled(scene.items, Force)
        self.per_cell = self.sources.per_cell
        self.reach = hat_reach(self.per_cell)

    def boundary(self, time: float, bodies: Sequence[Body] | None = None) -> Boundary:
        """The solids at a time [s], measured into arrays."""
        return self.solids.measure(time, bodies)

    def outside_solids(self, time: float, bodies):
        """A function of points (n, 3) that tells which no solid covers at a time."""
        return lambda points: self.solids.distance(points, time, bodies) > 0

    def fastest_solid(self, state: State) -> float:
        """Largest speed [m/s] of any solid or body."""
        if not self.solids.moving:
            return 0.0
        return max(self.solids.fastest(state.time), self.bodies.fastest(state.bodies))

    def threads(self, particles: Particles):
        """As many threads as a step of this size is worth."""
        return threads_worth(max(math.prod(self.grid.shape), len(particles.position)))

    def exchanged(
        self, particles: Particles, boundary: Boundary, bodies: Sequence[Body], now: float, dt: float, number: int
    ) -> tuple[Particles, float, float, list[str]]:
        """The particles after sources gave and drains took; both volumes [m³]; and warnings of the sources."""
        gone = self.sources.drained(particles)
        lost = 0 if gone is None else int(np.count_nonzero(gone))
        if lost:
            particles = particles.take(~gone)
        new, warnings = self.sources.emit(dt, number, self.outside_solids(now, bodies), particles, boundary)
        if len(new.position):
            particles = particles.joined(new)
        each = self.grid.h**3 / self.per_cell
        return particles, len(new.position) * each, lost * each, warnings

    def push(self, grid: Grid, velocity: Faces, where: Faces, time: float, dt: float) -> None:
        """Let the scene's forces act for dt [s] on the faces `where`, bool, in place."""
        for a in range(3 if self.forces else 0):
            points = grid.face_points(a)[where[a]]
            for name, item in self.forces:
                velocity[a][where[a]] += np.float32(dt) * values_at(name, item, points, time)[:, a].astype(np.float32)

    def surface_pressure(self, grid: Grid, time: float) -> float | np.ndarray:
        """What presses on the surface [Pa], at all centres; zero if nothing does."""
        items = labelled(self.scene.items, SurfacePressure)
        if not items:
            return 0.0
        points = grid.cell_points().reshape(-1, 3)
        return sum(values_at(name, item, points, time).astype(float) for name, item in items).reshape(grid.shape)

    def borne(
        self, bodies, grid: Grid, pressure, time: float, boundary: Boundary, phi, velocity, dt: float
    ) -> Sequence[Body]:
        """The bodies after the fluid acted on those it carries one-way, by the last pressure [Pa] it had.

        That held at a time [s], and in the air beside it what pressed then: if that changes, it does so everywhere. At
        the start there was none: the fluid bears them as if it were at rest.
        """
        if not any(item.one_way for item in self.bodies.items):
            return bodies
        pressure = np.where(pressure != 0.0, pressure, self.surface_pressure(grid, time))
        closed = Faces(*(np.full(w.shape, True) if time == 0.0 else w == 0 for w in boundary.open))
        return self.bodies.borne(bodies, self.solids.borne(bodies), grid, pressure, closed, phi, velocity, dt)

    def projected(
        self,
        window: Window,
        velocity: Faces,
        phi: np.ndarray,
        boundary: Boundary,
        bodies: Sequence[Body],
        time: float,
        dt: float,
        *,
        surface_pressure: float | np.ndarray = 0.0,
        start: np.ndarray | None = None,
        holds=(),
        known: dict[str, np.ndarray] | None = None,
        pull: bool = True,
        separating: np.ndarray | None = None,
        acting: np.ndarray | None = None,
    ) -> Coupling:
        """The projection, and the bodies and the boundary as they move after it."""
        scene, method, grid = self.scene, self.scene.method, window.grid

        def opened(boundary) -> Boundary:
            return self.sources.opened(boundary, window)

        def solve(boundary, terms=None) -> Solved:
            return solved(
                grid, velocity, phi, opened(boundary), dt,
                density=scene.density, surface_pressure=surface_pressure, solver=method.solver,
                tolerance=method.tolerance, start=start, terms=terms, separating=separating,
                acting=acting,
            )  # fmt: skip

        if not bodies:
            projection = solve(boundary).acted()
            return Coupling(projection, [projection.info], (), boundary, {})
        air = np.broadcast_to(surface_pressure, grid.shape) if presses(surface_pressure) else None
        return self.bodies.projected(grid, bodies, boundary, solve, opened, air, time, dt, holds, known, pull, phi=phi)

    def pressed(self, window, velocity, phi, boundary, pressure, dt) -> Pressed:
        """The velocity after the last step's pressure acted again: a good guess where walls alone bound a fluid.

        What friction then does the walls hold to the end of a step. Else the fluid slips along them by what pressure
        does after friction, Δt ν ∂²u/∂n².
        """
        opened = self.sources.opened(boundary, window)
        return pressed(window.grid, velocity, phi, opened, dt, pressure=pressure, density=self.scene.density)

    def rubbed(
        self, window, before, given, value, phi, boundary, bodies, holds, time, dt, separating=None, air=0.0
    ) -> tuple:
        """The projection after viscosity `value` [Pa s] acted too, where that did, the solves, bodies and boundary.

        before is what pressure did first, given the faces besides whose velocity is known, and air the pressure on the
        surface [Pa]. Liquid leaves walls where both pressures together do not hold it.
        """
        leaving = None
        if separating is not None:  # what no pressure holds at a wall, friction does not either
            leaving = phi >= 0 if before.loose is None else ~before.attached
        rubbed = self.friction.acted(
            window, before.velocity, before.known, given, phi, self.sources.held(boundary, window),
            self.bodies.in_friction(bodies, boundary, holds, dt, window.grid, phi), value, dt, leaving,
        )  # fmt: skip
        if bodies:
            bodies, boundary = self.bodies.dragged(bodies, boundary, rubbed.motion, window.grid)
        after, solves, bodies, boundary, _ = self.projected(
            window, rubbed.velocity, phi, boundary, bodies, time, dt,
            start=np.zeros(window.grid.shape), holds=holds, pull=False, separating=separating,
            acting=before.pressure - air,
        )  # fmt: skip
        lost = after.lost + before.lost if len(before.lost) else after.lost
        after = after._replace(pressure=before.pressure + after.pressure, lost=lost)
        return after, rubbed.known, [rubbed.info, *solves], bodies, boundary

    def continued(self, velocity: Faces, known: Known, boundary: Boundary, window: Window) -> Faces:
        """Velocity beyond the fluid and in solids, and that of the sources."""
        velocity = self.beyond.velocity(velocity, known, boundary)
        self.sources.carry(velocity, window)
        return velocity

    def centroids(self, boundary: Boundary) -> Centroids | None:
        """Those of the open parts of faces, if the method interpolates between them."""
        return open_centroids(boundary.phi) if self.scene.method.interpolation == "open-centroid" else None

    def warnings(self, stuck: int, projection: Projection) -> list[str]:
        """What the user should know of a step."""
        found = [f"{stuck} particles are left in a solid"] if stuck else []
        lost = np.abs(projection.lost)
        if lost.max(initial=0.0) > 1e-3 * self.grid.h**3:
            found.append(f"closed regions had to lose or gain {lost.sum():.3g} m³, because {self._pressing()}")
        return found

    def _pressing(self) -> str:
        """What can change the room in a closed region, or what is in it."""
        poured = ["inflows gave more than fits"] if self.sources.giving else []
        return " or ".join(["solids moved in or out"] * (self.solids.moving or not poured) + poured)


class Clock:
    """Seconds of each stage, by their names."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stop(self, stage: str) -> None:
        """Add what passed since the last call to a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def from_particles(grid: Grid, particles: Particles, first: np.ndarray, reach: int = 1) -> tuple[Faces, Faces]:
    """The velocity that particles give the faces, and the faces any of them reaches, by hats of so many cells."""
    velocity, weight = to_faces(grid, particles, first, reach=reach)
    return velocity, Faces(*(w > 0 for w in weight))
