"""The examples run, as a user types them, and print numbers that are right."""

from __future__ import annotations

import importlib
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Robot, Wrench, dynamics_of

from .robots import ROOT

EXAMPLES = {path.stem for path in (ROOT / 'examples').glob('*.py')}
OUT_FORWARD = {'q_2l': -1.57}


def run(name: str, tmp_path: Path) -> str:
    command = [sys.executable, str(ROOT / 'examples' / f'{name}.py')]
    done = subprocess.run(
        command, cwd=tmp_path, env={'PYTHONPATH': str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, '')
    return done.stdout


def test_every_example_has_a_test() -> None:
    assert {'hold_up', 'lift', 'swing', 'hardest_joint_node'} == EXAMPLES


def test_hold_up(robot: Robot, tmp_path: Path) -> None:
    d = dynamics_of(robot)
    printed = dict(re.findall(r'^(q_\w+) +(-?[\d.]+) N m', run('hold_up', tmp_path), re.MULTILINE))
    assert tuple(printed) == robot.joint_names
    expected = d.Q(d.vector(OUT_FORWARD | {'q_2r': 1.57}))
    np.testing.assert_allclose([float(x) for x in printed.values()], expected, atol=0.006)


def test_lift(robot: Robot, tmp_path: Path) -> None:
    d = dynamics_of(robot)
    printed = {name: float(x) for name, x in re.findall(r'^(q_\w+) .* ([+-][\d.]+) N m', run('lift', tmp_path), re.M)}
    torque = d.wrench_torque(d.vector(OUT_FORWARD), [Wrench('R10l', (0, 0, 20), axes='R0')])
    expected = {name: x for name, x in zip(robot.joint_names, torque, strict=True) if abs(x) > 0.01}
    assert printed == pytest.approx(expected, abs=0.006)


def test_swing_keeps_its_energy(tmp_path: Path) -> None:
    lines = run('swing', tmp_path).splitlines()
    assert len(lines) == 5
    assert max(abs(float(line.split()[-3])) for line in lines) < 1e-6
    assert lines[0] != lines[1]


def test_hardest_joint(robot: Robot, tmp_path: Path) -> None:
    pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')
    ros = importlib.import_module('test.ros')
    limits = {joint.name: joint.limits.effort for joint in robot.moving_joints if joint.limits}
    torques, log = {'q_1l': 90.0, 'q_w': -10.0}, tmp_path / 'log'
    with ros.domain() as number, log.open('w') as output:
        client = ros.Client(number)
        command = [sys.executable, str(ROOT / 'examples' / 'hardest_joint_node.py')]
        process = subprocess.Popen(command, env=ros.environment(number), stdout=output, stderr=subprocess.STDOUT)

        def say() -> None:
            client.send_state([*torques], [0.0, 0.0], effort=[*torques.values()], topic='torque/total')

        try:
            client.until(lambda: f'q_1l gives {90 / limits["q_1l"]:.0%}' in log.read_text(), say, 'the hardest joint')
        finally:
            client.close()
            process.send_signal(signal.SIGINT)
            process.wait(ros.PATIENCE)
    assert process.returncode == 0, log.read_text()
    assert 'Traceback' not in log.read_text()
