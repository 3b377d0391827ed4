"""Viscous flows whose solution is known, as scenes, and what is measured of them: helpers of the tests."""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel import (
    Box,
    Cylinder,
    HalfSpace,
    Liquid,
    Method,
    Pose,
    RigidBody,
    Scene,
    Simulation,
    Smoke,
    Solid,
    Sphere,
)

EVERYWHERE = Box((-1e3, -1e3, -1e3), (1e3, 1e3, 1e3))


class Flow(NamedTuple):
    """Errors of a velocity, over the largest of the exact one; and the force that drives it, over that of gravity."""

    largest: float
    rms: float
    driving: float = 1.0


class Channel(NamedTuple):
    """A straight channel of unit width, or a film of unit depth on its lower wall, at an angle to the grid.

    cells      across it
    film       whether its upper side is a free surface
    length     of the channel, with open ends at which p = 0

    ρ = ν = 1, and gravity is such that the fastest liquid has SPEED: it does not get anywhere. It pulls along the
    channel, and a film also onto its wall. No wall is on a line of the grid.
    """

    cells: int
    degrees: float = 0.0
    film: bool = False
    length: float = 12.0
    walls: str = "no-slip"

    SPEED = 1e-3

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Along and across."""
        angle = math.radians(self.degrees)
        c, s = math.cos(angle), math.sin(angle)
        return np.array([c, s, 0]), np.array([-s, c, 0])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells of the domain."""
        along, _ = self.axes
        room = (self.length * along[0], self.length * along[1] + (1.5 if self.film else 2.0))
        return *(4 * math.ceil(self.cells * r / 4) for r in room), 1

    @property
    def middle(self) -> np.ndarray:
        return (0.5 * np.array(self.shape) + (0.123, 0.231, 0)) * (1, 1, 0) / self.cells

    @property
    def force(self) -> float:
        """Along the channel."""
        return self.SPEED * (2 if self.film else 8)

    @property
    def relaxation(self) -> float:
        """The time in which the slowest part of a profile falls to 1/e."""
        return (4 if self.film else 1) / math.pi**2

    def scene(self) -> Scene:
        (along, across), n = self.axes, self.shape
        low, high = self.middle - 0.5 * across, self.middle + 0.5 * across
        pull = self.force * along - (0.6 * self.force * across if self.film else 0)
        above = [] if self.film else [Solid(HalfSpace(high, -across))]
        return Scene(
            size=tuple(c / self.cells for c in n),
            cells=n,
            gravity=tuple(pull),
            density=1.0,
            walls=self.walls,
            open_sides={"-x", "+x", "-y", "+y"},
            method=Method(advection="apic"),
            items=[
                Solid(HalfSpace(low, across)),
                *above,
                Liquid(HalfSpace(high, across) if self.film else EVERYWHERE, viscosity=1.0),
            ],
        )

    def place(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far along from the middle, and above the lower wall."""
        along, across = self.axes
        x = points - self.middle
        return x @ along, x @ across + 0.5

    def exact(self, y: np.ndarray) -> np.ndarray:
        return self.SPEED * (2 * y - y**2 if self.film else 4 * y * (1 - y))

    def errors(self, simulation: Simulation) -> Flow:
        """In the middle, over a length of one width.

        At the open ends of a full channel the profile is another one, and takes another difference of pressure: it
        is driven by a little more than gravity, in inverse proportion to its length. So the exact flow is that of
        gravity and the gradient of pressure in the middle.
        """
        grid, state, (along, _) = simulation.scene.grid, simulation.state, self.axes
        driving = 1.0 if self.film else 1 - self._gradient(grid, state.pressure) / self.force
        wrong = []
        for a in range(2):
            s, y = self.place(grid.face_points(a))
            there = (np.abs(s) < 0.5) & (y > 0) & (y < 1)
            wrong.append((state.velocity[a] - driving * self.exact(y) * along[a])[there])
        wrong = np.concatenate(wrong) / self.SPEED
        return Flow(float(np.abs(wrong).max()), float(np.sqrt(np.mean(wrong**2))), driving)

    def _gradient(self, grid, pressure) -> float:
        """∂p/∂s in the middle."""
        s, y = self.place(grid.cell_points())
        there = (np.abs(s) < 1) & (y > 0) & (y < 1)
        terms = np.stack([s[there], y[there], np.ones(np.count_nonzero(there))], axis=1)
        return float(np.linalg.lstsq(terms, pressure[there], rcond=None)[0][0])


def channel_flow(channel: Channel) -> Flow:
    """Errors of a channel's flow, from rest: after steps as long as its relaxation, and some in proportion to a cell.

    What steps add, pressure that has not settled where walls cut the grid, is as large on any grid if they are as long.
    """
    simulation, each, n = Simulation(channel.scene()), channel.relaxation, channel.cells
    for dt in [each] * 6 + [2 * each / n] * n:
        simulation.step(dt)
    return channel.errors(simulation)


def turning(omega: float, centre):
    """The motion of a solid that turns about the z axis through a point of its own frame's origin."""

    def motion(t):
        half = 0.5 * omega * t
        return Pose((*centre, 0), (math.cos(half), 0, 0, math.sin(half)), (0, 0, 0), (0, 0, omega))

    return motion


def couette_flow(cells: int, inner: float, outer: float, steps: int = 12) -> Flow:
    """Errors between cylinders of radius 0.2 and 0.45 m that turn with `inner` and `outer` [rad/s]."""
    r1, r2, centre = 0.2, 0.45, np.array([0.503, 0.496])
    drum = Solid(Cylinder((0, 0, -1), (0, 0, 1), r1), turning(inner, centre))
    shell = Solid(~Cylinder((0, 0, -2), (0, 0, 2), r2), turning(outer, centre))
    scene = Scene(
        size=(1, 1, 1 / cells),
        cells=(cells, cells, 1),
        gravity=(0, 0, 0),
        method=Method(advection="apic"),
        items=[Liquid(EVERYWHERE, viscosity=1000.0), drum, shell],
    )
    simulation = Simulation(scene)
    for _ in range(steps):
        simulation.step(0.02)
    a = (outer * r2**2 - inner * r1**2) / (r2**2 - r1**2)
    b = (inner - outer) * r1**2 * r2**2 / (r2**2 - r1**2)
    wrong = []
    for axis in range(2):
        x, y = np.moveaxis(scene.grid.face_points(axis)[..., :2] - centre, -1, 0)
        r = np.hypot(x, y)
        there = (r > r1) & (r < r2)
        exact = (a * r + b / r) / r * (-y if axis == 0 else x)
        wrong.append((simulation.state.velocity[axis] - exact)[there])
    wrong = np.concatenate(wrong) / max(abs(inner) * r1, abs(outer) * r2)
    return Flow(float(np.abs(wrong).max()), float(np.sqrt(np.mean(wrong**2))))


def cavity(cells: int, reynolds: float, seconds: float, advection: str = "flip", gas: bool = False) -> Simulation:
    """A unit square of fluid under a lid that goes by at 1 m/s, after a time from rest, in steps of a cell each."""
    h, room = 1 / cells, Box((0, 0, -1), (1, 1, 1))
    lid = Solid(Box((-1, 1, -1), (2, 2, 2)), lambda t: Pose(velocity=(1, 0, 0), angular_velocity=(0, 0, 0)))
    scene = Scene(
        size=(1, 1 + 2 * h, h),
        cells=(cells, cells + 2, 1),
        gravity=(0, 0, 0),
        density=1.0,
        walls="no-slip",
        viscosity=1 / reynolds if gas else 0.0,
        method=Method(advection=advection, tolerance=1e-5),
        items=[Smoke(room) if gas else Liquid(room, viscosity=1 / reynolds), lid],
    )
    simulation = Simulation(scene)
    for _ in range(round(seconds / h)):
        simulation.step(h)
    return simulation


def on_centre_line(simulation: Simulation, heights) -> np.ndarray:
    """u [m/s] on the vertical centre line of a cavity."""
    u = simulation.state.velocity.x
    return np.interp(heights, (np.arange(u.shape[1]) + 0.5) * simulation.scene.grid.h, u[u.shape[0] // 2, :, 0])


def sphere_in_tube(cells: float) -> float:
    """The speed at which a sphere falls along the axis of a tube, over that of theory; so many cells are its radius.

    v = 2/9 (ρs − ρ) g a²/μ (1 − 2.104 λ + 2.09 λ³ − 0.95 λ⁵) ,        λ = a/R = 0.4
    """
    a, ratio, viscosity, dt = 0.08, 0.4, 50.0, 0.005
    h, tube = a / cells, a / ratio
    across = math.ceil(2 * tube / h) + 2
    up, middle = int(4 * tube / h), 0.5 * across * h
    scene = Scene(
        size=(across * h, up * h, across * h),
        cells=(across, up, across),
        walls="no-slip",
        method=Method(advection="apic", tolerance=1e-5),
        items=[
            Liquid(EVERYWHERE, viscosity=viscosity),
            Solid(~Cylinder((middle, -1, middle), (middle, up * h + 1, middle), tube)),
            RigidBody(Sphere((middle, 0.55 * up * h, middle), a), density=2000.0),
        ],
    )
    simulation = Simulation(scene)
    for _ in range(30):
        simulation.step(dt)
    slower = 1 - 2.104 * ratio + 2.09 * ratio**3 - 0.95 * ratio**5
    return -simulation.state.bodies[0].velocity[1] / (2 / 9 * 1000 * 9.81 * a**2 / viscosity * slower)
