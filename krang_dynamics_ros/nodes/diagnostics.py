"""The node's health in words: what `/diagnostics` says, and what the log says when it changes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ..inputs.end_effector import EndEffector
from ..inputs.joint_states import JointStates

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
PERIOD = 1.0  # s


@dataclass
class Counter:
    """What happened since the last report."""

    messages: int = 0
    published: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)  # in all, up to the last report

    def computed(self, seconds: float) -> None:
        """Note one computation and what it took."""
        self.published += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)


class Reporter:
    """Publishes a status of each input and of the computation, once a second by the steady clock."""

    def __init__(self, node: Node, robot: str) -> None:
        self._node = node
        self._robot = robot
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        self._levels: dict[str, bytes] = {}
        self._since = time.monotonic()
        self.counter = Counter()

    def report(self, states: JointStates, hands: list[EndEffector], now: int, wrench_in_total: bool) -> None:
        """Publish what is so now, and start counting anew."""
        elapsed = max(time.monotonic() - self._since, 1e-3)
        statuses = [
            self._joint_states(states, now, self.counter.messages / elapsed),
            *(self._wrench(hand, states, now, wrench_in_total) for hand in hands),
            self._computation(elapsed),
        ]
        message = DiagnosticArray(status=statuses)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        for status in statuses:
            self._log_change(status)
        self.counter = Counter(refused=self.counter.refused)
        self._since = time.monotonic()

    def _joint_states(self, states: JointStates, now: int, rate: float) -> DiagnosticStatus:
        missing = states.missing(now)
        fresh = self._newly_refused('joint states', states.refusals.count)
        level, words = OK, 'all joints are known'
        if missing:
            names = ', '.join(missing[:5]) + (', ...' if len(missing) > 5 else '')
            level, words = (
                ERROR,
                f'no torque: {len(missing)} of {len(states.joint_names)} joints are not known: {names}',
            )
        elif fresh:
            level, words = WARN, f'{fresh} messages refused: {states.refusals.reason}'
        elif not states.moving:
            level, words = WARN, 'no velocities: no Coriolis and no friction torque'
        return self._status('joint states', level, words, {
            'rate (Hz)': f'{rate:.1f}',
            'age of the oldest joint (s)': _age(now, states.oldest_arrival),
            'missing or late': ', '.join(missing),
            'refused in all': states.refusals.count,
            'refused last because': states.refusals.reason,
            'time went back': states.jumps,
        })  # fmt: skip

    def _wrench(self, hand: EndEffector, states: JointStates, now: int, needed: bool) -> DiagnosticStatus:
        name = f'wrench {hand.name}'
        fresh = self._newly_refused(name, hand.refusals.count)
        level, words = OK, 'fresh'
        if fresh:
            level, words = WARN, f'{fresh} messages refused: {hand.refusals.reason}'
        elif not hand.known:
            level, words = (WARN if needed else OK), 'none so far: counts as no wrench'
        elif hand.late(states.newest, now):
            level, words = WARN, f'the latest is older than {hand.timeout:g} s: counts as no wrench'
        return self._status(name, level, words, {
            'age (s)': _age(now, hand.arrival),
            'frame': hand.frame or hand.link,
            'sense': hand.sense,
            'moment about': hand.moment_about,
            'refused in all': hand.refusals.count,
            'refused last because': hand.refusals.reason,
        })  # fmt: skip

    def _computation(self, elapsed: float) -> DiagnosticStatus:
        c = self.counter
        mean = c.seconds / c.published if c.published else 0.0
        return self._status('computation', OK, f'{c.published / elapsed:.1f} states per second', {
            'mean (us)': f'{mean * 1e6:.1f}',
            'longest (us)': f'{c.longest * 1e6:.1f}',
        })  # fmt: skip

    def _newly_refused(self, name: str, count: int) -> int:
        fresh = count - self.counter.refused.get(name, 0)
        self.counter.refused[name] = count
        return fresh

    def _status(self, name: str, level: bytes, words: str, values: dict[str, object]) -> DiagnosticStatus:
        pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
        full = f'{self._node.get_fully_qualified_name()[1:]}: {name}'
        return DiagnosticStatus(level=level, name=full, message=words, hardware_id=self._robot, values=pairs)

    def _log_change(self, status: DiagnosticStatus) -> None:
        """Log a status once when it turns better or worse, not every second."""
        if self._levels.get(status.name, OK) == status.level:
            return
        self._levels[status.name] = status.level
        words = f'{status.name.rpartition(": ")[2]}: {status.message}'
        if status.level == OK:  # two lines, for rclpy lets a line log at one severity only
            self._node.get_logger().info(words)
        else:
            self._node.get_logger().warning(words)


def _age(now: int, then: int) -> str:
    return f'{(now - then) / 1e9:.3f}' if then > 0 else 'never'
