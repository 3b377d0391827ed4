"""Shapes: what they measure, and what they refuse. One table: a new entry tests itself."""

import numpy as np
import pytest

from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import CHUNK, Box, Capsule, Cylinder, HalfSpace, Sphere, Torus

SHAPES = {  # shape, its volume inside the cube [-2, 2]³
    "box": (Box((-0.5, -1.0, 0.1), (0.7, 0.4, 0.9)), 1.2 * 1.4 * 0.8),
    "sphere": (Sphere((0.1, -0.2, 0.3), 0.8), 4 / 3 * np.pi * 0.8**3),
    "cylinder": (Cylinder((-0.5, 0.2, 0.1), (0.3, -0.4, 0.5), 0.6), np.pi * 0.36 * np.sqrt(0.64 + 0.36 + 0.16)),
    "capsule": (Capsule((-0.5, 0.2, 0.1), (0.3, -0.4, 0.5), 0.3), np.pi * 0.09 * (np.sqrt(1.16) + 0.4)),
    "torus": (Torus((0.1, 0.0, -0.1), (1.0, 2.0, 3.0), 0.9, 0.25), 2 * np.pi**2 * 0.9 * 0.25**2),
    "floor": (HalfSpace((0.0, 0.25, 0.0), (0.0, 2.0, 0.0)), 16 * 2.25),
    "slope": (HalfSpace((0.0, 0.0, 0.0), (1.0, 2.0, -1.0)), 32.0),
}
QUATERNION = np.array([0.5, 0.1, -0.7, 0.5]) / np.linalg.norm([0.5, 0.1, -0.7, 0.5])

every_shape = pytest.mark.parametrize("name", SHAPES)


@pytest.fixture
def points():
    return np.random.default_rng(1).uniform(-2, 2, (4000, 3))


def gradient(shape, points, eps=1e-5):
    steps = eps * np.eye(3)
    return np.stack([(shape.distance(points + s) - shape.distance(points - s)) / (2 * eps) for s in steps], axis=-1)


@every_shape
def test_distance_is_exact(name, points):
    """No longer than the way to the surface (it is 1-Lipschitz), and no shorter (going it along −∇φ ends there)."""
    shape, _ = SHAPES[name]
    phi = shape.distance(points)
    way = np.linalg.norm(points[1:] - points[:-1], axis=1)
    assert np.all(np.abs(np.diff(phi)) <= way + 1e-12)
    slope = gradient(shape, points)
    smooth = np.abs(np.linalg.norm(slope, axis=1) - 1) < 1e-6  # elsewhere the nearest point is not the only one
    assert smooth.mean() > 0.99
    landed = (points - phi[:, None] * slope)[smooth]
    assert np.abs(shape.distance(landed)).max() < 1e-5


@every_shape
def test_volume(name):
    shape, volume = SHAPES[name]
    x = (np.arange(100) + 0.5) / 25 - 2
    inside = np.clip(0.5 - sample(shape, (x, x, x)) / 0.04, 0, 1).mean() * 64
    assert inside == pytest.approx(volume, rel=0.01)


@every_shape
def test_bounds_hold_the_shape_and_touch_it(name, points):
    shape, _ = SHAPES[name]
    low, high = shape.bounds()
    assert np.all((low <= points + 1e-12) & (points <= high + 1e-12), axis=1)[shape.distance(points) < 0].all()
    t = np.linspace(0, 1, 201)
    for a in range(3):
        for corner in (low, high):
            if np.isfinite(low).all() and np.isfinite(high).all():
                axes = [low[d] + t * (high - low)[d] if d != a else corner[a : a + 1] for d in range(3)]
                assert sample(shape, axes).min() == pytest.approx(0, abs=1e-3)


@every_shape
def test_moved_is_rotated_about_a_point_then_translated(name, points):
    shape, _ = SHAPES[name]
    about, translate = np.array([0.3, -0.1, 0.6]), np.array([0.2, 0.5, -0.4])
    moved = shape.moved(translate=translate, rotate=QUATERNION, about=about)
    w, v = QUATERNION[0], QUATERNION[1:]
    arm = points - about
    turned = arm + 2 * w * np.cross(v, arm) + 2 * np.cross(v, np.cross(v, arm))  # q arm q*
    there = turned + about + translate
    assert moved.distance(there) == pytest.approx(shape.distance(points), abs=1e-12)
    low, high = moved.bounds()
    assert np.all((low <= there + 1e-12) & (there <= high + 1e-12), axis=1)[shape.distance(points) < 0].all()


@every_shape
def test_points_in_chunks_are_points_in_one(name):
    shape, _ = SHAPES[name]
    points = np.random.default_rng(2).uniform(-2, 2, (CHUNK + 3, 3))
    assert np.array_equal(shape.distance(points)[-7:], shape.distance(points[-7:]))


@pytest.mark.parametrize("second", SHAPES)
@pytest.mark.parametrize("first", ["box", "torus", "slope"])
def test_booleans(first, second, points):
    """Inside and outside by logic, De Morgan's laws to the last bit, and bounds that hold."""
    a, b = SHAPES[first][0], SHAPES[second][0]
    in_a, in_b = a.distance(points) < 0, b.distance(points) < 0
    for shape, expected in ((a | b, in_a | in_b), (a & b, in_a & in_b), (a - b, in_a & ~in_b), (~a, ~in_a)):
        inside = shape.distance(points) < 0
        assert np.array_equal(inside, expected)
        low, high = shape.bounds()
        assert np.all((low <= points) & (points <= high), axis=1)[inside].all()
    assert np.array_equal((~(a | b)).distance(points), (~a & ~b).distance(points))
    assert np.array_equal((~(a & b)).distance(points), (~a | ~b).distance(points))
    assert np.array_equal((~~a).bounds(), a.bounds())


def test_distances_known_by_heart():
    def at(shape, *point):
        return shape.distance(np.array([point]))[0]

    box = Box((0, 0, 0), (2, 2, 2))
    assert at(box, 1, 1, 1) == -1
    assert at(box, 5, 6, 1) == 5
    assert at(Cylinder((0, 0, 0), (0, 2, 0), 1), 4, 6, 0) == 5
    assert at(Cylinder((0, 0, 0), (0, 2, 0), 1), 0.75, 1, 0) == -0.25
    assert at(Capsule((0, 0, 0), (0, 2, 0), 1), 3, 6, 0) == 4
    assert at(Torus((0, 0, 0), (0, 5, 0), 3, 1), 0, 0, 0) == 2
    assert at(HalfSpace((0, 1, 0), (0, 3, 0)), 7, 3, 7) == 2


NAN, INF = float("nan"), float("inf")
BAD = {
    "flat box": (lambda: Box((0, 0, 0), (1, 0, 1)), r"Box: high=\(1.0, 0.0, 1.0\)"),
    "inverted box": (lambda: Box((0, 0, 0), (1, -1, 1)), r"Box: high=\(1.0, -1.0, 1.0\)"),
    "box with NaN": (lambda: Box((0, NAN, 0), (1, 1, 1)), r"Box: low=\(0, nan, 0\)"),
    "infinite box": (lambda: Box((0, 0, 0), (1, INF, 1)), r"Box: high=\(1, inf, 1\)"),
    "two coordinates": (lambda: Box((0, 0), (1, 1, 1)), r"Box: low=\(0, 0\), expected three"),
    "no center": (lambda: Sphere(None, 1), "Sphere: center=None"),
    "text": (lambda: Sphere((0, 0, 0), "wide"), "Sphere: radius='wide'"),
    "zero radius": (lambda: Sphere((0, 0, 0), 0), "Sphere: radius=0, expected a positive number"),
    "negative radius": (lambda: Sphere((0, 0, 0), -2.5), "Sphere: radius=-2.5"),
    "NaN radius": (lambda: Sphere((0, 0, 0), NAN), "Sphere: radius=nan"),
    "cylinder of no length": (
        lambda: Cylinder((1, 2, 3), (1, 2, 3), 1),
        r"Cylinder: start and end .*\(1.0, 2.0, 3.0\)",
    ),
    "negative cylinder": (lambda: Cylinder((0, 0, 0), (0, 1, 0), -1), "Cylinder: radius=-1"),
    "capsule of no length": (lambda: Capsule((1, 2, 3), (1, 2, 3), 1), "Capsule: start and end"),
    "torus without axis": (lambda: Torus((0, 0, 0), (0, 0, 0), 2, 1), r"Torus: axis=\(0, 0, 0\) has no direction"),
    "torus without tube": (lambda: Torus((0, 0, 0), (0, 1, 0), 2, 0), "Torus: minor=0"),
    "torus through itself": (lambda: Torus((0, 0, 0), (0, 1, 0), 1, 2), "Torus: minor=2.0 must not exceed major=1.0"),
    "plane without normal": (lambda: HalfSpace((0, 0, 0), (0, 0, 0)), r"HalfSpace: normal=\(0, 0, 0\)"),
    "stretched rotation": (
        lambda: Sphere((0, 0, 0), 1).moved(rotate=(1, 1e-2, 0, 0)),
        r"Sphere.moved: rotate=\(1, 0.01, 0, 0\) has length 1.00005",
    ),
    "NaN translation": (lambda: Sphere((0, 0, 0), 1).moved(translate=(0, NAN, 0)), r"Sphere.moved: translate=\(0, nan"),
    "NaN pivot": (lambda: Sphere((0, 0, 0), 1).moved(about=(0, NAN, 0)), r"Sphere.moved: about=\(0, nan"),
    "points of a plane": (lambda: Sphere((0, 0, 0), 1).distance(np.zeros((4, 2))), r"points have shape \(4, 2\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_shapes_name_shape_argument_and_value(name):
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_a_rotation_off_by_rounding_is_a_rotation(points):
    exact, rounded = (Box((0, 0, 0), (1, 2, 3)).moved(rotate=q) for q in (QUATERNION, QUATERNION.astype(np.float32)))
    assert rounded.distance(points) == pytest.approx(exact.distance(points), abs=1e-6)


def test_tiny_axes_have_a_direction():
    torus = Torus((0, 0, 0), (0, 1e-200, 0), 2, 1)
    assert torus.axis == (0, 1, 0)
