"""`make run` as a user types it: three processes and a page start, and Ctrl-C ends them all."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from krang_dynamics_ros import dynamics_of, load_robot
from krang_dynamics_ros.cli import new_arm

from .browser import Browser, browser
from .marks import slow_but
from .robots import ROOT
from .ros import PATIENCE, Client, domain, environment

pytestmark = pytest.mark.skipif(not (ROOT / '.venv' / 'runs').exists(), reason='not in the .venv that make makes')


def serves(port: int) -> bool:
    try:
        with urllib.request.urlopen(f'http://127.0.0.1:{port}', timeout=1) as answer:
            return b'viser' in answer.read().lower()
    except OSError:
        return False


def read(path: Path) -> list[str]:
    """Return the words of a file under /proc, none if its process is gone."""
    try:
        return path.read_text().split('\0')
    except OSError:
        return []


def running(number: int) -> list[int]:
    """Return the processes of a ROS domain that are nodes, or run them."""
    found = [folder for folder in Path('/proc').glob('[0-9]*') if f'ROS_DOMAIN_ID={number}' in read(folder / 'environ')]
    lines = {int(folder.name): ' '.join(read(folder / 'cmdline')) for folder in found}
    return [number for number, line in lines.items() if '.nodes.' in line or 'honcho' in line]


@contextmanager
def run(number: int, output: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start `make run` on a ROS domain; its page is at `port_of(number)`.

    With `-o`, make takes the .venv as it is: a test must not remake the one that it runs in.
    """
    with output.open('w') as file:
        process = subprocess.Popen(
            ['make', '-o', '.venv/runs', 'run', f'PORT={port_of(number)}', *words],  # noqa: S607 (whatever make is there)
            cwd=ROOT, env=environment(number), stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            for left in running(number):
                os.kill(left, signal.SIGKILL)


def port_of(number: int) -> int:
    return 8300 + number


def arm_file(folder: Path, robot: str, *replaced: tuple[str, str]) -> Path:
    """Write the arm file of a robot file in `config/`, as `krang new_arm` does; then replace words in it."""
    file = folder / 'my_arm.yaml'
    assert new_arm.main([str(ROOT / 'config' / robot), '-o', str(file)]) == 0
    for old, new in replaced:
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
    return file


@pytest.mark.parametrize('robot', slow_but([''], ['', 'ROBOT=config/textbook/arm_2r.yaml', 'ARM']))
def test_it_runs_prints_its_address_and_ends(robot: str, tmp_path: Path) -> None:
    if robot == 'ARM':
        robot = f'ARM={arm_file(tmp_path, "textbook/arm_2r.yaml", ("topic: joint_states", "topic: arm/joint_states"))}'
    output = tmp_path / 'output'
    with domain() as number, run(number, output, *robot.split()) as process:
        use_and_end(process, output, number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('send', 'number'), [(os.kill, signal.SIGTERM), (os.killpg, signal.SIGTERM), (os.killpg, signal.SIGHUP)]
)
def test_all_processes_end_with_make_or_its_group(
    send: Callable[[int, int], None], number: int, tmp_path: Path
) -> None:
    """As a container, `timeout` or a closed terminal ends it; otherwise the next start finds the port taken."""
    output = tmp_path / 'output'
    with domain() as of_ros, run(of_ros, output) as process:
        wait_for_page(process, output, of_ros)
        send(process.pid, number)
        process.wait(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while running(of_ros):
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.1)


NAMES = """#!/bin/sh
sed 's/^[a-z]*: //' Procfile | while read -r line; do PATH="$(dirname "$0"):$PATH" sh -c "$line"; done
"""
WORDS = """#!/bin/sh
printf '%s\\n' "$@" END
"""


def test_files_and_folders_may_have_spaces_and_quotes_in_their_names(tmp_path: Path) -> None:
    """The processes get the names as they were typed, as single words."""
    for name, text in (('honcho', NAMES), ('setpriv', WORDS)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    robot, arm, meshes = "../w/Bob's arm/ur5 new.urdf", 'my arm/x.yaml', '/m m'
    words = ('make', '-s', '-o', '.venv/runs', 'run', f'BIN={tmp_path}', f'ROBOT={robot}', f'ARM={arm}')
    run = subprocess.run(
        [*words, f'MESHES={meshes}'], cwd=ROOT, capture_output=True, text=True, check=True,
        env=os.environ | {'PATH': f'{os.environ["PATH"]}:{tmp_path}'},
    )  # fmt: skip
    *processes, rest = run.stdout.split('END\n')
    assert (len(processes), rest) == (3, '')
    for process in processes:
        given = process.splitlines()
        assert given[given.index('--arm') + 1] == arm
        assert 'config/demo.yaml' not in given[given.index('--arm') :], 'the arm file overrides the demo'
        (file,) = (word.partition(':=')[2] for word in given if word.startswith('robot_file:='))
        assert yaml.safe_load(file) == robot
    assert 'command_controller:=krang_simulator' in processes[1], 'the arm file may name another one'
    (folders,) = (word.partition(':=')[2] for word in processes[2].splitlines() if word.startswith('mesh_folders:='))
    assert yaml.safe_load(folders) == [meshes]


HANDS = (
    ('end_effectors: [left, right]', 'end_effectors: [tool]'),
    ('    left:\n', '    tool:\n'),
    ('wrench/left', 'arm/force/data'),
    ('applied_on_robot', 'applied_by_robot'),
    ('effort_scale: 1.0', 'effort_scale: -2.0'),
)


@pytest.mark.slow
def test_the_simulated_arm_has_the_hands_sensors_and_units_of_its_arm_file(tmp_path: Path) -> None:
    """A pull of the ball on the page is read on the topic, with the sign, that the arm file names."""
    output = tmp_path / 'output'
    words = f'ARM={arm_file(tmp_path, "krang.yaml", *HANDS)}'
    with domain() as number, browser(str(tmp_path / 'profile')) as page, run(number, output, words) as process:
        client = Client(number)
        try:
            wait_for_page(process, output, number)
            page.open(port_of(number))
            pull_on_page(client, page)
        finally:
            client.close()


def pull_on_page(client: Client, page: Browser) -> None:
    heard: dict[str, Any] = {}
    topics = (('arm/force/data', WrenchStamped), ('torque/gravity', JointState), ('joint_states', JointState))
    for topic, kind in topics:
        client.node.create_subscription(kind, topic, lambda m, t=topic: heard.update({t: m}), 1)
    client.until(lambda: len(heard) == 3, why='readings, torques and joint states')
    gravity, effort = (np.array(heard[topic].effort) for topic in ('torque/gravity', 'joint_states'))
    np.testing.assert_allclose(-2 * effort, gravity, atol=1.0)
    page.until(lambda: not page.grey('Reset') and 'tool hand: bag, sensor' in page.text, 'the hand')
    info = client.node.get_subscriptions_info_by_topic('/arm/force/data')
    assert {end.node_name for end in info} >= {'krang_dynamics', '_krang_viewer_polled'}
    for _ in range(3):  # the robot may move from under the mouse
        x, y = page.until(page.balls, 'the ball')[0]
        page.hold((x, y), (x, y - 80))
        with suppress(AssertionError):
            client.until(lambda: upward(heard) < -5, why='the sensor to read the pull', seconds=10)
            return
        page.let_go()
    raise AssertionError(f'the sensor reads {upward(heard):.1f} N upward, must be the force of the robot')


def upward(heard: Mapping[str, Any]) -> float:
    """Return the vertical force (N) of the reading, of a hand as it is posed now."""
    force, q = heard['arm/force/data'].wrench.force, np.array(heard['joint_states'].position)
    rotation, _ = dynamics_of(load_robot()).pose(q, 'R10l')
    return float((rotation @ [force.x, force.y, force.z])[2])


def test_the_reason_of_a_node_that_ends_comes_last(tmp_path: Path) -> None:
    robot, output = tmp_path / 'robot.urdf', tmp_path / 'output'
    robot.write_text('<robot name="x"><link name="a"/><joint name="j" type="fixed"><parent link="a"/></joint></robot>')
    with domain() as number, run(number, output, f'ROBOT={robot}') as process:
        assert process.wait(PATIENCE) > 0
    ended, reason = output.read_text().rsplit('ended with an error:', 1)
    assert 'stopped (rc=' in ended
    assert 'stopped (rc=' not in reason
    assert 'joints.j.child' in reason


def wait_for_page(process: subprocess.Popen[bytes], output: Path, number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    said = ('receiving torques', f'open http://127.0.0.1:{port_of(number)} in a browser')
    while not (serves(port_of(number)) and all(words in output.read_text() for words in said)):
        assert time.monotonic() < deadline, output.read_text()
        assert process.poll() is None, output.read_text()
        time.sleep(0.1)


def use_and_end(process: subprocess.Popen[bytes], output: Path, number: int) -> None:
    wait_for_page(process, output, number)
    assert len(running(number)) > 3
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    process.wait(PATIENCE)
    assert not running(number)
    assert 'Traceback' not in output.read_text()
    assert 'rc=1' not in output.read_text()
