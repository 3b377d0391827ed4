"""A simulation in time: steps, frames, and what to do when a step fails."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paddlewheel.classic import ClassicStepper
from paddlewheel.friction import Friction
from paddlewheel.items import Inflow, Liquid, RigidBody, Smoke
from paddlewheel.pace import Pace
from paddlewheel.scene import Scene
from paddlewheel.smoke import SmokeStepper
from paddlewheel.solids import argument
from paddlewheel.step import Stepper
from paddlewheel.types import Boundary, SolveFailedError, State, StepReport

MOST_STEPS = 10_000  # in one call of advance; more means that velocities have run away
_ROUNDING = 1e-9  # frames; how far a time may be from the end of a frame and still be it


class Frame(NamedTuple):
    """The state at time number/fps, and the sum of what the steps since the last frame reported.

    state is the simulation's own: copy it to keep it beyond the next frame.
    """

    number: int
    time: float
    state: State
    report: StepReport


class Simulation:
    """A scene in motion, from its start or from a state that was saved.

    progress    wraps the numbers of the frames that `run` goes through, to show how far it is
    ids         whether particles have an id, `state.particles.id`, that each of them keeps; those of a state go on
    """

    def __init__(
        self,
        scene: Scene,
        state: State | None = None,
        progress: Callable[[Iterable[int]], Iterable[int]] = iter,
        ids: bool = False,
    ):
        _check_items(scene)
        if state is not None and not isinstance(state, State):
            raise ValueError(f"state={state!r}: expected a State, or None; the method is a part of the scene")
        if state is not None and state.phi.shape != scene.grid.shape:
            raise ValueError(f"the state has {state.phi.shape} cells, the scene {scene.grid.shape}: expected the same")
        self.scene = scene
        self._stepper = _stepper(scene)
        self._progress, self._pace = progress, Pace()
        self.state = self._stepper.start() if state is None else state
        if ids and self.state.numbered is None:
            self.state.number(0)

    @property
    def time(self) -> float:
        """[s] since the start."""
        return self.state.time

    @property
    def failed(self) -> bool:
        """Whether a step has failed that used up the state: there is none to go on from."""
        return self.state.velocity is None

    @property
    def boundary(self) -> Boundary:
        """The solids now, measured into arrays."""
        return self._stepper.boundary(self.time, self.state.bodies)

    def step(self, dt: float | None = None) -> StepReport:
        """One step of exactly dt [s]; if not given, of what the CFL number allows, at most a frame.

        If it fails, it may have used up the state, and the simulation has `failed`.
        """
        self._refuse_failed()
        if dt is None:
            dt = min(self._stepper.limit(self.state), 1 / self.scene.fps)
        dt = argument.positive("step", "dt", dt)
        numbered = self.state.numbered
        with self._pace:
            state, report = self._stepper.step(self.state, dt)
        _check_report(report, state)
        if numbered is not None:
            state.number(numbered)
        self.state = state
        return report

    def advance(self, seconds: float) -> StepReport:
        """As many steps as `seconds` take; the last report, with solves, seconds, flows and worst divergence of all."""
        return self._advance_to(self.time + argument.positive("advance", "seconds", seconds))

    def run(self, frames: int) -> Iterator[Frame]:
        """The next so many frames, one each 1/fps.

        Frame n is the state at time n/fps, from 1: the start itself is none.
        Its time is computed from n, not summed up, so that a simulation
        continued from a saved frame repeats the unbroken one to the last bit.
        """
        if not isinstance(frames, int | np.integer) or isinstance(frames, bool) or frames < 0:
            raise ValueError(f"run: frames={frames!r}, expected a whole number from 0 on")
        return self._frames(frames)

    def change(self, scene: Scene) -> None:
        """Go on from the state there is in another scene: of other gravity, density, viscosity, method or solids.

        What is held stays held. The cells, the fluid, what carries it, and the shapes of the bodies must be the same.
        """
        _check_items(scene)
        _check_change(self.scene, scene)
        stepper = _stepper(scene)
        stepper.hands.holding_on(self._stepper.hands)
        self.scene, self._stepper = scene, stepper

    def grab(self, body: int | RigidBody, point: Sequence[float]) -> None:
        """Take hold of a body at a point of it [m], and keep it there until `drag` or `release`.

        body is its index in `state.bodies`, or the item of the scene.
        """
        self._stepper.hands.grab(self.state.bodies, body, point)

    def drag(self, target: Sequence[float]) -> None:
        """Pull the point that is held to a place [m], in the steps that follow."""
        self._stepper.hands.drag(target)

    def release(self, velocity: Sequence[float] | None = None) -> None:
        """Let go: the body moves on as it does, or is thrown with a velocity [m/s]; its spin stays."""
        if velocity is not None:
            velocity = argument.vector("release", "velocity", velocity)
        body = self._stepper.hands.release()
        if velocity is not None:
            self.state.bodies = self._stepper.bodies.thrown(self.state.bodies, body, velocity)

    def _frames(self, frames) -> Iterator[Frame]:
        fps = self.scene.fps
        done = math.floor(self.time * fps + _ROUNDING)
        for number in self._progress(range(done + 1, done + 1 + frames)):
            report = self._advance_to(number / fps)
            _check_state(self.state)
            yield Frame(number, self.time, self.state, report)

    def _refuse_failed(self) -> None:
        if self.failed:
            where = f"step {self.state.steps + 1} at {self.time:.6g} s"
            raise SolveFailedError(f"{where} failed before and used up the state; begin anew")

    def _advance_to(self, end: float) -> StepReport:
        """Steps up to a time [s], which the last one hits exactly; the last two share what is left of it."""
        self._refuse_failed()
        reports = []
        while self.time < end:
            left, limit = end - self.time, self._stepper.limit(self.state)
            if not limit * MOST_STEPS > left:  # also if it is NaN
                raise SolveFailedError(
                    f"step {self.state.steps + 1} at {self.time:.6g} s: the CFL number allows {limit:.3g} s, and "
                    f"{left:.3g} s are left: the velocities have run away"
                )
            last = left <= limit
            reports.append(self.step(left if last else min(limit, 0.5 * left)))
            if last:
                self.state.time = end
        return StepReport.joined(reports)


def check(scene: Scene) -> None:
    """Refuse a scene that a Simulation would refuse, without the time and the memory that one takes."""
    _check_items(scene)
    _stepper(scene).check()


def _stepper(scene: Scene) -> Stepper | SmokeStepper | ClassicStepper:
    if scene.method.is_explicit:
        return ClassicStepper(scene)
    return SmokeStepper(scene) if scene.has_smoke else Stepper(scene)


def _check_items(scene: Scene) -> None:
    if not any(isinstance(item, Liquid | Smoke | Inflow) for item in scene.items):
        raise ValueError("the scene has no Liquid, no Smoke and no Inflow: there is nothing to simulate")


def _check_change(old: Scene, new: Scene) -> None:
    """Refuse a scene that cannot go on from the states of another."""
    for what, of in _STATES.items():
        if of(old) != of(new):
            raise ValueError(f"change: the scene has other {what}: {of(new)!r}, expected {of(old)!r}")
    shapes, others = ([item.shape for item in scene.items if isinstance(item, RigidBody)] for scene in (old, new))
    if len(shapes) != len(others) or any(a is not b for a, b in zip(shapes, others, strict=True)):
        raise ValueError(f"change: the scene has other bodies, of {others!r}, expected those of {shapes!r}")


# What decides which arrays a state has, and how large they are.
_STATES = {
    "cells": lambda scene: scene.grid,
    "fluid": lambda scene: "smoke" if scene.has_smoke else "liquid",
    "carriers": lambda scene: (scene.method.surface, scene.method.is_explicit),
    "gradients on particles": lambda scene: scene.method.advection == "apic",
    "viscosity on particles": lambda scene: Friction(scene).varies,
    "particles in a cell": lambda scene: scene.particles_per_cell,
}


def _check_report(report: StepReport, state: State) -> None:
    where = f"step {state.steps} at {state.time:.6g} s"
    for solve in report.solves:
        if not solve.converged:
            raise SolveFailedError(
                f"{where}: the {solve.name} solve did not converge: residual {solve.residual:.2g} after "
                f"{solve.iterations} iterations of {solve.unknowns} unknowns"
            )
    for name in ("divergence", "volume", "kinetic_energy", "smoke"):
        if not math.isfinite(getattr(report, name)):
            raise SolveFailedError(f"{where}: {name} is {getattr(report, name)}")


def _check_state(state: State) -> None:
    arrays = {f"velocity.{axis}": u for axis, u in state.velocity._asdict().items()}
    arrays |= {"pressure": state.pressure, "phi": state.phi}
    arrays |= {f"particles.{name}": part for name, part in state.particles._asdict().items()}
    arrays |= {name: getattr(state, name) for name in ("density", "temperature") if getattr(state, name) is not None}
    arrays |= {f"tracked.{name}": part for name, part in state.tracked.items()}
    for n, body in enumerate(state.bodies):
        arrays |= {f"bodies[{n}].{name}": part for name, part in body._asdict().items()}
    for name, array in arrays.items():
        if not _is_finite(array):
            wrong = np.argwhere(~np.isfinite(array))[0].tolist()
            raise SolveFailedError(f"step {state.steps} at {state.time:.6g} s: {name}{wrong} is not finite")


def _is_finite(array: np.ndarray) -> bool:
    """Whether all values are; if their sum is, which takes a fifth of the time to find, then so are they."""
    if array.dtype.kind != "f":
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(array.sum()) or np.isfinite(array).all())
