"""`dynamics_node`: joint states and wrenches in, torques by name out. README.md has its topics and parameters."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from builtin_interfaces.msg import Time
from rclpy.node import Node

from ..core.errors import listed
from ..dynamics.factory import load_model
from ..dynamics.terms import Torques
from ..pipeline.dynamics_parameters import MODEL
from ..pipeline.pipeline import Pipeline
from ..robot.robot import Robot
from .diagnostics import Reporter
from .dynamics_diagnostics import DynamicsHealth
from .dynamics_inputs import DynamicsInputs
from .dynamics_outputs import DynamicsOutputs
from .parameters import NodeSettings, warn_of_unknown
from .run import run


class DynamicsNode(Node):
    """Parses messages, calls the library, publishes."""

    def __init__(self) -> None:
        super().__init__('krang_dynamics')
        settings = NodeSettings(self)
        chosen = settings.declare(MODEL)
        if chosen['backend'] == 'compiled':
            self.get_logger().info('backend compiled: the first time, building it takes a few seconds')
        model = load_model(**chosen)
        pipeline = Pipeline(settings, model)
        warn_of_unknown(self)
        self._outputs = DynamicsOutputs(self, settings, pipeline)
        settings.follow()
        inputs = DynamicsInputs(self, pipeline, self._on_torques)
        self._health = DynamicsHealth(pipeline, inputs.now)
        reporter = Reporter(self, model.dynamics.name)
        reporter.add(self._health.statuses)
        reporter.add(self._outputs.commands.statuses)
        reporter.add(self._outputs.external.statuses)
        self.get_logger().info(f'{model.dynamics.name}: {model.dynamics.n} joints; waiting for {inputs.topic}')
        if not pipeline.inputs.hands:
            self.get_logger().info(offered_hands(model.robot))

    def _on_torques(self, torques: Torques, stamp: Time) -> None:
        start = time.perf_counter()
        self._outputs.publish(torques, stamp)
        self._health.computed(time.perf_counter() - start)

    def destroy_node(self) -> None:
        """End: take back what goes out to a controller first."""
        self._outputs.commands.end()
        super().destroy_node()


def offered_hands(robot: Robot) -> str:
    """Return what to say where no hands are named: the ends of the tree, and the line that names one."""
    ends = [*robot.hands.values()]
    line = f'-p end_effectors:="[hand]" -p hand.link:={ends[0]}'
    return f'no end effectors, so no wrenches; the ends of the tree are {listed(ends)}. To have one: {line}'


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(DynamicsNode, args)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
