"""`paddlewheel bench`: speed and memory."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from paddlewheel import benchmark
from paddlewheel.commands.terminal import console, progress
from paddlewheel.gallery import liquid_in_sphere, many_densities, separation, stir_by_hand
from paddlewheel.kernel import leave_one
from paddlewheel.output import picture
from paddlewheel.output.cache import replace
from paddlewheel.output.viewer.gate import HERE, Gate
from paddlewheel.output.viewer.page import Page, require
from paddlewheel.output.viewer.session import Session


class Ladder(NamedTuple):
    """A scene of `bench liquid`, as a function of the cells along a side, and the grids it runs on if none is given."""

    scene: Callable
    cells: tuple[int, ...]


LIQUIDS = {
    "dam-break": Ladder(benchmark.dam_break, benchmark.DAM_CELLS),
    "sphere": Ladder(partial(liquid_in_sphere.scene, cfl=1.0), benchmark.SPHERE_CELLS),
}


def pressure(options) -> int:
    """Time the pressure solve on a ladder of grids."""
    cases = benchmark.ladder(options.cells, options.solver, options.tolerance)
    _check_files(options)
    result = benchmark.pressure(cases, progress)
    _tell([benchmark.pressure_table(result)], benchmark.pressure_summary(result))
    _write(options, result, picture.draw_scaling)
    return 0


def liquid(options) -> int:
    """Time the step of a liquid on a ladder of grids."""
    ladder = LIQUIDS[options.scene]
    cells = ladder.cells if options.cells is None else options.cells
    cases = benchmark.liquid_ladder(options.scene, ladder.scene, cells, options.steps)
    _check_files(options)
    result = benchmark.liquid(cases, progress)
    tables = [benchmark.liquid_table(result), benchmark.liquid_stages_table(result)]
    _tell(tables, benchmark.liquid_summary(result))
    _write(options, result, picture.draw_stages)
    return 0


def bodies(options) -> int:
    """Time a step with a body in a plane, a container full of bodies, and the pressure solve with many."""
    cases = benchmark.bodies_ladder(options.plane, options.container, options.cells)
    _check_writable(options.json)
    result = benchmark.rigid_bodies(cases, many_densities.scene, progress)
    tables = benchmark.plane_table(result), benchmark.container_table(result), benchmark.room_table(result)
    _tell(tables, benchmark.bodies_summary(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


def walls(options) -> int:
    """Time the pressure solve of liquid that may leave walls, beside the linear one."""
    _check_writable(options.json)
    result = benchmark.walls(partial(separation.scene, dimensions=3), options.cells, options.steps, progress)
    _tell([benchmark.walls_table(result)], benchmark.walls_summary(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


def classic(options) -> int:
    """Count the sweeps of relaxation on a ladder of grids, beside the iterations of other solvers."""
    _check_files(options)
    result = benchmark.classic(options.cells, progress)
    _tell([benchmark.classic_table(result)], benchmark.classic_summary(result))
    _write(options, result, picture.draw_sweeps)
    return 0


def viscosity(options) -> int:
    """Time the viscous solve alone."""
    cases = benchmark.viscous_ladder(options.cells, options.tolerance)
    _check_writable(options.json)
    result = benchmark.viscosity(cases, progress)
    _tell([benchmark.viscosity_table(result)], benchmark.viscosity_summary(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


def smoke(options) -> int:
    """Time frames of smoke, beside PhiFlow."""
    cases = benchmark.smoke_ladder(options.paddle, options.plume)
    _check_writable(options.json)
    result = benchmark.smoke(cases, options.frames, progress)
    tables = [benchmark.smoke_table(result), benchmark.smoke_stages_table(result)]
    _tell(tables, benchmark.smoke_summary(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


def viewer(options) -> int:
    """Count the frames of `stir-by-hand` in the viewer."""
    cases = benchmark.viewer_cases(options.cells)
    _check_writable(options.json)
    require()
    result = benchmark.viewer(stirred, cases, options.windows, progress)
    _tell([benchmark.viewer_table(result)], benchmark.viewer_summary(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


@contextmanager
def stirred(cells: int) -> Iterator[benchmark.Viewed]:
    """`paddlewheel view stir-by-hand --fast`, without anything said."""
    scene = stir_by_hand.scene(cells=cells)
    session = Session(scene)
    session.playing = session.hurry = True
    page = Page(session, scene, "stir-by-hand – Paddlewheel")
    try:
        gate = Gate(HERE, 0, page.port, None)
        try:
            leave_one()  # to the browser
            yield benchmark.Viewed(
                gate.url, session.serve, session.stop, partial(_frames_made, session), partial(_tabs, page)
            )
        finally:
            gate.close()
    finally:
        page.close()


def _frames_made(session: Session) -> int:
    _, latest = session.latest.after(0, 0)
    return 0 if latest is None else latest.number


def _tabs(page: Page) -> int:
    return len(page.server.get_clients())


def startup(options) -> int:
    """Time the first use after an install, and the next process."""
    _check_writable(options.json)
    result = benchmark.startup(progress)
    console().print(benchmark.startup_table(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


def _check_files(options) -> None:
    """Refuse, before minutes are spent, files that cannot be written."""
    _check_writable(options.json, options.plot)
    if options.plot is not None:
        if not options.plot.suffix:  # matplotlib would add one
            raise ValueError(f"--plot {options.plot}: expected a name with an ending such as {options.plot.name}.png")
        picture.pyplot()  # fails now


def _tell(tables: list, lines: list[str]) -> None:
    out = console()
    for table in tables:
        out.print(table)
    for line in lines:
        out.print(line, highlight=False)


def _write(options, result: dict, draw: Callable[[dict, Path], None]) -> None:
    """The files that were asked for."""
    if options.json is not None:
        _write_json(options.json, result)
    if options.plot is not None:
        replace(options.plot, lambda file: draw(result, file))
    for path in (options.json, options.plot):
        if path is not None:
            console().print(f"wrote {path}", highlight=False)


def _check_writable(*paths: Path | None) -> None:
    """Refuse, before minutes are spent, names under which no file can be written."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"{path}: there is no directory {path.parent}")
        if path is not None and path.is_dir():
            raise ValueError(f"{path}: is a directory, expected the name of a file")


def _write_json(path: Path, result: dict) -> None:
    replace(path, lambda file: file.write_text(json.dumps(result, indent=2) + "\n"))
