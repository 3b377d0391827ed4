"""The liquid by its surface alone: markers on it that are connected, FM96's second way to track it.

They are closed curves in 2-D and closed surfaces of triangles in 3-D. After they have gone with the flow, markers are
inserted where they are far apart and merged where close. A marker at a wall stays at it, as liquid does that slips
along. Inside is what the surface goes round: found by counting crossings along lines of a lattice, from which regions
of liquid and of air are grown.

The surface does not join or part by itself. Each connected piece of a closed surface divides space once more, so

    regions of liquid and of air  =  pieces of the surface + 1

as long as none has met another. If that does not hold, on a lattice of half cells, or if the surface goes round
a point twice or the wrong way, the topology of the liquid has changed: then the surface is made anew from its signed
distance on that lattice, and holds the volume that it held.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.grid.closed_surface import Lattice, distance_to, enclosed, extent, winding
from paddlewheel.grid.contour import contour
from paddlewheel.grid.curve import curve_count, evened_curves
from paddlewheel.grid.distance import UNKNOWN, grow
from paddlewheel.grid.sample import node_value
from paddlewheel.grid.stencil import required
from paddlewheel.grid.triangles import evened_triangles, surface_count
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Grid

__all__ = [
    "Markers",
    "evened",
    "half_cells",
    "level_set",
    "renewed",
    "signed_distance",
    "surface_around",
    "topology_changed",
    "touched_cells",
    "volume",
]

SHORTEST, LONGEST = 0.3, 0.8  # cells between neighbours
AT_WALL = 0.05  # cells from a wall or a side, within which a marker is put on it
_REACH = 1.5  # cells from the surface up to which distances are measured, and then grown
_MOST_SHIFT, _CORRECTIONS = 0.25, 4  # cells by which a surface that is made anew may be moved to hold its volume
_SOLID = 64  # bit of what touches a solid; the sides of the domain have the first six


class Markers(NamedTuple):
    """A closed surface.

    points  (n, 3) float32 [m]
    parts   (m, 2) int32: pieces of curves that have liquid to their left; or (m, 3), triangles seen from outside
    """

    points: np.ndarray
    parts: np.ndarray


def volume(markers: Markers, grid: Grid) -> float:
    """[m³] inside; in 2-D of a slab one cell thick."""
    return enclosed(*markers) * (grid.h if grid.is_2d else 1.0)


def half_cells(grid: Grid) -> Lattice:
    """Two points along each axis of a cell: as far from each other as markers are."""
    flat = grid.is_2d
    first = (0.25 * grid.h, 0.25 * grid.h, 0.5 * grid.h if flat else 0.25 * grid.h)
    nx, ny, nz = grid.shape
    return Lattice(first, 0.5 * grid.h, (2 * nx, 2 * ny, 1 if flat else 2 * nz))


def surface_around(grid: Grid, phi: np.ndarray, solid: np.ndarray) -> Markers:
    """Markers on the surface φ = 0, of φ [m] at half cells, outside solids of distance `solid` [m] at nodes."""
    return evened(grid, _contour(grid, phi, -_at_half_cells(grid, solid)), solid)


def evened(grid: Grid, markers: Markers, solid: np.ndarray) -> Markers:
    """Markers of the same surface, no two neighbours too close or too far apart, on walls where they nearly are."""
    points, touching = _on_walls(grid, markers.points, solid)
    even = evened_curves if grid.is_2d else evened_triangles
    return Markers(*even(points, markers.parts, touching, SHORTEST * grid.h, LONGEST * grid.h))


def topology_changed(grid: Grid, markers: Markers) -> str | None:
    """What shows that parts of the surface have met; None if none have."""
    from scipy import ndimage  # 0.1 s

    rounds = winding(*markers, half_cells(grid))
    if rounds.min(initial=0) < 0 or rounds.max(initial=0) > 1:
        return "the surface has crossed itself"
    rounds = np.pad(rounds, [(1, 1), (1, 1), (0, 0) if grid.is_2d else (1, 1)])  # outside the domain it is all one
    liquid = ndimage.label(rounds > 0)[1]
    air = ndimage.label(rounds == 0, np.ones((3, 3, 3)))[1]
    pieces = curve_count(markers.parts) if grid.is_2d else surface_count(len(markers.points), markers.parts)
    if liquid + air == pieces + 1:
        return None
    return f"there are {liquid} regions of liquid and {air} of air, and {pieces} closed surfaces"


def renewed(grid: Grid, markers: Markers, solid: np.ndarray, change=None, held: float | None = None) -> Markers:
    """The surface made anew where it is inside and where it is not, moved so that it holds the same volume.

    Or if given, a volume `held` [m³]. By Newton's method: to move all of a surface outwards by a length gains that
    times its area. change(φ), if given, is the signed distance at half cells after liquid was added or taken; then the
    volume is what that made of it.
    """
    phi, wanted = signed_distance(grid, markers, solid), enclosed(*markers)
    if held is not None:
        wanted = held / (grid.h if grid.is_2d else 1.0)
    walls, shift, most = -_at_half_cells(grid, solid), 0.0, _MOST_SHIFT * grid.h
    if change is not None:
        before, phi = enclosed(*_contour(grid, phi, walls)), change(phi)
        wanted += enclosed(*_contour(grid, phi, walls)) - before
    for n in range(_CORRECTIONS):
        new = _contour(grid, phi - np.float32(shift), walls)
        if n > 0:
            new = evened(grid, new, solid)
        if not len(new.parts):
            break
        shift = min(max(shift + (wanted - enclosed(*new)) / extent(*new), -most), most)
    return new


def signed_distance(grid: Grid, markers: Markers, solid: np.ndarray) -> np.ndarray:
    """From the free surface [m] at half cells, float32, negative inside."""
    return _signed(grid, markers, half_cells(grid), solid)


def level_set(grid: Grid, markers: Markers, solid: np.ndarray, far: float) -> np.ndarray:
    """φ [m] at centres, float32, negative inside, at most `far` cells: the distance from the free surface.

    Where the surface lies on a wall it is none, and does not count.
    """
    centres = Lattice((0.5 * grid.h,) * 3, grid.h, grid.shape)
    return np.clip(_signed(grid, markers, centres, solid), -far * grid.h, far * grid.h)


def touched_cells(grid: Grid, markers: Markers) -> np.ndarray:
    """The cells with liquid in them, bool: those that have one of their half cells inside."""
    inside = winding(*markers, half_cells(grid)) > 0
    nx, ny, nz = grid.shape
    return inside.reshape(nx, 2, ny, 2, nz, -1).any(axis=(1, 3, 5))


def _signed(grid, markers, lattice, solid) -> np.ndarray:
    """The signed distance from the free surface at the points of a lattice, measured near it and grown from there."""
    _, touching = _on_walls(grid, markers.points, solid)
    free = np.bitwise_and.reduce(touching[markers.parts], axis=1) == 0
    phi = distance_to(markers.points, markers.parts[free], lattice, _REACH * grid.h)
    layer = np.where(np.isinf(phi), UNKNOWN, 0).astype(np.uint8)
    phi[layer == UNKNOWN] = grid.size[1] + grid.size[0]
    inside = winding(*markers, lattice) > 0
    phi[inside] *= -1
    phi[(phi == 0) & inside] = -1e-6 * grid.h
    grow(phi, layer, 6, lattice.step)
    return phi


def _contour(grid, phi, walls) -> Markers:
    return Markers(*contour(np.maximum(phi, walls), half_cells(grid).lines(), grid.size))


def _at_half_cells(grid, solid) -> np.ndarray:
    lattice = half_cells(grid)
    return _at(np.float32(lattice.points().reshape(-1, 3) / grid.h), solid).reshape(lattice.shape)


def _on_walls(grid, points, solid) -> tuple[np.ndarray, np.ndarray]:
    """The markers, those within AT_WALL of a wall put on it, and bits of what each touches."""
    points, touching = np.array(points, np.float32), np.zeros(len(points), np.int32)
    for axis in range(2 if grid.is_2d else 3):
        for end, side in enumerate((0.0, grid.size[axis])):
            near = np.abs(points[:, axis] - side) < AT_WALL * grid.h
            points[near, axis] = side
            touching[near] |= 1 << (2 * axis + end)
    near = _at(points / np.float32(grid.h), solid) < AT_WALL * grid.h
    touching[near] |= _SOLID
    return points, touching


def _at(cells, solid) -> np.ndarray:
    """The solids' distance [m] at places [cells], (n, 3)."""
    out = np.empty(len(cells), np.float32)
    _sample(out, np.ascontiguousarray(cells, np.float32), required(solid, np.float32))
    return out


@kernel
def _sample(out, cells, solid):
    for p in prange(len(out)):
        out[p] = node_value(solid, np.float64(cells[p, 0]), np.float64(cells[p, 1]), np.float64(cells[p, 2]))
