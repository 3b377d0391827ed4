"""Runs that tests of exports share: states made by hand, with everything known, and readers for each format."""

import glob
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from paddlewheel.items import Liquid, RigidBody, Smoke, Solid
from paddlewheel.output.export import FORMATS, Frames
from paddlewheel.output.export.sequence import Exporter
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import Body, Faces, Particles, State

BALL = Sphere((0.5, 0.5, 0.25), 0.2)
TURN = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))  # a quarter about z


def liquid_scene(cells=16):
    return Scene(
        size=(1, 1, 0.5),
        cells=cells,
        fps=25,
        items=[
            Liquid(BALL),
            Solid(Sphere((0, 0, 0), 0.1), motion=lambda t: Pose((0.2 + t, 0.1, 0.25))),
            RigidBody(Box((0.1, 0.6, 0.1), (0.3, 0.8, 0.2)), density=500),
        ],
    )


def swirl(grid) -> Faces:
    """u = (1 + y, −x, 2 z), linear, so that interpolation is exact."""
    x, y, z = (grid.face_points(a) for a in range(3))
    return Faces(*(np.float32(u) for u in (1 + x[..., 1], -y[..., 0], 2 * z[..., 2])))


def liquid_state(scene, time=0.2):
    grid, rng = scene.grid, np.random.default_rng(1)
    phi = BALL.distance(grid.cell_points().reshape(-1, 3)).reshape(grid.shape).astype(np.float32)
    points = (np.array(BALL.center) + rng.uniform(-0.1, 0.1, (500, 3))).astype(np.float32)
    particles = Particles.at(points, rng.normal(size=(500, 3)))
    body = Body(np.array([0.15, 0.8, 0.2]), np.array(TURN), np.array([0.1, 0.2, 0.3]), np.array([0, 0, 2.0]))
    return State(time, 5, swirl(grid), np.zeros(grid.shape), phi, particles, grid.zeros_faces(), (body,))


def smoke_scene(cells=20):
    return Scene(size=(1, 1, 0.5), cells=cells, items=[Smoke(Sphere((0.4, 0.5, 0.25), 0.2), temperature=10)])


def smoke_state(scene):
    grid, rng = scene.grid, np.random.default_rng(2)
    inside = Sphere((0.4, 0.5, 0.25), 0.2).distance(grid.cell_points().reshape(-1, 3)).reshape(grid.shape) < 0
    density, temperature = (np.float32(rng.random(grid.shape) * inside) for _ in range(2))
    particles = Particles.at(np.empty((0, 3)), np.zeros(3))
    none, phi = np.zeros(grid.shape), -np.ones(grid.shape, np.float32)
    return State(
        0.2, 5, swirl(grid), none, phi, particles, grid.zeros_faces(), density=density, temperature=temperature
    )


CASES = {"liquid": (liquid_scene, liquid_state), "smoke": (smoke_scene, smoke_state)}


def frame_of(case: str, number: int = 5, **options):
    """A frame of one of the CASES."""
    scene = CASES[case][0]()
    return Frames(scene, **options).make(number, CASES[case][1](scene))


def exporter(format: str, folder: Path) -> Exporter:
    """One that writes into a folder; the test is skipped if what it needs is not installed."""
    if format == "usd":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    return FORMATS[format].exporter(folder, "run", 25.0, (1.0, 1.0, 0.5))


def read_ply(folder, name, number):
    """Arrays by name, as trimesh reads them."""
    import trimesh

    found = trimesh.load(folder / f"run.{name}.{number:04}.ply", process=False)
    vertex = found.metadata["_ply_raw"]["vertex"]["data"]
    out = {"points": _columns(vertex, "x", "y", "z"), "v": _columns(vertex, "vx", "vy", "vz")}
    if name == "particles":
        return out | {"id": np.asarray(vertex["id"]).ravel(), "radius": np.asarray(vertex["pscale"]).ravel()}
    return out | {"faces": np.asarray(found.faces)}


def _columns(vertex, *names):
    return np.stack([np.asarray(vertex[name]).ravel() for name in names], axis=-1)


def read_obj(folder, name, number):
    lines = [line.split() for line in (folder / f"run.{name}.{number:04}.obj").read_text().splitlines()]
    points = np.float32([line[1:] for line in lines if line[0] == "v"])
    faces = np.array([line[1:] for line in lines if line[0] == "f"], int).reshape(-1, 3) - 1
    return {"points": points} | ({} if name == "particles" else {"faces": faces})


def read_vtk(folder, name, number):
    """As VTK itself reads it."""
    pyvista = pytest.importorskip("pyvista")
    if name in ("density", "temperature", "vel"):
        image = pyvista.read(folder / f"run.fields.{number:04}.vti")
        assert np.allclose(image.bounds, (0, 1, 0, 1, 0, 0.5))
        shape = [n - 1 for n in image.dimensions]
        values = np.asarray(image.cell_data[name])
        return {"values": np.swapaxes(values.reshape(*shape[::-1], *values.shape[1:]), 0, 2)}
    found = pyvista.read(folder / f"run.{name}.{number:04}.vtp")
    out = {"points": np.asarray(found.points), "v": np.asarray(found.point_data["v"])}
    if name == "particles":
        return out | {"id": np.asarray(found.point_data["id"]), "radius": np.asarray(found.point_data["pscale"])}
    return out | {"faces": found.regular_faces}


def read_usd(folder, name, number):
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(folder / "run.usd"))
    if name not in ("surface", "particles"):
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath(f"/run/bodies/{name}/{name}_mesh"))
        assert mesh.GetPointsAttr().GetNumTimeSamples() == 0  # once for all frames
        to_world = np.array(UsdGeom.XformCache(number).GetLocalToWorldTransform(mesh.GetPrim()))
        points = np.array(mesh.GetPointsAttr().Get(), float) @ to_world[:3, :3] + to_world[3, :3]
        return {"points": points, "faces": np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)}
    prim = stage.GetPrimAtPath(f"/run/fluid/{name}")
    values = {a.GetName(): np.array(a.Get(number)) for a in prim.GetAttributes() if a.Get(number) is not None}
    out = {"points": values["points"], "v": values["velocities"]}
    low, high = values["extent"]
    assert (low <= out["points"]).all()
    assert (out["points"] <= high).all()
    if name == "particles":
        return out | {"id": values["ids"] & 0xFFFFFFFF, "radius": np.full(len(out["points"]), values["widths"][0] / 2)}
    assert set(values["faceVertexCounts"]) == {3}
    assert np.allclose(np.linalg.norm(values["normals"], axis=1), 1, atol=1e-5)
    return out | {"faces": values["faceVertexIndices"].reshape(-1, 3)}


READERS = {"ply": read_ply, "obj": read_obj, "vtk": read_vtk, "usd": read_usd}

_READ_VDB = """
import sys, json, numpy as np
sys.path.append(sys.argv[2])
import bpy, openvdb
told, arrays = {}, {}
for grid in openvdb.readAll(sys.argv[1])[0]:
    low, high = grid.evalActiveVoxelBoundingBox()
    shape = [b - a + 1 for a, b in zip(low, high)] if grid.activeVoxelCount() else [0, 0, 0]
    vector = not isinstance(grid.background, float)
    low = [a - 10 for a in low] if grid.activeVoxelCount() else [0, 0, 0]
    values = np.zeros([n + 20 for n in shape] + [3] * vector, np.float32)
    grid.copyToArray(values, ijk=low)
    active = np.zeros([n + 20 for n in shape], bool)
    for item in grid.citerOnValues():
        a, b = (np.subtract(corner, low) for corner in (item.min, item.max))
        active[a[0] : b[0] + 1, a[1] : b[1] + 1, a[2] : b[2] + 1] = True
    told[grid.name] = {
        "first": low, "count": grid.activeVoxelCount(), "kind": grid.gridClass, "leaves": grid.leafCount(),
        "h": grid.transform.voxelSize()[0], "origin": grid.transform.indexToWorld((0, 0, 0)),
        "background": grid.background, "vector": grid.vectorType,
        "metadata": {k: str(v) for k, v in grid.metadata.items()},
    }
    arrays[grid.name], arrays[grid.name + ".active"] = values, active
np.savez(sys.argv[3], **arrays)
print("TOLD" + json.dumps(told))
"""


def read_vdb(path) -> tuple[dict, dict]:
    """What OpenVDB, as it comes with Blender, says of the grids of a file; and their values and active voxels.

    In a process of its own: Blender brings its own copies of much, USD among it.
    """
    spec = find_spec("bpy")
    if spec is None:
        pytest.skip("no OpenVDB to read with: bpy is not installed")
    [folder] = glob.glob(str(Path(spec.origin).parent / "*" / "python" / "lib" / "*" / "site-packages"))
    arrays = Path(f"{path}.npz")
    done = subprocess.run([sys.executable, "-c", _READ_VDB, str(path), folder, str(arrays)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.split("TOLD")[1])
    with np.load(arrays) as file:
        return told, dict(file)
