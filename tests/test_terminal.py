"""What is said on the terminal is said to the letter."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from paddlewheel.benchmark.machine import machine
from paddlewheel.benchmark.smoke import smoke_summary
from paddlewheel.commands import bench
from paddlewheel.commands.terminal import bar, console

TEXT = "items[0] :cat: pip install 'paddlewheel[peers]'"


@pytest.mark.parametrize("where", ["line", "cell", "heading", "title"])
def test_brackets_and_colons_are_no_markup(capsys, where):
    table = Table(title=TEXT if where == "title" else None)
    table.add_column(TEXT if where == "heading" else "a heading that leaves all the room a title needs")
    table.add_row(TEXT if where == "cell" else "")
    console().print(TEXT if where == "line" else table)
    assert TEXT in capsys.readouterr().out


def test_nor_are_those_beside_a_bar():
    shown = bar()
    shown.add_task(TEXT, total=1)
    told = Console(file=io.StringIO(), width=200)
    told.print(shown.get_renderable())
    assert TEXT in told.file.getvalue()


def test_what_a_benchmark_lacks_is_told_as_it_is_installed(capsys):
    rows = [{"program": "flip", "compile_seconds": 0.0, "triad": 1e10}]
    lines = smoke_summary({"machine": machine(rows), "rows": rows, "ratios": {}})
    bench._tell([], lines)
    assert "pip install 'paddlewheel[peers]'" in capsys.readouterr().out
