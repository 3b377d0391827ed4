"""The page of the gallery: what is measured is on it, what is there is not measured again."""

import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import paddlewheel.run
from falling import Falling
from paddlewheel import gallery
from paddlewheel.cli import main
from paddlewheel.commands import exhibit
from paddlewheel.commands import gallery as showing
from paddlewheel.commands.exhibit import Observed
from paddlewheel.output.page import Figure, Shown, page
from paddlewheel.run import Simulation, SolveFailedError

PAGE = Path(__file__).parents[2] / "docs" / "gallery"

SCENE = '''"""A pool."""
from paddlewheel.items import Liquid
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box

caption = "A <small> pool."
figure = "B07 figure 9"
shown = (1, 3)
beside = {"deeper": {"height": 0.75}}
LIMITS = {"lost & found": 1.0, "|volume error|, worst": 1.0}
runs = []

def scene(cells=8, height=0.5):
    return Scene((1, 1, 1 / cells), (cells, cells, 1), items=[Liquid(Box((0, 0, -1), (1, height, 1)))])

def check(simulation):
    runs.append(1)
    list(simulation.run(2))
    return {"lost & found": 0.25, "|volume error|, worst": 2e-7}
'''
VOID = {"meta", "img", "br", "link"}


class Parsed(HTMLParser):
    """Tags that are opened and closed in order; ids, links, pictures and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.images, self.text = [], [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if "href" in attrs else []
        if tag == "img":
            assert attrs["alt"]
            self.images.append(attrs["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A gallery of two scenes, `pool` and `pond`, by name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)
    entries = {}
    for name in ("pool", "pond"):
        (tmp_path / f"{name}.py").write_text(SCENE)
        entries[name] = loaded(tmp_path / f"{name}.py")
    monkeypatch.setattr(gallery, "SCENES", entries)
    monkeypatch.setattr(gallery, "SECTIONS", {"Still waters": entries})
    return entries


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_shows_pictures_and_figures_of_every_scene(tiny, tmp_path, capsys):
    assert main(["gallery", "--page", "page"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "page/index.html: 2 of 2 scenes, 2 hold\n"
    assert "2 of 2: pond: 0 s; about 0 min left" in captured.err
    parsed = Parsed((tmp_path / "page" / "index.html").read_text())
    expected = [f"{n}.jpg" for name in ("pool", "pond") for n in (f"{name}.0001", f"{name}.0003", f"{name}-1.0003")]
    assert parsed.images == expected
    assert sorted(p.name for p in (tmp_path / "page").iterdir()) == sorted([*expected, "index.html"])
    for told in ("A <small> pool.", "B07 figure 9", "lost & found", "0.25", "2 · 10−7", "deeper, 0.12 s"):
        assert parsed.text.count(told) == 2
    assert parsed.text.count("paddlewheel run pool --frames 3 --render") == 1
    assert "4 figures measured; all of them hold" in parsed.text
    assert {link[1:] for link in parsed.links if link.startswith("#")} == set(parsed.ids)


def test_what_is_there_is_not_measured_again(tiny, tmp_path, capsys):
    assert main(["gallery", "--page", "page", "--only", "pool"]) == 0
    assert (len(tiny["pool"].runs), len(tiny["pond"].runs)) == (1, 0)
    assert "Not run yet" in Parsed((tmp_path / "page" / "index.html").read_text()).text
    assert main(["gallery", "--page", "page"]) == 0
    assert (len(tiny["pool"].runs), len(tiny["pond"].runs)) == (1, 1)
    assert "1 of 2 scenes are there already" in capsys.readouterr().err
    assert main(["gallery", "--page", "page", "--only", "pond", "--again"]) == 0
    assert (len(tiny["pool"].runs), len(tiny["pond"].runs)) == (1, 2)


def test_a_stopped_scene_runs_again_and_no_other(tiny, monkeypatch):
    """Stopped in the middle of the second one, with some of its frames written."""
    check = tiny["pond"].check

    def stopped(simulation):
        list(simulation.run(1))
        raise KeyboardInterrupt

    monkeypatch.setattr(tiny["pond"], "check", stopped)
    assert main(["gallery", "--page", "page"]) == 130
    monkeypatch.setattr(tiny["pond"], "check", check)
    assert main(["gallery", "--page", "page"]) == 0
    assert (len(tiny["pool"].runs), len(tiny["pond"].runs)) == (1, 1)


def test_a_scene_that_was_edited_runs_again(tiny, tmp_path, monkeypatch):
    assert main(["gallery", "--page", "page"]) == 0
    (tmp_path / "pond.py").write_text(SCENE.replace("height=0.5", "height=0.6"))
    edited = tiny | {"pond": loaded(tmp_path / "pond.py")}
    monkeypatch.setattr(gallery, "SCENES", edited)
    monkeypatch.setattr(gallery, "SECTIONS", {"Still waters": edited})
    assert main(["gallery", "--page", "page"]) == 0
    assert (len(tiny["pool"].runs), len(edited["pond"].runs)) == (1, 1)


def test_a_scene_runs_again_if_what_it_imports_of_the_gallery_was_edited(tiny, tmp_path, monkeypatch):
    shared = tmp_path / "shared.py"
    shared.write_text("LEVEL = 0.5\n")
    tiny["pond"].shared = loaded(shared)
    tiny["pond"].shared.__name__ = "paddlewheel.gallery.shared"
    assert main(["gallery", "--page", "page"]) == 0
    shared.write_text("LEVEL = 0.6\n")
    assert main(["gallery", "--page", "page"]) == 0
    assert (len(tiny["pool"].runs), len(tiny["pond"].runs)) == (1, 2)


@pytest.mark.parametrize("name", gallery.SCENES)
def test_files_that_a_scene_imports_of_the_gallery_are_found(name):
    """As modules: of a name out of one, nothing would tell where it is from."""
    text = Path(gallery.SCENES[name].__file__).read_text()
    assert "from paddlewheel.gallery." not in text
    (line,) = re.findall("from paddlewheel.gallery import (.*)", text) or [""]
    found = {module.__name__.rpartition(".")[2] for module in exhibit._with_imports(gallery.SCENES[name])}
    assert found >= {name for name in line.split(", ") if name}


def test_other_code_that_draws_draws_again_and_does_not_simulate(tiny, tmp_path, monkeypatch):
    assert main(["gallery", "--page", "page"]) == 0
    picture = tmp_path / "out" / "gallery" / "pool.0003.jpg"
    before = picture.stat().st_mtime_ns
    assert main(["gallery", "--page", "page"]) == 0
    assert picture.stat().st_mtime_ns == before
    real = exhibit._hash
    monkeypatch.setattr(exhibit, "_hash", lambda rooms, others=False: "other" if not others else real(rooms, others))
    assert main(["gallery", "--page", "page"]) == 0
    assert picture.stat().st_mtime_ns > before
    assert len(tiny["pool"].runs) == 1


@pytest.mark.parametrize("value", [1.5, float("nan")])
def test_what_does_not_hold_is_said(tiny, tmp_path, monkeypatch, capsys, value):
    monkeypatch.setattr(tiny["pond"], "check", lambda simulation: {"lost & found": value})
    assert main(["gallery", "--page", "page"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "page/index.html: 2 of 2 scenes, 1 hold\n"
    assert "does not hold: pond" in captured.err
    assert "not all of them hold: pond" in Parsed((tmp_path / "page" / "index.html").read_text()).text


def test_a_solve_that_fails_is_said(tiny, tmp_path, monkeypatch):
    def failing(simulation):
        raise SolveFailedError("step 7: it did not converge")

    assert main(["gallery", "--page", "page"]) == 0
    monkeypatch.setattr(tiny["pond"], "check", failing)
    assert main(["gallery", "--page", "page", "--only", "pond", "--again"]) == 1
    parsed = Parsed((tmp_path / "page" / "index.html").read_text())
    assert "It could not be measured: step 7: it did not converge" in parsed.text
    assert not any(image.startswith("pond") for image in parsed.images)


def test_a_wrong_name_is_named_before_anything_runs(tiny, tmp_path, capsys):
    assert main(["gallery", "--page", "page", "--only", "pool,pound"]) == 2
    assert "pond" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_damaged_result_is_named(tiny, tmp_path, capsys):
    assert main(["gallery", "--page", "page"]) == 0
    (tmp_path / "out" / "gallery" / "pool.json").write_text("{")
    assert main(["gallery", "--page", "page"]) == 2
    assert "pool.json: is no result of a scene" in capsys.readouterr().err


def test_to_be_observed_changes_nothing():
    scene, kept, told = gallery.SCENES["dam-break"].scene(cells=8), {}, []
    observed = Observed(scene, (2, 5), lambda frame: kept.update({frame.number: frame.state.copy()}), told.append)
    list(observed.run(3))
    assert (told, observed.wanted, observed.frames) == ([1, 2, 3], {5}, 3)
    plain = Simulation(scene)
    list(plain.run(2))
    assert np.array_equal(kept[2].particles.position, plain.state.particles.position)
    list(plain.run(1))
    assert np.array_equal(observed.state.particles.position, plain.state.particles.position)
    assert observed.seconds > 0


def test_the_time_of_frames_is_without_what_compiling_took(monkeypatch):
    """Two frames of 15 s each, of which 10 s go to the compiler, wherever in the step."""
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)
    clock, compiler = iter(range(0, 1000, 15)), iter(range(0, 1000, 10))
    monkeypatch.setattr(exhibit, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(exhibit, "compile_seconds", lambda: next(compiler))
    observed = Observed(gallery.SCENES["dam-break"].scene(cells=8), (), None, lambda number: None)
    list(observed.run(2))
    assert observed.seconds == 10


def test_what_is_left_is_told_without_what_compiling_took(monkeypatch, capsys):
    """Half of the work took ten minutes, in 500 s of which it compiled: 100 s are left."""
    now, compiled = [0.0], [0.0]
    monkeypatch.setattr(showing.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(showing, "compile_seconds", lambda: compiled[0])
    told = showing._Told([100.0, 100.0])
    with told:
        told.begins("pool")
        now[0], compiled[0] = 600.0, 500.0
        told.ends()
    assert "1 of 2: pool: 100 s; about 2 min left" in capsys.readouterr().err


@pytest.mark.parametrize("name", gallery.SCENES)
def test_a_scene_says_which_frames_tell_it(name):
    entry = gallery.SCENES[name]
    assert entry.shown
    assert all(isinstance(n, int) and n > 0 for n in entry.shown)
    assert list(entry.shown) == sorted(set(entry.shown))
    for parameters in getattr(entry, "beside", {}).values():
        assert exhibit.digest(entry.scene(cells=48, **parameters)) != exhibit.digest(entry.scene(cells=48))


def test_no_scenes_are_a_page_too():
    assert "Not run yet" in Parsed(page({"Water": []}, ["dam-break"])).text


def test_numbers_are_short():
    figures = [Figure(str(n), value, 1e-3, False) for n, value in enumerate([0.0, 1234.5, 1e-6, 1.25e-9, -0.5, np.inf])]
    shown = Shown("a", "b.", None, [], figures, None, (4, 4, 1), None, "m", "c")
    text = Parsed(page({"Water": [shown]}, [])).text
    for number in ("0", "1.23 · 103", "10−6", "1.25 · 10−9", "−0.5", "inf", "0.001"):
        assert number in text


@pytest.mark.skipif(not PAGE.is_dir(), reason="it is not with the package")
def test_the_page_in_docs_is_whole_and_small():
    """Made by `make gallery`, it shows every scene or says that it was not run."""
    text = (PAGE / "index.html").read_text()
    parsed = Parsed(text)
    left = text.partition('id="not-run"')[2]
    for name, entry in gallery.SCENES.items():
        if f"<code>{name}</code>" in left:
            continue
        assert name in parsed.ids
        assert entry.caption in parsed.text
        assert f"{name}.{entry.shown[-1]:04d}.jpg" in parsed.images
    assert sorted(parsed.images) == sorted(p.name for p in PAGE.glob("*.jpg"))
    for file in parsed.images:
        with Image.open(PAGE / file) as image:
            assert max(image.size) <= 800
    assert sum(p.stat().st_size for p in PAGE.iterdir()) < 5e6
    assert not any(link.startswith(("http", "/")) for link in parsed.links)
    readme = (PAGE.parents[1] / "README.md").read_text()
    shown = re.findall(r"docs/gallery/([\w.-]+jpg)", readme)
    assert 4 <= len(shown) <= 6
    assert set(shown) <= set(parsed.images)
    assert "url(" not in text
    assert "<script" not in text
