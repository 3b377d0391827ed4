"""How hot gas begins to rise, and when it does not (Boussinesq: f = β T up)."""

import numpy as np
import pytest

from paddlewheel import Box, Method, Scene, Simulation, Smoke, Solid, Sphere
from paddlewheel.method import ADVECTION
from paddlewheel.scene import WARM_AIR_RISES

DT, HOT = 1e-3, 10.0  # [s], [K]


def scene(advection, cells, smoke, *solids, dimensions=2):
    size = (1, 1, 1 / cells if dimensions == 2 else 1)
    return Scene(size=size, cells=cells, method=Method(advection=advection), items=[smoke, *solids])


@pytest.mark.parametrize("advection", ["flip", "maccormack"])
@pytest.mark.parametrize("radius", [0.1, 0.2])
def test_a_hot_cylinder_in_a_round_room_begins_to_rise(advection, radius):
    """Inside it the acceleration is the same everywhere,  ½ β T (1 − (R/b)²).

    With ψ = c x inside and c' (r − b²/r) x/r outside: half of the force is left, as
    what is moved out of its way weighs as much, and the wall at b takes the rest.
    """
    cells, wall = 96, 0.45
    middle = (0.5, 0.5, 0.5 / cells)
    hot = Smoke(Sphere(middle, radius), temperature=HOT)
    simulation = Simulation(scene(advection, cells, hot, Solid(~Sphere(middle, wall))))
    simulation.step(DT)
    points = simulation.scene.grid.face_points(1)
    inside = np.hypot(points[..., 0] - 0.5, points[..., 1] - 0.5) < radius - 1.5 / cells
    rises = simulation.state.velocity.y[inside] / (DT * WARM_AIR_RISES * HOT)
    exact = 0.5 * (1 - (radius / wall) ** 2)
    assert rises.mean() == pytest.approx(exact, rel=0.005)
    assert rises.std() < 0.015 * exact


def test_a_hot_ball_begins_to_rise():
    """In three dimensions two thirds of the force are left,  ⅔ β T (1 − (R/b)³)."""
    cells, radius, wall = 48, 0.15, 0.45
    hot = Smoke(Sphere((0.5, 0.5, 0.5), radius), temperature=HOT)
    solid = Solid(~Sphere((0.5, 0.5, 0.5), wall))
    simulation = Simulation(scene("maccormack", cells, hot, solid, dimensions=3))
    simulation.step(DT)
    points = simulation.scene.grid.face_points(1)
    inside = np.linalg.norm(points - 0.5, axis=-1) < radius - 1.5 / cells
    rises = simulation.state.velocity.y[inside] / (DT * WARM_AIR_RISES * HOT)
    assert rises.mean() == pytest.approx(2 / 3 * (1 - (radius / wall) ** 3), rel=0.01)


@pytest.mark.parametrize("advection", ADVECTION)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_gas_that_is_hot_everywhere_is_at_rest(advection, dimensions):
    """Pressure holds it, also where a ball cuts cells whose centres it covers."""
    ball = Solid(Sphere((0.5, 0.45, 0.5 / 24 if dimensions == 2 else 0.5), 0.2))
    hot = Smoke(Box((0, 0, 0), (1, 1, 1)), temperature=100.0)
    simulation = Simulation(scene(advection, 24, hot, ball, dimensions=dimensions))
    assert fastest_of(simulation) < 1e-5


@pytest.mark.parametrize(("advection", "most"), [("maccormack", 1e-5), ("semi-lagrangian", 1e-5), ("flip", 0.05)])
def test_a_hot_layer_over_a_cold_one_is_at_rest(advection, most):
    """Particles at random places do not end at one height, and stir a little."""
    hot = Smoke(Box((0, 0.5, 0), (1, 1, 1)), temperature=100.0)
    assert fastest_of(Simulation(scene(advection, 32, hot))) < most


def fastest_of(simulation) -> float:
    """The largest velocity of six steps, over what heat would have made of it without pressure."""
    fastest = []
    for _ in range(6):
        simulation.step(0.02)
        u = max(float(np.abs(u).max()) for u in simulation.state.velocity)
        fastest.append(u / (WARM_AIR_RISES * 100 * simulation.time))
    return max(fastest)
