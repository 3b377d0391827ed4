"""Solids measured onto the grid: distance, open fractions, velocity, walls."""

import numpy as np
import pytest
import trimesh

from paddlewheel.grid.fractions import WEIGHTS, open_fractions
from paddlewheel.items import Liquid, Solid
from paddlewheel.measure import Solids, liquid_distance, measure
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Moved, Sphere, Torus
from paddlewheel.types import BYTES_PER_CELL, SIDES, Grid

GRID = Grid((20, 16, 24), 0.05)
FLAT = Grid((20, 16, 1), 0.05)
BALL = Sphere((0.47, 0.41, 0.63), 0.22)
FLOOR = HalfSpace((0, 0.12, 0), (0.1, 1, 0.05))
BAR = Box((-0.3, -0.06, -0.08), (0.3, 0.06, 0.08))

grids = pytest.mark.parametrize("grid", [GRID, FLAT], ids=["3d", "2d"])
every_weight = pytest.mark.parametrize("weights", WEIGHTS)


def spin(t):
    """Turns about a tilted axis while its centre drifts."""
    axis = np.array([0.3, -0.2, 0.9]) / np.linalg.norm([0.3, -0.2, 0.9])
    return Pose((0.5 + 0.1 * t, 0.4, 0.6 - 0.2 * t), (np.cos(t), *(np.sin(t) * axis)))


def turn(t):
    """The same in the plane of a 2-D scene."""
    return Pose((0.5 + 0.1 * t, 0.4, 0), (np.cos(t), 0, 0, np.sin(t)))


def slide(t):
    return Pose((0.2, 0.3 * t, 0.0))


def sides_of(grid):
    """All sides that may be open."""
    return [side for side in SIDES if not (grid.is_2d and side[1] == "z")]


def flat(points):
    return points.reshape(-1, 3)


@grids
def test_static_distance(grid):
    phi = measure(grid, [Liquid(BALL), Solid(BALL), Solid(FLOOR)]).phi
    assert phi.dtype == np.float32
    exact = (BALL | FLOOR).distance(flat(grid.node_points())).reshape(grid.node_shape)
    assert phi == pytest.approx(exact, abs=1e-6)


@grids
@every_weight
def test_static_solids_and_walls(grid, weights):
    boundary = measure(grid, [Solid(BALL)], 0.0, weights)
    free = open_fractions(boundary.phi, weights)
    for a in range(3):
        inner = tuple(slice(1, -1) if d == a else slice(None) for d in range(3))
        assert np.array_equal(boundary.open[a][inner], free[a][inner])
        assert not boundary.open[a].take([0, -1], axis=a).any()
        assert not boundary.velocity[a].any()
        assert boundary.open[a].dtype == boundary.velocity[a].dtype == np.float32


@grids
@pytest.mark.parametrize("side", SIDES)
def test_an_open_side_is_open_and_the_others_are_closed(grid, side):
    if side not in sides_of(grid):
        with pytest.raises(ValueError, match=rf"Solids: open_sides='\{side}', but a two-dimensional scene"):
            measure(grid, [], open_sides={side})
        return
    boundary = measure(grid, [Solid(FLOOR)], open_sides={side})
    free = open_fractions(boundary.phi, "area")
    for other in SIDES:
        a, index = "xyz".index(other[1]), 0 if other[0] == "-" else -1
        w, expected = (field[a].take(index, axis=a) for field in (boundary.open, free))
        assert np.array_equal(w, expected if other == side else 0 * expected)


@pytest.mark.parametrize("wrong", [{"top"}, "+y", None, [3]], ids=str)
def test_sides_there_are_not_are_refused(wrong):
    with pytest.raises(ValueError, match="Solids: open_sides="):
        Solids(GRID, [], open_sides=wrong)


def test_a_grid_that_does_not_fit_memory_is_refused_before_it_is_allocated():
    grid = Grid.from_size((1, 1, 1), 20000)
    with pytest.raises(ValueError, match=rf"20000 × 20000 × 20000 cells need {20000**3 * BYTES_PER_CELL} bytes"):
        Solids(grid, [Solid(BALL)])


def test_no_solids():
    boundary = measure(GRID, [])
    assert boundary.phi.min() > np.linalg.norm(GRID.size)
    assert boundary.open.x[1:-1].min() == 1
    assert boundary.open.x[0].max() == 0


@grids
def test_a_moving_solid_near_itself_is_exact_and_elsewhere_a_bound(grid):
    motion = turn if grid.is_2d else spin
    phi = measure(grid, [Solid(BAR, motion), Solid(FLOOR)], 0.4).phi
    shape = Moved(BAR, motion(0.4)) | FLOOR
    exact = shape.distance(flat(grid.node_points())).reshape(grid.node_shape)
    assert np.array_equal(phi < 0, exact.astype(np.float32) < 0)
    near = exact < 3 * grid.h
    assert phi[near] == pytest.approx(exact[near], abs=1e-6)
    assert np.all(phi <= exact + 1e-6)
    assert np.all(phi[~near] > 1.9 * grid.h)


@grids
@every_weight
def test_w_around_moving_solids_is_that_of_the_whole_grid(grid, weights):
    """Recomputing w only near what moves changes nothing."""
    motion = turn if grid.is_2d else spin
    items = [Solid(FLOOR), Solid(BAR, motion), Solid(BALL, slide)]
    boundary = measure(grid, items, 0.7, weights, open_sides=sides_of(grid))
    free = open_fractions(boundary.phi, weights)
    for a in range(2 if grid.is_2d else 3):
        assert np.array_equal(boundary.open[a], free[a])


@grids
@pytest.mark.parametrize("time", [0.0, 0.4])
def test_velocity_at_every_face_the_solid_touches(grid, time):
    """u_a = (v + ω × (x − p))_a at the face's centre, compared with points moved by the motion itself."""
    motion = turn if grid.is_2d else spin
    boundary = measure(grid, [Solid(BAR, motion)], time, open_sides=sides_of(grid))
    pose = motion(time)
    for a in range(2 if grid.is_2d else 3):
        points = flat(grid.face_points(a))
        body, step = pose.to_body(points), 1e-4
        rate = (
            motion(time - 2 * step).to_world(body)
            - 8 * motion(time - step).to_world(body)
            + 8 * motion(time + step).to_world(body)
            - motion(time + 2 * step).to_world(body)
        ) / (12 * step)
        touched = boundary.open[a].reshape(-1) < 1
        assert touched.sum() > 20
        assert boundary.velocity[a].reshape(-1)[touched] == pytest.approx(rate[touched, a], rel=1e-5, abs=1e-6)


def test_each_face_has_the_velocity_of_the_nearest_solid():
    """Two solids that move, in either order, and one that stands still between them."""

    def right(t):
        return Pose((2 * t, 0, 0), velocity=(2, 0, 0))

    def left(t):
        return Pose((-3 * t, 0, 0), velocity=(-3, 0, 0))

    solids = [
        Solid(Sphere((0.3, 0.4, 0.6), 0.15), right),
        Solid(Sphere((0.62, 0.4, 0.6), 0.15), left),
        Solid(Sphere((0.46, 0.55, 0.6), 0.08)),
    ]
    points = flat(GRID.face_points(0))
    distances = np.stack([solid.shape.distance(points) for solid in solids])
    expected = np.array([2.0, -3.0, 0.0])[distances.argmin(axis=0)]
    first, second = np.sort(distances, axis=0)[:2]
    for items in (solids, solids[::-1]):
        boundary = measure(GRID, items, 0.0)
        sure = (boundary.open.x.reshape(-1) < 1) & (second - first > 0.3 * GRID.h)
        sure &= (points[:, 0] > 0) & (points[:, 0] < GRID.size[0])
        assert sure.sum() > 300
        assert np.array_equal(boundary.velocity.x.reshape(-1)[sure], expected[sure].astype(np.float32))


def test_a_rod_through_a_wall_carries_its_own_volume():
    """(1 − w) u summed over a wall is the rod's cross-section times its speed, though the wall closes every face."""
    rod = Box((-1, 0.21, 0.33), (0.52, 0.47, 0.61))
    boundary = measure(GRID, [Solid(rod, lambda t: Pose((2 * t, 0, 0)))], 0.0)
    carried = ((1 - boundary.open.x[0]) * boundary.velocity.x[0]).sum() * GRID.h**2
    middle = ((1 - boundary.open.x[6]) * boundary.velocity.x[6]).sum() * GRID.h**2
    assert carried == pytest.approx(middle, rel=1e-5)
    assert carried == pytest.approx(2 * 0.26 * 0.28, rel=0.05)


def test_time_steps_do_not_leave_traces():
    """Measuring again after the solid has moved equals measuring it there first; static arrays stay what they were."""
    items = [Solid(FLOOR), Solid(BAR, spin), Solid(BALL, slide)]
    kept = Solids(GRID, items)
    for time in (0.0, 0.9, 0.3):
        again, fresh = kept.measure(time), measure(GRID, items, time)
        assert np.array_equal(again.phi, fresh.phi)
        for a in range(3):
            assert np.array_equal(again.open[a], fresh.open[a])
            assert np.array_equal(again.velocity[a], fresh.velocity[a])


def test_static_solids_are_measured_once():
    kept = Solids(GRID, [Solid(FLOOR)])
    assert kept.measure(0.0) is kept.measure(1.0)


def mirrored(motion):
    """The motion seen in a mirror at the middle of the domain's x: x, ω_y and ω_z change sign."""

    def mirror(t):
        x, y, z = motion(t).position
        w, i, j, k = motion(t).orientation
        return Pose((GRID.size[0] - x, y, z), (w, i, -j, -k))

    return mirror


@every_weight
def test_reflection(weights):
    """The mirrored scene measures to the mirrored arrays, with u_x reversed."""
    width = GRID.size[0]
    ball = Sphere((width - BALL.center[0], *BALL.center[1:]), BALL.radius)
    here = measure(GRID, [Solid(BALL), Solid(BAR, spin)], 0.3, weights, {"-x", "+y"})
    there = measure(GRID, [Solid(ball), Solid(BAR, mirrored(spin))], 0.3, weights, {"+x", "+y"})
    assert there.phi[::-1] == pytest.approx(here.phi, abs=1e-6)
    for a in range(3):
        if weights != "voxel":
            assert there.open[a][::-1] == pytest.approx(here.open[a], abs=1e-4)
        sign = -1 if a == 0 else 1
        touched = here.open[a] < 1
        assert sign * there.velocity[a][::-1][touched] == pytest.approx(here.velocity[a][touched], abs=1e-4)


@pytest.mark.parametrize("place", [(-5.0, 0.4, 0.6), (0.5, 9.0, 0.6), (-0.35, 0.4, 0.6), (1.33, 0.79, 1.5)])
def test_a_moving_solid_may_leave_the_domain(place):
    boundary = measure(GRID, [Solid(Sphere((0, 0, 0), 0.2), lambda t: Pose(place))], 0.0, open_sides=SIDES)
    exact = Sphere(place, 0.2).distance(flat(GRID.node_points())).reshape(GRID.node_shape)
    assert np.all(boundary.phi <= exact + 1e-6)
    assert np.array_equal(boundary.phi <= 0, exact <= 0)
    assert boundary.phi.min() > 0
    assert all(w.min() == 1 for w in boundary.open)


def test_a_moving_solid_without_bounds():
    """A floor that rises: its box is the whole domain, and every face has its velocity."""
    floor = HalfSpace((0, 0, 0), (0, 1, 0))
    boundary = measure(GRID, [Solid(floor, lambda t: Pose((0, 0.3 + 0.5 * t, 0)))], 0.1)
    assert boundary.phi == pytest.approx(GRID.node_points()[..., 1] - 0.35, abs=1e-6)
    assert boundary.velocity.y[:, 1:7] == pytest.approx(0.5)


def test_a_moving_mesh_measures_like_the_shape_it_is():
    mesh = trimesh.creation.box(bounds=[BAR.low, BAR.high])
    meshed = measure(GRID, [Solid(Mesh((mesh.vertices, mesh.faces)), spin)], 0.4)
    exact = measure(GRID, [Solid(BAR, spin)], 0.4)
    near = np.abs(exact.phi) < 2 * GRID.h
    assert meshed.phi[near] == pytest.approx(exact.phi[near], abs=1e-6)
    for a in range(3):
        assert meshed.open[a] == pytest.approx(exact.open[a], abs=1e-4)
        touched = exact.open[a] < 1
        assert meshed.velocity[a][touched] == pytest.approx(exact.velocity[a][touched], abs=1e-6)


def test_a_bad_motion_is_named_when_it_goes_bad():
    def motion(t):
        return Pose((0.5, 0.5 if t < 1 else float("nan"), 0.5))

    solids = Solids(GRID, [Liquid(BALL), Solid(Torus((0, 0, 0), (0, 1, 0), 0.2, 0.05), motion)])
    solids.measure(0.5)
    with pytest.raises(ValueError, match=r"items\[1\] Solid\(Torus\): motion\(2\): Pose: position=\(0.5, nan, 0.5\)"):
        solids.measure(2.0)


@grids
def test_liquid_distance(grid):
    items = [Liquid(BALL), Solid(FLOOR), Liquid(BAR)]
    phi = liquid_distance(grid, items)
    assert phi.shape == grid.shape
    assert phi.dtype == np.float32
    assert phi == pytest.approx((BALL | BAR).distance(flat(grid.cell_points())).reshape(grid.shape), abs=1e-6)
    assert liquid_distance(grid, [Solid(FLOOR)]).min() > np.linalg.norm(grid.size)
