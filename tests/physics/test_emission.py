"""Sources of smoke: amounts, and values that do not depend on the step."""

import math

import numpy as np
import pytest

from paddlewheel.physics.emission import fill, shares
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import Grid

GRIDS = [Grid((12, 10, 8), 0.1), Grid((12, 10, 1), 0.1)]
grids = pytest.mark.parametrize("grid", GRIDS, ids=["3-D", "2-D"])


def distance(grid, shape):
    return shape.distance(grid.node_points().reshape(-1, 3)).reshape(grid.node_shape).astype(np.float32)


def slab(grid, low=0.33, high=0.78):
    return distance(grid, Box((low, -9, -9), (high, 9, 9)))


@grids
def test_shares_of_a_slab_are_exact(grid):
    """From 0.33 m to 0.78 m along x: parts of the cells, and of the boxes around the faces."""
    part = shares(slab(grid))
    expected = np.zeros(12)
    expected[3:8] = 0.7, 1, 1, 1, 0.8
    assert part.cells == pytest.approx(np.broadcast_to(expected[:, None, None], grid.shape), abs=1e-5)
    expected = np.zeros(13)
    expected[3:9] = 0.2, 1, 1, 1, 1, 0.3
    inside = part.faces.x[1:-1]
    assert inside == pytest.approx(np.broadcast_to(expected[1:-1, None, None], inside.shape), abs=1e-5)


def test_a_ball_has_its_volume_wherever_it_is():
    """The same within 0.1 % if it is moved by parts of a cell."""
    grid, volumes = Grid((16, 16, 16), 0.05), []
    for shift in (0.0, 0.011, 0.023):
        phi = distance(grid, Sphere((0.4 + shift, 0.4, 0.4 - shift), 0.23))
        volumes.append(shares(phi).cells.sum(dtype=float) * grid.h**3)
    assert volumes == pytest.approx([4 / 3 * math.pi * 0.23**3] * 3, rel=0.03)
    assert max(volumes) < 1.001 * min(volumes)


@grids
def test_at_once_a_field_becomes_the_source_where_that_fills_it(grid):
    part = shares(slab(grid)).cells
    q = np.full(grid.shape, 2, np.float32)
    fill(q, 50.0, part)
    assert q == pytest.approx(2 + 48 * part, rel=1e-6)
    assert np.all(q[4:7] == 50)
    assert np.all(q[:3] == 2)


@grids
def test_at_a_rate_it_does_not_depend_on_the_step(grid):
    """In cells that are all source; q_source is where it ends."""
    part = (shares(slab(grid)).cells == 1).astype(np.float32)
    once, often = np.full(grid.shape, 2, np.float32), np.full(grid.shape, 2, np.float32)
    fill(once, 50.0, part, rate=1.5, dt=0.8)
    for dt in (0.1, 0.4, 0.3):
        fill(often, 50.0, part, rate=1.5, dt=dt)
    exact = np.where(part > 0, 50 - 48 * math.exp(-1.5 * 0.8), 2)
    assert once == pytest.approx(exact, rel=1e-6)
    assert often == pytest.approx(exact, rel=1e-6)
    fill(once, 50.0, part, rate=0.0, dt=0.8)
    assert once == pytest.approx(exact, rel=1e-6)


def test_nonsense_is_refused():
    q = np.zeros((2, 2, 2), np.float32)
    for rate, dt in ((-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.nan)):
        with pytest.raises(ValueError, match="rate"):
            fill(q, 1.0, q, rate, dt)
