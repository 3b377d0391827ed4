"""Tables of distances: near the exact ones where it matters, shared, and bounded."""

import pickle

import numpy as np
import pytest
import trimesh

from paddlewheel.grid.fractions import WEIGHTS, refined_fractions
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.sample import sample, sample_halves
from paddlewheel.solids.shapes import Box, Moved, Sphere
from paddlewheel.solids.table import SPACING, Table, tabulated, untabulated

H = 0.05  # a cell


def mesh(kind):
    made = {
        "ball": trimesh.creation.icosphere(subdivisions=4, radius=4 * H),
        "box": trimesh.creation.box((6 * H, 5 * H, 7 * H)),
        "plate": trimesh.creation.box((8 * H, 0.8 * H, 7 * H)),
        "ring": trimesh.creation.torus(4 * H, 1.5 * H),
    }[kind]
    return Mesh((np.array(made.vertices), np.array(made.faces)))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def near(shape, rng, within):
    """Points within a distance of the surface."""
    low, high = shape.bounds()
    points = rng.uniform(low - within, high + within, (20_000, 3))
    return points[np.abs(shape.distance(points)) < within]


@pytest.mark.parametrize(
    ("kind", "worst", "typical"),
    [("ball", 0.004, 0.001), ("ring", 0.02, 0.004), ("box", 0.06, 0.008), ("plate", 0.05, 0.005)],
)
def test_a_table_is_near_the_exact_distance(kind, worst, typical, rng):
    """In cells: at edges it is off by a part of the spacing, elsewhere by much less."""
    exact = mesh(kind)
    (table,) = tabulated([exact], H)
    points = near(exact, rng, H)
    error = np.abs(table.distance(points) - exact.distance(points)) / H
    assert error.max() < worst
    assert np.sqrt(np.mean(error**2)) < typical


def test_a_table_converges(rng):
    """At third order or better where the surface is smooth."""
    ball = Sphere((0.0, 0.0, 0.0), 4 * H)
    points = near(ball, rng, H)
    errors = [
        np.abs(Table(ball, s * H, 2 * H, 2 * H).distance(points) - ball.distance(points)).max() for s in (1, 0.5, 0.25)
    ]
    assert np.all(np.log2(np.divide(errors[:-1], errors[1:])) > 2.8)


def test_beyond_the_table_the_distance_grows(rng):
    exact = mesh("ball")
    (table,) = tabulated([exact], H)
    points = rng.uniform(-1, 1, (2000, 3))
    phi, true = table.distance(points), exact.distance(points)
    assert np.array_equal(phi < 0, true < 0)
    assert np.all(phi > true - 0.03 * H)
    assert np.all(phi < 1.5 * np.abs(true) + 0.05 * H)


@pytest.mark.parametrize("kind", ["ball", "box", "plate", "ring"])
def test_between_points_far_from_the_surface_nothing_is_needed(kind):
    """The distance at every point of a grid, and the fractions of its faces, are those of a whole finer lattice."""
    pose = Pose((0.31 * H, 0.77 * H, 0.13 * H), (0.5, 0.5, -0.1, 0.7))
    shape = Moved(tabulated([mesh(kind)], H)[0], pose)
    axes = [0.5 * H * np.arange(-17, 18) for _ in range(3)]
    whole, halves = sample(shape, axes).astype(np.float32), sample_halves(shape, axes).astype(np.float32)
    assert np.array_equal(whole[::2, ::2, ::2], halves[::2, ::2, ::2])
    for weights in WEIGHTS:
        for w, v in zip(refined_fractions(whole, weights), refined_fractions(halves, weights), strict=True):
            assert v == pytest.approx(w, abs=1e-5)


def test_what_costs_little_stays_exact():
    shapes = [Box((0, 0, 0), (1, 1, 1)), Sphere((0, 0, 0), 1.0), Box((0, 0, 0), (1, 1, 1)) - Sphere((0, 0, 0), 1.0)]
    assert tabulated(shapes, H) == shapes


def test_bodies_alike_share_a_table():
    exact = mesh("ball")
    first, second = tabulated([exact.moved(translate=(1, 0, 0)), Moved(exact, Pose((0, 2, 0)))], H)
    assert first.shape is second.shape
    assert isinstance(first.shape, Table)
    assert untabulated(first).shape is exact
    assert not first.costly


def test_in_a_plane_a_table_is_flat(rng):
    exact = mesh("ring").moved(rotate=(np.cos(0.4), np.sin(0.4), 0, 0))
    (table,) = tabulated([exact], H, plane=0.5 * H)
    points = rng.uniform(-0.3, 0.3, (5000, 3)) * [1, 1, 0] + [0, 0, 0.5 * H]
    points = points[np.abs(exact.distance(points)) < H]
    assert table._values.shape[2] == 1
    assert table.distance(points) == pytest.approx(exact.distance(points), abs=0.03 * H)


def test_a_thin_body_has_a_finer_table():
    (plate,), (box,) = tabulated([mesh("plate")], H), tabulated([mesh("box")], H)
    assert box.spacing == pytest.approx(SPACING * H)
    assert plate.spacing == pytest.approx(0.1 * H)


def test_a_table_is_bounded():
    """It is coarser, and says so when it is too coarse to be good."""
    with pytest.warns(UserWarning, match=r"Mesh: its table of distances is limited to 2000 points, 2 cells apart"):
        (table,) = tabulated([mesh("box")], H, most=2000)
    assert table._values.size <= 2000


def test_tables_can_be_pickled(rng):
    (table,) = tabulated([mesh("ball")], H)
    points = rng.uniform(-0.3, 0.3, (100, 3))
    assert np.array_equal(pickle.loads(pickle.dumps(table)).distance(points), table.distance(points))
