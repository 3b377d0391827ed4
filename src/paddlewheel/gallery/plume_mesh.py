"""A plume of hot smoke rises through a tilted ring of triangles, and around it."""

import math
from dataclasses import replace

import numpy as np

from paddlewheel.gallery import common
from paddlewheel.items import Smoke, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.shapes import Cylinder, Moved, Shape

caption = "Hot smoke rises through a ring of triangles and around it, as it does about the same ring by formula."
shown = (24, 48, 72)

LIMITS = common.SMOKE_LIMITS | {
    "seconds until smoke is at the top": 4.0,
    "smoke above the ring that is not above its hole": 0.5,
    "smoke unlike that about a ring by formula, after 1 s": 0.02,
}

FRAMES = 72  # what a check simulates
ALIKE = 24  # frames: later what is a little different at the start grows
WIDTH, HEIGHT = 1.0, 1.5  # [m]
MIDDLE, HOLE, REACH, THICKNESS = (0.5, 0.6), 0.12, 0.24, 0.08  # of the ring [m]: its center, two radii, and its height
SECTIONS = 96  # flat parts of the mesh around it


def scene(
    cells: int = 48,
    degrees: float = 20.0,
    temperature: float = 150.0,
    vorticity: float = 0.0,
    advection: str = "flip",
    cfl: float = 3.0,
) -> Scene:
    """A room 1 m wide, 1 m deep and 1.5 m high without a ceiling, with a source on its floor and a ring tilted by
    `degrees`; cells are those of the height."""
    argument.number("plume-mesh", "temperature", temperature)
    half = 0.5 * math.radians(argument.number("plume-mesh", "degrees", degrees))
    h = HEIGHT / argument.positive("plume-mesh", "cells", cells)
    wide = common.in_cells(WIDTH, h)
    source = Cylinder((MIDDLE[0], 0, wide / 2), (MIDDLE[0], 0.08, wide / 2), 0.2)
    ring = triangles().moved((*MIDDLE, wide / 2), (math.cos(half), 0, 0, math.sin(half)))
    return Scene(
        size=(wide, HEIGHT, wide),
        cells=cells,
        method=Method(advection=advection, cfl=cfl),
        items=[Smoke(source, temperature=temperature, rate=math.inf), Solid(ring)],
        open_sides={"+y"},
        vorticity=vorticity,
    )


def triangles() -> Mesh:
    """The ring as it lies, around the origin."""
    import trimesh  # takes half a second, which other scenes need not wait for

    made = trimesh.creation.annulus(r_min=HOLE, r_max=REACH, height=THICKNESS, sections=SECTIONS)
    made.apply_transform(trimesh.transformations.rotation_matrix(math.pi / 2, (1, 0, 0)))
    return Mesh((np.array(made.vertices), np.array(made.faces)))


def formula() -> Shape:
    """The same without triangles."""
    low, high = (0, -THICKNESS / 2, 0), (0, THICKNESS / 2, 0)
    return Cylinder(low, high, REACH) - Cylinder((0, -1, 0), (0, 1, 0), HOLE)


def check(simulation: Simulation) -> dict[str, float]:
    """What must hold of any smoke; most of it rises through the hole, as it does through a ring without triangles."""
    scene, watch = simulation.scene, common.Watch(simulation)
    smoke, ring = scene.items
    twin = Simulation(replace(scene, items=[smoke, Solid(Moved(formula(), ring.shape.pose))]))
    for _ in twin.run(ALIKE):
        pass
    above = ring.shape.pose.to_body(scene.grid.cell_points().reshape(-1, 3)).reshape(*scene.grid.shape, 3)
    away = np.hypot(above[..., 0], above[..., 2])
    near = (above[..., 1] > THICKNESS) & (above[..., 1] < 2 * THICKNESS) & (away < 1.5 * REACH)
    arrival, unlike, passed = math.inf, math.inf, np.zeros(2)
    for frame in watch.run(FRAMES):
        density = frame.state.density
        if density[:, -1].max() > 0.1:
            arrival = min(arrival, frame.time)
        passed += [float(density[near & part].sum(dtype=float)) for part in (away > HOLE, away <= HOLE)]
        if frame.number == ALIKE:
            other = twin.state.density
            unlike = float(np.abs(density - other).sum(dtype=float) / other.sum(dtype=float))
    return watch.figures() | {
        "seconds until smoke is at the top": arrival,
        "smoke above the ring that is not above its hole": float(passed[0] / passed.sum()),
        "smoke unlike that about a ring by formula, after 1 s": unlike,
    }
