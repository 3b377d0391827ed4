"""The command `paddlewheel`: the only place that prints, and that turns errors into one line and an exit code."""

import argparse
import ast
import inspect
import json
import os
import runpy
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import paddlewheel
from paddlewheel import benchmark, gallery
from paddlewheel.kernel import threads
from paddlewheel.output import picture
from paddlewheel.scene import SOLVERS, Scene
from paddlewheel.solids import argument
from paddlewheel.step import first_step

FAILED, MISTAKE, INTERRUPTED, UNREAD = 1, 2, 130, 141


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code: 0, 1 a check failed, 2 the user's mistake, 130 Ctrl-C.

    141 if nobody reads what it prints, as in `paddlewheel gallery | true`.
    """
    warnings.showwarning = lambda message, *_, **__: _complain(f"warning: {message}")
    try:
        try:
            return _main(arguments)
        finally:
            print(end="", flush=True)  # now: at exit, a closed pipe could no longer be caught
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return UNREAD


def _main(arguments: list[str] | None) -> int:
    try:
        threads()  # refuses a PADDLEWHEEL_THREADS that cannot be
        options = _parser().parse_args(_checked_names(sys.argv[1:] if arguments is None else arguments))
        return options.command(options) or 0
    except BrokenPipeError:
        raise
    except (ValueError, OSError, picture.MissingExtraError) as error:
        _complain(f"error: {_one_line(error)}")
        return MISTAKE
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED


def _run(options) -> int:
    parameters = dict(options.set) | ({} if options.cells is None else {"cells": options.cells})
    with _imports_beside(options.scene):
        name, build = _scene_function(options.scene)
        scene = _build(options.scene, build, parameters)
        step = _guarded(options.scene, lambda: first_step(scene))
    info = step.projection.info
    if not info.converged:
        raise ValueError(
            f"{name}: the pressure solve did not converge: residual {info.residual:.2g} after {info.iterations} "
            f"iterations, wanted {scene.method.tolerance:g}"
        )
    folder = options.out or Path("out") / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    title = f"{name}, {' × '.join(map(str, scene.grid.shape))} cells"
    _replace(path, lambda file: picture.draw_step(step, file, title))
    known = gallery.SCENES.get(name)
    figures = known.check(step) if known else {"max|u| [m/s]": step.fastest}
    figure, value = next(iter(figures.items()))
    print(f"{path}: {figure} = {value:.1e}, {info.unknowns} unknowns, {info.iterations} iterations")
    return 0


def _check(options) -> int:
    names = options.names or list(gallery.SCENES)
    table = Table("scene", "figure", "measured", "at most", "", box=None, pad_edge=False)
    failed = False
    for name in names:
        argument.choice("check", "NAME", name, gallery.SCENES)
        entry = gallery.SCENES[name]
        step = first_step(entry.scene())
        for figure, value in entry.check(step).items():
            verdict = "holds" if value <= entry.LIMITS[figure] else "FAILS"  # NaN fails
            if not step.projection.info.converged:
                verdict = "FAILS: the solve did not converge"
            failed |= verdict != "holds"
            table.add_row(name, figure, f"{value:.2e}", f"{entry.LIMITS[figure]:.0e}", verdict)
    _console().print(table)
    return FAILED if failed else 0


def _gallery(options) -> int:
    table = Table("name", "what it shows", "parameters", box=None, pad_edge=False)
    for name, entry in gallery.SCENES.items():
        parameters = inspect.signature(entry.scene).parameters.values()
        table.add_row(name, entry.caption, "\n".join(f"{p.name}={p.default}" for p in parameters))
    _console().print(table)
    return 0


def _bench_pressure(options) -> int:
    console = _console()
    cases = benchmark.ladder(options.cells, options.solver, options.tolerance)
    _check_writable(options.json, options.plot)
    if options.plot is not None:
        if not options.plot.suffix:  # matplotlib would add one
            raise ValueError(f"--plot {options.plot}: expected a name with an ending such as {options.plot.name}.png")
        picture.pyplot()  # fails now, not after minutes
    result = benchmark.pressure(cases, _progress)
    console.print(benchmark.pressure_table(result))
    for line in benchmark.pressure_summary(result):
        console.print(line, highlight=False)
    if options.json is not None:
        _write_json(options.json, result)
    if options.plot is not None:
        _replace(options.plot, lambda file: picture.draw_scaling(result, file))
    for path in (options.json, options.plot):
        if path is not None:
            console.print(f"wrote {path}", highlight=False)
    return 0


def _bench_startup(options) -> int:
    console = _console()
    _check_writable(options.json)
    result = benchmark.startup(_progress)
    console.print(benchmark.startup_table(result))
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
    _replace(path, lambda file: file.write_text(json.dumps(result, indent=2) + "\n"))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Let write(file) make a file beside `path`, then give it that name: under it there is never half a file."""
    if path.is_symlink() or (path.exists() and not path.is_file()):  # such as /dev/stdout: must stay what it is
        write(path)
        return
    temporary = path.with_name(f".{os.getpid()}-{path.name}")  # with its ending, which tells matplotlib the format
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


class _Console(Console):
    def on_broken_pipe(self):
        raise  # what rich has caught: its own way out is exit code 1, which says that a check failed


def _console() -> Console:
    """Standard output, as wide as a table wants if it is a file."""
    return _Console(width=None if sys.stdout.isatty() else 140)


def _progress(cases: list) -> Iterator:
    """The cases one by one, under a bar with the time that is left; each counts as its `work`, or as one."""
    work = [getattr(case, "work", 1) for case in cases]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=sum(work))
        for number, case in enumerate(cases):
            name = getattr(case, "name", case)
            bar.update(task, description=f"{number + 1} of {len(cases)}: {name}", completed=sum(work[:number]))
            yield case


@contextmanager
def _imports_beside(name: str):
    """Let a scene file import the modules in its own directory, as if Python itself ran it."""
    before = sys.path[:]
    if name not in gallery.SCENES:
        sys.path.insert(0, str(Path(name).resolve().parent))
    try:
        yield
    finally:
        sys.path[:] = before


def _scene_function(name: str) -> tuple[str, Callable[..., Scene]]:
    """The name of a gallery scene or of a Python file, and its function scene()."""
    if name in gallery.SCENES:
        return name, gallery.SCENES[name].scene
    path = Path(name)
    if path.suffix != ".py":
        argument.choice("run", "SCENE", name, gallery.SCENES)
    build = _guarded(name, lambda: runpy.run_path(str(path))).get("scene")
    if not callable(build):
        raise ValueError(f"{path}: has no function scene(**parameters) that returns a paddlewheel.Scene")
    return path.stem, build


def _build(name: str, build: Callable[..., Scene], parameters: dict) -> Scene:
    signature = inspect.signature(build)
    if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        for given in parameters:
            argument.choice(name, "parameter", given, list(signature.parameters))
    try:
        signature.bind(**parameters)
    except TypeError as error:
        raise ValueError(f"{name}: {error}; give it with --set") from None
    scene = _guarded(name, lambda: build(**parameters))
    if not isinstance(scene, Scene):
        raise ValueError(f"{name}: scene() returned {scene!r}, expected a paddlewheel.Scene")
    return scene


def _guarded(name: str, action: Callable):
    """The result of an action that runs a user's script; its mistakes become one line with the place they are at."""
    try:
        return action()
    except (ValueError, OSError):  # these say what is wrong by themselves
        raise
    except SyntaxError as error:
        raise ValueError(f"{name}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        lines = [
            f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).stem == Path(name).stem
        ]
        place = f"{name}:{lines[-1]}" if lines else name
        raise ValueError(f"{place}: {type(error).__name__}: {error}") from error


def _setting(text: str) -> tuple[str, object]:
    """name=value, the value a Python literal or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r}: expected name=value")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _cells(text: str) -> list[int]:
    try:
        return [int(n) for n in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected whole numbers such as 32,64,128") from None


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _complain(message: str) -> None:
    print(f"paddlewheel: {message}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def __init__(self, *positional, **named):
        super().__init__(*positional, formatter_class=argparse.RawDescriptionHelpFormatter, **named)

    def error(self, message):
        _complain(f"error: {message} (see {self.prog} --help)")
        raise SystemExit(MISTAKE)


_COMMANDS = ("run", "gallery", "check", "bench")
_BENCHMARKS = ("pressure", "startup")


def _checked_names(arguments: list[str]) -> list[str]:
    """The arguments, if their first words are commands: argparse would not suggest the one that was meant."""
    if arguments and not arguments[0].startswith("-"):
        argument.choice("paddlewheel", "command", arguments[0], _COMMANDS)
        if arguments[0] == "bench" and len(arguments) > 1 and not arguments[1].startswith("-"):
            argument.choice("bench", "benchmark", arguments[1], _BENCHMARKS)
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="paddlewheel",
        description="Simulate liquids around solids of any shape.",
        epilog="""examples:
  paddlewheel gallery                                    what scenes there are
  paddlewheel run still-water                            solve one and draw it
  paddlewheel run still-water --cells 96 --set tilt=45   finer, and tilted more
  paddlewheel run my_scene.py --out out/mine             your own: a file with scene(**parameters) -> paddlewheel.Scene
  paddlewheel check                                      does everything hold that the gallery claims?
  paddlewheel bench pressure                             how fast is this machine?

PADDLEWHEEL_THREADS=n limits the number of threads. Kernels are compiled when they are first needed and kept on
disk, so the first run of anything takes up to a minute longer.""",
    )
    parser.add_argument("--version", action="version", version=f"paddlewheel {paddlewheel.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)

    run = commands.add_parser(
        "run",
        help="solve for the first step of a scene and draw it",
        description="Solve for the first step of a scene and leave a picture of the pressure and of what moves.",
        epilog="""examples:
  paddlewheel run still-water --cells 48 --set tilt=45 --set weights=volume
  paddlewheel run my_scene.py --set level=0.4 --out out/mine""",
    )
    run.add_argument("scene", metavar="SCENE", help="a name of the gallery, or a Python file with scene(**parameters)")
    run.add_argument("--cells", type=int, metavar="N", help="cells along the longest side")
    run.add_argument("--out", type=Path, metavar="DIR", help="where the picture goes (default: out/SCENE)")
    run.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="a parameter of the scene"
    )
    run.set_defaults(command=_run)

    listing = commands.add_parser("gallery", help="list the scenes that come with paddlewheel")
    listing.set_defaults(command=_gallery)

    check = commands.add_parser(
        "check",
        help="measure what must hold of gallery scenes",
        description="Measure what must hold of gallery scenes. Exit code 1 if anything does not.",
    )
    check.add_argument("names", nargs="*", metavar="NAME", help="scenes of the gallery (default: all)")
    check.set_defaults(command=_check)

    bench = commands.add_parser("bench", help="measure speed and memory")
    kinds = bench.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK", parser_class=_Parser)
    pressure = kinds.add_parser(
        "pressure",
        help="the pressure solve on a ladder of grids",
        description="Time one projection of the cut-cell scene (a sphere, a sloping floor, a wavy surface) on a\n"
        "ladder of grids; 128 cells are 459 thousand unknowns. docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench pressure --json pressure.json --plot pressure.png
  paddlewheel bench pressure --cells 64,128 --solver multigrid --tolerance 1e-10""",
    )
    ladder = ",".join(map(str, benchmark.CELLS))
    pressure.add_argument("--cells", type=_cells, default=benchmark.CELLS, metavar="N,N,…", help=f"default: {ladder}")
    pressure.add_argument("--tolerance", type=float, default=1e-6, help="of the solve (default: %(default)g)")
    pressure.add_argument(
        "--solver",
        choices=SOLVERS,
        help=f"only this one, on every grid (default: both, MIC(0) up to {benchmark.MOST_MIC} cells)",
    )
    pressure.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    pressure.add_argument("--plot", type=Path, metavar="FILE", help="draw time and iterations against unknowns there")
    pressure.set_defaults(command=_bench_pressure)

    start = kinds.add_parser(
        "startup",
        help="the first use after an install, and the next process",
        description="Time a process that has to compile every kernel of a 32³ projection, and the one after it.",
    )
    start.add_argument("--json", type=Path, metavar="FILE", help="write both times there")
    start.set_defaults(command=_bench_startup)
    return parser
