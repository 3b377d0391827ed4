"""Particles beside solids that move by cells in a step go with the nearest."""

import numpy as np
import pytest

from paddlewheel.measure.passing import Passing, carried_along
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Moved, Sphere
from paddlewheel.types import Grid

GRID = Grid((20, 24, 16), 0.05)
TURN = (np.cos(0.3), 0.0, np.sin(0.3), 0.0)
SOLIDS = [
    Passing(Moved(Sphere((0, 0, 0), 0.2), Pose((0.4, 0.5, 0.4))), Pose((0.4, 0.7, 0.4)), 0.15),
    Passing(Moved(Box((-0.1, -0.1, -0.2), (0.1, 0.1, 0.2)), Pose((0.6, 0.6, 0.5))), Pose((0.7, 0.6, 0.5), TURN), 0.2),
    Passing(Moved(Sphere((0, 0, 0), 0.1), Pose((1.1, 0.1, 0.1), TURN)), Pose((1.1, 0.2, 0.1)), 0.1),  # half outside
]


@pytest.fixture
def points():
    return np.random.default_rng(5).uniform(-0.1, 1.3, (20_000, 3)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 3])
def test_each_goes_with_the_nearest(count, points):
    """Where its place in that solid's own frame is at the end; those out of reach of all are not taken."""
    passing = SOLIDS[:count]
    index, way = carried_along(GRID, points, passing)
    distance = np.array([solid.shape.distance(points) for solid in passing])
    distance = np.where(distance < np.array([[solid.reach] for solid in passing]), distance, np.inf)
    assert np.array_equal(index, np.flatnonzero(np.isfinite(distance).any(axis=0)))
    nearest = distance.argmin(axis=0)
    for n, solid in enumerate(passing):
        mine = nearest[index] == n
        start = points[index[mine]].astype(np.float64)
        there = solid.to.to_world(solid.shape.pose.to_body(start))
        assert mine.any()
        np.testing.assert_allclose(way[mine], there - start, rtol=0, atol=1e-6)


@pytest.mark.parametrize("solid", SOLIDS[:2], ids=["ball", "box"])
def test_one_solid_alone_is_as_among_others(solid, points):
    far = Passing(Moved(Sphere((0, 0, 0), 0.1), Pose((50.0, 0, 0))), Pose((51.0, 0, 0)), 0.1)
    alone, among = carried_along(GRID, points, [solid]), carried_along(GRID, points, [solid, far])
    assert len(alone[0]) > 100
    assert np.array_equal(alone[0], among[0])
    assert alone[1] == pytest.approx(among[1], abs=1e-7)


def test_threads_do_not_matter(on_threads, points):
    many = np.concatenate([points, points[::-1]])
    (near, way), others = (on_threads(n, lambda: carried_along(GRID, many, SOLIDS[1:2])) for n in (1, 2))
    assert np.array_equal(near, others[0])
    assert np.array_equal(way, others[1])
