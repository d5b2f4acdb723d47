"""What `make run` takes: processor and memory of its three processes, and whether a state is lost on its way.

Open the page meanwhile, and it counts the page's work too. `--minutes 60` shows memory over an hour.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path

import rclpy
from rclpy.executors import Executor
from rclpy.experimental import EventsExecutor
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from .process import ROOT, Running, cpu_seconds, resident

STEP = 10.0  # s
CROWD = QoSProfile(depth=1000)


class LatestMessages:
    """Which states were sent, and which were answered, by stamp."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('bench')
        self.stamps: dict[str, set[int]] = {'joint_states': set(), 'torque/total': set()}
        for topic, stamps in self.stamps.items():
            self.node.create_subscription(JointState, topic, partial(_note, stamps), CROWD)

    def count(self) -> tuple[int, int]:
        """Return how many states came since the last time, and how many of them without an answer."""
        states, answers = self.stamps['joint_states'], self.stamps['torque/total']
        settled = {stamp for stamp in states if stamp < max(answers, default=0)}
        lost = len(settled - answers)
        states -= settled
        answers -= settled
        return len(settled), lost


def _note(stamps: set[int], message: JointState) -> None:
    stamps.add(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


def start(port: int) -> dict[str, Running]:
    """Start what the Procfile says."""
    bin_folder = str(Path(sys.executable).parent)
    environment = os.environ | {
        'PATH': f'{bin_folder}:{os.environ["PATH"]}', 'KRANG_PORT': str(port), 'KRANG_ROBOT': '',
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }  # fmt: skip
    lines = dict(line.split(': ', 1) for line in (ROOT / 'Procfile').read_text().splitlines())
    return {name: Running(['/bin/sh', '-c', line], environment) for name, line in lines.items()}


def watch(processes: dict[str, Running], minutes: float) -> None:
    """Print a line every ten seconds, and the sum at the end."""
    listener, executor = LatestMessages(), EventsExecutor()
    executor.add_node(listener.node)
    _spin(executor, 5.0)
    listener.count()
    begin = {name: cpu_seconds(process.pid) for name, process in processes.items()}
    since, states, lost = time.monotonic(), 0, 0
    print(
        f'{"minutes":>8}{"states":>9}{"lost":>6}' + ''.join(f'{name:>22}' for name in processes) + f'{"CPU in all":>13}'
    )
    while (passed := time.monotonic() - since) < minutes * 60:
        _spin(executor, STEP)
        more, gone = listener.count()
        states, lost, passed = states + more, lost + gone, time.monotonic() - since
        shares = {n: 100 * (cpu_seconds(p.pid) - begin[n]) / passed for n, p in processes.items()}
        each = ''.join(f'{shares[n]:>11.1f} % {resident(p.pid):>5.0f} MB' for n, p in processes.items())
        print(
            f'{passed / 60:>8.1f}{states:>9}{lost:>6}{states / passed:>5.0f} Hz{each}{sum(shares.values()):>11.1f} %',
            flush=True,
        )
    print('goals: none lost, at most 100 % of a core in all, memory that does not grow')


def _spin(executor: Executor, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        executor.spin_once(timeout_sec=left)


def main() -> None:
    """Start, watch, end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=0.5, help='how long to watch (default: 0.5)')
    parser.add_argument('--port', type=int, default=8080, help='of the page (default: 8080)')
    arguments = parser.parse_args()
    processes = start(arguments.port)
    rclpy.init()
    try:
        watch(processes, arguments.minutes)
    finally:
        for process in processes.values():
            process.end()
        rclpy.shutdown()


if __name__ == '__main__':
    main()
