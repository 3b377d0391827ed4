"""The explicit method with a height field and with surface markers: waves, volume, sources, and runs that go on."""

import math

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.gallery.sloshing import oscillation
from paddlewheel.physics.surface import liquid_volume
from paddlewheel.physics.surface_markers import Markers, volume

GRAVITY = 9.81
surfaces = pytest.mark.parametrize("surface", ["height-field", "surface-markers"])
dimensions = pytest.mark.parametrize("deep", [False, True], ids=["2-D", "3-D"])


def method(surface):
    return pw.Method.foster_metaxas(surface=surface)


def tank(surface, *items, cells=24, deep=False, size=(1.0, 0.75), **options):
    thick = size[0] / cells * (cells // 3 if deep else 1)
    return pw.Scene(size=(*size, thick), cells=cells, method=method(surface), items=items, **options)


def held(state, grid):
    """The volume [m³] that the tracker itself knows."""
    if "depth" in state.tracked:
        return state.tracked["depth"].sum() * grid.h**2
    return volume(Markers(state.tracked["points"], state.tracked["parts"]), grid)


@pytest.mark.parametrize(("depth", "cells"), [(0.5, 16), (0.51, 32), (0.1, 32)])
def test_a_wave_has_its_speed_and_the_volume_stays_to_rounding(depth, cells):
    """c = √(g tanh(kH)/k), with a surface anywhere within its cells; a hundred times less than a cell of amplitude."""
    k, h = math.pi, 1 / cells
    expected = math.sqrt(GRAVITY * k * math.tanh(k * depth))
    amplitude = 0.01 * h

    def velocity(points):
        speed = amplitude * expected / math.sinh(k * depth)
        x, y = k * points[:, 0], k * points[:, 1]
        return speed * np.stack([-np.cosh(y) * np.sin(x), np.sinh(y) * np.cos(x), 0 * x], axis=1)

    liquid = pw.Liquid(pw.Box((-1, -1, -1), (2, depth, 1)), velocity)
    scene = tank("height-field", liquid, cells=cells, gravity=(0, -GRAVITY, 0), fps=48)
    simulation = pw.Simulation(scene)
    start = held(simulation.state, scene.grid)
    assert start == pytest.approx(depth * h, rel=1e-6)
    x, times, modes = h * (np.arange(cells) + 0.5), [0.0], [0.0]
    for frame in simulation.run(round(2.2 * 2 * math.pi / expected * 48)):
        times.append(frame.time)
        modes.append(2 * np.mean(frame.state.tracked["depth"][:, 0] * np.cos(k * x)))
        assert frame.report.volume == pytest.approx(start, rel=1e-14)
    frequency, lost = oscillation(np.array(times), np.array(modes))
    assert frequency == pytest.approx(expected, rel=0.01)
    assert abs(lost) < 0.03
    assert np.abs(modes).max() == pytest.approx(amplitude, rel=0.05)


@dimensions
@pytest.mark.parametrize("depth", [0.5, 0.4837])
def test_still_water_over_a_step_stays_still(deep, depth):
    step = pw.Solid(pw.Box((0.5, -1, -1), (2, 0.2, 2)))
    scene = tank("height-field", step, pw.Liquid(pw.Box((-1, -1, -1), (2, depth, 2))), deep=deep)
    simulation = pw.Simulation(scene)
    before = simulation.state.tracked["depth"].copy()
    report = simulation.advance(0.5)
    assert max(np.abs(u).max() for u in simulation.state.velocity) < 1e-5
    assert simulation.state.tracked["depth"] == pytest.approx(before, abs=1e-6)
    assert report.volume == pytest.approx(before.sum() * scene.grid.h**2, rel=1e-14)
    y = scene.grid.cell_points()[0, :, 0, 1]
    pressure, deep_down = simulation.state.pressure[0, :, 0], y < depth - scene.grid.h
    assert pressure[deep_down] == pytest.approx(1000 * GRAVITY * (depth - y)[deep_down], rel=1e-3)


@dimensions
def test_a_bore_over_a_dry_step_keeps_every_drop(deep):
    """A dam break by the height field: it runs over a dry floor and a step, and no column has less than nothing."""
    step = pw.Solid(pw.Box((0.6, -1, -1), (0.8, 0.1, 2)))
    scene = tank("height-field", step, pw.Liquid(pw.Box((-1, -1, -1), (0.3, 0.4, 2))), deep=deep)
    simulation = pw.Simulation(scene)
    start, reached = held(simulation.state, scene.grid), False
    for frame in simulation.run(24):
        assert frame.report.volume == pytest.approx(start, rel=1e-13)
        assert (frame.state.tracked["depth"] >= 0).all()
        reached |= bool(frame.state.tracked["depth"][-1].max() > 0.02)
    assert reached
    assert frame.report.divergence < 0.05 * max(np.abs(u).max() for u in frame.state.velocity) / scene.grid.h


def test_what_an_inflow_gives_is_area_times_velocity_times_time():
    """Into a height field from the side, under water; and what leaves through a drain is accounted for too."""
    liquid = pw.Liquid(pw.Box((-1, -1, -1), (2, 0.3, 1)))
    inflow = pw.Inflow(pw.Box((0, 0, -1), (2 / 24, 4 / 24, 1)), velocity=(0.3, 0, 0))
    scene = tank("height-field", inflow, liquid)
    simulation = pw.Simulation(scene)
    start, report = held(simulation.state, scene.grid), simulation.advance(0.5)
    given = 4 / 24 * scene.grid.h * 0.3 * 0.5
    assert report.inflow == pytest.approx(given, rel=1e-5)
    assert held(simulation.state, scene.grid) == pytest.approx(start + report.inflow, rel=1e-12)
    drain = pw.Outflow(pw.Box((0.75, -1, -1), (2, 0.1, 1)))
    simulation = pw.Simulation(tank("height-field", inflow, liquid, drain))
    report = simulation.advance(0.5)
    assert report.outflow > 0.01 * start
    expected = start + report.inflow - report.outflow
    assert held(simulation.state, scene.grid) == pytest.approx(expected, rel=1e-12)


def test_rain_from_above_falls_onto_the_surface_below():
    inflow = pw.Inflow(pw.Box((0.25, 0.6, -1), (0.5, 2, 1)), velocity=(0, -0.5, 0))
    scene = tank("height-field", pw.Liquid(pw.Box((-1, -1, -1), (2, 0.2, 1))), inflow)
    simulation = pw.Simulation(scene)
    start, report = held(simulation.state, scene.grid), simulation.advance(0.4)
    assert report.inflow == pytest.approx(0.25 * scene.grid.h * 0.5 * 0.4, rel=1e-5)
    assert held(simulation.state, scene.grid) == pytest.approx(start + report.inflow, rel=1e-12)


@dimensions
def test_a_dam_break_by_surface_markers_keeps_its_volume(deep):
    """Within 2 % until topology changes, which is said when it happens; φ is coarser, in 3-D by more."""
    scene = tank("surface-markers", pw.Liquid(pw.Box((-1, -1, -1), (0.3, 0.3, 2))), cells=20 if deep else 32, deep=deep)
    simulation = pw.Simulation(scene)
    start = held(simulation.state, scene.grid)
    assert start == pytest.approx(0.09 * scene.size[2], rel=0.005)
    before, front = 0, 0.0
    for frame in simulation.run(14):  # down, along the floor and up the wall
        if frame.report.warnings:
            assert "topology" in frame.report.warnings[0]
            break
        before, front = frame.number, simulation.state.tracked["points"][:, 0].max()
        assert held(frame.state, scene.grid) == pytest.approx(start, rel=0.02)
        assert frame.report.volume == held(frame.state, scene.grid)
        by_phi = liquid_volume(frame.state.phi, simulation.boundary.phi, scene.grid.h)
        assert by_phi == pytest.approx(start, rel=0.05 if deep else 0.02)
    assert before >= 8
    assert front == pytest.approx(1.0, abs=1e-4)  # it has reached the wall by then


@pytest.mark.slow
def test_a_wave_that_breaks_keeps_its_volume_and_gains_no_energy():
    """In 3-D, up the far wall and back: after its topology has changed it is slower than before, and as much."""
    scene = pw.Scene(
        (1.6, 1.0, 0.5), 32, method=method("surface-markers"), items=[pw.Liquid(pw.Box((-1,) * 3, (0.5, 0.5, 2)))]
    )
    simulation = pw.Simulation(scene)
    start, energies, volumes, broken = held(simulation.state, scene.grid), [], [], None
    for frame in simulation.run(48):
        if broken is None and frame.report.warnings:
            broken = frame.number
        energies.append(frame.report.kinetic_energy)
        volumes.append(frame.report.volume)
    assert 12 < broken < 30
    assert max(energies[broken:]) < max(energies[:broken])
    assert energies[-1] < 0.5 * max(energies)
    assert np.array(volumes[broken:]) == pytest.approx(start, rel=0.01)


def test_a_drop_that_falls_into_water_joins_it():
    """The topology changes, once the drop is in: one surface where there were two, and its volume that of both."""
    drop, pool = pw.Sphere((0.5, 0.5, 0.02), 0.1), pw.Box((-1, -1, -1), (2, 0.25, 1))
    scene = tank("surface-markers", pw.Liquid(drop), pw.Liquid(pool), cells=32)
    simulation = pw.Simulation(scene)
    start, warned = held(simulation.state, scene.grid), []
    assert start == pytest.approx((0.25 + math.pi * 0.01) * scene.grid.h, rel=0.005)
    for frame in simulation.run(8):
        warned += frame.report.warnings
    assert any("topology" in warning for warning in warned)
    assert held(simulation.state, scene.grid) == pytest.approx(start, rel=0.02)


def test_an_inflow_fills_and_a_drain_empties_what_markers_enclose():
    h = 1 / 24
    liquid = pw.Liquid(pw.Box((-1, -1, -1), (2, 0.2, 1)))
    inflow = pw.Inflow(pw.Box((-1, h, -1), (2 * h, 4 * h, 1)), velocity=(0.5, 0, 0))
    scene = tank("surface-markers", inflow, liquid)
    simulation = pw.Simulation(scene)
    start = held(simulation.state, scene.grid)
    simulation.advance(0.5)
    gained = held(simulation.state, scene.grid) - start
    assert gained == pytest.approx(3 * h * h * 0.5 * 0.5, rel=0.1)
    drain = pw.Outflow(pw.Box((0.75, -1, -1), (2, 0.1, 1)))
    simulation = pw.Simulation(tank("surface-markers", liquid, drain))
    report = simulation.advance(0.3)
    assert report.outflow > 0.02 * start
    assert held(simulation.state, scene.grid) == pytest.approx(start - report.outflow, rel=0.02)


@pytest.mark.parametrize("low", [0.4375, 0.45], ids=["of whole cells", "of parts"])
def test_a_jet_into_the_air_gives_markers_what_it_should(low):
    """From the start on, but for a quarter of a cell of its width by which its upper side may sink before it is filled;
    also if its sides are those of cells, so that none of its faces is open."""
    inflow = pw.Inflow(pw.Box((low, low + 0.125, -1), (1 - low, 0.65625, 1)), velocity=(0, -1, 0))
    scene = tank("surface-markers", inflow, pw.Liquid(pw.Box((-1, -1, -1), (2, 0.1, 1))), cells=32)
    simulation = pw.Simulation(scene)
    start, came, width = held(simulation.state, scene.grid), 0.0, (1 - 2 * low) * scene.grid.h
    for frame in simulation.run(6):
        came += frame.report.inflow
        given, within = width * frame.time, width * (0.25 * scene.grid.h + 0.07 * frame.time)
        assert held(frame.state, scene.grid) - start == pytest.approx(given, abs=within)
        assert came == pytest.approx(given, abs=within)


@surfaces
@dimensions
def test_a_continued_run_repeats_the_unbroken_one(surface, deep, tmp_path):
    items = (pw.Liquid(pw.Box((-1, -1, -1), (0.4, 0.4, 2))), pw.Solid(pw.Box((0.6, -1, -1), (0.8, 0.1, 2))))
    scene = tank(surface, *items, cells=16, deep=deep)
    unbroken, first = pw.Simulation(scene), pw.Simulation(scene)
    for _ in unbroken.run(6):
        pass
    for _ in first.run(3):
        pass
    first.state.save(tmp_path / "state.npz")
    second = pw.Simulation(scene, pw.State.load(tmp_path / "state.npz"))
    for _ in second.run(3):
        pass
    assert unbroken.state.tracked.keys() == second.state.tracked.keys() != set()
    for name, array in unbroken.state.tracked.items():
        assert np.array_equal(array, second.state.tracked[name])
    assert all(np.array_equal(a, b) for a, b in zip(unbroken.state.velocity, second.state.velocity, strict=True))
    assert np.array_equal(unbroken.state.phi, second.state.phi)


@surfaces
def test_the_number_of_threads_does_not_matter(surface, on_threads):
    def run():
        simulation = pw.Simulation(tank(surface, pw.Liquid(pw.Box((-1, -1, -1), (0.4, 0.4, 2))), cells=16, deep=True))
        simulation.advance(0.1)
        return simulation.state

    one, two = on_threads(1, run), on_threads(2, run)
    assert all(np.array_equal(one.tracked[name], two.tracked[name]) for name in one.tracked)
    assert np.array_equal(one.velocity.y, two.velocity.y)


def test_liquid_in_the_air_is_no_height_field():
    with pytest.raises(ValueError, match="air below liquid"):
        pw.Simulation(tank("height-field", pw.Liquid(pw.Sphere((0.5, 0.5, 0.02), 0.1))))


def test_nor_is_what_falls_up():
    with pytest.raises(ValueError, match=r"gravity=\(0.0, 9.81, 0.0\) with .*height-field.*points up"):
        pw.Simulation(tank("height-field", pw.Liquid(pw.Box((-1, -1, -1), (2, 0.2, 1))), gravity=(0, 9.81, 0)))


@surfaces
def test_no_liquid_is_refused(surface):
    buried = pw.Solid(pw.Box((-1, -1, -1), (2, 0.3, 1)))
    with pytest.raises(ValueError, match="no liquid"):
        pw.Simulation(tank(surface, buried, pw.Liquid(pw.Box((-1, -1, -1), (2, 0.2, 1)))))


def test_liquid_may_all_leave():
    """A drop that falls through an open floor: then there is none, and steps go on."""
    drop = pw.Liquid(pw.Sphere((0.5, 0.2, 0.02), 0.1), velocity=(0, -2, 0))
    simulation = pw.Simulation(tank("surface-markers", drop, open_sides={"-y"}))
    start = held(simulation.state, simulation.scene.grid)
    report = simulation.advance(0.4)
    assert report.outflow == pytest.approx(start, rel=0.05)
    assert report.volume < 0.01 * start
