"""Adaptation of a URDF to the real arm: joint names, fixed joints, effort limits.

A URDF often describes the type of an arm: its joints lack the driver's prefix, it has fingers that the driver does not
report, its effort limits are missing. The four parameters in `SPECS` say so, to every node and in an arm file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import ArgumentError, unknown_name
from ..core.parameters import NONE, ParameterSpec, named
from ..core.spatial import Array, frozen, hat
from .mimic import Mimic
from .robot import Description, Joint, Limits, Robot
from .urdf_writer import urdf_text

SPECS = (
    ParameterSpec('joint_prefix', '', 'prefix that the names in `joint_states` have, and those of the URDF do not'),
    ParameterSpec(
        'joint_names', NONE, 'joints that have another name in `joint_states` than in the URDF, as urdf_name=name; '
        'all other parameters and all outputs have the name of `joint_states`', distinct=True,
    ),
    ParameterSpec(
        'fixed_joints', NONE, 'moving joints of the URDF that `joint_states` does not contain, as joint=position (rad '
        'or m)', distinct=True,
    ),
    ParameterSpec(
        'effort_limits', NONE, 'effort limits of joints for which the URDF has none or a larger one, as joint=limit '
        '(N m or N)', distinct=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Adaptation:
    """Differences between a URDF and the real arm. Joints have their names in `joint_states`."""

    prefix: str = ''
    names: tuple[tuple[str, str], ...] = ()  # (name in the URDF, name in joint_states)
    fixed: tuple[tuple[str, float], ...] = ()  # (joint, position in rad or m)
    effort_limits: tuple[tuple[str, float], ...] = ()  # (joint, N m or N)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Adaptation:
        """Read the parameters of `SPECS`; missing parameters change nothing."""
        for spec in SPECS:
            spec.check(values.get(spec.name, spec.default))
        return cls(
            values.get('joint_prefix', ''),
            tuple(_pairs('joint_names', values)),
            tuple((name, _number('fixed_joints', name, text)) for name, text in _pairs('fixed_joints', values)),
            tuple((name, _number('effort_limits', name, text)) for name, text in _pairs('effort_limits', values)),
        )

    def __bool__(self) -> bool:
        return self != NO_ADAPTATION

    def of_description(self, description: Description) -> Description:
        """Return the description of the real arm; the same object if nothing differs."""
        if not self:
            return description
        robot = self.of_robot(description.robot)
        return Description(robot, urdf_text(robot), description.warnings)

    def of_robot(self, robot: Robot) -> Robot:
        """Return the robot of the real arm."""
        return _limited(_fixed(_renamed(robot, self.prefix, dict(self.names)), dict(self.fixed)), self.effort_limits)


NO_ADAPTATION = Adaptation()


def _pairs(parameter: str, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    for text in named(values.get(parameter, NONE)):
        name, equals, value = text.partition('=')
        if not (equals and name.strip() and value.strip()):
            left, right = ('urdf_name', 'name') if parameter == 'joint_names' else ('joint', 'number')
            raise ArgumentError(f"{parameter}: '{text}', must be {left}={right}")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _number(parameter: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(f"{parameter}: '{name}={text}', must be joint=number, and finite")
    return value


def _renamed(robot: Robot, prefix: str, names: Mapping[str, str]) -> Robot:
    """Return the robot with the arm's joint names; joints that already have these names keep them."""
    moving = [joint.name for joint in robot.joints if joint.moves]
    for name, other in names.items():
        if name not in moving and other not in moving:
            raise unknown_name('joint_names: joint', name, moving)
    new = {name: names.get(name, name if name in names.values() else _prefixed(name, prefix)) for name in moving}
    kept = [joint.name for joint in robot.joints if not joint.moves]
    if repeated := sorted(name for name in new.values() if [*new.values(), *kept].count(name) > 1):
        raise ArgumentError(f'joint_names: two joints would have the name {repeated[0]}, must have different names')
    return replace(
        robot,
        joints=tuple(_renamed_joint(joint, new) for joint in robot.joints),
        start={new[name]: q for name, q in robot.start.items()},
        couplings=tuple(
            replace(pair, joints=(new[pair.joints[0]], new[pair.joints[1]])) for pair in robot.couplings
        ),
    )  # fmt: skip


def _prefixed(name: str, prefix: str) -> str:
    return name if name.startswith(prefix) else prefix + name


def _renamed_joint(joint: Joint, new: Mapping[str, str]) -> Joint:
    mimic = joint.mimic and replace(joint.mimic, joint=new[joint.mimic.joint])
    return replace(joint, name=new.get(joint.name, joint.name), mimic=mimic)


def _fixed(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """Return the robot with these joints and their followers fixed at given positions (rad or m)."""
    for name in positions:
        if name not in robot.joint_names:
            raise unknown_name('fixed_joints: joint', name, robot.joint_names)
        if fault := robot.position_fault(name, positions[name]):
            raise ArgumentError(f'fixed_joints: {fault}')
    if len(positions) == robot.n and robot.n:
        raise ArgumentError('fixed_joints: all joints, must leave at least one moving joint')
    if not positions:
        return robot
    return replace(
        robot,
        joints=tuple(_fixed_joint(joint, robot.mimics, positions) for joint in robot.joints),
        start={name: q for name, q in robot.start.items() if name not in positions},
        couplings=tuple(pair for pair in robot.couplings if not set(pair.joints) & set(positions)),
    )


def _fixed_joint(joint: Joint, mimics: Mapping[str, Mimic], positions: Mapping[str, float]) -> Joint:
    if joint.name in positions:
        return fixed_at(joint, positions[joint.name])
    mimic = mimics.get(joint.name)
    if mimic is None or mimic.joint not in positions:
        return joint
    return fixed_at(joint, mimic.multiplier * positions[mimic.joint] + mimic.offset)


def fixed_at(joint: Joint, q: float) -> Joint:
    """Return a fixed joint in the pose that a moving joint has at q (rad or m)."""
    position, rotation = np.array(joint.position), np.array(joint.rotation)
    if joint.kind == 'prismatic':
        position = position + rotation @ joint.axis * q
    else:
        rotation = rotation @ _rotation_about(joint.axis, q)
    return replace(
        joint,
        kind='fixed',
        position=frozen(position),
        rotation=frozen(rotation),
        position_lengths=('', '', ''),
        mimic=None,
    )


def _rotation_about(axis: Array, angle: float) -> Array:
    """Return the rotation by an angle (rad) about a unit axis (3), by Rodrigues' formula."""
    S = hat(axis)
    return np.asarray(np.eye(3) + math.sin(angle) * S + (1 - math.cos(angle)) * S @ S)


def _limited(robot: Robot, limits: Sequence[tuple[str, float]]) -> Robot:
    """Return the robot with these effort limits (N m or N); they may not exceed those of the URDF."""
    new = dict(limits)
    for name, limit in new.items():
        if name not in robot.joint_names:
            raise unknown_name('effort_limits: joint', name, robot.joint_names)
        if not limit > 0:
            raise ArgumentError(f'effort_limits: {name}={limit:g}, must be positive')
    return replace(robot, joints=tuple(_with_limit(joint, new.get(joint.name)) for joint in robot.joints))


def _with_limit(joint: Joint, effort: float | None) -> Joint:
    if effort is None:
        return joint
    known = joint.limits or Limits(None, None)
    if known.effort and effort > known.effort:
        raise ArgumentError(f"effort_limits: {joint.name}={effort:g}, must not exceed the URDF's {known.effort:g}")
    return replace(joint, limits=replace(known, effort=effort))
