"""How long it takes to begin: to import the library, and from a node's start to its first torque. The best of a few."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState

from krang_dynamics_ros import krang

from .process import ROOT, Running

ROUNDS = 5
PATIENCE = 60.0  # s: a node that has not begun by then never will


_IMPORT = """
import time
begin = time.perf_counter()
import krang_dynamics_ros
print(time.perf_counter() - begin)
"""


def import_library() -> float:
    """Return the seconds that a new Python takes to import the library."""
    done = subprocess.run([sys.executable, '-c', _IMPORT], cwd=ROOT, check=True, capture_output=True, text=True)
    return float(done.stdout)


def first_torque() -> float:
    """Return the seconds from the start of `dynamics_node` to its first torque, with states coming all the time."""
    client, torques = rclpy.create_node('bench'), list[JointState]()
    names = list(krang().joint_names)
    states = client.create_publisher(JointState, 'joint_states', 10)
    client.create_subscription(JointState, 'torque/gravity', torques.append, 1)
    begin = time.perf_counter()
    node = Running([sys.executable, '-m', 'krang_dynamics_ros.nodes.dynamics_node'])
    try:
        _until(client, torques, lambda: states.publish(JointState(name=names, position=np.zeros(len(names)))))
        return time.perf_counter() - begin
    finally:
        node.end()
        client.destroy_node()


def _until(client: Node, torques: list[JointState], publish: Callable[[], None]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not torques and time.monotonic() < deadline:
        publish()
        rclpy.spin_once(client, timeout_sec=0.01)
    if not torques:
        raise TimeoutError(f'no torque within {PATIENCE:g} s')


def main() -> None:
    """Print the table."""
    rclpy.init()
    for title, measure, goal in (
        ('import krang_dynamics_ros', import_library, 0.6),
        ('dynamics_node: first torque', first_torque, 2.0),
    ):
        print(f'{title:<32}{min(measure() for _ in range(ROUNDS)):>6.2f} s   goal {goal:g} s', flush=True)
    rclpy.shutdown()


if __name__ == '__main__':
    main()
