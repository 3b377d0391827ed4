"""`paddlewheel run`: simulate a scene and keep its frames."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import TextColumn
from rich.table import Table

from paddlewheel.commands import render, scenes
from paddlewheel.commands.estimate import estimate
from paddlewheel.commands.terminal import bar, complain, console
from paddlewheel.interrupt import INTERRUPTED
from paddlewheel.kernel import compile_seconds
from paddlewheel.one_step import first_step
from paddlewheel.output import picture
from paddlewheel.output.cache import Cache, make_folder, replace, spans
from paddlewheel.run import Frame, Simulation, check
from paddlewheel.scene import Scene
from paddlewheel.types import StepReport


def run(options) -> int:
    """Simulate from the start, or from the last whole frame, to the last one asked for."""
    source = scenes.find(options.scene, scenes.parameters(options))
    scene = scenes.build(source)
    if options.dry_run:
        source.guarded(lambda: check(scene))
        console().print(estimate(source.guarded, scene, options.frames[1]))
        return 0
    if options.render:
        render.require(scene)  # now, not after hours
    last = options.frames[1]
    folder = options.out or Path("out") / source.name
    cache, manifest = Cache(folder, source.name), source.manifest(scene, folder)
    done, state = 0, None
    if options.resume:
        cache.refuse_other(manifest)
        done, state = cache.last()
        _tell_missing(cache, options.frames, done)
    elif not options.overwrite:
        cache.refuse_used()
    if done >= last:
        print(f"{folder}: frames up to {done} are there already")
    elif _simulate(source, scene, cache, manifest, done, state, options.frames) == INTERRUPTED:
        return INTERRUPTED
    if options.render:
        render.draw(cache, source, scene, cache.frames(), folder, sheet=True, video=False)
    return 0


def _tell_missing(cache: Cache, span: tuple[int, int], done: int) -> None:
    """Warn of frames of the span (first, last) that a run which goes on after frame `done` never makes."""
    first, last = span
    missing = sorted({*range(first, min(done, last) + 1)} - {*cache.frames()})
    if missing:
        told = f"{cache.folder}: missing frames, which --resume does not make: {spans(missing)}"
        complain(f"warning: {told}; --overwrite makes all of them")


def _simulate(source, scene, cache, manifest, done, state, span) -> int:
    """Go on from a state after frame `done`, or from the start; keep the frames of the span (first, last)."""
    first, last = span
    try:
        simulation = source.guarded(lambda: Simulation(scene, state, ids=True))
        cache.begin(manifest, after=done)
        frames = _guarded(source, simulation.run(last - done))
        told = _Told()
        for frame in told.each(frames, done, last):
            if frame.number >= first:
                cache.write(frame.number, frame.state, frame.report)
                done = frame.number
    except KeyboardInterrupt:
        if done:
            where = f"{cache.folder} is whole up to frame {done}"
            complain(f"interrupted: {where}; the same command with --resume goes on from there")
        else:
            complain("interrupted before the first frame: none of this run was kept")
        return INTERRUPTED
    finally:
        cache.close()
    for line in told.summary(scene, cache.report(cache.frames()[0])):
        console().print(line, highlight=False)
    frames = cache.frames()
    which = "" if len(frames) == last - frames[0] + 1 else f", frames {spans(frames)}"
    print(f"{cache.path(frames[0], 'npz')} … {cache.path(last, 'npz').name}{which}")
    return 0


def draw_first_step(options) -> int:
    """Solve for the first step of a scene and draw it."""
    source = scenes.find(options.scene, scenes.parameters(options), "first-step")
    scene = scenes.build(source)
    step = source.guarded(lambda: first_step(scene))
    info = step.projection.info
    if not info.converged:
        raise ValueError(
            f"{source.name}: the pressure solve did not converge: residual {info.residual:.2g} after "
            f"{info.iterations} iterations, wanted {scene.method.tolerance:g}"
        )
    folder = options.out or Path("out") / source.name
    make_folder(folder)
    path = folder / f"{source.name}.png"
    title = f"{source.name}, {' × '.join(map(str, scene.grid.shape))} cells"
    replace(path, lambda file: picture.draw_step(step, file, title))
    print(f"{path}: max|u| = {step.fastest:.1e} m/s, {info.unknowns} unknowns, {info.iterations} iterations")
    return 0


def _guarded(source: scenes.Source, frames: Iterator[Frame]) -> Iterator[Frame]:
    while (frame := source.guarded(lambda: next(frames, None))) is not None:
        yield frame


class _Told:
    """Tells of each frame as it comes, and of all of them at the end."""

    def __init__(self):
        self.reports: list[StepReport] = []
        self.seconds = 0.0  # by the clock
        self._compiled = compile_seconds()

    def each(self, frames: Iterator[Frame], done: int, last: int) -> Iterator[Frame]:
        """The frames, under a bar; one line for each of them if standard error is not a terminal."""
        shown = bar(TextColumn("{task.fields[stages]}", markup=False)) if Console(stderr=True).is_terminal else None
        if shown is None:
            for frame in self._timed(frames):
                told = f"{frame.report.substeps} steps, {_stages(frame.report.seconds)}"
                complain(f"frame {frame.number} of {last}: {told}")
                yield frame
            return
        with shown:
            task = shown.add_task(f"frame {done + 1} of {last}", total=last - done, stages="")
            for frame in self._timed(frames):
                yield frame  # the bar counts what is written
                current = f"frame {min(frame.number + 1, last)} of {last}"
                shown.update(task, description=current, advance=1, stages=_stages(frame.report.seconds))

    def _timed(self, frames) -> Iterator[Frame]:
        start, seen = time.perf_counter(), set()
        for frame in frames:
            self.reports.append(frame.report)
            for warning in frame.report.warnings:
                if warning not in seen:
                    seen.add(warning)
                    complain(f"warning: frame {frame.number}: {warning}")
            yield frame
            self.seconds = time.perf_counter() - start

    def summary(self, scene: Scene, earliest: StepReport) -> Iterable:
        """Seconds of each stage, iterations, and how much liquid or smoke there is since the earliest frame kept."""
        reports, steps = self.reports, sum(report.substeps for report in self.reports)
        table = Table("stage", "seconds", "per step", "share", box=None, pad_edge=False)
        stages = {stage: None for report in reports for stage in report.seconds}
        rows = {stage: sum(report.seconds.get(stage, 0.0) for report in reports) for stage in stages}
        rows["everything"] = self.seconds
        for stage, seconds in rows.items():
            share = f"{seconds / self.seconds:.0%}"
            table.add_row(stage, f"{seconds:.2f}", f"{1000 * seconds / steps:.1f} ms", share)
        yield table
        yield f"{len(reports)} frames, {steps} steps, {self.seconds / len(reports):.2f} s for each frame"
        compiled = compile_seconds() - self._compiled
        if compiled > 0.01 * self.seconds:
            yield f"{compiled:.1f} s of it compiled kernels, which the next run need not"
        solves = [solve for report in reports for solve in report.solves]
        for name in dict.fromkeys(solve.name for solve in solves):
            mine = [solve for solve in solves if solve.name == name]
            mean = sum(solve.iterations for solve in mine) / len(mine)
            most, unknowns = (max(getattr(s, what) for s in mine) for what in ("iterations", "unknowns"))
            parts = max(solve.substeps for solve in mine)
            divided = f", in up to {parts} sub-steps" if parts > 1 else ""
            yield f"{name}: {mean:.1f} iterations, at most {most}{divided}; at most {unknowns} unknowns"
        yield _smoke(earliest, reports[-1]) if scene.has_smoke else _volume(earliest, reports)


def _smoke(earliest: StepReport, latest: StepReport) -> str:
    """Of the earliest and the last frame, as what it would fill at density 1; gas is everywhere and tells nothing."""
    change = f", {latest.smoke / earliest.smoke - 1:+.2%}" if earliest.smoke > 0 else ""
    return f"smoke: {earliest.smoke:.6g} → {latest.smoke:.6g} m³ at density 1{change}"


def _volume(earliest: StepReport, reports: list[StepReport]) -> str:
    """Of the earliest and the last frame, and the change that neither sources nor drains explain."""
    volume = reports[-1].volume
    inflow, outflow = sum(r.inflow for r in reports), sum(r.outflow for r in reports)
    moved = f", {inflow:.4g} m³ in and {outflow:.4g} m³ out" if inflow or outflow else ""
    if not earliest.volume > 0 or moved:
        return f"volume: {earliest.volume:.6g} → {volume:.6g} m³{moved}"
    return f"volume: {earliest.volume:.6g} → {volume:.6g} m³, {volume / earliest.volume - 1:+.2%}"


def _stages(seconds: dict[str, float]) -> str:
    largest = sorted(seconds.items(), key=lambda stage: -stage[1])[:3]
    total = f"{sum(seconds.values()):.2f} s"
    return f"{total} ({', '.join(f'{stage} {value:.2f}' for stage, value in largest)})" if largest else total
