"""Rigid bodies without contact: freedoms, masses, tops and pendulums."""

import numpy as np
import pytest

from paddlewheel.solids.mass import mass_of
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.rigid import freedom, mass_matrix, moved, placed, restricted_inverse, turned
from paddlewheel.solids.shapes import Box, Cylinder, Sphere
from paddlewheel.types import Body

BRICK = Box((0, 0, 0), (0.4, 0.2, 0.1))
STILL = np.array([1.0, 0, 0, 0])


def body(position=(0, 0, 0), velocity=(0, 0, 0), omega=(0, 0, 0), orientation=STILL):
    return Body(*(np.array(v, np.float64) for v in (position, orientation, velocity, omega)))


def momentum(mass, state):
    R = Pose(orientation=state.orientation).rotation
    L = R @ mass.inertia @ R.T @ state.angular_velocity
    return L, 0.5 * L @ state.angular_velocity


def test_freedoms():
    assert freedom((0, 0, 0)) == pytest.approx(np.eye(6))
    planar = freedom((1, 2, 3), planar=True)
    assert planar == pytest.approx(np.eye(6)[:, [0, 1, 5]])
    assert freedom((0, 0, 0), locked={"x", "ry"}) == pytest.approx(np.eye(6)[:, [1, 2, 3, 5]])
    hinge = freedom((1, 0, 0), axis=(0, 0, 2), pivot=(0, 0, 0))
    assert hinge[:, 0] == pytest.approx([0, 1, 0, 0, 0, 1])
    assert freedom((1, 0, 0), axis=(0, 0, 1), pivot=(0, 0, 0), locked={"z"}).shape == (6, 1)
    assert freedom((1, 0, 0), axis=(0, 0, 1), pivot=(0, 0, 0), locked={"y"}).shape == (6, 0)
    assert freedom((1, 0, 0), axis=(0, 0, -1), pivot=(0, 0, 9), planar=True)[:, 0] == pytest.approx(
        [0, -1, 0, 0, 0, -1]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"locked": {"w"}}, "'w' is none of"),
        ({"axis": (0, 0, 1)}, "a hinge needs both"),
        ({"axis": (1, 0, 0), "pivot": (0, 0, 0), "planar": True}, "along z"),
        ({"axis": (0, 0, 0), "pivot": (0, 0, 0)}, "no direction"),
    ],
)
def test_bad_freedoms(options, message):
    with pytest.raises(ValueError, match=message):
        freedom((0, 0, 0), **options)


def test_restricted_inverse_is_the_inverse_within_the_freedom():
    """W M F = F: an impulse M F q makes the velocity F q; and W takes nothing out of the span of F."""
    M = mass_matrix(mass_of(BRICK), 700.0, turned(STILL, np.array([0.3, -0.5, 0.9])))
    assert restricted_inverse(M, np.eye(6)) == pytest.approx(np.linalg.inv(M))
    F = freedom((0.3, 0.1, 0), axis=(1, 2, 2), pivot=(0, 0.5, 0))
    W = restricted_inverse(M, F)
    assert np.allclose(W @ M @ F, F, rtol=1e-9)
    assert np.linalg.matrix_rank(W) == 1
    assert not restricted_inverse(M, np.empty((6, 0))).any()


def test_mass_matrix_turns_with_the_body():
    M = mass_matrix(mass_of(BRICK), 1000.0, (np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    m = 1000 * 0.4 * 0.2 * 0.1
    assert np.diag(M) == pytest.approx(
        [m, m, m, m / 12 * (0.16 + 0.01), m / 12 * (0.04 + 0.01), m / 12 * (0.16 + 0.04)]
    )


@pytest.mark.parametrize("step", [0.05, 0.2, 0.5, 2.0])
def test_a_free_top_keeps_momentum_and_energy(step):
    """The tennis racket: spun about its middle axis it turns over for ever, whatever ω dt."""
    mass = mass_of(BRICK)
    state = body(omega=(1e-3, 1.0, 0))
    (L, energy), most = momentum(mass, state), 0.0
    for _ in range(int(50 / step)):
        state = moved(state, mass, step)
        now, kinetic = momentum(mass, state)
        most = min(most, Pose(orientation=state.orientation).rotation[1, 1])
        assert np.abs(now - L).max() <= 1e-12 * np.linalg.norm(L)
        assert kinetic == pytest.approx(energy, rel=1e-9)
    assert most < -0.9  # it did turn over
    assert np.linalg.norm(state.orientation) == pytest.approx(1, abs=1e-15)


def test_tumbling_is_second_order():
    mass = mass_of(BRICK)

    def after(steps):
        state = body(omega=(0.3, 1.0, 0.5))
        for _ in range(steps):
            state = moved(state, mass, 1.0 / steps)
        return state.orientation

    exact = after(1024)
    errors = [np.abs(after(n) - exact).max() for n in (8, 16, 32)]
    assert np.all(np.log2(np.divide(errors[:-1], errors[1:])) > 1.9)


@pytest.mark.parametrize("dt", [0.01, 1.0, 7.0])
def test_a_steady_spin_is_exact(dt):
    """About a principal axis the angle is ω dt, however large."""
    state = moved(body(velocity=(1, 2, 3), omega=(0, 2.0, 0)), mass_of(BRICK), dt)
    assert abs(state.orientation @ turned(STILL, np.array([0, 2 * dt, 0]))) == pytest.approx(1, abs=1e-12)
    assert state.position == pytest.approx(np.array([1, 2, 3]) * dt)


def test_a_pendulum_has_its_period_and_keeps_its_pivot():
    """T = 2π √(I/(m g d)) for small swings about a hinge."""
    rod = Cylinder((0, 0, 0), (0, -1, 0), 0.02)
    mass, pivot, gravity = mass_of(rod), np.array([0, 0, 0]), np.array([0, -9.81, 0, 0, 0, 0])
    tilt = turned(STILL, np.array([0, 0, 0.05]))
    state = body(Pose(orientation=tilt).rotation @ mass.center, orientation=tilt)
    dt, crossings, time, before = 0.01, [], 0.0, state.position[0]
    for _ in range(1000):
        F = freedom(state.position, axis=(0, 0, 1), pivot=pivot)
        M = mass_matrix(mass, 500.0, state.orientation)
        V = np.concatenate([state.velocity, state.angular_velocity]) + restricted_inverse(M, F) @ M @ gravity * dt
        state = moved(state._replace(velocity=V[:3], angular_velocity=V[3:]), mass, dt, pivot=pivot)
        time += dt
        if before < 0 <= state.position[0]:
            crossings.append(time - dt * state.position[0] / (state.position[0] - before))
        before = state.position[0]
        hook = placed(rod, mass, state).pose.to_world(np.zeros((1, 3)))
        assert np.abs(hook).max() < 1e-12
    inertia = mass.inertia[2, 2] + mass.volume * 0.25
    period = 2 * np.pi * np.sqrt(inertia / (mass.volume * 9.81 * 0.5))
    assert np.diff(crossings).mean() == pytest.approx(period, rel=2e-3)


def test_a_body_in_a_plane_stays_there():
    mass = mass_of(BRICK, thickness=0.1)
    state = moved(body(mass.center, (1, 2, 0), (0, 0, 3)), mass, 0.1)
    assert state.position == pytest.approx(np.add(mass.center, [0.1, 0.2, 0]))
    assert state.angular_velocity == pytest.approx([0, 0, 3])
    assert state.orientation[1:3] == pytest.approx(0)


def test_held_bodies_keep_their_spin():
    """Locked axes carry the torque that an unbalanced wheel asks for."""
    state = moved(body(omega=(1, 1, 0)), mass_of(BRICK), 0.3, steady=True)
    assert state.angular_velocity == pytest.approx([1, 1, 0])
    assert state.orientation == pytest.approx(turned(STILL, np.array([0.3, 0.3, 0])))


def test_placed_is_as_drawn_at_the_start_and_moves_with_the_body():
    mass = mass_of(BRICK)
    points = np.random.default_rng(5).uniform(-1, 1, (40, 3))
    start = placed(BRICK, mass, body(mass.center))
    assert start.distance(points) == pytest.approx(BRICK.distance(points), abs=1e-15)
    q = turned(STILL, np.array([0.2, 0.5, -0.3]))
    R = Pose(orientation=q).rotation
    later = placed(BRICK, mass, body((1, 2, 3), orientation=q))
    assert later.distance(points @ R.T - R @ mass.center + [1, 2, 3]) == pytest.approx(BRICK.distance(points))


def test_a_thin_rod_tumbles_end_over_end():
    """Its moments differ 3000-fold, which must cost neither accuracy nor time."""
    mass = mass_of(Cylinder((0, 0, -0.5), (0, 0, 0.5), 0.005))
    state = body(omega=(3.0, 0, 0.1))
    L, energy = momentum(mass, state)
    for _ in range(100):
        state = moved(state, mass, 1 / 24)
    now, kinetic = momentum(mass, state)
    assert now == pytest.approx(L, abs=1e-12 * np.linalg.norm(L))
    assert kinetic == pytest.approx(energy, rel=1e-9)
    assert np.linalg.norm(state.angular_velocity) == pytest.approx(np.hypot(3, 0.1), rel=1e-6)


def test_a_ball_has_no_preferred_axis():
    mass = mass_of(Sphere((0, 0, 0), 0.3))
    state = moved(body(omega=(1, -2, 0.5)), mass, 0.2)
    assert state.angular_velocity == pytest.approx([1, -2, 0.5], rel=1e-12)
