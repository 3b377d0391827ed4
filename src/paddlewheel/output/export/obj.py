"""OBJ sequences: NAME.surface.0001.obj and so on, text. OBJ knows no velocities, and no radius of points."""

from pathlib import Path

import numpy as np

from paddlewheel.output.export.sequence import Sequence
from paddlewheel.output.export.things import Mesh, Points


class Obj(Sequence):
    """Coordinates have nine digits, so that float32 reads back as it was."""

    ending = "obj"

    def write_mesh(self, path: Path, mesh: Mesh) -> None:
        _write(path, mesh.vertices, "f %d %d %d", mesh.faces + 1)

    def write_points(self, path: Path, points: Points) -> None:
        _write(path, points.position, "p %d", np.arange(1, len(points.position) + 1)[:, None])


def _write(path, vertices, pattern: str, elements) -> None:
    with open(path, "w") as file:
        file.write("# metres, y up\n")
        np.savetxt(file, vertices, "v %.9g %.9g %.9g")
        np.savetxt(file, elements, pattern)
