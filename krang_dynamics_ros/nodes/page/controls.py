"""Requests from the page to the nodes, refusals of the nodes, and the topic of pulls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point32, PolygonStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...page.snapshot import Line
from ...robot.hands import hand_name
from ...robot.robot import Limits
from ...simulation.pulls import Pull
from .clients import Done, DynamicsClient, SimulatorClient
from .guiding import GuidingClient

REMEMBERED = 10.0  # s, for which the coloured line shows a refusal


class PageControls:
    """The page's `Controls`, by parameters, services and the topic `pose`."""

    def __init__(
        self, node: Node, dynamics: DynamicsClient, simulator: SimulatorClient, guiding: GuidingClient,
        notify: Callable[[str, str], None],
    ) -> None:  # fmt: skip
        """`notify` shows a title and a message on the page, for a while."""
        self._dynamics, self._simulator, self._guiding, self._notify = dynamics, simulator, guiding, notify
        self._pose = node.create_publisher(JointState, 'pose', 10)
        self._refused: dict[str, tuple[float, str]] = {}  # end of display and reason, by request
        self.limits: Mapping[str, Limits] = {}
        self.zeroed: dict[str, str] = {}  # what became of the last request to zero the sensor of a hand

    def health(self) -> list[Line]:
        """Return lines for recent refusals."""
        now = time.monotonic()
        self._refused = {name: (until, reason) for name, (until, reason) in self._refused.items() if now < until}
        return [Line('warn', name, f'refused: {reason}') for name, (_, reason) in self._refused.items()]

    def _answer(self, request: str) -> Done:
        """Return the callback for the answer to a request."""

        def done(reason: str) -> None:
            self._refused.pop(request, None)
            if reason:
                self._refused[request] = (time.monotonic() + REMEMBERED, reason)
                self._notify(f'Refused: {request}', reason)

        return done

    def call_simulator(self, name: str) -> None:
        """Call `pause`, `resume` or `reset`."""
        self._simulator.call(name, self._answer(name))

    def pose(self, joint: str, position: float) -> None:
        """Set the position of a joint (rad or m), or show a refusal."""
        limits, done = self.limits[joint], self._answer('pose')
        if limits.lower is not None and limits.upper is not None and not limits.lower <= position <= limits.upper:
            done(f'{joint}: {position:g}, must be {limits.lower:.4g} to {limits.upper:.4g}')
            return
        self._pose.publish(JointState(name=[joint], position=[position]))
        done('')

    def choose_terms(self, terms: Sequence[str]) -> None:
        """Set the terms of `torque/total`."""
        self._dynamics.choose_terms(terms, self._answer('total_terms'))

    def hang(self, hand: str, mass: float) -> None:
        """Hang a bag (kg) on a hand of the simulated robot."""
        self._simulator.hang(hand, mass, self._answer(f'bag on {hand}'))

    def set_payload(self, hand: str, mass: float) -> None:
        """Set the payload of a hand in the dynamics node to a bag (kg)."""
        self._dynamics.set_payload(hand, mass, self._answer(f'payload of {hand}'))

    def make_hand(self, link: str) -> None:
        """Make a link a hand: of the simulator, if there is one, then of the dynamics node."""
        name = hand_name(link)
        self._change_hands(lambda names: [*names, name] if name not in names else names, f'{link} as a hand')

    def remove_hand(self, hand: str) -> None:
        """Make a hand a link again, without the bag that hangs on it."""
        if self._simulator.bags.get(hand):
            self._simulator.hang(hand, 0.0, lambda _: None)
        self._change_hands(lambda names: [name for name in names if name != hand], f'{hand} as no hand')

    def _change_hands(self, change: Callable[[list[str]], list[str]], request: str) -> None:
        done = self._answer(request)

        def answered(reason: str) -> None:
            if reason:
                done(reason)
            else:
                self._dynamics.change_hands(change, done)

        if self._simulator.available:
            self._simulator.change_hands(change, answered)
        else:
            answered('')

    def zero_sensor(self, hand: str) -> None:
        """Zero the sensor of a hand through the dynamics node, and show the answer."""
        done = self._answer(f'zero of {hand}')
        self.zeroed[hand] = 'zeroing ...'

        def answered(success: bool, message: str) -> None:
            done('' if success else message)
            self.zeroed[hand] = message if success else f'not zeroed, {message}'
            if success:
                self._notify(f'Sensor of {hand} zeroed', message)

        self._dynamics.zero(hand, answered)

    def guide(self, *, on: bool) -> None:
        """Start or stop the guiding mode."""
        done = self._answer('guiding')
        if on:
            self._guiding.start(done)
        else:
            self._guiding.stop(done)


class PullTopic:
    """Topic `pull`: grip and target of the pulls on the page, by link; the simulator computes the forces."""

    def __init__(self, node: Node) -> None:
        self._node, self._publisher = node, node.create_publisher(PolygonStamped, 'pull', 10)
        self._links: set[str] = set()  # of the last messages

    def publish(self, pulls: Mapping[str, Sequence[Pull]]) -> None:
        """Publish the pulls by link; for a link that is let go, a message without points."""
        stamp = self._node.get_clock().now().to_msg()
        for link in pulls.keys() | self._links:
            self._publisher.publish(pull_message(link, stamp, pulls.get(link, ())))
        self._links = set(pulls)


def pull_message(link: str, stamp: Time, pulls: Iterable[Pull]) -> PolygonStamped:
    """Return a message of the pulls on a link: points in pairs, the grip (its axes) and the target (the base's), m."""
    message = PolygonStamped()
    message.header.stamp, message.header.frame_id = stamp, link
    pairs = (point.tolist() for pull in pulls for point in (pull.grip, pull.target))
    message.polygon.points = [Point32(x=x, y=y, z=z) for x, y, z in pairs]
    return message
