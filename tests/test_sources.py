"""Where liquid comes in and where it leaves: as much as velocity, area and time say, and none is lost between."""

import numpy as np
import pytest

from paddlewheel.items import Inflow, Liquid, Outflow, Solid
from paddlewheel.method import ADVECTION, Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Cylinder, HalfSpace, Sphere
from paddlewheel.sources import Sources
from paddlewheel.types import Particles

G = 9.81

advections = pytest.mark.parametrize("advection", ADVECTION)
dimensions = pytest.mark.parametrize("dimensions", [2, 3], ids=["2-D", "3-D"])


def scene(dimensions, items, cells=None, advection="flip", **arguments):
    cells = cells or {2: 40, 3: 24}[dimensions]
    size = (1, 1, 1 / cells) if dimensions == 2 else (1, 1, 1)
    return Scene(size=size, cells=cells, items=items, method=Method(advection=advection), **arguments)


def everywhere(points):
    """No solid covers any point."""
    return np.ones(len(points), bool)


def each(simulation):
    """Volume that a particle stands for [m³]."""
    grid = simulation.scene.grid
    return grid.h**3 / (4 if grid.is_2d else 8)


def held(simulation):
    return len(simulation.state.particles.position) * each(simulation)


def turned(degrees):
    """A quaternion about z."""
    half = np.radians(degrees) / 2
    return (np.cos(half), 0, 0, np.sin(half))


def nozzle(dimensions, h, degrees=0.0):
    """A pipe's end with its mouth at the middle of the box, turned; and the area of its mouth [m²]."""
    z = 0.5 * h if dimensions == 2 else 0.5
    if dimensions == 2:
        shape, area = Box((0.3, 0.4, -1), (0.5, 0.6, 1)), 0.2 * h
    else:
        shape, area = Cylinder((0.3, 0.5, z), (0.5, 0.5, z), 0.12), np.pi * 0.12**2
    return shape.moved(rotate=turned(degrees), about=(0.5, 0.5, z)), area


def poured(dimensions, degrees, speed=1.5, **arguments):
    """A simulation of a nozzle alone, and the volume that it should give in a second [m³]."""
    cells, angle = {2: 40, 3: 24}[dimensions], np.radians(degrees)
    shape, area = nozzle(dimensions, 1 / cells, degrees)
    inflow = Inflow(shape, velocity=(speed * np.cos(angle), speed * np.sin(angle), 0))
    return Simulation(scene(dimensions, [inflow], cells, gravity=(0, 0, 0), **arguments)), area * speed


@dimensions
@pytest.mark.parametrize("degrees", [0, 90, 17, 45])
def test_an_inflow_gives_velocity_times_area(dimensions, degrees):
    """On average over many steps, along the grid and oblique to it; each step draws its particles at random."""
    simulation, rate = poured(dimensions, degrees)
    sources = Sources(simulation.scene)
    dt, steps = 0.01, 400
    count = sum(len(sources.emit(dt, n, everywhere)[0].position) for n in range(steps))
    assert count * each(simulation) == pytest.approx(rate * dt * steps, rel=0.01)


@dimensions
@pytest.mark.parametrize("cells", [1, 2.5])
def test_a_short_inflow_gives_as_much_as_a_long_one(dimensions, cells):
    """Also in steps in which its liquid crosses it several times."""
    n, speed = 16, 2.0
    inflow = Inflow(Box((0.5, 0.25, 0), (0.5 + cells / n, 0.75, 1)), (speed, 0, 0))
    made = scene(dimensions, [inflow], n)
    dt, steps = 4 / n / speed, 20
    count = sum(len(Sources(made).emit(dt, number, everywhere)[0].position) for number in range(steps))
    area = 0.5 / n if dimensions == 2 else 0.5
    assert count / (n**3 * (4 if dimensions == 2 else 8)) == pytest.approx(area * speed * dt * steps, rel=0.02)


@advections
def test_a_jet_from_a_wall_does_not_wait_there(advection):
    """Into the open: all of it comes, without a warning, and none crowds where it comes in."""
    h, speed = 1 / 96, 1.2
    mouth = Box((0, 0.75, -1), (8 * h, 0.75 + 8 * h, 2))
    items = [Inflow(mouth, velocity=(speed, 0, 0))]
    simulation = Simulation(scene(2, items, cells=96, advection=advection, open_sides={"-y", "+x"}))
    given = 0.0
    for frame in simulation.run(16):
        given += frame.report.inflow
        assert not frame.report.warnings
    assert given == pytest.approx(8 * h * h * speed * frame.time, rel=0.01)
    x, y, _ = simulation.state.particles.position.T
    assert np.count_nonzero((x < h) & (y > 0.75)) == pytest.approx(8 * 4, rel=0.25)


def test_an_inflow_does_not_give_through_a_wall():
    """Its first strides end at the wall, however far a step goes."""
    wall = Solid(Box((0.65, -1, -1), (0.7, 2, 2)))
    simulation = Simulation(scene(2, [Inflow(Box((0.5, 0.3, 0), (0.55, 0.7, 1)), (2.0, 0, 0)), wall]))
    for _ in range(3):
        simulation.step(0.1)
    assert simulation.state.particles.position[:, 0].max() <= 0.65 + 1e-6


@dimensions
def test_an_inflow_into_a_full_tank_stops_and_says_so(dimensions):
    """A tenth more than fits, and not a particle beyond."""
    items = [Liquid(Box((0, 0, 0), (1, 0.9, 1))), Inflow(Box((0.25, 0.5, -1), (0.75, 0.75, 1)), (0, -2, 0))]
    simulation = Simulation(scene(dimensions, items, 8))
    simulation.advance(0.5)
    report = simulation.advance(0.1)
    assert held(simulation) == pytest.approx(1.1 * np.prod(simulation.scene.grid.size), rel=0.1)
    assert report.inflow == 0
    assert "items[1] Inflow(Box): has no room: there is more liquid than fits where it gives" in report.warnings
    closed = [warning for warning in report.warnings if "closed regions" in warning]
    assert closed
    assert all(warning.endswith("because inflows gave more than fits") for warning in closed)


def test_no_particle_comes_into_a_crowded_cell():
    made = scene(2, [Inflow(Box((0.25, 0.25, 0), (0.5, 0.5, 1)), (0, 0, 0))], 8)
    for count, given in ((7, 16), (8, 12)):  # of twice four
        there = Particles.at(np.full((count, 3), (0.3, 0.3, 1 / 16)), (0, 0, 0))
        new, warnings = Sources(made).emit(None, 0, everywhere, there)
        assert len(new.position) == given
        assert len(warnings) == (given < 16)


def test_an_inflow_without_room_for_a_particle_is_refused():
    with pytest.warns(UserWarning, match="less than a cell"):
        made = scene(2, [Inflow(Box((0.3, 0.3, 0), (0.3001, 0.301, 1)), (1, 0, 0))])
    with pytest.raises(ValueError, match=r"items\[0\] Inflow\(Box\): there is no room for any liquid: it is too thin"):
        Simulation(made)


def test_an_inflow_in_a_solid_may_wait_for_it_to_go():
    plug = Solid(Box((0.2, 0.2, -1), (0.6, 0.6, 1)), motion=lambda t: Pose((t, 0, 0)))
    simulation = Simulation(scene(2, [Inflow(Box((0.3, 0.3, 0), (0.4, 0.4, 1)), (0, -1, 0)), plug]))
    assert held(simulation) == 0


def test_liquid_is_not_filled_twice_where_an_inflow_is():
    items = [Liquid(Box((0, 0, 0), (1, 0.5, 1))), Inflow(Box((0.25, 0.25, 0), (0.5, 0.5, 1)), (0, 0, 0))]
    assert held(Simulation(scene(2, items, 8))) == pytest.approx(0.5 / 8)


@dimensions
@advections
@pytest.mark.parametrize("degrees", [0, 17])
def test_what_an_inflow_gives_is_counted(dimensions, advection, degrees):
    simulation, rate = poured(dimensions, degrees, advection=advection)
    start = held(simulation)
    report = simulation.advance(0.25)
    assert report.inflow == pytest.approx(0.25 * rate, rel=0.04)
    assert held(simulation) - start == pytest.approx(report.inflow, rel=1e-6)


@dimensions
@advections
@pytest.mark.parametrize("degrees", [0, 30])
def test_an_inflow_under_water_raises_the_level(dimensions, advection, degrees):
    """By what came in, in particles and in φ: it does not drink at its back what it pours out in front."""
    speed, seconds, cells = 0.8, 1.0, {2: 40, 3: 24}[dimensions]
    h, angle = 1 / cells, np.radians(degrees)
    z, deep = (0.5 * h, h) if dimensions == 2 else (0.5, 0.1)
    box = Box((0.2, 0.1, z - 0.05), (0.3, 0.2, z + 0.05)).moved(rotate=turned(degrees), about=(0.25, 0.15, z))
    inflow = Inflow(box, velocity=(speed * np.cos(angle), speed * np.sin(angle), 0))
    items = [inflow, Liquid(HalfSpace((0, 0.4, 0), (0, 1, 0)))]
    simulation = Simulation(scene(dimensions, items, cells, advection))
    simulation.step(1e-4)
    start = held(simulation)
    report = simulation.advance(seconds)
    expected = 0.1 * deep * speed * seconds
    assert report.inflow == pytest.approx(expected, rel=0.03)
    assert held(simulation) - start == pytest.approx(report.inflow, rel=1e-5)
    assert report.volume == pytest.approx(held(simulation), rel=0.02)


@advections
def test_what_an_outflow_takes_is_counted(advection):
    """A drain in the corner of a tank: what is left and what left are what was."""
    items = [Liquid(HalfSpace((0, 0.5, 0), (0, 1, 0))), Outflow(Box((0.8, 0, -1), (1, 0.1, 1)))]
    simulation = Simulation(scene(2, items, advection=advection))
    start = held(simulation)
    report = simulation.advance(0.5)
    assert report.outflow > 0.1 * start
    assert held(simulation) + report.outflow == pytest.approx(start, rel=1e-6)
    assert report.volume == pytest.approx(held(simulation), rel=0.02)


@dimensions
@advections
def test_what_leaves_through_an_open_side_is_counted(dimensions, advection):
    """A dam breaks and runs off."""
    items = [Liquid(Box((0, 0, 0), (0.5, 0.5, 1)))]
    simulation = Simulation(scene(dimensions, items, advection=advection, open_sides={"+x"}))
    start, out = held(simulation), 0.0
    for frame in simulation.run(24):
        out += frame.report.outflow
        assert held(simulation) + out == pytest.approx(start, rel=1e-6)
    x = simulation.state.particles.position
    assert out > 0.3 * start
    assert x.min() >= 0
    assert x.max() <= 1


def test_a_jet_through_the_box_is_in_balance():
    """What comes in on the left leaves on the right once it has got there."""
    speed, high = 2.0, 0.2
    shape = Box((-0.1, 0.4, -1), (0.1, 0.4 + high, 1))
    simulation = Simulation(scene(2, [Inflow(shape, (speed, 0, 0))], gravity=(0, 0, 0), open_sides={"+x"}))
    simulation.advance(0.8)
    report = simulation.advance(1.0)
    expected = high * simulation.scene.grid.h * speed
    assert report.inflow == pytest.approx(expected, rel=0.01)
    assert report.outflow == pytest.approx(report.inflow, rel=0.01)


@advections
def test_a_hole_in_the_floor_lets_out_what_falls(advection):
    """Torricelli: out of a wide tank through a slit, v = √(2 g H); the jet is narrower than the slit, by 0.6 to 1."""
    h, level, wide = 1 / 48, 0.7, 0.125
    floor = Solid(Box((-1, 0.125, -1), (0.4375, 0.25, 1)) | Box((0.4375 + wide, 0.125, -1), (2, 0.25, 1)))
    items = [floor, Liquid(Box((0, 0.25, 0), (1, level, 1)))]
    simulation = Simulation(scene(2, items, 48, advection, open_sides={"-y"}))
    simulation.advance(0.25)
    report = simulation.advance(0.1)
    torricelli = np.sqrt(2 * G * (level - 0.25)) * wide * h * 0.1
    assert 0.6 <= report.outflow / torricelli <= 1.0


def test_velocity_may_depend_on_the_place():
    """A parabola: 2/3 of its largest velocity on average."""

    def velocity(points):
        profile = 1 - ((points[:, 1] - 0.5) / 0.2) ** 2
        return np.stack([1.5 * np.maximum(profile, 0), 0 * profile, 0 * profile], axis=1)

    simulation = Simulation(scene(2, [Inflow(Box((0.1, 0.3, -1), (0.3, 0.7, 1)), velocity)], gravity=(0, 0, 0)))
    report = simulation.advance(0.2)
    assert report.inflow == pytest.approx(0.4 * 1.5 * 2 / 3 * 0.2 * simulation.scene.grid.h, rel=0.02)


def test_an_inflow_behind_a_solid_gives_only_what_is_open():
    solid = Solid(HalfSpace((0, 0.5, 0), (0, 1, 0)))
    simulation = Simulation(scene(2, [solid, Inflow(Box((0.2, 0.4, -1), (0.4, 0.6, 1)), (1, 0, 0))], gravity=(0, 0, 0)))
    report = simulation.advance(0.2)
    assert report.inflow == pytest.approx(0.1 * 0.2 * simulation.scene.grid.h, rel=0.03)
    assert simulation.state.particles.position[:, 1].min() > 0.5


def test_two_inflows_meet():
    """Each gives its own, and what they give together stays."""
    left = Inflow(Box((0.1, 0.4, -1), (0.2, 0.6, 1)), (1.0, 0, 0))
    right = Inflow(Box((0.8, 0.4, -1), (0.9, 0.6, 1)), (-1.0, 0, 0))
    simulation = Simulation(scene(2, [left, right]))
    start = held(simulation)
    report = simulation.advance(0.3)
    assert report.volume == pytest.approx(held(simulation), rel=0.05)  # later most of it is spray
    inflow = report.inflow + simulation.advance(0.3).inflow
    assert inflow == pytest.approx(2 * 0.2 * 1.0 * 0.6 * simulation.scene.grid.h, rel=0.01)
    assert held(simulation) == pytest.approx(start + inflow, rel=1e-6)


def test_a_ball_in_the_drain_is_gone():
    simulation = Simulation(
        scene(2, [Liquid(Sphere((0.5, 0.5, 0.0125), 0.1)), Outflow(Box((0.3, 0.3, -1), (0.7, 0.7, 1)))])
    )
    start = held(simulation)
    report = simulation.step(0.001)
    assert report.outflow == pytest.approx(start)
    assert report.volume == 0
    assert simulation.step().volume == 0


@pytest.mark.parametrize("method", [Method(), Method.foster_metaxas()], ids=["modern", "classic"])
def test_an_inflow_in_a_wall_gives_nothing_through_the_wall_beside_it(method):
    """Through every plane of water above it goes what it gives, area × velocity, and no more."""
    h, speed = 1 / 24, 0.5
    inflow = Inflow(Box((-1, h, -1), (2 * h, 4 * h, 1)), velocity=(speed, 0, 0))
    liquid = Liquid(Box((-1, -1, -1), (2, 0.4, 1)))
    simulation = Simulation(Scene(size=(1.0, 0.75, h), cells=24, method=method, items=[inflow, liquid]))
    simulation.step(0.005)
    for j in range(5, 8):
        assert simulation.state.velocity.y[:, j].sum() == pytest.approx(3 * speed, rel=1e-3)


@pytest.mark.parametrize("radius", [0.09, 0.1, 0.12])
def test_a_ball_pours_as_fast_as_it_says(radius):
    """However it cuts the cells: of those at its widest part next to nothing may be open."""
    ball = Inflow(Sphere((0.5, 0.7, 0.5), radius), velocity=(0, -1, 0))
    simulation = Simulation(Scene((1, 1, 1), 32, gravity=(0, 0, 0), items=[ball]))
    report = simulation.advance(1 / 12)
    assert report.substeps <= 4
    assert np.abs(simulation.state.particles.velocity).max() < 1.5
    assert report.divergence < 1e-4
