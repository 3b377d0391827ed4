"""B07 §2.1: still water in a tilted tank stays still.

p = ρ g (H − y) is in the discrete space, whatever the angle between walls and
grid, so the exact answer is u = 0: everything that is left is error.
"""

import numpy as np

from paddlewheel.items import Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.one_step import first_step
from paddlewheel.run import Simulation, SolveFailedError
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere

caption = "Still water in a tilted tank with a sphere in it: the walls cut the grid at any angle, and nothing moves."
figure = "B07 §2.1"
shown = (1,)

LIMITS = {
    "max|u| / gΔt": 1e-6,
    "max|p − ρg(H − y)| / ρgH": 1e-6,
}

LEVEL = 0.56  # height H of the surface [m]
MIDDLE = (0.5, 0.52, 0.5)


def scene(cells: int = 64, tilt: float = 17.0, radius: float = 0.14, weights: str = "area", solver: str = "multigrid"):
    """A tank tilted by `tilt` degrees, half full, with a sphere that breaks the surface."""
    half = 0.5 * np.radians(argument.number("still-water", "tilt", tilt))
    turn = (np.cos(half), 0.0, 0.0, np.sin(half))
    room = Box((0.14, 0.2, 0.14), (0.86, 0.84, 0.86)).moved(rotate=turn, about=MIDDLE)
    return Scene(
        size=(1, 1, 1),
        cells=cells,
        method=Method(weights=weights, solver=solver, tolerance=1e-10),
        items=[
            Solid(~room),
            Solid(Sphere((0.54, 0.45, 0.5), radius)),
            Liquid(HalfSpace((0, LEVEL, 0), (0, 1, 0))),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """Of the first step: the largest velocity left, against what gravity would have made; the error of the pressure."""
    scene, grid = simulation.scene, simulation.scene.grid
    step = first_step(scene)
    if not step.projection.info.converged:
        raise SolveFailedError(f"the pressure solve did not converge: {step.projection.info.residual:.2g}")
    g = np.linalg.norm(scene.gravity)
    exact = scene.density * g * (LEVEL - grid.cell_points()[..., 1])
    pressure = step.projection.pressure
    off = np.abs(pressure - exact)[pressure != 0].max(initial=0.0)
    return {
        "max|u| / gΔt": float(step.fastest / (g * step.dt)),
        "max|p − ρg(H − y)| / ρgH": float(off / (scene.density * g * LEVEL)),
    }
