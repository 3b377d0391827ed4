"""Motion with the flow: orders, walls, and what must not happen at steps of many cells."""

import os
import subprocess
import sys

import numpy as np
import pytest

from grid.turning import TURNS, turn, turn_faces
from paddlewheel.grid.centroid import interpolate, open_centroids
from paddlewheel.grid.fractions import open_fractions
from paddlewheel.items import Solid
from paddlewheel.measure import Solids, measure
from paddlewheel.physics.advect import DEEPEST, move, semi_lagrangian
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import SIDES, Boundary, Faces, Grid, Passing

GRID = Grid((24, 20, 16), 0.05)
FLAT = Grid((24, 20, 1), 0.05)
grids = pytest.mark.parametrize("grid", [GRID, FLAT], ids=["3-D", "2-D"])
every_scheme = pytest.mark.parametrize("stages", [1, 2, 3])


def no_solids(grid):
    return Boundary(np.full(grid.node_shape, 99, np.float32), grid.zeros_faces(), grid.zeros_faces())


def constant(grid, vector):
    return Faces(*(np.full(grid.face_shape(a), v, np.float32) for a, v in enumerate(vector)))


def sampled(grid, function):
    """The components of function(points) -> (..., 3) on the faces."""
    return Faces(*(function(grid.face_points(a))[..., a].astype(np.float32) for a in range(3)))


def random_faces(rng, grid):
    u = Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    if grid.is_2d:
        u.z[:] = 0
    return u


def scattered(rng, grid, n):
    return (rng.random((n, 3)) * grid.size).astype(np.float32)


def fitted_order(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def rotation(grid, omega=1.0):
    """Rigid rotation about the middle of the box, in the plane of x and y."""
    middle = 0.5 * np.array(grid.size)
    return lambda x: np.cross((0, 0, omega), x - middle)


@grids
@every_scheme
def test_particles_in_a_uniform_flow_move_exactly(grid, stages):
    rng = np.random.default_rng(1)
    start = (np.array(grid.size) * (0.3 + 0.3 * rng.random((5000, 3)))).astype(np.float32)
    flow = np.array([0.31, -0.17, 0.0 if grid.is_2d else 0.23], np.float32)
    position = start.copy()
    assert move(grid, position, constant(grid, flow), no_solids(grid), 0.7, stages=stages) == 0
    exact = (start.astype(float) + 0.7 * flow.astype(float)).astype(np.float32)
    if grid.is_2d:
        exact[:, 2] = 0.5 * grid.h
    assert position == pytest.approx(exact, abs=1.3e-7)  # one rounding of the position, one of the interpolation


@grids
@pytest.mark.parametrize(("stages", "order"), [(1, 1), (2, 2), (3, 3)])
def test_order_of_a_rotation(grid, stages, order):
    """The field is linear, so interpolation is exact and all error is the integrator's."""
    middle = 0.5 * np.array(grid.size)
    u, steps, errors = sampled(grid, rotation(grid)), (4, 6, 9, 13), []
    angle = np.linspace(0, 2 * np.pi, 50)
    start = middle + 0.3 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    exact = middle + 0.3 * np.stack([np.cos(angle + 2), np.sin(angle + 2), 0 * angle], axis=-1)
    for n in steps:
        position = start.astype(np.float32)
        for _ in range(n):
            move(grid, position, u, no_solids(grid), 2 / n, stages=stages)
        errors.append(np.abs(position - exact).max())
        radius = np.linalg.norm(position - middle, axis=-1)
        assert np.abs(radius - 0.3).max() <= errors[-1]
    assert fitted_order(2 / np.array(steps), errors) == pytest.approx(order, abs=0.3)


@grids
def test_closed_sides_keep_particles_and_open_ones_let_them_go(grid):
    rng = np.random.default_rng(2)
    axes = "xy" if grid.is_2d else "xyz"
    for side in (s for s in SIDES if s[1] in axes):
        a, sign = "xyz".index(side[1]), 1 if side[0] == "+" else -1
        u = constant(grid, [sign * (b == a) for b in range(3)])
        size = np.array(grid.size)
        for open_sides in (frozenset(), {side}):
            position = scattered(rng, grid, 3000)
            move(grid, position, u, no_solids(grid), 0.4, open_sides=open_sides)
            inside = ((position > 0) & (position < size.astype(np.float32))).all(axis=1)
            assert inside.all() == (not open_sides)
            assert inside.any()


@grids
def test_no_particle_ends_in_a_solid_or_beyond_a_wall(grid):
    """Random flow at 5 cells a step and more, against a ball and a slope that meets the sides."""
    rng = np.random.default_rng(3)
    middle = 0.5 * np.array(grid.size)
    slope = HalfSpace((0, 0.2, 0), (0.4, 1, 0 if grid.is_2d else 0.2))
    solid = measure(grid, [Solid(Sphere(middle, 0.22)), Solid(slope)])
    position = scattered(rng, grid, 20000)
    if grid.is_2d:
        position[:, 2] = 0.5 * grid.h
    position = position[phi_at(grid, solid, position) >= 0]
    for _ in range(6):
        u = random_faces(rng, grid)
        assert move(grid, position, u, solid, 5 * grid.h) == 0
        assert phi_at(grid, solid, position).min() >= 0
        assert position.min() > 0
        assert (position < np.array(grid.size, np.float32)).all()


def phi_at(grid, solid, points):
    """Trilinear φ [m] at points, by NumPy in float64."""
    x = np.clip(points.astype(float) / grid.h, 0, np.array(grid.shape))
    i = np.minimum(x.astype(int), np.array(grid.shape) - 1)
    f = x - i
    out = np.zeros(len(x))
    for corner in np.ndindex(2, 2, 2):
        weight = np.where(corner, f, 1 - f).prod(axis=1)
        out += weight * solid.phi[tuple((i + corner).T)]
    return out


@pytest.mark.parametrize("cells", [2.0, 1.5, 1.0])
@pytest.mark.parametrize("normal", [(1, 0, 0), (1, 1, 0), (0.48, 0.8, 0.36), (1, 1, 1), (0.97, 0.2, 0.1)])
def test_nothing_tunnels_through_a_wall(normal, cells):
    """At 7 cells a step straight at it, from wherever, the wall wherever it stands between the nodes."""
    rng = np.random.default_rng(4)
    normal = np.array(normal) / np.linalg.norm(normal)
    u = constant(GRID, 7 * GRID.h * normal)
    for _ in range(5):
        at = 0.5 * np.array(GRID.size) + GRID.h * rng.random(3)
        wall = HalfSpace(at, normal) & HalfSpace(at - cells * GRID.h * normal, -normal)
        solid = measure(GRID, [Solid(wall)])
        position = scattered(rng, GRID, 20000)
        position = position[(position - at) @ normal < -(cells + 0.02) * GRID.h]
        start = position.copy()
        for _ in range(2):
            move(GRID, position, u, solid, 1.0)
        beyond = (position - at) @ normal > -0.5 * cells * GRID.h
        assert beyond.sum() == 0
        assert np.linalg.norm(position - start, axis=1).max() > 5 * GRID.h


def test_a_wall_one_cell_thick_between_the_nodes_stops_particles():
    """Its φ is zero at the nodes on both sides: nowhere negative."""
    solid = measure(GRID, [Solid(Box((0.5, -1, -1), (0.55, 9, 9)))])
    assert solid.phi.min() == 0
    rng = np.random.default_rng(5)
    position = scattered(rng, GRID, 20000)
    position = position[position[:, 0] < 0.5]
    position[:50, 0] = 0.5  # on its very surface
    move(GRID, position, constant(GRID, (0.35, 0.1, 0.05)), solid, 1.0)
    assert position[:, 0].max() <= 0.5


@grids
@every_scheme
def test_particles_slide_along_a_slope(grid, stages):
    """Thrown at a wall they lose what is normal to it and keep what is tangential."""
    normal = np.array([0.6, 0.8, 0.0])
    at = 0.4 * np.array(grid.size)
    solid = measure(grid, [Solid(HalfSpace(at, normal))])
    flow = np.array([0.5, -0.5, 0.0])
    rng = np.random.default_rng(6)
    start = scattered(rng, grid, 20000)
    start[:, 2] = 0.5 * grid.h
    depth = (start - at) @ normal
    start = start[(depth > 0) & (depth < 0.02) & (start[:, 0] > 0.1) & (start[:, 0] < 0.7) & (start[:, 1] > 0.3)]
    position = start.copy()
    assert len(start) > 100
    assert move(grid, position, constant(grid, flow), solid, 0.4, stages=stages) == 0
    went = position.astype(float) - start
    along = np.array([0.8, -0.6, 0.0])
    assert went @ along == pytest.approx(0.4 * flow @ along, abs=1e-3 * grid.h)
    final = (position - at) @ normal
    assert final.min() > 0
    assert final.max() < 0.01 * grid.h


def test_particles_that_a_piston_has_moved_onto_go_with_the_flow():
    """The piston is measured after its step; fluid that moves with it ends where it would have without it, outside."""
    piston = measure(GRID, [Solid(Box((-9, -9, -9), (0.4, 9, 9)))])
    rng = np.random.default_rng(7)
    position = scattered(rng, GRID, 5000)
    position = position[(position[:, 0] > 0.31) & (position[:, 0] < 0.8)]
    start = position.copy()
    assert move(GRID, position, constant(GRID, (0.1, 0, 0)), piston, 1.0) == 0
    assert position[:, 0] == pytest.approx(start[:, 0] + 0.1, abs=1e-6)
    move(GRID, start, constant(GRID, (0.0, 0, 0)), piston, 1.0)  # and at rest it is pushed out
    assert start[:, 0].min() >= 0.4


def test_particles_too_deep_are_left_and_counted():
    solid = measure(GRID, [Solid(Sphere((0.6, 0.5, 0.4), 0.3))])
    depths = np.array([0.5, 2.0, 2.8, 3.3, 4.5]) * GRID.h
    direction = np.array([0.6, 0.64, 0.48])
    direction /= np.linalg.norm(direction)
    start = ([0.6, 0.5, 0.4] + (0.3 - depths)[:, None] * direction).astype(np.float32)
    position = start.copy()
    assert DEEPEST == 3
    assert move(GRID, position, GRID.zeros_faces(), solid, 1.0) == 2
    assert np.array_equal(position[3:], start[3:])
    assert phi_at(GRID, solid, position[:3]).min() >= 0
    went = position[:3] - start[:3]
    assert went @ direction == pytest.approx(depths[:3], abs=0.1 * GRID.h)


def test_wedges_between_a_slope_and_a_side():
    """The slope leans over the side, so the way out along its normal leads out of the domain."""
    solid = measure(GRID, [Solid(HalfSpace((0.15, 0.5, 0.4), (-0.6, 0.75, 0)))])
    position = scattered(np.random.default_rng(8), GRID, 20000)
    position = position[phi_at(GRID, solid, position) >= 0]
    for _ in range(3):
        assert move(GRID, position, constant(GRID, (0.1, -0.4, 0)), solid, 1.0) == 0
        assert phi_at(GRID, solid, position).min() >= 0
        assert position.min() > 0


def test_centroids_change_the_motion_beside_a_slope_only():
    """A shear along the slope, sampled at centroids, moves particles along straight lines at their own speed."""
    normal, at = np.array([0.28, 0.96, 0.0]), np.array([0.6, 0.45, 0.0])
    phi = ((FLAT.node_points() - at) @ normal).astype(np.float32)
    centroids, along = open_centroids(phi), np.array([0.96, -0.28, 0.0])

    def shear(x):
        return (((x - at) @ normal) / FLAT.h)[..., None] * along

    u = []
    for a in range(3):
        points = FLAT.face_points(a)
        points[..., (a + 1) % 3] += FLAT.h * centroids.first[a]
        points[..., (a + 2) % 3] += FLAT.h * centroids.second[a]
        u.append(np.where(centroids.area[a] > 0, shear(points)[..., a], 0).astype(np.float32))
    u, boundary = Faces(*u), Boundary(phi, open_fractions(phi, "area"), FLAT.zeros_faces())
    rng = np.random.default_rng(9)
    start = np.stack([0.2 + 0.6 * rng.random(500), np.zeros(500), np.full(500, 0.5 * FLAT.h)], axis=-1)
    depth = rng.random(500) * FLAT.h
    start[:, 1] = at[1] - (start[:, 0] - at[0]) * normal[0] / normal[1] + depth / normal[1]
    exact = start + 0.1 * shear(start)
    errors = []
    for c in (None, centroids):
        position = start.astype(np.float32)
        move(FLAT, position, u, boundary, 0.1, centroids=c)
        errors.append(np.abs(position - exact).max())
    assert errors[1] < 0.05 * errors[0]
    far = start + 3 * FLAT.h * normal
    assert np.array_equal(interpolate(FLAT, u, far), interpolate(FLAT, u, far, centroids))


@grids
@every_scheme
def test_a_constant_field_stays_when_it_moves_with_itself(grid, stages):
    u = constant(grid, (0.3, -0.7, 0.1))
    for before, after in zip(u, semi_lagrangian(grid, u, 0.4, stages=stages), strict=True):
        assert after == pytest.approx(before, rel=3e-7)


@pytest.mark.parametrize(("stages", "order"), [(2, 3), (3, 4)])
def test_a_linear_field_is_exact_up_to_the_order_of_the_trace(stages, order):
    """u = A x moved with itself for dt along frozen u is A exp(−A dt) x: a step is off by dt to the order plus one."""
    rng = np.random.default_rng(10)
    slope, middle = rng.standard_normal((3, 3)), 0.5 * np.array(GRID.size)
    u, steps, errors = sampled(GRID, lambda x: (x - middle) @ slope.T), (0.4, 0.3, 0.2), []
    for dt in steps:
        power, exact = np.eye(3), np.zeros((3, 3))
        for n in range(1, 20):
            exact, power = exact + power, power @ (-dt * slope) / n
        after = semi_lagrangian(GRID, u, dt, stages=stages)
        errors.append(0.0)
        for a in range(3):
            x = GRID.face_points(a) - middle
            near = np.linalg.norm(x, axis=-1) < 0.15
            errors[-1] = max(errors[-1], np.abs(after[a] - (x @ (slope @ exact).T)[..., a])[near].max())
    assert fitted_order(steps, errors) == pytest.approx(order, abs=0.4)


@pytest.mark.parametrize("how", TURNS)
def test_turning_turns_both(how):
    rng = np.random.default_rng(11)
    grid = Grid((8, 8, 8), 0.125)
    u, phi = random_faces(rng, grid), turn(measure(grid, [Solid(Sphere((0.4, 0.55, 0.6), 0.2))]).phi, "point")
    turned = turn_faces(u, how, vector=True)
    after = turn_faces(semi_lagrangian(grid, u, 0.1), how, vector=True)
    for a, b in zip(semi_lagrangian(grid, turned, 0.1), after, strict=True):
        assert a == pytest.approx(b, abs=1e-5)

    axes, flipped = TURNS[how]
    start = scattered(rng, grid, 2000)

    def turn_points(x):
        x = x[:, axes].copy()
        x[:, list(flipped)] = 1 - x[:, list(flipped)]
        return x

    one, two = start.copy(), turn_points(start)
    move(grid, one, u, Boundary(phi, u, u), 0.1)
    move(grid, two, turned, Boundary(turn(phi, how), u, u), 0.1)
    difference = np.abs(turn_points(one) - two).max(axis=1)
    assert np.count_nonzero(difference > 1e-5) <= 2  # rounding may decide whether a stride meets the ball


def test_only_chosen_faces_are_traced():
    rng = np.random.default_rng(12)
    u, where = random_faces(rng, GRID), Faces(*(rng.random(GRID.face_shape(a)) < 0.3 for a in range(3)))
    everywhere, some = semi_lagrangian(GRID, u, 0.05), semi_lagrangian(GRID, u, 0.05, where=where)
    for a in range(3):
        assert np.array_equal(some[a], np.where(where[a], everywhere[a], u[a]))
        assert not np.array_equal(some[a], u[a])


def test_where_the_flow_comes_from_beyond_a_side_the_side_counts():
    u = sampled(GRID, lambda x: np.stack([1 + x[..., 0], 0 * x[..., 0], 0 * x[..., 0]], axis=-1))
    after = semi_lagrangian(GRID, u, 0.5)
    assert after.x[:4] == pytest.approx(1.0)
    assert (after.x[20] < u.x[20]).all()


def everything():
    """The results of the public functions on tiny grids, one of them 2-D."""
    results = {}
    for grid in (Grid((5, 4, 3), 0.25), Grid((5, 4, 1), 0.25)):
        rng = np.random.default_rng(13)
        u = random_faces(rng, grid)
        solids = Solids(grid, [Solid(Sphere((0.6, 0.5, 0.125), 0.3))])
        solid = solids.measure(0.0)
        for stages in (2, 3):
            for a, after in enumerate(semi_lagrangian(grid, u, 0.2, stages=stages)):
                results[f"{grid.shape} {stages} {a}"] = after
            position = scattered(np.random.default_rng(14), grid, 40)
            inside = move(grid, position, u, solid, 0.3, open_sides={"+x"}, stages=stages, centroids=None)
            results[f"{grid.shape} {stages} move"] = np.append(position, np.float32(inside))
            pushed = solids.push_out(position, solid, 0.0).inside
            results[f"{grid.shape} {stages} push_out"] = np.append(position, np.float32(pushed))
        centroids = open_centroids(solid.phi)
        move(grid, position, u, solid, 0.3, centroids=centroids)
        results[f"{grid.shape} centroids"] = interpolate(grid, u, position, centroids)
    return results


def test_plain_python_gives_the_same(tmp_path):
    file = tmp_path / "plain.npz"
    paths = os.pathsep.join(p for p in sys.path if p)
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    subprocess.run([sys.executable, __file__, str(file)], check=True, env=environment, timeout=120)
    plain, compiled = np.load(file), everything()
    assert set(plain) == set(compiled)
    for name, field in compiled.items():
        assert field == pytest.approx(plain[name], rel=1e-4, abs=1e-5), name


def test_threads_do_not_matter(on_threads):
    solid = measure(GRID, [Solid(Sphere((0.6, 0.5, 0.4), 0.25))])
    u, start = random_faces(np.random.default_rng(15), GRID), scattered(np.random.default_rng(16), GRID, 30000)

    def moved():
        position = start.copy()
        return position, move(GRID, position, u, solid, 0.2)

    (one, few), (two, many) = on_threads(1, moved), on_threads(4, moved)
    assert np.array_equal(one, two)
    assert few == many
    fields = [on_threads(n, semi_lagrangian, GRID, u, 0.1) for n in (1, 4)]
    assert all(np.array_equal(a, b) for a, b in zip(*fields, strict=True))


@grids
def test_no_particles(grid):
    position = np.empty((0, 3), np.float32)
    assert move(grid, position, grid.zeros_faces(), no_solids(grid), 0.1) == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_particles_without_a_place_are_told(value):
    u, position = constant(GRID, (0.1, 0, 0)), scattered(np.random.default_rng(17), GRID, 10)
    position[3, 1] = value
    with pytest.raises(ValueError, match="1 of 10 particles have no finite position or velocity"):
        move(GRID, position, u, no_solids(GRID), 0.1)
    u.x[:] = value
    with pytest.raises(ValueError, match="10 of 10 particles"):
        move(GRID, position, u, no_solids(GRID), 0.1)
    everywhere = Passing(np.zeros(GRID.shape, np.int16), np.zeros((1, 3, 3)), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="10 of 10 particles"):
        move(GRID, position, u, no_solids(GRID), 0.1, passing=everywhere)


def test_a_field_that_is_not_finite_is_not_hidden():
    u = constant(GRID, (0.1, 0, 0))
    u.y[5, 5, 5] = np.nan
    after = semi_lagrangian(GRID, u, 0.1)
    assert np.isnan(after.x[5:7, 4:6, 5]).all()
    assert np.isfinite(after.x[12:]).all()


def test_bad_input_is_named():
    u, position = GRID.zeros_faces(), np.zeros((2, 3), np.float32)
    for bad in (position.astype(float), position[0], position.repeat(2, axis=1)[:, ::2]):
        with pytest.raises(ValueError, match="expected contiguous float32"):
            move(GRID, bad, u, no_solids(GRID), 0.1)
    with pytest.raises(ValueError, match="stages=4"):
        move(GRID, position, u, no_solids(GRID), 0.1, stages=4)
    with pytest.raises(ValueError, match="dt=nan"):
        semi_lagrangian(GRID, u, np.nan)
    with pytest.raises(ValueError, match="another grid"):
        move(GRID, position, u, no_solids(FLAT), 0.1)
    with pytest.raises(ValueError, match=r"velocity.x has shape"):
        move(FLAT, position, u, no_solids(FLAT), 0.1)
    with pytest.raises(ValueError, match="open_sides="):
        move(GRID, position, u, no_solids(GRID), 0.1, open_sides={"up"})
    with pytest.raises(ValueError, match="open_sides="):
        move(GRID, position, u, no_solids(GRID), 0.1, open_sides="+x")
    with pytest.raises(ValueError, match=r"where.x has shape"):
        semi_lagrangian(GRID, u, 0.1, where=Faces(*(w == 0 for w in FLAT.zeros_faces())))


if __name__ == "__main__":
    np.savez(sys.argv[1], **everything())
