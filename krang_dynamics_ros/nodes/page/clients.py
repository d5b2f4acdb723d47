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
from std_srvs.srv import Trigger

from ...core.parameters import NONE, named
from ...live.controller_watch import NAMELESS

SERVICE_TIMEOUT = 4.0  # s: an answer that takes longer will not come

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
        call = Call(client, client.call_async(request), time.monotonic() + SERVICE_TIMEOUT, lost)
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


class DynamicsClient:
    """What the dynamics node says of itself: its hands' links, gravity, what is in the total, what the hands hold."""

    def __init__(self, node: Node, name: str) -> None:
        self._calls = Calls(node)
        self._parameters = ParametersOf(self._calls, name)
        self._asking = False
        self.hands: dict[str, str] | None = None
        self.terms: list[str] | None = None
        self.gravity: list[float] = []  # m/s^2, in the base's axes
        self.payloads: dict[str, float] = {}  # kg, by hand

    def poll(self) -> None:
        """Ask again, unless an answer is on its way; call it about once a second."""
        self._calls.give_up()
        if not self._parameters.there:
            self._lost('')
        elif not self._asking:
            self._ask(['total_terms', 'end_effectors', 'gravity'], self._on_terms)

    def _ask(self, names: list[str], then: Callable[[list[Any]], None]) -> None:
        def answered(values: list[Any]) -> None:
            self._asking = False
            if values:  # or it is some other node of this name
                then(values)

        self._asking = True
        self._parameters.get(names, answered, self._lost)

    def _lost(self, _: str) -> None:
        self._asking, self.terms, self.payloads = False, None, {}

    def _on_terms(self, values: list[Any]) -> None:
        self.terms, hands, self.gravity = named(values[0]), named(values[1]), list(values[2])
        if not hands:
            self.hands, self.payloads = {}, {}
            return
        for hand in hands:
            self._calls.expect(Trigger, _zero(hand))
        names = [f'{hand}.{what}' for what in ('link', 'payload.mass') for hand in hands]
        self._ask(names, lambda values: self._on_hands(hands, values))

    def _on_hands(self, hands: list[str], values: list[Any]) -> None:
        self.hands = dict(zip(hands, values[: len(hands)], strict=True))
        self.payloads = dict(zip(hands, values[len(hands) :], strict=True))

    def choose_terms(self, terms: Sequence[str], done: Done) -> None:
        """Set `total_terms`."""

        def answered(reason: str) -> None:
            if not reason:
                self.terms = list(terms)
            done(reason)

        self._parameters.set({'total_terms': list(terms) or NONE}, answered)

    def tell(self, hand: str, mass: float, done: Done) -> None:
        """Say that a hand holds a bag (kg)."""
        self._parameters.set(bag(hand, mass), done)

    def zero(self, hand: str, then: Callable[[bool, str], None]) -> None:
        """Make what a hand's sensor reads now nothing; `then` gets whether it was done, and the node's words."""
        self._calls.ask(
            Trigger, _zero(hand), Trigger.Request(),
            lambda response: then(response.success, response.message), lambda reason: then(False, reason),
        )  # fmt: skip


def bag(hand: str, mass: float) -> dict[str, Any]:
    """Return the parameters of a hand that holds a bag (kg): a point at the origin of the hand's frame."""
    body = {'mass': float(mass), 'com': [0.0] * 3, 'inertia': [0.0] * 6}
    return {f'{hand}.payload.{name}': value for name, value in body.items()}


def _zero(hand: str) -> str:
    return f'wrench/{hand}/zero'


COMMANDS = ('pause', 'resume', 'reset')
FRICTION = ('coulomb', 'viscous')  # parameters of the simulator, N m and N m s/rad


class SimulatorClient:
    """What can be asked of a simulator."""

    def __init__(self, node: Node) -> None:
        self._calls = Calls(node)
        for name in COMMANDS:
            self._calls.expect(Trigger, name)
        self._name = ''
        self._parameters: ParametersOf | None = None
        self.friction = ''
        self.bags: dict[str, float] = {}  # kg, by hand

    @property
    def there(self) -> bool:
        """Whether there is a simulator now."""
        return self._calls.ready('reset')

    def command(self, name: str, done: Done) -> None:
        """Do `pause`, `resume` or `reset`."""
        self._calls.ask(
            Trigger, name, Trigger.Request(), lambda response: done('' if response.success else response.message), done
        )

    def poll(self, publishers: Sequence[str], hands: Sequence[str]) -> None:
        """Ask the one who publishes the robot's state, by the name of its node, what it adds and what hands carry."""
        self._calls.give_up()
        one = publishers[0] if len(publishers) == 1 else NAMELESS
        name = one if self.there and one != NAMELESS else ''
        if name != self._name:
            self._begin(name)
        if self._parameters is None or not self._parameters.there:
            return
        self._parameters.get(FRICTION, self._on_friction, _ignored)
        if hands:
            masses = [f'{hand}.payload.mass' for hand in hands]
            self._parameters.get(masses, lambda values: self._on_bags(hands, values), _ignored)

    def _begin(self, name: str) -> None:
        if self._parameters is not None:
            self._parameters.close()
        self._name, self.friction, self.bags = name, '', {}
        self._parameters = ParametersOf(self._calls, name) if name else None

    def _on_friction(self, values: list[Any]) -> None:
        self.friction = _in_words(*values) if values else ''

    def _on_bags(self, hands: Sequence[str], values: list[Any]) -> None:
        self.bags = dict(zip(hands, values, strict=False))

    def hang(self, hand: str, mass: float, done: Done) -> None:
        """Hang a bag (kg) on a hand, which the dynamics node is not told."""
        if self._parameters is None:
            done('there is no simulator')
        else:
            self._parameters.set(bag(hand, mass), done)


def _ignored(_: str) -> None:
    """Ask again at the next turn."""


def _in_words(coulomb: float, viscous: float) -> str:
    parts = [f'{coulomb:g} N m'] * bool(coulomb) + [f'{viscous:g} N m s/rad'] * bool(viscous)
    return ' and '.join(parts)
