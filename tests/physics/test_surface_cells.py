"""Free faces of surface cells: all 64 configurations of FM96."""

import itertools

import numpy as np
import pytest

from paddlewheel.physics.surface_cells import beside, free_faces, meet_air
from paddlewheel.types import Faces, Grid

GRID = Grid((3, 3, 3), 0.25)
CONFIGURATIONS = range(64)
CENTRE = (1, 1, 1)
# every way to put the axes in another order and to reverse some of them
SYMMETRIES = [
    (axes, flipped)
    for axes in itertools.permutations(range(3))
    for count in range(4)
    for flipped in itertools.combinations(range(3), count)
]


def is_free(bits, axis, upper) -> bool:
    return bool(bits >> (2 * axis + upper) & 1)


def around(bits) -> np.ndarray:
    """A wet cell whose neighbours are wet but for those beyond its free faces."""
    wet = np.zeros(GRID.shape, bool)
    wet[CENTRE] = True
    for axis, upper in itertools.product(range(3), range(2)):
        at = list(CENTRE)
        at[axis] += 1 if upper else -1
        wet[tuple(at)] = not is_free(bits, axis, upper)
    return wet


def velocities(seed=0) -> Faces:
    rng = np.random.default_rng(seed)
    return Faces(*(rng.normal(size=GRID.face_shape(a)) for a in range(3)))


def settled(velocity, bits) -> Faces:
    free = np.zeros(GRID.shape, np.uint8)
    free[CENTRE] = bits
    out = Faces(*map(np.copy, velocity))
    meet_air(out, free)
    return out


def outward(velocity) -> dict:
    """What leaves the cell through each of its faces."""
    out = {}
    for axis, upper in itertools.product(range(3), range(2)):
        at = tuple(n + upper * (a == axis) for a, n in enumerate(CENTRE))
        out[axis, upper] = velocity[axis][at] * (1 if upper else -1)
    return out


def everywhere_open() -> Faces:
    return Faces(*(np.ones(GRID.face_shape(a), np.float32) for a in range(3)))


@pytest.mark.parametrize("bits", CONFIGURATIONS)
def test_configuration_is_which_faces_are_free(bits):
    assert free_faces(around(bits), everywhere_open())[CENTRE] == bits


def test_closed_faces_are_not_free():
    open = Faces(*(np.zeros(GRID.face_shape(a), np.float32) for a in range(3)))
    assert not free_faces(around(63), open).any()


def test_beyond_an_open_side_is_air():
    free = free_faces(np.ones(GRID.shape, bool), everywhere_open())
    assert free[0, 1, 1] == 1
    assert free[1, 2, 1] == 8
    assert free[2, 2, 2] == 2 + 8 + 32
    assert free[CENTRE] == 0


@pytest.mark.parametrize("bits", CONFIGURATIONS[1:])
def test_no_divergence_is_left(bits):
    """Whatever the configuration: the paper's rule leaves one where two opposite faces are free, this one does not."""
    assert sum(outward(settled(velocities(), bits)).values()) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("bits", CONFIGURATIONS)
def test_only_free_faces_change(bits):
    before = velocities()
    after = settled(before, bits)
    changed = {(a, *at) for a in range(3) for at in np.argwhere(before[a] != after[a]).tolist() for at in [tuple(at)]}
    free = {
        (a, *(n + upper * (a == b) for b, n in enumerate(CENTRE)))
        for a, upper in itertools.product(range(3), range(2))
        if is_free(bits, a, upper)
    }
    assert changed <= free


@pytest.mark.parametrize("bits", CONFIGURATIONS)
def test_what_moves_as_a_whole_goes_on(bits):
    flow = Faces(*(np.full(GRID.face_shape(a), u) for a, u in enumerate((1.0, -2.0, 0.5))))
    for before, after in zip(flow, settled(flow, bits), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("upper", range(2))
def test_one_free_face_has_what_continuity_says(axis, upper):
    before = velocities()
    others = sum(out for face, out in outward(before).items() if face != (axis, upper))
    after = outward(settled(before, 1 << (2 * axis + upper)))
    assert after[axis, upper] == pytest.approx(-others, rel=1e-12)


def test_at_an_edge_each_free_face_moves_as_the_opposite_one_if_nothing_flows_along_it():
    before = velocities()
    before.z[1, 1, 1:3] = 0.3
    after = outward(settled(before, 2 + 8))  # above x and above y
    assert after[0, 1] == pytest.approx(-after[0, 0])
    assert after[1, 1] == pytest.approx(-after[1, 0])


@pytest.mark.parametrize(("axes", "flipped"), SYMMETRIES)
def test_symmetric(axes, flipped):
    """All 48 symmetries of a cube, for all configurations: no axis and no direction is special."""

    def turned(faces):
        return Faces(
            *((-1 if a in flipped else 1) * np.flip(np.transpose(faces[axes[a]], axes), flipped) for a in range(3))
        )

    for bits in CONFIGURATIONS:
        other = 0
        for a, upper in itertools.product(range(3), range(2)):
            other |= is_free(bits, axes[a], 1 - upper if a in flipped else upper) << (2 * a + upper)
        velocity = velocities(bits)
        for one, two in zip(
            settled(Faces(*map(np.ascontiguousarray, turned(velocity))), other), turned(settled(velocity, bits)),
            strict=True,
        ):  # fmt: skip
            assert one == pytest.approx(two, abs=1e-14)


@pytest.mark.parametrize("bits", CONFIGURATIONS)
def test_a_face_that_is_held_is_no_faster_than_the_cell_was(bits):
    free, velocity = np.zeros(GRID.shape, np.uint8), velocities(bits)
    free[CENTRE] = bits

    def fastest(faces, which) -> float:
        """Of the faces of the cell, (axis, end)."""
        return max(abs(faces[a][tuple(c + (end if b == a else 0) for b, c in enumerate(CENTRE))]) for a, end in which)

    each = list(itertools.product(range(3), range(2)))
    known = [(a, end) for a, end in each if not is_free(bits, a, end) or is_free(bits, a, 1 - end)]
    most = fastest(velocity, known)
    meet_air(velocity, free, held=True)
    assert fastest(velocity, each) <= most


def test_faces_beside_liquid_are_its_own_and_open():
    wet = np.zeros(GRID.shape, bool)
    wet[CENTRE] = True
    open = everywhere_open()
    open.y[1, 1, 1] = 0
    faces = beside(wet, open)
    assert [np.argwhere(f).tolist() for f in faces] == [[[1, 1, 1], [2, 1, 1]], [[1, 2, 1]], [[1, 1, 1], [1, 1, 2]]]
