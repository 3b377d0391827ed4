"""Draw the figures of liquid in motion: python docs/figures_liquid.py [name ...]

vortex_box   the vortex of B07 figure 2 after two seconds, by three methods
slope        water on a gentle slope with open areas and with voxels (R05)
separation   B07 figure 6: a splash against a wall that holds water, and against one that it may leave
buckling     B08 figure 3: falling sheets of three viscosities
dam-break-methods  one dam break by the methods of FM96, R05 and B07, with volume, energy and seconds
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Polygon, Rectangle

from paddlewheel.gallery import buckling, common, dam_break_methods, separation, slope, vortex_box
from paddlewheel.run import Simulation

HERE = Path(__file__).parent
SOLID, WATER, LINE, INK = "#c9c3b8", "#2f86c1", "#0072b2", "#333333"
HONEY = "#c47f17"
plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.titlelocation": "left", "figure.dpi": 130})


def draw_vortex_box():
    """Streamlines after two seconds: aligned, turned with voxels, turned with open areas."""
    runs = [
        ("aligned with the grid", 0.0, "area"),
        (f"turned {vortex_box.DEGREES:g}°, voxels", vortex_box.DEGREES, "voxel"),
        (f"turned {vortex_box.DEGREES:g}°, open areas", vortex_box.DEGREES, "area"),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.1), layout="constrained")
    levels, exact = None, None
    for axis, (title, degrees, weights) in zip(axes, runs, strict=True):
        simulation = Simulation(vortex_box.scene(degrees=degrees, weights=weights))
        for _ in simulation.run(vortex_box.FRAMES):
            pass
        x, psi = _stream_function(simulation)
        if levels is None:
            levels, exact = psi.max() * np.linspace(0.06, 0.98, 10), vortex_box.sampled(simulation, degrees)
        error = np.linalg.norm(vortex_box.sampled(simulation, degrees) - exact, axis=1).mean() / np.abs(exact).max()
        _draw_room(axis, degrees)
        axis.contour(x, x, psi.T, levels=levels, colors=LINE, linewidths=1, zorder=2)
        axis.set_title(title if degrees == 0 else f"{title}: error {100 * error:.2g} %")
        axis.set(aspect="equal", xlim=(0.04, 0.96), ylim=(0.04, 0.96))
        axis.set_axis_off()
    return figure


def _stream_function(simulation):
    """|ψ| [m²/s] at nodes: the flux through a face is its difference between them."""
    grid = simulation.scene.grid
    flux = (simulation.boundary.open.x * simulation.state.velocity.x)[:, :, 0]
    psi = np.zeros(grid.node_shape[:2])
    psi[:, 1:] = np.cumsum(flux, axis=1) * grid.h
    return np.arange(grid.shape[0] + 1) * grid.h, np.abs(psi)


def _draw_room(axis, degrees):
    corners = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * vortex_box.SIDE / 2
    corners = vortex_box.placed(degrees).to_world(corners)[:, :2]
    axis.add_patch(Rectangle((0, 0), 1, 1, color=SOLID, zorder=0))
    axis.add_patch(Polygon(corners, facecolor="white", edgecolor=INK, lw=1.2, zorder=1))


def draw_slope(times=(1, 2, 5)):
    """Particles at some times [s], with open areas on the left and voxels on the right."""
    figure, axes = plt.subplots(len(times), 2, figsize=(12, 1.55 * len(times)), layout="constrained", squeeze=False)
    for column, (weights, name) in enumerate((("area", "open areas"), ("voxel", "voxels"))):
        simulation = Simulation(slope.scene(weights=weights, cfl=1.0))
        for axis, time in zip(axes[:, column], times, strict=True):
            for _ in simulation.run(round((time - simulation.time) * simulation.scene.fps)):
                pass
            _draw_ramp(axis, simulation)
            position = simulation.state.particles.position
            axis.scatter(position[:, 0], position[:, 1], s=4, color=WATER, lw=0, zorder=2)
            left = 100 * slope.left_on_slope(simulation.state)
            axis.set_title(f"{name}, {time} s: {left:.0f} % of the water is on the slope")
            axis.set(aspect="equal", xlim=(0, 1.95), ylim=(0.04, 0.34))
            axis.set_axis_off()
    return figure


def _draw_ramp(axis, simulation):
    """The solid, and its surface as the pressure sees it."""
    grid, phi = simulation.scene.grid, simulation.boundary.phi[:, :, 0]
    x, y = (np.arange(n) * grid.h for n in phi.shape)
    axis.contourf(x, y, phi.T, levels=[phi.min(), 0], colors=[SOLID], zorder=0)
    if simulation.scene.method.weights == "voxel":
        centers = phi[:-1, :-1] + phi[1:, :-1] + phi[:-1, 1:] + phi[1:, 1:]
        axis.stairs(grid.h * np.count_nonzero(centers <= 0, axis=1), x, color=INK, lw=0.8, zorder=3)
    else:
        axis.contour(x, y, phi.T, levels=[0], colors=[INK], linewidths=0.8, zorder=3)


def draw_separation(frames=(3, 8, 12, 15, 18)):
    """Particles at some frames: above with the standard condition at walls, below with separation."""
    figure, axes = plt.subplots(2, len(frames), figsize=(2.3 * len(frames), 4.9), layout="constrained")
    for row, (wall_separation, name) in zip(axes, ((False, "held by walls"), (True, "free to leave")), strict=True):
        simulation = Simulation(separation.scene(cells=96, wall_separation=wall_separation))
        for axis, number in zip(row, frames, strict=True):
            for _ in simulation.run(number - round(simulation.time * simulation.scene.fps)):
                pass
            position = simulation.state.particles.position
            axis.scatter(position[:, 0], position[:, 1], s=1.2, color=WATER, lw=0)
            axis.set_title(f"{name}, {simulation.time:.2f} s", fontsize=9)
            axis.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    return figure


def draw_buckling(times=(0.5, 1.0, 1.5, 2.0, 2.5, 3.0)):
    """Particles of sheets at some times [s], one row for each viscosity."""
    figure, axes = plt.subplots(len(buckling.VISCOSITIES), len(times), figsize=(9, 7.4), layout="constrained")
    for row, viscosity in zip(axes, buckling.VISCOSITIES, strict=True):
        simulation = Simulation(buckling.scene(viscosity=viscosity))
        for axis, time in zip(row, times, strict=True):
            for _ in simulation.run(round((time - simulation.time) * simulation.scene.fps)):
                pass
            position = simulation.state.particles.position
            axis.scatter(position[:, 0], position[:, 1], s=0.8, color=HONEY, lw=0)
            axis.set(aspect="equal", xlim=(0, buckling.SIZE[0]), ylim=(0, buckling.SIZE[1]), xticks=[], yticks=[])
        row[0].set_title(f"{viscosity:g} Pa s")
    return figure


def draw_dam_break_methods(frames=(8, 16, 32, 60)):
    """Particles at some frames, a row for each method; under them volume, energy, and the time a frame takes."""
    names = list(dam_break_methods.METHODS)
    figure = plt.figure(figsize=(11, 7.6), layout="constrained")
    for part, name in zip(figure.subfigures(len(names), 1), names, strict=True):
        row = part.subplots(1, len(frames))
        Simulation(dam_break_methods.scene(method=name)).step()  # kernels are compiled before time is taken
        simulation = Simulation(dam_break_methods.scene(method=name))
        watch, start = common.Watch(simulation), dam_break_methods.potential(simulation)
        course = dam_break_methods.course(simulation, _drawn(watch.run(frames[-1]), frames, iter(row)))
        error = 100 * (np.array(watch.volumes) / watch.expected - 1)
        energy = 100 * (np.array(course.kinetic) + course.potential) / start
        for axis, frame in zip(row, frames, strict=True):
            axis.set_title(f"{frame / 24:.2f} s: {energy[frame - 1]:.0f} % of the energy", fontsize=9)
        volumes, seconds = f"{error.min():+.1f} … {error.max():+.1f} %", f"{np.mean(course.seconds):.2g} s"
        part.suptitle(f"{name}: volume {volumes}, {seconds} of one processor for a frame", x=0.01, ha="left", color=INK)
    return figure


def _drawn(run, frames, axes):
    """The frames of a run, some of them drawn on the next axis."""
    for frame in run:
        if frame.number in frames:
            axis, position = next(axes), frame.state.particles.position
            axis.scatter(position[:, 0], position[:, 1], s=1.2, color=WATER, linewidths=0)
            axis.add_patch(Rectangle((0, 0), 2, 1.5, fill=False, edgecolor=INK, linewidth=0.8))
            axis.set(aspect="equal", xlim=(-0.02, 2.02), ylim=(-0.02, 1.52))
            axis.set_axis_off()
        yield frame


FIGURES = {
    "vortex_box": draw_vortex_box,
    "slope": draw_slope,
    "separation": draw_separation,
    "buckling": draw_buckling,
    "dam-break-methods": draw_dam_break_methods,
}


def main(names):
    unknown = set(names) - set(FIGURES)
    if unknown:
        sys.exit(f"no figure {', '.join(sorted(unknown))}: there are {', '.join(FIGURES)}")
    for name in names or FIGURES:
        figure = FIGURES[name]()
        figure.savefig(HERE / "figures" / f"{name}.png", facecolor="white")
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
