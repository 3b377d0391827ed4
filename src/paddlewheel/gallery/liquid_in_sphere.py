"""Batty's Fluid3D: a ball of liquid falls in a hollow sphere.

The scene of the code that Batty published with B07, by the means of its time:
semi-Lagrangian advection, and markers for the surface. His takes steps of one
cell, as `cfl=1` does, and has one marker per cell, where here there are four.
"""

from paddlewheel.gallery import common
from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Sphere

caption = "A ball of liquid falls off-centre in a hollow sphere, splashes up its sides and sloshes."
shown = (6, 12, 24)

LIMITS = common.LIMITS

FRAMES = 60  # what a check simulates
ROOM, BALL = Sphere((0.5, 0.5, 0.5), 0.35), Sphere((0.55, 0.55, 0.4), 0.23)  # [m]


def scene(
    cells: int = 40,
    advection: str = "semi-lagrangian",
    weights: str = "area",
    cfl: float = 5.0,
    particles_per_cell: int = 4,
) -> Scene:
    """A unit cube, solid but for a sphere, and a ball of liquid in it, less what is in the solid."""
    method = Method(advection=advection, weights=weights, cfl=cfl, particles_per_cell=particles_per_cell)
    return Scene(size=(1, 1, 1), cells=cells, method=method, items=[Solid(~ROOM), Liquid(BALL & ROOM)])


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene."""
    watch = common.Watch(simulation)
    for _ in watch.run(FRAMES):
        pass
    return watch.figures()
