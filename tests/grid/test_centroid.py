"""Centroids of the open parts of faces, and velocity interpolated from samples there."""

import numpy as np
import pytest
from turning import TURNS, turn, turn_faces

from paddlewheel.grid.centroid import Centroids, interpolate, open_centroids, recentered
from paddlewheel.grid.extrapolate import constrain, extrapolate
from paddlewheel.grid.fractions import open_fractions
from paddlewheel.types import Boundary, Faces, Grid

GRID = Grid((12, 10, 8), 0.1)
FLAT = Grid((24, 20, 1), 0.05)
grids = pytest.mark.parametrize("grid", [GRID, FLAT], ids=["3-D", "2-D"])


def plane(grid, normal=None, shift=0.0):
    """Unit normal and signed distance at nodes of an oblique wall through the middle of the box."""
    if normal is None:
        normal = (0.28, 0.96, 0.0) if grid.is_2d else (0.48, 0.8, 0.36)
    normal = np.asarray(normal) / np.linalg.norm(normal)
    at = np.array(grid.size) * [0.5, 0.4, 0.5] + shift
    return normal, lambda x: (x - at) @ normal


def samples_at_centroids(grid, centroids, function):
    """The components of function(points) -> (..., 3) at the centroids of the faces."""
    out = []
    for a in range(3):
        points = grid.face_points(a)
        points[..., (a + 1) % 3] += grid.h * centroids.first[a]
        points[..., (a + 2) % 3] += grid.h * centroids.second[a]
        out.append(function(points)[..., a].astype(np.float32))
    return Faces(*out)


def random_faces(rng, grid):
    return Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))


def clipped_square(corners):
    """Area and centroid of the part of a unit square where a linear function is positive, by clipping its outline."""
    at = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    outline = []
    for n in range(4):
        m = (n + 1) % 4
        if corners[n] > 0:
            outline.append(at[n])
        if (corners[n] > 0) != (corners[m] > 0):
            outline.append(at[n] + corners[n] / (corners[n] - corners[m]) * (at[m] - at[n]))
    x, y = np.array(outline).T
    x1, y1 = np.roll(x, -1), np.roll(y, -1)
    cross = x * y1 - x1 * y
    area = cross.sum() / 2
    return area, ((x + x1) * cross).sum() / (6 * area), ((y + y1) * cross).sum() / (6 * area)


@pytest.mark.parametrize("normal", [(0.48, 0.8, 0.36), (-0.1, 0.2, -0.97), (1, 1, 0), (0.3, -0.9, 0.1)])
def test_planes_are_exact(normal):
    """Against the outline of the open part, a polygon."""
    _, distance = plane(GRID, normal, shift=0.013)
    phi = distance(GRID.node_points()).astype(np.float32)
    centroids = open_centroids(phi)
    checked = 0
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        for face in np.argwhere((centroids.area[a] > 1e-3) & (centroids.area[a] < 1)):
            e, f = np.eye(3, dtype=int)[[b, c]]
            corners = np.array([phi[tuple(face + step)] for step in (0 * e, e, e + f, f)], float)
            exact = clipped_square(corners)
            found = [part[a][tuple(face)] for part in centroids]
            assert found == pytest.approx(exact, abs=1e-5)
            checked += 1
    assert checked > 100


@grids
def test_area_is_that_of_the_weights_and_whole_faces_have_no_offset(grid):
    x, y, z = np.moveaxis(
        grid.node_points() / grid.h, -1, 0
    )  # of a solid wide enough that no cell is on both sides of it
    phi = grid.h * (np.sin(0.6 * x + 0.2) + np.sin(0.5 * y) + np.sin(0.7 * z) * (not grid.is_2d))
    centroids, open = open_centroids(phi), open_fractions(phi, "area")
    for a in range(3):
        area, first, second = (part[a] for part in centroids)
        assert area == pytest.approx(open[a], abs=1e-6)
        whole = (area == 0) | (area == 1)
        assert not first[whole].any()
        assert not second[whole].any()
        assert max(np.abs(first).max(), np.abs(second).max()) < 0.5
    if grid.is_2d:  # along z there is nothing to be off
        assert np.abs(centroids.second.x).max() < 1e-6
        assert np.abs(centroids.first.y).max() < 1e-6


def test_the_centroid_moves_towards_the_open_side():
    phi = np.broadcast_to((np.arange(7) - 2.75)[None, :, None], (4, 7, 4)) * 0.1
    centroids = open_centroids(phi)
    assert centroids.first.x[:, 2] == pytest.approx(0.375, abs=1e-6)  # y is the axis after x, a quarter is open
    assert centroids.area.x[:, 2] == pytest.approx(0.25, abs=1e-6)
    assert not centroids.second.x.any()
    assert centroids.second.z[:, 2] == pytest.approx(0.375, abs=1e-6)  # and the one before z


@grids
def test_constants_stay_what_they_are(grid):
    centroids = open_centroids(np.random.default_rng(2).standard_normal(grid.node_shape))
    u = Faces(*(np.full(grid.face_shape(a), v, np.float32) for a, v in enumerate((0.1, -2.3, 7.7))))
    for before, after in zip(u, recentered(u, centroids), strict=True):
        assert np.array_equal(before, after)


def test_faces_far_from_any_cut_are_kept():
    _, distance = plane(GRID)
    centroids = open_centroids(distance(GRID.node_points()))
    u = random_faces(np.random.default_rng(3), GRID)
    for a, after in enumerate(recentered(u, centroids)):
        depth = distance(GRID.face_points(a))
        far = (depth > 0.1 * 0.87) | (depth < -0.1 * 3.7)
        assert np.array_equal(after[far], u[a][far])
        assert not np.array_equal(after, u[a])


@grids
def test_linear_fields_are_exact_at_the_wall(grid):
    """Also in the closed faces beside it, whatever stood there."""
    rng = np.random.default_rng(4)
    slope = rng.standard_normal((3, 3))
    if grid.is_2d:
        slope[2] = slope[:, 2] = 0
    _, distance = plane(grid)
    centroids = open_centroids(distance(grid.node_points()))
    u = samples_at_centroids(grid, centroids, lambda x: x @ slope.T)
    u = Faces(*(np.where(w > 0, v, np.float32(9)) for v, w in zip(u, centroids.area, strict=True)))
    points = np.random.default_rng(5).random((4000, 3)) * grid.size
    points = np.clip(points, 0.5 * grid.h, np.array(grid.size) - 0.5 * grid.h)
    points = points[(distance(points) > 0) & (distance(points) < 2 * grid.h)]
    error = np.abs(interpolate(grid, u, points, centroids) - points @ slope.T)
    assert error.max() < 0.01 * grid.h * np.abs(slope).max()


@grids
def test_shear_along_a_slope_is_better_than_with_samples_at_face_centres(grid):
    """u = t (1 + d/h): the standard interpolation is off by a good part of the slope times h beside the wall."""
    normal, distance = plane(grid)
    along = np.cross(normal, (0, 0, 1))
    along /= np.linalg.norm(along)

    def shear(x):
        return (1 + distance(x)[..., None] / grid.h) * along

    phi = distance(grid.node_points()).astype(np.float32)
    centroids = open_centroids(phi)
    u = samples_at_centroids(grid, centroids, shear)
    boundary = Boundary(phi, open_fractions(phi, "area"), grid.zeros_faces())
    u, _ = extrapolate(u, Faces(*(w > 0 for w in boundary.open)), 3)
    u = constrain(u, boundary)
    points = np.random.default_rng(6).random((4000, 3)) * grid.size
    points = np.clip(points, 0.5 * grid.h, np.array(grid.size) - 0.5 * grid.h)
    points = points[(distance(points) > 0) & (distance(points) < grid.h)]
    standard, centred = (np.abs(interpolate(grid, u, points, c) - shear(points)).max() for c in (None, centroids))
    assert standard > 0.2
    assert centred < 0.02 * standard


@pytest.mark.parametrize("how", TURNS)
def test_turning_turns_everything(how):
    rng = np.random.default_rng(7)
    phi, u = rng.standard_normal(GRID.node_shape), random_faces(rng, GRID)
    after = turn_faces(recentered(u, open_centroids(phi)), how, vector=True)
    turned = recentered(turn_faces(u, how, vector=True), open_centroids(turn(phi, how)))
    for a, b in zip(turned, after, strict=True):
        assert a == pytest.approx(b, abs=2e-4)


def test_the_interpolation_has_no_jumps():
    """Along a line close to the wall the value changes by no more than the steps taken times the steepest slope."""
    _, distance = plane(GRID)
    centroids, u = open_centroids(distance(GRID.node_points())), random_faces(np.random.default_rng(8), GRID)
    t = np.linspace(0, 1, 20001)[:, None]
    line = (1 - t) * [0.1, 0.35, 0.1] + t * [1.1, 0.6, 0.7]
    values = interpolate(GRID, u, line, centroids)
    steepest = 2 * max(np.abs(v).max() for v in recentered(u, centroids)) * 3 / GRID.h
    assert np.abs(np.diff(values, axis=0)).max() < steepest * np.linalg.norm(line[1] - line[0])


def test_noise_is_hardly_amplified_outside_the_solid():
    """The slopes are extrapolated by half a cell and more; that must not blow up what a pressure solve leaves."""
    _, distance = plane(GRID)
    centroids, rng = open_centroids(distance(GRID.node_points())), np.random.default_rng(10)
    points = rng.random((20000, 3)) * GRID.size
    points = points[distance(points) > 0]
    for _ in range(5):
        u = Faces(*(rng.uniform(-1, 1, GRID.face_shape(a)).astype(np.float32) for a in range(3)))
        assert np.abs(interpolate(GRID, u, points, centroids)).max() < 2


def test_threads_do_not_matter(on_threads):
    rng = np.random.default_rng(9)
    phi, u, points = rng.standard_normal(GRID.node_shape), random_faces(rng, GRID), rng.random((9000, 3))

    def everything():
        centroids = open_centroids(phi)
        return [f for part in centroids for f in part] + [interpolate(GRID, u, points, centroids)]

    for alone, together in zip(on_threads(1, everything), on_threads(4, everything), strict=True):
        assert np.array_equal(alone, together)


def test_no_points_and_bad_input():
    u = GRID.zeros_faces()
    assert interpolate(GRID, u, np.empty((0, 3))).shape == (0, 3)
    with pytest.raises(ValueError, match=r"points have shape \(3,\)"):
        interpolate(GRID, u, np.zeros(3))
    with pytest.raises(ValueError, match=r"velocity.x has shape"):
        interpolate(FLAT, u, np.zeros((1, 3)))
    with pytest.raises(ValueError, match="expected values at the nodes"):
        open_centroids(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="expected the same grid"):
        recentered(u, Centroids(*(FLAT.zeros_faces() for _ in range(3))))
