"""Viscous liquid in whole simulations: schemes agree, and it goes with all else that a scene may have."""

from dataclasses import replace

import numpy as np
import pytest

from paddlewheel.gallery import viscous_substeps
from paddlewheel.items import Inflow, Liquid, Outflow, RigidBody
from paddlewheel.method import VISCOSITY, Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box, Cylinder, Sphere
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


def pool(items, viscosity=300.0, height=0.6, **options):
    """A 2-D box of 1 m that is filled with honey so high."""
    method = Method(**({"advection": "apic"} | options.pop("method", {})))
    honey = Liquid(Box((-1, -1, -1), (2, height, 2)), viscosity=viscosity)
    options = {"walls": "no-slip"} | options
    return Scene(size=(1, 1, 1 / 24), cells=(24, 24, 1), method=method, items=[honey, *items], **options)


def test_a_hinged_bar_turns_slower_the_thicker_the_honey():
    """In creeping flow in inverse proportion, from angle to angle, in steps of equal μ Δt; the hinge stays in place."""
    hinge, angles, times = np.array([0.3, 0.39, 0]), np.radians([0.3, 0.6, 0.9]), []
    for viscosity, steps in ((1000.0, 25), (3000.0, 200)):
        bar = RigidBody(Box((0.3, 0.35, -1), (0.7, 0.43, 1)), density=3000.0, axis=(0, 0, 1), pivot=tuple(hinge))
        simulation, turned = Simulation(pool([bar], viscosity)), []
        for _ in range(steps):
            simulation.step(0.01 * 1000 / viscosity)
            arm = simulation.state.bodies[0].position - hinge
            assert np.linalg.norm(arm[:2]) == pytest.approx(0.2, abs=1e-6)
            turned.append((-np.arctan2(arm[1], arm[0]), simulation.state.time))
        assert turned[-1][0] > angles[-1]
        times.append(np.diff(np.interp(angles, *np.transpose(turned))))
    assert times[1] / times[0] == pytest.approx(3, rel=0.03)


def test_many_bodies_in_honey_go_up_and_down_by_their_density():
    places = [(0.14 + 0.24 * i, 0.15 + 0.16 * j) for i in range(4) for j in range(3)]
    densities = [(300.0, 1000.0, 3000.0)[n % 3 - n // 3 % 3] for n in range(len(places))]
    simulation = Simulation(
        pool([RigidBody(Cylinder((x, y, -1), (x, y, 1), 0.06), d) for (x, y), d in zip(places, densities, strict=True)])
    )
    for frame in simulation.run(8):
        assert all(solve.converged for solve in frame.report.solves)
    risen = np.array([body.position[1] - y for body, (_, y) in zip(simulation.state.bodies, places, strict=True)])
    light, neutral, heavy = (risen[np.array(densities) == d].mean() for d in (300.0, 1000.0, 3000.0))
    assert heavy < neutral - 0.005 < neutral + 0.002 < light


@pytest.mark.parametrize(
    "options",
    [
        {"open_sides": {"+x"}},
        {"open_sides": ("-x", "+x", "+y")},
        {"open_sides": {"-y"}},
        {"method": {"wall_separation": True}},
        {"method": {"wall_separation": True}, "walls": "free-slip"},
        {"method": {"advection": "semi-lagrangian"}},
        {"method": {"advection": "maccormack"}},
    ],
    ids=str,
)
def test_honey_sinks_and_comes_to_no_harm(options):
    """With an inflow and a drain, whatever the method; through open sides it leaves, but slower than water."""
    items = [
        Inflow(Box((-0.1, 0.7, -1), (0.1, 0.85, 1)), velocity=(0.3, 0, 0), viscosity=300.0),
        Outflow(Box((0.85, -0.1, -1), (1.1, 0.15, 1))),
    ]
    left = []
    for viscosity in (300.0, 0.0):
        items[0] = replace(items[0], viscosity=viscosity)
        simulation = Simulation(pool(items, viscosity, **options))
        for frame in simulation.run(8):
            assert all(solve.converged for solve in frame.report.solves)
            assert frame.report.divergence < 1e-4
        assert max(np.abs(u).max() for u in simulation.state.velocity) < 5
        left.append(frame.report.volume)
    assert left[0] > 1.02 * left[1]
