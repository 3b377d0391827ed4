"""`paddlewheel bench`: speed and memory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paddlewheel import benchmark
from paddlewheel.commands.terminal import console, progress
from paddlewheel.gallery import liquid_in_sphere
from paddlewheel.output import picture
from paddlewheel.output.cache import replace

_SHOWN = 0.04  # of a step; stages that take less are drawn as one


class Ladder(NamedTuple):
    """A scene of `bench liquid`, as a function of the cells along a side, and the grids it runs on if none is given."""

    scene: Callable
    cells: tuple[int, ...]


LIQUIDS = {
    "dam-break": Ladder(benchmark.dam_break, benchmark.DAM_CELLS),
    "sphere": Ladder(liquid_in_sphere.scene, benchmark.SPHERE_CELLS),
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
    _write(options, result, draw_liquid)
    return 0


def startup(options) -> int:
    """Time the first use after an install, and the next process."""
    _check_writable(options.json)
    result = benchmark.startup(progress)
    console().print(benchmark.startup_table(result))
    if options.json is not None:
        _write_json(options.json, result)
    return 0


def draw_liquid(result: dict, path: Path) -> None:
    """Time, time per cell by stage, and memory of `paddlewheel bench liquid` against the size of the grid."""
    plt = picture.pyplot()
    rows = sorted(result["rows"], key=lambda row: row["cells"])
    sizes = [f"{row['cells']}³" for row in rows]
    particles = np.array([row["particles"] for row in rows])
    total = np.array([row["seconds"]["total"] for row in rows])
    style = {"marker": "o", "color": "#1b6ca8", "lw": 1.8, "ms": 5}
    with plt.rc_context(picture.STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(12.4, 4.1), layout="constrained")
        machine = result["machine"]
        figure.suptitle(
            f"one step of {result['scene']} to {result['tolerance']:g}: {machine['threads']} threads, "
            f"triad {machine['triad'] / 1e9:.0f} GB/s",
            fontsize=13,
            color=picture.SURFACE_COLOUR,
        )
        axes[0].loglog(particles, total, **style)
        proportional = total[-1] * particles / particles[-1]
        axes[0].loglog(particles, proportional, ":", color=picture.LINE_COLOUR, lw=1, label="∝ particles")
        axes[0].set_xlabel("particles")
        base = np.zeros(len(rows))
        for (stage, heights), colour in zip(_stages_per_cell(rows), plt.get_cmap("tab20").colors, strict=False):
            axes[1].bar(sizes, heights, bottom=base, label=stage, color=colour, width=0.7)
            base += heights
        axes[2].plot(sizes, [row["bytes_per_particle"] for row in rows], **style)
        axes[2].set_ylim(bottom=0)
        for ax, name in zip(axes, ("seconds", "nanoseconds per cell, by stage", "bytes per particle"), strict=True):
            ax.set_title(name)
            ax.grid(axis="y" if ax is axes[1] else "both", color="#e6e1da", lw=0.8)
            ax.set_axisbelow(True)
        for ax in axes[1:]:
            ax.set_xlabel("cells")
        axes[0].legend(frameon=False)
        handles, names = axes[1].get_legend_handles_labels()
        axes[1].legend(
            handles[::-1], names[::-1], frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5)
        )
        figure.savefig(path, dpi=130)
        plt.close(figure)


def _stages_per_cell(rows) -> list[tuple[str, np.ndarray]]:
    """Nanoseconds per cell of each stage that takes long on any grid, and of all the rest."""
    cells = np.array([row["cells"] for row in rows], float) ** 3
    total = np.array([row["seconds"]["total"] for row in rows])
    drawn, rest = [], total.copy()
    for stage in rows[0]["seconds"]:
        seconds = np.array([row["seconds"][stage] for row in rows])
        if stage not in ("other", "total") and np.any(seconds > _SHOWN * total):
            drawn.append((stage, 1e9 * seconds / cells))
            rest -= seconds
    return [*drawn, ("the rest", 1e9 * np.maximum(rest, 0.0) / cells)]


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
