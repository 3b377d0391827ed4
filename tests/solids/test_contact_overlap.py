"""Bodies that overlap at the start are moved apart."""

import numpy as np
import pytest
from vacuum import FLOOR, STILL, World

from paddlewheel.solids.contact import Obstacle
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.rigid import turned
from paddlewheel.solids.shapes import Box, Sphere


def test_overlapping_bodies_are_separated():
    """And named: spheres that overlap, one inside the floor, one inside another, and one that does not touch."""
    centers = [(0, 0.5, 0), (0.15, 0.5, 0), (1, 0.05, 0), (2, 0.5, 0), (2.0, 0.52, 0), (3, 1, 0)]
    radii = [0.1, 0.1, 0.1, 0.1, 0.05, 0.1]
    world = World([Sphere(c, r) for c, r in zip(centers, radii, strict=True)], [FLOOR])
    bodies, pairs = world.contact.separate(world.bodies, [FLOOR])
    assert pairs == [(0, "body", 1, True), (2, "obstacle", 0, True), (3, "body", 4, True)]
    world.bodies = bodies
    assert world.deepest() > -1e-4
    assert np.array_equal(bodies[5].position, world.masses[5].center)
    x = [b.position[0] for b in bodies[:2]]
    assert sum(x) == pytest.approx(0.15)  # equal masses share the way
    assert bodies[2].position == pytest.approx([1, 0.1, 0], abs=1e-4)


def test_bodies_in_the_same_place_are_separated():
    world = World([Box((0, 0, 0), (0.2, 0.2, 0.2)), Box((0, 0, 0), (0.2, 0.2, 0.2))])
    world.bodies, pairs = world.contact.separate(world.bodies, [])
    assert pairs == [(0, "body", 1, True)]
    assert world.deepest() > -1e-3


BLOCK = Box((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5))
BURIED = {
    "ball in the middle of a block": (Sphere((0, 0, 0), 0.1), BLOCK, None),
    "ball in a block": (Sphere((0.3, 0.1, 0), 0.1), BLOCK, None),
    "box in a block": (Box((0.1, 0, -0.1), (0.3, 0.2, 0.1)), BLOCK, None),
    "ball across a thin wall": (Sphere((0.005, 0, 0), 0.1), Box((0, -1, -1), (0.02, 1, 1)), None),
    "ball in the middle of a ball": (Sphere((0, 0, 0), 0.1), Sphere((0, 0, 0), 0.3), None),
    "disc in a block": (Sphere((0.3, 0, 0.05), 0.1), BLOCK, 0.1),
    "box deep under the floor": (Box((0, -0.5, 0), (0.2, -0.3, 0.2)), FLOOR.shape, None),
}


@pytest.mark.parametrize("name", BURIED)
def test_what_is_buried_in_an_obstacle_comes_out(name):
    """Also where none of its points shows the way: in the middle, or right across a wall."""
    shape, obstacle, thickness = BURIED[name]
    obstacles = [Obstacle(obstacle.moved((0, 0.2, 0), turned(STILL, np.array([0, 0, 0.3])), (0, -0.2, 0)), Pose())]
    world = World([shape], obstacles, thickness=thickness)
    world.bodies, pairs = world.contact.separate(world.bodies, obstacles)
    assert pairs == [(0, "obstacle", 0, True)]
    assert world.deepest() > -1e-4


@pytest.mark.parametrize("order", [1, -1])
def test_a_body_inside_another_comes_out(order):
    """Whichever of the two is named first."""
    world = World([Box((-0.4, -0.4, -0.4), (0.4, 0.4, 0.4)), Sphere((0, 0.02, 0), 0.05)][::order])
    world.bodies, pairs = world.contact.separate(world.bodies, [])
    assert pairs == [(0, "body", 1, True)]
    assert world.deepest() > -1e-3
