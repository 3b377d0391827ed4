"""What runs the simulation while one looks on: orders, frames that are dropped, mistakes that pause, and throws."""

import threading
import time

import numpy as np
import pytest

import paddlewheel as pw
import paddlewheel.run
from paddlewheel.output.cache import Cache
from paddlewheel.output.viewer import changes
from paddlewheel.output.viewer.figures import table
from paddlewheel.output.viewer.playback import Playback
from paddlewheel.output.viewer.session import Session
from paddlewheel.output.viewer.trail import LOOK_BACK, Trail
from paddlewheel.types import SolveFailedError
from waiting import until

N = 16
H = 1 / N
BALL = pw.RigidBody(pw.Cylinder((0.5, 0.7, -1), (0.5, 0.7, 2), 0.15), 2000.0)


def scene(**options):
    return pw.Scene((1, 1, H), (N, N, 1), items=[pw.Liquid(pw.Box((0, 0, -1), (1, 0.3, 2))), BALL], **options)


@pytest.fixture
def serve(compiled):
    """serve(driver): let it run in a thread until the end of the test."""
    started = []

    def start(driver):
        thread = threading.Thread(target=driver.serve, daemon=True)
        thread.start()
        started.append((driver, thread))
        return driver

    yield start
    for driver, thread in started:
        driver.stop()
        thread.join(60)
        assert not thread.is_alive()


def latest(driver):
    return driver.latest.after(0, 5.0)[1]


def shows(driver, number):
    return until(lambda: latest(driver).number == number)


def test_step_pause_play_and_reset(serve):
    session = serve(Session(scene()))
    assert latest(session).number == 0
    session.order(session.step)
    session.order(session.step)
    assert shows(session, 2)
    assert latest(session).time == 2 / 24
    session.order(session.play)
    assert until(lambda: latest(session).number > 5)
    assert latest(session).playing
    session.order(session.pause)
    assert until(lambda: not latest(session).playing)
    number = latest(session).number
    time.sleep(0.2)
    assert latest(session).number == number
    session.order(session.reset)
    assert shows(session, 0)
    assert latest(session).time == 0


def test_frames_are_those_of_a_run(serve):
    """To the last bit: the viewer only looks on."""
    session = serve(Session(scene()))
    for _ in range(3):
        session.order(session.step)
    assert shows(session, 3)
    *_, frame = pw.Simulation(scene()).run(3)
    assert np.array_equal(latest(session).particles, frame.state.particles.position)
    assert np.array_equal(latest(session).phi, frame.state.phi)


def test_who_is_slow_misses_frames_and_the_solver_does_not_wait(serve):
    session = Session(scene())
    session.playing = session.hurry = True
    serve(session)
    count, first = session.latest.after(0, 5.0)
    assert until(lambda: latest(session).number >= first.number + 20)
    later, snapshot = session.latest.after(count, 5.0)
    assert later >= count + 20  # one snapshot for all of them, and it is the newest
    assert snapshot.number >= first.number + 20


def test_a_snapshot_stays_as_it_is(serve):
    session = serve(Session(scene()))
    session.order(session.step)
    assert shows(session, 1)
    kept = latest(session)
    before = [kept.phi.copy(), kept.particles.copy(), kept.bodies[0].position.copy()]
    for _ in range(3):
        session.order(session.step)
    assert shows(session, 4)
    for was, now in zip(before, (kept.phi, kept.particles, kept.bodies[0].position), strict=True):
        assert np.array_equal(was, now)


def test_it_plays_no_faster_than_time(serve):
    session = Session(scene(fps=10))
    session.order(session.step)  # kernels are compiled
    serve(session)
    assert shows(session, 1)
    session.order(session.play)
    assert until(lambda: latest(session).number >= 2)
    start, number = time.perf_counter(), latest(session).number
    assert until(lambda: latest(session).number >= number + 8)
    assert time.perf_counter() - start > 0.6


def test_a_mistake_pauses_and_is_told(serve):
    session = serve(Session(scene()))
    session.order(session.play)
    session.want("advection", lambda now: changes.with_method(now, advection="apic"))
    assert until(lambda: "other gradients" in latest(session).note)
    assert not latest(session).playing
    assert "⚠ change: the scene has other gradients" in table(latest(session))
    session.order(session.play)
    assert until(lambda: latest(session).playing and not latest(session).note)


def test_a_step_that_fails_pauses_and_can_be_reset(serve, monkeypatch):
    session = serve(Session(scene()))

    def fails(frames):
        raise SolveFailedError("the pressure solve did not converge")

    monkeypatch.setattr(session.simulation, "run", fails)
    session.order(session.play)
    assert until(lambda: "did not converge" in latest(session).note)
    session.order(session.reset)
    session.order(session.step)
    assert shows(session, 1)
    assert latest(session).note == ""


def test_what_was_drawn_stays_if_a_step_fails_that_used_up_its_state(serve, monkeypatch):
    """Whatever is ordered then, until a reset."""
    session = serve(Session(scene()))
    session.order(session.step)
    assert shows(session, 1)
    before = latest(session)

    def fails(report, state):
        raise SolveFailedError("the pressure solve did not converge")

    with monkeypatch.context() as broken:
        broken.setattr(paddlewheel.run, "_check_report", fails)
        session.order(session.play)
        assert until(lambda: "did not converge" in latest(session).note)
    assert not latest(session).playing
    session.order(session.step)
    assert until(lambda: "begin anew" in latest(session).note)
    session.want("gravity", lambda now: changes.with_gravity(now, 0.0, now))
    assert until(lambda: latest(session).scene.gravity == (0.0, 0.0, 0.0))
    after = latest(session)
    assert after.number == 1
    assert np.array_equal(after.phi, before.phi)
    assert np.array_equal(after.particles, before.particles)
    session.order(session.reset)
    assert shows(session, 0)
    session.order(session.step)
    assert shows(session, 1)
    assert latest(session).note == ""


def test_a_change_is_felt_and_outlives_a_reset(serve):
    session = serve(Session(scene()))
    session.want("gravity", lambda now: changes.with_gravity(now, 0.0, now))
    for _ in range(3):
        session.order(session.step)
    assert shows(session, 3)
    np.testing.assert_allclose(latest(session).bodies[0].position[:2], (0.5, 0.7), atol=1e-9)
    session.order(session.reset)
    assert shows(session, 0)
    assert latest(session).scene.gravity == (0.0, 0.0, 0.0)


def test_of_many_wishes_the_last_counts_and_all_are_one_change(serve, monkeypatch):
    session, changed = Session(scene()), []
    monkeypatch.setattr(session.simulation, "change", changed.append)
    for n in range(50):
        session.want("gravity", lambda now, n=n: changes.with_gravity(now, n, now))
        session.want("density", lambda now, n=n: changes.with_density(now, 0, 100.0 + n))
    serve(session)
    assert until(lambda: changed and not session._orders)
    (new,) = changed
    assert new.gravity == (0.0, -49.0, 0.0)
    assert new.items[1].density == 149.0


def test_a_body_is_led_and_thrown(serve):
    """Led at 0.6 m/s to the right and let go: it flies with the hand's velocity."""
    session = serve(Session(scene()))
    session.order(session.grab, 0, (0.0, 0.0, 0.0))
    for n in range(1, 7):
        session.order(session.drag, 0, (0.5 + 0.6 * n / 24, 0.7, 0.5 * H))
        session.order(session.step)
    session.order(session.release, 0)
    assert shows(session, 6)
    assert until(lambda: session.held is None)
    np.testing.assert_allclose(session.simulation.state.bodies[0].velocity, (0.6, 0, 0), atol=1e-6)
    before = latest(session).bodies[0].position
    session.order(session.step)
    assert shows(session, 7)
    assert latest(session).bodies[0].position[0] == pytest.approx(before[0] + 0.6 / 24, abs=1e-3)


def test_who_holds_still_lets_fall(serve):
    session = serve(Session(scene()))
    session.order(session.grab, 0, (0.0, 0.0, 0.0))
    for _ in range(8):
        session.order(session.step)
    session.order(session.release, 0)
    session.order(session.release, 0)  # a second time does nothing
    session.order(session.drag, 0, (0, 0, 0))
    session.order(session.step)
    assert shows(session, 9)
    assert latest(session).note == ""
    assert abs(latest(session).bodies[0].velocity[0]) < 1e-6


def test_of_two_hands_the_last_holds(serve):
    """The first one's mouse still moves in its tab, and moves nothing."""
    other = pw.RigidBody(pw.Cylinder((0.15, 0.8, -1), (0.15, 0.8, 2), 0.1), 500.0)
    both = pw.Scene((1, 1, H), (N, N, 1), items=[*scene().items, other])
    session = serve(Session(both))
    session.order(session.grab, 0, (0.0, 0.0, 0.0))
    session.order(session.grab, 1, (0.0, 0.0, 0.0))
    session.order(session.drag, 0, (0.9, 0.9, 0))
    session.order(session.release, 0)
    for _ in range(6):
        session.order(session.step)
    assert shows(session, 6)
    assert session.held == 1
    np.testing.assert_allclose(latest(session).bodies[1].position[:2], (0.15, 0.8), atol=0.1 * H)
    assert latest(session).bodies[0].position[0] == pytest.approx(0.5, abs=0.1 * H)


def test_a_reset_lets_go(serve):
    session = serve(Session(scene()))
    session.order(session.grab, 0, (0.0, 0.0, 0.0))
    session.order(session.drag, 0, (0.9, 0.9, 0))
    session.order(session.reset)
    session.order(session.step)
    assert shows(session, 1)
    assert session.held is None
    assert latest(session).bodies[0].position[0] == pytest.approx(0.5, abs=1e-9)


def test_a_trail_looks_back_a_moment():
    trail = Trail()
    assert trail.velocity(0.0) is None
    for n in range(11):
        trail.add(0.05 * n, (0.0 if n < 8 else 0.05 * (n - 8), 0, 0))
    np.testing.assert_allclose(trail.velocity(0.5), (1.0, 0, 0))
    assert trail.velocity(0.5 + 3 * LOOK_BACK) is None  # it was long ago
    trail.add(0.5, (0.2, 0, 0))  # the same moment again: the last one counts
    np.testing.assert_allclose(trail.velocity(0.5), (2.0, 0, 0))


@pytest.fixture
def run(tmp_path):
    cache = Cache(tmp_path, "ball")
    for frame in pw.Simulation(scene()).run(4):
        cache.write(frame.number, frame.state, frame.report)
    return cache


def test_a_run_is_played_in_a_circle(serve, run):
    playback = serve(Playback(run, scene()))
    seen = [latest(playback).number]
    for _ in range(5):
        count, _ = playback.latest.after(0, 0)
        playback.order(playback.step)
        seen.append(playback.latest.after(count, 10.0)[1].number)
    assert seen == [1, 2, 3, 4, 1, 2]
    playback.order(playback.seek, 99)
    assert shows(playback, 4)
    assert np.array_equal(latest(playback).phi, run.load(4).phi)
    assert latest(playback).report.volume == run.report(4).volume
    playback.order(playback.reset)
    assert shows(playback, 1)


def test_a_damaged_frame_is_named_and_the_rest_still_plays(serve, run):
    run.path(3, "npz").write_bytes(b"not a frame")
    playback = serve(Playback(run, scene()))
    playback.order(playback.seek, 2)
    assert until(lambda: "ball.0003.npz: damaged" in latest(playback).note)
    playback.order(playback.seek, 3)
    assert shows(playback, 4)
    assert latest(playback).note == ""


def test_a_damaged_report_is_named_and_the_rest_still_plays(serve, run):
    run.path(3, "json").write_text('{"dt": 0.1}')
    playback = serve(Playback(run, scene()))
    playback.order(playback.seek, 2)
    assert until(lambda: "ball.0003.json: damaged: no substeps" in latest(playback).note)
    playback.order(playback.seek, 3)
    assert shows(playback, 4)


def test_frames_that_are_missing_are_passed_over(serve, run):
    """The timeline has numbers of frames: at one that is missing it shows the one before."""
    run.path(2, "npz").unlink()
    run.path(3, "npz").unlink()
    playback = serve(Playback(run, scene()))
    for number, shown in ((4, 4), (3, 1), (99, 4), (2, 1)):
        playback.order(playback.show, number)
        assert shows(playback, shown)
    playback.order(playback.step)
    assert shows(playback, 4)


def test_an_empty_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no frame to show"):
        Playback(Cache(tmp_path, "none"), scene())


def test_the_figures_of_a_frame(serve):
    session = serve(Session(scene()))
    session.order(session.step)
    assert shows(session, 1)
    text = table(latest(session))
    assert "**1**, 0.042 s" in text
    assert f"{latest(session).report.volume:.5g} m³" in text
    for part in ("pressure | ", "iterations", "*other stages*", "*all*", "paused"):
        assert part in text
