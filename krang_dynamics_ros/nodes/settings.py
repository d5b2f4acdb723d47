"""The parameters of a node: their values now, and who is told when one is set while the node runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..core.errors import KrangDynamicsError
from .parameters import Spec, declare


class Settings:
    """Values by parameter name. A set of changes is accepted as one, or refused as one with the reason."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._specs: dict[str, Spec] = {}
        self._values: dict[str, Any] = {}
        self._checks: list[Callable[[Mapping[str, Any]], None]] = []
        self._users: list[Callable[[], None]] = []

    def declare(self, specs: Sequence[Spec]) -> dict[str, Any]:
        """Declare parameters, and return their values."""
        values = declare(self._node, specs)
        self._values |= values
        self._specs |= {spec.name: spec for spec in specs}
        return values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def hold_to(self, check: Callable[[Mapping[str, Any]], None]) -> None:
        """Let `check` refuse values that do not go together: it gets all of them, and raises an error of ours."""
        check(self._values)
        self._checks.append(check)

    def used_by(self, use: Callable[[], None]) -> None:
        """Call `use` now, and again whenever a value has changed."""
        use()
        self._users.append(use)

    def follow(self) -> None:
        """Let parameters be set from now on; until then the node is still being made."""
        self._node.add_on_set_parameters_callback(self._check)
        self._node.add_post_set_parameters_callback(self._take)

    def _check(self, changes: list[Parameter]) -> SetParametersResult:
        ours = {change.name: change.value for change in changes if change.name in self._specs}
        try:
            for name, value in ours.items():
                self._specs[name].check(value)
            for check in self._checks:
                check(self._values | ours)
        except KrangDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take(self, changes: list[Parameter]) -> None:
        self._values |= {change.name: change.value for change in changes if change.name in self._specs}
        for use in self._users:
            use()
