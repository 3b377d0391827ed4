"""The page: a server for the browser, its buttons and sliders, and the thread that sends it the latest snapshot."""

import contextlib
import io
import math
import threading
import time
from collections.abc import Callable

import numpy as np

from paddlewheel.friction import Friction
from paddlewheel.grid.fractions import WEIGHTS
from paddlewheel.items import RigidBody, labelled
from paddlewheel.method import EXPLICIT
from paddlewheel.output.picture import MissingExtraError
from paddlewheel.output.viewer import changes, figures
from paddlewheel.output.viewer.playback import Playback
from paddlewheel.output.viewer.session import Driver, Session
from paddlewheel.output.viewer.stage import BODIES, Stage
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose

MOST = 40  # frames sent in a second
QUIET = 0.2  # s between changes of the figures: faster ones cannot be read
STRONGEST = 20.0  # m/s² of gravity
THINNEST, THICKEST = -3.0, 4.0  # powers of ten of viscosity [Pa s]; the first stands for none
LIGHTEST, DENSEST = 0.01, 5.0  # times the fluid's density


def require():
    """The package viser, or a MissingExtraError that names the extra."""
    try:
        import viser
    except ImportError as error:
        raise MissingExtraError("the viewer needs viser: pip install 'paddlewheel[view]'") from error
    return viser


class Page:
    """What the browser shows of a driver, and what it may ask of it. All tabs see and move the same.

    say  takes a line of text when a tab comes or goes
    """

    def __init__(self, driver: Driver, scene: Scene, title: str, say: Callable[[str], None] = lambda line: None):
        viser = require()
        with contextlib.redirect_stdout(io.StringIO()):  # it would print an address that is not the one to open
            self.server = viser.ViserServer(host="127.0.0.1", port=0, label=title, verbose=False)
        # It could open a tunnel to here for whom a tab asks, past the gate.
        self.server.request_share_url = lambda verbose=True: None
        self.server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 132, 205))
        self.server.gui.main_panel.dock_right()
        self.driver, self.scene = driver, scene
        self.stage = Stage(self.server, scene)
        self._picked = 0
        self._quiet_until = 0.0
        self._add_transport()
        self._figures = self.server.gui.add_markdown("")
        self._add_shown()
        if isinstance(driver, Session):
            self._add_physics()
            for number in range(len(self.stage.bodies)):
                self._add_hand(number)
        self._open = True
        self.say = say
        self.server.on_client_connect(self._come)
        self.server.on_client_disconnect(self._gone)
        self._thread = threading.Thread(target=self._send, name="page", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self.server.get_port()

    def close(self) -> None:
        self._open = False
        self._thread.join()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def _come(self, client) -> None:
        count = len(self.server.get_clients())
        self.say("a tab was opened" if count == 1 else f"{count} tabs are open: what is done in one, all show")
        self.driver.order(lambda: None)  # sends what is there

    def _gone(self, client) -> None:
        count = len(self.server.get_clients())
        left = f"{count} still open" if count else "none is open, and it goes on; Ctrl-C ends it"
        self.say(f"a tab was closed, {left}")

    def _send(self) -> None:
        """Send the latest snapshot, over and over; those in between are not missed by anyone.

        A frame that is sent takes about 3 ms from the simulation, so that no more are than can be seen.
        """
        count, due = 0, time.monotonic()
        while self._open:
            time.sleep(max(0.0, due - time.monotonic()))
            before = count
            count, snapshot = self.driver.latest.after(count, timeout=0.2)
            if count > before and self.server.get_clients():
                due = time.monotonic() + 1 / MOST
                self.stage.show(snapshot)
                self._tell(snapshot)

    def _tell(self, snapshot) -> None:
        now = time.monotonic()
        if now < self._quiet_until and snapshot.playing:
            return
        self._quiet_until = now + QUIET
        text = figures.table(snapshot)
        if text != self._figures.content:
            self._figures.content = text
        self._play.visible, self._pause.visible = not snapshot.playing, snapshot.playing
        if isinstance(self.driver, Playback):
            self._line.max = max(self.driver.frames[-1], self._line.min + 1)
            self._line.value = snapshot.number

    def _add_transport(self) -> None:
        gui, driver = self.server.gui, self.driver
        self._play = gui.add_button("Play", icon="player-play", visible=not driver.playing)
        self._pause = gui.add_button("Pause", icon="player-pause", visible=driver.playing)
        step = gui.add_button("Step", icon="player-skip-forward")
        reset = gui.add_button("Reset", icon="player-skip-back")
        for button, order in ((self._play, driver.play), (self._pause, driver.pause), (step, driver.step)):
            button.on_click(lambda _, order=order: driver.order(order))
        reset.on_click(lambda _: driver.order(driver.reset))
        if isinstance(driver, Playback):
            first, last = driver.frames[0], driver.frames[-1]
            self._line = gui.add_slider("Frame", min=first, max=max(last, first + 1), step=1, initial_value=first)
            self._line.on_update(self._sought)
        hurry = gui.add_checkbox("As fast as it goes", driver.hurry, hint="else at most as fast as in reality")
        hurry.on_update(lambda event: setattr(driver, "hurry", event.target.value))

    def _sought(self, event) -> None:
        if event.client is not None:  # by a hand, and not by the frames that go by
            self.driver.order(self.driver.pause)
            self.driver.order(self.driver.show, event.target.value)

    def _add_shown(self) -> None:
        if self.scene.has_smoke:
            return
        for label, name in (("Surface", "surface"), ("Particles", "particles"))[: 1 + self.scene.has_particles]:
            box = self.server.gui.add_checkbox(label, getattr(self.stage, name))

            def show(event, name=name) -> None:
                setattr(self.stage, name, event.target.value)
                self.driver.order(lambda: None)

            box.on_update(show)

    def _add_physics(self) -> None:
        gui, scene = self.server.gui, self.scene
        with gui.add_folder("Physics"):
            strength = math.hypot(*scene.gravity)
            gravity = gui.add_slider(
                "Gravity [m/s²]", min=0.0, max=max(STRONGEST, strength), step=0.01, initial_value=strength
            )
            gravity.on_update(self._changing(lambda now, value: changes.with_gravity(now, value, scene)))
            if not scene.has_smoke:
                self._add_liquid()
            if scene.method.advection != EXPLICIT:  # which has weights and walls of its own
                self._add_walls()
        bodies = labelled(scene.items, RigidBody)
        if not bodies:
            return
        with gui.add_folder("Body"):
            self._which = gui.add_markdown(_hint(0))
            given = [body.density for _, body in bodies]
            least, most = min(LIGHTEST * scene.density, *given), max(DENSEST * scene.density, *given)
            self._density = gui.add_slider(
                "Density [kg/m³]", min=least, max=most, step=least, initial_value=bodies[0][1].density
            )
            self._density.on_update(self._weighed)

    def _weighed(self, event) -> None:
        if event.client is not None:  # by a hand, and not because another body was picked
            body, density = self._picked, event.target.value
            self.driver.want(f"density of {body}", lambda now: changes.with_density(now, body, density))

    def _add_liquid(self) -> None:
        gui, scene, friction = self.server.gui, self.scene, Friction(self.scene)
        if not friction.varies:
            first = scene_viscosity(scene)
            power = round(math.log10(first), 1) if first > 10**THINNEST else THINNEST
            slider = gui.add_slider(
                "Viscosity, 10ˣ Pa s", min=THINNEST, max=max(THICKEST, power), step=0.1, initial_value=power,
                hint="water is 10⁻³, which is shown as none; honey is 10¹",
            )  # fmt: skip
            slider.on_update(self._changing(lambda now, x: changes.with_viscosity(now, 10**x if x > THINNEST else 0.0)))

    def _add_walls(self) -> None:
        gui, method = self.server.gui, self.scene.method
        if not self.scene.has_smoke:
            leaves = gui.add_checkbox("Liquid may leave walls", method.wall_separation)
            leaves.on_update(self._changing(lambda now, value: changes.with_method(now, wall_separation=value)))
        weights = gui.add_dropdown("Weights", tuple(WEIGHTS), initial_value=method.weights)
        weights.on_update(self._changing(lambda now, value: changes.with_method(now, weights=value)))

    def _changing(self, make):
        """What a control does: order another scene, made of the one there is then and the control's value."""

        def change(event) -> None:
            value = event.target.value
            self.driver.want(event.target.label, lambda now: make(now, value))

        return change

    def _add_hand(self, number) -> None:
        """Let a body be clicked and dragged. Callbacks are coroutines, so that they come in order."""
        node, session = self.stage.bodies[number], self.driver

        @node.on_click
        async def _(event) -> None:
            self._pick(number)

        @node.on_drag
        async def _(event) -> None:
            if event.phase == "start":
                self._pick(number)
                seen = Pose(tuple(node.position), tuple(node.wxyz))
                session.order(session.grab, number, seen.to_body(np.array([event.start_position]))[0])
            if event.phase != "end":
                session.order(session.drag, number, event.end_position)
            else:
                session.order(session.release, number)

    def _pick(self, number) -> None:
        self._picked = number
        self._which.content = _hint(number)
        items = [item for item in self.driver.simulation.scene.items if isinstance(item, RigidBody)]
        self._density.value = items[number].density


def scene_viscosity(scene: Scene) -> float:
    """The viscosity [Pa s] of liquid that is the same everywhere."""
    given = {item.viscosity for item in scene.items if hasattr(item, "viscosity")}
    return float(next(iter(given), 0.0))


def _hint(number) -> str:
    red, green, blue = BODIES[number % len(BODIES)]
    dot = f"<span style='color:rgb({red},{green},{blue})'>●</span>"
    return f"Body {number + 1} {dot}. Drag one to pick, move and throw it."
