"""VDB sequences, NAME.0001.vdb: `surface` as a level set, `density`, `temperature`, `vel`.

Values are at the centres of voxels, `vel` too: it is not staggered.
"""

from collections.abc import Iterable
from pathlib import Path

from paddlewheel.output.cache import replace
from paddlewheel.output.export import vdb_file
from paddlewheel.output.export.sequence import Exporter
from paddlewheel.output.export.surface import BEYOND
from paddlewheel.output.export.things import Frame


class Vdb(Exporter):
    """Compressed by zip; by blosc, which is faster and what other programs write, if that package is there."""

    def __post_init__(self):
        try:
            import blosc  # noqa: F401
        except ImportError:
            self.compression = "zip"
        else:
            self.compression = "blosc"

    def write(self, frame: Frame) -> list[Path]:
        path = self.file(frame.number, "vdb")
        replace(path, lambda file: vdb_file.write(file, _grids(frame), self.compression))
        return [path]


def _grids(frame: Frame) -> Iterable[vdb_file.Grid]:
    if frame.surface_phi is not None:
        phi, h = frame.surface_phi
        yield vdb_file.level_set("surface", phi, (-BEYOND,) * 3, h, (0.5 * h,) * 3)
    for name, field in frame.fields().items():
        is_vector = field.values.ndim == 4
        yield vdb_file.Grid(
            name, field.values, field.active, (0, 0, 0), frame.h, (0.5 * frame.h,) * 3,
            kind="unknown" if is_vector else "fog volume", vector="contravariant relative" if is_vector else None,
        )  # fmt: skip
