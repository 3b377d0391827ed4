"""The time step of FM96: explicit, by whole cells, with marker particles."""

import math

import numpy as np
import pytest

from paddlewheel.grid.stencil import divergence
from paddlewheel.items import Force, Inflow, Liquid, Outflow, RigidBody, Smoke, Solid, SurfacePressure
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import Faces, State

G = 9.81
dimensions = pytest.mark.parametrize("dimensions", [2, 3])


def scene(dimensions, items, cells=16, method=None, **more) -> Scene:
    """A box of one metre, or in 2-D one cell thick."""
    size = (1, 1, 1 if dimensions == 3 else 1 / cells)
    method = Method.foster_metaxas(**(method or {}))
    return Scene(size=size, cells=cells, method=method, items=items, **more)


def column(width=0.4, height=0.7) -> Liquid:
    return Liquid(Box((0, 0, -1), (width, height, 2)))


def fastest(simulation) -> float:
    return max(float(np.abs(u).max()) for u in simulation.state.velocity)


# --- exact answers ---


@dimensions
def test_still_water_stays_still(dimensions):
    water = Liquid(HalfSpace((0, 0.5, 0), (0, 1, 0)))
    simulation = Simulation(scene(dimensions, [water], method={"tolerance": 1e-8}))
    start = simulation.state.particles.position.copy()
    report = simulation.advance(0.5)
    assert fastest(simulation) < 1e-6 * G * report.dt
    assert np.abs(simulation.state.particles.position - start).max() < 1e-6
    depth = 7.5 / 16 - (np.arange(16) + 0.5) / 16  # the air's pressure is at the centres of surface cells
    assert simulation.state.pressure[3, :7, 0] == pytest.approx(1000 * G * depth[:7], rel=1e-6)


@pytest.mark.parametrize("above", [-0.2, 0.0, 0.02, 0.05, 0.1, 0.2, 0.24, 0.25, 0.26, 0.64])
def test_and_with_what_the_preset_leaves_of_the_divergence(above):
    """Wherever its level is in a cell: a hair above its lower side, or so low in it that some have no particle."""
    size, shape = (2, 1, 1 / 32), HalfSpace((0, 0.5 + above / 32, 0), (0, 1, 0))
    simulation = Simulation(Scene(size=size, cells=64, method=Method.foster_metaxas(), items=[Liquid(shape)]))
    list(simulation.run(48))
    assert fastest(simulation) < 1e-4


@dimensions
def test_still_water_stays_still_around_an_obstacle_of_whole_cells(dimensions):
    items = [Liquid(HalfSpace((0, 0.625, 0), (0, 1, 0))), Solid(Box((0.25, -1, -1), (0.5, 0.375, 2)))]
    simulation = Simulation(scene(dimensions, items, method={"tolerance": 1e-8}))
    report = simulation.advance(0.3)
    assert fastest(simulation) < 1e-6 * G * report.dt


SHAPES = {
    "ball at the surface": Sphere((0.7, 0.5, 1 / 64), 0.13),
    "box": Box((0.61, -1, -1), (0.73, 0.49, 2)),
    "slope": HalfSpace((0.6, 0, 0), (-1, 1.5, 0)),
}


@pytest.mark.parametrize("level", [0.503, 0.51, 0.52])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_and_around_obstacles_that_are_not_of_whole_cells(shape, level):
    """Where a solid fills a part of a cell there are few particles, or none."""
    water = Liquid(HalfSpace((0, level, 0), (0, 1, 0)))
    simulation = Simulation(scene(2, [water, Solid(shape)], cells=32))
    simulation.advance(0.5)
    assert fastest(simulation) < 1e-4


@dimensions
def test_a_drop_falls_freely(dimensions):
    """It keeps its shape, and every sub-step adds g Δt."""
    middle = 0.5 if dimensions == 3 else 1 / 32
    drop = Liquid(Sphere((0.4, 0.6, middle), 0.15), velocity=(0.3, 0.5, 0))
    simulation = Simulation(scene(dimensions, [drop]))
    before, seconds, dt = simulation.state.particles.position.copy(), 0.2, 0.01
    for _ in range(20):
        assert simulation.step(dt).substeps == 1
    faces = simulation.state.phi < 0
    assert simulation.state.velocity.y[:, :-1][faces] == pytest.approx(0.5 - G * seconds, abs=1e-5)
    assert simulation.state.velocity.x[:-1][faces] == pytest.approx(0.3, abs=1e-5)
    moved = simulation.state.particles.position.mean(axis=0) - before.mean(axis=0)
    within = 0.01 / 16  # m, of a cell: particles are evened out on the way
    assert moved[0] == pytest.approx(0.3 * seconds, abs=within)
    lag = 0.5 * G * seconds * dt  # Euler's rule: each step goes with the velocity at its start
    assert moved[1] == pytest.approx(0.5 * seconds - 0.5 * G * seconds**2 + lag, abs=within)


@dimensions
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
def test_full_cells_have_no_divergence_but_for_what_is_allowed(dimensions, tolerance):
    """Measured on the velocity of the state, in the cells of which all neighbours have liquid too."""
    simulation = Simulation(scene(dimensions, [column()], method={"tolerance": tolerance}))
    for _ in range(10):
        report = simulation.step()
        before = G * report.dt * 16 + 6 * 16 * fastest(simulation)  # at most
        assert report.divergence <= tolerance * before + 1e-6 * 16 * fastest(simulation)
        pressure = [solve for solve in report.solves if solve.name == "pressure"]
        assert all(solve.converged and solve.residual <= tolerance for solve in pressure)
        assert {solve.name for solve in report.solves} == {"pressure", "density"}
    whole = Faces(*(np.ones(u.shape, np.float32) for u in simulation.state.velocity))
    found = np.abs(divergence(simulation.state.velocity, whole, 1 / 16))
    deep = simulation.state.phi < -1.8 / 16
    assert deep.any()
    assert found[deep].max() <= report.divergence * (1 + 1e-6)


def test_a_dam_breaks_as_that_of_the_other_methods():
    """How far the front has come after 0.3 s, where all methods still agree; and energy is not gained."""
    fronts, reach = [], 0.0
    for method in (Method.foster_metaxas(), Method.batty2007()):
        size, cells = (2, 1, 2 / 64), (64, 32, 1)
        simulation = Simulation(Scene(size=size, cells=cells, method=method, items=[column(0.5, 0.75)]))
        report = simulation.advance(0.3)
        position = simulation.state.particles.position
        fronts.append(np.quantile(position[:, 0], 0.99))
        potential = 1000 * G * len(position) / 4 * (2 / 64) ** 3 * (0.375 - position[:, 1].mean())
        assert 0.8 * potential < report.kinetic_energy < 1.05 * potential
        reach = 2 / 64
    assert fronts[0] == pytest.approx(fronts[1], abs=3 * reach)


def test_a_dam_that_broke_has_the_volume_it_had():
    """Also when it has splashed and come back, by φ and by counting cells; so has the liquid between its particles."""
    size, cells, h = (2, 1.5, 2 / 64), (64, 48, 1), 2 / 64
    simulation = Simulation(Scene(size=size, cells=cells, method=Method.foster_metaxas(), items=[column(0.5, 0.75)]))
    counted = np.count_nonzero(simulation.state.phi < 0)
    for frame in simulation.run(60):
        assert frame.report.volume == pytest.approx(0.5 * 0.75 * h, rel=0.06)
        assert np.count_nonzero(frame.state.phi < 0) == pytest.approx(counted, rel=0.1)
        deep = frame.state.phi < -1.5 * h
        at = np.floor(frame.state.particles.position / np.float32(h)).astype(int).clip(0, np.array(cells) - 1)
        assert np.count_nonzero(deep[tuple(at.T)]) / 4 == pytest.approx(np.count_nonzero(deep), rel=0.06)


@pytest.mark.parametrize("step", [0.04, 0.08])
def test_waves_of_a_cell_or_two_do_not_grow_by_themselves(step):
    """A step in the surface sloshes, with no more than the energy of its height, ½ ρ g (step/2)² L, but for chance."""
    low, high = Box((-1, -1, -1), (2, 0.5 - step / 2, 2)), Box((-1, 0, -1), (0.5, 0.5 + step / 2, 2))
    simulation = Simulation(scene(2, [Liquid(low | high)], cells=32))
    most = max(frame.report.kinetic_energy for frame in simulation.run(72))
    assert 0.6 < most / (0.5 * 1000 * G * (step / 2) ** 2 / 32) < 1.3


@pytest.mark.parametrize("level", [0.5, 0.505, 0.51])
@pytest.mark.parametrize("part", [0.25, 0.5])
def test_waves_lower_than_a_cell_have_at_most_the_energy_of_those_of_a_cell(part, level):
    """Whole cells come and go, or none does and they stand still: at most ρ g h²/3 for each area, whatever they had."""
    h = 1 / 32
    low, high = Box((-1, -1, -1), (2, level - part * h / 2, 2)), Box((-1, 0, -1), (0.5, level + part * h / 2, 2))
    simulation = Simulation(scene(2, [Liquid(low | high)], cells=32))
    most = max(frame.report.kinetic_energy for frame in simulation.run(72)) / (1000 * G * h**2 * h)
    assert most < (1e-4 if level == 0.5 else 0.33)


# --- sub-steps ---


def test_a_long_step_is_divided_into_stable_ones_and_says_so():
    simulation = Simulation(scene(2, [column()]))
    report = simulation.step(0.1)
    assert simulation.time == report.dt == 0.1
    pressure = [solve for solve in report.solves if solve.name == "pressure"]
    assert report.substeps == len(pressure) == simulation.state.steps > 3
    least = 0.1 / math.sqrt(0.7 * (1 / 16) / G)
    assert report.substeps >= least


def test_viscous_liquid_takes_the_sub_steps_that_it_needs():
    """Δt < h²/6ν, in 2-D h²/4ν."""
    honey = Liquid(HalfSpace((0, 0.5, 0), (0, 1, 0)), viscosity=50.0)
    simulation = Simulation(scene(2, [honey]))
    report = simulation.step(0.05)
    assert report.substeps >= 0.05 / ((1 / 16) ** 2 / (4 * 50 / 1000))
    thin = Simulation(scene(2, [Liquid(HalfSpace((0, 0.5, 0), (0, 1, 0)))])).step(0.05)
    assert thin.substeps < report.substeps


def test_frames_say_how_many_sub_steps_they_took():
    simulation = Simulation(scene(2, [column()], method={"cfl": 3.0}))
    assert [frame.report.substeps for frame in simulation.run(3)] == [pytest.approx(n, abs=6) for n in (4, 4, 4)]
    assert simulation.time == 3 / 24


# --- what a run must be ---


def equal(one: State, two: State) -> bool:
    arrays = [
        [
            *s.velocity,
            s.pressure,
            s.phi,
            *s.particles,
            *s.tracked.values(),
            *(part for body in s.bodies for part in body),
        ]
        for s in (one, two)
    ]
    return one.time == two.time and all(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))


def everything(dimensions) -> Scene:
    """An inflow, a drain, an obstacle that moves, and forces."""
    return scene(
        dimensions,
        [
            column(),
            Inflow(Box((0.75, 0.75, -1), (1.1, 0.875, 2)), (-0.5, 0, 0)),
            Outflow(Box((0.9, -0.1, -1), (1.1, 0.05, 2))),
            Solid(Box((0.6, -1, -1), (0.7, 0.2, 2)), motion=lambda t: Pose((0, 0.1 * math.sin(3 * t), 0))),
            Force(lambda points, t: np.full((len(points), 3), 0.1)),
            SurfacePressure.by_height(0.0, 20.0, 5.0, 3.0),
        ],
    )


@dimensions
def test_a_continued_simulation_repeats_the_unbroken_one(dimensions, tmp_path):
    whole = {frame.number: frame.state.copy() for frame in Simulation(everything(dimensions)).run(6)}
    for cut in (1, 4):
        whole[cut].save(tmp_path / "state.npz")
        for frame in Simulation(everything(dimensions), State.load(tmp_path / "state.npz")).run(6 - cut):
            assert equal(frame.state, whole[frame.number])


@dimensions
def test_the_number_of_threads_does_not_matter(on_threads, dimensions):
    def after(n):
        simulation = Simulation(everything(dimensions))
        on_threads(n, simulation.advance, 0.1)
        return simulation.state

    assert equal(after(1), after(2))


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_what_came_in_and_did_not_leave_is_there(dimensions):
    simulation = Simulation(everything(dimensions))
    per_cell = 2**dimensions
    start = len(simulation.state.particles.position) / per_cell / 16**3
    came = left = 0.0
    for frame in simulation.run(20):
        came, left = came + frame.report.inflow, left + frame.report.outflow
    there = len(simulation.state.particles.position) / per_cell / 16**3
    assert there == pytest.approx(start + came - left, rel=1e-9)
    width = 1.0 if dimensions == 3 else 1 / 16
    assert came == pytest.approx(0.5 * 0.125 * width * simulation.time, rel=0.1)
    assert left > 0


def test_liquid_leaves_through_an_open_side():
    simulation = Simulation(scene(2, [column(1.0, 0.5)], open_sides={"+x"}))
    start = len(simulation.state.particles.position)
    report = simulation.advance(0.5)
    assert report.outflow > 0.05 / 16
    assert len(simulation.state.particles.position) == start - round(report.outflow * 16**3 * 4)
    assert (simulation.state.particles.position[:, 0] <= 1).all()


@dimensions
def test_no_liquid_gets_into_an_obstacle(dimensions):
    middle = 0.5 if dimensions == 3 else 1 / 32
    ball = Sphere((0.6, 0.1, middle), 0.2)
    simulation = Simulation(scene(dimensions, [column(), Solid(ball)]))
    for _ in simulation.run(12):
        assert ball.distance(simulation.state.particles.position.astype(float)).min() > -0.01 / 16
    closed = simulation.boundary.open.x[1:-1] == 0
    assert closed.any()


def test_a_full_tank_that_is_pressed_says_what_it_lost():
    piston = Solid(Box((0.9, -1, -1), (1.9, 2, 2)), motion=lambda t: Pose((-0.5 * min(t, 1.0), 0, 0)))
    simulation = Simulation(scene(2, [piston, Liquid(Box((0, 0, 0), (1, 1, 1)))]))
    assert any("closed regions had to lose" in warning for warning in simulation.advance(0.1).warnings)


def test_nothing_is_left_to_do_when_all_liquid_has_gone():
    items = [Liquid(Box((0.4, 0.1, -1), (0.6, 0.2, 2)))]
    simulation = Simulation(scene(2, items, open_sides={"-y"}))
    report = simulation.advance(0.5)
    assert len(simulation.state.particles.position) == 0
    assert report.volume == 0


# --- pressure on the surface ---


@dimensions
def test_a_constant_pressure_on_the_surface_moves_nothing(dimensions):
    pressed = [column(), SurfacePressure(lambda points, t: np.full(len(points), 5000.0))]
    one, two = (Simulation(scene(dimensions, items)) for items in ([column()], pressed))
    one.advance(0.05), two.advance(0.05)
    assert two.state.particles.position == pytest.approx(one.state.particles.position, abs=1e-3 / 16)


METHODS = {"classic": Method.foster_metaxas(), "modern": Method(cfl=1.0)}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_pressure_by_height_is_the_papers(method):
    """(A + B cos(C y − ω t))/Δt; and pressure that grows upwards as water's own does not is gravity the other way."""
    points, t = np.random.default_rng(0).random((7, 3)), 0.3
    item = SurfacePressure.by_height(2.0, 3.0, 4.0, 5.0, dt=0.1)
    assert item.f(points, t) == pytest.approx((2 + 3 * np.cos(4 * points[:, 1] - 5 * t)) / 0.1)
    assert SurfacePressure.by_height(2.0).f(points, t) == pytest.approx(np.full(7, 2.0))


SURFACES = METHODS | {name: Method.foster_metaxas(surface=name) for name in ("surface-markers", "height-field")}


@pytest.mark.parametrize("method", SURFACES.values(), ids=SURFACES)
def test_pressure_holds_water_up(method):
    """In a U of two tanks, p on one side holds the other p/(ρ g) higher."""
    higher = 0.125
    water = Liquid(Box((-1, -1, -1), (0.5, 0.4375, 2)) | Box((0.5, -1, -1), (2, 0.4375 + higher, 2)), viscosity=10.0)
    wall = Solid(Box((0.46875, 0.25, -1), (0.53125, 2, 2)))
    pressure = SurfacePressure(lambda points, t: np.where(points[:, 0] < 0.5, 1000 * G * higher, 0.0))
    box = {"size": (1, 1, 1 / 32), "cells": 32, "method": method}
    simulation = Simulation(Scene(items=[water, wall, pressure], **box))
    simulation.advance(0.5)
    level = np.clip(0.5 - 32 * simulation.state.phi[..., 0], 0, 1).sum(axis=1) / 32
    assert level[21:28].mean() - level[4:11].mean() == pytest.approx(higher, abs=0.1 / 32)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("when", [0.0, 0.05])
def test_a_slope_of_pressure_pushes_what_is_free(method, when):
    """On all sides of a drop p = −c x: it is pushed along by c/ρ, from the time on at which it acts."""
    drop = Liquid(Sphere((0.4, 0.5, 1 / 64), 0.2))
    pressure = SurfacePressure(lambda points, t: -3000.0 * points[:, 0] * (t > when))
    box = {"size": (1, 1, 1 / 32), "cells": 32, "gravity": (0, 0, 0), "method": method}
    simulation = Simulation(Scene(items=[drop, pressure], **box))
    while simulation.time < 0.1 - 1e-9:
        simulation.step(0.005)
    inside = simulation.state.phi < -1.5 / 32
    assert simulation.state.velocity.x[:-1][inside].mean() == pytest.approx(3 * (0.1 - when), rel=0.06)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_pressure_by_height_drives_the_surface(method):
    """Still water under p(y) that is the same all over its surface stays; where the surface is higher it does not."""
    pulsing = SurfacePressure.by_height(0.0, 400.0, 6.0, 0.0)
    for top, moves in ((lambda x: np.full(len(x), 0.5), False), (lambda x: np.where(x < 0.5, 0.25, 0.5), True)):
        step = Liquid(Box((0, 0, -1), (0.5, float(top(np.zeros(1))[0]), 2)) | Box((0.5, 0, -1), (1, 0.5, 2)))
        box = {"size": (1, 1, 1 / 16), "cells": 16, "method": method}
        speeds = []
        for items in ([step], [step, pulsing]):
            simulation = Simulation(Scene(items=items, **box))
            for _ in range(4):
                simulation.step(0.01)
            speeds.append(simulation.state.velocity.x.copy())
        changed = np.abs(speeds[1] - speeds[0]).max()
        assert (changed > 0.02) == moves, changed


# --- mistakes ---

BODY = RigidBody(Box((0.5, 0.5, 0.4), (0.7, 0.7, 0.6)), density=500.0)
MISTAKES = {
    "particles that carry": (
        lambda: Method(advection="explicit", surface="particles"),
        "the grid carries the velocity",
    ),
    "another solver": (lambda: Method(advection="explicit", solver="mic"), "solver='mic' with advection='explicit'"),
    "its solver elsewhere": (lambda: Method(solver="relaxation"), "solver='relaxation' with advection='flip'"),
    "its trackers elsewhere": (
        lambda: Method(advection="flip", surface="height-field"),
        "surface='height-field' with advection='flip'",
    ),
    "cut cells": (lambda: Method.foster_metaxas(weights="area"), "weights='area'.*obstacles are whole cells"),
    "other friction": (lambda: Method.foster_metaxas(viscosity="variational"), "viscosity='variational'"),
    "centroids": (lambda: Method.foster_metaxas(interpolation="open-centroid"), "interpolation='open-centroid'"),
    "walls it leaves": (lambda: Method.foster_metaxas(wall_separation=True), "wall_separation=True"),
    "traction": (lambda: Method.foster_metaxas(viscous_surface="natural"), "viscous_surface='natural'"),
    "alternating": (lambda: Method.foster_metaxas(coupling="alternating"), "coupling='alternating'"),
    "relaxed too far": (lambda: Method.foster_metaxas(over_relaxation=2.0), "over_relaxation=2.0, expected at least 1"),
    "relaxed too little": (lambda: Method.foster_metaxas(over_relaxation=0.5), "over_relaxation=0.5"),
    "two ways": (lambda: scene(3, [column(), BODY]), r"items\[1\] RigidBody\(Box\): .* expected one_way=True"),
    "smoke": (lambda: scene(3, [Smoke(Sphere((0.5, 0.5, 0.5), 0.2))]), "the scene has Smoke"),
    "two viscosities": (
        lambda: scene(3, [column(), Liquid(Box((0.5, 0, 0), (1, 1, 1)), viscosity=1.0)]),
        r"items\[1\] Liquid\(Box\): viscosity=1.0 .* one viscosity everywhere",
    ),
    "viscosity that varies": (
        lambda: scene(3, [Liquid(Box((0.5, 0, 0), (1, 1, 1)), viscosity=lambda points: points[:, 0])]),
        "one viscosity everywhere",
    ),
    "liquid without room": (
        lambda: Simulation(scene(3, [Liquid(Sphere((0.5, 0.5, 0.5), 0.001))])),
        r"items\[0\] Liquid\(Sphere\): there is no room",
    ),
    "pressure over no time": (lambda: SurfacePressure.by_height(1.0, dt=0.0), "SurfacePressure: dt=0.0"),
    "pressure of no size": (lambda: SurfacePressure.by_height(math.nan), "SurfacePressure: mean=nan"),
}


@pytest.mark.parametrize(("mistake", "says"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(mistake, says):
    with pytest.raises(ValueError, match=says):
        mistake()


def test_the_preset_is_what_it_is_made_of():
    made = Method(
        advection="explicit", solver="relaxation", surface="markers", weights="voxel", viscosity="explicit", cfl=0.5,
        tolerance=1e-4,
    )  # fmt: skip
    assert Method.foster_metaxas() == made
    assert Method.foster_metaxas(cfl=0.3).cfl == 0.3
    assert Method.roble().weights == "area"
    assert Method.batty2007(solver="multigrid").solver == "multigrid"
    assert Method.batty2008().viscous_surface == "natural"
    one = {"viscous_surface": "neumann", "particles_per_cell": 1}
    assert Method.batty2008(viscous_surface="neumann") == Method.batty2007(**one)
