"""Particles beside solids that move by cells in a step."""

import numpy as np
import pytest

from paddlewheel.measure.passing import Passing, carried_along
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Moved, Sphere
from paddlewheel.types import Grid

GRID = Grid((20, 16, 12), 0.1)
SHAPES = {"box": Box((-0.4, -0.3, -0.05), (0.4, 0.3, 0.05)), "ball": Sphere((0.1, 0.0, 0.0), 0.3)}
FROM = Pose((1.0, 0.8, 0.6), (np.cos(0.3), 0, np.sin(0.3), 0))
TO = Pose((1.1, 0.75, 0.6), (np.cos(0.5), 0, np.sin(0.5), 0))
REACH = 0.25


@pytest.fixture
def position():
    return np.random.default_rng(3).uniform(-0.2, 2.2, (20_000, 3)).astype(np.float32)


@pytest.mark.parametrize("name", SHAPES)
def test_those_within_reach_of_a_solid_go_with_it(name, position):
    shape = Moved(SHAPES[name], FROM)
    near, way = carried_along(GRID, position, [Passing(shape, TO, REACH)])
    distance = shape.distance(position)
    clear = np.abs(distance - REACH) > 1e-6
    assert np.array_equal(np.isin(np.arange(len(position)), near)[clear], (distance < REACH)[clear])
    there = TO.to_world(FROM.to_body(position[near].astype(float)))
    assert way == pytest.approx(there - position[near], abs=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_one_solid_alone_is_as_among_others(name, position):
    mine = Passing(Moved(SHAPES[name], FROM), TO, REACH)
    far = Passing(Moved(Sphere((0, 0, 0), 0.1), Pose((50.0, 0, 0))), Pose((51.0, 0, 0)), REACH)
    alone, among = carried_along(GRID, position, [mine]), carried_along(GRID, position, [mine, far])
    assert len(alone[0]) > 500
    assert np.array_equal(alone[0], among[0])
    assert alone[1] == pytest.approx(among[1], abs=1e-7)


def test_threads_do_not_matter(on_threads, position):
    passing = [Passing(Moved(SHAPES["box"], FROM), TO, REACH)]
    many = np.concatenate([position, position[::-1]])
    (near, way), others = (on_threads(n, lambda: carried_along(GRID, many, passing)) for n in (1, 2))
    assert np.array_equal(near, others[0])
    assert np.array_equal(way, others[1])
