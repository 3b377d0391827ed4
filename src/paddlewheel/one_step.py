"""One step of a scene without time: forces against pressure, with the liquid's shape as it is drawn."""

from typing import NamedTuple

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.grid.levelset import extend_into_solids
from paddlewheel.items import Liquid, RigidBody, labelled, velocity_at
from paddlewheel.measure import liquid_distance, measure
from paddlewheel.physics.pressure import Projection, project
from paddlewheel.physics.separation import touching
from paddlewheel.scene import Scene
from paddlewheel.types import Boundary, Faces

__all__ = ["FirstStep", "first_step"]


class FirstStep(NamedTuple):
    """What the first step made of a scene.

    boundary    the solids, measured
    phi         the liquid's level set at centres [m], extended into the solids
    dt          [s]
    projection  velocity, pressure and how the solve went
    """

    scene: Scene
    boundary: Boundary
    phi: np.ndarray
    dt: float
    projection: Projection

    @property
    def fastest(self) -> float:
        """Largest velocity component on any face of the liquid after the step [m/s]."""
        velocity, known, *_ = self.projection
        return max(float(np.abs(u[at]).max(initial=0.0)) for u, at in zip(velocity, known, strict=True))


def first_step(scene: Scene, dt: float | None = None) -> FirstStep:
    """Let gravity act for dt [s], one frame if not given, and project."""
    if scene.has_smoke:
        raise ValueError("the scene has Smoke: one step alone is done for liquid only, run a Simulation")
    if not any(isinstance(item, Liquid) for item in scene.items):
        raise ValueError("the scene has no Liquid: there is nothing to solve for")
    if Friction(scene).acts:
        raise ValueError("the scene has viscous liquid: one step alone is of pressure only, run a Simulation")
    if any(isinstance(item, RigidBody) for item in scene.items):
        raise ValueError("the scene has a RigidBody: one step alone is done for solids only, run a Simulation")
    grid, method = scene.grid, scene.method
    dt = 1 / scene.fps if dt is None else dt
    boundary = measure(grid, scene.items, 0.0, method.weights, scene.open_sides)
    phi = extend_into_solids(liquid_distance(grid, scene.items), boundary.phi, grid.h)
    velocity = _pulled(_initial_velocity(scene), scene.gravity, dt)
    projection = project(
        grid, velocity, phi, boundary, dt, density=scene.density, solver=method.solver, tolerance=method.tolerance,
        separating=touching(boundary) if method.wall_separation else None,
    )  # fmt: skip
    return FirstStep(scene, boundary, phi, dt, projection)


def _initial_velocity(scene) -> Faces:
    """On each face the velocity of the nearest liquid [m/s]."""
    grid, liquids = scene.grid, labelled(scene.items, Liquid)
    velocity = grid.zeros_faces()
    for a in range(3):
        points = grid.face_points(a).reshape(-1, 3)
        nearest = np.argmin([item.shape.distance(points) for _, item in liquids], axis=0) if len(liquids) > 1 else None
        for index, (name, item) in enumerate(liquids):
            mine = slice(None) if nearest is None else nearest == index
            velocity[a].reshape(-1)[mine] = velocity_at(name, item, points[mine])[:, a]
    return velocity


def _pulled(velocity, gravity, dt) -> Faces:
    return Faces(*(u + np.float32(g * dt) for u, g in zip(velocity, gravity, strict=True)))
