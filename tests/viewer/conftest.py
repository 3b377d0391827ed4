"""A viewer in this process: its driver in a thread, its page, and its gate."""

import threading
from contextlib import ExitStack

import pytest


class Viewer:
    def __init__(self, driver, scene, token=None):
        from paddlewheel.output.viewer.gate import Gate
        from paddlewheel.output.viewer.page import Page

        self.driver = driver
        self.said = []
        self.page = Page(driver, scene, "Paddlewheel", say=self.said.append)
        self.gate = Gate("127.0.0.1", 0, self.page.port, token)
        self._thread = threading.Thread(target=driver.serve, daemon=True)
        self._thread.start()

    def close(self):
        self.driver.stop()
        self._thread.join(60)
        self.gate.close()
        self.page.close()
        assert not self._thread.is_alive()


@pytest.fixture
def viewer():
    """viewer(driver, scene): one that is closed at the end."""
    pytest.importorskip("viser", reason="the extra 'view' is not installed")
    with ExitStack() as stack:

        def start(*arguments, **options):
            started = Viewer(*arguments, **options)
            stack.callback(started.close)
            return started

        yield start
