"""`wrench/<hand>/compensated` and `wrench/<hand>/zero`."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from ..core.errors import ArgumentError
from ..messages.messages import WrenchMessage
from ..pipeline.pipeline import Pipeline
from .topics import WrenchTopic


class WristTopics:
    """One hand's sensor, without bias, tool and payload; and the service that makes what it reads now nothing."""

    def __init__(self, node: Node, pipeline: Pipeline, hand: str, now: Callable[[], int]) -> None:
        """`now` is the clock that arrivals go by, ns."""
        self._node, self._pipeline, self._hand, self._now = node, pipeline, hand, now
        self._compensated = WrenchTopic(node, f'wrench/{hand}/compensated')
        node.create_service(Trigger, f'wrench/{hand}/zero', self._on_zero)

    def publish(self, reading: WrenchMessage) -> None:
        """Send the latest reading without what is not contact, if it can be known."""
        if not self._compensated.wanted:
            return
        contact = self._pipeline.inputs.compensated(self._hand, self._now())
        if contact is not None:
            self._compensated.send(contact, reading.frame, reading.stamp)

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        name = f'{self._hand}.sensor.bias'
        try:
            bias = self._pipeline.zero(self._hand, self._now())
        except ArgumentError as error:
            response.success, response.message = False, str(error)
            return response
        (result,) = self._node.set_parameters([Parameter(name, value=bias.tolist())])
        numbers = ', '.join(f'{x:.4g}' for x in bias)
        response.success = result.successful
        response.message = f'{name} is [{numbers}]' if result.successful else result.reason
        return response
