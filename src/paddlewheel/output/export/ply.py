"""PLY sequences, binary: NAME.surface.0001.ply, NAME.particles.0001.ply, NAME.body_0.0001.ply."""

from pathlib import Path

import numpy as np

from paddlewheel.output.export.sequence import Sequence
from paddlewheel.output.export.things import Mesh, Points

_POSITION = [(axis, "<f4") for axis in ("x", "y", "z")]
_VELOCITY = [(axis, "<f4") for axis in ("vx", "vy", "vz")]  # as programs call it
_KINDS = {"<f4": "float", "<i4": "int"}


class Ply(Sequence):
    """Velocities are properties vx, vy, vz; points have id and pscale too, their number and radius."""

    ending = "ply"

    def write_mesh(self, path: Path, mesh: Mesh) -> None:
        vertices = np.empty(len(mesh.vertices), [*_POSITION, *_VELOCITY])
        _fill(vertices, mesh.vertices, mesh.velocity)
        faces = np.empty(len(mesh.faces), [("count", "u1"), ("corners", "<i4", 3)])
        faces["count"], faces["corners"] = 3, mesh.faces
        elements = [f"element face {len(faces)}", "property list uchar int vertex_indices"]
        _write(path, vertices, elements, faces.tobytes())

    def write_points(self, path: Path, points: Points) -> None:
        vertices = np.empty(len(points.position), [*_POSITION, *_VELOCITY, ("id", "<i4"), ("pscale", "<f4")])
        _fill(vertices, points.position, points.velocity)
        vertices["id"], vertices["pscale"] = points.numbers(), points.radius
        _write(path, vertices, [], b"")


def _fill(vertices, position, velocity) -> None:
    for names, vectors in ((_POSITION, position), (_VELOCITY, velocity)):
        for axis, (name, _) in enumerate(names):
            vertices[name] = vectors[:, axis]


def _write(path, vertices, elements, rest: bytes) -> None:
    properties = [f"property {_KINDS[vertices.dtype[name].str]} {name}" for name in vertices.dtype.names]
    lines = ["ply", "format binary_little_endian 1.0", "comment metres, metres per second, y up"]
    lines += [f"element vertex {len(vertices)}", *properties, *elements, "end_header", ""]
    with open(path, "wb") as file:
        file.write("\n".join(lines).encode() + vertices.tobytes() + rest)
