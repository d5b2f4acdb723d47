"""Parameters of another node, asked for and set by a program that waits for the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from ..core.errors import KrangDynamicsError

DISCOVERY = 4.0  # s: a node announces itself every 3 s, and its first announcements may be lost
PATIENCE = 5.0  # s for an answer


class RemoteError(KrangDynamicsError):
    """Another node that is not there, does not answer, or refuses."""


class RemoteParameters:
    """The parameters of one node."""

    def __init__(self, node: Node, target: str) -> None:
        """`node` asks; `target` is the other one's name, in the same namespace unless it has one."""
        self._node, self.target = node, target
        self._client = AsyncParameterClient(node, target)

    def find(self) -> None:
        """Wait for discovery; raise `RemoteError` if the node is not there."""
        if not self._client.wait_for_services(DISCOVERY):
            raise RemoteError(f'there is no node {self.target}, looked for {DISCOVERY:g} s')

    def values(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the values of those that the node has."""
        answers = self._answer(self._client.get_parameters(list(names))).values
        found = {name: parameter_value_to_python(value) for name, value in zip(names, answers, strict=False)}
        return {name: _plain(value) for name, value in found.items() if value is not None}

    def set(self, values: Mapping[str, Any]) -> None:
        """Set parameters as one, or raise `RemoteError` with the node's reason."""
        parameters = [Parameter(name, value=value) for name, value in values.items()]
        result = self._answer(self._client.set_parameters_atomically(parameters)).result
        if not result.successful:
            raise RemoteError(f'{self.target} refuses: {result.reason}')

    def _answer(self, future: Any) -> Any:
        rclpy.spin_until_future_complete(self._node, future, timeout_sec=PATIENCE)
        if not future.done():
            raise RemoteError(f'{self.target} does not answer within {PATIENCE:g} s')
        return future.result()


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else list(value)
