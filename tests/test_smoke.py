"""Smoke in motion: what must hold of every step, whatever carries it."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from paddlewheel import (
    Box,
    Force,
    Inflow,
    Liquid,
    Method,
    RigidBody,
    Scene,
    Simulation,
    Smoke,
    Solid,
    Sphere,
    State,
    types,
)
from paddlewheel.grid.cells import open_cells
from paddlewheel.method import ADVECTION
from paddlewheel.run import check
from paddlewheel.solids.pose import Pose

schemes = pytest.mark.parametrize("advection", ADVECTION)


def plume(advection="flip", cells=24, **rest):
    """Hot smoke that rises past a ball in a closed room, in a plane."""
    h = 1 / cells
    items = [
        Smoke(Sphere((0.5, 0.2, 0.5 * h), 0.12), temperature=200.0, rate=math.inf),
        Solid(Sphere((0.55, 0.6, 0.5 * h), 0.13)),
    ]
    return Scene(size=(1, 1, h), cells=cells, items=items, method=Method(advection=advection), **rest)


@schemes
def test_hot_smoke_rises_around_a_ball_and_not_into_it(advection):
    simulation = Simulation(plume(advection))
    for frame in simulation.run(24):
        assert frame.report.divergence * simulation.scene.grid.h < 1e-4
        assert frame.report.warnings == []
    smoke, open = simulation.state.density, open_cells(simulation.boundary.phi)
    assert not smoke[~open].any()
    assert smoke.min() == 0
    assert smoke.max() == pytest.approx(1, abs=1e-5)
    heights = simulation.scene.grid.cell_points()[..., 1]
    assert np.average(heights, weights=smoke) > 0.3
    assert smoke[heights > 0.8].max() > 0.1


@schemes
@pytest.mark.parametrize("dimensions", [2, 3])
def test_still_gas_stays_still(advection, dimensions):
    """Without heat nothing moves, though there is gravity, an open side and a body that weighs as much as the gas."""
    cells = 16
    scene = Scene(
        size=(1, 1, 1 if dimensions == 3 else 1 / cells),
        cells=cells,
        items=[
            Smoke(Box((0, 0, 0), (1, 0.4, 1))),
            Solid(Sphere((0.3, 0.5, 0.5 if dimensions == 3 else 0.5 / cells), 0.2)),
            RigidBody(Box((0.6, 0.4, 0.3 if dimensions == 3 else 0), (0.8, 0.6, 0.6)), density=1.2),
        ],
        method=Method(advection=advection),
        open_sides={"+y"},
    )
    simulation = Simulation(scene)
    for _ in range(4):
        simulation.step(0.05)
    assert max(np.abs(u).max() for u in simulation.state.velocity) < 1e-6 * 9.81 * 0.2
    assert np.abs(simulation.state.bodies[0].velocity).max() < 1e-6


@schemes
def test_a_run_goes_on_from_a_saved_state(advection, tmp_path):
    """To the last bit, with a solid that moves, markers and an open side."""

    def motion(t):
        return Pose((0.5 + 0.2 * math.sin(6 * t), 0.7, 0.0), (1, 0, 0, 0))

    scene = Scene(
        size=(1, 1, 1 / 24),
        cells=24,
        items=[
            Smoke(Sphere((0.5, 0.2, 0.02), 0.12), temperature=200.0, rate=math.inf, markers=True),
            Solid(Box((-0.1, -0.1, -1), (0.1, 0.1, 1)), motion),
        ],
        method=Method(advection=advection),
        open_sides={"+y"},
    )
    unbroken = Simulation(scene)
    for frame in unbroken.run(6):
        if frame.number == 3:
            frame.state.save(tmp_path / "three.npz")
    again = Simulation(scene, State.load(tmp_path / "three.npz"))
    list(again.run(3))
    assert np.array_equal(again.state.density, unbroken.state.density)
    assert np.array_equal(again.state.temperature, unbroken.state.temperature)
    assert np.array_equal(again.state.markers, unbroken.state.markers)
    assert np.array_equal(again.state.particles.carried, unbroken.state.particles.carried)
    assert all(np.array_equal(a, b) for a, b in zip(again.state.velocity, unbroken.state.velocity, strict=True))


@pytest.mark.parametrize("advection", ["flip", "apic"])
def test_particles_keep_the_amount_of_smoke(advection):
    """In a closed room over 100 frames, to rounding; what the grid shows of a small puff is 3 % off at most."""
    scene = Scene(
        size=(1, 1, 1 / 32),
        cells=32,
        items=[
            Smoke(Sphere((0.5, 0.3, 0.5 / 32), 0.15), temperature=100.0),
            Solid(Sphere((0.55, 0.6, 0.5 / 32), 0.13)),
        ],
        method=Method(advection=advection),
    )
    simulation = Simulation(scene)
    amounts, shown = [], []
    for frame in simulation.run(100):
        amounts.append(frame.report.smoke)
        shown.append(frame.state.density.sum() * scene.grid.h**3)
    assert amounts == pytest.approx([amounts[0]] * 100, rel=1e-5)
    assert shown == pytest.approx(amounts, rel=0.04)


def test_maccormack_about_keeps_the_amount_of_smoke():
    """Of a puff that rises in a closed room, over 100 frames: 12 % more at most; 39 % before cuts were balanced."""
    h = 1 / 48
    items = [Smoke(Sphere((0.5, 0.3, 0.5 * h), 0.15), temperature=100.0)]
    simulation = Simulation(Scene(size=(1, 1, h), cells=48, items=items, method=Method(advection="maccormack")))
    amounts = [frame.report.smoke for frame in simulation.run(100)]
    assert amounts == pytest.approx([amounts[0]] * 100, rel=0.15)


def test_a_light_ball_is_carried_by_a_plume_and_a_heavy_one_is_not():
    """What is lighter than air rises anyway; what weighs 4 % more is lifted by hot smoke, and sinks without."""

    def height(density, temperature):
        h = 1 / 24
        scene = Scene(
            size=(1, 1, h),
            cells=24,
            items=[
                Smoke(Box((0.3, 0.05, 0), (0.7, 0.25, 1)), temperature=temperature, rate=math.inf),
                RigidBody(Sphere((0.5, 0.45, 0.5 * h), 0.1), density=density),
            ],
        )
        simulation = Simulation(scene)
        list(simulation.run(16))
        return simulation.state.bodies[0].position[1]

    assert height(0.6, 0.0) > 0.6
    assert height(1.25, 300.0) > 0.47
    assert height(1.25, 0.0) < 0.43
    assert height(100.0, 300.0) < 0.2


def test_what_falls_in_gas_falls_by_its_weight_less_that_of_the_gas():
    """First step: a = (s − 1)/(s + C) g, C of the circle in a circle, with C = 5/3 at b = 2a."""
    cells, h, s = 64, 1 / 64, 4.0
    scene = Scene(
        size=(1, 1, h),
        cells=cells,
        items=[
            Smoke(Box((0, 0, 0), (1, 1, 1)), density=0.0),
            Solid(~Sphere((0.5, 0.5, 0.5 * h), 0.4)),
            RigidBody(Sphere((0.5, 0.5, 0.5 * h), 0.2), density=1.2 * s),
        ],
    )
    simulation = Simulation(scene)
    simulation.step(1e-3)
    assert simulation.state.bodies[0].velocity[1] / 1e-3 == pytest.approx(-9.81 * (s - 1) / (s + 5 / 3), rel=0.01)


@pytest.mark.parametrize("advection", ["maccormack", "flip"])
def test_gas_without_any_smoke_moves_too(advection):
    items = [Smoke(Box((0, 0, 0), (1, 1, 1)), density=0.0, velocity=lambda x: np.cross((0, 0, 1), x - 0.5))]
    simulation = Simulation(Scene(size=(1, 1, 1 / 12), cells=12, items=items, method=Method(advection=advection)))
    assert simulation.advance(0.2).kinetic_energy > 0
    assert not simulation.state.density.any()


def test_cooling_and_dissipation_are_exact_in_still_gas():
    scene = Scene(
        size=(1, 1, 1 / 8), cells=8, items=[Smoke(Box((0, 0, 0), (1, 1, 1)), temperature=10.0)],
        cooling=0.5, dissipation=2.0, gravity=(0, 0, 0),
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.advance(0.5)
    assert simulation.state.density == pytest.approx(np.full((8, 8, 1), math.exp(-1)), rel=1e-5)
    assert simulation.state.temperature == pytest.approx(np.full((8, 8, 1), 10 * math.exp(-0.25)), rel=1e-5)


SMOKE = Smoke(Box((0, 0, 0), (1, 1, 1)))
BAD = {
    "liquid and smoke": (dict(items=[Liquid(SMOKE.shape), SMOKE]), "not for gas"),
    "separation": (dict(method=Method(wall_separation=True)), "wall_separation"),
    "negative cooling": (dict(cooling=-1.0), "cooling=-1.0"),
    "viscosity below zero": (dict(items=[SMOKE], viscosity=-1.0), "Scene: viscosity=-1.0, expected at least 0"),
    "viscosity beyond single precision": (dict(items=[SMOKE], viscosity=1e31), r"expected at most 1e\+30"),
    "viscosity of the gas without smoke": (
        dict(items=[Liquid(SMOKE.shape)], viscosity=2.0),
        "viscosity=2.0 acts on smoke only",
    ),
    "vorticity without smoke": (dict(items=[Liquid(SMOKE.shape)], vorticity=2.0), "vorticity=2.0 acts on smoke only"),
    "function below zero": (
        dict(items=[Smoke(Box((0, 0, 0), (1, 1, 1)), density=lambda points: -points[:, 1])]),
        r"items\[0\] Smoke\(Box\): density at \(.*\) m is -",
    ),
    "buoyancy of one number": (dict(buoyancy=1.0), "buoyancy=1.0"),
    "centroids for the grid": (
        dict(method=Method(advection="maccormack", interpolation="open-centroid")), "open-centroid",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_makes_no_sense_is_refused(case):
    arguments, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        Scene(**dict(size=(1, 1, 1), cells=8, items=[SMOKE]) | arguments)


def test_smoke_without_room_is_refused():
    scene = Scene(
        size=(1, 1, 1), cells=8, items=[Smoke(Sphere((0.5, 0.5, 0.5), 0.1)), Solid(Sphere((0.5, 0.5, 0.5), 0.3))]
    )
    source = replace(scene.items[0], rate=1.0)
    for smoke in (scene.items[0], source):
        with pytest.raises(ValueError, match=r"items\[0\] Smoke\(Sphere\): there is no room"):
            Simulation(replace(scene, items=[smoke, scene.items[1]]))
    away = Solid(scene.items[1].shape.moved((-0.5,) * 3), motion=lambda t: Pose((0.5 + t, 0.5, 0.5), (1, 0, 0, 0)))
    Simulation(replace(scene, items=[source, away]))  # it may come to have room
    for density in (-1, "1", math.nan):
        with pytest.raises(ValueError, match=f"density={density!r}"):
            Smoke(Sphere((0.5, 0.5, 0.5), 0.1), density=density)
    with pytest.raises(ValueError, match="rate=0"):
        Smoke(Sphere((0.5, 0.5, 0.5), 0.1), rate=0)


def heavy_ball(height, **ball):
    """A ball of stone in air, in a plane."""
    body = RigidBody(Sphere((0.5, height, 1 / 48), 0.1), density=2000.0, **ball)
    items = [Smoke(Box((0, 0, 0), (1, 0.2, 1))), body]
    return Scene(size=(1, 1, 1 / 24), cells=24, method=Method(advection="maccormack"), items=items)


def test_a_heavy_ball_falls_as_far_as_it_should_whatever_the_step():
    """y = ½ g t² to second order: the way of a step is that of its middle, but for the first one."""
    errors = []
    for steps in (6, 12):
        simulation = Simulation(heavy_ball(0.8))
        for _ in range(steps):
            simulation.step(dt=0.3 / steps)
        errors.append(abs(0.8 - simulation.state.bodies[0].position[1] - 0.5 * 9.81 * 0.3**2))
    assert errors[1] < errors[0] / 3
    assert errors[1] < 0.01 * 0.5 * 9.81 * 0.3**2


def test_an_elastic_ball_in_gas_comes_up_again():
    """Air takes little of a stone's energy."""
    heights = [
        frame.state.bodies[0].position[1] for frame in Simulation(heavy_ball(0.7, restitution=1.0)).run(frames=34)
    ]
    assert min(heights[:12]) < 0.3
    assert max(heights[12:]) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("density", [0.0012, 0.12, 12.0])
def test_a_body_that_leaves_through_an_open_side_is_not_flung_off(density):
    """What gas lifts has to move gas: between two open sides hardly less than it displaces, so by g at most about."""
    scene = Scene(
        size=(1, 1, 1 / 16), cells=16, open_sides={"-y", "+y"}, method=Method(advection="maccormack"),
        items=[Smoke(Box((0, 0, 0), (1, 0.2, 1))), RigidBody(Sphere((0.5, 0.5, 1 / 32), 0.15), density=density)],
    )  # fmt: skip
    simulation = Simulation(scene)
    for frame in simulation.run(frames=36):
        assert frame.report.substeps < 10
        assert abs(frame.state.bodies[0].velocity[1]) < 1.4 * 9.81 * frame.time
    assert abs(frame.state.bodies[0].position[1] - 0.5) > 1  # it has left


def test_gas_lifts_what_it_carries_one_way_and_does_not_feel_it():
    """Half as heavy as the gas it displaces: up by g, as it moves no gas along, but for the damping."""
    ball = RigidBody(Sphere((0.5, 0.4, 0.5), 0.15), density=0.6, one_way=True, damping=2.0)
    simulation = Simulation(Scene(size=(1, 1, 1), cells=16, items=[Smoke(Box((0, 0, 0), (1, 0.2, 1))), ball]))
    simulation.advance(0.1)
    rate = 2.0 * 1.2 / 0.6
    exact = 9.81 / rate * (1 - np.exp(-rate * 0.1))
    assert simulation.state.bodies[0].velocity[1] == pytest.approx(exact, rel=0.15)
    assert max(np.abs(u).max() for u in simulation.state.velocity) < 1e-6


@pytest.mark.parametrize(("advection", "bytes_per_cell"), [("maccormack", 400), ("flip", 700), ("apic", 1000)])
def test_particles_that_do_not_fit_memory_are_refused(advection, bytes_per_cell, monkeypatch):
    """Before they are made; a solid leaves less to them."""
    scene = replace(plume(advection), items=[Smoke(Box((0, 0, 0), (1, 1, 1)))], size=(1, 1, 1), cells=16)
    filled = replace(scene, items=[*scene.items, Solid(Box((0, 0, 0), (1, 0.5, 1)))])
    monkeypatch.setattr(types, "available_memory", lambda: 16**3 * bytes_per_cell)
    check(scene)
    monkeypatch.setattr(types, "available_memory", lambda: 16**3 * bytes_per_cell * 3 // 4)
    if advection != "maccormack":
        check(filled)
    with pytest.raises(ValueError, match=r"16 × 16 × 16 cells need .* bytes"):
        check(scene)


@schemes
def test_a_source_begins_with_nothing_and_fills_at_its_rate(advection):
    """In still gas  q = q_source (1 − exp(−rate t)); only an infinite rate is there at once."""
    slow = Smoke(Box((0.125, 0.125, 0), (0.875, 0.875, 1)), density=2.0, temperature=30.0, rate=1.5, markers=True)
    scene = Scene(
        size=(1, 1, 1 / 8), cells=8, gravity=(0, 0, 0), method=Method(advection=advection), items=[slow],
    )  # fmt: skip
    simulation = Simulation(scene)
    assert not simulation.state.density.any()
    assert not len(simulation.state.markers)
    for frame in simulation.run(frames=12):
        part = 1 - math.exp(-1.5 * frame.time)
        assert frame.state.density[3:5, 3:5] == pytest.approx(2.0 * part, rel=1e-5)
        assert frame.state.temperature[3:5, 3:5] == pytest.approx(30.0 * part, rel=1e-5)
    assert len(simulation.state.markers)
    at_once = Simulation(replace(scene, items=[replace(slow, rate=math.inf)]))
    assert at_once.state.density[3:5, 3:5] == pytest.approx(2.0)


@pytest.mark.parametrize("advection", ["flip", "maccormack"])
def test_a_force_that_changes_acts_to_second_order(advection):
    """Gas in an open channel is as fast as ∫ f dt, by the midpoint rule."""
    errors = []
    for steps in (8, 16):
        scene = Scene(
            size=(1, 0.25, 0.125), cells=8, gravity=(0, 0, 0), open_sides={"-x", "+x"},
            method=Method(advection=advection),
            items=[
                Smoke(Box((0, 0, 0), (1, 1, 1))),
                Force(lambda points, t: np.tile((2 * math.cos(3 * t), 0, 0), (len(points), 1))),
            ],
        )  # fmt: skip
        simulation = Simulation(scene)
        for _ in range(steps):
            simulation.step(dt=0.8 / steps)
        errors.append(np.abs(simulation.state.velocity.x - 2 / 3 * math.sin(2.4)).max())
    assert errors[1] < 0.27 * errors[0] < 2e-3


def test_wind_blows_through():
    """An inflow at one side and an open one opposite: the gas goes through at its speed."""
    h = 1 / 24
    scene = Scene(
        size=(1, 0.5, h), cells=24, open_sides={"+x"},
        items=[
            Inflow(Box((-1, -1, -1), (2.5 * h, 2, 2)), velocity=(2, 0, 0)),
            Smoke(Box((3 * h, 0.2, 0), (5 * h, 0.3, 1)), rate=math.inf),
        ],
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.advance(0.5)
    assert simulation.state.velocity.x[3:] == pytest.approx(2.0, abs=1e-4)
    assert simulation.state.density[-1, 5:6].min() > 0.8


@pytest.mark.parametrize("cells_a_step", [0.5, 2.3, 2.9])
def test_particles_lie_evenly_in_wind_and_go_as_fast_as_it(cells_a_step):
    """In a channel of four cells: what comes in or is spread to and fro moves all that is downstream of it."""
    h = 1 / 32
    scene = Scene(
        size=(3, 4 * h, h), cells=96, open_sides={"-x", "+x"}, gravity=(0, 0, 0),
        items=[
            Smoke(Box((-1, -1, -1), (4, 1, 1)), density=0.0, velocity=(1, 0, 0)),
            Smoke(Box((0.3, -1, -1), (0.5, 1, 1))),
        ],
    )  # fmt: skip
    simulation = Simulation(scene)
    for _ in range(round(1.6 / (cells_a_step * h))):
        simulation.step(cells_a_step * h)
    particles = simulation.state.particles
    counts = np.histogram(particles.position[:, 0], bins=12, range=(0.0, 3.0))[0] / (8 * 4 * 4)
    assert counts[3:-1] == pytest.approx(1.0, abs=0.04)  # behind where they come in
    smoky = particles.position[particles.carried[:, 0] > 0, 0]
    assert smoky.mean() - 0.4 == pytest.approx(simulation.time, abs=1.25 * h)


@schemes
def test_wind_along_a_wall_between_open_sides_stays_as_it_is(advection):
    """The wall covers a part of both sides, where the gas still slips along it."""
    h = 1 / 16
    scene = Scene(
        size=(1, 0.5, h), cells=16, open_sides={"-x", "+x"}, gravity=(0, 0, 0), method=Method(advection=advection),
        items=[Smoke(Box((-1, 0, -1), (2, 1, 1)), velocity=(2, 0, 0)), Solid(Box((-1, -1, -1), (2, 0.23, 2)))],
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.advance(1.0)
    assert simulation.state.velocity.x[:, 4:] == pytest.approx(2.0, abs=1e-4)


@schemes
@pytest.mark.parametrize("blown", [False, True], ids=["by an open side", "by an inflow"])
def test_what_comes_in_and_leaves_is_told(advection, blown):
    """Velocity × area × time, at one side and at the other, of which half is closed by a solid."""
    h = 1 / 16
    wind = Inflow(Box((-1, -1, -1), (2 * h, 2, 2)), velocity=(2, 0, 0))
    scene = Scene(
        size=(1, 0.5, h), cells=16, open_sides={"+x"} if blown else {"-x", "+x"}, gravity=(0, 0, 0),
        method=Method(advection=advection),
        items=[
            Smoke(Box((0, 0.25, 0), (1, 0.5, 1)), velocity=(2, 0, 0)), Solid(Box((0, 0, 0), (1, 0.25, 1))),
            *[wind] * blown,
        ],
    )  # fmt: skip
    report = Simulation(scene).advance(0.25)
    assert report.outflow == pytest.approx(2 * 0.25 * 0.25 * h, rel=2e-3)
    assert report.inflow == pytest.approx(report.outflow, rel=1e-4)


@pytest.mark.parametrize("advection", ["semi-lagrangian", "maccormack"])
def test_the_grid_carries_velocity_along_tilted_walls_without_running_away(advection):
    """Many faces that an oblique plate cuts have their centre in it; whatever they are given must not grow."""
    plate = Box((0.2, 0.78, 0.2), (0.8, 0.84, 0.8)).moved(rotate=(math.cos(0.2), 0, 0, math.sin(0.2)), about=(0.5,) * 3)
    scene = Scene(
        size=(1, 1.5, 1),
        cells=(16, 24, 16),
        items=[Smoke(Sphere((0.5, 0.25, 0.5), 0.15), temperature=150.0, rate=math.inf), Solid(plate)],
        method=Method(advection=advection),
        open_sides={"+y"},
    )
    simulation, fastest = Simulation(scene), []
    for _ in simulation.run(40):
        open = zip(simulation.state.velocity, simulation.boundary.open, strict=True)
        fastest.append(max(float(np.abs(u[w > 0]).max()) for u, w in open))
    assert max(fastest) < math.sqrt(2 * 150 * scene.buoyancy[1] * 1.5)  # all of its heat, from the bottom to the top


ALL_OPEN = {"-x", "+x", "-y", "+y"}


@schemes
def test_without_forces_the_energy_of_vortices_only_falls_between_open_sides(advection):
    """Six vortices that leave: none of what comes in for it has more energy than the gas beyond, which is at rest."""
    rng, h = np.random.default_rng(1), 1 / 32
    centers, signs = rng.uniform(0.2, 0.8, (6, 2)), rng.choice([-1, 1], 6)

    def vortices(points):
        velocity = np.zeros((len(points), 3))
        for center, sign in zip(centers, signs, strict=True):
            x, y = (points[:, :2] - center).T
            turning = 12 * sign * np.exp(-(x**2 + y**2) / 0.08**2)
            velocity[:, 0] -= turning * y
            velocity[:, 1] += turning * x
        return velocity

    scene = Scene(
        size=(1, 1, h), cells=32, gravity=(0, 0, 0), open_sides=ALL_OPEN, method=Method(advection=advection, flip=1.0),
        items=[Smoke(Box((0, 0, 0), (1, 1, 1)), velocity=vortices)],
    )  # fmt: skip
    energy = [frame.report.kinetic_energy for frame in Simulation(scene).run(168)]
    assert max(np.diff(energy)) < 2e-3 * energy[0]


@pytest.mark.parametrize("advection", ["apic", "maccormack"])
def test_heated_gas_between_open_sides_is_no_faster_than_its_heat_makes_it(advection):
    """A steady plume is lifted by β T over no more than the height; some is up to a fifth faster as it sways.

    Wind that nothing drove blew through all of the domain, with 12 and 60 m²/s² of energy.
    """
    h, heat = 1 / 48, 100.0
    source = Smoke(Sphere((0.5, 0.2, 0.5 * h), 0.1), temperature=heat, rate=math.inf)
    scene = Scene(size=(1, 1, h), cells=48, open_sides=ALL_OPEN, method=Method(advection=advection), items=[source])
    most, fastest, energy = math.sqrt(2 * heat * scene.buoyancy[1] * 1.0), 0.0, 0.0
    for frame in Simulation(scene).run(216):
        fastest = max(fastest, *(float(np.abs(u).max()) for u in frame.state.velocity))
        energy = max(energy, frame.report.kinetic_energy / (scene.density * h))
    assert fastest < 1.25 * most
    assert energy < 0.1 * most**2


def test_wind_beyond_open_sides_is_part_of_a_saved_state(tmp_path):
    """It began as the scene said, and a force acts on it: a run goes on to the last bit."""
    scene = Scene(
        size=(1, 0.5, 1 / 16), cells=16, gravity=(0, 0, 0), open_sides={"-x", "+x"},
        items=[
            Smoke(Box((0, 0, 0), (1, 1, 1)), velocity=(1, 0, 0)),
            Force(lambda points, t: np.tile((1.0, 0, 0), (len(points), 1))), Solid(Box((0.4, 0, 0), (0.6, 0.2, 1))),
        ],
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.advance(0.2)
    simulation.state.save(tmp_path / "state.npz")
    again = Simulation(scene, State.load(tmp_path / "state.npz"))
    for each in (simulation, again):
        each.advance(0.2)
    assert all(np.array_equal(*pair) for pair in zip(simulation.state.velocity, again.state.velocity, strict=True))


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("density", 1e39, "at most 1e+30"),
        ("temperature", 1e38, "at most 1e+30"),
        ("temperature", -1e38, "at least -1e+30"),
    ],
)
def test_more_than_single_precision_holds_is_refused(name, value, limit):
    """Where the smoke is made, or where its function is first asked."""
    box = Box((0, 0, 0), (1, 1, 1))
    with pytest.raises(ValueError, match=re.escape(f"Smoke(Box): {name}={value!r}, expected {limit}")):
        Smoke(box, **{name: value})
    smoke = Smoke(box, **{name: lambda points: np.full(len(points), value)})
    with pytest.raises(ValueError, match=re.escape(f"is {value:.6g}, expected {limit}")):
        Simulation(Scene(size=(1, 1, 1 / 8), cells=8, items=[smoke]))


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("radius", [1.0, 3.0, 8.0])
def test_a_ball_of_smoke_has_its_volume(dimensions, radius):
    """Within 1 % from three cells' radius on, wherever it is between the cells."""
    h = 1 / 24
    center = (0.503, 0.51, 0.49 if dimensions == 3 else h / 2)
    scene = Scene(
        size=(1, 1, 1 if dimensions == 3 else h), cells=24, method=Method(advection="maccormack"),
        items=[Smoke(Sphere(center, radius * h))],
    )  # fmt: skip
    volume = (4 / 3 * radius if dimensions == 3 else 1.0) * math.pi * radius**2
    density = Simulation(scene).state.density
    assert density.max() <= 1
    assert density.sum(dtype=float) == pytest.approx(volume, rel=0.01 if radius >= 3 else 0.04)
