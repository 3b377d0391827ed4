"""The scene that Blender builds from exported files, without a window."""

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from exported import exporter, frame_of

from paddlewheel.output.export import blender_script

_LOOK = """
import bpy, json, sys
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
bpy.context.scene.frame_set(int(sys.argv[2]))
graph = bpy.context.evaluated_depsgraph_get()
told = {}
for thing in bpy.data.objects:
    shown = thing.evaluated_get(graph)
    told[thing.name] = {"type": thing.type, "hidden": thing.hide_render}
    if thing.type == "MESH":
        told[thing.name]["vertices"] = [list(shown.matrix_world @ v.co) for v in shown.data.vertices]
        told[thing.name]["materials"] = [m.name for m in thing.data.materials]
        velocity = shown.data.attributes.get("velocity")
        told[thing.name]["velocity"] = velocity and [list(v.vector) for v in velocity.data]
glass = bpy.data.materials["liquid"].node_tree.nodes["Principled BSDF"].inputs
told["liquid"] = {name: glass[name].default_value for name in ("IOR", "Transmission Weight")}
scene = bpy.context.scene
told["scene"] = {"camera": scene.camera.name, "frames": [scene.frame_start, scene.frame_end], "fps": scene.render.fps}
print("TOLD" + json.dumps(told))
"""


def python(*arguments) -> str:
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def turned(points):
    """y up to z up: (x, −z, y)."""
    return np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=-1)


@pytest.mark.slow
def test_blender_builds_the_scene_and_draws_it(tmp_path):
    if find_spec("bpy") is None:
        pytest.skip("bpy is not installed")
    out, frames = exporter("usd", tmp_path), [frame_of("liquid", number) for number in (5, 6)]
    moved = frames[1].surface._replace(vertices=frames[1].surface.vertices + np.float32([0.1, 0, 0]))
    frames[1] = frames[1]._replace(surface=moved)
    for frame in frames:
        out.write(frame)
    out.finish()
    script, blend, picture = (tmp_path / f"run.{end}" for end in ("blender.py", "blend", "png"))
    script.write_text(blender_script(25.0))
    python(script, "--save", blend, "--render", picture, "--samples", 2, "--size", 64, 36, "--frame", 5)
    assert picture.read_bytes().startswith(b"\x89PNG")
    for frame in frames:
        told = json.loads(python("-c", _LOOK, blend, frame.number).split("TOLD")[1])
        surface, body = told["surface"], told["body_0_mesh"]
        assert np.allclose(surface["vertices"], turned(frame.surface.vertices), atol=1e-5)
        assert np.allclose(surface["velocity"], frame.surface.velocity, atol=1e-5)  # in the mesh's own axes
        assert surface["materials"] == ["liquid"]
        assert np.allclose(body["vertices"], turned(frame.meshes()["body_0"].vertices), atol=1e-5)
        assert told["particles"]["hidden"]
    assert told["liquid"]["IOR"] == pytest.approx(1.333)
    assert told["liquid"]["Transmission Weight"] == 1
    assert told["scene"] == {"camera": "camera", "frames": [5, 6], "fps": 25}
    assert told["sun"]["type"] == "LIGHT"


@pytest.mark.slow
def test_blender_shows_smoke_where_it_is(tmp_path):
    if find_spec("bpy") is None:
        pytest.skip("bpy is not installed")
    out = exporter("vdb", tmp_path)
    for number in (5, 6):
        out.write(frame_of("smoke", number))
    script, blend, picture = (tmp_path / f"run.{end}" for end in ("blender.py", "blend", "png"))
    script.write_text(blender_script(24.0))
    python("-c", _AS_BLENDER, script, "--background", "--python", script)
    python("-c", _AS_BLENDER, script, "--python", script, "--", "--save", blend)
    python(script, "--render", picture, "--samples", 2, "--size", 64, 36)
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = json.loads(python("-c", _SMOKE, blend).split("TOLD")[1])
    frame = frame_of("smoke")
    where = np.argwhere(frame.velocity.active)  # the widest of the grids
    corners = turned(np.array([where.min(axis=0), where.max(axis=0) + 1]) * frame.h)
    low, high = np.min(told["box"], axis=0), np.max(told["box"], axis=0)  # that of whole leaves
    assert (low < corners.min(axis=0) + 1e-6).all()
    assert (corners.max(axis=0) - 1e-6 < high).all()
    assert (high - low < np.ptp(corners, axis=0) + 16 * frame.h).all()
    assert told["grids"] == ["density", "temperature", "vel"]
    assert told["frames"] == [5, 6]
    assert 0.5 < np.linalg.norm(np.subtract(told["camera"], (0.4, -0.25, 0.5))) < 5
    assert told["file"].endswith("run.0006.vdb")


# What the program called blender does with its arguments.
_AS_BLENDER = """
import sys
script = sys.argv[1]
sys.argv = ["blender", *sys.argv[2:]]
exec(compile(open(script).read(), script, "exec"), {"__name__": "__main__", "__file__": script})
"""
_SMOKE = """
import bpy, json, mathutils, sys
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
scene = bpy.context.scene
scene.frame_set(6)
smoke = bpy.data.objects["smoke"].evaluated_get(bpy.context.evaluated_depsgraph_get())
smoke.data.grids.load()
box = [list(smoke.matrix_world @ mathutils.Vector(c)) for c in smoke.bound_box]
seen = list(scene.camera.matrix_world.translation)
grids = sorted(grid.name for grid in smoke.data.grids)
print("TOLD" + json.dumps({"box": box, "grids": grids, "frames": [scene.frame_start, scene.frame_end],
                           "camera": seen, "file": smoke.data.grids.frame_filepath}))
"""
