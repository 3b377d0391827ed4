"""Taylor–Green vortices in a closed box, which should turn for ever as they are.

    u = sin(nπx) cos(nπy) ,      v = −cos(nπx) sin(nπy)

on the unit square, in m/s, is a steady flow without viscosity, n vortices along
each side. At its centre one turns once in 2/n seconds.
"""

from dataclasses import replace

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Smoke
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box
from paddlewheel.types import Faces, Grid, StepReport

caption = "A vortex in a closed box turns ten times: how much of its energy particles and the grid keep."
shown = (24, 48, 240)

LIMITS = common.SMOKE_LIMITS | {
    "change of all smoke": 1e-5,
    "energy lost": 0.08,
    "energy lost / that by semi-Lagrangian": 0.25,
    "|energy lost by MacCormack|": 0.01,
}

TURN = 2.0  # [s] of one vortex, at its centre
TURNS = 10  # what a check simulates


def scene(cells: int = 64, vortices: int = 1, advection: str = "flip", flip: float = 0.97, cfl: float = 3.0) -> Scene:
    """A unit square with so many vortices along each side, in 2-D, and smoke in its left half."""
    h = 1 / argument.positive("taylor-green", "cells", cells)
    if argument.positive("taylor-green", "vortices", vortices) != int(vortices):
        raise ValueError(f"taylor-green: vortices={vortices!r}, expected a whole number")
    return Scene(
        size=(1, 1, h),
        cells=cells,
        gravity=(0, 0, 0),
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[
            Smoke(Box((0, 0, 0), (1, 1, h)), density=0.0, velocity=lambda points: flow(points, vortices)),
            Smoke(Box((0, 0, 0), (0.5, 1, h))),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any smoke; and the energy that ten turns take, by particles and by the grid."""
    given, watch = simulation.scene, common.Watch(simulation)
    frames = round(TURNS * TURN * given.fps)
    lost = {}
    for advection in ("semi-lagrangian", "maccormack"):
        other = Simulation(replace(given, method=replace(given.method, advection=advection, surface=None)))
        *_, lost[advection] = (1 - energy(given, frame.report) for frame in other.run(frames))
    *_, mine = (1 - energy(given, frame.report) for frame in watch.run(frames))
    return watch.figures() | {
        "change of all smoke": max(abs(amount / watch.smoke[0] - 1) for amount in watch.smoke),
        "energy lost": mine,
        "energy lost / that by semi-Lagrangian": mine / lost["semi-lagrangian"],
        "|energy lost by MacCormack|": abs(lost["maccormack"]),
    }


def energy(scene: Scene, report: StepReport) -> float:
    """The part of the flow's energy at the start, ¼ ρ V."""
    return report.kinetic_energy / (0.25 * scene.density * scene.grid.h)


def flow(points: np.ndarray, vortices: int = 1) -> np.ndarray:
    """The exact velocity [m/s] at points (…, 3), shape (…, 3)."""
    x, y = np.pi * vortices * points[..., 0], np.pi * vortices * points[..., 1]
    return np.stack([np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y), 0 * x], axis=-1)


def error(grid: Grid, velocity: Faces, vortices: int = 1) -> float:
    """Root of the mean square of a velocity's error, over that of the flow."""
    wrong = [velocity[a] - flow(grid.face_points(a), vortices)[..., a] for a in range(2)]
    return float(np.sqrt(np.mean([np.mean(e**2) for e in wrong]) / 0.25))
