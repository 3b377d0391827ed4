"""VTK's XML files for ParaView: meshes and points as .vtp, fields as .vti, and a .pvd that lists the frames of each.

Arrays are appended to the XML in base64, compressed by zlib in blocks.
"""

import base64
import struct
import zlib
from pathlib import Path

import numpy as np

from paddlewheel.output.cache import replace
from paddlewheel.output.export.sequence import Exporter
from paddlewheel.output.export.things import Frame, Mesh, Points

_BLOCK = 1 << 15  # bytes that are compressed together
_KINDS = {"f4": "Float32", "i4": "Int32", "i8": "Int64"}


class Vtk(Exporter):
    """Open NAME.surface.pvd, NAME.particles.pvd, NAME.fields.pvd … in ParaView; its time is in seconds."""

    def __post_init__(self):
        self._written: dict[str, list[tuple[float, Path]]] = {}

    def write(self, frame: Frame) -> list[Path]:
        for name, mesh in frame.meshes().items():
            self._put(frame, name, "vtp", _mesh(mesh))
        if frame.particles is not None:
            self._put(frame, "particles", "vtp", _points(frame.particles))
        if frame.fields():
            self._put(frame, "fields", "vti", _fields(frame))
        return [files[-1][1] for files in self._written.values()]

    def finish(self) -> list[Path]:
        made = []
        for name, files in self._written.items():
            rows = [f'<DataSet timestep="{time!r}" part="0" file="{file.name}"/>\n' for time, file in files]
            text = f'<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1"><Collection>\n{"".join(rows)}'
            made.append(self.file(name, "pvd"))
            replace(made[-1], lambda path, text=text: path.write_text(f"{text}</Collection></VTKFile>\n"))
        return made

    def _put(self, frame, name, ending, data: bytes) -> None:
        path = self.file(name, frame.number, ending)
        replace(path, lambda file: file.write_bytes(data))
        self._written.setdefault(name, []).append((frame.time, path))


def _mesh(mesh: Mesh) -> bytes:
    faces = mesh.faces
    file = _File("PolyData")
    file.open("PolyData")
    file.open("Piece", NumberOfPoints=len(mesh.vertices), NumberOfPolys=len(faces))
    file.section("PointData", v=mesh.velocity, attributes={"Vectors": "v"})
    file.section("Points", points=mesh.vertices)
    file.section("Polys", connectivity=faces.ravel(), offsets=np.arange(3, faces.size + 1, 3, dtype=np.int32))
    return file.closed()


def _points(points: Points) -> bytes:
    n = len(points.position)
    vertex = np.arange(n, dtype=np.int32)
    radius = np.full(n, points.radius, np.float32)
    file = _File("PolyData")
    file.open("PolyData")
    file.open("Piece", NumberOfPoints=n, NumberOfVerts=n)
    file.section("PointData", v=points.velocity, id=points.numbers(), pscale=radius, attributes={"Vectors": "v"})
    file.section("Points", points=points.position)
    file.section("Verts", connectivity=vertex, offsets=vertex + np.int32(1))
    return file.closed()


def _fields(frame: Frame) -> bytes:
    """Values of cells, in VTK's order: x fastest."""
    fields = frame.fields()
    shape = next(iter(fields.values())).values.shape[:3]
    extent = " ".join(f"0 {n}" for n in shape)
    file = _File("ImageData")
    file.open("ImageData", WholeExtent=extent, Origin="0 0 0", Spacing=" ".join([repr(frame.h)] * 3))
    file.open("Piece", Extent=extent)
    swapped = {name: np.swapaxes(field.values, 0, 2).reshape(-1, *field.values.shape[3:])
               for name, field in fields.items()}  # fmt: skip
    file.section("CellData", **swapped)
    return file.closed()


class _File:
    """An XML file whose arrays come after all else, each at its offset."""

    def __init__(self, kind: str):
        head = f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64"'
        self._lines = ['<?xml version="1.0"?>', f'{head} compressor="vtkZLibDataCompressor">']
        self._open, self._data, self._size = [], [], 0

    def open(self, tag: str, **attributes) -> None:
        self._lines.append(f"<{tag}{_attributes(attributes)}>")
        self._open.append(tag)

    def section(self, tag: str, attributes: dict | None = None, **arrays: np.ndarray) -> None:
        self._lines.append(f"<{tag}{_attributes(attributes or {})}>")
        for name, array in arrays.items():
            wide = array.shape[1] if array.ndim == 2 else 1
            told = {"type": _KINDS[array.dtype.str[1:]], "Name": name, "NumberOfComponents": wide}
            self._lines.append(f'<DataArray{_attributes(told)} format="appended" offset="{self._size}"/>')
            self._data.append(_packed(array.astype(array.dtype.newbyteorder("<")).tobytes()))
            self._size += len(self._data[-1])
        self._lines.append(f"</{tag}>")

    def closed(self) -> bytes:
        """The whole file."""
        self._lines += [f"</{tag}>" for tag in reversed(self._open)]
        text = "\n".join([*self._lines, '<AppendedData encoding="base64">', "_"])
        return text.encode() + b"".join(self._data) + b"\n</AppendedData>\n</VTKFile>\n"


def _attributes(told: dict) -> str:
    return "".join(f' {name}="{value}"' for name, value in told.items())


def _packed(data: bytes) -> bytes:
    """How many blocks, their size, that of the last if it is smaller, and their compressed sizes; then the blocks."""
    blocks = [zlib.compress(data[start : start + _BLOCK]) for start in range(0, len(data), _BLOCK)]
    sizes = [len(blocks), _BLOCK, len(data) % _BLOCK, *map(len, blocks)]
    return base64.b64encode(struct.pack(f"<{len(sizes)}Q", *sizes)) + base64.b64encode(b"".join(blocks))
