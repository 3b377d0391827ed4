"""Divergence and gradient: transposes of each other, exact for linear fields, deaf to threads."""

import numpy as np
import pytest
from turning import TURNS, turn, turn_faces

from paddlewheel.grid.stencil import as_faces, divergence, gradient
from paddlewheel.types import Faces, Grid

GRID = Grid((7, 5, 4), 0.1)


def random_faces(rng, grid=GRID, dtype=np.float32):
    return Faces(*(rng.random(grid.face_shape(a)).astype(dtype) for a in range(3)))


@pytest.mark.parametrize("grid", [GRID, Grid((7, 5, 1), 0.1)], ids=["3-D", "2-D"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_is_minus_divergence_transposed(grid, dtype):
    """⟨p, D u⟩ = −⟨G p, w u⟩: without it the pressure matrix is not symmetric."""
    rng = np.random.default_rng(1)
    u, w, p = random_faces(rng, grid, dtype), random_faces(rng, grid), rng.random(grid.shape)
    for a in range(3):  # nothing passes the domain's sides
        np.moveaxis(w[a], a, 0)[[0, -1]] = 0
    left = np.vdot(p, divergence(u, w, grid.h))
    right = -sum(np.vdot(g, a.astype(float) * v) for g, a, v in zip(gradient(p, grid.h), w, u, strict=True))
    assert left == pytest.approx(right, rel=1e-12)


def test_total_divergence_is_what_passes_the_sides():
    rng = np.random.default_rng(2)
    u, w, s = random_faces(rng), random_faces(rng), random_faces(rng)
    flux = [a.astype(float) * v + (1 - a.astype(float)) * b for a, v, b in zip(w, u, s, strict=True)]
    sides = sum(np.take(f, -1, a).sum() - np.take(f, 0, a).sum() for a, f in enumerate(flux))
    assert divergence(u, w, GRID.h, s).sum() * GRID.h == pytest.approx(sides, rel=1e-12)


def test_linear_fields_are_exact():
    """∇·(A x) = tr A, ∇(g·x) = g."""
    rng = np.random.default_rng(3)
    matrix, slope = rng.random((3, 3)), rng.random(3)
    u = Faces(*(GRID.face_points(a) @ matrix[a] for a in range(3)))
    full = Faces(*(np.ones(GRID.face_shape(a)) for a in range(3)))
    assert divergence(u, full, GRID.h) == pytest.approx(np.trace(matrix), rel=1e-12)
    for a, g in enumerate(gradient(GRID.cell_points() @ slope, GRID.h)):
        g = np.moveaxis(g, a, 0)
        assert g[1:-1] == pytest.approx(slope[a], rel=1e-12)
        assert np.all(g[[0, -1]] == 0)


def test_fluid_and_solid_that_move_together_do_not_diverge():
    """w drops out where u = u_solid is constant."""
    w = random_faces(np.random.default_rng(4))
    u = Faces(*(np.full(GRID.face_shape(a), v, np.float32) for a, v in enumerate((0.3, -0.7, 1.1))))
    assert np.abs(divergence(u, w, GRID.h, u)).max() < 1e-14 / GRID.h
    assert np.abs(divergence(u, w, GRID.h)).max() > 0.1


@pytest.mark.parametrize("how", TURNS)
def test_turning_the_field_turns_divergence_and_gradient(how):
    rng = np.random.default_rng(5)
    u, w, s, p = random_faces(rng), random_faces(rng), random_faces(rng), rng.random(GRID.shape)
    turned = divergence(
        turn_faces(u, how, vector=True), turn_faces(w, how, vector=False), GRID.h, turn_faces(s, how, vector=True)
    )
    assert turned == pytest.approx(turn(divergence(u, w, GRID.h, s), how), abs=1e-13)
    for a, b in zip(gradient(turn(p, how), GRID.h), turn_faces(gradient(p, GRID.h), how, vector=True), strict=True):
        assert np.array_equal(a, b)


def test_threads_do_not_matter(on_threads):
    rng = np.random.default_rng(6)
    grid = Grid((23, 6, 9), 0.1)
    u, w, s = random_faces(rng, grid), random_faces(rng, grid), random_faces(rng, grid)
    alone, together = (on_threads(n, divergence, u, w, 0.1, s) for n in (1, 4))
    assert np.array_equal(alone, together)


def test_as_faces_copies_only_what_it_must():
    u = random_faces(np.random.default_rng(7))
    assert all(a is b for a, b in zip(u, as_faces(u, np.float32), strict=True))
    with pytest.raises(ValueError, match="do not belong to one grid"):
        as_faces(Faces(u.x, u.x, u.z), np.float32)


def test_fields_of_two_grids_are_refused():
    rng = np.random.default_rng(8)
    with pytest.raises(ValueError, match="expected the same grid"):
        divergence(random_faces(rng), random_faces(rng, Grid((6, 5, 4), 0.1)), 0.1)
