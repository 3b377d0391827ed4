"""The heat of a scene's liquid: what it does to the particles that carry it."""

import math

import numpy as np

from paddlewheel.grid.window import Window
from paddlewheel.items import Solid, labelled
from paddlewheel.physics.heat import conducted
from paddlewheel.scene import Scene
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
        warmth = particles.carried[:, 1].astype(np.float64)
        if scene.conduction:
            kappa, count = scene.conduction * dt / grid.h**2, np.diff(first)
            sums = np.diff(np.concatenate([[0.0], np.cumsum(warmth)])[first])
            before = sums / np.maximum(count, 1)
            after, info = conducted(
                before.reshape(grid.shape), (phi < 0) & (count > 0).reshape(grid.shape), boundary.open, kappa,
                self._distances(grid, time), scene.method.tolerance,
            )  # fmt: skip
            # what particles of a cell differ by goes as the shortest wave on the grid does
            kept = 1 / (1 + 4 * kappa * (2 if grid.is_2d else 3))
            warmth = np.repeat(after.reshape(-1), count) + kept * (warmth - np.repeat(before, count))
            infos.append(info)
        warmth *= math.exp(-scene.cooling * dt)
        carried = np.stack([particles.carried[:, 0], warmth.astype(np.float32)], axis=1)
        return particles._replace(carried=carried), infos

    def _distances(self, grid, time) -> list[tuple[np.ndarray, float]]:
        """Distance [cells] at centres from each solid that has a temperature, and that."""
        points, found = grid.cell_points().reshape(-1, 3), []
        for name, solid in self._solids:
            local = solid.pose(time, name).to_body(points)
            found.append((solid.shape.distance(local).reshape(grid.shape) / grid.h, solid.temperature))
        return found
