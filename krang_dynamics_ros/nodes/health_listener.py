"""What other nodes say of themselves on `/diagnostics`, as lines for the page."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from ..core.text import shown, shown_lines
from ..viewer.snapshot import LEVELS, Line

MAX_STATUSES = 200  # of a message: a node of ours has twenty
MAX_WORDS = 2000  # characters of a status
SILENT = 3.0  # s without diagnostics, which come once a second


class HealthListener:
    """The latest lines of every node that is heard."""

    def __init__(self, node: Node) -> None:
        self._lines: dict[str, tuple[float, list[Line]]] = {}
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        told: dict[str, list[Line]] = {}
        for status in message.status[:MAX_STATUSES]:
            node, _, about = status.name.partition(': ')
            level = LEVELS[min(status.level[0], len(LEVELS) - 1)]
            told.setdefault(node, []).append(Line(level, shown(about), shown_lines(status.message, MAX_WORDS)))
        self._lines = {node: (at, lines) for node, (at, lines) in self._lines.items() if now - at < SILENT}
        self._lines |= {node: (now, lines) for node, lines in told.items()}

    def lines(self, node: str, what: str) -> list[Line]:
        """Return what a node, by its full name, says; if it says nothing, that, of `what`."""
        at, lines = self._lines.get(node.lstrip('/'), (0.0, []))
        return lines if time.monotonic() - at < SILENT else [Line('silent', what, 'says nothing')]
