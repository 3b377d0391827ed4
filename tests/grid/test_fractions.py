"""Weights of faces against clipped polygons, exact volumes of cut boxes, and spheres."""

from itertools import pairwise

import numpy as np
import pytest
from turning import TURNS, turn, turn_faces

from paddlewheel.grid.fractions import (
    SMALLEST,
    WEIGHTS,
    box_fraction,
    open_fractions,
    rectangle_fraction,
    segment_fraction,
    tetrahedron_fraction,
    triangle_fraction,
)
from paddlewheel.types import Grid

GRID = Grid((5, 4, 3), 1.0)
ROUNDING = 1.1 * SMALLEST  # fractions this close to 0 and 1 are moved there


def dyadic_planes(count, seed=1):
    """Random planes n·x = d through GRID whose values at its nodes are exact in float32."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = rng.integers(1, 64, 3) * rng.choice([-1, 1], 3) / 64
        d = np.round(n @ (rng.random(3) * GRID.size) * 256) / 256
        yield n, d


def clipped_area(n, d, corners):
    """Area of the part n·x > d of a convex planar polygon: Sutherland–Hodgman, then the shoelace formula in 3-D."""
    kept = []
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side_a, side_b = n @ a - d, n @ b - d
        if side_a > 0:
            kept.append(a)
        if (side_a > 0) != (side_b > 0):
            kept.append(a + (b - a) * side_a / (side_a - side_b))
    if len(kept) < 3:
        return 0.0
    spokes = np.array(kept[1:]) - kept[0]
    return 0.5 * np.linalg.norm(np.cross(spokes[:-1], spokes[1:]).sum(axis=0))


def box_volume(n, d, low, size=1.0):
    """Volume of the part n·x > d of a cube: inclusion and exclusion over its corners (Scardovelli & Zaleski 2000)."""
    m = np.abs(n) * size
    nearest = np.where(n > 0, low, low + size)  # corner where n·x is least
    alpha = d - n @ nearest  # the part below the plane is {Σ m_i t_i < α}
    below = 0.0
    for corner in np.ndindex(2, 2, 2):
        below += (-1) ** sum(corner) * max(alpha - m @ corner, 0.0) ** 3
    return size**3 * (1 - below / (6 * m.prod()))


def order(sizes, errors):
    """Fitted exponent of errors ~ h^order."""
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


def test_simplices_do_not_depend_on_the_order_of_corners_and_complement_to_one():
    rng = np.random.default_rng(2)
    for _ in range(200):
        v = rng.standard_normal(4)
        w = rng.permutation(v)
        assert tetrahedron_fraction(*v) == pytest.approx(tetrahedron_fraction(*w), abs=1e-14)
        assert tetrahedron_fraction(*v) + tetrahedron_fraction(*-v) == pytest.approx(1, abs=1e-14)
        assert triangle_fraction(*v[:3]) == pytest.approx(triangle_fraction(*rng.permutation(v[:3])), abs=1e-14)
        assert triangle_fraction(*v[:3]) + triangle_fraction(*-v[:3]) == pytest.approx(1, abs=1e-14)
        assert segment_fraction(*v[:2]) + segment_fraction(*-v[:2]) == pytest.approx(1, abs=1e-14)


def test_simplices_against_the_divided_difference_of_a_truncated_power():
    """{φ > 0} fills Σ_i φ_i^d / Π_j (φ_i − φ_j), over the corners where φ_i > 0, of a simplex in d dimensions."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        for function, corners in ((segment_fraction, 2), (triangle_fraction, 3), (tetrahedron_fraction, 4)):
            v = rng.uniform(-1, 1, corners)
            gap = v[:, None] - v + np.eye(corners)
            if np.abs(gap).min() > 0.05:  # where the plain formula can be trusted
                plain = (np.maximum(v, 0) ** (corners - 1) / gap.prod(axis=1)).sum()
                assert function(*v) == pytest.approx(plain, abs=1e-10)


def test_simplices_with_equal_and_zero_corners():
    assert tetrahedron_fraction(-1.0, -1.0, 1.0, 1.0) == pytest.approx(0.5, abs=1e-15)
    assert tetrahedron_fraction(-1.0, -1.0, -1.0, 1.0) == pytest.approx(1 / 8, abs=1e-15)
    assert tetrahedron_fraction(-1.0, 1.0, 1.0, 1.0) == pytest.approx(7 / 8, abs=1e-15)
    assert triangle_fraction(-1.0, -1.0, 1.0) == pytest.approx(1 / 4, abs=1e-15)
    for function, corners in ((segment_fraction, 2), (triangle_fraction, 3), (tetrahedron_fraction, 4)):
        assert function(*[0.0] * corners) == 0.0
        assert function(1.0, *[0.0] * (corners - 1)) == 1.0
        assert function(-1.0, *[0.0] * (corners - 1)) == 0.0


def test_area_is_the_clipped_polygon():
    for n, d in dyadic_planes(12):
        w = open_fractions(GRID.node_points() @ n - d, "area")
        for a in range(3):
            across, up = np.eye(3)[(a + 1) % 3], np.eye(3)[(a + 2) % 3]
            for index in np.ndindex(w[a].shape):
                corners = np.array(index) + np.array([0 * up, across, across + up, up])
                assert w[a][index] == pytest.approx(clipped_area(n, d, corners), abs=ROUNDING)


def test_volume_is_that_of_the_cut_box():
    for n, d in dyadic_planes(12):
        w = open_fractions(GRID.node_points() @ n - d, "volume")
        for a in range(3):
            for index in np.ndindex(w[a].shape):
                half = 0.5 * np.eye(3)[a]
                exact = box_volume(n, d, np.array(index) - half)
                if index[a] == 0:  # mirrored: twice the inner half, as a sum of 1/8 cubes
                    exact = inner_half(n, d, np.array(index, float), a)
                elif index[a] == GRID.shape[a]:
                    exact = inner_half(n, d, np.array(index) - half, a)
                assert w[a][index] == pytest.approx(exact, abs=ROUNDING)


def inner_half(n, d, low, a):
    """Open part of the half box that starts at `low`, half a cell deep along axis a."""
    eighths = [low + 0.5 * np.array(o) for o in np.ndindex(2, 2, 2) if o[a] == 0]
    return sum(box_volume(n, d, corner, 0.5) for corner in eighths) / 0.5


def test_box_is_exact_for_linear_functions_in_any_order_of_corners():
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)])
    for n, d in dyadic_planes(50, seed=5):
        d = d - np.floor(d)
        exact = box_volume(n, d, np.zeros(3))
        for how in ((0, 1, 2), (2, 0, 1), (1, 0, 2)):
            assert box_fraction(*(corners[:, how] @ n - d)) == pytest.approx(exact, abs=1e-12)
        assert rectangle_fraction(*(corners[:4] @ n - d)) == pytest.approx(clipped_area(n, d, corners[:4]), abs=1e-12)


def test_length_is_that_of_the_cut_segment():
    for n, d in dyadic_planes(12):
        w = open_fractions(GRID.node_points() @ n - d, "length")
        for a in range(3):
            middle, step = GRID.face_points(a) @ n - d, 0.5 * n[a]
            inside = tuple(slice(1, -1) if axis == a else slice(None) for axis in range(3))
            t = np.clip(0.5 + 0.5 * middle / np.abs(step), 0, 1)
            assert w[a][inside] == pytest.approx(t[inside], abs=ROUNDING)


def test_voxel_asks_both_centres():
    for n, d in dyadic_planes(5):
        w = open_fractions(GRID.node_points() @ n - d, "voxel")
        is_open = GRID.cell_points() @ n - d > 0
        for a in range(3):
            padded = np.pad(is_open, [(int(axis == a),) * 2 for axis in range(3)], mode="edge")
            low, high = np.take(padded, range(GRID.shape[a] + 1), a), np.take(padded, range(1, GRID.shape[a] + 2), a)
            assert np.array_equal(w[a], low & high)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_open_and_closed_grids_are_exact(weights):
    for sign in (1, -1):
        for faces in open_fractions(np.full(GRID.node_shape, sign * 1e-3), weights):
            assert np.all(faces == (sign > 0))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_wall_on_a_plane_of_faces(weights):
    """The plane itself, where φ = 0 exactly, is wall; nothing beside it is cut."""
    w = open_fractions(GRID.node_points()[..., 0] - 2.0, weights)
    closed = {"volume": 0.5, "length": 0.5}.get(weights, 0.0)  # half of its box is open
    assert np.all(w.x == np.array([0, 0, closed, 1, 1, 1])[:, None, None])
    assert np.all(w.y == np.array([0, 0, 1, 1, 1])[:, None, None])


@pytest.mark.parametrize("gap", [1e-7, 1e-5, 1 - 1e-5, 1 - 1e-7])
def test_tiny_fractions_go_to_zero_never_up(gap):
    w = open_fractions(gap - GRID.node_points()[..., 1], "area")
    expected = {1e-7: 0.0, 1 - 1e-7: 1.0}.get(gap, gap)
    assert w.x[:, 0] == pytest.approx(expected, abs=1e-7)
    assert np.all(w.x[:, 1:] == 0)
    if expected in (0.0, 1.0):
        assert np.all(w.x[:, 0] == expected)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("how", TURNS)
def test_turning_the_solid_turns_the_weights(weights, how):
    phi = np.random.default_rng(4).standard_normal(GRID.node_shape).astype(np.float32)
    turned = open_fractions(turn(phi, how), weights)
    for left, right in zip(turned, turn_faces(open_fractions(phi, weights), how, vector=False), strict=True):
        assert left == pytest.approx(right, abs=2e-7)


def test_two_dimensions():
    """One cell thick, area is the open length of an edge and volume the open area of a square."""
    grid = Grid((6, 5, 1), 1.0)
    n, d = np.array([0.75, 0.5, 0.0]), 2.625
    phi = grid.node_points() @ n - d
    area, volume = open_fractions(phi, "area"), open_fractions(phi, "volume")
    low, high = phi[:, :-1, 0], phi[:, 1:, 0]
    edge = np.where(high <= 0, 0, np.where(low >= 0, 1, high / (high - low)))
    assert area.x[..., 0] == pytest.approx(edge, abs=ROUNDING)
    cell = [
        [clipped_area(n, d, np.array([(i, j, 0), (i + 1, j, 0), (i + 1, j + 1, 0), (i, j + 1, 0.0)])) for j in range(5)]
        for i in range(6)
    ]
    for faces in (area, volume):
        assert faces.z[..., 0] == pytest.approx(np.array(cell), abs=ROUNDING)
        assert np.array_equal(faces.z[..., 0], faces.z[..., 1])
    box = [clipped_area(n, d, np.array([(2.5, j, 0), (3.5, j, 0), (3.5, j + 1, 0), (2.5, j + 1, 0)])) for j in range(5)]
    assert volume.x[3, :, 0] == pytest.approx(box, abs=ROUNDING)


CENTRE, RADIUS = np.array([0.51, 0.47, 0.53]), 0.31
SIZES = (16, 32, 64, 128)


def sphere(n):
    grid = Grid((n, n, n), 1 / n)
    return grid, np.linalg.norm(grid.node_points() - CENTRE, axis=-1) - RADIUS


def disc_in_rectangle(radius, x0, x1, y0, y1):
    """Area of the disc x² + y² < radius² inside rectangles, by arrays: pieces with elementary antiderivatives."""
    x0, x1, y0, y1, radius = np.broadcast_arrays(x0, x1, y0, y1, radius)
    cuts = [x0, x1, -radius, radius]
    for y in (y0, y1):
        root = np.sqrt(np.maximum(radius**2 - y**2, 0))
        cuts += [-root, root]
    cuts = np.sort(
        np.clip(np.array(cuts), np.maximum(x0, -radius), np.maximum(np.minimum(x1, radius), -radius)), axis=0
    )

    def half_disc(x):
        x = np.clip(x, -radius, radius)
        with np.errstate(invalid="ignore", divide="ignore"):
            angle = np.where(radius > 0, np.arcsin(np.clip(x / radius, -1, 1)), 0)
        return 0.5 * (x * np.sqrt(np.maximum(radius**2 - x**2, 0)) + radius**2 * angle)

    area = np.zeros(x0.shape)
    for left, right in pairwise(cuts):
        s = np.sqrt(np.maximum(radius**2 - (0.5 * (left + right)) ** 2, 0))
        for y, sign in ((y1, 1), (y0, -1)):
            curved = np.sign(y) * (half_disc(right) - half_disc(left))
            area += sign * np.where(np.abs(y) < s, y * (right - left), curved)
    return area


def test_disc_in_rectangle():
    """The reference itself: whole disc, a quadrant, a rectangle inside, one outside."""
    rectangles = np.array([(-2, 2, -2, 2), (0, 2, 0, 2), (-0.1, 0.2, -0.3, 0.1), (0.8, 1, 0.8, 1)]).T
    assert disc_in_rectangle(1.0, *rectangles) == pytest.approx([np.pi, np.pi / 4, 0.12, 0], abs=1e-14)


def test_areas_of_a_sphere_are_second_order():
    """Cross-sections π(R² − d²), and the worst single face [m²]."""
    sections, faces = [], []
    for n in SIZES[:3]:
        grid, phi = sphere(n)
        h = grid.h
        section = face = 0.0
        for a, w in enumerate(open_fractions(phi, "area")):
            x = grid.face_points(a) - CENTRE
            b, c = x[..., (a + 1) % 3], x[..., (a + 2) % 3]
            disc = np.sqrt(np.maximum(RADIUS**2 - x[..., a] ** 2, 0))
            exact = disc_in_rectangle(disc, b - h / 2, b + h / 2, c - h / 2, c + h / 2)
            error = (1 - w) * h**2 - exact
            others = tuple(axis for axis in range(3) if axis != a)
            assert exact.sum(axis=others) == pytest.approx(np.pi * disc.max(axis=others) ** 2, abs=1e-12)
            section += np.abs(error.sum(axis=others)).mean() / 3
            face = max(face, np.abs(error).max())
        sections.append(section)
        faces.append(face)
    sizes = 1 / np.array(SIZES[:3])
    assert order(sizes, sections) > 1.8
    assert order(sizes, faces) > 1.8


@pytest.mark.parametrize("weights", ["area", "volume"])
def test_volume_of_a_sphere_is_second_order(weights):
    """Boxes of one axis tile the domain, with half of those on its sides."""
    errors = []
    for n in SIZES:
        grid, phi = sphere(n)
        w = open_fractions(phi, weights).y.astype(float)
        w[:, [0, -1]] *= 0.5
        errors.append(abs(1 - w.sum() * grid.h**3 - 4 / 3 * np.pi * RADIUS**3))
    assert order(1 / np.array(SIZES), errors) > 1.8


def test_chords_of_a_sphere_are_second_order():
    """length: what is open of the lines through cell centres, away from those that graze the sphere."""
    errors = []
    for n in SIZES:
        grid, phi = sphere(n)
        w = open_fractions(phi, "length").x[1:-1].astype(float)
        y, z = np.moveaxis(grid.face_points(0)[0, :, :, 1:] - CENTRE[1:], -1, 0)
        across2 = y**2 + z**2
        chord = 2 * np.sqrt(np.maximum(RADIUS**2 - across2, 0))
        error = np.abs((1 - w).sum(axis=0) * grid.h - chord)
        errors.append(error[across2 < (0.8 * RADIUS) ** 2].max())
    assert order(1 / np.array(SIZES), errors) > 1.8


@pytest.mark.parametrize("weights", WEIGHTS)
def test_threads_do_not_matter(weights, on_threads):
    phi = np.random.default_rng(6).standard_normal((19, 8, 9)) + 0.3
    alone, together = (on_threads(n, open_fractions, phi, weights) for n in (1, 4))
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_other_layouts_and_types_are_the_same_to_it():
    phi = np.random.default_rng(7).standard_normal(GRID.node_shape).astype(np.float32)
    frozen = phi.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(phi), phi.astype(np.float64), frozen):
        for a, b in zip(open_fractions(phi, "area"), open_fractions(other, "area"), strict=True):
            assert np.array_equal(a, b)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="weights='areas'"):
        open_fractions(np.ones(GRID.node_shape), "areas")
    with pytest.raises(ValueError, match=r"\(4, 4\)"):
        open_fractions(np.ones((4, 4)), "area")
