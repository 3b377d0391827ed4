"""Framed fields at many places: linear functions exactly, and what lies beyond the sides."""

import numpy as np
import pytest

from paddlewheel.grid.framed import fetch, fetch_range, find, framed, inner, locate, sample_before, value_of_known
from paddlewheel.types import Grid

GRID = Grid((5, 4, 3), 1.0)
each_axis = pytest.mark.parametrize("axis", [-1, 0, 1, 2])
SLOPE = np.array((2.0, -3.0, 0.5))


def points(axis):
    return GRID.cell_points() if axis < 0 else GRID.face_points(axis)


def found(place):
    index, part = np.empty((6, place.shape[1]), np.int32), np.empty((6, place.shape[1]), np.float32)
    find(index, part, place, GRID.shape)
    return index, part


def scattered(low, high):
    rng = np.random.default_rng(1)
    return (low + rng.random((50, 3)) * (np.array(GRID.shape) - low + high)).astype(np.float32).T.copy()


@each_axis
def test_samples_are_where_they_are(axis):
    x = points(axis).reshape(-1, 3).T
    place = np.empty((3, x.shape[1] - 7), np.float32)
    locate(place, 7, GRID.shape, axis)
    assert np.array_equal(place, x[:, 7:])
    field = np.arange(x.shape[1], dtype=np.float32).reshape(points(axis).shape[:3])
    index, part = found(place)
    out = np.empty(place.shape[1], np.float32)
    fetch(out, framed(field, 0.0, ()).reshape(-1), index, part, GRID.shape, axis)
    assert np.array_equal(out, np.arange(7, x.shape[1]))


@each_axis
def test_linear_fields_are_exact_inside(axis):
    place = scattered(0.5, -0.5)
    field = framed((points(axis) @ SLOPE).astype(np.float32), 99.0, ()).reshape(-1)
    out, low, high, same = (np.empty(place.shape[1], np.float32) for _ in range(4))
    fetch(out, field, *found(place), GRID.shape, axis)
    assert out == pytest.approx(SLOPE @ place, abs=1e-5)
    fetch_range(same, low, high, field, *found(place), GRID.shape, axis)
    assert same == pytest.approx(out, abs=1e-6)
    assert np.all((low <= same) & (same <= high))
    assert np.all(high - low <= np.abs(SLOPE).sum() + 1e-5)


def test_beyond_sides():
    """Beyond a closed one the field goes on as it is, beyond an open one it comes to another value in a cell."""
    field = framed(np.full(GRID.shape, 3, np.float32), 7.0, {"-x"})
    assert field.shape == (7, 6, 5)
    assert np.all(inner(field) == 3)
    place = np.array([(-9, -0.5, 0, 0.5, 1, 99), (2,) * 6, (1, 1, 1, 1, 1, 99)], np.float32)
    out = np.empty(6, np.float32)
    fetch(out, field.reshape(-1), *found(place), GRID.shape, -1)
    assert out == pytest.approx([7, 7, 5, 3, 3, 3])


@each_axis
def test_what_is_known_stands_in_for_the_rest(axis):
    """As if the others had no weight; all known is the trilinear value, none known is NaN."""
    rng, place = np.random.default_rng(2), scattered(0.0, 0.0)
    field = framed(rng.random(points(axis).shape[:3]).astype(np.float32), 0.0, ())
    known = rng.random(field.shape) < 0.6
    index, part = found(place)

    def of_known(values, mask):
        values, mask = values.reshape(-1), mask.reshape(-1)
        at = [sample_before(index, p, GRID.shape, axis) for p in range(place.shape[1])]
        return [value_of_known(values, mask, np.uint64(a), part, p, GRID.shape, axis) for p, a in enumerate(at)]

    def of_all(values):
        out = np.empty(place.shape[1], np.float32)
        fetch(out, values.reshape(-1), index, part, GRID.shape, axis)
        return out

    weight = of_all(known.astype(np.float32))
    sure = weight > 1e-3
    expected = of_all(np.where(known, field, 0).astype(np.float32))[sure] / weight[sure]
    assert np.count_nonzero(sure) > 30
    assert np.array(of_known(np.where(known, field, np.float32(99)), known))[sure] == pytest.approx(expected, abs=1e-4)
    assert of_known(field, np.ones_like(known)) == pytest.approx(of_all(field), abs=1e-6)
    assert np.isnan(of_known(field, np.zeros_like(known))).all()
