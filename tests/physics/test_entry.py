"""How far bodies get into liquid in the step in which they meet it."""

import numpy as np
import pytest

from paddlewheel.physics.entry import GRIP, way_into
from paddlewheel.solids.shapes import Box
from paddlewheel.types import Grid

GRID = Grid((16, 24, 16), 0.05)
RHO = 1000.0
BOX = Box((0.2, 0.65, 0.2), (0.6, 0.85, 0.5))  # a cell above the liquid
AREA = 0.4 * 0.3


def below(level):
    """φ of liquid up to a level [m]."""
    return (GRID.cell_points()[..., 1] - level).astype(np.float32)


def gone(mass, way, velocity=(0, 0, 0)):
    u = [np.full(GRID.face_shape(a), v, np.float32) for a, v in enumerate(velocity)]
    return way_into(GRID, BOX, mass, np.array(way), below(0.6), u, 1.0, RHO)


@pytest.mark.parametrize("mass", [3.0, 12.0, 100.0])
def test_a_box_gets_as_far_as_its_momentum_takes_it(mass):
    """v₀ Δt = gap + x + ρ A x²/(2 m), with the liquid it displaces in motion."""
    x = (np.sqrt(1 + 2 * RHO * AREA / mass * 0.25) - 1) * mass / (RHO * AREA)
    assert gone(mass, (0, -0.3, 0)) == pytest.approx([0, -0.05 - x, 0], abs=1e-3)


def test_what_weighs_next_to_nothing_dips_in():
    assert gone(1e-9, (0, -0.3, 0)) == pytest.approx([0, -0.05 - GRIP * GRID.h, 0], abs=0.1 * GRID.h)


def test_nothing_stops_what_is_heavy():
    assert gone(1e9, (0.01, -0.3, 0)) == pytest.approx([0.01, -0.3, 0], abs=1e-6)


@pytest.mark.parametrize("way", [(0, -0.04, 0), (0.1, 0.2, 0), (5, 0, 0), (0, 0, 0)])
def test_what_meets_no_liquid_goes_its_way(way):
    assert np.array_equal(gone(1.0, way), way)


def test_what_falls_with_the_liquid_is_not_stopped():
    assert gone(1e-3, (0, -0.3, 0), (0, -0.3, 0)) == pytest.approx([0, -0.3, 0], abs=1e-6)
