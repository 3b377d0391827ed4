"""Motion with the flow: particles forwards, velocity backwards.

Both follow dx/dt = u(x) through the field of one step by Runge–Kutta, with one
stage (Euler's rule, enough for short ways), with two (the midpoint rule) or with
three (Ralston's method of third order). All is computed in cells and in parts of the step.
"""

import math

import numpy as np

from paddlewheel.grid.centroid import Centroids, recentered
from paddlewheel.grid.sample import node_value
from paddlewheel.grid.stencil import as_faces, required
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import AXES, SIDES, Boundary, Faces, Grid, Passing

__all__ = ["move", "semi_lagrangian"]

EDGE = 1e-4  # cells a particle keeps from the closed sides of the domain
HAIR = 1e-3  # cells a particle that met a solid keeps from it
DEEPEST = 3.0  # cells; a particle deeper in a solid than this is not pushed out
_STRIDE = 0.25  # cells a particle goes at a time beside a solid, so that it meets a wall one cell thick
_STRIDES = 2000  # at most
_ROUND = 0.5 * np.sqrt(3.0) + 1e-4  # cells from a point to its nearest node, at most, and some rounding
_REACH = 0.05  # cells to both sides over which a slope of φ is taken
_FARTHEST = 1e12  # cells²; no particle goes so far in a step
_BLOCK = 512  # particles at a time
_CHUNK = 32 * _BLOCK  # of one thread
_BATCH = 128  # faces at a time

# Ralston's steps are ½ and ¾; the midpoint rule is his first two.
_STEPS = (0.0, 0.5, 0.75)
_WEIGHTS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (2 / 9, 3 / 9, 4 / 9))

# Rows of the numbers of many points: three coordinates or components each; of the parts twice three, see _find.
_START, _PLACE, _FLOW, _PART, _GONE, _FAR, _SCALE, _AWAY, _ALONG, _AHEAD, _ROWS, _INDICES = (
    0, 3, 6, 9, 15, 18, 19, 20, 21, 24, 25, 6,
)  # fmt: skip

# And of those beside solids: their place, φ there, what is left of the step, the part of it in this stride, speed, and
# how far a solid takes them along in the step.
_DISTANCE, _LEFT, _SHARE, _SPEED, _TAKEN, _STAGED, _PATH = 3, 4, 5, 6, 7, 10, 11
_ZERO, _HALF = np.float32(0), np.float32(0.5)


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
    passing: Passing | None = None,
    near: np.ndarray | None = None,
) -> int:
    """Carry particles at `position` [m], (n, 3) float32, with the flow for dt [s], in place.

    They slide along solids, where φ = 0 between the nodes, and along the closed
    sides of the domain; through an open one they leave, and are left there. A
    particle that a solid has moved onto may start inside: it is pushed out at
    the end. Returns how many are still inside, those deeper than DEEPEST cells
    or wedged in. With `centroids` the velocity's samples are at the centroids
    of the open parts of faces (R05). In 2-D z is the middle of the slab.

    The boundary is that at the end of the step. A solid that moves by cells in it
    may by then have passed a particle altogether. So those in cells beside one that is
    `passing` go in its frame: there it stands still, and so about does the flow around it, so that one stage is enough.

    near, (n,) bool if given, is set to False for those that have come no nearer to a solid than half a cell's diagonal.
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
    phi = required(boundary.phi, np.float32)
    near = np.empty(len(position), np.bool_) if near is None else near
    along = _in_cells(grid, passing)
    _move(position, near, counts, _flat(velocity), phi, grid.h, dt / grid.h, stages, low, high, along, spread)
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
    if stages not in (1, 2, 3):
        raise ValueError(f"stages={stages!r}: expected 1, 2 or 3")
    velocity = as_faces(velocity, np.float32)
    if velocity.x.shape != grid.face_shape(0):
        raise ValueError(f"velocity.x has shape {velocity.x.shape}: expected {grid.face_shape(0)}")
    return velocity


def _flat(velocity) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(u.reshape(-1) for u in velocity)


def _in_cells(grid, passing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which solid takes the particles of each cell along, flattened, and how far: turn x + shift [cells]."""
    if passing is None:
        return np.empty(0, np.int16), np.empty((0, 3, 3)), np.empty((0, 3))
    if passing.which.shape != grid.shape:
        raise ValueError(f"passing solids are known in {passing.which.shape} cells, expected {grid.shape}")
    return passing.which.reshape(-1), passing.turn, passing.shift / grid.h


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
def _move(position, near, counts, flat, phi, h, scale, stages, low, high, passing, spread):
    """First all particles of a block go the whole way. Those that may have met a solid on it wait until there are many,
    or no others in their chunk, and start again.

    counts has a row for each chunk of particles; `spread` has no divisor in common with their number.
    """
    for turn in prange(len(counts)):
        chunk = np.int64(turn) * spread % len(counts)  # particles beside solids cost more: each thread has its share
        rows, index = np.empty((_ROWS, 2 * _BLOCK), np.float32), np.empty((_INDICES, 2 * _BLOCK), np.int32)
        path, who, clear = np.empty((_PATH, 2 * _BLOCK)), np.empty(2 * _BLOCK, np.int64), np.empty(_BLOCK, np.bool_)
        end, waiting = min((chunk + 1) * _CHUNK, len(position)), 0
        for start in range(chunk * _CHUNK, end, _BLOCK):
            stop = min(start + _BLOCK, end)
            _set_out(position[start:stop], rows, index, flat, phi, h, scale, stages, passing)
            waiting, astray = _fly(
                position[start:stop], near[start:stop], clear, rows, index, path, who, start, waiting, phi, h, low, high
            )
            counts[chunk, 1] += astray
            if waiting > _BLOCK or stop == end:
                counts[chunk, 0] += _march(
                    position, waiting, rows, index, path, who, flat, phi, h, scale, stages, low, high
                )
                waiting = 0


@kernel(parallel=False)
def _set_out(block, rows, index, flat, phi, h, scale, stages, passing):
    """Where the particles of a block start, and the way they go from there.

    Those that a solid takes along start where it takes them, and go the rest of the way there.
    """
    per_h, n, cells = 1.0 / h, len(block), (phi.shape[0] - 1, phi.shape[1] - 1, phi.shape[2] - 1)
    for p in range(n):
        rows[_SCALE, p] = scale
        for a in range(3):
            rows[_START + a, p] = block[p, a] * per_h
    taken = _take_along(rows, index, n, cells, *passing)
    _go(rows, index, n, flat, cells, stages)
    for a in range(3 if taken else 0):
        for p in range(n):
            rows[_START + a, p] += rows[_ALONG + a, p]
            rows[_GONE + a, p] -= rows[_ALONG + a, p]


@kernel(parallel=False)
def _march(position, n, rows, index, path, who, flat, phi, h, scale, stages, low, high):
    """Move the n particles on the list `who` with strides that cannot pass through a wall; how many end inside."""
    cells, inside, strides = (phi.shape[0] - 1, phi.shape[1] - 1, phi.shape[2] - 1), 0, 0
    while n > 0:
        strides += 1
        for m in range(n):
            reach = max(_STRIDE, path[_DISTANCE, m])
            path[_SHARE, m] = min(path[_LEFT, m], reach / max(path[_SPEED, m], 1e-9))
            rows[_SCALE, m], rows[_AHEAD, m] = scale * path[_SHARE, m], path[_STAGED, m]
            for a in range(3):
                rows[_START + a, m] = path[a, m] - path[_TAKEN + a, m]
        _go(rows, index, n, flat, cells, stages)
        for m in range(n):
            for a in range(3):
                rows[_GONE + a, m] -= path[_SHARE, m] * path[_TAKEN + a, m]
        n, lost = _stride_all(position, n, rows, path, who, phi, h, low, high, strides == _STRIDES)
        inside += lost
    return inside


@kernel(parallel=False)
def _take_along(rows, index, n, cells, which, turn, shift):
    """How far each of n points is taken _ALONG by the solid that passes its cell, and whether any is; those look not
    _AHEAD, to later stages."""
    for p in range(n):
        rows[_AHEAD, p] = 1.0
        for a in range(3):
            rows[_ALONG + a, p] = 0.0
    if len(which) == 0:
        return False
    cell, taken = index[0], False
    for p in range(n):
        cell[p] = 0
    for a in range(3):
        start, last, many = rows[_START + a], np.float32(cells[a] - 1), np.int32(cells[a])
        for p in range(n):
            x = start[p]
            cell[p] = cell[p] * many + np.int32(min(x if x > _ZERO else _ZERO, last))  # _ZERO for NaN
    for p in range(n):
        solid = which[np.uint64(cell[p])]
        if solid >= 0:
            taken, rows[_AHEAD, p] = True, 0.0
            x, y, z = rows[_START, p], rows[_START + 1, p], rows[_START + 2, p]
            for a in range(3):
                way = turn[solid, a, 0] * x + turn[solid, a, 1] * y + turn[solid, a, 2] * z + shift[solid, a]
                rows[_ALONG + a, p] = way
    return taken


@kernel(parallel=False)
def _fly(position, near, clear, rows, index, path, who, first, met, phi, h, low, high):
    """Move the particles that meet no solid on their way: that which a solid takes them _ALONG, and the rest, _GONE.

    Those that may meet one are left where they are, and join the `met` that are on the list `who` with their `path`; by
    their numbers, from the `first` on. How many are on it then, and how many particles are not finite. `near` are those
    that may have come near a solid.
    """
    per_h = 1.0 / h
    astray = _look_ahead(near, clear, rows, index, phi, per_h, len(position))
    size = np.float32(h)
    for a in range(3):
        least, most = np.float32(h * low[a]), np.float32(h * high[a])
        along, gone = rows[_ALONG + a], rows[_GONE + a]
        for p in range(len(position)):
            way = size * (gone[p] + along[p]) if clear[p] else _ZERO
            position[p, a] = min(max(position[p, a] + way, least), most)
    for p in range(len(position)):
        if clear[p] or not rows[_FAR, p] < _FARTHEST:
            continue
        x, y, z = per_h * position[p, 0], per_h * position[p, 1], per_h * position[p, 2]
        ax, ay, az = np.float64(rows[_ALONG, p]), np.float64(rows[_ALONG + 1, p]), np.float64(rows[_ALONG + 2, p])
        dx, dy, dz = np.float64(rows[_GONE, p]), np.float64(rows[_GONE + 1, p]), np.float64(rows[_GONE + 2, p])
        distance = per_h * node_value(phi, x + ax, y + ay, z + az)
        if distance < 0.0 and rows[_AHEAD, p] == 0.0:  # the solid takes it into another: it goes from where it is
            dx, dy, dz = dx + ax, dy + ay, dz + az
            ax = ay = az = 0.0
            distance = per_h * node_value(phi, x, y, z)
        x1, y1, z1 = _kept(x + ax + dx, y + ay + dy, z + az + dz, low, high)
        # around what takes a particle along it follows the flow: in strides, unless one is enough
        short = rows[_AHEAD, p] > 0.0 or dx * dx + dy * dy + dz * dz < distance * distance
        if short and _is_clear(distance, phi, per_h, x + ax, y + ay, z + az, x1, y1, z1):
            _put(position[p], h, x1 - x, y1 - y, z1 - z)
        else:
            path[0, met], path[1, met], path[2, met] = x + ax, y + ay, z + az
            path[_TAKEN, met], path[_TAKEN + 1, met], path[_TAKEN + 2, met] = ax, ay, az
            path[_DISTANCE, met], path[_LEFT, met], path[_STAGED, met] = distance, 1.0, rows[_AHEAD, p]
            path[_SPEED, met] = np.sqrt(dx * dx + dy * dy + dz * dz)
            who[met] = first + p
            met += 1
    return met, astray


@kernel(parallel=False)
def _look_ahead(near, clear, rows, index, phi, per_h, n):
    """Which of n particles meet no solid on their way for sure, because none is near enough to where they start.

    φ changes by no more than the way gone, so that for most one look at the nearest node is enough. How many are not
    finite.
    """
    shape, phi, node, away = phi.shape, phi.reshape(-1), index[0], rows[_AWAY]
    for p in range(n):
        node[p] = 0
    for a in range(3):
        start, last, nodes = rows[_START + a], np.float32(shape[a] - 1), np.int32(shape[a])
        for p in range(n):
            x = start[p] + _HALF
            node[p] = node[p] * nodes + np.int32(min(x if x > _ZERO else _ZERO, last))  # _ZERO for NaN
    for p in range(n):
        away[p] = phi[np.uint64(node[p])]
    x, y, z, far = rows[_START], rows[_START + 1], rows[_START + 2], rows[_FAR]
    dx, dy, dz = rows[_GONE], rows[_GONE + 1], rows[_GONE + 2]
    scale, half, astray = np.float32(per_h), np.float32(_ROUND), 0
    for p in range(n):
        length2 = dx[p] * dx[p] + dy[p] * dy[p] + dz[p] * dz[p]
        finite = x[p] * x[p] + y[p] * y[p] + z[p] * z[p] + far[p] < np.float32(_FARTHEST)  # nor for NaN
        free = scale * away[p] - half
        clear[p] = finite & (free > _ZERO) & (free * free > length2)
        near[p] = (free < half) | ((free - half) * (free - half) <= length2)
        astray += not finite
    return astray


@kernel(parallel=False)
def _put(position, h, dx, dy, dz):
    """Move by a way [cells]; h times the place in cells would round it to the precision of the place."""
    position[0] += h * dx
    position[1] += h * dy
    position[2] += h * dz


@kernel(parallel=False)
def _stride_all(position, n, rows, path, who, phi, h, low, high, last):
    """One stride of the particles on the list `who`; how many stay on it, and how many of the others end inside."""
    per_h, left, inside = 1.0 / h, 0, 0
    for m in range(n):
        p = who[m]
        if _stride(path, rows, m, phi, per_h, low, high) and not last:
            who[left] = p
            for row in range(_PATH if left < m else 0):
                path[row, left] = path[row, m]
            left += 1
        else:
            x, y, z, distance = path[0, m], path[1, m], path[2, m], path[_DISTANCE, m]
            if -DEEPEST <= distance < 0.0:
                x, y, z, distance = _lifted(phi, per_h, low, high, x, y, z, 0.5 * HAIR, 40)
            inside += int(distance < 0.0)
            _put(position[p], h, x - per_h * position[p, 0], y - per_h * position[p, 1], z - per_h * position[p, 2])
    return left, inside


@kernel(parallel=False)
def _stride(path, rows, m, phi, per_h, low, high):
    """One stride of a path; whether there is more to go.

    It ends where φ is no less than at its start or than HAIR, or not at all.
    """
    if not rows[_FAR, m] < _FARTHEST:
        return False
    distance, share = path[_DISTANCE, m], path[_SHARE, m]
    dx, dy, dz = np.float64(rows[_GONE, m]), np.float64(rows[_GONE + 1, m]), np.float64(rows[_GONE + 2, m])
    length, reach = np.sqrt(dx * dx + dy * dy + dz * dz), max(_STRIDE, distance)
    path[_SPEED, m] = length / share
    if length > reach:  # the flow is faster than it was a stride before
        dx, dy, dz, share = dx * reach / length, dy * reach / length, dz * reach / length, share * reach / length
    path[_LEFT, m] -= share
    x, y, z = _kept(path[0, m] + dx, path[1, m] + dy, path[2, m] + dz, low, high)
    if _outside(phi, x, y, z):
        path[0, m], path[1, m], path[2, m], path[_DISTANCE, m] = x, y, z, 0.0
        return False
    # above 0 from outside: inside a wall one cell thick φ may be 0 throughout
    level = distance if distance < 0.0 else min(HAIR, max(distance, 0.01 * HAIR))
    reached = per_h * node_value(phi, x, y, z)
    if reached < level:
        x, y, z, reached = _lifted(phi, per_h, low, high, x, y, z, level, 4)
    if reached < level:
        return False
    path[0, m], path[1, m], path[2, m], path[_DISTANCE, m] = x, y, z, reached
    return path[_LEFT, m] > 1e-6


@kernel(parallel=False)
def _go(rows, index, n, flat, cells, stages):
    """The way that n points _START go in a step, _GONE [cells], and the squares of their stages' velocities, _FAR.

    Stages after the first look as far _AHEAD as that says. velocity × _SCALE is in cells per step. Operation by
    operation for many points is more than twice as fast as point by point. Rows are passed whole: a part of them would
    not be contiguous any more.
    """
    for row in range(_FLOW, _FAR + 1):
        for p in range(n):
            rows[row, p] = 0.0
    for stage in range(stages):
        step, weight = np.float32(_STEPS[stage]), np.float32(_WEIGHTS[stages - 1][stage])
        for a in range(3):
            for p in range(n):
                rows[_PLACE + a, p] = rows[_START + a, p] + step * rows[_AHEAD, p] * rows[_FLOW + a, p]
        _find(rows, index, n, cells)
        for a in range(3):
            _fetch(rows[_FLOW + a], rows, index, n, flat[a], cells, a)
            for p in range(n):
                flow = rows[_SCALE, p] * rows[_FLOW + a, p]
                rows[_FLOW + a, p] = flow
                rows[_GONE + a, p] += weight * flow
                rows[_FAR, p] += flow * flow


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
def _is_clear(distance, phi, per_h, x, y, z, x1, y1, z1):
    """Whether no solid is on the way between two points, the first at a known distance: the free balls around them
    overlap."""
    if distance <= HAIR or _outside(phi, x1, y1, z1):
        return False
    other = per_h * node_value(phi, x1, y1, z1)
    length2 = (x1 - x) ** 2 + (y1 - y) ** 2 + (z1 - z) ** 2
    return other > HAIR and (distance + other) ** 2 > length2


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
        rows, index = np.empty((_ROWS, _BATCH), np.float32), np.empty((_INDICES, _BATCH), np.int32)
        for a in range(3):
            if i < out[a].shape[0]:
                _trace_plane_back(out[a][i], where[a][i], rows, index, flat, a, i, scale, stages, cells)


@kernel(parallel=False)
def _trace_plane_back(out, where, rows, index, flat, a, i, scale, stages, cells):
    """Component a on the chosen faces of plane i: as many at a time as there is room for in the rows."""
    n = 0
    for j in range(where.shape[0]):
        chosen, some = where[j], False
        for k in range(len(chosen)):
            some |= chosen[k]
        for k in range(len(chosen) if some else 0):
            if chosen[k]:
                rows[_START, n] = i + 0.5 * (a != 0)
                rows[_START + 1, n] = j + 0.5 * (a != 1)
                rows[_START + 2, n] = k + 0.5 * (a != 2)
                n += 1
                if n == rows.shape[1]:
                    _fetch_back(out, rows, index, n, flat, a, scale, stages, cells)
                    n = 0
    _fetch_back(out, rows, index, n, flat, a, scale, stages, cells)


@kernel(parallel=False)
def _fetch_back(out, rows, index, n, flat, a, scale, stages, cells):
    """Give n faces at _START, in a plane `out`, component a from where the flow through them comes."""
    for p in range(n):
        rows[_SCALE, p], rows[_AHEAD, p] = scale, 1.0
    _go(rows, index, n, flat, cells, stages)
    for b in range(3):
        for p in range(n):
            place = rows[_START + b, p] + rows[_GONE + b, p]
            rows[_PLACE + b, p] = min(max(place, _ZERO), np.float32(cells[b]))
    _find(rows, index, n, cells)
    _fetch(rows[_FLOW], rows, index, n, flat[a], cells, a)
    for p in range(n):
        j, k = np.int64(rows[_START + 1, p]), np.int64(rows[_START + 2, p])
        out[j, k] = rows[_FLOW, p] if rows[_FAR, p] < _FARTHEST else np.nan
