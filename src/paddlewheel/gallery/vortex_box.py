"""B07 figure 2: a vortex in a closed box, full of liquid, turned against the grid.

In the box's own coordinates (ξ, η), from 0 to 1 along its sides, it starts as

    ψ = sin(πξ) sin(πη) ,       u = (∂ψ/∂y, −∂ψ/∂x)

with 1 m/s at most, which is steady: what changes it is error. Most of that is
the advection's, whatever the angle. What an angle adds is seen against the box
aligned with the grid.
"""

from dataclasses import replace

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.grid.centroid import interpolate
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box

caption = "A vortex in a box turned against the grid: open areas let it turn as in the aligned box, voxels brake it."
figure = "B07 figure 2"
shown = (48,)
beside = {"aligned with the grid": {"degrees": 0.0}, "with voxels": {"weights": "voxel"}}

LIMITS = common.LIMITS | {
    "mean|u − u aligned| / max|u|": 0.01,
    "the same / that with voxels": 0.1,
}

FRAMES = 48  # what a check simulates: a turn and a half of the core
SIDE = 0.625  # of the box [m]: whole cells, if the domain has a multiple of 16
DEGREES = 17.0
POINTS = 32  # along each side, at which velocities are compared


def scene(
    cells: int = 64,
    degrees: float = DEGREES,
    weights: str = "area",
    advection: str = "semi-lagrangian",
    cfl: float = 5.0,
    particles_per_cell: int = 9,
) -> Scene:
    """A square box of 0.625 m, turned by an angle inside a domain of 1 m, in two dimensions and without gravity."""
    h, turn = 1 / argument.positive("vortex-box", "cells", cells), placed(degrees)
    room = Box((-SIDE / 2, -SIDE / 2, -1), (SIDE / 2, SIDE / 2, 1)).moved(turn.position, turn.orientation)

    def velocity(points):
        xi, eta, _ = np.pi * (turn.to_body(points).T / SIDE + 0.5)
        return np.stack([np.sin(xi) * np.cos(eta), -np.cos(xi) * np.sin(eta), 0 * xi], axis=1) @ turn.rotation.T

    return Scene(
        size=(1, 1, h),
        cells=cells,
        gravity=(0, 0, 0),
        method=Method(advection=advection, weights=weights, cfl=cfl, particles_per_cell=particles_per_cell),
        items=[Solid(~room), Liquid(room, velocity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; how far the velocity leaves that in the aligned box, by itself and by voxels."""
    given = simulation.scene
    watch = common.Watch(simulation)
    for _ in watch.run(FRAMES):
        pass
    method, cells = given.method, given.grid.shape[0]
    degrees = turned(given)
    aligned = Simulation(scene(cells, 0.0, "area", method.advection, method.cfl, method.particles_per_cell))
    voxels = Simulation(replace(given, method=replace(method, weights="voxel")))
    for other in (aligned, voxels):
        for _ in other.run(FRAMES):  # in the same steps
            pass
    exact = sampled(aligned, 0.0)
    error, coarse = (np.linalg.norm(sampled(s, degrees) - exact, axis=1).mean() for s in (simulation, voxels))
    return watch.figures() | {
        "mean|u − u aligned| / max|u|": float(error / np.abs(exact).max()),
        "the same / that with voxels": float(error / coarse) if error else 0.0,  # aligned, both are
    }


def placed(degrees: float) -> Pose:
    """Where the box is."""
    half = 0.5 * np.radians(argument.number("vortex-box", "degrees", degrees))
    return Pose((0.5, 0.5, 0.0), (np.cos(half), 0.0, 0.0, np.sin(half)))


def turned(scene: Scene) -> float:
    """The angle [°] of the box in a scene."""
    (room,) = (item.shape for item in scene.items if isinstance(item, Liquid))
    w, _, _, z = room.pose.orientation
    return 2 * float(np.degrees(np.arctan2(z, w)))


def sampled(simulation: Simulation, degrees: float, points: int = POINTS) -> np.ndarray:
    """Velocity [m/s] along the sides of the box at points² points that are fixed in it, (points², 2)."""
    grid, turn = simulation.scene.grid, placed(degrees)
    x = SIDE * ((np.arange(points) + 0.5) / points - 0.5)
    inside = np.stack(np.meshgrid(x, x, [0.5 * grid.h], indexing="ij"), axis=-1).reshape(-1, 3)
    return (interpolate(grid, simulation.state.velocity, turn.to_world(inside)) @ turn.rotation)[:, :2]
