"""The explicit update of momentum."""

import numpy as np
import pytest

from paddlewheel.physics.momentum import COURANT, carried, longest_step
from paddlewheel.types import Faces, Grid

GRID = Grid((16, 12, 1), 1 / 16)


def inside(grid) -> Faces:
    """The faces that are not on a side."""
    out = []
    for a in range(3):
        where = np.ones(grid.face_shape(a), bool)
        sides = np.moveaxis(where, a, 0)
        sides[0] = sides[-1] = False
        out.append(where)
    return Faces(*out)


def nothing(grid) -> Faces:
    return Faces(*(np.zeros(grid.face_shape(a), bool) for a in range(3)))


def after(grid, velocity, dt, closed=None, solid=None, **how) -> Faces:
    return carried(grid, velocity, inside(grid), solid or grid.zeros_faces(), closed or nothing(grid), dt, **how)


def random_faces(grid, seed=0) -> Faces:
    rng = np.random.default_rng(seed)
    return Faces(*(rng.normal(size=grid.face_shape(a)) for a in range(3)))


@pytest.mark.parametrize("grid", [GRID, Grid((5, 6, 7), 0.1)], ids=["2-D", "3-D"])
def test_what_moves_as_a_whole_goes_on(grid):
    flow = Faces(*(np.full(grid.face_shape(a), u) for a, u in enumerate((1.0, -2.0, 0.5))))
    for u, v in zip(flow, after(grid, flow, 0.01, viscosity=0.1), strict=True):
        assert np.array_equal(u, v)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_shear_that_is_carried_across_itself(a, b):
    """u_a = x_b carried by a constant u_b: ∂u_a/∂t = −u_b, exactly, if viscosity, idle here, is enough."""
    grid, dt = Grid((6, 6, 6), 0.1), 0.001
    flow = Faces(*(np.zeros(grid.face_shape(axis)) for axis in range(3)))
    flow[a][:] = grid.face_points(a)[..., b]
    flow[b][:] = 2.0
    found = after(grid, flow, dt, viscosity=0.1)[a] - flow[a]
    assert found[2:5, 2:5, 2:5] == pytest.approx(-2.0 * dt)


def test_strain_is_carried_by_itself():
    """u = (x, −y): (u·∇)u = (x, y)."""
    grid, dt = Grid((8, 8, 1), 0.125), 0.001
    flow = grid.zeros_faces(np.float64)
    flow.x[:] = grid.face_points(0)[..., 0]
    flow.y[:] = -grid.face_points(1)[..., 1]
    found = after(grid, flow, dt, viscosity=0.1)
    assert (found.x - flow.x)[2:-2, 2:-2] == pytest.approx(-dt * grid.face_points(0)[2:-2, 2:-2, :, 0], rel=1e-12)
    assert (found.y - flow.y)[2:-2, 2:-2] == pytest.approx(-dt * grid.face_points(1)[2:-2, 2:-2, :, 1], rel=1e-12)


@pytest.mark.parametrize("slips", [True, False])
def test_friction_at_walls(slips):
    """Modes that fit between two walls, cos where liquid slips and sin where it does not, decay as the grid says."""
    n, h, nu = 16, 1 / 16, 0.02
    grid, dt = Grid((4, n, 1), h), 0.2 * h**2 / nu
    y = (np.arange(n) + 0.5) * h
    mode = np.cos(np.pi * y) if slips else np.sin(np.pi * y)
    flow = grid.zeros_faces(np.float64)
    flow.x[:] = 1e-9 * mode[:, None]  # so slow that it carries nothing
    sides = {side: slips for side in ("-x", "+x", "-y", "+y")}
    found = after(grid, flow, dt, viscosity=nu, slip=sides)
    left = 1 - dt * nu * (2 / h * np.sin(0.5 * np.pi * h)) ** 2
    assert found.x[1:-1] == pytest.approx(left * flow.x[1:-1], rel=1e-6, abs=1e-21)


@pytest.mark.parametrize("slips", [True, False])
def test_a_solid_drags_what_goes_along_it_unless_it_slips(slips):
    grid, nu, dt, h = GRID, 0.02, 0.01, GRID.h
    closed, solid = nothing(grid), grid.zeros_faces()
    closed.x[:, 8:], solid.x[:, 8:] = True, 2.0
    found = after(grid, grid.zeros_faces(), dt, closed, solid, viscosity=nu, solids_slip=slips)
    assert found.x[5, 7, 0] == pytest.approx(0.0 if slips else nu * dt / h**2 * 2 * 2.0)  # the solid's is half way
    assert not found.x[1:-1, :7].any()


def test_central_where_viscosity_is_enough_and_leaning_to_the_donor_cell_where_it_is_not():
    """A step that is carried along: it overshoots by central differences, and not by the donor cell's."""
    grid, h, speed = Grid((32, 4, 1), 1 / 32), 1 / 32, 1.0
    flow = grid.zeros_faces(np.float64)
    flow.x[:] = speed
    flow.y[16:] = 1e-6
    dt = COURANT * h / speed
    s = COURANT * (1 + 1e-6)
    lean = after(grid, flow, dt).y[15, 2, 0]
    assert lean == pytest.approx(1e-6 * -0.5 * (COURANT - COURANT * s), rel=1e-4)
    viscous = 0.5 * s * speed * h  # as much as the lean would be
    found = after(grid, flow, 0.1 * dt, viscosity=viscous).y[15, 2, 0]
    assert found == pytest.approx(1e-6 * 0.1 * (-0.5 * COURANT + viscous * dt / h**2), rel=1e-4)


@pytest.mark.parametrize("grid", [Grid((24, 24, 1), 1 / 24), Grid((12, 12, 12), 1 / 12)], ids=["2-D", "3-D"])
@pytest.mark.parametrize("viscosity", [0.0, 0.01, 1.0])
def test_steps_as_long_as_allowed_do_not_blow_up(grid, viscosity):
    """Small noise on a flow along the diagonal, where Euler's rule with central differences is worst."""
    flow = Faces(*(0.01 * u for u in random_faces(grid)))
    for a in range(2 if grid.is_2d else 3):
        flow[a][:] += 1.0
    if grid.is_2d:
        flow.z[:] = 0
    dt = longest_step(grid, flow, viscosity, (0, 0, 0))
    noise = []
    for _ in range(200):
        flow = after(grid, flow, dt, viscosity=viscosity)
        noise.append(max(u.max() - u.min() for u in flow))
    assert noise[-1] <= noise[0] < 0.2  # that of the sides stays


def test_the_limits_of_the_paper_hold():
    grid = Grid((4, 4, 4), 0.1)
    flow = Faces(*(np.full(grid.face_shape(a), u) for a, u in enumerate((3.0, -1.0, 0.5))))
    assert longest_step(grid, flow, 0.0, (0, 0, 0)) == pytest.approx(COURANT * 0.1 / 4.5)
    assert 3.0 * longest_step(grid, flow, 0.0, (0, 0, 0)) / 0.1 < 1
    still = grid.zeros_faces()
    assert longest_step(grid, still, 0.0, (0, 0, 0)) == np.inf
    assert longest_step(grid, still, 0.5, (0, 0, 0)) < 0.1**2 / (6 * 0.5)
    falling = longest_step(grid, flow, 0.0, (0, -9.81, 0))
    assert (4.5 + 9.81 * falling) * falling == pytest.approx(COURANT * 0.1)


def test_threads_do_not_matter(on_threads):
    flow = random_faces(Grid((20, 20, 20), 0.05))
    one, two = (on_threads(n, after, Grid((20, 20, 20), 0.05), flow, 0.002, viscosity=0.01) for n in (1, 2))
    for u, v in zip(one, two, strict=True):
        assert np.array_equal(u, v)
