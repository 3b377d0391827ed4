"""Regions closed off from any free surface: known up to a constant, and told to the user when they cannot be solved."""

import numpy as np
import pytest

from paddlewheel.grid.fractions import WEIGHTS
from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.pressure import assemble, project
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.solve.linear import SOLVERS
from paddlewheel.solve.regions import closed_regions
from paddlewheel.types import Faces, Grid
from reference import consistent, regions, residual

GRID, FLAT = Grid((32, 16, 16), 0.1), Grid((32, 16, 1), 0.1)
DT = 0.01
every_solver = pytest.mark.parametrize("solver", SOLVERS)
dimensions = pytest.mark.parametrize("grid", [GRID, FLAT], ids=["3-D", "2-D"])
WIDTH = 1.6


def chambers(grid, speeds, cuts=(9, 20), seed=1):
    """A tank cut in three chambers by walls of no thickness, with a piston in the first and in the last.

    speeds: of the pistons along +x. The middle chamber is untouched.
    """
    far = 10.0
    low, high = Box((-far, -far, -far), (0.23, far, far)), Box((2.87, -far, -far), (far, far, far))
    pistons = [
        Solid(shape, lambda t, speed=speed: Pose((speed * t, 0, 0)))
        for shape, speed in zip((low, high), speeds, strict=True)
    ]
    boundary = measure(grid, [*pistons, Solid(Sphere((1.5, 0.8, 0.8 if not grid.is_2d else 0.05), 0.3))])
    for cut in cuts:
        boundary.open.x[cut] = 0
        boundary.velocity.x[cut] = 0
    rng = np.random.default_rng(seed)
    velocity = Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    if grid.is_2d:
        velocity.z[:] = 0
    return grid, velocity, np.full(grid.shape, -1, np.float32), boundary, DT


def area(grid):
    return WIDTH * (grid.h if grid.is_2d else WIDTH)


@dimensions
@every_solver
def test_still_walls_lose_nothing(grid, solver):
    case = chambers(grid, (0.0, 0.0))
    projection = project(*case, solver=solver, tolerance=1e-9)
    assert projection.info.converged
    assert len(projection.lost) == 3
    assert projection.lost == pytest.approx(0, abs=1e-8 * area(grid) * DT)


@dimensions
@every_solver
@pytest.mark.parametrize("speeds", [(0.7, 0.4), (-0.5, -0.9), (1.3, 0.0)])
def test_pistons_squeeze_out_what_they_sweep(grid, solver, speeds):
    """speed × area × Δt, positive where a wall moves in; the chamber between them loses nothing."""
    case = chambers(grid, speeds)
    projection = project(*case, solver=solver, tolerance=1e-9)
    assert projection.info.converged
    swept = np.array([speeds[0], 0.0, -speeds[1]]) * area(grid) * DT
    label = _region_of_chambers(case)
    assert projection.lost[label] == pytest.approx(swept, rel=1e-3, abs=1e-6 * area(grid) * DT)
    assert residual(consistent(assemble(*case)), projection.pressure) <= 2e-9


def _region_of_chambers(case):
    """The number that each chamber's region has in `lost`: by its first cell, in the order of the cells."""
    label = closed_regions(assemble(*case)).label
    return [label[4, 8, 0], label[11, 2, 0], label[24, 8, 0]]


@dimensions
@every_solver
def test_other_regions_do_not_feel_an_impossible_one(grid, solver):
    """The middle chamber has the same velocity and pressure whatever the pistons do."""
    still = project(*chambers(grid, (0.0, 0.0)), solver=solver, tolerance=1e-10)
    moved = project(*chambers(grid, (0.7, 0.4)), solver=solver, tolerance=1e-10)
    middle = np.s_[9:20]
    largest = np.abs(still.pressure[middle]).max()
    assert np.abs(still.pressure - moved.pressure)[middle].max() <= 1e-7 * largest
    for a in range(3):
        inside = np.s_[10:20] if a == 0 else middle
        assert np.abs(still.velocity[a] - moved.velocity[a])[inside].max() <= 3e-6


@dimensions
def test_free_surface_holds_its_region(grid):
    """With air in one chamber that one is not closed: its piston just moves the surface, and nothing is lost."""
    case = list(chambers(grid, (0.7, 0.4)))
    phi = case[2].copy()
    phi[:9, 12:] = 0.5
    case[2] = phi
    projection = project(*case, tolerance=1e-9)
    assert projection.info.converged
    assert len(projection.lost) == 2
    assert sorted(projection.lost) == pytest.approx([-0.4 * area(grid) * DT, 0.0], rel=1e-3, abs=1e-6 * area(grid) * DT)


def test_a_piston_inside_keeps_the_volume():
    """A solid that moves inside a full tank takes in front what it gives behind: nothing lost, and no trouble."""
    ball = Solid(Sphere((1.3, 0.75, 0.8), 0.4), lambda t: Pose((0.5 * t, 0.3 * t, 0), angular_velocity=(0, 0, 2)))
    boundary = measure(GRID, [ball])
    projection = project(GRID, GRID.zeros_faces(), np.full(GRID.shape, -1, np.float32), boundary, DT, tolerance=1e-9)
    assert projection.info.converged
    assert np.abs(projection.lost).max() <= 1e-6 * np.pi * 0.4**2 * 0.5 * DT
    assert max(np.abs(u).max() for u in projection.velocity) > 0.1


def test_many_pockets_at_once():
    """A 4 × 4 grid of cells, each shut in: every one is a region, down to a single cell."""
    grid = Grid((12, 12, 1), 0.1)
    boundary = measure(grid, [])
    for at in (1, 4, 8):
        boundary.open.x[at] = 0
        boundary.open.y[:, at] = 0
    rng = np.random.default_rng(3)
    velocity = Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    case = grid, velocity, np.full(grid.shape, -1, np.float32), boundary, DT
    system = assemble(*case)
    _, closed = regions(system)
    projection = project(*case, tolerance=1e-9)
    assert projection.info.converged
    assert closed.all()
    assert len(projection.lost) == len(closed)
    assert projection.lost == pytest.approx(0, abs=1e-9)
    # each region's pressure has no mean
    assert abs(projection.pressure.sum()) <= 1e-6 * np.abs(projection.pressure).sum()


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("shape", [(24, 24, 1), (12, 12, 12)])
def test_full_tilted_tanks_converge(weights, shape):
    """Singular, with links of every strength between cells: rounding must not be taken for a pivot."""
    rng = np.random.default_rng(7)
    grid = Grid(shape, 1 / shape[0])
    for _ in range(25):
        half, center = rng.uniform(0, np.pi / 2), 0.5 + rng.uniform(-0.5, 0.5, 3) / shape[0]
        reach, turn = np.array([0.3, 0.3, 9]), (np.cos(half), 0, 0, np.sin(half))
        room = Box(center - reach, center + reach).moved(rotate=turn, about=center)
        boundary = measure(grid, [Solid(~room)], weights=weights)
        velocity = Faces(*(rng.standard_normal(u.shape).astype(np.float32) for u in grid.zeros_faces()))
        result = project(grid, velocity, -np.ones(grid.shape), boundary, 0.01, tolerance=1e-10)
        assert result.info.converged
        assert result.info.iterations <= 18
        assert np.abs(result.lost).max(initial=0) <= 1e-12
