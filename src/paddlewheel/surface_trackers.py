"""The liquid of the explicit method by its surface alone: markers on it, or its height over columns of cells (FM96)."""

from collections.abc import Sequence

import numpy as np

from paddlewheel.fluid import Fluid
from paddlewheel.grid.cells import open_cells
from paddlewheel.grid.levelset import extend_into_solids
from paddlewheel.grid.stencil import divergence
from paddlewheel.grid.window import Window
from paddlewheel.items import Inflow, Liquid, Outflow, labelled
from paddlewheel.measure.lattice import node_distance
from paddlewheel.physics import height_field, surface_markers
from paddlewheel.physics.advect import move
from paddlewheel.physics.surface import FAR
from paddlewheel.physics.surface_markers import Markers as Surface
from paddlewheel.trackers import Moved, Seen, Tracked, Way
from paddlewheel.types import Body, Boundary, Faces, Particles

__all__ = ["HeightField", "SurfaceMarkers"]

DAMP = 1e-6  # cells: what holds less is dry
OVERFULL = 0.01  # cells: what relaxation leaves of the divergence makes less than that
ON_SIDE = 1e-3  # cells from an inflow, within which a marker is on its side
_HALVINGS = 20
HOLLOW = 0.5  # cells of air that a column may have below its surface at the start: shapes are cut by cells


class HeightField:
    """How much liquid each column of cells holds, in an array "depth" [m]. There is one surface in each."""

    def __init__(self, fluid: Fluid):
        self.grid, self.scene = fluid.grid, fluid.scene
        self._gives, self._drains = (self._cells(kind) for kind in (Inflow, Outflow))
        self._fluid = fluid

    def check(self) -> None:
        bodies = self._fluid.bodies.start()
        self.start(self._fluid.boundary(0.0, bodies), bodies)

    def start(self, boundary: Boundary, bodies: Sequence[Body]) -> Tracked:
        room = _room(boundary)
        filled, hollow = self._filled(room)
        held = np.einsum("ijk,ijk->ik", filled, room) * self.grid.h
        if not held.any() and not self._gives.any():
            raise ValueError("Method: surface='height-field': there is no liquid at the start, or it is in solids")
        if self.scene.gravity[1] > 0:
            raise ValueError(
                f"Scene: gravity={self.scene.gravity!r} with Method surface='height-field': it points up, and a height "
                "field has liquid from the floor up"
            )
        if hollow.max() > HOLLOW:
            i, k = np.unravel_index(hollow.argmax(), hollow.shape)
            x, _, z = self.grid.cell_points()[i, 0, k]
            raise ValueError(
                f"Method: surface='height-field': at x={x:.4g}, z={z:.4g} m there is air below liquid, "
                f"{hollow[i, k] * self.grid.h:.3g} m of it; a height field has liquid from the floor up"
            )
        return Tracked(_no_particles(), {"depth": held})

    def moved(self, tracked: Tracked, way: Way) -> Moved:
        h, open, room, velocity = self.grid.h, way.boundary.open, _room(way.boundary), self._velocity(way)
        depth, came, left = height_field.advance(tracked.arrays["depth"], velocity, open, room, h, way.dt)
        if self._gives.any():  # what begins in the cells of inflows; from above the surface it falls onto it
            begins = np.where(self._gives, divergence(velocity, open, h), 0)
            given = np.maximum(begins.sum(axis=1, dtype=float) * h * way.dt, -depth)
            depth, came = depth + given, came + float(given.sum()) * h**2
        if self._drains.any():
            taken = np.where(self._drains, _wet_parts(height_field.heights(depth, room, h), self.grid) * room, 0)
            taken = np.minimum(taken.sum(axis=1) * h, depth)
            depth, left = depth - taken, left + float(taken.sum()) * h**2
        over = float((depth - h * room.sum(axis=1)).max())
        warnings = [f"the height field stands {over:.3g} m higher than there is room"] if over > OVERFULL * h else []
        return Moved(Tracked(tracked.particles, {"depth": depth}), came, left, warnings)

    def seen(self, tracked: Tracked, boundary: Boundary) -> tuple[Tracked, Seen]:
        grid, depth, room = self.grid, tracked.arrays["depth"], _room(boundary)
        height = height_field.heights(depth, room, grid.h)
        y = grid.h * (np.arange(grid.shape[1]) + 0.5)[:, None]
        phi = height_field.level_set(height, grid.shape[1], grid.h, FAR)
        wet = (_wet_parts(height, grid) > DAMP) & (room > 0) & (depth > DAMP * grid.h)[:, None]
        phi = np.where(wet | (room == 0), phi, np.maximum(phi, np.float32(DAMP * grid.h)))
        phi = extend_into_solids(phi, boundary.phi, grid.h)
        head = height[:, None] - y
        return tracked, Seen(phi, wet | (phi < 0), head, float(depth.sum()) * grid.h**2)

    def _cells(self, kind) -> np.ndarray:
        """The cells of the items of a kind, bool: as whole cells, like solids."""
        shapes = [item.shape for _, item in labelled(self.scene.items, kind)]
        return ~open_cells(node_distance(self.grid, shapes)) if shapes else np.zeros(self.grid.shape, bool)

    def _velocity(self, way) -> Faces:
        """The velocity, on the faces of inflows exactly what they give."""
        if not self._gives.any():
            return way.velocity
        given = self._fluid.sources.opened(way.boundary, Window(self.grid, self.grid))
        parts = zip(way.velocity, given.velocity, given.open, way.boundary.open, strict=True)
        return Faces(*(np.where((w == 0) & (before > 0), v, u) for u, v, w, before in parts))

    def _filled(self, room) -> tuple[np.ndarray, np.ndarray]:
        """The part of each cell that liquid fills at the start, (nx, ny, nz), and cells of air below it, (nx, nz).

        The mean and the most of a few lines upwards through it.
        """
        grid, (nx, ny, nz) = self.grid, self.grid.shape
        lines, total, hollow = [4, 1] if grid.is_2d else [2, 2], np.zeros(grid.shape), np.zeros((nx, nz))
        nodes = grid.h * np.arange(2 * ny + 1) / 2
        for along_x in (np.arange(lines[0]) + 0.5) / lines[0]:
            for along_z in (np.arange(lines[1]) + 0.5) / lines[1]:
                x, z = grid.h * (np.arange(nx) + along_x), grid.h * (np.arange(nz) + along_z)
                part = self._filled_lines(np.stack(np.meshgrid(x, nodes, z, indexing="ij"), axis=-1))
                part = 0.5 * (part[:, ::2] + part[:, 1::2])
                above = np.cumsum(part[:, ::-1], axis=1)[:, ::-1] - part  # liquid above each cell
                hollow = np.maximum(hollow, np.sum(room * (1 - part), axis=1, where=above > 0))
                total += part
        return total / (lines[0] * lines[1]), hollow

    def _filled_lines(self, points) -> np.ndarray:
        """The part of each piece of lines upwards through points that is in liquid; its end is found by bisection."""
        shape = points.shape[:3]
        inside = _inside(self.scene, Liquid, points.reshape(-1, 3)).reshape(shape)
        below, above = inside[:, :-1], inside[:, 1:]
        part = (below & above).astype(float)
        cut = below != above
        low, high = points[:, :-1][cut], points[:, 1:][cut]
        least, most = np.zeros(len(low)), np.ones(len(low))
        for _ in range(_HALVINGS if len(low) else 0):
            middle = 0.5 * (least + most)
            same = _inside(self.scene, Liquid, low + middle[:, None] * (high - low)) == below[cut]
            least, most = np.where(same, middle, least), np.where(same, most, middle)
        part[cut] = np.where(below[cut], least, 1 - least)
        return part


class SurfaceMarkers:
    """Markers on the surface that are connected, in arrays "points" and "parts"; see `physics.surface_markers`."""

    def __init__(self, fluid: Fluid):
        self.grid, self.scene, self._fluid = fluid.grid, fluid.scene, fluid
        places = surface_markers.half_cells(self.grid)
        at = places.points().reshape(-1, 3)
        self._given, self._drained = (
            _distance(self.scene, kind, at).reshape(places.shape) if labelled(self.scene.items, kind) else None
            for kind in (Inflow, Outflow)
        )

    def check(self) -> None:
        bodies = self._fluid.bodies.start()
        self.start(self._fluid.boundary(0.0, bodies), bodies)

    def start(self, boundary: Boundary, bodies: Sequence[Body]) -> Tracked:
        places = surface_markers.half_cells(self.grid)
        phi = _distance(self.scene, Liquid | Inflow, places.points().reshape(-1, 3)).reshape(places.shape)
        surface = surface_markers.surface_around(self.grid, phi, boundary.phi)
        if not len(surface.parts):
            raise ValueError("Method: surface='surface-markers': there is no liquid at the start, or it is in solids")
        return _tracked(surface, surface_markers.volume(surface, self.grid), torn=False)

    def moved(self, tracked: Tracked, way: Way) -> Moved:
        grid, solid, warnings = self.grid, way.boundary.phi, []
        points, sides = tracked.arrays["points"], self.scene.open_sides
        surface, inflow, torn = _surface(tracked), 0.0, bool(tracked.arrays["torn"])
        volume = float(tracked.arrays["volume"])
        given = np.flatnonzero(_inside(self.scene, Inflow, points, ON_SIDE * grid.h))
        start, held = points[given], surface_markers.volume(surface, grid)
        stuck = move(grid, points, way.velocity, way.boundary, way.dt, open_sides=sides)
        warnings += [f"{stuck} markers are left in a solid"] if stuck else []
        stays = _inside(self.scene, Inflow, points[given], ON_SIDE * grid.h)  # the others go with what is poured
        points[given[stays]] = start[stays]  # what goes out of an inflow is there again
        if self._given is not None:  # else the flow keeps its volume
            inflow = surface_markers.volume(surface, grid) - held
        before = surface_markers.volume(surface, grid)
        surface = surface_markers.evened(grid, surface._replace(points=np.clip(points, 0, grid.size)), solid)
        outflow = max(before - surface_markers.volume(surface, grid), 0.0) if sides else 0.0
        if surface_markers.topology_changed(grid, surface):
            surface, torn = surface_markers.renewed(grid, surface, solid, held=volume + inflow - outflow), True
            warnings.append("the liquid's topology changed: surface markers were set anew")
        surface, gained = self._changed(surface, solid, self._given, np.minimum, 1)
        surface, lost = self._changed(surface, solid, self._drained, np.maximum, -1)
        inflow, outflow = inflow + gained, outflow - lost
        return Moved(_tracked(surface, volume + inflow - outflow, torn), inflow, outflow, warnings)

    def seen(self, tracked: Tracked, boundary: Boundary) -> tuple[Tracked, Seen]:
        surface = _surface(tracked)
        phi = surface_markers.level_set(self.grid, surface, boundary.phi, FAR)
        phi = extend_into_solids(phi, boundary.phi, self.grid.h)
        wet = surface_markers.touched_cells(self.grid, surface) | (phi < 0)
        held = bool(tracked.arrays["torn"])
        return tracked, Seen(phi, wet, volume=surface_markers.volume(surface, self.grid), held=held)

    def _changed(self, surface, solid, distance, combine, sign) -> tuple[Surface, float]:
        """The surface after what is within a distance was filled (sign 1) or emptied (−1); the volume gained."""
        if distance is None:
            return surface, 0.0
        phi = surface_markers.signed_distance(self.grid, surface, solid)
        if not ((sign * phi >= 0) & (distance < 0)).any():
            return surface, 0.0
        new = surface_markers.renewed(self.grid, surface, solid, lambda phi: combine(phi, sign * distance))
        return new, surface_markers.volume(new, self.grid) - surface_markers.volume(surface, self.grid)


def _tracked(surface: Surface, volume: float, torn: bool) -> Tracked:
    """The surface as a state has it, the volume [m³] it should hold, and whether its topology has ever changed."""
    return Tracked(_no_particles(), surface._asdict() | {"volume": np.array(volume), "torn": np.array(torn)})


def _surface(tracked: Tracked) -> Surface:
    return Surface(tracked.arrays["points"], tracked.arrays["parts"])


def _distance(scene, kind, points) -> np.ndarray:
    """From the nearest item of a kind [m], at points (n, 3)."""
    return np.min([item.shape.distance(points) for _, item in labelled(scene.items, kind)], axis=0)


def _inside(scene, kind, points, beyond=0.0) -> np.ndarray:
    """Which points are in an item of a kind, or less than a length `beyond` [m] from it, bool."""
    return _distance(scene, kind, points) < beyond if labelled(scene.items, kind) else np.zeros(len(points), bool)


def _room(boundary) -> np.ndarray:
    """1 for cells that are open, 0 for those of solids, float32 (nx, ny, nz)."""
    return open_cells(boundary.phi).astype(np.float32)


def _wet_parts(height, grid) -> np.ndarray:
    """The part of each cell that is below a height [m], (nx, ny, nz)."""
    return np.clip(height[:, None] / grid.h - np.arange(grid.shape[1])[:, None], 0, 1)


def _no_particles() -> Particles:
    return Particles.at(np.empty((0, 3)), (0, 0, 0))
