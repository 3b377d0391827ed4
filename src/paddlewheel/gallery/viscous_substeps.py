"""B08 §7: a blob of moderate viscosity falls; how many sub-steps a step takes that is explicit, in part, or implicit.

Explicit friction must not turn the roughest wave over: 8 νΔt/h² sub-steps, in
2-D, and half of that if only what couples the components is explicit (IMEX).
The paper has about 28, 14 and 1, so νΔt/h² = 3.5.
"""

from dataclasses import replace

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Liquid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Cylinder

caption = "A falling blob: friction in 28 explicit sub-steps, in 14 that are partly implicit, or in one."
figure = "B08 §7"
shown = (5, 10)

LIMITS = common.LIMITS | {
    "sub-steps, explicit": 28,
    "sub-steps, imex": 14,
    "sub-steps, variational": 1,
    "|sub-steps, explicit / imex − 2|": 0.1,
    # they differ by what one long implicit step damps less than many short ones
    "velocity, explicit against variational": 0.1,
    "velocity, imex against variational": 0.1,
}

FRAMES = 10  # what a check simulates: until the blob has spread on the floor
IMPACT = 5  # frames after which steps are compared: it is being pressed flat
STEP = 1 / 48  # [s] of the step that is compared


def scene(
    cells: int = 48,
    viscosity: float = 72.0,
    advection: str = "apic",
    scheme: str = "variational",
    surface: str = "nichols-hirt",
) -> Scene:
    """A 2-D box of 1 m with a blob at rest above its floor, which holds it."""
    h = 1 / argument.positive("viscous-substeps", "cells", cells)
    return Scene(
        size=(1, 1, h),
        cells=(cells, cells, 1),
        walls="no-slip",
        method=Method(advection=advection, viscosity=scheme, viscous_surface=surface),
        items=[Liquid(Cylinder((0.5, 0.3, -1), (0.5, 0.3, 1), 0.2), viscosity=viscosity)],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene; and of one step by each scheme its sub-steps, and how the velocities differ."""
    watch = common.Watch(simulation)
    list(watch.run(IMPACT))
    state = simulation.state.copy()
    list(watch.run(FRAMES - IMPACT))
    figures, velocity = watch.figures(), {}
    for scheme in ("explicit", "imex", "variational"):
        other = Simulation(replace(simulation.scene, method=replace(simulation.scene.method, viscosity=scheme)))
        other.state = state.copy()
        report = other.step(STEP)
        velocity[scheme] = other.state.particles.velocity.astype(float)
        figures[f"sub-steps, {scheme}"] = float(max(solve.substeps for solve in report.solves))
    ratio = figures["sub-steps, explicit"] / figures["sub-steps, imex"]
    figures["|sub-steps, explicit / imex − 2|"] = abs(ratio - 2)
    for scheme in ("explicit", "imex"):
        wrong = velocity[scheme] - velocity["variational"]
        figures[f"velocity, {scheme} against variational"] = float(
            np.linalg.norm(wrong) / np.linalg.norm(velocity["variational"])
        )
    return figures
