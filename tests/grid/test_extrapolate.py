"""Velocity in closed faces: continued, and slipping along the solid."""

import numpy as np
import pytest
from scipy import ndimage
from turning import TURNS, turn, turn_faces

from paddlewheel.grid.extrapolate import constrain, extrapolate
from paddlewheel.grid.fractions import open_fractions
from paddlewheel.types import Boundary, Faces, Grid

GRID = Grid((12, 10, 8), 0.1)


def random_faces(rng, grid=GRID):
    return Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))


def constant(grid, vector):
    return Faces(*(np.full(grid.face_shape(a), v, np.float32) for a, v in enumerate(vector)))


def sample(grid, function):
    """The components of function(points) -> (..., 3) on the faces."""
    return Faces(*(function(grid.face_points(a))[..., a].astype(np.float32) for a in range(3)))


def boundary(grid, phi, velocity=None, closed_sides=False):
    open = open_fractions(phi, "area")
    if closed_sides:
        for a in range(3):
            np.moveaxis(open[a], a, 0)[[0, -1]] = 0
    return Boundary(phi.astype(np.float32), open, velocity or grid.zeros_faces())


def fitted_order(sizes, errors):
    return -np.polyfit(np.log(sizes), np.log(errors), 1)[0]


def interior(faces):
    return [np.moveaxis(f, a, 0)[1:-1] for a, f in enumerate(faces)]


@pytest.mark.parametrize("layers", [0, 1, 4])
def test_fills_as_many_layers_as_asked(layers):
    """Against scipy's dilation by the six neighbours; a constant stays what it is."""
    rng = np.random.default_rng(1)
    known = Faces(*(rng.random(GRID.face_shape(a)) < 0.01 for a in range(3)))
    u = Faces(*(np.where(k, np.float32(2.5), np.float32(-9)) for k in known))
    for k, v, told in zip(known, *extrapolate(u, known, layers), strict=True):
        reached = ndimage.binary_dilation(k, iterations=layers) if layers else k
        assert np.array_equal(told, reached)
        assert np.array_equal(v, np.where(reached, 2.5, 0))


def test_a_layer_is_the_mean_of_those_before():
    known = Faces(*(np.zeros(GRID.face_shape(a), bool) for a in range(3)))
    u = random_faces(np.random.default_rng(2))
    known.y[4, 4, 4] = known.y[6, 4, 4] = known.y[5, 5, 4] = True
    (one, _), (two, _) = extrapolate(u, known, 1), extrapolate(u, known, 2)
    assert one.y[5, 4, 4] == pytest.approx((u.y[4, 4, 4] + u.y[6, 4, 4] + u.y[5, 5, 4]) / 3)
    assert one.y[3, 4, 4] == u.y[4, 4, 4]
    # in the second layer the first counts as known, and nothing filled in the second does
    assert two.y[5, 3, 4] == pytest.approx((one.y[5, 4, 4] + one.y[4, 3, 4] + one.y[6, 3, 4]) / 3)
    assert not one.x.any()


@pytest.mark.parametrize("how", TURNS)
def test_turning_turns_the_extrapolation(how):
    rng = np.random.default_rng(3)
    u, known = random_faces(rng), Faces(*(rng.random(GRID.face_shape(a)) < 0.1 for a in range(3)))
    turned, _ = extrapolate(turn_faces(u, how, vector=True), Faces(*(turn_faces(known, how, vector=False))), 3)
    for a, b in zip(turned, turn_faces(extrapolate(u, known, 3)[0], how, vector=True), strict=True):
        assert a == pytest.approx(b, abs=1e-6)


def test_what_was_not_reached_is_not_constrained():
    rng = np.random.default_rng(5)
    u, solid = random_faces(rng), boundary(GRID, rng.standard_normal(GRID.node_shape) - 0.5)
    reached = Faces(*(rng.random(GRID.face_shape(a)) < 0.5 for a in range(3)))
    some, everywhere = constrain(u, solid, reached), constrain(u, solid)
    for before, v, w, at in zip(interior(u), interior(some), interior(everywhere), interior(reached), strict=True):
        assert np.array_equal(v, np.where(at, w, before))
        assert (w != before).any()


def test_inputs_are_left_alone():
    rng = np.random.default_rng(4)
    u, known = random_faces(rng), Faces(*(rng.random(GRID.face_shape(a)) < 0.5 for a in range(3)))
    solid = boundary(GRID, rng.standard_normal(GRID.node_shape) - 0.5)
    before = [v.copy() for v in u]
    extrapolate(u, known, 2)
    constrain(u, solid)
    assert all(np.array_equal(a, b) for a, b in zip(u, before, strict=True))


@pytest.mark.parametrize("grid", [GRID, Grid((12, 10, 1), 0.1)], ids=["3-D", "2-D"])
def test_flow_along_an_oblique_wall_is_kept_and_flow_into_it_stopped(grid):
    normal = np.array([0.6, 0.8, 0.0]) if grid.is_2d else np.array([0.48, 0.8, 0.36])
    solid = boundary(grid, (grid.node_points() - 0.5 * np.array(grid.size)) @ normal)
    assert sum((w == 0).sum() for w in solid.open) > 50
    along = np.cross(normal, [0.3, -0.2, 0.9])
    if grid.is_2d:
        along[2] = 0
    for into in (0.0, -1.3, 0.7):
        after = constrain(constant(grid, along + into * normal), solid)
        for a, (u, w) in enumerate(zip(interior(after), interior(solid.open), strict=True)):
            assert u[w == 0] == pytest.approx(along[a], abs=1e-5)
            assert u[w > 0] == pytest.approx((along + into * normal)[a], abs=1e-6)


def test_moving_wall_gives_its_normal_velocity():
    normal = np.array([0.48, 0.8, 0.36])
    moves, flows = np.array([0.5, -1.0, 0.25]), np.array([-0.2, 0.3, 0.9])
    solid = boundary(GRID, (GRID.node_points() - 0.5) @ normal, constant(GRID, moves))
    expected = flows - (flows - moves) @ normal * normal
    for a, (u, w) in enumerate(
        zip(interior(constrain(constant(GRID, flows), solid)), interior(solid.open), strict=True)
    ):
        assert u[w == 0] == pytest.approx(expected[a], abs=1e-5)


def test_fluid_that_moves_with_the_solid_stays_as_it_is():
    """Whatever the shape, and so whatever the normal."""
    u = constant(GRID, (0.5, -1.0, 0.25))
    phi = np.random.default_rng(5).standard_normal(GRID.node_shape) - 0.5
    for before, after in zip(u, constrain(u, boundary(GRID, phi, u)), strict=True):
        assert after == pytest.approx(before, abs=1e-6)


def rotation(grid, omega):
    """Rigid rotation about the axis through the middle of a 2-D grid, ω [1/s]."""
    return sample(grid, lambda x: np.cross([0, 0, omega], x - 0.5 * np.array(grid.size)))


def cylinder(grid):
    """Signed distance at nodes to a cylinder about the same axis."""
    return np.linalg.norm((grid.node_points() - 0.5 * np.array(grid.size))[..., :2], axis=-1) - 0.3


def test_cylinder_turning_with_the_fluid_changes_nothing():
    grid = Grid((24, 24, 1), 1 / 24)
    u = rotation(grid, 2.0)
    for before, after in zip(u, constrain(u, boundary(grid, cylinder(grid), u)), strict=True):
        assert after == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize(("omega", "omega_solid"), [(2.0, 0.0), (0.0, 3.0), (1.0, -1.0)])
def test_cylinder_turning_in_the_fluid_does_not_drag_it(omega, omega_solid):
    """Rotation is tangential to the cylinder, so the fluid keeps its own, to second order in the normal."""
    errors, sizes = [], (24, 48, 96)
    for n in sizes:
        grid = Grid((n, n, 1), 1 / n)
        u, solid = rotation(grid, omega), boundary(grid, cylinder(grid), rotation(grid, omega_solid))
        errors.append(0.0)
        for a, after in enumerate(constrain(u, solid)):
            x = grid.face_points(a) - 0.5
            shell = np.hypot(x[..., 0], x[..., 1]) > 0.2
            errors[-1] = max(errors[-1], np.abs(after - u[a])[shell].max())
    assert errors[-1] < 1e-3
    assert fitted_order(sizes, errors) > 1.8


def test_flow_past_a_sphere_is_tangential_to_it_to_second_order():
    """In the shell of closed faces a uniform flow e becomes e − (e·n) n."""
    errors, sizes = [], (16, 32, 64)
    for n in sizes:
        grid = Grid((n, n, n), 1 / n)
        solid = boundary(grid, np.linalg.norm(grid.node_points() - 0.5, axis=-1) - 0.35)
        after = constrain(constant(grid, (1, 0, 0)), solid)
        errors.append(0.0)
        for a in range(3):
            x = grid.face_points(a) - 0.5
            r = np.linalg.norm(x, axis=-1)
            exact = (a == 0) - x[..., 0] * x[..., a] / np.maximum(r, grid.h) ** 2
            shell = (solid.open[a] == 0) & (r > 0.25)
            errors[-1] = max(errors[-1], np.abs(after[a] - exact)[shell].max())
    assert errors[-1] < 1e-3
    assert fitted_order(sizes, errors) > 1.8


def test_closed_sides_of_the_domain_have_the_wall_velocity_exactly():
    """φ knows nothing of the domain's walls, neither in the open nor where a solid touches them."""
    u = random_faces(np.random.default_rng(6))
    phi = (GRID.node_points() - 0.4) @ np.array([0.48, 0.8, 0.36])
    solid = boundary(GRID, phi, closed_sides=True)
    for a, after in enumerate(constrain(u, solid)):
        w = solid.open[a]
        assert np.array_equal(after[w > 0], u[a][w > 0])
        assert np.all(np.moveaxis(after, a, 0)[[0, -1]] == 0)
    free = constrain(u, boundary(GRID, np.ones(GRID.node_shape)))  # open sides: nothing to do
    assert all(np.array_equal(a, b) for a, b in zip(free, u, strict=True))


def test_without_a_normal_the_solid_velocity_is_taken():
    """In the middle of a slab, and where φ is constant."""
    moves = constant(GRID, (0.5, -1.0, 0.25))
    slab = np.abs(GRID.node_points()[..., 0] - 0.6) - 0.35
    after = constrain(random_faces(np.random.default_rng(7)), boundary(GRID, slab, moves))
    assert np.all(after.x[6] == 0.5)
    after = constrain(random_faces(np.random.default_rng(7)), boundary(GRID, np.full(GRID.node_shape, -1.0), moves))
    assert all(np.array_equal(a, b) for a, b in zip(after, moves, strict=True))


@pytest.mark.parametrize("how", TURNS)
def test_turning_turns_the_constraint(how):
    rng = np.random.default_rng(8)
    u, solid = random_faces(rng), boundary(GRID, rng.standard_normal(GRID.node_shape) - 0.5, random_faces(rng))
    turned = Boundary(
        turn(solid.phi, how), turn_faces(solid.open, how, vector=False), turn_faces(solid.velocity, how, vector=True)
    )
    after = turn_faces(constrain(u, solid), how, vector=True)
    for a, b in zip(constrain(turn_faces(u, how, vector=True), turned), after, strict=True):
        assert a == pytest.approx(b, abs=1e-5)


def test_threads_do_not_matter(on_threads):
    rng = np.random.default_rng(9)
    grid = Grid((31, 7, 6), 0.1)
    u, solid = random_faces(rng, grid), boundary(grid, rng.standard_normal(grid.node_shape) - 0.5)
    known = Faces(*(w > 0 for w in solid.open))

    def both():
        return *extrapolate(u, known, 5), constrain(u, solid)

    for alone, together in zip(*(on_threads(n, both) for n in (1, 4)), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_bad_input_is_named():
    u = GRID.zeros_faces()
    known = Faces(*(v == 0 for v in u))
    with pytest.raises(ValueError, match="layers=-1"):
        extrapolate(u, known, -1)
    with pytest.raises(ValueError, match="expected the same grid"):
        extrapolate(u, Faces(*(v == 0 for v in Grid((3, 3, 3), 1.0).zeros_faces())), 1)
    with pytest.raises(ValueError, match="do not belong to one grid"):
        constrain(u, boundary(Grid((3, 3, 3), 1.0), np.ones((4, 4, 4))))
