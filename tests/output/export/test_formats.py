"""Every format of the table: what is read back is what was written."""

import numpy as np
import pytest
from exported import CASES, READERS, exporter, frame_of

from paddlewheel.output.export import FORMATS, WHAT

PATTERNS = {"ply": "*.ply", "obj": "*.obj", "usd": "*.usd", "vdb": "*.vdb", "vtk": "*.vt[pi]"}


def test_every_format_is_read_back():
    assert {*READERS, "vdb"} == set(FORMATS) == set(PATTERNS)  # VDB has tests of its own
    for format in FORMATS.values():
        assert set(format.holds) <= set(WHAT)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_whole_files_only_with_the_number_of_their_frame(format, case, tmp_path):
    out = exporter(format, tmp_path)
    written = [path for number in (5, 6) for path in out.write(frame_of(case, number))] + out.finish()
    assert sorted(written) == sorted(tmp_path.iterdir())
    numbered = [path for path in tmp_path.glob(PATTERNS[format]) if ".000" in path.name]
    assert len([path for path in numbered if ".0005." in path.name]) == len(numbered) / 2
    if not (case == "smoke" and "smoke" not in FORMATS[format].holds):
        assert numbered


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("name", ["surface", "solid_1", "body_0"])
def test_meshes_read_back_equal(format, name, tmp_path):
    """Counts, corners, bounds and velocities; transforms too, which USD has instead of many meshes."""
    out = exporter(format, tmp_path)
    frames = [frame_of("liquid", number) for number in (5, 6)]
    for frame in frames:
        out.write(frame)
    out.finish()
    for frame in frames:
        mesh, found = frame.meshes()[name], READERS[format](tmp_path, name, frame.number)
        assert np.array_equal(found["faces"], mesh.faces)
        tolerance = 1e-6 if format == "usd" and name != "surface" else 0
        assert np.allclose(found["points"], mesh.vertices, rtol=0, atol=tolerance)
        if "v" in found:
            assert np.array_equal(found["v"], mesh.velocity)
    assert "v" in found or format == "obj" or (format == "usd" and name != "surface")


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("ids", [None, np.random.default_rng(1).permutation(1000)[:500].astype(np.int32)])
def test_particles_read_back_equal(format, ids, tmp_path):
    """Without ids of their own they have their places in the file."""
    out, frame = exporter(format, tmp_path), frame_of("liquid")
    frame = frame._replace(particles=frame.particles._replace(id=ids))
    out.write(frame)
    out.finish()
    found = READERS[format](tmp_path, "particles", 5)
    assert np.array_equal(found["points"], frame.particles.position)
    if format != "obj":
        assert np.array_equal(found["v"], frame.particles.velocity)
        assert np.array_equal(found["id"], np.arange(500) if ids is None else ids)
        assert np.allclose(found["radius"], 1 / 16 / 4, rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_fields_read_back_equal_in_vtk(case, tmp_path):
    out, frame = exporter("vtk", tmp_path), frame_of(case)
    out.write(frame)
    fields = frame.fields()
    assert set(fields) == ({"vel"} if case == "liquid" else {"density", "temperature", "vel"})
    for name, field in fields.items():
        assert np.array_equal(READERS["vtk"](tmp_path, name, 5)["values"], field.values)


def test_nothing_is_no_mistake(tmp_path):
    """A frame in which no liquid is left has files without triangles and points."""
    frame = frame_of("liquid")
    nothing = np.empty((0, 3), np.float32)
    mesh = frame.surface._replace(vertices=nothing, faces=np.empty((0, 3), np.int32), velocity=nothing)
    frame = frame._replace(
        surface=mesh, particles=frame.particles._replace(position=nothing, velocity=nothing), bodies=()
    )
    for format in ("obj", "vtk", "ply"):
        out = exporter(format, tmp_path)
        out.write(frame)
        out.finish()
    assert len(READERS["vtk"](tmp_path, "surface", 5)["points"]) == 0
    assert READERS["obj"](tmp_path, "surface", 5)["faces"].shape == (0, 3)
    assert b"element vertex 0\n" in (tmp_path / "run.particles.0005.ply").read_bytes()


def test_paraview_finds_all_frames(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    out = exporter("vtk", tmp_path)
    for number in (5, 6):
        out.write(frame_of("liquid", number)._replace(time=number / 25))
    out.finish()
    reader = pyvista.get_reader(tmp_path / "run.surface.pvd")
    assert reader.time_values == [0.2, 0.24]
    assert reader.read()[0].n_points == len(frame_of("liquid").surface.vertices)
