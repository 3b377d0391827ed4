"""Closed regions against scipy's connected components."""

import numpy as np
import pytest

import zoo
from paddlewheel.physics.pressure import assemble
from paddlewheel.solve.regions import closed_regions
from reference import regions


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
