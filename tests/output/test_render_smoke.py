"""Pictures of smoke: where it is, what hides it and what it hides, and that light falls from one side."""

import sys

import matplotlib.image
import numpy as np
import pytest

from paddlewheel import Box, Cylinder, RigidBody, Scene, Smoke, Solid, Sphere
from paddlewheel.cli import main
from paddlewheel.emitters import largest_given
from paddlewheel.measure import Solids
from paddlewheel.output import render
from paddlewheel.output.camera import Camera
from paddlewheel.types import Particles, State

FLAT = (1, 1, 1 / 32)


@pytest.fixture(autouse=True)
def without_opengl(monkeypatch):
    """Smoke needs no pyvista."""
    monkeypatch.setitem(sys.modules, "pyvista", None)


@pytest.fixture
def drawn(tmp_path):
    """drawn(scene, density, …): the pixels (rows, columns, 3), of smoke at density(x, y, z) or a number, and so on."""

    def draw(scene, density, temperature=0.0, markers=()):
        grid, everywhere = scene.grid, scene.grid.cell_points()
        fields = [f(*np.moveaxis(everywhere, -1, 0)) if callable(f) else f for f in (density, temperature)]
        density, temperature = (np.broadcast_to(f, grid.shape).astype(np.float32) for f in fields)
        boundary = Solids(grid, scene.items).measure(0.0)
        state = State(
            0.0, 0, grid.zeros_faces(), np.zeros(grid.shape), np.full(grid.shape, -1, np.float32),
            Particles.at(np.empty((0, 3)), (0, 0, 0)), grid.zeros_faces(), density=density, temperature=temperature,
            markers=np.array(markers, np.float32).reshape(-1, 3),
        )  # fmt: skip
        render.require(scene)
        render.draw_frame(tmp_path / "a.png", scene, boundary.phi, state)
        pixels = matplotlib.image.imread(tmp_path / "a.png")[..., :3].copy()
        pixels[:50, -200:] = 0.0  # the clock
        return pixels

    return draw


def scene_with(*items, size=FLAT, cells=32, **smoke):
    return Scene(size, cells, items=[Smoke(Box((0, 0, 0), (1, 1, 1)), **smoke), *items])


def puff(center, radius):
    """1 inside of a ball, 0 outside."""
    return lambda *x: sum((a - b) ** 2 for a, b in zip(x, center, strict=True)) < radius**2


def brightness(pixels):
    return pixels.mean(axis=-1)


def around(pixels, point, size=(1, 1, 1), reach=6):
    """The pixels about the place where a point of space is seen."""
    column, row = Camera.at(size).seen(np.array([point], float))[0].astype(int)
    return pixels[row - reach : row + reach, column - reach : column + reach]


def test_a_plane_is_bright_where_smoke_is(drawn):
    nothing, smoke = (drawn(scene_with(), density) for density in (0.0, puff((0.3, 0.7, 1 / 64), 0.2)))
    assert smoke.shape == (720, 720, 3)
    changed = brightness(smoke) - brightness(nothing)
    assert changed[180:250, 180:250].min() > 0.3  # row 0 is the top
    assert np.abs(changed[:, 420:]).max() == 0
    assert np.abs(changed[420:]).max() == 0


def test_a_plane_has_no_smoke_over_solids_and_no_gap_before_them(drawn):
    ball, body = Solid(Sphere((0.3, 0.5, 0), 0.2)), RigidBody(Box((0.7, 0.2, 0), (0.9, 0.6, 1)), density=1)
    scene = scene_with(ball, body)
    outside = Solids(scene.grid, scene.items).measure(0.0).phi[:-1, :-1, :1] > 0
    nothing, smoke = drawn(scene, 0.0), drawn(scene, outside)
    for rows, columns in ((slice(250, 470), slice(150, 280)), (slice(310, 550), slice(525, 625))):
        assert np.array_equal(smoke[rows, columns], nothing[rows, columns])
        assert np.ptp(smoke[rows, columns], axis=(0, 1)).max() < 0.01
    row = brightness(smoke)[360]
    assert row[365:490].min() > 0.75  # from the ball's outline to that of the body
    assert row[365:490].min() > row[430] - 0.1


@pytest.mark.parametrize(("size", "densities"), [(FLAT, (0, 0.2, 1)), ((1, 1, 1), (0, 0.02, 0.1))])
def test_thicker_smoke_hides_more(drawn, size, densities):
    """And by the scale of the scene, not by that of the frame."""
    scene = scene_with(size=size, cells=32 if size == FLAT else 16)
    inside = puff((0.5, 0.5, 0.5 * size[2]), 0.25)
    seen = [brightness(drawn(scene, lambda *x, d=d: d * inside(*x)))[330:390] for d in densities]
    middle = [rows[:, rows.shape[1] // 2 - 30 : rows.shape[1] // 2 + 30].mean() for rows in seen]
    assert np.diff(middle).min() > 0.05


@pytest.mark.parametrize("size", [FLAT, (1, 1, 1)])
def test_hot_is_red_and_cold_is_blue(drawn, size):
    scene = scene_with(size=size, cells=16 if size != FLAT else 32, temperature=200.0)
    excess = []
    for temperature in (-200, 0, 200):
        pixels = drawn(scene, puff((0.5, 0.5, 0.5 * size[2]), 0.25), temperature)
        middle = pixels[330:390, pixels.shape[1] // 2 - 30 : pixels.shape[1] // 2 + 30]
        excess.append((middle[..., 0] - middle[..., 2]).mean())
    assert excess[0] < -0.1
    assert abs(excess[1]) < 0.07
    assert excess[2] > 0.15


@pytest.mark.parametrize("size", [FLAT, (1, 1, 1)])
def test_no_smoke_is_a_picture_too(drawn, size):
    scene = scene_with(size=size, cells=32 if size == FLAT else 16, density=0.0)
    pixels = drawn(scene, 0.0)
    assert brightness(pixels).max() < 0.7  # edges of the box, if any
    assert np.median(brightness(pixels)) < 0.45


def test_a_plane_shows_markers(drawn):
    points = np.stack([np.linspace(0.2, 0.8, 20), np.full(20, 0.25), np.full(20, 1 / 64)], axis=1)
    for density in (0.0, 1.0):
        without, with_them = (drawn(scene_with(), density, markers=markers) for markers in ((), points))
        changed = np.abs(with_them - without).max(axis=-1) > 0.1
        assert 20 <= changed.sum() <= 20 * 16
        assert changed[530:550].sum() == changed.sum()


SPACE = (1, 1, 1)


def test_space_shows_smoke_before_solids_and_not_behind_them(drawn):
    plate = Solid(Box((0.1, 0.1, 0.45), (0.9, 0.9, 0.55)))
    scene = scene_with(plate, size=SPACE, cells=20)
    nothing = drawn(scene, 0.0)
    before, behind = (drawn(scene, puff((0.5, 0.5, z), 0.15)) for z in (0.8, 0.2))
    assert nothing.shape == (720, 1280, 3)
    assert np.abs(around(before, (0.5, 0.5, 0.8)) - around(nothing, (0.5, 0.5, 0.8))).max() > 0.05
    assert np.abs(around(behind, (0.5, 0.5, 0.2)) - around(nothing, (0.5, 0.5, 0.2))).max() < 0.01


def test_thick_smoke_hides_a_solid(drawn):
    """A post in the middle of dense smoke is not seen, without it is."""
    post = Solid(Box((0.4, 0, 0.4), (0.6, 0.6, 0.6)))
    contrast = []
    for density in (0.0, 1.0):
        clear, hidden = (drawn(scene_with(*items, size=SPACE, cells=20), density) for items in ((), (post,)))
        contrast.append(np.abs(around(hidden, (0.5, 0.4, 0.6)) - around(clear, (0.5, 0.4, 0.6))).mean())
    assert contrast[0] > 0.1
    assert contrast[1] < 0.02


def test_the_side_away_from_the_sun_is_darker(drawn):
    pixels = drawn(scene_with(size=SPACE, cells=24), puff((0.5, 0.5, 0.5), 0.25))
    lit, shadow = around(pixels, (0.38, 0.64, 0.55)), around(pixels, (0.62, 0.36, 0.5))
    assert brightness(lit).mean() > brightness(shadow).mean() + 0.1


def test_smoke_throws_a_shadow_onto_a_solid(drawn):
    floor = Solid(Box((0, 0, 0), (1, 0.15, 1)))
    scene = scene_with(floor, size=SPACE, cells=20)
    nothing, smoke = drawn(scene, 0.0), drawn(scene, puff((0.4, 0.7, 0.6), 0.2))
    where = (0.4 + 0.7 * 0.55, 0.15, 0.6 - 0.45 * 0.55)  # away from the sun
    assert brightness(around(smoke, where)).mean() < brightness(around(nothing, where)).mean() - 0.1
    where = (0.1, 0.15, 0.9)
    assert brightness(around(smoke, where)).mean() == pytest.approx(brightness(around(nothing, where)).mean(), abs=0.01)


@pytest.mark.parametrize("past", [0.0, 0.5], ids=["up to it", "through it"])
def test_solids_that_meet_a_side_are_cut_there_without_speckles(drawn, past):
    """A post that ends at the top, and a floor that ends at the front: each is as bright all over, and seen."""
    post = Solid(Cylinder((0.5, -past, 0.5), (0.5, 1 + past, 0.5), 0.15))
    floor = Solid(Box((-past, -past, -past), (1 + past, 0.3, 1 + past)))
    nothing, pixels = (drawn(scene_with(*items, size=SPACE, cells=20), 0.0) for items in ((), (post, floor)))
    for where in ((0.5, 1, 0.5), (0.6, 0.12, 1.0)):
        seen = around(pixels, where)
        assert brightness(seen).std() < 0.01
        assert brightness(seen).mean() > brightness(around(nothing, where)).mean() + 0.1


def test_space_shows_markers_unless_they_are_hidden(drawn):
    plate = Solid(Box((0.1, 0.1, 0.45), (0.9, 0.9, 0.55)))
    scene = scene_with(plate, size=SPACE, cells=20)
    without = drawn(scene, 0.0)
    for z, seen in ((0.8, True), (0.2, False)):
        point = (0.5, 0.5, z)
        changed = np.abs(around(drawn(scene, 0.0, markers=[point]), point) - around(without, point)).max(axis=-1) > 0.05
        assert bool(changed.any()) is seen
        assert changed.sum() <= 9


def test_the_scale_is_that_of_the_densest_and_hottest_smoke():
    ball = Sphere((0.5, 0.5, 0.5), 0.3)
    items = [
        Smoke(ball, density=0.5, temperature=-80.0),
        Smoke(ball, density=lambda points: 3 * np.where(points[:, 0] < 0.5, 1.0, 0.5), temperature=20.0),
    ]
    assert largest_given(Scene(SPACE, 16, items=items)) == (3.0, 80.0)
    assert largest_given(Scene(SPACE, 16, items=[Smoke(ball, density=0.0)])) == (0.0, 0.0)


SCENE = """
import math
import paddlewheel as pw

def scene(cells=16, dimensions=2, advection="maccormack"):
    depth = 1 if dimensions == 3 else 1 / cells
    return pw.Scene(size=(1, 1, depth), cells=cells, method=pw.Method(advection=advection), items=[
        pw.Smoke(pw.Sphere((0.5, 0.3, depth / 2), 0.2), temperature=200.0, rate=math.inf, markers=True),
        pw.Solid(pw.Sphere((0.5, 0.8, depth / 2), 0.15)),
    ])
"""


def test_a_run_with_smoke_tells_draws_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "puff.py").write_text(SCENE)
    assert main(["run", "puff.py", "--frames", "2", "--render"]) == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.startswith("smoke: "))
    assert "m³ at density 1, +" in line
    assert "volume" not in out
    assert sorted(p.name for p in (tmp_path / "out/puff").glob("*.png")) == [
        "puff.0001.png", "puff.0002.png", "puff.sheet.png",
    ]  # fmt: skip
    assert main(["run", "puff.py", "--frames", "3", "--resume"]) == 0
    assert main(["run", "puff.py", "--frames", "3", "--out", "whole"]) == 0
    resumed, whole = (tmp_path / folder / "puff.0003.npz" for folder in ("out/puff", "whole"))
    assert resumed.read_bytes() == whole.read_bytes()
    assert main(["render", "whole", "--frames", "3", "--video"]) == 0
    assert (tmp_path / "whole" / "puff.mp4").stat().st_size > 1000
