"""Open cells and their open parts: planes, and a ball's volume."""

import numpy as np
import pytest

from paddlewheel.grid.cells import open_cells, open_volumes
from paddlewheel.types import Grid

GRID = Grid((12, 10, 8), 0.1)


def test_a_plane_cuts_off_what_it_cuts_off():
    """x > 0.53 m, between the centre of a cell and its upper side; φ need not be a distance for that."""
    phi = (GRID.node_points()[..., 0] - 0.53).astype(np.float32)
    part = np.clip((0.1 * np.arange(1, 13) - 0.53) / 0.1, 0, 1)
    assert open_volumes(phi) == pytest.approx(np.broadcast_to(part[:, None, None], GRID.shape), abs=1e-5)
    assert np.array_equal(open_cells(phi), np.broadcast_to((part > 0.5)[:, None, None], GRID.shape))


def test_a_tilted_plane_and_its_other_side_fill_all():
    phi = (GRID.node_points() @ (0.6, 0.48, 0.64) - 0.7).astype(np.float32)
    assert open_volumes(phi) + open_volumes(-phi) == pytest.approx(np.ones(GRID.shape), abs=1e-5)
    assert np.array_equal(open_cells(phi), ~open_cells(-phi))


def test_volume_of_a_ball():
    """To second order: quartered if cells are halved."""
    errors = []
    for n in (1, 2):
        grid = Grid(tuple(n * m for m in GRID.shape), GRID.h / n)
        phi = 0.33 - np.linalg.norm(grid.node_points() - (0.61, 0.52, 0.4), axis=-1)
        volume = open_volumes(phi.astype(np.float32)).sum(dtype=float) * grid.h**3
        errors.append(abs(volume - 4 / 3 * np.pi * 0.33**3))
    assert errors[0] < 0.05 * 4 / 3 * np.pi * 0.33**3
    assert errors[1] < 0.3 * errors[0]
