"""The parameters of the dynamics node, asked for and set from another node without waiting for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from ..pipeline.spec import NONE, named

PATIENCE = 2.0  # s: an answer that takes longer will not come


class DynamicsClient:
    """What the dynamics node says of itself: its hands' links by name, gravity, and the terms of `torque/total`."""

    def __init__(self, node: Node, name: str) -> None:
        self._get = node.create_client(GetParameters, f'{name}/get_parameters')
        self._set = node.create_client(SetParameters, f'{name}/set_parameters')
        self._asked: Any = None
        self._since = 0.0
        self.hands: dict[str, str] | None = None
        self.terms: list[str] | None = None
        self.gravity: list[float] = []  # m/s^2, in the base's axes

    def poll(self) -> None:
        """Ask again, unless an answer is on its way; call it about once a second."""
        if self._asked is not None and time.monotonic() - self._since < PATIENCE:
            return
        if self._asked is not None:  # it went away in between
            self._get.remove_pending_request(self._asked)
            self._asked = self.terms = None
        if not self._get.service_is_ready():
            self.terms = None
            return
        self._ask(['total_terms', 'end_effectors', 'gravity'], self._on_terms)

    def _ask(self, names: list[str], then: Callable[[list[Any]], None]) -> None:
        def answered(future: Any) -> None:
            self._asked = None
            then([parameter_value_to_python(value) for value in future.result().values])

        self._since = time.monotonic()
        self._asked = _call(self._get, GetParameters.Request(names=names), answered)

    def _on_terms(self, values: list[Any]) -> None:
        if len(values) != 3 or None in values:  # some other node of this name
            return
        self.terms, hands, self.gravity = named(values[0]), named(values[1]), list(values[2])
        if not hands:
            self.hands = {}
        elif list(self.hands or {}) != hands:
            self._ask([f'{hand}.link' for hand in hands], lambda links: self._on_links(hands, links))

    def _on_links(self, hands: list[str], links: list[Any]) -> None:
        self.hands = dict(zip(hands, links, strict=False))

    def choose_terms(self, terms: Sequence[str], refused: Callable[[str], None]) -> None:
        """Set `total_terms`; call `refused` with the reason if the node does not want them."""

        def answered(future: Any) -> None:
            result = future.result().results[0]
            if result.successful:
                self.terms = list(terms)
            else:
                refused(result.reason)

        value = Parameter('total_terms', Parameter.Type.STRING_ARRAY, list(terms) or NONE).to_parameter_msg()
        if self._set.service_is_ready():
            _call(self._set, SetParameters.Request(parameters=[value]), answered)
        else:
            refused('there is no dynamics node')


def _call(client: Client, request: Any, then: Callable[[Any], None]) -> Any:
    future = client.call_async(request)
    future.add_done_callback(then)
    return future
