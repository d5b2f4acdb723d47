"""An example of your own node on the torques: it logs once a second which joint of Krang is nearest to its limit.

make run, and in another terminal:  .venv/bin/python examples/hardest_joint_node.py
"""

from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState

from krang_dynamics_ros import krang


class HardestJoint(Node):
    """Subscribes to `torque/total` and logs the latest message."""

    def __init__(self) -> None:
        super().__init__('hardest_joint')
        self.limits = {joint.name: joint.limits.effort for joint in krang().moving_joints if joint.limits}
        self.shares: dict[str, float] = {}
        self.create_subscription(JointState, 'torque/total', self.on_torque, 1)
        self.create_timer(1.0, self.say)

    def on_torque(self, message: JointState) -> None:
        """Torques come by name, in the order of the robot file."""
        named = zip(message.name, message.effort, strict=True)
        self.shares = {name: abs(torque) / self.limits[name] for name, torque in named if name in self.limits}

    def say(self) -> None:
        """Log the largest share; each torque is logged once only."""
        if self.shares:
            name = max(self.shares, key=self.shares.__getitem__)
            self.get_logger().info(f'{name} gives {self.shares[name]:.0%} of its limit')
        else:
            self.get_logger().info('no torque')
        self.shares = {}


if __name__ == '__main__':
    rclpy.init()
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(HardestJoint())
