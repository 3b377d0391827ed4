"""A long wave runs from deep water onto a step, by the height field of FM96.

A swell at the end of a tank is let go. In water of depth H linear theory carries what passes at a place on by

    ∂η/∂x = −i k η   for each frequency,      ω² = g k tanh kH

and of the height of a wave without end so much passes a step from H₁ to H₂ (Lamb §176):

    2 / (1 + √(H₂/H₁))
"""

import math
from dataclasses import dataclass

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Shape

caption = "A wave runs onto a step, as a height field: it has the speed of linear theory, and no drop is lost."
shown = (24, 60, 100)

LIMITS = common.CLASSIC_LIMITS | {
    "|volume error|, worst": 1e-12,
    "|speed in deep water / theory − 1|": 0.01,
    "|speed over the step / theory − 1|": 0.01,
    "|height over the step / theory − 1|": 0.08,  # that of waves without end
}

FRAMES = 110  # what a check simulates: over the step, and not yet back from the end
LENGTH, DEPTH, SHALLOW, STEP, WIDTH = 8.0, 0.5, 0.25, 4.0, 0.6  # [m]
GRAVITY = 9.81
PROBES = {"deep": (1.6, 2.6), "shallow": (5.0, 6.4)}  # where heights are taken [m]


@dataclass(frozen=True)
class Swell(Shape):
    """Liquid below a surface that is higher at x = 0 by a bell of some height [m]; distances are those upwards."""

    height: float

    def _distance(self, points):
        return points[:, 1] - DEPTH - swell(points[:, 0], self.height)

    def bounds(self):
        return np.array([-1.0, -1.0, -1e3]), np.array([LENGTH + 1.0, DEPTH + abs(self.height), 1e3])


def swell(x, height: float):
    """How much higher the surface is at the start [m]."""
    return height * np.exp(-((x / WIDTH) ** 2))


def scene(cells: int = 256, height: float = 0.004, dimensions: int = 2) -> Scene:
    """A tank 8 m long with 0.5 m of water, and 0.25 m over a step in its second half; the swell is `height` [m] high.

    So low a wave is one of linear theory. One of 0.1 m can be seen, and grows steeper over the step.
    """
    common.check_dimensions("wave-over-step", dimensions)
    argument.positive("wave-over-step", "height", height)
    h = LENGTH / argument.positive("wave-over-step", "cells", cells)
    deep = common.in_cells(0.5, h, 2) if dimensions == 3 else h
    step = Box((STEP, -1.0, -1.0), (LENGTH + 1.0, DEPTH - SHALLOW, deep + 1.0))
    return Scene(
        size=(LENGTH, common.in_cells(DEPTH + max(1.5 * height, 0.1), h), deep),
        cells=cells,
        gravity=(0.0, -GRAVITY, 0.0),
        method=Method.foster_metaxas(surface="height-field"),
        items=[Solid(step), Liquid(Swell(height))],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """Volume to rounding, speeds by when the wave passes two places, and how high it is beyond the step."""
    watch, grid = common.Watch(simulation), simulation.scene.grid
    x = (np.arange(grid.shape[0]) + 0.5) * grid.h
    times, heights = [0.0], [_surface(simulation.state, x)]
    for frame in watch.run(FRAMES):
        times.append(frame.time)
        heights.append(_surface(frame.state, x))
    times, heights = np.array(times), np.array(heights) - DEPTH
    places = {place: round(place / grid.h - 0.5) for pair in PROBES.values() for place in pair}
    deep, later, shallow, last = (heights[:, at] for at in places.values())
    frame = times[1] - times[0]
    way = {name: x[places[b]] - x[places[a]] for name, (a, b) in PROBES.items()}
    at_step = carried(later, frame, STEP - x[places[PROBES["deep"][1]]], DEPTH)
    beyond = carried(at_step, frame, x[places[PROBES["shallow"][0]]] - STEP, SHALLOW)
    passes = 2 / (1 + math.sqrt(SHALLOW / DEPTH)) * _crest(beyond, frame)[1]
    return watch.figures() | {
        "|speed in deep water / theory − 1|": _speed_error(deep, later, frame, way["deep"], DEPTH),
        "|speed over the step / theory − 1|": _speed_error(shallow, last, frame, way["shallow"], SHALLOW),
        "|height over the step / theory − 1|": float(abs(_crest(shallow, frame)[1] / passes - 1)),
    }


def carried(series: np.ndarray, frame: float, way: float, depth: float) -> np.ndarray:
    """What passes so far on [m] in water of a depth [m], of heights [m] that pass at times `frame` [s] apart."""
    count = 4 * len(series)  # what goes out at the end must not come in at the start
    omega = 2 * math.pi * np.fft.rfftfreq(count, frame)
    k = omega / math.sqrt(GRAVITY * depth)  # of long waves; Newton's method from there on
    for _ in range(30):
        wave = np.tanh(k * depth)
        slope = GRAVITY * (wave + k * depth * (1 - wave**2))
        k = np.where(omega > 0, k - (GRAVITY * k * wave - omega**2) / np.where(slope > 0, slope, 1.0), 0.0)
    return np.fft.irfft(np.fft.rfft(series, count) * np.exp(-1j * k * way), count)[: len(series)]


def _speed_error(first, second, frame, way, depth) -> float:
    """By what part of its time the wave is late or early from one place to the next: where both series fit best."""
    fit = np.correlate(second, carried(first, frame, way, depth), "full")
    late = _crest(fit, frame)[0] - (len(first) - 1) * frame
    return float(abs(late) / (way / math.sqrt(GRAVITY * depth)))


def _surface(state, x) -> np.ndarray:
    """How high the surface is above the floor of the deep part [m], at cells along x, in the middle."""
    depth = state.tracked["depth"]
    return depth[:, depth.shape[1] // 2] + np.where(x > STEP, DEPTH - SHALLOW, 0.0)


def _crest(series, frame) -> tuple[float, float]:
    """When the highest of a series comes [s], and how high that is: those of a parabola through it."""
    n = int(np.argmax(series[1:-1])) + 1
    before, top, after = series[n - 1 : n + 2]
    shift = 0.5 * (before - after) / (before - 2 * top + after)
    return (n + shift) * frame, top - 0.25 * (before - after) * shift
