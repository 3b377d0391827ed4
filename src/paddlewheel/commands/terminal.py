"""What is said on the terminal, and how."""

import sys
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class _Console(Console):
    def on_broken_pipe(self):
        raise  # what rich has caught: its own way out is exit code 1, which says that a check failed


def console() -> Console:
    """Standard output, as wide as a table wants if it is a file. Brackets in a text are its own, and no markup."""
    return _Console(width=None if sys.stdout.isatty() else 140, markup=False, emoji=False)


def complain(message: str) -> None:
    """One line on standard error."""
    print(f"paddlewheel: {message}", file=sys.stderr)


def one_line(error: BaseException) -> str:
    """What an error says, without line breaks."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def bar(*more: TextColumn) -> Progress:
    """A bar on standard error with the time that is left, and more columns; it disappears at the end."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    return Progress(*columns, *more, console=Console(stderr=True), transient=True)


def progress(cases: Iterable) -> Iterator:
    """The cases one by one, under a bar; each counts as its `work`, or as one."""
    cases = list(cases)
    work = [getattr(case, "work", 1) for case in cases]
    with bar() as shown:
        task = shown.add_task("", total=sum(work))
        for number, case in enumerate(cases):
            name = getattr(case, "name", case)
            shown.update(task, description=f"{number + 1} of {len(cases)}: {name}", completed=sum(work[:number]))
            yield case
