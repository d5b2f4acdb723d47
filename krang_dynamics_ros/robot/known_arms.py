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
    """Return the middle of a joint's range (rad or m), to a tenth of a milliradian; zero if it has none."""
    limits = joint.limits
    if limits is None or limits.lower is None or limits.upper is None:
        return 0.0
    return round((limits.lower + limits.upper) / 2, 4)


TOOL_FRAMES = ('tcp', 'tool0', 'tool', 'ee_link', 'end_effector', 'eef', 'ee', 'flange', 'hand', 'palm', 'gripper')
MAX_FINGER_JOINTS = 8  # human-like fingers have four, and as many followers
MIN_JOINTS_ABOVE = 4  # moving joints above a hand; with fewer, its branches are arms


def hand_links(robot: Robot) -> list[str]:
    """Return the links at the ends of the arms, the most likely hand first; fingers do not count as arms."""
    ends = [_hand_of(robot, link) for link in robot.hands.values()]
    moved = {link: sum(joint.moves for joint in robot.chain(link)) for link in dict.fromkeys(ends)}
    return sorted((link for link in moved if moved[link]), key=lambda link: (-moved[link], _frame_rank(link), link))


def finger_joints(robot: Robot) -> dict[str, list[str]]:
    """Return the moving joints of the fingers, by the link of their hand."""
    found: dict[str, dict[str, None]] = {}
    for end in robot.hands.values():
        hand, chain = _hand_of(robot, end), robot.chain(end)
        if hand != end:
            first = next(k for k, joint in enumerate(chain) if joint.parent == hand)
            moving = [joint.name for joint in chain[first:] if joint.name in robot.joint_names]
            found.setdefault(hand, {}).update(dict.fromkeys(moving))
    return {hand: [*names] for hand, names in found.items() if names}


def _frame_rank(link: str) -> int:
    """Return the rank of a link's name among the usual names of tool frames."""
    lower = link.lower()
    return next((k for k, part in enumerate(TOOL_FRAMES) if part in lower), len(TOOL_FRAMES))


def _hand_of(robot: Robot, end: str) -> str:
    """Return the link that carries the fingers if `end` is the end of a finger, else `end`."""
    chain = robot.chain(end)
    for k, joint in enumerate(chain):
        above = sum(other.moves for other in chain[:k])
        if above >= MIN_JOINTS_ABOVE and _branches(robot, joint.parent) > 1:
            beyond = sum(other.moves for other in chain[k:])
            if 0 < beyond <= MAX_FINGER_JOINTS:
                return joint.parent
    return end


def _branches(robot: Robot, link: str) -> int:
    """Return the number of joints on a link below which something moves."""
    carried = {joint.parent: [] for joint in robot.joints}  # type: dict[str, list[str]]
    for joint in robot.joints:
        carried[joint.parent].append(joint.child)
    moving = {joint.child for joint in robot.joints if joint.moves}

    def moves(child: str) -> bool:
        return child in moving or any(moves(other) for other in carried.get(child, ()))

    return sum(moves(child) for child in carried.get(link, ()))


def hands_of(robot: Robot) -> dict[str, str]:
    """Return the links of the hands by name: from the robot file, or the most likely link of each arm of a URDF."""
    links = hand_links(robot)
    if robot.end_effectors:
        return robot.end_effectors
    if not links:
        return {}
    first = [joint.name for joint in robot.chain(links[0]) if joint.moves]
    chosen = [links[0]]
    for link in links[1:]:
        own = [joint.name for joint in robot.chain(link) if joint.moves]
        if len(own) == len(first) and not set(own[-MIN_JOINTS_ABOVE:]) & set(first):
            chosen.append(link)
            break
    return dict(zip(_hand_names(chosen), chosen, strict=True))


def _hand_names(links: list[str]) -> list[str]:
    if len(links) == 1:
        return ['hand']
    sides = [next((side for side in ('left', 'right') if side in link.lower()), '') for link in links]
    return sides if sorted(sides) == ['left', 'right'] else ['hand_1', 'hand_2']
