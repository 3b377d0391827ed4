"""A ring vortex travels through still gas by itself, and meets a ball.

A ring of radius R with a core of radius a in which ω ∝ r, and the circulation
Γ, goes at

    U = Γ/4πR (ln(8R/a) − ¼ − ⅜ ε² (ln(8R/a) − 5/4)) ,      ε = a/R

if there is nothing else (Kelvin 1867; the last term, 4 % here, is Fraenkel's
of 1972). The four walls along its way mirror it, and the mirrored rings, far away, push it back as dipoles do:

    ΔU = −Γ R² S/(4 L³) ,      S = Σ (i² + j²)^(−3/2) = 9.03

L being the width of the room. Two walls may as well be planes of symmetry, and
the room then holds a quarter of the ring.
"""

import math

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Smoke, Solid
from paddlewheel.method import Method
from paddlewheel.physics.vorticity import vorticity
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, Sphere, Torus
from paddlewheel.types import Grid, State

caption = "A ring of smoke travels by its own vorticity, about as fast as Kelvin found, and breaks on a ball."
shown = (1, 24, 48)

LIMITS = common.SMOKE_LIMITS | {
    "change of all smoke": 1e-5,
    "|speed / theirs − 1|": 0.25,  # it is 18 % slower: its core is not thin, and has three cells
    "1 / widening of the ring at the ball": 0.9,
}

SIZE = (1.5, 1.0, 1.0)  # [m]
RADIUS, CORE = 0.18, 0.07  # of the ring [m]
START, BALL, BALL_RADIUS = 0.35, 1.1, 0.15  # along its way [m]
TIMES = 0.1, 0.4, 1.45  # from when on and until when its speed is measured, and the end, as parts of START to BALL / U
FILAMENTS = 8  # across the core, along each axis
LATTICE = 9.0336


def scene(
    cells: int = 72,
    whole: bool = False,
    speed: float = 0.5,
    advection: str = "flip",
    flip: float = 1.0,
    cfl: float = 2.0,
) -> Scene:
    """A closed room with a ring of smoke that is to travel at a speed [m/s] along x, and a ball in its way.

    It is a quarter of the room, around the edge y = z = 0, unless the whole is wanted.
    """
    h = SIZE[0] / argument.positive("ring-vortex", "cells", cells)
    part = 1.0 if argument.flag("ring-vortex", "whole", whole) else 0.5
    size = (SIZE[0], *(common.in_cells(part * side, h) for side in SIZE[1:]))
    center = np.array([START, *(size[1:] if whole else (0, 0))]) / [1, 2, 2]
    circulation = argument.positive("ring-vortex", "speed", speed) / kelvin(1.0)
    return Scene(
        size=size,
        cells=cells,
        gravity=(0, 0, 0),
        method=Method(advection=advection, flip=flip, cfl=cfl),
        items=[
            Smoke(Box((0, 0, 0), size), density=0.0, velocity=lambda points: induced(points - center, circulation)),
            Smoke(Torus(tuple(center), (1, 0, 0), RADIUS, 1.6 * CORE)),
            Solid(Sphere((BALL, *center[1:]), BALL_RADIUS)),
        ],
    )


def kelvin(circulation: float) -> float:
    """The speed [m/s] of the ring with a circulation [m²/s] in the room."""
    thin, second = math.log(8 * RADIUS / CORE), (CORE / RADIUS) ** 2
    own = (thin - 0.25 - 0.375 * second * (thin - 1.25)) / (4 * math.pi * RADIUS)
    return circulation * (own - RADIUS**2 * LATTICE / (4 * SIZE[1] ** 3))


def induced(points: np.ndarray, circulation: float) -> np.ndarray:
    """Velocity [m/s] at points (n, 3) around the middle of a ring about x: that of thin rings spread over its core."""
    axial, away = points[:, 0], np.linalg.norm(points[:, 1:], axis=1)
    offsets = CORE * (2 * (np.arange(FILAMENTS) + 0.5) / FILAMENTS - 1)
    core = [(x, r) for x in offsets for r in offsets if x * x + r * r < CORE * CORE]
    along, out = np.zeros(len(points)), np.zeros(len(points))
    for x, r in core:
        u, v = _thin_ring(axial - x, away, RADIUS + r)
        part = circulation / len(core) * (1 + r / RADIUS)
        along, out = along + part * u, out + part * v
    direction = points[:, 1:] / np.maximum(away, 1e-9)[:, None]
    return np.column_stack([along, out[:, None] * direction])


def _thin_ring(x, r, radius) -> tuple[np.ndarray, np.ndarray]:
    """Axial and radial velocity at (x, r) of a thin ring with circulation 1, smoothed over a part of the core.

    In complete elliptic integrals; Lamb, Hydrodynamics, §161.
    """
    from scipy.special import ellipe, ellipk

    soft = x * x + (CORE / FILAMENTS) ** 2
    far, near = (radius + r) ** 2 + soft, (radius - r) ** 2 + soft
    m = 4 * radius * r / far
    k, e = ellipk(m), ellipe(m)
    scale = 1 / (2 * np.pi * np.sqrt(far))
    axial = scale * (k + (radius**2 - r * r - soft) / near * e)
    radial = scale * x / np.maximum(r, 1e-9) * ((radius**2 + r * r + soft) / near * e - k)
    return axial, radial


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any smoke; the ring's speed on its way, and that it widens before the ball."""
    scene, watch = simulation.scene, common.Watch(simulation)
    speed, axis = expected(scene), scene.items[2].shape.center
    first, last, end = (round(part * (BALL - START) / speed * scene.fps) for part in TIMES)
    places = [where(scene.grid, frame.state, axis) for frame in watch.run(end)]
    travelled = (places[last][0] - places[first][0]) * scene.fps / (last - first)
    return watch.figures() | {
        "change of all smoke": max(abs(amount / watch.smoke[0] - 1) for amount in watch.smoke),
        "|speed / theirs − 1|": abs(travelled / speed - 1),
        "1 / widening of the ring at the ball": places[0][1] / places[-1][1],
    }


def expected(scene: Scene) -> float:
    """The speed [m/s] that the ring of a scene should have, by the velocity in its middle."""
    middle = np.array([[START, *scene.items[2].shape.center[1:]]])
    return float(kelvin(scene.items[0].velocity(middle)[0, 0] / induced(np.zeros((1, 3)), 1.0)[0, 0]))


def where(grid: Grid, state: State, axis=(0.0, 0.0, 0.0)) -> tuple[float, float]:
    """How far along x the ring is, and how far from an axis [m]: means weighted by |ω|²."""
    weight = (vorticity(state.velocity, grid.h).astype(float) ** 2).sum(axis=0)
    points = grid.cell_points() - [0.0, *axis[1:]]
    away = np.linalg.norm(points[..., 1:], axis=-1)
    return float(np.average(points[..., 0], weights=weight)), float(np.average(away, weights=weight))
