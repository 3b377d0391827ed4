"""Frames of a run as files for other programs: one file here for each format, and one table of them."""

from collections.abc import Callable
from typing import NamedTuple

from paddlewheel.output.export import usd
from paddlewheel.output.export.blender import blender_script
from paddlewheel.output.export.frames import Frames
from paddlewheel.output.export.obj import Obj
from paddlewheel.output.export.ply import Ply
from paddlewheel.output.export.sequence import Exporter
from paddlewheel.output.export.things import WHAT, Frame
from paddlewheel.output.export.vdb import Vdb
from paddlewheel.output.export.vtk import Vtk

__all__ = ["FORMATS", "WHAT", "Exporter", "Format", "Frame", "Frames", "blender_script"]


class Format(NamedTuple):
    """A format: who writes it, what of WHAT it holds, for which programs, and what refuses if it is not installed."""

    exporter: type[Exporter]
    holds: tuple[str, ...]
    told: str
    require: Callable[[], None] = lambda: None


_MESHES = ("surface", "particles", "bodies")
FORMATS = {
    "ply": Format(Ply, _MESHES, "binary meshes and points with velocities, for Houdini, Blender, MeshLab"),
    "obj": Format(Obj, _MESHES, "meshes and points as text, without velocities, for anything"),
    "usd": Format(usd.Usd, _MESHES, "one stage with value clips, for Blender, Houdini, usdview", usd.require),
    "vdb": Format(Vdb, ("surface", "smoke", "velocity"), "sparse volumes, for Houdini, Blender, renderers"),
    "vtk": Format(Vtk, tuple(WHAT), "meshes, points and fields, for ParaView"),
}
