"""Builds a scene in Blender from files of `paddlewheel export`: water of USD, smoke of VDB, bodies, light, camera.

    blender --background --python NAME.blender.py -- [FILE …] [--save FILE.blend] [--render FILE.png] [--frame N]
                                        [--samples N] [--size WIDTH HEIGHT] [--motion-blur] [--honey]

FILE is NAME.usd, or the first NAME.0001.vdb of a sequence. --blender of `paddlewheel export` copies this script beside
the files, and then it finds them by itself. It needs Blender 4.2 or later and nothing else; `pip install bpy` is a
Blender too, and then Python runs it.
"""

import argparse
import math
import sys
from pathlib import Path

import bpy
from mathutils import Vector

FPS = 24.0
WATER, HONEY = (0.75, 0.93, 1.0, 1.0), (1.0, 0.55, 0.08, 1.0)
SOLIDS = [(0.80, 0.28, 0.12, 1.0), (0.90, 0.68, 0.20, 1.0), (0.25, 0.45, 0.25, 1.0), (0.45, 0.30, 0.55, 1.0)]
LOOK = Vector((-0.42, 1.0, -0.36))  # the direction of the camera; in Blender z is up


def main() -> None:
    options = arguments()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    for file in options.files:
        import_volume(file) if file.suffix == ".vdb" else import_stage(file)
    scene.frame_set(scene.frame_start if options.frame is None else options.frame)
    dress(HONEY if options.honey else WATER)
    low, high = bounds()
    add_floor(low, high)
    add_light(low, high)
    add_camera(low, high, options.size)
    set_up_render(options)
    if options.save:
        bpy.ops.wm.save_as_mainfile(filepath=str(options.save.resolve()))
    if options.render:
        scene.render.filepath = str(options.render.resolve())
        bpy.ops.render.render(write_still=True)


def arguments() -> argparse.Namespace:
    # Blender's own arguments come first, and ours after --; Python has none of its own.
    by_python = Path(sys.argv[0]).name == Path(__file__).name
    given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:] if by_python else []
    parser = argparse.ArgumentParser(prog=Path(__file__).name)
    parser.add_argument("files", nargs="*", type=Path, default=beside(), metavar="FILE")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the scene there")
    parser.add_argument("--render", type=Path, metavar="FILE", help="draw a picture of it")
    parser.add_argument("--frame", type=int, metavar="N", help="of this frame (default: the first)")
    parser.add_argument("--samples", type=int, default=64, metavar="N", help="for each pixel (default: 64)")
    parser.add_argument("--size", type=int, nargs=2, default=(1280, 720), metavar="PIXELS")
    parser.add_argument("--motion-blur", action="store_true", help="blur what moves, by its velocity")
    parser.add_argument("--honey", action="store_true", help="the colour of honey instead of water")
    options = parser.parse_args(given)
    if not options.files:
        parser.error(f"no files: there is neither NAME.usd nor NAME.0001.vdb beside {Path(__file__).name}")
    for file in options.files:
        if not file.is_file():
            parser.error(f"{file}: there is no such file")
    return options


def beside() -> list[Path]:
    """The files that were exported together with this script."""
    folder, name = Path(__file__).resolve().parent, Path(__file__).name.removesuffix(".blender.py")
    return [*folder.glob(f"{name}.usd"), *sorted(folder.glob(f"{name}.[0-9]*.vdb"))[:1]]


def import_stage(file) -> None:
    bpy.ops.wm.usd_import(filepath=str(file), set_frame_range=True, import_materials=False)


def import_volume(first) -> None:
    """Smoke, if the files hold any, in all frames; y up as in the files becomes z up."""
    name, number, _ = first.name.rsplit(".", 2)
    files = sorted(first.parent.glob(f"{name}.{'[0-9]' * len(number)}.vdb"))
    bpy.ops.object.volume_import(
        filepath=str(first), directory=str(first.parent), files=[{"name": file.name} for file in files]
    )
    smoke = bpy.context.object
    smoke.data.grids.load()
    if "density" not in smoke.data.grids:
        bpy.data.objects.remove(smoke)
        return
    smoke.name, smoke.rotation_euler = "smoke", (math.radians(90), 0, 0)
    smoke.data.velocity_grid = "vel"
    made = bpy.data.materials.new("smoke")
    if not made.node_tree:
        made.use_nodes = True
    nodes = made.node_tree.nodes
    nodes.remove(nodes["Principled BSDF"])
    medium = nodes.new("ShaderNodeVolumePrincipled")
    medium.inputs["Density"].default_value = 25.0  # per metre
    made.node_tree.links.new(medium.outputs["Volume"], nodes["Material Output"].inputs["Volume"])
    wear(smoke, made)
    scene, numbers = bpy.context.scene, [int(file.name.rsplit(".", 2)[1]) for file in files]
    scene.frame_start, scene.frame_end = numbers[0], numbers[-1]
    # The file of frame n is that of number n; the sequence need not begin with the first.
    smoke.data.frame_start, smoke.data.frame_offset = numbers[0], numbers[0] - 1
    smoke.data.frame_duration = numbers[-1] - numbers[0] + 1


def dress(colour) -> None:
    """Materials: what is called surface is a liquid; where it or smoke is, particles are left out."""
    liquid = material("liquid", colour, roughness=0.02, transmission=1.0)
    surface = [thing for thing in meshes() if thing.name.startswith("surface")]
    for thing in surface:
        wear(thing, liquid)
    for number, thing in enumerate(thing for thing in meshes() if thing not in surface):
        wear(thing, material(thing.name, SOLIDS[number % len(SOLIDS)], roughness=0.4, transmission=0.0))
    for thing in bpy.data.objects:
        if thing.type in ("POINTCLOUD", "MESH") and thing.name.startswith("particles"):
            thing.hide_render = thing.hide_viewport = bool(surface) or "smoke" in bpy.data.objects


def meshes() -> list:
    return sorted((thing for thing in bpy.data.objects if thing.type == "MESH"), key=lambda thing: thing.name)


def material(name, colour, roughness, transmission):
    made = bpy.data.materials.new(name)
    if not made.node_tree:
        made.use_nodes = True  # before Blender 5
    inputs = made.node_tree.nodes["Principled BSDF"].inputs
    inputs["Base Color"].default_value = colour
    inputs["Roughness"].default_value = roughness
    inputs["IOR"].default_value = 1.333 if transmission else 1.45
    inputs["Transmission Weight"].default_value = transmission
    return made


def wear(thing, made) -> None:
    thing.data.materials.clear()
    thing.data.materials.append(made)


def bounds() -> tuple[Vector, Vector]:
    """Lowest and highest corner of all meshes, points and smoke that are drawn."""
    shown = [
        thing for thing in bpy.data.objects if thing.type in ("MESH", "POINTCLOUD", "VOLUME") and not thing.hide_render
    ]
    graph = bpy.context.evaluated_depsgraph_get()
    corners = [thing.matrix_world @ Vector(c) for thing in shown for c in thing.evaluated_get(graph).bound_box]
    return tuple(Vector(end(c[axis] for c in corners) for axis in range(3)) for end in (min, max))


def add_floor(low, high) -> None:
    far = 30 * (high - low).length
    bpy.ops.mesh.primitive_plane_add(size=far, location=((low.x + high.x) / 2, (low.y + high.y) / 2, low.z - 1e-3))
    bpy.context.object.name = "floor"
    wear(bpy.context.object, material("floor", (0.8, 0.79, 0.77, 1.0), roughness=0.7, transmission=0.0))


def add_light(low, high) -> None:
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.data.angle = 3.0, math.radians(3)
    sun.rotation_euler = (math.radians(40), math.radians(-15), math.radians(-35))
    bpy.context.collection.objects.link(sun)
    world = bpy.data.worlds.new("sky")
    if not world.node_tree:
        world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.75, 0.85, 1.0, 1.0)
    world.node_tree.nodes["Background"].inputs[1].default_value = 0.8
    bpy.context.scene.world = world


def add_camera(low, high, size) -> None:
    """A camera from which everything is seen."""
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.data.angle = math.radians(40)
    narrow = min(1.0, size[1] / size[0])
    away = 0.55 * (high - low).length / math.tan(math.radians(20)) / narrow**0.5
    look = LOOK.normalized()
    camera.location = (low + high) / 2 - away * look
    camera.rotation_euler = look.to_track_quat("-Z", "Y").to_euler()
    camera.data.clip_end = 100 * away
    bpy.context.collection.objects.link(camera)
    bpy.context.scene.camera = camera


def set_up_render(options) -> None:
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.render.fps, scene.render.fps_base = round(FPS), round(FPS) / FPS
    scene.cycles.device = "CPU"
    scene.cycles.samples = options.samples
    scene.cycles.use_denoising = False
    scene.cycles.transmission_bounces = 12
    scene.render.resolution_x, scene.render.resolution_y = options.size
    scene.render.use_motion_blur = options.motion_blur
    scene.view_settings.view_transform = "AgX"


if __name__ == "__main__":
    main()
