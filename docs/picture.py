"""Draws docs/page.png: the page of `make run`, while somebody pulls a hand. From the root: python -m docs.picture."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from test.browser import browser
from test.ros import domain
from test.world import World

SIZE = (1560, 1020)
UP_AND_OUT = (-30, -60)  # pixels: where the hand is pulled


def main() -> None:
    """Start the nodes and the browser, pull, and take the picture."""
    with domain() as number, tempfile.TemporaryDirectory() as profile, browser(profile, SIZE) as page:
        world = World(number, page)
        world.client.set(total_terms=['gravity', 'wrench'])
        (x, y), *_ = page.until(page.balls, 'the balls')
        time.sleep(12)  # for the curves to have a past
        page.hold((x, y), (x + UP_AND_OUT[0], y + UP_AND_OUT[1]))
        time.sleep(4)
        page.driver.save_screenshot(str(Path(__file__).parent / 'page.png'))
        page.let_go()
        world.close()


if __name__ == '__main__':
    main()
