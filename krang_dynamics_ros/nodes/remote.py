"""Another node, as `krang first_run` and `krang calibrate` see it: parameters, robot and topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import rclpy
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from std_msgs.msg import String

from ..core.errors import KrangDynamicsError
from .endpoints import DISCOVERY_TIMEOUT
from .settings import plain
from .topics import LATCHED

SERVICE_TIMEOUT = 5.0  # s for an answer
SPIN = 0.05  # s between two checks of a condition


class RemoteError(KrangDynamicsError):
    """Another node does not exist, does not answer, or refuses."""


class RemoteNode:
    """The node `target`, as seen by the node `node`."""

    def __init__(self, node: Node, target: str) -> None:
        """Names without a `/` are in the namespace of `node`."""
        self._node, self.target = node, target
        space, slash, self._name = target.rpartition('/')
        self._space = space + slash if slash else node.get_namespace().rstrip('/') + '/'
        self._client = AsyncParameterClient(node, target)
        self._description = ''

    def find(self) -> None:
        """Wait for discovery; raise `RemoteError` if the node is not there."""
        if not self._client.wait_for_services(DISCOVERY_TIMEOUT):
            looked = f'there is no node {self.target}, looked for {DISCOVERY_TIMEOUT:g} s'
            raise RemoteError(f'{looked}: start it with `krang dynamics_node`, or name it with --node')

    @property
    def full_name(self) -> str:
        """Full name of the other node."""
        return f'{self._space}{self._name}'

    def name_of(self, relative: str) -> str:
        """Return the whole name of a topic or service in the namespace of the other node."""
        return relative if relative.startswith('/') else self._space + relative

    # Parameters -----------------------------------------------------------------------------------------------------

    def values(self, names: Sequence[str] = ()) -> dict[str, Any]:
        """Return the values of parameters, all of them if no names are given; those that the node lacks are missing."""
        wanted = list(names or self._answer(self._client.list_parameters()).result.names)
        answers = self._answer(self._client.get_parameters(wanted)).values
        found = {name: parameter_value_to_python(value) for name, value in zip(wanted, answers, strict=False)}
        return {name: plain(value) for name, value in found.items() if value is not None}

    def set(self, values: Mapping[str, Any]) -> None:
        """Set parameters atomically, or raise `RemoteError` with the reason of the node."""
        parameters = [Parameter(name, value=value) for name, value in values.items()]
        result = self._answer(self._client.set_parameters_atomically(parameters)).result
        if not result.successful:
            raise RemoteError(f'{self.target} refuses: {result.reason}')

    def _answer(self, future: Any) -> Any:
        rclpy.spin_until_future_complete(self._node, future, timeout_sec=SERVICE_TIMEOUT)
        if not future.done():
            raise RemoteError(f'{self.target} does not answer within {SERVICE_TIMEOUT:g} s')
        return future.result()

    # Robot and topics -----------------------------------------------------------------------------------------------

    def with_description(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters of the node with the text of `robot_description_topic` in place of its name."""
        given = dict(values)
        if topic := given.pop('robot_description_topic', ''):
            self._description = self._description or self._received(self.name_of(topic))
            given['robot_description'] = self._description
        return given

    def _received(self, topic: str) -> str:
        texts: list[str] = []

        def on_description(message: String) -> None:
            texts.append(message.data)

        subscription = self._node.create_subscription(String, topic, on_description, LATCHED)
        try:
            self._wait_until(lambda: bool(texts))
        finally:
            self._node.destroy_subscription(subscription)
        if not texts:
            raise RemoteError(f'no robot description on {topic} within {DISCOVERY_TIMEOUT:g} s')
        return texts[-1]

    def subscribed_topic(self, type_name: str, usual: str) -> str:
        """Return the topic of a type, such as `Imu`, that the node subscribes to, also if remapped.

        If there are several, or none is discovered, return the usual name.
        """
        return self._topic(self._node.get_subscriber_names_and_types_by_node, self._name, type_name, usual)

    def sent_topic(self, type_name: str, usual: str, suffix: str = '') -> str:
        """Return the topic of a type that the node publishes, or that the node with its name and `suffix` does."""
        return self._topic(self._node.get_publisher_names_and_types_by_node, self._name + suffix, type_name, usual)

    def _topic(self, ask: Callable[[str, str], Any], name: str, type_name: str, usual: str) -> str:
        found: list[str] = []

        def known() -> bool:
            with suppress(NodeNameNonExistentError):
                topics = ask(name, self._space.rstrip('/') or '/')
                found[:] = [topic for topic, types in topics if any(text.endswith(f'/{type_name}') for text in types)]
            return bool(found)

        self._wait_until(known)
        return found[0] if len(found) == 1 else self.name_of(usual)

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        """Process messages until a condition is true, for the time of discovery at most."""
        end = time.monotonic() + DISCOVERY_TIMEOUT
        while not condition() and time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=SPIN)
