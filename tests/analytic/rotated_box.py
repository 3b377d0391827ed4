"""B07 figure 2 as a projection with a known answer, and a pool with a wavy surface beside it.

A square box is turned by an angle inside the domain [0, 1]². In its own
coordinates (ξ, η), from 0 to 1 along its sides, the flow

    ψ = sin(πξ) sin(πη) ,       u = (∂ψ/∂y, −∂ψ/∂x)

is divergence-free and tangential to its walls. To it is added (Δt/ρ) ∇q of a
smooth q, which the projection must take out again, and nothing else. q needs
no condition at the walls: that is on u alone.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.pressure import Projection, assemble, project
from paddlewheel.solids.shapes import Box
from paddlewheel.types import Boundary, Faces, Grid

SIDE = 0.6
DT, DENSITY = 0.1, 1000.0
SCALE = DENSITY / DT  # from the potential of the velocity that is taken out [m²/s] to its pressure [Pa]


class Place(NamedTuple):
    """Where the box is: turned by an angle [degrees] about its centre [m]."""

    degrees: float
    center: tuple[float, float] = (0.5, 0.5)

    @property
    def angle(self):
        return np.radians(self.degrees)

    def local(self, points):
        """Coordinates (ξ, η) of the box, from 0 to 1 along its sides."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        x, y = np.moveaxis(points[..., :2] - np.array(self.center), -1, 0)
        return (c * x + s * y) / SIDE + 0.5, (-s * x + c * y) / SIDE + 0.5

    def world(self, along, across):
        """Components along x and y of a vector given along the sides of the box."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        return c * along - s * across, s * along + c * across

    def solid(self):
        """Everything outside the box."""
        center, half = np.array([*self.center, 0]), self.angle / 2
        reach = np.array([SIDE / 2, SIDE / 2, 1])
        box = Box(center - reach, center + reach)
        return Solid(~box.moved(rotate=(np.cos(half), 0, 0, np.sin(half)), about=center))


class Outcome(NamedTuple):
    """One projection, with the exact velocity and pressure."""

    place: Place
    grid: Grid
    boundary: Boundary
    exact: Faces
    exact_pressure: np.ndarray
    unknown: np.ndarray
    projection: Projection

    def velocity_error(self) -> tuple[float, float]:
        """(L1, L∞) of the face velocities' error over the known faces in units of max|u|; L1 is weighted by w."""
        errors, weights, largest = [], [], 0.0
        for a in range(2):
            known = self.projection.known[a]
            errors.append(np.abs(self.projection.velocity[a] - self.exact[a])[known])
            weights.append(self.boundary.open[a][known])
            largest = max(largest, np.abs(self.exact[a][known]).max())
        error, weight = np.concatenate(errors).astype(float), np.concatenate(weights).astype(float)
        return float((error * weight).sum() / weight.sum() / largest), float(error.max() / largest)

    def pressure_error(self, where=True) -> float:
        """L∞ over the unknowns in `where`, in units of max|p|; without a free surface up to a constant."""
        p, exact = self.projection.pressure, self.exact_pressure
        error = p - exact
        if self.projection.lost.size:
            error -= error[self.unknown].mean()
        return float(np.abs(error[self.unknown & where]).max() / np.abs(exact[self.unknown]).max())


def vortex(points, place):
    """u and v of the exact flow; its largest speed is 1 m/s."""
    xi, eta = place.local(points)
    return place.world(np.sin(np.pi * xi) * np.cos(np.pi * eta), -np.cos(np.pi * xi) * np.sin(np.pi * eta))


def potential(points, place):
    """q [m²/s], smooth, with slopes of about 1 m/s at the walls."""
    xi, eta = place.local(points)
    return 0.2 * np.sin(2.0 * xi + 0.3) * np.cos(1.7 * eta - 0.2) + 0.1 * xi * eta**2


def potential_gradient(points, place):
    xi, eta = place.local(points)
    along = 0.4 * np.cos(2.0 * xi + 0.3) * np.cos(1.7 * eta - 0.2) + 0.1 * eta**2
    across = -0.34 * np.sin(2.0 * xi + 0.3) * np.sin(1.7 * eta - 0.2) + 0.2 * xi * eta
    return place.world(along / SIDE, across / SIDE)


def solve_vortex(cells, place, weights="area") -> Outcome:
    """The closed box, full."""
    return _solve(cells, place, weights, potential, potential_gradient, lambda points: np.full(points.shape[:-1], -1.0))


def surface(xi):
    """The wavy surface of the pool, η = H(ξ), and its slope."""
    return 0.6 + 0.08 * np.cos(4.0 * xi + 0.5), -0.32 * np.sin(4.0 * xi + 0.5)


def solve_pool(cells, place, weights="area") -> Outcome:
    """The box, filled up to a wavy surface, on which q = 0:  q = (H − η) r."""

    def parts(points):
        xi, eta = place.local(points)
        H, slope = surface(xi)
        r, r_xi, r_eta = 0.4 + 0.1 * np.sin(2 * xi + eta), 0.2 * np.cos(2 * xi + eta), 0.1 * np.cos(2 * xi + eta)
        return H - eta, slope, r, r_xi, r_eta

    def q(points, place):
        depth, _, r, _, _ = parts(points)
        return depth * r

    def gradient(points, place):
        depth, slope, r, r_xi, r_eta = parts(points)
        return place.world((slope * r + depth * r_xi) / SIDE, (-r + depth * r_eta) / SIDE)

    def level(points):
        """Nearly the distance; only its ratio over two neighbours counts."""
        depth, slope, *_ = parts(points)
        return -SIDE * depth / np.sqrt(1 + slope**2)

    return _solve(cells, place, weights, q, gradient, level)


def near_contact(outcome, reach=0.1):
    """Cells within `reach` [m] of where the surface of the pool meets the walls."""
    xi, eta = outcome.place.local(outcome.grid.cell_points())
    near = np.zeros(outcome.grid.shape, bool)
    for wall in (0.0, 1.0):
        near |= np.hypot(xi - wall, eta - surface(wall)[0]) * SIDE < reach
    return near


def _solve(cells, place, weights, q, gradient, level) -> Outcome:
    grid = Grid((cells, cells, 1), 1.0 / cells)
    boundary = measure(grid, [place.solid()], weights=weights)
    exact, start = grid.zeros_faces(np.float64), grid.zeros_faces()
    for a in range(2):
        points = grid.face_points(a)
        exact[a][:] = vortex(points, place)[a]
        start[a][:] = exact[a] + gradient(points, place)[a]
    centers = grid.cell_points()
    phi = level(centers).astype(np.float32)
    projection = project(grid, start, phi, boundary, DT, density=DENSITY, tolerance=1e-10)
    assert projection.info.converged
    unknown = assemble(grid, start, phi, boundary, DT, density=DENSITY).unknown
    return Outcome(place, grid, boundary, exact, SCALE * q(centers, place), unknown, projection)


def places(degrees, cells, count=8):
    """The same box at `count` positions within a cell: how a wall happens to cut cells decides the largest error."""
    rng = np.random.default_rng(0)
    return [Place(degrees, tuple(0.5 + s / cells)) for s in rng.uniform(-0.5, 0.5, (count, 2))]


def order(cells, errors) -> float:
    """Slope of the line through (log h, log error), by least squares."""
    return float(-np.polyfit(np.log(cells), np.log(errors), 1)[0])
