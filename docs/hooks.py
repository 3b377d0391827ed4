"""What the site has besides the files in docs/: README and its neighbours, the command line's help, and formulae.

`mkdocs` calls the functions that begin with `on_`.
"""

import argparse
import html
import os
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
HELP = "<!-- help -->"
GALLERY = "gallery/index.html"
_COLUMNS = "100"  # as wide as the help is printed
_FORMULA = re.compile(r'<(div|span) class="arithmatex">(?:\\\[|\\\()(.*?)(?:\\\]|\\\))</\1>', re.DOTALL)


def on_config(config):
    """Leave the gallery out until `make gallery` has made its page."""
    if not (Path(config.docs_dir) / GALLERY).exists():
        config.nav = [entry for entry in config.nav if GALLERY not in entry.values()]
    return config


def on_files(files, config):
    """Add the pages that stand beside docs/, for those who read the source."""
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=from_root((ROOT / source).read_text())))
    return files


def on_page_markdown(markdown, page, config, files):
    """Put the help of every command where the page wants it."""
    return markdown.replace(HELP, command_help()) if HELP in markdown else markdown


def on_page_content(content, page, config, files):
    """Turn formulae into MathML, which browsers draw by themselves."""
    return _FORMULA.sub(_mathml, content)


def from_root(markdown: str) -> str:
    """The text of a file beside docs/, with its links as they are from within docs/."""
    for page, source in PAGES.items():
        markdown = markdown.replace(f"]({source})", f"]({page})")
    return markdown.replace("](docs/", "](")


def command_help() -> str:
    """The help of every command, as Markdown."""
    from paddlewheel.cli import _parser

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _COLUMNS
    try:
        return "\n\n".join(_sections(_parser(), 2))
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _sections(parser: argparse.ArgumentParser, level: int):
    yield f"{'#' * level} `{parser.prog}`\n\n```text\n{parser.format_help().rstrip()}\n```"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _sections(command, level + (level < 3))


def _mathml(found: re.Match) -> str:
    kind, formula = found.groups()
    display = "block" if kind == "div" else "inline"
    return f'<{kind} class="formula">{convert(html.unescape(formula).strip(), display=display)}</{kind}>'
