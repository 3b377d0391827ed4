"""Flows that are known, by the explicit method."""

import numpy as np
import pytest
from viscous import on_centre_line

from paddlewheel.items import Force, Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box

GHIA = {0.4531: -0.21090, 0.5: -0.20581}  # u on the centre line at Re 100, Ghia et al. 1982


def cavity(cells: int, seconds: float) -> Simulation:
    """A unit square of liquid at Re 100 under a lid that goes by at 1 m/s, after a time from rest."""
    h = 1 / cells
    lid = Solid(Box((-1, 1, -1), (2, 2, 2)), lambda t: Pose(velocity=(1, 0, 0), angular_velocity=(0, 0, 0)))
    scene = Scene(
        size=(1, 1 + 2 * h, h), cells=(cells, cells + 2, 1), gravity=(0, 0, 0), density=1.0, walls="no-slip",
        method=Method.foster_metaxas(), items=[Liquid(Box((0, 0, -1), (1, 1, 1)), viscosity=0.01), lid],
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.advance(seconds)
    return simulation


@pytest.mark.parametrize(("cells", "within"), [(32, 0.02), pytest.param(64, 0.01, marks=pytest.mark.slow)])
def test_cavity_under_a_moving_lid(cells, within):
    """Central differences, since the viscosity is enough: the error falls with h²."""
    found = on_centre_line(cavity(cells, 12.0), list(GHIA))
    assert found == pytest.approx(list(GHIA.values()), rel=within)


def channel(walls: str, seconds: float) -> Simulation:
    """Liquid between two solids, pushed along by 1 m/s² through open sides."""
    cells, viscosity = 16, 0.5
    h = 1 / cells
    scene = Scene(
        size=(1, 1, h), cells=(cells, cells, 1), gravity=(0, 0, 0), density=1.0, walls=walls, open_sides={"-x", "+x"},
        method=Method.foster_metaxas(tolerance=1e-6),
        items=[
            Liquid(Box((0, 0.25, -1), (1, 0.75, 1)), viscosity=viscosity),
            Solid(Box((-1, -1, -1), (2, 0.25, 2))), Solid(Box((-1, 0.75, -1), (2, 2, 2))),
            Force(lambda points, t: np.broadcast_to((1.0, 0, 0), points.shape)),
        ],
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.advance(seconds)
    return simulation


def test_flow_between_walls_that_hold_it():
    """u = ½ (a/ν) y (H − y), and ⅛ (a/ν) h² more: a velocity mirrored at the wall is linear there."""
    simulation = channel("no-slip", 0.5)
    h = 1 / 16
    y = (np.arange(8) + 0.5) * h
    exact = 0.5 / 0.5 * (y * (0.5 - y) + 0.25 * h**2)
    assert simulation.state.velocity.x[8, 4:12, 0] == pytest.approx(exact, rel=0.03)


def test_flow_between_walls_that_do_not():
    simulation = channel("free-slip", 0.1)
    assert simulation.state.velocity.x[8, 4:12, 0] == pytest.approx(0.1, rel=1e-3)
