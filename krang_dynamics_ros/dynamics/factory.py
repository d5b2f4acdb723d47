"""Creation of `Dynamics` from robots, robot files and URDFs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ArgumentError, Fault, unknown_name
from ..robot.adapted import Adaptation
from ..robot.robot import Description, Robot
from ..robot.robot_file import load_description
from ..robot.urdf_reader import read_description
from ..robot.urdf_writer import urdf_text
from .dynamics import Dynamics

PINOCCHIO, COMPILED = 'pinocchio', 'compiled'
BACKENDS = {PINOCCHIO: 'Pinocchio', COMPILED: 'compiled C'}  # titles in reports, by name


def dynamics_of(robot: Robot, urdf: str | None = None, backend: str = PINOCCHIO) -> Dynamics:
    """Return the dynamics of a robot.

    Args:
        robot: the robot; also the source of gravity, rotor inertia, friction and the order of the joints.
        urdf: another URDF of the same robot, for comparisons; by default the URDF that is written from `robot`.
        backend: `pinocchio`, or `compiled`: C code of this robot, built on first use (needs CasADi and a C compiler).

    Returns:
        A `Dynamics`.

    Raises:
        ArgumentError: the backend is unknown, or `compiled` is combined with a URDF.
        DescriptionError: the URDF has faults.
        MissingError: `compiled` lacks CasADi or a C compiler.
        BuildError: the C code cannot be built or loaded.

    Example:
        >>> dynamics = dynamics_of(load_robot('arm.urdf'))
        >>> dynamics.Q(dynamics.vector({'elbow': 1.2}))
    """
    if backend not in BACKENDS:
        raise unknown_name('backend', backend, BACKENDS)
    rotors = dict(zip(robot.joint_names, robot.rotor_inertia.tolist(), strict=True))
    arguments: dict[str, Any] = {'gravity': robot.gravity, 'joint_names': robot.joint_names, 'rotor_inertia': rotors}
    dynamics = _dynamics(robot, urdf, backend, arguments)
    dynamics.friction.set_coefficients(robot.moving_joints)
    dynamics.springs_and_couplings.set_coefficients(robot)
    dynamics.effort_offset = [joint.motor.effort_offset for joint in robot.moving_joints]
    return dynamics


def _dynamics(robot: Robot, urdf: str | None, backend: str, arguments: dict[str, Any]) -> Dynamics:
    if backend == PINOCCHIO:  # from the URDF text: nodes publish it, so its readers have the same model
        return Dynamics(urdf_text(robot) if urdf is None else urdf, **arguments)
    if urdf is not None:
        raise ArgumentError("backend 'compiled' is built from the robot file, must be 'pinocchio' with a URDF")
    from .compiled import CompiledDynamics  # noqa: PLC0415 (it loads all exporters)

    return CompiledDynamics(robot, urdf_text(robot), **arguments)


@dataclass(frozen=True)
class Model:
    """The model that a node uses: the robot, its dynamics, its URDF, and warnings."""

    robot: Robot
    dynamics: Dynamics
    urdf: str
    warnings: tuple[Fault, ...] = ()

    @property
    def end_effectors(self) -> dict[str, str]:
        """Links of the hands by name, from the robot file; a URDF has none."""
        return self.robot.end_effectors


def load_model(
    robot_file: str | Path = '',
    robot_description: str = '',
    backend: str = PINOCCHIO,
    base_link: str = '',
    strict_description: bool = False,
    **adaptation: Any,
) -> Model:
    """Return the model of a robot file, a URDF or xacro file, or a URDF text, by default of Krang.

    `adaptation` are parameters of `robot.adapted.SPECS`: differences between the URDF and the real arm.
    """
    adapted = Adaptation.of(adaptation)
    if robot_file and robot_description:
        raise ArgumentError(f"robot_file '{robot_file}' and robot_description are both given, must be only one of them")
    if robot_description and backend != PINOCCHIO:
        raise ArgumentError(f"backend '{backend}' needs a robot file, must be 'pinocchio' for a robot_description")
    if robot_description:
        description = read_description(robot_description, base_link=base_link, strict=strict_description)
    else:
        description = load_description(robot_file, base_link=base_link, strict=strict_description)
    return model_of(adapted.of_description(description), backend)


def model_of(description: Description, backend: str = PINOCCHIO) -> Model:
    """Return the model of a description."""
    dynamics = dynamics_of(description.robot, backend=backend)
    return Model(description.robot, dynamics, description.urdf, (*description.warnings, *dynamics.warnings))
