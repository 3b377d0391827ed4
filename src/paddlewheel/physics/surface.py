"""The liquid's surface: its level set from particles, and its volume.

Particles come in the order of their cells (C order), with `first`, (nx ny nz + 1,)
int32: those of cell c are first[c] … first[c + 1] − 1.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.distance import CLOSED, UNKNOWN, grow, straighten_at_walls
from paddlewheel.grid.fractions import box_fraction
from paddlewheel.grid.plane import tangent_plane
from paddlewheel.grid.stencil import required, with_long_rows, with_rows
from paddlewheel.kernel import kernel, prange, words
from paddlewheel.types import Grid

__all__ = ["FAR", "liquid_volume", "surface_distance"]

FAR = 4.0  # cells: distance from the surface beyond which it is not told apart
_REACH = 1.5  # cells: of a particle, so that a centre sees those of its 27 neighbours and no others
_WIDE = 2.5  # the same where there is one in a cell: a centre sees those of 125
_LOW, _HIGH = -0.5, 1.0  # cells: between them the mean offset tells the distance; deeper down it hardly changes
_SPREAD = 0.04  # cells²: variance of the mean offset times Σ w; leaves −0.005 h of bias if seeded, −0.06 h if random
_WIDE_SPREAD = 0.2  # which leaves ±0.01 h of bias if seeded
_SPARSE = 0.25  # Σ w, of that inside liquid, below which that is not so: drops
# δ⁴ of the shortest bumps is 16 times their height, along each of the axes of a surface. What is left of them must not
# change sign: a surface that bulges where it is hollow pulls itself apart.
_SMOOTH = 1 / 48
_BEND = 0.6  # cells: a second difference this large is an edge or a sheet, and not a bump


def surface_distance(
    grid: Grid,
    position: np.ndarray,
    first: np.ndarray,
    solid: np.ndarray | None = None,
    *,
    per_cell: int = 8,
) -> np.ndarray:
    """The liquid's level set φ [m] at cell centres, float32, negative in liquid, from particles.

        φ(x) = f(|x̄ − x|),     x̄ = Σ w_p x_p / Σ w_p,     w = (1 − s²)³,  s = |x_p − x| / R,  R = 1.5 h

    after Zhu & Bridson 2005, but with the f that makes φ the distance above and
    below a flat surface. |x̄ − x|² is first reduced by its variance. Bumps of a
    cell's size are smoothed by φ −= δ⁴φ/48 along each axis, which leaves
    curvature alone, except across edges and thin sheets. That is done where
    −0.5 h < φ < h; three cells to both sides of it |∇φ| = 1, and ±4 h beyond.

    A single particle is a ball of radius 0.37 h. Where there is one in a cell, R = 2.5 h and its radius 0.62 h, as
    B08 §6 has it. Beyond the domain's sides, and
    beyond the tangent plane at solids of signed distance `solid` [m] at nodes,
    particles are mirrored. Air that is nearer to a wall than to the liquid sees
    only where the liquid ends at the wall; there the surface is carried on
    straight. In cells whose centre is in a solid φ says little. In 2-D the
    particles' z does not matter.
    """
    position, first = required(position, np.float32), required(first, np.int32)
    if position.shape[1:] != (3,) or first.shape != (math.prod(grid.shape) + 1,) or first[-1] != len(position):
        raise ValueError(f"position {position.shape}, first {first.shape}: expected (n, 3) and (cells + 1,)")
    if solid is None:
        solid = np.empty((0, 0, 0), np.float32)
    elif solid.shape != grid.node_shape:
        raise ValueError(f"solid of shape {solid.shape}: expected values at nodes, {grid.node_shape}")
    solid = required(solid, np.float32)

    h = np.float32(grid.h)
    phi, layer = np.empty(grid.shape, np.float32), np.empty(grid.shape, np.uint8)
    seen_by = _seen_by(per_cell > 1, grid.is_2d)
    near = _classified(phi, layer, first, solid, int(seen_by.reach), h)
    sparse = np.float32(_SPARSE * per_cell * seen_by.full)
    _offset_distances(phi, layer, near, position, first, grid.first, solid, seen_by, sparse, h)
    smooth = np.empty(len(near), np.float32)
    _without_bumps(smooth, near, phi, layer, h)
    phi.reshape(-1)[near] = smooth
    rows = phi
    if grid.is_2d:
        rows, layer, solid = (with_long_rows(field) for field in (phi, layer, solid))
    grow(rows, layer, 3, grid.h)
    if len(solid) > 0:
        straighten_at_walls(rows, solid, grid.h)
    return phi


class _Kernel(NamedTuple):
    """What a particle is seen by: how far [cells], the variance of the mean offset times Σ w [cells²], ∫ w [cells],
    and the distance [cells] above a half space of particles, as a table over |x̄ − x| from 0 to the reach."""

    reach: np.float32
    spread: np.float32
    full: float
    distance: np.ndarray


@cache
def _seen_by(many: bool, flat: bool, entries: int = 256) -> _Kernel:
    """The kernel for many particles in a cell, or for one, in 2-D if `flat`.

    A slice of it at height z weighs (1 − z²/R²)^n, n = 4 in 3-D, 7/2 in 2-D.
    """
    reach, spread = (_REACH, _SPREAD) if many else (_WIDE, _WIDE_SPREAD)
    z = np.linspace(-reach, reach, 8001)
    weight = np.maximum(0.0, 1 - (z / reach) ** 2) ** (3.5 if flat else 4.0)
    mass, moment = np.cumsum(weight), np.cumsum(weight * z)
    inside = slice(1, -1)
    distance, offset = -z[inside], -moment[inside] / mass[inside]  # of particles below −distance
    table = np.interp(np.linspace(0.0, reach, entries), offset[::-1], distance[::-1]).astype(np.float32)
    full = np.pi / 4 * reach**2 if flat else 64 / 315 * np.pi * reach**3
    return _Kernel(np.float32(reach), np.float32(spread), full, table)


def _classified(phi, layer, first, solid, reach, h) -> np.ndarray:
    """Indices of the cells in which φ is to be found; sets it, and the layer, in all others."""
    phi, layer = with_rows(phi), with_rows(layer)
    near, (wet, dry) = np.empty(phi.shape, np.bool_), np.empty((2, *phi.shape[:2], words(phi.shape[2])), np.uint64)
    _classify(phi, layer, near, wet, dry, first, with_rows(solid), reach, h)
    return near.reshape(-1).nonzero()[0]


@kernel
def _classify(phi, layer, near, wet, dry, first, solid, reach, h):
    """Which cells have both particles and an open empty cell within `reach` cells; φ in those that have not.

    wet and dry are memory for bits, 64 cells of a row in a word: it has particles; it has none and its centre is in no
    solid.
    """
    nx, ny, nz = phi.shape
    walled, words = solid.shape[0] > 0, wet.shape[2]
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            cell, mark = (i * ny + j) * nz, layer[i, j]
            for k in range(nz):
                mark[k] = UNKNOWN
            if walled:
                for k in range(nz):
                    if _center(solid, i, j, k) <= 0.0:
                        mark[k] = CLOSED
            for word in range(words):
                full = empty = np.uint64(0)
                for k in range(64 * word, min(64 * word + 64, nz)):
                    some = first[np.uint64(cell + k + 1)] > first[np.uint64(cell + k)]
                    full |= np.uint64(some) << np.uint64(k & 63)
                    empty |= np.uint64((not some) & (mark[np.uint64(k)] == UNKNOWN)) << np.uint64(k & 63)
                wet[i, j, word], dry[i, j, word] = full, empty
    for plane in prange(nx):
        i = np.int64(plane)
        far = reach + 1
        around, beside = np.empty(words, np.uint64), np.empty(words, np.uint64)
        for j in range(ny):
            for word in range(words):
                full = empty = np.uint64(0)
                for a in range(max(i - reach, 0), min(i + far, nx)):
                    for b in range(max(j - reach, 0), min(j + far, ny)):
                        full |= wet[a, b, word]
                        empty |= dry[a, b, word]
                around[word], beside[word] = full, empty
            for word in range(words):
                full, empty = around[word], beside[word]
                for step in range(1, far):
                    full |= _along_row(around, word, step) | _along_row(around, word, -step)
                    empty |= _along_row(beside, word, step) | _along_row(beside, word, -step)
                # A flat surface low in its cells leaves the cell below the last liquid one without an empty neighbour.
                empty |= dry[max(i - far, 0), j, word] | dry[min(i + far, nx - 1), j, word]
                empty |= dry[i, max(j - far, 0), word] | dry[i, min(j + far, ny - 1), word]
                empty |= _along_row(dry[i, j], word, far) | _along_row(dry[i, j], word, -far)
                both, begin = full & empty, 64 * word
                count = min(64, nz - begin)
                value, mark = phi[i, j, begin : begin + count], near[i, j, begin : begin + count]
                for k in range(count):
                    mark[k] = both >> np.uint64(k) & np.uint64(1)
                    value[k] = np.float32(-FAR) * h if full >> np.uint64(k) & np.uint64(1) else np.float32(FAR) * h


@kernel(parallel=False)
def _along_row(bits, word, step):
    """A word of a row whose bits are those `step` places on, zero beyond the ends."""
    if step > 0:
        later = bits[word + 1] << np.uint64(64 - step) if word + 1 < len(bits) else np.uint64(0)
        return bits[word] >> np.uint64(step) | later
    earlier = bits[word - 1] >> np.uint64(64 + step) if word > 0 else np.uint64(0)
    return bits[word] << np.uint64(-step) | earlier


@kernel(parallel=False)
def _center(solid, i, j, k):
    """A field at nodes at the centre of a cell."""
    low = solid[i, j, k] + solid[i, j, k + 1] + solid[i, j + 1, k] + solid[i, j + 1, k + 1]
    high = solid[i + 1, j, k] + solid[i + 1, j, k + 1] + solid[i + 1, j + 1, k] + solid[i + 1, j + 1, k + 1]
    return np.float32(0.125) * (low + high)


@kernel
def _offset_distances(phi, layer, near, position, first, lowest, solid, seen_by, sparse, h):
    ny, nz = phi.shape[1], phi.shape[2]
    reach, table = seen_by.reach, seen_by.distance
    per_table = np.float32(len(table) - 1) / reach
    for n in prange(len(near)):
        cell = np.int64(near[n])
        i, j, k = cell // (ny * nz), cell // nz % ny, cell % nz
        plane = _mirror(solid, i, j, k, reach, h)
        total, x, y, z = _weighted_sums(position, first, phi.shape, lowest, i, j, k, plane, reach, np.float32(1.0) / h)
        if total > 0.0:
            offset2 = (x * x + y * y + z * z) / (total * total) - seen_by.spread / max(total, sparse)
            at = np.sqrt(max(offset2, np.float32(0.0))) * per_table
            entry = min(int(at), len(table) - 2)
            part = at - np.float32(entry)
            distance = table[entry] + part * (table[entry + 1] - table[entry])
            phi[i, j, k] = h * distance if _LOW < distance < _HIGH else h * np.copysign(np.float32(FAR), distance)
            if _LOW < distance < _HIGH and layer[i, j, k] != CLOSED:
                layer[i, j, k] = 0
        else:
            phi[i, j, k] = np.float32(FAR) * h


@kernel(parallel=False)
def _mirror(solid, i, j, k, reach, h):
    """The tangent plane of a solid nearest to a cell: distance of the centre [cells], negative inside, and normal."""
    far = np.float32(2) * reach
    none = (far, np.float32(0), np.float32(0), np.float32(0))
    if solid.shape[0] == 0:
        return none
    distance, gx, gy, gz = tangent_plane(solid, i, j, k)
    slope = np.sqrt(gx * gx + gy * gy + gz * gz)
    if distance >= reach * h or slope == 0.0:
        return none
    return distance / h, gx / slope, gy / slope, gz / slope


@kernel(parallel=False)
def _weighted_sums(position, first, shape, lowest, i, j, k, plane, reach, per_h):
    """Σ w and Σ w (x_p − x) [cells] about the centre of a cell, over the cells within reach."""
    nx, ny, nz = shape
    total = x = y = z = np.float32(0)
    flat, beyond = nz == 1, np.int64(reach)
    per_reach2 = np.float32(1) / (reach * reach)
    for a in range(i - beyond, i + beyond + 1):
        ia, sx, ox = _reflected(a, i, nx, lowest[0], per_h)
        for b in range(j - beyond, j + beyond + 1):
            jb, sy, oy = _reflected(b, j, ny, lowest[1], per_h)
            row = (ia * ny + jb) * nz
            for c in range(k - beyond, k + beyond + 1):  # the cells inside together with k, and each one beyond a side
                kc, sz, oz = _reflected(c, k, nz, lowest[2], per_h)
                begin, end = first[row + kc], first[row + kc + 1]
                if c == k:
                    begin, end = first[row + max(k - beyond, 0)], first[row + min(k + beyond, nz - 1) + 1]
                elif 0 <= c < nz or flat:
                    continue
                if flat:
                    sz = oz = np.float32(0)
                add = _sums(position, begin, end, sx, ox, sy, oy, sz, oz, per_reach2)
                total, x, y, z = total + add[0], x + add[1], y + add[2], z + add[3]
                if plane[0] < reach:
                    add = _mirrored_sums(position, begin, end, sx, ox, sy, oy, sz, oz, plane, per_reach2)
                    total, x, y, z = total + add[0], x + add[1], y + add[2], z + add[3]
    return total, x, y, z


@kernel(parallel=False)
def _reflected(a, i, n, lowest, per_h):
    """Cell a of n, or the one it mirrors, and s, o so that s x + o are its particles' offsets from the centre of i."""
    o = -np.float32(lowest + i) - np.float32(0.5)
    if a < 0:
        return min(-1 - a, n - 1), -per_h, o + np.float32(2 * lowest)
    if a >= n:
        return max(2 * n - 1 - a, 0), -per_h, o + np.float32(2 * (lowest + n))
    return a, per_h, o


@kernel(parallel=False)
def _sums(position, begin, end, sx, ox, sy, oy, sz, oz, per_reach2):
    total = mx = my = mz = np.float32(0)
    for p in range(np.uint64(begin), np.uint64(end)):
        x, y, z = sx * position[p, 0] + ox, sy * position[p, 1] + oy, sz * position[p, 2] + oz
        w = _weight(x, y, z, per_reach2)
        total += w
        mx += w * x
        my += w * y
        mz += w * z
    return total, mx, my, mz


@kernel(parallel=False)
def _mirrored_sums(position, begin, end, sx, ox, sy, oy, sz, oz, plane, per_reach2):
    """The sums over the mirror images, behind a plane, of the particles in front of it."""
    total = mx = my = mz = np.float32(0)
    distance, nx, ny, nz = plane
    for p in range(np.uint64(begin), np.uint64(end)):
        x, y, z = sx * position[p, 0] + ox, sy * position[p, 1] + oy, sz * position[p, 2] + oz
        back = np.float32(2) * (distance + nx * x + ny * y + nz * z)
        if back > 0.0:
            x, y, z = x - back * nx, y - back * ny, z - back * nz
            w = _weight(x, y, z, per_reach2)
            total += w
            mx += w * x
            my += w * y
            mz += w * z
    return total, mx, my, mz


@kernel(parallel=False)
def _weight(x, y, z, per_reach2):
    s = max(np.float32(1) - (x * x + y * y + z * z) * per_reach2, np.float32(0))
    return s * s * s


@kernel
def _without_bumps(smooth, near, phi, layer, h):
    """φ − _SMOOTH Σ δ⁴φ over the axes along which five distances are known and there is no edge."""
    ny, nz = phi.shape[1], phi.shape[2]
    bend = np.float32(_BEND) * h
    for n in prange(len(near)):
        cell = np.int64(near[n])
        i, j, k = cell // (ny * nz), cell // nz % ny, cell % nz
        value = phi[i, j, k]
        smooth[n] = value
        if layer[i, j, k] == 0:
            for a in range(3):
                p2 = _along(phi, layer, i, j, k, a, -2)
                p1 = _along(phi, layer, i, j, k, a, -1)
                n1 = _along(phi, layer, i, j, k, a, 1)
                n2 = _along(phi, layer, i, j, k, a, 2)
                before, here, after = p2 - 2 * p1 + value, p1 - 2 * value + n1, value - 2 * n1 + n2
                if max(abs(before), abs(here), abs(after)) < bend:  # not where one is infinite or not a number
                    smooth[n] -= np.float32(_SMOOTH) * (before - 2 * here + after)


@kernel(parallel=False)
def _along(phi, layer, i, j, k, a, step):
    """φ `step` cells along axis a, mirrored at the sides; infinite if it is not known there."""
    i, j, k = i + step * (a == 0), j + step * (a == 1), k + step * (a == 2)
    i, j, k = _folded(i, phi.shape[0]), _folded(j, phi.shape[1]), _folded(k, phi.shape[2])
    return np.float32(np.inf) if layer[i, j, k] != 0 else phi[i, j, k]


@kernel(parallel=False)
def _folded(i, n):
    """The index that one beyond a side mirrors, at most two."""
    i = -1 - i if i < 0 else i
    i = 2 * n - 1 - i if i >= n else i
    return min(max(i, 0), n - 1)


def liquid_volume(phi: np.ndarray, solid: np.ndarray, h: float) -> float:
    """Volume [m³] of the liquid φ < 0 outside solids; φ [m] at centres, extended into solids, `solid` [m] at nodes.

    Summed over the boxes between eight centres, which need no average of φ; at
    the domain's sides, to which φ is continued linearly, they are halves. A box
    cut by both surfaces counts as the product of its two fractions. Exact for
    planes away from that, of second order for curved surfaces.
    """
    phi, solid = required(phi, np.float32), required(solid, np.float32)
    if phi.ndim != 3 or solid.shape != tuple(n + 1 for n in phi.shape):
        raise ValueError(f"phi of shape {phi.shape}, solid {solid.shape}: expected values at centres and at nodes")
    planes, flat = np.empty(solid.shape[0]), phi.shape[2] == 1 and np.array_equal(solid[:, :, 0], solid[:, :, 1])
    _plane_volumes(planes, phi, solid, np.float32(h), flat)
    return float(planes.sum()) * h**3


@kernel
def _plane_volumes(planes, phi, solid, h, flat):
    """Liquid boxes around the nodes of each plane, in units of a cell; if all is `flat`, both halves along z as one."""
    nx, ny, nz = phi.shape
    for plane in prange(nx + 1):
        i = np.int64(plane)
        low, high = np.empty(nz, np.float32), np.empty(nz, np.float32)
        total = 0.0
        for j in range(ny + 1):
            side = i == 0 or i == nx or j == 0 or j == ny
            i0, i1, j0, j1 = max(i - 1, 0), min(i, nx - 1), max(j - 1, 0), min(j, ny - 1)
            a, b, c, d = phi[i0, j0], phi[i0, j1], phi[i1, j0], phi[i1, j1]
            for k in range(nz):
                low[k], high[k] = min(a[k], b[k], c[k], d[k]), max(a[k], b[k], c[k], d[k])
            size = (0.5 if i == 0 or i == nx else 1.0) * (0.5 if j == 0 or j == ny else 1.0)
            for k in range(1 if flat else nz + 1):
                k0, k1 = max(k - 1, 0), min(k, nz - 1)
                end = not flat and (k == 0 or k == nz)
                # what is continued may change its sign; in a plane it is the same on both ends
                margin = np.float32(1.5) * h if side or (end and nz > 1) else np.float32(0)
                if min(low[k0], low[k1]) < margin and solid[i, j, k] > -h:  # a corner is 0.87 h away
                    part = size * (0.5 if end else 1.0)
                    if max(high[k0], high[k1]) >= -margin:
                        part *= 1.0 - _box_around(phi, solid, i, j, k, h, True)
                    if part > 0.0 and solid[i, j, k] < h:
                        part *= _box_around(phi, solid, i, j, k, h, False)
                    total += part
        planes[plane] = total


@kernel(parallel=False)
def _box_around(phi, solid, i, j, k, h, liquid):
    """Positive part of φ, or of the solid's distance, in the box around a node."""
    v = np.empty(8)
    for corner in range(8):
        at = i - 1 + (corner >> 2), j - 1 + (corner >> 1 & 1), k - 1 + (corner & 1)
        v[corner] = _continued(phi, at, h) if liquid else _mean_of_nodes(solid, at)
    return box_fraction(v[0], v[1], v[3], v[2], v[4], v[5], v[7], v[6])


@kernel(parallel=False)
def _continued(phi, at, h):
    """φ at a cell's centre, or for an index beyond a side, on the side: linear, not steeper than a distance."""
    i, j, k = _clamped(at[0], phi.shape[0]), _clamped(at[1], phi.shape[1]), _clamped(at[2], phi.shape[2])
    value = np.float64(phi[i, j, k])
    center = value
    for a in range(3):
        if not 0 <= at[a] < phi.shape[a]:
            inward = 1 if at[a] < 0 else -1
            i1 = _clamped(i + inward * (a == 0), phi.shape[0])
            j1 = _clamped(j + inward * (a == 1), phi.shape[1])
            k1 = _clamped(k + inward * (a == 2), phi.shape[2])
            value += 0.5 * min(max(center - phi[i1, j1, k1], -h), h)
    return value


@kernel(parallel=False)
def _clamped(i, n):
    return min(max(i, 0), n - 1)


@kernel(parallel=False)
def _mean_of_nodes(solid, at):
    """A field at nodes at a cell's centre, or for an index beyond a side, on the side."""
    total = 0.0
    for corner in range(8):
        i = _clamped(at[0] + (corner >> 2), solid.shape[0])
        j = _clamped(at[1] + (corner >> 1 & 1), solid.shape[1])
        k = _clamped(at[2] + (corner & 1), solid.shape[2])
        total += solid[i, j, k]
    return 0.125 * total
