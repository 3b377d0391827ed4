"""Still water stays still: p = ρ g·(x − x₀) is in the discrete space, whatever the walls.  docs/method.md, B07 §2.1."""

import numpy as np
import pytest

from paddlewheel.grid.fractions import WEIGHTS
from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.pressure import assemble, project
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.solve.linear import SOLVERS
from paddlewheel.types import Faces, Grid

G, DT, DENSITY = 9.81, 0.02, 1000.0
FLAT, CUBE = Grid((48, 48, 1), 1 / 48), Grid((24, 24, 24), 1 / 24)
MIDDLE = np.array([0.5, 0.5, 0.5])

dimensions = pytest.mark.parametrize("grid", [FLAT, CUBE], ids=["2-D", "3-D"])
every_weight = pytest.mark.parametrize("weights", WEIGHTS)
tilts = pytest.mark.parametrize("tilt", [0, 17, 45])


def turned(degrees, grid):
    """The quaternion of a tilt about z, in 3-D about an axis near it."""
    axis = np.array([0, 0, 1.0]) if grid.is_2d else np.array([0.3, -0.2, 1.0])
    half = np.radians(degrees) / 2
    return (np.cos(half), *(np.sin(half) * axis / np.linalg.norm(axis)))


def middle(grid):
    return MIDDLE if not grid.is_2d else np.array([0.5, 0.5, grid.h / 2])


def tank(grid, tilt):
    """Everything outside a box turned against the grid."""
    half = np.array([0.33, 0.29, 0.31])
    return Solid(
        ~Box(MIDDLE - half, MIDDLE + half).moved(rotate=turned(tilt, grid), about=MIDDLE).moved(middle(grid) - MIDDLE)
    )


def ball(grid):
    return Solid(Sphere(np.add(middle(grid), (0.05, -0.1, 0)), 0.13))


def bowl(grid):
    return Solid(Box((-1, -1, -1), (2, 2, 2)) - Sphere(np.add(middle(grid), (0.01, 0.03, 0)), 0.41))


def rest_error(grid, solids, weights="area", height=0.513, down=(0, -1, 0), solver="multigrid", full=False):
    """max|u| / (g Δt) after one step of gravity and one projection, over the faces it determines."""
    down = np.asarray(down, float) / np.linalg.norm(down)
    depth = (grid.cell_points() - middle(grid)) @ -down + 0.5 - height
    phi = np.full(grid.shape, -1.0) if full else depth
    velocity = Faces(*(np.full(grid.face_shape(a), G * DT * down[a], np.float32) for a in range(3)))
    boundary = measure(grid, solids, weights=weights)
    case = grid, velocity, phi.astype(np.float32), boundary, DT
    projection = project(*case, solver=solver, tolerance=1e-10, density=DENSITY)
    assert projection.info.converged
    assert projection.info.unknowns > 100
    unknown = assemble(*case).unknown
    hydrostatic = -DENSITY * G * depth[unknown]
    p = projection.pressure[unknown]
    if full:
        assert projection.lost == pytest.approx(0, abs=1e-8)
        p, hydrostatic = p - p.mean(), hydrostatic - hydrostatic.mean()
    assert p == pytest.approx(hydrostatic, abs=1e-6 * np.abs(hydrostatic).max())
    return max(np.abs(u[k]).max(initial=0.0) for u, k in zip(projection.velocity, projection.known, strict=True)) / (
        G * DT
    )


@dimensions
@every_weight
@tilts
@pytest.mark.parametrize("with_ball", [False, True], ids=["empty", "ball"])
def test_in_a_tilted_tank(grid, weights, tilt, with_ball):
    solids = [tank(grid, tilt)] + [ball(grid)] * with_ball
    assert rest_error(grid, solids, weights) <= 1e-6


@dimensions
@every_weight
@pytest.mark.parametrize("height", [0.31, 0.55])
def test_in_a_bowl(grid, weights, height):
    assert rest_error(grid, [bowl(grid)], weights, height) <= 1e-6


@dimensions
@tilts
@pytest.mark.parametrize("with_ball", [False, True], ids=["empty", "ball"])
def test_under_tilted_gravity(grid, tilt, with_ball):
    """The tank stands straight, gravity does not: the surface is oblique to every cell."""
    angle = np.radians(tilt)
    down = (np.sin(angle), -np.cos(angle), 0.0 if grid.is_2d else 0.3 * np.sin(angle))
    assert rest_error(grid, [ball(grid)] * with_ball, height=0.57, down=down) <= 1e-6


@dimensions
@pytest.mark.parametrize("offset", [0.0, 0.5, 0.5 + 1e-7, 0.5 - 1e-7, 1e-4, 0.25])
def test_with_the_surface_through_centres_and_faces(grid, offset):
    """θ runs from 10⁻⁷ to 1: no clamp may show."""
    height = (grid.shape[1] // 2 + offset) * grid.h
    assert rest_error(grid, [tank(grid, 17)], height=height) <= 1e-6
    assert rest_error(grid, [], height=height) <= 1e-6


@dimensions
@every_weight
@tilts
def test_in_a_full_tank(grid, weights, tilt):
    assert rest_error(grid, [tank(grid, tilt), ball(grid)], weights, full=True) <= 1e-6


@dimensions
def test_in_a_full_bowl(grid):
    assert rest_error(grid, [bowl(grid)], full=True) <= 1e-6


@dimensions
@pytest.mark.parametrize("solver", SOLVERS)
def test_with_every_solver(grid, solver):
    assert rest_error(grid, [tank(grid, 17), ball(grid)], solver=solver) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("cells", [64, 96])
def test_in_three_dimensions_and_fine(cells):
    grid = Grid((cells, cells, cells), 1 / cells)
    assert rest_error(grid, [tank(grid, 17), ball(grid)]) <= 1e-6
