"""A thread coils as fast as it comes: Ω ∝ Q/(H a²) if viscosity alone decides (Ribe 2004).

The heap would grow into the height, so the floor sinks from under it as fast as it grows. Gravity is a ten-thousandth
of the usual one, or it would draw the thread out.
"""

import math

import numpy as np
import pytest

from paddlewheel.gallery.coiling import NOZZLE, RADIUS, TWIST
from paddlewheel.run import Simulation
from paddlewheel.scene import Inflow, Method, Scene, Solid
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Cylinder

H = RADIUS / 2.5  # m
SINKS = 0.2  # m, at most
GAIN, MOST = (
    5.0,
    0.1,
)  # 1/s: how fast the floor follows the heap; and of the thread's speed, which folds high up at first


class Floor:
    """A motion that is told now and then how fast to go on downwards."""

    def __init__(self):
        self.since, self.sunk, self.rate = 0.0, 0.0, 0.0

    def __call__(self, t) -> Pose:
        down = self.sunk + self.rate * (t - self.since)
        return Pose((0, -down, 0), (1, 0, 0, 0), velocity=(0, -self.rate, 0), angular_velocity=(0, 0, 0))

    def go_on(self, t, rate) -> None:
        self.sunk, self.since, self.rate = -self(t).position[1], t, rate


def coil(free, speed, seconds):
    """Ω [1/s] of a thread that comes at a speed [m/s] and falls so far [m], and how far it fell in fact."""
    width, up = 2 * math.ceil(0.45 * free / H) * H, math.ceil((free + NOZZLE + SINKS + 2 * RADIUS) / H)
    top, middle = up * H, 0.5 * width
    nozzle, plate, floor = top - NOZZLE, top - NOZZLE - free, Floor()

    def velocity(points):
        turn = TWIST * speed / RADIUS
        x, z = points[:, 0] - middle, points[:, 2] - middle
        return np.stack([turn * z, np.full(len(points), -speed), -turn * x], axis=1)

    thread = Cylinder((middle, nozzle, middle), (middle, top + 1, middle), RADIUS)
    scene = Scene(
        size=(width, top, width), cells=(round(width / H), up, round(width / H)), gravity=(0, -1e-3, 0),
        method=Method(advection="apic", cfl=2.0, tolerance=1e-5),
        items=[
            Solid(Box((-1, -2, -1), (2, plate, 2)), motion=floor),
            Inflow(thread, velocity=velocity, viscosity=4e4),
        ],
    )  # fmt: skip
    rows = []
    simulation = Simulation(scene)
    for frame in simulation.run(round(seconds * scene.fps)):
        position = frame.state.particles.position
        layers = np.histogram(position[:, 1], np.arange(up + 1) * H)[0] / scene.particles_per_axis**3 * H**2
        heap = (np.flatnonzero(layers > 2.5 * math.pi * RADIUS**2).max(initial=-1) + 1) * H or plate
        floor.go_on(frame.time, min(max(0.0, GAIN * (heap - plate - RADIUS)), MOST * speed))
        assert floor.sunk < SINKS
        halfway = position[np.abs(position[:, 1] - 0.5 * (heap + nozzle)) < 0.6 * H]
        rows.append((frame.time, nozzle - heap, *(halfway[:, [0, 2]].mean(axis=0) - middle)))
    time, fall, x, z = np.array(rows[len(rows) // 3 :]).T
    angle = np.unwrap(np.arctan2(z, x))
    assert abs(np.ptp(angle)) > 1.5 * 2 * math.pi
    return abs(np.polyfit(time, angle, 1)[0]), fall.mean()


@pytest.mark.slow
def test_a_thread_coils_as_fast_as_it_comes():
    (omega, fall), (faster, same) = coil(0.16, 0.2, 7), coil(0.16, 0.4, 3.5)
    assert math.log(faster * same / (omega * fall)) / math.log(2) == pytest.approx(1, abs=0.15)
