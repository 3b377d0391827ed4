"""The liquids of a scene: particles where they are at its start, and the surface around particles."""

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.grid.hat import hat_reach
from paddlewheel.grid.levelset import extend_into_solids
from paddlewheel.items import Inflow, Liquid, labelled, velocity_at
from paddlewheel.physics.pockets import fill_pockets
from paddlewheel.physics.seeding import enclose_crowds, enclose_strays, seed, seed_in_chunks
from paddlewheel.physics.surface import FAR, surface_distance
from paddlewheel.physics.transfer import density
from paddlewheel.scene import Scene
from paddlewheel.types import Boundary, Grid, Particles

FULL = 0.99  # part of all room beyond which liquid has no surface: what looks like one is a lack of particles


def check_room(scene: Scene, per_cell: int, outside) -> None:
    """Refuse liquids and inflows without room for a particle. An inflow may be in a solid that goes away.

    outside(points) tells which points no solid covers.
    """
    for name, item in labelled(scene.items, Liquid | Inflow):
        seeds = seed_in_chunks(scene.grid, item.shape.distance, per_cell=per_cell, bounds=item.shape.bounds())
        if isinstance(item, Liquid):
            if not any(outside(position).any() for position in seeds):
                raise ValueError(f"{name}: there is no room for any liquid: it is too thin, or in a solid")
        elif not any(map(len, seeds)):
            raise ValueError(f"{name}: there is no room for any liquid: it is too thin")


def filled(scene: Scene, per_cell: int, outside) -> Particles:
    """Particles in the liquids where no inflow is, nor a solid, `outside`, each with its liquid's velocity."""
    affine, friction = scene.method.advection == "apic", Friction(scene)
    particles = None
    before = [item.shape for item in scene.items if isinstance(item, Inflow)]
    for name, item in labelled(scene.items, Liquid):
        position = seed(scene.grid, item.shape.distance, per_cell=per_cell, bounds=item.shape.bounds())
        position = position[outside(position)]
        for other in before:
            position = position[other.distance(position) >= 0]
        velocity, carried = velocity_at(name, item, position), friction.carried(name, item, position)
        mine = Particles.at(position, velocity, affine, carried)
        particles = mine if particles is None else particles.joined(mine)
        before.append(item.shape)
    if particles is None:
        none = np.empty((0, 3))
        return Particles.at(none, none, affine)
    return particles


def particle_surface(
    grid: Grid,
    particles: Particles,
    first: np.ndarray,
    boundary: Boundary,
    seen: np.ndarray,
    room: float,
    *,
    per_cell: int,
    drains: np.ndarray | None = None,
    gaps: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """φ [m] of particles in the order of their cells, extended into the solids, and their density at centres.

    seen is the open volume about each centre [cells] and room that of the whole domain; drains are cells of outflows,
    bool; gaps tells whether there may be small ones at walls.
    """
    counted = density(grid, particles.position, first, reach=hat_reach(per_cell))
    if len(particles.position) > FULL * per_cell * room and counted.sum(dtype=np.float64) > FULL * per_cell * room:
        return np.full(grid.shape, -FAR * grid.h, np.float32), counted
    phi = surface_distance(grid, particles.position, first, boundary.phi, per_cell=per_cell)
    enclose_crowds(phi, counted, seen, grid.h, per_cell=per_cell)
    phi = extend_into_solids(phi, boundary.phi, grid.h)
    if not gaps:
        fill_pockets(phi, boundary.open, grid.h, drains)
    enclose_strays(phi, first, boundary.open, grid.h)
    return phi, counted
