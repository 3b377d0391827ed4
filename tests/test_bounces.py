"""Bodies that bounce far from any liquid: the energy that a bounce leaves, at steps of a whole frame."""

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.solids.rigid import mass_matrix

G = 9.81
DENSITY = 500.0
PUDDLE = pw.Liquid(pw.Box((0, 0, -1), (0.12, 0.12, 2)))  # behind a wall
WALL = pw.Solid(pw.Box((0.125, 0, -1), (0.1875, 0.3, 2)))
DROPPED = {  # from a height of 1 m
    "disc": pw.Cylinder((0.6, 1.1, -1), (0.6, 1.1, 2), 0.1),
    "square": pw.Box((0.45, 1.0, -1), (0.75, 1.2, 2)),
    "ball": pw.Sphere((0.6, 1.1, 0.5), 0.1),
    "box": pw.Box((0.45, 1.0, 0.4), (0.75, 1.2, 0.6)),
}


def shaft(shape, dimensions, **body):
    counts = (16, 32, 16 if dimensions == 3 else 1)
    items = [PUDDLE, WALL, pw.RigidBody(shape, DENSITY, friction=0.0, **body)]
    return pw.Simulation(pw.Scene([m / 16 for m in counts], counts, items=items))


def height_left(simulation):
    """How high the first body would rise with all its energy [m]."""
    body = simulation.state.bodies[0]
    M = mass_matrix(simulation._stepper.bodies.masses[0], DENSITY, body.orientation)
    V = np.concatenate([body.velocity, body.angular_velocity])
    return body.position[1] + 0.5 * V @ M @ V / (M[0, 0] * G)


@pytest.mark.parametrize("restitution", [1.0, 0.5])
@pytest.mark.parametrize("name", DROPPED)
def test_a_bounce_leaves_the_square_of_the_restitution(name, restitution):
    """In each of two bounces; in flight nothing is lost."""
    simulation = shaft(DROPPED[name], 3 if name in ("ball", "box") else 2, restitution=restitution)
    heights = [1.0]
    while simulation.time < (1.6 if restitution == 1 else 1.15):
        before = simulation.state.bodies[0].velocity[1]
        simulation.step(1 / 24)
        if simulation.state.bodies[0].velocity[1] <= 0 < before:
            heights.append(height_left(simulation) - 0.1)
    assert len(heights) >= (2 if restitution == 1 else 3)
    assert np.divide(heights[1:], heights[:-1]) == pytest.approx(restitution**2, rel=1e-3)


@pytest.mark.parametrize("others", [[], [pw.Cylinder((0.6, 0.5, -1), (0.6, 0.5, 2), 0.1)]])
def test_steps_of_unlike_lengths_lose_nothing(others):
    """Of one disc, or of two that also meet each other."""
    rng = np.random.default_rng(0)
    discs = [pw.RigidBody(shape, DENSITY, friction=0.0, restitution=1.0) for shape in (DROPPED["disc"], *others)]
    scene = pw.Scene((1, 2, 1 / 16), (16, 32, 1), items=[PUDDLE, WALL, *discs])
    simulation = pw.Simulation(scene)
    mass = simulation._stepper.bodies._weights
    energies = []
    while simulation.time < 2.0:
        bodies = simulation.state.bodies
        each = [G * body.position[1] + 0.5 * body.velocity @ body.velocity for body in bodies]
        energies.append(mass @ each)
        simulation.step(rng.uniform(1 / 200, 1 / 24))
    assert max(energies) < energies[0] * (1 + 1e-6)
    assert energies[-10:] == pytest.approx(10 * [energies[0]], rel=1e-3)


def test_a_body_let_go_falls_as_in_a_vacuum():
    """From the first step on: x = ½ g t²."""
    simulation = shaft(DROPPED["disc"], 2)
    for _ in range(8):
        simulation.step(1 / 24)
    assert simulation.state.bodies[0].position[1] == pytest.approx(1.1 - 0.5 * G * simulation.time**2, abs=1e-9)


@pytest.mark.parametrize("velocity", [(1.0, 0.5, 9.0), (-0.7, -1.5, -6.0)])
def test_a_spinning_box_gains_no_energy(velocity):
    box = pw.Box((0.45, 0.65, -1), (0.75, 0.75, 2))
    *v, spin = velocity
    simulation = shaft(box, 2, restitution=1.0, velocity=(*v, 0), angular_velocity=(0, 0, spin))
    start = height_left(simulation)
    for _ in range(48):
        simulation.step(1 / 24)
        assert height_left(simulation) < start * (1 + 1e-6)
