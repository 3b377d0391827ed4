"""Vorticity and its confinement: flows of which both are known."""

import numpy as np
import pytest

from grid.turning import TURNS, turn, turn_faces
from paddlewheel.physics.vorticity import confined, confinement, vorticity
from paddlewheel.types import Faces, Grid

GRIDS = [Grid((14, 12, 10), 0.1), Grid((14, 12, 1), 0.1)]
grids = pytest.mark.parametrize("grid", GRIDS, ids=["3-D", "2-D"])


def sampled(grid, function):
    return Faces(*(function(grid.face_points(a))[..., a].astype(np.float32) for a in range(3)))


def random_faces(grid, seed=1):
    rng = np.random.default_rng(seed)
    return Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))


def gaussian_vortex(grid, width=0.3):
    """About z through the middle of the grid, turning from x to y."""
    middle = 0.5 * np.array(grid.size)

    def velocity(x):
        x = x - middle
        r2 = x[..., :1] ** 2 + x[..., 1:2] ** 2
        return np.cross((0, 0, 1), x) * np.exp(-r2 / (2 * width**2))

    return sampled(grid, velocity), grid.cell_points() - middle


@grids
def test_rigid_rotation_has_one_vorticity_and_no_force(grid):
    """ω = 2 Ω everywhere, also at the sides; the force is zero exactly, far from the axis as well."""
    spin = np.array((0.0, 0.0, 3.0) if grid.is_2d else (1.0, -2.0, 3.0))
    u = sampled(grid, lambda x: np.cross(spin, x - (50, 20, 0)))
    omega = vorticity(u, grid.h)
    assert omega == pytest.approx(np.broadcast_to(2 * spin[:, None, None, None], omega.shape), abs=0.01)
    assert not confinement(u, grid.h, 5.0).any()
    assert all(np.array_equal(*pair) for pair in zip(confined(u, grid.h, 0.1, 5.0), u, strict=True))


@grids
def test_uniform_flow_and_strain_do_not_turn(grid):
    u = sampled(grid, lambda x: x * (1, -1, 0) + (0.3, 0.2, 0.1))
    assert vorticity(u, grid.h) == pytest.approx(np.zeros((3, *grid.shape)), abs=1e-4)


def test_vorticity_is_of_second_order():
    errors = []
    for n in (1, 2):
        grid = Grid((16 * n, 16 * n, 16 * n), 1 / (16 * n))
        u = sampled(grid, lambda x: np.sin(3 * np.roll(x, 1, axis=-1)))  # u = sin 3z, v = sin 3x, w = sin 3y
        x = grid.cell_points()
        exact = np.moveaxis(3 * np.cos(3 * np.roll(x, -1, axis=-1)), -1, 0)  # ω_x = ∂w/∂y
        inner = (slice(None), *[slice(1, -1)] * 3)
        errors.append(np.abs(vorticity(u, grid.h) - exact)[inner].max())
    assert errors[1] < 0.27 * errors[0]


@grids
def test_a_vortex_is_driven_the_way_it_turns(grid):
    """N points to the axis, so N × ω along the flow, with ε h |ω|, where the vorticity falls off."""
    u, x = gaussian_vortex(grid)
    force, omega = confinement(u, grid.h, 2.0), vorticity(u, grid.h)
    r = np.linalg.norm(x[..., :2], axis=-1)
    along = np.stack((-x[..., 1], x[..., 0])) / r
    falls = (r > 0.1) & (r < 0.3)
    turning = np.sum(force[:2] * along, axis=0) / (2.0 * grid.h * omega[2])
    assert np.count_nonzero(falls) > 10
    assert turning[falls] == pytest.approx(1, abs=0.01)
    assert np.linalg.norm(force, axis=0)[falls] == pytest.approx((2.0 * grid.h * omega[2])[falls], rel=1e-5)


@grids
def test_the_force_of_a_vortex_has_no_sum_but_a_moment(grid):
    u, _ = gaussian_vortex(grid)
    after = confined(u, grid.h, 0.2, 2.0)
    change = [a.astype(float) - b for a, b in zip(after, u, strict=True)]
    size = sum(np.abs(c).sum() for c in change)
    assert size > 1e-3
    assert all(abs(c.sum()) < 1e-5 * size for c in change)
    x, y = (grid.face_points(a) - 0.5 * np.array(grid.size) for a in (0, 1))
    moment = np.sum(y[..., 0] * change[1]) - np.sum(x[..., 1] * change[0])
    assert moment > 0


@grids
def test_faces_get_half_of_the_force_from_either_side(grid):
    u = random_faces(grid)
    after, force = confined(u, grid.h, 0.2, 2.0), confinement(u, grid.h, 2.0)
    for a in range(3):
        pad = [(1, 1) if b == a else (0, 0) for b in range(3)]
        f = np.pad(force[a], pad)
        low, high = (tuple(s if b == a else slice(None) for b in range(3)) for s in (slice(-1), slice(1, None)))
        assert after[a] == pytest.approx(u[a] + 0.1 * (f[low] + f[high]), abs=1e-5)


@grids
def test_the_force_is_across_vorticity_and_its_gradient(grid):
    """f·ω = 0 and |f| ≤ ε h |ω|, in any flow."""
    u = random_faces(grid)
    force, omega = confinement(u, grid.h, 2.0), vorticity(u, grid.h)
    size = np.linalg.norm(omega, axis=0)
    assert np.abs(np.sum(force * omega, axis=0)).max() < 1e-5 * 2.0 * grid.h * size.max() ** 2
    assert np.all(np.linalg.norm(force, axis=0) <= 2.0 * grid.h * size * (1 + 1e-5))


@grids
def test_what_is_in_solids_does_not_count(grid):
    """The force beside a solid does not depend on the vorticity in it, and there is none inside."""
    among = np.ones(grid.shape, bool)
    among[:4] = False
    u = random_faces(grid)
    force = confinement(u, grid.h, 2.0, among)
    assert not force[:, :4].any()
    u.y[:3] += 100  # the fourth is looked at for the vorticity of the fifth
    u.x[:3] += 100
    assert np.array_equal(confinement(u, grid.h, 2.0, among), force)


@pytest.mark.parametrize("how", TURNS)
def test_turned_flows_turn_alike(how):
    u = random_faces(GRIDS[0])
    after = confined(u, 0.1, 0.2, 2.0)
    other = confined(turn_faces(u, how, vector=True), 0.1, 0.2, 2.0)
    for a, b in zip(other, turn_faces(after, how, vector=True), strict=True):
        assert a == pytest.approx(b, abs=1e-4)
    size, turned = (np.linalg.norm(vorticity(v, 0.1), axis=0) for v in (u, turn_faces(u, how, vector=True)))
    assert turned == pytest.approx(turn(size, how), abs=1e-4)


@grids
def test_the_number_of_threads_does_not_matter(on_threads, grid):
    one, two = (on_threads(n, confined, random_faces(grid), grid.h, 0.1, 2.0) for n in (1, 2))
    assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True))


def test_no_strength_no_force_and_other_grids_are_refused():
    u = random_faces(GRIDS[0])
    assert all(np.array_equal(*pair) for pair in zip(confined(u, 0.1, 0.1, 0.0), u, strict=True))
    with pytest.raises(ValueError, match="expected"):
        confinement(u, 0.1, 1.0, np.ones((3, 3, 3), bool))
