"""Viscous liquids in time: what holds them, what they carry, and that a run does not depend on how it is run."""

import dataclasses

import numba
import numpy as np
import pytest

import paddlewheel as pw

H = 1 / 24


def honey(viscosity=300.0, items=(), walls="no-slip", **method):
    """A block of honey in a 2-D box of 1 m, a little above its floor."""
    return pw.Scene(
        size=(1, 1, H),
        cells=(24, 24, 1),
        walls=walls,
        method=pw.Method(**{"advection": "apic", **method}),
        items=[pw.Liquid(pw.Box((0.3, 0.05, -1), (0.7, 0.6, 1)), viscosity=viscosity), *items],
    )


def growing(points):
    return 1000.0 * points[:, 0] ** 4


def states(scene, frames):
    return [frame.state.copy() for frame in pw.Simulation(scene).run(frames)]


def same(one, other):
    arrays = [one.particles.position, one.particles.velocity, one.particles.carried, one.phi, *one.velocity]
    others = [other.particles.position, other.particles.velocity, other.particles.carried, other.phi, *other.velocity]
    return all(np.array_equal(a, b) for a, b in zip(arrays, others, strict=True))


BODY = pw.RigidBody(pw.Sphere((0.5, 0.75, 0.5 * H), 0.1), density=2000.0)


@pytest.mark.parametrize("viscosity", [300.0, growing], ids=["number", "function"])
def test_a_saved_state_goes_on_as_if_it_had_not_been_saved(viscosity, tmp_path):
    scene = honey(viscosity, [BODY])
    *_, last = states(scene, 4)
    simulation = pw.Simulation(scene)
    list(simulation.run(2))
    simulation.state.save(tmp_path / "state.npz")
    again = pw.Simulation(scene)
    again.state = pw.State.load(tmp_path / "state.npz")
    list(again.run(2))
    assert same(again.state, last)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread only")
def test_a_step_does_not_depend_on_the_number_of_threads():
    scene = pw.Scene(
        size=(1, 1, 1),
        cells=34,  # enough cells for two threads
        walls="no-slip",
        items=[pw.Liquid(pw.Box((0.2, 0.02, 0.2), (0.8, 0.7, 0.8)), viscosity=growing)],
    )
    found = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        try:
            simulation = pw.Simulation(scene)
            simulation.step(0.01)
            found.append(simulation.state)
        finally:
            numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    assert same(*found)


def test_viscosity_goes_with_the_liquid():
    """Two blocks, one on the other: particles keep theirs, and the thin one runs off the stiff one."""
    thin, stiff = pw.Box((0.3, 0.4, -1), (0.7, 0.6, 1)), pw.Box((0.3, 0, -1), (0.7, 0.4, 1))
    items = [pw.Liquid(stiff, viscosity=3000.0), pw.Liquid(thin, viscosity=0.01)]
    simulation = pw.Simulation(dataclasses.replace(honey(), items=items))
    before = np.sort(simulation.state.particles.carried[:, 0])
    list(simulation.run(24))
    particles = simulation.state.particles
    assert np.array_equal(np.sort(particles.carried[:, 0]), before)
    y = particles.position[:, 1]
    is_stiff = particles.carried[:, 0] > 1
    assert y[is_stiff].max() > 0.2  # stands still
    assert np.median(y[~is_stiff]) < 0.3  # came down from 0.5


def left_on_slope(walls) -> float:
    """How far down a slope of 30° honey has come in half a second [m]."""
    down = np.array([np.cos(np.pi / 6), -np.sin(np.pi / 6), 0])
    slope = pw.Solid(pw.HalfSpace((0.5, 0.45, 0), (0.5, np.cos(np.pi / 6), 0)))
    lump = pw.Liquid(pw.Sphere((0.25, 0.68, 0.5 * H), 0.12), viscosity=300.0)
    simulation = pw.Simulation(dataclasses.replace(honey(), walls=walls, items=[slope, lump]))
    start = simulation.state.particles.position.mean(axis=0)
    list(simulation.run(12))
    return float((simulation.state.particles.position.mean(axis=0) - start) @ down)


@pytest.mark.parametrize("thick", [1.0, 30.0])
def test_one_number_is_the_function_that_is_it_everywhere(thick):
    """Also beside a slope, in whose cells there are no particles to carry it."""
    slope = pw.Solid(pw.HalfSpace((0.5, 0.45, 0), (0.5, np.cos(np.pi / 6), 0)))
    ends = []
    for viscosity in (np.array(thick), lambda points: np.full(len(points), thick)):
        lump = pw.Liquid(pw.Sphere((0.25, 0.68, 0.5 * H), 0.12), viscosity=viscosity)
        simulation = pw.Simulation(dataclasses.replace(honey(), walls="no-slip", items=[slope, lump]))
        list(simulation.run(8))
        ends.append(simulation.state.particles.position.mean(axis=0))
    assert np.abs(ends[1] - ends[0]).max() < 1e-4


def test_walls_hold_or_let_slip():
    held, slipped, usual = (left_on_slope(walls) for walls in ("no-slip", "free-slip", None))
    assert usual == pytest.approx(held, abs=0.01)  # solids hold by themselves
    assert held < 0.15
    assert slipped > 0.3  # nearly g sin 30° t²/2 = 0.6, from where it lands


def test_a_rod_that_turns_drags_honey_around():
    def turning(t):
        return pw.Pose((0.5, 0.5, 0), (np.cos(t), 0, 0, np.sin(t)), velocity=(0, 0, 0), angular_velocity=(0, 0, 2))

    rod = pw.Solid(pw.Cylinder((0, 0, -1), (0, 0, 1), 0.12), turning)
    moved = {}
    for viscosity in (0.0, 100.0):
        liquid = pw.Liquid(pw.Box((0, 0, -1), (1, 0.95, 1)), viscosity=viscosity)
        simulation = pw.Simulation(pw.Scene(size=(1, 1, H), cells=(24, 24, 1), items=[rod, liquid]))
        list(simulation.run(4))
        moved[viscosity] = float(simulation.state.velocity.y[int(0.75 / H), 12, 0])
    assert abs(moved[0.0]) < 0.02
    assert 0.03 < moved[100.0] < 0.24  # the rim goes at 0.24 m/s


def test_a_body_sinks_the_slower_the_thicker_the_honey():
    speeds = []
    for viscosity in (30.0, 1000.0, 10000.0):
        liquid = pw.Liquid(pw.Box((0, 0, -1), (1, 0.95, 1)), viscosity=viscosity)
        body = pw.RigidBody(pw.Sphere((0.5, 0.6, 0.5 * H), 0.1), density=2000.0)
        scene = pw.Scene(size=(1, 1, H), cells=(24, 24, 1), walls="no-slip", items=[liquid, body])
        simulation = pw.Simulation(scene)
        list(simulation.run(4))
        speeds.append(-simulation.state.bodies[0].velocity[1])
    fast, middle, slow = speeds
    assert fast > 2 * middle > 0
    assert middle / slow == pytest.approx(10, rel=0.15)  # creeping: the drag is μ times the speed


def stuck_between_walls(viscosity, hand=False):
    """A box in honey that fills a slit from wall to wall, with air above and below."""
    box = pw.RigidBody(pw.Box((0.2, 0.4, -1), (0.3, 0.6, 1)), density=1000.0)
    scene = pw.Scene(
        size=(0.5, 1, 1 / 32),
        cells=(16, 32, 1),
        walls="no-slip",
        method=pw.Method(advection="apic"),
        gravity=(0, 0, 0) if hand else (0, -9.81, 0),
        items=[pw.Liquid(pw.Box((0, 0.2, -1), (0.5, 0.8, 1)), viscosity=viscosity), box],
    )
    return pw.Simulation(scene)


def test_a_body_that_honey_holds_does_not_fall_freely():
    """No pressure acts on it, only friction: it goes as far as its velocity takes it."""
    simulation = stuck_between_walls(1e6)
    for _ in range(4):
        simulation.step(0.04)
    body = simulation.state.bodies[0]
    assert 0.5 - body.position[1] < 2 * 0.16 * -body.velocity[1] < 1e-3


@pytest.mark.parametrize("viscosity", [100.0, 1000.0, 1e4, 1e6])
def test_a_hand_pulls_through_honey_as_far_in_long_steps_as_in_short_ones(viscosity):
    """And however thick it is: where it wants to, in a fifth of a second nearly so."""
    way = []
    for steps in (5, 80):
        simulation = stuck_between_walls(viscosity, hand=True)
        simulation.grab(0, (0.25, 0.5, 0.5 / 32))
        simulation.drag((0.25, 0.6, 0.5 / 32))
        for _ in range(steps):
            simulation.step(0.2 / steps)
        way.append(simulation.state.bodies[0].position[1] - 0.5)
    assert way[0] == pytest.approx(way[1], rel=0.15)
    assert min(way) > 0.08


def on_floor(floor, walls="free-slip", speed=0.0):
    """The mean velocity of a stiff block on a floor a little into a cell, which rises, after a fifth of a second."""
    column = pw.Liquid(pw.Box((0.3, floor, -1), (0.7, floor + 0.7, 1)), viscosity=1e5, velocity=(0, speed, 0))
    items = [column]
    if floor:
        plate = pw.Box((-1, -1, -1), (2, floor, 2))
        items += [pw.Solid(plate, motion=lambda t: pw.Pose((0, speed * t, 0)))]
    simulation = pw.Simulation(pw.Scene(size=(1, 1, H), cells=(24, 24, 1), walls=walls, items=items))
    list(simulation.run(5))
    return simulation.state.particles.velocity.mean(axis=0)


@pytest.mark.parametrize("floor", [3 * H, 3.3 * H, 3.7 * H])
def test_stiff_honey_stands_on_a_solid_that_it_slips_along(floor):
    """It sinks as on a side of the box, and not as water, which no friction holds when the floor turns it aside."""
    beside, on = on_floor(0.0), on_floor(floor)
    assert -0.02 < beside[1] < -0.005
    assert on[1] == pytest.approx(beside[1], rel=0.1)
    assert abs(on[0]) < 0.3 * abs(beside[1])


def test_a_slippery_floor_lifts_stiff_honey():
    assert on_floor(3.3 * H, speed=0.3)[1] == pytest.approx(0.3 + on_floor(0.0)[1], abs=0.003)
