"""Motion with the flow: particles forwards, velocity backwards.

Both follow dx/dt = u(x) through the field of one step by Runge–Kutta, with two
stages (the midpoint rule) or with three (Ralston's method of third order). All
is computed in cells and in parts of the step.
"""

import math

import numpy as np

from paddlewheel.grid.centroid import Centroids, recentered
from paddlewheel.grid.sample import face_value, node_value
from paddlewheel.grid.stencil import as_faces
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import AXES, SIDES, Boundary, Faces, Grid

__all__ = ["move", "semi_lagrangian"]

EDGE = 1e-4  # cells a particle keeps from the closed sides of the domain
HAIR = 1e-3  # cells a particle that met a solid keeps from it
DEEPEST = 3.0  # cells; a particle deeper in a solid than this is not pushed out
_STRIDE = 0.25  # cells a particle goes at a time beside a solid, so that it meets a wall one cell thick
_STRIDES = 2000  # at most
_ROUND = 0.5 * np.sqrt(3.0)  # cells from a point to its nearest node, at most
_REACH = 0.05  # cells to both sides over which a slope of φ is taken
_FARTHEST = 1e12  # cells²; no particle goes so far in a step
_BLOCK = 512  # particles at a time
_CHUNK = 32 * _BLOCK  # of one thread

# Ralston's steps are ½ and ¾; the midpoint rule is his first two.
_STEPS = (0.0, 0.5, 0.75)
_WEIGHTS = ((0.0, 1.0, 0.0), (2 / 9, 3 / 9, 4 / 9))

# Rows of the numbers of many points: three coordinates or components each; of the parts twice three, see _find.
_START, _PLACE, _FLOW, _PART, _GONE, _FAR, _ROWS = 0, 3, 6, 9, 15, 18, 19
_INDICES = 6
_ZERO = np.float32(0)


def move(
    grid: Grid,
    position: np.ndarray,
    velocity: Faces,
    boundary: Boundary,
    dt: float,
    *,
    open_sides=frozenset(),
    stages: int = 2,
    centroids: Centroids | None = None,
) -> int:
    """Carry particles at `position` [m], (n, 3) float32, with the flow for dt [s], in place.

    They slide along solids, where φ = 0 between the nodes, and along the closed
    sides of the domain; through an open one they leave, and are left there. A
    particle that a solid has moved onto may start inside: it is pushed out at
    the end. Returns how many are still inside, those deeper than DEEPEST cells
    or wedged in. With `centroids` the velocity's samples are at the centroids
    of the open parts of faces (R05). In 2-D z is the middle of the slab.
    """
    if position.dtype != np.float32 or position.ndim != 2 or position.shape[1] != 3 or not position.flags.c_contiguous:
        raise ValueError(f"position is {position.dtype} of shape {position.shape}, expected contiguous float32 (n, 3)")
    velocity = _checked(grid, velocity, dt, stages)
    if boundary.phi.shape != grid.node_shape:
        raise ValueError(f"boundary was measured on another grid: {boundary.phi.shape} nodes, not {grid.node_shape}")
    if centroids is not None:
        velocity = recentered(velocity, centroids)
    low, high = _limits(grid, open_sides)
    counts = np.zeros((-(-len(position) // _CHUNK), 2), np.int64)
    spread = next(n for n in range(int(0.618 * len(counts)), len(counts) + 2) if math.gcd(n, len(counts)) == 1)
    phi = np.require(boundary.phi, np.float32, "CAW")
    _move(position, counts, velocity, _flat(velocity), phi, grid.h, dt / grid.h, stages, low, high, spread)
    inside, astray = counts.sum(axis=0).tolist()
    if astray:
        raise ValueError(f"{astray} of {len(position)} particles have no finite position or velocity")
    return inside


def semi_lagrangian(grid: Grid, velocity: Faces, dt: float, *, stages: int = 2, where: Faces | None = None) -> Faces:
    """Velocity [m/s], float32, after dt [s] of moving with itself:  u(x, t + dt) = u(x*, t).

    x* is where the flow through a face came from, traced back through the field
    and kept in the domain. Only faces where `where` is True change, if given.
    """
    velocity = _checked(grid, velocity, dt, stages)
    out = Faces(*(u.copy() for u in velocity))
    where = as_faces(where or Faces(*(np.ones(u.shape, bool) for u in velocity)), bool)
    if where.x.shape != velocity.x.shape:
        raise ValueError(f"where.x has shape {where.x.shape}: expected {velocity.x.shape}")
    _trace_back(out, _flat(velocity), where, -dt / grid.h, stages, grid.shape)
    return out


def _checked(grid, velocity, dt, stages) -> Faces:
    if not isinstance(dt, int | float | np.number) or not (np.isfinite(dt) and dt >= 0):
        raise ValueError(f"dt={dt!r}: expected a time in seconds")
    if stages not in (2, 3):
        raise ValueError(f"stages={stages!r}: expected 2 or 3")
    velocity = as_faces(velocity, np.float32)
    if velocity.x.shape != grid.face_shape(0):
        raise ValueError(f"velocity.x has shape {velocity.x.shape}: expected {grid.face_shape(0)}")
    return velocity


def _flat(velocity) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(u.reshape(-1) for u in velocity)


def _limits(grid, open_sides) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Lowest and highest coordinates [cells] that the sides leave to particles."""
    unknown = set(open_sides) - set(SIDES)
    if isinstance(open_sides, str) or unknown:
        raise ValueError(f"open_sides={open_sides!r}: expected a set of {', '.join(SIDES)}")
    low = [-np.inf if f"-{axis}" in open_sides else EDGE for axis in AXES]
    high = [np.inf if f"+{axis}" in open_sides else n - EDGE for axis, n in zip(AXES, grid.shape, strict=True)]
    if grid.is_2d:
        low[2] = high[2] = 0.5
    return tuple(low), tuple(high)


@kernel
def _move(position, counts, velocity, flat, phi, h, scale, stages, low, high, spread):
    """counts has a row for each chunk of particles; `spread` has no divisor in common with their number."""
    for turn in prange(len(counts)):
        chunk = np.int64(turn) * spread % len(counts)  # particles beside solids cost more: each thread has its share
        rows, index = np.empty((_ROWS, _BLOCK), np.float32), np.empty((_INDICES, _BLOCK), np.int32)
        end = min((chunk + 1) * _CHUNK, len(position))
        for start in range(chunk * _CHUNK, end, _BLOCK):
            n = min(end - start, _BLOCK)
            _move_block(
                position[start : start + n], counts[chunk], rows, index, velocity, flat, phi,
                h, scale, stages, low, high,
            )  # fmt: skip


@kernel(parallel=False)
def _move_block(position, count, rows, index, velocity, flat, phi, h, scale, stages, low, high):
    """Move a few particles; count those that end inside a solid, and those that are not finite."""
    per_h = 1.0 / h
    ni, nj, nk = phi.shape
    for a in range(3):
        for p in range(len(position)):
            rows[_START + a, p] = per_h * position[p, a]
    _go(rows, index, len(position), flat, (ni - 1, nj - 1, nk - 1), scale, stages)
    for p in range(len(position)):
        x0, y0, z0 = position[p, 0], position[p, 1], position[p, 2]
        x, y, z = per_h * x0, per_h * y0, per_h * z0
        if not x * x + y * y + z * z + rows[_FAR, p] < _FARTHEST:  # nor for NaN
            count[1] += 1
            continue
        dx, dy, dz = rows[_GONE, p], rows[_GONE + 1, p], rows[_GONE + 2, p]
        x1, y1, z1 = _kept(x + dx, y + dy, z + dz, low, high)
        i = np.uint64(np.int64(min(max(x + 0.5, 0.0), ni - 1.0)))
        j = np.uint64(np.int64(min(max(y + 0.5, 0.0), nj - 1.0)))
        k = np.uint64(np.int64(min(max(z + 0.5, 0.0), nk - 1.0)))
        away = per_h * phi[i, j, k] - _ROUND
        length2 = dx * dx + dy * dy + dz * dz
        # φ changes by no more than the way gone: mostly one look shows that there is nothing to meet
        if not (away > 0.0 and away * away > length2) and not _is_clear(phi, per_h, x, y, z, x1, y1, z1):
            x1, y1, z1, inside = _march(velocity, phi, per_h, scale, stages, low, high, x, y, z, np.sqrt(length2))
            count[0] += inside
        # not h x₁, which would round the way gone to the precision of the place
        position[p, 0], position[p, 1], position[p, 2] = x0 + h * (x1 - x), y0 + h * (y1 - y), z0 + h * (z1 - z)


@kernel(parallel=False)
def _go(rows, index, n, flat, cells, scale, stages):
    """The way that n points _START go in a step, _GONE [cells], and the squares of their stages' velocities, _FAR.

    Operation by operation for many points is more than twice as fast as point by point. Rows are passed whole: a part
    of them would not be contiguous any more.
    """
    rows[_FLOW : _FLOW + 3] = 0.0
    rows[_GONE : _FAR + 1] = 0.0
    for stage in range(stages):
        step, weight = _STEPS[stage] * scale, _WEIGHTS[stages - 2][stage] * scale
        step, weight, scale2 = np.float32(step), np.float32(weight), np.float32(scale * scale)
        for a in range(3):
            for p in range(n):
                rows[_PLACE + a, p] = rows[_START + a, p] + step * rows[_FLOW + a, p]
        _find(rows, index, n, cells)
        for a in range(3):
            _fetch(rows[_FLOW + a], rows, index, n, flat[a], cells, a)
            for p in range(n):
                rows[_GONE + a, p] += weight * rows[_FLOW + a, p]
                rows[_FAR, p] += scale2 * rows[_FLOW + a, p] * rows[_FLOW + a, p]


@kernel(parallel=False)
def _find(rows, index, n, cells):
    """Where the points _PLACE lie along each axis between planes of faces, and between centres: index and part."""
    for a in range(3):
        for kind in range(2):
            place, low, part = rows[_PLACE + a], index[3 * kind + a], rows[_PART + 3 * kind + a]
            last, shift = np.float32(cells[a] - kind), np.float32(0.5 * kind)
            most = np.int32(max(cells[a] - kind - 1, 0))
            for p in range(n):
                x = place[p] - shift
                x = min(x if x > _ZERO else _ZERO, last)  # _ZERO for NaN
                low[p] = min(np.int32(x), most)
                part[p] = x - np.float32(low[p])


@kernel(parallel=False)
def _fetch(out, rows, index, n, u, cells, a):
    """Component a at the points that _find has found, trilinear; u is faces[a], flattened."""
    kinds = (int(a != 0), int(a != 1), int(a != 2))
    i, j, k = index[3 * kinds[0]], index[3 * kinds[1] + 1], index[3 * kinds[2] + 2]
    fx, fy, fz = rows[_PART + 3 * kinds[0]], rows[_PART + 3 * kinds[1] + 1], rows[_PART + 3 * kinds[2] + 2]
    nj, nk = cells[1] + (a == 1), cells[2] + (a == 2)
    # the way to the next sample; none where there is only one
    si, sj, sk = np.uint64(nj * nk), np.uint64(nk), np.uint64(1)
    si *= np.uint64(cells[0] - kinds[0] > 0)
    sj *= np.uint64(cells[1] - kinds[1] > 0)
    sk *= np.uint64(cells[2] - kinds[2] > 0)
    for p in range(n):
        one = np.uint64((i[p] * nj + j[p]) * nk + k[p])
        two, three = one + sj, one + si
        four = three + sj
        a1 = u[one] + fz[p] * (u[one + sk] - u[one])
        a2 = u[two] + fz[p] * (u[two + sk] - u[two])
        a3 = u[three] + fz[p] * (u[three + sk] - u[three])
        a4 = u[four] + fz[p] * (u[four + sk] - u[four])
        a1 += fy[p] * (a2 - a1)
        a3 += fy[p] * (a4 - a3)
        out[p] = a1 + fx[p] * (a3 - a1)


@kernel(parallel=False)
def _displacement(velocity, x, y, z, scale, stages):
    """Way gone from a point in a step [cells], and the sum of the squares of its stages' velocities.

    velocity × scale is in cells per step. A stage that is not finite is the last, or it would lead out of memory.
    """
    u, v, w = _velocity(velocity, x, y, z, scale)
    far2 = u * u + v * v + w * w
    if not far2 < _FARTHEST:
        return 0.0, 0.0, 0.0, far2
    u2, v2, w2 = _velocity(velocity, x + 0.5 * u, y + 0.5 * v, z + 0.5 * w, scale)
    far2 += u2 * u2 + v2 * v2 + w2 * w2
    if stages == 2 or not far2 < _FARTHEST:
        return u2, v2, w2, far2
    u3, v3, w3 = _velocity(velocity, x + 0.75 * u2, y + 0.75 * v2, z + 0.75 * w2, scale)
    far2 += u3 * u3 + v3 * v3 + w3 * w3
    dx = (2.0 * u + 3.0 * u2 + 4.0 * u3) / 9.0
    dy = (2.0 * v + 3.0 * v2 + 4.0 * v3) / 9.0
    dz = (2.0 * w + 3.0 * w2 + 4.0 * w3) / 9.0
    return dx, dy, dz, far2


@kernel(parallel=False)
def _velocity(velocity, x, y, z, scale):
    return (
        scale * face_value(velocity[0], 0, x, y, z),
        scale * face_value(velocity[1], 1, x, y, z),
        scale * face_value(velocity[2], 2, x, y, z),
    )


@kernel(parallel=False)
def _is_clear(phi, per_h, x, y, z, x1, y1, z1):
    """Whether no solid is on the way between two points: the free balls around them overlap."""
    if _outside(phi, x1, y1, z1):
        return False
    one, two = per_h * node_value(phi, x, y, z), per_h * node_value(phi, x1, y1, z1)
    length2 = (x1 - x) ** 2 + (y1 - y) ** 2 + (z1 - z) ** 2
    return one > HAIR and two > HAIR and (one + two) ** 2 > length2


@kernel(parallel=False)
def _march(velocity, phi, per_h, scale, stages, low, high, x, y, z, speed):
    """The end of a path beside solids [cells], and whether it lies inside one.

    The path is cut into strides that cannot pass through a wall. Each ends
    where φ is no less than at its start or than HAIR; if that cannot be had,
    the particle stays where it was. `speed` [cells per step] is a first guess.
    """
    left, distance = 1.0, per_h * node_value(phi, x, y, z)
    for _ in range(_STRIDES):
        reach = max(_STRIDE, distance)
        part = min(left, reach / max(speed, 1e-9))
        dx, dy, dz, _ = _displacement(velocity, x, y, z, scale * part, stages)
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        speed = length / part
        if length > reach:  # the flow is faster than it was a stride before
            dx, dy, dz, part = dx * reach / length, dy * reach / length, dz * reach / length, part * reach / length
        left -= part
        x1, y1, z1 = _kept(x + dx, y + dy, z + dz, low, high)
        if _outside(phi, x1, y1, z1):
            return x1, y1, z1, 0
        level = min(HAIR, distance)
        x1, y1, z1, reached = _lifted(phi, per_h, low, high, x1, y1, z1, level, 4)
        if reached < level:
            break
        x, y, z, distance = x1, y1, z1, reached
        if left <= 0.0:
            break
    if -DEEPEST <= distance < 0.0:
        x, y, z, distance = _lifted(phi, per_h, low, high, x, y, z, 0.5 * HAIR, 40)
    return x, y, z, int(distance < 0.0)


@kernel(parallel=False)
def _lifted(phi, per_h, low, high, x, y, z, level, most):
    """A point moved along ∇φ until φ is at least `level` [cells], in `most` turns at most; and its φ [cells].

    Along a closed side that it is pressed against it slides.
    """
    distance = per_h * node_value(phi, x, y, z)
    for _ in range(most):
        if distance >= level:
            break
        gx, gy, gz = _slope(phi, per_h, x, y, z)
        gx = 0.0 if (x <= low[0] and gx < 0.0) or (x >= high[0] and gx > 0.0) else gx
        gy = 0.0 if (y <= low[1] and gy < 0.0) or (y >= high[1] and gy > 0.0) else gy
        gz = 0.0 if (z <= low[2] and gz < 0.0) or (z >= high[2] and gz > 0.0) else gz
        # A slope below ½ is that of a ridge in the middle of a wall: no reason to go far.
        way = (level + 0.1 * HAIR - distance) / max(gx * gx + gy * gy + gz * gz, 0.25)
        x, y, z = _kept(x + way * gx, y + way * gy, z + way * gz, low, high)
        distance = per_h * node_value(phi, x, y, z)
    return x, y, z, distance


@kernel(parallel=False)
def _slope(phi, per_h, x, y, z):
    """∇φ at a point of the domain, from differences over a short way; of one side at the domain's sides."""
    ni, nj, nk = phi.shape
    x0, x1 = max(x - _REACH, 0.0), min(x + _REACH, ni - 1.0)
    y0, y1 = max(y - _REACH, 0.0), min(y + _REACH, nj - 1.0)
    z0, z1 = max(z - _REACH, 0.0), min(z + _REACH, nk - 1.0)
    gx = per_h * (node_value(phi, x1, y, z) - node_value(phi, x0, y, z)) / (x1 - x0)
    gy = per_h * (node_value(phi, x, y1, z) - node_value(phi, x, y0, z)) / (y1 - y0)
    gz = per_h * (node_value(phi, x, y, z1) - node_value(phi, x, y, z0)) / (z1 - z0)
    return gx, gy, gz


@kernel(parallel=False)
def _kept(x, y, z, low, high):
    return min(max(x, low[0]), high[0]), min(max(y, low[1]), high[1]), min(max(z, low[2]), high[2])


@kernel(parallel=False)
def _outside(phi, x, y, z):
    ni, nj, nk = phi.shape
    return x < 0.0 or y < 0.0 or z < 0.0 or x > ni - 1.0 or y > nj - 1.0 or z > nk - 1.0


@kernel
def _trace_back(out, flat, where, scale, stages, cells):
    """scale is minus the step over h."""
    for plane in prange(out[0].shape[0]):
        i = np.int64(plane)
        rows, index = np.empty((_ROWS, cells[2] + 1), np.float32), np.empty((_INDICES, cells[2] + 1), np.int32)
        for a in range(3):
            ni, nj, nk = out[a].shape
            if i < ni:
                for j in range(nj):
                    row, chosen = out[a][i, j], where[a][i, j]
                    if chosen.any():
                        _fetch_back(rows, index, nk, flat, a, i, j, scale, stages, cells)
                        for k in range(nk):
                            if chosen[k]:
                                row[k] = rows[_FLOW, k]


@kernel(parallel=False)
def _fetch_back(rows, index, n, flat, a, i, j, scale, stages, cells):
    """Component a where the flow through the row (i, j) of its faces comes from, in the row _FLOW."""
    for k in range(n):
        rows[_START, k], rows[_START + 1, k], rows[_START + 2, k] = (
            i + 0.5 * (a != 0),
            j + 0.5 * (a != 1),
            k + 0.5 * (a != 2),
        )
    _go(rows, index, n, flat, cells, scale, stages)
    for b in range(3):
        for k in range(n):
            place = rows[_START + b, k] + rows[_GONE + b, k]
            rows[_PLACE + b, k] = min(max(place, _ZERO), np.float32(cells[b]))
    _find(rows, index, n, cells)
    _fetch(rows[_FLOW], rows, index, n, flat[a], cells, a)
