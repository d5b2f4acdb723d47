"""Two nodes that dynamics_node is compared with: each sends every JointState back.

By default as most nodes are written: messages, on rclpy's default executor. With `--raw`: bytes, on the events
executor, the least that a node in Python can do.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from krang_dynamics_ros.nodes.run import run


class Echo(Node):
    """Publishes each joint state again, with the same quality of service as dynamics_node."""

    def __init__(self, raw: bool) -> None:
        super().__init__('echo')
        publisher = self.create_publisher(JointState, 'torque/gravity', 1)
        best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(JointState, 'joint_states', publisher.publish, best_effort, raw=raw)


def main() -> None:
    """Run it. In `rclpy.spin` the events executor calls nothing and ignores signals, hence the package's own loop."""
    if '--raw' in sys.argv:
        sys.exit(run(partial(Echo, True)))
    rclpy.init()
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(Echo(False))


if __name__ == '__main__':
    main()
