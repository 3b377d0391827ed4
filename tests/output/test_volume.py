"""Rays through smoke: exact where the integral is known, and the same however empty space is passed."""

import os
import subprocess
import sys

import numpy as np
import pytest

from paddlewheel.output.camera import SIZE, Camera
from paddlewheel.output.volume import Volume, sunlight, with_ends

SHAPE = (12, 10, 8)


def nodes(shape=SHAPE):
    return np.stack(np.meshgrid(*(np.arange(n + 1.0) for n in shape), indexing="ij"), axis=-1)


def volume(extinction, solid=None, colour=(0.2, 0.5, 0.8)):
    radiance = np.broadcast_to(colour, (*extinction.shape, 3))
    return Volume.of(extinction, radiance, np.full([n + 1 for n in extinction.shape], 1e3) if solid is None else solid)


def ball(center=(6, 5, 4), radius=2.0):
    return np.linalg.norm(nodes() - center, axis=-1) - radius


def cloud(seed=3):
    """Thick smoke in some corners, nothing elsewhere."""
    rng = np.random.default_rng(seed)
    out = rng.random(SHAPE)
    out[3:9] = 0
    out[:, 7:, :3] = 0
    return out


def fan(count=300, seed=5):
    """Rays from a point beside the box to points in it."""
    origin = np.array([20.0, 14.0, 30.0])
    rays = np.array(SHAPE) * np.random.default_rng(seed).random((count, 3)) - origin
    return origin, rays / np.linalg.norm(rays, axis=1, keepdims=True)


def through(rays, origin):
    """How far rays go through the box."""
    one, other = -origin / rays, (np.array(SHAPE) - origin) / rays
    return np.minimum(np.maximum(one, other).min(axis=1), 1e9) - np.minimum(one, other).max(axis=1)


def test_even_smoke_lets_through_what_the_law_of_beer_says():
    origin, rays = fan()
    traced = volume(np.full(SHAPE, 0.3)).trace(origin, rays, np.full(len(rays), np.inf))
    left = np.exp(-0.3 * through(rays, origin))
    assert traced[:, 3] == pytest.approx(left, abs=5e-3)  # no further than 1/256
    for channel, colour in enumerate((0.2, 0.5, 0.8)):
        assert traced[:, channel] == pytest.approx(colour * (1 - traced[:, 3]), abs=1e-5)
    assert np.isinf(traced[:, 4]).all()


def test_a_ray_ends_where_it_is_told_to():
    origin, rays = np.array([-5.0, 5, 4]), np.array([[1.0, 0, 0]] * 3)
    traced = volume(np.full(SHAPE, 0.1)).trace(origin, rays, np.array([3.0, 9.0, 100.0]))
    assert traced[:, 3] == pytest.approx(np.exp([0, -0.4, -1.2]), rel=1e-5)


def test_a_ball_is_hit_where_it_is():
    """A ray through its middle, and one that misses it; smoke counts up to the hit."""
    origin, rays = np.array([-5.0, 5, 4]), np.array([[1.0, 0, 0], [0.97, 0.25, 0]])
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    traced = volume(np.full(SHAPE, 0.1), ball()).trace(origin, rays, np.full(2, np.inf))
    assert traced[0, 4] == pytest.approx(9.0, abs=0.05)
    assert traced[0, 3] == pytest.approx(np.exp(-0.1 * (traced[0, 4] - 5)), rel=1e-5)
    assert np.isinf(traced[1, 4])


def test_a_tank_is_looked_into():
    """A ray that begins in a solid leaves it, and hits the wall behind; in the solid there is no smoke."""
    origin, rays = np.array([-5.0, 5, 4]), np.array([[1.0, 0, 0]])
    traced = volume(np.full(SHAPE, 0.1), -ball(radius=3.0)).trace(origin, rays, np.array([np.inf]))
    assert traced[0, 4] == pytest.approx(14.0, abs=0.1)
    assert -np.log(traced[0, 3]) == pytest.approx(0.1 * 6, abs=0.1 * 0.7)  # to a step


def test_what_a_ray_never_leaves_is_cut_at_the_side():
    origin, rays = np.array([-5.0, 2.0, 4.0]), np.array([[1.0, -0.1, 0.0], [1.0, 0.7, 0.0]])
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    traced = volume(np.full(SHAPE, 0.1), nodes()[..., 1] - 6.0).trace(origin, rays, np.full(2, np.inf))
    assert traced[0] == pytest.approx([0, 0, 0, 1, 5 / rays[0, 0]], abs=1e-5)
    assert np.isinf(traced[1, 4])  # it comes out at the top


def rod(past, flush=0.0):
    """φ of a rod along x, from a bit beyond the first side to `past` the last, with the noise of rounding."""
    x, y, z = np.moveaxis(nodes(), -1, 0)
    around = np.hypot(y - 5, z - 4) - 2
    noise = flush * np.random.default_rng(2).standard_normal(x.shape)
    return np.maximum(around, np.maximum(-x - past, x - SHAPE[0] - past)) + noise


@pytest.mark.parametrize("past", [0.0, 2.0], ids=["ends there", "goes through"])
def test_a_rod_ends_at_the_sides_of_the_domain(past):
    """Seen from beyond its end, which is hit at the side."""
    rng = np.random.default_rng(4)
    end = np.stack([np.zeros(200), *([[5], [4]] + 1.0 * rng.uniform(-1, 1, (2, 200)))], axis=1)
    origin = np.array([-9.0, 8.0, 6.0])
    far = np.linalg.norm(end - origin, axis=1)
    solid = with_ends(rod(past, 1e-6))
    traced = volume(np.zeros(SHAPE), solid).trace(origin, (end - origin) / far[:, None], np.full(200, np.inf))
    assert traced[:, 4] == pytest.approx(far, abs=0.02)


def test_a_wall_that_reaches_the_rim_of_a_side_is_looked_through():
    """It ends at the side, where φ is zero but for rounding, which must not be seen as speckles."""
    noise = 1e-6 * np.random.default_rng(2).standard_normal(nodes().shape[:3])
    solid = with_ends(np.maximum(-nodes()[..., 0], nodes()[..., 0] - 2) + noise)
    origin, rays = np.array([-9.0, 5.0, 4.0]), np.random.default_rng(3).uniform(-0.1, 0.1, (200, 3))
    rays[:, 0] = 1
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    assert np.isinf(volume(np.zeros(SHAPE), solid).trace(origin, rays, np.full(200, np.inf))[:, 4]).all()


@pytest.mark.parametrize("solid", [None, ball()], ids=["no solid", "a ball"])
def test_empty_space_is_passed_without_a_trace(solid):
    """With nothing known to be empty, all steps are taken and nothing changes, to the last bit."""
    origin, rays = fan()
    quick = volume(cloud(), solid)
    slow = quick._replace(free=np.full_like(quick.free, -1))
    far = np.full(len(rays), np.inf)
    assert np.array_equal(quick.trace(origin, rays, far), slow.trace(origin, rays, far))


def test_no_smoke_at_all_is_clear():
    origin, rays = fan()
    traced = volume(np.zeros(SHAPE)).trace(origin, rays, np.full(len(rays), np.inf))
    assert (traced[:, :3] == 0).all()
    assert (traced[:, 3] == 1).all()


def test_pictures_do_not_depend_on_threads(on_threads):
    origin, rays = fan()
    far, seen = np.full(len(rays), np.inf), volume(cloud(), ball())
    one, two = (on_threads(n, seen.trace, origin, rays, far) for n in (1, 2))
    assert np.array_equal(one, two)


def test_sunlight_from_above_follows_the_law_of_beer():
    depth = SHAPE[1] - np.arange(SHAPE[1]) - 0.5
    light = sunlight(np.full(SHAPE, 0.2), (0, 1, 0))
    assert light == pytest.approx(np.broadcast_to(np.exp(-0.2 * depth)[:, None], SHAPE), rel=1e-5)


@pytest.mark.parametrize("to_sun", [(-0.7, 1, 0.45), (0.5, 2, -0.3)])
def test_a_low_sun_goes_a_longer_way(to_sun):
    """Far from the sides, even smoke has what it has along the slanted ray; shadows fall away from the sun."""
    extinction = np.full((60, 10, 60), 0.2)
    light = sunlight(extinction, to_sun)
    way = np.linalg.norm(to_sun) / to_sun[1] * (10 - np.arange(10) - 0.5)
    assert light[30, :, 30] == pytest.approx(np.exp(-0.2 * way), rel=1e-5)
    extinction[:] = 0
    extinction[30, 9, 30] = 5
    lost = 1 - sunlight(extinction, to_sun)[:, 0]
    x, z = (np.average(np.indices(lost.shape)[a], weights=lost) for a in (0, 1))
    assert (x, z) == pytest.approx((30 - 9 * to_sun[0] / to_sun[1], 30 - 9 * to_sun[2] / to_sun[1]), abs=1e-3)


def test_the_sun_shines_along_a_plane():
    light = sunlight(np.full((40, 6, 1), 0.2), (0, 1, 0.9))
    assert light[20, 0, 0] == pytest.approx(np.exp(-0.2 * 5.5), rel=1e-5)


@pytest.mark.parametrize("size", [(1, 1, 1), (0.5, 1, 0.5), (3, 1, 0.2)])
def test_the_camera_sees_all_of_the_domain(size):
    camera = Camera.at(size)
    corners = np.array(np.meshgrid(*((0, s) for s in size))).reshape(3, -1).T
    seen = camera.seen(corners)
    assert (seen > 0).all()
    assert (seen < SIZE).all()
    away = corners - camera.position
    assert camera.rays(seen) == pytest.approx(away / np.linalg.norm(away, axis=1, keepdims=True), abs=1e-9)


def test_plain_python_gives_the_same(tmp_path):
    """Numba does not say where an index runs out of bounds."""
    file = tmp_path / "plain.npy"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, __file__, str(file)], check=True, env=environment, timeout=120)
    assert everything() == pytest.approx(np.load(file), rel=1e-4, abs=1e-5)


def everything():
    origin, rays = fan(30)
    return volume(cloud(), ball()).trace(origin, rays, np.full(len(rays), np.inf))


if __name__ == "__main__":
    np.save(sys.argv[1], everything())
