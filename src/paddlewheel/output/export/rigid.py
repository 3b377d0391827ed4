"""The bodies and other solids of a scene as meshes, where they are at a time: for files, pictures and the viewer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paddlewheel.items import RigidBody, Solid
from paddlewheel.output.export.shape_mesh import shape_mesh
from paddlewheel.output.export.things import Rigid
from paddlewheel.scene import Scene
from paddlewheel.solids.mass import mass_of
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Shape
from paddlewheel.types import Body, Grid


class Shaped(NamedTuple):
    """An item as a mesh: vertices [m] about its centre of mass, or as drawn; and which of the bodies it is, or None."""

    name: str
    vertices: np.ndarray
    faces: np.ndarray
    item: RigidBody | Solid
    body: int | None

    @property
    def moves(self) -> bool:
        return self.body is not None or self.item.motion is not None

    def at(self, time: float, bodies: Sequence[Body]) -> Rigid:
        if self.body is None:
            pose = self.item.pose(time, self.name)
        else:
            body = bodies[self.body]
            pose = Pose(body.position, body.orientation, body.velocity, body.angular_velocity)
        return Rigid(self.name, self.vertices, self.faces, pose, self.moves)


def _ended(item: Solid, grid: Grid) -> Shape:
    """The shape of a solid; if it moves and has no end, what of it is in the domain at time 0, in its own place."""
    if item.motion is None or np.isfinite(item.shape.bounds()).all():
        return item.shape
    pose = item.pose(0.0, "solid")
    (x, y, z), beyond = grid.size, grid.h if grid.is_2d else 0.0  # a plane is cut at half its thickness
    w, *axis = pose.orientation
    back = pose.to_body(np.zeros((1, 3)))[0]
    domain = Box((0, 0, -beyond), (x, y, z + beyond))
    return item.shape & domain.moved(translate=back, rotate=(w, *np.negative(axis)))


class Rigids:
    """Rigid bodies, called body_0 … in their order, and other solids, solid_N after their place among the items.

    still  whether those solids are wanted too that never move
    """

    def __init__(self, scene: Scene, still: bool = True):
        slab, bodies = scene.grid.h if scene.grid.is_2d else None, 0
        self.shaped: list[Shaped] = []
        for index, item in enumerate(scene.items):
            if isinstance(item, RigidBody):
                vertices, faces = shape_mesh(item.shape, scene.grid)
                vertices = vertices - mass_of(item.shape, slab).center
                self.shaped.append(Shaped(f"body_{bodies}", vertices, faces, item, bodies))
                bodies += 1
            elif isinstance(item, Solid) and (still or item.motion is not None):
                vertices, faces = shape_mesh(_ended(item, scene.grid), scene.grid)
                if len(faces):
                    self.shaped.append(Shaped(f"solid_{index}", vertices, faces, item, None))

    def at(self, time: float, bodies: Sequence[Body]) -> tuple[Rigid, ...]:
        """All of them at a time [s], with the bodies of a state then."""
        return tuple(shaped.at(time, bodies) for shaped in self.shaped)
