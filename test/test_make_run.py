"""`make run` as a user types it: three processes and a page start, and Ctrl-C ends them all."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from krang_dynamics_ros.cli import new_arm

from .robots import ROOT
from .ros import PATIENCE, domain, environment

pytestmark = pytest.mark.skipif(not (ROOT / '.venv' / 'runs').exists(), reason='not in the .venv that make makes')


def page(port: int) -> bool:
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


@pytest.mark.parametrize('robot', ['', 'ROBOT=config/textbook/arm_2r.yaml', 'ARM'])
def test_it_runs_prints_its_address_and_ends(robot: str, tmp_path: Path) -> None:
    if robot == 'ARM':
        file = tmp_path / 'my_arm.yaml'
        assert new_arm.main([str(ROOT / 'config/textbook/arm_2r.yaml'), '-o', str(file)]) == 0
        file.write_text(
            file.read_text().replace('joint_states_topic: joint_states', 'joint_states_topic: arm/joint_states')
        )
        robot = f'ARM={file}'
    with domain() as number, (tmp_path / 'output').open('w+') as output:
        port = 8300 + number
        process = subprocess.Popen(
            ['make', 'run', f'PORT={port}', *robot.split()],  # noqa: S607 (whatever make is there)
            cwd=ROOT, env=environment(number), stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            use_and_end(process, Path(output.name), number, port)
        finally:
            for left in running(number):
                os.kill(left, signal.SIGKILL)


def use_and_end(process: subprocess.Popen[bytes], output: Path, number: int, port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    said = ('receiving torques', f'open http://127.0.0.1:{port} in a browser')
    while not (page(port) and all(words in output.read_text() for words in said)):
        assert time.monotonic() < deadline, output.read_text()
        assert process.poll() is None, output.read_text()
        time.sleep(0.1)
    assert len(running(number)) > 3
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    process.wait(PATIENCE)
    assert not running(number)
    assert 'Traceback' not in output.read_text()
    assert 'rc=1' not in output.read_text()
