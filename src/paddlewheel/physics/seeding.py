"""How many particles there are: filling a region with them, keeping their number in bounds, and its error."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from paddlewheel.grid.fractions import box_fraction
from paddlewheel.grid.hat import hat_reach, widened
from paddlewheel.grid.sample import node_value
from paddlewheel.grid.stencil import required, with_rows
from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces, Grid

__all__ = [
    "CROWDED",
    "SCATTER",
    "density_error",
    "enclose_crowds",
    "enclose_strays",
    "refill",
    "reseed",
    "seed",
    "seed_in_chunks",
    "volume_seen",
    "volume_seen_anew",
]

CROWDED = 2.0  # times the number of particles that a cell should have
CROWD = 4  # particles: fewer are in a cell by chance, if there should be one
LACKING = 0.75  # part of that number below which a cell of gas gets new ones
SCATTER = 1.5  # cells that a particle of a crowd goes along each axis, at most
DOUBT = 0.05  # cells by which φ may lie above what the density of particles says
STRAY = 0.1  # cells: depth of the liquid that a particle is for which there is none
_NOISE = 0.1  # relative excess that even particles have by chance, about their rms
_LEAST_SEEN = 0.1  # part of a cell; a density in less than that says nothing
_STRIDES = 8  # of that way, each so short that it cannot pass through a wall one cell thick
_CHUNK = 1 << 17  # points that are looked at together, so that memory stays low

_ORDER, _OFFSET, _CROWD = range(3)  # what a random number is for


def seed(
    grid: Grid,
    inside: Callable[[np.ndarray], np.ndarray],
    *,
    per_cell: int = 8,
    number: int = 0,
    bounds: tuple | None = None,
) -> np.ndarray:
    """Positions [m] of particles where inside(points) < 0, shape (n, 3), float32, in the order of their cells.

    A cell is n×n×n boxes (n×n in 2-D, at mid-depth), per_cell of them, each with
    one particle; 4 in 3-D are in every other box of 8. Within its box a particle
    is anywhere, but along each axis the per_cell particles of a cell lie in as
    many slices of equal thickness, one in each: multi-jittered sampling (Chiu,
    Shirley & Wang 1994). So there are as many below any height as there should
    be, to one, and a flat surface has bumps a third smaller than with jitter in
    boxes alone.

    inside is called with points (m, 3) in float64 [m]. Which points there are
    depends on the grid, per_cell and `number` only, not on `bounds` = (low,
    high) [m], outside of which no cell is looked at.
    """
    chunks = seed_in_chunks(grid, inside, per_cell=per_cell, number=number, bounds=bounds)
    return np.concatenate([np.empty((0, 3), np.float32), *chunks])


def seed_in_chunks(
    grid: Grid,
    inside: Callable[[np.ndarray], np.ndarray],
    *,
    per_cell: int = 8,
    number: int = 0,
    bounds: tuple | None = None,
) -> Iterator[np.ndarray]:
    """What `seed` gives, in pieces: to look at them without the memory for all."""
    boxes = _boxes(grid, per_cell)
    low, high = _cells_within(grid, bounds)
    inner = math.prod(max(0, high[a] - low[a]) for a in (1, 2))
    planes = max(1, _CHUNK // max(1, inner * per_cell))
    for start in range(low[0], high[0], planes):
        ranges = [(start, min(start + planes, high[0])), (low[1], high[1]), (low[2], high[2])]
        cells = np.stack(np.meshgrid(*(np.arange(*r) for r in ranges), indexing="ij"), axis=-1).reshape(-1, 3)
        points = _jittered(grid, cells, boxes, number)
        yield points[np.asarray(inside(points)) < 0].astype(np.float32)


def reseed(
    grid: Grid, position: np.ndarray, first: np.ndarray, solid: np.ndarray, *, per_cell: int = 8, number: int = 0
) -> np.ndarray | None:
    """Scatter what is more than CROWDED × per_cell in a cell, at least CROWD, in place: flow parts none on one spot.

    Each goes SCATTER cells at most along each axis, straight on until it would
    meet a solid (its distance `solid` [m] at nodes) or a side of the domain. None
    is made or lost, because their number is the volume of the liquid. Making room
    around a crowd instead would leave a bubble there, long before the crowd parts.
    Returns which went, (n,) bool, or None if none did.

    position [m], (n, 3) float32, in the order of cells; first is the range of
    each cell's particles, (nx ny nz + 1,); `number` should differ from step to step.
    """
    if first.shape != (math.prod(grid.shape) + 1,) or first[-1] != len(position):
        raise ValueError(f"first has {len(first) - 1} cells and {first[-1]} particles: expected those of the grid")
    if solid.shape != grid.node_shape:
        raise ValueError(f"solid of shape {solid.shape}: expected values at nodes, {grid.node_shape}")
    solid = required(solid, np.float32)
    most, went = max(round(CROWDED * per_cell), CROWD), np.zeros(len(position), np.bool_)
    any_went = _scatter(position, went, first, grid.first, solid, grid.h, most, number) > 0
    return went if any_went else None


def refill(
    grid: Grid, first: np.ndarray, room: np.ndarray, solid: np.ndarray, *, per_cell: int = 8, number: int = 0
) -> np.ndarray:
    """Positions [m] of new particles, (n, 3) float32, in cells with less than LACKING × per_cell × their room.

    room is the part of each cell that may be filled, (nx, ny, nz). A cell gets as many as are missing, but for chance;
    none in solids. The rest is as for `reseed`.
    """
    counts, wanted = np.diff(first), per_cell * room.reshape(-1)
    lacking = np.flatnonzero(counts < LACKING * wanted)
    if not len(lacking):
        return np.empty((0, 3), np.float32)
    cells = np.stack(np.unravel_index(lacking, grid.shape), axis=-1)
    points = _jittered(grid, cells, _boxes(grid, per_cell), number)
    missing = np.repeat(1 - counts[lacking] / wanted[lacking], per_cell)
    points = points[np.random.default_rng(number).random(len(points)) < missing]
    outside = np.empty(len(points), bool)
    _mark_outside(outside, points, required(solid, np.float32), 1 / grid.h)
    return points[outside].astype(np.float32)


@kernel
def _mark_outside(outside, points, solid, per_h):
    for p in prange(len(points)):
        outside[p] = node_value(solid, points[p, 0] * per_h, points[p, 1] * per_h, points[p, 2] * per_h) > 0.0


@kernel
def _scatter(position, went, first, lowest, solid, h, most, number):
    """See reseed; how many went."""
    count = 0
    for cell in prange(len(first) - 1):
        over = first[cell + 1] - first[cell] - most
        if over > 0:
            _scatter_crowd(position, first[cell], first[cell + 1], most, np.int64(cell), lowest, solid, h, number)
            went[first[cell] + most : first[cell + 1]] = True
            count += over
    return count


@kernel(parallel=False)
def _scatter_crowd(position, begin, end, most, cell, lowest, solid, h, number):
    ni, nj, nk = solid.shape
    place = lowest[0] + cell // ((nj - 1) * (nk - 1)), lowest[1] + cell // (nk - 1) % (nj - 1)
    whose = (place[0] << 40) + (place[1] << 20) + lowest[2] + cell % (nk - 1)  # the same in any part of a domain
    for p in range(begin + most, end):
        x, y, z = position[p, 0] / h - lowest[0], position[p, 1] / h - lowest[1], position[p, 2] / h - lowest[2]
        which = 3 * np.int64(p - begin)
        dx = _stride(whose, which, number)
        dy = _stride(whose, which + 1, number)
        dz = 0.0 if nk == 2 else _stride(whose, which + 2, number)
        for _ in range(_STRIDES):
            to_x, to_y, to_z = x + dx, y + dy, z + dz
            inside = 0.0 < to_x < ni - 1.0 and 0.0 < to_y < nj - 1.0 and 0.0 < to_z < nk - 1.0
            if not inside or node_value(solid, to_x, to_y, to_z) <= 0.0:
                break
            x, y, z = to_x, to_y, to_z
        position[p, 0] = (x + lowest[0]) * h
        position[p, 1] = (y + lowest[1]) * h
        position[p, 2] = (z + lowest[2]) * h


@kernel(parallel=False)
def _stride(cell, which, number):
    """A part of a random way along one axis [cells]."""
    return SCATTER / _STRIDES * (2.0 * _random(cell, which, number, _CROWD) - 1.0)


def _boxes(grid, per_cell) -> np.ndarray:
    """The boxes of a cell that have a particle each, (per_cell, 2) or (per_cell, 3): places along its axes."""
    dimensions = 2 if grid.is_2d else 3
    if dimensions == 3 and per_cell == 4:
        boxes = _boxes(grid, 8)
        return np.ascontiguousarray(boxes[boxes.sum(axis=1) % 2 == 0])
    side = round(max(per_cell, 0) ** (1 / dimensions))
    if side < 1 or side**dimensions != per_cell:
        allowed = "1, 4, 9" if grid.is_2d else "1, 4, 8, 27"
        raise ValueError(f"per_cell={per_cell!r}: expected {allowed} … in {dimensions}-D")
    return np.ascontiguousarray(np.indices((side,) * dimensions).reshape(dimensions, -1).T)


def _cells_within(grid, bounds) -> tuple[list[int], list[int]]:
    """Indices of the cells that overlap a box: from, and up to but without."""
    if bounds is None:
        return [0, 0, 0], list(grid.shape)
    low, high = (np.nan_to_num(np.asarray(b, float) / grid.h, posinf=1e9, neginf=-1e9) for b in bounds)
    return (
        [int(np.clip(np.floor(v), 0, n)) for v, n in zip(low, grid.shape, strict=True)],
        [int(np.clip(np.ceil(v), 0, n)) for v, n in zip(high, grid.shape, strict=True)],
    )


def _jittered(grid, cells, boxes, number) -> np.ndarray:
    """One point in each of the boxes of the cells (m, 3), shape (m len(boxes), 3), float64 [m]."""
    points = np.empty((len(cells), len(boxes), 3))
    index = np.ravel_multi_index(tuple(cells.T), grid.shape)
    _jitter(points, cells, index, boxes, int(boxes.max()) + 1, grid.h, number)
    return points.reshape(-1, 3)


@kernel
def _jitter(points, cells, index, boxes, side, h, number):
    count, dimensions = boxes.shape
    slices = count // side  # of a layer of boxes
    for c in prange(cells.shape[0]):
        order = np.empty(slices, np.int64)
        for a in range(dimensions):
            for layer in range(side):
                _shuffle(order, index[c], a * side + layer, number)
                box = 0
                for at in range(count):
                    if boxes[at, a] == layer:
                        u = _random(index[c], a * count + at, number, _OFFSET)
                        offset = (layer + (order[box] + u) / slices) / side
                        points[c, at, a] = (cells[c, a] + offset) * h
                        box += 1
        for a in range(dimensions, 3):
            for at in range(count):
                points[c, at, a] = (cells[c, a] + 0.5) * h


@kernel(parallel=False)
def _shuffle(order, cell, which, number):
    """A random order of 0, 1, …: Fisher and Yates."""
    for n in range(len(order)):
        order[n] = n
    for n in range(len(order) - 1, 0, -1):
        m = int(_random(cell, which * len(order) + n, number, _ORDER) * (n + 1))
        order[n], order[m] = order[m], order[n]


@kernel(parallel=False)
def _random(cell, which, number, purpose):
    """A number in [0, 1) that its arguments determine."""
    return np.float64(_hash(cell, which, number, purpose) >> np.uint64(11)) / 2.0**53


@kernel(parallel=False)
def _hash(cell, which, number, purpose):
    """64 bits that look random, from four whole numbers: the mixer of SplitMix64, once for each."""
    x = _mixed(np.uint64(number))
    x = _mixed(x ^ np.uint64(purpose))
    x = _mixed(x ^ np.uint64(cell))
    return _mixed(x ^ np.uint64(which))


@kernel(parallel=False)
def _mixed(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def volume_seen(solid: np.ndarray, *, reach: int = 1) -> np.ndarray:
    """Open volume that the hat about each cell centre sees, in cells: 1 in the open, float32.

        V_c = ∫ Π_a max(0, 1 − |x_a − c_a|/h) dx / h³     outside solids and inside the domain

    from the open fractions of eighths of cells, which the hat weighs by 1/8, 3/8,
    3/8, 1/8 along each axis; in 2-D not along z. solid [m] is the signed distance
    at nodes. Whole cells would do for a straight wall, but are a third off where
    a slope leaves a fifth of a cell. With a `reach` of two cells the hat is twice as
    wide, and half as high along each axis.
    """
    solid = required(solid, np.float32)
    nx, ny, nz = (n - 1 for n in solid.shape)
    slabs = np.empty((2 * nx, ny, nz), np.float32)
    _seen_in_slabs(slabs, solid)
    low, high = slabs[0::2], slabs[1::2]
    seen = np.float32(0.375) * (low + high)
    seen[1:] += np.float32(0.125) * high[:-1]
    seen[:-1] += np.float32(0.125) * low[1:]
    return seen if reach == 1 else widened(seen[None])[0]


def volume_seen_anew(seen: np.ndarray, solid: np.ndarray, boxes, *, reach: int = 1) -> np.ndarray:
    """The same if solids came to some others, beside which it was `seen`: only what sees them is found anew.

    They are in `boxes` of nodes, slices, and farther than a cell's diagonal from what is beyond. All is found anew if
    that is half of the domain or more.
    """
    parts = [
        tuple(
            slice(max(s.start - 1 - 2 * reach, 0), min(s.stop + 2 * reach, n))
            for s, n in zip(box, seen.shape, strict=True)
        )
        for box in boxes
    ]
    if sum(math.prod(s.stop - s.start for s in part) for part in parts) >= 0.5 * seen.size:
        return volume_seen(solid, reach=reach)
    out = seen.copy()
    for part in parts:
        around = solid[tuple(slice(s.start, s.stop + 1) for s in part)]
        # what is cut off beside the part is missing there, but not on the domain's sides
        inner = tuple(
            slice(reach if s.start > 0 else 0, n - 1 - (reach if s.stop < whole else 0))
            for s, n, whole in zip(part, around.shape, seen.shape, strict=True)
        )
        place = tuple(slice(s.start + i.start, s.start + i.stop) for s, i in zip(part, inner, strict=True))
        out[place] = volume_seen(around, reach=reach)[inner]
    return out


@kernel
def _seen_in_slabs(slabs, solid):
    """What the hat of y and z sees in slabs half a cell thick in x."""
    for plane in prange(slabs.shape[0] // 2):
        i = np.int64(plane)
        ny, nz = slabs.shape[1], slabs.shape[2]
        open = np.zeros((2, 2 * ny + 2, 2 * nz + 2), np.float32)  # with a margin of zeros for what is beyond the sides
        # rows without a solid, and rows with nothing else; what is beyond the sides counts as either
        clear, shut = np.ones(ny + 2, np.bool_), np.ones(ny + 2, np.bool_)
        _open_in_plane(open, clear, shut, solid, i)
        for side in range(2):
            _seen_in_slab(slabs[2 * i + side], open[side], clear, shut)


@kernel(parallel=False)
def _open_in_plane(open, clear, shut, solid, i):
    """Open fractions of the eighths of the cells of a plane, but of rows that are shut."""
    points = np.empty((3, 3, 3))
    nz = solid.shape[2] - 1
    low_next, high_next = _range_of_nodes(solid, i, 0)
    for j in range(solid.shape[1] - 1):
        lowest, highest = low_next, high_next
        low_next, high_next = _range_of_nodes(solid, i, j + 1)
        clear[j + 1], shut[j + 1] = min(lowest, low_next) > 0.0, max(highest, high_next) <= 0.0
        for k in range(0 if clear[j + 1] or shut[j + 1] else nz):
            _open_eighths(open, points, solid, i, j, k)
        for side in range(2 if clear[j + 1] else 0):
            for k in range(1, 2 * nz + 1):
                open[side, 1 + 2 * j, k] = open[side, 2 + 2 * j, k] = 1.0


@kernel(parallel=False)
def _seen_in_slab(slab, open, clear, shut):
    ny, nz = slab.shape
    y = (0.125, 0.375, 0.375, 0.125)
    z = (0.0, 0.5, 0.5, 0.0) if nz == 1 else y
    for j in range(ny):
        if shut[j] and shut[j + 1] and shut[j + 2]:
            for k in range(nz):
                slab[j, k] = 0.0
            continue
        if clear[j] and clear[j + 1] and clear[j + 2]:
            row, lost = 1.0 - y[0] * ((j == 0) + (j == ny - 1)), z[0]
            for k in range(nz):
                slab[j, k] = row
            slab[j, 0] -= row * lost
            slab[j, nz - 1] -= row * lost
            continue
        for k in range(nz):
            total = 0.0
            for b in range(4):
                for c in range(4):
                    total += y[b] * z[c] * open[2 * j + b, 2 * k + c]
            slab[j, k] = total


@kernel(parallel=False)
def _range_of_nodes(solid, i, j):
    """The lowest and the highest value in a row of nodes and the next along x."""
    here, there = solid[i, j], solid[i + 1, j]
    lowest = highest = here[0]
    for k in range(len(here)):
        lowest, highest = min(lowest, here[k], there[k]), max(highest, here[k], there[k])
    return lowest, highest


@kernel(parallel=False)
def _open_eighths(open, points, solid, i, j, k):
    """Open fractions of the eighths of a cell, by the half of it along x; points (3, 3, 3) is room for its own."""
    low, high, flat = solid[i, j, k], solid[i, j, k], True
    for column in range(4):
        m, n = i + (column >> 1), j + (column & 1)
        below, above = solid[m, n, k], solid[m, n, k + 1]
        low, high, flat = min(low, below, above), max(high, below, above), flat and below == above
    cut = low <= 0.0 < high
    if cut:
        node = solid[i : i + 2, j : j + 2, k : k + 2]
        for a in range(3):
            for b in range(3):
                for c in range(2 if flat else 3):
                    points[a, b, c] = _between(node, a, b, c)
    for side in range(2):
        for b in range(2):
            fraction = 1.0 if low > 0.0 else 0.0
            for c in range(2):
                if cut and not (flat and c == 1):  # in a plane both halves along z are the same
                    fraction = box_fraction(
                        points[side, b, c], points[side, b + 1, c],
                        points[side, b + 1, c + 1], points[side, b, c + 1],
                        points[side + 1, b, c], points[side + 1, b + 1, c],
                        points[side + 1, b + 1, c + 1], points[side + 1, b, c + 1],
                    )  # fmt: skip
                open[side, 1 + 2 * j + b, 1 + 2 * k + c] = fraction


@kernel(parallel=False)
def _between(node, a, b, c):
    """Trilinear value at a point of a cell, in half cells from its lowest node."""
    a0, b0, c0, a1, b1, c1 = a // 2, b // 2, c // 2, (a + 1) // 2, (b + 1) // 2, (c + 1) // 2
    low = node[a0, b0, c0] + node[a0, b0, c1] + node[a0, b1, c0] + node[a0, b1, c1]
    high = node[a1, b0, c0] + node[a1, b0, c1] + node[a1, b1, c0] + node[a1, b1, c1]
    return 0.125 * np.float64(low + high)


def density_error(
    density: np.ndarray,
    seen: np.ndarray,
    phi: np.ndarray,
    h: float,
    *,
    per_cell: int = 8,
    below: float = 0.5,
    noise: float = _NOISE,
) -> np.ndarray:
    """How much more volume the particles about each cell centre stand for than there is, in cells, float32.

        density / per_cell − seen     in liquid cells, between −½ and ½

    density is Σ_p Π_a max(0, 1 − |x_p − c|_a/h), the particles under a hat (in 2-D
    of x and y only); seen the open volume under it, from volume_seen. Where the
    hat reaches air (φ [m] ≥ 0 in one of the 27 cells around) it is not full for a
    good reason: a lack counts from so many cells `below` the surface on, against
    what a flat surface at φ would leave, 1 − ½ (1 + φ/h)². One particle in a cell has
    a hat of two cells: then h is twice that, and the cells around are 125. There `noise` is taken
    off both, or chance alone would move the liquid. In air, and where less
    than _LEAST_SEEN is seen, the error is 0. After Kugelstadt et al. 2019.
    """
    density, seen, phi = (required(f, np.float32) for f in (density, seen, phi))
    if phi.ndim != 3 or not density.shape == seen.shape == phi.shape:
        raise ValueError(f"density {density.shape}, seen {seen.shape}, phi {phi.shape}: expected values at centres")
    error = np.empty(phi.shape, np.float32)
    near, noise, reach = np.float32(1 - below), np.float32(noise), hat_reach(per_cell)
    per_hat = np.float32(1 / (reach * h))
    fields = map(with_rows, (error, density, seen, phi))
    _density_error(*fields, near, noise, np.float32(1 / per_cell), reach, per_hat)
    return error


@kernel
def _density_error(error, density, seen, phi, near, noise, per_particle, reach, per_hat):
    nx, ny, nz = phi.shape
    half = np.float32(0.5)
    for plane in prange(nx):
        i = np.int64(plane)
        highest = np.empty(nz, np.float32)
        for j in range(ny):
            highest[:] = phi[i, j]
            for a in range(max(i - reach, 0), min(i + reach + 1, nx)):
                for b in range(max(j - reach, 0), min(j + reach + 1, ny)):
                    row = phi[a, b]
                    for k in range(nz):
                        highest[k] = max(highest[k], row[k])
            for k in range(nz):
                error[i, j, k] = 0.0
                room = seen[i, j, k]
                if phi[i, j, k] < 0.0 and room >= np.float32(_LEAST_SEEN):
                    excess = density[i, j, k] * per_particle - room
                    top = highest[k]
                    for step in range(1, reach + 1):
                        top = max(top, highest[max(k - step, 0)], highest[min(k + step, nz - 1)])
                    if top >= 0.0:
                        missing = max(np.float32(1) + phi[i, j, k] * per_hat, np.float32(0))
                        lack = np.float32(0)
                        if missing < near:
                            lack = min(excess + (half * missing * missing + noise) * room, lack)
                        excess = max(excess - noise * room, lack)
                    error[i, j, k] = min(max(excess, -half), half)


def enclose_crowds(phi: np.ndarray, density: np.ndarray, seen: np.ndarray, h: float, *, per_cell: int = 8) -> None:
    """Lower φ [m] at cell centres, in place, to what the density of particles there allows.

    Above a flat surface of evenly spread particles their relative density ρ under
    a hat is ½ (1 − φ/h)², below it 1 − ½ (1 + φ/h)². A crowd of particles in the
    corner of a cell may lie too far from all centres to be liquid by its shape
    alone; then nothing would keep it from shrinking to a point, so φ is at most
    DOUBT cells above what its ρ stands for. One particle in a cell has a hat of two.
    """
    density, seen = (required(f, np.float32) for f in (density, seen))
    reach = hat_reach(per_cell)
    _enclose(phi, density, seen, np.float32(reach * h), DOUBT / reach, np.float32(1 / per_cell))


@kernel
def _enclose(phi, density, seen, hat, doubt, per_particle):
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        for j in range(ny):
            p, d, s = phi[plane, j], density[plane, j], seen[plane, j]
            for k in range(nz):
                rho = d[k] * per_particle / max(s[k], _LEAST_SEEN)
                if d[k] > 0.0 and p[k] > -hat:
                    if rho > 0.5:
                        depth = np.sqrt(2.0 * max(1.0 - rho, 0.0)) - 1.0
                    else:
                        depth = 1.0 - np.sqrt(2.0 * rho)
                    p[k] = min(p[k], hat * np.float32(depth + doubt))


def enclose_strays(phi: np.ndarray, first: np.ndarray, open: Faces, h: float) -> None:
    """Make cells liquid, φ [m] = −STRAY h, in place, that have particles but no liquid in them nor in the 26 around.

    A particle far from all centres, or in a sliver beside a wall, is a drop that φ
    does not see: with no face beside it that the pressure knows, it would hang in
    the air. Cells without an `open` face, w > 0, have no liquid.
    """
    strays = np.empty(phi.shape, np.bool_)
    _mark_strays(strays, phi, first, open)
    phi[strays] = np.float32(-STRAY * h)


@kernel
def _mark_strays(strays, phi, first, open):
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            row, values, cell = strays[i, j], phi[i, j], (i * ny + j) * nz
            for k in range(nz):
                row[k] = first[cell + k + 1] > first[cell + k] and values[k] >= 0.0
                if row[k]:
                    row[k] = not _beside_liquid(phi, open, i, j, k)


@kernel(parallel=False)
def _beside_liquid(phi, open, i, j, k):
    nx, ny, nz = phi.shape
    for a in range(max(i - 1, 0), min(i + 2, nx)):
        for b in range(max(j - 1, 0), min(j + 2, ny)):
            for c in range(max(k - 1, 0), min(k + 2, nz)):
                if phi[a, b, c] < 0.0:
                    wx = open[0][a, b, c] + open[0][a + 1, b, c]
                    wy = open[1][a, b, c] + open[1][a, b + 1, c]
                    if wx + wy + open[2][a, b, c] + open[2][a, b, c + 1] > 0.0:
                        return True
    return False
