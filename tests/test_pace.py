"""How many threads steps run on: as many as make them fastest, whatever else the machine does."""

import os
import subprocess
import sys

import pytest

from paddlewheel.kernel import threads
from paddlewheel.pace import FIRST, LATEST, SOONEST, TRIED, Pace


@pytest.fixture
def pace():
    return Pace()


def went(pace, steps, seconds):
    """The threads of so many steps on a machine of two, if one takes seconds[n] on n threads."""
    chosen = []
    for _ in range(steps):
        chosen.append(1 if pace.one else 2)
        pace.took(seconds[chosen[-1]])
    return chosen


def test_two_threads_are_kept_where_they_are_faster(pace):
    """And one is tried ever less often: in the end for about a hundredth of the steps."""
    chosen = went(pace, 2000, {1: 1.8, 2: 1.0})
    assert chosen[: FIRST + 2 * TRIED] == [2] * FIRST + [1] * TRIED + [2] * TRIED
    assert chosen[-LATEST - 2 * TRIED :].count(1) == TRIED
    assert chosen.count(1) < 0.012 * len(chosen)


def test_one_thread_is_kept_beside_a_program_that_takes_the_other(pace):
    chosen = went(pace, 500, {1: 1.0, 2: 2.0})
    assert chosen[: FIRST + 2 * TRIED] == [2] * FIRST + [1] * TRIED + [2] * TRIED
    assert chosen[FIRST + 2 * TRIED :].count(2) < 0.05 * len(chosen)


def test_what_begins_and_ends_is_noticed(pace):
    went(pace, 1000, {1: 1.8, 2: 1.0})
    busy = went(pace, SOONEST + 2 * TRIED + 2, {1: 1.8, 2: 3.6})
    assert busy[-1] == 1
    assert 2 in went(pace, 2 * SOONEST, {1: 1.8, 2: 1.0})
    assert went(pace, LATEST, {1: 1.8, 2: 1.0})[-1] == 2


def test_slow_first_steps_say_nothing_of_threads(pace):
    """They load kernels, and meet fresh memory."""
    for seconds in (30.0, 9.0, 6.0, 4.0)[:FIRST]:
        pace.took(seconds)
    assert went(pace, 2 * TRIED + SOONEST, {1: 1.8, 2: 1.0})[TRIED:] == [2] * (TRIED + SOONEST)


def test_a_single_slow_step_changes_nothing(pace):
    times = {1: 1.8, 2: 1.0}
    went(pace, 100, times)
    pace.took(30.0)
    assert went(pace, 100, times).count(1) <= 2 * TRIED


def test_threads_are_given_back(pace, on_threads):
    """Also after a step that failed, from which nothing is learnt."""

    inside = []

    def step():
        with pace:
            inside.append(threads())
            raise RuntimeError("no step")

    def tried():
        for _ in range(3 * SOONEST):
            with pytest.raises(RuntimeError, match="no step"):
                step()
        return set(inside[-3 * SOONEST :]) == {threads()}

    assert on_threads(1, tried)
    assert on_threads(2, tried)


@pytest.mark.parametrize("asked", ["1", "2"])
def test_a_number_that_is_asked_for_is_kept(asked, monkeypatch, on_threads):
    monkeypatch.setenv("PADDLEWHEEL_THREADS", asked)
    pace = Pace()

    def seen():
        numbers = set()
        for _ in range(3 * SOONEST):
            with pace:
                numbers.add(threads())
        return numbers == {threads()}

    assert on_threads(int(asked), seen)


def test_a_simulation_runs_the_same_whatever_is_chosen():
    code = (
        "import hashlib\n"
        "from paddlewheel import Simulation, pace\n"
        "from paddlewheel.gallery import hollow\n"
        "pace.FIRST, pace.SOONEST, pace.BETTER = 2, 2, %s\n"
        "simulation = Simulation(hollow.scene(cells=24))\n"
        "for _ in range(8): simulation.step()\n"
        "state = simulation.state\n"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in (*state.velocity, *state.particles))).hexdigest())"
    )
    unset = {name: value for name, value in os.environ.items() if name != "PADDLEWHEEL_THREADS"}
    always, never = (
        subprocess.run([sys.executable, "-c", code % better], capture_output=True, text=True, env=unset)
        for better in ("1e9", "0")
    )
    assert always.stdout == never.stdout
    assert len(always.stdout.split()) == 1, always.stderr
