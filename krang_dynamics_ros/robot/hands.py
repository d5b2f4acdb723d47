"""The hands of a robot: links that a person would hold it by (no fingers, sensors, heads, wheels), and their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from ..core.errors import ArgumentError, listed, unknown_name
from .robot import Joint, Robot

TOOL_FRAMES = (  # usual words in the names of frames at the end of an arm or a leg, the best first
    'tcp', 'tool0', 'tool', 'ee_link', 'end_effector', 'eef', 'ee', 'flange', 'hand', 'palm', 'gripper', 'tip', 'sole',
    'foot', 'contact',
)  # fmt: skip
_WORDS = [re.compile(part if len(part) > 3 else f'(?<![a-z]){part}(?![a-z])') for part in TOOL_FRAMES]
_SENSOR = re.compile(
    r'(?<!s)imu|accelero|gyro|camera|optical|depth|laser|lidar|sensor|fsr|velodyne|(?<![a-z])range(?![a-z])|collision'
)
_FINGER = re.compile(r'finger|thumb|gripper|jaw')
_WRIST = re.compile(r'yaw|pitch|roll|wrist')
_HEAD = re.compile(r'(?<!over)head|neck')
MAX_FINGER_JOINTS = 8  # human-like fingers have four, and as many followers
MIN_JOINTS_ABOVE = 4  # moving joints above a palm; branches of a link with fewer above it are arms, not fingers
OWN_JOINTS = 4  # last moving joints of a second arm, which the first arm does not have
MIN_MASS = 0.005  # kg: lighter links are frames, to which some files give a mass
LIMB_SHARE = 1 / 3  # minimum number of joints of a limb, of that of the longest limb; wheels and casters have fewer
FINGER_SHARE = 0.5  # maximum length of a finger, of the length from the base to it


def hand_links(robot: Robot) -> list[str]:
    """Return the links at the ends of arms and legs, the most likely hand first."""
    tree = _Tree(robot)
    grips = sorted({tree.grip(end) for end in robot.hands.values()}, key=lambda link: (_frame_rank(link), link))
    ends: dict[frozenset[str], str] = {}  # by the moving joints above
    for link in grips:
        ends.setdefault(tree.moving_joints(link), link)
    limbs = {joints: link for joints, link in ends.items() if joints and not any(joints < other for other in ends)}
    hands = {joints: link for joints, link in limbs.items() if not tree.is_on_head(link)}
    longest = max(map(len, hands or limbs), default=0)
    long = {joints: link for joints, link in (hands or limbs).items() if len(joints) >= LIMB_SHARE * longest}
    return [link for _, link in sorted(long.items(), key=lambda item: -len(item[0]))]


def finger_joints(robot: Robot) -> dict[str, list[str]]:
    """Return the moving joints of the fingers, by the link of their hand."""
    tree, found = _Tree(robot), dict[str, dict[str, None]]()
    for end in robot.hands.values():
        palm = tree.palm(end)
        if palm != end:
            moving = [joint.name for joint in tree.beyond(palm, end) if joint.name in robot.joint_names]
            found.setdefault(tree.grip(end), {}).update(dict.fromkeys(moving))
    return {hand: [*names] for hand, names in found.items() if names}


class _Tree:
    """The links of a robot, with what hangs on them."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._own = set(robot.hands.values()) if robot.end_effectors else set[str]()
        self._on: dict[str, list[Joint]] = {}  # joints by parent
        for joint in robot.joints:
            self._on.setdefault(joint.parent, []).append(joint)

    def moving_joints(self, link: str) -> frozenset[str]:
        """Return the names of the moving joints above a link."""
        return frozenset(joint.name for joint in self._robot.chain(link) if joint.moves)

    def beyond(self, link: str, end: str) -> Sequence[Joint]:
        """Return the joints from a link to an end below it."""
        chain = self._robot.chain(end)
        return chain[next(k for k, joint in enumerate(chain) if joint.parent == link) :]

    def body(self, link: str) -> str:
        """Return the link that the last moving joint above a link carries; the two links move together."""
        moving = [joint.child for joint in self._robot.chain(link) if joint.moves]
        return moving[-1] if moving else self._robot.base

    def is_on_head(self, link: str) -> bool:
        """Return whether a moving link above a link, or this one, is a head or a neck by its name."""
        return any(joint.moves and _HEAD.search(joint.child.lower()) for joint in self._robot.chain(link))

    def palm(self, end: str) -> str:
        """Return the link that carries the fingers if `end` is the end of a finger, else `end`."""
        chain = self._robot.chain(end)
        for k, joint in enumerate(chain):
            above, beyond = chain[:k], chain[k:]
            if sum(other.moves for other in above) < MIN_JOINTS_ABOVE or not any(other.moves for other in beyond):
                continue
            is_jaw = joint.moves and all(map(_is_of_finger, beyond))
            if is_jaw or (len(self._moving_branches(joint.parent)) > 1 and _is_finger(above, beyond)):
                return joint.parent
        return end

    def _moving_branches(self, link: str) -> list[Joint]:
        return [joint for joint in self._on.get(link, ()) if joint.child in self._moving_links]

    @cached_property
    def _moving_links(self) -> set[str]:
        """The links whose own joint moves, or a joint below them."""
        found = set[str]()
        for joint in reversed(self._robot.outward):
            if joint.moves or any(below.child in found for below in self._on.get(joint.child, ())):
                found.add(joint.child)
        return found

    def grip(self, end: str) -> str:
        """Return the link to hold an arm or a leg by, near the end of its tree.

        This is the last body before fingers, or a frame on it that is named as that of a tool. Sensors are neither.
        """
        if end in self._own:
            return end
        palm = self.palm(end)
        body = palm if palm != end else self.body(end)
        while len(further := [*self._bodies_on(body)]) == 1 and not any(joint.moves for joint in self._on[body]):
            body = further[0]
        frames = [body, *(link for link in self._frames_on(body) if not _SENSOR.search(link.lower()))]
        return min(frames, key=lambda link: (_frame_rank(link), link != body, link))

    def _bodies_on(self, link: str) -> Iterator[str]:
        """Yield the links that are fixed to a link and, with what is fixed to them, have a mass."""
        for joint in self._on.get(link, ()):
            if not joint.moves and self._has_body(joint.child):
                yield joint.child

    def _has_body(self, link: str) -> bool:
        """Return whether a link, or one that is fixed to it, has a mass and is not a sensor."""
        is_body = self._robot.link_of[link].inertia.m > MIN_MASS and not _SENSOR.search(link.lower())
        return is_body or any(True for _ in self._bodies_on(link))

    def _frames_on(self, link: str) -> Iterator[str]:
        """Yield the links without a mass that are fixed to a link or to each other."""
        for joint in self._on.get(link, ()):
            if not joint.moves and not self._has_body(joint.child):
                yield joint.child
                yield from self._frames_on(joint.child)


def _is_of_finger(joint: Joint) -> bool:
    """Return whether a joint is that of a finger by its name, or does not move."""
    names = f'{joint.name} {joint.child}'.lower()
    return not joint.moves or bool(_FINGER.search(names) and not _WRIST.search(names))


def _is_finger(above: Iterable[Joint], beyond: Iterable[Joint]) -> bool:
    """Return whether the joints beyond a link are few enough, and reach close enough, for a finger."""
    moving = sum(joint.moves for joint in beyond)
    return 0 < moving <= MAX_FINGER_JOINTS and _length(beyond) <= FINGER_SHARE * _length(above)


def _length(joints: Iterable[Joint]) -> float:
    """Return the length along joints, m."""
    return sum(float(np.linalg.norm(joint.position)) for joint in joints)


def _frame_rank(link: str) -> int:
    """Return the rank of a link's name among the usual names of tool frames."""
    lower = link.lower()
    return next((k for k, word in enumerate(_WORDS) if word.search(lower)), len(_WORDS))


def hands_of(robot: Robot) -> dict[str, str]:
    """Return the links of the hands by name: from the robot file, or the one or two most likely links of a URDF."""
    links = hand_links(robot)
    if robot.end_effectors:
        return robot.end_effectors
    if not links:
        return {}
    first = [joint.name for joint in robot.chain(links[0]) if joint.moves]
    chosen = [links[0]]
    for link in links[1:]:
        own = [joint.name for joint in robot.chain(link) if joint.moves]
        if len(own) == len(first) and not set(own[-OWN_JOINTS:]) & set(first):
            chosen.append(link)
            break
    return dict(zip(_hand_names(chosen), chosen, strict=True))


def hand_name(link: str) -> str:
    """Return the name of a hand after its link: topics are named after it, so it has letters, digits and _ only."""
    name = re.sub('[^A-Za-z0-9_]+', '_', link)
    return name if re.match('[A-Za-z_]', name) else f'link_{name}'


def link_of_hand(name: str, links: Collection[str]) -> str:
    """Return the link that a hand is named after; '' if there is none, or more than one."""
    if name in links:
        return name
    named = [link for link in links if hand_name(link) == name]
    return named[0] if len(named) == 1 else ''


def check_hands(names: Sequence[str], hands: Mapping[str, str], links: Collection[str]) -> None:
    """Raise `ArgumentError` if a running node cannot change its `hands` (links by name) to those of `names`.

    A hand can be added that is named after its link, and be removed again.
    """
    if missing := [name for name, link in hands.items() if name not in names and name != hand_name(link)]:
        raise ArgumentError(
            f'end_effectors: {listed(missing)} cannot be removed while the node runs; hands named after their links can'
        )
    for name in names:
        if name not in hands and not link_of_hand(name, links):
            raise unknown_name('end_effectors: link', name, links)


_SIDES = {'left': re.compile(r'left|(?<![a-z])l(?![a-z])'), 'right': re.compile(r'right|(?<![a-z])r(?![a-z])')}


def _hand_names(links: list[str]) -> list[str]:
    if len(links) == 1:
        return ['hand']
    sides = [next((side for side, word in _SIDES.items() if word.search(link.lower())), '') for link in links]
    return sides if sorted(sides) == ['left', 'right'] else ['hand_1', 'hand_2']
