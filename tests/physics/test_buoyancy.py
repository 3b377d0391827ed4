"""Buoyancy, cooling and dissipation: against their formulae."""

import math

import numpy as np
import pytest

from grid.turning import TURNS, turn, turn_faces
from paddlewheel.physics.buoyancy import decay, lifted
from paddlewheel.types import Faces, Grid

GRIDS = [Grid((5, 6, 4), 0.1), Grid((5, 6, 1), 0.1)]
grids = pytest.mark.parametrize("grid", GRIDS, ids=["3-D", "2-D"])
LAW = {"alpha": 0.7, "beta": 0.2, "ambient": 20.0}
DOWN = (0.0, -9.81, 0.0)


def random_cells(grid, seed):
    return np.random.default_rng(seed).random(grid.shape).astype(np.float32)


def random_faces(grid, seed):
    rng = np.random.default_rng(seed)
    return Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))


@grids
def test_uniform_smoke_is_lifted_by_the_formula(grid):
    """Δt (−α d + β (T − T_amb)) along up on every face, also at the sides; the tilt of gravity is that of the force."""
    u, density, temperature = random_faces(grid, 1), np.full(grid.shape, 0.5), np.full(grid.shape, 33.0)
    gravity = np.array((0.6, -0.8, 0.0)) * 3
    after = lifted(u, density, temperature, 0.3, gravity=gravity, **LAW)
    for a, up in enumerate((-0.6, 0.8, 0.0)):
        assert after[a] == pytest.approx(u[a] + 0.3 * (-0.7 * 0.5 + 0.2 * 13) * up, abs=1e-6)
    assert after.z is u.z


@grids
def test_a_face_has_the_mean_of_its_two_cells(grid):
    density, temperature = random_cells(grid, 1), 20 + random_cells(grid, 2)
    after = lifted(grid.zeros_faces(), density, temperature, 1.0, gravity=DOWN, **LAW)
    f = -0.7 * density + 0.2 * (temperature - 20)
    assert after.y[:, 1:-1] == pytest.approx(0.5 * (f[:, 1:] + f[:, :-1]), abs=1e-6)
    assert after.y[:, 0] == pytest.approx(f[:, 0], abs=1e-6)
    assert after.y[:, -1] == pytest.approx(f[:, -1], abs=1e-6)
    assert not after.x.any()


@grids
def test_cells_in_solids_do_not_count(grid):
    """Whatever they hold, a face beside one has the force of the other cell."""
    density, temperature = random_cells(grid, 1), 20 + random_cells(grid, 2)
    among = np.ones(grid.shape, bool)
    among[:, 2:4] = False
    density[~among] = np.nan
    after = lifted(grid.zeros_faces(), density, temperature, 1.0, gravity=DOWN, among=among, **LAW)
    f = -0.7 * density + 0.2 * (temperature - 20)
    assert after.y[:, 2] == pytest.approx(f[:, 1], abs=1e-6)
    assert after.y[:, 4] == pytest.approx(f[:, 4], abs=1e-6)
    assert np.isfinite(after.y).all()


@grids
def test_faces_between_cells_in_solids_have_the_force_of_those_around(grid):
    """A wall may cut them; but deep in a solid there is none."""
    density, temperature = np.full(grid.shape, np.nan, np.float32), np.full(grid.shape, 20, np.float32)
    among = np.zeros(grid.shape, bool)
    among[:, 0], density[:, 0] = True, 0.5
    after = lifted(grid.zeros_faces(), density, temperature, 1.0, gravity=DOWN, among=among, **LAW)
    assert after.y[:, 1:3] == pytest.approx(np.full_like(after.y[:, 1:3], -0.35), abs=1e-6)
    assert not after.y[:, 3:].any()


@grids
def test_without_gravity_nothing_is_up(grid):
    u = random_faces(grid, 1)
    after = lifted(u, random_cells(grid, 1), random_cells(grid, 2), 1.0, gravity=(0, 0, 0), **LAW)
    assert all(np.array_equal(*pair) for pair in zip(after, u, strict=True))


@pytest.mark.parametrize("how", TURNS)
def test_turned_smoke_is_lifted_alike(how):
    grid, (axes, flipped) = GRIDS[0], TURNS[how]
    u, density, temperature, gravity = random_faces(grid, 1), random_cells(grid, 2), random_cells(grid, 3), (1, -2, 2)
    turned_gravity = [(-1 if a in flipped else 1) * gravity[axes[a]] for a in range(3)]
    after = lifted(u, density, temperature, 0.5, gravity=gravity, **LAW)
    other = lifted(
        turn_faces(u, how, vector=True), turn(density, how), turn(temperature, how), 0.5, gravity=turned_gravity, **LAW
    )
    for a, b in zip(other, turn_faces(after, how, vector=True), strict=True):
        assert a == pytest.approx(b, abs=1e-6)


@grids
def test_the_number_of_threads_does_not_matter(on_threads, grid):
    arguments = random_faces(grid, 1), random_cells(grid, 2), random_cells(grid, 3), 0.5
    one, two = (on_threads(n, lifted, *arguments, gravity=(1, 2, 2), **LAW) for n in (1, 2))
    assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True))


def test_fields_of_another_grid_are_refused():
    with pytest.raises(ValueError, match="expected"):
        lifted(random_faces(GRIDS[0], 1), np.zeros((5, 6, 3)), np.zeros((5, 6, 4)), 1.0, **LAW)


@pytest.mark.parametrize("ambient", [0.0, 20.0])
def test_decay_is_exponential_in_steps_of_any_length(ambient):
    start = ambient + random_cells(GRIDS[0], 1)
    once, often = start.copy(), start.copy()
    decay(once, 1.7, 0.6, ambient)
    for dt in (0.1, 0.3, 0.2):
        decay(often, 1.7, dt, ambient)
    exact = ambient + (start.astype(float) - ambient) * math.exp(-1.7 * 0.6)
    assert once == pytest.approx(exact, rel=2e-7, abs=1e-7)
    assert often == pytest.approx(exact, rel=4e-7, abs=2e-7)
    assert once.dtype == np.float32


def test_what_is_ambient_or_does_not_decay_stays_exactly():
    field = random_cells(GRIDS[0], 1)
    same = field.copy()
    decay(same, 0.0, 1.0, 0.3)
    decay(same, 1.0, 0.0, 0.3)
    assert np.array_equal(same, field)
    ambient = np.full(GRIDS[0].shape, 0.3, np.float32)
    decay(ambient, 2.0, 1.0, 0.3)
    assert np.all(ambient == np.float32(0.3))


@pytest.mark.parametrize(("rate", "dt"), [(-1.0, 1.0), (1.0, -1.0), (np.nan, 1.0), (1.0, np.inf)])
def test_growth_is_refused(rate, dt):
    with pytest.raises(ValueError, match="rate"):
        decay(random_cells(GRIDS[0], 1), rate, dt)
