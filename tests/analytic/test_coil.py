"""A thread coils as fast as it comes over the height it falls: Ω = 4 Q/(π a² H) if viscosity alone decides (Ribe 2004).

There is no gravity, and the thread comes without a twist: one that does not become weaker as the coil does, such as
that of the gallery's scene, would take part in how fast it turns. It starts as a piece of a helix instead.
The heap would grow into the height, so the floor sinks from under it as fast as it grows; and it would yield now and
then, and the thread coil by fits and starts, so what has come to lie on it sets: it becomes many times as viscous.
"""

import functools
import itertools
import math
import operator

import numpy as np
import pytest
from slender_thread import slender_coil

from paddlewheel.items import Inflow, Liquid, Solid
from paddlewheel.method import Method
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Capsule, Cylinder

RADIUS = 0.012  # m, of the thread
H = RADIUS / 2  # m
NOZZLE = 4 * H  # how far it reaches into the box
STEPS = 24  # while the thread comes as far as it falls
GAIN, MOST = 0.5, 0.2  # how fast the floor follows the heap, of U/H, and at most, of U
LAYER = 6 * RADIUS  # m, at most, that the heap grows by in a turn
SET, DEPTH = 30.0, RADIUS  # times the viscosity of what lies deeper [m] than where the thread has half of its speed
HALF_SPEED = 0.06  # of the height it falls, how high a thread has half of its speed: what is below heaps up


class Floor:
    """A motion that is told now and then how fast to go on downwards."""

    def __init__(self):
        self.since, self.sunk, self.rate = 0.0, 0.0, 0.0

    def __call__(self, t) -> Pose:
        down = self.sunk + self.rate * (t - self.since)
        return Pose((0, -down, 0), (1, 0, 0, 0), velocity=(0, -self.rate, 0), angular_velocity=(0, 0, 0))

    def go_on(self, t, rate) -> None:
        self.sunk, self.since, self.rate = -self(t).position[1], t, rate


def helix(height):
    """A thread from the nozzle to the floor at y = 0 that begins to coil about the y axis."""
    s = np.linspace(0, 1, 40)
    r, angle, y = 0.25 * height * s**2, 1.5 * s**2, RADIUS + height * (1 - np.sin(0.5 * math.pi * s))
    points = np.stack([r * np.cos(angle), y, r * np.sin(angle)], axis=1)
    return functools.reduce(operator.or_, (Capsule(*ends, RADIUS) for ends in itertools.pairwise(points)))


def coil(radii, speed, turns, viscosity=4e4):
    """Ω [1/s] of a thread that comes at a speed [m/s] and falls so many radii; how far it fell in fact [m]; its turns.

    The turns are those it is measured in, after a first one.
    """
    height = radii * RADIUS
    across, sinks = 2 * math.ceil((0.36 * height + 2 * RADIUS) / H), LAYER * turns
    up = math.ceil((height + RADIUS + NOZZLE + sinks) / H) + 2
    top, middle, each = up * H, 0.5 * across * H, height / speed / STEPS
    nozzle = top - NOZZLE
    plate, floor = nozzle - height - RADIUS, Floor()
    scene = Scene(
        size=(across * H, top, across * H), cells=(across, up, across), gravity=(0, 0, 0), fps=1 / each,
        method=Method(advection="apic", cfl=5.0, tolerance=1e-4),
        items=[
            Solid(Box((-1, -2, -1), (2, plate, 2)), motion=floor),
            # not quite that of the inflow, so that particles carry what they have
            Liquid(helix(height).moved((middle, plate, middle)), viscosity=1.001 * viscosity),
            Inflow(
                Cylinder((middle, nozzle, middle), (middle, top + 1, middle), RADIUS),
                velocity=(0, -speed, 0), viscosity=viscosity,
            ),
        ],
    )  # fmt: skip
    rows = []
    for frame in Simulation(scene).run(round(turns * 0.5 * math.pi * STEPS)):
        position, velocity = (q.astype(float) for q in frame.state.particles[:2])
        slowness = np.linalg.norm(velocity - floor(frame.time).velocity, axis=1) / speed
        slowing = (np.abs(slowness - 0.5) < 0.1) & (position[:, 1] < nozzle - 3 * H)
        fall = (nozzle - position[slowing, 1].mean()) / (1 - HALF_SPEED) if slowing.any() else height
        frame.state.particles.carried[position[:, 1] < nozzle - fall - DEPTH, 0] = SET * viscosity
        grows = 4 / math.pi * RADIUS / height  # by a thread's thickness in a turn, of U
        floor.go_on(frame.time, speed * min(max(0.0, grows + GAIN * (1 - fall / height)), MOST))
        assert floor.sunk < sinks
        there = position[np.abs(position[:, 1] - (nozzle - 0.6 * height)) < 0.6 * H]
        rows.append((frame.time, fall, *(there[:, [0, 2]].mean(axis=0) - middle)))
    time, fall, x, z = np.array(rows[round(0.5 * math.pi * STEPS) :]).T
    angle = np.unwrap(np.arctan2(z, x))
    return abs(np.polyfit(time, angle, 1)[0]), fall.mean(), abs(angle[-1] - angle[0]) / (2 * math.pi)


def test_a_slender_thread_coils_four_times_while_it_comes_two_pi_times_as_far_as_it_falls():
    """Ω H/U = 4.0 and R = H/4; a twist takes part in it with 0.4 of its own rate."""
    still, left, right = (slender_coil(spin) for spin in (0, -1, 1))
    assert still.frequency == pytest.approx(4.0, abs=1e-3)
    assert still.radius * still.frequency == pytest.approx(1, rel=1e-4)
    assert still.half_speed == pytest.approx(HALF_SPEED, abs=1e-3)
    assert right.frequency - left.frequency == pytest.approx(2 * 0.39, abs=0.02)


@pytest.mark.slow
def test_a_thread_coils_as_fast_as_it_comes_over_the_height_it_falls():
    """Ω H/U is a tenth less than that of theory, which knows of no thickness, and the same at all heights."""
    omega, fall, turns = np.array([coil(14, 0.2, 7), coil(20, 0.2, 7), coil(40, 0.2, 6)]).T
    assert turns.min() > 4
    assert np.polyfit(np.log(fall), np.log(omega), 1)[0] == pytest.approx(-1, abs=0.15)
    assert (omega * fall).mean() / 0.2 == pytest.approx(slender_coil().frequency, rel=0.15)


@pytest.mark.slow
def test_a_thread_that_comes_twice_as_fast_coils_twice_as_fast_whatever_its_viscosity():
    (omega, fall, _), (faster, same, _) = coil(14, 0.2, 5), coil(14, 0.4, 5, viscosity=1e4)
    assert math.log(faster * same / (omega * fall)) / math.log(2) == pytest.approx(1, abs=0.1)
