"""How many particles there are: even, reproducible, bounded, and measured without bias."""

import numpy as np
import pytest

from paddlewheel.physics.seeding import CROWDED, SCATTER, density_error, reseed, seed, volume_seen, volume_seen_anew
from paddlewheel.types import Grid

CUBE = Grid((8, 6, 4), 0.5)
FLAT = Grid((8, 6, 1), 0.5)
OPEN = np.full(CUBE.node_shape, 9.0, np.float32)


def everywhere(points):
    return np.full(len(points), -1.0)


def cells_of(grid, position):
    at = np.minimum((position / grid.h).astype(int), np.array(grid.shape) - 1)
    return np.ravel_multi_index(tuple(at.T), grid.shape)


def in_order(grid, position):
    """Positions in the order of their cells, and the range of each cell."""
    cell = cells_of(grid, position)
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(np.prod(grid.shape) + 1)).astype(np.int32)
    return position[order], first


def hats(grid, position):
    """Σ of trilinear hats at centres, the slow way; in 2-D of x and y only."""
    density = np.zeros(grid.shape)
    for at in np.ndindex(grid.shape):
        offset = np.abs(position / grid.h - np.array(at) - 0.5)[:, : 2 if grid.is_2d else 3]
        density[at] = np.prod(np.maximum(0, 1 - offset), axis=1).sum()
    return density


@pytest.mark.parametrize(
    ("grid", "per_cell"), [(CUBE, 1), (CUBE, 4), (CUBE, 8), (CUBE, 27), (FLAT, 1), (FLAT, 4), (FLAT, 9)]
)
def test_every_cell_and_every_slice_of_it_has_its_share(grid, per_cell):
    """Along each axis the particles of a cell lie in per_cell slices, one in each."""
    position = seed(grid, everywhere, per_cell=per_cell)
    assert position.dtype == np.float32
    cell = cells_of(grid, position)
    assert np.array_equal(cell, np.repeat(np.arange(np.prod(grid.shape)), per_cell))
    inside = (position / grid.h % 1).reshape(-1, per_cell, 3)
    for a in range(2 if grid.is_2d else 3):
        slices = np.sort((inside[..., a] * per_cell).astype(int), axis=1)
        assert np.mean(slices == np.arange(per_cell)) > 0.999  # but for rounding to float32
    if grid.is_2d:
        assert np.all(position[:, 2] == 0.5 * grid.h)


def test_positions_within_a_box_are_even_and_independent():
    """Moments of uniform numbers, and no correlation between the axes, within 4 standard errors."""
    u = (seed(Grid((16, 16, 16), 1.0), everywhere, number=3) * 2 % 1).astype(float)
    n = len(u)
    assert np.abs(u.mean(axis=0) - 0.5).max() < 4 * np.sqrt(1 / 12 / n)
    assert np.abs((u**2).mean(axis=0) - 1 / 3).max() < 4 * np.sqrt(4 / 45 / n)
    correlation = np.corrcoef(u.T)
    assert np.abs(correlation - np.eye(3)).max() < 4 / np.sqrt(n)


def test_the_number_decides_and_nothing_else(on_threads):
    """Not the threads, not the bounds, not the region asked for."""
    everything = seed(CUBE, everywhere, number=5)
    assert np.array_equal(everything, on_threads(2, seed, CUBE, everywhere, number=5))
    assert np.array_equal(everything, on_threads(1, seed, CUBE, everywhere, number=5))
    other = seed(CUBE, everywhere, number=6)
    assert np.abs(everything - other).mean() > 0.05 * CUBE.h
    center = np.array([1.7, 1.4, 0.9])

    def ball(points):
        return np.linalg.norm(points - center, axis=1) - 0.8

    whole = seed(CUBE, ball, number=5)
    assert np.array_equal(whole, everything[np.linalg.norm(everything - center, axis=1) < 0.8])
    assert np.array_equal(whole, seed(CUBE, ball, number=5, bounds=(center - 0.8, center + 0.8)))


def test_bounds_spare_the_cells_outside():
    looked_at = []

    def inside(points):
        looked_at.append(points)
        return everywhere(points)

    position = seed(CUBE, inside, bounds=((1.1, -np.inf, 0.0), (1.4, 0.5, 99.0)))
    assert np.all((np.concatenate(looked_at) >= (1.0, 0.0, 0.0)) & (np.concatenate(looked_at) <= (1.5, 0.5, 2.0)))
    assert len(position) == 8 * 1 * 1 * 4
    assert seed(CUBE, everywhere, bounds=((9, 9, 9), (10, 10, 10))).shape == (0, 3)


@pytest.mark.parametrize("height", np.linspace(1.0, 1.5, 6))
def test_the_number_below_any_height_is_right_to_one_per_cell(height):
    position = seed(CUBE, lambda points: points[:, 1] - height)
    columns = np.bincount(cells_of(CUBE, position * np.array([1, 0, 1], np.float32)), minlength=np.prod(CUBE.shape))
    columns = columns.reshape(CUBE.shape)[:, 0]
    assert np.abs(columns - 8 * height / CUBE.h).max() <= 1


@pytest.mark.parametrize(("grid", "per_cell"), [(CUBE, 5), (CUBE, 0), (FLAT, 8), (CUBE, -8)])
def test_a_number_per_cell_that_fills_no_lattice_is_refused(grid, per_cell):
    with pytest.raises(ValueError, match="per_cell"):
        seed(grid, everywhere, per_cell=per_cell)


def spot(grid, at, count, per_cell=8):
    """Even particles, and so many more on one spot [m], in the order of cells."""
    even = seed(grid, everywhere, per_cell=per_cell)
    return in_order(grid, np.concatenate([even, np.tile(np.float32(at), (count, 1))]))


def test_reseeding_leaves_an_even_liquid_alone():
    position, first = in_order(CUBE, seed(CUBE, everywhere))
    before = position.copy()
    assert reseed(CUBE, position, first, OPEN) is None
    assert np.array_equal(position, before)


@pytest.mark.parametrize(("grid", "per_cell"), [(CUBE, 8), (FLAT, 4)], ids=["3-D", "2-D"])
def test_a_crowd_is_scattered_around_and_nothing_else_moves(grid, per_cell):
    """As many as are too many go, evenly to both sides, and along z only in 3-D."""
    at = np.array([1.7, 1.3, 0.5 * grid.h * grid.shape[2]], np.float32)
    position, first = spot(grid, at, 1000, per_cell)
    before = position.copy()
    went = reseed(grid, position, first, np.full(grid.node_shape, 9.0, np.float32), per_cell=per_cell, number=3)
    moved = np.any(position != before, axis=1)
    assert np.array_equal(went, moved)
    crowd = cells_of(grid, before) == cells_of(grid, at[None])[0]
    assert np.all(crowd[moved])
    assert moved.sum() == crowd.sum() - CROWDED * per_cell
    way = (position - before)[moved] / grid.h
    axes = slice(2 if grid.is_2d else 3)
    assert np.abs(way).max() <= SCATTER
    assert np.abs(way[:, axes].mean(axis=0)).max() < 4 * SCATTER / np.sqrt(3 * len(way))
    assert way[:, axes].std(axis=0) == pytest.approx(SCATTER / np.sqrt(3), rel=0.1)
    assert np.all(way[:, 2] == 0) == grid.is_2d


def test_a_crowd_parts_in_a_few_turns():
    """A hundred times as many in a cell as there should be, and hardly twice as many after eight turns."""
    grid = Grid((16, 16, 16), 0.5)
    position, first = spot(grid, (4.2, 4.1, 3.9), 800)
    for number in range(8):
        reseed(grid, position, first, np.full(grid.node_shape, 9.0, np.float32), number=number)
        position, first = in_order(grid, position)
    assert np.diff(first).max() <= 3 * CROWDED * 8


def test_a_crowd_stays_on_its_side_of_a_wall_and_in_the_domain():
    """The wall is a cell thick; the crowd is in a corner between it and two sides."""
    x = np.arange(CUBE.node_shape[0])[:, None, None] * CUBE.h
    wall = np.broadcast_to(np.abs(x - 1.5) - 0.25, CUBE.node_shape).astype(np.float32)
    position, first = in_order(CUBE, np.tile(np.float32([1.1, 0.1, 0.1]), (500, 1)))
    for number in range(5):
        reseed(CUBE, position, first, wall, number=number)
        assert np.all(position > 0)
        assert np.all(position[:, 0] <= 1.25)
    assert np.unique(position[:, 0]).size > 400


def test_where_a_crowd_goes_depends_on_the_number_alone(on_threads):
    def scattered(number):
        position, first = spot(CUBE, (1.7, 1.3, 1.0), 300)
        reseed(CUBE, position, first, OPEN, number=number)
        return position

    assert np.array_equal(on_threads(1, scattered, 1), on_threads(2, scattered, 1))
    assert not np.array_equal(scattered(1), scattered(2))


def test_ranges_or_solids_of_another_grid_are_refused():
    position, first = in_order(CUBE, seed(CUBE, everywhere))
    with pytest.raises(ValueError, match="first has 191 cells"):
        reseed(CUBE, position, first[1:], OPEN)
    with pytest.raises(ValueError, match="expected values at nodes"):
        reseed(CUBE, position, first, OPEN[1:])


@pytest.mark.parametrize("grid", [CUBE, FLAT], ids=["3-D", "2-D"])
def test_what_a_hat_sees_at_the_sides_is_exact(grid):
    seen = volume_seen(np.full(grid.node_shape, 9.0, np.float32))
    expected = np.ones(grid.shape)
    for a in range(2 if grid.is_2d else 3):
        np.moveaxis(expected, a, 0)[[0, -1]] *= 7 / 8
    assert seen == pytest.approx(expected, rel=1e-6)


def test_what_a_hat_sees_beside_an_oblique_wall():
    """Against a fine sum of points."""
    grid, normal = Grid((6, 6, 6), 1.0), np.array([0.48, 0.8, 0.36])
    wall = (grid.node_points() - 3.1) @ normal
    n = 40
    points = (np.stack(np.meshgrid(*3 * [np.arange(2 * n)], indexing="ij"), axis=-1).reshape(-1, 3) + 0.5) / n - 1
    weight = np.prod(1 - np.abs(points), axis=1) / n**3
    seen = volume_seen(wall)
    for at in np.ndindex(4, 4, 4):
        center = np.array(at) + 1.5
        exact = weight[(points + center - 3.1) @ normal > 0].sum()
        assert seen[tuple(np.array(at) + 1)] == pytest.approx(exact, abs=0.03)


def walls(name, grid):
    points = grid.node_points() - 0.5 * np.array(grid.size)
    return {
        "box": np.full(grid.node_shape, 9.0),
        "slope": points @ np.array([-0.2924, 0.9563, 0.0]) + 0.2 * grid.size[1],
        "bowl": 0.47 * grid.size[0] - np.linalg.norm(points, axis=-1),
    }[name]


@pytest.mark.parametrize("name", ["box", "slope", "bowl"])
def test_an_even_liquid_has_no_error_on_average(name):
    grid = Grid((14, 14, 14), 1.0)
    solid = walls(name, grid)
    position = seed(grid, everywhere, number=7)
    i, j, k = np.minimum(position.astype(int), 13).T
    x, y, z = (position % 1).T.astype(float)
    inside = sum(
        solid[i + a, j + b, k + c] * np.abs(1 - a - x) * np.abs(1 - b - y) * np.abs(1 - c - z)
        for a in range(2) for b in range(2) for c in range(2)
    )  # fmt: skip
    seen = volume_seen(solid)
    error = density_error(hats(grid, position[inside > 0]), seen, np.full(grid.shape, -5.0), grid.h)[seen > 0.1]
    assert abs(error.mean()) < (0.002 if name == "box" else 0.012)
    assert error.std() < (0.05 if name == "box" else 0.12)


def test_near_air_a_lack_counts_less_than_an_excess():
    """The surface is 0.6 cells above the centres of the third layer; of those a hat over the surface leaves 0.92."""
    phi = CUBE.cell_points()[..., 1] - 1.55
    seen = volume_seen(OPEN)
    little, lack, excess = (density_error(8 * share * seen, seen, phi, CUBE.h) for share in (0.85, 0.7, 1.3))
    assert lack[:, :2] == pytest.approx(-0.3 * seen[:, :2], abs=1e-6)
    assert excess[:, :2] == pytest.approx(0.3 * seen[:, :2], abs=1e-6)
    assert excess[:, 2] == pytest.approx(0.2 * seen[:, 2], abs=1e-6)
    assert lack[:, 2] == pytest.approx((0.7 - 0.92 + 0.1) * seen[:, 2], abs=1e-6)
    assert np.all(little[:, 2] == 0)
    for error in (little, lack, excess):
        assert np.all(error[:, 3:] == 0)
    assert np.all(density_error(80 * seen, seen, phi, CUBE.h)[:, :3] == 0.5)
    assert np.all(density_error(8 * seen, np.full_like(seen, 0.09), phi, CUBE.h) == 0)


def test_half_a_cell_below_the_surface_no_lack_counts():
    """There a drop, a sheet or an edge has fewer particles than a flat surface."""
    phi = CUBE.cell_points()[..., 1] - 1.49
    seen = volume_seen(OPEN)
    assert np.all(density_error(0 * seen, seen, phi, CUBE.h)[:, 2] == 0)
    assert density_error(0 * seen, seen, phi, CUBE.h)[:, 1] == pytest.approx(-np.minimum(seen[:, 1], 0.5))


def test_the_error_does_not_depend_on_threads(on_threads):
    rng = np.random.default_rng(2)
    solid, phi, density = (
        rng.normal(0.5, 1, CUBE.node_shape),
        rng.normal(-1, 1, CUBE.shape),
        16 * rng.random(CUBE.shape),
    )
    one, two = (on_threads(n, lambda: density_error(density, volume_seen(solid), phi, CUBE.h)) for n in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("reach", [1, 2])
@pytest.mark.parametrize("shape", [(40, 36, 1), (24, 20, 22)])
@pytest.mark.parametrize("center", [(1.5, 1.6, 1.1), (0.1, 1.5, 0.1), (1.2, 0.8, 1.0)])
def test_only_what_sees_a_body_is_found_anew(shape, reach, center):
    """To the last bit, also where the body lies at a side, or in a wall."""
    grid = Grid(shape, 0.1)
    points = grid.node_points()
    wall = (points[..., 1] - 0.73 - 0.1 * points[..., 0]).astype(np.float32)
    apart = (points - center)[..., : 2 if grid.is_2d else 3]
    solid = np.minimum(wall, np.sqrt((apart**2).sum(axis=-1)) - 0.31).astype(np.float32)
    ends = ((int(c / 0.1), n) for c, n in zip(center, solid.shape, strict=True))
    box = tuple(slice(max(at - 7, 0), min(at + 9, n)) for at, n in ends)
    box = (*box[:2], slice(0, 2)) if grid.is_2d else box
    found = volume_seen_anew(volume_seen(wall, reach=reach), solid, [box], reach=reach)
    np.testing.assert_array_equal(found, volume_seen(solid, reach=reach))
