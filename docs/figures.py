"""Draw the figures of docs/: python docs/figures.py [name ...]

    convergence   errors around an oblique wall and under a free surface, and their orders (B07 figure 2)
    rotated-box   the vortex of B07 figure 2 by three methods, and its error
    weights       what the four weights measure (B07 figure 3)
    multigrid     residual against iteration at four resolutions

The exact solutions are those of the tests, in tests/analytic.
"""

# ruff: noqa: E402  the drawing backend and the path come before what needs them

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Polygon, Rectangle

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "analytic")]

import rotated_box

import zoo
from paddlewheel.grid.fractions import WEIGHTS, open_fractions
from paddlewheel.physics.pressure import assemble
from paddlewheel.solve.linear import solve
from paddlewheel.types import Grid

CELLS = [32, 64, 128, 256]
DEGREES = 17
COLOURS = {"area": "#0072b2", "volume": "#009e73", "length": "#e69f00", "voxel": "#d55e00"}
MARKERS = dict(zip(WEIGHTS, "os^D", strict=True))
SOLID, WATER, INK = "#c9c3b8", "#e3f0fa", "#333333"

plt.rcParams.update(
    {
        "font.size": 10,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "figure.dpi": 130,
        "savefig.bbox": "tight",
    }
)


def convergence():
    """Worst errors of eight positions of the box, per weight, and of the pressure under a free surface."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2))
    for weights in WEIGHTS:
        errors = []
        for n in CELLS:
            outcomes = [rotated_box.solve_vortex(n, place, weights) for place in rotated_box.places(DEGREES, n)]
            errors.append(np.max([outcome.velocity_error() for outcome in outcomes], axis=0))
        for axis, error in zip(axes, np.transpose(errors), strict=False):
            _line(axis, weights, error)
        pressure = []
        for n in CELLS:
            outcomes = [rotated_box.solve_pool(n, place, weights) for place in rotated_box.places(DEGREES, n)]
            pressure.append(max(o.pressure_error(~rotated_box.near_contact(o)) for o in outcomes))
        _line(axes[2], weights, pressure)
    titles = ["velocity, mean (L1)", "velocity, largest (L∞)", "pressure under a free surface, largest (L∞)"]
    slopes = [(1, 2), (1,), (1, 2)]
    for axis, title, orders in zip(axes, titles, slopes, strict=True):
        axis.set(xscale="log", yscale="log", title=title, xlabel="cells along a side of the domain")
        axis.set_xticks(CELLS, CELLS)
        axis.minorticks_off()
        low, high = axis.get_ylim()
        axis.set_ylim(low / 3, high * 1.3)
        for order in orders:
            _slope(axis, order)
        axis.legend(fontsize=8.5, loc="lower left", handlelength=1.6)
    axes[0].set_ylabel("error / largest value")
    figure.suptitle(f"One projection in a box turned by {DEGREES}° against the grid", x=0.01, ha="left", fontsize=12)
    figure.tight_layout()
    return figure


def _line(axis, weights, errors):
    order = rotated_box.order(CELLS, errors)
    label = f"{weights}, order {order:.2f}".replace("-", "−")
    axis.plot(CELLS, errors, color=COLOURS[weights], marker=MARKERS[weights], ms=5, lw=1.6, label=label)


def _slope(axis, order):
    """A grey line of the given order beside the curves."""
    x = np.array([150, 256.0])
    anchor = {1: 0.62, 2: 0.40}[order]
    low, high = np.log(axis.get_ylim())
    y = np.exp(low + anchor * (high - low)) * (x / x[0]) ** -order
    axis.plot(x, y, color="0.6", lw=1, zorder=0)
    axis.text(x[1] * 1.04, y[1], f"{order}", color="0.45", fontsize=9, va="center")


def rotated_boxes(cells=50):
    """Streamlines and error of the vortex: aligned, turned with voxels, turned with open areas.

    With 50 cells the aligned box ends on grid lines.
    """
    runs = [
        ("aligned with the grid", rotated_box.Place(0), "area"),
        (f"turned {DEGREES}°, voxels", rotated_box.Place(DEGREES), "voxel"),
        (f"turned {DEGREES}°, open areas", rotated_box.Place(DEGREES), "area"),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(11, 7.4), sharex=True, sharey=True, layout="constrained")
    for (title, place, weights), (above, below) in zip(runs, axes.T, strict=True):
        outcome = rotated_box.solve_vortex(cells, place, weights)
        _box(above, place)
        _box(below, place)
        _streamlines(above, outcome)
        logarithm = np.log10(np.maximum(_largest_error(outcome), 1e-9))
        style = {"origin": "lower", "extent": (0, 1, 0, 1), "cmap": "magma_r", "vmin": -5, "vmax": 0}
        picture = below.imshow(logarithm.T, zorder=1, **style)
        l1, largest = outcome.velocity_error()
        above.set_title(title)
        below.set_title(f"mean error {l1:.0e}, largest {largest:.0e}".replace("e-0", "e−"), fontsize=9.5)
        for axis in (above, below):
            axis.set(aspect="equal", xlim=(0.04, 0.96), ylim=(0.04, 0.96), xticks=[], yticks=[])
            for spine in axis.spines.values():
                spine.set_visible(False)
    axes[0, 0].set_ylabel("streamlines after the projection")
    axes[1, 0].set_ylabel("error of the velocity")
    bar = figure.colorbar(picture, ax=axes[1], shrink=0.8, pad=0.01, ticks=range(-5, 1))
    bar.ax.set_yticklabels([f"10$^{{{e}}}$" for e in range(-5, 1)])
    bar.set_label("|u − u exact| / max|u|")
    return figure


def _box(axis, place):
    axis.add_patch(Rectangle((0, 0), 1, 1, color=SOLID, zorder=0))
    corners = [place.world(*(rotated_box.SIDE * np.array(c))) + np.array(place.center)
               for c in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))]  # fmt: skip
    axis.add_patch(Polygon(corners, facecolor="white", edgecolor=INK, lw=0.8, zorder=0.5))
    axis.add_patch(Polygon(corners, facecolor="none", edgecolor=INK, lw=1.2, zorder=3))


def _streamlines(axis, outcome):
    """Contours of the discrete stream function, which lives at nodes: flux is its difference between them."""
    grid, projection = outcome.grid, outcome.projection
    flux = outcome.boundary.open.x * np.where(projection.known.x, projection.velocity.x, 0)
    psi = np.zeros(grid.node_shape[:2])
    psi[:, 1:] = np.cumsum(flux[:, :, 0], axis=1) * grid.h
    x = np.arange(grid.shape[0] + 1) * grid.h
    top = np.abs(psi).max()
    levels = top * np.linspace(0.06, 0.98, 10)
    axis.contour(x, x, np.abs(psi).T, levels=levels, colors=COLOURS["area"], linewidths=1, zorder=2)


def _largest_error(outcome):
    """Largest error of a cell's known faces; NaN in cells that have not even two of them."""
    total = np.zeros(outcome.grid.shape[:2])
    count = np.zeros(outcome.grid.shape[:2], int)
    for a in range(2):
        known = outcome.projection.known[a][..., 0]
        error = np.where(known, np.abs(outcome.projection.velocity[a] - outcome.exact[a])[..., 0], 0)
        low, high = (tuple(s if d == a else slice(None) for d in range(2)) for s in (slice(-1), slice(1, None)))
        total = np.maximum(total, np.maximum(error[low], error[high]))
        count += known[low]
        count += known[high]
    return np.where(count >= 2, total, np.nan)


def weights():
    """One face and its box, cut by a wall: what each weight measures, and what the code finds."""
    nodes = Grid((2, 1, 1), 1.0).node_points()
    normal, point = np.array([-1.2, 1.0]), np.array([1.0, 0.3])
    normal /= np.linalg.norm(normal)
    phi = (nodes[..., :2] - point) @ normal
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), layout="constrained")
    names = {
        "area": "open part of the face",
        "volume": "open part of the face's box",
        "length": "open part of the way\nfrom centre to centre",
        "voxel": "1 if both centres are open",
    }
    for axis, (name, what) in zip(axes, names.items(), strict=True):
        w = float(open_fractions(phi, name).x[1, 0, 0])
        _wall(axis, point, normal)
        for i in range(2):
            axis.add_patch(Rectangle((i, 0), 1, 1, fill=False, edgecolor="0.55", lw=1))
        mark = {"color": COLOURS[name], "solid_capstyle": "butt"}
        if name == "area":
            axis.plot([1, 1], [point[1], 1], lw=5, **mark)
        elif name == "volume":
            _open_box(axis, point, normal, COLOURS[name])
        elif name == "length":
            x = point[0] - (0.5 - point[1]) * normal[1] / normal[0]
            axis.plot([0.5, x], [0.5, 0.5], lw=5, **mark)
        for centre in (0.5, 1.5):
            inside = (np.array([centre, 0.5]) - point) @ normal <= 0
            face = COLOURS[name] if name == "voxel" and not inside else "white"
            axis.plot(centre, 0.5, "o", ms=7, mfc=face, mec=INK, zorder=5)
        axis.annotate("", (1.28, 0.86), (1.0, 0.86), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.2})
        axis.text(1.31, 0.86, "u", style="italic", va="center", color=INK)
        axis.set_title(f"{name}:  w = {w:.3g}", color=COLOURS[name], fontweight="bold")
        axis.text(0.0, -0.07, what, va="top", color=INK)
        axis.set(aspect="equal", xlim=(-0.03, 2.03), ylim=(-0.35, 1.03))
        axis.axis("off")
    return figure


def _wall(axis, point, normal):
    """The two cells as water, and the solid part of them below the wall."""
    x = np.linspace(0, 2, 401)
    y = np.clip(_height(x, point, normal), 0, 1)
    axis.fill_between(x, y, 1, color=WATER, lw=0, zorder=0)
    axis.fill_between(x, 0, y, color=SOLID, lw=0, zorder=0)
    cut = (y > 0) & (y < 1)
    axis.plot(x[cut], y[cut], color=INK, lw=1.4, zorder=1.5)


def _height(x, point, normal):
    """y of the wall at x."""
    return point[1] - (x - point[0]) * normal[0] / normal[1]


def _open_box(axis, point, normal, colour):
    x = np.linspace(0.5, 1.5, 201)
    axis.fill_between(x, np.clip(_height(x, point, normal), 0, 1), 1, color=colour, alpha=0.5, lw=0, zorder=1)
    axis.add_patch(Rectangle((0.5, 0), 1, 1, fill=False, edgecolor=colour, lw=1.4, ls="--", zorder=2))


def multigrid(sizes=(32, 64, 96, 128)):
    """True residual after each iteration on the cut-cell scene."""
    figure, axis = plt.subplots(figsize=(6, 4.2))
    shades = plt.cm.viridis(np.linspace(0.85, 0.1, len(sizes)))
    for n, colour in zip(sizes, shades, strict=True):
        system = assemble(*zoo.cut_cells(n))
        history = [1.0]
        while history[-1] > 1e-10 and len(history) < 30:
            history.append(solve(system, tolerance=1e-10, iterations=len(history)).info.residual)
        count = np.count_nonzero(system.unknown)
        axis.semilogy(
            history, color=colour, marker="o", ms=4, lw=1.4, label=f"{n}³  ({count:,} unknowns)".replace(",", " ")
        )
    for tolerance in (1e-6, 1e-10):
        axis.axhline(tolerance, color="0.7", lw=0.8, zorder=0)
    axis.set(
        xlabel="iteration",
        ylabel="max|b − Ap| / max|b|",
        title="Multigrid conjugate gradients, cut cells and free surface",
    )
    axis.set_xticks(range(0, 15, 2))
    axis.legend(fontsize=9)
    figure.tight_layout()
    return figure


FIGURES = {"convergence": convergence, "rotated-box": rotated_boxes, "weights": weights, "multigrid": multigrid}


def main(names):
    unknown = set(names) - set(FIGURES)
    if unknown:
        sys.exit(f"no figure {', '.join(sorted(unknown))}: there are {', '.join(FIGURES)}")
    (HERE / "figures").mkdir(exist_ok=True)
    for name in names or FIGURES:
        figure = FIGURES[name]()
        figure.savefig(HERE / "figures" / f"{name}.png", facecolor="white")
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
