"""Services of other nodes, called without waiting: every call is answered, or given up with a word."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

PATIENCE = 4.0  # s: an answer that takes longer will not come

Done = Callable[[str], None]  # is told why not; nothing if it was done


@dataclass
class Call:
    """One that waits for its answer."""

    client: Client
    future: Any
    until: float
    lost: Done


class Calls:
    """The clients of a node, and the calls that are on their way. All answers come on the node's own thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._known: dict[str, Client] = {}
        self._waiting: list[Call] = []

    def expect(self, kind: Any, service: str) -> Client:
        """Look for a service from now on."""
        if service not in self._known:
            self._known[service] = self._node.create_client(kind, service)
        return self._known[service]

    def ready(self, service: str) -> bool:
        """Tell whether somebody offers a service now."""
        return service in self._known and bool(self._known[service].service_is_ready())

    def ask(self, kind: Any, service: str, request: Any, then: Callable[[Any], None], lost: Done) -> None:
        """Call a service; `lost` is told if nobody offers it, or answers."""
        client = self.expect(kind, service)
        if not client.service_is_ready():
            lost(f'nobody offers {service}')
            return
        call = Call(client, client.call_async(request), time.monotonic() + PATIENCE, lost)
        self._waiting.append(call)

        def answered(future: Any) -> None:
            if call in self._waiting:
                self._waiting.remove(call)
                then(future.result())

        call.future.add_done_callback(answered)

    def give_up(self) -> None:
        """Give up what waits for too long; call it about once a second."""
        for call in [call for call in self._waiting if time.monotonic() > call.until]:
            self._waiting.remove(call)
            call.client.remove_pending_request(call.future)
            call.lost(f'{call.client.srv_name} does not answer')

    def forget(self, service: str) -> None:
        """Look for a service no longer."""
        if client := self._known.pop(service, None):
            self._waiting = [call for call in self._waiting if call.client is not client]
            self._node.destroy_client(client)


class ParametersOf:
    """The parameters of another node, by its name."""

    def __init__(self, calls: Calls, name: str) -> None:
        self._calls = calls
        self._get, self._set = f'{name}/get_parameters', f'{name}/set_parameters_atomically'
        calls.expect(GetParameters, self._get)
        calls.expect(SetParametersAtomically, self._set)

    @property
    def there(self) -> bool:
        """Whether that node is there, and can be asked and told."""
        return self._calls.ready(self._get) and self._calls.ready(self._set)

    def get(self, names: Sequence[str], then: Callable[[list[Any]], None], lost: Done) -> None:
        """Ask for values; `then` gets all of them, or an empty list if the node does not have every one."""

        def answered(response: Any) -> None:
            values = [parameter_value_to_python(value) for value in response.values]
            then(values if len(values) == len(names) and None not in values else [])

        self._calls.ask(GetParameters, self._get, GetParameters.Request(names=list(names)), answered, lost)

    def set(self, values: Mapping[str, Any], done: Done) -> None:
        """Set values, all of them or none."""
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        self._calls.ask(
            SetParametersAtomically, self._set, request,
            lambda response: done('' if response.result.successful else response.result.reason or 'refused'), done,
        )  # fmt: skip

    def close(self) -> None:
        """Look for that node no longer."""
        self._calls.forget(self._get)
        self._calls.forget(self._set)
