"""B08 figure 3: a falling sheet of viscous liquid folds, the more viscous the wider.

A sheet buckles if it is slender and slow: fall height over thickness above
about 10, Reynolds number U D/ν below about 0.5 (Cruickshank & Munson 1981).
Gravity makes a thin one thinner and faster. The paper's viscosities, 0.2, 1
and 5 m²/s in a box of about a metre, are on both sides of that.
"""

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Inflow
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.shapes import Box

caption = (
    "A sheet of honey falls on a floor and folds up; one of less viscous liquid does not, stiffer ones fold wider."
)
figure = "B08 figure 3"
shown = (36, 96)
beside = {"200 Pa s": {"viscosity": 200.0}, "5000 Pa s": {"viscosity": 5000.0}}

LIMITS = common.LIMITS | {
    "sway at 200 Pa s / thickness": 0.2,
    "thickness / sway at 1000 Pa s": 2.0,
    "sway at 1000 Pa s / at 5000 Pa s": 0.7,
    "fold at 1000 Pa s / at 5000 Pa s": 0.6,
    "thickness / fold at 1000 Pa s": 0.4,
    "viscosity iterations, most": 40,
}

FRAMES, MEASURED = 96, 54  # what a check simulates, and how many of the last of it are measured
VISCOSITIES = (200.0, 1000.0, 5000.0)  # [Pa s]
SIZE = (1.0, 1.5)  # [m]
THICKNESS, SPEED, NOZZLE = 0.1, 1.0, 1.35  # of the sheet [m], [m/s], and where it comes from [m]
SEEN = 0.5  # height at which its sway is measured [m]


def scene(
    cells: int = 120, viscosity: float = VISCOSITIES[1], advection: str = "apic", surface: str = "natural"
) -> Scene:
    """A 2-D box 1.5 m high and 1 m wide, into which a sheet 0.1 m thick comes from above."""
    h = SIZE[1] / argument.positive("buckling", "cells", cells)
    across = max(1, round(SIZE[0] / h))
    middle = h * (0.5 * across + 0.3)  # beside the middle of the grid, so that there are two sides
    return Scene(
        size=(across * h, SIZE[1], h),
        cells=(across, cells, 1),
        walls="no-slip",
        method=Method(advection=advection, viscous_surface=surface, cfl=2.0, tolerance=1e-5),
        items=[
            Inflow(
                Box((middle - THICKNESS / 2, NOZZLE, -1), (middle + THICKNESS / 2, 2, 1)),
                velocity=(0, -SPEED, 0),
                viscosity=viscosity,
            )
        ],
    )


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any scene, of this one; how far sheets of three viscosities sway, and how long their folds are.

    A fold is what comes down while the sheet sways to and fro once.
    """
    watch, found, folds, most = common.Watch(simulation), {}, {}, 0
    cells = simulation.scene.grid.shape[1]
    own = simulation.scene.items[0].viscosity
    for viscosity in VISCOSITIES:
        mine = viscosity == own
        frames = watch.run(FRAMES) if mine else Simulation(scene(cells, viscosity)).run(FRAMES)
        places = []
        for frame in frames:
            places.append(place(frame.state))
            most = max(most, *(solve.iterations for solve in frame.report.solves if solve.name == "viscosity"))
        found[viscosity] = float(np.ptp(places[-MEASURED:]))
        folds[viscosity] = SPEED * period(places[-MEASURED:]) / simulation.scene.fps
    if own not in VISCOSITIES:
        list(watch.run(FRAMES))
    low, middle, high = (found[v] for v in VISCOSITIES)
    return watch.figures() | {
        "sway at 200 Pa s / thickness": low / THICKNESS,
        "thickness / sway at 1000 Pa s": THICKNESS / middle,
        "sway at 1000 Pa s / at 5000 Pa s": middle / high,
        "fold at 1000 Pa s / at 5000 Pa s": folds[VISCOSITIES[1]] / folds[VISCOSITIES[2]],
        "thickness / fold at 1000 Pa s": THICKNESS / folds[VISCOSITIES[1]],
        "viscosity iterations, most": float(most),
    }


def place(state) -> float:
    """Mean x [m] of the liquid at the height where the sheet is looked at; not a number if there is none."""
    position = state.particles.position
    there = np.abs(position[:, 1] - SEEN) < 0.02
    return float(position[there, 0].mean()) if there.any() else np.nan


def period(places) -> float:
    """Frames in which a place goes to and fro once, from where it passes its mean; not a number if it hardly does."""
    x = np.array(places) - np.mean(places)
    (before,) = np.nonzero(np.diff(np.sign(x)))
    passes = before + x[before] / (x[before] - x[before + 1])
    return float(2 * (passes[-1] - passes[0]) / (len(passes) - 1)) if len(passes) > 1 else np.nan
