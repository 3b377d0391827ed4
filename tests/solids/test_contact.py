"""Bodies that lie, slide and roll, against exact answers of mechanics; no fluid here."""

import numpy as np
import pytest
import trimesh
from vacuum import FLOOR, STILL, G, World, slope, stack

from paddlewheel.solids.contact import Contact, Obstacle
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.rigid import turned
from paddlewheel.solids.shapes import Box, Cylinder, HalfSpace, Sphere
from paddlewheel.types import SIDES


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize(("angle", "friction"), [(0.3, 0.1), (0.3, 0.2), (0.6, 0.3), (0.3, 0.35), (0.3, 0.0)])
def test_a_block_slides_down_a_slope(angle, friction, planar):
    """a = g (sin θ − μ cos θ), or none at all when tan θ < μ."""
    plane, _, turn = slope(angle)
    block = Box((-0.1, 0, -0.1), (0.1, 0.2, 0.1)).moved(rotate=turn)
    world = World([block], [plane], friction=friction, thickness=0.1 if planar else None).run(1.0, 0.01)
    expected = max(0.0, G * (np.sin(angle) - friction * np.cos(angle)))
    assert np.linalg.norm(world.settled[0, :3]) == pytest.approx(0.99 * expected, rel=1e-3, abs=1e-8)  # 99 pulls so far
    assert np.abs(world.settled[0, 3:]).max() < 1e-6
    if expected == 0:
        assert world.bodies[0].position == pytest.approx(world.masses[0].center, abs=1e-8)


REACH = np.array([0, 0, 0.2])


ROUND = {
    "sphere": (lambda c: Sphere(c, 0.1), 5 / 7, None),
    "cylinder": (lambda c: Cylinder(c - REACH, c + REACH, 0.1), 2 / 3, None),
    "disc": (lambda c: Cylinder(c - REACH, c + REACH, 0.1), 2 / 3, 0.1),
}


@pytest.mark.parametrize("name", ROUND)
@pytest.mark.parametrize("dt", [0.01, 1 / 24])
def test_round_things_roll_down_a_slope(name, dt):
    """a = g sin θ / (1 + I/(m r²)), without slip."""
    plane, normal, _ = slope(0.3)
    shape, factor, thickness = ROUND[name]
    world = World([shape(0.1 * normal)], [plane], friction=0.3, thickness=thickness).run(1.0, dt)
    speed = np.linalg.norm(world.settled[0, :3])
    assert speed == pytest.approx(factor * G * np.sin(0.3) * (1 - dt), rel=5e-3)
    assert speed == pytest.approx(0.1 * -world.settled[0, 5], rel=1e-3)


@pytest.mark.parametrize("spacing", [0.1, 0.02, 0.005])
def test_a_sphere_rolls_whatever_its_points(spacing):
    """It touches at its lowest point, not at a sample, and those beside it do not hold it up: here ω dt = 0.8."""
    world = World([Sphere((0, 0.1, 0), 0.1)], [FLOOR], spacing=spacing)
    world.velocity[0, [0, 5]] = 2.0, -20.0
    world.run(1.0, 1 / 24)
    assert world.settled[0] == pytest.approx([2, 0, 0, 0, 0, -20], abs=1e-3)


def test_a_sphere_on_a_slippery_slope_slips():
    """tan θ > 3.5 μ: the centre goes down as a block does, and friction spins it up at 5/2 μ g cos θ / r."""
    plane, normal, _ = slope(0.5)
    world = World([Sphere(0.1 * normal, 0.1)], [plane], friction=0.05).run(0.5, 0.01)
    assert np.linalg.norm(world.settled[0, :3]) == pytest.approx(
        0.49 * G * (np.sin(0.5) - 0.05 * np.cos(0.5)), rel=2e-3
    )
    assert -world.settled[0, 5] == pytest.approx(0.49 * 2.5 * 0.05 * G * np.cos(0.5) / 0.1, rel=2e-3)


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("dt", [1 / 24, pytest.param(1 / 96, marks=pytest.mark.slow)])
def test_a_stack_stands(dt, planar):
    """Five boxes for ten seconds: no creep, no jitter."""
    world = stack(thickness=0.1 if planar else None).run(10.0, dt)
    drift = max(np.abs(b.position - m.center).max() for b, m in zip(world.bodies, world.masses, strict=True))
    assert drift < 1e-6
    assert np.abs(world.settled).max() < 1e-6


@pytest.mark.parametrize("densities", [(1, 1000), (1000, 1), (1000, 1, 1000, 1)])
def test_a_stack_of_very_unlike_masses_stands(densities):
    """Light boxes carry ones a thousand times as heavy."""
    boxes = [Box((-0.1, 0.2 * i, -0.1), (0.1, 0.2 * i + 0.2, 0.1)) for i in range(len(densities))]
    world = World(boxes, [FLOOR], density=densities).run(1.0, 1 / 48)
    assert max(np.abs(b.position - m.center).max() for b, m in zip(world.bodies, world.masses, strict=True)) < 1e-3
    assert world.deepest() > -1e-4


@pytest.mark.parametrize("aside", [0.0, 1e-9])
def test_a_large_box_stands_on_a_small_one(aside):
    """Ten times its size, a thousand times its weight, in the middle or not quite."""
    small, large = Box((-0.02, 0, -0.02), (0.02, 0.04, 0.02)), Box((-0.2 + aside, 0.04, -0.2), (0.2 + aside, 0.44, 0.2))
    world = World([small, large], [FLOOR])
    world.run(1.0, 1 / 48)
    assert max(np.abs(b.position - m.center).max() for b, m in zip(world.bodies, world.masses, strict=True)) < 1e-3


def test_a_stack_of_uneven_boxes_put_down_askew_comes_to_rest():
    sizes = [0.3, 0.25, 0.2, 0.15]
    low, shapes = 0.0, []
    for i, s in enumerate(sizes):
        turn = (np.cos(0.2 * i), 0, np.sin(0.2 * i), 0)
        shapes.append(Box((-s / 2, low + 0.01, -s / 2), (s / 2, low + 0.01 + s, s / 2)).moved(rotate=turn))
        low += s + 0.01
    world = World(shapes, [FLOOR]).run(2.0, 1 / 48)
    assert np.abs(world.settled).max() < 1e-5
    assert world.bodies[-1].position[1] == pytest.approx(sum(sizes) - sizes[-1] / 2, abs=2e-3)
    assert world.deepest() > -1e-3


@pytest.mark.parametrize("planar", [False, True])
def test_a_wedge_between_two_walls_is_still(planar):
    """A square on its edge in a V-shaped groove."""
    groove = [Obstacle(HalfSpace((0, 0, 0), (s, 1, 0)), Pose()) for s in (-1, 1)]
    square = Box((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)).moved((0, 0.15, 0), turned(STILL, np.array([0, 0, np.pi / 4])))
    world = World([square], groove, friction=0.2, thickness=0.1 if planar else None).run(1.0, 1 / 48)
    assert world.bodies[0].position[1] == pytest.approx(0.1 * np.sqrt(2), abs=1e-4)
    still = world.bodies[0].position
    world.run(1.0, 1 / 48)
    assert world.bodies[0].position == pytest.approx(still, abs=1e-7)
    assert np.abs(world.settled).max() < 1e-6


@pytest.mark.parametrize("direction", [0.0, 0.3, np.pi / 4, 1.1])
def test_friction_has_no_preferred_direction(direction):
    """A block slides straight on and slows down by μ g, whichever way it goes."""
    way = np.array([np.cos(direction), 0, np.sin(direction)])
    world = World([Box((-0.1, 0, -0.1), (0.1, 0.04, 0.1))], [FLOOR], friction=0.3)
    world.velocity[0, :3] = 3 * way
    world.velocity[0, 1] = -G * 0.01
    world.run(0.5, 0.01)
    assert world.settled[0, :3] == pytest.approx((3 - 0.5 * 0.3 * G) * way, abs=2e-3)
    across = np.cross(way, (0, 1, 0))
    assert abs(world.bodies[0].position @ across) < 1e-4


def test_a_moving_obstacle_carries_what_lies_on_it():
    """A belt: a block at rest is brought to its speed by friction."""
    belt = Obstacle(HalfSpace((0, 0, 0), (0, 1, 0)), Pose(velocity=(1, 0, 0), angular_velocity=(0, 0, 0)))
    world = World([Box((-0.1, 0, -0.1), (0.1, 0.05, 0.1))], [belt], friction=0.5).run(0.1, 0.01)
    assert world.settled[0, 0] == pytest.approx(0.09 * 0.5 * G, rel=5e-3)
    world.run(0.5, 0.01)
    assert world.settled[0] == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-6)


def test_meshes_touch_like_the_shapes_they_are():
    """A box of triangles on a box, and a ball of triangles that rolls from facet to facet, which costs some speed."""
    mesh = trimesh.creation.box(bounds=[(-0.1, 0.2, -0.1), (0.1, 0.4, 0.1)])
    world = World([Box((-0.1, 0, -0.1), (0.1, 0.2, 0.1)), Mesh((mesh.vertices, mesh.faces))], [FLOOR]).run(0.5, 1 / 48)
    assert np.abs(world.settled).max() < 1e-6
    plane, normal, _ = slope(0.3)
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    world = World([Mesh((ball.vertices + 0.1 * normal, ball.faces))], [plane], friction=0.4).run(0.5, 0.01)
    assert np.linalg.norm(world.settled[0, :3]) == pytest.approx(0.49 * 5 / 7 * G * np.sin(0.3), rel=0.1)


def test_meshes_in_a_plane():
    """The lattice that stands for a mesh is one of the plane then."""
    lower, upper = (trimesh.creation.box(bounds=[(-0.1, y, -1), (0.1, y + 0.2, 1)]) for y in (0.01, 0.22))
    world = World([Mesh((m.vertices, m.faces)) for m in (lower, upper)], [FLOOR], thickness=0.1).run(1.0, 1 / 48)
    assert np.abs(world.settled).max() < 1e-6
    assert world.bodies[1].position[1] == pytest.approx(0.3, abs=1e-4)


TURNED = {"rotate": turned(turned(STILL, np.array([0, 0.5, 0])), np.array([0.3, 0, 0]))}
BORE = Box((-0.15, -3, -0.15), (0.15, 3, 0.15))
TUBES = {
    "everything but a box": (~BORE, {}),
    "one box out of another": (Box((-0.3, -2, -0.3), (0.3, 2, 0.3)) - BORE, {}),
    "two pairs of walls": (~(Box((-0.15, -3, -9), (0.15, 3, 9)) & Box((-9, -3, -0.15), (9, 3, 0.15))), {}),
    "turned": ((~BORE).moved(**TURNED), TURNED),
    "around what is turned": (~BORE.moved(**TURNED), TURNED),
}


@pytest.mark.parametrize("name", TUBES)
def test_a_plug_that_fits_a_square_tube_cannot_turn_in_it(name):
    """Each of its corners touches two walls at once, also when it is a hair nearer to one of them."""
    tube, pose = TUBES[name]
    plug = Box((-0.15, -0.06, -0.15), (0.15, 0.06, 0.15)).moved(**pose)
    world = World([plug], [Obstacle(tube, Pose())], friction=0.0, gravity=(0, 0, 0), spacing=1 / 30)
    rng = np.random.default_rng(1)
    for _ in range(40):
        world.velocity += rng.normal(0, 0.05, (1, 6))
        world.step(0.02)
    turn = 2 * np.linalg.norm(world.bodies[0].orientation[1:])
    assert turn * 0.06 < 1e-3 / 30  # along a wall, in spacings: a depth that is not worth mending
    assert world.deepest() > -1e-3 / 30
    assert np.abs(world.settled[0, 3:]).max() < 1e-3


def test_a_body_alone_has_no_contacts():
    world = World([Sphere((0, 0, 0), 0.1)])
    contacts = world.contact.find(world.bodies, [], world.velocity, 0.1)
    assert len(contacts.gap) == 0
    assert not world.contact.resolve(world.velocity, world.inverse(), contacts, 0.1, bounce=False).any()
    assert world.contact.separate(world.bodies, []) == (world.bodies, [])


def test_no_bodies_at_all():
    contact = Contact([], [], [], [], size=(1, 1, 1), closed_sides=SIDES, spacing=0.1)
    contacts = contact.find([], [FLOOR], np.zeros((0, 6)), 0.1)
    assert contact.resolve(np.zeros((0, 6)), np.zeros((0, 6, 6)), contacts, 0.1, bounce=True).shape == (0, 6)
    assert contact.separate([], [FLOOR]) == ([], [])
