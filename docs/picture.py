"""Records docs/page.webp: the page of `make run`, a hand that is pulled, and the torques that follow.

From the root: python -m docs.picture. With a folder as argument, each frame is kept there as PNG, to be looked at.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from selenium.webdriver import ActionChains

from test.browser import Browser, browser
from test.ros import domain
from test.world import World

SIZE = (1560, 1020)
WIDTH = 1040  # pixels of the recording
PAST = 22.0  # s: the plot shows the last 20
CORNERS = ((30, -170), (100, -70), (0, 0))  # pixels from where the hand is gripped
STEPS = 10  # frames from one corner to the next
FRAME, LAST = 140, 1200  # ms
PLOT = "const plot = document.querySelector('.uplot canvas'); return plot && plot.clientWidth > 300"


def path() -> Iterator[tuple[float, float]]:
    """Return where the mouse is at each frame, from where it gripped."""
    start = (0.0, 0.0)
    for end in CORNERS:
        for k in range(1, STEPS + 1):
            yield tuple(a + (b - a) * k / STEPS for a, b in zip(start, end, strict=True))  # type: ignore[misc]
        start = end


def picture(page: Browser) -> Image.Image:
    """Return what the page shows."""
    image = Image.open(io.BytesIO(page.driver.get_screenshot_as_png())).convert('RGB')
    return image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)


def frames(page: Browser) -> list[Image.Image]:
    """Pull a hand around, and return a picture for each step."""
    (x, y), *_ = page.until(page.balls, 'the balls')
    page.hold((x, y), (x, y))
    taken = []
    for dx, dy in path():
        actions: Any = ActionChains(page.driver, duration=100)
        actions.w3c_actions.pointer_action.move_to_location(int(x + dx), int(y + dy))
        actions.perform()
        time.sleep(0.9)  # the page draws with software here, less than twice a second
        taken.append(picture(page))
    page.let_go()
    return taken


def main(arguments: Sequence[str]) -> None:
    """Start the nodes and the browser, pull, and write the recording."""
    with domain() as number, tempfile.TemporaryDirectory() as profile, browser(profile, SIZE) as page:
        world = World(number, page)
        page.until(page.balls, 'the balls')
        time.sleep(PAST)
        page.until(lambda: page.script(PLOT), 'the plot to have its size')
        taken = frames(page)
        world.close()
    for k, image in enumerate(taken if arguments else []):
        image.save(Path(arguments[0]) / f'{k:02}.png')
    first, *others = taken
    times = [FRAME] * len(others) + [LAST]
    path_out = Path(__file__).parent / 'page.webp'
    first.save(path_out, save_all=True, append_images=others, duration=times, loop=0, quality=60, method=6)


if __name__ == '__main__':
    main(sys.argv[1:])
