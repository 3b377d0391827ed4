"""Markers on the surface alone: distances, volume while they are evened, flows with exact answers, topology."""

import math

import numpy as np
import pytest

from paddlewheel.grid.closed_surface import Lattice, distance_to, enclosed, winding
from paddlewheel.grid.triangles import evened_triangles, surface_count
from paddlewheel.physics.advect import move
from paddlewheel.physics.surface_markers import (
    LONGEST,
    SHORTEST,
    Markers,
    evened,
    half_cells,
    level_set,
    renewed,
    surface_around,
    topology_changed,
    volume,
)
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import Boundary, Faces, Grid

PLANE, CUBE = Grid((40, 40, 1), 0.025), Grid((20, 20, 20), 0.05)
grids = pytest.mark.parametrize("grid", [PLANE, CUBE], ids=["2-D", "3-D"])


def nothing(grid):
    return np.full(grid.node_shape, 99, np.float32)


def around(grid, shape, solid=None):
    lattice = half_cells(grid)
    phi = shape.distance(lattice.points().reshape(-1, 3)).reshape(lattice.shape)
    return surface_around(grid, phi, nothing(grid) if solid is None else solid)


def ball(grid, center=(0.5, 0.5), radius=0.25):
    return Sphere((*center, 0.5 * grid.size[2]), radius)


def carried(grid, markers, function, dt):
    """The markers after a step with the flow function(points) -> (..., 3)."""
    velocity = Faces(*(function(grid.face_points(a))[..., a].astype(np.float32) for a in range(3)))
    points = markers.points.copy()
    move(grid, points, velocity, Boundary(nothing(grid), grid.zeros_faces(), grid.zeros_faces()), dt)
    return evened(grid, Markers(points, markers.parts), nothing(grid))


def edges(markers):
    corners = markers.points[markers.parts].astype(float)
    pairs = [(0, 1)] if markers.parts.shape[1] == 2 else [(0, 1), (1, 2), (2, 0)]
    return np.stack([np.linalg.norm(corners[:, a] - corners[:, b], axis=1) for a, b in pairs])


def assert_closed(markers):
    """Every point has a piece that comes and one that goes; every edge a triangle on each side."""
    m = markers.parts
    if m.shape[1] == 2:
        assert (np.sort(m[:, 0]) == np.arange(len(markers.points))).all()
        assert (np.sort(m[:, 1]) == np.arange(len(markers.points))).all()
        return
    there = np.concatenate([m[:, [0, 1]], m[:, [1, 2]], m[:, [2, 0]]]).astype(np.int64) @ (1 << 32, 1)
    back = np.concatenate([m[:, [1, 0]], m[:, [2, 1]], m[:, [0, 2]]]).astype(np.int64) @ (1 << 32, 1)
    assert len(np.unique(there)) == len(there)
    assert (np.sort(there) == np.sort(back)).all()


def exact_volume(grid, radius=0.25):
    return math.pi * radius**2 * grid.h if grid.is_2d else 4 / 3 * math.pi * radius**3


@grids
def test_a_ball_is_closed_even_and_has_its_volume(grid):
    markers = around(grid, ball(grid))
    assert_closed(markers)
    assert volume(markers, grid) == pytest.approx(exact_volume(grid), rel=0.01)
    assert edges(markers).max() <= LONGEST * grid.h * 1.0001
    assert edges(markers).mean() > SHORTEST * grid.h
    assert topology_changed(grid, markers) is None


@grids
def test_the_level_set_of_a_ball_is_its_distance(grid):
    """Within a tenth of a cell near the surface, and of the right sign everywhere."""
    markers, shape = around(grid, ball(grid)), ball(grid)
    phi = level_set(grid, markers, nothing(grid), 4.0)
    points = grid.cell_points()
    exact = shape.distance(points.reshape(-1, 3)).reshape(grid.shape)
    near = np.abs(exact) < 1.4 * grid.h
    assert np.abs(phi - exact)[near].max() < 0.1 * grid.h
    assert ((phi < 0) == (exact < 0))[np.abs(exact) > 0.05 * grid.h].all()
    assert np.abs(phi - exact)[np.abs(exact) < 3 * grid.h].max() < 0.5 * grid.h


def test_distances_from_a_triangle_are_exact():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    lattice = Lattice((-0.5, -0.5, -0.5), 0.25, (8, 8, 5))
    found = distance_to(points, np.array([[0, 1, 2]], np.int32), lattice, 9.0)
    s, t = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401))
    inside = s + t <= 1 + 1e-9
    dense = np.stack([s[inside], t[inside], 0 * s[inside]], axis=1)
    for index in np.ndindex(lattice.shape):
        nearest = np.linalg.norm(dense - lattice.points()[index], axis=1).min()
        assert found[index] == pytest.approx(nearest, abs=3e-3)


@grids
def test_winding_is_one_inside_and_zero_outside(grid):
    rng, markers = np.random.default_rng(1), around(grid, ball(grid))
    for step in (0.3, 0.5, 1.0):
        first = (*(grid.h * rng.random(2)), 0.5 * grid.h)
        lattice = Lattice(first, step * grid.h, tuple(int(n / step) - 1 if n > 1 else 1 for n in grid.shape))
        exact = ball(grid).distance(lattice.points().reshape(-1, 3)).reshape(lattice.shape)
        found, clear = winding(*markers, lattice), np.abs(exact) > 0.1 * grid.h
        assert (found[clear] == (exact < 0)[clear]).all()


@grids
def test_to_even_markers_keeps_the_volume(grid):
    """A ball stretched and squeezed at random, finely and coarsely: closed, even again, and its volume as it was."""
    rng, markers = np.random.default_rng(2), around(grid, ball(grid))
    for _ in range(10):
        points = markers.points + (0.1 * grid.h * rng.standard_normal(markers.points.shape)).astype(np.float32)
        if grid.is_2d:
            points[:, 2] = 0.5 * grid.h
        rough = Markers(points, markers.parts)
        markers = evened(grid, rough, nothing(grid))
        assert_closed(markers)
        assert volume(markers, grid) == pytest.approx(volume(rough, grid), rel=2e-3)
        assert edges(markers).max() <= LONGEST * grid.h * 1.001


def test_merging_markers_of_a_curve_keeps_its_area_to_rounding():
    angle = np.linspace(0, 2 * math.pi, 400, endpoint=False)
    points = np.stack([0.5 + 0.3 * np.cos(angle), 0.5 + 0.2 * np.sin(angle), 0 * angle + 0.0125], axis=1)
    fine = Markers(np.float32(points), np.stack([np.arange(400), np.roll(np.arange(400), -1)], axis=1).astype(np.int32))
    coarse = evened(PLANE, fine, nothing(PLANE))
    assert len(coarse.points) < 250
    assert enclosed(*coarse) == pytest.approx(enclosed(*fine), rel=1e-6)


@grids
def test_markers_go_round_and_come_back(grid):
    """One turn of a ball off the middle, by second order in time: it is where it was, with its volume."""
    start = markers = around(grid, ball(grid, (0.5, 0.65), 0.2))

    def turning(x):
        return np.stack([0.5 - x[..., 1], x[..., 0] - 0.5, 0 * x[..., 2]], axis=-1)

    steps = 80
    for _ in range(steps):
        markers = carried(grid, markers, turning, 2 * math.pi / steps)
    assert_closed(markers)
    assert volume(markers, grid) == pytest.approx(volume(start, grid), rel=0.005)
    distance = np.linalg.norm(markers.points - (0.5, 0.65, 0.5 * grid.size[2]), axis=1)
    assert np.abs(distance - 0.2).max() < 0.25 * grid.h
    assert topology_changed(grid, markers) is None


def test_a_disc_in_a_vortex_is_drawn_out_and_comes_back():
    """Rider & Kothe's reversed vortex: a spiral of many times the length, then the disc again."""
    start = markers = around(PLANE, ball(PLANE, (0.5, 0.75), 0.15))
    steps, period, longest = 200, 2.0, 0.0
    for n in range(steps):
        swing = math.cos(math.pi * (n + 0.5) / steps)

        def vortex(x, swing=swing):
            px, py = math.pi * x[..., 0], math.pi * x[..., 1]
            u = np.sin(px) ** 2 * np.sin(2 * py)
            return swing * np.stack([u, -(np.sin(py) ** 2) * np.sin(2 * px), 0 * u], axis=-1)

        markers = carried(PLANE, markers, vortex, period / steps)
        longest = max(longest, edges(markers).sum())
    assert longest > 1.5 * edges(start).sum()
    assert volume(markers, PLANE) == pytest.approx(volume(start, PLANE), rel=0.02)
    distance = np.linalg.norm(markers.points[:, :2] - (0.5, 0.75), axis=1)
    assert np.abs(distance - 0.15).max() < 1.0 * PLANE.h


@grids
def test_liquid_at_walls_ends_there_with_a_sharp_edge(grid):
    """A block in a corner: its volume to a thousandth, and φ does not see the walls."""
    block = Box((-1, -1, -1), (0.4, 0.6, 2))
    markers = around(grid, block)
    assert_closed(markers)
    assert volume(markers, grid) == pytest.approx(0.4 * 0.6 * grid.size[2], rel=2e-3)
    phi = level_set(grid, markers, nothing(grid), 4.0)
    assert phi[0, 0, 0] == pytest.approx(-4 * grid.h)
    top = round(0.6 / grid.h)
    assert phi[0, top - 1 : top + 1, 0] == pytest.approx([-0.5 * grid.h, 0.5 * grid.h], abs=0.02 * grid.h)


def test_markers_at_walls_stay_at_them():
    """Liquid drawn away from a wall thins, but does not leave it."""
    markers = around(PLANE, Box((-1, -1, -1), (2, 0.4, 1)))

    def up(x):  # u = 0 at the floor, and away from it
        return np.stack([0.5 - x[..., 0], x[..., 1], 0 * x[..., 2]], axis=-1)

    for _ in range(50):
        markers = carried(PLANE, markers, up, 0.01)
    assert np.count_nonzero(markers.points[:, 1] == 0) > 20
    assert markers.points[:, 1].max() == pytest.approx(0.4 * math.exp(0.5), rel=1e-3)


@grids
@pytest.mark.parametrize("gap", [-0.5, 0.05])
def test_two_balls_that_meet_become_one(grid, gap):
    """Both when they overlap and when hardly any air is between; the volume is that of the two."""
    one, two = (around(grid, ball(grid, (0.5 + side * (0.15 + 0.5 * gap * grid.h), 0.5), 0.15)) for side in (-1, 1))
    both = Markers(np.concatenate([one.points, two.points]), np.concatenate([one.parts, two.parts + len(one.points)]))
    assert topology_changed(grid, both) is not None
    new = renewed(grid, both, nothing(grid))
    assert_closed(new)
    assert topology_changed(grid, new) is None
    assert volume(new, grid) == pytest.approx(volume(both, grid), rel=2e-3)


@grids
def test_two_balls_apart_stay_two(grid):
    both = around(grid, ball(grid, (0.3, 0.5), 0.15) | ball(grid, (0.75, 0.5), 0.15))
    assert topology_changed(grid, both) is None
    assert surface_count(len(both.points), both.parts[:, [0, 1, 1]] if grid.is_2d else both.parts) == 2


def test_a_thin_sheet_of_triangles_is_not_pinched():
    """A closed box one short edge thick: to even it keeps it closed, and its volume."""
    grid = CUBE
    markers = around(grid, Box((0.2, 0.2, 0.45), (0.8, 0.8, 0.55)))
    points = markers.points.copy()
    points[:, 2] = 0.5 + 0.2 * (points[:, 2] - 0.5)  # 0.02 thick, and cells are 0.05
    before = enclosed(points, markers.parts)
    thin = Markers(*evened_triangles(points, markers.parts, np.zeros(len(points), np.int32), 0.015, 0.04))
    assert_closed(thin)
    assert enclosed(*thin) == pytest.approx(before, rel=0.02)
