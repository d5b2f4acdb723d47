"""The launch files under the real `ros2 launch`: what they start, and that one which fails leaves nothing behind.

robot_state_publisher and rviz2 are scripts here that write down what they are given: whether they are installed is
what is tried. Runs where ROS 2 and this package are installed, as after `colcon build`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from .robots import FILES, ROOT
from .ros import PATIENCE, domain, environment

ROS2 = shutil.which('ros2') or ''
pytestmark = pytest.mark.skipif(not ROS2, reason='ros2 is not installed (it is not on PyPI)')
RSP, RVIZ = 'robot_state_publisher', 'rviz2'
STAND_IN = """#!/usr/bin/env python3
import pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
given = [open(word).read() if before == '--params-file' else word for before, word in zip(sys.argv, sys.argv[1:])]
pathlib.Path(__file__).with_suffix('.given').write_text(' '.join(given))
signal.sigwait([signal.SIGINT])
"""


@pytest.fixture(scope='module')
def installed() -> Path:
    """Return where this package is installed, for `ros2` to find it."""
    prefix = subprocess.run([ROS2, 'pkg', 'prefix', 'krang_dynamics_ros'], capture_output=True, text=True, check=False)
    if prefix.returncode:
        pytest.skip('krang_dynamics_ros is not installed where ros2 looks: colcon build, and source install/setup.bash')
    return Path(prefix.stdout.strip())


def stand_in(folder: Path, name: str) -> Path:
    """Make a package of one executable that writes down what it is given; return its prefix."""
    prefix = folder / name
    executable = prefix / 'lib' / name / name
    marker = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / name
    for path in (executable, marker):
        path.parent.mkdir(parents=True)
        path.write_text(STAND_IN.format(name=name))
    executable.chmod(0o755)
    return prefix


def given(folder: Path, name: str) -> str:
    """Return what a stand-in was given, nothing if it does not run."""
    note = folder / name / 'lib' / name / f'{name}.given'
    return note.read_text() if note.exists() else ''


def processes(number: int) -> list[int]:
    """Return the processes of a ROS domain."""
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        with suppress(OSError):
            if f'ROS_DOMAIN_ID={number}\0' in (folder / 'environ').read_text() + '\0':
                found.append(int(folder.name))
    return found


def wait(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.1)


@dataclass
class Launched:
    code: int
    output: str
    left: int  # processes that were still there when launch had ended


def launch(folder: Path, installed: Path, there: Sequence[str], words: str, said: Sequence[str] = ()) -> Launched:
    """Run `ros2 launch` where of the two other packages those are `there`; if it goes on, Ctrl-C once all is `said`."""

    def started() -> bool:
        return bool(said) and all(x in log.read_text() for x in said) and all(given(folder, name) for name in there)

    prefixes = [installed, *(stand_in(folder, name) for name in there)]
    log = folder / 'output'
    with domain() as number, log.open('w') as output:
        process = subprocess.Popen(
            [ROS2, 'launch', 'krang_dynamics_ros', *words.split()],
            env=environment(number) | {'AMENT_PREFIX_PATH': ':'.join(map(str, prefixes))},
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            wait(lambda: process.poll() is not None or started(), log.read_text)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            process.wait(PATIENCE)
            return Launched(process.returncode, log.read_text(), len(processes(number)))
        finally:
            for left in processes(number):
                os.kill(left, signal.SIGKILL)


def test_node_state_publisher_and_rviz_start_with_one_robot_and_end_with_ctrl_c(
    tmp_path: Path, installed: Path
) -> None:
    params = tmp_path / 'params.yaml'
    params.write_text(f'/**: {{ros__parameters: {{robot_file: {FILES["arm_2r"]}}}}}')
    words = f'dynamics.launch.py rviz:=true namespace:=left params_file:={params}'
    said = ('arm_2r: 2 joints; waiting for /left/joint_states',)
    done = launch(tmp_path, installed, (RSP, RVIZ), words, said)
    assert (done.code, done.left) == (0, 0), done.output
    assert done.output.count('process has finished cleanly') == 3, done.output
    assert 'arm_2r' in given(tmp_path, RSP)
    assert ' -f base ' in given(tmp_path, RVIZ)
    assert 'Traceback' not in done.output


@pytest.mark.parametrize('namespace', ['', 'left', '/left/arm'])
def test_the_log_level_holds_in_every_namespace(namespace: str, tmp_path: Path, installed: Path) -> None:
    params = tmp_path / 'params.yaml'
    params.write_text('/**: {ros__parameters: {no_such_parameter: 1}}')
    words = f'dynamics.launch.py params_file:={params} log_level:=warn'
    words += f' namespace:={namespace}' if namespace else ''
    done = launch(tmp_path, installed, (RSP,), words, ('no_such_parameter',))
    assert (done.code, done.left) == (0, 0), done.output
    logger = '.'.join([*namespace.strip('/').split('/'), 'krang_dynamics']).lstrip('.')
    assert re.search(rf'\[WARN\] .*\[{logger}\]: .*no_such_parameter', done.output), done.output
    assert not re.search(r'\[INFO\] .*krang_dynamics\]', done.output), done.output


def test_a_robot_that_comes_by_topic_has_its_own_state_publisher(tmp_path: Path, installed: Path) -> None:
    words = 'dynamics.launch.py rviz:=true namespace:=left robot_description_topic:=arm/description'
    done = launch(tmp_path, installed, (RVIZ,), words, ('waiting for the robot, its URDF on /left/arm/description',))
    assert (done.code, done.left) == (0, 0), done.output
    assert done.output.count('process has finished cleanly') == 2, done.output
    assert '/robot_description:=arm/description' in given(tmp_path, RVIZ)
    assert ' -f ' not in given(tmp_path, RVIZ)


def test_the_demo_starts_simulator_node_and_page(tmp_path: Path, installed: Path) -> None:
    said = ('receiving torques', 'open http://127.0.0.1:8290')
    done = launch(tmp_path, installed, (RSP,), 'demo.launch.py port:=8290 use_sim_time:=true', said)
    assert (done.code, done.left) == (0, 0), done.output
    assert re.search(r'\[viewer_node-\d+\] .*open http', done.output), done.output
    assert done.output.count('process has finished cleanly') == 4, done.output


@pytest.mark.parametrize(
    ('there', 'words', 'reason'),
    [
        ((RVIZ,), 'dynamics.launch.py rviz:=true', f"package '{RSP}' not found"),
        ((RSP,), 'dynamics.launch.py rviz:=true', f"package '{RVIZ}' not found"),
        ((RVIZ,), 'demo.launch.py', f"package '{RSP}' not found"),
        ((RSP, RVIZ), 'guiding.launch.py', "package 'joy' not found"),
        ((RSP, RVIZ), 'guiding.launch.py params_file:=nowhere.yaml', "'nowhere.yaml', must be a file"),
        ((RSP, RVIZ), 'guiding.launch.py button:=x', "button: 'x', must be a whole number"),
        ((RSP, RVIZ), 'dynamics.launch.py robot_file:=nowhere.yaml', 'nowhere.yaml'),
        ((RSP, RVIZ), 'demo.launch.py robot_file:=nowhere.yaml', 'nowhere.yaml'),
        ((RSP, RVIZ), 'demo.launch.py robot_description_topic:=/arm', 'the simulator wants robot_file'),
        ((RSP, RVIZ), 'demo.launch.py port:=http', "port: 'http', must be a whole number"),
        ((RSP, RVIZ), 'demo.launch.py port:=0', "port: '0', must be a whole number from 1 to 65535"),
        ((RSP, RVIZ), 'demo.launch.py port:=99999', "port: '99999', must be a whole number from 1 to 65535"),
        ((RSP, RVIZ), f'dynamics.launch.py params_file:={ROOT}/CITATION.cff', 'must be a mapping'),
        ((RSP, RVIZ), 'dynamics.launch.py params_file:=nowhere.yaml', "'nowhere.yaml', must be a file"),
    ],
)
def test_a_launch_that_fails_starts_nothing(
    there: tuple[str, ...], words: str, reason: str, tmp_path: Path, installed: Path
) -> None:
    done = launch(tmp_path, installed, there, words)
    assert (done.code, done.left) == (1, 0), done.output
    assert reason in done.output
    assert 'process started' not in done.output


def test_a_node_that_refuses_its_parameters_takes_the_others_with_it(tmp_path: Path, installed: Path) -> None:
    params = tmp_path / 'params.yaml'
    params.write_text('/**: {ros__parameters: {state_timeout: -1.0}}')
    done = launch(tmp_path, installed, (RSP,), f'dynamics.launch.py params_file:={params}')
    assert done.left == 0, done.output
    assert 'state_timeout' in done.output


def test_the_arguments_are_described_and_meant(installed: Path) -> None:
    for name, params_file in (('dynamics', 'dynamics.yaml'), ('demo', 'demo.yaml')):
        words = [ROS2, 'launch', 'krang_dynamics_ros', f'{name}.launch.py', '--show-args']
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        arguments = dict(re.findall(r"^    '(\w+)':\n((?:        .*\n)+)", shown, re.MULTILINE))
        own = {'dynamics': 'robot_description_topic', 'demo': 'port'}[name]
        shared = {'robot_file', 'params_file', 'namespace', 'use_sim_time', 'rviz', 'log_level'}
        assert set(arguments) == {own, *shared}
        assert params_file in arguments['params_file']
        assert 'no description given' not in shown
