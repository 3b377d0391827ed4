"""Pictures of frames: what is in them, and what is said if they cannot be made."""

import sys

import matplotlib.image
import numpy as np
import pytest

import paddlewheel.run
from falling import Falling
from paddlewheel.cli import main
from paddlewheel.items import Liquid, RigidBody, Solid
from paddlewheel.output import camera, canvas, render, render_liquid
from paddlewheel.output.picture import MissingExtraError, draw_sheet
from paddlewheel.output.video import write_video
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import Particles

POOL = Liquid(HalfSpace((0, 0.5, 0), (0, 1, 0)))


def drawn(path, scene):
    """Draw the start of a scene, with four particles in each liquid cell; its pixels (rows, columns, 3)."""
    stepper = Falling(scene)
    state = stepper.start()
    centres, quarter = scene.grid.cell_points()[state.phi < 0], 0.25 * scene.grid.h
    around = [(dx, dy, 0) for dx in (-quarter, quarter) for dy in (-quarter, quarter)]
    state.particles = Particles.at(centres[:, None] + np.array(around), (0, 0, 0))
    render.draw_frame(path, scene, stepper.boundary(0.0).phi, state)
    return without_clock(path)


def without_clock(path):
    pixels = matplotlib.image.imread(path)[..., :3].copy()
    pixels[:50, -200:] = 1.0
    return pixels


def is_water(pixels):
    red, _, blue = np.moveaxis(pixels, -1, 0)
    return blue - red > 0.18  # the sky: 0.12


def test_a_plane_shows_particles_and_solids_where_they_are(tmp_path):
    ball = Solid(Sphere((1.0, 0.5, 1 / 32), 0.25))
    scene = Scene((2, 1, 1 / 16), (32, 16, 1), items=[POOL, ball])
    pixels = drawn(tmp_path / "a.png", scene)
    assert pixels.shape == (640, 1280, 3)
    water = is_water(pixels)
    assert not water[:300].any()  # row 0 is the top
    assert water[340:, :400].mean() > 0.5
    ball = pixels[240:400, 560:720]
    assert np.ptp(ball, axis=(0, 1)).max() < 0.01
    assert not is_water(ball).any()


def test_a_plane_shows_bodies_that_are_only_carried(tmp_path):
    """No wall of the boundary is where they are."""
    raft = RigidBody(Box((0.75, 0.25, -1), (1.25, 0.75, 1)), density=500.0, one_way=True)
    scene = Scene((2, 1, 1 / 16), (32, 16, 1), items=[POOL, raft])
    render.Painter(scene).draw(tmp_path / "a.png", paddlewheel.run.Simulation(scene).state)
    pixels = without_clock(tmp_path / "a.png")
    assert np.ptp(pixels[200:440, 520:760], axis=(0, 1)).max() < 0.01
    assert is_water(pixels[500:]).mean() > 0.5


@pytest.mark.parametrize("size", [(1, 1), (3, 1), (1, 3), (100, 1), (0.37, 0.21)])
def test_pictures_have_an_even_number_of_pixels(size):
    width, height = canvas.pixels_of(size)
    assert width % 2 == height % 2 == 0
    assert 0 < width <= camera.SIZE[0]
    assert 0 < height <= camera.SIZE[1]


def test_space_shows_the_surface_and_the_solids(space, tmp_path):
    empty = drawn(tmp_path / "empty.png", Scene((2, 1, 1), 16, items=[Liquid(Box((0, 0.9, 0), (2, 1, 1)))]))
    pool = drawn(tmp_path / "pool.png", Scene((2, 1, 1), 16, items=[POOL]))
    post = Solid(Box((0.8, 0, 0.4), (1.2, 1, 0.6)))
    with_post = drawn(tmp_path / "post.png", Scene((2, 1, 1), 16, items=[POOL, post]))
    assert pool.shape == (720, 1280, 3)
    assert is_water(pool)[400:].sum() > 100_000
    assert is_water(empty)[400:].sum() < 1000  # that hangs under the ceiling
    hidden = is_water(pool) & ~is_water(with_post)
    assert 1000 < hidden.sum() < 40_000
    edges = [is_water(pool)[0], is_water(pool)[-1], is_water(pool)[:, 0], is_water(pool)[:, -1]]
    assert not np.concatenate(edges).any()  # all of the domain is in the picture


def test_the_near_walls_of_a_tank_do_not_hide_what_is_in_it(space, tmp_path):
    tank = Solid(~Box((0.2, 0.2, 0.2), (0.8, 0.8, 0.8)))
    full = drawn(tmp_path / "tank.png", Scene((1, 1, 1), 16, items=[POOL, tank]))
    above = Liquid(Box((0, 0.9, 0), (1, 1, 1)))
    empty = drawn(tmp_path / "empty.png", Scene((1, 1, 1), 16, items=[above, tank]))
    assert (np.abs(full - empty).max(axis=-1) > 0.1).sum() > 30_000


def test_no_liquid_is_a_picture_too(space, tmp_path):
    scene = Scene((1, 1, 1), 8, items=[POOL])
    state = Falling(scene).start()
    state.phi[:] = 1.0
    render.draw_frame(tmp_path / "a.png", scene, np.ones(scene.grid.node_shape, np.float32), state)
    assert not is_water(without_clock(tmp_path / "a.png")).any()


def test_a_state_of_another_grid_is_refused(tmp_path):
    scene = Scene((1, 1, 1), 8, items=[POOL])
    state = Falling(Scene((1, 1, 1), 4, items=[POOL])).start()
    with pytest.raises(ValueError, match=r"state has \(4, 4, 4\) cells, the scene \(8, 8, 8\)"):
        render.draw_frame(tmp_path / "a.png", scene, np.ones(scene.grid.node_shape), state)


def test_a_film_has_every_picture(tmp_path):
    import imageio_ffmpeg

    pictures = []
    for n in range(10):
        pictures.append(tmp_path / f"{n}.png")
        matplotlib.image.imsave(pictures[-1], np.full((64, 96, 3), n / 10))
    write_video(tmp_path / "film.mp4", pictures, fps=5)
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))
    assert count == 10
    assert seconds == pytest.approx(2.0, abs=0.01)
    odd = tmp_path / "odd.png"
    matplotlib.image.imsave(odd, np.zeros((63, 95, 3)))
    with pytest.raises(ValueError, match=r"film.mp4: ffmpeg: .*(width|height) not divisible by 2"):
        write_video(tmp_path / "film.mp4", [odd], fps=5)


@pytest.mark.parametrize("count", [1, 2, 7, 12])
def test_a_sheet_of_any_number(count, tmp_path):
    matplotlib.image.imsave(tmp_path / "a.png", np.zeros((36, 64, 3)))
    draw_sheet(tmp_path / "sheet.png", [tmp_path / "a.png"] * count)
    pixels = matplotlib.image.imread(tmp_path / "sheet.png")[..., :3]
    black = (pixels.max(axis=-1) < 0.02).mean()
    assert black > 0.5


SCENE = """
import paddlewheel as pw

def scene(cells=16, height=0.5):
    return pw.Scene(size=(2, 1, 2 / cells), cells=(cells, cells // 2, 1), items=[
        pw.Liquid(pw.Box((0, 0, 0), (1, height, 1))), pw.Solid(pw.Sphere((1.5, 0.2, 0.06), 0.2)),
    ])
"""


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A run of three frames of a file."""
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flat.py").write_text(SCENE)
    assert main(["run", "flat.py", "--frames", "3", "--set", "height=0.8"]) == 0
    return tmp_path / "out" / "flat"


def test_render_draws_every_frame_a_sheet_and_a_film(cached, capsys):
    capsys.readouterr()
    assert main(["render", "out/flat", "--sheet", "--video"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines() == [
        "out/flat/flat.0001.png … flat.0003.png", "out/flat/flat.sheet.png", "out/flat/flat.mp4",
    ]  # fmt: skip
    assert sorted(p.name for p in cached.glob("*.png")) == [f"flat.000{n}.png" for n in (1, 2, 3)] + ["flat.sheet.png"]
    assert (cached / "flat.mp4").stat().st_size > 1000


def test_render_leaves_out_a_damaged_frame_and_says_so(cached, capsys):
    frames = sorted(cached.glob("*.npz"))
    frames[0].write_bytes(frames[0].read_bytes()[:1000])
    assert main(["render", "out/flat", "--sheet"]) == 0
    assert "warning: frame 1 is left out: out/flat/flat.0001.npz: damaged" in capsys.readouterr().err
    assert sorted(p.name for p in cached.glob("*.png")) == ["flat.0002.png", "flat.0003.png", "flat.sheet.png"]
    for frame in frames:
        frame.write_bytes(b"")
    assert main(["render", "out/flat"]) == 2
    assert "no frame to draw is whole, of 1-3" in capsys.readouterr().err


def test_render_draws_some_frames_elsewhere(cached, tmp_path, monkeypatch):
    monkeypatch.chdir(cached)  # the scene is found from anywhere
    assert main(["render", ".", "--frames", "2-9", "--out", "../pictures"]) == 0
    assert sorted(p.name for p in (tmp_path / "out" / "pictures").iterdir()) == ["flat.0002.png", "flat.0003.png"]


def test_run_draws_if_it_is_told_to(cached):
    assert main(["run", "flat.py", "--frames", "2", "--overwrite", "--render"]) == 0
    assert sorted(p.name for p in cached.glob("*.png")) == ["flat.0001.png", "flat.0002.png", "flat.sheet.png"]


def test_an_edited_scene_is_warned_of_or_refused(cached, tmp_path, capsys):
    (tmp_path / "flat.py").write_text(SCENE.replace("0.2), ", "0.3), ").replace("(1.5, 0.2", "(1.4, 0.2"))
    assert main(["render", "out/flat", "--frames", "1"]) == 0
    assert capsys.readouterr().err.count("warning: flat.py has changed since the run") == 1
    (tmp_path / "flat.py").write_text(SCENE.replace("cells=16", "cells=32"))
    assert main(["render", "out/flat"]) == 2
    assert "flat.py: has (32, 16, 1) cells, the run in out/flat (16, 8, 1)" in capsys.readouterr().err
    (tmp_path / "flat.py").unlink()
    assert main(["render", "out/flat"]) == 2
    assert "flat.py: No such file" in capsys.readouterr().err


def test_no_such_frames_are_named(cached, capsys):
    assert main(["render", "out/flat", "--frames", "7-8"]) == 2
    assert "no frame to draw there, it has frames 1 to 3" in capsys.readouterr().err


EXTRAS = {
    "picture": ("matplotlib", ["render", "out/flat"]),
    "video": ("imageio_ffmpeg", ["render", "out/flat", "--video"]),
    "render": ("pyvista", ["run", "dam-break", "--cells", "8", "--render"]),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_said_before_anything_is_done(extra, cached, tmp_path, monkeypatch, capsys):
    package, line = EXTRAS[extra]
    monkeypatch.setitem(sys.modules, package, None)
    before = sorted(tmp_path.rglob("*"))
    assert main(line) == 2
    assert f"pip install 'paddlewheel[{extra}]'" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_without_opengl_it_says_what_to_install(monkeypatch):
    def missing(name):
        raise OSError("cannot open shared object file")

    monkeypatch.setattr(render_liquid.ctypes, "CDLL", missing)
    monkeypatch.setattr(render_liquid.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    pytest.importorskip("pyvista")
    with pytest.raises(MissingExtraError, match="libegl1"):
        render_liquid.require_pyvista()
