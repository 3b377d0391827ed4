"""Liquid that is warm: what carries, spreads and loses heat in whole simulations, and what warmth does."""

import math
import re

import numpy as np
import pytest

from paddlewheel import Box, Inflow, Liquid, Method, Pose, Scene, Simulation, Smoke, Solid

ALL = Box((-1, -1, -1), (2, 2, 2))


def same(warmth):
    return np.ones_like(warmth)


def thinner(warmth):
    return 10 ** (-np.maximum(warmth, 0) / 20)


def scene(*items, cells=24, **rest):
    h = 1 / cells
    options = dict(walls="no-slip", method=Method(advection="apic"), thinning=same) | rest
    return Scene(size=(1, 1, h), cells=(cells, cells, 1), items=items, **options)


def warmth(simulation):
    return simulation.state.particles.carried[:, 1].astype(float)


def test_a_temperature_goes_with_the_liquid():
    """Without conduction every particle keeps its own."""
    simulation = Simulation(
        scene(
            Liquid(Box((0, 0, -1), (0.4, 0.6, 1)), temperature=lambda points: 10 * points[:, 1], viscosity=1.0),
            Liquid(Box((0.4, 0, -1), (1, 0.3, 1)), temperature=40.0),
        )
    )
    before = np.sort(warmth(simulation))
    simulation.advance(0.2)
    assert np.sort(warmth(simulation)) == pytest.approx(before)


def test_what_cools_does_so_at_its_rate():
    simulation = Simulation(scene(Liquid(Box((0, 0, -1), (1, 0.5, 1)), temperature=50.0, viscosity=1.0), cooling=2.0))
    simulation.advance(0.25)
    assert warmth(simulation) == pytest.approx(50 * math.exp(-0.5), rel=1e-5)


@pytest.mark.parametrize("cells", [24, 48])
def test_heat_goes_into_still_liquid_as_theory_says(cells):
    """From a hot floor: T = T₀ erfc(y/√(4αt)), the plate being between two lines of the grid.

    Particles take what their cell takes, so they are off by what T differs in a cell: 5 % on 24 cells.
    """
    floor, diffusivity, seconds = 0.113, 0.02, 0.25
    simulation = Simulation(
        scene(
            Solid(Box((-1, -1, -1), (2, floor, 2)), temperature=80.0),
            Liquid(ALL, viscosity=10.0),
            cells=cells,
            gravity=(0, 0, 0),
            conduction=diffusivity,
        )
    )
    for _ in range(2 * cells):
        simulation.step(seconds / (2 * cells))
    y = simulation.state.particles.position[:, 1].astype(float) - floor
    exact = 80 * np.array([math.erfc(d / math.sqrt(4 * diffusivity * seconds)) for d in y])
    error = warmth(simulation) - exact
    assert np.sqrt(np.mean(error**2)) < 80 * 1.2 / cells
    assert warmth(simulation).max() < 80 * 1.01
    assert warmth(simulation).min() > -1e-2


def test_no_heat_comes_from_solids_that_have_no_temperature():
    simulation = Simulation(
        scene(
            Solid(Box((-1, -1, -1), (2, 0.1, 2))),
            Liquid(Box((0, 0, -1), (1, 0.5, 1)), temperature=lambda points: 100 * points[:, 0], viscosity=10.0),
            conduction=0.05,
        )
    )
    before = warmth(simulation)
    simulation.advance(0.2)
    assert warmth(simulation).mean() == pytest.approx(before.mean(), rel=0.01)
    assert np.ptp(warmth(simulation)) < 0.9 * np.ptp(before)


def test_a_hot_solid_that_moves_warms_what_it_passes():
    poker = Solid(Box((-0.05, 0, -1), (0.05, 1, 1)), lambda t: Pose((0.2 + 2 * t, 0, 0)), temperature=90.0)
    simulation = Simulation(scene(poker, Liquid(Box((0, 0, -1), (1, 0.5, 1)), viscosity=5.0), conduction=1e-3))
    simulation.advance(0.2)
    x = simulation.state.particles.position[:, 0]
    assert warmth(simulation)[x > 0.9].max() < 1
    assert warmth(simulation)[(x > 0.3) & (x < 0.7)].mean() > 3


def test_a_warm_block_runs_off_and_a_cold_one_stands():
    heights = []
    for temperature in (0.0, 80.0):
        block = Liquid(Box((0.3, 0, -1), (0.7, 0.5, 1)), viscosity=1e5, temperature=temperature)
        simulation = Simulation(scene(block, thinning=thinner))
        simulation.advance(0.3)
        heights.append(np.quantile(simulation.state.particles.position[:, 1], 0.99))
    assert heights[0] > 0.47
    assert heights[1] < 0.35


def test_what_comes_in_warm_is_warm():
    simulation = Simulation(scene(Inflow(Box((0.4, 0.8, -1), (0.6, 1, 1)), (0, -1, 0), 10.0, temperature=30.0)))
    simulation.advance(0.2)
    assert warmth(simulation) == pytest.approx(30.0)


def test_a_saved_state_is_as_warm(tmp_path):
    simulation = Simulation(scene(Liquid(Box((0, 0, -1), (0.5, 0.5, 1)), temperature=30.0), conduction=1e-3))
    simulation.step(0.01)
    simulation.state.save(tmp_path / "warm.npz")
    loaded = type(simulation.state).load(tmp_path / "warm.npz")
    assert (loaded.particles.carried == simulation.state.particles.carried).all()


WET = Liquid(Box((0, 0, -1), (1, 0.5, 1)))
WRONG = {
    "a number": (dict(items=[WET], thinning=0.5), "thinning=0.5"),
    "another shape": (dict(items=[WET], thinning=lambda t: np.ones(len(t) + 1)), "thinning gave shape (3,)"),
    "not a number": (dict(items=[WET], thinning=lambda t: t * np.nan), "thinning at 0 K is nan"),
    "below zero": (dict(items=[WET], thinning=lambda t: t - 1), "thinning at 0 K is -1"),
    "smoke": (dict(items=[Smoke(WET.shape)], thinning=same), "thinning acts on liquid only"),
    "a temperature of three numbers": (
        dict(items=[Liquid(WET.shape, temperature=lambda p: p)]),
        "items[0] Liquid(Box): temperature(points) returned float64 of shape (64, 3)",
    ),
    "conduction that goes backwards": (dict(items=[WET], thinning=same, conduction=-1.0), "conduction=-1.0"),
    "conduction of nothing": (dict(items=[WET], thinning=None, conduction=1.0), "does nothing without `thinning`"),
    "cooling of nothing": (dict(items=[WET], thinning=None, cooling=1.0), "does nothing without `thinning`"),
    "warmth that does nothing": (
        dict(items=[Liquid(WET.shape, temperature=3.0)], thinning=None),
        "temperature does nothing",
    ),
    "a plate that does nothing": (
        dict(items=[WET, Solid(WET.shape, temperature=3.0)], thinning=None),
        "items[1] Solid(Box): temperature does nothing",
    ),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_mistakes_are_named(options, message):
    options = dict(options)
    with pytest.raises(ValueError, match=re.escape(message)):
        scene(*options.pop("items"), **options)


def test_cold_does_not_make_it_endlessly_viscous():
    """Beyond what single precision holds it would flow like water."""
    cold = Liquid(WET.shape, viscosity=1e20, temperature=-20.0)
    with pytest.raises(ValueError, match="thinning at -20 K makes liquid as viscous as 1e\\+40 Pa s"):
        Simulation(scene(cold, thinning=lambda t: 10.0**-t)).step(0.01)


@pytest.mark.parametrize("temperature", ["hot", math.nan, math.inf])
def test_temperatures_are_numbers(temperature):
    for make in (lambda: Liquid(WET.shape, temperature=temperature), lambda: Solid(WET.shape, temperature=temperature)):
        with pytest.raises(ValueError, match="temperature"):
            make()
