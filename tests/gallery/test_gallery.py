"""Every scene of the gallery: small and short here, and all that it claims in the slow tests."""

import inspect

import pytest

from paddlewheel.gallery import SCENES, common, dam_break, dam_break_pillar, filling, stirring
from paddlewheel.run import Simulation

WHATEVER_THE_SIZE = ("particle inside a solid / h", "max|∇·u| h / max|u|", "pressure iterations, most")


def exceeded(figures, limits):
    """The figures that are not within their limits."""
    return {name: value for name, value in figures.items() if not value <= limits[name]}


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_says_what_it_shows(name):
    entry = SCENES[name]
    assert entry.__doc__
    assert entry.caption.endswith(".")
    assert entry.scene.__doc__
    assert entry.check.__doc__


@pytest.mark.parametrize("name", SCENES)
def test_what_must_hold_of_any_scene_holds_small_and_short(name):
    scene = SCENES[name].scene
    longest = {"cfl": 5.0} if "cfl" in inspect.signature(scene).parameters else {}
    simulation = Simulation(scene(cells=24, **longest))
    watch, explicit = common.Watch(simulation), simulation.scene.method.is_explicit
    assert [frame.number for frame in watch.run(6)] == [1, 2, 3, 4, 5, 6]
    figures, limits = watch.figures(), common.CLASSIC_LIMITS if explicit else common.LIMITS
    assert exceeded({name: figures[name] for name in WHATEVER_THE_SIZE if name in limits}, limits) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_what_a_scene_claims_holds(name):
    entry = SCENES[name]
    figures = entry.check(Simulation(entry.scene()))
    assert set(figures) == set(entry.LIMITS)
    assert exceeded(figures, entry.LIMITS) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "parameters"),
    [
        (stirring, {}),
        (stirring, {"turns": 1.5}),
        (dam_break_pillar, {"pillar": "turned"}),
        (dam_break_pillar, {"pillar": "round", "advection": "apic"}),
        (dam_break_pillar, {"advection": "semi-lagrangian"}),
        (dam_break, {"dimensions": 2, "advection": "apic"}),
        (filling, {"dimensions": 2}),
    ],
)
def test_no_particle_gets_into_a_solid_in_long_steps(entry, parameters):
    watch = common.Watch(Simulation(entry.scene(cfl=5.0, **parameters)))
    for _ in watch.run(48):
        pass
    figures = watch.figures()
    assert exceeded({name: figures[name] for name in WHATEVER_THE_SIZE}, common.LIMITS) == {}


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [(dam_break, {"dimensions": 1}), (filling, {"dimensions": 4}), (dam_break_pillar, {"pillar": "oval"})],
)
def test_a_parameter_that_cannot_be_is_named(entry, wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        entry.scene(**wrong)
