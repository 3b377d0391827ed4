"""Standing waves of small amplitude, against linear theory; and the volume after a minute of sloshing."""

import numpy as np
import pytest

from paddlewheel.gallery import common, sloshing
from paddlewheel.run import Simulation


def measured(frames, **parameters):
    """Relative error of the frequency, and the part of the amplitude lost in a period."""
    simulation = Simulation(sloshing.scene(**parameters))
    times, modes = [0.0], [0.0]
    for frame in simulation.run(frames):
        times.append(frame.time)
        modes.append(sloshing.mode(simulation.scene.grid, frame.state.phi))
    frequency, lost = sloshing.oscillation(np.array(times), np.array(modes))
    return frequency / sloshing.FREQUENCY - 1, lost


def test_frequency_and_decay_are_found_in_a_damped_oscillation():
    times = np.linspace(0, 8, 200)
    values = 0.1 * np.exp(-0.05 * times) * np.sin(5.3 * times)
    frequency, lost = sloshing.oscillation(times, values)
    assert frequency == pytest.approx(5.3, rel=1e-3)
    assert lost == pytest.approx(1 - np.exp(-0.05 * 2 * np.pi / 5.3), rel=0.02)


def test_frequency():
    error, lost = measured(90, cells=32)
    assert abs(error) < 0.01
    assert 0 < lost < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("advection", ["flip", "apic", "semi-lagrangian", "maccormack"])
def test_frequency_on_a_fine_grid(advection):
    error, lost = measured(sloshing.FRAMES, advection=advection)
    assert abs(error) < 0.01
    assert -0.001 < lost < 0.05  # the waves hardly lose anything, and gain nothing but noise


@pytest.mark.slow
@pytest.mark.parametrize("amplitude", [0.02, 0.12])
@pytest.mark.parametrize("advection", ["flip", "apic", "semi-lagrangian", "maccormack"])
def test_a_minute_of_sloshing_keeps_the_volume(advection, amplitude):
    """Within 1 %, and without a trend: a line through it rises or falls by less than 0.5 % in the minute."""
    simulation = Simulation(sloshing.scene(amplitude=amplitude, advection=advection))
    watch = common.Watch(simulation)
    for _ in watch.run(round(60 * simulation.scene.fps)):
        pass
    change = np.array(watch.volumes) / watch.volumes[0] - 1
    minutes = np.arange(len(change)) / (60 * simulation.scene.fps)
    assert np.abs(change).max() < 0.01
    assert abs(np.polyfit(minutes, change, 1)[0]) < 0.005
