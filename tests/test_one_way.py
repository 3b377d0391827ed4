"""Bodies that the liquid carries, and that do nothing to it (FM96), by the classic and by the modern method."""

import numpy as np
import pytest

from paddlewheel.items import Hand, Liquid, RigidBody, Solid, SurfacePressure
from paddlewheel.measure.body_faces import alone
from paddlewheel.method import Method
from paddlewheel.physics.borne import soaked
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.mass import mass_of
from paddlewheel.solids.rigid import mass_matrix
from paddlewheel.solids.shapes import Box, Cylinder, HalfSpace, Sphere
from paddlewheel.types import Grid, State

G, CELLS = 9.81, 32
H = 1 / CELLS
METHODS = {"classic": Method.foster_metaxas(), "modern": Method(cfl=1.0), "by grid": Method(advection="maccormack")}
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def tank(method, *items, level=0.5, **more) -> Scene:
    """A 2-D tank of one metre with water."""
    water = Liquid(HalfSpace((0, level, 0), (0, 1, 0)))
    return Scene(size=(1, 1, H), cells=(CELLS, CELLS, 1), method=method, items=[water, *items], **more)


def ball(density, y, **more) -> RigidBody:
    return RigidBody(Cylinder((0.5, y, -1), (0.5, y, 2), 0.1), density, one_way=True, **more)


def raft(density, x, bottom=0.5, **more) -> RigidBody:
    return RigidBody(Box((x - 0.08, bottom, -1), (x + 0.08, bottom + 0.125, 2)), density, one_way=True, **more)


@methods
def test_archimedes_draught(method):
    """Within half a cell: to the classic method the surface is where the centres of surface cells are."""
    ratios = {0.2: 0.2, 0.5: 0.5, 0.8: 0.8}  # and where along the tank
    simulation = Simulation(tank(method, *(raft(1000 * ratio, x) for ratio, x in ratios.items())))
    simulation.advance(3.0)
    found = []
    for _ in simulation.run(24):
        found.append([0.5 - (body.position[1] - 0.0625) for body in simulation.state.bodies])
    draught = np.mean(found, axis=0)
    assert draught == pytest.approx([0.125 * ratio for ratio in ratios], abs=0.75 * H)


@methods
def test_the_liquid_does_not_feel_them(method):
    alone, with_raft = (Simulation(tank(method, *items)) for items in ((), (raft(500.0, 0.5, 0.7),)))
    for simulation in (alone, with_raft):
        for _ in range(20):
            simulation.step(0.01)
    for u, v in zip(alone.state.velocity, with_raft.state.velocity, strict=True):
        assert np.array_equal(u, v)
    assert np.array_equal(alone.state.particles.position, with_raft.state.particles.position)


@methods
def test_what_weighs_more_sinks_and_lies_on_the_floor(method):
    simulation = Simulation(tank(method, ball(3000.0, 0.3)))
    simulation.advance(2.5)
    assert simulation.state.bodies[0].position[1] == pytest.approx(0.1, abs=0.05 * H)


@methods
def test_in_the_air_it_falls_freely(method):
    simulation = Simulation(tank(method, raft(500.0, 0.5, 0.8), level=0.1))
    for _ in range(20):
        simulation.step(0.01)
    assert simulation.state.bodies[0].velocity[1] == pytest.approx(-G * 0.2, rel=1e-6)


@methods
@pytest.mark.parametrize("floor", [0.0, 0.203125, 0.21, 0.225], ids=lambda y: f"floor at {y}")
def test_what_is_lighter_leaves_the_floor(method, floor):
    """As fast as in the open, x = a/c² (c t − 1 + exp(−c t)): it is not sucked onto the floor, or a solid."""
    items = [ball(500.0, floor + 0.1)] + ([Solid(Box((-1, -1, -1), (2, floor, 2)))] if floor else [])
    simulation = Simulation(tank(method, *items, level=0.75))
    for _ in range(20):
        simulation.step(0.01)
    c, t = 2 * 1000 / 500, 0.2
    risen = G / c**2 * (c * t - 1 + np.exp(-c * t))
    assert simulation.state.bodies[0].position[1] - floor - 0.1 == pytest.approx(risen, rel=0.2)


@methods
def test_what_weighs_as_much_as_water_stays_in_it(method):
    """From the first step on, when no pressure is known yet; beside a wall too."""
    wall = Solid(Box((-1, -1, -1), (0.39, 2, 2)))
    simulation = Simulation(tank(method, wall, ball(1000.0, 0.3), level=0.75))
    for _ in range(20):
        simulation.step(0.01)
    assert simulation.state.bodies[0].position[:2] == pytest.approx([0.5, 0.3], abs=0.05 * H)


@methods
def test_air_that_presses_everywhere_alike_does_not_move_it(method):
    """Whatever the time: on a raft that floats, and on one in the air above."""

    def rafts(*items):
        simulation = Simulation(tank(method, raft(500.0, 0.3, 0.45), raft(500.0, 0.7, 0.6), *items))
        for _ in range(15):
            simulation.step(0.01)
        return np.array([body.velocity for body in simulation.state.bodies])

    beating = SurfacePressure(lambda points, t: np.full(len(points), 3000.0 * (1 + np.sin(20 * t))))
    assert rafts(beating) == pytest.approx(rafts(), abs=1e-3)


@pytest.mark.parametrize("damping", [0.0, 1.0, 4.0])
def test_a_stream_carries_it_along(damping):
    """All of it under water that moves at 1 m/s, and as heavy as that: V = 1 − exp(−c t)."""
    water = Liquid(Box((0, 0, -1), (1, 1, 2)), velocity=(1, 0, 0))
    ball = RigidBody(Cylinder((0.3, 0.5, -1), (0.3, 0.5, 2), 0.1), 1000.0, one_way=True, damping=damping)
    scene = Scene(
        size=(1, 1, H), cells=(CELLS, CELLS, 1), gravity=(0, 0, 0), method=Method.foster_metaxas(),
        items=[water, ball], open_sides={"-x", "+x"},
    )  # fmt: skip
    simulation = Simulation(scene)
    for _ in range(30):
        simulation.step(0.01)
    assert simulation.state.bodies[0].velocity[0] == pytest.approx(1 - np.exp(-0.3 * damping), abs=0.02)


def test_two_of_them_do_not_pass_through_each_other():
    lower, upper = raft(500.0, 0.5, 0.4), raft(500.0, 0.52, 0.6)
    simulation = Simulation(tank(Method.foster_metaxas(), lower, upper))
    for _ in simulation.run(48):
        one, two = (body.position for body in simulation.state.bodies)
        assert np.linalg.norm(two - one) > 0.12  # what is thinnest is 0.125 m thick


def test_solids_stop_it():
    shelf = Solid(Box((0.3, 0.55, -1), (0.7, 0.6, 2)))
    simulation = Simulation(tank(Method.foster_metaxas(), shelf, raft(500.0, 0.5, 0.7)))
    simulation.advance(1.0)
    assert simulation.state.bodies[0].position[1] == pytest.approx(0.6 + 0.0625, abs=0.05 * H)


@pytest.mark.parametrize("method", [METHODS["classic"], METHODS["modern"]], ids=["classic", "modern"])
def test_a_continued_simulation_repeats_the_unbroken_one(method, tmp_path):
    scene = tank(method, raft(300.0, 0.4), raft(700.0, 0.6, 0.7))
    whole = {frame.number: frame.state.copy() for frame in Simulation(scene).run(6)}
    whole[3].save(tmp_path / "state.npz")
    for frame in Simulation(scene, State.load(tmp_path / "state.npz")).run(3):
        for one, two in zip(frame.state.bodies, whole[frame.number].bodies, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@methods
def test_a_hand_leads_it(method):
    body = raft(500.0, 0.5, 0.6)
    hand = Hand(body, (0.5, 0.65, H / 2), lambda t: (0.5, 0.65 + 0.2 * min(t, 1.0), H / 2))
    simulation = Simulation(tank(method, body, hand))
    simulation.advance(1.0)
    assert simulation.state.bodies[0].position[1] == pytest.approx(0.6625 + 0.2, abs=H)


def test_what_is_under_water_is_counted_whole_and_half_of_what_is_half_in():
    """S of a body under water is its volume, and its moments; what flows turning gives it the turning."""
    grid, ball = Grid((24, 24, 24), 1 / 24), Sphere((0.5, 0.45, 0.52), 0.25)
    mass = mass_of(ball)
    omega, faces = np.array([0.3, -0.5, 0.7]), alone(grid, ball)
    flow = grid.zeros_faces()
    for a in range(3):
        flow[a][:] = np.add(np.cross(omega, grid.face_points(a) - mass.center), (1.0, 2.0, 3.0))[..., a]
    everywhere = np.full(grid.shape, -1.0, np.float32)
    S, momentum = soaked(grid, faces, np.array(mass.center), everywhere, flow)
    assert pytest.approx(mass_matrix(mass, 1.0, np.array([1.0, 0, 0, 0])), rel=0.01, abs=1e-5) == S
    assert np.linalg.solve(S, momentum) == pytest.approx([1, 2, 3, *omega], rel=1e-4)
    half = np.where(grid.cell_points()[..., 1] < 0.45, everywhere, -everywhere)
    S, _ = soaked(grid, faces, np.array(mass.center), half, flow)
    assert S[1, 1] == pytest.approx(0.5 * mass.volume, rel=0.1)
    S, momentum = soaked(grid, faces, np.array(mass.center), -everywhere, flow)
    assert not S.any()
    assert not momentum.any()


def test_damping_is_at_least_nothing():
    with pytest.raises(ValueError, match=r"RigidBody\(Box\): damping=-1, expected at least 0"):
        RigidBody(Box((0, 0, 0), (1, 1, 1)), 500.0, damping=-1)
