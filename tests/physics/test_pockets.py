"""Pockets of air at walls under water that count as liquid."""

import numpy as np
import pytest

from paddlewheel.physics.pockets import LARGEST, LARGEST_2D, fill_pockets
from paddlewheel.types import Faces, Grid

H = 0.1
CUBE = Grid((12, 14, 10), H)
PLANE = Grid((20, 16, 1), H)


def water(grid, *boxes):
    """φ of a closed tank full of liquid, but for boxes of air: from a cell, up to another."""
    phi = np.full(grid.shape, -H, np.float32)
    for low, high in boxes:
        phi[tuple(map(slice, low, high))] = H
    return phi


def tank(grid):
    """w of a domain with closed sides."""
    open = Faces(*(np.ones(grid.face_shape(a), np.float32) for a in range(3)))
    for a in range(3):
        view = np.moveaxis(open[a], a, 0)
        view[0] = view[-1] = 0
    return open


def filled(phi, open):
    before = phi.copy()
    count = fill_pockets(phi, open, H)
    changed = phi != before
    assert (phi[changed] == np.float32(-0.5 * H)).all()
    assert (count > 0) == changed.any()
    return int(changed.sum())


@pytest.mark.parametrize("grid", [CUBE, PLANE])
def test_a_small_pocket_at_a_wall_is_liquid(grid):
    deep = min(3, grid.shape[2])
    assert filled(water(grid, ((0, 5, 0), (2, 8, deep))), tank(grid)) == 2 * 3 * deep


def test_a_pocket_may_be_anything_but_straight():
    phi = water(CUBE, ((0, 5, 2), (3, 6, 3)), ((2, 5, 2), (3, 8, 3)), ((2, 7, 2), (3, 8, 6)), ((5, 5, 5), (6, 6, 6)))
    assert filled(phi, tank(CUBE)) == 3 + 2 + 3  # and not the one apart, in the open


def test_a_pocket_in_the_open_is_a_bubble():
    assert filled(water(CUBE, ((4, 4, 4), (6, 6, 6))), tank(CUBE)) == 0


@pytest.mark.parametrize(("grid", "most"), [(CUBE, LARGEST), (PLANE, LARGEST_2D)])
def test_a_large_pocket_is_air(grid, most):
    deep = 4 if grid is CUBE else 1
    size = (4, most // (4 * deep))
    assert filled(water(grid, ((0, 0, 0), (*size, deep))), tank(grid)) == most
    phi = water(grid, ((0, 0, 0), (*size, deep)))
    phi[4, 0, 0] = H
    assert filled(phi, tank(grid)) == 0


def test_air_at_an_open_side_is_no_pocket():
    open = tank(CUBE)
    phi = water(CUBE, ((0, 5, 2), (2, 7, 4)))
    open.x[0, 6, 3] = 0.2
    assert filled(phi, open) == 0


def test_a_drain_is_no_pocket():
    drains = np.zeros(CUBE.shape, bool)
    drains[1, 6, 3] = True
    phi = water(CUBE, ((0, 5, 2), (2, 7, 4)), ((10, 0, 0), (12, 2, 2)))
    fill_pockets(phi, tank(CUBE), H, drains)
    assert (phi[0:2, 5:7, 2:4] > 0).all()
    assert (phi[10:12, 0:2, 0:2] < 0).all()


def test_a_chamber_without_liquid_stays_empty():
    open, phi = tank(CUBE), water(CUBE, ((0, 0, 0), (3, 3, 3)))
    open.x[3, :3, :3] = open.y[:3, 3, :3] = open.z[:3, :3, 3] = 0
    assert filled(phi, open) == 0


def test_closed_cells_are_neither_air_nor_in_its_way():
    """A wall all around the pocket but for one face; behind the wall φ is positive."""
    open, phi = tank(CUBE), water(CUBE, ((3, 3, 3), (8, 8, 8)))
    for a in range(3):
        open[a][3:9, 3:9, 3:9] = 0
    open.x[3, 5, 5] = 0.3  # to cell (3, 5, 5), the only one with an open face
    assert filled(phi, open) == 1
