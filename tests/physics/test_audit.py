"""What a step left behind: against sums over cells in plain NumPy, and fields of which both figures are known."""

import numpy as np
import pytest

from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.audit import audit
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import Boundary, Faces, Grid

DENSITY = 800.0
GRIDS = [Grid((9, 7, 1), 0.1), Grid((9, 7, 5), 0.1)]
grids = pytest.mark.parametrize("grid", GRIDS, ids=["2-D", "3-D"])


def random_faces(grid, seed, low=-1.0):
    rng = np.random.default_rng(seed)
    return Faces(*(rng.uniform(low, 1, grid.face_shape(a)).astype(np.float32) for a in range(3)))


def sides(field, axis):
    """A field on faces, at the lower and at the upper face of each cell."""
    below, above = ([slice(None)] * 3 for _ in range(2))
    below[axis], above[axis] = slice(-1), slice(1, None)
    return field[tuple(below)].astype(float), field[tuple(above)].astype(float)


def by_hand(grid, velocity, phi, boundary):
    outflow, energy, touched = np.zeros(grid.shape), np.zeros(grid.shape), np.zeros(grid.shape)
    for a in range(3):
        for sign, u, w, v in zip(
            (-1, 1), *(sides(field[a], a) for field in (velocity, boundary.open, boundary.velocity)), strict=True
        ):
            outflow += sign * (w * u + (1 - w) * v)
            energy += 0.25 * DENSITY * grid.h**3 * w * u**2
            touched += w
    wet = phi < 0
    return np.abs(outflow / grid.h)[wet & (touched > 0)].max(initial=0), energy[wet].sum()


def in_the_open(grid):
    """No solid, and no walls at the sides."""
    return measure(grid, [], open_sides={"-x", "+x", "-y", "+y"} | ({"-z", "+z"} if grid.shape[2] > 1 else set()))


@grids
def test_it_is_the_sum_over_cells(grid):
    """Any weights, any velocity of solids, any liquid."""
    boundary = Boundary(np.ones(grid.node_shape, np.float32), random_faces(grid, 1, low=0.0), random_faces(grid, 2))
    velocity = random_faces(grid, 3)
    phi = np.random.default_rng(4).uniform(-1, 1, grid.shape).astype(np.float32)
    assert audit(grid, velocity, phi, boundary, DENSITY) == pytest.approx(by_hand(grid, velocity, phi, boundary))


@grids
def test_uniform_flow(grid):
    """No divergence, and ½ m u² of the liquid's cells."""
    u = (0.3, -0.2, 0.0 if grid.is_2d else 0.5)
    velocity = Faces(*(np.full(grid.face_shape(a), u[a], np.float32) for a in range(3)))
    phi = np.where(grid.cell_points()[..., 0] < 0.4, -1, 1).astype(np.float32)
    divergence, energy = audit(grid, velocity, phi, in_the_open(grid), DENSITY)
    mass = DENSITY * grid.h**3 * np.count_nonzero(phi < 0)
    assert divergence == 0
    assert energy == pytest.approx(0.5 * mass * np.dot(u, u), rel=1e-6)


@grids
def test_a_linear_flow_diverges_by_its_slope(grid):
    """u = 3 x along x: 3 per second, in the one liquid cell as in all."""
    velocity = grid.zeros_faces()
    velocity.x[:] = 3 * grid.face_points(0)[..., 0]
    phi = np.ones(grid.shape, np.float32)
    phi[4, 3, 0] = -1
    assert audit(grid, velocity, phi, in_the_open(grid), DENSITY)[0] == pytest.approx(3, rel=1e-5)
    assert audit(grid, velocity, -np.abs(phi), in_the_open(grid), DENSITY)[0] == pytest.approx(3, rel=1e-5)


@grids
def test_air_does_not_count(grid):
    assert audit(grid, random_faces(grid, 5), np.ones(grid.shape, np.float32), in_the_open(grid), DENSITY) == (0, 0)


@grids
def test_cells_inside_a_solid_do_not_count(grid):
    """Nor does what a moving one carries through faces that are closed anyway."""
    block = Solid(Box((-1, -1, -1), (2, 2, 2)), motion=lambda t: Pose((t, t * t, 0)))
    boundary = measure(grid, [block], 0.5)
    assert max(np.abs(v).max() for v in boundary.velocity) > 0.5
    assert audit(grid, random_faces(grid, 6), np.full(grid.shape, -1, np.float32), boundary, DENSITY) == (0, 0)


@grids
def test_liquid_that_moves_with_its_vessel_has_no_divergence(grid):
    """A ball that moves through liquid with the same velocity: w u + (1 − w) u."""
    u = (0.4, 0.2, 0.0 if grid.is_2d else -0.3)
    ball = Solid(Sphere((0.45, 0.35, 0.5 * grid.size[2]), 0.2), motion=lambda t: Pose(tuple(np.multiply(u, t))))
    open_sides = {"-x", "+x", "-y", "+y"} | ({"-z", "+z"} if grid.shape[2] > 1 else set())
    boundary = measure(grid, [ball], 0.0, open_sides=open_sides)
    velocity = Faces(*(np.full(grid.face_shape(a), u[a], np.float32) for a in range(3)))
    cut = sum(np.count_nonzero((w > 0) & (w < 1)) for w in boundary.open)
    divergence, _ = audit(grid, velocity, np.full(grid.shape, -1, np.float32), boundary, DENSITY)
    assert cut > 0
    assert divergence <= 1e-5


@grids
def test_the_number_of_threads_does_not_matter(on_threads, grid):
    boundary = Boundary(np.ones(grid.node_shape, np.float32), random_faces(grid, 1, low=0.0), random_faces(grid, 2))
    arguments = grid, random_faces(grid, 3), np.full(grid.shape, -1, np.float32), boundary, DENSITY
    assert on_threads(1, audit, *arguments) == on_threads(2, audit, *arguments)
