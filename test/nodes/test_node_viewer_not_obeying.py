"""The page in a real browser, with a robot whose motors get something else than `torque/total`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from .. import world
from ..browser import browser
from ..ros import Process, domain


def not_obeying(number: int, robot: Sequence[str]) -> Process:
    """Start a simulator that hears no torques: its brakes hold it."""
    return Process(number, '--ros-args', *robot, module='simulator_node')


@pytest.mark.slow
def test_a_drag_pushes_a_robot_that_does_not_obey_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one does to a robot is no command to it: any controller may be what holds it."""
    monkeypatch.setattr(world, 'simulator', not_obeying)
    with domain() as number, browser(str(tmp_path / 'profile')) as page:
        started = world.World(number, page)
        try:
            page.until(lambda: 'torque/total is the sum of' in page.text, 'a robot that does not obey')
            assert 0 < started.pull((20, -130)) <= 100.001
            page.let_go()
        finally:
            started.close()
