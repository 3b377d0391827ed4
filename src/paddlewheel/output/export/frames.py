"""Frames of a run, made ready for export: what is wanted of each state."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage

from paddlewheel.items import RigidBody, Solid
from paddlewheel.measure import Solids
from paddlewheel.output.export.rigid import Rigids
from paddlewheel.output.export.surface import (
    at_cells,
    beyond,
    closed,
    covering,
    ended,
    from_particles,
    holding,
    into_solids,
    mesh_of,
    smoothed,
)
from paddlewheel.output.export.things import Field, Frame, Points
from paddlewheel.physics.surface import liquid_volume
from paddlewheel.scene import Scene
from paddlewheel.solids import argument
from paddlewheel.types import Grid, State

_NEAR = 3.0  # cells from liquid, or one from smoke, up to which velocity counts
_MOST_SMOOTH = 10.0  # cells


@dataclass
class Frames:
    """Makes frames of states.

    what    which of WHAT are wanted; None is all there is
    cells   along the longest side, of the grid the surface is made on from particles; None is that of the run
    smooth  by so many cells of that grid the surface is smoothed

    A surface that is made anew or smoothed holds as much liquid as that of the run.
    """

    scene: Scene
    what: Collection[str] | None = None
    cells: int | None = None
    smooth: float = 0.0
    _rigid: Rigids | None = field(init=False)

    def __post_init__(self):
        scene = self.scene
        if argument.number("export", "smooth", self.smooth) < 0 or self.smooth > _MOST_SMOOTH:
            raise ValueError(f"export: smooth={self.smooth!r}, expected a number of cells from 0 to {_MOST_SMOOTH:g}")
        self.grid = scene.grid if self.cells is None else self._other_grid()
        self.solids = self._run_solids = self._measured_on(scene.grid)
        if self.cells is not None:
            self.solids = self._measured_on(self.grid, beyond(self.grid, scene.grid.size))
        self._rigid = Rigids(scene) if self._wanted("bodies") else None

    def _measured_on(self, grid: Grid, more: Sequence[Solid] = ()) -> Solids:
        return Solids(grid, [*self.scene.items, *more], self.scene.method.weights, self.scene.open_sides)

    def _other_grid(self) -> Grid:
        scene = self.scene
        if scene.has_smoke:
            raise ValueError(f"export: cells={self.cells}: the run is of smoke, which has no surface")
        if not scene.has_particles:
            raise ValueError(
                f"export: cells={self.cells}: the run has no particles to make a surface of, but surface="
                f"{scene.method.surface!r}; expected none, for that of the run"
            )
        cells, most = self.cells, round(max(scene.grid.shape) * scene.grid.h / scene.particle_spacing)
        if cells > most:
            raise ValueError(
                f"export: cells={cells}, expected at most {most}: the run has {max(scene.grid.shape)} cells, "
                f"with {scene.particles_per_cell} particles in each"
            )
        if scene.grid.is_2d:
            raise ValueError(f"export: cells={cells}: a 2-D run is as thick as its cells; expected a 3-D one")
        return covering(scene.grid.size, cells)

    def _wanted(self, what: str) -> bool:
        return self.what is None or what in self.what

    def available(self, state: State) -> list[str]:
        """Which of WHAT there are in a state."""
        smoke = self.scene.has_smoke
        there = {
            "surface": not smoke,
            "particles": self.scene.has_particles,
            "bodies": any(isinstance(item, RigidBody | Solid) for item in self.scene.items),
            "smoke": smoke,
            "velocity": True,
        }
        return [what for what, is_there in there.items() if is_there]

    def make(self, number: int, state: State) -> Frame:
        """The frame of a state."""
        if state.phi.shape != self.scene.grid.shape:
            raise ValueError(
                f"frame {number}: has {state.phi.shape} cells, the scene {self.scene.grid.shape}: expected the same"
            )
        there = [what for what in self.available(state) if self._wanted(what)]
        frame = Frame(number, state.time, self.scene.grid.h)
        for what in there:
            frame = getattr(self, f"_with_{what}")(frame, state)
        return frame

    @property
    def remade(self) -> str:
        """How surfaces are made otherwise than those of the run, as text; "" if they are not."""
        cells = [] if self.cells is None else [f"cells={self.cells}"]
        return ", ".join([*cells, f"smooth={self.smooth:g}"] if self.smooth else cells)

    def loses_surface(self, frame: Frame, state: State) -> bool:
        """Whether a frame has no surface, though there is liquid in its state: cells too coarse, or smoothed away."""
        has_none = frame.surface is not None and not len(frame.surface.faces)
        return bool(has_none and self.remade and self._volume(state) > 0)

    def _with_surface(self, frame, state) -> Frame:
        grid = self.grid
        boundary = self.solids.measure(state.time, state.bodies)
        if self.cells is None:
            phi = state.phi
        else:
            per_cell = self.scene.particles_per_cell * (grid.h / self.scene.grid.h) ** 3
            phi = from_particles(grid, state.particles, boundary, per_cell)
        if self.smooth:
            phi = smoothed(phi, self.smooth)
        if self.smooth or self.cells is not None:
            phi = holding(phi, boundary.phi, grid.h, self._volume(state))
        phi = into_solids(phi, boundary.phi, grid.h)
        size = self.scene.grid.size
        mesh = mesh_of(phi, grid.h, state.velocity, self.scene.grid.h, size)
        return frame._replace(surface=mesh, surface_phi=(closed(ended(phi, grid, size), grid.h), grid.h))

    def _volume(self, state) -> float:
        """[m³] of liquid in the run."""
        grid = self.scene.grid
        return liquid_volume(state.phi, self._run_solids.measure(state.time, state.bodies).phi, grid.h)

    def _with_particles(self, frame, state) -> Frame:
        radius = 0.5 * self.scene.particle_spacing
        position, velocity, *_, ids = state.particles
        return frame._replace(particles=Points(position, velocity, radius, None if state.numbered is None else ids))

    def _with_bodies(self, frame, state) -> Frame:
        return frame._replace(bodies=self._rigid.at(state.time, state.bodies))

    def _with_smoke(self, frame, state) -> Frame:
        fields = (Field(values, values != 0) for values in (state.density, state.temperature))
        return frame._replace(**dict(zip(("density", "temperature"), fields, strict=True)))

    def _with_velocity(self, frame, state) -> Frame:
        if state.density is None:
            active = state.phi < _NEAR * self.scene.grid.h
        else:
            active = ndimage.binary_dilation(state.density > 0)
        values = np.where(active[..., None], at_cells(state.velocity), np.float32(0))
        return frame._replace(velocity=Field(values, active))
