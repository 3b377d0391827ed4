"""Mass of shapes: closed forms against sums of the distance, meshes and booleans against closed forms."""

import numpy as np
import pytest
import trimesh

from paddlewheel.solids import mass as mass_module
from paddlewheel.solids.mass import mass_of
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere, Torus

TURN = (np.cos(0.4), *(np.sin(0.4) * np.array([2.0, -1.0, 2.0]) / 3))

PRIMITIVES = {
    "box": Box((0.1, 0.2, 0.3), (0.5, 0.4, 0.9)),
    "sphere": Sphere((0.3, -0.2, 0.5), 0.25),
    "cylinder": Cylinder((0.1, 0.2, 0.3), (0.5, 0.4, 0.9), 0.2),
    "capsule": Capsule((0.1, 0.2, 0.3), (0.5, 0.4, 0.9), 0.2),
    "torus": Torus((0.3, 0.2, 0.1), (1, 2, 3), 0.4, 0.15),
    "moved": Box((0, 0, 0), (0.5, 0.3, 0.2)).moved((1, 2, 3), TURN, (0.5, 0, 0)),
}


def assert_same(mass, other, rel):
    size = np.cbrt(other.volume)
    assert mass.volume == pytest.approx(other.volume, rel=rel)
    assert mass.center == pytest.approx(other.center, abs=rel * size)
    assert mass.inertia == pytest.approx(other.inertia, abs=rel * np.trace(other.inertia))


@pytest.mark.parametrize("name", PRIMITIVES)
def test_closed_forms_are_what_the_distance_sums_to(name):
    """Every formula against the sum that booleans use: one checks the other."""
    assert_same(mass_module._lattice(PRIMITIVES[name]), mass_of(PRIMITIVES[name]), 1e-3)


def test_box_and_sphere_by_the_book():
    box = mass_of(Box((0, 0, 0), (2, 3, 4)))
    assert box.volume == pytest.approx(24)
    assert np.diag(box.inertia) == pytest.approx([2 * (9 + 16), 2 * (4 + 16), 2 * (4 + 9)])
    ball = mass_of(Sphere((1, 2, 3), 0.5))
    assert ball.center == pytest.approx([1, 2, 3])
    assert np.diag(ball.inertia) == pytest.approx(0.4 * ball.volume * 0.25)


def test_mesh_of_a_box_is_a_box():
    mesh = trimesh.creation.box(bounds=[(0.2, 0.3, 0.4), (0.9, 0.5, 0.8)])
    box = mass_of(Box((0.2, 0.3, 0.4), (0.9, 0.5, 0.8)))
    assert_same(mass_of(Mesh((mesh.vertices, mesh.faces))), box, 1e-12)
    assert_same(mass_of(Mesh((mesh.vertices, mesh.faces[:, ::-1]))), box, 1e-12)  # all faces look inwards
    assert_same(mass_of(Mesh((mesh.vertices + 100, mesh.faces)).moved((-100, -100, -100))), box, 1e-9)


def test_mesh_of_a_sphere_converges_to_it():
    """An icosphere lies inside its sphere by a part of (edge/R)²: second order."""
    errors = []
    for subdivisions in (2, 3, 4):
        mesh = trimesh.creation.icosphere(subdivisions=subdivisions, radius=0.3)
        mass, ball = mass_of(Mesh((mesh.vertices, mesh.faces))), mass_of(Sphere((0, 0, 0), 0.3))
        errors.append(abs(mass.inertia[0, 0] / ball.inertia[0, 0] - 1))
        assert mass.inertia == pytest.approx(mesh.moment_inertia, abs=1e-12)
    assert np.all(np.log2(np.divide(errors[:-1], errors[1:])) > 1.9)


def test_booleans():
    """A hollow ball, a half ball and a dumbbell, against closed forms."""
    outer, inner = mass_of(Sphere((0, 0, 0), 0.5)), mass_of(Sphere((0, 0, 0), 0.3))
    hollow = mass_of(Sphere((0, 0, 0), 0.5) - Sphere((0, 0, 0), 0.3))
    assert hollow.volume == pytest.approx(outer.volume - inner.volume, rel=1e-3)
    assert hollow.inertia == pytest.approx(outer.inertia - inner.inertia, abs=1e-3 * outer.inertia[0, 0])
    half = mass_of(Sphere((0, 0, 0), 0.5) & HalfSpace((0, 0, 0), (0, 1, 0)))
    assert half.volume == pytest.approx(outer.volume / 2, rel=1e-3)
    assert half.center == pytest.approx([0, -3 / 8 * 0.5, 0], abs=5e-4)
    two = mass_of(Sphere((-0.6, 0, 0), 0.2) | Sphere((0.6, 0, 0), 0.2))
    ball = mass_of(Sphere((0, 0, 0), 0.2))
    assert two.volume == pytest.approx(2 * ball.volume, rel=1e-3)
    assert two.inertia[1, 1] == pytest.approx(2 * (ball.inertia[1, 1] + ball.volume * 0.36), rel=1e-3)


def test_a_slab_is_the_cross_section_times_its_thickness():
    h = 0.1
    disc = mass_of(Cylinder((0.5, 0.4, -1), (0.5, 0.4, 1), 0.2), thickness=h)
    area = np.pi * 0.04
    assert disc.volume == pytest.approx(area * h, rel=1e-4)
    assert disc.center == pytest.approx([0.5, 0.4, h / 2], abs=1e-6)
    assert disc.inertia[2, 2] == pytest.approx(area * h * 0.04 / 2, rel=1e-4)
    assert disc.inertia[:2, 2] == pytest.approx(0)
    box = mass_of(Box((0.2, 0.1, -1), (0.5, 0.3, 1)).moved(rotate=(np.cos(0.3), 0, 0, np.sin(0.3))), thickness=h)
    assert box.volume == pytest.approx(0.06 * h, rel=1e-3)
    assert box.inertia[2, 2] == pytest.approx(0.06 * h * (0.09 + 0.04) / 12, rel=1e-3)
    ball = mass_of(Sphere((0, 0, 0.3), 0.3), thickness=h)  # cut 0.25 below its centre
    assert ball.volume == pytest.approx(np.pi * (0.09 - 0.0625) * h, rel=1e-3)


@pytest.mark.parametrize(
    ("shape", "thickness", "message"),
    [
        (HalfSpace((0, 0, 0), (0, 1, 0)), None, "HalfSpace has no end"),
        (~Sphere((0, 0, 0), 1), None, "Complement has no end"),
        (Sphere((0, 0, 0), 1) & Sphere((3, 0, 0), 1), None, "Intersection has no volume"),
        ((Sphere((0, 0, 0), 1) & Sphere((1.5, 1.5, 0), 1)).moved(rotate=TURN), None, "Moved has no volume"),
        (Sphere((0, 0, 5), 1), 0.1, r"Sphere has no volume in the plane z = 0\.05"),
        (HalfSpace((0, 0, 0), (0, 1, 0)), 0.1, "HalfSpace has no end"),
    ],
)
def test_what_has_no_mass_is_named(shape, thickness, message):
    with pytest.raises(ValueError, match=message):
        mass_of(shape, thickness)
