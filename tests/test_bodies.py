"""Rigid bodies in a liquid in time: they float, sink, rest and are taken up again where a run stopped."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.benchmark import rigid
from paddlewheel.bodies import velocities
from paddlewheel.measure import thickness
from paddlewheel.solids.pose import rotation_of
from paddlewheel.types import State

N = 32
H = 1 / N
WATER = pw.Liquid(pw.Box((0, 0, -1), (1, 0.5, 2)))


def tank(*bodies, dimensions=2, water=WATER, **method):
    counts = (N, N, N if dimensions == 3 else 1)
    return pw.Scene([m * H for m in counts], counts, method=pw.Method(**method), items=[water, *bodies])


def mean_height(simulation, seconds):
    """Of the first body, over so many seconds."""
    heights, end = [], simulation.time + seconds
    while simulation.time < end:
        simulation.step()
        heights.append(simulation.state.bodies[0].position[1])
    return np.mean(heights)


@pytest.mark.parametrize("ratio", [0.25, 0.5, 0.8])
def test_a_box_floats_at_its_draught(ratio):
    """Archimedes: s H deep. It starts there, and must stay; its turning is locked, since most boxes would fall over."""
    side, deep = 0.2, 0.2 * ratio
    level = 0.5 + side * deep  # what it displaces is spread over the tank, 1 m wide
    box = pw.Box((0.4, level - deep, -1), (0.6, level - deep + side, 2))
    water = pw.Liquid(pw.Box((0, 0, -1), (1, level, 2)))
    simulation = pw.Simulation(tank(pw.RigidBody(box, 1000 * ratio, locked={"rz"}), water=water))
    expected = level - deep + side / 2
    assert mean_height(simulation, 2.0) == pytest.approx(expected, abs=0.25 * H)
    assert np.abs(velocities(simulation.state.bodies)).max() < 0.05


def test_a_ball_bobs_about_its_draught():
    """s = f² (3 − 2f) with f = ½: half of it is under water."""
    ball = pw.Sphere((0.5, 0.51, 0.5), 0.15)
    simulation = pw.Simulation(tank(pw.RigidBody(ball, 500.0), dimensions=3))
    displaced = np.pi * (0.14**2 * (3 * 0.15 - 0.14)) / 3  # at the start
    level = 0.5 + 2 / 3 * np.pi * 0.15**3 - displaced
    assert mean_height(simulation, 1.5) == pytest.approx(level, abs=0.25 * H)


def test_a_box_let_go_too_high_comes_to_its_draught():
    """It sinks in, turns, as a square of half the density does, and bobs about where it floats, less and less."""
    n, side, ratio = 40, 0.2, 0.5
    box = pw.Box((0.4, 0.5, -1), (0.6, 0.5 + side, 2))
    items = [pw.Liquid(pw.Box((0, 0, 0), (1, 0.5, 1))), pw.RigidBody(box, 1000 * ratio)]
    method = pw.Method(advection="apic")
    simulation = pw.Simulation(pw.Scene((1, 1, 1 / n), n, items=items, method=method))
    heights = []
    for frame in simulation.run(240):
        heights.append(frame.state.bodies[0].position[1])
    level = 0.5 + ratio * side * side  # water risen by what the box displaces
    floating = level + side / 2 - ratio * side
    assert np.ptp(heights[:48]) > 3 / n
    assert np.mean(heights[-96:]) == pytest.approx(floating, abs=0.25 / n)
    assert np.ptp(heights[-48:]) < 0.5 * np.ptp(heights[:48])


@pytest.mark.parametrize("ratio", [10.0, 1.0, 0.1, 0.001])
def test_bodies_take_hardly_more_iterations_than_none(ratio):
    """Of the pressure, at the first step: 1, 8 and 64 balls in a cube of water."""
    none = rigid.projected(32, 0, 1.0)["iterations"]
    for count in (1, 8, 64):
        row = rigid.projected(32, count, ratio)
        assert row["converged"]
        assert row["iterations"] <= none + 2


def test_a_body_of_hardly_any_mass_is_stable():
    """A thousandth of the water's density, let go under water at CFL 5: it shoots up, falls back and floats.

    How high is a matter of millimetres at the start: in some runs to the lid, and never through it.
    """
    ball = pw.Cylinder((0.5, 0.25, -1), (0.5, 0.25, 2), 0.12)
    simulation = pw.Simulation(tank(pw.RigidBody(ball, 1.0), cfl=5.0))
    heights = []
    for frame in simulation.run(84):
        (body,) = frame.state.bodies
        heights.append(body.position[1])
        assert np.linalg.norm(body.velocity) < 5
    assert max(heights) < 0.88 + 1e-3 * H
    assert 0.54 < np.mean(heights[-36:]) < 0.65  # all of it is above the water, half a metre deep


@pytest.mark.parametrize("weights", ["area", "volume", "length"])
@pytest.mark.parametrize(("cells", "dimensions"), [(2.5, 2), (4.2, 2), (4.6, 3)])
def test_boxes_of_any_width_rest_in_water_of_their_density(cells, dimensions, weights):
    """B07 §3: with the discrete mass. On the grid a box of 4.2 cells may be five high, or four."""
    low, high = np.full(3, 0.31), np.array([0.31 + 4.6 * H, 0.31 + cells * H, 0.31 + 5.3 * H])
    if dimensions == 2:
        low[2], high[2] = -1, 2
    body = pw.RigidBody(pw.Box(tuple(low), tuple(high)), 1000.0)
    everywhere = pw.Liquid(pw.Box((-1, -1, -1), (2, 2, 2)))
    simulation = pw.Simulation(tank(body, dimensions=dimensions, water=everywhere, weights=weights, tolerance=1e-8))
    simulation.step(0.01)
    assert np.abs(velocities(simulation.state.bodies)).max() <= 1e-6 * 9.81 * 0.01


@pytest.mark.parametrize("radius", [1.2, 1.6, 3.2])
def test_a_dry_ball_rolls_as_fast_as_it_should(radius):
    """At 5/7 g sin θ, however few cells it is wide: no pressure acts on it, so its mass is not that on the grid."""
    n, r, slope = 16, radius / 16, 0.3
    normal, down = np.array([np.sin(slope), np.cos(slope), 0]), np.array([np.cos(slope), -np.sin(slope), 0])
    center = [0, 1.25, 0.25] + 0.3 * down + r * normal
    scene = pw.Scene(
        size=(2, 1.5, 0.5),
        cells=(2 * n, 3 * n // 2, n // 2),
        items=[
            pw.Solid(pw.HalfSpace((0, 1.25, 0), tuple(normal))),
            pw.RigidBody(pw.Sphere(tuple(center), r), 2000.0, friction=0.3, restitution=0.0),
            pw.Liquid(pw.Box((1.8, 0, 0), (2, 1, 2))),
        ],
    )
    simulation = pw.Simulation(scene)
    simulation.advance(0.25)
    speed = simulation.state.bodies[0].velocity @ down
    assert speed == pytest.approx(5 / 7 * 9.81 * np.sin(slope) * 0.25, rel=0.01)


def test_what_lies_on_the_floor_lies_still():
    box = pw.Box((0.4, 0.0, -1), (0.6, 0.15, 2))
    simulation = pw.Simulation(tank(pw.RigidBody(box, 3000.0)))
    simulation.advance(1.0)
    (body,) = simulation.state.bodies
    assert body.position == pytest.approx([0.5, 0.075, 0.5 * H], abs=1e-3 * H)
    assert np.abs(velocities([body])).max() < 1e-3
    assert max(np.abs(u).max() for u in simulation.state.velocity) < 0.05


@pytest.mark.parametrize("friction", [0.3, 0.0])
@pytest.mark.parametrize(
    ("n", "solver"), [(24, "multigrid"), (28, "multigrid"), (32, "multigrid"), (32, "mic"), (40, "multigrid")]
)
def test_a_stack_under_water_stands(n, solver, friction):
    """What holds one box moves the others through the water between; without friction nothing holds them sideways."""
    boxes = [pw.Box((0.4, 0.12 * i, -1), (0.6, 0.12 * (i + 1), 2)) for i in range(3)]
    items = [WATER, *(pw.RigidBody(box, 2000.0, friction=friction) for box in boxes)]
    simulation = pw.Simulation(pw.Scene((1, 1, 1 / n), (n, n, 1), items=items, method=pw.Method(solver=solver)))
    start, solves = np.array([body.position for body in simulation.state.bodies]), []
    while simulation.time < 1.0:
        solves.append(sum(solve.name == "pressure" for solve in simulation.step().solves))
        aside, up, _ = np.abs([body.position for body in simulation.state.bodies] - start).max(axis=0) * n
        assert up < 0.005
        assert aside < (0.02 if friction else 0.2)
    assert np.mean(solves) < 2.5


@pytest.mark.parametrize("density", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_stack_of_very_light_and_heavy_boxes_under_water_stands(count, density):
    """Between them are films of water that rounding opens and closes."""
    boxes = [pw.Box((0.3, 0.1 * i, -1), (0.7, 0.1 * (i + 1), 2)) for i in range(count)]
    heavy = count % 2  # whether the lowest is
    densities = [5000.0 if i % 2 != heavy else density for i in range(count)]
    bodies = [pw.RigidBody(box, d) for box, d in zip(boxes, densities, strict=True)]
    simulation = pw.Simulation(tank(*bodies, water=pw.Liquid(pw.Box((0, 0, -1), (1, 0.9, 2)))))
    start = np.array([body.position for body in simulation.state.bodies])
    while simulation.time < 1.0:
        for info in simulation.step().solves:
            assert info.iterations < 15
    assert np.abs([body.position for body in simulation.state.bodies] - start).max() < 0.06 * H


def test_a_pile_of_very_light_discs_rises():
    """The pressure turns each of them a little, by rounding of the grid: they would spin ever faster."""
    discs = [
        pw.Cylinder(
            (0.2 + 0.2 * (i % 4), 0.15 + 0.2 * (i // 4), -1), (0.2 + 0.2 * (i % 4), 0.15 + 0.2 * (i // 4), 2), 0.1
        )
        for i in range(8)
    ]
    simulation = pw.Simulation(
        tank(*(pw.RigidBody(disc, 0.1) for disc in discs), water=pw.Liquid(pw.Box((0, 0, -1), (1, 0.8, 2))))
    )
    while simulation.time < 0.5:
        simulation.step()
        V = velocities(simulation.state.bodies)
        assert np.hypot(V[:, 0], V[:, 1]).max() < 3.0
        assert 0.1 * np.abs(V[:, 5]).max() < 6.0
    assert simulation.state.steps < 200
    assert np.mean([body.position[1] for body in simulation.state.bodies]) > 0.3


def test_a_film_between_bodies_is_closed():
    """They get all of the face, and what they get of it together is one; a gap that is wider stays open."""
    for gap, left in ((5e-4, 0.0), (5e-3, 5e-3)):
        boxes = [
            pw.Box((0.2, 0.2, -1), (0.8, 0.5 + 0.3 * H, 2)),
            pw.Box((0.2, 0.5 + (0.3 + gap) * H, -1), (0.8, 0.8, 2)),
        ]
        solids = pw.Solids(pw.Grid.from_size((1, 1, H), N), [pw.RigidBody(box, 500.0) for box in boxes])
        boundary = solids.measure(0.0, solids.drawn)
        i, j = N // 2, N // 2
        assert boundary.open.x[i, j, 0] == pytest.approx(left, abs=1e-5)
        shares = [
            faces.filled.x[i - faces.origin[0], j - faces.origin[1], 0 - faces.origin[2]] for faces in boundary.bodies
        ]
        assert sum(shares) == pytest.approx(1 - left, abs=1e-5)


@pytest.mark.parametrize("cfl", [3, 5])
def test_a_light_ball_makes_no_greater_waves_than_it_has_energy(cfl):
    """It would dip in by as much as it falls in a step, and get that back by buoyancy: 4 to 14 times its energy."""
    radius, fall, density = 0.15, 1.0, 1.0
    y = 0.5 + fall + radius
    ball = pw.RigidBody(pw.Cylinder((0.5, y, -1), (0.5, y, 2), radius), density)
    counts = (N, 2 * N, 1)
    size, method = [m * H for m in counts], pw.Method(cfl=cfl)
    simulation = pw.Simulation(pw.Scene(size, counts, method=method, items=[WATER, ball]))
    each = 1000.0 * 0.5 * H / len(simulation.state.particles.position)
    energies, heights = [], []
    while simulation.time < 0.9:
        simulation.step()
        x, v, *_ = simulation.state.particles
        energies.append(each * (0.5 * np.sum(v.astype(float) ** 2) + 9.81 * np.sum(x[:, 1], dtype=float)))
        heights.append(simulation.state.bodies[0].position[1] - 0.5 - radius)
    impact = int(np.argmax(np.array(heights) < 0))
    own = density * np.pi * radius**2 * H * 9.81 * fall
    more = (np.array(energies[impact:]) - energies[impact - 1]) / own
    assert heights[impact] > -0.6 * H
    assert np.median(more) < 0.75
    assert more.max() < 2.5  # much of that is jitter of the particles: the ball weighs as much as 0.07 mm of water


def test_a_hinged_body_turns_about_its_pivot():
    flap = pw.Box((0.5, 0.4, -1), (0.9, 0.46, 2))
    simulation = pw.Simulation(tank(pw.RigidBody(flap, 200.0, axis=(0, 0, 1), pivot=(0.5, 0.43, 0))))
    simulation.advance(0.5)
    (body,) = simulation.state.bodies
    arm = body.position[:2] - (0.5, 0.43)
    assert np.hypot(*arm) == pytest.approx(0.2, abs=1e-9)
    assert arm[1] > 0.01  # it is lighter than water
    assert body.velocity[:2] == pytest.approx(body.angular_velocity[2] * np.array([-arm[1], arm[0]]), abs=1e-9)


def test_a_hinged_bar_is_pulled_alike_a_little_farther_on():
    """One of 1.7 cells' thickness, turned down by tenths of a degree: rows of faces come out of it one by one."""
    spins, hinge = [], (0.3, 0.385, 0)
    for turn in np.radians(np.linspace(-1.1, -0.4, 8)):
        bar = pw.Box((0.3, 0.35, -1), (0.7, 0.42, 1)).moved(
            rotate=(np.cos(turn / 2), 0, 0, np.sin(turn / 2)), about=hinge
        )
        water, body = pw.Liquid(pw.Box((-1, -1, -1), (2, 2, 2))), pw.RigidBody(bar, 3000.0, axis=(0, 0, 1), pivot=hinge)
        simulation = pw.Simulation(pw.Scene((1, 1, 1 / 24), (24, 24, 1), items=[water, body]))
        simulation.step(0.01)
        spins.append(simulation.state.bodies[0].angular_velocity[2])
    assert np.diff(np.log(np.negative(spins))) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("coupling", ["monolithic", "alternating"])
def test_a_continued_run_repeats_the_unbroken_one(coupling, tmp_path):
    """To the last bit: bodies and what they touch are saved too."""
    ball, box = pw.Cylinder((0.3, 0.3, -1), (0.3, 0.3, 2), 0.1), pw.Box((0.55, 0.0, -1), (0.75, 0.2, 2))
    scene = tank(pw.RigidBody(ball, 800.0), pw.RigidBody(box, 2500.0, velocity=(-0.5, 0, 0)), coupling=coupling)
    whole = {frame.number: frame.state.copy() for frame in pw.Simulation(scene).run(6)}
    whole[3].save(tmp_path / "state.npz")
    for frame in pw.Simulation(scene, State.load(tmp_path / "state.npz")).run(3):
        other = whole[frame.number]
        assert np.array_equal(frame.state.particles.position, other.particles.position)
        for body, same in zip(frame.state.bodies, other.bodies, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(body, same, strict=True))


def test_alternating_coupling_fails_where_the_monolithic_does_not():
    """A light body: the classical way flings it off in the first steps."""
    ball = pw.Cylinder((0.5, 0.25, -1), (0.5, 0.25, 2), 0.12)
    speeds = {}
    for coupling in ("monolithic", "alternating"):
        simulation = pw.Simulation(tank(pw.RigidBody(ball, 100.0), coupling=coupling))
        simulation.step(0.005)
        speeds[coupling] = abs(simulation.state.bodies[0].velocity[1])
    assert speeds["monolithic"] < 9.81 * 0.005
    assert speeds["alternating"] > 5 * 9.81 * 0.005


@pytest.mark.parametrize("density", [100.0, 500.0, 2000.0])
def test_alternating_coupling_names_the_body_that_it_flings_off(density):
    """A stack under water: each box has to move the water in the gaps beside it, much more than it weighs."""
    boxes = [pw.RigidBody(pw.Box((0.4, 0.12 * i, -1), (0.6, 0.12 * i + 0.12, 2)), density) for i in range(3)]
    water = pw.Liquid(pw.Box((0, 0, -1), (1, 0.7, 2)))
    simulation = pw.Simulation(tank(*boxes, water=water, coupling="alternating"))
    with pytest.raises(pw.SolveFailedError, match=r"items\[[123]\] RigidBody\(Box\) was flung off at .*alternating"):
        simulation.advance(0.2)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_solid_that_moves_throws_a_body_off(restitution):
    """At 1 + e times its own speed: bounces add no energy, but what moves by itself does."""
    ram = pw.Solid(pw.Box((-0.3, 0.4, -1), (0.2, 0.9, 2)), motion=lambda t: pw.Pose((min(t, 0.3), 0, 0)))
    ball = pw.RigidBody(pw.Cylinder((0.5, 0.6, -1), (0.5, 0.6, 2), 0.1), 500.0, restitution=restitution)
    water = pw.Liquid(pw.Box((0, 0, -1), (0.1, 0.1, 2)))
    simulation = pw.Simulation(replace(tank(ram, ball, water=water), gravity=(0, 0, 0)))
    *_, frame = simulation.run(8)
    assert frame.state.bodies[0].velocity == pytest.approx([1 + restitution, 0, 0], abs=1e-6)


def test_bodies_that_overlap_are_moved_apart_and_named():
    first, second = pw.Box((0.3, 0.6, -1), (0.5, 0.8, 2)), pw.Box((0.45, 0.65, -1), (0.7, 0.85, 2))
    with pytest.warns(UserWarning, match=r"items\[1\] RigidBody\(Box\) overlaps items\[2\] RigidBody\(Box\)"):
        simulation = pw.Simulation(tank(pw.RigidBody(first, 500.0), pw.RigidBody(second, 500.0)))
    contact = simulation._stepper.bodies._contact
    assert contact.separate(simulation.state.bodies, [])[1] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pw.Simulation(tank(pw.RigidBody(first, 500.0)))


def test_a_body_that_overlaps_a_wall_is_said_to_overlap_that_one():
    """And what cannot move is not said to have been moved."""
    shelf = pw.Solid(pw.Box((0.6, 0.5, -1), (1.2, 0.6, 2)))
    inside = pw.RigidBody(pw.Box((0.7, 0.45, -1), (0.9, 0.55, 2)), 500.0)
    beyond = pw.RigidBody(pw.Box((-0.05, 0.7, -1), (0.2, 0.9, 2)), 500.0)
    fixed = pw.RigidBody(pw.Box((0.65, 0.55, -1), (0.95, 0.75, 2)), 500.0, locked={"x", "y", "z", "rx", "ry", "rz"})
    with pytest.warns(UserWarning, match=r"items\[2\] RigidBody\(Box\) overlaps items\[1\] Solid.*: moved apart"):
        pw.Simulation(tank(shelf, inside))
    with pytest.warns(UserWarning, match=r"overlaps the -x side of the domain at the start: moved apart"):
        pw.Simulation(tank(beyond))
    with pytest.warns(UserWarning, match=r"overlaps items\[1\] Solid.*: it has no way out, and stays there"):
        pw.Simulation(tank(shelf, fixed))


def test_a_face_that_one_body_fills_does_not_carry_the_velocity_of_another_besides():
    """The edge of a box above a slab, falling alike: no face moves faster than they do."""
    low, half = 0.51 - 0.1 * np.sqrt(2), np.pi / 8
    edge = pw.Box((0.3, 0.41, 0.3), (0.5, 0.61, 0.7))
    edge = edge.moved(rotate=(np.cos(half), 0, 0, np.sin(half)), about=(0.4, 0.51, 0.5))
    slab = pw.Box((0.2, low - 0.2, 0.2), (0.8, low - 0.005, 0.8))
    for shapes in ((slab, edge), (edge, slab)):
        solids = pw.Solids(pw.Grid.from_size((1, 1, 1), 16), [pw.RigidBody(shape, 500.0) for shape in shapes])
        falling = [body._replace(velocity=np.array([0.0, -1.0, 0.0])) for body in solids.drawn]
        velocity = solids.measure(0.0, falling).velocity
        assert velocity.y.min() >= -1 - 1e-6
        assert velocity.y.max() <= 0


BOX = pw.Box((0.4, 0.4, -1), (0.6, 0.6, 2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"density": 0.0}, r"RigidBody\(Box\): density=0.0, expected a positive number"),
        ({"density": -1.0}, "density=-1.0"),
        ({"density": True}, "density=True, expected a positive number"),
        ({"density": 500.0, "friction": True}, "friction=True, expected a finite number"),
        ({"density": 500.0, "axis": (0, 0, 0), "pivot": (0, 0, 0)}, r"axis=\(0, 0, 0\) has no direction"),
        ({"density": 500.0, "axis": (0, 0, 1)}, "a hinge needs both"),
        ({"density": 500.0, "friction": -0.1}, "friction=-0.1"),
        ({"density": 500.0, "restitution": 1.5}, "restitution=1.5"),
        ({"density": 500.0, "locked": {"q"}}, "locked='q'"),
        ({"density": 500.0, "velocity": (0, float("nan"), 0)}, "velocity="),
    ],
)
def test_bad_bodies_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        pw.RigidBody(BOX, **arguments)


def test_bad_bodies_of_a_scene_are_named():
    with pytest.raises(ValueError, match=r"items\[1\] RigidBody\(HalfSpace\) has no end"):
        tank(pw.RigidBody(pw.HalfSpace((0, 0.2, 0), (0, 1, 0)), 500.0))
    with pytest.raises(ValueError, match="turns about z only"):
        tank(pw.RigidBody(BOX, 500.0, axis=(1, 0, 0), pivot=(0, 0, 0)))
    with pytest.raises(ValueError, match="wholly outside the domain"):
        tank(pw.RigidBody(pw.Box((3, 3, -1), (4, 4, 2)), 500.0))
    flat = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2)])
    with pytest.raises(ValueError, match="not closed"):
        pw.RigidBody(pw.Mesh(flat), 500.0)
    with pytest.raises(ValueError, match="has a RigidBody"):
        pw.first_step(tank(pw.RigidBody(BOX, 500.0)))


def test_a_body_without_room_is_refused():
    """As wide as the tank is well; wider only if it has a side open."""
    wide = pw.RigidBody(pw.Box((-0.1, 0.6, -1), (1.1, 0.8, 2)), 500.0)
    message = r"items\[1\] RigidBody\(Box\) is 1.2 m long along x: there is no room for it between walls 1 m apart"
    with pytest.raises(ValueError, match=message):
        pw.Simulation(tank(wide))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pw.Simulation(tank(pw.RigidBody(pw.Box((0, 0.6, -1), (1, 0.8, 2)), 500.0)))
        ball = pw.Sphere((0.5, 0.5, 0.5), 0.45).moved(rotate=(np.cos(0.4), np.sin(0.4), 0, 0), about=(0.5, 0.5, 0.5))
        pw.Simulation(replace(tank(pw.RigidBody(ball, 500.0), dimensions=3), cells=16))
        pw.Simulation(replace(tank(pw.RigidBody(wide.shape.moved((0.3, 0, 0)), 500.0)), open_sides={"+x"}))


@pytest.mark.parametrize("turn", [0.0, 0.3])
@pytest.mark.parametrize("cells", [0.5, 1.0, 1.5])
def test_bodies_thinner_than_a_cell_are_named(cells, turn):
    """Plates and hulls alike, at any angle."""
    thick = cells * H
    hull = pw.Box((0.3, 0.3, -1), (0.7, 0.7, 2)) - pw.Box((0.3 + thick, 0.3 + thick, -2), (0.7 - thick, 0.8, 3))
    for shape in (pw.Box((0.3, 0.5, -1), (0.7, 0.5 + thick, 2)), hull, pw.Sphere((0.5, 0.6, H / 2), thick / 2)):
        shape = shape.moved(rotate=(np.cos(turn / 2), 0, 0, np.sin(turn / 2)), about=(0.5, 0.5, 0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pw.Simulation(tank(pw.RigidBody(shape, 500.0)))
        assert len(caught) == (cells < 1)
        if caught:
            assert f"items[1] RigidBody(Moved) is {thick:.3g} m thick, less than a cell" in str(caught[0].message)
            assert caught[0].filename == __file__


PLATE = pw.Box((0.5, -1, -1), (0.5 + 0.5 * H, 2, 2))
BALL = pw.Sphere((0.5, 0.6, 0.5), 0.2)
THIN = {
    "plate": (PLATE, 0.5),
    "turned plate": (PLATE.moved(rotate=(np.cos(0.2), 0, 0, np.sin(0.2)), about=(0.5, 0.5, 0)), 0.5),
    "hull": (BALL - pw.Sphere((0.5, 0.6, 0.5), 0.2 - 0.5 * H), 0.5),
    "small ball": (pw.Sphere((0.5, 0.6, 0.5), 0.3 * H), 0.6),
    "thick plate": (pw.Box((0.5, -1, -1), (0.5 + H, 2, 2)), None),
    "ball": (BALL, None),
    "half-space": (pw.HalfSpace((0, 0.2, 0), (0.1, 1, 0)), None),
    "wedge": (pw.HalfSpace((0, 0.4, 0), (0.2, 1, 0)) & pw.HalfSpace((0, 0.4, 0), (0, -1, 0)), None),
    "everything but a room": (~pw.Box((0.01, 0.01, 0.01), (0.99, 0.99, 0.99)), None),
    "plate on the floor": (pw.Box((-1, -1, -1), (2, 0.5 * H, 2)), None),
}


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("name", THIN)
def test_solids_thinner_than_a_cell_are_named(name, dimensions):
    """But not those of no end, those that lean on a side of the domain, or edges of what is thick."""
    shape, cells = THIN[name]
    if dimensions == 2:
        shape = shape.moved((0, 0, H / 2 - 0.5)) if "ball" in name or name == "hull" else shape
    grid = tank(dimensions=dimensions).grid
    assert thickness(grid, shape, H) == pytest.approx((cells or 1) * H, rel=1e-3)


@pytest.mark.parametrize("motion", [None, lambda t: pw.Pose((0, 0.1, 0))])
def test_a_thin_solid_is_named_at_the_start(motion):
    shape = pw.Box((0.3, 0.6, -1), (0.7, 0.6 + 0.5 * H, 2))
    with pytest.warns(UserWarning, match="thick") as caught:
        pw.Simulation(tank(pw.Solid(shape, motion)))
    assert [str(warning.message) for warning in caught] == [
        f"items[1] Solid(Box) is {0.5 * H:.3g} m thick, less than a cell of {H:.3g} m: the fluid may leak through it; "
        "make it thicker, or use more cells"
    ]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("weights", "least"), [("area", 1.35), ("volume", 2.5), ("length", 2.5), ("voxel", 0.9)])
def test_a_solid_that_may_not_hold_moving_liquid_is_named(weights, least):
    for cells in (least - 0.1, least + 0.1):
        plate = pw.Box((0.3, 0.6, -1), (0.7, 0.6 + cells * H, 2)).moved(rotate=(np.cos(0.1), 0, 0, np.sin(0.1)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pw.Simulation(tank(pw.Solid(plate), weights=weights))
        assert len(caught) == (cells < least)
        if caught and least > 1:
            assert f"less than {least:g} cells of {H:.3g} m: with weights='{weights}' liquid" in str(caught[0].message)


@pytest.mark.parametrize("cfl", [1.0, 3.0])
def test_a_pendulum_gains_no_energy_by_steps_of_unlike_lengths(cfl):
    """It is released level, above some water. Steps are short where it is fast: by each velocity for its own step alone
    it swung up to 123 degrees in three seconds."""
    disc = pw.Cylinder((0.7, 0.6, -1), (0.7, 0.6, 2), 0.12)
    pendulum = pw.RigidBody(disc, 1000.0, axis=(0, 0, 1), pivot=(0.5, 0.6, 0))
    simulation = pw.Simulation(tank(pendulum, water=pw.Liquid(pw.Box((0, 0, -1), (1, 0.09, 2))), cfl=cfl))
    heights = []
    while simulation.time < 3.0:
        simulation.step()
        (body,) = simulation.state.bodies
        heights.append(body.position[1] - 0.6)
        assert np.hypot(*(body.position[:2] - (0.5, 0.6))) == pytest.approx(0.2, abs=1e-9)
    assert -0.01 < max(heights[10:]) < 0.01 * 0.2 + 0.5 / 24**2


ROUND = {
    "disc in a plane": (pw.Cylinder((0.503, 0.309, -1), (0.503, 0.309, 2), 0.1), 2),
    "ball in a plane": (pw.Sphere((0.503, 0.309, H / 2), 0.1), 2),
    "ball": (pw.Sphere((0.503, 0.309, 0.51), 0.15), 3),
    "tilted ring": (pw.Torus((0.503, 0.509, 0.51), (0.3, 1, 0.2), 0.2, 0.1), 3),
    "turned capsule": (
        pw.Capsule((0.3, 0.5, 0.51), (0.7, 0.5, 0.51), 0.12).moved(rotate=(np.cos(0.2), 0, np.sin(0.2), 0)),
        3,
    ),
}


@pytest.mark.parametrize("weights", ["area", "volume"])
@pytest.mark.parametrize("density", [100.0, 3000.0])
@pytest.mark.parametrize("name", ROUND)
def test_water_does_not_turn_what_is_round_about_its_axis(name, density, weights):
    """It pushes at right angles to the surface. On a grid it would turn it, and go on for as long as it rests."""
    shape, dimensions = ROUND[name]
    scene = tank(pw.RigidBody(shape, density), weights=weights, dimensions=dimensions)
    scene = scene if dimensions == 2 else replace(scene, cells=16)
    simulation = pw.Simulation(scene)
    axis = {"tilted ring": np.array((0.3, 1, 0.2)) / np.linalg.norm((0.3, 1, 0.2))}.get(name, np.array((0, 0, 1)))
    if name == "turned capsule":
        axis = np.array((np.cos(0.4), 0, -np.sin(0.4)))
    for _ in range(3):
        simulation.step(0.005)
        (body,) = simulation.state.bodies
        assert np.abs(body.velocity).max() > 0.01
        assert abs(axis @ rotation_of(body.orientation).T @ body.angular_velocity) <= 1e-5
        if "ball" in name:
            assert np.abs(body.angular_velocity).max() <= 1e-6


def test_a_ball_on_the_floor_under_water_stays_where_it_is():
    for x, y, density in ((0.503, 0.1, 3000.0), (0.9, 0.1, 3000.0)):
        disc = pw.RigidBody(pw.Cylinder((x, y, -1), (x, y, 2), 0.1), density)
        simulation = pw.Simulation(tank(disc, water=pw.Liquid(pw.Box((0, 0, -1), (1, 1, 2)))))
        for _ in simulation.run(24):
            (body,) = simulation.state.bodies
            assert abs(body.position[0] - x) <= 1e-3 * H
            assert abs(body.angular_velocity[2]) <= 1e-3


def test_a_body_that_has_left_is_gone():
    """Through an open floor it falls freely, and takes no smaller steps the faster it gets."""
    box, water = pw.Box((0.4, 0.2, -1), (0.6, 0.4, 2)), pw.Liquid(pw.Box((0, 0.1, -1), (0.3, 0.2, 2)))
    scene = tank(pw.RigidBody(box, 2000.0), water=water)
    simulation = pw.Simulation(replace(scene, open_sides={"-y"}))
    simulation.advance(0.5)
    (body,) = simulation.state.bodies
    assert body.position[1] < -0.5
    report = simulation.advance(0.5)
    (after,) = simulation.state.bodies
    assert after.velocity[1] - body.velocity[1] == pytest.approx(-9.81 * 0.5)
    assert report.substeps <= 24


def test_a_body_half_out_of_an_open_side_floats():
    box, water = pw.Box((0.4, 0.85, -1), (0.6, 1.05, 2)), pw.Liquid(pw.Box((0, 0, -1), (1, 0.9, 2)))
    scene = replace(tank(pw.RigidBody(box, 500.0, locked={"rz"}), water=water), open_sides={"+y"})
    # it displaces 0.1 m of its own 0.2 m, which raises the level by a part of what was missing at first
    assert mean_height(pw.Simulation(scene), 1.0) == pytest.approx(0.91, abs=1.0 * H)


def test_an_inflow_gives_nothing_where_a_body_is():
    """Half in it, a body keeps its own velocity: it is not flung out."""
    box, inflow = pw.Box((0.25, 0.2, -1), (0.4, 0.35, 2)), pw.Inflow(pw.Box((0, 0.2, -1), (0.3, 0.35, 2)), (1, 0, 0))
    simulation = pw.Simulation(replace(tank(pw.RigidBody(box, 800.0), inflow), open_sides={"+y"}))
    while simulation.time < 0.6:
        simulation.step()
        assert np.abs(velocities(simulation.state.bodies)[0, :3]).max() < 2


@pytest.mark.parametrize("method", [{"solver": "mic"}, {"body_mass": "exact"}])
def test_other_ways_agree(method):
    """Another solver does the same; the mass as drawn differs from the discrete one by what the grid makes of a box."""
    heights = []
    for choice in ({}, method):
        simulation = pw.Simulation(tank(pw.RigidBody(BOX, 600.0), **choice))
        heights.append(mean_height(simulation, 0.5))
    assert heights[0] == pytest.approx(heights[1], abs=0.1 * H)


def test_a_plate_thinner_than_a_cell_does_not_stop_a_run():
    """On some places between nodes it has a mass on the grid, but hardly any inertia."""
    plate = pw.Box((0.3, 0.4975, -1), (0.7, 0.5025, 2))
    with pytest.warns(UserWarning, match="is 0.005 m thick"):
        simulation = pw.Simulation(tank(pw.RigidBody(plate, 500.0)))
    for _ in range(3):
        simulation.step(0.01)
    stepper = simulation._stepper
    for height in np.linspace(0.5, 0.5 + H, 9):
        (body,) = simulation.state.bodies
        bodies = (body._replace(position=np.array([0.5, height, body.position[2]]), orientation=np.eye(4)[0]),)
        masses = stepper.bodies._masses(bodies, stepper.boundary(0.0, bodies))
        assert np.linalg.eigvalsh(masses[0][[0, 1, 5]][:, [0, 1, 5]]).min() > 0.0


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_body_of_hardly_any_weight_rises_as_one_of_a_hundred_thousandth_of_the_liquids_density(dimensions):
    """What the solve leaves would fling off a lighter one; who asks for it is told."""
    ball = pw.Sphere((0.5, 0.3, 0.5 if dimensions == 3 else H / 2), 0.15)
    light = tank(pw.RigidBody(ball, 0.01), dimensions=dimensions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = pw.Simulation(light)
    with pytest.warns(UserWarning, match=r"items\[1\] RigidBody\(Sphere\) of 1e-08 kg/m³ moves as one of 0.01"):
        lighter = pw.Simulation(tank(pw.RigidBody(ball, 1e-8), dimensions=dimensions))
    for simulation in (expected, lighter):
        for _ in range(6):
            report = simulation.step()
            assert max(info.iterations for info in report.solves) <= 8
    for one, other in zip(expected.state.bodies[0], lighter.state.bodies[0], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("advection", ["flip", "apic", "semi-lagrangian", "maccormack"])
def test_a_body_gives_of_its_momentum_once(advection):
    """A cylinder that starts to move in still liquid has ρs/(ρs + ρ) of its velocity left, and keeps it."""
    ball = pw.RigidBody(pw.Cylinder((0.5, 0.5, -1), (0.5, 0.5, 2), 0.1), 3000.0, velocity=(1, 0, 0))
    made = replace(tank(ball, water=pw.Liquid(pw.Box((0, 0, -1), (1, 1, 2))), advection=advection), gravity=(0, 0, 0))
    simulation = pw.Simulation(made)
    for _ in range(4):
        assert simulation.state.bodies[0].velocity[0] == pytest.approx(0.75, rel=0.03)
        simulation.step(1e-5)


@pytest.mark.parametrize("advection", ["flip", "apic", "semi-lagrangian", "maccormack"])
def test_nothing_kicks_a_light_disc_that_rises(advection):
    """No air opens beside it, and no more than its weight and the water's push act on it."""
    disc = pw.Cylinder((0.5, 0.15, -1), (0.5, 0.15, 2), 0.07)
    water = pw.Liquid(pw.Box((0, 0, 0), (1, 0.7, 1)))
    method = pw.Method(advection=advection)
    scene = pw.Scene((1, 1, 1 / 64), (64, 64, 1), items=[water, pw.RigidBody(disc, 100.0)], method=method)
    simulation, before = pw.Simulation(scene), np.zeros(3)
    centers = scene.grid.cell_points()[..., :2]
    while simulation.state.bodies[0].position[1] < 0.4:
        report = simulation.step()
        (body,) = simulation.state.bodies
        assert np.linalg.norm(body.velocity - before) < 1.2 * 9.81 * report.dt
        beside = np.abs(np.linalg.norm(centers - body.position[:2], axis=-1) - 0.1) < 0.03
        assert simulation.state.phi[beside].max() < 0
        assert simulation.state.pressure.max() < 1.3 * 1000 * 9.81 * 0.7
        before = body.velocity.copy()
    assert abs(body.position[0] - 0.5) < 0.1 * (body.position[1] - 0.15)


@pytest.mark.parametrize("cells", [3, 5])
def test_a_cup_and_its_water_in_flight_stay_together(cells):
    """Both move at one velocity without gravity, five cells in a step."""
    h, speed = 1 / 64, 2.0
    wall = cells * h
    cup = pw.Box((0.2 - wall, 0.4 - wall, -1), (0.4 + wall, 0.7, 2)) - pw.Box((0.2, 0.4, -2), (0.4, 0.9, 3))
    items = [
        pw.Liquid(pw.Box((0.2, 0.4, 0), (0.4, 0.55, 1)), velocity=(speed, 0, 0)),
        pw.RigidBody(cup, density=3000.0, velocity=(speed, 0, 0)),
    ]
    method = pw.Method(cfl=5.0)
    simulation = pw.Simulation(pw.Scene((1, 1, h), (64, 64, 1), gravity=(0, 0, 0), items=items, method=method))
    while simulation.time < 0.2:
        simulation.step()
    x, y, _ = simulation.state.particles.position.T
    low = 0.2 + speed * simulation.time
    out = (x < low - 0.1 * h) | (x > low + 0.2 + 0.1 * h) | (y < 0.4 - 0.1 * h)
    assert np.count_nonzero(out) <= 0.005 * len(x)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["area", "volume"])
@pytest.mark.parametrize("cells", [36, 44, 48])
def test_a_plug_holds_the_water_above_it_in_a_square_tube(cells, weights):
    """METHOD §3, with walls within cells and between them. It fits exactly, is heavy and smooth, and could tilt."""
    h = 1.2 / cells
    n = round(0.6 / h)
    plug = pw.RigidBody(pw.Box((0.15, 0.4, 0.15), (0.45, 0.52, 0.45)), 3000.0, friction=0.0)
    tube = pw.Solid(~pw.Box((0.15, -1, 0.15), (0.45, 3, 0.45)))
    items = [tube, pw.Liquid(pw.Box((-1, -1, -1), (2, 0.9, 2))), plug]
    simulation = pw.Simulation(
        pw.Scene((n * h, 1.2, n * h), (n, cells, n), method=pw.Method(weights=weights), items=items)
    )

    def above():
        middle = simulation.state.bodies[0].position[1]
        return np.count_nonzero(simulation.state.particles.position[:, 1] > middle)

    first, volume = above(), simulation.step().volume
    report = simulation.advance(3.0)
    assert simulation.state.bodies[0].position[1] == pytest.approx(0.46, abs=0.05 * h)
    assert above() == first
    assert report.volume == pytest.approx(volume, rel=0.01)
