"""FM96: rafts that water carries one-way drift with it, and float at Archimedes' draught.

A tank of water H deep and L long swings, higher on the left at the start by a. Linear theory has, with k = π/L,

    η = a cos kx cos ωt ,    ω² = g k tanh kH ,    ξ = a (cosh ky / sinh kH) sin kx (1 − cos ωt)

ξ being how far the water at x has gone to the right. Rafts go with it: −∇p pushes them as it does the water they are
in, and damping takes the rest. They do nothing to the water.
"""

import math
from dataclasses import dataclass

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, RigidBody
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Shape

caption = "Rafts that push nothing drift to and fro with the water that carries them, as deep in it as Archimedes says."
figure = "FM96, results"
shown = (1, 44, 88)

FRAMES = 88  # what a check simulates: a period
LENGTH, DEPTH, HIGHER, GRAVITY = 4.0, 0.5, 0.02, 9.81  # L, H, a [m], g [m/s²]
RAFTS = {0.25: 1.25, 0.5: 2.0, 0.75: 2.75}  # their density, in that of the liquid, and where along the tank [m]
SIZE = (0.3, 0.2)  # of a raft [m]
K = math.pi / LENGTH
LIMITS = common.CLASSIC_LIMITS | {
    "|volume error|, worst": 1e-12,
    "|draught − Archimedes'| / h, mean, worst": 0.25,
    "|drift / that of the water − 1|, worst": 0.05,
    "|drift after a period| / the farthest, worst": 0.05,
}


@dataclass(frozen=True)
class Swing(Shape):
    """Liquid below η at the start; distances are those upwards."""

    height: float

    def _distance(self, points):
        return points[:, 1] - level(points[:, 0], self.height)

    def bounds(self):
        return np.array([-1.0, -1.0, -1e3]), np.array([LENGTH + 1.0, DEPTH + abs(self.height), 1e3])


def level(x, height: float):
    """Of the surface at the start [m]."""
    return DEPTH + height * np.cos(K * x)


def scene(cells: int = 192, height: float = HIGHER, damping: float = 6.0) -> Scene:
    """A 2-D tank 4 m long with 0.5 m of water, `height` [m] more at one end, and three rafts; damping is in 1/s."""
    h = LENGTH / argument.positive("drifting", "cells", cells)
    rafts = []
    for ratio, x in RAFTS.items():
        low = level(x, height) - ratio * SIZE[1]
        shape = Box((x - SIZE[0] / 2, low, -1), (x + SIZE[0] / 2, low + SIZE[1], 1))
        rafts.append(RigidBody(shape, 1000 * ratio, one_way=True, damping=damping))
    return Scene(
        size=(LENGTH, common.in_cells(1.0, h), h),
        cells=cells,
        gravity=(0, -GRAVITY, 0),
        method=Method.foster_metaxas(surface="height-field"),
        items=[Liquid(Swing(height)), *rafts],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """How deep rafts are in the water beside them, and how far they go, half a period on and after a whole one."""
    watch, grid = common.Watch(simulation), simulation.scene.grid
    x = (np.arange(grid.shape[0]) + 0.5) * grid.h
    start = np.array([body.position[:2] for body in simulation.state.bodies])
    draughts, ways = [], []
    for frame in watch.run(FRAMES):
        places = np.array([body.position[:2] for body in frame.state.bodies])
        surface = np.interp(places[:, 0], x, frame.state.tracked["depth"][:, 0])
        draughts.append(surface - (places[:, 1] - SIZE[1] / 2))
        ways.append(places[:, 0] - start[:, 0])
    ratios = np.array(list(RAFTS))
    ways = np.array(ways)
    farthest = np.array([drift(x, ratio) for ratio, x in RAFTS.items()])
    return watch.figures() | {
        "|draught − Archimedes'| / h, mean, worst": _worst(np.mean(draughts, axis=0) - ratios * SIZE[1]) / grid.h,
        "|drift / that of the water − 1|, worst": _worst(ways.max(axis=0) / farthest - 1),
        "|drift after a period| / the farthest, worst": _worst(ways[-1] / farthest),
    }


def drift(x: float, ratio: float, height: float = HIGHER) -> float:
    """How far the water that a raft is in goes in half a period [m]: the mean of ξ over its draught."""
    y = np.linspace(DEPTH - ratio * SIZE[1], DEPTH, 21)
    return float(2 * height * math.sin(K * x) * np.mean(np.cosh(K * y)) / math.sinh(K * DEPTH))


def _worst(error) -> float:
    return float(np.abs(error).max())
