"""Particles in cells beside solids that move by cells in a step go with the nearest."""

import numpy as np
import pytest

from paddlewheel.items import Solid
from paddlewheel.measure import Solids
from paddlewheel.measure.passing import Going, cells_taken
from paddlewheel.physics.advect import move
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Moved, Sphere
from paddlewheel.types import Grid

GRID = Grid((20, 24, 16), 0.05)
TURN = (np.cos(0.3), 0.0, np.sin(0.3), 0.0)
SOLIDS = [
    Going(Moved(Sphere((0, 0, 0), 0.2), Pose((0.4, 0.5, 0.4))), Pose((0.4, 0.7, 0.4)), 0.15),
    Going(Moved(Box((-0.1, -0.1, -0.2), (0.1, 0.1, 0.2)), Pose((0.6, 0.6, 0.5))), Pose((0.7, 0.6, 0.5), TURN), 0.2),
    Going(Moved(Sphere((0, 0, 0), 0.1), Pose((1.1, 0.1, 0.1), TURN)), Pose((1.1, 0.2, 0.1)), 0.1),  # half outside
]


@pytest.mark.parametrize("count", [1, 3])
def test_each_cell_goes_with_the_nearest(count):
    """Where its places in that solid's own frame are at the end; cells with no point in reach of any are not taken."""
    going = SOLIDS[:count]
    passing, centres = cells_taken(GRID, going), GRID.cell_points()
    distance = np.array([solid.shape.distance(centres.reshape(-1, 3)).reshape(GRID.shape) for solid in going])
    reach = np.array([solid.reach for solid in going]) + 0.5 * np.sqrt(3) * GRID.h
    distance = np.where(distance < reach[:, None, None, None], distance, np.inf)
    assert np.array_equal(passing.which >= 0, np.isfinite(distance).any(axis=0))
    for n, solid in enumerate(going):
        mine = passing.which == n
        start = centres[mine]
        assert mine.any()
        np.testing.assert_allclose(distance[n][mine], distance.min(axis=0)[mine], rtol=0, atol=1e-7)
        there = solid.to.to_world(solid.shape.pose.to_body(start))
        np.testing.assert_allclose(start @ passing.turn[n].T + passing.shift[n], there - start, rtol=0, atol=1e-12)


@pytest.mark.parametrize("solid", SOLIDS[:2], ids=["ball", "box"])
def test_no_particle_within_reach_is_left(solid):
    points = np.random.default_rng(5).uniform(0, GRID.size, (20_000, 3))
    near = points[solid.shape.distance(points) < solid.reach]
    cells = tuple((near / GRID.h).astype(int).T)
    assert len(near) > 100
    assert (cells_taken(GRID, [solid]).which[cells] >= 0).all()


def test_threads_do_not_matter(on_threads):
    one, two = (on_threads(n, lambda: cells_taken(GRID, SOLIDS)) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("stages", [1, 2])
def test_a_plate_that_moves_by_its_thickness_and_more_passes_nothing(stages):
    """A flow that stands still, but for what rides along: it is in front of the plate, or beside it, as it was."""
    plate = Box((0.3, 0.3, 0.2), (0.36, 0.8, 0.6))
    solids = Solids(GRID, [Solid(plate, motion=lambda t: Pose((4.0 * GRID.h * t, 0, 0)))])
    position = np.random.default_rng(6).uniform((0.3, 0.35, 0.25), (0.55, 0.75, 0.55), (5000, 3)).astype(np.float32)
    position = position[position[:, 0] > 0.37]
    boundary, near = solids.measure(1.0), np.empty(len(position), np.bool_)
    passing = solids.passing(0.0, 1.0, (), ())
    move(GRID, position, GRID.zeros_faces(), boundary, 1.0, stages=stages, passing=passing, near=near)
    assert position[:, 0].min() > 0.36 + 4 * GRID.h - 0.02 * GRID.h
