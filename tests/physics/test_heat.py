"""Conduction of heat against what is known of it."""

import math

import numpy as np
import pytest

from paddlewheel.physics.heat import conducted
from paddlewheel.types import Faces

SHAPE = (24, 5, 4)


def whole(shape=SHAPE):
    """A full box with closed sides: its liquid, and the open parts of its faces."""
    open = Faces(*(np.ones([n + (a == d) for d, n in enumerate(shape)], np.float32) for a in range(3)))
    for a in range(3):
        ends = np.moveaxis(open[a], a, 0)
        ends[0] = ends[-1] = 0
    return np.ones(shape, bool), open


@pytest.mark.parametrize("kappa", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("mode", [1, 5])
def test_a_wave_decays_by_its_factor(kappa, mode):
    """cos kx between insulating walls: by 1/(1 + κ 4 sin²(kh/2)) in a step."""
    liquid, open = whole()
    k = math.pi * mode / SHAPE[0]
    before = np.broadcast_to(np.cos(k * (np.arange(SHAPE[0]) + 0.5))[:, None, None], SHAPE)
    after, info = conducted(before, liquid, open, kappa, tolerance=1e-9)
    assert info.converged
    assert after == pytest.approx(before / (1 + 4 * kappa * math.sin(k / 2) ** 2), abs=1e-7)


@pytest.mark.parametrize("kappa", [1.0, 1e5])
def test_no_heat_is_lost_through_insulating_walls(kappa):
    liquid, open = whole()
    liquid[:3] = liquid[:, 4] = False  # air
    before = np.random.default_rng(1).normal(5, 1, SHAPE).astype(np.float32)
    after, _ = conducted(before, liquid, open, kappa, tolerance=1e-9)
    assert after[liquid].sum() == pytest.approx(before[liquid].sum(), rel=1e-6)
    assert (after[~liquid] == before[~liquid]).all()
    if kappa > 1e3:
        assert after[liquid] == pytest.approx(before[liquid].mean(), abs=0.01)


@pytest.mark.parametrize("gap", [0.0, 0.3, 0.5, 0.8])
def test_between_a_hot_and_a_cold_wall_it_falls_evenly(gap):
    """From one solid to the other, wherever they begin between two centres."""
    liquid, open = whole()
    x = np.broadcast_to((np.arange(SHAPE[0]) + 0.5)[:, None, None], SHAPE)
    low, high = 3.0 + gap, 20.0 + gap
    solids = [(x - low, 80.0), (high - x, 20.0)]
    after, _ = conducted(np.full(SHAPE, 50.0), liquid, open, 1e9, solids, 1e-10)
    between = (x > low) & (x < high)
    exact = 80 - 60 * (x - low) / (high - low)
    assert after[between] == pytest.approx(exact[between], abs=0.02 if min(abs(0.5 - gap), 1) < 0.1 else 1e-3)


def test_what_is_warm_neither_cools_nor_warms_beyond_what_is_there():
    liquid, open = whole()
    x = np.broadcast_to((np.arange(SHAPE[0]) + 0.5)[:, None, None], SHAPE)
    after, _ = conducted(np.zeros(SHAPE), liquid, open, 3.0, [(x - 4.2, 100.0)], 1e-9)
    assert (np.diff(after[5:, 2, 2]) < 0).all()
    assert after.min() > -1e-6
    assert after[5:].max() < 100
    assert (after[:4] == 100).all()
