"""A simulation that runs until it is told otherwise: orders come from the page, snapshots go there.

The thread that calls `Session.serve` alone touches the simulation. Orders wait in a queue until the frame at work is
done. Of the snapshots only the latest is kept: who is slow to draw misses frames, and the solver never waits.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from paddlewheel.output.viewer.trail import Trail
from paddlewheel.run import Simulation, SolveFailedError
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.types import Body, State, StepReport

OVER = 30  # frames, over which the rate is measured
IDLE = 0.25  # s at most between looks at the queue


class Snapshot(NamedTuple):
    """What can be shown of a state: arrays that nobody changes any more, or None if there is no such thing.

    number  of the frame, 0 at the start
    rate    frames in a second, by the clock, of late; 0 if none
    note    what went wrong, or ""
    """

    scene: Scene
    number: int
    time: float
    phi: np.ndarray
    particles: np.ndarray
    density: np.ndarray | None
    temperature: np.ndarray | None
    markers: np.ndarray | None
    bodies: tuple[Body, ...]
    report: StepReport | None
    rate: float
    playing: bool
    note: str = ""

    @classmethod
    def of(cls, scene: Scene, number: int, state: State, *rest) -> "Snapshot":
        """A state, whose particles and markers the next step would move in place; and the fields from report on."""
        markers = None if state.markers is None else state.markers.copy()
        return cls(
            scene, number, state.time, state.phi, state.particles.position.copy(), state.density, state.temperature,
            markers, state.bodies, *rest,
        )  # fmt: skip


class Latest:
    """A place for one snapshot: a new one takes the place of the last."""

    def __init__(self):
        self._changed = threading.Condition()
        self._snapshot: Snapshot | None = None
        self._count = 0

    def put(self, snapshot: Snapshot) -> None:
        with self._changed:
            self._snapshot = snapshot
            self._count += 1
            self._changed.notify_all()

    def after(self, count: int, timeout: float) -> tuple[int, Snapshot | None]:
        """The latest snapshot and how many there were, once there are more than `count` or the time [s] is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._count > count, timeout)
            return self._count, self._snapshot


class Rate:
    """How many frames there are in a second."""

    def __init__(self):
        self._times: deque[float] = deque(maxlen=OVER)

    def tick(self) -> None:
        self._times.append(time.perf_counter())

    def clear(self) -> None:
        self._times.clear()

    def __call__(self) -> float:
        return (len(self._times) - 1) / (self._times[-1] - self._times[0]) if len(self._times) > 1 else 0.0


class Driver:
    """Frames one after the other, as long as it plays, and orders in between. See `Session` and `Playback`."""

    def __init__(self, fps: float):
        self.latest = Latest()
        self.playing, self.hurry = False, False
        self.fps = fps
        self._orders: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._open = True
        self._rate = Rate()
        self._note = ""

    def order(self, what: Callable[..., None], *arguments) -> None:
        """Have something done between two frames. Returns at once, in whatever thread."""
        self._orders.append(lambda: what(*arguments))
        self._wake.set()

    def stop(self) -> None:
        """End `serve` after the frame at work."""
        self._open = False
        self._wake.set()

    def serve(self) -> None:
        """Go on until `stop`. A mistake of the user's, or a step that fails, pauses, and the page says why."""
        self.latest.put(self.snapshot())
        due = time.perf_counter()
        while self._open:
            self._wake.clear()
            changed = self._obey()
            now = time.perf_counter()
            if self.playing and now >= due:
                due = now if self.hurry else max(due + 1 / self.fps, now - 1 / self.fps)
                self._guarded(self._forward)
            elif changed:
                self.latest.put(self.snapshot())
            else:
                self._wake.wait(min(IDLE, due - now) if self.playing else IDLE)

    def play(self) -> None:
        self._note, self.playing = "", True

    def pause(self) -> None:
        self.playing = False
        self._rate.clear()

    def step(self) -> None:
        """One frame, and stay there."""
        self.pause()
        self.advance()

    def advance(self) -> None:
        """Make the next frame."""
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        raise NotImplementedError

    def _forward(self) -> None:
        self.advance()
        self._rate.tick()
        self.latest.put(self.snapshot())

    def _obey(self) -> bool:
        done = False
        while self._orders:
            self._guarded(self._orders.popleft())
            done = True
        return done

    def _guarded(self, action) -> None:
        try:
            action()
        except (ValueError, OSError, SolveFailedError) as error:
            self.pause()
            self._note = " ".join(str(error).split())
            self.latest.put(self.snapshot())


class Session(Driver):
    """A scene that is simulated as one looks on."""

    def __init__(self, scene: Scene, guarded: Callable = lambda action: action()):
        super().__init__(scene.fps)
        self.first, self._call = scene, guarded
        self.simulation = guarded(lambda: Simulation(scene))
        self._number, self._report, self._trail = 0, None, Trail()
        self._target: Sequence[float] | None = None
        self.held: int | None = None
        self._wishes: dict[str, Callable[[Scene], Scene]] = {}
        self._picture = self.snapshot()

    def advance(self) -> None:
        if self._target is not None:
            self.simulation.drag(self._target)
            self._trail.add(self.simulation.time, self._target)
        (frame,) = self._call(lambda: list(self.simulation.run(1)))
        self._number, self._report = frame.number, frame.report

    def reset(self) -> None:
        """The start again, in the scene as it is now."""
        self._let_go()
        self._note = ""
        self.simulation = self._call(lambda: Simulation(self.simulation.scene))
        self._number, self._report = 0, None

    def want(self, what: str, changed: Callable[[Scene], Scene]) -> None:
        """Order another scene, made of the one there is then. Of several wishes for the same thing the last counts:
        a slider has them faster than a simulation can change."""
        self._wishes[what] = changed
        self.order(self._change)

    def _change(self) -> None:
        wishes, self._wishes = self._wishes, {}
        scene = self.simulation.scene
        for changed in wishes.values():
            scene = changed(scene)
        if wishes:
            self.simulation.change(scene)
            self._note = ""

    def grab(self, body: int, arm) -> None:
        """Take hold of a body at a point of it, from its centre of mass as drawn [m]: it may have moved on."""
        self._let_go()
        now = self.simulation.state.bodies[body]
        point = Pose(now.position, now.orientation).to_world(np.array([arm], float))[0]
        self.simulation.grab(body, point)
        self.held, self._target, self._trail = body, point, Trail()

    def drag(self, body: int, target) -> None:
        """Lead a body to a place [m], if it is the one that is held: another tab may have taken another since."""
        if self.held == body:
            self._target = target

    def release(self, body: int) -> None:
        """Let go of a body, if it is held: it flies on with the hand's velocity."""
        if self.held == body:
            velocity = self._trail.velocity(self.simulation.time)
            self._let_go(None if velocity is None else tuple(velocity))

    def snapshot(self) -> Snapshot:
        """What there is now; of a simulation that has failed, which has no state, what there was last."""
        scene, state = self.simulation.scene, self.simulation.state
        if self.simulation.failed:
            return self._picture._replace(scene=scene, rate=self._rate(), playing=self.playing, note=self._note)
        self._picture = Snapshot.of(scene, self._number, state, self._report, self._rate(), self.playing, self._note)
        return self._picture

    def _let_go(self, velocity=None) -> None:
        if self.held is not None:
            self.simulation.release(velocity)
            self.held = self._target = None
