"""B07 figure 1, middle: rigid bodies of many densities tumble in a container full of liquid."""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, RigidBody
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, Shape, Sphere, Torus

caption = (
    "Twelve bodies of a tenth to five times the density of the liquid around them: light ones rise, heavy ones sink."
)
figure = "B07 figure 1, middle"
shown = (1, 10, 24)

LIMITS = common.LIMITS | {"bodies that went the wrong way": 0.0}

FRAMES = 24  # what a check simulates
SIZE = (1.0, 1.5, 1.0)  # [m]


def asteroid(center, radius: float) -> Mesh:
    """A ball of triangles with bumps."""
    import trimesh  # takes half a second, which other scenes need not wait for

    ball = trimesh.creation.icosphere(subdivisions=3)
    way = np.array(ball.vertices)
    r = 1 + 0.12 * np.sin(5 * way[:, 0] + 1) * np.cos(4 * way[:, 1]) + 0.1 * np.sin(6 * way[:, 2])
    return Mesh((np.add(center, radius * r[:, None] * way), np.array(ball.faces)))


def bodies() -> list[tuple[Shape, float]]:
    """Shapes [m] and their densities, in that of the liquid: light ones below, heavy ones above."""
    tilt = (np.cos(0.4), 0.0, 0.0, np.sin(0.4))
    lean = (np.cos(0.3), np.sin(0.3), 0.0, 0.0)
    dumbbell = Capsule((0.2, 0.3, 0.75), (0.38, 0.3, 0.75), 0.05) | Sphere((0.2, 0.3, 0.75), 0.09)
    bowl = Sphere((0.75, 1.2, 0.28), 0.14) - Sphere((0.75, 1.27, 0.28), 0.13)
    notched = Box((0.12, 1.12, 0.62), (0.36, 1.3, 0.84)) - Box((0.2, 1.1, 0.6), (0.28, 1.22, 0.9))
    return [
        (asteroid((0.25, 0.2, 0.25), 0.13), 0.1),
        (Box((0.62, 0.1, 0.15), (0.86, 0.26, 0.35)).moved(rotate=tilt, about=(0.74, 0.18, 0.25)), 0.2),
        (dumbbell, 0.3),
        (Torus((0.72, 0.25, 0.72), (0.2, 1, 0.1), 0.13, 0.05), 0.4),
        (Cylinder((0.4, 0.55, 0.5), (0.62, 0.6, 0.5), 0.08), 0.5),
        (Sphere((0.2, 0.6, 0.8), 0.1), 0.8),
        (Sphere((0.8, 0.9, 0.75), 0.11), 1.3),
        (Capsule((0.2, 0.92, 0.2), (0.36, 0.98, 0.3), 0.08), 1.6),
        (Box((0.4, 0.95, 0.6), (0.6, 1.15, 0.8)).moved(rotate=lean, about=(0.5, 1.05, 0.7)), 2.0),
        (notched, 2.5),
        (bowl, 3.0),
        (Cylinder((0.3, 1.22, 0.25), (0.3, 1.4, 0.25), 0.1), 5.0),
    ]


def scene(cells: int = 45, advection: str = "flip", weights: str = "area", cfl: float = 5.0) -> Scene:
    """A closed box full of liquid, two thirds as wide as it is high, with so many cells along its height: 90 in B07."""
    h = SIZE[1] / argument.positive("many-densities", "cells", cells)
    counts = tuple(max(1, round(side / h)) for side in SIZE)
    return Scene(
        size=[n * h for n in counts],
        cells=counts,
        # four to a cell, as of gas: there is no surface that more of them would make smooth
        method=Method(advection=advection, weights=weights, cfl=cfl, particles_per_cell=4),
        items=[Liquid(Box((0, 0, 0), (2, 2, 2))), *(RigidBody(shape, 1000 * ratio) for shape, ratio in bodies())],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; how many bodies have not gone a cell up, or down, as their density says."""
    watch, scene = common.Watch(simulation), simulation.scene
    before = np.array([body.position[1] for body in simulation.state.bodies])
    for _ in watch.run(FRAMES):
        pass
    rise = np.array([body.position[1] for body in simulation.state.bodies]) - before
    lightness = np.array([np.sign(scene.density - item.density) for item in scene.items if isinstance(item, RigidBody)])
    return watch.figures() | {
        "bodies that went the wrong way": float(np.count_nonzero(rise * lightness < scene.grid.h))
    }
