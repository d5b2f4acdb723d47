"""`payload/<hand>/proposed` and `payload/<hand>/accept`: the payload that `krang calibrate --efforts` finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from std_srvs.srv import Trigger

from ..calibration.lifting import Lifting
from ..calibration.payload_by_lifting import LiftedPayload
from ..core.errors import KrangDynamicsError
from .diagnostics import OK, Reporter, Status
from .topics import LATCHED


class PayloadProposal:
    """Publishes each payload that the stands determine, and sets it on request."""

    def __init__(self, node: Node, lifting: Lifting, robot: str, apply: Callable[[Mapping[str, Any]], None]) -> None:
        """`apply` sets parameters of the dynamics node, or raises an error of ours; `robot` is the robot's name."""
        self._node, self._lifting, self._apply = node, lifting, apply
        hand = lifting.hand.name
        self._publisher = node.create_publisher(InertiaStamped, f'payload/{hand}/proposed', LATCHED)
        node.create_service(Trigger, f'payload/{hand}/accept', self._on_accept)
        Reporter(node, robot).add(self._statuses)

    def publish(self) -> None:
        """Publish the payload by all stands so far, if they determine it; call it after each stand."""
        found = self._lifting.found
        if found is None or found.trouble:
            return
        message = InertiaStamped()
        message.header.stamp, message.header.frame_id = self._node.get_clock().now().to_msg(), self._lifting.hand.link
        message.inertia.m, com = found.mass, message.inertia.com
        com.x, com.y, com.z = found.com.tolist()
        self._publisher.publish(message)

    def _on_accept(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if why := self._lifting.trouble:
            response.success, response.message = False, why
            return response
        values = self._lifting.values()
        try:
            self._apply(values)
        except KrangDynamicsError as error:
            response.success, response.message = False, str(error)
            return response
        response.success = True
        response.message = '; '.join(f'{name} is {value}' for name, value in values.items())
        return response

    def _statuses(self) -> Iterator[Status]:
        name, found = f'payload {self._lifting.hand.name} proposed', self._lifting.found
        now = {'now': self._lifting.sampler.status}
        if found is None or not np.isfinite(found.deviations).all():
            yield Status(name, OK, f'none: {self._lifting.trouble}', now)
        else:
            message = f'none: {found.trouble}' if found.trouble else f'{found.mass:.4g} kg'
            yield Status(name, OK, message, now | self._values(found))

    def _values(self, found: LiftedPayload) -> dict[str, str]:
        """Return numbers with their standard deviations, and the friction of each used joint."""
        names, deviations = self._lifting.joints.names, found.deviations
        return {
            'mass (kg)': f'{found.mass:.6g}',
            'mass, standard deviation (kg)': f'{deviations[0]:.2g}',
            'centre of mass (m)': ', '.join(f'{x:.4g}' for x in found.com),
            'centre of mass, standard deviation (m)': ', '.join(f'{x:.2g}' for x in deviations[1:]),
            'poses': str(found.poses),
            'friction (N m, N)': ', '.join(f'{names[k]} {found.friction[k]:.3g}' for k in found.joints),
        }
