"""The page in a real browser with a robot of more than 20 joints, whose sliders are sorted into groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from sensor_msgs.msg import JointState

from ..browser import Browser, browser
from ..page.test_viewer_parts import LINK, TREE
from ..ros import Client, Process, domain

JOINTS = [f'{side}{k}' for k in range(12) for side in 'lr']  # from side to side; the groups go along each arm
URDF = TREE.format(''.join(LINK.format(name, f'{name[0]}{int(name[1:]) - 1}' if int(name[1:]) else 'base', 'revolute')
                           for name in JOINTS))  # fmt: skip
START = np.linspace(-0.9, 0.9, len(JOINTS))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Browser]:
    with browser(str(tmp_path / 'profile')) as started:
        yield started


@pytest.mark.slow
def test_each_slider_shows_and_moves_its_own_joint(page: Browser, tmp_path: Path) -> None:
    file = tmp_path / 'arms.urdf'
    file.write_text(URDF)
    robot = ('--ros-args', '-p', f'robot_file:={file}')
    names, positions = ', '.join(f'{name}_joint' for name in JOINTS), ', '.join(f'{x:.4f}' for x in START)
    start = ('-p', f'start.names:=[{names}]', '-p', f'start.positions:=[{positions}]', '-p', 'brakes:=true')
    with domain() as number:
        nodes = [
            Process(number, *robot, *start, module='simulator_node'),
            Process(number, *robot),
            Process(number, '--ros-args', '-p', f'port:={8100 + number}', module='viewer_node'),
        ]
        client, heard = Client(number), dict[str, float]()
        client.node.create_subscription(
            JointState, 'joint_states', lambda m: heard.update(zip(m.name, m.position, strict=True)), 1
        )
        try:
            client.until(lambda: 'open http://' in nodes[2].output, why='the viewer to serve')
            page.open(8100 + number)
            _try_sliders(page, client, heard)
        finally:
            client.close()
            for node in nodes:
                node.end()


def _try_sliders(page: Browser, client: Client, heard: dict[str, float]) -> None:
    before = dict(zip((f'{name}_joint' for name in JOINTS), START.tolist(), strict=True))
    client.until(lambda: heard, why='joint states')
    page.until(lambda: 'pose: set the joints' in page.text, 'the sliders')
    page.unfold('pose: set the joints (rad, m)')
    for side in 'lr':
        page.unfold(f'{side}0_joint ... {side}11_joint')
    for joint, position in before.items():
        page.until(lambda joint=joint, position=position: abs(page.value(joint) - position) < 0.011, joint)
    page.type('r3_joint', '0.77')
    client.until(lambda: abs(heard['r3_joint'] - 0.77) < 1e-3, why='the joint of the slider to be put')
    assert heard == pytest.approx(before | {'r3_joint': 0.77}, abs=1e-3)
