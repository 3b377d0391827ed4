"""The gradient of the flow: exact for linear fields, and the volume that straight ways lose."""

import numpy as np
import pytest

from paddlewheel.physics.deform import displaced, rates, straight_loss
from paddlewheel.types import Faces, Grid

CUBE, FLAT = Grid((7, 5, 6), 0.25), Grid((7, 5, 1), 0.25)
grids = pytest.mark.parametrize("grid", [CUBE, FLAT], ids=["3-D", "2-D"])


def linear(grid, gradient):
    """u = G x + constants, on faces."""
    return Faces(*((grid.face_points(a) @ gradient[a] + 0.3 * a).astype(np.float32) for a in range(3)))


def random_gradient(grid):
    """Without divergence; in 2-D in the plane."""
    gradient = np.random.default_rng(1).normal(size=(3, 3))
    if grid.is_2d:
        gradient[2] = gradient[:, 2] = 0
        return gradient - np.diag([0.5, 0.5, 0]) * np.trace(gradient)
    return gradient - np.eye(3) * np.trace(gradient) / 3


def liquid(grid):
    return np.full(grid.shape, -1.0, np.float32)


def opened(grid, part=1.0):
    """All faces open, or a part of each."""
    return Faces(*(np.full(grid.face_shape(a), part, np.float32) for a in range(3)))


@grids
def test_rates_of_linear_fields_are_exact(grid):
    gradient = random_gradient(grid)
    velocity = linear(grid, gradient)
    fastest, steepest = rates(grid, velocity, liquid(grid))
    assert fastest == pytest.approx(max(np.abs(u).max() for u in velocity))
    assert steepest == pytest.approx(np.sqrt(abs(np.trace(gradient @ gradient))), rel=1e-5)


@grids
def test_strain_and_rotation_are_steep_and_shear_is_not(grid):
    strain, turn, shear = np.diag([3.0, -3.0, 0]), np.zeros((3, 3)), np.zeros((3, 3))
    turn[0, 1], turn[1, 0], shear[0, 1] = 3.0, -3.0, 3.0
    for gradient, expected in ((strain, 3 * 2**0.5), (turn, 3 * 2**0.5), (shear, 0.0)):
        assert rates(grid, linear(grid, gradient), liquid(grid))[1] == pytest.approx(expected, abs=1e-2)


def test_air_has_speed_but_no_steepness():
    phi, velocity = np.ones(CUBE.shape, np.float32), CUBE.zeros_faces()
    velocity.y[3, 2, 4] = -7.0
    assert rates(CUBE, velocity, phi) == (7.0, 0.0)
    phi[3, 2, 4] = -1.0
    assert rates(CUBE, velocity, phi) == (7.0, pytest.approx(7 / CUBE.h))


@grids
def test_what_straight_ways_lose_is_the_determinant(grid):
    """1 − det(1 + Δt G) for small Δt; of a rotation negative, as det = 1 + (Δt ω)²."""
    gradient, dt = random_gradient(grid), 1e-3
    loss = straight_loss(grid, linear(grid, gradient), liquid(grid), opened(grid), dt)
    expected = 1 - np.linalg.det(np.eye(3) + dt * gradient)
    assert loss == pytest.approx(expected, rel=0.01)
    turning = np.array([[0, -2.0, 0], [2.0, 0, 0], [0, 0, 0]])
    assert straight_loss(grid, linear(grid, turning), liquid(grid), opened(grid), 0.1) == pytest.approx(-0.04, rel=1e-4)
    half = straight_loss(grid, linear(grid, turning), liquid(grid), opened(grid, 0.5), 0.1)
    assert half == pytest.approx(-0.02, rel=1e-4)


@grids
def test_cells_beside_air_lose_nothing(grid):
    phi = liquid(grid)
    phi[2, 2, grid.shape[2] // 2] = 1.0
    loss = straight_loss(grid, linear(grid, random_gradient(grid)), phi, opened(grid), 0.1)
    beside = np.abs(np.indices(grid.shape) - np.reshape([2, 2, grid.shape[2] // 2], (3, 1, 1, 1))).sum(axis=0) <= 1
    assert np.all((loss == 0) == beside)


def test_results_do_not_depend_on_threads(on_threads):
    rng = np.random.default_rng(2)
    velocity = Faces(*(rng.normal(size=CUBE.face_shape(a)).astype(np.float32) for a in range(3)))
    for function, arguments in ((rates, ()), (straight_loss, (opened(CUBE), 0.1))):
        one, two = (on_threads(n, function, CUBE, velocity, liquid(CUBE), *arguments) for n in (1, 2))
        assert np.array_equal(one, two)


def test_fields_of_another_grid_are_refused():
    with pytest.raises(ValueError, match="expected those of"):
        rates(CUBE, FLAT.zeros_faces(), liquid(CUBE))
    with pytest.raises(ValueError, match="expected those of"):
        straight_loss(CUBE, CUBE.zeros_faces(), liquid(FLAT), opened(CUBE), 0.1)


@pytest.mark.parametrize("shape", [(7, 6, 5), (7, 6, 1)])
def test_a_linear_velocity_changes_over_a_shift_by_its_gradient(shape):
    """To the sides too; both fields are linear, the shift along itself only, so that it is exact at all faces."""
    grid, rng = Grid(shape, 0.1), np.random.default_rng(0)
    gradient, way = rng.standard_normal((3, 3)), rng.standard_normal(3)
    if grid.is_2d:
        gradient[:, 2] = 0
    velocity = Faces(*((grid.face_points(a) @ gradient[a]).astype(np.float32) for a in range(3)))
    shift = Faces(*(np.full(grid.face_shape(a), way[a], np.float32) for a in range(3)))
    for a, change in enumerate(displaced(velocity, shift, grid.h)):
        assert change == pytest.approx(np.full(change.shape, gradient[a] @ way), abs=1e-4)
