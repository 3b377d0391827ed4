"""Interpolation of fields at faces and nodes, and how points are shared out to be added up."""

import numpy as np
import pytest

from paddlewheel.grid.sample import SLABS, face_value, face_value_and_gradient, node_value, slabs_of
from paddlewheel.types import Grid

GRIDS = [Grid((5, 4, 3), 1.0), Grid((5, 4, 1), 1.0)]
GRADIENT = np.array([0.5, -1.25, 2.0])


def linear(points):
    return (0.75 + points @ GRADIENT).astype(np.float32)


def gradient(u, axis, x):
    value, *gradient = face_value_and_gradient(u, axis, *x)
    assert value == pytest.approx(face_value(u, axis, *x), rel=1e-6, abs=1e-6)
    return tuple(gradient)


@pytest.mark.parametrize("grid", GRIDS, ids=["3-D", "2-D"])
@pytest.mark.parametrize("axis", range(3))
def test_linear_up_to_the_outermost_samples_and_constant_beyond(grid, axis):
    """The field is that of the nearest point between samples; its gradient has no part that leads away from it."""
    rng = np.random.default_rng(axis)
    samples = grid.face_points(axis)
    low, high = samples[0, 0, 0], samples[-1, -1, -1]
    u = linear(samples)
    for x in rng.uniform(-1, 1, (200, 3)) + rng.random((200, 3)) * grid.size:
        nearest = np.clip(x, low, high)
        assert face_value(u, axis, *x) == pytest.approx(linear(nearest), abs=2e-6)
        inside = (x > low) & (x < high)
        assert gradient(u, axis, x) == pytest.approx(GRADIENT * inside, abs=5e-6)


@pytest.mark.parametrize("axis", range(3))
def test_gradient_is_that_of_the_value(axis):
    rng = np.random.default_rng(3)
    grid = GRIDS[0]
    u = rng.standard_normal(grid.face_shape(axis))
    step = 1e-3
    for x in rng.integers(-1, 5, (200, 3)) / 2 + rng.uniform(0.01, 0.49, (200, 3)):  # no kink within a step
        x = x + np.array(grid.shape) * rng.integers(0, 2)
        differences = [
            (face_value(u, axis, *(x + step * e)) - face_value(u, axis, *(x - step * e))) / (2 * step)
            for e in np.eye(3)
        ]
        assert gradient(u, axis, x) == pytest.approx(differences, abs=2e-4)


@pytest.mark.parametrize("grid", GRIDS, ids=["3-D", "2-D"])
def test_samples_and_constants_are_exact(grid):
    rng = np.random.default_rng(4)
    for axis in range(3):
        u = rng.standard_normal(grid.face_shape(axis)).astype(np.float32)
        for index in np.ndindex(u.shape):
            assert face_value(u, axis, *grid.face_points(axis)[index]) == u[index]
        constant = np.full(u.shape, np.float32(0.1))
        for x in rng.uniform(-1, 6, (50, 3)):
            assert face_value(constant, axis, *x) == np.float32(0.1)
            assert gradient(constant, axis, x) == (0, 0, 0)


@pytest.mark.parametrize("grid", GRIDS, ids=["3-D", "2-D"])
def test_nodes(grid):
    rng = np.random.default_rng(5)
    nodes = np.stack(np.meshgrid(*(np.arange(n) for n in grid.node_shape), indexing="ij"), -1)
    phi = linear(nodes)
    for x in rng.uniform(-1, 6, (200, 3)):
        assert node_value(phi, *x) == pytest.approx(linear(np.clip(x, 0, grid.shape)), abs=2e-6)
    for index in np.ndindex(phi.shape):
        assert node_value(phi, *index) == phi[index]
    x, step = np.array([1.3, 2.6, 0.4]), 1e-6
    for d, e in enumerate(np.eye(3)):
        change = node_value(phi, *(x + step * e)) - node_value(phi, *x)
        assert change == pytest.approx(step * GRADIENT[d], rel=1e-6)


@pytest.mark.parametrize("nx", [1, 2, 3, 8, 200, 201])
@pytest.mark.parametrize("kind", ["even", "few planes", "one plane", "none"])
def test_slabs_cover_the_grid_and_never_meet(nx, kind):
    """Points of a plane reach the planes on both sides, so slabs of one colour must be two planes apart."""
    shape = (nx, 3, 2)
    counts = np.full(nx, 60)
    if kind == "few planes":
        counts[nx // 3 :] = 0
    elif kind == "one plane":
        counts[: nx // 2] = counts[nx // 2 + 1 :] = 0
    elif kind == "none":
        counts[:] = 0
    first = np.concatenate([[0], np.cumsum(np.repeat(counts // 6, 6))]).astype(np.int32)
    slabs = slabs_of(first, shape)
    assert slabs[0] == 0
    assert slabs[-1] == nx
    assert len(slabs) <= SLABS + 1
    widths = np.diff(slabs)
    assert np.all(widths > 0)
    assert np.all(widths[:-1] >= 2)  # beyond the last one there is none
    if kind == "even" and nx == 200:
        points = np.diff(first[slabs * 6])
        assert points.max() <= points.mean() + 2 * 60
