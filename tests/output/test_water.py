"""Where scenes are seen from, and how much light comes through liquid."""

import matplotlib.image
import numpy as np
import pytest

from paddlewheel import Box, Cylinder, Liquid, RigidBody, Scene, Simulation, Smoke
from paddlewheel.cli import main
from paddlewheel.output.camera import DEFAULT_VIEW, Camera, View
from paddlewheel.output.render import Painter
from paddlewheel.output.water import WATER, shaded, sky
from paddlewheel.types import Grid

SIZE = (2.0, 1.0, 1.0)
MIDDLE = (1.0, 0.5, 0.5)


def test_a_camera_looks_where_it_should():
    camera = View(eye=(3, 2, 4), at=(0.5, 0.25, 0.5), angle=40, pixels=(400, 300)).camera(SIZE)
    assert camera.seen(np.array([[0.5, 0.25, 0.5]])) == pytest.approx(np.array([[200, 150]]))
    edge = camera.position + camera.look + np.tan(np.radians(20)) * camera.up
    assert camera.seen(edge[None]) == pytest.approx(np.array([[200, 0]]), abs=1e-6)
    assert camera.right[1] == pytest.approx(0)
    assert np.isnan(camera.seen(np.array([[6, 4, 8]]))).all()  # behind it


@pytest.mark.parametrize("pixels", [(1280, 720), (300, 900)])
@pytest.mark.parametrize("orbit", [0, 90, 200])
def test_from_afar_all_of_the_domain_is_seen(pixels, orbit):
    camera = View(pixels=pixels, orbit=orbit).camera((1, 1, 1))
    corners = np.array(list(np.ndindex(2, 2, 2)), float)
    if orbit % 90 == 0:
        assert ((camera.seen(corners) > 0) & (camera.seen(corners) < pixels)).all()
    assert camera.seen(np.array([[0.5, 0.5, 0.5]])) == pytest.approx(0.5 * np.array([pixels]))


def test_going_round_keeps_height_and_distance():
    start, half, whole = (View(eye=(3, 2, 4), at=MIDDLE, orbit=turn).camera(SIZE) for turn in (0, 180, 360))
    assert half.position == pytest.approx([-1, 2, -3])
    assert whole.position == pytest.approx(start.position)
    quarter = View(eye=(1, 1, 3), at=(1, 1, 1), orbit=90).camera(SIZE)
    assert quarter.position == pytest.approx([3, 1, 1])


def test_a_camera_may_look_straight_down_but_not_at_itself():
    down = Camera.towards((1, 5, 1), (1, 0, 1))
    assert down.up == pytest.approx([0, 0, -1])
    with pytest.raises(ValueError, match="where it looks"):
        Camera.towards((1, 2, 3), (1, 2, 3))


def lit(depth, points, normals, camera):
    """Colours at points of liquid so deep, in an empty unit cube."""
    grid = Grid((32, 32, 32), 1 / 32)
    height = grid.cell_points()[..., 1]
    phi = np.float32(height - depth)
    return shaded(np.array(points, float), np.array(normals, float), camera, grid, phi, np.ones((33, 33, 33)), WATER)


@pytest.mark.parametrize("depth", [0.25, 0.5, 0.75])
def test_light_fades_with_depth_as_it_should(depth):
    """Straight down: 1 − (1 − F₀) · mean of 0.85 exp(−σ depth), by the part of a step."""
    above = Camera.towards((0.5, 9, 0.5), (0.5, 0, 0.5))
    opacity = lit(depth, [(0.5, depth, 0.5)], [(0, 1, 0)], above)[0, 3] / 255
    expected = [1 - (1 - 0.02006) * 0.85 * np.exp(-WATER[0] * d).mean() for d in (depth - 1 / 32, depth + 1 / 32)]
    assert min(expected) - 0.005 < opacity < max(expected) + 0.005


def test_water_mirrors_at_a_low_angle_and_is_clear_from_above():
    grazing = lit(0.5, [(0.5, 0.5, 0.5)], [(0, 1, 0)], Camera.towards((0.5, 0.51, 9), (0.5, 0.5, 0.5)))[0]
    above = lit(0.03, [(0.5, 0.03, 0.5)], [(0, 1, 0)], Camera.towards((0.5, 9, 0.5), (0.5, 0, 0.5)))[0]
    assert grazing[3] > 250
    mirrored = 255 * np.clip(sky(np.array([[0, 0.001, -1.0]])), 0, 1)[0] ** (1 / 2.2)
    assert grazing[:3] == pytest.approx(mirrored, abs=12)
    assert above[3] < 80


def test_what_is_behind_a_solid_is_not_counted():
    grid = Grid((32, 32, 32), 1 / 32)
    points, normals = np.array([[0.5, 0.75, 0.5]]), np.array([[0, 1.0, 0]])
    camera, phi = Camera.towards((0.5, 9, 0.5), (0.5, 0, 0.5)), np.float32(grid.cell_points()[..., 1] - 0.75)
    solid = np.broadcast_to(np.arange(33)[None, :, None] / 32 - 0.65, (33, 33, 33))
    free = shaded(points, normals, camera, grid, phi, np.ones((33, 33, 33)), WATER)[0, 3]
    assert shaded(points, normals, camera, grid, phi, solid, WATER)[0, 3] < free - 50


def test_liquid_that_reaches_into_a_wall_is_as_deep_as_before_it():
    """From the side: the wall, half a cell of which the surface is behind, and then liquid up to the other end."""
    grid = Grid((32, 32, 32), 1 / 32)
    camera, phi = Camera.towards((0.5, 0.5, 9), (0.5, 0.5, 0)), np.full(grid.shape, -1, np.float32)
    wall = np.broadcast_to(0.75 - np.arange(33) / 32, (33, 33, 33))
    at, normals = np.array([[0.5, 0.5, 0.765]]), np.array([[0, 0, 1.0]])
    behind = shaded(at, normals, camera, grid, phi, wall, WATER)[0]
    free = shaded(at, normals, camera, grid, phi, np.ones((33, 33, 33)), WATER)[0]
    assert behind.astype(int) == pytest.approx(free.astype(int), abs=6)


def pixels_of(path):
    image = matplotlib.image.imread(path)[..., :3].copy()
    image[:40, -120:] = 1.0  # the clock
    return image


def test_bodies_are_seen_under_water_in_their_colours(space, tmp_path):
    water = Liquid(Box((0, 0, 0), (1, 0.8, 1)))
    ball = RigidBody(Cylinder((0.5, 0.3, 0.3), (0.5, 0.3, 0.7), 0.2), 1000.0)
    scene = Scene((1, 1, 1), 16, items=[water, ball])
    Painter(scene, View(pixels=(320, 240))).draw(tmp_path / "a.png", Simulation(scene).state)
    red, _, blue = np.moveaxis(pixels_of(tmp_path / "a.png"), -1, 0)
    warm = red > blue + 0.1
    assert warm.sum() > 500
    y, x = np.argwhere(warm).mean(axis=0)
    expected = DEFAULT_VIEW._replace(pixels=(320, 240)).camera((1, 1, 1)).seen(np.array([[0.5, 0.3, 0.5]]))[0]
    assert (x, y) == pytest.approx(expected, abs=12)


@pytest.mark.parametrize("kind", ["liquid", "smoke"])
def test_render_takes_a_camera(kind, space, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    item = "pw.Liquid(BOX)" if kind == "liquid" else "pw.Smoke(BOX)"
    (tmp_path / "a.py").write_text(
        "import paddlewheel as pw\nBOX = pw.Box((0, 0, 0), (0.25, 1, 1))\n"
        f"def scene():\n    return pw.Scene((1, 1, 1), 8, gravity=(0, 0, 0), items=[{item}])\n"
    )
    assert main(["run", "a.py", "--frames", "2"]) == 0
    camera = ["--size", "160x120", "--from", "0.5,0.5,4", "--fov", "20"]
    assert main(["render", "out/a", *camera, "--orbit", "180"]) == 0
    first, last = (pixels_of(tmp_path / "out" / "a" / f"a.000{n}.png") for n in (1, 2))
    assert first.shape == last.shape == (120, 160, 3)
    contrast = [np.abs(image[50:110] - image[50:110, ::-1]).mean() for image in (first, last)]
    assert min(contrast) > 0.01  # one half is full: on the left, and seen from behind, on the right
    assert np.abs(first[50:110] - last[50:110]).mean() > 0.01
    assert main(["render", "out/a", "--frames", "1", *camera, "--at", "0.5,0.5,9"]) == 0
    away = pixels_of(tmp_path / "out" / "a" / "a.0001.png")
    assert np.ptp(away[50:], axis=1).max() < 0.03  # looking away from it, sky is all there is


def test_a_camera_within_smoke_sees_smoke_everywhere(tmp_path):
    scene = Scene((1, 1, 1), 8, items=[Smoke(Box((0, 0, 0), (1, 1, 1)))])
    view = View(eye=(0.5, 0.5, 0.5), at=(0.5, 0.5, 0), pixels=(80, 60))
    Painter(scene, view).draw(tmp_path / "a.png", Simulation(scene).state)
    assert pixels_of(tmp_path / "a.png")[10:, :40].mean() > 0.5  # the background is dark


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--size", "1280"], "1280x720"),
        (["--size", "81x60"], "even numbers"),
        (["--from", "1,2"], "three numbers"),
        (["--at", "1,2,nan"], "expected a number"),
        (["--fov", "0"], "degrees from 1 to 150"),
        (["--orbit", "round"], "expected a number"),
    ],
)
def test_a_wrong_camera_is_named(wrong, said, capsys):
    with pytest.raises(SystemExit):
        main(["render", "out/a", *wrong])
    assert said in capsys.readouterr().err


def test_a_plane_is_seen_from_the_front_only(tmp_path):
    scene = Scene((1, 1, 1 / 8), (8, 8, 1), items=[Liquid(Box((0, 0, 0), (1, 0.5, 1)))])
    with pytest.raises(ValueError, match="seen from the front"):
        Painter(scene, View(eye=(1, 1, 1)))
    Painter(scene, View(pixels=(100, 60))).draw(tmp_path / "a.png", Simulation(scene).state)
    assert matplotlib.image.imread(tmp_path / "a.png").shape[:2] == (60, 60)
