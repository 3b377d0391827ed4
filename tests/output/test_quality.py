"""Pictures by rays of light: water bends them, smoke scatters them, and without Mitsuba it is said what is missing."""

import sys

import matplotlib.image
import numpy as np
import pytest

import paddlewheel.run
from falling import Falling
from paddlewheel import Box, Cylinder, Liquid, RigidBody, Scene, Simulation, Smoke, Solid, Sphere
from paddlewheel.cli import main
from paddlewheel.output import quality
from paddlewheel.output.camera import View
from paddlewheel.output.quality import QualityPainter
from paddlewheel.output.water import TO_SUN

VIEW = View(pixels=(128, 96))


def drawn(path, scene, view=VIEW, samples=24):
    QualityPainter(scene, view, samples).draw(path, Simulation(scene).state)
    return matplotlib.image.imread(path)[..., :3]


def test_without_mitsuba_it_is_said_before_anything_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)
    assert main(["run", "dam-break", "--cells", "8", "--frames", "1"]) == 0
    monkeypatch.setitem(sys.modules, "mitsuba", None)
    assert main(["render", "out/dam-break", "--quality"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "paddlewheel: error: --quality needs Mitsuba 3: pip install 'paddlewheel[quality]'"
    assert not list(tmp_path.rglob("*.png"))


def test_the_sun_stands_where_it_should():
    """Mitsuba looks a direction v up at column atan2(v.x, −v.z)/2π and row arccos(v.y)/π."""
    light = quality._sky(1.0, 50.0).sum(axis=-1)
    row, column = np.unravel_index(light.argmax(), light.shape)
    rows, columns = light.shape
    expected = np.arccos(TO_SUN[1]) / np.pi * rows, np.arctan2(TO_SUN[0], -TO_SUN[2]) / (2 * np.pi) % 1 * columns
    assert (row + 0.5, column + 0.5) == pytest.approx(expected, abs=1)


def test_single_pixels_that_are_no_numbers_are_filled():
    image = np.ones((40, 40, 3), np.float32)
    image[3, 4, 1] = np.nan
    assert (quality._without_holes(image) == 1).all()
    image[:10] = np.nan
    with pytest.raises(ValueError, match="400 of 1600 pixels"):
        quality._without_holes(image)


def test_a_wrong_number_of_rays_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["render", "out/a", "--quality", "--samples", "0"])
    assert "whole number from 1" in capsys.readouterr().err


def test_planes_are_refused():
    pytest.importorskip("mitsuba")
    scene = Scene((1, 1, 1 / 8), (8, 8, 1), items=[Liquid(Box((0, 0, 0), (1, 0.5, 1)))])
    with pytest.raises(ValueError, match="is for 3-D scenes"):
        QualityPainter(scene)


def _middles(image) -> tuple[float, float]:
    """Where along the picture what is orange is: the tip of a post, above water, and its foot, under it."""
    red, _, blue = np.moveaxis(image, -1, 0)
    rows, columns = np.nonzero(red > blue + 0.15)
    top, bottom = rows.min(), rows.max()
    upper, lower = rows < top + 0.25 * (bottom - top), rows > bottom - 0.4 * (bottom - top)
    return columns[upper].mean(), columns[lower].mean()


@pytest.mark.slow
def test_water_bends_light(tmp_path, monkeypatch):
    """A post behind water is broken at the surface; behind what bends no light it is straight."""
    pytest.importorskip("mitsuba")
    post = RigidBody(Cylinder((0.4, 0.02, 0.25), (0.4, 0.98, 0.25), 0.05), 1000.0)
    scene = Scene((1, 1, 1), 16, items=[Liquid(Box((0, 0, 0), (1, 0.6, 1))), post])
    view = View(eye=(3.5, 0.7, 3.5), at=(0.45, 0.5, 0.4), angle=20, pixels=(128, 96))
    upper, lower = _middles(drawn(tmp_path / "bent.png", scene, view))
    monkeypatch.setitem(quality._WATER, "int_ior", 1.0001)
    straight = _middles(drawn(tmp_path / "straight.png", scene, view))
    assert abs(straight[0] - straight[1]) < 2
    assert abs(upper - straight[0]) < 1.5
    assert abs(lower - straight[1]) > 4


@pytest.mark.slow
def test_a_solid_throws_its_shadow_away_from_the_sun(tmp_path):
    pytest.importorskip("mitsuba")
    drop = Liquid(Sphere((0.9, 0.9, 0.9), 0.09))
    scene = Scene((1, 1, 1), 16, items=[drop, Solid(Box((0.4, 0, 0.4), (0.6, 0.6, 0.6)))])
    brightness = drawn(tmp_path / "a.png", scene).mean(axis=-1)
    camera = VIEW.camera((1, 1, 1))
    away = np.array([TO_SUN[0], 0, TO_SUN[2]]) * 0.3 / TO_SUN[1]
    spots = camera.seen(np.array([(0.5, 0, 0.5) - away - 0.1 * away / 0.3, (0.5, 0, 0.5) + away + 0.3 * away]))
    dark, bright = (brightness[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2].mean() for x, y in spots)
    assert dark < 0.9 * bright


@pytest.mark.slow
def test_smoke_is_bright_before_a_dark_floor(tmp_path):
    pytest.importorskip("mitsuba")
    scene = Scene((1, 1, 1), 16, items=[Smoke(Sphere((0.5, 0.4, 0.5), 0.25))])
    brightness = drawn(tmp_path / "a.png", scene, samples=16).mean(axis=-1)
    x, y = VIEW.camera((1, 1, 1)).seen(np.array([[0.5, 0.4, 0.5]]))[0].astype(int)
    assert brightness[y - 4 : y + 5, x - 4 : x + 5].mean() > 1.5 * brightness[:10].mean()
