"""Scenes by the name of the gallery or by the name of a file, and a user's mistakes in them as one line."""

import ast
import inspect
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import paddlewheel
from paddlewheel import gallery
from paddlewheel.kernel import source_hash
from paddlewheel.output.cache import Cache, describe_run, digest
from paddlewheel.run import SolveFailedError
from paddlewheel.scene import Scene
from paddlewheel.solids import argument


class Source(NamedTuple):
    """Where a scene comes from.

    given       by the user: a name of the gallery, or a file
    name        for the files that are made of it
    file        in which the scene stands
    parameters  that scene() is called with
    """

    given: str
    name: str
    file: Path
    parameters: dict

    def manifest(self, scene: Scene, folder: Path) -> dict:
        """What tells a run of this scene in a folder from any other, and how to make the scene again."""
        if self.given in gallery.SCENES:
            origin = {"gallery": self.given}
        else:
            origin = {"file": Path(os.path.relpath(self.file.resolve(), folder.resolve())).as_posix()}
        version, code = paddlewheel.__version__, source_hash()
        return describe_run(self.name, scene, self.parameters, origin, self.file, version, code, self._modules())

    def _modules(self) -> dict[str, Path]:
        """The files of modules that were imported from the scene's own folder or from below, by their path there."""
        if self.given in gallery.SCENES:
            return {}
        folder, found = self.file.resolve().parent, {}
        for name, module in list(sys.modules.items()):
            path = Path(getattr(module, "__file__", None) or "").resolve()
            ours = name.partition(".")[0] in ("paddlewheel", "__main__") or "site-packages" in path.parts
            if not ours and path.is_file() and path.is_relative_to(folder):
                found[path.relative_to(folder).as_posix()] = path
        return found

    def guarded(self, action: Callable):
        """The result of an action that runs a user's script; its mistakes become one line with their place."""
        try:
            with self._imports_beside():
                return action()
        except SyntaxError as error:
            place = self.given if error.lineno is None else f"{self.given}:{error.lineno}"
            raise ValueError(f"{place}: {error.msg}") from error
        except SystemExit as error:
            raise ValueError(f"{self._place(error)}: sys.exit({error.code!r}): expected a scene") from error
        except Exception as error:
            whose = getattr(error, "__notes__", [])  # a function of the user's
            if isinstance(error, (ValueError, OSError, SolveFailedError)) and not whose:
                raise  # these say what is wrong by themselves
            raise ValueError(", ".join([f"{self._place(error)}: {type(error).__name__}: {error}", *whose])) from error

    def _place(self, error: BaseException) -> str:
        """The scene's file, and the line in it where an error comes from."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename).name == self.file.name]
        return f"{self.given}:{lines[-1]}" if lines else self.given

    @contextmanager
    def _imports_beside(self):
        """Let a scene file import the modules in its own directory, as if Python itself ran it."""
        before = sys.path[:]
        if self.given not in gallery.SCENES:
            sys.path.insert(0, str(self.file.resolve().parent))
        try:
            yield
        finally:
            sys.path[:] = before


def parameters(options) -> dict:
    """Those that the user gave for a scene."""
    return dict(options.set) | ({} if options.cells is None else {"cells": options.cells})


def find(given: str, parameters: dict, command: str = "run") -> Source:
    """The scene a user means."""
    if given in gallery.SCENES:
        return Source(given, given, Path(gallery.SCENES[given].__file__), parameters)
    path = Path(given)
    if path.suffix != ".py":
        argument.choice(command, "SCENE", given, gallery.SCENES)
    return Source(given, path.stem, path, parameters)


def build(source: Source) -> Scene:
    """The scene itself."""
    function = _function(source)
    signature = inspect.signature(function)
    if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        for given in source.parameters:
            argument.choice(source.given, "parameter", given, list(signature.parameters))
    try:
        signature.bind(**source.parameters)
    except TypeError as error:
        raise ValueError(f"{source.given}: {error}; give it with --set") from None
    try:
        scene = source.guarded(lambda: function(**source.parameters))
    except ValueError as error:
        if not source.parameters or str(error).startswith(f"{source.given}: "):  # which says whose fault it is
            raise
        called = ", ".join(f"{name}={value!r}" for name, value in source.parameters.items())
        raise ValueError(f"{error}; in {source.given}: scene({called})") from error
    if not isinstance(scene, Scene):
        raise ValueError(f"{source.given}: scene() returned {scene!r}, expected a paddlewheel.Scene")
    return scene


def of_cache(cache: Cache) -> tuple[Source, Scene, list[str]]:
    """The scene of a run, made again; and what the user should know if it is not what it was."""
    manifest = cache.manifest()
    try:
        parameters = {name: ast.literal_eval(value) for name, value in manifest["parameters"].items()}
        origin = manifest["scene"]
        given = origin.get("gallery") or str(Path(os.path.normpath(cache.folder / origin["file"])))
        described, cells = manifest["description"], tuple(manifest["cells"])
    except (KeyError, TypeError, AttributeError, ValueError, SyntaxError) as error:
        raise ValueError(f"{cache.folder}: its manifest does not say of what scene it is ({error!r})") from error
    source = find(given, parameters, "render")
    scene = build(source)
    if scene.grid.shape != cells:
        raise ValueError(
            f"{given}: has {scene.grid.shape} cells, the run in {cache.folder} {cells}: it has changed since"
        )
    changed = digest(scene) != described
    return source, scene, [f"{given} has changed since the run: solids may be drawn wrong"] if changed else []


def _function(source: Source) -> Callable[..., Scene]:
    if source.given in gallery.SCENES:
        return gallery.SCENES[source.given].scene
    if b"\0" in source.file.read_bytes():
        raise ValueError(f"{source.given}: is not text, expected a file of Python")
    function = source.guarded(lambda: runpy.run_path(str(source.file))).get("scene")
    if not callable(function):
        raise ValueError(f"{source.given}: has no function scene(**parameters) that returns a paddlewheel.Scene")
    return function
