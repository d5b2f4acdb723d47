"""Known arms, recognized by the names of their joints: `config/robots/` has what their usual drivers do."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from .robot import Joint, Robot


@dataclass(frozen=True)
class KnownArm:
    """Arm with a file in `config/robots/`: the topics, efforts and firmware of its usual ROS 2 driver."""

    name: str
    file: str  # without folder and .yaml
    joints: str  # regular expression that the names of six joints match, at their end
    robot: str = ''  # regular expression of the robot's name, if the joints' names are not specific
    unreported: str = ''  # regular expression of joints that the joint states do not contain


KNOWN = (
    KnownArm(
        'Franka FER or FR3 (franka_ros2)', 'franka_fr3', r'(panda|fer|fr3)_joint[1-7]', unreported='.*finger.*'
    ),
    KnownArm(
        'Universal Robots (Universal_Robots_ROS2_Driver)', 'universal_robots',
        r'(shoulder_pan|shoulder_lift|elbow|wrist_[123])_joint',
    ),
    KnownArm('KUKA LBR (lbr_fri_ros2_stack)', 'kuka_lbr_fri_stack', r'lbr_A[1-7]'),
    KnownArm(
        'KUKA LBR (kuka_drivers, iiwa_ros2)', 'kuka_lbr_iiwa14', r'joint_a?[1-7]', robot=r'(?i)lbr|iiwa|med'
    ),
    KnownArm('Kinova Gen3 (ros2_kortex)', 'kinova_gen3', r'joint_[1-7]', robot=r'(?i)gen3|kortex'),
    KnownArm('OpenArm (openarm_ros2)', 'openarm', r'openarm_(left_|right_)?joint[1-7]'),
    KnownArm('UFACTORY xArm', 'ufactory_xarm7', r'joint[1-7]', robot=r'(?i)xarm|ufactory|lite6|uf850|uf_robot'),
)  # fmt: skip
UNKNOWN = KnownArm('', '', '')
MIN_JOINTS = 6  # joints that must match, after the same prefix


def known_arm(robot: Robot) -> KnownArm:
    """Return the known arm with the joint names of a robot, or `UNKNOWN`."""
    for arm in KNOWN:
        pattern = re.compile(f'((?:.*[^a-zA-Z])?){arm.joints}')
        prefixes = Counter(match[1] for name in robot.joint_names if (match := pattern.fullmatch(name)))
        if max(prefixes.values(), default=0) >= MIN_JOINTS and re.search(arm.robot, robot.name):
            return arm
    return UNKNOWN


def unreported_joints(robot: Robot) -> tuple[tuple[str, float], ...]:
    """Return the joints that the driver of a known arm does not report, each with the middle of its range."""
    pattern = known_arm(robot).unreported
    return tuple((joint.name, middle(joint)) for joint in robot.moving_joints if re.fullmatch(pattern, joint.name))


def middle(joint: Joint) -> float:
    """Return the middle of a joint's range (rad or m), to four decimals; zero if it has none."""
    limits = joint.limits
    if limits is None or limits.lower is None or limits.upper is None:
        return 0.0
    return round((limits.lower + limits.upper) / 2, 4)
