"""The viewer in a real browser: Chromium without a window, drawing in software, moved by real mouse events.

Its pictures stay in out/test-viewer.
"""

import io
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from paddlewheel.gallery import stir_by_hand
from paddlewheel.output.cache import Cache
from paddlewheel.output.viewer.playback import Playback
from paddlewheel.output.viewer.session import Session
from paddlewheel.run import Simulation
from waiting import until

pytestmark = pytest.mark.slow

PICTURES = Path(__file__).parents[2] / "out" / "test-viewer"
WIDTH, HEIGHT = 1280, 800
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@pytest.fixture
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="the extra 'browser' is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", *SOFTWARE):
        options.add_argument(argument)
    options.add_argument(f"--window-size={WIDTH},{HEIGHT}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_script_timeout(60)
    yield browser
    browser.quit()


def picture(browser, name=None):
    """What the canvas shows, as an array; kept as a file if it has a name."""
    from PIL import Image

    data = browser.get_screenshot_as_png()
    if name:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{name}.png").write_bytes(data)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), float)[:, : WIDTH // 2 + 200]


def latest(driver):
    return driver.latest.after(0, 0)[1]


def frames_later(session, count):
    """Wait for so many frames, however long the machine takes for them."""
    number = latest(session).number
    assert until(lambda: latest(session).number >= number + count)


def steady(browser, canvas):
    """Wait until the page has drawn all that it was sent."""

    def unchanged():
        before = picture(browser)
        time.sleep(0.3)
        return np.abs(picture(browser) - before)[canvas].max() < 5

    assert until(unchanged)


def press(browser, label):
    """Click a button, once it is there: the page may still be making it, or put another in its place."""
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.common.by import By

    def pressed():
        buttons = browser.find_elements(By.TAG_NAME, "button")
        try:
            wanted = [button for button in buttons if button.text.strip() == label and button.is_displayed()]
            assert len(wanted) <= 1, label
            for button in wanted:
                button.click()
        except StaleElementReferenceException:
            return False
        return bool(wanted)

    assert until(pressed, 30), label


def opened(browser, viewer):
    """Open the page, and wait until it shows something and says where its camera is."""
    browser.get(viewer.gate.url)
    server = viewer.page.server
    assert until(lambda: server.get_clients())
    client = next(iter(server.get_clients().values()))
    assert until(lambda: client.camera.image_width > 0 and picture(browser).std() > 5)
    for close in browser.find_elements("css selector", ".mantine-Notification-closeButton"):
        close.click()  # it says that it draws in software
    return client


def on_screen(client, point):
    """Where a point [m] is in the window [pixels]."""
    import viser.transforms as tf

    camera = client.camera
    x, y, z = tf.SO3(camera.wxyz).inverse() @ (np.array(point) - camera.position)
    focus = 0.5 * camera.image_height / np.tan(0.5 * camera.fov)
    return int(0.5 * camera.image_width + focus * x / z), int(0.5 * camera.image_height + focus * y / z)


def test_play_pause_step_and_throw(browser, viewer):
    scene = stir_by_hand.scene(cells=16)
    session = Session(scene)
    session.playing = True
    shown = viewer(session, scene)
    client = opened(browser, shown)

    first = picture(browser, "1-playing")
    number = latest(session).number
    assert until(lambda: latest(session).number > number + 5)
    assert np.abs(picture(browser) - first).max() > 30  # the canvas changes

    press(browser, "Pause")
    assert until(lambda: not session.playing)
    canvas = (slice(160, None), slice(0, 900))
    steady(browser, canvas)
    number, still = latest(session).number, picture(browser, "2-paused")
    time.sleep(0.5)
    assert latest(session).number == number
    assert np.abs(picture(browser) - still)[canvas].max() < 5

    press(browser, "Step")
    assert until(lambda: latest(session).number == number + 1)
    assert not session.playing

    press(browser, "Play")
    _drag_and_throw(browser, session, client)


def _drag_and_throw(browser, session, client):
    """The heavy stone is taken from the ground with the mouse, led through the water, and thrown."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.mouse_button import MouseButton

    assert until(lambda: latest(session).bodies[1].position[1] < 0.2)  # it lies on the ground
    frames_later(session, 24)
    stone = latest(session).bodies[1].position.copy()
    x, y = on_screen(client, stone)
    assert _under_water(latest(session), stone)
    before = picture(browser)

    def move(*places):
        chain = ActionChains(browser, duration=50)
        for place in places:
            chain.w3c_actions.pointer_action.move_to_location(*place)
        chain.perform()

    move((x, y))
    chain = ActionChains(browser, duration=50)
    chain.w3c_actions.pointer_action.pointer_down(MouseButton.LEFT)
    chain.perform()
    for step in range(12):
        move((x - 12 * step, y - 8 * step))
        frames_later(session, 6)
    assert until(lambda: session.held == 1), "no body is held"
    assert until(lambda: np.linalg.norm(latest(session).bodies[1].position - stone) > 0.15)
    frames_later(session, 6)
    led = latest(session).bodies[1].position.copy()
    assert _under_water(latest(session), led)
    assert until(lambda: np.abs(picture(browser) - before)[y, x].max() > 20)  # water is seen where it was
    picture(browser, "3-dragged")
    for step in range(6):
        move((x - 132, y - 88 - 25 * step))
        frames_later(session, 1)
    frames_later(session, 3)
    chain = ActionChains(browser, duration=0)
    chain.w3c_actions.pointer_action.pointer_up(MouseButton.LEFT)
    chain.perform()
    assert until(lambda: session.held is None)
    picture(browser, "4-thrown")
    assert until(lambda: latest(session).bodies[1].position[1] < 0.2)  # and it comes down again


def _under_water(snapshot, point):
    """Liquid's φ is continued into bodies: it is below zero where one is all around in liquid."""
    return snapshot.phi[tuple(np.floor(point / snapshot.scene.grid.h).astype(int))] < 0


def test_a_timeline_of_a_run(browser, viewer, tmp_path):
    scene = stir_by_hand.scene(cells=12)
    cache = Cache(tmp_path, "stir")
    cache.folder.mkdir(exist_ok=True)
    for frame in Simulation(scene).run(8):
        cache.write(frame.number, frame.state, frame.report)
    playback = Playback(cache, scene)
    shown = viewer(playback, scene, token="let-me-in")
    opened(browser, shown)
    assert "token" not in browser.current_url  # it is in a cookie now
    first = picture(browser)
    playback.order(playback.show, 8)
    assert until(lambda: np.abs(picture(browser) - first)[160:].max() > 30)
    picture(browser, "5-timeline")


def test_two_tabs_and_one_is_closed(browser, viewer):
    scene = stir_by_hand.scene(cells=10)
    session = Session(scene)
    session.playing = True
    shown = viewer(session, scene)
    opened(browser, shown)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(shown.gate.url)
    assert until(lambda: len(shown.page.server.get_clients()) == 2, 30), shown.said
    press(browser, "Pause")
    assert until(lambda: not session.playing)
    browser.close()
    assert until(lambda: shown.said[-1] == "a tab was closed, 1 still open")
    browser.switch_to.window(first)
    press(browser, "Play")  # the first tab has seen that the other paused it
    assert until(lambda: session.playing)


def test_without_the_token_there_is_no_page(browser, viewer):
    scene = stir_by_hand.scene(cells=10)
    shown = viewer(Session(scene), scene, token="let-me-in")
    browser.get(shown.gate.url.partition("?")[0])
    assert until(lambda: "open the link that `paddlewheel view` printed" in browser.page_source)
    assert not shown.page.server.get_clients()
