"""A real browser, headless: Debian's Chromium, driven by its own driver."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

PATIENCE = 30.0  # s: software graphics on a busy machine take their time
SIZE = (1500, 950)
FLAGS = (
    '--headless', '--no-sandbox', '--disable-gpu', '--enable-unsafe-swiftshader', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--mute-audio',
)  # fmt: skip


@contextmanager
def browser(profile: str, size: tuple[int, int] = SIZE) -> Iterator[Browser]:
    """Start Chromium with an empty profile, or skip the test and say why."""
    webdriver = pytest.importorskip('selenium.webdriver', reason='selenium is not installed')
    chromium, driver = shutil.which('chromium'), shutil.which('chromedriver')
    if not chromium or not driver:
        pytest.skip('no browser here (Debian, Ubuntu: apt install chromium chromium-driver)')
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f'--window-size={size[0]},{size[1]}', f'--user-data-dir={profile}'):
        options.add_argument(flag)
    service = webdriver.chrome.service.Service(driver)
    started = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(started)
    finally:
        started.quit()


class Browser:
    """What somebody in front of the page sees and does."""

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
        """The column of a term, by joint, as it is written."""
        code = """return [...document.querySelectorAll('.torques tr[data-joint]')].map(
            row => [row.dataset.joint, row.querySelector(`td[data-term=${arguments[0]}]`).innerText])"""
        return dict(self.script(code, term))

    def box(self, label: str) -> Any:
        """The checkbox with a label."""
        return self._control(label, 'checkbox')

    def _control(self, label: str, kind: str) -> Any:
        code = """for (const label of document.querySelectorAll('label')) {
            if (label.innerText.trim() !== arguments[0]) continue;
            for (let e = label, up = 0; e && up < 5; e = e.parentElement, ++up) {
                const input = e.querySelector(`input[type=${arguments[1]}]`);
                if (input) return input;
            }}"""
        return self.until(lambda: self.script(code, label, kind), f'{kind} {label}')

    def unfold(self, words: str) -> None:
        """Click on the title of a folder."""
        code = """[...document.querySelectorAll('*')].filter(e => e.innerText && e.innerText.trim() === arguments[0])
            .at(-1).click()"""
        self.script(code, words)

    def field(self, label: str) -> Any:
        """The field for a number with a label."""
        return self._control(label, 'text')

    def type(self, label: str, words: str) -> None:
        """Put words into a field, in place of what is there."""
        keys = pytest.importorskip('selenium.webdriver').Keys
        self.field(label).send_keys(keys.CONTROL, 'a', keys.NULL, words, keys.ENTER)

    def button(self, words: str) -> Any:
        code = 'return [...document.querySelectorAll("button")].find(b => b.innerText.trim() === arguments[0])'
        return self.until(lambda: self.script(code, words), f'button {words}')

    def picture(self) -> np.ndarray:
        """The page's pixels (height, width, 3), only where the robot is."""
        image = pytest.importorskip('PIL.Image')
        pixels = np.array(image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert('RGB')).astype(int)
        seen = self.script(
            "const r = document.querySelector('canvas').getBoundingClientRect(); return [r.left, r.right]"
        )
        pixels[:, : int(seen[0]) + 2] = pixels[:, int(seen[1]) - 2 :] = 255
        return np.asarray(pixels)

    def balls(self) -> list[tuple[int, int]]:
        """Where the balls to drag are, in pixels, from left to right."""
        r, g, b = np.moveaxis(self.picture(), -1, 0)
        y, x = np.nonzero((r > 200) & (g > 90) & (g < 190) & (b < 120) & (r - b > 110) & (r - g > 40))
        if len(x) < 50:
            return []
        split = (x.min() + x.max()) / 2
        sides = [x < split, x >= split]
        return [(int(np.median(x[side])), int(np.median(y[side]))) for side in sides if side.sum() > 20]

    def hold(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Press the mouse at one place and drag it to another, without letting go."""
        actions = pytest.importorskip('selenium.webdriver').ActionChains(self.driver, duration=50)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*start)
        pointer.pointer_down()
        for k in range(1, 11):
            pointer.move_to_location(*(int(a + (b - a) * k / 10) for a, b in zip(start, end, strict=True)))
        actions.perform()

    def let_go(self) -> None:
        pytest.importorskip('selenium.webdriver').ActionChains(self.driver).release().perform()
