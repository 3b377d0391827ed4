"""A stand-in for the time step: particles that fall and jitter. Fast, and as fussy about its state as the real one."""

import os
import time

import numpy as np

from paddlewheel.items import Liquid
from paddlewheel.measure import liquid_distance, measure
from paddlewheel.types import Particles, SolveInfo, State, StepReport

PARTICLES = 50


class Falling:
    """Each step depends on the time, on the number of steps and on all that the state holds."""

    def __init__(self, scene):
        self.scene = scene

    def check(self):
        pass

    def start(self):
        grid = self.scene.grid
        rng = np.random.default_rng(0)
        points = np.array(grid.size) * rng.random((PARTICLES, 3))
        velocity, shift, pressure = grid.zeros_faces(), grid.zeros_faces(), np.zeros(grid.shape)
        has_liquid = any(isinstance(item, Liquid) for item in self.scene.items)
        phi = liquid_distance(grid, self.scene.items) if has_liquid else np.ones(grid.shape, np.float32)
        return State(0.0, 0, velocity, pressure, phi, Particles.at(points, np.zeros(3)), shift)

    def limit(self, state):
        return 0.011 + 0.004 * np.sin(state.steps)  # three to six to a frame

    def step(self, state, dt):
        time.sleep(float(os.environ.get("FALLING_SECONDS", 0)))
        rng = np.random.default_rng(state.steps)
        position, velocity = state.particles[:2]
        velocity = velocity + np.float32(dt) * np.array(self.scene.gravity, np.float32)
        velocity = velocity + rng.normal(0, 0.01, velocity.shape).astype(np.float32)
        position = np.clip(position + np.float32(dt) * velocity, 0, self.scene.grid.size).astype(np.float32)
        state.velocity.y[:] += np.float32(dt * state.time)
        state.shift.x[:] += np.float32(dt)
        pressure = state.pressure + dt * velocity.sum()
        after = State(
            state.time + dt, state.steps + 1, state.velocity, pressure, state.phi,
            state.particles._replace(position=position, velocity=velocity), state.shift,
        )  # fmt: skip
        energy = 0.5 * float(np.square(velocity, dtype=float).sum())
        solve = SolveInfo("pressure", 100, 5 + state.steps % 3, 1e-7, 0.001, True)
        return after, StepReport(
            dt,
            1,
            1e-6,
            0.5,
            energy,
            0.0,
            0.0,
            [f"warned at {state.steps // 6}"],
            [solve],
            {"move": 1e-4, "solve": 2e-4},
        )

    def boundary(self, time, bodies=()):
        scene = self.scene
        return measure(scene.grid, scene.items, time, scene.method.weights, scene.open_sides)


def equal(a: State, b: State) -> bool:
    """Whether two states are the same to the last bit."""
    flat = [
        [
            s.time, s.steps, s.numbered, *s.velocity, s.pressure, s.phi, *s.particles, *s.shift,
            *(part for body in s.bodies for part in body), *(s.contacts[name] for name in sorted(s.contacts)),
        ]
        for s in (a, b)
    ]  # fmt: skip
    return a.contacts.keys() == b.contacts.keys() and all(np.array_equal(x, y) for x, y in zip(*flat, strict=True))


if __name__ == "__main__":  # the command line, with this stand-in
    import sys

    import paddlewheel.run
    from paddlewheel.cli import main

    paddlewheel.run.Stepper = Falling
    sys.exit(main())
