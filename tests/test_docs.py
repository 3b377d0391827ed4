"""README and docs/: every block of code is run, every command is one, and the site is whole."""

import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib

import pytest

import paddlewheel
from documented import PAGES, ROOT, Block, Reader, blocks, commands, indented, make_targets, told
from paddlewheel import cli, gallery

LANGUAGES = ("python", "bash", "text", "tree")  # text is what the block before printed, tree what files there are
TABLES = ("paddlewheel.solve.linear.SOLVERS", "paddlewheel.output.export.FORMATS", "paddlewheel.gallery.SCENES")

NOT_RUN = {  # what is only looked at, as a pattern: why
    r"\. \.venv/bin/activate": "the tests run in an environment already",
    r"blender .*": "it needs Blender; tests/output/export/test_blender.py runs the same script with bpy",
    r"paddlewheel bench startup": "it compiles all kernels anew; tests/test_benchmark.py does that once",
}
SHORTER = {  # options that are added here; the slow tests run these commands as they stand
    "paddlewheel run dam-break --frames 48": "--cells 16 --frames 3",
    "paddlewheel run dam-break --cells 32 --frames 24": "--cells 16 --frames 3",
    "paddlewheel run dam-break-pillar --cells 48 --frames 48": "--cells 16 --frames 3",
    "paddlewheel run dam-break-pillar --frames 48": "--cells 16 --frames 3",
    "paddlewheel export out/dam-break-pillar --what surface --format ply --cells 72 --smooth 0.8": "--cells 24",
    "paddlewheel export out/dam-break-pillar --format usd --cells 72 --smooth 0.8 --blender": "--cells 24",
    "paddlewheel render out/bath --sheet": "--frames 3",
    "paddlewheel run mill.py --frames 12 --set density=900 --render": "--cells 16 --frames 2",
    "paddlewheel view stir-by-hand": "--cells 12",
}
ALWAYS_SHORTER = {  # on the grids they go through by themselves these take many minutes; `make bench` does it
    "paddlewheel bench pressure --json pressure.json --plot pressure.png": "--cells 16",
    "paddlewheel bench liquid --json liquid.json --plot liquid.png": "--cells 16 --steps 2",
    "paddlewheel bench liquid --scene sphere": "--cells 16 --steps 2",
    "paddlewheel bench bodies --json bodies.json": "--plane 16 --cells 16",
    "paddlewheel bench viewer --json viewer.json": "--cells 12 --windows 1",
}

EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
every_page = pytest.mark.parametrize("page", PAGES)
WITH_BLOCKS = [page for page in PAGES if blocks(page)]
LONG = ["docs/benchmarks.md"]  # too long for the quick tests, even so
needs_mkdocs = pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="the extra 'docs' is missing")


@pytest.fixture
def read(tmp_path, monkeypatch):
    """read(page, shorter): type all that a page says, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = {name: dict(_found(name)) for name in TABLES}, set(sys.modules)

    def run(page, shorter):
        reader = Reader(shorter, NOT_RUN)
        for block in blocks(page):
            reader.read(block)

    yield run
    tables, modules = before
    for name, entries in tables.items():
        _found(name).clear()
        _found(name).update(entries)
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def _found(dotted: str) -> dict:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("page", [page for page in WITH_BLOCKS if page not in LONG])
def test_what_a_page_says_works(page, read):
    read(page, SHORTER | ALWAYS_SHORTER)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_what_a_page_says_works_as_it_stands(page, read):
    read(page, ALWAYS_SHORTER)


@every_page
def test_blocks_are_of_a_language_that_is_run(page):
    assert {block.place: block.language for block in blocks(page) if block.language not in LANGUAGES} == {}
    assert indented(page) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "assert 1 + 1 == 3"),
        ("bash", "paddlewheel gallery --no-such-option"),
        ("bash", "rm -r out"),
        ("bash", "make nothing"),
        ("tree", "src/paddlewheel/\n  nothing.py"),
        ("julia", "1 + 1"),
    ],
)
def test_a_false_block_fails(language, text):
    with pytest.raises((AssertionError, KeyError, SystemExit)):
        Reader({}, {}).read(Block("page", 1, language, None, text))


def test_a_false_output_fails():
    reader = Reader({}, {})
    reader.read(Block("page", 1, "python", None, "print('one two three')"))
    reader.read(Block("page", 2, "text", None, "one … three"))
    with pytest.raises(AssertionError, match="one two three"):
        reader.read(Block("page", 3, "text", None, "one … four"))


def test_exceptions_are_of_commands_that_are_there():
    there = [command for page in PAGES for b in blocks(page) if b.language == "bash" for command in commands(b)]
    assert set(SHORTER) | set(ALWAYS_SHORTER) <= set(there)
    assert [pattern for pattern in NOT_RUN if not any(re.fullmatch(pattern, c) for c in there)] == []


@every_page
def test_every_command_is_one(page):
    """Also those in running text, which are not run: options there are, scenes and parameters that they have."""
    for command in told(page):
        words = shlex.split(command)[1:]
        if any(word.isupper() for word in words):  # a pattern
            continue
        cli._checked_names(words)
        if len(words) == 1:  # the name of a command
            continue
        options = vars(cli._parser().parse_args(words))
        assert set(options.get("names") or []) <= set(gallery.SCENES), command
        if words[0] in ("run", "view", "first-step"):
            _check_scene(options["scene"], dict(options["set"]), command)


def _check_scene(name, parameters, command):
    if name in gallery.SCENES:
        assert set(parameters) <= set(inspect.signature(gallery.SCENES[name].scene).parameters), command
    else:
        assert name.endswith(".py") or name.startswith("out/"), command


@every_page
def test_links_lead_somewhere(page):
    text = PAGES[page].read_text()
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert target.startswith("https://") or (PAGES[page].parent / target).exists(), target
    for target in re.findall(r"`make ([a-z]+)`", text):
        assert target in make_targets(), target
    for extras in re.findall(r"pip install '(?:paddlewheel|\.)\[([a-z,]+)\]'", text):
        assert set(extras.split(",")) <= EXTRAS, extras


def test_every_public_name_is_told():
    told = re.findall(r"^::: paddlewheel\.(\w+)$", PAGES["docs/api.md"].read_text(), re.MULTILINE)
    assert sorted(told) == sorted(paddlewheel.__all__)


@needs_mkdocs
def test_the_site_is_whole(tmp_path):
    """It is built without a warning, has the help of every command and every formula, and asks no other host."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.html")}
    for html in pages.values():
        assert re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?(?:https?:)?//', html) == []
        assert 'class="arithmatex"' not in html
    assert pages["method.html"].count("<math") == PAGES["docs/method.md"].read_text().count("$$\n") // 2
    for name in cli._COMMANDS:
        assert f"paddlewheel {name}" in pages["command-line.html"]
    assert "<code>open_sides</code>: sides of the box" in pages["api.html"]
