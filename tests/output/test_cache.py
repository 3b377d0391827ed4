"""A run on disk: whole files only, the same run or none, and what is damaged is noticed."""

import errno
import functools
import json
import os
import re
import warnings

import numpy as np
import pytest

import paddlewheel.run
from falling import Falling, equal
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.output import cache as module
from paddlewheel.output.cache import MANIFEST, Cache, describe, describe_run, replace
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Sphere

BALL = Sphere((0.5, 0.5, 0.5), 0.2)


def scene(items=(), **arguments):
    return Scene(**{"size": (1, 1, 1), "cells": 4} | arguments, items=[Liquid(BALL), *items])


@pytest.fixture(autouse=True)
def falling(monkeypatch):
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)


@pytest.fixture
def manifest(tmp_path):
    (tmp_path / "ball.py").write_text("scene = ...")
    return describe_run("ball", scene(), {"cells": 4}, {"gallery": "ball"}, tmp_path / "ball.py", "0.1", "abc")


@pytest.fixture
def filled(tmp_path, manifest):
    """A cache of three frames."""
    cache = Cache(tmp_path / "run", "ball")
    cache.begin(manifest)
    for frame in Simulation(scene()).run(3):
        cache.write(frame.number, frame.state, frame.report)
    cache.close()
    return cache


def files(cache):
    return sorted(path.name for path in cache.folder.iterdir())


def test_what_was_written_is_read_to_the_last_bit(filled):
    assert files(filled) == [f"ball.{n:04}.{ending}" for n in (1, 2, 3) for ending in ("json", "npz")] + [MANIFEST]
    for frame in Simulation(scene()).run(3):
        assert equal(filled.load(frame.number), frame.state)
        assert filled.report(frame.number) == frame.report
    number, state = Cache.of(filled.folder).last()
    assert number == 3
    assert equal(state, frame.state)


@pytest.mark.parametrize("damage", ["cut", "emptied", "changed", "overwritten", "without report", "half a report"])
def test_a_damaged_last_frame_is_skipped_with_a_warning(damage, filled):
    path, report = filled.path(3, "npz"), filled.path(3, "json")
    data = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "changed":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif damage == "overwritten":
        path.write_bytes(b"\0" * len(data))
    elif damage == "without report":
        report.unlink()
    else:
        report.write_text(report.read_text()[:40])
    with pytest.warns(UserWarning, match="frame 3 is not whole and is computed again"):
        assert filled.last()[0] == 2


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_text(path.read_text()[:40]), "damaged: "),
        (lambda path: path.write_text("{}"), "damaged: no dt, substeps, divergence"),
        (lambda path: path.write_text("[1, 2]"), "damaged: not what the steps of a frame reported"),
        (lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | {"more": 1})), "damaged: "),
        (lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | {"solves": 1})), "damaged: "),
        (lambda path: path.write_bytes(b"\xff\xfe"), "damaged: "),
    ],
    ids=["missing", "half", "empty", "list", "another key", "no list of solves", "no text"],
)
def test_a_report_that_is_not_whole_is_named(damage, told, filled):
    path = filled.path(2, "json")
    damage(path)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {told}')}"):
        filled.report(2)


def test_a_frame_that_is_missing_is_named(filled):
    path = filled.path(2, "npz")
    path.unlink()
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: missing')}$"):
        filled.load(2)


def test_no_changed_byte_goes_unnoticed(filled):
    """Wherever it is, the file is called damaged or read as it was."""
    path = filled.path(3, "npz")
    good, data = filled.load(3), path.read_bytes()
    noticed = 0
    for at in np.random.default_rng(0).integers(len(data), size=300):
        changed = bytearray(data)
        changed[at] ^= 255
        path.write_bytes(changed)
        try:
            assert equal(filled.load(3), good)
        except ValueError:
            noticed += 1
    assert noticed > 150


def test_a_frame_that_may_not_be_read_is_not_called_damaged(filled, monkeypatch):
    """It must not be computed again over a file that may be good."""

    def forbidden(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(module.State, "load", forbidden)
    with pytest.raises(PermissionError):
        filled.last()


def test_begin_removes_later_frames_and_unfinished_files(filled, manifest):
    (filled.folder / f"{module.TEMPORARY}77-ball.0004.npz").write_text("half")
    filled.path(3, "png").write_text("picture")
    (filled.folder / "notes.txt").write_text("mine")
    filled.begin(manifest, after=2)
    assert filled.frames() == [1, 2]
    assert files(filled) == [
        "ball.0001.json",
        "ball.0001.npz",
        "ball.0002.json",
        "ball.0002.npz",
        MANIFEST,
        "notes.txt",
    ]
    filled.begin(manifest)
    assert files(filled) == [MANIFEST, "notes.txt"]


def test_begin_removes_the_frames_of_another_name(filled, manifest):
    other = Cache(filled.folder, "cube")
    other.begin(manifest | {"name": "cube"})
    assert files(other) == [MANIFEST]
    assert other.manifest()["name"] == "cube"


CHANGES = {
    "name": "cube",
    "parameters": {"cells": "5"},
    "version": "0.2",
    "code": "abd",
    "source": "0" * 64,
    "description": "0" * 64,
}


@pytest.mark.parametrize("key", CHANGES)
def test_another_run_is_refused_and_nothing_lost(key, filled, manifest):
    before = files(filled)
    filled.refuse_other(manifest)
    with pytest.raises(ValueError, match=r"run: holds a run .*, now .*--overwrite"):
        filled.refuse_other(manifest | {key: CHANGES[key]})
    assert files(filled) == before


def test_another_module_is_refused_by_name(filled, manifest, tmp_path):
    """Edited, new or gone."""
    for modules in ({"a.py": "1"}, {"a.py": "1", "b/c.py": "2"}):
        filled.begin(manifest | {"modules": {"a.py": "0"}}, after=3)
        filled.close()
        with pytest.raises(ValueError, match=r'holds a run of a scene with another a\.py \("0", now "1"\)'):
            filled.refuse_other(manifest | {"modules": modules})
    with pytest.raises(ValueError, match=r'with another a\.py \("0", now none\)'):
        filled.refuse_other(manifest)


def test_frames_without_a_manifest_are_refused(filled, manifest):
    (filled.folder / MANIFEST).unlink()
    with pytest.raises(ValueError, match="has frames but no manifest"):
        filled.refuse_other(manifest)
    with pytest.raises(ValueError, match="no run is there"):
        Cache.of(filled.folder)


@pytest.mark.parametrize("text", ["{}", "[1]", '{"name": 3}', "not json"])
def test_a_manifest_of_something_else_is_not_touched(text, tmp_path, manifest):
    (tmp_path / MANIFEST).write_text(text)
    cache = Cache(tmp_path, "ball")
    for action in (cache.refuse_used, lambda: cache.refuse_other(manifest), lambda: cache.begin(manifest)):
        with pytest.raises(ValueError, match="is not the manifest of a run"):
            action()
    cache.close()
    assert (tmp_path / MANIFEST).read_text() == text


@pytest.mark.parametrize("name", ["ball", "cube"])
def test_a_used_folder_is_refused(name, filled):
    with pytest.raises(ValueError, match="holds frames up to 3; use --resume"):
        Cache(filled.folder, name).refuse_used()
    Cache(filled.folder / "new", "ball").refuse_used()


def test_two_runs_do_not_write_into_one_folder(filled, manifest):
    filled.begin(manifest, after=3)
    with pytest.raises(ValueError, match="another run is writing there"):
        Cache(filled.folder, "ball").begin(manifest)
    assert filled.frames() == [1, 2, 3]
    filled.close()
    Cache(filled.folder, "ball").begin(manifest, after=3)


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_full_disk_leaves_whole_frames(ending, filled, manifest, monkeypatch):
    def full(path, flags):
        if str(path).endswith(f"0004.{ending}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        force(path, flags)

    force = module._force
    monkeypatch.setattr(module, "_force", full)
    before = files(filled)
    with pytest.raises(OSError, match="No space left") as error:
        filled.write(4, filled.load(3), filled.report(3))
    assert error.value.filename == str(filled.path(4, ending))
    assert files(filled) == before


def test_every_file_is_forced_to_the_disk_before_it_is_renamed(filled, monkeypatch):
    events = []
    monkeypatch.setattr(module, "_force", lambda path, flags: events.append(("force", path.name)))
    rename = module.Path.replace
    monkeypatch.setattr(
        module.Path, "replace", lambda self, new: events.append(("rename", self.name)) or rename(self, new)
    )
    filled.write(4, filled.load(3), filled.report(3))
    renamed = [name for event, name in events if event == "rename"]
    assert [name.split("-")[-1] for name in renamed] == ["ball.0004.json", "ball.0004.npz"]
    for name in renamed:
        assert events.index(("force", name)) < events.index(("rename", name))
    assert events[-1] == ("force", "run")  # the folder, so that the name stays too


def test_what_fails_to_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")

    def half(file):
        file.write_text("ha")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace(path, half)
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("a.json", "old")]


def test_a_link_is_written_through(tmp_path):
    """/dev/stdout is one, and must not become a file."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    replace(tmp_path / "link", lambda file: file.write_text("new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def turning(speed):
    return lambda t: Pose((speed * t, 0, 0))


def winding(speed):
    """A motion that has closed over a module and over itself."""
    import math

    def motion(t):
        return motion(0.0) if t > 10 else Pose((math.sin(speed * t), 0, 0))

    return motion


class Track:
    def __init__(self, speed):
        self.speed, self.places = speed, np.zeros((3, 3))

    def motion(self, t):
        return Pose(self.places[0] + self.speed * t)


def slide(speed, t):
    return Pose((speed * t, 0, 0))


TETRAHEDRON = (
    np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1.0)]),
    np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]),
)
OTHERS = {
    "as it is": lambda: scene(),
    "size": lambda: scene(size=(1.0, 1.0, 0.5)),
    "cells": lambda: scene(cells=8),
    "gravity": lambda: scene(gravity=(0, -1.6, 0)),
    "fps": lambda: scene(fps=25),
    "method": lambda: scene(method=Method(flip=0.95)),
    "open side": lambda: scene(open_sides={"+y"}),
    "open sides": lambda: scene(open_sides={"+y", "-x", "+z"}),
    "solid": lambda: scene([Solid(BALL)]),
    "complement": lambda: scene([Solid(~BALL)]),
    "another solid": lambda: scene([Solid(Box((0, 0, 0), (1, 1, 1)))]),
    "motion": lambda: scene([Solid(BALL, motion=turning(0.1))]),
    "another motion": lambda: scene([Solid(BALL, motion=turning(0.2))]),
    "recursive motion": lambda: scene([Solid(BALL, motion=winding(0.1))]),
    "another recursive motion": lambda: scene([Solid(BALL, motion=winding(0.2))]),
    "bound method": lambda: scene([Solid(BALL, motion=Track(0.1).motion)]),
    "another bound method": lambda: scene([Solid(BALL, motion=Track(0.2).motion)]),
    "partial": lambda: scene([Solid(BALL, motion=functools.partial(slide, 0.1))]),
    "another partial": lambda: scene([Solid(BALL, motion=functools.partial(slide, 0.2))]),
    "mesh": lambda: scene([Solid(Mesh(TETRAHEDRON))]),
    "another mesh": lambda: scene([Solid(Mesh((0.5 * TETRAHEDRON[0], TETRAHEDRON[1])))]),
}


def test_descriptions_tell_scenes_apart_and_repeat():
    texts = {name: describe(make()) for name, make in OTHERS.items()}
    assert len(set(texts.values())) == len(texts)
    assert texts == {name: describe(make()) for name, make in OTHERS.items()}
    assert not [name for name, text in texts.items() if " at 0x" in text]


def test_a_mesh_is_described_by_what_it_is(tmp_path):
    """Not by the file it came from, which lies elsewhere on another machine."""
    import trimesh

    texts = set()
    for name in ("a.ply", "b.ply"):
        trimesh.Trimesh(*TETRAHEDRON).export(tmp_path / name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            texts.add(describe(scene([Solid(Mesh(str(tmp_path / name)))])))
    assert len(texts) == 1


def test_a_manifest_holds_no_path_or_time_of_this_machine(manifest, tmp_path):
    text = json.dumps(manifest)
    assert str(tmp_path) not in text
    assert json.loads(text) == manifest
    assert manifest["parameters"] == {"cells": "4"}
