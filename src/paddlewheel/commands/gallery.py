"""`paddlewheel gallery`: the scenes that come with the package, as a list, or as a page that shows what holds."""

import inspect
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from paddlewheel import gallery
from paddlewheel.commands.exhibit import Exhibit
from paddlewheel.commands.terminal import bar, complain, console
from paddlewheel.gallery import common
from paddlewheel.kernel import compile_seconds
from paddlewheel.output.cache import make_folder, replace
from paddlewheel.output.page import Figure, Picture, Shown, page
from paddlewheel.output.render import require
from paddlewheel.solids import argument

FAILED = 1
INDEX = "index.html"


def show(options) -> int:
    """List the scenes, or make the page of them."""
    if options.page is None:
        return _list()
    names = options.only or list(gallery.SCENES)
    for name in names:
        argument.choice("gallery", "NAME", name, gallery.SCENES)
    exhibits = {name: Exhibit(name, options.out) for name in gallery.SCENES}
    for name in names:
        require(exhibits[name].entry.scene())  # now, not after minutes
    for exhibit in _tour([exhibits[name] for name in names], options.again):
        exhibit.draw()
    return _told(_write(options.page, exhibits), options.page)


def _list() -> int:
    table = Table("name", "what it shows", "parameters", box=None, pad_edge=False)
    for name, entry in gallery.SCENES.items():
        parameters = inspect.signature(entry.scene).parameters.values()
        table.add_row(name, entry.caption, "\n".join(f"{p.name}={p.default}" for p in parameters))
    console().print(table)
    return 0


def _tour(exhibits: list[Exhibit], again: bool) -> Iterator[Exhibit]:
    """All of them, one after the other, measured: those that were not yet, or all again, under a bar."""
    missing = [exhibit for exhibit in exhibits if again or exhibit.result is None]
    if len(missing) < len(exhibits):
        complain(f"{len(exhibits) - len(missing)} of {len(exhibits)} scenes are there already")
    told = _Told([exhibit.work for exhibit in missing])
    with told:
        for exhibit in exhibits:
            if exhibit in missing:
                told.begins(exhibit.name)
                exhibit.measure(told.frame)
                told.ends()
            yield exhibit


class _Told:
    """Tells how far a tour is: by a bar, or by one line for each scene if standard error is not a terminal."""

    def __init__(self, work: list[float]):
        self._work, self._done = work, 0
        self._start = _clock()
        self._bar: Progress | None = bar() if Console(stderr=True).is_terminal else None

    def __enter__(self):
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task("", total=sum(self._work))
        return self

    def __exit__(self, *error):
        if self._bar:
            self._bar.stop()

    def begins(self, name: str) -> None:
        self._name, self._began = name, _clock()

    def frame(self, number: int) -> None:
        """Within a scene, time itself is the measure of what is done, at most all that was expected of it."""
        if self._bar:
            part = min(_clock() - self._began, self._work[self._done])
            which = f"{self._done + 1} of {len(self._work)}: {self._name}, frame {number}"
            self._bar.update(self._task, description=which, completed=sum(self._work[: self._done]) + part)

    def ends(self) -> None:
        self._done += 1
        if not self._bar:
            now = _clock()
            done, left = sum(self._work[: self._done]), sum(self._work[self._done :])
            minutes = (now - self._start) * left / done / 60
            which = f"{self._done} of {len(self._work)}: {self._name}: {now - self._began:.0f} s"
            complain(f"{which}; about {minutes:.0f} min left")


def _clock() -> float:
    """Seconds that go by, without those of compiling, of which the scenes that are left need none."""
    return time.perf_counter() - compile_seconds()


def _write(folder: Path, exhibits: dict[str, Exhibit]) -> list[Shown]:
    """The page of what is there, with its pictures; what is on it."""
    make_folder(folder)
    sections, shown, missing = {}, [], []
    for section, entries in gallery.SECTIONS.items():
        found = [_shown(exhibits[name], folder) for name in entries]
        missing += [name for name, scene in zip(entries, found, strict=True) if scene is None]
        sections[section] = [scene for scene in found if scene is not None]
        shown += sections[section]
    replace(folder / INDEX, lambda file: file.write_text(page(sections, missing), encoding="utf-8"))
    kept = {picture.file for scene in shown for picture in scene.pictures}
    for old in folder.glob("*.jpg"):
        if old.name not in kept:
            old.unlink()
    return shown


def _shown(exhibit: Exhibit, folder: Path) -> Shown | None:
    """A scene as the page tells it, its pictures copied to where the page is; None if it is not measured and drawn."""
    result, entry = exhibit.result, exhibit.entry
    if result is None or "drawn" not in result:
        return None
    pictures = []
    for told, path in zip(result["pictures"], exhibit.pictures(), strict=True):
        replace(folder / path.name, lambda file, path=path: shutil.copyfile(path, file))
        pictures.append(Picture(path.name, told["beside"], told["time"]))
    figures = [
        Figure(name, value, entry.LIMITS[name], name in common.LIMITS or name in common.SMOKE_LIMITS)
        for name, value in result["figures"].items()
    ]
    return Shown(
        name=exhibit.name,
        caption=entry.caption,
        figure=getattr(entry, "figure", None),
        pictures=pictures,
        figures=figures,
        failed=result["failed"],
        cells=tuple(result["cells"]),
        seconds=result["seconds per frame"],
        machine="{processor}, threads: {threads}".format(**result["machine"]),
        command=f"paddlewheel run {exhibit.name} --frames {entry.shown[-1]} --render",
    )


def _told(shown: list[Shown], folder: Path) -> int:
    failing = [scene.name for scene in shown if not scene.holds]
    print(f"{folder / INDEX}: {len(shown)} of {len(gallery.SCENES)} scenes, {len(shown) - len(failing)} hold")
    if failing:
        complain(f"does not hold: {', '.join(failing)}")
    return FAILED if failing else 0
