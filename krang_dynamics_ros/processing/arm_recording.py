"""Properties of an arm from a recording, for its arm file: joint names, rate, sign and scale of effort."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..core.errors import ArgumentError, listed
from ..core.spatial import Array
from ..dynamics.factory import dynamics_of
from ..live.messages import JointStateMessage
from ..recordings.formats import open_source
from ..recordings.recording import RecordingError
from ..robot.adapted import Adaptation
from ..robot.known_arms import middle
from ..robot.robot import Joint, Robot

ROWS = 500  # compared with gravity
SLOW = 0.05  # rad/s (m/s): viscous friction and inertia are negligible below
MIN_GRAVITY = 1.0  # N m (N): of a joint that can show the sign of effort
SAME = (0.6, 1.6)  # effort over gravity where the effort is in N m and contains gravity
NONE = 0.2  # at most, where it does not contain gravity
MIN_RATE = 50.0  # Hz


@dataclass(frozen=True)
class RecordedArm:
    """Properties of an arm from a recording."""

    topic: str  # of the joint states; '': the recording has no topics
    adaptation: Adaptation
    sign: float = 1.0  # of effort, relative to the model
    findings: tuple[str, ...] = ()


@dataclass
class _Rows:
    """The joint states of a recording, and the names of all joints in them."""

    topic: str  # '': none, as in a table
    messages: list[JointStateMessage] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Messages per second, from the median step."""
        times = np.array([message.stamp or message.arrival for message in self.messages])
        between = np.median(np.diff(times)) if len(times) > 1 else 0
        return float(1e9 / between) if between > 0 else 0.0

    @property
    def has_velocities(self) -> bool:
        """Whether any message has velocities."""
        return any(len(message.velocity) for message in self.messages)


def recorded_arm(path: Path, robot: Robot, joint_states: str = '') -> RecordedArm:
    """Return the properties of a robot, given by its URDF, from a recording."""
    rows = _read(path, joint_states)
    changes = named_as(robot, [*rows.names])
    here = Adaptation(changes.prefix, changes.names).of_robot(robot)
    missing = [joint for joint in here.moving_joints if joint.name not in rows.names]
    if len(missing) == here.n:
        raise ArgumentError(
            f'{path}: has joints {listed([*rows.names])}, must be of {robot.name}: {listed(robot.joint_names)}; write '
            'joint_names into the arm file by hand'
        )
    changes = replace(changes, fixed=tuple((joint.name, middle(joint)) for joint in missing))
    slopes = _slopes(changes.of_robot(robot), rows)
    sign = -1.0 if slopes and all(slope < -NONE for slope in slopes.values()) else 1.0
    return RecordedArm(rows.topic, changes, sign, tuple(_findings(path, rows, missing, slopes)))


def _read(path: Path, joint_states: str) -> _Rows:
    with open_source(path) as source:
        topics = source.topics((), joint_states)
        in_bag = topics.joint_states in source.contents.with_role('joint_states')
        rows = _Rows(topics.joint_states if in_bag else '')
        for message in source.messages(topics):
            if isinstance(message, JointStateMessage):
                rows.messages.append(message)
                rows.names |= dict.fromkeys(message.names)
    if not rows.messages:
        raise RecordingError(f'{path}: {rows.topic or "it"} has no joint states, must have some')
    return rows


def named_as(robot: Robot, names: Sequence[str]) -> Adaptation:
    """Return the adaptation of a robot to these joint names: a prefix, or pairs of names."""
    ours, theirs = robot.joint_names, set(names)
    if any(name in theirs for name in ours):
        return Adaptation()
    prefixes = Counter(other.removesuffix(name) for name in ours for other in names if other.endswith(name))
    for prefix, _ in prefixes.most_common(1):
        if sum(prefix + name in theirs for name in ours) > len(ours) / 2:
            return Adaptation(prefix)
    return Adaptation(names=tuple(_by_number(ours, names)))


def _by_number(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that end with the same number, if the numbers are unique on both sides."""
    numbers = [{name: match[0] for name in names if (match := re.search(r'\d+$', name))} for names in (ours, theirs)]
    if all(len(set(by_name.values())) == len(by_name) for by_name in numbers):
        other = {number: name for name, number in numbers[1].items()}
        yield from ((name, other[number]) for name, number in numbers[0].items() if number in other)


def _slopes(robot: Robot, rows: _Rows) -> dict[str, float]:
    """Return effort over gravity of the joints that gravity loads.

    Messages with all joints count, if they are slow or have no velocities.
    """
    dynamics, wanted = dynamics_of(robot), set(robot.joint_names)
    pairs: list[tuple[Array, Array]] = []
    whole = [x for x in rows.messages if wanted <= set(x.names) and len(x.effort) == len(x.position) == len(x.names)]
    for message in whole[:: max(1, len(whole) // ROWS)]:
        at = [message.names.index(name) for name in robot.joint_names]
        slow = len(message.velocity) != len(message.names) or (np.abs(message.velocity[at]) < SLOW).all()
        if slow and np.isfinite(message.position[at]).all() and np.isfinite(message.effort[at]).all():
            pairs.append((dynamics.Q(message.position[at]), message.effort[at]))
    if not pairs:
        return {}
    gravity, effort = (np.array(column) for column in zip(*pairs, strict=True))
    size = np.sqrt(np.mean(gravity**2, axis=0))
    slopes = np.sum(gravity * effort, axis=0) / np.maximum(np.sum(gravity**2, axis=0), 1e-12)
    return {name: float(slopes[k]) for k, name in enumerate(robot.joint_names) if size[k] > MIN_GRAVITY}


def _findings(path: Path, rows: _Rows, missing: Sequence[Joint], slopes: Mapping[str, float]) -> Iterator[str]:
    slow = f'; below {MIN_RATE:g} per second commands step and external torques lag' if rows.rate < MIN_RATE else ''
    topic = f' on {rows.topic}' if rows.topic else ''
    yield f'{path.name}: {len(rows.messages)} joint states{topic}, {rows.rate:.1f} per second{slow}'
    if missing:
        yield f'{path.name}: does not contain {listed([joint.name for joint in missing])}'
    if not slopes:
        where = f'{"at rest " if rows.has_velocities else ""}on joints that gravity loads'
        yield f'{path.name}: no efforts {where}: sign and scale were not checked'
        return
    text = ', '.join(f'{name} {slope:.2f}' for name, slope in slopes.items())
    when = 'at rest' if rows.has_velocities else 'at rest and in motion, as there are no velocities'
    yield f'{path.name}: effort over the gravity torque of the model, {when}: {text}: {_verdict([*slopes.values()])}'


def _verdict(slopes: Sequence[float]) -> str:
    low, high = SAME
    if all(low <= slope <= high for slope in slopes):
        return 'sign and unit are right, gravity is included'
    if all(-high <= slope <= -low for slope in slopes):
        return 'the sign is reversed'
    if all(abs(slope) < NONE for slope in slopes):
        return 'gravity seems not to be included'
    return 'neither all near 1 nor all near -1 or 0: check unit (A or N m), sign, mounting and tool'
