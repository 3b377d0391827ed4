"""A scene with one thing other than it was: what the sliders of the viewer ask for. `Simulation.change` takes it."""

import math
from dataclasses import replace

from paddlewheel.items import Hand, Inflow, Liquid, RigidBody
from paddlewheel.scene import Scene


def with_gravity(scene: Scene, strength: float, first: Scene) -> Scene:
    """Gravity of a strength [m/s²], the way it pulled at first, or down if it did not."""
    pull = math.hypot(*first.gravity)
    way = [g / pull for g in first.gravity] if pull else (0.0, -1.0, 0.0)
    return replace(scene, gravity=tuple(strength * w for w in way))


def with_viscosity(scene: Scene, viscosity: float) -> Scene:
    """All liquid of one viscosity [Pa s]."""
    return replace(
        scene,
        items=[replace(i, viscosity=viscosity) if isinstance(i, Liquid | Inflow) else i for i in scene.items],
    )


def with_density(scene: Scene, body: int, density: float) -> Scene:
    """One of the bodies, by its number, of a density [kg/m³]; hands that hold it hold the new one."""
    old = [item for item in scene.items if isinstance(item, RigidBody)][body]
    new = replace(old, density=density)

    def changed(item):
        if isinstance(item, Hand) and item.body is old:
            return replace(item, body=new)
        return new if item is old else item

    return replace(scene, items=[changed(item) for item in scene.items])


def with_method(scene: Scene, **choices) -> Scene:
    """Other choices of the method."""
    return replace(scene, method=replace(scene.method, **choices))
