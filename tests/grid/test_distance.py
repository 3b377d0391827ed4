"""Distances carried on: a plane stays a plane, also past the line where it meets a wall."""

import numpy as np
import pytest

from paddlewheel.grid.distance import CLOSED, UNKNOWN, grow, straighten_at_walls
from paddlewheel.types import Grid

GRID = Grid((18, 16, 6), 0.1)


def plane(points, tilt, through):
    """Distance above a plane that is tilted about z by degrees."""
    a = np.radians(tilt)
    return (points - np.array(through)) @ (-np.sin(a), np.cos(a), 0.0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_growing_a_flat_layer_gives_its_distance(axis):
    exact = np.moveaxis(np.broadcast_to(0.1 * np.arange(-4.3, 5), (5, 6, 10)), 2, axis)
    layer = np.where(np.abs(exact) < 0.1, 0, UNKNOWN).astype(np.uint8)
    phi = np.where(layer == 0, exact, 0.9 * np.sign(exact)).astype(np.float32)
    grow(phi, layer, 3, 0.1)
    reached = np.abs(exact) < 0.35
    assert phi[reached] == pytest.approx(exact[reached], abs=1e-6)
    assert np.all(np.abs(phi[np.abs(exact) > 0.4]) == np.float32(0.9))
    assert np.all(layer[reached] <= 3)


def test_growing_obliquely_is_near_to_the_distance_and_keeps_signs():
    exact = plane(GRID.cell_points(), 30, (0.9, 0.8, 0.3))
    layer = np.where(np.abs(exact) < 0.08, 0, UNKNOWN).astype(np.uint8)
    phi = np.where(layer == 0, exact, 0.9 * np.sign(exact)).astype(np.float32)
    grow(phi, layer, 3, 0.1)
    inner = (layer <= 3) & (np.abs(exact) < 0.3)
    inner[:3] = inner[-3:] = False  # at the sides the nearest known cell may be missing
    assert phi[inner] == pytest.approx(exact[inner], abs=0.03)
    assert np.all(np.sign(phi) == np.sign(exact))


def test_closed_cells_are_neither_read_nor_written():
    phi = np.full((9, 1, 1), 0.9, np.float32)
    layer = np.full((9, 1, 1), UNKNOWN, np.uint8)
    layer[0], phi[0], layer[3] = 0, 0.05, CLOSED
    grow(phi, layer, 5, 0.1)
    assert phi[:, 0, 0] == pytest.approx([0.05, 0.15, 0.25] + 6 * [0.9])


@pytest.mark.parametrize("tilt", [10, 17, 30])
def test_a_surface_is_straight_up_to_a_wall(tilt):
    """Beyond the contact line φ was the distance from that line; liquid is left as it was."""
    points, contact = GRID.cell_points(), (0.92, 0.83, 0.0)
    solid = plane(GRID.node_points(), tilt, contact).astype(np.float32)
    wall, exact = plane(points, tilt, contact), points[..., 1] - contact[1]
    from_line = np.hypot(points[..., 0] - contact[0], points[..., 1] - contact[1])
    foot_is_solid = (exact > 0) & (points[..., 0] > contact[0])
    phi = np.where(foot_is_solid, from_line, exact).astype(np.float32)
    before = phi.copy()
    straighten_at_walls(phi, solid, GRID.h, layers=6)
    air = (wall > 0) & (exact > 0) & (exact < 2 * GRID.h) & (points[..., 0] < contact[0] + 2 * GRID.h)
    assert np.abs(before - exact)[air].max() > 0.5 * GRID.h
    assert np.abs(phi - exact)[air].max() < 0.1 * GRID.h
    assert np.all(phi[before < 0] == before[before < 0])
    assert np.all(phi[before >= 0] > 0)
    assert np.all(phi <= before)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_in_a_narrow_tube_nothing_changes(width):
    """Between vertical walls there may be too few believed cells to tell a slope, and φ was right."""
    grid = Grid((width + 4, 16, width + 4), 1.0)
    x, _, z = np.moveaxis(grid.node_points() - 2, -1, 0)
    solid = np.minimum(np.minimum(x, width - x), np.minimum(z, width - z)).astype(np.float32)
    for height in np.linspace(8, 9, 6):
        phi = np.clip(grid.cell_points()[..., 1] - height, -4, 4).astype(np.float32)
        before = phi.copy()
        straighten_at_walls(phi, solid, grid.h)
        assert phi == pytest.approx(before, abs=0.03)


def test_what_is_behind_a_thin_wall_does_not_matter():
    """Liquid at two levels on the sides of a wall half a cell thick."""
    grid = Grid((16, 16, 3), 1.0)
    solid = (np.abs(grid.node_points()[..., 0] - 8.3) - 0.25).astype(np.float32)
    points = grid.cell_points()
    exact = points[..., 1] - np.where(points[..., 0] < 8.3, 5.2, 9.4)
    phi = np.clip(exact, -4, 4).astype(np.float32)
    straighten_at_walls(phi, solid, grid.h)
    near = (np.abs(exact) < 2) & (np.abs(points[..., 0] - 8.3) > 0.25)
    assert phi[near] == pytest.approx(exact[near], abs=0.03)
