"""The time step as a whole: what must hold of any liquid until it meets a wall, and of every step."""

import numpy as np
import pytest

from falling import equal
from paddlewheel.grid.centroid import interpolate
from paddlewheel.items import Force, Inflow, Liquid, Solid, SurfacePressure
from paddlewheel.method import ADVECTION, Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import Particles

G = 9.81
CELLS = {2: 32, 3: 16}
WITH_PARTICLES = ("flip", "apic")

dimensions = pytest.mark.parametrize("dimensions", [2, 3], ids=["2-D", "3-D"])
advections = pytest.mark.parametrize("advection", ADVECTION)


def scene(dimensions, advection, items, cells=None, **arguments):
    """A box 1 m wide and high, and as deep or one cell deep."""
    cells = cells or CELLS[dimensions]
    size = (1, 1, 1 / cells) if dimensions == 2 else (1, 1, 1)
    method = Method(advection=advection, **arguments.pop("method", {}))
    return Scene(size=size, cells=cells, method=method, items=items, **arguments)


def middle(dimensions, cells=None):
    """z of the middle of the box."""
    return 0.5 / (cells or CELLS[dimensions]) if dimensions == 2 else 0.5


def blob(dimensions):
    """A ball with a corner of a box and a hole in it."""
    z = middle(dimensions)
    return (Sphere((0.5, 0.65, z), 0.17) | Box((0.3, 0.7, z - 0.1), (0.55, 0.9, z + 0.1))) - Sphere((0.5, 0.6, z), 0.06)


def dam(dimensions, advection="flip", **arguments):
    return scene(dimensions, advection, [Liquid(Box((0, 0, 0), (0.4, 0.7, 1)))], **arguments)


def flow_at_particles(simulation):
    """What the grid says of the particles' velocity [m/s]."""
    particles = simulation.state.particles
    return interpolate(simulation.scene.grid, simulation.state.velocity, particles.position)


def moments(particles):
    """Mean velocity, mean angular momentum about the centre, both per mass, and the root mean square of speeds."""
    x, v = particles.position.astype(float), particles.velocity.astype(float)
    return v.mean(axis=0), np.cross(x - x.mean(axis=0), v).mean(axis=0), np.sqrt((v**2).sum(axis=1).mean())


# --- until a wall is met ---


@dimensions
@advections
def test_free_fall_is_exact(dimensions, advection):
    """All of it moves with u₀ + g t. Only the first step goes on with the velocity at its start."""
    start = np.array([0.3, 0.1, 0.0 if dimensions == 2 else 0.2])
    simulation = Simulation(scene(dimensions, advection, [Liquid(blob(dimensions), velocity=tuple(start))]))
    h, gravity = simulation.scene.grid.h, np.array(simulation.scene.gravity)
    before = simulation.state.particles.position.astype(float)
    dt, volumes = 0.02, []
    for _ in range(6):
        volumes.append(simulation.step(dt).volume)
    after, t = simulation.state.particles.position.astype(float), simulation.time
    expected, way = start + gravity * t, start * t + gravity * (t**2 - dt**2) / 2
    assert np.abs(flow_at_particles(simulation) - expected).max() <= 2e-6
    assert np.abs(simulation.state.particles.velocity - expected).max() <= 2e-6
    assert after.mean(axis=0) - before.mean(axis=0) == pytest.approx(way, abs=2e-3 * h)
    assert len(after) == len(before)
    spread = [np.sort(x - x.mean(axis=0), axis=0) for x in (before, after)]
    assert np.abs(spread[0] - spread[1]).max() <= 0.12 * h  # what the evening out of their density does
    assert np.ptp(volumes) <= 0.02 * volumes[0]


@dimensions
@pytest.mark.parametrize("advection", WITH_PARTICLES)
def test_momentum_changes_by_gravity_alone(dimensions, advection):
    """Of particles with random velocities."""

    def random(points):
        velocity = np.random.default_rng(1).normal(0, 0.3, points.shape)
        velocity[:, 2] *= dimensions == 3
        return velocity

    gravity = (0.5, -1.0, 0.0)
    ball = Liquid(Sphere((0.5, 0.6, middle(dimensions, 32)), 0.2), velocity=random)
    simulation = Simulation(scene(dimensions, advection, [ball], 32, gravity=gravity))
    start, _, _ = moments(simulation.state.particles)
    simulation.advance(0.2)
    mean, _, _ = moments(simulation.state.particles)
    assert np.abs(mean - start - 0.2 * np.array(gravity)).max() <= 1e-6


@dimensions
@pytest.mark.parametrize("advection", WITH_PARTICLES)
@pytest.mark.parametrize("forced", [False, True])
def test_drops_that_meet_keep_their_momentum(dimensions, advection, forced):
    """A small one hits a large one at rest; the solve alone would lose a tenth of what it has. Also under a force."""
    h = 1 / 32
    center = np.array([0.55, 0.5, middle(dimensions, 32)])
    large = Liquid(Sphere(tuple(center), 5 * h))
    small = Liquid(Sphere(tuple(center - (8.5 * h, -0.5 * h, 0)), 2 * h), velocity=(3.0, 0.0, 0.0))
    items = [large, small]
    if forced:
        items.append(Force(lambda points, t: np.stack([points[:, 1], 0 * t - points[:, 0], 0 * points[:, 2]], axis=1)))
    simulation = Simulation(scene(dimensions, advection, items, 32, gravity=(0.0, -0.5, 0.0)))
    for _ in range(12):
        particles = simulation.state.particles
        before = particles.velocity.astype(float).mean(axis=0)
        dt = simulation.step(1 / 96).dt
        particles = simulation.state.particles
        gained = np.tile((0.0, -0.5, 0.0), (len(particles.position), 1))
        if forced:
            x, y, _ = particles.position.astype(float).T
            gained += np.stack([y, -x, 0 * x], axis=1)
        assert particles.velocity.mean(axis=0, dtype=float) - before == pytest.approx(
            dt * gained.mean(axis=0), abs=3e-6
        )


@dimensions
@pytest.mark.parametrize("advection", WITH_PARTICLES)
def test_a_spinning_ball_keeps_its_angular_momentum(dimensions, advection):
    """A step turns positions but not velocities, which costs (ω Δt)²/2: 0.5 % in all. The rest goes at the surface."""
    rate, steps, dt = 3.0, 60, 1 / 240
    cells = {2: 32, 3: 24}[dimensions]
    center = np.array([0.5, 0.5, middle(dimensions, cells)])

    def spin(points):
        return rate * np.cross((0, 0, 1), points - center)

    ball = Liquid(Sphere(tuple(center), 0.3), velocity=spin)
    simulation = Simulation(scene(dimensions, advection, [ball], cells, gravity=(0, 0, 0), method={"flip": 1.0}))
    simulation.step(dt)  # the velocity's gradient starts at zero
    _, start, _ = moments(simulation.state.particles)
    for _ in range(steps):
        simulation.step(dt)
    mean, now, speed = moments(simulation.state.particles)
    assert now[2] / start[2] == pytest.approx(1, abs=0.04)
    assert np.abs(mean).max() <= 0.01 * speed


@dimensions
def test_without_gravity_a_ball_stays_as_it_is(dimensions):
    """Evening out the density of particles comes to an end, and does not swell the ball."""
    simulation = Simulation(
        scene(dimensions, "flip", [Liquid(Sphere((0.5, 0.5, middle(dimensions)), 0.25))], gravity=(0, 0, 0))
    )
    for _ in range(60):
        before = simulation.state.particles.position.copy()
        simulation.step(1 / 24)
    h, after = simulation.scene.grid.h, simulation.state.particles.position
    center = np.array([0.5, 0.5, middle(dimensions)])
    assert np.abs(np.sort(after, axis=0) - np.sort(before, axis=0)).max() <= 1e-3 * h
    assert np.linalg.norm(after - center, axis=1).max() <= 0.25 + 0.1 * h
    assert np.abs(simulation.state.particles.velocity).max() == 0


# --- of every step ---


@dimensions
@advections
def test_divergence_is_at_the_solvers_tolerance(dimensions, advection):
    simulation = Simulation(dam(dimensions, advection))
    h, method = simulation.scene.grid.h, simulation.scene.method
    for _ in range(25):
        fastest = max(np.abs(u).max() for u in simulation.state.velocity)
        report = simulation.step()
        fastest = max(fastest, *(np.abs(u).max() for u in simulation.state.velocity)) + G * report.dt
        assert report.divergence <= (method.tolerance + np.finfo(np.float32).eps) * 6 * fastest / h
        assert all(solve.converged for solve in report.solves)


@dimensions
@advections
def test_the_number_of_threads_does_not_matter(on_threads, dimensions, advection):
    """To the last bit, with a wall in the way."""

    def after_some_steps():
        made = dam(dimensions, advection)
        wall = Solid(Sphere((0.7, 0.1, middle(dimensions)), 0.15))
        simulation = Simulation(scene(dimensions, advection, [*made.items, wall]))
        for _ in range(8):
            report = simulation.step()
        return simulation.state, report

    one, two = (on_threads(n, after_some_steps) for n in (1, 2))
    assert equal(one[0], two[0])
    assert one[1][:7] == two[1][:7]


def test_the_last_step_hits_the_frame_exactly():
    simulation = Simulation(dam(2, fps=23.976))
    for frame in simulation.run(12):
        assert frame.time == simulation.time == frame.number / 23.976
        assert frame.report.substeps >= 1


@dimensions
@advections
@pytest.mark.parametrize("place", [(0.5, 0.5, 0.5), (0.02, 0.02, 0.02), (0.9, 0.9, 0.9), (0.5, 0.98, 0.5)])
def test_a_drop_of_one_particle_falls_freely_wherever_in_its_cell_it_is(dimensions, advection, place):
    simulation = Simulation(scene(dimensions, advection, [Liquid(Box((0, 0, 0), (1, 0.2, 1)))]))
    h, state, dt = simulation.scene.grid.h, simulation.state, 1 / 60
    start = h * (np.array([CELLS[dimensions] // 2, 0.75 * CELLS[dimensions], 0]) + place)
    if dimensions == 2:
        start[2] = 0.5 * h
    state.particles = state.particles.joined(Particles.at(start, (0, 0, 0), advection == "apic"))
    for _ in range(6):
        simulation.step(dt)
    drop = np.argmax(simulation.state.particles.position[:, 1])
    assert simulation.state.particles.velocity[drop] == pytest.approx([0, -G * 6 * dt, 0], abs=0.01 * G * 6 * dt)
    fallen = start[1] - simulation.state.particles.position[drop, 1]  # the first step moves what has no velocity yet
    assert fallen == pytest.approx(0.5 * G * (6 * dt) ** 2 - 0.5 * G * dt**2, abs=0.1 * h)


@advections
def test_no_drop_sticks_to_a_slope(advection):
    """A few particles run down, each in slivers of cells beside the wall, most of which have their centre in it."""
    slope = np.radians(10)
    wall = HalfSpace((0, 0.3, 0), (-np.sin(slope), np.cos(slope), 0))
    simulation = Simulation(scene(2, advection, [Solid(wall), Liquid(Box((0.8, 0.4, -1), (1, 0.5, 1)))]))
    h, state = simulation.scene.grid.h, simulation.state
    x = np.linspace(0.3, 0.7, 9)
    drops = np.stack([x, 0.3 + x * np.tan(slope) + 0.05 * h, np.full(9, 0.5 * h)], axis=1)
    state.particles = Particles.at(drops, (0, 0, 0), advection == "apic")
    simulation.advance(2.0)
    assert simulation.state.particles.position[:, 0].max() < 0.25


@dimensions
@advections
def test_volume_is_that_of_the_particles(dimensions, advection):
    """Of φ against their count, through a splash. Small drops are the difference, up to 0.073 by chance."""
    simulation = Simulation(dam(dimensions, advection))
    grid = simulation.scene.grid
    each = grid.h**3 / (4 if dimensions == 2 else 8)
    start = len(simulation.state.particles.position)
    ratios = [frame.report.volume / (len(frame.state.particles.position) * each) for frame in simulation.run(24)]
    assert ratios[0] == pytest.approx(1, abs=0.03)
    assert ratios == pytest.approx(np.ones(24), abs=0.08 if advection == "semi-lagrangian" else 0.055)
    assert len(simulation.state.particles.position) == start


@dimensions
def test_one_particle_in_a_cell_is_enough_for_still_water(dimensions):
    """B08 §6. Its surface is bumpy, but bumps neither grow nor take volume with them."""
    water, method = Box((0, 0, 0), (1, 0.53, 1)), {"particles_per_cell": 1}
    simulation = Simulation(scene(dimensions, "flip", [Liquid(water)], method=method))
    share = [frame.report.volume / 0.53 / simulation.scene.size[2] for frame in simulation.run(frames=24)]
    assert np.abs(np.array(share) - 1).max() < 0.01
    energy = simulation.state.particles.velocity.astype(float) ** 2
    assert 0.5 * energy.sum(axis=1).mean() < 1e-3 * G * 0.53


@dimensions
def test_fewer_particles_in_a_cell_break_the_same_dam(dimensions):
    """As far, and as fast, as with two along each axis."""
    fronts = []
    for count in (None, 1, 4):
        simulation = Simulation(dam(dimensions, method={"particles_per_cell": count}))
        *_, frame = simulation.run(frames=6)
        fronts.append((np.quantile(simulation.state.particles.position[:, 0], 0.98), frame.report.kinetic_energy))
    assert fronts[1] == pytest.approx(fronts[0], rel=0.05)
    assert fronts[2] == pytest.approx(fronts[0], rel=0.02)


def test_four_particles_in_a_cell_are_enough_for_still_water():
    """In every other box of the eight of a cell they lie as evenly as they can."""
    water = Liquid(Box((0, 0, 0), (1, 0.53, 1)))
    simulation = Simulation(scene(3, "flip", [water], method={"particles_per_cell": 4}))
    reports = [frame.report for frame in simulation.run(frames=24)]
    assert np.abs(np.array([report.volume / 0.53 for report in reports]) - 1).max() < 0.005
    assert reports[-1].kinetic_energy < 1e-5 * 1000 * 0.53 * G * 0.53


@dimensions
def test_markers_follow_the_flow(dimensions):
    """What the particles of a semi-Lagrangian step say of their velocity is what the grid says where they were before
    the evening out of their density."""
    simulation = Simulation(dam(dimensions, "semi-lagrangian"))
    simulation.advance(0.3)
    flow, velocity = flow_at_particles(simulation), simulation.state.particles.velocity
    error = np.linalg.norm(velocity - flow, axis=1)
    assert np.median(error) <= 0.01
    assert np.quantile(error, 0.95) <= 0.1
    assert np.abs(velocity).max() > 1


def test_liquid_in_a_solid_is_an_error():
    solid, liquid = Solid(Box((0.2, 0.2, 0), (0.8, 0.8, 1))), Liquid(Sphere((0.5, 0.5, middle(2)), 0.2))
    with pytest.raises(ValueError, match=r"items\[1\] Liquid\(Sphere\)"):
        Simulation(scene(2, "flip", [solid, liquid]))


# --- forces and pressure on the surface ---


@dimensions
@advections
def test_a_force_cancels_gravity(dimensions, advection):
    up = Force(lambda points, t: np.full(points.shape, (0, G, 0)))
    simulation = Simulation(scene(dimensions, advection, [Liquid(blob(dimensions)), up]))
    simulation.advance(0.5)
    assert np.abs(flow_at_particles(simulation)).max() <= 1e-6 * G * simulation.time


@dimensions
def test_a_force_spins_a_full_vessel(dimensions):
    """f = α e_z × r has no divergence and is tangential to the wall: nothing opposes it, and u = α t e_z × r."""
    rate, seconds = 4.0, 0.5
    cells = 32 if dimensions == 2 else 20
    center = np.array([0.5, 0.5, middle(dimensions, cells)])
    items = [
        Solid(~Sphere(tuple(center), 0.4)),
        Liquid(Box((0, 0, 0), (1, 1, 1))),
        Force(lambda points, t: rate * np.cross((0, 0, 1), points - center)),
    ]
    simulation = Simulation(scene(dimensions, "flip", items, cells, gravity=(0, 0, 0)))
    simulation.advance(seconds)
    r = simulation.state.particles.position - center
    spin = np.cross(r, simulation.state.particles.velocity)[:, 2].sum() / (r[:, :2] ** 2).sum()
    assert spin == pytest.approx(rate * seconds, rel=0.03)


@advections
def test_a_full_vessel_that_turns_has_no_bubbles(advection):
    """At large steps particles leave the middle, but there is no air that could take their place."""
    cells = 32
    center = np.array([0.5, 0.5, middle(2, cells)])
    liquid = Liquid(Box((0, 0, 0), (1, 1, 1)), velocity=lambda points: 2 * np.pi * np.cross((0, 0, 1), points - center))
    items = [Solid(~Sphere(tuple(center), 0.4)), liquid]
    simulation = Simulation(scene(2, advection, items, cells, gravity=(0, 0, 0), method={"cfl": 5.0}))
    volumes = [frame.report.volume for frame in simulation.run(24)]
    assert volumes == pytest.approx([np.pi * 0.4**2 / cells] * len(volumes), rel=0.005)


@dimensions
@advections
def test_a_constant_pressure_on_the_surface_moves_nothing(dimensions, advection):
    items = list(dam(dimensions).items)
    pressed = [*items, SurfacePressure(lambda points, t: np.full(len(points), 5000.0))]
    one, two = (Simulation(scene(dimensions, advection, these)) for these in (items, pressed))
    for _ in range(5):
        one.step(0.01), two.step(0.01)
    wet = one.state.pressure != 0
    assert np.abs(one.state.particles.position - two.state.particles.position).max() <= 1e-4 * one.scene.grid.h
    assert (two.state.pressure - one.state.pressure)[wet] == pytest.approx(5000, abs=1)
    assert (two.state.pressure[~wet] == 0).all()


@pytest.mark.slow
def test_pressure_on_one_side_raises_the_other():
    """Two legs joined below a wall: ρ g Δh = Δp once it is still."""
    excess = 1500.0  # Δh = 0.153 m
    items = [
        Solid(Box((0.45, 0.25, -1), (0.55, 2, 1))),
        Liquid(HalfSpace((0, 0.6, 0), (0, 1, 0))),
        # slower than the legs swing
        SurfacePressure(lambda points, t: excess * np.sin(0.5 * np.pi * min(t / 5, 1)) ** 2 * (points[:, 0] < 0.5)),
    ]
    simulation = Simulation(scene(2, "flip", items, 40))
    h = simulation.scene.grid.h
    levels = []
    for frame in simulation.run(24 * 7):
        if frame.number > 24 * 5:
            column = np.cumsum(np.clip(0.5 - frame.state.phi[..., 0] / h, 0, 1), axis=1)[:, -1] * h
            levels.append((column[2:16].mean(), column[24:38].mean()))
    left, right = np.mean(levels, axis=0)
    assert right - left == pytest.approx(excess / (1000 * G), abs=0.2 * h)
    assert 0.5 * (right + left) == pytest.approx(0.6, abs=0.2 * h)


# --- solids that move ---


def lowered(speed, seconds, shift=(0.0, -1.0, 0.0)):
    """A motion along `shift`, at a speed [m/s] for so many seconds."""
    return lambda t: Pose(tuple(speed * min(t, seconds) * np.array(shift)))


@dimensions
def test_a_piston_into_a_full_tank_is_reported(dimensions):
    """0.2 m/s for a tenth of a second: a fiftieth of the tank has to go."""
    piston = Solid(Box((0.9, -1, -1), (1.9, 2, 2)), motion=lowered(0.2, 1.0, (-1, 0, 0)))
    simulation = Simulation(scene(dimensions, "flip", [piston, Liquid(Box((0, 0, 0), (1, 1, 1)))]))
    report = simulation.advance(0.1)
    assert len(report.warnings) > 0
    assert all("closed regions had to lose" in warning for warning in report.warnings)


@dimensions
def test_a_still_piston_is_not(dimensions):
    piston = Solid(Box((0.9, -1, -1), (1.9, 2, 2)), motion=lowered(0.0, 1.0))
    simulation = Simulation(scene(dimensions, "flip", [piston, Liquid(Box((0, 0, 0), (1, 1, 1)))]))
    assert simulation.advance(0.1).warnings == []


@pytest.mark.parametrize("advection", ADVECTION)
def test_a_plunger_raises_the_level(advection):
    """By what it displaces: 0.2 m deep and 0.3 m wide in a tank 1 m wide, of which 0.7 m are left."""
    depth, width, level = 0.2, 0.3, 0.4
    plunger = Solid(Box((0.35, level, -1), (0.35 + width, 2, 2)), motion=lowered(depth / 2, 2.0))
    simulation = Simulation(scene(2, advection, [plunger, Liquid(HalfSpace((0, level, 0), (0, 1, 0)))]))
    h, start = simulation.scene.grid.h, len(simulation.state.particles.position)
    volumes, levels = [], []
    for frame in simulation.run(72):
        volumes.append(frame.report.volume)
        if frame.time > 2.2:
            wet = np.cumsum(np.clip(0.5 - frame.state.phi[..., 0] / h, 0, 1), axis=1)[:, -1] * h
            levels.append(np.concatenate([wet[1:9], wet[-9:-1]]).mean())
    assert np.mean(levels) == pytest.approx(level + depth * width / (1 - width), abs=0.2 * h)
    assert volumes == pytest.approx(level * h * np.ones(72), rel=0.02)
    assert len(simulation.state.particles.position) == start


@pytest.mark.slow
@pytest.mark.parametrize("advection", ADVECTION)
def test_a_scoop_keeps_what_it_holds(advection):
    """A cup is drawn up out of the water, full to the brim."""
    cup = Box((0.3, 0.1, -1), (0.7, 0.35, 1)) - Box((0.36, 0.16, -2), (0.64, 1, 2))
    motion = lowered(0.2, 2.0, (0, 1, 0))
    simulation = Simulation(
        scene(2, advection, [Solid(cup, motion=motion), Liquid(HalfSpace((0, 0.4, 0), (0, 1, 0)))], 48)
    )
    assert simulation.advance(4.0).warnings == []
    x = simulation.state.particles.position
    held = (np.abs(x[:, 0] - 0.5) < 0.15) & (x[:, 1] > 0.5)
    h = simulation.scene.grid.h
    capacity = 0.28 * 0.19
    assert 0.9 <= held.sum() * h * h / 4 / capacity <= 1.1
    inside = cup.moved(translate=motion(4.0).position).distance(x)
    assert inside.min() > -0.01 * h


# --- functions of the user's that go wrong later ---


def later(function, wrong):
    """A function of points and time that gives something else after the start."""
    return lambda points, t: function(points) if t == 0 else wrong(points)


LATE = {
    "a force for all": (
        Force(later(lambda p: p, lambda p: p[:1])),
        r"items\[1\] Force: f\(points\) .* \(1, 3\) .* t = 0",
    ),
    "a force of NaN": (
        Force(later(lambda p: p, lambda p: p * np.nan)),
        r"items\[1\] Force: f at .* m is \(nan, nan, nan\) at t = 0.01 s, expected finite numbers",
    ),
    "one pressure": (
        SurfacePressure(later(lambda p: p[:, 0], lambda p: 7.0)),
        r"items\[1\] SurfacePressure: f\(points\) returned float64 of shape \(\) .* at t = 0.01 s, expected",
    ),
    "an infinite pressure": (
        SurfacePressure(later(lambda p: p[:, 0], lambda p: p[:, 0] / np.zeros(len(p)))),
        r"items\[1\] SurfacePressure: f at .* m is inf at t = 0.01 s, expected a finite number",
    ),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", LATE)
def test_a_function_that_goes_wrong_later_is_named_with_the_time(name):
    item, message = LATE[name]
    simulation = Simulation(scene(2, "flip", [Liquid(Box((0, 0, 0), (0.4, 0.7, 1))), item], 8))
    with pytest.raises(ValueError, match=message):
        simulation.step(0.01)


@pytest.mark.parametrize("wrong", [lambda p: p[:1], lambda p: p * np.nan], ids=["one for all", "NaN"])
@pytest.mark.parametrize("kind", [Liquid, Inflow])
def test_a_velocity_that_fits_only_the_first_points_is_named(kind, wrong):
    """64 are tried when the scene is made; no velocity stands for all points by being one."""
    item = kind(Box((0.2, 0.2, -1), (0.6, 0.6, 1)), velocity=lambda p: p if len(p) == 64 else wrong(p))
    with pytest.raises(ValueError, match=rf"items\[0\] {kind.__name__}\(Box\): velocity"):
        Simulation(scene(2, "flip", [item], 8))


@advections
@pytest.mark.parametrize("thickness", [1.5, 2.5, 4.0])
def test_no_water_passes_through_a_piston(advection, thickness):
    """It goes two cells in a step, and pushes all before it."""
    h = 1 / 64
    piston = Solid(Box((0.1, -1, -1), (0.1 + thickness * h, 2, 2)), motion=lambda t: Pose((2 * t, 0, 0)))
    items = [piston, Liquid(Box((0.1 + thickness * h, 0, 0), (1, 0.4, 1)))]
    simulation = Simulation(scene(2, advection, items, cells=64))
    simulation.advance(0.2)
    assert simulation.state.particles.position[:, 0].min() > 0.1 + 2 * 0.2 + (thickness - 0.1) * h
