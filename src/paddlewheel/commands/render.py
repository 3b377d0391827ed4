"""`paddlewheel render`: pictures, a contact sheet and a film of the frames of a run."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from paddlewheel.commands import scenes
from paddlewheel.commands.terminal import complain, progress
from paddlewheel.output import picture
from paddlewheel.output.cache import Cache, make_folder, replace, spans
from paddlewheel.output.camera import View
from paddlewheel.output.quality import QualityPainter, require_mitsuba
from paddlewheel.output.render import Painter, require
from paddlewheel.output.video import ffmpeg, write_video
from paddlewheel.scene import Scene

__all__ = ["chosen", "draw", "render", "require"]

ON_SHEET = 12  # pictures


def render(options) -> int:
    """Draw the frames of a run."""
    cache = Cache.of(options.cache)
    frames, holes = chosen(cache, options.frames, "draw")
    source, scene, changes = scenes.of_cache(cache)
    for change in [*changes, *holes]:
        complain(f"warning: {change}")
    if options.quality:
        require_mitsuba()
    else:
        require(scene)
    if options.video:
        ffmpeg()
    view = View(options.eye, options.at, options.angle, options.size)
    painter = (
        partial(QualityPainter, view=view, samples=options.samples) if options.quality else partial(Painter, view=view)
    )
    out = options.out or cache.folder
    draw(cache, source, scene, frames, out, options.sheet, options.video, painter, options.orbit)
    return 0


def chosen(cache: Cache, wanted: tuple[int, int] | None, verb: str) -> tuple[list[int], list[str]]:
    """The frames of a cache from the first to the last wanted, or all; and what the user should know of them."""
    first, last = wanted or (1, None)
    there = cache.frames()
    frames = [n for n in there if first <= n and (last is None or n <= last)]
    if not frames:
        has = f"frames {there[0]} to {there[-1]}" if there else "no frames"
        raise ValueError(f"{cache.folder}: no frame to {verb} there, it has {has}")
    return frames, _holes(cache, frames, wanted)


def _holes(cache: Cache, frames: list[int], wanted: tuple[int, int] | None) -> list[str]:
    """What the user should know if frames are missing, among those that are there or of those that were asked for."""
    first, last = wanted or (frames[0], frames[-1])
    missing = sorted({*range(first, last + 1)} - {*frames})
    return [f"{cache.folder}: missing frames, which are left out: {spans(missing)}"] if missing else []


def draw(
    cache: Cache, source: scenes.Source, scene: Scene, frames: list[int], folder: Path, sheet: bool, video: bool,
    painter: Callable[[Scene], Painter | QualityPainter] = Painter, orbit: float = 0.0,
) -> None:  # fmt: skip
    """A picture of each frame; and of all of them a contact sheet and a film, if wanted.

    From the first to the last of them the camera goes round by an angle, `orbit` [degrees].
    """
    drawing = source.guarded(lambda: painter(scene))
    make_folder(folder)
    out = Cache(folder, cache.name)
    turns = np.linspace(0, orbit, len(frames))
    pictures = []
    for number, turn in zip(progress(frames), turns, strict=True):
        try:
            state = cache.load(number)
        except ValueError as error:  # it is damaged, and the others are still wanted
            complain(f"warning: frame {number} is left out: {error}")
            continue
        path = out.path(number, "png")
        source.guarded(
            lambda path=path, state=state, turn=turn: replace(path, lambda file: drawing.draw(file, state, turn))
        )
        pictures.append(path)
    if not pictures:
        raise ValueError(f"{cache.folder}: no frame to draw is whole, of {spans(frames)}")
    print(f"{pictures[0]} … {pictures[-1].name}" if len(pictures) > 1 else pictures[0])
    if sheet:
        shown = np.unique(np.linspace(0, len(pictures) - 1, ON_SHEET).round().astype(int))
        path = out.path("sheet", "png")
        replace(path, lambda file: picture.draw_sheet(file, [pictures[i] for i in shown]))
        print(path)
    if video:
        path = folder / f"{cache.name}.mp4"
        replace(path, lambda file: write_video(file, pictures, scene.fps))
        print(path)
