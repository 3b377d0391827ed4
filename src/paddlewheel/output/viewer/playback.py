"""The frames of a run, one after the other."""

import time
from bisect import bisect_right

from paddlewheel.output.cache import Cache
from paddlewheel.output.viewer.session import Driver, Snapshot
from paddlewheel.scene import Scene

AGAIN = 1.0  # s between looks for frames of a run that goes on


class Playback(Driver):
    """A cache that is played, from its first frame to its last and over again; a run may still be writing there.

    at  the index of the frame that is wanted; if its file is damaged, the one before is still shown
    """

    def __init__(self, cache: Cache, scene: Scene):
        super().__init__(scene.fps)
        self.cache, self.scene, self.at = cache, scene, 0
        self._frames, self._looked = cache.frames(), time.monotonic()
        if not self._frames:
            raise ValueError(f"{cache.folder}: no frame to show there")
        self._load()

    @property
    def frames(self) -> list[int]:
        """The numbers of the frames that are there."""
        if time.monotonic() > self._looked + AGAIN:
            self._frames, self._looked = self.cache.frames() or self._frames, time.monotonic()
        return self._frames

    def advance(self) -> None:
        self.seek((self.at + 1) % len(self.frames))

    def seek(self, index: int) -> None:
        """Show a frame, by its index among those there are."""
        self.at, self._note = min(max(int(index), 0), len(self.frames) - 1), ""
        self._load()

    def show(self, number: int) -> None:
        """Show a frame by its number, or if it is missing, the one before it that is there."""
        self.seek(bisect_right(self.frames, number) - 1)

    def reset(self) -> None:
        """The first frame."""
        self.seek(0)

    def snapshot(self) -> Snapshot:
        return Snapshot.of(self.scene, self._number, self._state, self._report, self._rate(), self.playing, self._note)

    def _load(self) -> None:
        number = self._frames[self.at]
        self._state, self._report, self._number = self.cache.load(number), self.cache.report(number), number
