"""Batty's Fluid3D: liquid sloshes in a hollow sphere.

The scene of the code that Batty published with B07, by the means of its time:
semi-Lagrangian advection, and markers for the surface.
"""

from paddlewheel.gallery import common
from paddlewheel.run import Simulation
from paddlewheel.scene import Liquid, Method, Scene, Solid
from paddlewheel.solids.shapes import HalfSpace, Sphere

caption = "Half a sphere of liquid falls over in a hollow sphere, slides up the other side and sloshes."

LIMITS = common.LIMITS

FRAMES = 60  # what a check simulates
CENTER, RADIUS = (0.5, 0.5, 0.5), 0.4  # [m]


def scene(cells: int = 32, advection: str = "semi-lagrangian", weights: str = "area", cfl: float = 5.0) -> Scene:
    """A unit cube, solid but for a sphere, whose half x > 0.5 is liquid."""
    room = Sphere(CENTER, RADIUS)
    return Scene(
        size=(1, 1, 1),
        cells=cells,
        method=Method(advection=advection, weights=weights, cfl=cfl),
        items=[Solid(~room), Liquid(room & HalfSpace(CENTER, (-1, 0, 0)))],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene."""
    watch = common.Watch(simulation)
    for _ in watch.run(FRAMES):
        pass
    return watch.figures()
