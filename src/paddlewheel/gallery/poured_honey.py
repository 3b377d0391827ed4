"""Honey poured over a mesh: it clings to it and runs down slowly, where water shoots off."""

import numpy as np

from paddlewheel.gallery import common, hollow
from paddlewheel.items import Inflow, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.shapes import Cylinder

caption = "Honey is poured over the head of a mesh with ears: it clings to it and runs down slowly."
shown = (12, 24, 48)

LIMITS = common.LIMITS | {
    "|volume error|, worst": 0.15,  # of a film of one or two cells
    "|volume error|, at the end": 0.1,
    # a film that sticks is braked by what it covers
    "fallen off, holding / slipping": 0.7,
}

FRAMES = 48  # what a check simulates
SPEED, RADIUS, TOP = 0.5, 0.09, 1.15  # of the stream [m/s], [m], and how high the box is [m]


def scene(cells: int = 32, viscosity: float = 20.0, walls: str = "no-slip") -> Scene:
    """A box 1 m wide, with so many cells across, the mesh of the gallery's `hollow` in it, and a stream from above."""
    h = 1 / argument.positive("poured-honey", "cells", cells)
    up = max(1, round(TOP / h))
    return Scene(
        size=(1, up * h, 1),
        cells=(cells, up, cells),
        walls=walls,
        method=Method(advection="apic", cfl=2.0, tolerance=1e-5),
        items=[
            Solid(Mesh(hollow.shape())),
            Inflow(
                Cylinder((0.5, up * h - 0.08, 0.6), (0.5, 2, 0.6), RADIUS),
                velocity=(0, -SPEED, 0),
                viscosity=viscosity,
            ),
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and how much has fallen below the mesh, where it holds honey and where not."""
    watch = common.Watch(simulation)
    list(watch.run(FRAMES))
    item, cells = simulation.scene.items[1], simulation.scene.grid.shape[0]
    slippery = Simulation(scene(cells, item.viscosity, "free-slip"))
    list(slippery.run(FRAMES))
    return watch.figures() | {"fallen off, holding / slipping": fallen(simulation) / fallen(slippery)}


def fallen(simulation: Simulation) -> float:
    """Part of the liquid that is below the middle of the mesh."""
    return float(np.mean(simulation.state.particles.position[:, 1] < hollow.CENTER[1]))
