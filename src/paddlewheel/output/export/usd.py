"""USD: NAME.usd, to be opened, and beside it a file for each frame, NAME.0001.usd, read when its time comes.

The root holds what does not change: which prims there are, the solids' meshes
and their transforms in time. Surface and particles are value clips under
/NAME/fluid: attributes that the manifest, NAME.manifest.usd, declares, and
whose values at time code n are in the file of frame n. So a long sequence
opens at once and takes no memory but for one frame.

Needs usd-core: pip install 'paddlewheel[usd]'.
"""

import re
from pathlib import Path

import numpy as np

from paddlewheel.output.cache import replace
from paddlewheel.output.export.sequence import Exporter
from paddlewheel.output.export.things import Frame, Rigid
from paddlewheel.output.picture import MissingExtraError

_FLUID, _MANIFEST = "fluid", "manifest"


def require() -> None:
    """Raise a MissingExtraError if USD is not installed."""
    try:
        from pxr import Usd  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("USD needs usd-core: pip install 'paddlewheel[usd]'") from error


class Usd(Exporter):
    """Time codes are numbers of frames. Lengths are metres and velocities metres per second, y is up."""

    def __post_init__(self):
        require()
        self._root = "/" + re.sub(r"\W|^(?=\d)", "_", self.name)
        self._clips: list[tuple[int, Path]] = []
        self._bodies: dict[str, list[tuple[int, Rigid]]] = {}
        self._kinds: set[str] = set()

    def write(self, frame: Frame) -> list[Path]:
        for body in frame.bodies:
            self._bodies.setdefault(body.name, []).append((frame.number, body))
        if frame.surface is None and frame.particles is None:
            return []
        path = self.file(frame.number, "usd")
        replace(path, lambda file: self._write_clip(file, frame))
        self._clips.append((frame.number, path))
        return [path]

    def finish(self) -> list[Path]:
        made = [self.file("usd")]
        if self._clips:
            made.append(self.file(_MANIFEST, "usd"))
            replace(made[1], self._write_manifest)
        replace(made[0], self._write_root)
        return made

    def _write_clip(self, path, frame) -> None:
        from pxr import Sdf, Vt

        def put(kind, values):
            prim = stage.OverridePrim(f"{self._root}/{_FLUID}/{kind}")
            for name, (type_name, array) in values.items():
                attribute = prim.CreateAttribute(name, getattr(Sdf.ValueTypeNames, type_name), custom=False)
                attribute.Set(getattr(Vt, _VT[type_name]).FromNumpy(array), frame.number)
            self._kinds.add(kind)

        stage = _new_stage(path)
        stage.SetStartTimeCode(frame.number)
        stage.SetEndTimeCode(frame.number)
        if frame.surface is not None:
            put("surface", _surface_values(frame.surface))
        if frame.particles is not None:
            put("particles", _particle_values(frame.particles, frame.number))
        stage.SetDefaultPrim(stage.GetPrimAtPath(self._root))
        stage.Save()

    def _write_manifest(self, path) -> None:
        """Which attributes the clips have, without values."""
        from pxr import Sdf

        stage = _new_stage(path)
        for kind in sorted(self._kinds):
            prim = stage.OverridePrim(f"{self._root}/{_FLUID}/{kind}")
            for name, type_name in _ATTRIBUTES[kind].items():
                prim.CreateAttribute(name, getattr(Sdf.ValueTypeNames, type_name), custom=False)
        stage.SetDefaultPrim(stage.GetPrimAtPath(self._root))
        stage.Save()

    def _write_root(self, path) -> None:
        from pxr import UsdGeom

        stage = _new_stage(path)
        stage.SetTimeCodesPerSecond(self.fps)
        stage.SetFramesPerSecond(self.fps)
        numbers = [number for number, _ in self._clips]
        numbers += [number for samples in self._bodies.values() for number, _ in samples]
        if numbers:
            stage.SetStartTimeCode(min(numbers))
            stage.SetEndTimeCode(max(numbers))
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, self._root).GetPrim())
        if self._clips:
            self._define_fluid(stage)
        for name, samples in self._bodies.items():
            self._define_body(stage, f"{self._root}/bodies/{name}", samples)
        stage.Save()

    def _define_fluid(self, stage) -> None:
        from pxr import Sdf, Usd, UsdGeom, Vt

        fluid = UsdGeom.Xform.Define(stage, f"{self._root}/{_FLUID}").GetPrim()
        if "surface" in self._kinds:
            mesh = UsdGeom.Mesh.Define(stage, f"{self._root}/{_FLUID}/surface")
            mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
            mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        if "particles" in self._kinds:
            points = UsdGeom.Points.Define(stage, f"{self._root}/{_FLUID}/particles")
            points.SetWidthsInterpolation(UsdGeom.Tokens.constant)
        clips = Usd.ClipsAPI(fluid)
        clips.SetClipPrimPath(f"{self._root}/{_FLUID}")
        clips.SetClipAssetPaths(Sdf.AssetPathArray([Sdf.AssetPath(f"./{file.name}") for _, file in self._clips]))
        clips.SetClipManifestAssetPath(Sdf.AssetPath(f"./{self.file(_MANIFEST, 'usd').name}"))
        clips.SetClipActive(Vt.Vec2dArray([(number, i) for i, (number, _) in enumerate(self._clips)]))
        clips.SetClipTimes(Vt.Vec2dArray([(number, number) for number, _ in self._clips]))

    def _define_body(self, stage, path, samples) -> None:
        from pxr import Gf, UsdGeom, Vt

        UsdGeom.Xform.Define(stage, f"{self._root}/bodies")
        xform = UsdGeom.Xform.Define(stage, path)
        move, turn = xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble), xform.AddOrientOp()
        first = samples[0][1]
        for number, body in samples:
            position, (w, x, y, z) = Gf.Vec3d(*map(float, body.pose.position)), map(float, body.pose.orientation)
            if first.moving:
                move.Set(position, number)
                turn.Set(Gf.Quatf(w, x, y, z), number)
            else:
                move.Set(position)
                turn.Set(Gf.Quatf(w, x, y, z))
                break
        mesh = UsdGeom.Mesh.Define(stage, f"{path}/{first.name}_mesh")
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        vertices = np.float32(first.vertices)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(vertices))
        mesh.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(_extent(vertices, 0)))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(first.faces), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(first.faces.ravel()))


def _new_stage(path):
    """An empty stage in metres, y up: also a file of one frame says so, for whoever opens it alone."""
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    return stage


# The attributes of clips and their types, and the classes of USD that hold such arrays.
_ATTRIBUTES = {
    "surface": {
        "points": "Point3fArray",
        "velocities": "Vector3fArray",
        "normals": "Normal3fArray",
        "extent": "Float3Array",
        "faceVertexCounts": "IntArray",
        "faceVertexIndices": "IntArray",
    },
    "particles": {
        "points": "Point3fArray",
        "velocities": "Vector3fArray",
        "extent": "Float3Array",
        "widths": "FloatArray",
        "ids": "Int64Array",
    },
}
_VT = {
    "Point3fArray": "Vec3fArray",
    "Vector3fArray": "Vec3fArray",
    "Normal3fArray": "Vec3fArray",
    "Float3Array": "Vec3fArray",
    "FloatArray": "FloatArray",
    "IntArray": "IntArray",
    "Int64Array": "Int64Array",
}


def _surface_values(mesh) -> dict:
    arrays = {
        "points": mesh.vertices,
        "velocities": mesh.velocity,
        "normals": mesh.normals(),
        "extent": _extent(mesh.vertices, 0),
        "faceVertexCounts": np.full(len(mesh.faces), 3, np.int32),
        "faceVertexIndices": mesh.faces.ravel(),
    }
    return {name: (type_name, arrays[name]) for name, type_name in _ATTRIBUTES["surface"].items()}


def _particle_values(points, number) -> dict:
    """Particles without ids have numbers that are unlike in all frames, so that none is taken for another."""
    unlike = 0 if points.id is not None else number << 32
    arrays = {
        "points": points.position,
        "velocities": points.velocity,
        "extent": _extent(points.position, points.radius),
        "widths": np.array([2 * points.radius], np.float32),
        "ids": unlike + points.numbers().astype(np.int64),
    }
    return {name: (type_name, arrays[name]) for name, type_name in _ATTRIBUTES["particles"].items()}


def _extent(points, margin) -> np.ndarray:
    """Lowest and highest corner of a box around points, (2, 3) float32."""
    if not len(points):
        return np.zeros((2, 3), np.float32)
    return np.float32([points.min(axis=0) - margin, points.max(axis=0) + margin])
