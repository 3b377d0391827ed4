"""What must hold of every scene in time, whatever it shows."""

import math
from collections.abc import Iterator

import numpy as np

from paddlewheel.measure import Solids
from paddlewheel.physics.surface import liquid_volume
from paddlewheel.run import Frame, Simulation
from paddlewheel.types import AXES

LIMITS = {
    "|volume error|, worst": 0.05,
    "|volume error|, at the end": 0.02,
    "particle inside a solid / h": 0.01,
    # The solve leaves 1e-6 of the divergence before it, which is at most 6 max|u|/h: the flow through six faces.
    # Rounding to float32 adds 4e-7, and the flow may have been faster before.
    "max|∇·u| h / max|u|": 1e-5,
    "pressure iterations, median": 8,
    "pressure iterations, most": 15,
}


class Watch:
    """Measures a simulation while it runs.

    volumes  [m³] of the liquid at the start and after each frame
    expected what they should be: the first one, and what sources gave and drains took since
    """

    def __init__(self, simulation: Simulation):
        scene, self.simulation = simulation.scene, simulation
        self.grid = scene.grid
        self._solids = Solids(scene.grid, scene.items, scene.method.weights, scene.open_sides)
        self.volumes = [liquid_volume(simulation.state.phi, simulation.boundary.phi, scene.grid.h)]
        self.expected = self.volumes[:]
        self._deepest = self._divergence = 0.0
        self._iterations: list[int] = []

    def run(self, frames: int) -> Iterator[Frame]:
        """The next so many frames, measured."""
        for frame in self.simulation.run(frames):
            report = frame.report
            self.volumes.append(report.volume)
            self.expected.append(self.expected[-1] + report.inflow - report.outflow)
            self._deepest = max(self._deepest, self._depth(frame))
            self._divergence = max(self._divergence, report.divergence * self.grid.h / self._fastest(frame))
            self._iterations += [solve.iterations for solve in report.solves if solve.name == "pressure"]
            yield frame

    def figures(self) -> dict[str, float]:
        """The figures of LIMITS, each the worst of all frames."""
        error = np.abs(np.array(self.volumes) / self.expected - 1)
        return {
            "|volume error|, worst": float(error.max()),
            "|volume error|, at the end": float(error[-1]),
            "particle inside a solid / h": self._deepest,
            "max|∇·u| h / max|u|": self._divergence,
            "pressure iterations, median": float(np.median(self._iterations)),
            "pressure iterations, most": float(max(self._iterations)),
        }

    def _depth(self, frame) -> float:
        """How deep any particle is in a solid as it is drawn, or beyond a closed side [cells]."""
        position, sides = frame.state.particles.position.astype(float), self.simulation.scene.open_sides
        if not len(position):
            return 0.0
        depth = -self._solids.distance(position, frame.time, frame.state.bodies).min()
        for a, axis in enumerate(AXES):
            if f"-{axis}" not in sides:
                depth = max(depth, -position[:, a].min())
            if f"+{axis}" not in sides:
                depth = max(depth, position[:, a].max() - self.grid.size[a])
        return max(0.0, float(depth)) / self.grid.h

    def _fastest(self, frame) -> float:
        """Largest velocity [m/s] before the projection: the one after it, and what gravity gave in the step."""
        fastest = max(float(np.abs(u).max()) for u in frame.state.velocity)
        return fastest + math.hypot(*self.simulation.scene.gravity) * frame.report.dt
