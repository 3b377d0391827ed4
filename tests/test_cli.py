"""The command line: what works, and that every mistake is one line that names the item and the value."""

import json
import os
import subprocess
import sys

import pytest

from paddlewheel import cli, gallery
from paddlewheel.cli import main

SCENE = """
import paddlewheel as pw

def scene(cells=8, level=0.5, radius=0.2, lid=False):
    return pw.Scene(size=(1, 1, 1), cells=cells, items=[
        pw.Liquid(pw.HalfSpace((0, level, 0), (0, 1, 0))),
        pw.Solid(pw.Sphere((0.5, 0.4, 0.5), radius)),
    ])
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
        "moving.py": SCENE.replace("0.2, lid", "0.2").replace("radius)),", "radius), lambda t: pw.Pose((t, 0, 0))),"),
    }
    for name, text in scenes.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def not_converged():
    step = cli.first_step(gallery.SCENES["still-water"].scene(cells=12))
    return step._replace(projection=step.projection._replace(info=step.projection.info._replace(converged=False)))


def test_run_draws_and_says_where_in_one_line(folder, capsys):
    assert main(["run", "still-water", "--cells", "16", "--set", "tilt=45", "--out", "pictures"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert out.startswith("pictures/still-water.png: max|u| / gΔt = ")
    assert (folder / "pictures" / "still-water.png").stat().st_size > 10_000


@pytest.mark.parametrize("file", ["good.py", "two_d.py"])
def test_run_takes_a_file(file, folder, capsys):
    assert main(["run", file, "--set", "level=0.4", "--cells", "12"]) == 0
    name = file.removesuffix(".py")
    assert capsys.readouterr().out.startswith(f"out/{name}/{name}.png: max|u| [m/s] = ")


def test_a_scene_imports_what_lies_beside_it(folder, capsys):
    (folder / "beside").mkdir()
    (folder / "beside" / "my_numbers.py").write_text("LEVEL, SPEED = 0.4, 0.1")
    text = SCENE.replace("import paddlewheel as pw", "import paddlewheel as pw\nfrom my_numbers import LEVEL")
    text = text.replace("level=0.5", "level=LEVEL").replace("(0, 1, 0))),", "(0, 1, 0)), speed),")
    (folder / "beside" / "scene.py").write_text(
        text + "\ndef speed(p):\n    import my_numbers\n    return my_numbers.SPEED * p\n"
    )
    before = sys.path[:]
    assert main(["run", "beside/scene.py"]) == 0
    assert sys.path == before


def test_gallery_lists_every_scene(capsys):
    assert main(["gallery"]) == 0
    out = capsys.readouterr().out
    for name in gallery.SCENES:
        assert name in out


@pytest.mark.parametrize("name", gallery.SCENES)
def test_every_gallery_scene_holds(name, monkeypatch):
    """On a small grid; `make check` runs them at their own size."""
    entry = gallery.SCENES[name]
    figures = entry.check(cli.first_step(entry.scene(cells=24)))
    assert figures.keys() == entry.LIMITS.keys()
    assert all(figures[figure] <= limit for figure, limit in entry.LIMITS.items())
    assert entry.caption


def test_check_fails_with_code_1(monkeypatch, capsys):
    entry = gallery.SCENES["still-water"]
    small = cli.first_step(entry.scene(cells=12))
    monkeypatch.setattr(cli, "first_step", lambda scene: small)
    assert main(["check", "still-water"]) == 0
    assert "FAILS" not in capsys.readouterr().out
    monkeypatch.setattr(entry, "check", lambda step: dict.fromkeys(entry.LIMITS, float("nan")))
    assert main(["check"]) == 1
    assert "FAILS" in capsys.readouterr().out


def test_check_fails_if_the_solve_did_not_converge(monkeypatch, capsys):
    failed = not_converged()
    monkeypatch.setattr(cli, "first_step", lambda scene: failed)
    assert main(["check", "still-water"]) == 1
    assert "FAILS: the solve did not converge" in capsys.readouterr().out


def test_bench_writes_json_and_plot(folder, capsys):
    code = main(["bench", "pressure", "--cells", "12", "--solver", "multigrid", "--json", "a.json", "--plot", "a.png"])
    assert code == 0
    assert json.loads((folder / "a.json").read_text())["rows"][0]["cells"] == 12
    assert (folder / "a.png").exists()
    assert "multigrid" in capsys.readouterr().out
    assert not list(folder.glob(".*"))


def test_what_fails_to_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")

    def half(file):
        file.write_text("ha")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cli._replace(path, half)
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("a.json", "old")]


def test_a_link_is_written_through(tmp_path):
    """/dev/stdout is one, and must not become a file."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    cli._replace(tmp_path / "link", lambda file: file.write_text("new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


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
    "unknown scene": ("run stil-water", "SCENE='stil-water'", "did you mean 'still-water'?"),
    "no such file": ("run nowhere.py", "nowhere.py", "No such file"),
    "no cells": ("run still-water --cells 0", "cells=0"),
    "cells as text": ("run still-water --cells many", "--cells", "'many'"),
    "cells that do not fit": ("run still-water --cells 100000", "bytes"),
    "unknown parameter": ("run still-water --set tlt=3", "still-water: parameter='tlt'", "did you mean 'tilt'?"),
    "parameter without value": ("run still-water --set tilt", "'tilt'", "name=value"),
    "parameter of a wrong kind": ("run still-water --set tilt=steep", "still-water: tilt='steep'"),
    "wrong choice": ("run still-water --set weights=aera", "weights='aera'", "did you mean 'area'?"),
    "negative radius": ("run good.py --set radius=-1", "Sphere: radius=-1"),
    "no function": ("run no_function.py", "no_function.py", "scene(**parameters)"),
    "no scene": ("run no_scene.py", "no_scene.py: scene() returned 7"),
    "missing parameter": ("run wants_more.py", "wants_more", "'height'", "--set"),
    "syntax error": ("run typing_error.py", "typing_error.py:2", "invalid syntax"),
    "name error": ("run name_error.py", "name_error.py:3: NameError", "'pw'"),
    "open mesh": ("run open_mesh.py", "Mesh: not closed"),
    "nothing to solve for": ("run no_liquid.py", "no Liquid"),
    "size of no whole cells": ("run odd_size.py", "size=(1.0, 0.7, 1.0)", "nearest"),
    "NaN": ("run nan.py", "Sphere: center=(0.5, nan, 0.5)"),
    "velocity as one number": ("run one_speed.py", "items[0] Liquid(HalfSpace): velocity(points) returned"),
    "velocity of two components": ("run flat_speed.py", "items[0] Liquid(HalfSpace): velocity(points) returned"),
    "velocity of NaN": ("run nan_speed.py", "items[0] Liquid(HalfSpace): velocity at", "nan"),
    "velocity that fails in the step": ("run late_error.py", "late_error.py:6: AttributeError", "'speed'"),
    "velocity of a wrong shape in the step": ("run late_shape.py", "late_shape.py: IndexError"),
    "velocity of NaN in the step": ("run late_nan.py", "not finite"),
    "out is a file": ("run good.py --out good.py", "good.py", "exists"),
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
    "no command": ("", "COMMAND"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_code_2(mistake, folder, capsys):
    line, *fragments = MISTAKES[mistake]
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


def test_a_solid_outside_the_domain_is_a_warning(folder, capsys):
    (folder / "outside.py").write_text(SCENE.replace("(0.5, 0.4, 0.5)", "(5, 5, 5)"))
    assert main(["run", "outside.py"]) == 0
    error = capsys.readouterr().err
    assert error.startswith("paddlewheel: warning: items[1] Solid(Sphere) lies from")
    assert error.count("\n") == 1


def test_a_solve_that_did_not_converge_is_not_drawn(folder, monkeypatch, capsys):
    failed = not_converged()
    monkeypatch.setattr(cli, "first_step", lambda scene: failed)
    assert main(["run", "still-water"]) == 2
    assert "did not converge" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_interrupt_is_130(folder, monkeypatch, capsys):
    def interrupted(scene):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "first_step", interrupted)
    assert main(["run", "still-water"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_without_matplotlib_it_says_what_to_install(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["run", "good.py"]) == 2
    assert "pip install 'paddlewheel[picture]'" in capsys.readouterr().err


def test_help_teaches_by_example(capsys):
    for line in ("--help", "run --help", "bench pressure --help"):
        with pytest.raises(SystemExit) as stop:
            main(line.split())
        assert stop.value.code == 0
        assert "examples:\n  paddlewheel " in capsys.readouterr().out


@pytest.mark.parametrize("size", ["(1, 1, 1)", "(1, 1, 1 / 64)"], ids=["3-D", "2-D"])
def test_the_example_of_the_readme_works(size, request, capsys):
    readme = (request.config.rootpath / "README.md").read_text()
    example = readme.split("```python")[1].split("```")[0]
    assert "from_size((1, 1, 1)," in example
    exec(example.replace("from_size((1, 1, 1),", f"from_size({size},"), {})
    assert float(capsys.readouterr().out.split()[-1]) < 1e-6


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "paddlewheel", "--version"], capture_output=True, text=True)
    assert done.stdout.split()[0] == "paddlewheel"
    assert done.returncode == 0
