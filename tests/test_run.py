"""Simulations in time: steps that end where they should, frames that can be taken up again, and what stops them."""

import math

import numpy as np
import pytest

import paddlewheel.run
from falling import Falling, equal
from paddlewheel.items import Force, Inflow, Liquid, Solid
from paddlewheel.one_step import first_step
from paddlewheel.run import Simulation, SolveFailedError
from paddlewheel.scene import Scene
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import State

BALL = Sphere((0.5, 0.5, 0.5), 0.2)
FPS = 24


def scene(**arguments):
    return Scene(**{"size": (1, 1, 1), "cells": 8, "items": [Liquid(BALL)]} | arguments)


@pytest.fixture(autouse=True)
def falling(monkeypatch):
    monkeypatch.setattr(paddlewheel.run, "Stepper", Falling)


def broken(monkeypatch, at, **changes):
    """Let the step after `at` others report something else."""

    class Broken(Falling):
        def step(self, state, dt):
            state, report = super().step(state, dt)
            return state, report._replace(**changes) if state.steps == at + 1 else report

    monkeypatch.setattr(paddlewheel.run, "Stepper", Broken)


def test_frames_end_at_n_over_fps_exactly():
    simulation = Simulation(scene(fps=FPS))
    assert simulation.time == 0
    frames = [(f.number, f.time, f.report.substeps) for f in simulation.run(100)]
    assert [number for number, _, _ in frames] == list(range(1, 101))
    assert [time for _, time, _ in frames] == [n / FPS for n in range(1, 101)]
    assert simulation.state.steps == sum(substeps for *_, substeps in frames)
    assert [f.number for f in simulation.run(2)] == [101, 102]


@pytest.mark.parametrize("fps", [23.976, 24, 25, 30, 48.7])
def test_a_continued_simulation_repeats_the_unbroken_one(fps, tmp_path):
    """To the last bit, from any frame, through a file."""
    whole = {f.number: f.state.copy() for f in Simulation(scene(fps=fps)).run(12)}
    for cut in (1, 5, 11):
        whole[cut].save(tmp_path / "state.npz")
        again = Simulation(scene(fps=fps), State.load(tmp_path / "state.npz"))
        for frame in again.run(12 - cut):
            assert equal(frame.state, whole[frame.number])
        assert frame.number == 12


def test_advance_hits_the_end_and_sums_up():
    simulation = Simulation(scene())
    report = simulation.advance(0.1)
    assert simulation.time == 0.1
    assert report.substeps == simulation.state.steps == len(report.solves) > 5
    assert report.seconds == pytest.approx({"move": 1e-4 * report.substeps, "solve": 2e-4 * report.substeps})
    assert report.warnings == [f"warned at {n}" for n in range(1 + (report.substeps - 1) // 6)]


def test_the_last_steps_share_what_is_left(monkeypatch):
    """A limit of 0.04 and 0.1 to go: 0.04, 0.03, 0.03, never a sliver at the end."""
    steps = []
    monkeypatch.setattr(Falling, "limit", lambda self, state: 0.04)
    taken = Falling.step
    monkeypatch.setattr(Falling, "step", lambda self, state, dt: steps.append(dt) or taken(self, state, dt))
    Simulation(scene()).advance(0.1)
    assert steps == pytest.approx([0.04, 0.03, 0.03])


def test_step_takes_exactly_dt_or_the_limit(monkeypatch):
    simulation = Simulation(scene())
    assert simulation.step(dt=0.2).dt == 0.2
    assert simulation.step().dt == Falling(None).limit(State(0, 1, *[None] * 5))
    monkeypatch.setattr(Falling, "limit", lambda self, state: math.inf)
    assert simulation.step().dt == 1 / FPS
    assert simulation.advance(3.0).substeps == 1


def test_inflow_is_summed(monkeypatch):
    broken(monkeypatch, at=2, inflow=0.25, outflow=0.5)
    report = Simulation(scene()).advance(0.1)
    assert (report.inflow, report.outflow) == (0.25, 0.5)


def test_the_boundary_is_that_of_now():
    simulation = Simulation(scene(items=[Liquid(BALL), Solid(Box((0, 0, 0), (1, 0.25, 1)))]))
    assert simulation.boundary.phi[4, 1, 4] < 0 < simulation.boundary.phi[4, 8, 4]


def test_progress_is_told_of_the_frames():
    told = []
    simulation = Simulation(scene(), progress=lambda numbers: (told.append(n) or n for n in numbers))
    list(simulation.run(3))
    assert told == [1, 2, 3]


@pytest.mark.parametrize(
    "items", [[], [Solid(BALL)], [Force(lambda points, t: points)]], ids=["none", "solid", "force"]
)
def test_nothing_to_simulate_is_refused(items):
    with pytest.raises(ValueError, match="no Liquid, no Smoke and no Inflow"):
        Simulation(scene(items=items))


@pytest.mark.parametrize("viscosity", [100, lambda points: points[:, 0]], ids=["number", "function"])
def test_one_step_alone_is_not_of_viscous_liquid(viscosity):
    with pytest.raises(ValueError, match="viscous liquid: one step alone is of pressure only"):
        first_step(scene(items=[Solid(BALL), Liquid(BALL, viscosity=viscosity)]))


def test_an_inflow_alone_is_enough():
    assert Simulation(scene(items=[Inflow(BALL, (0, 0, 0))])).time == 0


def test_a_state_of_another_grid_is_refused():
    state = Simulation(scene()).state
    with pytest.raises(ValueError, match=r"state has \(8, 8, 8\) cells, the scene \(4, 4, 4\)"):
        Simulation(scene(cells=4), state)


@pytest.mark.parametrize("wrong", [0, -0.1, float("nan"), float("inf"), "long"])
def test_a_wrong_time_is_named(wrong):
    for take in ("step", "advance"):
        with pytest.raises(ValueError, match=f"{take}: .*={wrong!r}"):
            getattr(Simulation(scene()), take)(wrong)


def test_a_solve_that_did_not_converge_stops_it(monkeypatch):
    failed = Falling(scene()).step(Falling(scene()).start(), 0.1)[1].solves[0]._replace(residual=0.3, converged=False)
    broken(monkeypatch, at=9, solves=[failed])
    simulation = Simulation(scene())
    with pytest.raises(SolveFailedError, match=r"step 10 at 0\.0\d* s: the pressure solve .* residual 0.3 after 5"):
        list(simulation.run(5))
    assert simulation.state.steps == 9


def test_a_state_that_a_failed_step_used_up_is_named(monkeypatch):
    def step(self, state, dt):
        state.release()
        raise ValueError("the force is not finite")

    simulation = Simulation(scene())
    simulation.step(0.01)
    monkeypatch.setattr(Falling, "step", step)
    with pytest.raises(ValueError, match="not finite"):
        simulation.step(0.01)
    for go_on in (simulation.step, lambda: simulation.step(0.01), lambda: list(simulation.run(1))):
        with pytest.raises(SolveFailedError, match=r"step 2 at 0\.01 s failed before and used up the state"):
            go_on()


@pytest.mark.parametrize("wrong", [2.5, -1, True, "all", None])
def test_a_wrong_number_of_frames_is_named_at_once(wrong):
    with pytest.raises(ValueError, match=f"run: frames={wrong!r}, expected a whole number from 0 on"):
        Simulation(scene()).run(wrong)


@pytest.mark.parametrize("name", ["divergence", "volume", "kinetic_energy"])
def test_a_report_of_nan_stops_it(name, monkeypatch):
    broken(monkeypatch, at=1, **{name: math.nan})
    with pytest.raises(SolveFailedError, match=rf"step 2 at .* s: {name} is nan"):
        Simulation(scene()).advance(0.1)


@pytest.mark.parametrize("name", ["velocity.y", "pressure", "particles.position"])
def test_a_state_of_nan_is_no_frame(name, monkeypatch):
    simulation = Simulation(scene())
    frames = simulation.run(3)
    assert next(frames).number == 1
    owner, _, part = name.partition(".")
    array = getattr(simulation.state, owner)
    array = getattr(array, part) if part else array
    array.reshape(-1)[1] = np.nan
    with pytest.raises(SolveFailedError, match=rf"step \d+ at .* s: {name}\[0, .* is not finite"):
        next(frames)


@pytest.mark.parametrize("limit", [0.0, 1e-9, math.nan])
def test_velocities_that_run_away_stop_it(limit, monkeypatch):
    monkeypatch.setattr(Falling, "limit", lambda self, state: limit)
    with pytest.raises(SolveFailedError, match=r"step 1 at 0 s: .* run away"):
        Simulation(scene()).advance(0.1)
