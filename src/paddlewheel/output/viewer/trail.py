"""How fast a hand moves: what it throws with."""

from collections import deque

import numpy as np

LOOK_BACK = 0.1  # s


class Trail:
    """Where a hand was in the last moments, by the simulation's time: a slow simulation is thrown in as slowly."""

    def __init__(self):
        self._places: deque[tuple[float, np.ndarray]] = deque()

    def add(self, time: float, place) -> None:
        """The hand is at a place [m] at a time [s]."""
        if self._places and self._places[-1][0] == time:
            self._places.pop()
        self._places.append((time, np.array(place, float)))
        while len(self._places) > 2 and self._places[1][0] <= time - LOOK_BACK:
            self._places.popleft()

    def velocity(self, time: float) -> np.ndarray | None:
        """The mean [m/s] over the last LOOK_BACK seconds before a time; None if the hand did not move in them."""
        recent = [(t, x) for t, x in self._places if t >= time - 2 * LOOK_BACK]
        if len(recent) < 2:
            return None
        (start, first), (end, last) = recent[0], recent[-1]
        way = last - first
        return way / (end - start) if way.any() else None
