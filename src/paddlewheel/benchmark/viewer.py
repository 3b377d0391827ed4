"""Frames a second of the viewer, with nobody looking and with a browser that draws on the same cores.

What is viewed is handed in: this room knows neither the scenes of the gallery nor the viewer.
"""

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import (
    checked_cells,
    checked_count,
    in_process,
    load,
    machine,
    remarks,
    triad_bandwidth,
)
from paddlewheel.kernel import compile_seconds

VIEWER_CELLS = (20, 32)
WINDOWS = 8  # that count
WINDOW = 2.0  # s
WARM_FRAMES = 48  # that do not count; kernels are loaded, or compiled, in them
WARM_SECONDS = 4.0  # after those, in which the page draws its first ones
WANTED = {20: 30.0, 32: 15.0}  # frames a second, on two cores
PATIENCE = 1800.0  # s for the warm-up, in which all kernels may have to be compiled
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_WINDOW = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


class Viewed(NamedTuple):
    """A viewer at work.

    url     where its page is
    serve   goes on from frame to frame, until `stop` is called in another thread
    frames  how many frames there were
    pages   how many pages are open
    """

    url: str
    serve: Callable[[], None]
    stop: Callable[[], None]
    frames: Callable[[], int]
    pages: Callable[[], int]


class ViewerCase(NamedTuple):
    """A grid, and whether a browser looks on."""

    cells: int
    page: bool

    @property
    def name(self) -> str:
        return f"viewer {self.cells}³ {'with a page' if self.page else 'alone'}"


def chromium() -> str | None:
    """The program, if it is installed."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def viewer_cases(cells: Iterable[int] = VIEWER_CELLS, page: bool | None = None) -> list[ViewerCase]:
    """Every grid with no page open and, if Chromium is installed (or `page` says so), with one."""
    looked_at = (False, True) if (chromium() is not None if page is None else page) else (False,)
    return [ViewerCase(n, looked) for n in checked_cells(cells) for looked in looked_at]


def viewer(
    viewed: Callable[[int], AbstractContextManager[Viewed]],
    cases: Iterable[ViewerCase],
    windows: int = WINDOWS,
    progress: Callable[[list], Iterable] = iter,
) -> dict:
    """Count frames in every case, each in a process of its own; `viewed(cells)` opens what is viewed, and closes it."""
    checked_count("windows", windows)
    before = load()
    rows = [in_process(run_viewer, viewed, *case, windows, name=case.name) for case in progress(list(cases))]
    return {"benchmark": "viewer", "machine": machine(rows, before), "rows": rows}


def run_viewer(viewed: Callable[[int], AbstractContextManager[Viewed]], cells: int, page: bool, windows: int) -> dict:
    """One row. The simulation runs in this thread, as in `paddlewheel view`, and another one looks at the clock."""
    rates, failures = [], []
    with viewed(cells) as shown, _browser(shown.url if page else None):

        def watch():
            try:
                rates.extend(_rates(shown, page, windows))
            except Exception as error:
                failures.append(error)
            finally:
                shown.stop()

        watcher = threading.Thread(target=watch, name="watch", daemon=True)
        watcher.start()
        shown.serve()
        watcher.join()
        frames = shown.frames()
    if failures:
        raise failures[0]
    return {
        "cells": cells,
        "page": page,
        "frames_per_second": float(np.median(rates)),
        "slowest": min(rates),
        "fastest": max(rates),
        "windows": windows,
        "frames": frames,
        "compile_seconds": compile_seconds(),
        "triad": triad_bandwidth(),
    }


def _rates(shown: Viewed, page: bool, windows: int) -> Iterator[float]:
    """Frames a second in one window of time after the other, once the viewer is warm."""
    _wait(lambda: shown.frames() >= WARM_FRAMES, "the first frames")
    if page:
        _wait(lambda: shown.pages() > 0, "a page to open")
    time.sleep(WARM_SECONDS)
    frames, began = shown.frames(), time.perf_counter()
    for _ in range(windows):
        time.sleep(WINDOW)
        before, since = frames, began
        frames, began = shown.frames(), time.perf_counter()
        yield (frames - before) / (began - since)
    if page and not shown.pages():
        raise OSError("the page was closed before the end")


def _wait(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise OSError(f"waited {PATIENCE:g} s for {what}")
        time.sleep(0.05)


@contextmanager
def _browser(url: str | None) -> Iterator[None]:
    """Chromium at a page, without a window, drawing by software; nothing if there is no page."""
    if url is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="paddlewheel-", ignore_cleanup_errors=True) as folder:
        command = [chromium() or BROWSERS[0], *NO_WINDOW, *SOFTWARE, f"--user-data-dir={folder}"]
        # A port for debuggers keeps it at the page; else it would print it and end.
        command += ["--remote-debugging-port=0", url]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def viewer_table(result: dict) -> Table:
    """One row per grid, with no page and with one."""
    table = Table(
        title=f"frames a second in the viewer, in windows of {WINDOW:g} s", title_justify="left",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
    table.add_column("cells")
    table.add_column("pages")
    for heading in ("median", "slowest", "fastest", "wanted"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result["rows"]:
        table.add_row(
            f"{row['cells']}³",
            "one" if row["page"] else "none",
            *(f"{row[key]:.1f}" for key in ("frames_per_second", "slowest", "fastest")),
            f"{WANTED[row['cells']]:g}" if row["cells"] in WANTED else "",
        )
    return table


def viewer_summary(result: dict) -> list[str]:
    """Whether a browser looked on, and what the machine is, in words."""
    if any(row["page"] for row in result["rows"]):
        line = "the page is drawn by Chromium in software, on the same cores"
    else:
        line = "no page was opened: that needs Chromium (apt-get install chromium)"
    return [line, *remarks(result)]
