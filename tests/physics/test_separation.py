"""Liquid that may leave walls: complementary, never a gain of energy, and the linear solution where nothing leaves."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import zoo
from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.pressure import assemble, project
from paddlewheel.physics.separation import around, keep_leaving, touching
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import Boundary, Faces, Grid
from reference import matrix

KINDS = ["tilted wall", "booleans", "flat ball", "open sides", "drops", "porous", "closed pockets", "full tank"]


def separated(case, **options):
    return project(*case, separating=touching(case.boundary), **options)


def beside(field, axis, fill):
    """A field at cells, below and above each face of an axis; `fill` beyond the sides."""
    pad = [(1, 1) if a == axis else (0, 0) for a in range(3)]
    wide = np.moveaxis(np.pad(field, pad, constant_values=fill), axis, 0)
    return np.moveaxis(wide[:-1], 0, axis), np.moveaxis(wide[1:], 0, axis)


def kinetic_energy(case, velocity):
    """½ uᵀ M u per density and h³, in the metric that the pressure minimises: w θ at the surface, w elsewhere."""
    total = 0.0
    for a in range(3):
        below, above = beside(case.phi.astype(float), a, np.nan)
        below, above = np.where(np.isnan(below), np.abs(above), below), np.where(np.isnan(above), np.abs(below), above)
        low, high = np.minimum(below, above), np.maximum(below, above)
        theta = np.where(high < 0, 1.0, np.maximum(low / np.minimum(low - high, -1e-30), 1e-6))
        total += 0.5 * (case.boundary.open[a] * theta * velocity[a].astype(float) ** 2)[low < 0].sum()
    return total


def outflow(case, velocity):
    """Net outflow of each cell, per h²."""
    total = np.zeros(case.grid.shape)
    for a in range(3):
        w = case.boundary.open[a].astype(float)
        total += np.diff(w * velocity[a] + (1 - w) * case.boundary.velocity[a], axis=a)
    return total


def figure6(cells):
    """A ball of water about to splash against a wall, above a pool, in 2-D."""
    grid = Grid((cells, cells, 1), 1.0 / cells)
    x, y, _ = np.moveaxis(grid.cell_points(), -1, 0)
    phi = np.minimum(np.hypot(x - 0.1, y - 0.6) - 0.2, y - 0.1).astype(np.float32)
    velocity = Faces(*(np.zeros(grid.face_shape(a), np.float32) for a in range(3)))
    points = grid.face_points(0)
    ball = np.hypot(points[..., 0] - 0.1, points[..., 1] - 0.6) < 0.25
    velocity.x[ball] = np.where(points[..., 1][ball] < 0.6, 1.0, -1.0)  # it turns, and leaves the wall below
    velocity.y[:] = -9.81 * 0.01
    return zoo.Case(grid, velocity, phi, measure(grid, []), 0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_complementary_and_without_a_gain_of_energy(kind, seed):
    case = zoo.build(kind, seed)
    found = separated(case, tolerance=1e-7)
    bounded = touching(case.boundary) & (found.pressure != 0.0)
    assert found.info.converged
    assert found.pressure[bounded].min(initial=0.0) >= 0.0
    liquid = found.pressure != 0.0
    flow, scale = outflow(case, found.velocity), max(np.abs(outflow(case, case.velocity)[case.phi < 0]).max(), 1e-9)
    assert np.abs(flow[liquid]).max(initial=0.0) <= 3e-6 * scale
    if found.loose is not None:
        assert not found.pressure[found.loose].any()
        assert flow[found.loose].min() >= -3e-6 * scale
        assert np.array_equal(found.attached ^ found.loose, assemble(*case).unknown)
    before, after = kinetic_energy(case, case.velocity), kinetic_energy(case, found.velocity)
    assert after <= before * (1 + 1e-6)
    assert after >= kinetic_energy(case, project(*case, tolerance=1e-7).velocity) * (1 - 1e-6)


def test_figure_6_agrees_with_scipy():
    case = figure6(32)
    found = separated(case, tolerance=1e-9)
    system = assemble(*case)
    upper = scipy.linalg.cholesky(matrix(system).toarray())
    rest = scipy.linalg.solve_triangular(upper, system.rhs[system.unknown], trans="T")
    low = np.where(touching(case.boundary)[system.unknown], 0.0, -np.inf)
    exact = scipy.optimize.lsq_linear(upper, rest, (low, np.inf), method="bvls", tol=1e-14, max_iter=1000).x
    assert found.loose.any()
    assert found.pressure[system.unknown] == pytest.approx(exact, abs=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("tilt", [0, 17])
def test_still_water_is_the_linear_solution(tilt):
    """Bit for bit, also in a tilted tank."""
    grid, angle = Grid((24, 24, 4), 1 / 24), np.radians(tilt)
    normal = (np.sin(angle), np.cos(angle), 0.0)
    boundary = measure(grid, [Solid(HalfSpace((0.5, 0.2, 0), normal))])
    phi = (grid.cell_points()[..., 1] - 0.61).astype(np.float32)
    velocity = Faces(*(np.full(grid.face_shape(a), -0.0981 * (a == 1), np.float32) for a in range(3)))
    case = zoo.Case(grid, velocity, phi, boundary, 0.01)
    linear, found = project(*case), separated(case)
    assert found.loose is None
    assert np.array_equal(found.pressure, linear.pressure)
    assert all(np.array_equal(u, v) for u, v in zip(found.velocity, linear.velocity, strict=True))


def test_a_closed_tank_has_the_linear_solution_up_to_a_constant():
    case = zoo.build("full tank", 0)
    linear, found = project(*case, tolerance=1e-9), separated(case, tolerance=1e-9)
    assert found.loose is None
    assert found.pressure[touching(case.boundary) & (case.phi < 0)].min() == 0.0
    wet = linear.pressure != 0.0
    rise = (found.pressure - linear.pressure)[wet]
    assert rise == pytest.approx(np.full(rise.shape, rise.mean()), abs=1e-6 * np.abs(linear.pressure).max())


@pytest.mark.parametrize("speed", [-0.5, 0.5])
def test_a_piston_leaves_a_gap_in_a_full_tank_but_cannot_press_it(speed):
    grid = Grid((16, 8, 8), 1 / 16)
    piston = Solid(Box((-1, -1, -1), (0.25, 2, 2)), lambda t: Pose((speed * t, 0, 0)))
    case = zoo.Case(grid, grid.zeros_faces(), np.full(grid.shape, -1, np.float32), measure(grid, [piston]), 0.01)
    linear, found = project(*case), separated(case)
    swept = speed * 0.5**2 * 0.01  # m³
    assert linear.lost.sum() == pytest.approx(swept, rel=1e-3)
    assert found.info.converged
    if speed > 0:
        assert found.loose is None
        assert found.lost.sum() == pytest.approx(swept, rel=1e-3)
    else:
        assert found.lost.sum() == 0.0
        assert outflow(case, found.velocity)[found.loose].sum() * grid.h**2 * 0.01 == pytest.approx(-swept, rel=1e-4)
        assert max(np.abs(u).max() for u in found.velocity) <= 1e-5  # all of it at the piston: the water rests


def test_mirrored_scenes_have_mirrored_solutions():
    case = figure6(24)
    velocity = Faces(-case.velocity.x[::-1], case.velocity.y[::-1], case.velocity.z[::-1])
    mirrored = zoo.Case(case.grid, velocity, case.phi[::-1], case.boundary, case.dt)
    one, other = separated(case, tolerance=1e-9), separated(mirrored, tolerance=1e-9)
    assert one.loose.any()
    assert np.array_equal(one.loose, other.loose[::-1])
    assert one.pressure == pytest.approx(other.pressure[::-1], abs=1e-6 * one.pressure.max())


def test_surface_pressure_does_not_glue_liquid_to_a_wall():
    """What leaves has a free surface, with its pressure: a constant one changes no velocity."""
    case = figure6(24)
    plain, pressed = separated(case, tolerance=1e-9), separated(case, tolerance=1e-9, surface_pressure=1e4)
    assert plain.loose.any()
    assert np.array_equal(plain.loose, pressed.loose)
    for u, v in zip(plain.velocity, pressed.velocity, strict=True):
        assert u == pytest.approx(v, abs=1e-5)
    again = separated(case, start=pressed.pressure, tolerance=1e-6, surface_pressure=1e4)
    assert again.info.iterations <= 1


def test_warm_start_knows_what_was_let_go():
    case = figure6(48)
    cold = separated(case)
    warm = separated(case, start=cold.pressure)
    assert cold.loose.any()
    assert warm.info.iterations <= 1
    assert np.array_equal(cold.loose, warm.loose)


def test_cells_that_touch():
    """Beside a ball and the sides, not at the two sides of a 2-D scene, and not at what holds liquid."""
    grid = Grid((20, 20, 1), 0.05)
    ball, sponge = Sphere((0.3, 0.5, 0.025), 0.12), Box((0.7, -1, -1), (2, 0.2, 1))
    cells = touching(measure(grid, [Solid(ball), Solid(sponge, separates=False)]))[..., 0]
    x, y = np.moveaxis(grid.cell_points()[:, :, 0, :2], -1, 0)
    far = np.abs(np.hypot(x - 0.3, y - 0.5) - 0.12)
    near_side = (np.minimum(x, y) < 0.05) | (np.maximum(x, y) > 0.95)
    near_sponge = (x > 0.65) & (y < 0.25)
    assert cells[(far < 0.02) & ~near_side].all()
    assert not cells[(far > 0.1) & (x < 0.6) & ~near_side & (np.hypot(x - 0.3, y - 0.5) > 0.12)].any()
    assert cells[near_side & ~near_sponge].all()
    assert not cells[near_sponge].any()


def test_what_holds_liquid_holds_it_where_it_is_moved_to():
    grid = Grid((16, 16, 16), 1 / 16)
    sponge = Solid(Sphere((0.25, 0.5, 0.5), 0.1), lambda t: Pose((0.5 * t, 0, 0)), separates=False)
    before, after = (measure(grid, [sponge], time).sticky for time in (0.0, 1.0))
    assert np.array_equal(np.roll(before, 8, axis=0), after)
    assert before.any()
    assert measure(grid, [Solid(Sphere((0.25, 0.5, 0.5), 0.1))]).sticky is None


def test_around_is_the_27_cells():
    cells = np.zeros((5, 6, 7), bool)
    cells[2, 3, 3] = cells[0, 0, 0] = True
    expected = np.zeros_like(cells)
    expected[1:4, 2:5, 2:5] = expected[:2, :2, :2] = True
    assert np.array_equal(around(cells), expected)


def test_only_what_leads_out_of_a_wall_is_kept():
    """Beside loose cells of a floor at y = 0 and of a ceiling; not beside attached ones, nor what leads in."""
    grid = Grid((6, 5, 4), 1.0)
    boundary = measure(grid, [])
    rng = np.random.default_rng(0)
    continued = Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    velocity = Faces(*(np.where(w == 0, np.float32(0), u) for u, w in zip(continued, boundary.open, strict=True)))
    loose, attached = np.zeros(grid.shape, bool), np.zeros(grid.shape, bool)
    loose[1:3, [0, -1]] = True
    attached[3] = True
    keep_leaving(velocity, continued, boundary, loose, attached)
    near = np.array([True, True, True, False, False, False])[:, None]  # and the cells that share a corner, if dry
    below, above = continued.y[:, 0], continued.y[:, -1]
    assert np.array_equal(velocity.y[:, 0], np.where(near & (below > 0), below, 0))
    assert np.array_equal(velocity.y[:, -1], np.where(near & (above < 0), above, 0))
    assert np.array_equal(velocity.y[:, 1:-1], continued.y[:, 1:-1])


def test_out_of_a_tilted_wall():
    """Faces in the solid beside a loose cell: n·u > 0 is kept, n·u < 0 is not."""
    grid = Grid((10, 10, 1), 0.1)
    wall = HalfSpace((0.5, 0.5, 0), (1, 2, 0))
    boundary: Boundary = measure(grid, [Solid(wall)])
    loose = touching(boundary) & (grid.cell_points()[..., 1] > 0.4)
    for out in (1.0, -1.0):
        continued = Faces(*(np.full(grid.face_shape(a), out * n, np.float32) for a, n in enumerate((1, 2, 0))))
        velocity = grid.zeros_faces()
        keep_leaving(velocity, continued, boundary, loose, np.zeros_like(loose))
        closed = (boundary.open.x == 0)[1:-1] & (loose[1:] | loose[:-1])
        assert closed.any()
        assert (velocity.x[1:-1][closed] == (1.0 if out > 0 else 0.0)).all()
