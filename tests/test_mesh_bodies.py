"""Rigid bodies made of triangles: they do what their exact twins do."""

import numpy as np
import pytest
import trimesh

import paddlewheel as pw
from paddlewheel.bodies import velocities
from paddlewheel.types import State

N = 24
H = 1 / N


def mesh(made, center):
    return pw.Mesh((np.array(made.vertices) + center, np.array(made.faces)))


def ball(center, radius):
    return mesh(trimesh.creation.icosphere(subdivisions=4, radius=radius), center)


def tank(*bodies, level=0.4, flat=False):
    counts = (N, N, 1 if flat else N)
    water = pw.Liquid(pw.Box((0, 0, -1), (1, level, 2)))
    return pw.Scene([n * H for n in counts], counts, items=[water, *bodies])


def mean_height(shape, seconds, **scene):
    """Of a body of half the density of water that cannot turn."""
    simulation = pw.Simulation(tank(pw.RigidBody(shape, 500.0, locked={"rx", "ry", "rz"}), **scene))
    heights = []
    while simulation.time < seconds:
        simulation.step()
        heights.append(simulation.state.bodies[0].position[1])
    return np.mean(heights)


CENTER = np.array([0.5, 0.41, 0.5])
TWINS = {
    "ball": (ball(CENTER, 0.16), pw.Sphere(CENTER, 0.16)),
    "cube": (mesh(trimesh.creation.box((0.24, 0.24, 0.24)), CENTER), pw.Box(CENTER - 0.12, CENTER + 0.12)),
}


@pytest.mark.parametrize("kind", TWINS)
def test_a_mesh_floats_like_its_exact_twin(kind):
    one, other = (mean_height(shape, 0.8) for shape in TWINS[kind])
    assert one == pytest.approx(other, abs=0.05 * H)


def test_a_mesh_floats_like_its_exact_twin_in_a_plane():
    made, box = mesh(trimesh.creation.box((0.24, 0.24, 2.0)), CENTER), pw.Box((0.38, 0.29, -1), (0.62, 0.53, 2))
    one, other = (mean_height(shape, 1.0, flat=True) for shape in (made, box))
    assert one == pytest.approx(other, abs=0.05 * H)


def test_a_mesh_fills_what_its_exact_twin_does():
    """The weights of a ball: 0.5 % of each other in sum, and nowhere more than a few hundredths apart."""
    (made, exact) = TWINS["ball"]
    one, other = (
        pw.Solids(pw.Grid((N, N, N), H), [pw.RigidBody(shape, 500.0)]).measure(0.0).bodies[0].filled
        for shape in (made, exact)
    )
    for a in range(3):
        assert one[a].sum() == pytest.approx(other[a].sum(), rel=5e-3)
        assert one[a] == pytest.approx(other[a], abs=0.05)


def test_a_ring_sinks_and_comes_to_rest():
    """A mesh with a hole, through which water flows."""
    ring = mesh(trimesh.creation.torus(0.18, 0.07), np.array([0.5, 0.3, 0.5]))
    simulation = pw.Simulation(
        tank(pw.RigidBody(ring.moved(rotate=(np.cos(0.9), np.sin(0.9), 0, 0), about=(0.5, 0.3, 0.5)), 3000.0))
    )
    for _ in simulation.run(36):
        (body,) = simulation.state.bodies
        assert np.linalg.norm(body.velocity) < 3
    assert body.position[1] == pytest.approx(0.07, abs=0.1 * H)
    assert np.abs(velocities([body])).max() < 0.2


def test_a_continued_run_repeats_the_unbroken_one(tmp_path):
    """To the last bit: the table is made anew."""

    def scene():
        return tank(
            pw.RigidBody(ball((0.4, 0.3, 0.5), 0.12), 900.0), pw.RigidBody(ball((0.62, 0.2, 0.5), 0.12), 2000.0)
        )

    whole = {frame.number: frame.state.copy() for frame in pw.Simulation(scene()).run(4)}
    whole[2].save(tmp_path / "state.npz")
    for frame in pw.Simulation(scene(), State.load(tmp_path / "state.npz")).run(2):
        other = whole[frame.number]
        assert np.array_equal(frame.state.particles.position, other.particles.position)
        for body, same in zip(frame.state.bodies, other.bodies, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(body, same, strict=True))
