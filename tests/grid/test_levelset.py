"""The liquid's level set inside solids: linear functions continue, noise does not grow."""

import numpy as np
import pytest
from turning import TURNS, turn

from paddlewheel.grid.levelset import STEEPEST, extend
from paddlewheel.types import Grid

GRID = Grid((16, 14, 12), 0.05)
NORMAL = np.array([0.36, 0.8, -0.48])  # of length 1


def walls(x):
    """Signed distances to solids, negative inside."""
    low = x - 0.2
    return {
        "wall": x[..., 0] - 0.23,
        "oblique wall": (x - 0.35) @ np.array([0.6, 0.64, 0.48]),
        "sphere": np.linalg.norm(x - 0.35, axis=-1) - 0.17,
        "edge": np.minimum(low[..., 0], low[..., 1]),
        "corner": low.min(axis=-1),
        "convex corner": (x - 0.45).max(axis=-1),
    }


@pytest.mark.parametrize("wall", walls(np.zeros(3)))
@pytest.mark.parametrize("slope", [1.0, STEEPEST])
def test_linear_functions_continue(wall, slope):
    """The interface of still water meets a wall of any shape as a plane, five cells deep, also in corners."""
    x = GRID.cell_points()
    exact = slope * (x @ NORMAL - 0.2)
    known = walls(x)[wall] > 0
    phi = extend(np.where(known, exact, 1e3), known, GRID.h)
    reached = phi < 100
    assert (reached & ~known).sum() > 0.3 * (~known).sum()
    assert np.abs(phi - exact)[reached].max() < 1e-5 * GRID.h


def test_reaches_as_many_layers_as_asked():
    known = np.zeros((12, 5, 5), bool)
    known[:4] = True
    phi = extend(np.where(known, 0.0, 7.0), known, 1.0, layers=3)
    assert np.all(phi[:7] == 0)
    assert np.all(phi[7:] == 7)


def test_known_values_are_not_touched():
    rng = np.random.default_rng(1)
    phi, known = rng.standard_normal(GRID.shape).astype(np.float32), rng.random(GRID.shape) < 0.4
    before = phi.copy(), known.copy()
    assert np.array_equal(extend(phi, known, GRID.h)[known], phi[known])
    assert np.array_equal(phi, before[0])
    assert np.array_equal(known, before[1])


def test_two_dimensions():
    grid = Grid((20, 16, 1), 0.05)
    x = grid.cell_points()
    exact = x @ np.array([0.6, 0.8, 0.0]) - 0.5
    known = (x[..., 0] > 0.3) & (x[..., 1] > 0.25)
    phi = extend(np.where(known, exact, 1e3), known, grid.h)
    reached = phi < 100
    assert (reached & ~known).sum() > 80
    assert np.abs(phi - exact)[reached].max() < 1e-5 * grid.h


def test_second_order_for_a_drop_on_a_wall():
    """φ of a drop, three cells into an oblique wall: linear extrapolation errs by O(h²)."""
    errors, sizes = [], (16, 32, 64)
    for n in sizes:
        grid = Grid((n, n, n), 1 / n)
        x = grid.cell_points()
        exact = np.linalg.norm(x - 0.5, axis=-1) - 0.4
        known = (x - np.array([0.5, 0.3, 0.5])) @ np.array([0.48, 0.8, 0.36]) > 0
        phi = extend(np.where(known, exact, 1e3), known, grid.h, layers=3)
        surface = ~known & (phi < 100) & (np.abs(exact) < 2 / n)
        errors.append(np.abs(phi - exact)[surface].max())
    assert np.polyfit(np.log(1 / np.array(sizes)), np.log(errors), 1)[0] > 1.7


@pytest.mark.parametrize("seen", ["a cell", "a row", "a diagonal", "a layer"])
def test_unknown_slopes_are_flat(seen):
    """Where the data leave a direction open, φ is constant along it."""
    known = np.zeros((9, 9, 9), bool)
    line = np.arange(9)
    at = {"a cell": (4, 4, 4), "a row": (4, 4, line), "a diagonal": (line, line, 4), "a layer": (4,)}[seen]
    known[at] = True
    phi = extend(np.where(known, 0.25, 1e3), known, 1.0)
    assert phi[phi < 100] == pytest.approx(0.25, abs=1e-6)
    assert (phi < 100).sum() > 100


def test_noise_does_not_blow_up():
    """The slope is limited, so five layers add at most five cells of it however wild the data."""
    rng = np.random.default_rng(2)
    known = np.zeros((20, 20, 20), bool)
    known[:8] = True
    data = rng.choice([-1.0, 1.0], known.shape)
    phi = extend(np.where(known, data, 0), known, 0.1)
    assert np.abs(phi).max() < 1 + 5 * 2 * STEEPEST * 0.1


@pytest.mark.parametrize("how", TURNS)
def test_turning_the_scene_turns_the_result(how):
    rng = np.random.default_rng(3)
    x = GRID.cell_points()
    phi = x @ NORMAL - 0.2 + 0.02 * rng.standard_normal(GRID.shape)
    known = (walls(x)["oblique wall"] > 0) & (rng.random(GRID.shape) < 0.97)
    turned = extend(turn(phi, how), turn(known, how), GRID.h)
    assert turned == pytest.approx(turn(extend(phi, known, GRID.h), how), abs=1e-5 * GRID.h)


def test_threads_do_not_matter(on_threads):
    rng = np.random.default_rng(4)
    phi, known = rng.standard_normal((30, 9, 8)), rng.random((30, 9, 8)) < 0.1
    alone, together = (on_threads(n, extend, phi, known, 1.0) for n in (1, 4))
    assert np.array_equal(alone, together)


def test_nothing_known_and_everything_known():
    phi = np.random.default_rng(5).standard_normal((4, 3, 2)).astype(np.float32)
    for known in (np.zeros(phi.shape, bool), np.ones(phi.shape, bool)):
        assert np.array_equal(extend(phi, known, 1.0), phi)
    with pytest.raises(ValueError, match=r"\(4, 3, 2\), known of shape \(4, 3, 1\)"):
        extend(phi, known[..., :1], 1.0)
