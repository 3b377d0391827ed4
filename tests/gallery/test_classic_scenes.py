"""The checks of the classic scenes can fail: in another world than the one they compare with they do."""

import dataclasses

import pytest

from paddlewheel.gallery import dam_break_methods, drifting, fountain, pouring
from paddlewheel.run import Simulation


def lighter(scene):
    """The scene with half of gravity."""
    return dataclasses.replace(scene, gravity=(0, 0.5 * scene.gravity[1], 0))


WRONG = {
    "a stream that falls half as fast": (pouring, lighter(pouring.scene()), "|stream − Galilei's parabola| / h, worst"),
    "a fountain that hardly falls": (
        fountain,
        lighter(fountain.scene()),
        "|height of the fountain / Bernoulli's − 1|",
    ),
    "rafts that nothing damps": (
        drifting,
        drifting.scene(cells=128, damping=0.0),
        "|drift / that of the water − 1|, worst",
    ),
    "a dam that hardly breaks": (
        dam_break_methods,
        lighter(dam_break_methods.scene()),
        "|front − batty2007's| / h, worst until it meets the wall",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "scene", "figure"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found(entry, scene, figure):
    assert entry.check(Simulation(scene))[figure] > entry.LIMITS[figure]


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen",
    [{"pressure": 500.0}, {"pressure": 2000.0}, {"pressure": 8000.0}, {"period": 0.6}, {"period": 1.0}, {"cells": 60}],
    ids=str,
)
def test_a_fountain_is_as_fast_and_high_whatever_drives_it(chosen):
    figures = fountain.check(Simulation(fountain.scene(**chosen)))
    assert {name: value for name, value in figures.items() if not value <= fountain.LIMITS[name]} == {}


def test_a_method_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="method='none', expected one of foster_metaxas, roble, batty2007"):
        dam_break_methods.scene(method="none")


@pytest.mark.parametrize("method", dam_break_methods.METHODS)
def test_every_method_has_the_same_water(method):
    simulation = Simulation(dam_break_methods.scene(cells=16, method=method))
    course = dam_break_methods.course(simulation, simulation.run(2))
    assert [len(part) for part in course] == [2, 2, 2, 2]
    assert dam_break_methods.potential(simulation) == course.potential[-1]
    assert course.potential[-1] + course.kinetic[-1] == pytest.approx(9810 / 8 * 0.5 * 0.75 * 0.375, rel=0.05)
