"""Diagnostics of a node on `/diagnostics`, once a second; changes of a level are logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ..core.text import shown, shown_lines

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
PERIOD = 1.0  # s, by the steady clock


class Status(NamedTuple):
    """Status of a part of a node: a level, a message, and values by name."""

    name: str
    level: bytes
    message: str
    values: Mapping[str, object] = {}


class Reporter:
    """Publishes the statuses of the parts of a node."""

    def __init__(self, node: Node, hardware_id: str) -> None:
        """`hardware_id` names the robot."""
        self._node, self._hardware_id = node, shown(hardware_id)
        self._sources: list[Callable[[], Iterable[Status]]] = []
        self._levels: dict[str, bytes] = {}
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        node.create_timer(PERIOD, self.report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def add(self, source: Callable[[], Iterable[Status]]) -> None:
        """Add a source of statuses, called once a second."""
        self._sources.append(source)

    def report(self) -> None:
        """Publish the present statuses: called once a second, and at once after important changes."""
        statuses = [status for source in self._sources for status in source()]
        message = DiagnosticArray(status=[self._message(status) for status in statuses])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        for status in statuses:
            self._log_change(status)

    def _message(self, status: Status) -> DiagnosticStatus:
        pairs = [KeyValue(key=shown(key), value=shown_lines(value)) for key, value in status.values.items()]
        full = f'{self._node.get_fully_qualified_name()[1:]}: {status.name}'
        return DiagnosticStatus(
            level=status.level,
            name=full,
            message=shown_lines(status.message),
            hardware_id=self._hardware_id,
            values=pairs,
        )

    def _log_change(self, status: Status) -> None:
        """Log a status when its level changes."""
        if self._levels.get(status.name, OK) == status.level:
            return
        self._levels[status.name] = status.level
        text = shown_lines(f'{status.name}: {status.message}')
        if status.level == OK:  # two statements: rclpy allows a single severity per source line
            self._node.get_logger().info(text)
        else:
            self._node.get_logger().warning(text)


def age(now: int, then: int) -> str:
    """Return the seconds between two times (ns) as text; 'never' if `then` is not positive."""
    return f'{(now - then) / 1e9:.3f}' if then > 0 else 'never'
