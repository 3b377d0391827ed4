"""Bodies that are thrown, dropped and swung: they bounce, and none passes through another."""

import numpy as np
import pytest
from vacuum import FLOOR, STILL, G, World

from paddlewheel.solids.contact import Obstacle
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.rigid import freedom, placed, turned
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere, Torus
from paddlewheel.types import SIDES


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("dt", [1 / 240, 1 / 24])
def test_a_dropped_sphere_bounces_to_the_square_of_its_restitution(restitution, dt):
    """And it touches the floor before it does, also at large steps."""
    world = World([Sphere((0, 1.1, 0), 0.1)], [FLOOR], restitution=restitution)
    lowest, highest, rising = np.inf, 0.0, False
    for _ in range(int(2 / dt)):
        world.step(dt)
        height = world.bodies[0].position[1] - 0.1
        lowest, rising = min(lowest, height), rising or world.velocity[0, 1] > 0
        highest = max(highest, height) if rising else 0.0
        if rising and world.velocity[0, 1] < -2 * G * dt:
            break
    assert highest == pytest.approx(restitution**2, rel=0.03)
    assert abs(lowest) < 1e-6


def test_nothing_at_rest_bounces():
    world = World([Box((-0.1, 0, -0.1), (0.1, 0.2, 0.1)), Sphere((0.5, 0.1, 0), 0.1)], [FLOOR], restitution=0.9)
    world.run(0.5, 1 / 48)
    assert np.abs(world.settled).max() < 1e-6


@pytest.mark.parametrize("speed", [3.0, 40.0])
def test_equal_spheres_swap_velocities(speed):
    world = World([Sphere((0, 0, 0), 0.1), Sphere((1, 0, 0), 0.1)], gravity=(0, 0, 0), restitution=1.0)
    world.velocity[0, 0] = speed
    world.run(0.5, 1 / 24)
    expected = np.zeros((2, 6))
    expected[1, 0] = speed
    assert world.velocity == pytest.approx(expected, abs=1e-6 * speed)


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("restitution", [0.5, 0.8, 1.0])
def test_bodies_that_spin_about_a_room_gain_no_energy(restitution, friction):
    """Their corners hit walls askew, two at once, and one after another; a ball loses nothing if it is elastic."""
    room = {"size": (1, 1, 1), "closed": SIDES, "thickness": 0.03, "gravity": (0, 0, 0), "spacing": 1 / 32}
    rng = np.random.default_rng(1)
    for shape in (Box((0.35, 0.45, -1), (0.65, 0.55, 2)), Sphere((0.5, 0.5, 0.015), 0.1)):
        for _ in range(3):
            world = World([shape], friction=friction, restitution=restitution, **room)
            world.velocity[0, [0, 1, 5]] = rng.uniform((-2, -2, -10), (2, 2, 10))
            start = world.energy(world.velocity)
            for _ in range(72):
                world.step(1 / 48)
                assert world.energy(world.velocity) < start * (1 + 1e-9)
            if isinstance(shape, Sphere) and restitution == 1 and friction == 0:
                assert world.energy(world.velocity) == pytest.approx(start, rel=1e-7)


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("dt", [1 / 24, 1 / 48])
def test_boxes_that_spin_and_fall_gain_no_energy(dt, friction):
    """Kinetic and potential, though a corner that turns is lifted out of the floor, and gravity acts meanwhile."""
    room = {"size": (1, 1, 1), "closed": SIDES, "thickness": 0.03, "spacing": 1 / 32}
    rng = np.random.default_rng(2)
    for _ in range(4):
        world = World([Box((0.35, 0.45, -1), (0.65, 0.55, 2))], friction=friction, restitution=1.0, **room)
        world.velocity[0, [0, 1, 5]] = rng.uniform((-2, -2, -10), (2, 2, 10))
        energies = []
        for _ in range(round(2 / dt)):
            back = np.add(world.velocity, [0, 0.5 * G * dt, 0, 0, 0, 0])  # to the time of the positions
            energies.append(world.energy(back) + world.mass_matrices()[0][0, 0] * G * world.bodies[0].position[1])
            world.step(dt)
        assert max(energies) < 1.002 * energies[0]


def test_a_box_that_falls_flat_is_as_elastic_as_a_ball():
    """Both corners bounce at once."""
    box = Box((-0.15, 1.0, -1), (0.15, 1.1, 1))
    world = World([box], [FLOOR], thickness=0.03, friction=0.0, restitution=1.0)
    heights = [world.step(1 / 48) or world.bodies[0].position[1] - 0.05 for _ in range(96)]
    assert max(heights[48:]) == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("speed", [(50, 0, 0), (50, -5, 0), (50, 10, 3)])
def test_nothing_tunnels(speed):
    """A small ball at 50 m/s goes two metres in a step, and the wall is 2 cm thick."""
    wall = Obstacle(Box((1, -2, -2), (1.02, 2, 2)), Pose())
    world = World([Sphere((0, 0, 0), 0.03)], [wall], gravity=(0, 0, 0))
    world.velocity[0, :3] = speed
    world.step(1 / 24)
    assert world.bodies[0].position[0] == pytest.approx(0.97, abs=1e-4)  # and it does touch
    world.run(0.2, 1 / 24)
    assert world.bodies[0].position[0] < 0.971


@pytest.mark.parametrize("thing", [Box((0.5, 0, -0.1), (0.7, 0.2, 0.1)), Sphere((0.6, 0.1, 0), 0.1)])
def test_what_slides_fast_along_a_floor_meets_the_wall_at_its_end(thing):
    """Also if both are one obstacle, and the step is a metre long."""
    room = Obstacle(HalfSpace((0, 0, 0), (0, 1, 0)) | Box((3, 0, -1), (3.02, 2, 1)), Pose())
    world = World([thing], [room], friction=0.0)
    world.velocity[0, 0] = 24
    world.run(0.5, 1 / 24)
    assert world.bodies[0].position[:2] == pytest.approx([2.9, 0.1], abs=1e-3)


def test_what_passes_by_is_not_stopped():
    """Over the top of the wall, 2 cm clear of it, in one step."""
    wall = Obstacle(Box((1, -2, -2), (1.02, 0, 2)), Pose())
    world = World([Sphere((0, 0.05, 0), 0.03)], [wall], gravity=(0, 0, 0))
    world.velocity[0, 0] = 50
    world.step(1 / 24)
    assert world.velocity[0] == pytest.approx([50, 0, 0, 0, 0, 0], abs=1e-12)


def test_fast_bodies_meet_in_flight():
    """Two balls that would change places within the step meet half-way."""
    world = World([Sphere((0, 0, 0), 0.05), Sphere((1, 0, 0), 0.05)], gravity=(0, 0, 0))
    world.velocity[:, 0] = 30, -30
    world.step(1 / 24)
    assert world.bodies[0].position[0] == pytest.approx(0.45, abs=1e-4)
    assert world.bodies[1].position[0] == pytest.approx(0.55, abs=1e-4)


@pytest.mark.parametrize("dt", [1 / 24, 1 / 96])
def test_a_box_on_its_corner_tips_over_and_lies_flat(dt):
    box = Box((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)).moved(rotate=turned(STILL, np.array([0.5, 0.2, 0.7])))
    box = box.moved((0, -box.bounds()[0][1], 0))
    world = World([box], [FLOOR]).run(3.0, dt)
    assert world.bodies[0].position[1] == pytest.approx(0.1, abs=1e-4)
    assert np.abs(world.settled).max() < 1e-6


def test_a_bar_much_thinner_than_the_spacing_lies_down():
    """Both corners at an end hold it, though they are closer together than surface points are."""
    bar = Box((-0.3, 0.2, -0.003), (0.3, 0.206, 0.003)).moved(rotate=turned(STILL, np.array([0.3, 0, 0.2])))
    world = World([bar], [FLOOR]).run(1.0, 1 / 48)
    assert world.bodies[0].position[1] == pytest.approx(0.003, abs=1e-4)
    assert np.abs(world.settled).max() < 1e-4


SMOOTH = {
    "capsule": Capsule((-0.05, 0, 0), (0.05, 0, 0), 0.04),
    "torus": Torus((0, 0, 0), (0, 1, 0), 0.06, 0.025),
    "cylinder": Cylinder((-0.07, 0, 0), (0.07, 0, 0), 0.06),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("dt", [1 / 24, 1 / 96])
def test_round_things_land_askew_and_lie_down(name, dt):
    """Their other end has no corner that could be watched, yet it must not pass through the floor."""
    shape = SMOOTH[name].moved((0, 0.3, 0), turned(STILL, np.array([0.3, 0.2, 0.4])))
    world = World([shape], [FLOOR], spacing=0.02, friction=0.4, restitution=0.2)
    deepest = 0.0
    for _ in range(round(2 / dt)):
        world.step(dt)
        deepest = min(deepest, world.deepest())
    assert deepest > -1e-5
    assert world.bodies[0].position[1] == pytest.approx(shape.shape.bounds()[1][1], abs=1e-4)


def test_a_hinged_body_is_stopped_and_keeps_its_pivot():
    """A door swung at a wall: it turns about its hinge only."""
    door, wall = Box((0, 0, 0), (0.8, 1, 0.05)), Obstacle(Box((0.5, 0, 0.4), (0.7, 1, 0.5)), Pose())
    world = World([door], [wall], gravity=(0, 0, 0), hinges={0: ((0, 1, 0), (0, 0, 0))})
    world.velocity[0] = -3.0 * freedom(world.bodies[0].position, axis=(0, 1, 0), pivot=(0, 0, 0))[:, 0]
    world.run(1.0, 1 / 24)
    hinge = placed(door, world.masses[0], world.bodies[0]).pose.to_world(np.zeros((1, 3)))
    assert np.abs(hinge).max() < 1e-9
    assert np.abs(world.settled).max() < 1e-6
    assert abs(world.deepest()) < 2e-3


def test_sides_of_the_domain_hold():
    world = World([Sphere((0.2, 0.5, 0.5), 0.1)], size=(1, 1, 1), closed=set(SIDES) - {"+x"}, gravity=(0, 0, 0))
    for direction in ((-3, 0, 0), (0, 3, 0), (0, -3, 0), (0, 0, 3), (0, 0, -3)):
        world.velocity[0, :3] = direction
        world.run(0.5, 1 / 24)
        assert np.all(world.bodies[0].position > 0.0999)
        assert np.all(world.bodies[0].position < 0.9001)
    world.velocity[0, :3] = (3, 0, 0)
    assert world.run(1.0, 1 / 24).bodies[0].position[0] > 2  # an open side lets go
