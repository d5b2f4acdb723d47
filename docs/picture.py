"""Records docs/page.webp: the tour of the page of `make run`, its first steps, by the walk that tests it.

From the root: python -m docs.picture. With a folder as argument, each frame is kept there as PNG, to be looked at.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from krang_dynamics_ros import krang
from test.browser import Browser, browser
from test.ros import domain
from test.tour import TourWalk
from test.world import World

SIZE = (1560, 1020)
WIDTH = 1040  # pixels of the recording
PAST = 22.0  # s: the plot shows the last 20
LAST_STEP = 4  # of the tour
FRAME, LAST = 180, 1500  # ms
PLOT = "const plot = document.querySelector('.uplot canvas'); return plot && plot.clientWidth > 300"


def picture(page: Browser) -> Image.Image:
    """Return what the page shows."""
    image = Image.open(io.BytesIO(page.driver.get_screenshot_as_png())).convert('RGB')
    return image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)


def frames(world: World) -> list[Image.Image]:
    """Walk the tour, and return a picture of each moment that is worth one."""
    taken: list[Image.Image] = []

    def look() -> None:
        time.sleep(0.9)  # the page draws with software here, less than twice a second
        taken.append(picture(world.page))

    TourWalk(world, krang(), look).walk(LAST_STEP)
    return taken


def main(arguments: Sequence[str]) -> None:
    """Start the nodes and the browser, walk, and write the recording."""
    with domain() as number, tempfile.TemporaryDirectory() as profile, browser(profile, SIZE) as page:
        world = World(number, page)
        page.until(page.balls, 'the balls')
        time.sleep(PAST)
        page.until(lambda: page.script(PLOT), 'the plot to have its size')
        taken = frames(world)
        world.close()
    for k, image in enumerate(taken if arguments else []):
        image.save(Path(arguments[0]) / f'{k:02}.png')
    first, *others = taken
    times = [FRAME] * len(others) + [LAST]
    path_out = Path(__file__).parent / 'page.webp'
    first.save(path_out, save_all=True, append_images=others, duration=times, loop=0, quality=60, method=6)


if __name__ == '__main__':
    main(sys.argv[1:])
