"""The command line: what works, and that every mistake is one line that names the item and the value."""

import contextlib
import dataclasses
import errno
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.table import Table

import paddlewheel.run
from falling import Falling, equal
from paddlewheel import gallery
from paddlewheel.cli import main
from paddlewheel.commands import run as run_command
from paddlewheel.commands import scenes, terminal
from paddlewheel.commands.estimate import frame_bytes, marker_count, particle_count, step_count
from paddlewheel.items import Inflow, Smoke, Solid
from paddlewheel.method import ADVECTION, Method
from paddlewheel.one_step import first_step
from paddlewheel.output.cache import Cache
from paddlewheel.run import Simulation, SolveFailedError
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box, Sphere

SCENE = """
import paddlewheel as pw

def scene(cells=8, level=0.5, radius=0.2, lid=False):
    return pw.Scene(size=(1, 1, 1), cells=cells, items=[
        pw.Liquid(pw.HalfSpace((0, level, 0), (0, 1, 0))),
        pw.Solid(pw.Sphere((0.5, 0.4, 0.5), radius)),
    ])
"""
HONEY = """
import numpy as np
import paddlewheel as pw

def scene(cells=20):
    return pw.Scene(
        size=(1, 1, 1 / cells), cells=(cells, cells, 1), walls="no-slip", method=pw.Method(advection="apic"),
        thinning=lambda t: 10 ** (-np.maximum(t, 0) / 20), conduction=1e-3, items=[
            pw.Liquid(pw.Box((0, 0, -1), (0.6, 0.5, 1)), viscosity=lambda p: 50 + 200 * p[:, 0], temperature=40.0),
            pw.Liquid(pw.Box((0.6, 0, -1), (1, 0.3, 1)), viscosity=20.0),
            pw.Inflow(pw.Box((0.8, 0.8, -1), (0.95, 1, 1)), velocity=(0, -1, 0), viscosity=5.0, temperature=10.0),
            pw.Solid(pw.Box((-1, -1, -1), (2, 0.08, 1)), temperature=90.0),
            pw.RigidBody(pw.Box((0.2, 0.55, -1), (0.45, 0.75, 1)), density=2000.0, angular_velocity=(0, 0, 3.0)),
            pw.RigidBody(
                pw.Box((0.5, 0.2, -1), (0.75, 0.3, 1)), density=3000.0, axis=(0, 0, 1), pivot=(0.55, 0.25, 0)
            ),
        ],
    )
"""
OPEN_MESH = """
import paddlewheel as pw

def scene(cells=8):
    triangle = pw.Mesh(([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]))
    return pw.Scene(size=(1, 1, 1), cells=cells, items=[pw.Solid(triangle)])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory to work in, with scenes of all sorts."""
    scenes = {
        "good.py": SCENE,
        "honey.py": HONEY,
        "open_mesh.py": OPEN_MESH,
        "no_function.py": "x = 1",
        "no_scene.py": "def scene(): return 7",
        "wants_more.py": "def scene(height): ...",
        "typing_error.py": "def scene():\n    return 1 +\n",
        "name_error.py": "def scene():\n    a = 1\n    return pw.Scene()\n",
        "no_liquid.py": SCENE.replace("pw.Liquid", "pw.Solid"),
        "odd_size.py": SCENE.replace("(1, 1, 1)", "(1, 0.7, 1)"),
        "nan.py": SCENE.replace("(0.5, 0.4, 0.5)", "(0.5, float('nan'), 0.5)"),
        "two_d.py": SCENE.replace("size=(1, 1, 1), cells=cells", "size=(1, 1, 1 / cells), cells=(cells, cells, 1)"),
        "one_speed.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), lambda p: 1.0),"),
        "flat_speed.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), lambda p: p[:, :2]),"),
        "nan_speed.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), lambda p: p * float('nan')),"),
        "late_error.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), lambda p: p if len(p) == 64 else p.speed),"),
        "late_shape.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), lambda p: p if len(p) == 64 else 1.0),"),
        "late_nan.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), lambda p: p if len(p) == 64 else p * float('nan')),"),
        "leaves.py": "import sys\n\ndef scene():\n    sys.exit(7)\n",
        "leaves_at_once.py": "raise SystemExit",
        "thick.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), viscosity=100),"),
        "thin.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), viscosity=-1),"),
        "nan_thick.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), viscosity=lambda p: p[:, 0] * float('nan')),"),
        "sunken_thick.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), viscosity=lambda p: p[:, 1] - 0.3),"),
        "one_thick.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), viscosity=lambda p: 3.0),"),
        "flat_thick.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), viscosity=lambda p: p[:, :2]),"),
        "odd_thick.py": SCENE.replace("(0, 1, 0))),", "(0, 1, 0)), viscosity=lambda p: p @ p),"),
        "outside.py": SCENE.replace("pw.HalfSpace((0, level, 0), (0, 1, 0))", "pw.Sphere((5, 5, 5), 1)"),
        "moving.py": SCENE.replace("0.2, lid", "0.2").replace("radius)),", "radius), lambda t: pw.Pose((t, 0, 0))),"),
    }
    for name, text in scenes.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    (tmp_path / "latin.py").write_bytes(b"\xe4 = 1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder) -> dict[str, bytes]:
    """All files below a folder, with what is in them."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def falling(monkeypatch):
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)


def not_converged():
    step = first_step(gallery.SCENES["still-water"].scene(cells=12))
    return step._replace(projection=step.projection._replace(info=step.projection.info._replace(converged=False)))


def test_first_step_draws_and_says_where_in_one_line(folder, capsys):
    assert main(["first-step", "still-water", "--cells", "16", "--set", "tilt=45", "--out", "pictures"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert out.startswith("pictures/still-water.png: max|u| = ")
    assert (folder / "pictures" / "still-water.png").stat().st_size > 10_000
    assert os.listdir(folder / "pictures") == ["still-water.png"]


@pytest.mark.parametrize("file", ["good.py", "two_d.py"])
def test_first_step_takes_a_file(file, folder, capsys):
    assert main(["first-step", file, "--set", "level=0.4", "--cells", "12"]) == 0
    name = file.removesuffix(".py")
    assert capsys.readouterr().out.startswith(f"out/{name}/{name}.png: max|u| = ")


def test_a_scene_imports_what_lies_beside_it(folder, capsys):
    (folder / "beside").mkdir()
    (folder / "beside" / "my_numbers.py").write_text("LEVEL, SPEED = 0.4, 0.1")
    text = SCENE.replace("import paddlewheel as pw", "import paddlewheel as pw\nfrom my_numbers import LEVEL")
    text = text.replace("level=0.5", "level=LEVEL").replace("(0, 1, 0))),", "(0, 1, 0)), speed),")
    (folder / "beside" / "scene.py").write_text(
        text + "\ndef speed(p):\n    import my_numbers\n    return my_numbers.SPEED * p\n"
    )
    before = sys.path[:]
    assert main(["first-step", "beside/scene.py"]) == 0
    assert sys.path == before


def test_gallery_lists_every_scene(capsys):
    assert main(["gallery"]) == 0
    out = capsys.readouterr().out
    for name in gallery.SCENES:
        assert name in out


def test_still_water_holds(falling):
    """On a small grid; `make check` runs it at its own size."""
    entry = gallery.SCENES["still-water"]
    figures = entry.check(Simulation(entry.scene(cells=24)))
    assert figures.keys() == entry.LIMITS.keys()
    assert all(figures[figure] <= limit for figure, limit in entry.LIMITS.items())


@pytest.mark.parametrize("name", gallery.SCENES)
def test_gallery_scenes_have_one_shape(name):
    entry = gallery.SCENES[name]
    assert entry.caption
    assert isinstance(entry.scene(cells=16), Scene)
    assert callable(entry.check)
    assert entry.LIMITS


def test_check_fails_with_code_1(falling, monkeypatch, capsys):
    entry = gallery.SCENES["still-water"]
    monkeypatch.setattr(entry, "check", lambda simulation: dict.fromkeys(entry.LIMITS, 0.0))
    assert main(["check", "still-water"]) == 0
    assert "FAILS" not in capsys.readouterr().out
    monkeypatch.setattr(entry, "check", lambda simulation: dict.fromkeys(entry.LIMITS, float("nan")))
    assert main(["check", "still-water"]) == 1
    assert "FAILS" in capsys.readouterr().out


def test_check_takes_parameters(falling, monkeypatch, capsys):
    entry = gallery.SCENES["still-water"]
    monkeypatch.setattr(entry, "check", lambda simulation: dict.fromkeys(entry.LIMITS, simulation.scene.grid.h))
    assert main(["check", "still-water", "--cells", "10", "--set", "tilt=0"]) == 1
    assert "0.1" in capsys.readouterr().out
    assert main(["check", "still-water", "--set", "tild=0"]) == 2
    assert "tilt" in capsys.readouterr().err


def test_check_goes_on_after_a_solve_that_did_not_converge(falling, monkeypatch, capsys):
    def failing(simulation):
        raise SolveFailedError("the pressure solve did not converge")

    holding = gallery.SCENES["dam-break"]
    monkeypatch.setattr(gallery.SCENES["still-water"], "check", failing)
    monkeypatch.setattr(holding, "check", lambda simulation: dict.fromkeys(holding.LIMITS, 0.0))
    assert main(["check", "still-water", "dam-break"]) == 1
    out = capsys.readouterr().out
    assert "FAILS: the pressure solve did not converge" in out
    assert out.count("holds") == len(holding.LIMITS)


def test_bench_writes_json_and_plot(folder, capsys):
    code = main(["bench", "pressure", "--cells", "12", "--solver", "multigrid", "--json", "a.json", "--plot", "a.png"])
    assert code == 0
    assert json.loads((folder / "a.json").read_text())["rows"][0]["cells"] == 12
    assert (folder / "a.png").exists()
    assert "multigrid" in capsys.readouterr().out
    assert not list(folder.glob(".*"))


def test_bench_liquid_writes_json_and_plot(folder, capsys):
    line = "bench liquid --scene sphere --cells 12 --steps 2 --json a.json --plot a.png"
    assert main(line.split()) == 0
    result = json.loads((folder / "a.json").read_text())
    assert (result["scene"], result["advection"]) == ("sphere", "semi-lagrangian")
    assert [(row["cells"], row["steps"]) for row in result["rows"]] == [(12, 2)]
    assert (folder / "a.png").exists()
    out = capsys.readouterr().out
    assert "one step of sphere" in out
    assert out.endswith("wrote a.json\nwrote a.png\n")
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("arguments", ["gallery", "--help", "run nowhere.py"])
def test_output_nobody_reads_ends_quietly(arguments, folder):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "paddlewheel", *arguments.split()],
        stdout=writing,
        stderr=writing if arguments.startswith("run") else subprocess.PIPE,
    )
    os.close(writing)
    assert done.returncode in (0, 141)  # argparse ignores it by itself
    assert not done.stderr


MISTAKES = {
    "unknown command": ("rnu", "command='rnu'", "did you mean 'run'?"),
    "unknown scene": ("run stil-water", "SCENE='stil-water' is none of ", "did you mean 'still-water'?"),
    "no such file": ("run nowhere.py", "nowhere.py", "No such file"),
    "no cells": ("run still-water --cells 0", "cells=0"),
    "cells as text": ("run still-water --cells many", "--cells", "'many'"),
    "cells that do not fit": ("run still-water --cells 100000", "bytes"),
    "unknown parameter": ("run still-water --set tlt=3", "still-water: parameter='tlt'", "did you mean 'tilt'?"),
    "parameter without value": ("run still-water --set tilt", "'tilt'", "name=value"),
    "parameter with an empty value": ("run good.py --set level=", "'level='", "name=value"),
    "parameter of a wrong kind": ("run still-water --set tilt=steep", "still-water: tilt='steep'"),
    "wrong choice": ("run still-water --set weights=aera", "weights='aera'", "did you mean 'area'?"),
    "negative radius": ("run good.py --set radius=-1", "Sphere: radius=-1", "; in good.py: scene(radius=-1)"),
    "text for a number": (
        "run good.py --set level=abc --cells 8",
        "'abc'",
        "; in good.py: scene(level='abc', cells=8)",
    ),
    "no function": ("run no_function.py", "no_function.py", "scene(**parameters)"),
    "no scene": ("run no_scene.py", "no_scene.py: scene() returned 7"),
    "missing parameter": ("run wants_more.py", "wants_more", "'height'", "--set"),
    "syntax error": ("run typing_error.py", "typing_error.py:2", "invalid syntax"),
    "name error": ("run name_error.py", "name_error.py:3: NameError", "'pw'"),
    "exit in a scene": ("run leaves.py", "leaves.py:4: sys.exit(7): expected a scene"),
    "exit in a file": ("run leaves_at_once.py", "leaves_at_once.py:1: sys.exit(None)"),
    "no text": ("run binary.py", "binary.py: is not text, expected a file of Python"),
    "text of another sort": ("run latin.py", "latin.py", "utf-8"),
    "open mesh": ("run open_mesh.py", "Mesh: not closed"),
    "nothing to solve for": ("run no_liquid.py", "no Liquid"),
    "size of no whole cells": ("run odd_size.py", "size=(1.0, 0.7, 1.0)", "nearest"),
    "NaN": ("run nan.py", "Sphere: center=(0.5, nan, 0.5)"),
    "velocity as one number": ("run one_speed.py", "items[0] Liquid(HalfSpace): velocity(points) returned"),
    "velocity of two components": ("run flat_speed.py", "items[0] Liquid(HalfSpace): velocity(points) returned"),
    "velocity of NaN": ("run nan_speed.py", "items[0] Liquid(HalfSpace): velocity at", "nan"),
    "velocity that fails in the step": ("first-step late_error.py", "late_error.py:6: AttributeError", "'speed'"),
    "velocity of a wrong shape in the step": (
        "first-step late_shape.py",
        "items[0] Liquid(HalfSpace): velocity(points)",
    ),
    "velocity of NaN in the step": ("first-step late_nan.py", "items[0] Liquid(HalfSpace): velocity at"),
    "out is a file": ("run good.py --out good.py", "good.py", "exists"),
    "out in a file": ("run good.py --out good.py/a", "good.py", "Not a directory"),
    "first step into a file": ("first-step good.py --out good.py", "good.py", "exists"),
    "liquid outside": ("run outside.py", "items[0] Liquid(Sphere) lies from", "outside the domain"),
    "frames backwards": ("run good.py --frames 5-2", "--frames", "'5-2'", "not after the last"),
    "frames from zero": ("run good.py --frames 0-2", "'0-2'"),
    "no frames": ("run good.py --frames 0", "'0'"),
    "frames as text": ("run good.py --frames all", "'all'", "1-240"),
    "resume and overwrite": ("run good.py --resume --overwrite", "--overwrite", "not allowed with"),
    "dry run without liquid": ("run no_liquid.py --dry-run", "no Liquid, no Smoke and no Inflow"),
    "first step of thick liquid": ("first-step thick.py", "viscous liquid", "run a Simulation"),
    "negative viscosity": ("run thin.py", "Liquid(HalfSpace): viscosity=-1", "at least 0"),
    "a viscosity that is no number": ("run nan_thick.py", "Liquid(HalfSpace): viscosity at", "nan"),
    "viscosities below zero": ("run sunken_thick.py", "Liquid(HalfSpace): viscosity at", "at least 0"),
    "one viscosity for many points": ("run one_thick.py", "viscosity(points)", "shape ()"),
    "viscosities of a wrong shape": ("run flat_thick.py", "viscosity(points)", "(64, 2)", "(64,)"),
    "a viscosity that fails": (
        "run odd_thick.py",
        "odd_thick.py:",
        "matmul",
        "in items[0] Liquid(HalfSpace): viscosity",
    ),
    "dry run of nothing": ("run nowhere.py --dry-run", "nowhere.py", "No such file"),
    "render of nothing": ("render nowhere", "nowhere: no run is there"),
    "render of a file": ("render good.py", "good.py: no run is there"),
    "unknown check": ("check still-watr", "NAME='still-watr'", "did you mean 'still-water'?"),
    "unknown benchmark": ("bench presure", "benchmark='presure'", "did you mean 'pressure'?"),
    "ladder too small": ("bench pressure --cells 4", "cells=4"),
    "ladder as text": ("bench pressure --cells 32,many", "'32,many'"),
    "tolerance": ("bench pressure --tolerance 2", "tolerance=2.0"),
    "unknown solver": ("bench pressure --solver jacobi", "jacobi"),
    "no directory": ("bench pressure --json nowhere/a.json", "nowhere"),
    "no directory for startup": ("bench startup --json nowhere/a.json", "nowhere"),
    "a directory as file": ("bench startup --json .", "is a directory"),
    "plot without an ending": ("bench pressure --plot scaling", "scaling.png"),
    "liquid on too few cells": ("bench liquid --cells 16,7", "cells=7", "from 8 to 1024"),
    "liquid on too many cells": ("bench liquid --cells 1025", "cells=1025"),
    "liquid on cells as text": ("bench liquid --cells 32,many", "'32,many'"),
    "unknown liquid": ("bench liquid --scene spere", "--scene", "'spere'", "sphere"),
    "no steps": ("bench liquid --steps 0", "steps=0", "from 1"),
    "no windows of the viewer": ("bench viewer --windows 0", "windows=0", "from 1"),
    "viewer on too few cells": ("bench viewer --cells 4", "cells=4"),
    "no steps of walls": ("bench walls --steps 0", "steps=0", "from 1"),
    "no frames of smoke": ("bench smoke --frames 0", "frames=0", "from 1"),
    "first step of smoke": ("first-step paddle", "the scene has Smoke", "liquid only"),
    "steps as text": ("bench liquid --steps few", "--steps", "'few'"),
    "no directory for liquid": ("bench liquid --plot nowhere/a.png", "nowhere"),
    "plot of liquid without an ending": ("bench liquid --plot growth", "growth.png"),
    "no command": ("", "COMMAND"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_code_2(mistake, folder, falling, capsys):
    line, *fragments = MISTAKES[mistake]
    before = contents(folder)
    try:
        code = main(line.split())
    except SystemExit as stop:  # argparse leaves this way
        code = stop.code
    error = capsys.readouterr().err
    assert code == 2
    assert error.count("\n") == 1
    assert error.startswith("paddlewheel: error: ")
    for fragment in fragments:
        assert fragment in error
    assert contents(folder) == before


def test_a_solid_outside_the_domain_is_a_warning(folder, capsys):
    (folder / "far.py").write_text(SCENE.replace("(0.5, 0.4, 0.5)", "(5, 5, 5)"))
    assert main(["first-step", "far.py"]) == 0
    error = capsys.readouterr().err
    assert error.startswith("paddlewheel: warning: items[1] Solid(Sphere) lies from")
    assert error.count("\n") == 1


def test_a_solve_that_did_not_converge_is_not_drawn(folder, monkeypatch, capsys):
    failed = not_converged()
    monkeypatch.setattr(run_command, "first_step", lambda scene: failed)
    assert main(["first-step", "still-water"]) == 2
    assert "did not converge" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_interrupt_is_130(folder, monkeypatch, capsys):
    def interrupted(scene):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_command, "first_step", interrupted)
    assert main(["first-step", "still-water"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_without_matplotlib_it_says_what_to_install(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["first-step", "good.py"]) == 2
    assert "pip install 'paddlewheel[picture]'" in capsys.readouterr().err


FALLING = Path(__file__).with_name("falling.py")  # the command line with the stand-in for the time step


def frames_of(folder, name="good"):
    cache = Cache(folder, name)
    return {n: cache.load(n) for n in cache.frames()}


def same(a, b):
    return a.keys() == b.keys() and all(equal(a[n], b[n]) for n in a)


def reference(frames):
    scene = gallery.SCENES["dam-break"].scene(cells=8)
    return {f.number: f.state.copy() for f in Simulation(scene, ids=True).run(frames)}


RUN = ["run", "dam-break", "--cells", "8", "--out", "cache"]


def test_run_keeps_every_frame_and_sums_up(folder, falling, capsys):
    assert main([*RUN, "--frames", "7"]) == 0
    assert same(frames_of(folder / "cache", "dam-break"), reference(7))
    out, err = capsys.readouterr()
    for word in (
        "move",
        "solve",
        "everything",
        "7 frames",
        "pressure: 6.0 iterations, at most 7",
        "volume: 0.5 → 0.5 m³",
    ):
        assert word in out
    assert out.splitlines()[-1] == "cache/dam-break.0001.npz … dam-break.0007.npz"
    lines = [line for line in err.splitlines() if "warning" not in line]
    assert [line.split(":")[1] for line in lines] == [f" frame {n} of 7" for n in range(1, 8)]
    warned = [line.split(": ", 3)[3] for line in err.splitlines() if "warning" in line]
    assert warned[:2] == ["warned at 0", "warned at 1"]
    assert len(warned) == len(set(warned))


def test_frames_before_the_first_are_not_kept(folder, falling):
    assert main([*RUN, "--frames", "4-6"]) == 0
    whole = reference(6)
    assert same(frames_of(folder / "cache", "dam-break"), {n: whole[n] for n in (4, 5, 6)})


def test_a_resumed_run_is_the_unbroken_one(folder, falling, capsys):
    assert main([*RUN, "--frames", "3", "--resume"]) == 0  # of nothing yet: it begins
    assert main([*RUN, "--frames", "8", "--resume"]) == 0
    assert same(frames_of(folder / "cache", "dam-break"), reference(8))
    capsys.readouterr()
    assert main([*RUN, "--frames", "5", "--resume"]) == 0
    assert capsys.readouterr().out == "cache: frames up to 8 are there already\n"


def test_frames_that_are_missing_are_told(folder, falling, capsys):
    line = [*RUN, "--set", "dimensions=2"]
    assert main([*line, "--frames", "2"]) == 0
    assert main([*line, "--frames", "4-5", "--resume"]) == 0
    assert capsys.readouterr().out.endswith("cache/dam-break.0001.npz … dam-break.0005.npz, frames 1-2, 4-5\n")
    assert main(["render", "cache"]) == 0
    assert "warning: cache: missing frames, which are left out: 3\n" in capsys.readouterr().err
    assert main(["render", "cache", "--frames", "5-7"]) == 0
    assert "warning: cache: missing frames, which are left out: 6-7\n" in capsys.readouterr().err
    assert main(["render", "cache", "--frames", "4-5"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_frames_that_resume_does_not_make_are_told(folder, falling, capsys):
    """They came before those that were kept, which the run goes on from."""
    line = [*RUN, "--set", "dimensions=2"]
    assert main([*line, "--frames", "3-4"]) == 0
    assert "missing" not in capsys.readouterr().err
    for frames in ("1-5", "1-4"):
        assert main([*line, "--frames", frames, "--resume"]) == 0
        told = capsys.readouterr().err
        assert "warning: cache: missing frames, which --resume does not make: 1-2; --overwrite makes all" in told
    assert main([*line, "--frames", "4-5", "--resume"]) == 0
    assert "missing" not in capsys.readouterr().err


def test_a_damaged_last_frame_is_computed_again(folder, falling, capsys):
    assert main([*RUN, "--frames", "4"]) == 0
    last = folder / "cache" / "dam-break.0004.npz"
    last.write_bytes(last.read_bytes()[:1000])
    assert main([*RUN, "--frames", "5", "--resume"]) == 0
    assert "warning: frame 4 is not whole" in capsys.readouterr().err
    assert same(frames_of(folder / "cache", "dam-break"), reference(5))


REFUSED = {
    "used": ([*RUN, "--frames", "9"], "--resume to go on"),
    "other parameters": ([*RUN, "--frames", "9", "--resume", "--set", "flip=0.9"], "with other parameters"),
    "other cells": (["run", "dam-break", "--cells", "16", "--out", "cache", "--resume"], "with other parameters"),
    "other scene": (["run", "good.py", "--out", "cache", "--resume"], "of another scene"),
    "other scene without resume": (["run", "good.py", "--out", "cache"], "--overwrite"),
    "mistake with overwrite": ([*RUN, "--overwrite", "--set", "flip=9"], "flip=9"),
    "nothing to simulate": (["run", "no_liquid.py", "--out", "cache", "--overwrite"], "no Liquid"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_there_is_not_lost(why, folder, falling, capsys):
    assert main([*RUN, "--frames", "2"]) == 0
    capsys.readouterr()
    before = contents(folder)
    line, fragment = REFUSED[why]
    assert main(line) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert fragment in error
    assert contents(folder) == before


def test_an_edited_scene_or_another_version_is_not_resumed(folder, falling, monkeypatch, capsys):
    line = ["run", "good.py", "--frames", "2", "--resume"]
    assert main(line) == 0
    with monkeypatch.context() as later:
        later.setattr(paddlewheel, "__version__", "9.9")
        assert main(line) == 2
    assert f'another version of paddlewheel ("{paddlewheel.__version__}", now "9.9")' in capsys.readouterr().err
    (folder / "good.py").write_text(SCENE + "# edited")
    assert main(line) == 2
    assert "of an edited scene" in capsys.readouterr().err


def test_a_module_beside_the_scene_that_was_edited_is_named(folder, falling, capsys):
    (folder / "parts").mkdir()
    (folder / "parts" / "edited_level.py").write_text("LEVEL = 0.4")
    text = SCENE.replace("import paddlewheel as pw", "import paddlewheel as pw\nfrom parts.edited_level import LEVEL")
    (folder / "scene.py").write_text(text.replace("level=0.5", "level=LEVEL"))
    line = ["run", "scene.py", "--frames", "2", "--resume"]
    assert main(line) == 0
    assert list(Cache.of(folder / "out" / "scene").manifest()["modules"]) == ["parts/edited_level.py"]
    assert main(line) == 0
    (folder / "parts" / "edited_level.py").write_text("LEVEL = 0.4  # or so")
    capsys.readouterr()
    assert main(line) == 2
    assert "of a scene with another parts/edited_level.py" in capsys.readouterr().err


def test_a_run_by_other_code_is_drawn_but_not_resumed(folder, falling, monkeypatch, capsys):
    line = [*RUN, "--set", "dimensions=2", "--frames", "1", "--resume"]
    assert main(line) == 0
    monkeypatch.setattr(scenes, "source_hash", lambda: "f" * 12)
    capsys.readouterr()
    assert main(line) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "by other code of paddlewheel" in error
    assert main(["render", "cache"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_overwrite_begins_anew(folder, falling):
    assert main([*RUN, "--frames", "5"]) == 0
    assert main(["run", "good.py", "--out", "cache", "--frames", "2", "--overwrite"]) == 0
    assert sorted(p.name for p in (folder / "cache").glob("*.npz")) == ["good.0001.npz", "good.0002.npz"]


def test_interrupt_says_how_to_go_on(folder, falling, monkeypatch, capsys):
    write = Cache.write

    def interrupted(self, number, *frame):
        if number == 4:
            raise KeyboardInterrupt
        write(self, number, *frame)

    monkeypatch.setattr(Cache, "write", interrupted)
    assert main([*RUN, "--frames", "6"]) == 130
    assert "interrupted: cache is whole up to frame 3; the same command with --resume" in capsys.readouterr().err
    monkeypatch.setattr(Cache, "write", write)
    assert main([*RUN, "--frames", "6", "--resume"]) == 0
    assert same(frames_of(folder / "cache", "dam-break"), reference(6))


@pytest.mark.parametrize("when", ["start", "step"])
def test_interrupt_before_the_first_frame_says_so(when, folder, falling, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Falling, when, interrupted)
    assert main([*RUN, "--frames", "6"]) == 130
    told = capsys.readouterr().err
    assert told == "paddlewheel: interrupted before the first frame: none of this run was kept\n"


def test_a_failed_solve_keeps_the_frames_before_it(folder, falling, monkeypatch, capsys):
    step = Falling.step

    def failing(self, state, dt):
        state, report = step(self, state, dt)
        failed = report.solves[0]._replace(converged=state.time < 0.1)
        return state, report._replace(solves=[failed])

    monkeypatch.setattr(Falling, "step", failing)
    assert main([*RUN, "--frames", "6"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("paddlewheel: error: step ")
    assert frames_of(folder / "cache", "dam-break").keys() == {1, 2}


def test_a_function_that_fails_later_is_named_with_its_line(folder, falling, monkeypatch, capsys):
    text = SCENE.replace("    ])", "        pw.Force(lambda p, t: p if t < 0.1 else p.speed),\n    ])")
    (folder / "forced.py").write_text(text)
    step = Falling.step
    monkeypatch.setattr(
        Falling, "step", lambda self, s, dt: (self.scene.items[2].f(s.particles.position, s.time), step(self, s, dt))[1]
    )
    assert main(["run", "forced.py", "--frames", "9"]) == 2
    assert "error: forced.py:8: AttributeError: " in capsys.readouterr().err.splitlines()[-1]


def test_liquid_inside_a_solid_is_one_line(folder, capsys):
    text = SCENE.replace("pw.HalfSpace((0, level, 0), (0, 1, 0))", "pw.Sphere((0.5, 0.4, 0.5), 0.5 * radius)")
    (folder / "buried.py").write_text(text)
    for line in (["run", "buried.py"], ["run", "buried.py", "--dry-run"]):
        assert main(line) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("paddlewheel: error: items[0] Liquid(Sphere): there is no room for any liquid")
        assert not (folder / "out").exists()


def test_an_unwritable_folder_is_one_line(folder, falling, monkeypatch, capsys):
    def forbidden(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", forbidden)
    assert main(RUN) == 2
    assert capsys.readouterr().err == "paddlewheel: error: cache: the folder cannot be made: Permission denied\n"


def command(*arguments, **options):
    """The command line with the stand-in, in a process of its own."""
    return subprocess.Popen([sys.executable, str(FALLING), *arguments], stderr=subprocess.PIPE, text=True, **options)


def test_brackets_are_printed_as_they_are(capsys):
    """They are no markup: a hint such as this one would lose its extra."""
    table = Table("pip install 'paddlewheel[view]'")
    table.add_row("paddlewheel[usd] :warning:")
    for text in ("paddlewheel[peers]", table):
        terminal.console().print(text)
    out = capsys.readouterr().out
    for text in ("paddlewheel[peers]", "paddlewheel[view]", "paddlewheel[usd] :warning:"):
        assert text in out


def test_a_terminal_gets_a_bar(folder):
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, str(FALLING), *RUN, "--frames", "4"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"FALLING_SECONDS": "0.02", "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # that is how a terminal says that nobody is left
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    assert process.wait() == 0
    text = shown.decode()
    for word in ("frame 1 of 4", "frame 4 of 4", "left", "solve 0.00"):
        assert word in text
    assert "frame 5" not in text


def test_files_that_may_not_grow_are_one_line(folder, falling):
    """As on a full disk: the frame that does not fit leaves nothing behind."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # a frame of 32 cells is larger

    line = ["run", "dam-break", "--cells", "32", "--out", "cache", "--frames", "2"]
    process = command(*line, preexec_fn=limited, stdout=subprocess.DEVNULL, env=os.environ | {"NUMBA_DISABLE_JIT": "1"})
    error = process.communicate()[1].splitlines()[-1]
    assert process.returncode == 2
    assert error == "paddlewheel: error: cache/dam-break.0001.npz: File too large"
    assert os.listdir(folder / "cache") == ["manifest.json"]


def test_killed_runs_resume_to_the_unbroken_one(folder, falling):
    """Ten times kill -9, at any moment: between frames, in steps, while files are written."""
    env = os.environ | {"FALLING_SECONDS": "0.002"}
    line = [*RUN, "--frames", "60", "--resume"]
    seen = []
    for kill in range(10):
        process = command(*line, env=env, stdout=subprocess.DEVNULL)
        wanted = 3 + 5 * kill  # frames, so that every run comes to write some
        deadline = time.monotonic() + 60
        while not (folder / "cache" / f"dam-break.{wanted:04}.npz").exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(0.0037 * kill)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        seen.append(len(frames_of(folder / "cache", "dam-break")))  # every file that has its name can be read
    assert seen == sorted(seen)
    process = command(*line, env=env, stdout=subprocess.DEVNULL)
    process.communicate()
    assert process.returncode == 0
    assert same(frames_of(folder / "cache", "dam-break"), reference(60))
    assert not list((folder / "cache").glob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 3])
def test_killed_runs_of_the_real_step_resume_to_the_unbroken_one(dimensions, folder):
    line = ["run", "dam-break", "--cells", "24", "--set", f"dimensions={dimensions}", "--frames", "24"]
    assert main([*line, "--out", "whole"]) == 0
    for kill in range(10):
        process = subprocess.Popen(
            [sys.executable, "-m", "paddlewheel", *line, "--out", "cache", "--resume"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wanted = folder / "cache" / f"dam-break.{2 + 2 * kill:04}.npz"
        while not wanted.exists():
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(0.0073 * kill)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert main([*line, "--out", "cache", "--resume"]) == 0
    assert same(frames_of(folder / "cache", "dam-break"), frames_of(folder / "whole", "dam-break"))


def test_a_killed_run_of_honey_resumes_to_the_unbroken_one(folder):
    """Of the real step: particles of many viscosities and temperatures, an inflow, and bodies that are dragged."""
    line = ["run", "honey.py", "--frames", "20"]
    assert main([*line, "--out", "whole"]) == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "paddlewheel", *line, "--out", "cache", "--resume"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (folder / "cache" / "honey.0005.npz").exists():
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 5 <= max(frames_of(folder / "cache", "honey")) < 20
    assert main([*line, "--out", "cache", "--resume"]) == 0
    whole = frames_of(folder / "whole", "honey")
    assert same(frames_of(folder / "cache", "honey"), whole)
    first, last = whole[1], whole[20]
    assert np.ptp(last.particles.carried, axis=0).min() > 1  # viscosity and temperature
    assert all(np.abs(a.position - b.position).max() > 0.01 for a, b in zip(first.bodies, last.bodies, strict=True))


def test_ctrl_c_leaves_a_run_to_resume(folder):
    process = command(*RUN, "--frames", "500", env=os.environ | {"FALLING_SECONDS": "0.002"}, stdout=subprocess.DEVNULL)
    while not (folder / "cache" / "dam-break.0002.npz").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    error = process.communicate()[1]
    assert process.returncode == 130
    assert error.splitlines()[-1].startswith("paddlewheel: interrupted: cache is whole up to frame ")
    assert "Traceback" not in error


@pytest.mark.parametrize("way", ["module", "script"])
def test_ctrl_c_while_it_is_loaded_is_one_line(way, folder):
    """As if Ctrl-C came while Numba is imported."""
    (folder / "numba.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)")
    (folder / "paddlewheel").write_text("import sys\nfrom paddlewheel.cli import main\nsys.exit(main())")
    path = os.pathsep.join([str(folder), *sys.path])
    words = ["-m", "paddlewheel"] if way == "module" else ["paddlewheel"]
    done = subprocess.run(
        [sys.executable, *words, "gallery"], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "paddlewheel: interrupted\n")


def test_ctrl_c_while_an_object_is_freed_is_not_lost(folder):
    """Python drops what is raised in `__del__`."""
    (folder / "freeing.py").write_text(
        "import signal, time\n"
        "class Freed:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "        time.sleep(60)\n"
        "Freed()\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "paddlewheel", "run", "freeing.py"], capture_output=True, text=True, timeout=50
    )
    assert (done.returncode, done.stderr) == (130, "paddlewheel: interrupted\n")


def test_ctrl_c_waits_while_a_kernel_is_loaded(folder):
    """LLVM calls Python back there, and what is raised in that leaves it broken: one in thirty times it crashed."""
    (folder / "loading.py").write_text(
        "import signal, time\n"
        "from numba.core.compiler_lock import global_compiler_lock\n"
        "with global_compiler_lock:\n"
        "    with global_compiler_lock:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    print('loaded')\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "paddlewheel", "run", "loading.py"], capture_output=True, text=True, timeout=50
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "loaded\n", "paddlewheel: interrupted\n")


def test_ctrl_c_in_a_program_that_uses_the_package_is_its_own(folder):
    code = "import signal, paddlewheel; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_output_is_no_mistake(closed, folder):
    line = f'exec "$0" "$@" {closed}'
    for arguments in (["gallery"], [*RUN, "--frames", "1", "--overwrite"]):
        done = subprocess.run(
            ["sh", "-c", line, sys.executable, str(FALLING), *arguments], capture_output=True, text=True
        )
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
    assert frames_of(folder / "cache", "dam-break").keys() == {1}


def test_a_dry_run_says_what_it_costs_and_writes_nothing(folder, capsys):
    before = contents(folder)
    assert main(["run", "dam-break", "--dry-run", "--cells", "32"]) == 0
    out = capsys.readouterr().out
    assert "32 × 20 × 8" in out
    for word in ("particles", "memory", "disk", "for each frame", "constants for two threads"):
        assert word in out
    assert contents(folder) == before


def test_a_dry_run_counts_what_every_step_takes(folder, capsys):
    """Of a grid so small that its cells take no time."""
    assert main(["run", "dam-break", "--dry-run", "--cells", "8", "--set", "dimensions=2", "--frames", "100"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("time"))
    _, each, _, _, _, _, whole, *_ = line.split()
    assert 1e-3 < float(each) < 0.1
    assert float(whole) == pytest.approx(100 * float(each), rel=0.06)
    assert "for 100;" in line


def test_particles_are_estimated_from_the_volume():
    """A column of 8 × 16 cells of 32, half of it 0.5 m deep: exact; round shapes to a few percent."""
    scene = gallery.SCENES["dam-break"].scene(cells=32)
    assert particle_count(scene) == pytest.approx(8 * 16 * 8 * 8)
    flat = gallery.SCENES["dam-break"].scene(cells=32, dimensions=2, particles_per_cell=9)
    assert particle_count(flat) == pytest.approx(8 * 16 * 9)


def test_the_estimated_size_of_a_frame_is_that_of_its_file(tmp_path):
    for advection in ("flip", "apic"):
        scene = gallery.SCENES["dam-break"].scene(cells=32, advection=advection)
        state = Falling(scene).start()
        state.particles = state.particles.at(*state.particles[:2], affine=advection == "apic")
        state.save(tmp_path / "state.npz")
        assert (tmp_path / "state.npz").stat().st_size == pytest.approx(frame_bytes(scene, 50), rel=0.02)


def test_finer_grids_take_more_steps():
    counts = [step_count(gallery.SCENES["dam-break"].scene(cells=n)) for n in (32, 64, 128)]
    assert counts == sorted(counts)
    assert counts[-1] == pytest.approx(4 * counts[0], abs=3)
    assert step_count(Scene((1, 1, 1), 8, gravity=(0, 0, 0), method=Method(cfl=1))) == 1


def smoky(advection="flip", cells=16, **smoke):
    """Hot smoke below a ball, in a closed room, with markers."""
    source = Smoke(Sphere((0.5, 0.3, 0.5), 0.2), temperature=200.0, markers=True, **smoke)
    ball = Solid(Sphere((0.5, 0.7, 0.5), 0.15))
    return Scene((1, 1, 1), cells, items=[source, ball], method=Method(advection=advection))


@pytest.mark.parametrize("advection", ADVECTION)
def test_smoke_is_estimated_as_it_is(advection, tmp_path):
    scene = smoky(advection, rate=math.inf)
    state = Simulation(scene, ids=True).state
    particles, (markers, more) = particle_count(scene), marker_count(scene)
    assert particles == pytest.approx(len(state.particles.position), rel=0.02)
    assert markers == more == len(state.markers)
    state.save(tmp_path / "state.npz")
    size = (tmp_path / "state.npz").stat().st_size
    assert size == pytest.approx(frame_bytes(scene, particles, markers), abs=6000)  # of which the names are some


def test_smoke_that_is_hotter_or_blown_takes_more_steps():
    wind = Inflow(Box((-1, -1, -1), (0.2, 2, 2)), velocity=(50, 0, 0))
    scene = smoky()
    cold = dataclasses.replace(scene, items=[Smoke(Sphere((0.5, 0.3, 0.5), 0.2))])
    assert step_count(cold) == 1
    assert marker_count(cold) == (0, 0)
    assert step_count(dataclasses.replace(scene, fps=1)) > 10
    assert step_count(dataclasses.replace(scene, items=[*scene.items, wind])) == math.ceil(50 * 16 / 3 / 24)
    fast = Smoke(Sphere((0.5, 0.3, 0.5), 0.2), velocity=(0, 50, 0), rate=1.0)
    assert step_count(dataclasses.replace(scene, items=[fast])) == math.ceil(50 * 16 / 3 / 24)


def test_a_dry_run_of_smoke_says_what_it_costs(folder, capsys):
    (folder / "smoky.py").write_text(
        "import math, paddlewheel as pw\n"
        "def scene(cells=8, advection='flip', markers=True):\n"
        "    smoke = pw.Smoke(pw.Box((0, 0, 0), (1, 0.5, 1)), markers=markers, rate=math.inf)\n"
        "    return pw.Scene((1, 1, 1), cells, items=[smoke], method=pw.Method(advection=advection))\n"
    )
    assert main(["run", "smoky.py", "--dry-run"]) == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["particles", "2048", "all", "over", "the", "gas"] in words
    assert ["markers", "2048", "at", "the", "start;", "2048", "more", "each", "second"] in words
    assert main(["run", "smoky.py", "--dry-run", "--set", "advection=maccormack", "--set", "markers=False"]) == 0
    out = capsys.readouterr().out
    assert "markers" not in out
    assert "the grid carries the smoke" in out


def test_help_teaches_by_example(capsys):
    commands = ("", "run ", "render ", "first-step ", "bench pressure ", "bench liquid ")
    for line in (f"{command}--help" for command in commands):
        with pytest.raises(SystemExit) as stop:
            main(line.split())
        assert stop.value.code == 0
        assert "examples:\n  paddlewheel " in capsys.readouterr().out


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "paddlewheel", "--version"], capture_output=True, text=True)
    assert done.stdout.split()[0] == "paddlewheel"
    assert done.returncode == 0
