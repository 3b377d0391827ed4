"""How many threads the steps of a simulation run on, found out on the way.

Threads wait for each other a thousand times in a step. If another program has
the core of one of them, the others wait for it each time, and two threads take
twice as long as one. So now and then a few steps are taken on one thread, or
again on all, and then as many as before; the faster way is kept. What came
before a trial does not count: first steps load kernels, and what disturbed them
may be over. No result depends on it.
"""

import os
import time
from collections import deque
from statistics import median

import numba

from paddlewheel.kernel import compile_seconds, threads

TRIED = 2  # steps taken the other way to see whether it is faster, and steps after them to compare with
BETTER = 0.85  # part of their time that it must take at most: steps are not all alike
FIRST = 4  # steps before the first trial
SOONEST, LATEST = 16, 256  # steps between trials; each that was in vain doubles them
SLOWED = 1.6  # times as long as the last steps: something has changed, and the next trial comes soon


class Pace:
    """Each step is taken inside it: `with pace: …`. If PADDLEWHEEL_THREADS says how many threads, nothing changes."""

    def __init__(self):
        self._asked = "PADDLEWHEEL_THREADS" in os.environ
        self._alone = False  # whether one thread was faster
        self._last: deque[float] = deque(maxlen=5)  # seconds of the last steps
        self._trial: list[float] = []  # and of those of a trial: taken the other way, then as before
        self._left, self._pause = FIRST, SOONEST  # steps until the next trial, and from it to the one after
        self._most, self._began = 1, 0.0

    @property
    def one(self) -> bool:
        """Whether the next step runs on one thread."""
        return self._alone != (self._left <= 0 and len(self._trial) < TRIED)

    def __enter__(self) -> None:
        self._most = 1 if self._asked else threads()
        if self._most > 1 and self.one:
            numba.set_num_threads(1)
        self._began = time.perf_counter() - compile_seconds()

    def __exit__(self, failed, *_) -> None:
        if self._most > 1:
            numba.set_num_threads(self._most)
            if failed is None:
                self.took(time.perf_counter() - compile_seconds() - self._began)

    def took(self, seconds: float) -> None:
        """Learn from what a step took."""
        if self._left > 0:
            self._left -= 1
            if len(self._last) == self._last.maxlen and seconds > SLOWED * median(self._last):
                self._left = min(self._left, SOONEST)
                self._pause = SOONEST
            self._last.append(seconds)
            return
        self._trial.append(seconds)
        if len(self._trial) < 2 * TRIED:
            return
        if max(self._trial[:TRIED]) < BETTER * min(self._trial[TRIED:]):
            self._alone, self._pause = not self._alone, SOONEST
            self._last.clear()
        else:
            self._pause = min(2 * self._pause, LATEST)
        self._trial, self._left = [], self._pause
