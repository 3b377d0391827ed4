"""What there is to export of a frame, whatever the format."""

from typing import NamedTuple

import numpy as np

from paddlewheel.solids.pose import Pose, cross, project_on

# By name, as on the command line: what it is.
WHAT = {
    "surface": "the liquid's surface, a mesh with the velocity of its vertices; a level set in VDB",
    "particles": "points with position, velocity, number and radius",
    "bodies": "rigid bodies and other solids as meshes",
    "smoke": "density and temperature",
    "velocity": "of the fluid, at the centres of cells",
}


class Points(NamedTuple):
    """Particles: position [m] and velocity [m/s], (n, 3) float32, and the radius [m] of all.

    id is (n,) int32, the number that a particle has in all frames; None if they have no such number.
    """

    position: np.ndarray
    velocity: np.ndarray
    radius: float
    id: np.ndarray | None = None

    def numbers(self) -> np.ndarray:
        """The ids, or else their places in this frame, (n,) int32."""
        return np.arange(len(self.position), dtype=np.int32) if self.id is None else self.id


class Mesh(NamedTuple):
    """Triangles: vertices [m] and their velocity [m/s], (n, 3) float32, and faces (m, 3) int32, facing out."""

    vertices: np.ndarray
    faces: np.ndarray
    velocity: np.ndarray

    def normals(self) -> np.ndarray:
        """Unit normals of the vertices, the mean of the triangles around each by their area, (n, 3) float32."""
        a, b, c = (self.vertices[self.faces[:, i]].astype(np.float64) for i in range(3))
        across = np.repeat(cross(b - a, c - a), 3, axis=0)
        n = len(self.vertices)
        total = np.stack([np.bincount(self.faces.ravel(), across[:, i], minlength=n) for i in range(3)], axis=-1)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return np.float32(total / np.where(length > 0, length, 1))


class Rigid(NamedTuple):
    """A solid that keeps its shape: x = R v + position of its vertices v, and its velocity v + ω × (x − position).

    name      such as "body_0" or "solid_2", of letters, digits and _
    vertices  (n, 3) float64 [m], about its centre of mass, or as drawn
    faces     (m, 3) int32
    pose      where it is, with velocities
    moving    whether it ever does
    """

    name: str
    vertices: np.ndarray
    faces: np.ndarray
    pose: Pose
    moving: bool

    @property
    def is_body(self) -> bool:
        """Whether it moves freely, and not as a script says."""
        return self.name.startswith("body_")

    def placed(self) -> Mesh:
        """The mesh where it is."""
        turned = project_on(self.vertices, self.pose.rotation.T)
        velocity = np.add(self.pose.velocity, cross(np.array(self.pose.angular_velocity), turned))
        return Mesh(np.float32(turned + self.pose.position), self.faces, np.float32(velocity))


class Field(NamedTuple):
    """Values (nx, ny, nz) or (nx, ny, nz, 3) float32 at the centres of cells, and which of them count, bool."""

    values: np.ndarray
    active: np.ndarray


class Frame(NamedTuple):
    """All that is exported of a frame; what is not wanted, or not there, is None or empty.

    number, time   of the frame, [s]
    h              [m]: length of the cells of fields
    surface_phi    the liquid's φ [m] with `BEYOND` layers of cells beyond the domain, and the length of its cells [m]
    """

    number: int
    time: float
    h: float
    surface: Mesh | None = None
    surface_phi: tuple[np.ndarray, float] | None = None
    particles: Points | None = None
    bodies: tuple[Rigid, ...] = ()
    density: Field | None = None
    temperature: Field | None = None
    velocity: Field | None = None

    def meshes(self) -> dict[str, Mesh]:
        """The surface and the solids where they are, by name."""
        found = {} if self.surface is None else {"surface": self.surface}
        return found | {body.name: body.placed() for body in self.bodies}

    def fields(self) -> dict[str, Field]:
        """The fields, by the names they have in files."""
        named = {"density": self.density, "temperature": self.temperature, "vel": self.velocity}
        return {name: field for name, field in named.items() if field is not None}
