"""Pressure by relaxation."""

import numpy as np
import pytest

from paddlewheel.grid.stencil import divergence
from paddlewheel.physics import relaxation
from paddlewheel.physics.relaxation import relax
from paddlewheel.types import Boundary, Faces, Grid

DT = 0.01


def walled(grid) -> Boundary:
    """A box with closed sides and nothing in it."""
    open = Faces(*(np.ones(grid.face_shape(a), np.float32) for a in range(3)))
    for a in range(3):
        sides = np.moveaxis(open[a], a, 0)
        sides[0] = sides[-1] = 0
    return Boundary(np.full(grid.node_shape, 1.0, np.float32), open, grid.zeros_faces())


def tank(grid, level):
    """Full and surface cells of a tank with liquid up to a number of cells."""
    full, surface = np.zeros(grid.shape, bool), np.zeros(grid.shape, bool)
    full[:, : level - 1], surface[:, level - 1] = True, True
    return full, surface


def random_flow(grid, boundary, seed=0) -> Faces:
    rng = np.random.default_rng(seed)
    return Faces(*(np.where(w > 0, rng.normal(size=w.shape), 0.0) for w in boundary.open))


def whole(grid) -> Faces:
    return Faces(*(np.ones(grid.face_shape(a), np.float32) for a in range(3)))


GRIDS = [Grid((12, 10, 1), 0.1), Grid((7, 6, 5), 0.1)]


@pytest.mark.parametrize("grid", GRIDS, ids=["2-D", "3-D"])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
@pytest.mark.parametrize("over_relaxation", [1.0, 1.7, 1.95])
def test_full_cells_have_less_divergence_than_allowed(grid, tolerance, over_relaxation):
    boundary, (full, surface) = walled(grid), tank(grid, 5)
    flow = random_flow(grid, boundary)
    before = np.abs(divergence(flow, whole(grid), grid.h)[full]).max()
    found = relax(grid, flow, full, surface, boundary, DT, tolerance=tolerance, over_relaxation=over_relaxation)
    after = np.abs(divergence(found.velocity, whole(grid), grid.h)[full]).max()
    assert after <= (1 + 1e-9) * tolerance * before
    assert found.info.residual == pytest.approx(after / before, rel=1e-3)
    assert found.info.converged
    assert found.info.name == "pressure"
    assert found.info.unknowns == np.count_nonzero(full)
    assert found.info.iterations > 0


def test_pressure_is_that_of_the_linear_system():
    """Against a dense solve of Σ (p_i − p_nb) Δt/(ρ h²) = −D, with p = 0 at the centres of surface cells."""
    grid, density = Grid((4, 5, 3), 0.1), 800.0
    boundary, (full, surface) = walled(grid), tank(grid, 4)
    flow = random_flow(grid, boundary)
    cells = {tuple(c): n for n, c in enumerate(np.argwhere(full).tolist())}
    A, b = np.zeros((len(cells), len(cells))), -divergence(flow, whole(grid), grid.h)[full]
    for cell, n in cells.items():
        for a in range(3):
            for step in (-1, 1):
                other = tuple(c + step * (a == d) for d, c in enumerate(cell))
                if all(0 <= c < m for c, m in zip(other, grid.shape, strict=True)):
                    A[n, n] += DT / (density * grid.h**2)
                    if other in cells:
                        A[n, cells[other]] -= DT / (density * grid.h**2)
    exact = np.linalg.solve(A, b)
    found = relax(grid, flow, full, surface, boundary, DT, density=density, tolerance=1e-12)
    assert found.pressure[full] == pytest.approx(exact, rel=1e-9, abs=1e-9 * np.abs(exact).max())
    assert not found.pressure[~full].any()


def test_hydrostatic_pressure_holds_the_liquid():
    grid = Grid((6, 8, 1), 0.05)
    boundary, (full, surface) = walled(grid), tank(grid, 6)
    falling = grid.zeros_faces(np.float64)
    falling.y[:, 1:6] = -9.81 * DT
    found = relax(grid, falling, full, surface, boundary, DT, tolerance=1e-12)
    depth = 5.5 * grid.h - grid.cell_points()[..., 1]
    assert found.pressure[full] == pytest.approx(9810 * depth[full], rel=1e-9)
    assert max(np.abs(u).max() for u in found.velocity) < 1e-12


@pytest.mark.parametrize("pressure", [1e5, -300.0])
def test_the_same_pressure_on_all_of_the_surface_moves_nothing(pressure):
    """And it does not make the tolerance, which is relative, worth less."""
    grid = GRIDS[0]
    boundary, (full, surface) = walled(grid), tank(grid, 5)
    flow = random_flow(grid, boundary)
    plain = relax(grid, flow, full, surface, boundary, DT)
    pressed = relax(grid, flow, full, surface, boundary, DT, surface_pressure=pressure)
    for one, two in zip(plain.velocity, pressed.velocity, strict=True):
        assert np.array_equal(one, two)
    assert pressed.pressure[full | surface] == pytest.approx(plain.pressure[full | surface] + pressure)


def test_pressure_on_one_side_pushes_the_surface_there_down():
    grid = GRIDS[0]
    boundary, (full, surface) = walled(grid), tank(grid, 5)
    pressure = np.where(np.arange(12) < 6, 50.0, 0.0)[:, None, None] * np.ones(grid.shape)
    found = relax(grid, grid.zeros_faces(), full, surface, boundary, DT, surface_pressure=pressure)
    down = found.velocity.y[:, 4, 0]  # below the surface cells
    assert (down[:6] < 0).all()
    assert (down[6:] > 0).all()
    assert found.velocity.x[6, 4, 0] == pytest.approx(DT * 50 / (1000 * grid.h))  # between two surface cells


def test_a_good_start_saves_sweeps():
    grid = GRIDS[0]
    boundary, (full, surface) = walled(grid), tank(grid, 5)
    flow = random_flow(grid, boundary)
    first = relax(grid, flow, full, surface, boundary, DT)
    again = relax(grid, flow, full, surface, boundary, DT, start=first.pressure)
    assert first.info.iterations > 10
    assert again.info.iterations == 0


def test_a_closed_region_may_have_any_pressure():
    grid = Grid((8, 8, 1), 0.1)
    boundary, full = walled(grid), np.ones(grid.shape, bool)
    found = relax(grid, random_flow(grid, boundary), full, ~full, boundary, DT, tolerance=1e-8)
    assert found.info.converged
    assert found.pressure.mean() == pytest.approx(0, abs=1e-9 * np.abs(found.pressure).max())
    assert found.lost == pytest.approx([0], abs=1e-12)


def test_rounding_alone_is_relaxed_in_a_closed_region_whatever_the_pressure_was():
    """What still water has left when gravity ends; a constant of the start would drown it."""
    grid = Grid((12, 1, 1), 0.1)
    boundary, full = walled(grid), np.ones(grid.shape, bool)
    flow = Faces(*(1e-16 * u for u in random_flow(grid, boundary)))
    start = 1e4 + 1e-9 * np.random.default_rng(1).normal(size=grid.shape)
    found = relax(grid, flow, full, ~full, boundary, DT, start=start)
    assert found.info.converged
    assert found.info.iterations < 1000


def test_a_closed_region_that_is_squeezed_tells_what_it_lost():
    grid, speed = Grid((8, 8, 1), 0.1), 0.3
    boundary, full = walled(grid), np.ones(grid.shape, bool)
    flow = grid.zeros_faces(np.float64)
    flow.x[0] = speed
    found = relax(grid, flow, full, ~full, boundary, DT, tolerance=1e-8)
    assert found.info.converged
    assert found.lost == pytest.approx([speed * DT * 8 * grid.h**2])


def test_too_many_sweeps_are_a_failure(monkeypatch):
    monkeypatch.setattr(relaxation, "MOST_SWEEPS", 3)
    grid = GRIDS[0]
    boundary, (full, surface) = walled(grid), tank(grid, 5)
    info = relax(grid, random_flow(grid, boundary), full, surface, boundary, DT).info
    assert not info.converged
    assert info.iterations == 3


def test_nothing_to_do_without_full_cells():
    grid = GRIDS[0]
    none = np.zeros(grid.shape, bool)
    info = relax(grid, random_flow(grid, walled(grid)), none, none, walled(grid), DT).info
    assert (info.unknowns, info.iterations, info.converged) == (0, 0, True)


def test_threads_do_not_matter(on_threads):
    grid = Grid((20, 20, 12), 0.1)
    boundary, (full, surface) = walled(grid), tank(grid, 12)
    flow = random_flow(grid, boundary)
    one, two = (on_threads(n, relax, grid, flow, full, surface, boundary, DT) for n in (1, 2))
    assert np.array_equal(one.pressure, two.pressure)
    assert one.info.iterations == two.info.iterations
