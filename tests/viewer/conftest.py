"""A viewer in this process: its driver in a thread, its page, and its gate."""

import threading
from contextlib import ExitStack

import pytest

import paddlewheel as pw


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


@pytest.fixture(scope="session")
def compiled():
    """The kernels of liquid and a body, so that no test waits for the compiler, which may take minutes."""
    ball = pw.RigidBody(pw.Sphere((0.5, 0.5, 0.5), 0.15), 500.0)
    list(pw.Simulation(pw.Scene((1, 1, 1), 12, items=[pw.Liquid(pw.Box((0, 0, 0), (1, 0.4, 1))), ball])).run(3))


@pytest.fixture
def viewer(compiled):
    """viewer(driver, scene): one that is closed at the end."""
    pytest.importorskip("viser", reason="the extra 'view' is not installed")
    with ExitStack() as stack:

        def start(*arguments, **options):
            started = Viewer(*arguments, **options)
            stack.callback(started.close)
            return started

        yield start
