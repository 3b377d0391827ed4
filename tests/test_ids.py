"""Ids of particles: each has its own and keeps it, through sorting, sources, drains, files and exports."""

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.cli import main
from paddlewheel.output.export import Frames
from paddlewheel.physics.transfer import sorted_by_cell
from paddlewheel.types import NEW, Particles

N = 12
H = 1 / N


def pouring(advection="flip"):
    """Water that comes in at one side, and leaves by a drain and an open side."""
    return pw.Scene(
        size=(1, 1, 4 * H), cells=N, method=pw.Method(advection=advection), open_sides={"+x"},
        items=[
            pw.Liquid(pw.Box((0, 0, 0), (1, 0.3, 1))),
            pw.Inflow(pw.Box((0.2, 0.7, 0), (0.4, 0.9, 1)), velocity=(1, -1, 0)),
            pw.Outflow(pw.Box((0, 0, 0), (0.2, 0.1, 1))),
        ],
    )  # fmt: skip


def wind(advection="flip"):
    """Gas that comes in by one side and leaves by the other, so that particles are made and lost."""
    return pw.Scene(
        size=(1, 1, 4 * H), cells=N, method=pw.Method(advection=advection), open_sides={"+x"},
        items=[
            pw.Smoke(pw.Sphere((0.5, 0.5, 2 * H), 0.2), temperature=30),
            pw.Inflow(pw.Box((0, 0, 0), (2 * H, 1, 1)), velocity=(2, 0, 0)),
        ],
    )  # fmt: skip


def honey():
    """A block with another viscosity wherever one looks, which its particles carry unchanged."""
    return pw.Scene(
        size=(1, 1, 4 * H), cells=N,
        items=[pw.Liquid(pw.Box((0, 0, 0), (0.4, 0.8, 1)), viscosity=lambda points: 1 + points @ [1.0, 0.1, 0.01])],
    )  # fmt: skip


SCENES = {"flip": pouring, "apic": lambda: pouring("apic"), "semi-lagrangian": lambda: pouring("semi-lagrangian"),
          "smoke": wind}  # fmt: skip


def frames(scene, count=8):
    for frame in pw.Simulation(scene, ids=True).run(count):
        yield frame.state.copy()


def kept(before, after):
    """Which rows of two states are the same particles."""
    return np.intersect1d(before.particles.id, after.particles.id, return_indices=True)[1:]


@pytest.mark.parametrize("name", SCENES)
def test_no_two_particles_have_an_id_and_none_is_given_again(name):
    given, seen = 0, []
    for state in frames(SCENES[name]()):
        ids = state.particles.id
        assert ids.dtype == np.int32
        assert len(np.unique(ids)) == len(ids) == len(state.particles.position)
        assert 0 <= ids.min() <= ids.max() < state.numbered
        if seen:
            fresh = np.setdiff1d(ids, seen[-1])
            assert len(fresh) > 0
            assert fresh.min() >= given  # what is gone does not come back
            assert len(np.setdiff1d(seen[-1], ids)) > 0
        given = state.numbered
        seen.append(ids)


@pytest.mark.parametrize("name", SCENES)
def test_a_particle_with_an_id_goes_no_farther_than_the_flow(name):
    scene, before = SCENES[name](), None
    for state in frames(scene):
        if before is not None:
            a, b = kept(before, state)
            way = np.linalg.norm(state.particles.position[b] - before.particles.position[a], axis=1)
            speed = max(np.abs(u).max() for s in (before, state) for u in s.velocity)
            assert len(a) > 0.5 * len(before.particles.id)
            assert np.median(way) < speed / scene.fps
            assert way.max() < np.sqrt(3) * speed / scene.fps + 3 * scene.grid.h  # and what spreads particles
        before = state


def test_what_a_particle_carries_goes_with_its_id():
    """Viscosities are as many as particles, and no step changes them: exactly one of them goes with each id."""
    first, *others = frames(honey(), 6)
    assert len(np.unique(first.particles.carried[:, 0])) > 0.9 * len(first.particles.id)
    orders = [np.argsort(state.particles.id) for state in (first, *others)]
    assert any(not np.array_equal(orders[0], order) for order in orders[1:])  # they were sorted in between
    for state, order in zip(others, orders[1:], strict=True):
        assert np.array_equal(state.particles.carried[order, 0], first.particles.carried[orders[0], 0])


@pytest.mark.parametrize("name", SCENES)
def test_a_resumed_run_gives_the_same_ids(name, tmp_path):
    *_, whole = frames(SCENES[name](), 6)
    half = list(frames(SCENES[name](), 3))[-1]
    half.save(tmp_path / "state.npz")
    simulation = pw.Simulation(SCENES[name](), pw.State.load(tmp_path / "state.npz"))
    for _ in simulation.run(3):
        pass
    assert simulation.state.numbered == whole.numbered
    for part, other in zip(simulation.state.particles, whole.particles, strict=True):
        assert np.array_equal(part, other)


@pytest.mark.parametrize("name", SCENES)
def test_ids_change_nothing_else(name):
    *_, with_ids = frames(SCENES[name](), 4)
    simulation = pw.Simulation(SCENES[name]())
    for _ in simulation.run(4):
        pass
    without = simulation.state
    assert without.numbered is None
    assert len(without.particles.id) == 0
    assert np.array_equal(without.particles.position, with_ids.particles.position)
    assert np.array_equal(without.pressure, with_ids.pressure)


def test_sorting_takes_ids_along(on_threads):
    grid, rng = pw.Grid((8, 8, 8), 0.125), np.random.default_rng(1)
    particles = Particles.at(rng.random((5000, 3)), 0)._replace(id=rng.permutation(5000).astype(np.int32))
    where = {i: tuple(x) for i, x in zip(particles.id, particles.position, strict=True)}
    found = [on_threads(n, sorted_by_cell, grid, Particles(*map(np.copy, particles)))[0] for n in (1, 2)]
    assert {i: tuple(x) for i, x in zip(found[0].id, found[0].position, strict=True)} == where
    assert np.array_equal(found[0].id, found[1].id)


def test_those_that_join_are_new():
    old = Particles.at(np.zeros((2, 3)), 0)._replace(id=np.array([4, 7], np.int32))
    new = Particles.at(np.ones((3, 3)), 0)
    assert old.joined(new).id.tolist() == [4, 7, NEW, NEW, NEW]
    assert len(new.joined(new).id) == 0


def test_too_many_are_refused():
    *_, state = frames(pouring(), 1)
    state.particles.id[0] = NEW
    with pytest.raises(ValueError, match="2147483648"):
        state.number(2**31 - 1)


def test_a_run_that_is_kept_has_ids_and_exports_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "dam-break", "--cells", "16", "--frames", "3"]) == 0
    assert main(["export", "out/dam-break", "--what", "particles"]) == 0
    for number in (1, 3):
        state = pw.State.load(f"out/dam-break/dam-break.{number:04}.npz")
        data = (tmp_path / f"out/dam-break/export/dam-break.particles.{number:04}.ply").read_bytes()
        body = data[data.index(b"end_header\n") + len(b"end_header\n") :]
        rows = np.frombuffer(body, [("x", "<f4", 6), ("id", "<i4"), ("pscale", "<f4")])
        assert np.array_equal(rows["id"], state.particles.id)
        assert np.array_equal(np.sort(rows["id"]), np.arange(state.numbered))
    assert not np.array_equal(rows["id"], np.arange(len(rows)))  # it is not their place in the file
    scene = pw.Scene(size=(1, 1, 1), cells=8, items=[pw.Liquid(pw.Sphere((0.5, 0.5, 0.5), 0.3))])
    assert Frames(scene).make(1, pw.Simulation(scene).state).particles.id is None
