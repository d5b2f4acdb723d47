"""The hands of a simulated robot: payloads, pushes and pulls on any link, and sensor readings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PolygonStamped, WrenchStamped
from rclpy.node import Node
from rclpy.publisher import Publisher

from ...core.errors import ArgumentError, unknown_name
from ...core.inertia import Inertia
from ...core.parameters import Settings, named
from ...core.text import shown
from ...core.wrench import Wrench
from ...live.messages import wrench_of
from ...live.wrenches import WrenchInput
from ...robot.hands import check_hands, link_of_hand
from ...simulation.pulls import Pull, pulls_of
from ...simulation.sensors import SimulatedWrist
from ...simulation.simulation import Simulation
from ..topics import INPUT, wrench_message
from .parameters import end_effectors_of, of_hand, wrist


class SimulatorHands:
    """Topics `pull`, `push`, `push/<hand>` and `<hand>.wrench_topic`, and the parameters of each hand."""

    def __init__(self, node: Node, settings: Settings, simulation: Simulation) -> None:
        self._node, self._settings, self._simulation = node, settings, simulation
        self._links, self._random = frozenset(simulation.dynamics.link_names), np.random.default_rng()
        self._names, self._declared = set[str](), set[str]()
        self._hands: list[WrenchInput] = []
        self._push_subscriptions: dict[str, Any] = {}  # by hand
        self._pushed_links: dict[str, WrenchInput] = {}  # pushes on any link, by link
        node.create_subscription(WrenchStamped, 'push', self._on_push_anywhere, INPUT)
        self._pulls: dict[str, tuple[float, list[Pull]]] = {}  # by link: arrival (s) and pulls
        node.create_subscription(PolygonStamped, 'pull', self._on_pull, INPUT)
        self._publishers: dict[str, Publisher] = {}  # of readings, by hand
        self.wrists: dict[str, SimulatedWrist] = {}  # by hand
        settings.declare([end_effectors_of(simulation.robot)])
        for name in named(settings['end_effectors']):
            self._add(name)
        settings.require(self._check)
        settings.on_change(self._apply)

    def _add(self, name: str) -> None:
        """Add a hand: its topics, and its parameters (their declaration calls `_apply`) unless it was a hand before."""
        self._names.add(name)
        if name not in self._declared:
            self._declared.add(name)
            self._settings.declare(of_hand(name, self._default_link(name)))
        link, frame, topic = (self._settings[f'{name}.{key}'] for key in ('link', 'sensor.frame', 'wrench_topic'))
        if link not in self._links:
            raise unknown_name(f'{name}.link: link', link, self._links)
        if frame and frame not in self._links:
            raise unknown_name(f'{name}.sensor.frame: link', frame, self._links)
        hand = self._new_input(name, link)
        pushed = partial(self._on_push, hand)
        self._push_subscriptions[name] = self._node.create_subscription(WrenchStamped, f'push/{name}', pushed, INPUT)
        self._publishers[name] = self._node.create_publisher(WrenchStamped, topic, 10)
        self._hands.append(hand)

    def _remove(self, name: str) -> None:
        """Remove a hand and its topics; ROS keeps its parameters."""
        self._names.remove(name)
        self._node.destroy_subscription(self._push_subscriptions.pop(name))
        self._node.destroy_publisher(self._publishers.pop(name))
        self._hands = [hand for hand in self._hands if hand.name != name]
        self.wrists.pop(name, None)

    def _default_link(self, name: str) -> str:
        return self._simulation.robot.end_effectors.get(name) or link_of_hand(name, self._links)

    @property
    def links(self) -> dict[str, str]:
        """Links of the hands by name."""
        return {hand.name: hand.link for hand in self._hands}

    def _new_input(self, name: str, link: str) -> WrenchInput:
        """Return an input for pushes. By default it keeps the sign of its messages, wrenches of the WORLD."""
        return WrenchInput(name, link, timeout=self._settings['timeout'], links=self._links)

    def _check(self, values: Mapping[str, Any]) -> None:
        check_hands(named(values['end_effectors']), self.links, self._links)
        for hand in self._hands:
            wrist(values, hand.name, hand.link)

    def _apply(self) -> None:
        """Apply the parameters of hands, payloads and sensors."""
        names = named(self._settings['end_effectors'])
        for name in self._names.difference(names):
            self._remove(name)
        for name in names:
            if name not in self._names:
                self._add(name)
        self.wrists |= {hand.name: wrist(self._settings, hand.name, hand.link) for hand in self._hands}
        carried: dict[str, Inertia] = {}
        for hand in self.wrists.values():
            carried[hand.link] = carried.get(hand.link, Inertia()) + hand.payload
        self._simulation.dynamics.payload = carried

    def _on_push(self, hand: WrenchInput, message: WrenchStamped) -> None:
        if not hand.update(*wrench_of(message), 0, time.monotonic_ns()):
            reason = f'push/{hand.name} refused: {hand.refusals.reason}'
            self._node.get_logger().warning(reason, throttle_duration_sec=1.0)

    def _on_push_anywhere(self, message: WrenchStamped) -> None:
        """Store a push on the link that is the frame of the message."""
        link = message.header.frame_id
        if link not in self._links:
            self._node.get_logger().warning(f"push refused: '{shown(link)}' is not a link", throttle_duration_sec=1.0)
            return
        self._on_push(self._pushed_links.setdefault(link, self._new_input(link, link)), message)

    def _on_pull(self, message: PolygonStamped) -> None:
        """Replace the pulls on the link that is the frame of the message."""
        link = message.header.frame_id
        try:
            if link not in self._links:
                raise ArgumentError(f"'{shown(link)}' is not a link")
            self._pulls[link] = time.monotonic(), pulls_of(link, [(p.x, p.y, p.z) for p in message.polygon.points])
        except ArgumentError as error:
            self._node.get_logger().warning(f'pull refused: {error}', throttle_duration_sec=1.0)

    def forget(self) -> None:
        """Forget all pushes and pulls."""
        self._pulls.clear()
        for hand in (*self._hands, *self._pushed_links.values()):
            hand.forget()

    def pushes(self) -> list[Wrench]:
        """Return the present pushes on links: wrenches of the WORLD."""
        now = time.monotonic_ns()
        return [wrench for hand in (*self._hands, *self._pushed_links.values()) if (wrench := hand.wrench(0, now))]

    def pulls(self) -> list[Pull]:
        """Return the present pulls on links."""
        oldest = time.monotonic() - self._settings['timeout']
        return [pull for since, pulls in self._pulls.values() if since >= oldest for pull in pulls]

    def publish(self, contacts: Sequence[Wrench], stamp: Time) -> None:
        """Publish the readings of the sensors for these contacts, wrenches of the WORLD."""
        for name, sensor in self.wrists.items():
            read = sensor.reading(self._simulation, contacts, self._random)
            self._publishers[name].publish(wrench_message(sensor.axes or sensor.link, stamp, read.tolist()))
