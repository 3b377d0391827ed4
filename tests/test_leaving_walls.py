"""Liquid that leaves walls in time: exact falls, bodies that leave the water, and walls that hold it all the same."""

from dataclasses import replace

import numpy as np
import pytest

from paddlewheel.gallery import separation
from paddlewheel.items import Liquid, RigidBody, Solid, SurfacePressure
from paddlewheel.method import Method
from paddlewheel.one_step import first_step
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import State

G = 9.81


def slab(cells=24, dimensions=2, ceiling=(), **method):
    """A slab of water at rest under the ceiling of a box of 1 m, from wall to wall."""
    deep = 1.0 if dimensions == 3 else 1 / cells
    return Scene(
        size=(1, 1, deep),
        cells=cells,
        method=Method(wall_separation=True, **method),
        items=[*ceiling, Liquid(Box((0, 0.75, 0), (1, 1, deep)))],
    )


def fallen(simulation, start):
    return float(np.mean(start - simulation.state.particles.position[:, 1]))


@pytest.mark.parametrize("advection", ["flip", "apic", "semi-lagrangian"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_water_falls_from_a_ceiling_as_a_block(dimensions, advection):
    """p = 0 is the solution: v = −g t, and the way is ½ g t² but for that of the first step, in which nothing moves."""
    simulation = Simulation(slab(16 if dimensions == 3 else 24, dimensions, advection=advection))
    start = simulation.state.particles.position[:, 1].mean()
    thick = np.ptp(simulation.state.particles.position[:, 1])
    first = simulation.step(dt=0.02)
    assert first.divergence <= 1e-4
    simulation.advance(0.23)
    t, y = simulation.time, simulation.state.particles.position[:, 1]
    assert simulation.state.particles.velocity[:, 1] == pytest.approx(np.full(len(y), -G * t), rel=0.02)
    assert fallen(simulation, start) == pytest.approx(0.5 * G * (t**2 - 0.02**2), rel=0.02)
    assert np.ptp(y) == pytest.approx(thick, abs=0.3 * simulation.scene.grid.h)


def test_the_first_step_of_a_scene_has_no_suction_either():
    step = first_step(slab(), dt=0.01)
    assert np.abs(step.projection.pressure).max() < 1e-5 * 1000 * G * 0.25
    assert step.projection.loose.any()
    assert step.fastest == pytest.approx(0.01 * G)
    assert first_step(replace(slab(), method=Method()), dt=0.01).fastest < 1e-5


@pytest.mark.parametrize("cells", [32, 64])
def test_a_piston_that_leaves_a_full_tank_costs_no_more_on_a_finer_grid(cells):
    """Too many cells are held at first. Those on plumb walls, where nothing flows, are not let go layer by layer."""
    items = [Solid(Box((0.7, -1, -1), (3, 2, 2)), lambda t: Pose((t, 0, 0))), Liquid(Box((0, 0, 0), (1, 1, 1)))]
    step = first_step(Scene(size=(1, 1, 1), cells=cells, method=Method(wall_separation=True), items=items), dt=0.01)
    assert step.projection.loose.any()
    assert step.projection.info.converged
    assert step.projection.info.iterations <= 16


@pytest.mark.parametrize("walls", ["sticky", "sponge"])
def test_what_may_not_leave_hangs(walls):
    """With the sticky condition, and in a solid that does not separate: sucked onto it, at rest."""
    room = Box((1e-3, 1e-3, -1), (1 - 1e-3, 1 - 1e-3, 2))
    scene = slab(ceiling=[Solid(~room, separates=False)])
    if walls == "sticky":
        scene = replace(scene, method=Method())
    simulation = Simulation(scene)
    start = simulation.state.particles.position[:, 1].mean()
    simulation.advance(0.1)
    assert abs(fallen(simulation, start)) < 0.02 * 0.5 * G * 0.1**2


def test_water_falls_from_an_oblique_ceiling():
    """Under a roof of 30°, from wall to wall, it falls as freely."""
    angle = np.radians(30)
    down = (np.sin(angle), -np.cos(angle), 0)
    roof, water = HalfSpace((0.5, 0.7, 0), down), HalfSpace((0.5, 0.45, 0), down)
    scene = Scene(
        size=(1, 1, 1 / 32), cells=32, method=Method(wall_separation=True), items=[Solid(roof), Liquid(water - roof)]
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.step(dt=0.01)
    simulation.advance(0.11)
    t, position = simulation.time, simulation.state.particles.position
    assert simulation.state.particles.velocity[:, 1] == pytest.approx(np.full(len(position), -G * t), rel=0.1)
    gap = roof.distance(position.astype(float)).min()
    assert gap == pytest.approx(0.5 * G * (t**2 - 0.01**2) * np.cos(angle), abs=0.3 / 32)


def test_a_ball_leaves_the_water_it_was_lying_in():
    """Thrown up, it flies as in a vacuum from the time it is out; held by suction, it is not even lifted off."""
    h = 1 / 32
    ball = RigidBody(Sphere((0.5, 0.45, h / 2), 0.12), density=500.0, velocity=(0, 4, 0))
    heights = []
    for wall_separation in (True, False):
        scene = Scene(
            size=(1, 1.5, h), cells=(32, 48, 1), method=Method(wall_separation=wall_separation),
            items=[ball, Liquid(Box((0, 0, 0), (1, 0.5, h)))],
        )  # fmt: skip
        simulation = Simulation(scene)
        simulation.advance(0.1)
        before, time = simulation.state.bodies[0].velocity[1], simulation.time
        simulation.advance(0.1)
        if wall_separation:
            assert simulation.state.bodies[0].velocity[1] == pytest.approx(before - G * (simulation.time - time))
        heights.append(simulation.state.bodies[0].position[1])
    free, held = heights
    assert free > held + 0.2


@pytest.mark.parametrize("locked", [(), ("rz",)])
def test_a_plug_leaves_the_tubes_that_it_closes(locked):
    """Two of them, full of water, with one plug: nothing sucks it back, also if it cannot turn."""
    h, left, right = 0.025, (0.15, 0.35), (0.85, 1.05)
    legs = [Box((low, 0.3, -1), (high, 0.7, 1)) for low, high in (left, right)]
    tubes = (
        Box((-1, -1, -1), (3, 0.5, 1))
        - Box((left[0], -2, -1), (left[1], 2, 1))
        - Box((right[0], -2, -1), (right[1], 2, 1))
    )
    plug = RigidBody(
        legs[0] | legs[1] | Box((left[0], 0.6, -1), (right[1], 0.7, 1)),
        density=2000.0, friction=0.0, velocity=(0, 2, 0), locked=frozenset(locked),
    )  # fmt: skip
    water = [Liquid(Box((low, 0, -1), (high, 0.3, 1))) for low, high in (left, right)]
    scene = Scene(
        size=(1.2, 1.2, h), cells=(48, 48, 1), method=Method(wall_separation=True), items=[Solid(tubes), plug, *water]
    )
    simulation = Simulation(scene)
    simulation.advance(0.1)
    body = simulation.state.bodies[0]
    assert body.velocity == pytest.approx([0, 2 - 0.1 * G, 0], abs=1e-3)
    assert abs(body.angular_velocity[2]) < 1e-3


def test_a_piston_leaves_a_gap_and_no_water_is_made():
    def pulled(t):
        return Pose((0.3 * t, 0, 0))

    items = [Solid(Box((0.6, -1, -1), (3, 2, 2)), pulled), Liquid(Box((0, 0, 0), (0.6, 0.5, 1)))]
    scene = Scene(size=(1, 0.5, 1 / 32), cells=32, method=Method(wall_separation=True), items=items)
    simulation = Simulation(scene)
    for frame in simulation.run(10):
        assert not frame.report.warnings
        assert frame.state.pressure.min() >= 0.0
    assert frame.report.volume == pytest.approx(0.6 * 0.5 / 32, rel=0.04)


def test_a_run_goes_on_from_a_saved_state_to_the_bit(tmp_path):
    """The cells that were let go are known from the pressure, which is saved."""
    scene = separation.scene(cells=32)
    whole = Simulation(scene)
    whole.advance(0.15)
    whole.state.save(tmp_path / "state.npz")
    again = Simulation(scene, State.load(tmp_path / "state.npz"))
    for simulation in (whole, again):
        simulation.advance(0.1)
    assert np.array_equal(whole.state.pressure, again.state.pressure)
    assert np.array_equal(whole.state.particles.position, again.state.particles.position)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Method(wall_separation="yes"), "wall_separation='yes'"),
        (lambda: Solid(Sphere((0, 0, 0), 1), separates=None), "separates=None"),
    ],
)
def test_what_is_neither_true_nor_false_is_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.parametrize("viscosity", [1.0, 1e5])
@pytest.mark.parametrize("rim", [0.0, 0.2])
def test_honey_falls_from_a_ceiling_that_it_slips_along_as_a_block(rim, viscosity):
    """Friction holds no more of it than pressure does, from wall to wall and with a rim."""
    honey = Liquid(Box((rim, 0.75, -1), (1 - rim, 1, 1)), viscosity=viscosity)
    simulation = Simulation(replace(slab(), items=(honey,), walls="free-slip"))
    list(simulation.run(4))
    assert simulation.state.particles.velocity[:, 1].mean() == pytest.approx(-G * simulation.time, rel=2e-3)


@pytest.mark.parametrize("air", [0.0, 2e4])
@pytest.mark.parametrize("body", [False, True], ids=["solid", "body"])
def test_honey_does_not_leave_what_stirs_it_deep_down(body, air):
    """Friction takes some of the pressure away, and enough is left: it flows as if walls held it."""

    def turning(t):
        return Pose((0.5, 0.35, 0), (np.cos(t / 2), 0, 0, np.sin(t / 2)))

    plate = Box((-0.2, -0.05, -1), (0.2, 0.05, 1))
    stirs = RigidBody(plate.moved((0.4, 0.35, 0)), density=100.0) if body else Solid(plate, motion=turning)
    honey = Liquid(Box((0, 0, -1), (1, 0.8, 1)), viscosity=300.0)
    pressed = SurfacePressure(lambda points, t: np.full(len(points), air))
    scene = replace(slab(), items=(honey, stirs, pressed), walls="no-slip")
    held, free = (Simulation(replace(scene, method=Method(wall_separation=may))) for may in (False, True))
    for simulation in (held, free):
        list(simulation.run(4))
    most = max(np.abs(u).max() for u in held.state.velocity)
    assert most > 0.02
    for u, v in zip(held.state.velocity, free.state.velocity, strict=True):
        assert np.abs(v - u).max() < 2e-3 * most
