"""Formulae of shapes, against what they are made of."""

import numpy as np
import pytest

from paddlewheel.solids import formula
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.sample import sample
from paddlewheel.solids.shapes import Box, Capsule, Complement, Cylinder, HalfSpace, Moved, Shape, Sphere, Torus

TURNED = Pose((0.3, -0.2, 0.1), np.array([0.5, 0.1, -0.7, 0.5]) / 1.0)
BALL, BRICK = Sphere((0.1, 0.2, 0.0), 0.6), Box((-0.4, -0.3, -0.5), (0.5, 0.7, 0.2))
ROD, RING = Capsule((-0.5, 0, 0), (0.4, 0.3, 0.2), 0.2), Torus((0, 0.1, 0), (1, 2, 0), 0.6, 0.2)
POINTS = np.random.default_rng(3).uniform(-1.5, 1.5, (3000, 3))


class Opaque(Shape):
    """A shape that hides its formula."""

    def __init__(self, shape):
        self.shape = shape

    def _distance(self, points):
        return self.shape.distance(points)


@pytest.mark.parametrize(
    "shape",
    [
        BALL | BRICK,
        (BALL - BRICK) | (ROD & RING),
        ~(BALL | ~RING),
        Moved(BRICK - ROD, TURNED) & HalfSpace((0, 0.1, 0), (0, 1, 1)),
        Moved(Moved(Cylinder((0, 0, 0), (0, 1, 0), 0.3), TURNED) | BALL, TURNED),
    ],
    ids=repr,
)
def test_booleans_and_poses_are_as_by_arrays(shape):
    """With one part that has no formula the whole has none, and is put together from arrays."""

    def opaque(part):
        if isinstance(part, Moved | Complement):
            return type(part)(*([opaque(part.shape)] + ([part.pose] if isinstance(part, Moved) else [])))
        return type(part)(opaque(part.first), opaque(part.second)) if hasattr(part, "first") else Opaque(part)

    assert shape.formula is not None
    assert opaque(shape).formula is None
    np.testing.assert_allclose(shape.distance(POINTS), opaque(shape).distance(POINTS), rtol=0, atol=1e-14)


def test_few_points_many_points_and_a_lattice_are_the_same():
    """To the last bit: particles are pushed out by one of them and measured by another."""
    shape = Moved(BALL - BRICK, TURNED)
    axes = [np.linspace(-1, 1, n) for n in (11, 14, 9)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    many = formula.at_points(shape.formula, points)
    few = np.concatenate([formula.at_points(shape.formula, part) for part in np.array_split(points, 7)])
    assert np.array_equal(many, few)
    assert np.array_equal(many, sample(shape, axes).reshape(-1))
