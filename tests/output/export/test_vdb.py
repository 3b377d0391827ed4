"""VDB files, read back by OpenVDB itself."""

import numpy as np
import pytest
from exported import exporter, frame_of, read_vdb

from paddlewheel.output.export.surface import BEYOND
from paddlewheel.output.export.vdb_file import COMPRESSION, Grid, level_set, write

RNG = np.random.default_rng(3)


def lattice(*shape):
    return np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).astype(float)


def ball(shape, center, radius):
    return (np.linalg.norm(lattice(*shape) - center, axis=-1) - radius).astype(np.float32)


def full() -> Grid:
    """All of it active and nearly all the same: tiles on every level, and a few leaves."""
    values = np.ones((300, 150, 150), np.float32)
    values[3, 4, 5] = 7
    return Grid("full", values, values > 0, (-4, 5, 6), 0.5, (0, 0, 0))


def noise(shape, share, channels=(), **options) -> Grid:
    active = RNG.random(shape) < share
    values = RNG.normal(size=(*shape, *channels)).astype(np.float32)
    values[~active] = 0
    return Grid("noise", values, active, options.pop("first", (0, 0, 0)), 0.1, (0.05, 0.06, 0.07), **options)


def idle(kinds) -> Grid:
    """Inactive voxels of so many values."""
    grid = noise((20, 20, 20), 0.3)
    grid.values[~grid.active] = RNG.choice(np.arange(float(kinds)) - 1, (~grid.active).sum())
    return grid


GRIDS = {
    "ball": lambda: level_set("ball", 0.1 * ball((50, 40, 30), (20, 20, 12), 9), (-3, 0, 130), 0.1, (0.05,) * 3),
    "deep": lambda: level_set("deep", 0.1 * ball((80, 80, 80), (40, 40, 40), 30), (0, 0, 0), 0.1, (0.05,) * 3),
    "full": full,
    "sparse": lambda: noise((200, 20, 20), 0.001, first=(-100, 4000, 4090), kind="fog volume"),
    "dense": lambda: noise((20, 20, 20), 1.0),
    "vectors": lambda: noise((30, 20, 20), 0.3, (3,), vector="contravariant relative"),
    "nothing": lambda: noise((20, 20, 20), 0.0),
    "one kind idle": lambda: idle(1),
    "two kinds idle": lambda: idle(2),
    "three kinds idle": lambda: idle(3),
    "four kinds idle": lambda: idle(4),
}


def compare(grid: Grid, told: dict, arrays: dict) -> None:
    """Values, active voxels, their number, transform, background and class are those of a grid."""
    assert told["count"] == grid.active.sum()
    assert told["kind"] == grid.kind
    assert told["h"] == pytest.approx(grid.h, rel=1e-15)
    assert np.allclose(told["origin"], grid.origin, rtol=0, atol=1e-15)
    assert np.all(np.float32(told["background"]) == np.float32(grid.background))
    assert int(told["metadata"]["file_voxel_count"]) == grid.active.sum()
    if grid.vector is not None:
        assert told["vector"] == grid.vector
    if not grid.active.any():
        return
    expected = np.full(arrays[grid.name].shape, np.float32(grid.background))
    active = np.zeros(expected.shape[:3], bool)
    ours, theirs = _common(grid.active.shape, np.subtract(grid.first, told["first"]), active.shape)
    expected[theirs], active[theirs] = grid.values[ours], grid.active[ours]
    assert np.array_equal(arrays[f"{grid.name}.active"], active)
    assert np.array_equal(arrays[grid.name], expected)


def _common(shape, offset, other):
    """Where two boxes overlap, as slices of each; the first begins at an offset in the second."""
    low, high = np.maximum(offset, 0), np.minimum(offset + shape, other)
    theirs = tuple(map(slice, low, high))
    return tuple(map(slice, low - offset, high - offset)), theirs


@pytest.mark.slow
@pytest.mark.parametrize("compression", COMPRESSION)
def test_openvdb_reads_what_was_written(compression, tmp_path):
    if compression == "blosc":
        pytest.importorskip("blosc")
    grids = [make()._replace(name=name) for name, make in GRIDS.items()]
    write(tmp_path / "all.vdb", grids, compression)
    told, arrays = read_vdb(tmp_path / "all.vdb")
    assert set(told) == set(GRIDS)
    for grid in grids:
        compare(grid, told[grid.name], arrays)
    assert told["full"]["leaves"] < 4000  # of 14 thousand: the rest are tiles
    assert told["deep"]["leaves"] < 800  # of 1000


@pytest.mark.slow
@pytest.mark.parametrize("case", ["liquid", "smoke"])
def test_openvdb_reads_frames(case, tmp_path):
    out, frame = exporter("vdb", tmp_path), frame_of(case)
    [path] = out.write(frame)
    told, arrays = read_vdb(path)
    assert set(told) == ({"surface", "vel"} if case == "liquid" else {"density", "temperature", "vel"})
    for name, field in frame.fields().items():
        kind, vector = ("unknown", "contravariant relative") if name == "vel" else ("fog volume", None)
        grid = Grid(name, field.values, field.active, (0, 0, 0), frame.h, (frame.h / 2,) * 3, 0.0, kind, vector)
        compare(grid, told[name], arrays)
    if case == "liquid":
        phi, h = frame.surface_phi
        compare(level_set("surface", phi, (-BEYOND,) * 3, h, (h / 2,) * 3), told["surface"], arrays)


@pytest.mark.parametrize("compression", ["zip", "blosc"])
def test_compression_and_tiles_save_room(compression, tmp_path):
    if compression == "blosc":
        pytest.importorskip("blosc")
    grid = GRIDS["deep"]()
    write(tmp_path / "packed.vdb", [grid], compression)
    write(tmp_path / "plain.vdb", [grid], "none")
    packed, plain = ((tmp_path / f"{name}.vdb").stat().st_size for name in ("packed", "plain"))
    assert packed < plain < grid.values.nbytes


def test_a_level_set_is_a_band(tmp_path):
    grid = GRIDS["ball"]()
    assert np.abs(grid.values).max() == np.float32(0.3) == np.float32(grid.background)
    assert np.array_equal(grid.active, np.abs(grid.values) < np.float32(0.3))
    assert (grid.values[~grid.active] < 0).any()  # the inside is told from the outside
