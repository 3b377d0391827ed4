"""Parts of the liquid that touch nothing: which there are, and that they have the momentum they should."""

import numpy as np
import pytest

from paddlewheel.physics.free_parts import free_parts
from paddlewheel.physics.transfer import sorted_by_cell
from paddlewheel.types import Faces, Grid, Particles

GRIDS = [Grid((21, 18, 20), 0.1), Grid((21, 18, 1), 0.1)]
grids = pytest.mark.parametrize("grid", GRIDS, ids=["3-D", "2-D"])


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def opened(grid):
    """All faces open but those of the domain's sides."""
    open = Faces(*(np.ones(grid.face_shape(a), np.float32) for a in range(3)))
    for a in range(3):
        w = np.moveaxis(open[a], a, 0)
        w[0] = w[-1] = 0
    return open


def cluster(rng, grid, cell, count=40):
    """Particles in a cell; in a plane in its layer."""
    i, j, k = cell
    corner = np.array((i, j, 0 if grid.is_2d else k))
    return (corner + rng.uniform(0.05, 0.95, (count, 3))) * grid.h


def particles_at(rng, grid, *cells):
    """Particles with velocities, sorted, and where those of each cell begin."""
    position = np.concatenate([cluster(rng, grid, cell) for cell in cells]).astype(np.float32)
    velocity = rng.normal(size=position.shape).astype(np.float32)
    velocity[:, 2] *= not grid.is_2d
    return sorted_by_cell(grid, Particles.at(position, velocity))


def parts_of(grid, particles, first, open):
    parts = free_parts(grid, first, open)
    return parts, None if parts is None else parts.of_particles()


@grids
def test_what_is_in_the_middle_is_free_and_what_is_at_a_side_is_not(grid, rng):
    particles, first = particles_at(rng, grid, (10, 9, 10), (1, 9, 10), (10, 16, 10))
    parts, part = parts_of(grid, particles, first, opened(grid))
    near = np.linalg.norm(particles.position[:, :2] / grid.h - (10.5, 9.5), axis=1) < 1
    assert parts.count == 1
    assert np.array_equal(part >= 0, near)


@grids
@pytest.mark.parametrize("axis", [0, 1])
def test_parts_whose_hats_share_a_face_are_one(grid, axis, rng):
    """Those two cells apart, wherever the blocks begin; those six cells apart are not."""
    for start in (6, 7):
        for apart, count in ((1, 1), (2, 1), (6, 2)):
            cells = [[start, 8, 9], [start, 8, 9]] if axis == 0 else [[10, start - 1, 9], [10, start - 1, 9]]
            cells[1][axis] += apart
            _, first = particles_at(rng, grid, *cells)
            assert free_parts(grid, first, opened(grid)).count == count


@grids
def test_a_cut_face_two_cells_away_holds(grid, rng):
    _, first = particles_at(rng, grid, (10, 9, 9))
    for a in range(2):
        for way in (-2, 2):
            open = opened(grid)
            at = [10, 9, 0 if grid.is_2d else 9]
            at[a] += way
            open[a][tuple(at)] = 0.99
            assert free_parts(grid, first, open) is None


@grids
def test_momentum_is_given_back_to_those_that_lack_it(grid, rng):
    """Each part by itself has what it had and what it gained; all else is left alone."""
    particles, first = particles_at(rng, grid, (6, 6, 6), (13, 10, 13), (1, 1, 1))
    parts, part = parts_of(grid, particles, first, opened(grid))
    assert parts.count == 2
    was = particles.velocity.astype(float)
    before = parts.sums(particles.velocity)
    assert before[:, 3] == pytest.approx([40, 40])
    gained = np.array([[1.0, 2.0, 0.0], [-1.0, 0.5, 0.0]])
    velocity = (0.7 * particles.velocity + np.array([0.1, 0.2, 0.0], np.float32)).astype(np.float32)
    now = velocity.copy()
    parts.restore(now, before, gained)
    for number in range(2):
        inside = part == number
        assert now[inside].mean(0) == pytest.approx(was[inside].mean(0) + gained[number], abs=1e-6)
        change = (now - velocity)[inside]
        assert np.ptp(change, axis=0) == pytest.approx(0, abs=1e-6)
    assert np.array_equal(now[part < 0], velocity[part < 0])


def test_means_are_of_each_part(rng):
    grid = GRIDS[0]
    particles, first = particles_at(rng, grid, (6, 6, 6), (13, 10, 13), (1, 1, 1))
    parts, part = parts_of(grid, particles, first, opened(grid))
    values = particles.position[part >= 0].astype(float)
    means = parts.means(values, part[part >= 0])
    for number in range(2):
        assert means[number] == pytest.approx(particles.position[part == number].mean(0), abs=1e-6)


def test_no_particles_no_parts():
    grid = GRIDS[0]
    _, first = sorted_by_cell(grid, Particles.at(np.empty((0, 3)), np.empty((0, 3))))
    assert free_parts(grid, first, opened(grid)) is None
