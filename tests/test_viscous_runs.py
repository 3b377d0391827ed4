"""Schemes of viscosity in whole simulations: they agree, and reports tell their sub-steps."""

import numpy as np
import pytest

from paddlewheel.gallery import viscous_substeps
from paddlewheel.method import VISCOSITY
from paddlewheel.run import Simulation
from paddlewheel.scene import Liquid, Method, RigidBody, Scene
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import SolveFailedError


@pytest.mark.parametrize(
    ("scheme", "surface", "substeps"),
    [
        ("variational", "nichols-hirt", 1),
        ("imex", "nichols-hirt", 7),
        ("imex", None, 7),
        ("explicit", "nichols-hirt", 14),
        ("explicit", None, 14),
    ],
)
def test_a_blob_spreads_alike_by_all_schemes(scheme, surface, substeps):
    natural = Simulation(viscous_substeps.scene(cells=24, surface="natural"))
    other = Simulation(viscous_substeps.scene(cells=24, scheme=scheme, surface=surface))
    *_, _ = natural.run(8)
    most = 0
    for frame in other.run(8):
        most = max(most, *(s.substeps for s in frame.report.solves if s.name == "viscosity"))
    assert most == pytest.approx(substeps, abs=1)
    extent = [np.ptp(s.state.particles.position, axis=0)[:2] for s in (natural, other)]
    assert np.abs(extent[1] / extent[0] - 1).max() < 0.12


@pytest.mark.parametrize(
    ("scheme", "surface"),
    [(scheme, surface) for scheme, fitting in VISCOSITY.items() for surface in fitting if surface != "nichols-hirt"],
)
def test_every_scheme_runs_in_space(scheme, surface):
    scene = Scene(
        size=(1, 1, 1),
        cells=10,
        walls="no-slip",
        method=Method(viscosity=scheme, viscous_surface=surface),
        items=[
            Liquid(Box((0, 0, 0), (0.5, 0.6, 1)), viscosity=200.0),
            Liquid(Sphere((0.7, 0.7, 0.5), 0.2), viscosity=50.0),
        ],
    )
    simulation = Simulation(scene)
    *_, last = simulation.run(3)
    fastest = max(np.abs(u).max() for u in simulation.state.velocity)
    assert fastest < 3
    assert all(solve.converged for solve in last.report.solves)


def test_liquid_too_stiff_to_be_solved_for_is_said_to_be():
    """Rounding leaves nothing of its masses beside its strains; with a body, not even the matrix positive."""
    scene = Scene(
        size=(1, 1, 1 / 32),
        cells=(32, 32, 1),
        gravity=(0, 0, 0),
        method=Method(advection="apic"),
        items=[
            Liquid(Sphere((0.5, 0.5, 0.5 / 32), 0.3), velocity=lambda p: 0.5 - p[:, [1, 0, 2]], viscosity=1e20),
            RigidBody(Box((0.45, 0.4, -1), (0.6, 0.55, 1)), density=3000.0),
        ],
    )
    with pytest.raises(SolveFailedError, match="the viscosity solve did not converge"):
        Simulation(scene).step(1 / 24)
