"""The command `paddlewheel`: its arguments, and errors as one line and an exit code."""

import argparse
import ast
import math
import os
import sys
import warnings
from pathlib import Path

import paddlewheel
from paddlewheel import benchmark, interrupt
from paddlewheel.commands import bench, check, export, gallery, render, run, view
from paddlewheel.commands.terminal import complain, one_line
from paddlewheel.kernel import threads
from paddlewheel.method import SOLVERS
from paddlewheel.output.camera import ANGLE, SIZE
from paddlewheel.output.export import FORMATS, WHAT
from paddlewheel.output.picture import MissingExtraError
from paddlewheel.output.quality import SAMPLES
from paddlewheel.run import SolveFailedError
from paddlewheel.solids import argument

MISTAKE, UNREAD = 2, 141


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0, 1 a check failed, 2 the user's mistake, or a disk or a solve that failed, 130 Ctrl-C, 141 if nobody
    reads what it prints, as in `paddlewheel gallery | true`.
    """
    _open_streams()
    warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
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
        interrupt.release()
        threads()  # refuses a PADDLEWHEEL_THREADS that cannot be
        options = _parser().parse_args(_checked_names(sys.argv[1:] if arguments is None else arguments))
        return options.command(options) or 0
    except BrokenPipeError:
        raise
    except (ValueError, OSError, MissingExtraError, SolveFailedError) as error:
        complain(f"error: {one_line(error)}")
        return MISTAKE
    except KeyboardInterrupt:
        complain("interrupted")
        return interrupt.INTERRUPTED


def _open_streams() -> None:
    """Give standard output and error somewhere to go if they are closed, as by `paddlewheel run … >&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _setting(text: str) -> tuple[str, object]:
    """name=value, the value a Python literal or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier() or not value.strip():
        raise argparse.ArgumentTypeError(f"{text!r}: expected name=value")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _frames(text: str) -> tuple[int, int]:
    """The first and the last of LAST or FIRST-LAST."""
    first, dash, last = text.rpartition("-")
    try:
        span = (int(first) if dash else 1, int(last))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number such as 240, or two such as 1-240") from None
    if not 1 <= span[0] <= span[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: expected frames from 1 on, the first not after the last")
    return span


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip())) or [text]


def _host(text: str) -> str:
    """Not an empty one, which would mean all addresses, though nobody said so."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r}: expected an address, such as 127.0.0.1, or 0.0.0.0 for all")
    return text


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 0 to 65535")
    return int(text)


def _cells(text: str) -> list[int]:
    try:
        return [int(n) for n in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected whole numbers such as 32,64,128") from None


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number")
    return number


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65536:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 1 to 65536")
    return int(text)


def _point(text: str) -> tuple[float, ...]:
    parts = text.split(",")
    if len(parts) != 3:
        raise argparse.ArgumentTypeError(f"{text!r}: expected three numbers such as 1,0.5,2")
    return tuple(_number(part) for part in parts)


def _angle(text: str) -> float:
    if not 1 <= (angle := _number(text)) <= 150:
        raise argparse.ArgumentTypeError(f"{text!r}: expected degrees from 1 to 150")
    return angle


def _pixels(text: str) -> tuple[int, int]:
    """WxH; even numbers, which films want."""
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r}: expected two numbers such as 1280x720")
    size = int(width), int(height)
    if not all(16 <= n <= 8192 and n % 2 == 0 for n in size):
        raise argparse.ArgumentTypeError(f"{text!r}: expected even numbers from 16 to 8192")
    return size


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def __init__(self, *positional, **named):
        super().__init__(*positional, formatter_class=argparse.RawDescriptionHelpFormatter, **named)

    def error(self, message):
        complain(f"error: {message} (see {self.prog} --help)")
        raise SystemExit(MISTAKE)


_COMMANDS = ("run", "view", "render", "export", "gallery", "check", "first-step", "bench")
_BENCHMARKS = ("pressure", "liquid", "bodies", "walls", "classic", "smoke", "viscosity", "viewer", "startup")


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
        description="Simulate liquids and smoke around solids of any shape.",
        epilog="""examples:
  paddlewheel gallery                                    what scenes there are
  paddlewheel run dam-break --frames 48                  simulate one: two seconds of it
  paddlewheel view stir-by-hand                          the same live in the browser: drag bodies with the mouse
  paddlewheel render out/dam-break --sheet --video       draw what was simulated
  paddlewheel export out/dam-break --format usd,vdb      files for Blender, Houdini, ParaView …
  paddlewheel run my_scene.py --dry-run                  your own, a file with scene(**parameters): what will it cost?
  paddlewheel check                                      does everything hold that the gallery claims?
  paddlewheel bench pressure                             how fast is this machine?

PADDLEWHEEL_THREADS=n limits the number of threads. Kernels are compiled when they are first needed and kept on
disk, so the first run of anything takes up to a minute longer.""",
    )
    parser.add_argument("--version", action="version", version=f"paddlewheel {paddlewheel.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)
    _add_run(commands)
    _add_view(commands)
    _add_render(commands)
    _add_export(commands)
    _add_gallery(commands)
    _add_check(commands)
    _add_first_step(commands)
    _add_bench(commands)
    return parser


def _add_run(commands) -> None:
    parser = commands.add_parser(
        "run",
        help="simulate a scene and keep its frames",
        description="Simulate a scene. Each frame becomes a file NAME.0001.npz in a folder, with a manifest of what\n"
        "was run. Frame n is the state at n/fps seconds. A run that was stopped, by whatever, goes on with\n"
        "--resume and gives the same frames as one that was not.",
        epilog="""examples:
  paddlewheel run dam-break --cells 48 --frames 48 --render
  paddlewheel run dam-break --set dimensions=2 --set advection=apic --out out/flat
  paddlewheel run my_scene.py --set level=0.4 --frames 1-240 --resume""",
    )
    _add_scene(parser)
    parser.add_argument(
        "--frames",
        type=_frames,
        default=(1, 240),
        metavar="LAST|FIRST-LAST",
        help="up to which frame; those before FIRST are computed but not kept (default: 1-240)",
    )
    _add_out(parser, "folder of the frames (default: out/SCENE)")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true", help="go on from the last whole frame in the folder")
    begin.add_argument("--overwrite", action="store_true", help="remove the frames in the folder and begin anew")
    parser.add_argument("--dry-run", action="store_true", help="only say what it will cost: cells, memory, disk, time")
    parser.add_argument("--render", action="store_true", help="then draw every frame, and a contact sheet")
    parser.set_defaults(command=run.run)


def _add_view(commands) -> None:
    parser = commands.add_parser(
        "view",
        help="show a scene or a run live in the browser",
        description="Simulate a scene as you look on, or play the frames of a run, in the browser. Play, pause, step\n"
        "and reset; change gravity, viscosity, the density of a body, and the method while it runs. Drag with the\n"
        "left mouse button: a body to move it and, letting go, throw it; anything else to look from another\n"
        "side. The wheel goes nearer, the right button moves aside. Nobody but this machine can open the page,\n"
        "unless --host says so; then the link has a token without which nobody else can either.",
        epilog="""examples:
  paddlewheel view stir-by-hand                          two bodies in a tank: throw them
  paddlewheel view my_scene.py --cells 24 --set level=0.4 --paused
  paddlewheel view out/dam-break                         play a run, with a timeline, also while it still runs
  paddlewheel view stir-by-hand --host 192.168.1.20      for others in the network of that address, who get the link""",
    )
    parser.add_argument(
        "scene",
        metavar="SCENE|DIR",
        help="a name of the gallery, a Python file with scene(**parameters), or a run's folder",
    )
    _add_parameters(parser)
    parser.add_argument(
        "--host", type=_host, default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s)"
    )
    parser.add_argument(
        "--port", type=_port, default=8080, metavar="N", help="0 takes a free one (default: %(default)d)"
    )
    parser.add_argument("--paused", action="store_true", help="begin with a pause")
    parser.add_argument("--fast", action="store_true", help="as many frames as it can, not only those of real time")
    parser.add_argument("--open", action="store_true", help="open it in the default browser")
    parser.set_defaults(command=view.view)


def _add_render(commands) -> None:
    parser = commands.add_parser(
        "render",
        help="draw the frames of a run",
        description="Draw each frame of a run into a file NAME.0001.png: of liquid, the particles of a 2-D scene,\n"
        "coloured by their speed, or the surface of a 3-D one; smoke as it is lit by a sun.",
        epilog="""examples:
  paddlewheel render out/dam-break --sheet --video
  paddlewheel render out/dam-break --frames 24-48 --out pictures
  paddlewheel render out/dam-break --from 3,1.5,3 --at 1,0.4,0.5 --size 1920x1080 --orbit 60 --video
  paddlewheel render out/dam-break --frames 18-18 --quality --samples 256""",
    )
    _add_frames_of_run(parser)
    _add_out(parser, "where the pictures go (default: to the frames)")
    parser.add_argument("--sheet", action="store_true", help=f"also NAME.sheet.png, {render.ON_SHEET} of them in one")
    parser.add_argument("--video", action="store_true", help="also NAME.mp4")
    parser.add_argument(
        "--size", type=_pixels, default=SIZE, metavar="WxH", help="pixels of a picture; of a 2-D one at most (1280x720)"
    )
    parser.add_argument("--from", type=_point, dest="eye", metavar="X,Y,Z", help="where the camera is, in metres")
    parser.add_argument(
        "--at", type=_point, metavar="X,Y,Z", help="where it looks, in metres (default: the middle of the domain)"
    )
    parser.add_argument(
        "--fov", type=_angle, dest="angle", default=ANGLE, metavar="DEGREES",
        help="angle of view, from top to bottom (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--orbit", type=_number, default=0.0, metavar="DEGREES",
        help="go so far round the scene from the first to the last picture",
    )  # fmt: skip
    parser.add_argument(
        "--quality", action="store_true", help="3-D scenes by rays of light, with Mitsuba 3: minutes for a picture"
    )
    parser.add_argument(
        "--samples", type=_count, default=SAMPLES, metavar="N",
        help="rays for a pixel with --quality: more are slower, and less noisy (default: %(default)d)",
    )  # fmt: skip
    parser.set_defaults(command=render.render)


def _add_export(commands) -> None:
    formats = "\n".join(f"  {name:6}{format.told}: {', '.join(format.holds)}" for name, format in FORMATS.items())
    parts = "\n".join(f"  {name:11}{told}" for name, told in WHAT.items())
    parser = commands.add_parser(
        "export",
        help="write the frames of a run as files for other programs",
        description="Write the frames of a run as files for other programs: NAME.0001.usd and so on, in metres and\n"
        f"metres per second, y up. Nothing is simulated again.\n\nformats, and what they hold:\n{formats}\n\n"
        f"what there is:\n{parts}",
        epilog="""examples:
  paddlewheel export out/dam-break --format usd --blender    then: blender --python export/NAME.blender.py
  paddlewheel export out/dam-break --format ply,vtk --frames 24-48 --out files
  paddlewheel export out/dam-break --what surface --cells 96 --smooth 0.7     the surface anew, from particles
  paddlewheel export out/plume --format vdb                           smoke: density, temperature, vel""",
    )
    _add_frames_of_run(parser)
    parser.add_argument(
        "--format", type=_names, default=["ply"], metavar="NAME,…", help=f"{', '.join(FORMATS)} (default: ply)"
    )
    parser.add_argument("--what", type=_names, metavar="NAME,…", help=f"{', '.join(WHAT)} (default: all there is)")
    parser.add_argument(
        "--cells", type=int, metavar="N",
        help="cells along the longest side, on which the surface is made from particles (default: that of the run)",
    )  # fmt: skip
    parser.add_argument(
        "--smooth", type=float, default=0.0, metavar="CELLS", help="smooth the surface by so many cells (default: 0)"
    )
    _add_out(parser, "where the files go (default: export in the folder)")
    parser.add_argument(
        "--blender", action="store_true", help="also NAME.blender.py, which builds a scene of usd and vdb"
    )
    parser.set_defaults(command=export.export)


def _add_gallery(commands) -> None:
    parser = commands.add_parser(
        "gallery",
        help="list the scenes that come with paddlewheel, or make a page of them",
        description="List the scenes that come with paddlewheel. With --page, simulate, measure and draw them, each\n"
        "at its own size, and write a page of pictures, and of figures with their limits. What is measured is\n"
        "kept: if it is stopped, the same command goes on, and a scene runs again only if it or the\n"
        "simulation has changed. Exit code 1 if anything does not hold.",
        epilog="""examples:
  paddlewheel gallery                                    the names
  paddlewheel gallery --page docs/gallery                all scenes: minutes
  paddlewheel gallery --page page --only slope,beam --again""",
    )
    parser.add_argument("--page", type=Path, metavar="DIR", help="make index.html there, and the pictures on it")
    parser.add_argument("--only", type=_names, metavar="NAME,…", help="run only these; the page has all that are there")
    parser.add_argument("--again", action="store_true", help="also those that are there already")
    _add_out(parser, "what is kept (default: %(default)s)", Path("out/gallery"))
    parser.set_defaults(command=gallery.show)


def _add_check(commands) -> None:
    parser = commands.add_parser(
        "check",
        help="measure what must hold of gallery scenes",
        description="Measure what must hold of gallery scenes. Exit code 1 if anything does not. The limits are made\n"
        "for the scenes as they are; with other parameters they may be too tight, or too wide.",
        epilog="""examples:
  paddlewheel check                                      all scenes: minutes
  paddlewheel check separation --set dimensions=3 --cells 128""",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenes of the gallery (default: all)")
    _add_parameters(parser)
    parser.set_defaults(command=check.check)


def _add_first_step(commands) -> None:
    parser = commands.add_parser(
        "first-step",
        help="solve for the first step of a scene and draw it",
        description="Solve for the first step of a scene of liquid and draw the pressure and what moves.",
        epilog="""examples:
  paddlewheel first-step still-water --cells 48 --set tilt=45 --set weights=volume""",
    )
    _add_scene(parser)
    _add_out(parser, "where the picture goes (default: out/SCENE)")
    parser.set_defaults(command=run.draw_first_step)


def _add_scene(parser) -> None:
    parser.add_argument(
        "scene", metavar="SCENE", help="a name of the gallery, or a Python file with scene(**parameters)"
    )
    _add_parameters(parser)


def _add_parameters(parser) -> None:
    parser.add_argument("--cells", type=int, metavar="N", help="cells along the longest side")
    parser.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="a parameter of the scene"
    )


def _add_frames_of_run(parser) -> None:
    parser.add_argument("cache", type=Path, metavar="DIR", help="the folder of a run")
    parser.add_argument("--frames", type=_frames, metavar="LAST|FIRST-LAST", help="only these (default: all)")


def _add_out(parser, told: str, default: Path | None = None) -> None:
    parser.add_argument("--out", type=Path, default=default, metavar="DIR", help=told)


def _add_bench(commands) -> None:
    parser = commands.add_parser("bench", help="measure speed and memory")
    kinds = parser.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK", parser_class=_Parser)
    pressure = kinds.add_parser(
        "pressure",
        help="the pressure solve on a ladder of grids",
        description="Time one projection of the cut-cell scene (a sphere, a sloping floor, a wavy surface) on a\n"
        "ladder of grids; 128 cells are 459 thousand unknowns. docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench pressure --json pressure.json --plot pressure.png
  paddlewheel bench pressure --cells 64,128 --solver multigrid --tolerance 1e-10""",
    )
    _add_ladder(pressure, "--cells", benchmark.CELLS, "along each side of the cube")
    _add_tolerance(pressure, 1e-6)
    pressure.add_argument(
        "--solver",
        choices=SOLVERS,
        help=f"only this one, on every grid (default: both, MIC(0) up to {benchmark.MOST_MIC} cells)",
    )
    _add_json(pressure)
    _add_plot(pressure, "time and iterations against unknowns")
    pressure.set_defaults(command=bench.pressure)

    _add_liquid(kinds)
    _add_bodies(kinds)
    _add_walls(kinds)
    _add_classic(kinds)
    _add_smoke(kinds)
    _add_viscosity(kinds)
    _add_viewer(kinds)

    start = kinds.add_parser(
        "startup",
        help="the first use after an install, and the next process",
        description="Time a process that has to compile every kernel of a 32³ projection, and the one after it.",
    )
    _add_json(start)
    start.set_defaults(command=bench.startup)


def _add_liquid(kinds) -> None:
    parser = kinds.add_parser(
        "liquid",
        help="the time step of a liquid on a ladder of grids",
        description="Time the steps of a liquid, stage by stage, and measure its memory on a ladder of grids. It is a\n"
        "dam break, FLIP with 8 particles per cell, 4 million at 128 cells; or the gallery's liquid-in-sphere\n"
        "as in Batty's Fluid3D: semi-Lagrangian, steps of one cell, but 4 markers per cell. docs/benchmarks.md\n"
        "says how it is measured.",
        epilog="""examples:
  paddlewheel bench liquid --json liquid.json --plot liquid.png
  paddlewheel bench liquid --cells 32,64                 only the smaller grids: seconds
  paddlewheel bench liquid --scene sphere --steps 20""",
    )
    ladders = "; ".join(f"{name}: {','.join(map(str, ladder.cells))}" for name, ladder in bench.LIQUIDS.items())
    parser.add_argument(
        "--scene", choices=bench.LIQUIDS, default="dam-break", help="what is simulated (default: %(default)s)"
    )
    parser.add_argument(
        "--cells", type=_cells, metavar="N,N,…", help=f"along each side of the cube (default: {ladders})"
    )
    _add_count(parser, "--steps", benchmark.STEPS, f"that are timed, after {benchmark.WARM_STEPS} that are not")
    _add_json(parser)
    _add_plot(parser, "time, stages and memory against the grid")
    parser.set_defaults(command=bench.liquid)


def _add_bodies(kinds) -> None:
    parser = kinds.add_parser(
        "bodies",
        help="a rigid body in a plane, a container full of them, and the pressure solve with many",
        description="Time the steps of a box that floats in a plane, like Batty's FluidRigidCoupling2D, and frames of\n"
        "many-densities, B07's figure 1, by stage; and the pressure solve in a cube with 0, 1, 8 and 64\n"
        "balls of 10 to 0.001 times the density of the water. docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench bodies --json bodies.json
  paddlewheel bench bodies --plane 40 --container 30 --cells 32   small grids only: seconds""",
    )
    _add_ladder(parser, "--plane", benchmark.PLANE_CELLS, "cells along each side of the plane")
    _add_ladder(parser, "--container", benchmark.CONTAINER_CELLS, "cells along the container's height")
    _add_ladder(parser, "--cells", benchmark.ROOM_CELLS, "along each side of the cube")
    _add_json(parser)
    parser.set_defaults(command=bench.bodies)


def _add_walls(kinds) -> None:
    parser = kinds.add_parser(
        "walls",
        help="the pressure solve of liquid that may leave walls, beside the linear one",
        description="Find the pressure in every step of a splash against a wall three ways: with walls that hold\n"
        "liquid; with p ≥ 0 at walls, from the last step's pressure; and the same from none.\n"
        "docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench walls --json walls.json
  paddlewheel bench walls --cells 64 --steps 20          the smaller grid only: seconds""",
    )
    _add_ladder(parser, "--cells", benchmark.WALL_CELLS, "along each side of the cube")
    _add_count(parser, "--steps", benchmark.WALL_STEPS, "that are timed")
    _add_json(parser)
    parser.set_defaults(command=bench.walls)


def _add_classic(kinds) -> None:
    parser = kinds.add_parser(
        "classic",
        help="sweeps of relaxation against the size of the grid, beside other solvers",
        description="Find the pressure in a cube that is half full by relaxation, as Foster & Metaxas did in 1996, by\n"
        "incomplete Cholesky and by multigrid. docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench classic --json classic.json --plot classic.png
  paddlewheel bench classic --cells 16,32                the smaller grids only: seconds""",
    )
    _add_ladder(parser, "--cells", benchmark.CLASSIC_CELLS, "along each side of the cube")
    _add_json(parser)
    _add_plot(parser, "sweeps and time against the grid")
    parser.set_defaults(command=bench.classic)


def _add_smoke(kinds) -> None:
    parser = kinds.add_parser(
        "smoke",
        help="frames of smoke, beside PhiFlow",
        description="Time frames of smoke: a board that turns in a closed box, with particles and with the grid, and\n"
        "a hot plume past a ball; and the same with PhiFlow, if it is installed (pip install\n"
        "'paddlewheel[peers]'). docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench smoke --json smoke.json
  paddlewheel bench smoke --paddle 40 --plume 24         small grids only: seconds""",
    )
    _add_ladder(parser, "--paddle", benchmark.PADDLE_CELLS, "cells along the box's longest side")
    _add_ladder(parser, "--plume", benchmark.PLUME_CELLS, "cells along the room's width")
    _add_count(parser, "--frames", benchmark.FRAMES, "that are timed")
    _add_json(parser)
    parser.set_defaults(command=bench.smoke)


def _add_viscosity(kinds) -> None:
    parser = kinds.add_parser(
        "viscosity",
        help="the viscous solve on a ladder of grids, from hardly viscous to stiff",
        description="Time one viscous solve of a column of liquid in a corner and of a free ball, for ν Δt/h² from\n"
        "1 to a million. docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench viscosity --json viscosity.json
  paddlewheel bench viscosity --cells 64 --tolerance 1e-9""",
    )
    _add_ladder(parser, "--cells", benchmark.VISCOUS_CELLS, "along each side of the cube")
    _add_tolerance(parser, 1e-4)
    _add_json(parser)
    parser.set_defaults(command=bench.viscosity)


def _add_viewer(kinds) -> None:
    parser = kinds.add_parser(
        "viewer",
        help="frames a second in the viewer, with and without a page open",
        description="Count the frames a second of `paddlewheel view stir-by-hand --fast`, in which two bodies made of\n"
        "triangles sink and float, with no page open and with one in Chromium, if that is installed.\n"
        "docs/benchmarks.md says how it is measured.",
        epilog="""examples:
  paddlewheel bench viewer --json viewer.json
  paddlewheel bench viewer --cells 20 --windows 3        one grid, for a short time""",
    )
    _add_ladder(parser, "--cells", benchmark.VIEWER_CELLS, "along each side of the tank")
    _add_count(parser, "--windows", benchmark.WINDOWS, f"of {benchmark.WINDOW:g} s that are timed")
    _add_json(parser)
    parser.set_defaults(command=bench.viewer)


def _add_ladder(parser, name: str, cells, what: str) -> None:
    default = ",".join(map(str, cells))
    parser.add_argument(name, type=_cells, default=cells, metavar="N,N,…", help=f"{what} (default: {default})")


def _add_count(parser, name: str, count: int, what: str) -> None:
    parser.add_argument(name, type=int, default=count, metavar="N", help=f"{what} (default: %(default)d)")


def _add_tolerance(parser, tolerance: float) -> None:
    parser.add_argument("--tolerance", type=float, default=tolerance, help="of the solve (default: %(default)g)")


def _add_plot(parser, what: str) -> None:
    parser.add_argument("--plot", type=Path, metavar="FILE", help=f"draw {what} there")


def _add_json(parser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
