"""The smokes of a scene: what they give cells, faces and particles, at the start and in each step."""

import math
from typing import NamedTuple

import numpy as np

from paddlewheel.items import Smoke, labelled, smoke_at, velocity_at
from paddlewheel.measure import node_distance, refine_volumes
from paddlewheel.physics.emission import fill, shares
from paddlewheel.physics.seeding import seed
from paddlewheel.scene import Scene
from paddlewheel.types import Faces, Particles

__all__ = ["Emitters", "largest_given"]


class _Given(NamedTuple):
    """What a smoke gives: where (indices of samples), its share of them, and the values there."""

    at: tuple[np.ndarray, ...]
    share: np.ndarray
    values: np.ndarray


class Emitters:
    """The Smoke items of a scene on its grid. They do not move, but solids may cover them.

    fastest   largest component of any velocity that a source gives [m/s]
    thinnest  extent of any source along an axis, in the domain [m], but at least a cell
    """

    def __init__(self, scene: Scene):
        self.grid = scene.grid
        self._per_cell = scene.method.particles_per_cell or (4 if scene.grid.is_2d else 8)
        self._items = labelled(scene.items, Smoke)
        measured = [self._measured(name, item) for name, item in self._items]
        self._cells = [cells for cells, _ in measured]
        self._faces = [faces for _, faces in measured]
        sources = [faces for (_, item), faces in zip(self._items, self._faces, strict=True) if item.rate is not None]
        self.fastest = max((np.abs(u.values).max(initial=0.0) for faces in sources for u in faces), default=0.0)

        self.thinnest = min(
            (self._thickness(item.shape) for _, item in self._items if item.rate is not None), default=math.inf
        )

    def check(self, open: np.ndarray, moving: bool) -> None:
        """Refuse smoke that has no room among the cells that are open at the start, bool; solids that are moving may
        give it to a source later."""
        for (name, item), cells in zip(self._items, self._cells, strict=True):
            room = cells.share if item.rate is not None and moving else cells.share[open[cells.at]]
            if not room.any():
                raise ValueError(f"{name}: there is no room for any smoke: it is too thin, or in a solid")

    def onto_cells(
        self, density: np.ndarray, temperature: np.ndarray, open: np.ndarray, dt: float | None = None
    ) -> None:
        """Give open cells their smoke, in place: what the sources give in dt [s], or all at the start if it is None."""
        for index, rate in self._acting(dt):
            at, share, values = self._cells[index]
            share = share * open[at]
            for column, field in enumerate((density, temperature)):
                mixed = field[at]
                fill(mixed, values[:, column], share, rate, dt or 1.0)
                field[at] = mixed

    def onto_faces(self, velocity: Faces, open: Faces, dt: float | None = None) -> None:
        """Give faces with w > 0 the velocity [m/s] of the smokes that have one, in place."""
        for index, rate in self._acting(dt):
            for u, w, (at, share, values) in zip(velocity, open, self._faces[index], strict=False):
                mixed = u[at]
                fill(mixed, values, share * (w[at] > 0), rate, dt or 1.0)
                u[at] = mixed

    def onto_particles(self, particles: Particles, first: np.ndarray, dt: float | None = None) -> None:
        """Give particles in the shapes their smoke, in place. They are in the order of their cells, see `first`."""
        for index, rate in self._acting(dt):
            name, item = self._items[index]
            cells = np.ravel_multi_index(self._cells[index].at, self.grid.shape)
            inside = np.concatenate([np.empty(0, int), *map(np.arange, first[cells], first[cells + 1])])
            inside = inside[item.shape.distance(particles.position[inside].astype(float)) < 0]
            mixed = particles.carried[inside]
            values = smoke_at(name, item, particles.position[inside])
            fill(mixed, values, np.ones((len(inside), 1), np.float32), rate, dt or 1.0)
            particles.carried[inside] = mixed

    def markers(self, number: int, outside, dt: float | None = None) -> np.ndarray:
        """New markers [m], (n, 3) float32, `outside` solids: all that the shapes hold, or what sources add in dt [s].

        A source sets out as many in a second as it holds, whatever its rate.
        """
        found = [np.empty((0, 3), np.float32)]
        for index, _ in self._acting(dt):
            item, number = self._items[index][1], number * len(self._items) + index
            if item.markers:
                shape = item.shape
                points = seed(self.grid, shape.distance, per_cell=self._per_cell, number=number, bounds=shape.bounds())
                if dt is not None:
                    points = points[np.random.default_rng(number).random(len(points)) < dt]
                found.append(points[outside(points)])
        return np.concatenate(found)

    def _acting(self, dt) -> list[tuple[int, float]]:
        """The items that give something and their rates [1/s]: at the start what is there then, later the sources."""
        if dt is None:
            return [(index, math.inf) for index, (_, item) in enumerate(self._items) if item.rate in (None, math.inf)]
        return [(index, item.rate) for index, (_, item) in enumerate(self._items) if item.rate is not None]

    def _thickness(self, shape) -> float:
        low, high = (np.clip(corner, 0, self.grid.size) for corner in shape.bounds())
        return max(float((high - low)[: 2 if self.grid.is_2d else 3].min()), self.grid.h)

    def _measured(self, name, item) -> tuple[_Given, list[_Given]]:
        """What an item gives cells, and the faces of each axis; the latter are none if it has no velocity."""
        grid, phi = self.grid, node_distance(self.grid, [item.shape])
        part = shares(phi)
        refine_volumes(part.cells, grid, item.shape, phi)
        at = np.nonzero(part.cells)
        cells = _Given(at, part.cells[at], smoke_at(name, item, grid.cell_points()[at]).astype(np.float32))
        faces = []
        for a in range(3 if item.velocity is not None else 0):
            at = np.nonzero(part.faces[a])
            given = velocity_at(name, item, grid.face_points(a)[at])[:, a].astype(np.float32)
            faces.append(_Given(at, part.faces[a][at], given))
        return cells, faces


def largest_given(scene: Scene) -> tuple[float, float]:
    """The largest density, and the largest temperature of either sign [K], that the smokes of a scene give."""
    largest = np.zeros(2)
    for name, item in labelled(scene.items, Smoke):
        points = np.zeros((1, 3))
        if callable(item.density) or callable(item.temperature):
            points = scene.grid.cell_points().reshape(-1, 3)
            points = points[item.shape.distance(points) < 0]
        largest = np.maximum(largest, np.abs(smoke_at(name, item, points)).max(axis=0, initial=0.0))
    return tuple(largest.tolist())
