"""Service calls to other nodes without blocking: each call gets an answer or a failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger

from ...core.parameters import NONE, named
from ...live.controller_watch import NAMELESS
from ...live.wrenches import Sense

SERVICE_TIMEOUT = 4.0  # s for an answer

Done = Callable[[str], None]  # gets the reason of a failure, '' after success


@dataclass
class Call:
    """A call that waits for its answer."""

    client: Client
    future: Any
    until: float
    on_failure: Done


class Calls:
    """The service clients of a node, and the pending calls. Answers come on the thread of the node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._known: dict[str, Client] = {}
        self._waiting: list[Call] = []

    def client_of(self, kind: Any, service: str) -> Client:
        """Return the client of a service; create it at the first call, so that `ready` can know the service."""
        if service not in self._known:
            self._known[service] = self._node.create_client(kind, service)
        return self._known[service]

    def ready(self, service: str) -> bool:
        """Return whether a service is available now."""
        return service in self._known and bool(self._known[service].service_is_ready())

    def ask(self, kind: Any, service: str, request: Any, then: Callable[[Any], None], on_failure: Done) -> None:
        """Call a service; `on_failure` is called if it is not available or does not answer."""
        client = self.client_of(kind, service)
        if not client.service_is_ready():
            on_failure(f'no service {service}')
            return
        call = Call(client, client.call_async(request), time.monotonic() + SERVICE_TIMEOUT, on_failure)
        self._waiting.append(call)

        def answered(future: Any) -> None:
            if call in self._waiting:
                self._waiting.remove(call)
                then(future.result())

        call.future.add_done_callback(answered)

    def give_up(self) -> None:
        """Drop calls without an answer in time; call it about once a second."""
        for call in [call for call in self._waiting if time.monotonic() > call.until]:
            self._waiting.remove(call)
            call.client.remove_pending_request(call.future)
            call.on_failure(f'{call.client.srv_name} does not answer')

    def forget(self, service: str) -> None:
        """Destroy the client of a service; calls that wait for it fail."""
        if client := self._known.pop(service, None):
            dropped = [call for call in self._waiting if call.client is client]
            self._waiting = [call for call in self._waiting if call.client is not client]
            self._node.destroy_client(client)
            for call in dropped:
                call.on_failure(f'no service {service}')


class ParametersOf:
    """The parameters of another node."""

    def __init__(self, calls: Calls, name: str) -> None:
        self._calls = calls
        self._get, self._set = f'{name}/get_parameters', f'{name}/set_parameters_atomically'
        calls.client_of(GetParameters, self._get)
        calls.client_of(SetParametersAtomically, self._set)

    @property
    def available(self) -> bool:
        """Whether the parameter services of that node are available."""
        return self._calls.ready(self._get) and self._calls.ready(self._set)

    def get(self, names: Sequence[str], then: Callable[[list[Any]], None], on_failure: Done) -> None:
        """Get values; `then` is called with all of them, or with [] if the node lacks any."""

        def answered(response: Any) -> None:
            values = [parameter_value_to_python(value) for value in response.values]
            then(values if len(values) == len(names) and None not in values else [])

        self._calls.ask(GetParameters, self._get, GetParameters.Request(names=list(names)), answered, on_failure)

    def set(self, values: Mapping[str, Any], done: Done) -> None:
        """Set values atomically."""
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        self._calls.ask(
            SetParametersAtomically, self._set, request,
            lambda response: done('' if response.result.successful else response.result.reason or 'refused'), done,
        )  # fmt: skip

    def change_hands(self, change: Callable[[list[str]], list[str]], done: Done) -> None:
        """Set the names of the node's hands to what `change` returns for the present ones."""

        def answered(values: list[Any]) -> None:
            names = named(values[0]) if values else []
            if not values or change(names) == names:
                done('' if values else 'the node has no parameter end_effectors')
            else:
                self.set({'end_effectors': change(names) or NONE}, done)

        self.get(['end_effectors'], answered, done)

    def close(self) -> None:
        """Destroy the clients."""
        self._calls.forget(self._get)
        self._calls.forget(self._set)


class HandSensor(NamedTuple):
    """The link of a hand, the topic of its readings, and the side that applies the wrench in them."""

    link: str
    topic: str
    sense: Sense


class DynamicsClient:
    """Parameters of the dynamics node: its hands with their sensors, gravity, total terms and payloads."""

    def __init__(self, node: Node, name: str) -> None:
        self.calls = Calls(node)
        self.parameters = ParametersOf(self.calls, name)
        self._pending = False
        self.hands: dict[str, HandSensor] | None = None
        self.terms: list[str] | None = None
        self.gravity: list[float] = []  # m/s^2, in the base's axes
        self.payloads: dict[str, float] = {}  # kg, by hand

    def poll(self) -> None:
        """Request the parameters, unless an answer is pending; call it about once a second."""
        self.calls.give_up()
        if not self.parameters.available:
            self._on_failure('')
        elif not self._pending:
            self._ask(['total_terms', 'end_effectors', 'gravity'], self._on_terms)

    def _ask(self, names: list[str], then: Callable[[list[Any]], None]) -> None:
        def answered(values: list[Any]) -> None:
            self._pending = False
            if values:  # else it is a different node with this name
                then(values)

        self._pending = True
        self.parameters.get(names, answered, self._on_failure)

    def _on_failure(self, _: str) -> None:
        self._pending, self.terms, self.payloads = False, None, {}

    def _on_terms(self, values: list[Any]) -> None:
        self.terms, hands, self.gravity = named(values[0]), named(values[1]), list(values[2])
        if not hands:
            self.hands, self.payloads = {}, {}
            return
        for hand in hands:
            self.calls.client_of(Trigger, _zero(hand))
        names = [f'{hand}.{key}' for hand in hands for key in ('link', 'wrench_topic', 'sense', 'payload.mass')]
        self._ask(names, lambda values: self._on_hands(hands, values))

    def _on_hands(self, hands: list[str], values: list[Any]) -> None:
        of_each = dict(zip(hands, (values[k : k + 4] for k in range(0, len(values), 4)), strict=True))
        self.hands = {hand: HandSensor(*sensor) for hand, (*sensor, _) in of_each.items()}
        self.payloads = {hand: mass for hand, (*_, mass) in of_each.items()}

    def choose_terms(self, terms: Sequence[str], done: Done) -> None:
        """Set `total_terms`."""

        def answered(reason: str) -> None:
            if not reason:
                self.terms = list(terms)
            done(reason)

        self.parameters.set({'total_terms': list(terms) or NONE}, answered)

    def set_payload(self, hand: str, mass: float, done: Done) -> None:
        """Set the payload of a hand to a bag (kg)."""
        self.parameters.set(bag(hand, mass), done)

    def change_hands(self, change: Callable[[list[str]], list[str]], done: Done) -> None:
        """Add hands, or remove them."""
        self.parameters.change_hands(change, done)

    def zero(self, hand: str, then: Callable[[bool, str], None]) -> None:
        """Zero the sensor of a hand; `then` gets the success and the message of the node."""
        self.calls.ask(
            Trigger, _zero(hand), Trigger.Request(),
            lambda response: then(response.success, response.message), lambda reason: then(False, reason),
        )  # fmt: skip


def bag(hand: str, mass: float) -> dict[str, Any]:
    """Return the parameters of a hand that holds a bag (kg): a point at the origin of the hand's frame."""
    body = {'mass': float(mass), 'com': [0.0] * 3, 'inertia': [0.0] * 6}
    return {f'{hand}.payload.{name}': value for name, value in body.items()}


def _zero(hand: str) -> str:
    return f'wrench/{hand}/zero'


SERVICES = ('pause', 'resume', 'reset')  # of the simulator
FRICTION = ('coulomb', 'coulomb_share', 'viscous')  # parameters of the simulator: N m, of the limit, N m s/rad


class SimulatorClient:
    """Services and parameters of the simulator."""

    def __init__(self, node: Node) -> None:
        self._calls = Calls(node)
        for name in SERVICES:
            self._calls.client_of(Trigger, name)
        self._name = ''
        self._parameters: ParametersOf | None = None
        self.friction = ''
        self.bags: dict[str, float] = {}  # kg, by hand

    @property
    def available(self) -> bool:
        """Whether a simulator is running."""
        return self._calls.ready('reset')

    def call(self, name: str, done: Done) -> None:
        """Call `pause`, `resume` or `reset`."""
        self._calls.ask(
            Trigger, name, Trigger.Request(), lambda response: done('' if response.success else response.message), done
        )

    def poll(self, publishers: Sequence[str], hands: Sequence[str]) -> None:
        """Request friction and payloads from the node that publishes the joint states of the simulator."""
        self._calls.give_up()
        publisher = publishers[0] if len(publishers) == 1 else NAMELESS
        name = publisher if self.available and publisher != NAMELESS else ''
        if name != self._name:
            self._begin(name)
        if self._parameters is None or not self._parameters.available:
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
        self.friction = _friction_text(*values) if values else ''

    def _on_bags(self, hands: Sequence[str], values: list[Any]) -> None:
        self.bags = dict(zip(hands, values, strict=False))

    def hang(self, hand: str, mass: float, done: Done) -> None:
        """Hang a bag (kg) on a simulated hand, without changing the dynamics node."""
        if self._parameters is None:
            done('no simulator is running')
        else:
            self._parameters.set(bag(hand, mass), done)

    def change_hands(self, change: Callable[[list[str]], list[str]], done: Done) -> None:
        """Add hands of the simulated robot, or remove them."""
        if self._parameters is None:
            done('no simulator is running')
        else:
            self._parameters.change_hands(change, done)


def _ignored(_: str) -> None:
    """Ignore a failure: the next poll asks again."""


def _friction_text(coulomb: float, share: float, viscous: float) -> str:
    words = {f'{coulomb:g} N m': coulomb, f'{share:.0%} of its effort limit': share, f'{viscous:g} N m s/rad': viscous}
    return ' and '.join(part for part, value in words.items() if value)
