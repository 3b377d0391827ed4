"""B07 figure 1, right: bodies in a small tank, for a hand to stir the water with. `paddlewheel view stir-by-hand`."""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, RigidBody
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.shapes import Box

caption = "A light ring and a heavy stone, both made of triangles, in a tank: take them in the viewer and throw them."
figure = "B07 figure 1, right"
shown = (8, 16, 60)

LIMITS = common.LIMITS | {"bodies that went the wrong way": 0.0}

FRAMES = 60  # what a check simulates
LEVEL = 0.5  # of the water [m]
RING, STONE = np.array([0.32, 0.3, 0.55]), np.array([0.68, 0.4, 0.42])  # where they are at the start [m]
DENSITIES = 300.0, 3000.0  # kg/m³


def meshes() -> tuple[Mesh, Mesh]:
    """A ring of 1024 triangles, and a stone of 320."""
    from trimesh import creation  # 0.5 s, which other scenes need not wait for

    ring = creation.torus(major_radius=0.15, minor_radius=0.065, major_sections=32, minor_sections=16)
    stone = creation.icosphere(subdivisions=2, radius=1.0)
    lying = ring.vertices[:, [0, 2, 1]] * [1, 1, -1]  # its axis is up
    return Mesh((lying + RING, ring.faces)), Mesh((stone.vertices * [0.15, 0.11, 0.13] + STONE, stone.faces))


def scene(cells: int = 20, advection: str = "flip", weights: str = "area", cfl: float = 5.0) -> Scene:
    """A tank 1 m wide, half full, with two bodies of a third and of three times the density of water under it."""
    argument.positive("stir-by-hand", "cells", cells)
    bodies = [RigidBody(mesh, density) for mesh, density in zip(meshes(), DENSITIES, strict=True)]
    return Scene(
        size=(1, 1, 1),
        cells=cells,
        fps=30,
        method=Method(advection=advection, weights=weights, cfl=cfl),
        items=[Liquid(Box((0, 0, 0), (1, LEVEL, 1))), *bodies],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; the ring comes up, and the stone goes down."""
    watch, h = common.Watch(simulation), simulation.scene.grid.h
    before = np.array([body.position[1] for body in simulation.state.bodies])
    for _ in watch.run(FRAMES):
        pass
    rise = np.array([body.position[1] for body in simulation.state.bodies]) - before
    return watch.figures() | {"bodies that went the wrong way": float(np.count_nonzero(rise * [1, -1] < h))}
