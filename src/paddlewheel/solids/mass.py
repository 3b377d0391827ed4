"""Volume, centre and inertia of a shape.

Primitives have closed forms, a mesh has the divergence theorem, and booleans
are summed over a lattice. Everything is per unit density: a body's mass is
ρ · volume.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, Moved, Shape, Sphere, Torus

# Cells of the lattice on the bounds of a boolean, and of a cross-section. A cut cell is filled by the distance of its
# centre, which is off by a part of (cell / size)²: measured 3e-4 for a dumbbell, 1e-5 for a disc in the plane.
CELLS = 1_000_000
PLANE_CELLS = 250_000


class Mass(NamedTuple):
    """What a shape weighs, per unit density.

    volume   [m³]
    center   (3,) of mass [m], in the coordinates the shape was drawn in
    inertia  (3, 3) [m⁵] about the centre:  ∫ (r² 1 − r rᵀ) dV
    """

    volume: float
    center: np.ndarray
    inertia: np.ndarray


def mass_of(shape: Shape, thickness: float | None = None) -> Mass:
    """Volume, centre and inertia of a shape.

    In a 2-D scene the body is the cross-section of the shape at the mid-plane
    z = h/2 of a slab of `thickness` h [m], drawn out over 0 … h.
    """
    low, high = shape.bounds()
    axes = slice(3 if thickness is None else 2)
    if not (np.isfinite(low[axes]).all() and np.isfinite(high[axes]).all()):
        raise ValueError(f"{_name(shape)} has no end, from {low} to {high}: it has no mass")
    if thickness is None:
        mass = _solid(shape) if np.all(low < high) else None
    else:
        mass = _slab(shape, float(thickness)) if np.all(low[:2] < high[:2]) else None
    if mass is None or not mass.volume > 0:
        where = "" if thickness is None else f" in the plane z = {0.5 * thickness:.6g}"
        raise ValueError(f"{_name(shape)} has no volume{where}, it cannot be a body")
    return mass


def _name(shape) -> str:
    return getattr(shape, "name", type(shape).__name__)


def _solid(shape) -> Mass | None:
    """The mass of a three-dimensional shape."""
    if isinstance(shape, Moved):
        R, child = shape.pose.rotation, _solid(shape.shape)
        return child and Mass(child.volume, R @ child.center + shape.pose.position, R @ child.inertia @ R.T)
    rule = _RULES.get(type(shape), _lattice)
    return rule(shape)


def _box(box) -> Mass:
    low, high = box.bounds()
    volume = np.prod(high - low)
    return _from_moments(volume, 0.5 * (low + high), np.diag(volume / 12 * (high - low) ** 2))


def _sphere(ball) -> Mass:
    volume = 4 / 3 * np.pi * ball.radius**3
    return Mass(volume, np.array(ball.center), 0.4 * volume * ball.radius**2 * np.eye(3))


def _cylinder(cylinder) -> Mass:
    length, r = np.linalg.norm(np.subtract(cylinder.end, cylinder.start)), cylinder.radius
    volume = np.pi * r * r * length
    return _around(cylinder, volume, volume * r * r / 2, volume * (3 * r * r + length**2) / 12)


def _capsule(capsule) -> Mass:
    length, r = np.linalg.norm(np.subtract(capsule.end, capsule.start)), capsule.radius
    tube, ball = np.pi * r * r * length, 4 / 3 * np.pi * r**3
    across = tube * (3 * r * r + length**2) / 12 + ball * (0.4 * r * r + length**2 / 4 + 3 / 8 * length * r)
    return _around(capsule, tube + ball, tube * r * r / 2 + 0.4 * ball * r * r, across)


def _torus(torus) -> Mass:
    R, r = torus.major, torus.minor
    volume = 2 * np.pi**2 * R * r * r
    inertia = _about(np.array(torus.axis), volume * (R * R + 0.75 * r * r), volume * (R * R / 2 + 5 / 8 * r * r))
    return Mass(volume, np.array(torus.center), inertia)


def _mesh(mesh) -> Mass:
    """Sums over the tetrahedra from one point to each triangle; signed, so any point will do.

    ∫ x xᵀ dV = det/120 (a aᵀ + b bᵀ + c cᵀ + s sᵀ)  with  s = a + b + c  over a tetrahedron (0, a, b, c).
    """
    corners = mesh.vertices[mesh.faces]
    origin = corners.mean(axis=(0, 1))  # near the middle, so that little cancels
    corners = corners - origin
    a, b, c = corners.transpose(1, 0, 2)
    det = np.einsum("ij,ij->i", a, np.cross(b, c))
    total = corners.sum(axis=1)
    volume = det.sum() / 6
    center = np.einsum("i,ij->j", det, total) / 24 / volume
    square = np.einsum("i,ikj,ikl->jl", det, corners, corners) + np.einsum("i,ij,il->jl", det, total, total)
    sign = np.sign(volume)  # faces may all look inwards
    return _from_moments(sign * volume, origin + center, sign * (square / 120 - volume * np.outer(center, center)))


def _lattice(shape) -> Mass | None:
    """Sums over a lattice of CELLS on the bounds."""
    low, high = shape.bounds()
    return _sums(shape, low, high, _counts(high - low, CELLS))


def _slab(shape, thickness) -> Mass | None:
    """The cross-section at z = thickness/2, drawn out over the thickness; None if there is none."""
    low, high = (np.append(corner[:2], 0.5 * thickness) for corner in shape.bounds())
    for _ in range(2):  # once to find the cross-section, and once in its own bounds
        counts = _counts((high - low)[:2], PLANE_CELLS)
        axes = _centres(low, high, [*counts, 1])
        inside = sample(shape, axes)[:, :, 0] < 0
        if not inside.any():
            return None
        for a in range(2):
            step = axes[a][1] - axes[a][0]
            occupied = axes[a][inside.any(axis=1 - a)]
            low[a], high[a] = max(low[a], occupied[0] - step), min(high[a], occupied[-1] + step)
    low[2], high[2] = 0.0, thickness
    return _sums(shape, low, high, [*counts, 1])


def _sums(shape, low, high, counts) -> Mass | None:
    """Volume and moments from cells (counts along each axis), a cut one filled by the distance of its centre."""
    axes = _centres(low, high, counts)
    h = (high - low) / counts
    across = h[:2].max() if counts[2] == 1 else h.max()
    filled = np.clip(0.5 - sample(shape, axes) / across, 0, 1) * np.prod(h)
    volume = filled.sum()
    if volume == 0:
        return None
    lines = [filled.sum(axis=tuple({0, 1, 2} - {a})) for a in range(3)]
    center = np.array([np.dot(line, axis) for line, axis in zip(lines, axes, strict=True)]) / volume
    offsets = [axis - c for axis, c in zip(axes, center, strict=True)]
    square = np.zeros((3, 3))
    for a in range(3):
        square[a, a] = np.dot(lines[a], offsets[a] ** 2 + h[a] ** 2 / 12)
        for b in range(a):
            plane = filled.sum(axis=3 - a - b)
            square[a, b] = square[b, a] = np.einsum("ij,i,j->", plane, offsets[b], offsets[a])
    return _from_moments(volume, center, square)


def _counts(extent, total) -> np.ndarray:
    """How many cubes, about `total` in all, go along each side of a box; at least a few."""
    step = (np.prod(extent) / total) ** (1 / len(extent))
    return np.clip(np.ceil(extent / step), 8, total // 100).astype(int)


def _centres(low, high, counts) -> list[np.ndarray]:
    """Coordinates of the centres of cells along each axis."""
    return [a + (b - a) * (np.arange(n) + 0.5) / n for a, b, n in zip(low, high, counts, strict=True)]


def _from_moments(volume, center, square) -> Mass:
    """The mass from second moments ∫ r rᵀ dV about the centre [m⁵]."""
    return Mass(float(volume), np.asarray(center, np.float64), np.trace(square) * np.eye(3) - square)


def _around(shape, volume, along, across) -> Mass:
    """The mass of a shape with an axis from `start` to `end`, and its moments about and across it."""
    axis = np.subtract(shape.end, shape.start)
    center = 0.5 * np.add(shape.start, shape.end)
    return Mass(float(volume), center, _about(axis / np.linalg.norm(axis), along, across))


def _about(axis, along, across) -> np.ndarray:
    """An inertia that is the same in all directions across an axis."""
    return across * np.eye(3) + (along - across) * np.outer(axis, axis)


_RULES = {Box: _box, Sphere: _sphere, Cylinder: _cylinder, Capsule: _capsule, Torus: _torus, Mesh: _mesh}
