"""From a robot to its dynamics: the one place where the robot's data, its URDF and Pinocchio meet."""

from __future__ import annotations

from .dynamics import Dynamics
from .robot import Robot
from .urdf import urdf_text


def dynamics_of(robot: Robot, urdf: str | None = None) -> Dynamics:
    """Return a robot's dynamics by Pinocchio, from its generated URDF or from one that is held against it.

    What a URDF does not carry, gravity and rotor inertia, and the order of the joints come from the robot.
    """
    rotors = {joint.name: joint.motor.reflected_inertia for joint in robot.moving_joints}
    text = urdf_text(robot) if urdf is None else urdf
    return Dynamics(text, gravity=robot.gravity, joint_names=robot.joint_names, rotor_inertia=rotors)
