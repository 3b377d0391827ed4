"""The command `paddlewheel export`: what works, and mistakes as one line that names the item and the value."""

import builtins

import numpy as np
import pytest

import paddlewheel.run
from falling import Falling
from paddlewheel.cli import main
from paddlewheel.commands.export import check_there
from paddlewheel.output.export import FORMATS, WHAT

SCENE = """
import paddlewheel as pw

def scene(cells=8):
    return pw.Scene(size=(1, 1, 1), cells=cells, items=[
        pw.Liquid(pw.HalfSpace((0, 0.5, 0), (0, 1, 0))),
        pw.Solid(pw.Sphere((0.5, 0.8, 0.5), 0.1)),
    ])
"""
ENDINGS = {"ply": "ply", "obj": "obj", "usd": "usd", "vdb": "vdb", "vtk": "vtp"}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A run of four frames of eight cells, in out/tank."""
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tank.py").write_text(SCENE)
    assert main(["run", "tank.py", "--frames", "4"]) == 0
    capsys.readouterr()
    return tmp_path / "out" / "tank"


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_written_frame_by_frame(format, run, capsys):
    if format == "usd":
        pytest.importorskip("pxr")
    assert main(["export", "out/tank", "--format", format, "--frames", "2-3", "--out", "files"]) == 0
    names = [path.name for path in (run.parents[1] / "files").iterdir()]
    for number in (2, 3):
        assert any(f".{number:04}." in name and name.endswith(ENDINGS[format]) for name in names)
    assert not any(".0001." in name or ".0004." in name or "unfinished" in name for name in names)
    assert f"files/tank.{'' if format in ('usd', 'vdb') else 'surface.'}0002." in capsys.readouterr().out


def test_files_go_into_the_run_if_not_told_where(run, capsys):
    assert main(["export", "out/tank", "--what", "surface"]) == 0
    assert capsys.readouterr().err == ""  # no line for a bar that is not there
    assert sorted(p.name for p in (run / "export").iterdir()) == [f"tank.surface.{n:04}.ply" for n in range(1, 5)]


def test_the_surface_on_another_grid_and_smoothed(run):
    arguments = ["export", "out/tank", "--what", "surface", "--frames", "1-1", "--format", "obj"]
    sizes = []
    for more in ([], ["--cells", "16"], ["--smooth", "1"]):
        assert main([*arguments, *more, "--out", "files"]) == 0
        sizes.append((run.parents[1] / "files" / "tank.surface.0001.obj").read_text())
    assert len(set(sizes)) == 3


def test_the_script_for_blender_is_put_beside_the_stage(run):
    pytest.importorskip("pxr")
    assert main(["export", "out/tank", "--format", "usd", "--blender", "--frames", "1-1", "--out", "files"]) == 0
    compile((run.parents[1] / "files" / "tank.blender.py").read_text(), "tank.blender.py", "exec")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "fbx"], "format='fbx', expected one of 'ply', 'obj'"),
        (["--format", "usdd"], "did you mean 'usd'?"),
        (["--format", ""], "format='', expected"),
        (["--what", "waves"], "what='waves', expected one of 'surface'"),
        (["--what", "smoke"], "ply does not hold smoke, expected surface, particles, bodies"),
        (["--what", "smoke", "--format", "vdb"], "out/tank: what='smoke' is not in this run, expected some of surface"),
        (
            ["--what", "surface,smoke", "--format", "ply,obj"],
            "ply and obj hold no smoke, expected a format of vdb, vtk",
        ),
        (["--frames", "9-12"], "no frame to export there, it has frames 1 to 4"),
        (["--frames", "3-2"], "'3-2': expected frames from 1 on"),
        (["--cells", "17"], "cells=17, expected at most 16: the run has 8 cells, with 8 particles in each"),
        (["--cells", "0"], "cells=0: expected a whole number"),
        (["--cells", "many"], "invalid int value: 'many'"),
        (["--smooth", "-1"], "smooth=-1.0, expected a number of cells from 0 to 10"),
        (["--smooth", "nan"], "smooth=nan, expected a finite number"),
        (["--blender"], "--blender builds on usd and vdb, and the format is ply"),
        (["--out", "tank.py"], "tank.py: the folder cannot be made: File exists"),
        (["--out", "/proc/files"], "/proc/files: the folder cannot be made: No such file"),
    ],
)
def test_mistakes_are_one_line(arguments, said, run, capsys):
    try:
        code = main(["export", "out/tank", *arguments])
    except SystemExit as error:  # argparse's way out
        code = error.code
    assert code == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_a_folder_without_a_run_is_named(run, capsys):
    assert main(["export", "nowhere"]) == 2
    assert (
        capsys.readouterr().err
        == "paddlewheel: error: nowhere: no run is there, expected a folder with manifest.json\n"
    )


@pytest.mark.parametrize(("level", "told"), [(0.12, True), (0.5, False)])
def test_a_surface_that_is_smoothed_away_is_told(run, capsys, level, told):
    """Of a puddle a cell deep nothing is left; a deep tank stays."""
    (run.parents[1] / "puddle.py").write_text(SCENE.replace("(0, 0.5, 0)", f"(0, {level}, 0)"))
    assert main(["run", "puddle.py", "--frames", "3"]) == 0
    capsys.readouterr()
    assert main(["export", "out/puddle", "--what", "surface", "--smooth", "4", "--frames", "2-3"]) == 0
    line = "paddlewheel: warning: frames 2-3 have liquid, and their surface none: it is lost by smooth=4\n"
    assert capsys.readouterr().err == line * told


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_damaged_frame_is_left_out_and_named(run, capsys, damaged):
    """As a missing one: with the others the files are whole, also those of all frames together."""
    path = run / f"tank.{damaged:04}.npz"
    path.write_bytes(path.read_bytes()[:1000])
    assert main(["export", "out/tank", "--what", "particles", "--format", "vtk"]) == 0
    told = capsys.readouterr().err
    assert f"warning: frame {damaged} is left out: out/tank/tank.{damaged:04}.npz: damaged" in told
    assert told.count("\n") == 1
    listed = (run / "export" / "tank.particles.pvd").read_text()
    assert [f"{n:04}" in listed for n in (1, 2, 3, 4)] == [n != damaged for n in (1, 2, 3, 4)]


def test_a_stage_is_written_without_the_damaged_frame(run):
    pxr = pytest.importorskip("pxr.Usd")
    (run / "tank.0002.npz").write_bytes(b"nothing")
    assert main(["export", "out/tank", "--format", "usd"]) == 0
    stage = pxr.Stage.Open(str(run / "export" / "tank.usd"))
    assert stage.GetPrimAtPath("/tank/fluid/surface").GetAttribute("points").GetTimeSamples() == [1, 3, 4]


def test_a_run_without_a_whole_frame_is_refused(run, capsys):
    for path in run.glob("*.npz"):
        path.write_bytes(b"nothing")
    assert main(["export", "out/tank"]) == 2
    assert capsys.readouterr().err == "paddlewheel: error: out/tank: no frame to export is whole, of 1-4\n"


def test_a_missing_extra_is_named(run, capsys, monkeypatch):
    def without(name, *arguments, **options):
        if name.partition(".")[0] in ("pxr", "blosc"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["export", "out/tank", "--format", "usd"]) == 2
    assert capsys.readouterr().err == "paddlewheel: error: USD needs usd-core: pip install 'paddlewheel[usd]'\n"
    assert not (run / "export").exists()
    assert main(["export", "out/tank", "--format", "vdb"]) == 0  # zip needs nothing


def test_help_teaches_every_format_and_what_there_is(capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    told = capsys.readouterr().out
    assert "examples:" in told
    for name, format in FORMATS.items():
        assert f"  {name:6}{format.told}" in told
    for name, text in WHAT.items():
        assert f"  {name:11}{text}" in told


def test_missing_frames_are_told(run, capsys):
    (run / "tank.0002.npz").unlink()
    assert main(["export", "out/tank", "--what", "particles", "--format", "vtk"]) == 0
    assert "missing frames, which are left out: 2" in capsys.readouterr().err
    listed = (run / "export" / "tank.particles.pvd").read_text()
    assert [f"{n:04}" in listed for n in (1, 2, 3, 4)] == [True, False, True, True]
    assert np.isclose(float(listed.split('timestep="')[1].split('"')[0]), 1 / 24)


def test_a_format_that_would_write_nothing_is_refused():
    """Smoke that the grid carries, and no solids: PLY has nothing to hold."""
    check_there("out", ["smoke", "velocity"], ["vdb", "vtk"], None)
    with pytest.raises(ValueError, match=r"^out: ply holds nothing of this run, expected a format of vdb, vtk$"):
        check_there("out", ["smoke", "velocity"], ["vdb", "ply"], None)
