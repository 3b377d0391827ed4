"""Still water that is described by its own shape, and by walls that are thin: nothing may leak and nothing may move."""

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.grid.levelset import extend_into_solids

GRAVITY = 9.81
TURN = (np.cos(0.15), 0.0, 0.0, np.sin(0.15))


def moved(items, cells, dimensions=2):
    """max|u| / gΔt after the first step, and the largest pressure [Pa]."""
    counts = (cells, cells, cells if dimensions == 3 else 1)
    size = (1, 1, 1 if dimensions == 3 else 1 / cells)
    step = pw.first_step(pw.Scene(size, counts, method=pw.Method(tolerance=1e-10), items=items))
    assert step.projection.info.converged
    return step.fastest / (GRAVITY * step.dt), step.projection.pressure.max()


@pytest.mark.parametrize("walls", [2, 3, 6])
@pytest.mark.parametrize("cells", [32, 48])
def test_a_cup_holds_its_water(cells, walls):
    """The water is a box, the inside of the cup up to a level: its sides and bottom are no free surface."""
    t, low, high = walls / cells, 0.2 + 0.25 / cells, 0.8 + 0.25 / cells
    cup = pw.Box((0.2 - t, low - t, -1), (high + t, 0.9, 2)) - pw.Box((0.2, low, -1), (high, 2, 2))
    water = pw.Box((0.2, low, -1), (high, 0.7, 2))
    left, pressure = moved([pw.Solid(cup), pw.Liquid(water)], cells)
    assert left <= 1e-6
    assert pressure == pytest.approx(1000 * GRAVITY * (0.7 - low), rel=0.6 / (0.5 * cells))


@pytest.mark.parametrize("walls", [2, 4])
@pytest.mark.parametrize("cells", [32, 48])
def test_a_tilted_cup_holds_its_water(cells, walls):
    t, middle = walls / cells, (0.5, 0.5, 0)
    room = pw.Box((0.25, 0.25, -1), (0.75, 0.75, 2)).moved(rotate=TURN, about=middle)
    shell = pw.Box((0.25 - t, 0.25 - t, -1), (0.75 + t, 0.75 + t, 2)).moved(rotate=TURN, about=middle)
    water = room & pw.HalfSpace((0, 0.52, 0), (0, 1, 0))
    assert moved([pw.Solid(shell - room), pw.Liquid(water)], cells)[0] <= 1e-6


@pytest.mark.parametrize("walls", [1.5, 2, 3, 6])
def test_a_round_cup_holds_its_water(walls):
    cells = 48
    t = walls / cells
    cup = pw.Cylinder((0.5, 0.2 - t, 0.5), (0.5, 0.9, 0.5), 0.3 + t) - pw.Cylinder((0.5, 0.2, 0.5), (0.5, 2, 0.5), 0.3)
    water = pw.Cylinder((0.5, 0.2, 0.5), (0.5, 0.7, 0.5), 0.3)
    assert moved([pw.Solid(cup), pw.Liquid(water)], cells, dimensions=3)[0] <= 1e-6


@pytest.mark.parametrize("walls", [1.5, 2, 4])
def test_a_bowl_holds_its_water(walls):
    cells, middle = 48, (0.5, 0.5, 0.5)
    room = pw.Sphere(middle, 0.3)
    bowl = pw.Sphere(middle, 0.3 + walls / cells) - room - pw.Box((-1, 0.65, -1), (2, 2, 2))
    water = room & pw.HalfSpace((0, 0.5, 0), (0, 1, 0))
    assert moved([pw.Solid(bowl), pw.Liquid(water)], cells, dimensions=3)[0] <= 1e-6


@pytest.mark.parametrize("where", [0.4, 0.41, 0.43, 0.447])
def test_a_block_of_water_stands_against_a_wall(where):
    wall, water = pw.Box((where, -1, -1), (2, 2, 2)), pw.Box((-0.1, -0.1, -1), (where, 0.6, 2))
    assert moved([pw.Solid(wall), pw.Liquid(water)], 32)[0] <= 1e-6


@pytest.mark.parametrize("walls", [2, 2.5, 3, 4])
@pytest.mark.parametrize("offset", [0.0, 0.3, 0.7])
def test_two_levels_on_the_sides_of_a_thin_wall_do_not_mix(walls, offset):
    cells = 32
    grid = pw.Grid((cells, cells, 1), 1 / cells)
    wall, t = 0.45 + offset / cells, walls / cells
    boundary = pw.Solids(grid, [pw.Solid(pw.Box((wall, -1, -1), (wall + t, 2, 2)))]).measure(0.0)
    x, y = grid.cell_points()[..., 0], grid.cell_points()[..., 1]
    phi = extend_into_solids(np.where(x < wall + t / 2, y - 0.81, y - 0.31), boundary.phi, grid.h)
    velocity = grid.zeros_faces()
    velocity.y[:] = -0.1
    result = pw.project(grid, velocity, phi, boundary, 0.1 / GRAVITY, tolerance=1e-10)
    left = max(np.abs(u[known]).max(initial=0) for u, known in zip(result.velocity, result.known, strict=True))
    assert left <= 1e-6 * 0.1


@pytest.mark.parametrize("walls", [1.2, 1.4, 1.7])
@pytest.mark.parametrize("turn", [0.0, 0.02, 0.2, 0.5, 0.75])
@pytest.mark.parametrize("offset", [(0.0, 0.32), (0.18, 0.66)])
def test_a_cup_of_thin_walls_holds_its_water_step_after_step(walls, turn, offset):
    """Its inner corners are in cells whose centres are in the wall, from which φ must not see the air behind it."""
    cells, turned = 32, (np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))
    t, (x, y) = walls / cells, (0.5 + offset[0] / cells, 0.5 + offset[1] / cells)

    def placed(shape):
        return shape.moved(translate=(x, y, 0), rotate=turned)

    room = placed(pw.Box((-0.28, -0.28, -2), (0.28, 0.28, 2)))
    cup = placed(pw.Box((-0.28 - t, -0.28 - t, -1), (0.28 + t, 0.28, 1)) - pw.Box((-0.28, -0.28, -2), (0.28, 0.9, 2)))
    water = room & pw.HalfSpace((0, 0.45, 0), (0, 1, 0))
    simulation = pw.Simulation(pw.Scene((1, 1, 1 / cells), cells, items=[pw.Solid(cup), pw.Liquid(water)]))
    volume = len(simulation.state.particles.position) / (4 * cells**3)
    energies = [frame.report.kinetic_energy for frame in simulation.run(6)]
    assert max(energies) <= 1e-3 * 1000 * GRAVITY * volume * 0.25
    assert room.distance(simulation.state.particles.position.astype(float)).max() <= 0.01 / cells


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_a_cup_of_thin_walls_holds_its_water_in_three_dimensions(turn):
    cells, t, middle = 24, 1.4 / 24, (0.5, 0.5, 0.5)
    turned = (np.cos(turn / 2), 0.6 * np.sin(turn / 2), 0.0, 0.8 * np.sin(turn / 2))
    low, high = (0.203,) * 3, (0.803, 0.803, 0.803)
    room = pw.Box(low, (0.803, 1.5, 0.803)).moved(rotate=turned, about=middle)
    shell = pw.Box((0.203 - t,) * 3, (0.803 + t, 0.803, 0.803 + t)).moved(rotate=turned, about=middle)
    inside = pw.Box(low, high).moved(rotate=turned, about=middle)
    water = inside & pw.HalfSpace((0, 0.5, 0), (0, 1, 0))
    simulation = pw.Simulation(pw.Scene((1, 1, 1), cells, items=[pw.Solid(shell - room), pw.Liquid(water)]))
    volume = len(simulation.state.particles.position) / (8 * cells**3)
    energies = [frame.report.kinetic_energy for frame in simulation.run(6)]
    assert max(energies) <= 2e-3 * 1000 * GRAVITY * volume * 0.3
    assert inside.distance(simulation.state.particles.position.astype(float)).max() <= 0.01 / cells
