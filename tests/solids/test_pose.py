"""Poses: where a body frame is, and the velocity a motion implies at any point."""

import numpy as np
import pytest

from paddlewheel.solids.pose import DIFFERENCE, Pose, pose_at

NAN = float("nan")


def about(axis, angle):
    axis = np.asarray(axis) / np.linalg.norm(axis)
    return (np.cos(angle / 2), *(np.sin(angle / 2) * axis))


def tumble(t):
    """Turns about a moving axis, on a curved path: nothing vanishes."""
    w1, *v1 = about((1, 2, 3), 1.0 + 3 * t + t * t)
    w2, *v2 = about((-1, 0, 1), np.sin(2 * t))
    v = w1 * np.array(v2) + w2 * np.array(v1) + np.cross(v1, v2)
    return Pose((np.cos(t), t * t, 1 + np.sin(3 * t)), (w1 * w2 - np.dot(v1, v2), *v))


@pytest.fixture
def points():
    return np.random.default_rng(3).uniform(-2, 2, (50, 3))


def test_identity_leaves_points_where_they_are(points):
    assert np.array_equal(Pose().to_world(points), points)


def test_body_and_world_are_inverse(points):
    pose = tumble(0.7)
    assert pose.to_body(pose.to_world(points)) == pytest.approx(points, abs=1e-14)
    assert pose.rotation @ pose.rotation.T == pytest.approx(np.eye(3), abs=1e-15)
    assert np.linalg.det(pose.rotation) == pytest.approx(1)


def test_quarter_turn_about_y_takes_z_to_x():
    pose = Pose((0, 0, 0), about((0, 1, 0), np.pi / 2))
    assert pose.to_world(np.array([[0.0, 0.0, 1.0]])) == pytest.approx(np.array([[1.0, 0.0, 0.0]]))


@pytest.mark.parametrize("time", [0.0, 0.5 * DIFFERENCE, DIFFERENCE, 0.3, 2.0])
def test_velocity_is_that_of_material_points(time, points):
    """v(x) is the rate of R(t) x_body + position(t), here by a wider, sixth-order difference."""
    pose = pose_at(tumble, time)
    step, weights = 1e-3, {-3: -1, -2: 9, -1: -45, 1: 45, 2: -9, 3: 1}
    rate = sum(w * tumble(time + k * step).to_world(points) for k, w in weights.items()) / (60 * step)
    assert pose.velocity_at(pose.to_world(points)) == pytest.approx(rate, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("omega", [1e-3, 1.0, 100.0])
def test_steady_rotation(omega):
    pose = pose_at(lambda t: Pose((0, 0, 0), about((0, 0, 1), omega * t)), 10.0)
    assert pose.angular_velocity == pytest.approx((0, 0, omega), rel=1e-6, abs=1e-6 * omega)


def test_a_quaternion_may_change_sign():
    """q and −q are the same rotation; a motion may jump between them."""
    flips = pose_at(lambda t: Pose((0, 0, 0), np.sign(1.0 - t + 1e-9) * np.array(about((0, 0, 1), 2 * t))), 1.0)
    assert flips.angular_velocity == pytest.approx((0, 0, 2), rel=1e-6)


def test_given_velocities_are_kept():
    pose = pose_at(lambda t: Pose((t, 0, 0), velocity=(5, 0, 0)), 1.0)
    assert pose.velocity == (5, 0, 0)
    assert pose.angular_velocity == (0, 0, 0)


def test_motion_is_not_asked_for_times_before_the_start():
    asked = []
    pose = pose_at(lambda t: asked.append(t) or Pose((np.interp(t, [0, 1], [0, 3]), 0, 0)), 0.0)
    assert min(asked) == 0
    assert pose.velocity == pytest.approx((3, 0, 0))


BAD = {
    "NaN position": (lambda t: Pose((0, NAN, 0)), r"items\[1\]: motion\(0.25\): Pose: position=\(0, nan, 0\)"),
    "NaN rotation": (lambda t: Pose((0, 0, 0), (NAN, 0, 0, 0)), r"motion\(0.25\): Pose: orientation=\(nan, 0, 0, 0\)"),
    "not a rotation": (lambda t: Pose((0, 0, 0), (1, 1, 0, 0)), r"motion\(0.25\): Pose: orientation=.*length 1.414214"),
    "no rotation": (lambda t: Pose((0, 0, 0), (0, 0, 0, 0)), r"motion\(0.25\): Pose: orientation=.*length 0"),
    "NaN velocity": (lambda t: Pose((0, 0, 0), velocity=(0, 0, NAN)), r"motion\(0.25\): Pose: velocity=\(0, 0, nan\)"),
    "NaN spin": (lambda t: Pose(angular_velocity=(0, 0, NAN)), r"motion\(0.25\): Pose: angular_velocity=\(0, 0, nan\)"),
    "a position": (lambda t: (0, 0, 0), r"motion\(0.25\) returned \(0, 0, 0\), expected a Pose"),
    "nothing": (lambda t: None, r"motion\(0.25\) returned None, expected a Pose"),
    "NaN a moment later": (lambda t: Pose((0 if t <= 0.25 else NAN, 0, 0)), r"motion\(0.25001\): Pose: position"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_motions_name_solid_time_and_value(name):
    motion, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        pose_at(motion, 0.25, "items[1]")
