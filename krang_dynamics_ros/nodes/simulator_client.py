"""The simulator, if there is one: its services and parameters, without waiting for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from ..outputs.controller_watch import NAMELESS
from .calls import Calls, Done, ParametersOf
from .dynamics_client import bag

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
