"""`paddlewheel export`: the frames of a run as files for other programs."""

from contextlib import suppress
from pathlib import Path

from paddlewheel.commands import render, scenes
from paddlewheel.commands.terminal import complain, progress
from paddlewheel.output.cache import Cache, make_folder, replace, spans
from paddlewheel.output.export import FORMATS, WHAT, Exporter, Frames, blender_script
from paddlewheel.solids import argument
from paddlewheel.types import State


def export(options) -> int:
    """Write the frames of a run in all formats that are asked for."""
    formats = [argument.choice("export", "format", name, FORMATS) for name in options.format]
    what = options.what and [argument.choice("export", "what", name, WHAT) for name in options.what]
    _check(formats, what)
    if options.blender and not {"usd", "vdb"} & {*formats}:
        raise ValueError(f"export: --blender builds on usd and vdb, and the format is {', '.join(formats)}")
    for name in formats:
        FORMATS[name].require()
    cache = Cache.of(options.cache)
    frames, warnings = render.chosen(cache, options.frames, "export")
    source, scene, changes = scenes.of_cache(cache)
    for warning in [*changes, *warnings]:
        complain(f"warning: {warning}")
    wanted = {held for name in formats for held in FORMATS[name].holds} & set(what or WHAT)
    made = source.guarded(lambda: Frames(scene, wanted, options.cells, options.smooth))
    check_there(cache.folder, made.available(_first(cache, frames)), formats, what)
    folder = options.out or cache.folder / "export"
    make_folder(folder)
    exporters = [FORMATS[name].exporter(folder, cache.name, float(scene.fps), scene.grid.size) for name in formats]
    _write(source, cache, frames, made, exporters)
    if options.blender:
        script = folder / f"{cache.name}.blender.py"
        replace(script, lambda path: path.write_text(blender_script(float(scene.fps))))
        print(script)
    return 0


def _first(cache: Cache, frames: list[int]) -> State:
    """The first of them that is whole."""
    for number in frames:
        with suppress(ValueError):
            return cache.load(number)
    raise ValueError(f"{cache.folder}: no frame to export is whole, of {spans(frames)}")


def _write(source: scenes.Source, cache: Cache, frames: list[int], made: Frames, exporters: list[Exporter]) -> None:
    """Frame by frame, so that there is never more than one in memory; and tell of what was written."""
    files: list[list[Path]] = [[] for _ in exporters]
    lost = []
    for number in progress(frames):
        try:
            state = cache.load(number)
        except ValueError as error:  # it is damaged, and the others are still wanted
            complain(f"warning: frame {number} is left out: {error}")
            continue
        frame = source.guarded(lambda number=number, state=state: made.make(number, state))
        for exporter, written in zip(exporters, files, strict=True):
            written += exporter.write(frame)
        if made.loses_surface(frame, state):
            lost.append(number)
    if lost:
        complain(f"warning: frames {spans(lost)} have liquid, and their surface none: it is lost by {made.remade}")
    for exporter, written in zip(exporters, files, strict=True):
        for path in exporter.finish():
            print(path)
        if written:
            size = sum(path.stat().st_size for path in written)
            many = f" … {written[-1].name}, {len(written)} files" if len(written) > 1 else ""
            print(f"{written[0]}{many}, {size / 2**20:.3g} MiB")


def _check(formats: list[str], what: list[str] | None) -> None:
    """Refuse formats that can hold nothing of what is wanted, and wants that no format can hold."""
    for name in formats:
        holds = FORMATS[name].holds
        if what and not set(what) & set(holds):
            raise ValueError(f"export: {name} does not hold {' and '.join(what)}, expected {', '.join(holds)}")
    for wanted in what or ():
        if not any(wanted in FORMATS[name].holds for name in formats):
            able = [name for name, format in FORMATS.items() if wanted in format.holds]
            raise ValueError(
                f"export: {' and '.join(formats)} hold no {wanted}, expected a format of {', '.join(able)}"
            )


def check_there(folder: Path, there: list[str], formats: list[str], what: list[str] | None) -> None:
    """Refuse what is not in a run, and formats that hold nothing of what is."""
    for wanted in what or ():
        if wanted not in there:
            raise ValueError(f"{folder}: what={wanted!r} is not in this run, expected some of {', '.join(there)}")
    for name in formats:
        if not set(FORMATS[name].holds) & set(there):
            able = [name for name, format in FORMATS.items() if set(format.holds) & set(there)]
            raise ValueError(f"{folder}: {name} holds nothing of this run, expected a format of {', '.join(able)}")
