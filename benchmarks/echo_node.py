"""What the node is measured against: an rclpy node that sends every JointState back, on rclpy's default executor."""

from __future__ import annotations

from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState


class Echo(Node):
    """Publishes what it hears, with the same quality of service as dynamics_node."""

    def __init__(self) -> None:
        super().__init__('echo')
        publisher = self.create_publisher(JointState, 'torque/gravity', 1)
        best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(JointState, 'joint_states', publisher.publish, best_effort)


def main() -> None:
    """Run it."""
    rclpy.init()
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(Echo())


if __name__ == '__main__':
    main()
