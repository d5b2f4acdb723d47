"""What somebody asks for on the page, said to the nodes; and what they refuse."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...page.snapshot import Line
from ...robot.robot import Limits
from .clients import Done, DynamicsClient, SimulatorClient

REMEMBERED = 10.0  # s: for so long the coloured line says what was refused


class PageControls:
    """The page's `Controls`, by parameters, services and the topic `pose`."""

    def __init__(
        self, node: Node, dynamics: DynamicsClient, simulator: SimulatorClient, say: Callable[[str, str], None]
    ) -> None:
        """`say` shows a title and words on the page, for a while."""
        self._dynamics, self._simulator, self._say = dynamics, simulator, say
        self._pose = node.create_publisher(JointState, 'pose', 10)
        self._refused: dict[str, tuple[float, str]] = {}  # until when, and why, by what was asked
        self.limits: Mapping[str, Limits] = {}

    def health(self) -> list[Line]:
        """Return lines for what was refused a while ago."""
        now = time.monotonic()
        self._refused = {what: (until, why) for what, (until, why) in self._refused.items() if now < until}
        return [Line('warn', what, f'refused: {why}') for what, (_, why) in self._refused.items()]

    def _answer(self, what: str) -> Done:
        """Return what takes in the answer to something that was asked for."""

        def done(reason: str) -> None:
            self._refused.pop(what, None)
            if reason:
                self._refused[what] = (time.monotonic() + REMEMBERED, reason)
                self._say(f'Refused: {what}', reason)

        return done

    def command(self, name: str) -> None:
        """Do `pause`, `resume` or `reset`."""
        self._simulator.command(name, self._answer(name))

    def pose(self, joint: str, position: float) -> None:
        """Put a joint (rad or m), or say why not."""
        limits, done = self.limits[joint], self._answer('pose')
        if limits.lower is not None and limits.upper is not None and not limits.lower <= position <= limits.upper:
            done(f'{joint} goes from {limits.lower:.4g} to {limits.upper:.4g}; {position:g} is beyond')
            return
        self._pose.publish(JointState(name=[joint], position=[position]))
        done('')

    def choose_terms(self, terms: Sequence[str]) -> None:
        """Let `torque/total` be the sum of these."""
        self._dynamics.choose_terms(terms, self._answer('total_terms'))

    def hang(self, hand: str, mass: float) -> None:
        """Hang a bag (kg) on a hand of the simulated robot."""
        self._simulator.hang(hand, mass, self._answer(f'bag on {hand}'))

    def tell_payload(self, hand: str, mass: float) -> None:
        """Tell the dynamics node that a hand holds a bag (kg)."""
        self._dynamics.tell(hand, mass, self._answer(f'payload of {hand}'))

    def zero_sensor(self, hand: str) -> None:
        """Let the dynamics node take what a hand's sensor reads now for nothing, and say what it answers."""
        done = self._answer(f'zero of {hand}')

        def answered(success: bool, words: str) -> None:
            done('' if success else words)
            if success:
                self._say(f'Sensor of {hand} zeroed', words)

        self._dynamics.zero(hand, answered)
