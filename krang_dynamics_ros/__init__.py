"""The dynamics of Golem Krang, a wheeled two-armed humanoid: every torque term apart, by name, and proven.

    from krang_dynamics_ros import dynamics_of, krang

    robot = krang()
    dynamics = dynamics_of(robot)
    dict(zip(robot.joint_names, dynamics.Q(q)))  # what holds it up, by joint

No ROS in here: the nodes alone import rclpy.
"""

from .core import process_start  # noqa: F401 (before all that takes its time)
from .core.errors import KrangDynamicsError
from .core.inertia import Inertia
from .core.wrench import Wrench
from .dynamics.dynamics import Dynamics
from .dynamics.factory import dynamics_of
from .equations.lagrangian import Lagrangian
from .equations.newton_euler import NewtonEuler
from .robot.robot import Robot
from .robot.robot_file import load_robot
from .robot.urdf_writer import urdf_text

__all__ = [
    'Dynamics',
    'Inertia',
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
