"""Orders of convergence around oblique walls and at the free surface.  B07 §2 and figure 2.

The largest error sits in some cell that the wall cuts badly, so it jumps as
the grid is refined under a wall that stays. Each error is therefore the worst
of eight positions of the box within a cell; the order is a least-squares fit
over 32² to 256².
"""

import numpy as np
import pytest
from rotated_box import Place, near_contact, order, places, solve_pool, solve_vortex

from paddlewheel.measure import measure
from paddlewheel.physics.pressure import project
from paddlewheel.types import Faces, Grid

CELLS = [32, 64, 128, 256]


def velocity_errors(degrees, weights):
    """Worst (L1, L∞) at each resolution."""
    return np.array(
        [np.max([solve_vortex(n, place, weights).velocity_error() for place in places(degrees, n)], 0) for n in CELLS]
    )


@pytest.mark.parametrize("degrees", [17, 30])
def test_area_weights_converge_in_a_rotated_box(degrees):
    l1, largest = velocity_errors(degrees, "area").T
    assert order(CELLS, l1) >= 1.8
    assert order(CELLS, largest) >= 0.85
    assert largest[-1] <= 0.015
    assert l1[-1] <= 5e-5


@pytest.mark.parametrize("weights", ["voxel", "volume", "length"])
def test_other_weights_converge_on_average_only(weights):
    """In L1 at first order; at the wall not at all: a constant part of the speed is wrong there."""
    l1, largest = velocity_errors(17, weights).T
    assert order(CELLS, l1) >= 0.85
    assert abs(order(CELLS, largest)) <= 0.35
    assert largest[-1] >= 0.25


def test_with_walls_on_the_grid_area_weights_are_second_order():
    """The box's sides are grid lines: what is left is the MAC grid's own error."""
    cells = [20, 40, 80, 160]
    l1, largest = np.array([solve_vortex(n, Place(0)).velocity_error() for n in cells]).T
    assert order(cells, l1) >= 1.85
    assert order(cells, largest) >= 1.85


@pytest.mark.parametrize(("degrees", "least"), [(0, 1.9), (17, 1.8), (30, 1.8)])
def test_pressure_under_a_free_surface_is_second_order(degrees, least):
    """L∞ over all liquid more than 0.1 m away from the contact lines of a pool 0.6 m wide."""
    errors = []
    for n in CELLS:
        outcomes = [solve_pool(n, place) for place in places(degrees, n)]
        errors.append(max(outcome.pressure_error(~near_contact(outcome)) for outcome in outcomes))
    assert order(CELLS, errors) >= least


def drop_error(cells, dimensions):
    """A drop in the air, with a pressure that is zero on its surface and curved inside; error of p in L∞."""
    grid = Grid((cells, cells, cells if dimensions == 3 else 1), 1.0 / cells)
    center = np.array([0.503, 0.497, 0.501 if dimensions == 3 else grid.h / 2])
    radius, tilt = 0.37, np.array([0.7, -0.4, 0.5 if dimensions == 3 else 0.0])
    if dimensions == 2:
        tilt[2] = 0

    def parts(points):
        x = points - center
        return x, radius**2 - (x**2).sum(-1), 1 + x @ tilt

    start = grid.zeros_faces()
    for a in range(dimensions):
        x, f, g = parts(grid.face_points(a))
        swirl = x[..., 1 - a] * (1 - 2 * a) if a < 2 else 0.0  # divergence-free, and left alone
        start[a][:] = -2 * x[..., a] * g + f * tilt[a] + swirl
    x, f, g = parts(grid.cell_points())
    phi = np.linalg.norm(x, axis=-1) - radius
    projection = project(grid, start, phi.astype(np.float32), measure(grid, []), 1.0, density=1.0, tolerance=1e-10)
    assert projection.info.converged
    return np.abs(projection.pressure - f * g)[phi < 0].max() / (f * g).max()


@pytest.mark.parametrize(("dimensions", "cells"), [(2, [32, 64, 128, 256]), (3, [24, 32, 48, 64])])
def test_pressure_in_a_drop_is_second_order(dimensions, cells):
    errors = [drop_error(n, dimensions) for n in cells]
    assert order(cells, errors) >= 1.85


def test_errors_are_what_they_seem():
    """Against vacuous success: doing nothing would leave the whole gradient in, which is of the size of the flow."""
    place = places(17, 32)[0]
    outcome = solve_vortex(32, place)
    still = outcome._replace(projection=outcome.projection._replace(velocity=Faces(*(0 * u for u in outcome.exact))))
    assert still.velocity_error()[1] == pytest.approx(1, abs=1e-6)
    assert outcome.velocity_error()[0] < 0.01
