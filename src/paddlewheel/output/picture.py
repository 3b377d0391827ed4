"""Pictures with matplotlib, which is optional: pip install 'paddlewheel[picture]'."""

from pathlib import Path

import numpy as np

from paddlewheel.one_step import FirstStep
from paddlewheel.types import Faces, Grid

SOLID_COLOUR, LINE_COLOUR, SURFACE_COLOUR = "#d9d4cc", "#5b534a", "#123a5c"
STYLE = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.edgecolor": "#8a8178",
    "axes.linewidth": 0.8,
    "xtick.color": "#5b534a",
    "ytick.color": "#5b534a",
}
_SHOWN = 0.04  # of a step; stages that take less are drawn as one
_DECADES = 8  # of a logarithmic scale, below its largest value


class MissingExtraError(ImportError):
    """A part of the package that was not installed with it; the message says how to get it."""


def pyplot():
    """matplotlib.pyplot, set to draw into files."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("pictures need matplotlib: pip install 'paddlewheel[picture]'") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw_step(step: FirstStep, path: Path, title: str) -> None:
    """The middle slice of a step, seen along z: pressure on the left, what still moves on the right."""
    plt = pyplot()
    from matplotlib.colors import LogNorm

    grid, projection = step.scene.grid, step.projection
    k = grid.shape[2] // 2
    liquid = projection.pressure[:, :, k] != 0
    scale = np.linalg.norm(step.scene.gravity) * step.dt
    speed = _fastest_face(projection.velocity, projection.known)[:, :, k] / (scale or 1.0)
    pressure = np.where(liquid, projection.pressure[:, :, k], np.nan)
    kilo = 1000 if np.nanmax(np.abs(pressure), initial=0) >= 1000 else 1

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.9), layout="constrained", sharey=True)
        figure.suptitle(title, fontsize=13, color=SURFACE_COLOUR)

        extent = (0, grid.size[0], 0, grid.size[1])
        image = axes[0].imshow((pressure / kilo).T, origin="lower", extent=extent, cmap="YlGnBu", aspect="equal")
        _isobars(axes[0], grid, pressure)
        axes[0].set_title(f"pressure [{'kPa' if kilo == 1000 else 'Pa'}]")
        figure.colorbar(image, ax=axes[0], shrink=0.85, pad=0.02)

        top = 10.0 ** np.ceil(np.log10(max(speed.max(initial=0.0), 1e-30)))
        norm = LogNorm(top * 10.0**-_DECADES, top)
        shown = np.where(liquid, np.maximum(speed, norm.vmin), np.nan)
        image = axes[1].imshow(shown.T, origin="lower", extent=extent, cmap="magma", norm=norm, aspect="equal")
        quantity = r"$|u|\,/\,g\Delta t$" if scale else r"$|u|$ [m/s]"
        axes[1].set_title(f"what moves: {quantity}, at most {_power(step.fastest / (scale or 1.0))}")
        figure.colorbar(image, ax=axes[1], shrink=0.85, pad=0.02, extend="min")

        for ax in axes:
            _solids(ax, step, k)
            ax.set_xlabel("x [m]")
        axes[0].set_ylabel("y [m]")
        figure.savefig(path, dpi=130)
        plt.close(figure)


def draw_solids(ax, grid: Grid, nodes: np.ndarray) -> None:
    """Solids over everything else, by their φ at the nodes of a plane of the grid, shape (nx+1, ny+1)."""
    x, y = (np.arange(n) * grid.h for n in grid.node_shape[:2])
    if nodes.min() < 0 < nodes.max():
        ax.contourf(x, y, nodes.T, levels=[nodes.min(), 0], colors=[SOLID_COLOUR], zorder=3)
        ax.contour(x, y, nodes.T, levels=[0], colors=[LINE_COLOUR], linewidths=1.2, zorder=4)


def draw_sheet(path: Path, pictures: list[Path]) -> None:
    """Pictures of frames side by side."""
    plt = pyplot()
    columns = min(len(pictures), 4 if len(pictures) > 6 else 3)
    rows = -(-len(pictures) // columns)
    images = [plt.imread(picture) for picture in pictures]
    height, width = images[0].shape[:2]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows,
            columns,
            figsize=(4 * columns, rows * (4 * height / width + 0.05)),
            layout="constrained",
            squeeze=False,
        )
        for ax in axes.flat:
            ax.set_axis_off()
        for ax, image in zip(axes.flat, images, strict=False):
            ax.imshow(image)
        figure.savefig(path, dpi=110)
        plt.close(figure)


def draw_scaling(result: dict, path: Path) -> None:
    """Time, time per unknown and iterations of `paddlewheel bench pressure` against the number of unknowns."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(12.4, 4.1), layout="constrained")
        machine = result["machine"]
        figure.suptitle(
            f"one projection to {result['tolerance']:g}: {machine['threads']} threads, "
            f"triad {machine['triad'] / 1e9:.0f} GB/s",
            fontsize=13,
            color=SURFACE_COLOUR,
        )
        for solver, colour in (("multigrid", "#1b6ca8"), ("mic", "#c2571a")):
            rows = [row for row in result["rows"] if row["solver"] == solver]
            if not rows:
                continue
            n = np.array([row["unknowns"] for row in rows])
            total = np.array([row["seconds"]["total"] for row in rows])
            style = {"marker": "o", "color": colour, "label": {"mic": "MIC(0)"}.get(solver, solver), "lw": 1.8, "ms": 5}
            axes[0].loglog(n, total, **style)
            axes[1].loglog(n, 1e6 * total / n, **style)
            axes[2].semilogx(n, [row["iterations"] for row in rows], **style)
            if solver == "multigrid":
                axes[0].loglog(n, total[-1] * n / n[-1], ":", color=LINE_COLOUR, lw=1, label="∝ unknowns")
        for ax, name in zip(axes, ("seconds", "microseconds per unknown", "iterations"), strict=True):
            ax.set_title(name)
            ax.set_xlabel("unknowns")
            ax.grid(which="major", color="#e6e1da", lw=0.8)
            ax.set_axisbelow(True)
        axes[2].set_ylim(bottom=0)
        axes[0].legend(frameon=False)
        figure.savefig(path, dpi=130)
        plt.close(figure)


def draw_sweeps(result: dict, path: Path) -> None:
    """Sweeps or iterations, and time per unknown, of `paddlewheel bench classic` against the cells along a side."""
    plt = pyplot()
    rows = sorted(result["rows"], key=lambda row: row["cells"])
    n, unknowns = (np.array([row[name] for row in rows]) for name in ("cells", "unknowns"))
    colours = ("#8a8378", "#c2571a", "#d99a2b", "#3f8f5f", "#1b6ca8")
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(12.4, 4.1), layout="constrained")
        figure.suptitle(
            f"one pressure to {result['tolerance']:g}, in a cube half full", fontsize=13, color=SURFACE_COLOUR
        )
        for way, colour in zip(rows[0]["iterations"], colours, strict=True):
            style = {"marker": "o", "color": colour, "label": way, "lw": 1.8, "ms": 5}
            axes[0].loglog(n, [row["iterations"][way] for row in rows], **style)
            axes[1].loglog(n, 1e6 * np.array([row["seconds"][way] for row in rows]) / unknowns, **style)
        for ax, name in zip(axes, ("sweeps or iterations", "microseconds per unknown"), strict=True):
            ax.set_title(name)
            ax.set_xlabel("cells along a side")
            ax.set_xticks(n, [str(m) for m in n])
            ax.minorticks_off()
            ax.grid(which="major", color="#e6e1da", lw=0.8)
            ax.set_axisbelow(True)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
        figure.savefig(path, dpi=130)
        plt.close(figure)


def draw_stages(result: dict, path: Path) -> None:
    """Time, time per cell by stage, and memory of `paddlewheel bench liquid` against the size of the grid."""
    plt = pyplot()
    rows = sorted(result["rows"], key=lambda row: row["cells"])
    sizes = [f"{row['cells']}³" for row in rows]
    particles = np.array([row["particles"] for row in rows])
    total = np.array([row["seconds"]["total"] for row in rows])
    style = {"marker": "o", "color": "#1b6ca8", "lw": 1.8, "ms": 5}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(12.4, 4.1), layout="constrained")
        machine = result["machine"]
        figure.suptitle(
            f"one step of {result['scene']} to {result['tolerance']:g}: {machine['threads']} threads, "
            f"triad {machine['triad'] / 1e9:.0f} GB/s",
            fontsize=13,
            color=SURFACE_COLOUR,
        )
        axes[0].loglog(particles, total, **style)
        proportional = total[-1] * particles / particles[-1]
        axes[0].loglog(particles, proportional, ":", color=LINE_COLOUR, lw=1, label="∝ particles")
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


def _power(value: float) -> str:
    """1.2e-07 as mathematics."""
    digits, exponent = f"{value:.1e}".split("e")
    return rf"${digits} \cdot 10^{{{int(exponent)}}}$"


def _fastest_face(velocity: Faces, known: Faces) -> np.ndarray:
    """Largest |u| on the six faces of each cell [m/s], of those the projection determined."""
    fastest = 0.0
    for a, (u, at) in enumerate(zip(velocity, known, strict=True)):
        magnitude = np.moveaxis(np.where(at, np.abs(u), 0), a, 0)
        fastest = np.maximum(fastest, np.moveaxis(np.maximum(magnitude[:-1], magnitude[1:]), 0, a))
    return fastest


def _isobars(ax, grid, pressure) -> None:
    if not np.nanmax(pressure, initial=0) > np.nanmin(pressure, initial=0):
        return
    x, y = ((np.arange(n) + 0.5) * grid.h for n in grid.shape[:2])
    ax.contour(x, y, pressure.T, levels=9, colors="white", linewidths=0.7, alpha=0.8)


def _solids(ax, step, k) -> None:
    """The surface, and the solids over everything: cells are what is computed, outlines what they stand for."""
    grid = step.scene.grid
    x, y = ((np.arange(n) + 0.5) * grid.h for n in grid.shape[:2])
    phi = step.phi[:, :, k]
    if phi.min() < 0 < phi.max():
        ax.contour(x, y, phi.T, levels=[0], colors=[SURFACE_COLOUR], linewidths=1.6)
    draw_solids(ax, grid, step.boundary.phi[:, :, k : k + 2].mean(axis=2))
    ax.set_facecolor("#fbfaf8")
    ax.set_xlim(0, grid.size[0])
    ax.set_ylim(0, grid.size[1])
