"""Particles thrown at solids end outside of them, as they are drawn and not only as the grid sees them."""

import numpy as np
import pytest
import trimesh

from paddlewheel.items import Liquid, Solid
from paddlewheel.measure import HAIR, Solids
from paddlewheel.physics.advect import move
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Cylinder, HalfSpace, Moved, Sphere, Torus
from paddlewheel.types import Faces, Grid

GRID = Grid((24, 20, 16), 0.05)
FLAT = Grid((24, 20, 1), 0.05)
MIDDLE = (0.6, 0.5, 0.4)
TILT = (np.cos(0.4), *(np.sin(0.4) * np.array([0.48, 0.6, 0.64])))
BRICK = Box((0.37, 0.31, 0.22), (0.83, 0.66, 0.58))

SHAPES = {
    "sphere": Sphere(MIDDLE, 0.22),
    "small sphere": Sphere((0.61, 0.52, 0.43), 0.07),
    "box": BRICK,
    "tilted box": BRICK.moved(rotate=TILT, about=MIDDLE),
    "room": ~BRICK,
    "tilted room": ~BRICK.moved(rotate=TILT, about=MIDDLE),
    "bowl": ~Sphere(MIDDLE, 0.33),
    "torus": Torus(MIDDLE, (0.3, 1, 0.2), 0.2, 0.09),
    "cylinder": Cylinder((0.4, 0.3, 0.3), (0.8, 0.7, 0.5), 0.12),
    "union": Sphere((0.5, 0.45, 0.4), 0.15) | Box((0.55, 0.4, 0.3), (0.8, 0.6, 0.5)),
    "difference": BRICK - Sphere((0.6, 0.66, 0.4), 0.16),
    "slope": HalfSpace((0.6, 0.25, 0.4), (0.3, 1, 0.2)),
}
FLAT_OR_HOLLOW = ("slope", "room", "tilted room", "bowl")  # which φ between the nodes gets right or shrinks


def cube_mesh():
    """A cube of twelve triangles, tilted."""
    cube = trimesh.creation.box((0.4, 0.3, 0.35))
    return Mesh((Pose(MIDDLE, TILT).to_world(np.array(cube.vertices)), cube.faces))


def thrown(rng, grid, cells):
    """Velocity [m/s] that carries particles up to `cells` cells in a second, in a few large swirls."""
    u = []
    for a in range(3):
        phase, wave = rng.random(7) * 6, rng.standard_normal((7, 3)) * 6
        total = sum(np.cos(grid.face_points(a) @ w + p) for p, w in zip(phase, wave, strict=True))
        u.append((cells * grid.h * np.clip(total, -1, 1)).astype(np.float32))
    if grid.is_2d:
        u[2][:] = 0
    return Faces(*u)


def scattered(rng, grid, n):
    return (rng.random((n, 3)) * grid.size).astype(np.float32)


def flatten(grid, points):
    """Points where shapes are cut in 2-D."""
    points = points.astype(float)
    if grid.is_2d:
        points[:, 2] = 0.5 * grid.h
    return points


def throw(grid, shape, seed, n=20000, turns=4):
    """Throw particles at a shape; yields their exact distance [cells] after each step, and what push_out said."""
    rng = np.random.default_rng(seed)
    solids = Solids(grid, [Solid(shape)])
    boundary = solids.measure(0.0)
    position = scattered(rng, grid, n)
    position = position[shape.distance(flatten(grid, position)) > 0]
    assert len(position) > 500
    for _ in range(turns):
        near = np.empty(len(position), bool)
        move(grid, position, thrown(rng, grid, 5.0), boundary, 1.0, near=near)
        before, other = shape.distance(flatten(grid, position)), position.copy()
        pushed = solids.push_out(position, boundary, 0.0, among=near).inside
        assert solids.push_out(other, boundary, 0.0).inside == pushed  # none was inside that had not come near
        assert np.array_equal(other, position)
        after = shape.distance(flatten(grid, position))
        yield position, before / grid.h, after / grid.h, pushed


@pytest.mark.parametrize("name", SHAPES)
def test_none_is_inside(name):
    hits = 0
    for position, before, after, pushed in throw(GRID, SHAPES[name], seed=1):
        assert after.min() >= -0.01
        assert pushed == np.count_nonzero(before < 0)
        assert position.min() > 0
        assert (position < np.array(GRID.size, np.float32)).all()
        hits += pushed
    assert (hits > 0) == (name not in FLAT_OR_HOLLOW)


@pytest.mark.parametrize("name", ["room", "tilted room", "bowl"])
def test_particles_behind_the_walls_of_a_room_come_back(name):
    shape = SHAPES[name]
    solids = Solids(GRID, [Solid(shape)])
    position = scattered(np.random.default_rng(10), GRID, 40000)
    start = position[shape.distance(position) > -2 * GRID.h]
    position, before = start.copy(), shape.distance(start)
    assert solids.push_out(position, solids.measure(0.0), 0.0).inside == np.count_nonzero(before < 0)
    assert shape.distance(position).min() >= 0
    went = np.linalg.norm(position - start.astype(float), axis=1)
    assert went[before < 0].max() < 2.1 * GRID.h
    assert went[before < 0] == pytest.approx(-before[before < 0], abs=0.02 * GRID.h)


def test_none_is_inside_a_mesh():
    shape = cube_mesh()
    for _, before, after, pushed in throw(GRID, shape, seed=2, n=5000, turns=2):
        assert before.min() < -0.01
        assert after.min() >= -0.01
        assert pushed > 0


@pytest.mark.parametrize("name", ["sphere", "room", "box", "bowl"])
def test_two_dimensions(name):
    shape = SHAPES[name].moved((0, 0, -0.4 + 0.5 * FLAT.h))
    for position, _, after, _ in throw(FLAT, shape, seed=3):
        assert after.min() >= -0.01
        assert np.all(position[:, 2] == np.float32(0.5 * FLAT.h))


def test_in_a_slab_the_height_is_kept():
    solids = Solids(FLAT, [Solid(Sphere((0.6, 0.5, 0.5 * FLAT.h), 0.2))])
    position = np.array([[0.6, 0.69, 0.01], [0.6, 0.69, 0.04]], np.float32)
    assert solids.push_out(position, solids.measure(0.0), 0.0).inside == 2
    assert position[:, 1].min() > 0.7
    assert np.array_equal(position[:, 2], np.array([0.01, 0.04], np.float32))


def test_particles_end_a_hair_outside_the_nearest_surface():
    ball = Sphere(MIDDLE, 0.22)
    solids = Solids(GRID, [Solid(ball)])
    rng = np.random.default_rng(4)
    direction = rng.standard_normal((2000, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    depth = rng.random(2000) * 3 * GRID.h
    start = (MIDDLE + (0.22 - depth)[:, None] * direction).astype(np.float32)
    position = start.copy()
    assert solids.push_out(position, solids.measure(0.0), 0.0).inside == len(start)
    assert ball.distance(position) == pytest.approx(HAIR * GRID.h, abs=0.2 * HAIR * GRID.h)
    went = position - start.astype(float)
    assert np.linalg.norm(went - (depth + HAIR * GRID.h)[:, None] * direction, axis=1).max() < 1e-5


def test_particles_outside_are_not_touched():
    rng = np.random.default_rng(5)
    solids = Solids(GRID, [Solid(BRICK), Liquid(Sphere(MIDDLE, 0.4)), Solid(Sphere((1.0, 0.8, 0.6), 0.1))])
    shape = BRICK | Sphere((1.0, 0.8, 0.6), 0.1)
    position = scattered(rng, GRID, 20000)
    start, outside = position.copy(), shape.distance(position) >= 0
    assert solids.push_out(position, solids.measure(0.0), 0.0).inside == np.count_nonzero(~outside)
    assert np.array_equal(position[outside], start[outside])
    assert shape.distance(position).min() >= 0


def test_moving_solids_are_where_they_are_at_the_time():
    def motion(t):
        return Pose((0.4 + 0.3 * t, 0.5, 0.4), (np.cos(t), 0, np.sin(t), 0))

    bar = Box((-0.2, -0.1, -0.08), (0.2, 0.1, 0.08))
    solids = Solids(GRID, [Solid(Sphere((0.2, 0.2, 0.2), 0.1)), Solid(bar, motion)])
    for time in (0.0, 0.7):
        shape = Moved(bar, motion(time)) | Sphere((0.2, 0.2, 0.2), 0.1)
        position = scattered(np.random.default_rng(6), GRID, 20000)
        inside = np.count_nonzero(shape.distance(position) < 0)
        assert solids.push_out(position, solids.measure(time), time).inside == inside > 0
        assert shape.distance(position).min() >= 0


def test_between_a_solid_and_a_side_of_the_domain():
    """The nearest surface may be beyond the side; particles go along it, or out where it is open."""
    slope = HalfSpace((0.15, 0.5, 0.4), (-0.6, 0.75, 0))
    start = np.array([[0.02, 0.37, 0.4], [0.01, 0.38, 0.2], [1e-5, 0.37, 0.01]], np.float32)
    assert slope.distance(start).max() < 0
    for sides, lowest in ((frozenset(), 0.0), ({"-x"}, -1.0)):
        solids = Solids(GRID, [Solid(slope)], open_sides=sides)
        position = start.copy()
        assert solids.push_out(position, solids.measure(0.0), 0.0).inside == 3
        assert slope.distance(position).min() > 0
        assert position.min() > lowest
        assert (position.min() < 0) == bool(sides)


@pytest.mark.parametrize("normal", [(1, 0, 0), (0.6, 0.8, 0), (0.48, 0.6, 0.64)])
def test_none_tunnels_through_a_wall_of_one_and_a_half_cells(normal):
    rng = np.random.default_rng(7)
    normal = np.array(normal)
    for _ in range(4):
        at = np.array(MIDDLE) + GRID.h * rng.random(3)
        wall = HalfSpace(at, normal) & HalfSpace(at - 1.5 * GRID.h * normal, -normal)
        solids = Solids(GRID, [Solid(wall)])
        boundary = solids.measure(0.0)
        position = scattered(rng, GRID, 20000)
        position = position[(wall.distance(position) > 0) & ((position - at) @ normal < 0)]
        u = Faces(*(np.full(GRID.face_shape(a), 5 * GRID.h * n, np.float32) for a, n in enumerate(normal)))
        for _ in range(3):
            move(GRID, position, u, boundary, 1.0)
            solids.push_out(position, boundary, 0.0)
            assert wall.distance(position).min() >= -0.01 * GRID.h
            assert ((position - at) @ normal).max() < -0.75 * GRID.h


def test_nothing_to_do():
    solids = Solids(GRID, [])
    position = scattered(np.random.default_rng(8), GRID, 100)
    start = position.copy()
    assert solids.push_out(position, solids.measure(0.0), 0.0).inside == 0
    assert np.array_equal(position, start)
    solids = Solids(GRID, [Solid(BRICK)])
    assert solids.push_out(np.empty((0, 3), np.float32), solids.measure(0.0), 0.0).inside == 0


def test_bad_input_is_named():
    solids = Solids(GRID, [Solid(BRICK)])
    with pytest.raises(ValueError, match=r"position is float64 of shape \(2, 3\)"):
        solids.push_out(np.zeros((2, 3)), solids.measure(0.0), 0.0)
    with pytest.raises(ValueError, match=r"boundary has \(25, 21, 2\) nodes"):
        solids.push_out(np.zeros((2, 3), np.float32), Solids(FLAT, []).measure(0.0), 0.0)


def test_threads_do_not_matter(on_threads):
    solids = Solids(GRID, [Solid(SHAPES["union"])])
    start = scattered(np.random.default_rng(9), GRID, 30000)

    def pushed():
        position = start.copy()
        solids.push_out(position, solids.measure(0.0), 0.0)
        return position

    assert np.array_equal(on_threads(1, pushed), on_threads(4, pushed))


@pytest.mark.parametrize(("thick", "stride"), [(1.5, 2), (3, 2), (8, 4), (8, 6)])
def test_only_particles_that_stay_in_a_solid_are_warned_of(thick, stride):
    """A piston pushes water along, by cells in a step, and at last against the wall, where it leaves no room."""
    n, speed = 32, 3.0
    piston = Box((0.3, 0.1, -1), (0.3 + thick / n, 0.45, 2))
    water = Liquid(Box((0, 0, -1), (1, 0.5, 2)))
    items = [water, Solid(piston, motion=lambda t: Pose((speed * max(t - 0.02, 0), 0, 0)))]
    simulation = Simulation(Scene((1, 1, 1 / n), (n, n, 1), items=items))
    while simulation.time < 0.25:
        warnings = simulation.step(stride / n / speed).warnings
        position = flatten(simulation.scene.grid, simulation.state.particles.position)
        inside = np.count_nonzero(simulation._stepper.solids.distance(position, simulation.time) < -0.01 / n)
        expected = [f"{inside} particles are left in a solid"] if inside else []
        assert [w for w in warnings if "in a solid" in w] == expected
