"""What makes a scene's fluid viscous: how viscous it is where, and what its walls do."""

import numpy as np

from paddlewheel.grid.extrapolate import continued, extrapolate
from paddlewheel.grid.window import Window
from paddlewheel.items import MOST_VISCOUS, Inflow, Liquid, labelled, temperature_at, viscosity_at
from paddlewheel.physics.transfer import to_cells
from paddlewheel.physics.viscosity import RigidBodies, Rubbed, viscous
from paddlewheel.scene import Scene, thinned
from paddlewheel.types import AXES, Boundary, Faces, Particles

__all__ = ["Friction"]

REACH = 2  # cells beyond what pressure determines in which liquid may have a part


class Friction:
    """The viscosity of a scene's fluid.

    acts    whether any of it is viscous
    varies  whether it is not the same everywhere, so that particles carry it, and if not,
    same    what it is everywhere [Pa s]; None if it varies or there is no liquid
    """

    def __init__(self, scene: Scene):
        self.scene = scene
        given = [item.viscosity for _, item in labelled(scene.items, Liquid | Inflow)]
        given = [scene.viscosity] if scene.has_smoke else given
        self.varies = scene.thinning is not None or any(map(callable, given)) or len(set(given)) > 1
        self.same = None if self.varies or not given else float(given[0])
        self.acts = self.varies or bool(self.same)

    def carried(self, name: str, item: Liquid | Inflow, points: np.ndarray) -> np.ndarray | None:
        """What particles of an item carry, (n, 2): viscosity [Pa s] and temperature [K]; None if they need not."""
        if not self.varies:
            return None
        return np.stack([viscosity_at(name, item, points), temperature_at(name, item, points)], axis=1)

    def acted(
        self,
        window: Window,
        velocity: Faces,
        known: Faces,
        given: Faces,
        phi: np.ndarray,
        boundary: Boundary,
        bodies: RigidBodies | None,
        value: float | np.ndarray,
        dt: float,
        leaving: np.ndarray | None = None,
    ) -> Rubbed:
        """The velocity after viscosity `value` acted for dt [s], from one that is known on some faces; see `viscous`.

        leaving are the cells in which no wall that liquid slips along holds it. On other faces beside the surface it is
        what particles gave, or if that is not what air has, continued.
        """
        if self.scene.method.viscous_surface != "extrapolated":
            known = Faces(*(k | g for k, g in zip(known, given, strict=True)))
        velocity, _ = extrapolate(velocity, known, REACH)
        scene = self.scene
        return viscous(
            window.grid, velocity, phi, boundary, dt,
            density=scene.density, viscosity=value, walls=self._walls(window),
            solids=scene.walls or "no-slip", bodies=bodies, leaving=leaving, surface=scene.method.viscous_surface,
            scheme=scene.method.viscosity, tolerance=scene.method.tolerance,
        )  # fmt: skip

    def value(self, window: Window, particles: Particles, first: np.ndarray) -> float | np.ndarray:
        """The viscosity [Pa s], of all fluid or at the centres of a window with particles and around them.

        Liquid that a solid holds has a part in strains that reach into it: there it is as viscous as before.
        """
        if not self.varies:
            return self.same
        if self.scene.thinning is not None:
            viscosity, temperature = particles.carried.T
            viscosity = viscosity * thinned(self.scene.thinning, temperature.astype(float))
            if viscosity.max(initial=0.0) > MOST_VISCOUS:
                at = np.argmax(viscosity)
                raise ValueError(
                    f"Scene: thinning at {temperature[at]:.6g} K makes liquid as viscous as {viscosity[at]:.3g} Pa s, "
                    f"expected at most {MOST_VISCOUS:g}"
                )
            particles = particles._replace(carried=np.stack([viscosity, temperature], axis=1).astype(np.float32))
        found = to_cells(window.grid, particles, first)[0]
        some = np.diff(first).reshape(found.shape) > 0
        return continued(found, some | (found > 0), REACH)[0]

    def _walls(self, window) -> dict[str, str]:
        """The sides of a window that are walls, and whether liquid slips along them."""
        sides = {}
        for a, axis in enumerate(AXES):
            low, high = window.within[a]
            for side, there in (("-" + axis, low == 0), ("+" + axis, high == window.domain.shape[a])):
                if there and side not in self.scene.open_sides:
                    sides[side] = self.scene.walls or "free-slip"
        return sides
