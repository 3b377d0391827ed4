"""What is common to exporters, and to those that write a file for each mesh and each frame."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from paddlewheel.output.cache import replace
from paddlewheel.output.export.things import Frame, Mesh, Points


@dataclass
class Exporter:
    """Writes frames into a folder, as files that begin with a name.

    fps     frames per second
    size    [m] of the domain
    """

    folder: Path
    name: str
    fps: float
    size: tuple[float, float, float]

    def __post_init__(self):
        """What a format keeps from frame to frame begins here."""

    def write(self, frame: Frame) -> list[Path]:
        """Write a frame; the files it is in."""
        raise NotImplementedError

    def finish(self) -> list[Path]:
        """Write what is about all frames; those files."""
        return []

    def file(self, *parts: object) -> Path:
        """A file of the folder: numbers of frames have four digits."""
        texts = [f"{part:04d}" if isinstance(part, int) else str(part) for part in parts]
        return self.folder / ".".join([self.name, *texts])


class Sequence(Exporter):
    """One file for each mesh, and for the particles, in each frame: NAME.surface.0001.ENDING."""

    ending: ClassVar[str]

    def write(self, frame: Frame) -> list[Path]:
        return [self._put(frame, *part) for part in self._parts(frame)]

    def write_mesh(self, path: Path, mesh: Mesh) -> None:
        raise NotImplementedError

    def write_points(self, path: Path, points: Points) -> None:
        raise NotImplementedError

    def _parts(self, frame: Frame) -> Iterable[tuple[str, Callable, object]]:
        for name, mesh in frame.meshes().items():
            yield name, self.write_mesh, mesh
        if frame.particles is not None:
            yield "particles", self.write_points, frame.particles

    def _put(self, frame, name, write, thing) -> Path:
        path = self.file(name, frame.number, self.ending)
        replace(path, lambda file: write(file, thing))
        return path
