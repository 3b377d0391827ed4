"""The liquids of a scene at its start: particles where they are."""

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.physics.seeding import seed, seed_in_chunks
from paddlewheel.scene import Inflow, Liquid, Scene, labelled, velocity_at
from paddlewheel.types import Particles


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
