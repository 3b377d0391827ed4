"""A scene of the gallery as it is shown: measured in one run with its pictures, and kept.

    dam-break.json        what was measured, written last: a scene is done if this file is there, with its `key`
    dam-break.0032.npz    the state of a frame to be drawn
    dam-break.0032.jpg    its picture
    beam-1.0008.npz …     the same of the first scene that is shown beside it

A scene is simulated again if it, its file, files of the gallery that this one
imports or the code of the simulation have changed, and drawn again if the code
that draws has.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

import paddlewheel
from paddlewheel import gallery
from paddlewheel.benchmark.machine import machine
from paddlewheel.kernel import compile_seconds
from paddlewheel.output.cache import Cache, digest, replace
from paddlewheel.output.camera import View
from paddlewheel.output.render import Painter
from paddlewheel.output.thumbnail import write_thumbnail
from paddlewheel.run import Frame, Simulation, SolveFailedError
from paddlewheel.scene import Scene
from paddlewheel.types import State

_DRAWS = ("output",)  # what makes pictures of states
_NOT_SIMULATING = (*_DRAWS, "commands", "benchmark", "gallery", "cli.py", "__main__.py")


class Observed(Simulation):
    """A simulation that keeps the states of some of its frames.

    wanted   their numbers; those that were seen are taken out
    keep     called with each of them
    told     called with the number of every frame
    seconds  that all frames took, without what compiling took
    frames   how many these were
    """

    def __init__(self, scene: Scene, wanted, keep: Callable[[Frame], None], told: Callable[[int], None]):
        super().__init__(scene)
        self.wanted, self._keep, self._told = set(wanted), keep, told
        self.seconds, self.frames = 0.0, 0

    def run(self, frames: int) -> Iterator[Frame]:
        """The next so many frames."""
        coming = super().run(frames)
        while True:
            compiled, start = compile_seconds(), time.perf_counter()
            frame = next(coming, None)
            if frame is None:
                return
            # By the clock, and not by the stages: what is compiled between two of them is in none.
            self.seconds += time.perf_counter() - start - (compile_seconds() - compiled)
            self.frames += 1
            self._told(frame.number)
            if frame.number in self.wanted:
                self._keep(frame)
                self.wanted.discard(frame.number)
            yield frame


class Exhibit:
    """A scene by its name, and its files in a folder."""

    def __init__(self, name: str, folder: Path):
        self.name, self.entry, self._folder = name, gallery.SCENES[name], folder
        self._file = folder / f"{name}.json"

    @property
    def result(self) -> dict | None:
        """What was measured of the scene as it is now; None if it was not yet."""
        result = self._read()
        return result if result.get("key") == self._key else None

    @property
    def work(self) -> float:
        """About how many seconds it takes: as long as last time, or else by its cells and frames."""
        grid = self.entry.scene().grid
        guess = 2e-6 * (4000 + grid.shape[0] * grid.shape[1] * grid.shape[2]) * self.entry.shown[-1]
        return self._read().get("seconds", guess)

    def measure(self, told: Callable[[int], None] = lambda number: None) -> None:
        """Simulate the scene and those beside it, measure, and keep all of that."""
        start, scene = time.perf_counter() - compile_seconds(), self.entry.scene()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._forget(scene.fps)
        simulation = Observed(scene, self.entry.shown, lambda frame: self._keep(0, frame), told)
        failed, figures = None, {}
        try:
            figures = self.entry.check(simulation)
            if simulation.wanted:  # the check needs none, or fewer frames
                self._only_look(0, scene, simulation.wanted, told)
            for number, parameters in enumerate(self._beside().values(), 1):
                self._only_look(number, self.entry.scene(**parameters), self.entry.shown[-1:], told)
        except SolveFailedError as error:
            failed = str(error)
        self._write(
            {
                "key": self._key,
                "version": paddlewheel.__version__,
                "figures": figures,
                "failed": failed,
                "cells": scene.grid.shape,
                "seconds per frame": simulation.seconds / simulation.frames if simulation.frames else None,
                "seconds": time.perf_counter() - compile_seconds() - start,
                "machine": {what: machine()[what] for what in ("processor", "threads")},
                "pictures": [picture for picture in self._pictures(scene.fps) if self._path(picture, "npz").exists()],
            }
        )

    def draw(self) -> None:
        """Draw what was kept, if it is not yet, or was by other code."""
        result = self._read()
        pictures = result["pictures"]
        if result.get("drawn") == _hash(_DRAWS) and all(self._path(p, "jpg").exists() for p in pictures):
            return
        for picture in pictures:
            self._draw(picture)
        self._write(result | {"drawn": _hash(_DRAWS)})

    def pictures(self) -> list[Path]:
        """The files of the pictures, in their order."""
        return [self._path(picture, "jpg") for picture in self._read()["pictures"]]

    def _beside(self) -> dict[str, dict]:
        return getattr(self.entry, "beside", {})

    def _pictures(self, fps) -> list[dict]:
        last = self.entry.shown[-1]
        numbers = [(0, number, "") for number in self.entry.shown]
        numbers += [(n, last, told) for n, told in enumerate(self._beside(), 1)]
        return [{"of": of, "frame": frame, "time": frame / fps, "beside": told} for of, frame, told in numbers]

    def _path(self, picture: dict, ending: str) -> Path:
        name = self.name if picture["of"] == 0 else f"{self.name}-{picture['of']}"
        return Cache(self._folder, name).path(picture["frame"], ending)

    def _keep(self, of: int, frame: Frame) -> None:
        replace(self._path({"of": of, "frame": frame.number}, "npz"), frame.state.save)

    def _forget(self, fps) -> None:
        self._file.unlink(missing_ok=True)
        for picture in self._pictures(fps):
            for ending in ("npz", "jpg"):
                self._path(picture, ending).unlink(missing_ok=True)

    def _only_look(self, of, scene, wanted, told) -> None:
        for _ in Observed(scene, wanted, lambda frame: self._keep(of, frame), told).run(max(wanted)):
            pass

    def _draw(self, picture) -> None:
        parameters = [{}, *self._beside().values()][picture["of"]]
        scene, state = self.entry.scene(**parameters), State.load(self._path(picture, "npz"))
        large, small = self._path(picture, "png"), self._path(picture, "jpg")
        Painter(scene, View(pixels=_pixels(scene))).draw(large, state)
        replace(small, lambda file: write_thumbnail(file, large))
        large.unlink()

    @cached_property
    def _key(self) -> str:
        parts = [_hash(_NOT_SIMULATING, others=True), digest(self.entry.scene())]
        parts += [Path(module.__file__).read_text() for module in _with_imports(self.entry)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _read(self) -> dict:
        try:
            return json.loads(self._file.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise ValueError(f"{self._file}: is no result of a scene ({error}); remove it") from error

    def _write(self, result: dict) -> None:
        replace(self._file, lambda path: path.write_text(json.dumps(result, indent=1, default=float) + "\n"))


def _pixels(scene: Scene) -> tuple[int, int]:
    """Wide for most scenes, high for high ones."""
    width, height, depth = scene.grid.size
    return (960, 720) if height < 1.3 * max(width, depth) else (640, 720)


def _with_imports(module: ModuleType) -> list[ModuleType]:
    """A scene's module and those of the gallery that it imports, such as `common`, and they in turn, by name."""
    found, left = {}, [module]
    while left:
        this = left.pop()
        found[this.__name__] = this
        left += [
            used
            for used in vars(this).values()
            if isinstance(used, ModuleType)
            and used.__name__.startswith(f"{gallery.__name__}.")
            and used.__name__ not in found
        ]
    return [found[name] for name in sorted(found)]


@cache
def _hash(rooms: tuple[str, ...], others: bool = False) -> str:
    """A number for the code in some rooms of the package, or in all but those."""
    package, digest = Path(paddlewheel.__file__).parent, hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        if (path.relative_to(package).parts[0] in rooms) != others:
            digest.update(path.read_bytes())
    return digest.hexdigest()
