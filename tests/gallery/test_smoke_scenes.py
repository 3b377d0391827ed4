"""Smoke in the gallery: what its scenes are made of, by every way to carry it, and in long steps."""

import numpy as np
import pytest

from paddlewheel.gallery import common, cylinder, paddle, plume_box, plume_mesh, plume_plate, ring_vortex, taylor_green
from paddlewheel.method import ADVECTION
from paddlewheel.run import Simulation

WRONG = [
    (paddle, {"turns": "fast"}),
    (paddle, {"cells": 0}),
    (plume_plate, {"dimensions": 1}),
    (plume_mesh, {"degrees": "steep"}),
    (plume_plate, {"degrees": np.nan}),
    (plume_box, {"dimensions": 4}),
    (plume_box, {"temperature": None}),
    (ring_vortex, {"speed": -1.0}),
    (ring_vortex, {"whole": 1}),
    (taylor_green, {"vortices": 1.5}),
    (cylinder, {"speed": 0}),
    (cylinder, {"section": "oval"}),
]


@pytest.mark.parametrize("advection", ADVECTION)
@pytest.mark.parametrize(
    ("entry", "parameters", "frames"),
    [
        (paddle, {"cells": 20}, 12),
        (plume_plate, {"cells": 36}, 24),
        (plume_box, {"cells": 32}, 24),
        (ring_vortex, {"cells": 24, "cfl": 5.0}, 6),
        (cylinder, {"cells": 48}, 12),
    ],
)
def test_what_must_hold_of_smoke_holds_however_it_is_carried(entry, parameters, frames, advection):
    """Among it: no smoke in cells that solids cover, also those that move, and the flow is free of divergence."""
    watch = common.Watch(Simulation(entry.scene(advection=advection, **parameters)))
    for _ in watch.run(frames):
        pass
    figures = watch.figures()
    assert set(figures) == set(common.SMOKE_LIMITS)
    assert {name: value for name, value in figures.items() if not value <= common.SMOKE_LIMITS[name]} == {}


@pytest.mark.parametrize(("entry", "wrong"), WRONG)
def test_a_parameter_that_cannot_be_is_named(entry, wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        entry.scene(**wrong)


@pytest.mark.parametrize(("shape", "middle"), [("plate", plume_plate.MIDDLE), ("ring", plume_mesh.MIDDLE)])
def test_the_obstacle_is_tilted_and_in_the_middle(shape, middle):
    """Its middle is filled, but for the ring's; and it is higher on the right."""
    entry = plume_plate if shape == "plate" else plume_mesh
    _, solid = entry.scene(degrees=30.0).items
    low, high = solid.shape.bounds()
    center = (low + high) / 2
    np.testing.assert_allclose(center[:2], middle, atol=0.01)
    assert (solid.shape.distance(center[None])[0] < 0) == (shape == "plate")
    along = 0.8 * entry.REACH * np.array([[np.cos(np.pi / 6), np.sin(np.pi / 6), 0]])
    assert solid.shape.distance(center + along)[0] < 0 < solid.shape.distance(center + along * [1, -1, 1])[0]


def test_the_ring_of_triangles_is_the_one_by_formula():
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (2000, 3))
    by_triangles, by_formula = plume_mesh.triangles().distance(points), plume_mesh.formula().distance(points)
    clear = np.abs(by_triangles) > 5e-4  # the flat parts are that much nearer to the middle than the circle
    assert np.array_equal(by_triangles[clear] < 0, by_formula[clear] < 0)
    assert 0.03 < (by_triangles < 0).mean() < 0.07  # 0.05, by its volume


def test_the_ring_vortex_starts_as_described():
    """Its circulation is right on a circuit around the core, and a quarter of the room is a quarter of the whole."""
    angle = 2 * np.pi * (np.arange(400) + 0.5) / 400
    away = 1.5 * ring_vortex.CORE
    circuit = np.column_stack([away * np.cos(angle), ring_vortex.RADIUS + away * np.sin(angle), 0 * angle])
    tangent = np.column_stack([-np.sin(angle), np.cos(angle), 0 * angle])
    flow = ring_vortex.induced(circuit, 1.0)
    circulation = (flow * tangent).sum() * 2 * np.pi * away / 400
    assert abs(circulation) == pytest.approx(1.0, abs=0.03)
    assert ring_vortex.expected(ring_vortex.scene(cells=24)) == pytest.approx(0.5)
    whole, quarter = (Simulation(ring_vortex.scene(cells=24, whole=whole)).state.velocity for whole in (True, False))
    assert whole.x[:14, 8:, 8:] == pytest.approx(quarter.x[:14], abs=1e-5)  # but in the ball, where it is continued


def test_the_frequency_of_a_sine_is_found():
    t = np.arange(200) / 24
    assert cylinder.frequency(np.sin(2 * np.pi * 1.7 * t), 24) == pytest.approx(1.7, rel=0.02)
    assert cylinder.frequency(np.ones(10), 24) == 0


@pytest.mark.slow
@pytest.mark.parametrize("advection", ["flip", "maccormack", "semi-lagrangian"])
def test_a_square_has_a_wake_and_a_circle_has_none(advection):
    """d'Alembert: without viscosity gas slips around what is round. A wake there is one of the grid."""
    widest = {}
    for section in ("square", "round"):
        scene = cylinder.scene(section=section, advection=advection)
        swing = [cylinder.cross_velocity(frame.state, scene.grid.h) for frame in Simulation(scene).run(72)]
        widest[section] = max(map(abs, swing))
    assert widest["square"] > 0.4
    assert widest["round"] < 0.15
