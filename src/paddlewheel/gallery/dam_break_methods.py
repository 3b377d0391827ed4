"""The same dam breaks by the methods of three papers: FM96, R05 (`roble`) and B07.

As long as the water runs along the floor all agree. Then it splashes, and they differ: by volume, by the energy that is
lost, and by what they cost.
"""

import time
from typing import NamedTuple

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = "One dam breaks by the methods of 1996, 2005 and 2007: all have the same front and keep the volume."
shown = (8, 16, 32)
METHODS = {
    "foster_metaxas": Method.foster_metaxas,
    "roble": Method.roble,
    "batty2007": Method.batty2007,
}
beside = {f"by {name}": {"method": name} for name in METHODS if name != "foster_metaxas"}

LIMITS = common.CLASSIC_LIMITS | {
    "|front − batty2007's| / h, worst until it meets the wall": 2.0,
    "|kinetic energy / batty2007's − 1|, until then": 0.1,
    "energy gained / that at the start": 0.05,  # kinetic energy is that of φ's volume, which may err by as much
}

FRAMES, EARLY = 60, 10  # what a check simulates, and when the front has not met the far wall yet
WIDTH, HEIGHT = 0.5, 0.75  # of the column [m]


class Course(NamedTuple):
    """What became of a dam break after each frame: its front [m], energies [J], and seconds of processors."""

    fronts: list[float]
    kinetic: list[float]
    potential: list[float]
    seconds: list[float]


def scene(cells: int = 64, method: str = "foster_metaxas") -> Scene:
    """A 2-D tank 2 m long and 1.5 m high, with a column of water 0.5 m wide and 0.75 m high at its end."""
    if method not in METHODS:
        raise ValueError(f"dam-break-methods: method={method!r}, expected one of {', '.join(METHODS)}")
    h = 2 / argument.positive("dam-break-methods", "cells", cells)
    return Scene(
        size=(2, common.in_cells(1.5, h), h),
        cells=cells,
        method=METHODS[method](),
        items=[Liquid(Box((-1, -1, -1), (WIDTH, HEIGHT, 1)))],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """Volume, whether energy is gained, and front and kinetic energy against those of batty2007, run here too."""
    watch, h = common.Watch(simulation), simulation.scene.grid.h
    start = potential(simulation)
    found = course(simulation, watch.run(FRAMES))
    other = Simulation(scene(cells=simulation.scene.grid.shape[0], method="batty2007"))
    known = course(other, other.run(EARLY))
    fronts, energies = (np.array(found[i][:EARLY]) / np.array(known[i]) for i in (0, 1))
    off = np.abs(fronts - 1) * known.fronts
    total = np.array(found.kinetic) + found.potential
    figures = {name: value for name, value in watch.figures().items() if name in LIMITS}
    return figures | {
        "|front − batty2007's| / h, worst until it meets the wall": float(off.max() / h),
        "|kinetic energy / batty2007's − 1|, until then": float(abs(energies[-1] - 1)),
        "energy gained / that at the start": max(0.0, float(total.max() / start - 1)),
    }


def course(simulation: Simulation, frames) -> Course:
    """What becomes of a simulation in frames."""
    course = Course([], [], [], [])
    began = time.process_time()
    for frame in frames:
        course.seconds.append(time.process_time() - began)
        course.fronts.append(float(np.quantile(frame.state.particles.position[:, 0], 0.99)))
        course.kinetic.append(frame.report.kinetic_energy)
        course.potential.append(potential(simulation))
        began = time.process_time()
    return course


def potential(simulation: Simulation) -> float:
    """Energy [J] of all particles above the floor."""
    scene, height = simulation.scene, simulation.state.particles.position[:, 1]
    return -scene.gravity[1] * scene.density * scene.grid.h**3 / 4 * float(height.sum(dtype=float))
