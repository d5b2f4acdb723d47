"""The tour of the page in a real browser, walked to its end from a state in which its steps would not work."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from krang_dynamics_ros import Robot

from ..tour import CARD, TourWalk
from ..world import World

pytestmark = pytest.mark.usefixtures('at_start')


@pytest.mark.slow
def test_each_step_does_what_it_says_from_whatever_state(world: World, robot: Robot) -> None:
    world.client.set(total_terms=['gravity', 'wrench'], right__payload__mass=1.0)
    world.page.until(lambda: world.page.ticked('wrench'), 'wrench ticked')
    world.page.press('Pause')
    world.page.until(lambda: 'simulation: paused' in world.page.text, 'paused')
    TourWalk(world, robot).walk()
    assert world.client.get('right.payload.mass') == 0.0


@pytest.mark.slow
def test_a_tour_that_was_closed_stays_closed(world: World) -> None:
    world.page.script("document.querySelector('.tour section:not([hidden]) [data-tour=close]').click()")
    world.page.until(lambda: world.page.script(CARD)[0] == 0, 'no card')
    world.page.open(8100 + world.number)
    world.page.until(lambda: 'Show the tour' in world.page.text, 'a way to open it again')
    assert world.page.script(CARD)[0] == 0
    world.page.press('Show the tour')
    world.page.until(lambda: world.page.script(CARD)[0] > 0, 'the card')
