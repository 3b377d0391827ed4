"""How much of a face's box is open: the weights w of the pressure solve.

The solid is known by its signed distance at the nodes and taken as piecewise
linear: on triangles, tetrahedra or segments that fan out from the centres of
faces and boxes, so that nothing prefers a diagonal. On each of them the open
part {φ > 0} has a closed form.  B07 §2.2 and figure 3; R05 §2.
"""

import numpy as np

from paddlewheel.grid.plane import open_side
from paddlewheel.grid.stencil import required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces

__all__ = [
    "SMALLEST",
    "WEIGHTS",
    "box_fraction",
    "corner_mean",
    "face_corners",
    "open_fractions",
    "rectangle_fraction",
    "refined_fractions",
    "segment_fraction",
    "tetrahedron_fraction",
    "triangle_fraction",
]

WEIGHTS = ("area", "volume", "length", "voxel")
SMALLEST = 1e-6  # smaller fractions only slow the pressure solve down
_AREA, _VOLUME, _LENGTH, _VOXEL = range(4)


def open_fractions(phi: np.ndarray, weights: str) -> Faces:
    """Part of the box of one cell's size around each face that is not solid: w in [0, 1], float32.

    phi is the solid's signed distance at nodes [m], shape (nx+1, ny+1, nz+1),
    negative inside; a node with φ = 0 counts as solid. B07 §2.2 names the first
    three weights, R05 §2 the first:

        area     open part of the face itself
        volume   open part of the box, from mid-plane to mid-plane of the cells beside the face
        length   open part of the segment between the centres of these cells
        voxel    1 if both centres are open, else 0

    area, volume and length are exact for planes. Beyond the domain's sides φ is
    mirrored; whether the sides are walls is not decided here. Fractions within
    SMALLEST of 0 or 1 become 0 or 1.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"weights={weights!r}: expected one of {', '.join(WEIGHTS)}")
    phi = required(phi, np.float32)
    if phi.ndim != 3 or min(phi.shape) < 2:
        raise ValueError(f"phi of shape {phi.shape}: expected values at the nodes of a grid, (nx+1, ny+1, nz+1)")
    cells = tuple(n - 1 for n in phi.shape)
    out = Faces(*(np.empty([n + (a == axis) for a, n in enumerate(cells)], np.float32) for axis in range(3)))
    _open_fractions(out, phi.reshape(-1), cells, WEIGHTS.index(weights))
    return out


def refined_fractions(phi: np.ndarray, weights: str, far: float = np.inf) -> Faces:
    """The same from φ at points half a cell apart, shape (2 nx + 1, 2 ny + 1, 2 nz + 1).

    A curved surface is taken as flat between the points. That makes a ball of
    four cells' radius 3 % too small if they are a cell apart, and 0.8 % here.
    If φ is more than `far` [m] at the middle of a face, it has that sign all around: most faces are not cut.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"weights={weights!r}: expected one of {', '.join(WEIGHTS)}")
    phi = required(phi, np.float32)
    if phi.ndim != 3 or min(phi.shape) < 3 or not all(n % 2 for n in phi.shape):
        raise ValueError(f"phi of shape {phi.shape}: expected values half a cell apart, (2 nx + 1, 2 ny + 1, 2 nz + 1)")
    cells = tuple(n // 2 for n in phi.shape)
    out = Faces(*(np.empty([n + (a == axis) for a, n in enumerate(cells)], np.float32) for axis in range(3)))
    _refined_fractions(out, phi.reshape(-1), cells, WEIGHTS.index(weights), np.float32(far))
    return out


@kernel
def _refined_fractions(out, phi, cells, mode, far):
    strides = ((2 * cells[1] + 1) * (2 * cells[2] + 1), 2 * cells[2] + 1, 1)
    for plane in prange(cells[0] + 1):
        i = np.int64(plane)
        for a in range(3):
            w = out[a]
            along, b, c = strides[a], strides[(a + 1) % 3], strides[(a + 2) % 3]
            for j in range(w.shape[1] if i < w.shape[0] else 0):
                for k in range(w.shape[2]):
                    node, m = 2 * (i * strides[0] + j * strides[1] + k), (i, j, k)[a]
                    middle = phi[node + b + c]
                    if abs(middle) > far:
                        w[i, j, k] = 1.0 if middle > 0.0 else 0.0
                        continue
                    below, above = (-along if m > 0 else along), (along if m < cells[a] else -along)  # mirrored
                    w[i, j, k] = _refined_fraction(phi, node, below, above, b, c, mode)


@kernel(parallel=False)
def _refined_fraction(phi, node, below, above, b, c, mode):
    """The weight of a face whose lowest corner is `node`; the other strides lead half a cell on."""
    middle = node + b + c
    if mode == _VOXEL:
        return 1.0 if phi[middle + below] > 0.0 and phi[middle + above] > 0.0 else 0.0
    if mode == _LENGTH:
        here = np.float64(phi[middle])
        before, after = np.float64(phi[middle + below]), np.float64(phi[middle + above])
        w = 0.5 * (segment_fraction(here, before) + segment_fraction(here, after))
    else:
        if mode == _AREA:  # most faces are not cut
            low = high = phi[node]
            for corner in range(1, 9):
                value = phi[node + corner // 3 * b + corner % 3 * c]
                low, high = min(low, value), max(high, value)
            if low > 0.0 or high <= 0.0:
                return 1.0 if low > 0.0 else 0.0
        w = 0.0
        for quarter in (node, node + b, node + c, node + b + c):
            face = face_corners(phi, quarter, b, c)
            if mode == _AREA:
                w += 0.25 * rectangle_fraction(face[0], face[1], face[2], face[3])
            else:
                for side in (below, above):
                    beyond = face_corners(phi, quarter + side, b, c)
                    w += 0.125 * box_fraction(
                        face[0], face[1], face[2], face[3], beyond[0], beyond[1], beyond[2], beyond[3]
                    )
    return _clamped(w)


@kernel
def _open_fractions(out, phi, cells, mode):
    strides = ((cells[1] + 1) * (cells[2] + 1), cells[2] + 1, 1)
    for plane in prange(cells[0] + 1):
        i = np.int64(plane)
        for a in range(3):
            w = out[a]
            along, b, c = strides[a], strides[(a + 1) % 3], strides[(a + 2) % 3]
            if i < w.shape[0]:
                for j in range(w.shape[1]):
                    for k in range(w.shape[2]):
                        node = i * strides[0] + j * strides[1] + k
                        face = face_corners(phi, node, b, c)
                        low, high = min(face), max(face)
                        below = above = face
                        if mode != _AREA:
                            m = (i, j, k)[a]
                            back, forth = abs(m - 1) - m, cells[a] - abs(cells[a] - m - 1) - m  # mirrored at the sides
                            below = face_corners(phi, node + back * along, b, c)
                            above = face_corners(phi, node + forth * along, b, c)
                            low = min(low, min(below), min(above))
                            high = max(high, max(below), max(above))
                        if low > 0.0:
                            w[i, j, k] = 1.0
                        elif high <= 0.0:
                            w[i, j, k] = 0.0
                        else:
                            w[i, j, k] = _clamped(
                                _cut_fraction(below, face, above, mode)
                                * _part_of_its_side(phi, cells, a, face, i, j, k)
                            )


@kernel(parallel=False)
def _part_of_its_side(phi, cells, axis, face, i, j, k):
    """What is left of a cut face's open area if its cells belong to one side of a wall each: see `open_side`."""
    nodes = phi.reshape(cells[0] + 1, cells[1] + 1, cells[2] + 1)
    b, c = (axis + 1) % 3, (axis + 2) % 3
    mine = 15  # the corners of the face, as `face_corners` goes round it
    for end in range(2):
        cell = (i - end * (axis == 0), j - end * (axis == 1), k - end * (axis == 2))
        if cell[axis] < 0 or cell[axis] >= cells[axis]:
            continue
        side = open_side(nodes, cell[0], cell[1], cell[2])
        for corner in range(4):
            at = (end << (2 - axis)) | ((corner == 1 or corner == 2) << (2 - b)) | ((corner >= 2) << (2 - c))
            if face[corner] > 0.0 and not side >> at & 1:
                mine &= ~(1 << corner)
    if mine == 15:
        return 1.0
    before = rectangle_fraction(face[0], face[1], face[2], face[3])
    left = (
        face[0] if mine & 1 else -abs(face[0]),
        face[1] if mine & 2 else -abs(face[1]),
        face[2] if mine & 4 else -abs(face[2]),
        face[3] if mine & 8 else -abs(face[3]),
    )
    return rectangle_fraction(left[0], left[1], left[2], left[3]) / before if before > 0.0 else 1.0


@kernel(parallel=False)
def face_corners(phi, node, b, c):
    """φ at the four nodes of a face, going round it: from its lowest node, with the strides of the other two axes."""
    return (
        np.float64(phi[node]),
        np.float64(phi[node + b]),
        np.float64(phi[node + b + c]),
        np.float64(phi[node + c]),
    )


@kernel(parallel=False)
def _cut_fraction(below, face, above, mode):
    """The weight of a face that the solid's surface may cut, from the nodes of three faces in a row."""
    if mode == _AREA:
        w = rectangle_fraction(face[0], face[1], face[2], face[3])
    elif mode == _VOLUME:
        w = 0.5 * (_half_box(face, below) + _half_box(face, above))
    else:
        middle = corner_mean(face)
        before, after = 0.5 * (middle + corner_mean(below)), 0.5 * (middle + corner_mean(above))
        if mode == _LENGTH:
            w = 0.5 * (segment_fraction(middle, before) + segment_fraction(middle, after))
        else:
            w = 1.0 if before > 0.0 and after > 0.0 else 0.0
    return _clamped(w)


@kernel(parallel=False)
def _clamped(w):
    if w < SMALLEST:
        return 0.0
    if w > 1.0 - SMALLEST:
        return 1.0
    return w


@kernel(parallel=False)
def _half_box(face, beyond):
    """Open part of the box between a face and the mid-plane of the cell that ends at the face `beyond`."""
    return box_fraction(
        face[0],
        face[1],
        face[2],
        face[3],
        0.5 * (face[0] + beyond[0]),
        0.5 * (face[1] + beyond[1]),
        0.5 * (face[2] + beyond[2]),
        0.5 * (face[3] + beyond[3]),
    )


@kernel(parallel=False)
def corner_mean(face):
    """φ at the centre of a face, from its four corners."""
    return 0.25 * ((face[0] + face[2]) + (face[1] + face[3]))


@kernel(parallel=False)
def segment_fraction(a, b):
    """Part of a segment where the linear function with values a, b at its ends is positive."""
    low, high = min(a, b), max(a, b)
    if high <= 0.0:
        return 0.0
    if low >= 0.0:
        return 1.0
    return high / (high - low)


@kernel(parallel=False)
def triangle_fraction(a, b, c):
    """Part of a triangle where the linear function with values a, b, c at its corners is positive.

    With a ≤ b ≤ c, the small corner that is cut off at c is c²/((c − a)(c − b)) of the whole.
    """
    low, high = min(a, b, c), max(a, b, c)
    middle = max(min(a, b), min(max(a, b), c))
    if high <= 0.0:
        return 0.0
    if low >= 0.0:
        return 1.0
    if middle <= 0.0:
        return high * high / ((high - low) * (high - middle))
    return 1.0 - low * low / ((middle - low) * (high - low))


@kernel(parallel=False)
def tetrahedron_fraction(a, b, c, d):
    """Part of a tetrahedron where the linear function with values a, b, c, d at its corners is positive.

    It is the divided difference of max(x, 0)³ over the four values; sorted, and
    written without subtracting what is nearly equal.
    """
    a, b = min(a, b), max(a, b)
    c, d = min(c, d), max(c, d)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    b, c = min(b, c), max(b, c)
    if d <= 0.0:
        return 0.0
    if a >= 0.0:
        return 1.0
    if c <= 0.0:
        return d * d * d / ((d - a) * (d - b) * (d - c))
    if b > 0.0:
        return 1.0 + a * a * a / ((b - a) * (c - a) * (d - a))
    cut = c * c * d * d - c * d * (a + b) * (c + d) + a * b * (c * c + c * d + d * d)
    return cut / ((c - a) * (c - b) * (d - a) * (d - b))


@kernel(parallel=False)
def rectangle_fraction(a, b, c, d):
    """Part of a rectangle, corners a, b, c, d in turn, that is positive on four triangles about its centre."""
    if min(a, b, c, d) > 0.0:
        return 1.0
    if max(a, b, c, d) <= 0.0:
        return 0.0
    centre = 0.25 * ((a + c) + (b + d))
    one, two = triangle_fraction(a, b, centre), triangle_fraction(b, c, centre)
    three, four = triangle_fraction(c, d, centre), triangle_fraction(d, a, centre)
    return 0.25 * ((one + three) + (two + four))


@kernel(parallel=False)
def box_fraction(a, b, c, d, e, f, g, h):
    """Part of a box that is positive on 24 tetrahedra: edge, centre of a face, centre of the box.

    a, b, c, d are the corners of one face in turn, e, f, g, h those opposite to them.
    """
    if min(a, b, c, d, e, f, g, h) > 0.0:
        return 1.0
    if max(a, b, c, d, e, f, g, h) <= 0.0:
        return 0.0
    centre = 0.125 * ((a + g) + (b + h) + (c + e) + (d + f))
    total = 0.0
    for face in ((a, b, c, d), (e, f, g, h), (a, b, f, e), (d, c, g, h), (b, c, g, f), (a, d, h, e)):
        middle = corner_mean(face)
        for corner in range(4):
            total += tetrahedron_fraction(face[corner], face[(corner + 1) % 4], middle, centre)
    return total / 24.0
