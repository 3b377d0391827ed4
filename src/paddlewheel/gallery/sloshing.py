"""Water sloshes in a tank, to and fro in its lowest mode.

Linear theory, for a tank of length L and water of depth H:

    η = a sin ωt cos kx ,      ω² = g k tanh kH ,      k = π/L

It starts flat, with the velocity that goes with that.
"""

import itertools
import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box
from paddlewheel.types import Grid

caption = "Water sloshes in a tank: its frequency is that of linear theory, and its volume stays."
shown = (7, 21)

LIMITS = common.LIMITS | {
    "|ω / √(g k tanh kH) − 1|": 0.01,
    "amplitude lost per period": 0.05,
}

FRAMES = 240  # what a check simulates: eight periods
LENGTH, DEPTH, GRAVITY = 1.0, 0.5, 9.81
K = math.pi / LENGTH
FREQUENCY = math.sqrt(GRAVITY * K * math.tanh(K * DEPTH))  # [rad/s]


def scene(
    cells: int = 64, amplitude: float = 0.02, advection: str = "flip", flip: float = 0.97, cfl: float = 5.0
) -> Scene:
    """A 2-D tank 1 m long with 0.5 m of water that will rise by `amplitude` [m] at its ends."""
    argument.number("sloshing", "amplitude", amplitude)
    h = LENGTH / argument.positive("sloshing", "cells", cells)

    def velocity(points):
        speed = amplitude * FREQUENCY / math.sinh(K * DEPTH)
        x, y = K * points[:, 0], K * points[:, 1]
        return speed * np.stack([-np.cosh(y) * np.sin(x), np.sinh(y) * np.cos(x), 0 * x], axis=1)

    return Scene(
        size=(LENGTH, common.in_cells(0.9, h), h),
        cells=cells,
        gravity=(0.0, -GRAVITY, 0.0),
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[Liquid(Box((0, 0, 0), (LENGTH, DEPTH, h)), velocity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the error of the frequency, and the amplitude that a period costs."""
    watch, grid = common.Watch(simulation), simulation.scene.grid
    times, modes = [0.0], [0.0]
    for frame in watch.run(FRAMES):
        times.append(frame.time)
        modes.append(mode(grid, frame.state.phi))
    frequency, lost = oscillation(np.array(times), np.array(modes))
    return watch.figures() | {
        "|ω / √(g k tanh kH) − 1|": abs(frequency / FREQUENCY - 1),
        "amplitude lost per period": lost,
    }


def mode(grid: Grid, phi: np.ndarray) -> float:
    """Amplitude [m] of cos kx in the height of the surface."""
    x = (np.arange(grid.shape[0]) + 0.5) * grid.h
    return float(2 * np.mean(heights(grid, phi) * np.cos(K * x)))


def heights(grid: Grid, phi: np.ndarray) -> np.ndarray:
    """Height [m] of the surface in each column of cells: where φ first is zero, from below."""
    phi = phi[:, :, 0]
    top = np.argmax(phi >= 0, axis=1)  # the first dry cell
    column = np.arange(len(phi))
    wet, dry = phi[column, top - 1], phi[column, top]
    return (top - 0.5 + wet / (wet - dry)) * grid.h


def oscillation(times: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Frequency [rad/s] of a damped oscillation, and the part of its amplitude that it loses in a period.

    From its zeros, between which half periods lie, and from the largest
    value between each two of them.
    """
    after = np.flatnonzero(np.diff(np.sign(values)) != 0)
    after = after[values[after] != 0]  # not the start
    zeros = times[after] - values[after] * np.diff(times)[after] / np.diff(values)[after]
    frequency = math.pi / np.polyfit(np.arange(len(zeros)), zeros, 1)[0]
    peaks = [np.abs(values[i + 1 : j + 1]).max() for i, j in itertools.pairwise(after)]
    rate = np.polyfit(np.arange(len(peaks)), np.log(peaks), 1)[0]  # of half a period
    return frequency, 1 - math.exp(2 * rate)
