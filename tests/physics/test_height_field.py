"""The height field: volume to rounding, exact flows, order, depths that stay positive, waves."""

import math

import numpy as np
import pytest

from paddlewheel.items import Solid
from paddlewheel.measure import Solids
from paddlewheel.physics.height_field import advance, depths, heights, level_set
from paddlewheel.physics.pressure import project
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import Faces, Grid

PLANE, CUBE = Grid((40, 20, 1), 0.05), Grid((20, 16, 12), 0.05)
grids = pytest.mark.parametrize("grid", [PLANE, CUBE], ids=["2-D", "3-D"])


def tank(grid, *shapes, open_sides=frozenset(), weights="voxel"):
    """The boundary of a tank with solids, and the room they leave in cells."""
    solids = Solids(grid, [Solid(shape) for shape in shapes], weights, open_sides)
    boundary = solids.measure(0.0)
    return boundary, solids.distance(grid.cell_points().reshape(-1, 3), 0.0, ()).reshape(grid.shape) > 0


def sampled(grid, function):
    return Faces(*(function(grid.face_points(a))[..., a].astype(np.float32) for a in range(3)))


def random_faces(rng, grid, boundary):
    return Faces(*(w * rng.standard_normal(w.shape).astype(np.float32) for w in boundary.open))


def ripples(rng, grid, low, high):
    return low + (high - low) * rng.random((grid.shape[0], grid.shape[2]))


@grids
def test_heights_and_depths_are_each_others_inverse(grid):
    rng = np.random.default_rng(1)
    _, room = tank(grid, Box((0.2, -1, -1), (0.6, 0.23, 9)), Sphere((0.7, 0.3, 0.02), 0.12))
    for part in (room.astype(float), 0.5 + 0.5 * rng.random(grid.shape)):
        eta = ripples(rng, grid, 0.5, 1.2 * grid.size[1])  # some higher than the domain
        assert heights(depths(eta, part, grid.h), part, grid.h) == pytest.approx(eta, abs=1e-12)


@grids
def test_an_empty_column_stands_on_its_bed(grid):
    _, room = tank(grid, Box((0.2, -1, -1), (0.6, 0.25, 9)))
    eta = heights(np.zeros((grid.shape[0], grid.shape[2])), room, grid.h)
    inside = (grid.cell_points()[:, 0, :, 0] > 0.2) & (grid.cell_points()[:, 0, :, 0] < 0.6)
    assert (eta[inside] == 0.25).all()
    assert (eta[~inside] == 0).all()


@grids
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_volume_is_exact_to_rounding_and_no_depth_negative(grid, scale):
    """Whatever the velocity is, with steps that would empty columns many times over, and with dry ones."""
    rng = np.random.default_rng(2)
    boundary, room = tank(grid, Box((0.2, -1, -1), (0.6, 0.25, 9)), Sphere((0.8, 0.2, 0.3), 0.1))
    depth = depths(np.maximum(ripples(rng, grid, -0.3, 0.6), 0), room, grid.h)
    start = depth.sum()
    for _ in range(200):
        velocity = Faces(*(scale * u for u in random_faces(rng, grid, boundary)))
        depth, came, left = advance(depth, velocity, boundary.open, room, grid.h, grid.h / 4)
        assert came == left == 0
        assert (depth >= 0).all()
    assert depth.sum() == pytest.approx(start, rel=1e-13)


@grids
def test_what_passes_open_sides_is_accounted_for(grid):
    rng = np.random.default_rng(3)
    boundary, room = tank(grid, Box((0.2, -1, -1), (0.6, 0.25, 9)), open_sides={"-x", "+x"})
    depth = depths(ripples(rng, grid, 0.3, 0.6), room, grid.h)
    expected, total = depth.sum() * grid.h**2, 0.0
    for _ in range(100):
        velocity = Faces(*(u + 0.5 * (a == 0) for a, u in enumerate(random_faces(rng, grid, boundary))))
        depth, came, left = advance(depth, velocity, boundary.open, room, grid.h, grid.h / 10)
        expected, total = expected + came - left, total + came + left
    assert total > 0.1 * expected
    assert depth.sum() * grid.h**2 == pytest.approx(expected, rel=1e-13)


def test_what_comes_through_a_side_is_area_times_velocity_times_time():
    boundary, room = tank(PLANE, open_sides={"-x", "+x"})
    depth = depths(np.full((40, 1), 0.33), room, PLANE.h)
    velocity = sampled(PLANE, lambda x: np.ones_like(x) * (2.0, 0, 0))
    _, came, left = advance(depth, velocity, boundary.open, room, PLANE.h, 0.01)
    assert came == pytest.approx(0.33 * PLANE.h * 2.0 * 0.01, rel=1e-6)
    assert left == pytest.approx(came, rel=1e-12)


@grids
def test_flat_stays_flat(grid):
    """At rest to the last bit; and under u = (x − x₀, −y, 0), which keeps a plane one:  η = η₀ e^{−t}."""
    boundary, room = tank(grid, open_sides={"-x", "+x"})
    depth = np.full((grid.shape[0], grid.shape[2]), 0.537)
    still, came, left = advance(depth, grid.zeros_faces(), boundary.open, room, grid.h, 0.1)
    assert (still == depth).all()
    assert came == left == 0
    middle = 0.5 * grid.size[0]
    velocity = sampled(grid, lambda x: np.stack([x[..., 0] - middle, -x[..., 1], 0 * x[..., 2]], axis=-1))
    for _ in range(100):
        depth, _, _ = advance(depth, velocity, boundary.open, room, grid.h, 0.005)
    assert np.ptp(depth) < 1e-6
    assert depth == pytest.approx(0.537 * 0.995**100, rel=1e-6)


@pytest.mark.parametrize("axis", [0, 2])
def test_a_bump_is_carried_with_second_order(axis):
    """η(x − ut) of a smooth bump, in the L¹ norm; limiters cost a little at its top."""
    errors, cells = [], np.array([32, 64, 128])
    for n in cells:
        grid = Grid(tuple(n if a == axis else (n // 2 if a == 1 else 2) for a in range(3)), 2.0 / n)
        boundary, room = tank(grid, open_sides={"-x", "+x"} if axis == 0 else {"-z", "+z"})
        velocity = sampled(grid, lambda x: np.ones_like(x) * np.eye(3)[axis])
        x = grid.cell_points()[:, 0, :, axis]

        def bump(x):
            return 0.4 + 0.2 * np.exp(-(((x - 0.6) / 0.15) ** 2))

        eta, dt = bump(x), 0.4 * grid.h
        for _ in range(round(0.8 / dt)):
            eta, _, _ = advance(eta, velocity, boundary.open, room, grid.h, dt)
        errors.append(np.abs(eta - bump(x - round(0.8 / dt) * dt)).mean())
    assert -np.polyfit(np.log(cells), np.log(errors), 1)[0] > 1.7
    assert errors[-1] < 1e-3


def test_a_step_is_carried_without_new_heights():
    boundary, room = tank(PLANE, open_sides={"-x", "+x"})
    velocity = sampled(PLANE, lambda x: np.ones_like(x) * (1, 0, 0))
    eta = np.where(np.arange(40) < 15, 0.8, 0.2)[:, None]
    for _ in range(60):
        eta, _, _ = advance(eta, velocity, boundary.open, room, PLANE.h, 0.4 * PLANE.h)
        assert eta.min() >= 0.2 - 1e-12
        assert eta.max() <= 0.8 + 1e-12
    assert abs((eta[:-1] - eta[1:]).argmax() - (14 + 24)) <= 1


def test_the_level_set_of_a_plane_is_its_distance():
    x = PLANE.cell_points()
    eta = 0.2 + 0.3 * x[:, 0, :, 0]
    phi = level_set(eta, PLANE.shape[1], PLANE.h, 4.0)
    exact = (x[..., 1] - eta[:, None, :]) / math.hypot(1, 0.3)
    assert phi == pytest.approx(np.clip(exact, -0.2, 0.2), abs=1e-6)


@pytest.mark.parametrize("x_and_z", [False, True])
def test_results_do_not_depend_on_threads(on_threads, x_and_z):
    rng = np.random.default_rng(5)
    grid = CUBE if x_and_z else PLANE
    boundary, room = tank(grid)
    depth, velocity = ripples(rng, grid, 0.1, 0.5), random_faces(rng, grid, boundary)
    one, two = (on_threads(n, advance, depth, velocity, boundary.open, room, grid.h, 0.01)[0] for n in (1, 2))
    assert (one == two).all()


@pytest.mark.parametrize("depth", [0.25, 0.5, 1.0])
def test_a_wave_has_its_frequency(depth):
    """ω² = g k tanh kH within 1 %, by the height field and one projection a step, without advection of momentum."""
    grid, g, amplitude, k = Grid((32, 40, 1), 1 / 32), 9.81, 1e-3, math.pi
    boundary, room = tank(grid)
    x = grid.cell_points()[:, 0, :, 0]
    eta, velocity, dt, modes = depth + amplitude * np.cos(k * x), grid.zeros_faces(), 0.01, []
    expected = math.sqrt(g * k * math.tanh(k * depth))
    for _ in range(round(2.2 * math.pi / expected / dt)):
        velocity.y[:] -= np.float32(g * dt)
        phi = level_set(eta, grid.shape[1], grid.h, 4.0)
        velocity = project(grid, velocity, phi, boundary, dt).velocity
        eta, _, _ = advance(eta, _up_to_the_top(velocity, phi), boundary.open, room, grid.h, dt)
        modes.append(2 * np.mean((eta - depth) * np.cos(k * x)))
    times, modes = dt * np.arange(1, len(modes) + 1), np.array(modes)
    after = np.flatnonzero(np.diff(np.sign(modes)) != 0)
    zeros = times[after] - modes[after] * dt / np.diff(modes)[after]
    assert math.pi / (zeros[1] - zeros[0]) == pytest.approx(expected, rel=0.01)
    assert np.abs(modes).max() <= 1.05 * amplitude


def _up_to_the_top(velocity, phi):
    """Horizontal velocity in the cells above the surface is that of the liquid below."""
    wet = phi < 0
    top = wet.shape[1] - 1 - np.argmax(wet[:, ::-1], axis=1)[:, 0]
    for i in range(1, len(top)):
        j = max(top[i - 1], top[i])
        velocity.x[i, j + 1 :] = velocity.x[i, j]
    return velocity
