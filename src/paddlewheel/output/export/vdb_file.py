"""OpenVDB files, written with NumPy: sparse grids as trees of nodes of 32³, 16³ and 8³, the tree called 5-4-3.

A file of version 224 is a header and, for each grid, its metadata, its
transform, the topology of its tree and then the values of the leaves. A leaf
is 8³ voxels; an inner node holds for each child either the child or a tile,
one value for all voxels in its place. So blocks of one value take no room.
Masks say which are children and which are active. Of inactive values at most
two distinct ones are stored, with a mask that tells them apart; active values
are stored one after the other and compressed.
"""

import struct
import uuid
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

__all__ = ["COMPRESSION", "Grid", "level_set", "write"]

_MAGIC, _VERSION, _LIBRARY = 0x56444220, 224, (12, 0)
_ZIP, _MASK, _BLOSC = 1, 2, 4
_LEAF, _LOWER, _UPPER = (
    8,
    16,
    32,
)  # voxels of a leaf, leaves of a lower node, lower nodes of an upper one, along an axis
_TYPES = {(): "float", (3,): "vec3s"}
_LEAST = 48  # bytes; less is not compressed

# What the byte before a node's values says of the inactive ones.
_BACKGROUND, _MINUS, _ONE, _MINUS_OR_BACKGROUND, _ONE_OR_BACKGROUND, _TWO, _ALL = range(7)


class Grid(NamedTuple):
    """A grid of a file.

    name        as programs call it: "density"
    values      (nx, ny, nz) or (nx, ny, nz, 3) float32
    active      (nx, ny, nz) bool: which voxels count
    first       index of the first voxel
    h           [m]: the length of a voxel
    origin      [m]: where the centre of voxel (0, 0, 0) is
    background  the value of all voxels beyond
    kind        what it means: "level set", "fog volume", "unknown"
    vector      how vectors transform: "contravariant relative" for velocities; None for numbers
    """

    name: str
    values: np.ndarray
    active: np.ndarray
    first: tuple[int, int, int]
    h: float
    origin: tuple[float, float, float]
    background: float = 0.0
    kind: str = "unknown"
    vector: str | None = None


def level_set(name: str, phi: np.ndarray, first, h: float, origin, width: float = 3.0) -> Grid:
    """A narrow band of a signed distance φ [m]: |φ| < width · h is active; beyond, it is ±width · h."""
    background = np.float32(width * h)
    clipped = np.clip(phi, -background, background).astype(np.float32)
    return Grid(name, clipped, np.abs(clipped) < background, first, h, origin, float(background), "level set")


def write(path: Path, grids: Iterable[Grid], compression: str = "zip") -> None:
    """A file of grids, compressed by "zip", by "blosc", for which that package must be installed, or by "none"."""
    flags, pack = COMPRESSION[compression]()
    grids = list(grids)
    with open(path, "wb") as file:
        file.write(struct.pack("<qIII?", _MAGIC, _VERSION, *_LIBRARY, True) + str(uuid.uuid4()).encode())
        _write_metadata(file, {"creator": "paddlewheel"})
        file.write(struct.pack("<i", len(grids)))
        for grid in grids:
            _write_grid(file, grid, flags | _MASK, pack)


def _none() -> tuple[int, Callable]:
    return 0, lambda data, size: data


def _zip() -> tuple[int, Callable]:
    return _ZIP, lambda data, size: _sized(data, zlib.compress(data, 6) if len(data) >= _LEAST else data)


def _blosc() -> tuple[int, Callable]:
    from paddlewheel.output.picture import MissingExtraError

    try:
        import blosc
    except ImportError as error:
        raise MissingExtraError("blosc compression needs blosc: pip install 'paddlewheel[blosc]'") from error

    def pack(data, size):
        few = len(data) < _LEAST
        return _sized(data, data if few else blosc.compress(data, typesize=size, cname="lz4", clevel=9))

    return _BLOSC, pack


COMPRESSION = {"zip": _zip, "blosc": _blosc, "none": _none}


def _sized(data: bytes, packed: bytes) -> bytes:
    """Compressed data after their size; or if they are no smaller, the data themselves, with a size below zero."""
    if len(packed) < len(data):
        return struct.pack("<q", len(packed)) + packed
    return struct.pack("<q", -len(data)) + data


def _write_grid(file: BinaryIO, grid: Grid, flags: int, pack: Callable) -> None:
    """Its name and type, three positions in the file, and what is there: all else, the values of leaves, the end."""
    kind = _TYPES[grid.values.shape[3:]]
    file.write(_text(grid.name) + _text(f"Tree_{kind}_5_4_3") + _text(""))
    positions = file.tell()
    file.write(bytes(24))
    start = file.tell()
    file.write(struct.pack("<I", flags))
    _write_metadata(file, _described(grid))
    file.write(_text("UniformScaleTranslateMap"))
    scale = np.full(3, grid.h)
    for vector in (grid.origin, scale, scale, 1 / scale, 1 / scale**2, 0.5 / scale):
        file.write(np.asarray(vector, "<f8").tobytes())
    leaves = _write_topology(file, grid, pack)
    values = file.tell()
    for leaf in leaves:
        file.write(leaf)
    end = file.tell()
    file.seek(positions)
    file.write(struct.pack("<qqq", start, values, end))
    file.seek(end)


def _described(grid: Grid) -> dict:
    """The metadata of a grid; the box of its active voxels is from the first to the last, both in it."""
    where = np.argwhere(grid.active)
    low, high = (where.min(axis=0), where.max(axis=0)) if len(where) else (np.zeros(3, int), np.full(3, -1))
    told = {
        "name": grid.name,
        "class": grid.kind,
        "is_local_space": False,
        "is_saved_as_half_float": False,
        "file_bbox_min": low + grid.first,
        "file_bbox_max": high + grid.first,
        "file_voxel_count": len(where),
    }
    return told | ({} if grid.vector is None else {"vector_type": grid.vector})


def _write_metadata(file, told: dict) -> None:
    file.write(struct.pack("<I", len(told)))
    for name, value in told.items():
        if isinstance(value, str):
            kind, data = "string", value.encode()
        elif isinstance(value, bool):
            kind, data = "bool", struct.pack("<?", value)
        elif isinstance(value, np.ndarray):
            kind, data = "vec3i", value.astype("<i4").tobytes()
        else:
            kind, data = "int64", struct.pack("<q", value)
        file.write(_text(name) + _text(kind) + struct.pack("<I", len(data)) + data)


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text.encode())) + text.encode()


class _Level(NamedTuple):
    """The nodes or voxels of one level, in the places of a box of them.

    first   index of the box's first place, in places of this level
    values  of tiles, or voxels; anything where there is a node
    active  whether those are
    nodes   of objects: a node as (masks and values for the topology, list of leaves), or None; None of voxels
    """

    first: np.ndarray
    values: np.ndarray
    active: np.ndarray
    nodes: np.ndarray | None


def _write_topology(file, grid: Grid, pack) -> list[bytes]:
    """The tree from its root down; returns the leaves, to be written after it, in the same order."""
    background = np.full(grid.values.shape[3:], grid.background, "<f4")
    level = _Level(np.array(grid.first), np.asarray(grid.values, "<f4"), grid.active, None)
    for side in (_LEAF, _LOWER, _UPPER):
        level = _gathered(level, side, background, pack)
    places = [at for at in np.ndindex(level.nodes.shape)]
    nodes = [at for at in places if level.nodes[at] is not None]
    tiles = [at for at in places if level.nodes[at] is None and (level.active[at] or _differs(level, at, background))]
    file.write(struct.pack("<I", 1) + background.tobytes() + struct.pack("<II", len(tiles), len(nodes)))
    for at in tiles:
        file.write(_corner(level, at) + level.values[at].tobytes() + struct.pack("<?", level.active[at]))
    leaves = []
    for at in nodes:
        topology, below = level.nodes[at]
        file.write(_corner(level, at) + topology)
        leaves += below
    return leaves


def _corner(level, at) -> bytes:
    return ((level.first + at) * (_LEAF * _LOWER * _UPPER)).astype("<i4").tobytes()


def _differs(level, at, background) -> bool:
    return bool(np.any(level.values[at] != background))


def _gathered(level: _Level, side: int, background, pack) -> _Level:
    """The level above: blocks of side³ places become a tile if they are all the same, else a node."""
    low = level.first // side
    high = -(-(level.first + level.active.shape) // side)
    before = level.first - low * side
    after = high * side - level.first - level.active.shape
    gaps = list(zip(before, after, strict=True))
    wide = (*((high - low) * side), *background.shape)
    values = np.empty(wide, "<f4")
    values[...] = background
    inner = tuple(slice(b, b + n) for b, n in zip(before, level.active.shape, strict=True))
    values[inner] = level.values
    values = _blocks(values, side)
    active = _blocks(np.pad(level.active, gaps), side)
    first = values[:, :, :, :1]
    same = np.all(values == first, axis=tuple(range(3, values.ndim))) & np.all(active == active[..., :1], axis=3)
    nodes = None
    if level.nodes is not None:
        nodes = _blocks(np.pad(level.nodes, gaps, constant_values=None), side)
        same &= ~np.any(np.not_equal(nodes, None), axis=3)
    made = np.full(same.shape, None)
    for at in zip(*np.nonzero(~same), strict=True):
        made[at] = _node(values[at], active[at], None if nodes is None else nodes[at], background, pack)
    return _Level(low, values[:, :, :, 0], active[:, :, :, 0], made)


def _blocks(array, side) -> np.ndarray:
    """An array of blocks of side³, each flattened in C order, which is the order in a node."""
    nx, ny, nz = (n // side for n in array.shape[:3])
    rest = array.shape[3:]
    split = array.reshape(nx, side, ny, side, nz, side, *rest)
    return np.moveaxis(split, (1, 3, 5), (3, 4, 5)).reshape(nx, ny, nz, side**3, *rest)


def _node(values, active, nodes, background, pack) -> tuple[bytes, list[bytes]]:
    """What a node is in the topology, and the leaves below it."""
    if nodes is None:
        mask = _bits(active)
        return mask, [mask + _compressed(values, active, ~active, background, pack)]
    child = np.not_equal(nodes, None)
    active = active & ~child
    values = np.where(child.reshape(-1, *[1] * background.ndim), np.float32(0), values).astype("<f4")
    topology = [_bits(child), _bits(active), _compressed(values, active, ~(active | child), background, pack)]
    leaves = []
    for node in nodes[child]:
        topology.append(node[0])
        leaves += node[1]
    return b"".join(topology), leaves


def _bits(mask) -> bytes:
    return np.packbits(mask, bitorder="little").tobytes()


def _compressed(values, active, inactive, background, pack) -> bytes:
    """The values of a node: which inactive ones there are, and the active ones."""
    distinct = _distinct(values[inactive])
    if distinct is None:
        return bytes([_ALL]) + pack(values.tobytes(), background.nbytes)
    others = [v for v in distinct if np.any(v != background)]
    beside = len(others) < len(distinct)  # the background is one of them
    minus = len(others) == 1 and np.all(others[0] == -background)
    if not others:
        told = bytes([_BACKGROUND])
    elif len(others) == 2:
        chosen = inactive & _equal(values, others[1])
        told = bytes([_TWO]) + others[0].tobytes() + others[1].tobytes() + _bits(chosen)
    elif beside:
        chosen = inactive & _equal(values, background)
        told = bytes([_MINUS_OR_BACKGROUND]) if minus else bytes([_ONE_OR_BACKGROUND]) + others[0].tobytes()
        told += _bits(chosen)
    else:
        told = bytes([_MINUS]) if minus else bytes([_ONE]) + others[0].tobytes()
    return told + pack(values[active].tobytes(), background.nbytes)


def _distinct(values) -> list[np.ndarray] | None:
    """The distinct ones of some values, if they are at most two."""
    found = []
    while len(values):
        if len(found) == 2:
            return None
        found.append(values[0].copy())
        values = values[~_equal(values, found[-1])]
    return found


def _equal(values, value) -> np.ndarray:
    """Which of some numbers (n,), or vectors (n, 3), are the one given."""
    equal = values == value
    return equal if equal.ndim == 1 else equal.all(axis=1)
