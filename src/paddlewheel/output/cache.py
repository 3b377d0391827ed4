"""A run on disk: a folder with a manifest and one file for each frame.

    manifest.json     what was run: scene, parameters, code
    dam.0001.json     what the steps of frame 1 reported
    dam.0001.npz      the state at its end, written last: a frame is there if this file is

Every file is written under another name, forced to the disk and then renamed.
So whatever happens, a name stands for a whole file, and a run can go on from
its last one.
"""

import hashlib
import inspect
import json
import os
import re
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from paddlewheel.scene import Scene
from paddlewheel.solids.mesh import Mesh
from paddlewheel.types import SolveInfo, State, StepReport

MANIFEST = "manifest.json"
TEMPORARY = ".unfinished-"

# What must be the same for a run to go on, and what it is called if it is not.
_OTHER = {
    "name": "of another scene",
    "version": "by another version of paddlewheel",
    "code": "by other code of paddlewheel",
    "parameters": "with other parameters",
    "source": "of an edited scene",
    "modules": "of a scene with another {}",
    "description": "of a changed scene",
}


class Cache:
    """The folder of a run, whose files begin with `name`."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.name = Path(folder), name
        self._lock = None

    @classmethod
    def of(cls, folder: Path) -> "Cache":
        """The cache that a folder holds."""
        manifest = _read_manifest(Path(folder))
        if manifest is None:
            raise ValueError(f"{folder}: no run is there, expected a folder with {MANIFEST}")
        return cls(folder, manifest["name"])

    def path(self, number: int | str, ending: str) -> Path:
        """The file of a frame: name.0001.npz."""
        number = number if isinstance(number, str) else f"{number:04d}"
        return self.folder / f"{self.name}.{number}.{ending}"

    def frames(self) -> list[int]:
        """Numbers of the frames that are there, whole or damaged, in order."""
        return self._numbers("npz")

    def manifest(self) -> dict:
        """What was run."""
        return _read_manifest(self.folder) or {}

    def load(self, number: int) -> State:
        """The state of a frame; a ValueError if its file is damaged or missing."""
        return _whole(self.path(number, "npz"), State.load)

    def report(self, number: int) -> StepReport:
        """What the steps of a frame reported; a ValueError if its file is damaged or missing."""
        return _whole(self.path(number, "json"), _read_report)

    def last(self) -> tuple[int, State | None]:
        """Number and state of the last frame that is whole; (0, None) if there is none. Damaged ones are warned of."""
        for number in reversed(self.frames()):
            try:
                state = self.load(number)
                self.report(number)
            except ValueError as error:
                warnings.warn(f"frame {number} is not whole and is computed again ({error})", stacklevel=2)
            else:
                return number, state
        return 0, None

    def refuse_other(self, manifest: dict) -> None:
        """Refuse to go on with a run that is not the one of this manifest."""
        if not self.folder.is_dir():
            return
        there = _read_manifest(self.folder)
        if there is None:
            if self.frames():
                raise ValueError(f"{self.folder}: has frames but no {MANIFEST}; use --overwrite, or another --out")
            return
        for other, was, now in _differences(there, manifest):
            raise ValueError(
                f"{self.folder}: holds a run {other} ({_short(was)}, now {_short(now)}); use --overwrite to begin "
                "anew, or another --out"
            )

    def refuse_used(self) -> None:
        """Refuse a folder in which there are frames already."""
        manifest = _read_manifest(self.folder)
        used = self.frames() or (manifest and Cache(self.folder, manifest["name"]).frames())
        if used:
            raise ValueError(
                f"{self.folder}: holds frames up to {used[-1]}; use --resume to go on with them, --overwrite to "
                "begin anew, or another --out"
            )

    def begin(self, manifest: dict, after: int = 0) -> None:
        """Make the folder ready for the frames after number `after`: later ones and unfinished files are removed."""
        make_folder(self.folder)
        self._take()
        for leftover in self.folder.glob(f"{TEMPORARY}*"):
            leftover.unlink(missing_ok=True)
        old = _read_manifest(self.folder)
        if old is not None and old["name"] != self.name:
            Cache(self.folder, old["name"])._remove_after(0)
        self._remove_after(after)
        if old != manifest:
            replace(self.folder / MANIFEST, lambda path: path.write_text(json.dumps(manifest, indent=2) + "\n"))

    def write(self, number: int, state: State, report: StepReport) -> None:
        """Keep a frame. If it fails, nothing of it stays."""
        told = report._asdict() | {"solves": [solve._asdict() for solve in report.solves]}
        try:
            replace(self.path(number, "json"), lambda path: path.write_text(json.dumps(told, default=float) + "\n"))
            replace(self.path(number, "npz"), state.save)
        except BaseException:
            if not self.path(number, "npz").exists():
                self.path(number, "json").unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Let others write into the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _numbers(self, ending) -> list[int]:
        pattern = re.compile(rf"{re.escape(self.name)}\.(\d{{4,}})\.{ending}")
        if not self.folder.is_dir():
            return []
        return sorted(int(match[1]) for path in self.folder.iterdir() if (match := pattern.fullmatch(path.name)))

    def _remove_after(self, number) -> None:
        """From the last one on: if this is stopped, what stays is still a run without a gap."""
        for ending in ("npz", "json", "png"):
            for later in reversed(self._numbers(ending)):
                if later > number:
                    self.path(later, ending).unlink(missing_ok=True)

    def _take(self) -> None:
        """Keep other processes from writing here. The system frees the folder when this process ends, however."""
        try:
            import fcntl
        except ImportError:  # where there is none, nothing keeps two runs apart
            return
        if self._lock is not None:
            return
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise ValueError(f"{self.folder}: another run is writing there") from None


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers in order, as text: 1-8, 10-12."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in found)


def describe_run(
    name: str,
    scene: Scene,
    parameters: dict,
    origin: dict,
    source: Path,
    version: str,
    code: str,
    modules: Mapping[str, Path] = MappingProxyType({}),
) -> dict:
    """The manifest of a run.

    origin is what the scene is made from again: {"gallery": name} or {"file": path}; modules are the files it imports
    from beside itself, by name; code is the hash of the package. Of the scene's source, its modules and its description
    only hashes are kept: they tell whether two runs are the same.
    """
    return {
        "format": 1,
        "name": name,
        "scene": origin,
        "parameters": {name: repr(value) for name, value in sorted(parameters.items())},  # literals of Python
        "version": version,
        "code": code,
        "modules": {name: _digest(path.read_bytes()) for name, path in sorted(modules.items())},
        "source": _digest(source.read_bytes()),
        "description": digest(scene),
        "cells": list(scene.grid.shape),
        "h": scene.grid.h,
        "fps": float(scene.fps),
    }


def digest(scene: Scene) -> str:
    """A number for a scene, in hex: another scene has another one."""
    return _digest(describe(scene).encode())


def describe(value, around: tuple[int, ...] = ()) -> str:
    """A text that is the same for the same scene on every machine, and in every process.

    Functions are named, with the values they have closed over: what they compute is
    in the source. `around` are the ids of what the value is part of, itself not to be followed again.
    """
    if id(value) in around:
        return "itself"
    inside = partial(describe, around=(*around, id(value)))
    if isinstance(value, Mesh):  # wherever its file is
        return f"Mesh({inside(value.vertices)},{inside(value.faces)})"
    if is_dataclass(value) and not isinstance(value, type):
        parts = ",".join(f"{field.name}={inside(getattr(value, field.name))}" for field in fields(value))
        return f"{type(value).__name__}({parts})"
    if isinstance(value, np.ndarray) and value.dtype != object:
        values = value.astype(value.dtype.newbyteorder("<"))
        return f"array({value.dtype.name},{value.shape},{_digest(values.tobytes())})"
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{inside(k)}:{inside(v)}" for k, v in value.items())) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ",".join(sorted(map(inside, value))) + "}"
    if isinstance(value, tuple | list | np.ndarray):
        return "(" + ",".join(map(inside, value)) + ")"
    if isinstance(value, partial):
        return f"partial({inside(value.func)},{inside(value.args)},{inside(value.keywords)})"
    if isinstance(value, types.MethodType):
        return f"method({value.__name__},{inside(value.__self__)})"
    if isinstance(value, types.FunctionType):
        closed = inspect.getclosurevars(value).nonlocals
        return f"function({value.__qualname__},{inside(value.__defaults__)},{inside(closed)})"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if name is not None:  # a class, a module, a function that is not written in Python
        return f"{type(value).__name__}({name})"
    return f"{type(value).__name__}({inside(getattr(value, '__dict__', None))})"


def make_folder(folder: Path) -> None:
    """Make a folder if it is not there; an OSError that says so if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"the folder cannot be made: {error.strerror}", str(folder)) from error


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Let write(file) make a file beside `path`, force it to the disk, then give it that name.

    Under its name there is never half a file. Links and devices, such as
    /dev/stdout, are written through: they must stay what they are.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        write(path)
        return
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")  # with its ending, which tells the format
    try:
        write(temporary)
        _force(temporary, os.O_RDWR)
        temporary.replace(path)
    except OSError as error:
        if error.errno and error.filename in (None, str(temporary)):  # name the file that was wanted
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # some file systems cannot
        _force(path.parent, os.O_RDONLY)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _force(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole(path: Path, read: Callable):
    """What read(path) gives; a ValueError that names the file if it is damaged or missing."""
    try:
        return read(path)
    except FileNotFoundError as error:
        raise ValueError(f"{path}: missing") from error
    except PermissionError:
        raise
    except Exception as error:  # a damaged archive makes NumPy raise almost anything
        raise ValueError(f"{path}: damaged: {' '.join(str(error).split())}") from error


def _read_report(path: Path) -> StepReport:
    values = json.loads(path.read_text())
    if not isinstance(values, dict):
        raise ValueError("not what the steps of a frame reported")
    lacking = [name for name in StepReport._fields if name not in {*values, *StepReport._field_defaults}]
    if lacking:
        raise ValueError(f"no {', '.join(lacking)}")
    return StepReport(**values | {"solves": [SolveInfo(**solve) for solve in values["solves"]]})


def _read_manifest(folder: Path) -> dict | None:
    """The manifest in a folder; None if there is none, a ValueError if it is none."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text())
        if isinstance(manifest, dict) and isinstance(manifest.get("name"), str):
            return manifest
        raise ValueError("no name")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise ValueError(f"{path}: is not the manifest of a run ({error}); remove it, or use another folder") from error


def _differences(there: dict, manifest: dict) -> Iterator[tuple[str, object, object]]:
    """What two manifests do not have in common: what that makes of the run, and both values."""
    for key, other in _OTHER.items():
        was, now = there.get(key), manifest[key]
        if key == "modules":
            was = was or {}
            for name in sorted({*was, *now}):
                if was.get(name) != now.get(name):
                    yield other.format(name), was.get(name), now.get(name)
        elif was != now:
            yield other, was, now


def _short(value) -> str:
    if value is None:
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return text[1:13] if isinstance(value, str) and len(value) == 64 else text
