"""A real browser, headless: Debian's Chromium, driven by its own driver."""

from __future__ import annotations

import ctypes
import fcntl
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PATIENCE = 60.0  # s: software graphics on a busy machine take their time
SIZE = (1500, 950)
FLAGS = (
    '--headless', '--no-sandbox', '--disable-gpu', '--enable-unsafe-swiftshader', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--mute-audio',
)  # fmt: skip
# The driver's clicks wait for some sixty pictures, 8 s where software draws them one after the other; a user's do not.
FEWER_PICTURES = """
const next = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = draw => setTimeout(() => next(draw), 800);
window.cancelAnimationFrame = clearTimeout;
"""

FIND = """
const control = (words, type) => {
    for (const label of document.querySelectorAll('label')) {
        if (label.innerText.trim() !== words) continue;
        for (let e = label, up = 0; e && up < 5; e = e.parentElement, ++up) {
            const input = e.querySelector(`input[type=${type}]`);
            if (input) return input;
        }
    }
};
const button = words => [...document.querySelectorAll('button')].find(
    b => b.innerText.trim() === words && b.checkVisibility());
"""


def _come_last() -> None:
    """Give the browser what the nodes leave: software draws its pictures, and a joint state that is late ends commands.

    For root, Chromium would raise its drawing to nice -8, before all nodes, so it loses the right to do that.
    """
    os.nice(5)
    drop_from_bounding_set, cap_sys_nice = 24, 23
    ctypes.CDLL(None).prctl(drop_from_bounding_set, cap_sys_nice, 0, 0, 0)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Wait until no other test on this machine has a browser: each draws with all the processor there is."""
    with (Path(tempfile.gettempdir()) / 'krang_dynamics_ros_browser').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def browser(profile: str, size: tuple[int, int] = SIZE, flags: Sequence[str] = ()) -> Iterator[Browser]:
    """Start Chromium with an empty profile, or skip the test and say why."""
    webdriver = pytest.importorskip('selenium.webdriver', reason='selenium is not installed')
    chromium, driver = shutil.which('chromium'), shutil.which('chromedriver')
    if not chromium or not driver:
        pytest.skip('no browser here (Debian, Ubuntu: apt install chromium chromium-driver)')
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, *flags, f'--window-size={size[0]},{size[1]}', f'--user-data-dir={profile}'):
        options.add_argument(flag)
    service = webdriver.chrome.service.Service(driver, popen_kw={'preexec_fn': _come_last})
    with _one_at_a_time():
        started = webdriver.Chrome(options=options, service=service)
        started.set_script_timeout(2 * PATIENCE)
        started.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument', {'source': FEWER_PICTURES})
        try:
            yield Browser(started)
        finally:
            started.quit()


class Browser:
    """The page as a person sees and uses it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def until(self, condition: Callable[[], Any], why: str) -> Any:
        """Wait until something is so on the page."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if result := condition():
                return result
            time.sleep(0.05)
        raise AssertionError(f'not so within {PATIENCE} s: {why}; the page says: {self.text[-2000:]}')

    def open(self, port: int) -> None:
        self.driver.get(f'http://127.0.0.1:{port}')
        self.until(lambda: 'joint states' in self.text, 'the page is there')
        self.until(lambda: self.close_notification() or True, 'what viser says of the graphics is out of the way')

    def close_notification(self) -> None:
        self.script("document.querySelectorAll('.mantine-Notification-closeButton').forEach(button => button.click())")

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    @property
    def text(self) -> str:
        return str(self.script('return document.body.innerText'))

    @property
    def level(self) -> str:
        """The level of the coloured line."""
        return str(self.script("const e = document.querySelector('.health'); return e ? e.dataset.level : ''"))

    def numbers(self, term: str) -> dict[str, str]:
        """The column of a term, by joint, as it is written; nothing if there is no such column."""
        code = """return [...document.querySelectorAll(`.torques td[data-term=${arguments[0]}]`)].map(
            cell => [cell.closest('tr').dataset.joint, cell.innerText])"""
        return dict(self.script(code, term))

    # The page redraws itself as it likes, so what is found is used at once, and again if it has gone in between.

    def ticked(self, label: str) -> bool:
        return bool(self.script(f'{FIND} const box = control(arguments[0], "checkbox"); return box?.checked', label))

    def grey(self, label: str) -> bool:
        """Whether a checkbox or a button is there and cannot be touched."""
        code = (
            f'{FIND} const e = control(arguments[0], "checkbox") ?? button(arguments[0]); return e?.disabled ?? false'
        )
        return bool(self.script(code, label))

    def value(self, label: str) -> float:
        """The number in a field."""
        return float(self.script(f'{FIND} return control(arguments[0], "text")?.value ?? NaN', label))

    def tick(self, label: str) -> None:
        """Click on a checkbox."""
        self._use(f'{FIND} return control(arguments[0], "checkbox")', label, lambda box: box.click())

    def press(self, words: str) -> None:
        """Click on a button."""
        self._use(f'{FIND} return button(arguments[0])', words, lambda button: button.click())

    def type(self, label: str, words: str, *, enter: bool = True) -> None:
        """Put words into a field, in place of what is there."""
        keys = pytest.importorskip('selenium.webdriver').Keys
        typed = (keys.CONTROL, 'a', keys.NULL, words, *([keys.ENTER] if enter else []))
        self._use(f'{FIND} return control(arguments[0], "text")', label, lambda field: field.send_keys(*typed))

    def _use(self, find: str, label: str, use: Callable[[Any], None]) -> None:
        errors = pytest.importorskip('selenium.common.exceptions')
        passing = (
            errors.StaleElementReferenceException,
            errors.ElementNotInteractableException,
            errors.ElementClickInterceptedException,  # by a hint that is about to go
        )

        def used() -> bool:
            element = self.script(find, label)
            if element is None or not element.is_enabled():
                return False
            use(element)
            return True

        def tried() -> bool:
            try:
                return used()
            except passing:
                return False

        self.until(tried, f'{label} to be used')

    def keys(self, words: str) -> None:
        """Press keys where the page has the focus, as one who types."""
        self.script('document.activeElement.blur()')
        pytest.importorskip('selenium.webdriver').ActionChains(self.driver).send_keys(words).perform()

    def unfold(self, words: str) -> None:
        """Click on the title of a folder."""
        code = """[...document.querySelectorAll('*')].filter(e => e.innerText && e.innerText.trim() === arguments[0])
            .at(-1).click()"""
        self.script(code, words)

    def forget(self) -> None:
        """Mark what stands on the page now; `fresh` is so when something else stands there."""
        self.script("document.querySelector('.health').dataset.old = 'yes'")

    @property
    def fresh(self) -> bool:
        return bool(self.script("const e = document.querySelector('.health'); return e && !e.dataset.old"))

    def picture(self) -> np.ndarray:
        """The page's pixels (height, width, 3), only where the robot is: white where panels and notes cover it."""
        image = pytest.importorskip('PIL.Image')
        pixels = np.array(image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert('RGB')).astype(int)
        seen = self.script(
            "const r = document.querySelector('canvas').getBoundingClientRect(); return [r.left, r.right]"
        )
        pixels[:, : int(seen[0]) + 2] = pixels[:, int(seen[1]) - 2 :] = 255
        notes = """return [...document.querySelectorAll('[class*=Notification-root]')].map(
            e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top, r.bottom])"""
        for left, right, top, bottom in self.script(notes):  # one comes when it likes, with an orange stripe
            pixels[max(0, int(top) - 2) : int(bottom) + 2, max(0, int(left) - 2) : int(right) + 2] = 255
        return np.asarray(pixels)

    def balls(self) -> list[tuple[int, int]]:
        """Where the balls to drag are, in pixels, from left to right."""
        r, g, b = np.moveaxis(self.picture(), -1, 0)
        y, x = np.nonzero((r > 200) & (g > 90) & (g < 220) & (b < 140) & (r - b > 110) & (r - g > 35))  # lit or not
        if len(x) < 50:
            return []
        split = (x.min() + x.max()) / 2
        sides = [x < split, x >= split]
        return [(int(np.median(x[side])), int(np.median(y[side]))) for side in sides if side.sum() > 20]

    def cut(self) -> bool:
        """Whether metal or a ball reaches the left or the right edge of where the robot is."""
        r, _, b = np.moveaxis(self.picture(), -1, 0)
        seen = np.flatnonzero((r < 255).any(axis=0))
        edges = np.r_[seen[:6], seen[-6:]]
        return bool((r[:, edges] - b[:, edges] > 60).any())

    def green(self) -> int:
        """How many pixels have the colour of an estimated wrench."""
        r, g, b = np.moveaxis(self.picture(), -1, 0)
        return int(((g > 100) & (g - r > 8) & (g - b > 60)).sum())

    def trunk(self) -> tuple[int, int]:
        """A place on the robot well between its hands, in pixels: the middle of its metal."""
        (left, _), (right, _) = self.until(lambda: self.balls()[:2], 'two balls')
        r, g, b = np.moveaxis(self.picture(), -1, 0)
        y, x = np.nonzero((r > 120) & (r - b > 60) & (abs(r - g) < 60))
        inner = abs(x - (left + right) / 2) < abs(right - left) / 8
        at = np.argmin(abs(x[inner] - np.median(x[inner])) + abs(y[inner] - np.median(y[inner])))
        return int(x[inner][at]), int(y[inner][at])

    def click(self, at: tuple[int, int]) -> None:
        """Click on a place."""
        actions = pytest.importorskip('selenium.webdriver').ActionChains(self.driver, duration=50)
        actions.w3c_actions.pointer_action.move_to_location(*at)
        actions.pause(0.3).click().perform()

    def hold(
        self,
        start: tuple[int, int],
        end: tuple[int, int],
        *,
        ctrl: bool = False,
        look: Callable[[], object] | None = None,
    ) -> None:
        """Press the mouse at one place and drag it to another, without letting go; with the key Ctrl if asked.

        `look` is called after each of the ten parts of the way.
        """
        driver = pytest.importorskip('selenium.webdriver')
        if ctrl:
            driver.ActionChains(self.driver).key_down(driver.Keys.CONTROL).perform()
        actions = driver.ActionChains(self.driver, duration=50)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*start)
        pointer.pointer_down()
        for k in range(1, 11):
            pointer.move_to_location(*(int(a + (b - a) * k / 10) for a, b in zip(start, end, strict=True)))
            if look is not None:
                actions.perform()
                actions = driver.ActionChains(self.driver, duration=50)
                pointer = actions.w3c_actions.pointer_action
                look()
        actions.perform()

    def let_go(self, *, ctrl: bool = False) -> None:
        """Let go of the mouse, and then of Ctrl if that was held."""
        driver = pytest.importorskip('selenium.webdriver')
        driver.ActionChains(self.driver).release().perform()
        if ctrl:
            driver.ActionChains(self.driver).key_up(driver.Keys.CONTROL).perform()
