"""Joint torques of a robot arm: gravity, Coriolis, friction and hand wrenches, each by joint name.

    from krang_dynamics_ros import dynamics_of, load_robot

    robot = load_robot('arm.urdf')
    dynamics = dynamics_of(robot)
    dict(zip(robot.joint_names, dynamics.Q(q)))  # N m by joint: the torque that holds the robot up

What `__all__` names is public; everything else may change. No ROS is needed: only the nodes import rclpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.base_motion import BaseMotion
    from .core.errors import KrangDynamicsError
    from .core.inertia import Inertia
    from .core.wrench import Wrench
    from .dynamics.dynamics import Dynamics
    from .dynamics.factory import dynamics_of
    from .dynamics.feed_forward import FeedForward
    from .dynamics.trajectory import Trajectory
    from .equations.lagrangian import Lagrangian
    from .equations.newton_euler import NewtonEuler
    from .recordings.trajectory_file import read_trajectory, write_trajectory
    from .robot.robot import Robot
    from .robot.robot_file import load_robot
    from .robot.urdf_writer import urdf_text

_MODULES = {  # imported on first use: a process that only sends commands needs none of them
    'BaseMotion': 'core.base_motion',
    'Dynamics': 'dynamics.dynamics',
    'FeedForward': 'dynamics.feed_forward',
    'Inertia': 'core.inertia',
    'KrangDynamicsError': 'core.errors',
    'Lagrangian': 'equations.lagrangian',
    'NewtonEuler': 'equations.newton_euler',
    'Robot': 'robot.robot',
    'Trajectory': 'dynamics.trajectory',
    'Wrench': 'core.wrench',
    'dynamics_of': 'dynamics.factory',
    'load_robot': 'robot.robot_file',
    'read_trajectory': 'recordings.trajectory_file',
    'urdf_text': 'robot.urdf_writer',
    'write_trajectory': 'recordings.trajectory_file',
}

__all__ = [
    'BaseMotion',
    'Dynamics',
    'FeedForward',
    'Inertia',
    'KrangDynamicsError',
    'Lagrangian',
    'NewtonEuler',
    'Robot',
    'Trajectory',
    'Wrench',
    'dynamics_of',
    'krang',
    'load_robot',
    'read_trajectory',
    'urdf_text',
    'write_trajectory',
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f'.{_MODULES[name]}', __name__), name)
    return value


def krang() -> Robot:
    """Return the `Robot` Golem Krang, with its wheels fixed, from config/krang.yaml: 17 joints, two hands."""
    from .robot.robot_file import load_robot  # noqa: PLC0415 (on first use, as all else)

    return load_robot()
