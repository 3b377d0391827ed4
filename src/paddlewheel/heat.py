"""The heat of a scene's liquid: what it does to the particles that carry it."""

import math

import numpy as np

from paddlewheel.grid.window import Window
from paddlewheel.physics.heat import conducted
from paddlewheel.physics.transfer import to_cells
from paddlewheel.scene import Scene, Solid, labelled
from paddlewheel.types import Boundary, Particles, SolveInfo

__all__ = ["Heat"]


class Heat:
    """Conduction and cooling of a scene's liquid, if it has a temperature: whether it acts."""

    def __init__(self, scene: Scene):
        self.scene, self.acts = scene, scene.thinning is not None
        self._solids = [(name, s) for name, s in labelled(scene.items, Solid) if s.temperature is not None]

    def spread(
        self,
        window: Window,
        particles: Particles,
        first: np.ndarray,
        phi: np.ndarray,
        boundary: Boundary,
        time: float,
        dt: float,
    ) -> tuple[Particles, list[SolveInfo]]:
        """Sorted particles after heat was conducted and lost for dt [s], until a time [s]; and the solves of that."""
        scene, grid, infos = self.scene, window.grid, []
        warmth = particles.carried[:, 1].copy()
        if scene.conduction:
            before = to_cells(grid, particles, first)[1]
            after, info = conducted(
                before, phi < 0, boundary.open, scene.conduction * dt / grid.h**2,
                self._distances(grid, time), scene.method.tolerance,
            )  # fmt: skip
            # a particle takes the change where it is, and keeps what it has beside the others in its cell
            warmth += np.repeat((after - before).reshape(-1), np.diff(first)).astype(np.float32)
            infos.append(info)
        warmth *= np.float32(math.exp(-scene.cooling * dt))
        return particles._replace(carried=np.stack([particles.carried[:, 0], warmth], axis=1)), infos

    def _distances(self, grid, time) -> list[tuple[np.ndarray, float]]:
        """Distance [cells] at centres from each solid that has a temperature, and that."""
        points, found = grid.cell_points().reshape(-1, 3), []
        for name, solid in self._solids:
            local = solid.pose(time, name).to_body(points)
            found.append((solid.shape.distance(local).reshape(grid.shape) / grid.h, solid.temperature))
        return found
