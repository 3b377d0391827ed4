"""`Simulation.change`: another scene from the state there is, and the physics answers."""

from dataclasses import replace

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.output.viewer import changes

N = 24
H = 1 / N
POOL = pw.Liquid(pw.Box((0, 0, -1), (1, 0.5, 2)))
BALL = pw.RigidBody(pw.Cylinder((0.5, 0.3, -1), (0.5, 0.3, 2), 0.12), 1000.0)


def tank(*items, **options):
    return pw.Scene((1, 1, H), (N, N, 1), items=[POOL, *items], **options)


def test_the_same_scene_changes_nothing_to_the_last_bit():
    one, other = pw.Simulation(tank(BALL)), pw.Simulation(tank(BALL))
    one.advance(0.1)
    one.advance(0.1)
    other.advance(0.1)
    other.change(replace(other.scene))
    other.advance(0.1)
    assert one.time == other.time
    assert np.array_equal(one.state.particles.position, other.state.particles.position)
    assert np.array_equal(one.state.bodies[0].position, other.state.bodies[0].position)


def test_what_is_held_stays_held():
    simulation = pw.Simulation(tank(BALL))
    simulation.grab(0, (0.5, 0.3, 0))
    simulation.drag((0.7, 0.35, 0))
    simulation.change(changes.with_density(simulation.scene, 0, 4000.0))
    simulation.advance(1.0)
    assert simulation.state.bodies[0].position[0] == pytest.approx(0.7, abs=0.5 * H)
    simulation.release()


def test_without_gravity_bodies_go_straight_on():
    """Above the water and thrown sideways: a parabola before, a line after."""
    ball = replace(BALL, shape=pw.Cylinder((0.3, 0.8, -1), (0.3, 0.8, 2), 0.1), velocity=(0.5, 0, 0))
    simulation = pw.Simulation(tank(ball))
    simulation.step(0.01)
    simulation.change(changes.with_gravity(simulation.scene, 0.0, simulation.scene))
    (before,) = simulation.state.bodies
    for _ in range(10):
        simulation.step(0.01)
    (after,) = simulation.state.bodies
    np.testing.assert_allclose(after.velocity, before.velocity, atol=1e-9)
    assert after.velocity[1] == pytest.approx(-0.0981, rel=1e-6)


def test_gravity_comes_back_the_way_it_was():
    scene = tank(gravity=(3.0, -4.0, 0.0))
    none = changes.with_gravity(scene, 0.0, scene)
    assert none.gravity == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(changes.with_gravity(none, 10.0, scene).gravity, (6, -8, 0))
    assert changes.with_gravity(none, 2.0, none).gravity == (0.0, -2.0, 0.0)


def test_a_body_that_gets_heavier_sinks_and_lighter_rises():
    simulation = pw.Simulation(tank(BALL))
    simulation.advance(0.2)
    start = simulation.state.bodies[0].position[1]
    assert start == pytest.approx(0.3, abs=0.2 * H)  # as heavy as water
    simulation.change(changes.with_density(simulation.scene, 0, 3000.0))
    simulation.advance(0.5)
    assert simulation.state.bodies[0].position[1] < start - 2 * H
    simulation.change(changes.with_density(simulation.scene, 0, 100.0))
    simulation.advance(1.0)
    assert simulation.state.bodies[0].position[1] > start + H


def test_viscosity_stops_a_flow():
    def energy(viscosity):
        dam = pw.Liquid(pw.Box((0, 0, -1), (0.4, 0.6, 2)))
        simulation = pw.Simulation(pw.Scene((1, 1, H), (N, N, 1), items=[dam], walls="no-slip"))
        simulation.advance(0.2)
        simulation.change(changes.with_viscosity(simulation.scene, viscosity))
        return simulation.advance(0.2).kinetic_energy

    assert energy(1000.0) < 0.01 * energy(0.0)


def test_a_hand_along_a_path_holds_the_changed_body():
    hand = pw.Hand(BALL, (0.5, 0.3, 0), lambda t: (0.5, 0.3, 0))
    changed = changes.with_density(tank(BALL, hand), 0, 50.0)
    assert changed.items[2].body is changed.items[1]
    assert changed.items[1].density == 50.0


@pytest.mark.parametrize(("name", "value"), [("weights", "voxel"), ("weights", "volume"), ("wall_separation", True)])
def test_the_method_can_change(name, value):
    simulation = pw.Simulation(tank(BALL))
    simulation.advance(0.05)
    simulation.change(changes.with_method(simulation.scene, **{name: value}))
    assert getattr(simulation.scene.method, name) == value
    assert simulation.advance(0.05).volume == pytest.approx(0.5 * H - np.pi * 0.12**2 * H, rel=0.05)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda s: replace(s, cells=(N // 2, N // 2, 1), size=(1, 1, 2 * H)), "other cells"),
        (lambda s: changes.with_method(s, advection="apic"), "other gradients on particles"),
        (lambda s: changes.with_method(s, advection="semi-lagrangian", surface=None), "other carriers"),
        (lambda s: changes.with_method(s, particles_per_cell=9), "other particles in a cell"),
        (
            lambda s: replace(s, items=[replace(POOL, viscosity=lambda p: p[:, 0]), BALL]),
            "other viscosity on particles",
        ),
        (lambda s: replace(s, items=s.items[:1]), "other bodies"),
        (lambda s: replace(s, items=[BALL]), "nothing to simulate"),
    ],
)
def test_what_cannot_go_on_is_refused(other, message):
    simulation = pw.Simulation(tank(BALL))
    before = simulation.scene
    with pytest.raises(ValueError, match=message):
        simulation.change(other(before))
    assert simulation.scene is before
