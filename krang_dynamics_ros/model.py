"""From a robot to its dynamics: the one place where the robot's data, its URDF and Pinocchio meet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .dynamics import Dynamics
from .errors import ArgumentError
from .robot import Robot
from .robot_file import load_robot
from .urdf import urdf_text


def dynamics_of(robot: Robot, urdf: str | None = None) -> Dynamics:
    """Return a robot's dynamics by Pinocchio, from its generated URDF or from one that is held against it.

    What a URDF does not carry, gravity and rotor inertia, and the order of the joints come from the robot.
    """
    rotors = {joint.name: joint.motor.reflected_inertia for joint in robot.moving_joints}
    text = urdf_text(robot) if urdf is None else urdf
    return Dynamics(text, gravity=robot.gravity, joint_names=robot.joint_names, rotor_inertia=rotors)


def load_urdf(robot_file: str | Path = '') -> str:
    """Return the URDF of a robot file; of Krang if none is given."""
    return urdf_text(load_robot(robot_file))


@dataclass(frozen=True)
class Model:
    """What a node runs on: the dynamics, the URDF they came from, and the hands by name."""

    dynamics: Dynamics
    urdf: str
    end_effectors: dict[str, str]


def load_model(robot_file: str | Path = '', robot_description: str = '') -> Model:
    """Return the model of a robot file or of a URDF text; of Krang if neither is given."""
    if robot_file and robot_description:
        raise ArgumentError(f"robot_file '{robot_file}' and robot_description are both given, must be one of the two")
    if robot_description:
        return Model(Dynamics(robot_description), robot_description, {})
    robot = load_robot(robot_file)
    text = urdf_text(robot)
    return Model(dynamics_of(robot, text), text, robot.end_effectors)
