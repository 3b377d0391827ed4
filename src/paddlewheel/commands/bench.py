"""`paddlewheel bench`: speed and memory."""

import json
from pathlib import Path

from paddlewheel import benchmark
from paddlewheel.commands.terminal import console, progress
from paddlewheel.output import picture
from paddlewheel.output.cache import replace


def pressure(options) -> int:
    """Time the pressure solve on a ladder of grids."""
    out = console()
    cases = benchmark.ladder(options.cells, options.solver, options.tolerance)
    _check_writable(options.json, options.plot)
    if options.plot is not None:
        if not options.plot.suffix:  # matplotlib would add one
            raise ValueError(f"--plot {options.plot}: expected a name with an ending such as {options.plot.name}.png")
        picture.pyplot()  # fails now, not after minutes
    result = benchmark.pressure(cases, progress)
    out.print(benchmark.pressure_table(result))
    for line in benchmark.pressure_summary(result):
        out.print(line, highlight=False)
    if options.json is not None:
        _write_json(options.json, result)
    if options.plot is not None:
        replace(options.plot, lambda file: picture.draw_scaling(result, file))
    for path in (options.json, options.plot):
        if path is not None:
            out.print(f"wrote {path}", highlight=False)
    return 0


def startup(options) -> int:
    """Time the first use after an install, and the next process."""
    _check_writable(options.json)
    result = benchmark.startup(progress)
    console().print(benchmark.startup_table(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


def _check_writable(*paths: Path | None) -> None:
    """Refuse, before minutes are spent, names under which no file can be written."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"{path}: there is no directory {path.parent}")
        if path is not None and path.is_dir():
            raise ValueError(f"{path}: is a directory, expected the name of a file")


def _write_json(path: Path, result: dict) -> None:
    replace(path, lambda file: file.write_text(json.dumps(result, indent=2) + "\n"))
