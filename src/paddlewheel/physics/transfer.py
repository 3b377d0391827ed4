"""Between particles and grid: sorting, velocity to faces and back, and how dense the particles lie.

FLIP and PIC (Zhu & Bridson 2005), or APIC (Jiang et al. 2015) where particles
carry the gradient of their velocity.
"""

import math

import numpy as np

from paddlewheel.grid.hat import weighed, widened
from paddlewheel.grid.sample import (
    add_to_cells,
    add_to_faces,
    face_value,
    face_value_and_gradient,
    slabs_of,
    take_from_faces,
)
from paddlewheel.grid.stencil import as_faces, layers_last, mixed, required
from paddlewheel.kernel import kernel, prange, share, threads
from paddlewheel.types import Faces, Grid, Particles

__all__ = ["density", "sorted_by_cell", "to_cells", "to_faces", "to_particles"]

BLOCKS = 64  # of about equal work, shared out over the threads
MOST_COUNTERS = 4  # for each particle, all blocks' together
SMALLEST_WEIGHT = float(np.finfo(np.float32).tiny)


def sorted_by_cell(grid: Grid, particles: Particles) -> tuple[Particles, np.ndarray]:
    """The particles in the order of their cells, and where those of each cell begin. The arrays given are used up.

    The second is int32, shape (nx ny nz + 1,): particles first[c] to first[c + 1]
    are in cell c, cells counted in C order; a particle outside the grid is in the
    nearest cell. Particles of one cell stay in their order.

    A counting sort. Particles are nearly in order already, so that those of a block
    meet few cells at a time, whose counters stay in cache. Each block has counters
    of its own; how many blocks there are changes nothing in the order.
    """
    position, velocity, affine, carried, ids = _checked(particles)
    n, cells = len(position), math.prod(grid.shape)
    if max(n, cells) >= 2**31:
        raise ValueError(f"{n} particles in {cells} cells: expected fewer than {2**31}")
    blocks = min(threads(), max(MOST_COUNTERS * n // cells, 1))
    to, counts, unplaced = np.empty(n, np.int32), np.zeros((blocks, cells), np.int32), np.zeros(blocks, np.int64)
    _count(to, counts, unplaced, position, grid.shape, grid.first, 1 / grid.h)
    if unplaced.any():
        raise ValueError(f"the position of {unplaced.sum()} particles is not a number (NaN)")
    totals = np.empty(BLOCKS, np.int64)
    _add_up(totals, counts)
    first = np.empty(cells + 1, np.int32)
    first[cells] = n
    _begin(first, counts, np.cumsum(totals) - totals)
    ordered = np.empty_like(position)
    _put_in_order(ordered, to, counts, position)
    del counts
    _put(position, velocity, to)  # into the memory of the positions: at 4 M particles one more array is 48 MB
    if len(affine):
        unordered, affine = affine, np.empty_like(affine)
        _put(affine.reshape(n, 9), unordered.reshape(n, 9), to)
    if len(carried):
        unordered, carried = carried, np.empty_like(carried)
        _put(carried, unordered, to)
    if len(ids):
        unordered, ids = ids, np.empty_like(ids)
        _put(ids.reshape(n, 1), unordered.reshape(n, 1), to)
    return Particles(ordered, position, affine, carried, ids), first


@kernel
def _count(cell, counts, unplaced, position, shape, lowest, per_cell):
    """The cell of each particle, and how many of each block are in each cell."""
    nx, ny, nz = shape
    for block in prange(counts.shape[0]):
        count = counts[block]
        for number in range(*share(block, len(cell), counts.shape[0])):
            p = np.uint64(number)
            x = position[p, 0] * per_cell - lowest[0]
            y = position[p, 1] * per_cell - lowest[1]
            z = position[p, 2] * per_cell - lowest[2]
            unplaced[block] += x != x or y != y or z != z
            c = (_index(x, nx) * ny + _index(y, ny)) * nz + _index(z, nz)
            cell[p] = c
            count[np.uint64(c)] += 1


@kernel(parallel=False)
def _index(x, n):
    """Which of n cells x is in, or is nearest to; the first one if x is not a number."""
    return np.int64(min(x, n - 0.5)) if x > 0.0 else np.int64(0)


@kernel
def _add_up(totals, counts):
    """How many particles the cells of each of some runs have."""
    for run in prange(len(totals)):
        total = 0
        start, stop = share(run, counts.shape[1], len(totals))
        for block in range(counts.shape[0]):
            for cell in range(start, stop):
                total += counts[block, cell]
        totals[run] = total


@kernel
def _begin(first, counts, starts):
    """Where the particles of each cell begin; counts become where those of each block do."""
    for run in prange(len(starts)):
        at = starts[run]
        for cell in range(*share(run, counts.shape[1], len(starts))):
            first[cell] = at
            for block in range(counts.shape[0]):
                counts[block, cell], at = at, at + counts[block, cell]


@kernel
def _put_in_order(out, to, counts, position):
    """Positions in the order of their cells; `to`, the cell of each, becomes its place in it."""
    for block in prange(counts.shape[0]):
        at = counts[block]
        for number in range(*share(block, len(to), counts.shape[0])):
            p = np.uint64(number)
            cell = np.uint64(to[p])
            place = at[cell]
            at[cell], to[p] = place + 1, place
            there = np.uint64(place)
            out[there, 0], out[there, 1], out[there, 2] = position[p, 0], position[p, 1], position[p, 2]


@kernel
def _put(out, values, to):
    """Rows of `values` at the places given; those of two and three numbers, as most are, without a loop for each."""
    for block in prange(BLOCKS):
        start, stop = share(block, len(to), BLOCKS)
        if values.shape[1] == 3:
            for number in range(start, stop):
                p, there = np.uint64(number), np.uint64(to[np.uint64(number)])
                out[there, 0], out[there, 1], out[there, 2] = values[p, 0], values[p, 1], values[p, 2]
        elif values.shape[1] == 2:
            for number in range(start, stop):
                p, there = np.uint64(number), np.uint64(to[np.uint64(number)])
                out[there, 0], out[there, 1] = values[p, 0], values[p, 1]
        else:
            for number in range(start, stop):
                p, there = np.uint64(number), np.uint64(to[np.uint64(number)])
                for a in range(values.shape[1]):
                    out[there, a] = values[p, a]


def to_faces(grid: Grid, particles: Particles, first: np.ndarray, *, reach: int = 1) -> tuple[Faces, Faces]:
    """Velocity of the particles on faces [m/s], and how much of them each face has, both float32.

        weight_f = Σ_p w_f(x_p)       velocity_f = Σ_p w_f(x_p) (v_a + c_a·(x_f − x_p)) / weight_f

    w is the trilinear hat by which `to_particles` interpolates, c the affine
    part, if there is one. Zero where there is no particle near. Particles and
    first as `sorted_by_cell` gave them. With a `reach` of two cells the hat is twice
    as wide, for one particle in a cell (B08 §6); then there must be no affine part.
    """
    position, velocity, affine, *_ = _checked(particles)
    first = _checked_first(grid, position, first)
    turn = _turn(grid)
    shape, lowest = (tuple(numbers[a] for a in turn) for numbers in (grid.shape, grid.first))
    if grid.is_2d:
        position, velocity = _turned(position, turn), _turned(velocity, turn)
        affine = np.ascontiguousarray(affine[:, list(turn)][:, :, list(turn)]) if len(affine) else affine
    total, weight = (tuple(np.zeros([grid.face_shape(a)[b] for b in turn], np.float32) for a in turn) for _ in range(2))
    slabs = slabs_of(first, shape)
    for colour in range(2):
        add_to_faces(total, weight, position, velocity, affine, first, lowest, shape, slabs, colour, grid.h)
    total, weight = (_turned_back(sums, grid) for sums in (total, weight))
    if reach == 2:
        if len(affine):
            raise ValueError("particles with an affine part: a hat two cells wide would take it for that of its middle")
        both = [widened(np.stack(sums)) for sums in zip(total, weight, strict=True)]
        total, weight = (Faces(*(np.ascontiguousarray(sums[n]) for sums in both)) for n in range(2))
    for axis in range(3):
        _divide(total[axis].reshape(-1), weight[axis].reshape(-1))
    return total, weight


@kernel
def _divide(total, weight):
    """Mean instead of sum. Weights too small to have all their digits are none."""
    for n in prange(len(total)):
        if weight[n] < SMALLEST_WEIGHT:
            total[n] = weight[n] = 0.0
        else:
            total[n] /= weight[n]


def density(grid: Grid, position: np.ndarray, first: np.ndarray, *, reach: int = 1) -> np.ndarray:
    """Number of particles per cell at cell centres, shape (nx, ny, nz), float32.

    By the trilinear hat at centres, which reaches so many cells, one or two; at the
    domain's sides the part of a particle's hat beyond them is lost. Position [m] and first as
    `sorted_by_cell` gave them.
    """
    position = required(position, np.float32)
    first = _checked_first(grid, position, first)
    turn = _turn(grid)
    shape, lowest = (tuple(numbers[a] for a in turn) for numbers in (grid.shape, grid.first))
    if grid.is_2d:
        position = _turned(position, turn)
    out, slabs = np.zeros(shape, np.float32), slabs_of(first, shape)
    for colour in range(2):
        add_to_cells(out, position, first, lowest, slabs, colour, grid.h)
    out = out.reshape(grid.shape)
    return out if reach == 1 else widened(out[None])[0]


def _turn(grid) -> tuple[int, int, int]:
    """The order of axes in which rows of cells are longer than one: in 2-D y and z change places, and no cell does."""
    return (0, 2, 1) if grid.is_2d else (0, 1, 2)


def _turned(vectors, turn) -> np.ndarray:
    """Vectors (n, 3) along other axes; column by column, which takes a fifth of the time of vectors[:, turn]."""
    out = np.empty_like(vectors)
    for a, b in enumerate(turn):
        out[:, a] = vectors[:, b]
    return out


def _turned_back(fields, grid) -> Faces:
    """Fields on faces along the axes of `_turn`, in its order, on those of the grid."""
    if not grid.is_2d:
        return Faces(*fields)
    x, z, y = (field.swapaxes(1, 2) for field in fields)
    return Faces(x, y, layers_last(z.transpose(2, 0, 1)))


def to_cells(grid: Grid, particles: Particles, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both of what particles carry, such as density and temperature of smoke, at centres, float32.

    The mean of the particles in a cell and in those around, which count 1/8 as
    much where they share a face with it, as under a hat, of which a particle
    anywhere in a cell has 3/4 of its own on average and 1/8 on either side. Zero
    if there is none.
    """
    position, _, _, carried, _ = _checked(particles)
    sums = np.empty((3, *grid.shape), np.float32)
    _sum_in_cells(sums.reshape(3, -1), carried, _checked_first(grid, position, first))
    for axis in range(2 if grid.is_2d else 3):
        sums = weighed(sums, axis, 0.75, 0.125)
    for field in sums[1:]:
        _divide(field.reshape(-1), sums[0].reshape(-1))
    return sums[1], sums[2]


@kernel
def _sum_in_cells(sums, carried, first):
    """The number of the particles of each cell, and the sums of both columns of what they carry."""
    for block in prange(BLOCKS):
        for cell in range(*share(block, sums.shape[1], BLOCKS)):
            a = b = np.float32(0)
            for number in range(first[cell], first[cell + 1]):
                p = np.uint64(number)
                a += carried[p, 0]
                b += carried[p, 1]
            sums[0, cell], sums[1, cell], sums[2, cell] = first[cell + 1] - first[cell], a, b


def to_particles(
    grid: Grid,
    particles: Particles,
    new: Faces,
    old: Faces | None = None,
    flip: float = 0.0,
    first: np.ndarray | None = None,
) -> Particles:
    """The particles with the velocity of the faces, in place: the arrays passed are those returned.

        FLIP   v ← u_new(x) + flip (v − u_old(x))         flip = 0 is PIC
        APIC   v ← u_new(x),   c_a ← Σ_f ∇w_f(x) u_f      if the particles have an affine part

    The old field is the one `to_faces` gave, before the forces; APIC needs none. It is
    faster with `first` as `sorted_by_cell` gave it, if the particles have not moved since.
    """
    position, velocity, affine, carried, ids = _checked(particles)
    fields = {"new": as_faces(new, np.float32)}
    if not len(affine) and flip:
        if old is None:
            raise ValueError(f"flip={flip!r} needs the old velocity of the faces")
        fields["old"] = as_faces(old, np.float32)
    for name, u in fields.items():
        if u.x.shape != grid.face_shape(0):
            raise ValueError(f"{name}.x has shape {u.x.shape}: expected {grid.face_shape(0)}")
    change = fields["new"]
    if "old" in fields:
        # interpolation is linear, so one of new − flip·old will do
        change = mixed(1, change, -flip, fields["old"])
    if first is None or len(affine):
        _interpolate(velocity, affine, position, change, grid.first, np.float32(flip), 1 / grid.h)
    else:
        first, turn = _checked_first(grid, position, first), _turn(grid)
        shape, lowest = (tuple(numbers[a] for a in turn) for numbers in (grid.shape, grid.first))
        if grid.is_2d:
            change = Faces(*(np.ascontiguousarray(change[a].transpose(turn)) for a in turn))
        slabs = slabs_of(first, shape)
        take_from_faces(velocity, np.float32(flip), change, position, turn, first, lowest, slabs, grid.h)
    return Particles(position, velocity, affine, carried, ids)


@kernel
def _interpolate(velocity, affine, position, faces, lowest, kept, per_cell):
    """v ← kept v + u(x), or in place of the kept part the gradient."""
    for block in prange(BLOCKS):
        for number in range(*share(block, len(position), BLOCKS)):
            p = np.uint64(number)
            x = position[p, 0] * per_cell - lowest[0]
            y = position[p, 1] * per_cell - lowest[1]
            z = position[p, 2] * per_cell - lowest[2]
            if len(affine) == 0:
                for a in range(3):
                    velocity[p, a] = kept * velocity[p, a] + face_value(faces[a], a, x, y, z)
            else:
                for a in range(3):
                    u, along_x, along_y, along_z = face_value_and_gradient(faces[a], a, x, y, z)
                    velocity[p, a] = u
                    affine[p, a, 0] = along_x * per_cell
                    affine[p, a, 1] = along_y * per_cell
                    affine[p, a, 2] = along_z * per_cell


def _checked(particles: Particles) -> Particles:
    """The arrays as kernels are compiled for."""
    *arrays, ids = particles
    arrays = (required(array, np.float32) for array in arrays)
    particles = Particles(*arrays, required(ids, np.int32))
    n = len(particles.position)
    allowed = [(n, 3)], [(n, 3)], [(0, 3, 3), (n, 3, 3)], [(0, 2), (n, 2)], [(0,), (n,)]
    if any(array.shape not in shapes for array, shapes in zip(particles, allowed, strict=True)):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in particles._asdict().items())
        raise ValueError(f"particles with {shapes}: expected as many of each, or none")
    return particles


def _checked_first(grid, position, first) -> np.ndarray:
    first = required(first, np.int32)
    cells = math.prod(grid.shape)
    if first.shape != (cells + 1,) or first[-1] != len(position):
        raise ValueError(
            f"first has shape {first.shape} and ends with {first[-1:]}: "
            f"expected {(cells + 1,)} and {len(position)}, as sorted_by_cell gives it"
        )
    return first
