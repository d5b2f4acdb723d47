"""`payload/<hand>`: messages that set the parameters of a payload, so that there is one truth to read back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message

from ..core.errors import ArgumentError
from ..core.limits import MAX_BYTES
from ..core.spatial import Array
from ..messages.fields import check_size, payload_of
from ..pipeline.payloads import Payloads, Told
from ..pipeline.robot_inputs import RobotInputs
from .topics import why_refused

ONCE = QoSProfile(depth=10)  # reliable: what a hand took up is told once
PERIOD = 0.05  # s: parameters are not for a thousand changes a second; of good messages, the last one counts


class PayloadInput:
    """Subscriptions, one a hand."""

    def __init__(self, node: Node, payloads: Payloads, inputs: RobotInputs, now: Callable[[], int]) -> None:
        """`now` is the clock that arrivals go by, ns."""
        self._node, self._payloads, self._inputs, self._now = node, payloads, inputs, now
        self._waiting: dict[str, dict[str, Any]] = {}
        for hand in payloads.refusals:
            node.create_subscription(
                InertiaStamped, f'payload/{hand}', partial(self._on_payload, hand), ONCE, raw=True,
                qos_overriding_options=QoSOverridingOptions.with_default_policies(),
            )  # fmt: skip
        if payloads.refusals:
            node.create_timer(PERIOD, self._set, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_payload(self, hand: str, raw: bytes) -> None:
        refusals = self._payloads.refusals[hand]
        refused = refusals.count
        try:
            check_size(raw, MAX_BYTES)
            frame, mass, com, inertia = payload_of(deserialize_message(raw, InertiaStamped))
        except (RuntimeError, ArgumentError) as error:
            refusals.note(why_refused(error))
            return
        values = self._payloads.read(hand, frame, Told(mass, com, inertia), self._positions())
        if values is not None:
            self._waiting[hand] = values
        elif refusals.count == refused:  # it is what the parameters say, or it waits for the joints' positions
            self._waiting.pop(hand, None)

    def _positions(self) -> Array | None:
        states = self._inputs.states
        return states.position if states.complete(self._now()) else None

    def _set(self) -> None:
        """Set the parameters of what has come, a hand's as one set."""
        if (q := self._positions()) is not None:
            self._waiting |= self._payloads.placed(q)
        waiting, self._waiting = self._waiting, {}
        for hand, values in waiting.items():
            parameters = [Parameter(name, value=value) for name, value in values.items()]
            result = self._node.set_parameters_atomically(parameters)
            if not result.successful:
                self._payloads.refusals[hand].note(result.reason)
