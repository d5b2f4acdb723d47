"""A node ends when it is told to: while it imports, while something waits for ever, however busy the machine is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from krang_dynamics_ros.core.process_start import runs_module_of
from krang_dynamics_ros.nodes.run import late_interrupt

from ..marks import slow_but
from ..robots import ROOT
from ..ros import PATIENCE, domain, environment

STUCK = {
    'in a callback': 'threading.Event().wait()',
    'within a library': 'while True: ctypes.CDLL(None).sleep(1000)',
    'at the end, for a thread': 'threading.Thread(target=threading.Event().wait).start(); timer.cancel()',
}
NODE = """
import ctypes, sys, threading
from rclpy.node import Node
from krang_dynamics_ros.nodes.run import run

class Stuck(Node):
    def __init__(self):
        super().__init__('stuck')
        self.timer = self.create_timer(0.01, self.wait)

    def wait(self):
        timer = self.timer
        print('here', flush=True)
        {wait}

sys.exit(run(Stuck))
"""


@pytest.mark.parametrize('where', slow_but(['in a callback'], STUCK))
@pytest.mark.parametrize('which', slow_but([signal.SIGINT], [signal.SIGINT, signal.SIGHUP]))
def test_a_node_that_waits_for_ever_ends_and_says_where_it_waited(where: str, which: int) -> None:
    with domain() as number:
        command = [sys.executable, '-c', NODE.format(wait=STUCK[where])]
        with subprocess.Popen(
            command, env=environment(number), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == 'here\n'
            process.send_signal(which)
            _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert 'still waiting here' in errors
    assert 'Thread' in errors
    assert 'Traceback' not in errors


SENDER = """
import ctypes, json, sys
from rclpy.node import Node
from krang_dynamics_ros.nodes.dynamics import command_sender

def stuck(node):
    while True:
        ctypes.CDLL(None).sleep(1000)

Node.destroy_node = stuck
command_sender.END_TIMEOUT = 1
config = command_sender.Config('sender', '/', '/effort_commands', 2, 1, 1, 1, 2, [])
sys.exit(command_sender.main([json.dumps(config)]))
"""


def test_a_sender_of_commands_that_waits_for_ever_at_its_end_is_ended() -> None:
    """It holds the terminal of the node, so honcho and launch would wait for it."""
    with domain() as number:
        command = [sys.executable, '-c', SENDER]
        ended = subprocess.run(
            command, env=environment(number), cwd=ROOT, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False
        )
    assert ended.returncode == -signal.SIGALRM


def catches(process: subprocess.Popen[bytes], which: int) -> bool:
    """Whether a process has a handler of its own for a signal."""
    status = Path(f'/proc/{process.pid}/status').read_text()
    return bool(int(status.split('SigCgt:')[1].split()[0], 16) >> (which - 1) & 1)


WAYS = {
    'module': ('-m', 'krang_dynamics_ros.nodes.viewer_node'),
    'krang': ('-m', 'krang_dynamics_ros', 'viewer_node'),
    'script': ('scripts/viewer_node',),
}


@pytest.mark.parametrize(
    ('way', 'delay'), [('module', 0.0), ('module', 0.15), ('module', 0.5), ('krang', 0), ('script', 0)]
)
def test_ctrl_c_while_it_imports_is_no_traceback(way: str, delay: float) -> None:
    """What comes before the package's own first line is Python's."""
    with domain() as number:
        command = [sys.executable, *WAYS[way], '--ros-args', '-p', f'port:={8200 + number}']
        process = subprocess.Popen(
            command,
            env=environment(number) | {'PYTHONPATH': str(ROOT)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not catches(process, signal.SIGTERM):
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(delay)  # wherever it is by then
        process.send_signal(signal.SIGINT)
        said = b''.join(process.communicate(timeout=PATIENCE)).decode()
    assert 'Traceback' not in said
    assert process.returncode == 0, said


def test_a_simulator_that_looks_for_another_robot_ends_at_once() -> None:
    with domain() as number:
        command = [sys.executable, '-m', 'krang_dynamics_ros.nodes.simulator_node']
        with subprocess.Popen(
            command, env=environment(number), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            assert 'checking for' in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert 'still waiting here' not in errors


@pytest.mark.parametrize(
    'words',
    slow_but(
        [['dynamics_node']], [['dynamics_node'], ['-m', 'krang_dynamics_ros.nodes.viewer_node'], ['a', 'b/viewer_node']]
    ),
)
def test_a_program_that_imports_the_package_keeps_its_signals(tmp_path: Path, words: list[str]) -> None:
    """Whatever its arguments are."""
    program = tmp_path / 'program.py'
    program.write_text(
        'import signal\n'
        'before = [signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)]\n'
        'from krang_dynamics_ros import krang\nimport krang_dynamics_ros.nodes.dynamics_node\nkrang()\n'
        'print(before == [signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)])\n'
    )
    for command in ([str(program)], ['-m', 'program']):
        line, where = [sys.executable, *command, *words], os.environ | {'PYTHONPATH': f'{ROOT}:{tmp_path}'}
        assert subprocess.run(line, cwd=tmp_path, env=where, capture_output=True, check=True).stdout == b'True\n'


@pytest.mark.parametrize(
    ('line', 'known', 'expected'),
    [
        ('python -m krang_dynamics_ros.nodes.viewer_node --ros-args', '-m --ros-args', True),
        ('python -X dev -m krang_dynamics_ros.nodes.viewer_node', '-m', True),
        ('python -m krang_dynamics_ros check', '-m check', False),
        ('python -m pytest krang_dynamics_ros.nodes.viewer_node', '-m krang_dynamics_ros.nodes.viewer_node', False),
        ('python x.py -m krang_dynamics_ros.nodes.viewer_node', 'x.py -m krang_dynamics_ros.nodes.viewer_node', False),
        ('python', '', False),
    ],
)
def test_only_python_dash_m_with_a_node_is_taken_for_one(line: str, known: str, expected: bool) -> None:
    assert runs_module_of('krang_dynamics_ros.nodes', line.split(), known.split()) == expected


def test_an_interrupt_within_a_block_comes_at_its_end() -> None:
    done, before = [], signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), late_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        done.append('the rest of the block')
    assert done
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with late_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
