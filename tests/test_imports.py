"""Who may import whom, what is public, and what a plain import must not cost."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from importlinter.cli import lint_imports

import paddlewheel

CONTRACT = ["Scene", "Method", "Liquid", "Solid", "Pose", "Mesh"]
SHAPES = ["Box", "Sphere", "Cylinder", "Capsule", "Torus", "HalfSpace"]


def test_imports_go_one_way(monkeypatch, request):
    monkeypatch.chdir(request.config.rootpath)
    assert lint_imports() == 0


@pytest.mark.parametrize("name", sorted({*CONTRACT, *SHAPES, *paddlewheel.__all__}))
def test_public_names_are_there(name):
    assert hasattr(paddlewheel, name)
    assert name in paddlewheel.__all__


def test_one_version():
    assert paddlewheel.__version__ == version("paddlewheel")


@pytest.mark.parametrize("optional", ["matplotlib", "rich", "pytest"])
def test_the_simulation_does_not_need_what_draws_and_prints(optional):
    code = f"import sys; sys.modules[{optional!r}] = None; import paddlewheel"
    subprocess.run([sys.executable, "-c", code], check=True)
