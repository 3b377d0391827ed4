"""What must hold of every scene in time, whatever it shows."""

import math
from collections.abc import Iterator

import numpy as np

from paddlewheel.grid.cells import open_cells
from paddlewheel.measure import Solids
from paddlewheel.physics import surface_markers
from paddlewheel.physics.surface import liquid_volume
from paddlewheel.run import Frame, Simulation
from paddlewheel.types import AXES

ALWAYS = {
    "particle inside a solid / h": 0.01,
    # The solve leaves 1e-6 of the divergence before it, which is at most 6 max|u|/h: the flow through six faces.
    # Rounding to float32 adds 4e-7, and the flow may have been faster before.
    "max|∇·u| h / max|u|": 1e-5,
    "pressure iterations, median": 8,
    "pressure iterations, most": 15,
}
LIMITS = ALWAYS | {"|volume error|, worst": 0.05, "|volume error|, at the end": 0.02}
CLASSIC_LIMITS = {  # of the explicit method, which relaxes to 1e-4 of the largest divergence, and in sweeps
    "particle inside a solid / h": 0.01,
    "max|∇·u| h / max|u|": 1e-3,
    "|volume error|, worst": 0.05,
    "|volume error|, at the end": 0.05,
}
SMOKE_LIMITS = ALWAYS | {"smoke in cells that solids cover": 0.0}


def check_dimensions(name: str, dimensions: int) -> None:
    """Refuse a scene, called by its name, of other dimensions than 2 and 3."""
    if dimensions not in (2, 3):
        raise ValueError(f"{name}: dimensions={dimensions!r}, expected 2 or 3")


def in_cells(length: float, h: float, least: int = 1) -> float:
    """The length nearest to one given [m] that is a whole number of cells of h [m], and of so many at least."""
    return h * max(least, round(length / h))


def volume(simulation: Simulation) -> float:
    """[m³] of the liquid, as a report tells it: what a tracker knows, else that of φ."""
    state, grid = simulation.state, simulation.scene.grid
    if "depth" in state.tracked:
        return float(state.tracked["depth"].sum()) * grid.h**2
    if "parts" in state.tracked:
        return surface_markers.volume(surface_markers.Markers(state.tracked["points"], state.tracked["parts"]), grid)
    return liquid_volume(state.phi, simulation.boundary.phi, grid.h)


class Watch:
    """Measures a simulation while it runs.

    volumes  [m³] of the liquid at the start and after each frame
    expected what they should be: the first one, and what sources gave and drains took since
    smoke    [m³] after each frame, that all smoke would fill at density 1
    """

    def __init__(self, simulation: Simulation):
        scene, self.simulation = simulation.scene, simulation
        self.grid = scene.grid
        self._solids = Solids(scene.grid, scene.items, scene.method.weights, scene.open_sides)
        self.volumes = [volume(simulation)]
        self.expected = self.volumes[:]
        self.smoke: list[float] = []
        self._deepest = self._divergence = self._covered = 0.0
        self._iterations: list[int] = []

    def run(self, frames: int) -> Iterator[Frame]:
        """The next so many frames, measured."""
        for frame in self.simulation.run(frames):
            report = frame.report
            self.volumes.append(report.volume)
            self.expected.append(self.expected[-1] + report.inflow - report.outflow)
            self.smoke.append(report.smoke)
            self._deepest = max(self._deepest, self._depth(frame))
            self._covered = max(self._covered, self._covered_smoke(frame))
            if report.divergence > 0.0:  # else nothing may move
                self._divergence = max(self._divergence, report.divergence * self.grid.h / self._fastest(frame))
            self._iterations += [solve.iterations for solve in report.solves if solve.name == "pressure"]
            yield frame

    def figures(self) -> dict[str, float]:
        """The figures of LIMITS, or of SMOKE_LIMITS, each the worst of all frames."""
        always = {"particle inside a solid / h": self._deepest, "max|∇·u| h / max|u|": self._divergence}
        if not self.simulation.scene.method.is_explicit:  # which sweeps as often as the grid is fine
            always |= {
                "pressure iterations, median": float(np.median(self._iterations)),
                "pressure iterations, most": float(max(self._iterations)),
            }
        if self.simulation.scene.has_smoke:
            return always | {"smoke in cells that solids cover": self._covered}
        error = np.abs(np.array(self.volumes) / self.expected - 1)
        return always | {
            "|volume error|, worst": float(error.max()),
            "|volume error|, at the end": float(error[-1]),
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

    def _covered_smoke(self, frame) -> float:
        """The largest density or temperature in a cell whose centre is in a solid."""
        if not self.simulation.scene.has_smoke:
            return 0.0
        covered = ~open_cells(self.simulation.boundary.phi)
        return float(max(np.abs(q[covered]).max(initial=0.0) for q in (frame.state.density, frame.state.temperature)))

    def _fastest(self, frame) -> float:
        """Largest velocity [m/s] before the projection: the one after it, and what the forces gave in the step."""
        scene, state = self.simulation.scene, frame.state
        force = math.hypot(*scene.gravity)
        if scene.has_smoke and force:  # gravity by itself does not act on gas
            force = float(
                max(
                    abs(a) * np.abs(q).max()
                    for a, q in zip(scene.buoyancy, (state.density, state.temperature), strict=True)
                )
            )
        return max(float(np.abs(u).max()) for u in state.velocity) + force * frame.report.dt
