"""A hand that holds bodies: by the mouse of who looks on, or along a path of the scene."""

from itertools import product

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.bodies import velocities
from paddlewheel.hand import LEAD, QUICK, Hold, gripped
from paddlewheel.solids.pose import rotation_of
from paddlewheel.types import Body, State

N = 32
H = 1 / N
FPS = 24
OMEGA = QUICK * FPS
G = 9.81
DT = 0.01
MIDDLE = np.array([0.5, 0.7, 0.5 * H])
BOX = pw.Box((0.4, 0.6, -1), (0.6, 0.8, 2))
PUDDLE = pw.Liquid(pw.Box((0, 0, -1), (1, 0.1, 2)))
POOL = pw.Liquid(pw.Box((0, 0, -1), (1, 0.6, 2)))


def tank(*items, water=PUDDLE, **method):
    return pw.Scene((1, 1, H), (N, N, 1), fps=FPS, method=pw.Method(**method), items=[water, *items])


def in_air(density=500.0, **options):
    return pw.Simulation(tank(pw.RigidBody(BOX, density, **options), body_mass="exact"))


def beside(*way):
    return np.add(MIDDLE, way)


def place(simulation):
    return simulation.state.bodies[0].position


def test_the_hand_gives_the_momentum_it_says():
    """M (V − V*) = Gᵀ j with j of the spring and the damper at the end of the step: the equation of the method."""
    rng = np.random.default_rng(3)
    body = Body(rng.random(3), np.array([0.6, 0.0, 0.8, 0.0]), np.zeros(3), np.zeros(3))
    M, V = np.diag([2.0, 2, 2, 0.1, 0.2, 0.3]), rng.random(6)
    hold = Hold(0, rng.random(3), rng.random(3), rng.random(3), stiffness=300.0, damping=20.0, lead=10.0)
    held, pull = gripped(hold, body, M, DT)
    after = np.linalg.solve(held, M @ V + pull)
    arm = np.array([[-0.28, 0, 0.96], [0, 1, 0], [-0.96, 0, -0.28]]) @ hold.point
    u = after[:3] + np.cross(after[3:], arm)
    x = body.position + arm
    j = -300.0 * DT * (x + DT * u - hold.target) - 20.0 * DT * (u - hold.velocity)
    np.testing.assert_allclose(M @ (after - V), [*j, *np.cross(arm, j)], atol=1e-13)


def test_a_weight_hangs_a_little_below_the_hand():
    """m g / k, in air; k is that of the body and of the water in its place."""
    simulation = in_air()
    simulation.grab(0, MIDDLE)
    for _ in range(150):
        simulation.step(DT)
    sag = G / OMEGA**2 * 500 / 1500
    np.testing.assert_allclose(place(simulation), MIDDLE - [0, sag, 0], atol=1e-9)
    assert np.abs(velocities(simulation.state.bodies)).max() < 1e-8


def test_what_is_dragged_follows_a_frame_behind():
    """At a steady speed the spring carries what the damper takes:  c U / k = 2 U / ω."""
    simulation, U = in_air(), np.array([0.3, 0.0, 0.0])
    simulation.grab(0, MIDDLE)
    for _ in range(70):
        target = MIDDLE + (simulation.time + 2 * DT) * U  # the step that is to come ends there
        simulation.drag(target)
        simulation.step(DT)
    np.testing.assert_allclose(velocities(simulation.state.bodies)[0, 0], 0.3, rtol=1e-6)
    np.testing.assert_allclose((place(simulation) + DT * U)[0], (target - 2 / OMEGA * U)[0], atol=1e-7)


def test_what_is_led_along_a_path_follows_at_once():
    """The path's own velocity is known, so the damper does not hold it back."""
    body, sag = pw.RigidBody(BOX, 500.0), G / OMEGA**2 / 3
    hand = pw.Hand(body, MIDDLE, lambda t: beside(0.2 * t, -0.1 * t, 0))
    simulation = pw.Simulation(tank(body, hand, body_mass="exact"))
    for _ in range(150):
        simulation.step(DT)
    expected = MIDDLE + np.array([0.2, -0.1, 0]) * simulation.time - [0, sag, 0]
    np.testing.assert_allclose(place(simulation)[:2], expected[:2], atol=1e-9)


def test_a_corner_is_held_and_the_rest_hangs_from_it():
    simulation = in_air()
    corner = np.array([0.41, 0.79, 0.0])
    simulation.grab(0, corner)
    for _ in range(400):
        simulation.step(DT)
    (body,) = simulation.state.bodies
    angle = 2 * np.arctan2(body.orientation[3], body.orientation[0])
    arm = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ [-0.09, 0.09]
    np.testing.assert_allclose(body.position[:2] + arm, corner[:2], atol=0.02)
    assert abs(body.position[0] - corner[0]) < 0.09  # it swings below


def test_a_hinged_body_is_turned_by_hand():
    flap = pw.Box((0.5, 0.4, -1), (0.9, 0.46, 2))
    simulation = pw.Simulation(tank(pw.RigidBody(flap, 300.0, axis=(0, 0, 1), pivot=(0.5, 0.43, 0))))
    simulation.grab(0, (0.88, 0.43, 0))
    simulation.drag((0.5, 0.81, 0))
    simulation.advance(1.0)
    (body,) = simulation.state.bodies
    assert np.hypot(*(body.position[:2] - (0.5, 0.43))) == pytest.approx(0.2, abs=1e-9)
    assert body.position[0] == pytest.approx(0.5, abs=0.01)
    assert body.position[1] > 0.6


def test_what_is_locked_stays_so():
    simulation = in_air(locked={"y", "rz"})
    simulation.grab(0, MIDDLE)
    simulation.drag(beside(0.2, 0.1, 0.0))
    simulation.advance(1.0)
    np.testing.assert_allclose(place(simulation), beside(0.2, 0, 0), atol=1e-4)


@pytest.mark.parametrize("ratio", [0.001, 1.0, 10.0])
def test_it_holds_under_water_whatever_the_density(ratio):
    """The sag is that of what it weighs in water: (ρ_s − ρ) V g / k."""
    ball = pw.RigidBody(pw.Cylinder((0.3, 0.25, -1), (0.3, 0.25, 2), 0.1), 1000 * ratio)
    simulation = pw.Simulation(tank(ball, water=POOL, cfl=5.0))
    simulation.grab(ball, (0.3, 0.25, 0))
    simulation.drag((0.7, 0.3, 0))
    for frame in simulation.run(48):
        assert np.linalg.norm(frame.state.bodies[0].velocity) < 1.05 * OMEGA / 2 * LEAD
    sag = G / OMEGA**2 * (ratio - 1) / (ratio + 1)
    np.testing.assert_allclose(place(simulation)[:2], [0.7, 0.3 - sag], atol=0.1 * H)


def test_a_body_in_the_hand_does_not_enter_a_wall():
    wall = pw.Solid(pw.Box((0.8, -1, -1), (2, 2, 2)))
    simulation = pw.Simulation(tank(pw.RigidBody(BOX, 500.0, locked={"rz"}), wall))
    simulation.grab(0, MIDDLE)
    simulation.drag((1.5, 0.7, 0))
    for frame in simulation.run(24):
        assert frame.state.bodies[0].position[0] + 0.1 < 0.8 + 0.01 * H
    assert place(simulation)[0] == pytest.approx(0.7, abs=0.05 * H)
    assert np.abs(velocities(simulation.state.bodies)).max() < 0.02


def test_it_pushes_what_is_in_the_way():
    """Through another body, to the wall and no farther."""
    first = pw.RigidBody(pw.Box((0.2, 0.1, -1), (0.35, 0.25, 2)), 2000.0)
    second = pw.RigidBody(pw.Box((0.45, 0.1, -1), (0.6, 0.25, 2)), 2000.0, locked={"rz"})
    floor = pw.Solid(pw.Box((-1, -1, -1), (2, 0.1, 2)))
    simulation = pw.Simulation(tank(floor, first, second, water=pw.Liquid(pw.Box((0, 0.1, -1), (1, 0.2, 2)))))
    simulation.grab(first, (0.275, 0.175, 0))
    simulation.drag((0.5, 0.175, 0))
    simulation.advance(0.5)
    one, other = simulation.state.bodies
    assert one.position[0] == pytest.approx(0.5, abs=0.5 * H)
    assert other.position[0] - one.position[0] > 0.15 - 0.02 * H
    simulation.drag((2.0, 0.175, 0))
    simulation.advance(1.0)
    one, other = simulation.state.bodies
    assert other.position[0] < 1 - 0.075 + 0.02 * H
    assert other.position[0] - one.position[0] == pytest.approx(0.15, abs=0.05 * H)


def test_what_is_thrown_flies():
    """It has the velocity it is given, keeps its spin, and flies a parabola."""
    simulation = in_air(angular_velocity=(0, 0, 2.0))
    simulation.grab(0, MIDDLE)
    simulation.release(velocity=(0.5, 1.0, 0))
    (body,) = simulation.state.bodies
    assert body.velocity.tolist() == [0.5, 1.0, 0.0]
    assert body.angular_velocity[2] == 2.0
    for n in range(1, 16):
        simulation.step(DT)
        fall = 0.5 * G * (n * DT) ** 2
        np.testing.assert_allclose(place(simulation), MIDDLE + n * DT * np.array([0.5, 1, 0]) - [0, fall, 0], atol=1e-6)


def test_what_is_let_go_moves_on():
    simulation = in_air()
    simulation.grab(0, MIDDLE)
    simulation.drag(beside(0.1, 0.1, 0))
    simulation.step(DT)
    before = simulation.state.bodies[0].velocity
    simulation.release()
    assert np.array_equal(simulation.state.bodies[0].velocity, before)
    simulation.step(DT)
    np.testing.assert_allclose(simulation.state.bodies[0].velocity, before - [0, G * DT, 0], atol=1e-9)


def test_a_path_that_ends_throws():
    body = pw.RigidBody(BOX, 500.0)
    hand = pw.Hand(body, MIDDLE, lambda t: beside(t, t, 0) if t < 0.105 else None)
    simulation = pw.Simulation(tank(body, hand, body_mass="exact"))
    for _ in range(15):
        simulation.step(DT)
    assert simulation.state.bodies[0].velocity[0] == pytest.approx(1.0, rel=0.15)
    before = simulation.state.bodies[0].velocity
    simulation.step(DT)
    np.testing.assert_allclose(simulation.state.bodies[0].velocity, before - [0, G * DT, 0], atol=1e-9)


def test_a_path_continues_a_saved_run_to_the_last_bit(tmp_path):
    ball = pw.RigidBody(pw.Cylinder((0.3, 0.3, -1), (0.3, 0.3, 2), 0.1), 800.0)
    hand = pw.Hand(ball, (0.3, 0.35, 0), lambda t: (0.3 + t, 0.35 + 0.2 * np.sin(9 * t), 0) if 0.05 < t < 0.2 else None)
    scene = tank(ball, hand, water=POOL)
    whole = {frame.number: frame.state.copy() for frame in pw.Simulation(scene).run(6)}
    whole[3].save(tmp_path / "state.npz")
    for frame in pw.Simulation(scene, State.load(tmp_path / "state.npz")).run(3):
        other = whole[frame.number]
        assert np.array_equal(frame.state.particles.position, other.particles.position)
        assert all(np.array_equal(a, b) for a, b in zip(frame.state.bodies[0], other.bodies[0], strict=True))


BODY = pw.RigidBody(BOX, 500.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, MIDDLE), "grab: body=1, but the scene has 1 bodies"),
        ((-1, MIDDLE), "grab: body=-1"),
        (("box", MIDDLE), "grab: body='box'"),
        ((pw.RigidBody(BOX, 300.0), MIDDLE), r"grab: body=RigidBody\(.* is none of the scene's items"),
        ((0, (0, np.nan, 0)), "grab: point=.*expected three finite numbers"),
        ((0, (0.9, 0.7, 0)), r"grab: point=\(0.9, 0.7, 0.0\) is 0.3 m beside body 0"),
    ],
)
def test_a_bad_grip_is_named(arguments, message):
    simulation = pw.Simulation(tank(BODY))
    with pytest.raises(ValueError, match=message):
        simulation.grab(*arguments)


def test_who_holds_nothing_is_told_so():
    simulation = pw.Simulation(tank(BODY))
    with pytest.raises(ValueError, match="drag: nothing is held"):
        simulation.drag(MIDDLE)
    with pytest.raises(ValueError, match="release: nothing is held"):
        simulation.release()
    simulation.grab(0, MIDDLE)
    with pytest.raises(ValueError, match="drag: target="):
        simulation.drag((0, 1))
    with pytest.raises(ValueError, match="release: velocity="):
        simulation.release(velocity=(0, 0, np.inf))
    simulation.release()


@pytest.mark.parametrize(
    ("hand", "message"),
    [
        (lambda: pw.Hand(BOX, MIDDLE, lambda t: None), "Hand: body=Box.*expected a RigidBody"),
        (lambda: pw.Hand(BODY, (0, np.inf, 0), lambda t: None), "Hand: point="),
        (lambda: pw.Hand(BODY, MIDDLE, MIDDLE), "Hand: path=.*expected a function of time"),
        (lambda: pw.Hand(pw.RigidBody(BOX, 5.0), MIDDLE, lambda t: None), r"items\[2\] Hand: its body, a RigidBody\(B"),
        (lambda: pw.Hand(BODY, (0.1, 0.7, 0), lambda t: None), r"items\[2\] Hand: point=\(0.1, 0.7, 0.0\) is 0.3 m"),
        (lambda: pw.Hand(BODY, MIDDLE, lambda t: (0, np.nan, 0)), r"items\[2\] Hand: path\(0\)=\(0, nan, 0\)"),
    ],
)  # fmt: skip
def test_a_bad_hand_is_named(hand, message):
    with pytest.raises(ValueError, match=message):
        tank(BODY, hand())


def test_a_path_that_goes_wrong_later_is_named():
    hand = pw.Hand(BODY, MIDDLE, lambda t: MIDDLE if t < 0.015 else (0, np.nan, 0))
    with pytest.raises(ValueError, match=r"items\[2\] Hand: path\(0.02\)="):
        pw.Simulation(tank(BODY, hand)).step(DT)


def test_one_way_is_a_yes_or_a_no():
    with pytest.raises(ValueError, match="one_way='yes'"):
        pw.RigidBody(BOX, 500.0, one_way="yes")


@pytest.mark.parametrize(("low", "target"), [((0.4, 0.3), (3.0, 0.375, 0)), ((0.4, 0.2), (0.5, -0.5, 0))])
def test_a_light_box_is_pressed_against_walls(low, target):
    """Of a thousandth of the water's density: hardly any water is left between it and the wall, or the floor."""
    x, y = low
    high = y + (0.15 if y == 0.3 else 0.1)
    box = pw.RigidBody(pw.Box((x, y, -1), (x + 0.2, high, 2)), 1.0)
    simulation = pw.Simulation(tank(box, water=pw.Liquid(pw.Box((0, 0, -1), (1, 0.5, 2)))))
    simulation.grab(0, (x + 0.1, (y + high) / 2, 0))
    simulation.drag(target)
    simulation.advance(1.0)
    (body,) = simulation.state.bodies
    corners = np.array(list(product((-0.1, 0.1), (0.5 * (y - high), 0.5 * (high - y)), (0.0,))))
    corners = body.position + corners @ rotation_of(body.orientation).T  # the water may turn it broadside on its way
    gap = 1 - corners[:, 0].max() if target[0] > 1 else corners[:, 1].min()
    assert abs(gap) <= 0.15 * H
