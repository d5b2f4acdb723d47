"""The dynamics node as another node sees it: its parameters and services, without waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from ..pipeline.spec import NONE, named
from .calls import Calls, Done, ParametersOf


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
