"""The surface of particles: flat where it is flat, thin where it is thin, with their volume below it."""

import numpy as np
import pytest

from paddlewheel.grid.levelset import extend_into_solids
from paddlewheel.physics.surface import FAR, liquid_volume, surface_distance
from paddlewheel.types import Grid

SHAPE, FLAT = (16, 9, 16), (64, 9, 1)


def jittered(grid, side, rng):
    """One particle anywhere in each of side³ boxes of each cell, side² in 2-D, in units of cells."""
    depth = 1 if grid.is_2d else side
    boxes = np.indices([n * s for n, s in zip(grid.shape, (side, side, depth), strict=True)]).reshape(3, -1).T
    return (boxes + rng.random(boxes.shape)) / (side, side, depth)


def distance(grid, points, solid=None, **options):
    """φ of particles at points given in cells, in cells."""
    position = (points * grid.h).astype(np.float32)
    at = np.minimum((position / np.float32(grid.h)).astype(int), np.array(grid.shape) - 1)
    cell = np.ravel_multi_index(tuple(at.T), grid.shape)
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(np.prod(grid.shape) + 1)).astype(np.int32)
    options = {"per_cell": 4 if grid.is_2d else 8} | options
    phi = surface_distance(grid, position[order], first, solid, **options)
    assert phi.dtype == np.float32
    return phi.astype(float) / grid.h


def heights(phi):
    """Where φ passes zero upwards along y, in cells, linear between centres; one in each column."""
    below = (phi[:, :-1] < 0) & (phi[:, 1:] >= 0)
    assert np.all(below.sum(axis=1) == 1)
    j = np.argmax(below, axis=1)[:, None]
    low, high = np.take_along_axis(phi[:, :-1], j, 1), np.take_along_axis(phi[:, 1:], j, 1)
    return (j + 0.5 + low / (low - high))[:, 0]


@pytest.mark.parametrize(("shape", "rms"), [(SHAPE, 0.055), (FLAT, 0.12)], ids=["3-D", "2-D"])
def test_a_flat_surface_is_where_it_is(shape, rms):
    """At eleven heights of the surface within a cell; bumps with one particle anywhere in each eighth of a cell."""
    grid, errors = Grid(shape, 0.1), []
    for n, height in enumerate(np.linspace(4, 5, 11)):
        points = jittered(grid, 2, np.random.default_rng(n))
        errors.append(heights(distance(grid, points[points[:, 1] < height])) - height)
    means = np.mean(errors, axis=(1, 2))
    assert abs(np.mean(means)) < 0.02
    assert np.abs(means).max() < 0.6 * rms
    assert np.std(errors) < rms
    assert np.abs(errors).max() < 6 * rms


def test_one_particle_in_a_cell_has_a_surface_too():
    """With bumps three times as high, and no bias to speak of (B08 §6)."""
    grid, errors = Grid((24, 12, 24), 0.1), []
    for n, height in enumerate(np.linspace(5, 6, 11)):
        points = jittered(grid, 1, np.random.default_rng(n))
        errors.append(
            distance(grid, points[points[:, 1] < height], per_cell=1)[:, 4:7] - np.arange(4.5, 7)[:, None] + height
        )
    near = np.abs(np.array(errors)) < 0.9  # what is told by its sign alone is not
    assert abs(np.mean(np.array(errors)[near])) < 0.05
    assert np.std(np.array(errors)[near]) < 0.2


def test_a_lone_particle_of_one_in_a_cell_is_about_as_large_as_a_cell():
    """A ball of a cell's volume has a radius of 0.62 cells."""
    grid = Grid((9, 9, 9), 0.1)
    for away, sign in ((0.55, -1), (0.8, 1)):
        phi = distance(grid, np.array([[4.5 + away, 4.5, 4.5]]), per_cell=1)
        assert np.sign(phi[4, 4, 4]) == sign
        assert np.all(phi[:3] > 0)


def test_phi_is_a_distance_on_both_sides():
    grid, height = Grid(SHAPE, 0.1), 4.3
    points = jittered(grid, 2, np.random.default_rng(1))
    phi = distance(grid, points[points[:, 1] < height])
    error = phi - (np.arange(9)[:, None] + 0.5 - height)
    near = np.abs(np.arange(9) + 0.5 - height) < 3
    assert np.abs(error[:, near].mean(axis=(0, 2))).max() < 0.05
    assert np.abs(phi).max() == pytest.approx(FAR)


def test_at_the_sides_the_surface_is_as_flat_as_elsewhere():
    grid, errors = Grid(SHAPE, 0.1), []
    for n, height in enumerate(np.linspace(4, 5, 11)):
        points = jittered(grid, 2, np.random.default_rng(n))
        errors.append(heights(distance(grid, points[points[:, 1] < height])) - height)
    edge = np.array(errors)[:, [0, -1]]
    assert abs(edge.mean()) < 0.03
    assert edge.std() < 0.075


@pytest.mark.parametrize("radius", [3, 6])
def test_a_ball_keeps_its_volume_to_second_order(radius):
    """Two fifths of what is missing are the chord between centres, which an exact φ misses too."""
    size, lost = 2 * radius + 6, []
    grid = Grid((size,) * 3, 1.0)
    for n in range(3):
        rng = np.random.default_rng(n)
        center = 0.5 * size + rng.random(3) - 0.5
        points = jittered(grid, 2, rng)
        points = points[np.linalg.norm(points - center, axis=1) < radius]
        phi = distance(grid, points)
        lost.append(1 - liquid_volume(phi, np.full(grid.node_shape, 9.0), 1.0) / (len(points) / 8))
    assert 0 < np.mean(lost) < 1.5 / radius**2


@pytest.mark.parametrize(("thickness", "kept"), [(1.0, 0.85), (0.5, 0.6)])
def test_thin_sheets_stay(thickness, kept):
    """At nine heights within a cell: the share of columns in which a cell is liquid, and the volume."""
    grid, liquid, volume = Grid((16, 9, 16), 1.0), [], []
    for n, low in enumerate(np.linspace(4, 5, 9)):
        points = jittered(grid, 2, np.random.default_rng(n))
        phi = distance(grid, points[(points[:, 1] > low) & (points[:, 1] < low + thickness)])
        liquid.append(np.any(phi < 0, axis=1).mean())
        volume.append(liquid_volume(phi, np.full(grid.node_shape, 9.0), 1.0) / (256 * thickness))
    assert np.mean(liquid) > kept
    assert 0.6 < np.mean(volume) < 1.3


def test_a_single_particle_is_a_small_ball():
    """Liquid at a centre nearer than 0.37 h, and not otherwise."""
    grid = Grid((5, 5, 5), 0.2)
    center = np.array([2.5, 2.5, 2.5])
    direction = np.array([0.48, 0.8, 0.36])
    for offset, liquid in ((0.0, True), (0.3, True), (0.45, False)):
        assert (distance(grid, center[None] + offset * direction)[2, 2, 2] < 0) == liquid
    assert distance(grid, np.empty((0, 3))) == pytest.approx(FAR)


def test_a_lost_particle_leaves_no_hole():
    """A cell that happens to be empty deep in the liquid is still liquid."""
    grid = Grid((9, 9, 9), 1.0)
    points = jittered(grid, 2, np.random.default_rng(1))
    assert np.all(distance(grid, points[np.abs(points - 4.5).max(axis=1) > 0.5]) < 0)


@pytest.mark.parametrize("axes", [(1, 0, 2), (0, 2, 1), (1, 2, 0)])
def test_turning_turns_the_surface(axes):
    grid = Grid((7, 8, 9), 1.0)
    points = jittered(grid, 2, np.random.default_rng(2))
    points = points[np.linalg.norm(points - (3, 3, 5), axis=1) < 2.7]
    turned = distance(Grid(tuple(grid.shape[a] for a in axes), 1.0), points[:, axes])
    assert turned == pytest.approx(np.transpose(distance(grid, points), axes), abs=1e-4)
    flipped = distance(grid, np.array(grid.shape) - points)
    assert flipped == pytest.approx(np.flip(distance(grid, points)), abs=1e-4)


def test_depth_does_not_matter_in_2d():
    grid = Grid((12, 12, 1), 1.0)
    points = jittered(grid, 2, np.random.default_rng(3))
    points = points[np.linalg.norm(points[:, :2] - 6, axis=1) < 4]
    middle = points * (1, 1, 0) + (0, 0, 0.5)
    assert distance(grid, points) == pytest.approx(distance(grid, middle), abs=1e-6)


def test_the_same_on_any_number_of_threads(on_threads):
    grid = Grid((12, 12, 12), 1.0)
    points = jittered(grid, 2, np.random.default_rng(4))
    points = points[np.linalg.norm(points - 5, axis=1) < 4]
    solid = grid.node_points()[..., 0] - 2.3
    assert np.array_equal(*(on_threads(n, distance, grid, points, solid) for n in (1, 2)))
    phi = np.random.default_rng(5).normal(0, 1, grid.shape)
    one, two = (on_threads(n, liquid_volume, phi, solid, grid.h) for n in (1, 2))
    assert one == two


@pytest.mark.parametrize("tilt", [17, 45, 90])
def test_the_surface_meets_a_wall_as_flat_as_it_is_elsewhere(tilt):
    """In open cells within two of the wall; and in the solid, into which φ is carried on, to half a cell past its end.

    Farther on, the surface lies ever deeper in the solid, and φ is too large there if the wall is as gentle as 17°.
    """
    grid, errors, inside = Grid((20, 16, 12), 1.0), [], []
    normal, foot = np.array([-np.sin(np.radians(tilt)), np.cos(np.radians(tilt)), 0.0]), (8.3, 4, 0)
    solid, wall = (grid.node_points() - foot) @ normal, (grid.cell_points() - foot) @ normal
    for n, height in enumerate(np.linspace(6, 7, 6)):
        points = jittered(grid, 2, np.random.default_rng(n))
        points = points[(points[:, 1] < height) & ((points - foot) @ normal > 0)]
        exact = grid.cell_points()[..., 1] - height
        error = extend_into_solids(distance(grid, points, solid), solid, 1.0) - exact
        errors.append(error[(np.abs(exact) < 0.6) & (wall > 0) & (wall < 2)])
        end = foot[0] + (height - foot[1]) / np.tan(np.radians(tilt))
        before = grid.cell_points()[..., 0] < end + 0.5
        inside.append(error[(np.abs(exact) < 0.6) & (wall > -0.5) & (wall < 0) & before])
    errors, inside = np.concatenate(errors), np.concatenate(inside)
    assert min(len(errors), len(inside)) > 30
    assert abs(errors.mean()) < 0.04
    assert errors.std() < 0.09
    assert abs(inside.mean()) < 0.08
    assert inside.std() < 0.16


@pytest.mark.parametrize("height", [0.0, 0.03, 0.1, 0.37, 0.5, 0.93, 0.98, 1.0])
def test_the_volume_of_a_layer_is_exact(height):
    for shape in ((10, 10, 10), (10, 10, 1)):
        grid = Grid(shape, 0.1)
        open = np.full(grid.node_shape, 9.0)
        area = grid.size[0] * grid.size[2]
        phi = grid.cell_points()[..., 1] - height
        assert liquid_volume(phi, open, grid.h) == pytest.approx(area * height, abs=1e-7)
        assert liquid_volume(-phi, open, grid.h) == pytest.approx(area * (1 - height), abs=1e-7)
        wall = grid.node_points()[..., 0] - 0.33
        assert liquid_volume(phi, wall, grid.h) == pytest.approx(0.67 * area * height, abs=1e-7)


def test_the_volume_of_a_ball_is_of_second_order():
    errors = []
    for n in (10, 20, 40):
        grid = Grid((n, n, n), 1 / n)
        phi = np.linalg.norm(grid.cell_points() - (0.48, 0.51, 0.5), axis=-1) - 0.35
        solid = (grid.node_points() - (0.48, 0.51, 0.5)) @ (0.48, 0.8, 0.36)  # cuts it in halves
        exact = 2 / 3 * np.pi * 0.35**3
        errors.append(abs(liquid_volume(phi, solid, grid.h) / exact - 1))
    assert errors[2] < 0.005
    assert np.log2(errors[0] / errors[2]) / 2 > 1.8


def test_arrays_of_another_grid_are_refused():
    grid = Grid((4, 4, 4), 1.0)
    with pytest.raises(ValueError, match="first"):
        surface_distance(grid, np.zeros((3, 3), np.float32), np.zeros(65, np.int32))
    with pytest.raises(ValueError, match="nodes"):
        surface_distance(grid, np.zeros((0, 3), np.float32), np.zeros(65, np.int32), np.zeros((4, 4, 4)))
    with pytest.raises(ValueError, match="nodes"):
        liquid_volume(np.zeros((4, 4, 4)), np.zeros((4, 4, 4)), 1.0)
