"""What the documentation says to type, and how to do it: blocks of code in Markdown, and a runner for each language."""

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path
from typing import NamedTuple

from paddlewheel.cli import main

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "paddlewheel"
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
_FENCE = re.compile(r"^(?P<margin> *)```(?P<language>\S*) *(?P<rest>.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_INLINE = re.compile(r"(?<!`)`(paddlewheel\s[^`]+)`(?!`)")


class Block(NamedTuple):
    """Code between fences: its page and first line, its language, the file it is (a title), and the code."""

    page: str
    line: int
    language: str
    title: str | None
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    found, start = [], None
    for number, line in enumerate(PAGES[page].read_text().splitlines(), 1):
        fence = _FENCE.match(line)
        if start is None and fence:
            start, language, rest, lines = number, fence["language"], fence["rest"], []
        elif start is not None and fence:
            title = _TITLE.search(rest)
            text = textwrap.dedent("\n".join(lines) + "\n")
            found.append(Block(page, start + 1, language, title and title[1], text))
            start = None
        elif start is not None:
            lines.append(line)
    assert start is None, f"{page}:{start}: a block without end"
    return found


def indented(page: str) -> list[str]:
    """Blocks that are indented, which say nothing of their language: where they are."""
    fenced, before, found = False, "", []
    for number, line in enumerate(PAGES[page].read_text().splitlines(), 1):
        fenced ^= bool(_FENCE.match(line))
        if not fenced and not before.strip() and line.startswith("    ") and line.strip():
            found.append(f"{page}:{number}")
        before = line
    return found


def commands(block: Block) -> list[str]:
    """The commands of a block for the shell, without comments."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in lines) if line]


def told(page: str) -> list[str]:
    """Every `paddlewheel …` of a page, in blocks and in running text."""
    text = PAGES[page].read_text()
    in_blocks = [c for b in blocks(page) if b.language == "bash" for c in commands(b) if c.startswith("paddlewheel")]
    return in_blocks + [" ".join(inline.split()) for inline in _INLINE.findall(text)]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


class Reader:
    """Someone who types all that a page says, in the folder they are in, one block after the other.

    shorter   options that are added to a command, by the command: what is then printed is not compared
    not_run   patterns of commands that are only looked at
    """

    def __init__(self, shorter: dict[str, str], not_run: dict[str, str]):
        self._shorter, self._not_run = shorter, not_run
        self._names = {"__name__": "documented"}
        self._printed: str | None = None  # by the last block; None if it was not run as it stands

    def read(self, block: Block) -> None:
        {"python": self._python, "bash": self._bash, "text": self._text, "tree": self._tree}[block.language](block)

    def _python(self, block):
        if block.title:
            Path(block.title).write_text(block.text)
            return
        code = compile("\n" * (block.line - 1) + block.text, block.page, "exec")
        with _captured() as out:
            exec(code, self._names)
        self._printed = out.getvalue()

    def _bash(self, block):
        self._printed = ""
        for command in commands(block):
            if any(re.fullmatch(pattern, command) for pattern in self._not_run):
                self._printed = None
            else:
                words = shlex.split(command)
                {"paddlewheel": self._paddlewheel, "cd": self._cd, "make": _make}[words[0]](command, words[1:], block)

    def _cd(self, command, arguments, block):
        os.chdir(arguments[0])

    def _paddlewheel(self, command, arguments, block):
        extra = shlex.split(self._shorter.get(command, ""))
        if arguments[0] == "view":
            _view(arguments + extra)
            self._printed = None
            return
        with _captured() as out:
            code = main(arguments + extra)
        assert code == 0, f"{block.place}: {command}: exit code {code}"
        self._printed = None if extra or self._printed is None else self._printed + out.getvalue()

    def _text(self, block):
        """What the block before printed; … stands for anything."""
        if self._printed is not None:
            shown, printed = (_stripped(text) for text in (block.text, self._printed))
            pattern = ".*".join(re.escape(part) for part in shown.split("…"))
            assert re.fullmatch(pattern, printed, re.DOTALL), f"{block.place}: printed is\n{printed}"

    def _tree(self, block):
        """Files of the package: a name on a line for each, or several with commas, below their folder."""
        folders = [(-1, ROOT)]
        for line in block.text.splitlines():
            depth, entry = len(line) - len(line.lstrip()), line.strip()
            names = re.match(r"[\w./]+(, [\w./]+)*", entry)[0].split(", ")
            folders = [(d, folder) for d, folder in folders if d < depth]
            for name in names:
                path = folders[-1][1] / name
                assert path.exists() or path.with_suffix(".py").exists(), f"{block.place}: no {path}"
            if names[0].endswith("/"):
                folders.append((depth, folders[-1][1] / names[0]))


def _make(command, arguments, block):
    """A target there is; what it does is tested as what it calls."""
    assert set(arguments) <= make_targets(), f"{block.place}: {command}"


def _view(arguments) -> None:
    """Open the viewer, fetch its page, and end it by Ctrl-C."""
    command = [sys.executable, "-m", "paddlewheel", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = re.search(r"http://\S+", process.stdout.readline())[0]
            with urllib.request.urlopen(url, timeout=60) as page:
                assert page.status == 200
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
            assert code == 130, f"{command}: exit code {code}"
        finally:
            process.kill()


@contextlib.contextmanager
def _captured():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
