"""Surface points lie on the surface, leave no gaps, and include its corners and edges."""

import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree

from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere, Torus
from paddlewheel.solids.surface_points import features, surface_points

SPACING = 0.06
TURN = (np.cos(0.4), *(np.sin(0.4) * np.array([2.0, -1.0, 2.0]) / 3))
CUBE = Box((0, 0, 0), (0.5, 0.4, 0.3))
ICO = trimesh.creation.icosphere(subdivisions=2, radius=0.3)
BRICK = trimesh.creation.box(bounds=[(0, 0, 0), (0.5, 0.4, 0.3)])

SHAPES = {
    "box": CUBE,
    "sphere": Sphere((0.3, -0.2, 0.5), 0.25),
    "cylinder": Cylinder((0.1, 0.2, 0.3), (0.4, 0.4, 0.7), 0.2),
    "capsule": Capsule((0.1, 0.2, 0.3), (0.4, 0.4, 0.7), 0.2),
    "torus": Torus((0.3, 0.2, 0.1), (1, 2, 3), 0.4, 0.15),
    "ball of triangles": Mesh((ICO.vertices, ICO.faces)),
    "box of triangles": Mesh((BRICK.vertices, BRICK.faces)),
    "moved": CUBE.moved((1, 2, 3), TURN, (0.5, 0, 0)),
    "half ball": Sphere((0, 0, 0), 0.3) & HalfSpace((0, 0, 0), (0, 1, 0)),
    "union": CUBE | Sphere((0.5, 0.4, 0.3), 0.2),
    "cup": Cylinder((0, 0, 0), (0, 0.5, 0), 0.25) - Cylinder((0, 0.1, 0), (0, 0.6, 0), 0.15),
}


def surface_of(shape, n=2000, plane=None):
    """Many points of the surface that owe nothing to the code: random ones, walked onto it."""
    rng = np.random.default_rng(6)
    n = 500 if shape.costly else n
    low, high = shape.bounds()
    points = rng.uniform(low - 0.05, high + 0.05, (n, 3))
    if plane is not None:
        points[:, 2] = plane
    axes = range(3 if plane is None else 2)
    for _ in range(10 if shape.costly else 60):
        slope = np.zeros(points.shape)
        for a in axes:
            step = 1e-6 * (np.arange(3) == a)
            slope[:, a] = shape.distance(points + step) - shape.distance(points - step)
        square = np.maximum(np.sum(slope**2, axis=1) / 4e-12, 1e-3)
        points -= (shape.distance(points) / square)[:, None] * slope / 2e-6
    return points[np.abs(shape.distance(points)) < 1e-9]


@pytest.mark.parametrize("name", SHAPES)
def test_points_are_on_the_surface_and_leave_no_gaps(name):
    points = surface_points(SHAPES[name], SPACING)
    assert np.abs(SHAPES[name].distance(points)).max() < 1e-6 * SPACING
    there = surface_of(SHAPES[name])
    assert len(there) > 200
    assert cKDTree(points).query(there)[0].max() < SPACING
    assert len(points) < 60 * np.prod(np.ptp(points, axis=0)) ** (2 / 3) / SPACING**2  # and not far too many


@pytest.mark.parametrize("name", ["box", "box of triangles"])
def test_corners_of_a_box(name):
    points = surface_points(SHAPES[name], SPACING)
    kind, inward = features(SHAPES[name], points, SPACING)
    expected = np.array(np.meshgrid([0, 0.5], [0, 0.4], [0, 0.3])).reshape(3, -1).T
    assert np.array_equal(np.unique(points[kind == 2], axis=0), np.unique(expected, axis=0))
    assert np.all(SHAPES[name].distance(points + 1e-3 * inward) < 0)


@pytest.mark.parametrize("name", ["sphere", "cylinder", "capsule", "torus", "ball of triangles", "half ball"])
def test_round_shapes_have_no_corners(name):
    """Not even along a rim: along it the shape is smooth."""
    kind, _ = features(SHAPES[name], surface_points(SHAPES[name], SPACING), SPACING)
    assert not np.any(kind == 2)
    assert np.any(kind == 1) == (name in ("cylinder", "half ball"))


def test_rims_of_a_cylinder_and_of_a_boolean():
    rim = surface_points(Cylinder((0, 0, 0), (0, 0, 1), 0.2), SPACING)
    radius = np.hypot(rim[:, 0], rim[:, 1])
    assert np.count_nonzero((np.abs(radius - 0.2) < 1e-12) & (rim[:, 2] == 1)) >= 2 * np.pi * 0.2 / SPACING
    half = surface_points(SHAPES["half ball"], SPACING)
    angles = np.sort(np.arctan2(*half[np.hypot(half[:, 0], half[:, 2]) > 0.2995][:, [0, 2]].T))
    assert np.diff(angles, append=angles[0] + 2 * np.pi).max() * 0.3 < 1.5 * SPACING


def test_corners_of_a_boolean():
    """A box cut by a plane across: the corners of the cut are there."""
    cut = CUBE & HalfSpace((0.25, 0, 0), (1, 0, 0))
    points = surface_points(cut, SPACING)
    expected = np.array(np.meshgrid([0, 0.25], [0, 0.4], [0, 0.3])).reshape(3, -1).T
    assert cKDTree(points).query(expected)[0].max() < 1e-6


@pytest.mark.parametrize("name", ["box", "sphere", "cylinder", "torus", "box of triangles", "union"])
def test_outlines(name):
    plane = {"sphere": 0.5, "cylinder": 0.5, "torus": 0.1}.get(name, 0.2)
    points = surface_points(SHAPES[name], SPACING, plane)
    assert np.all(points[:, 2] == plane)
    assert np.abs(SHAPES[name].distance(points)).max() < 1e-6 * SPACING
    assert cKDTree(points).query(surface_of(SHAPES[name], 500, plane))[0].max() < SPACING


def test_outline_has_its_corners():
    points = surface_points(CUBE, SPACING, 0.15)
    expected = np.array([(x, y, 0.15) for x in (0, 0.5) for y in (0, 0.4)])
    assert cKDTree(points).query(expected)[0].max() < 1e-9
    kind, inward = features(CUBE, points, SPACING, planar=True)
    assert np.count_nonzero(kind == 2) == 4
    assert not inward[:, 2].any()


@pytest.mark.parametrize(
    ("shape", "plane", "message"),
    [
        (HalfSpace((0, 0, 0), (0, 1, 0)), None, "HalfSpace has no end"),
        (Sphere((0, 0, 5), 1), 0.1, r"Sphere has no surface at z = 0\.1"),
    ],
)
def test_no_points(shape, plane, message):
    with pytest.raises(ValueError, match=message):
        surface_points(shape, SPACING, plane)
