"""`paddlewheel view`: a simulation, or the frames of a run, live in the browser."""

import secrets
import webbrowser
from pathlib import Path

from paddlewheel.commands import scenes
from paddlewheel.commands.terminal import complain
from paddlewheel.interrupt import INTERRUPTED
from paddlewheel.kernel import leave_one
from paddlewheel.output.cache import MANIFEST, Cache
from paddlewheel.output.viewer.gate import Gate, is_loopback
from paddlewheel.output.viewer.page import Page, require
from paddlewheel.output.viewer.playback import Playback
from paddlewheel.output.viewer.session import Driver, Session
from paddlewheel.scene import Scene


def view(options) -> int:
    """Show a scene or a run until Ctrl-C."""
    require()
    driver, scene, name = _driver(options)
    driver.playing, driver.hurry = not options.paused, options.fast
    page = Page(driver, scene, f"{name} – Paddlewheel", say=complain)
    try:
        gate = _gate(options, page.port)
        try:
            _announce(gate, name)
            if options.open:
                webbrowser.open(gate.url)
            leave_one()  # to the browser
            driver.serve()
        except KeyboardInterrupt:
            page.say = lambda line: None  # of tabs that are cut off now
            complain("interrupted")
            return INTERRUPTED
        finally:
            gate.close()
    finally:
        page.close()
    return 0


def _driver(options) -> tuple[Driver, Scene, str]:
    """A playback of what is a folder, and a session of what is a scene."""
    folder = Path(options.scene)
    if folder.is_dir():
        if options.cells is not None or options.set:
            raise ValueError(f"{folder}: is a run, with --cells and --set as they were; expected a scene with them")
        if not (folder / MANIFEST).exists():
            raise ValueError(f"{folder}: no run is there, expected a folder with {MANIFEST}")
        cache = Cache.of(folder)
        _, scene, notes = scenes.of_cache(cache)
        for note in notes:
            complain(f"warning: {note}")
        return Playback(cache, scene), scene, cache.name
    if len(folder.parts) > 1 and not folder.exists():
        raise ValueError(f"{folder}: there is no such folder, and no such file")
    source = scenes.find(options.scene, scenes.parameters(options), "view")
    scene = scenes.build(source)
    return Session(scene, source.guarded), scene, source.name


def _gate(options, inner: int) -> Gate:
    token = None if is_loopback(options.host) else secrets.token_urlsafe(16)
    return Gate(options.host, options.port, inner, token)


def _announce(gate: Gate, name: str) -> None:
    print(f"{name}: {gate.url}")
    if gate.token is None:
        print("only this machine can open it; Ctrl-C ends it", flush=True)
    else:
        print(
            "whoever has this link, with its token, can open it; what is sent is not encrypted; Ctrl-C ends it",
            flush=True,
        )
