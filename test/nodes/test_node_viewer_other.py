"""The tour of the page in a real browser with another robot than Krang, on a desktop and on a phone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from docs import gallery
from krang_dynamics_ros import load_robot

from ..browser import Browser, browser
from ..ros import domain
from ..tour import TourWalk
from ..world import World, other_robot

UR5 = gallery.ROBOTS / 'ur_description' / 'urdf' / 'ur5_robot.urdf'
PHONE = {'width': 390, 'height': 844, 'deviceScaleFactor': 1, 'mobile': True}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not gallery.ROBOTS.name, reason='pip install example-robot-data: there are no real robots here'),
]


def become_phone(page: Browser) -> None:
    page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', PHONE)
    page.driver.execute_cdp_cmd('Emulation.setTouchEmulationEnabled', {'enabled': True})


@pytest.mark.parametrize('phone', [False, True], ids=['desktop', 'phone'])
def test_a_bare_arm_is_pulled_and_weighed_to_the_end_of_the_tour(phone: bool, tmp_path: Path) -> None:
    """When it carries a bag it hangs down below the floor, and its ball is seen there."""
    robot = replace(load_robot(UR5), end_effectors={'hand': 'tool0'})
    with domain() as number, browser(str(tmp_path / 'profile')) as page:
        if phone:
            become_phone(page)
        world = World(number, page, other_robot(UR5, 'tool0'), ['hand'])
        page.until(lambda: not page.grey('Reset'), 'a simulator')
        TourWalk(world, robot, up=60 if phone else 110, least=0.02).walk()
        world.close()
