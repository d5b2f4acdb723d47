"""`dynamics_node`: joint states and wrenches in, torques by name out. README.md has its topics and parameters."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node

from ..dynamics.factory import load_model
from ..dynamics.terms import Terms
from . import dynamics_parameters as parameters
from .diagnostics import Reporter
from .dynamics_diagnostics import DynamicsHealth
from .dynamics_inputs import DynamicsInputs
from .dynamics_outputs import DynamicsOutputs
from .parameters import warn_of_unknown
from .run import run
from .settings import Settings


class DynamicsNode(Node):
    """Parses messages, calls the library, publishes."""

    def __init__(self) -> None:
        super().__init__('krang_dynamics')
        self._settings = Settings(self)
        chosen = self._settings.declare(parameters.MODEL)
        if chosen['backend'] == 'compiled':
            self.get_logger().info('backend compiled: the first time, building it takes a few seconds')
        model = load_model(**chosen)
        self._dynamics, self._terms = model.dynamics, Terms(model.dynamics)
        self._settings.declare(parameters.settings(model))
        self._settings.declare(parameters.of_joints(model.dynamics))
        self._inputs = DynamicsInputs(self, self._settings, model)
        self._settings.used_by(self._apply)
        warn_of_unknown(self)
        self._outputs = DynamicsOutputs(self, self._settings, model)
        self._settings.follow()
        self._health = DynamicsHealth(self._inputs, self._outputs)
        Reporter(self, model.dynamics.name).add(self._health.statuses)
        topic = self._inputs.subscribe(self._on_state)
        self.get_logger().info(f'{model.dynamics.name}: {model.dynamics.n} joints; waiting for {topic}')

    def _apply(self) -> None:
        """Put the parameters of the dynamics to work."""
        self._dynamics.gravity = np.array(self._settings['gravity'])
        for key in parameters.JOINT_SETTINGS:
            setattr(self._dynamics, key, parameters.joint_vector(self._settings, self._dynamics, key))

    def _on_state(self, stamp: Time, nanoseconds: int, now: int) -> None:
        start = time.perf_counter()
        torques = self._terms.of(self._inputs.state(nanoseconds, now))
        self._outputs.publish(torques, stamp)
        self._health.computed(time.perf_counter() - start)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(DynamicsNode, args)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
