"""The dynamics of Golem Krang, a wheeled two-armed humanoid: every torque term apart, by name, and proven.

    from krang_dynamics_ros import dynamics_of, krang
    robot = krang()
    dynamics = dynamics_of(robot)
    dict(zip(robot.joint_names, dynamics.Q(q)))  # what holds it up, by joint

No ROS in here: the nodes alone import rclpy.
"""

from .dynamics import Dynamics
from .errors import KrangDynamicsError
from .lagrangian import Lagrangian
from .model import dynamics_of
from .newton_euler import NewtonEuler
from .robot import Robot
from .robot_file import load_robot
from .urdf import urdf_text
from .wrench import Wrench

__all__ = [
    'Dynamics',
    'KrangDynamicsError',
    'Lagrangian',
    'NewtonEuler',
    'Robot',
    'Wrench',
    'dynamics_of',
    'krang',
    'load_robot',
    'urdf_text',
]


def krang() -> Robot:
    """Return Golem Krang on fixed wheels, from config/krang.yaml."""
    return load_robot()
