"""`paddlewheel view`: what it says, tabs that come and go, and every mistake as one line."""

import importlib.util
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel import cli, gallery
from paddlewheel.commands import view
from paddlewheel.output.cache import Cache
from paddlewheel.output.viewer.page import MOST, Page
from paddlewheel.output.viewer.session import Driver, Session
from waiting import until

N = 12
H = 1 / N
BALL = pw.RigidBody(pw.Sphere((0.5, 0.6, 0.5), 0.15), 500.0)
SCENE = pw.Scene((1, 1, 1), N, items=[pw.Liquid(pw.Box((0, 0, 0), (1, 0.4, 1))), BALL])
FILE = """
import paddlewheel as pw

def scene(cells=8, level=0.4):
    return pw.Scene((1, 1, 1), cells, items=[pw.Liquid(pw.HalfSpace((0, level, 0), (0, 1, 0)))])
"""

needs_viser = pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="the extra 'view' is not installed")


def tab(viewer, max_queue=16, buffer=1 << 20):
    """A tab as the server sees it: a web socket that says where its camera is, and reads what it is sent.

    It asks for no sign of life, as a browser does not: while nobody reads, it would not see the answer.
    """
    import msgspec
    import viser
    from websockets.sync.client import connect

    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.connect(("127.0.0.1", viewer.gate.port))
    opened = connect(
        f"ws://127.0.0.1:{viewer.gate.port}/", sock=connection, subprotocols=[f"viser-v{viser.__version__}"],
        max_size=None, max_queue=max_queue, open_timeout=30, ping_interval=None,
    )  # fmt: skip
    camera = {"wxyz": (1, 0, 0, 0), "position": (0, 0, -3), "look_at": (0, 0, 0), "up_direction": (0, 1, 0)}
    camera |= {"fov": 1.0, "near": 0.1, "far": 10.0, "image_height": 100, "image_width": 100}
    opened.send(msgspec.msgpack.encode({"type": "ViewerCameraMessage", **camera}))
    return opened


class Film(Driver):
    """Frames that were made beforehand, over and over: a busy machine makes nobody wait for them."""

    def __init__(self, snapshots):
        super().__init__(MOST)
        self.snapshots, self.number, self.playing = snapshots, 0, True

    def advance(self):
        self.number += 1

    def snapshot(self):
        return self.snapshots[self.number % len(self.snapshots)]._replace(number=self.number, playing=self.playing)


def film(count):
    session, snapshots = Session(SCENE), []
    for _ in range(count):
        session.advance()
        snapshots.append(session.snapshot())
    return Film(snapshots)


def playing():
    session = Session(SCENE)
    session.playing = session.hurry = True
    return session


@needs_viser
def test_two_tabs_see_the_same_and_one_that_dies_does_not_matter(viewer):
    shown = viewer(playing(), SCENE)
    server = shown.page.server
    with tab(shown) as one:
        two = tab(shown)
        assert until(lambda: len(server.get_clients()) == 2)
        for each in (one, two):
            sizes = [len(each.recv(timeout=30)) for _ in range(20)]
            assert max(sizes) > 10_000  # a surface came through
        two.socket.shutdown(socket.SHUT_RDWR)  # as if its process was killed: without a word
        two.socket.close()
        assert until(lambda: len(server.get_clients()) == 1)
        assert until(lambda: shown.said[-1] == "a tab was closed, 1 still open")
        assert shown.said[-2] == "2 tabs are open: what is done in one, all show"
        number = shown.driver.latest.after(0, 0)[1].number
        assert until(lambda: shown.driver.latest.after(0, 0)[1].number > number + 5)
        assert one.recv(timeout=30)
    assert until(lambda: not server.get_clients())
    assert until(lambda: shown.said[-1] == "a tab was closed, none is open, and it goes on; Ctrl-C ends it")
    number = shown.driver.latest.after(0, 0)[1].number
    assert until(lambda: shown.driver.latest.after(0, 0)[1].number > number + 5)  # it goes on alone
    with tab(shown) as three:
        assert three.recv(timeout=30)


@needs_viser
def test_a_tab_that_does_not_read_holds_nobody_up(viewer, monkeypatch):
    """Nor does what it is owed pile up: at the end it gets the newest, and not all that it missed.

    The server takes a tab that reads nothing for 40 s for dead, so frames must not take long to make.
    """
    shown, sent = viewer(film(8), SCENE), []
    show = shown.page.stage.show
    monkeypatch.setattr(shown.page.stage, "show", lambda snapshot: (show(snapshot), sent.append(snapshot.number)))
    with tab(shown) as reader:
        usual = max(len(reader.recv(timeout=30)) for _ in range(20))  # bytes of a surface
    with tab(shown, max_queue=1, buffer=1 << 16) as slow:
        assert until(lambda: shown.page.server.get_clients())
        start = len(sent)
        assert until(lambda: len(sent) > start + 150)
        shown.driver.order(shown.driver.pause)
        assert until(lambda: not shown.driver.playing)
        time.sleep(0.5)
        received = 0
        while True:
            try:
                received += len(slow.recv(timeout=1.0))
            except TimeoutError:
                break
    assert received < 60 * usual


@needs_viser
@pytest.mark.parametrize("one_way", [False, True])
def test_a_tab_that_dies_with_a_body_in_its_hand_lets_it_go(viewer, one_way):
    """Also a body that is only carried, which a hand may lead as any other."""
    import msgspec

    ball = pw.RigidBody(pw.Sphere((0.5, 0.6, 0.5), 0.15), 500.0, one_way=one_way)
    scene = pw.Scene((1, 1, 1), N, items=[SCENE.items[0], ball])
    session = Session(scene)
    session.playing = True
    shown = viewer(session, scene)
    hand = tab(shown)
    assert until(lambda: shown.page.stage.bodies[0].position[1] > 0)  # it is shown
    where = {"start_position": tuple(shown.page.stage.bodies[0].position.tolist()), "start_screen_pos": (0.5, 0.5)}
    where |= {"end_position": (0.2, 0.8, 0.5), "end_screen_pos": (0.4, 0.4), "button": "left", "modifier": None}
    drag = {"type": "SceneNodeDragMessage", "name": "/bodies/0", "instance_index": None, "owner": ""}
    for phase in ("start", "update"):
        hand.send(msgspec.msgpack.encode(drag | {"phase": phase} | where))
    assert until(lambda: session.held == 0)
    assert until(lambda: session.latest.after(0, 0)[1].bodies[0].position[0] < 0.3)  # it follows
    hand.socket.shutdown(socket.SHUT_RDWR)
    hand.socket.close()
    assert until(lambda: session.held is None)
    assert until(lambda: session.latest.after(0, 0)[1].bodies[0].position[1] < 0.5)  # and falls


@needs_viser
def test_no_more_frames_are_sent_than_can_be_seen(viewer, monkeypatch):
    shown, sent = viewer(Session(SCENE), SCENE), []
    monkeypatch.setattr(shown.page.stage, "show", lambda snapshot: sent.append(time.monotonic()))
    with tab(shown):
        assert until(lambda: sent)
        start = time.monotonic()
        while time.monotonic() < start + 0.5:
            shown.driver.order(lambda: None)
            time.sleep(0.002)
        assert until(lambda: sent[-1] > start + 0.4)
    assert len(sent) > 3
    assert np.diff(sent).min() > 0.9 / MOST


@needs_viser
def test_nobody_opens_a_tunnel(viewer):
    """viser would, for any tab that asks, past the gate."""
    shown = viewer(Session(SCENE), SCENE)
    assert shown.page.server.request_share_url() is None


@needs_viser
@pytest.mark.parametrize(
    ("name", "options", "nodes"),
    [
        ("plume-box", {"cells": 16}, ["/smoke"]),
        ("stirring", {"cells": 12}, ["/liquid/surface", "/solids/solid_1"]),
        ("dam-break-pillar", {"cells": 16}, ["/liquid/surface", "/solids/still"]),
        ("floating", {"cells": 16}, ["/liquid/surface", "/bodies/0"]),
    ],
)
def test_every_kind_of_scene_is_shown(viewer, name, options, nodes):
    scene = gallery.SCENES[name].scene(**options)
    session = Session(scene)
    shown = viewer(session, scene)
    for _ in range(3):
        session.order(session.step)
    with tab(shown):
        for node in nodes:
            assert until(lambda node=node: shown.page.server.scene.get_handle_by_name(node) is not None, 20), node


@needs_viser
def test_markers_of_smoke_are_shown(viewer):
    source = pw.Smoke(pw.Sphere((0.5, 0.3, 0.5), 0.2), temperature=20.0, markers=True)
    scene = pw.Scene((1, 1, 1), 12, items=[source])
    session = Session(scene)
    shown = viewer(session, scene)
    session.order(session.step)
    with tab(shown):
        assert until(lambda: shown.page.server.scene.get_handle_by_name("/markers") is not None, 20)
        points = shown.page.server.scene.get_handle_by_name("/markers").points
    assert len(points) == len(session.simulation.state.markers) > 100
    assert np.abs(points - [0.5, 0.3, 0.5]).max() < 0.3


class Unmoved(Session):
    """A session that has no simulation, to look at the page alone."""

    def __init__(self, scene):
        Driver.__init__(self, scene.fps)


def handles(scene):
    """The controls of the page of a scene, by their labels."""
    page = Page(Unmoved(scene), scene, "Paddlewheel")
    try:
        return {handle.label: handle for handle in page.server.gui._gui_input_handle_from_uuid.values()}
    finally:
        page.close()


@needs_viser
@pytest.mark.parametrize("name", gallery.SCENES)
def test_every_scene_of_the_gallery_has_a_page(name):
    scene = gallery.SCENES[name].scene()
    found = handles(scene)
    assert found["Gravity [m/s²]"].value == pytest.approx(math.hypot(*scene.gravity))
    assert ("Particles" in found) == (scene.has_particles and not scene.has_smoke)
    assert ("Weights" in found) == (scene.method.advection != "explicit")


@needs_viser
@pytest.mark.parametrize("density", [0.02, 20_000.0])
@pytest.mark.parametrize("viscosity", [0.0, 1e6])
def test_controls_reach_what_a_scene_has(density, viscosity):
    """However light a body, and however thick its liquid is."""
    ball = pw.RigidBody(pw.Sphere((0.5, 0.6, 0.5), 0.15), density)
    scene = pw.Scene((1, 1, 1), N, items=[pw.Liquid(pw.Box((0, 0, 0), (1, 0.4, 1)), viscosity=viscosity), ball])
    found = handles(scene)
    assert found["Density [kg/m³]"].value == density
    assert found["Viscosity, 10ˣ Pa s"].value == (6.0 if viscosity else -3.0)


@needs_viser
def test_surface_and_particles_can_be_chosen(viewer):
    shown = viewer(Session(SCENE), SCENE)
    find = shown.page.server.scene.get_handle_by_name
    boxes = {handle.label: handle for handle in shown.page.server.gui._gui_input_handle_from_uuid.values()}
    with tab(shown):
        assert until(lambda: find("/liquid/surface") is not None)
        assert find("/liquid/particles") is None
        boxes["Surface"].value, boxes["Particles"].value = False, True
        assert until(lambda: find("/liquid/surface") is None and find("/liquid/particles") is not None)
        assert len(find("/liquid/particles").points) == len(shown.driver.simulation.state.particles.position)


@needs_viser
def test_controls_change_the_scene(viewer):
    session = Session(SCENE)
    shown = viewer(session, SCENE)
    handles = {handle.label: handle for handle in shown.page.server.gui._gui_input_handle_from_uuid.values()}
    for label, value in {"Gravity [m/s²]": 3.0, "Viscosity, 10ˣ Pa s": 1.0, "Weights": "voxel"}.items():
        handles[label].value = value
    handles["Liquid may leave walls"].value = True

    def changed():
        now = session.simulation.scene
        return (now.gravity, now.items[0].viscosity, now.method.weights, now.method.wall_separation) == (
            (0.0, -3.0, 0.0), 10.0, "voxel", True,
        )  # fmt: skip

    assert until(changed)


def command(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "paddlewheel", "view", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment,
    )  # fmt: skip


@needs_viser
def test_the_command_says_where_and_ends_at_ctrl_c(tmp_path):
    (tmp_path / "pool.py").write_text(FILE)
    process = command(tmp_path / "pool.py", "--port", 0, "--cells", 6, "--set", "level=0.3")
    try:
        line = process.stdout.readline()
        assert re.fullmatch(r"pool: http://127\.0\.0\.1:\d+/\n", line)
        assert process.stdout.readline() == "only this machine can open it; Ctrl-C ends it\n"
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == ""
    assert errors.splitlines()[-1] == "paddlewheel: interrupted"
    assert "Traceback" not in errors


@needs_viser
def test_elsewhere_a_token_is_in_the_link(monkeypatch, capsys, tmp_path):
    (tmp_path / "pool.py").write_text(FILE)
    monkeypatch.setattr(Session, "serve", lambda self: None)
    assert cli.main(["view", str(tmp_path / "pool.py"), "--host", "0.0.0.0", "--port", "0"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"http://\S+:\d+/\?token=[\w-]{22}\n", out)
    assert "not encrypted" in out


@needs_viser
def test_a_run_is_played(monkeypatch, tmp_path):
    assert cli.main(["run", "dam-break", "--cells", "8", "--frames", "2", "--out", str(tmp_path / "dam")]) == 0
    seen = []
    monkeypatch.setattr(view.Playback, "serve", lambda self: seen.extend(self.frames))
    assert cli.main(["view", str(tmp_path / "dam"), "--port", "0"]) == 0
    assert seen == [1, 2]


def complaint(capsys, *arguments):
    assert cli.main(["view", *map(str, arguments)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@needs_viser
def test_a_port_in_use_is_one_line(capsys, tmp_path):
    (tmp_path / "pool.py").write_text(FILE)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = complaint(capsys, tmp_path / "pool.py", "--port", port)
    assert line == (
        f"paddlewheel: error: port {port} of 127.0.0.1 is in use, perhaps by another viewer; choose another with --port"
    )


def test_without_the_extra_it_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    line = complaint(capsys, "dam-break")
    assert line == "paddlewheel: error: the viewer needs viser: pip install 'paddlewheel[view]'"


@needs_viser
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dam-brake"], "did you mean 'dam-break'"),
        (["."], "no run is there"),
        (["out/dam-break"], "out/dam-break: there is no such folder"),
        (["dam-break", "--set", "wet=1"], "parameter='wet'"),
    ],
)
def test_mistakes_are_one_line(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in complaint(capsys, *arguments)


@needs_viser
def test_a_run_has_no_parameters(capsys, tmp_path):
    cache = Cache(tmp_path / "dam", "dam")
    cache.folder.mkdir()
    assert "expected a scene" in complaint(capsys, cache.folder, "--cells", 8)


@pytest.mark.parametrize("host", ["", " "])
def test_no_address_is_not_all_of_them(capsys, host):
    with pytest.raises(SystemExit) as end:
        cli.main(["view", "dam-break", "--host", host])
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--host: {host!r}: expected an address" in line


def test_the_port_is_a_number(capsys):
    with pytest.raises(SystemExit):
        cli.main(["view", "dam-break", "--port", "http"])
    assert "'http': expected a whole number from 0 to 65535" in capsys.readouterr().err
