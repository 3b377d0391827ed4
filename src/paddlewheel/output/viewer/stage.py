"""The 3-D part of the page: what is drawn of a scene once, and what is sent of each snapshot."""

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.items import Smoke
from paddlewheel.output.camera import ANGLE, Camera
from paddlewheel.output.export.rigid import Rigids
from paddlewheel.output.viewer import drawn
from paddlewheel.output.viewer.session import Snapshot
from paddlewheel.scene import Scene

WATER, HONEY, STONE, LINE = (38, 132, 205), (201, 138, 27), (205, 199, 190), (120, 132, 148)
BODIES = ((232, 150, 46), (112, 78, 150), (196, 62, 62), (64, 140, 96), (214, 188, 60), (60, 110, 160))
COLD, GREY, HOT = np.array([110, 140, 190]), np.array([120, 120, 124]), np.array([214, 110, 50])
SKY = np.array([198, 211, 226])
MARKER = (47, 176, 240)
CLEAR = 0.55


class Stage:
    """The scene in the browser. Nodes are made once; then only what changes is sent, and the newest replaces the rest.

    surface, particles   which of them is shown of liquid
    """

    def __init__(self, server, scene: Scene):
        self._server, self._h = server, scene.grid.h
        self._colour = HONEY if Friction(scene).acts else WATER
        self._solid = drawn.static_distance(scene)
        self._smoke_scale = _scales(scene)
        self.surface, self.particles = True, False
        self._nodes = {}
        self._set_up(scene)
        self._moving = self._add_moving(scene)
        self.bodies = [node for shaped, node in self._moving if shaped.body is not None]

    def show(self, snapshot: Snapshot) -> None:
        """Send what a snapshot shows."""
        with self._server.atomic():
            for shaped, node in self._moving:
                pose = shaped.at(snapshot.time, snapshot.bodies).pose
                node.position, node.wxyz = pose.position, pose.orientation
            if snapshot.density is not None:
                self._show_smoke(snapshot)
            else:
                self._show_liquid(snapshot)

    def _show_liquid(self, snapshot) -> None:
        scene = self._server.scene
        surface = drawn.liquid(snapshot.phi, self._h, self._solid) if self.surface else None
        if surface is not None and len(surface.faces):
            self._nodes["surface"] = scene.add_mesh_simple(
                "/liquid/surface", surface.vertices, surface.faces, color=self._colour, opacity=CLEAR, side="double",
                cast_shadow=False, receive_shadow=False,
            )  # fmt: skip
        else:
            self._drop("surface")
        self._show_dots("/liquid/particles", snapshot.particles if self.particles else (), self._colour, 0.35)

    def _show_dots(self, name, position, colour, size) -> None:
        """Particles as dots, so many cells wide."""
        if len(position):
            self._nodes[name] = self._server.scene.add_point_cloud(
                name, drawn.particles(position), colour, point_size=size * self._h, point_shape="circle",
                precision="float32",
            )  # fmt: skip
        else:
            self._drop(name)

    def _show_smoke(self, snapshot) -> None:
        self._show_dots("/markers", () if snapshot.markers is None else snapshot.markers, MARKER, 0.2)
        puffs = drawn.smoke(snapshot.density, snapshot.temperature, self._h, self._smoke_scale)
        if not len(puffs.centres):
            self._drop("smoke")
            return
        warm, cold = np.maximum(puffs.warmth, 0)[:, None], np.maximum(-puffs.warmth, 0)[:, None]
        colours = GREY + warm * (HOT - GREY) + cold * (COLD - GREY)
        spread = np.broadcast_to(np.eye(3) * (0.6 * self._h) ** 2, (len(puffs.centres), 3, 3))
        self._nodes["smoke"] = self._server.scene.add_gaussian_splats(
            "/smoke", puffs.centres, spread, colours / 255, puffs.opacity[:, None]
        )

    def _drop(self, name) -> None:
        node = self._nodes.pop(name, None)
        if node is not None:
            node.remove()

    def _set_up(self, scene) -> None:
        server, size = self._server, scene.grid.size
        middle = 0.5 * np.array(size)
        away = np.linalg.norm(Camera.at(size).position - middle)
        eye = np.add(middle, (0, 0, away)) if scene.grid.is_2d else Camera.at(size).position
        server.scene.set_up_direction("+y")
        server.scene.world_axes.visible = False
        server.initial_camera.position = tuple(eye)
        server.initial_camera.look_at = tuple(middle)
        server.initial_camera.fov = np.radians(ANGLE * 1.15)
        server.scene.set_background_image(_sky(), format="png")
        server.scene.configure_default_lights(enabled=False, cast_shadow=False)
        sun = np.array([0.5, 1.0, 0.8]) * 3 * max(size)
        server.scene.add_light_hemisphere(
            "/light/sky", sky_color=(255, 255, 255), ground_color=(150, 160, 175), intensity=1.6
        )
        server.scene.add_light_directional("/light/sun", color=(255, 248, 236), intensity=2.2, position=tuple(sun))
        server.scene.add_line_segments("/domain", drawn.edges(size), LINE, thickness=1.5, thickness_units="screen")
        floor = np.array([(0, 0, 0), (size[0], 0, 0), (size[0], 0, size[2]), (0, 0, size[2])], np.float32)
        server.scene.add_mesh_simple(
            "/floor", floor - [0, 2e-3 * size[1], 0], np.array([(0, 2, 1), (0, 3, 2)]), color=(214, 220, 228),
            side="double", cast_shadow=False,
        )  # fmt: skip
        if self._solid is not None:
            walls = drawn.walls(self._solid, self._h, closed=scene.grid.is_2d)
            if len(walls.faces):
                server.scene.add_mesh_simple("/solids/still", walls.vertices, walls.faces, color=STONE, side="front")

    def _add_moving(self, scene) -> list:
        """Bodies and solids that move, each with its node."""
        return [(shaped, self._add(shaped)) for shaped in Rigids(scene, still=False).shaped]

    def _add(self, shaped):
        mesh = drawn.body(shaped.vertices, shaped.faces)
        name = f"/solids/{shaped.name}" if shaped.body is None else f"/bodies/{shaped.body}"
        colour = STONE if shaped.body is None else BODIES[shaped.body % len(BODIES)]
        return self._server.scene.add_mesh_simple(name, mesh.vertices, mesh.faces, color=colour, side="double")


def _sky() -> np.ndarray:
    """What is behind everything: from blue-grey at the top to white, (256, 1, 3) uint8."""
    part = np.linspace(0, 1, 256)[:, None, None]
    return (SKY + part * (255 - SKY)).astype(np.uint8)


def _scales(scene) -> tuple[float, float]:
    """The density and the temperature [K] of the densest and the hottest smoke, where they are numbers."""
    smokes = [item for item in scene.items if isinstance(item, Smoke)]
    densities = [item.density for item in smokes if not callable(item.density)]
    temperatures = [abs(item.temperature) for item in smokes if not callable(item.temperature)]
    return max(densities, default=0.0) or 1.0, max(temperatures, default=0.0)
