"""Closed regions against scipy's connected components."""

import numpy as np
import pytest

import zoo
from paddlewheel.physics.pressure import assemble, project
from paddlewheel.solve.regions import closed_regions
from paddlewheel.types import Faces
from reference import regions, residual


@pytest.mark.parametrize("kind", zoo.KINDS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_labels_are_the_connected_components(kind, seed):
    """The same cells together, whatever the numbers; −1 where a region is held."""
    system = assemble(*zoo.build(kind, seed, 16))
    label, closed = regions(system)
    found = closed_regions(system)
    if not closed.any():
        assert found is None
        return
    assert (found.label[~system.unknown] == -1).all()
    ours, theirs = found.label[system.unknown], np.where(closed[label], label, -1)
    assert np.array_equal(ours == -1, theirs == -1)
    pairs = np.unique(np.stack([ours, theirs], axis=1)[ours >= 0], axis=0)
    assert len(pairs) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])) == closed.sum()
    assert np.array_equal(np.sort(found.cells), np.sort(np.bincount(label)[closed]))
    assert np.array_equal(np.bincount(ours[ours >= 0]), found.cells)


def test_centring():
    """The mean of every closed region goes, the rest stays."""
    system = assemble(*zoo.build("closed pockets", 1))
    found = closed_regions(system)
    field = np.random.default_rng(1).standard_normal(system.unknown.shape)
    centred = found.centred(field)
    assert found.sums(centred) == pytest.approx(0, abs=1e-10)
    assert np.array_equal(centred[found.label < 0], field[found.label < 0])
    for region in range(len(found.cells)):
        shift = (field - centred)[found.label == region]
        assert shift == pytest.approx(field[found.label == region].mean(), rel=1e-10)
        assert found.sums(field)[region] == pytest.approx(field[found.label == region].sum(), rel=1e-10)


@pytest.mark.parametrize("hole", [1.0, 1e-2, 1e-5])
def test_a_pinhole_holds_a_region(hole):
    """However weak the tie to the air, the matrix is regular: not a closed region, and solved to tolerance."""
    case = zoo.build("full tank", 0, 16)
    assert len(closed_regions(assemble(*case)).cells) == 1
    boundary = case.boundary._replace(open=Faces(*(w.copy() for w in case.boundary.open)))
    boundary.open.y[3, -1, 3] = hole
    case = case._replace(boundary=boundary)
    system = assemble(*case)
    assert closed_regions(system) is None
    projection = project(*case)
    assert projection.info.converged
    assert projection.lost.size == 0
    assert residual(system, projection.pressure) <= 1e-6
