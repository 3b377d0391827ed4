"""USD: what the stage says, value clips, and that USD's own validators find nothing."""

import numpy as np
import pytest
from exported import exporter, frame_of

pxr = pytest.importorskip("pxr", reason="usd-core is not installed")
from pxr import Usd, UsdGeom, UsdValidation  # noqa: E402


@pytest.fixture
def stage(tmp_path):
    out = exporter("usd", tmp_path)
    for number in (5, 6, 9):
        out.write(frame_of("liquid", number))
    out.finish()
    return Usd.Stage.Open(str(tmp_path / "run.usd"))


def complaints(stage) -> list[str]:
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) > 10
    return [error.GetMessage() for error in UsdValidation.ValidationContext(validators).Validate(stage)]


def test_validators_find_nothing(stage, tmp_path):
    assert complaints(stage) == []
    (tmp_path / "run.manifest.usd").unlink()
    stage.SetMetadata("upAxis", "")
    stage.ClearDefaultPrim()
    assert complaints(stage) != []  # they do look


def test_the_stage_says_how_long_and_how_fast(stage):
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 25
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (5, 9)
    assert stage.GetDefaultPrim().GetPath() == "/run"


@pytest.mark.parametrize("name", ["run.0006.usd", "run.manifest.usd"])
def test_every_file_says_its_units_when_it_is_opened_alone(stage, tmp_path, name):
    alone = Usd.Stage.Open(str(tmp_path / name))
    assert UsdGeom.StageHasAuthoredMetersPerUnit(alone)
    assert alone.HasAuthoredMetadata("upAxis")
    assert UsdGeom.GetStageMetersPerUnit(alone) == 1.0
    assert UsdGeom.GetStageUpAxis(alone) == "Y"


def test_values_are_in_clips_and_not_in_the_root(stage):
    surface = UsdGeom.Mesh(stage.GetPrimAtPath("/run/fluid/surface"))
    assert surface.GetSubdivisionSchemeAttr().Get() == "none"
    root = stage.GetRootLayer()
    assert root.GetNumTimeSamplesForPath("/run/fluid/surface.points") == 0
    assert len(surface.GetPointsAttr().Get(6)) == len(frame_of("liquid").surface.vertices)
    used = {layer.identifier.split("/")[-1] for layer in stage.GetUsedLayers()}
    assert "run.0006.usd" in used
    assert "run.0009.usd" not in used  # read when its time comes
    assert surface.GetPointsAttr().GetTimeSamples() == [5, 6, 9]


def test_numbers_of_particles_are_unlike_in_all_frames(stage):
    ids = UsdGeom.Points(stage.GetPrimAtPath("/run/fluid/particles")).GetIdsAttr()
    assert not set(ids.Get(5)) & set(ids.Get(6))


def test_transforms_are_those_of_the_body(stage):
    """A quarter turn about z, at the body's place; what stands still has no samples."""
    prim = stage.GetPrimAtPath("/run/bodies/body_0")
    matrix = np.array(UsdGeom.XformCache(5).GetLocalToWorldTransform(prim))
    assert np.allclose(matrix[3, :3], (0.15, 0.8, 0.2), atol=1e-12)
    assert np.allclose(matrix[:3, :3], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-6)  # rows are images of the axes
    assert prim.GetAttribute("xformOp:translate").GetTimeSamples() == [5, 6, 9]
