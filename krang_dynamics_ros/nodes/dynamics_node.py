"""`dynamics_node`: joint states and wrenches in, torques by joint name out. See docs/dynamics_node.md."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from ..core.errors import listed
from ..core.parameters import ParameterSpec
from ..dynamics.factory import Model, load_model
from ..dynamics.terms import Torques
from ..live import base, external, guiding, parameters
from ..live.assumptions import assumptions
from ..live.engine import Engine
from ..live.parameters import MODEL
from ..robot.hands import hand_links, hands_of
from ..robot.robot import Robot
from .arguments import node_arguments
from .diagnostics import Reporter
from .dynamics.description_input import Described, DescriptionInput
from .dynamics.diagnostics import DynamicsHealth
from .dynamics.inputs import DynamicsInputs, NodeClocks
from .dynamics.outputs import DynamicsOutputs
from .endpoints import ensure_only_publisher
from .run import run, stop_requested
from .settings import NodeSettings, warn_of_unknown

_DESCRIPTION = (
    'Computes joint torques from joint states and wrenches, each term on its own topic (docs/dynamics_node.md).'
)


MAX_OFFERED = 8  # links in the message on hands
NOT_KEPT = ('command_enabled', 'command_test')  # parameters that a replacement starts without


class DynamicsNode(Node):
    """Parses messages, calls the library, publishes.

    For another robot, or other hands, `run` replaces the node by a new one (`replacement`).
    """

    def __init__(self, described: Described | None = None, values: Mapping[str, Any] | None = None) -> None:
        """`described` is the robot from `robot_description_topic`; None: none received yet, or no such topic.

        `values` are the parameters of a node that this one replaces, if it has the same robot.
        """
        given = [Parameter(name, value=value) for name, value in (values or {}).items()]
        super().__init__('krang_dynamics', parameter_overrides=given)
        self._described, self._restarted = described, values is not None
        self.replacement: Callable[[], Node] | None = None  # creates the node for another robot or hands
        self._outputs: DynamicsOutputs | None = None
        settings = NodeSettings(self)
        chosen = settings.declare(MODEL)
        topic = chosen.pop('robot_description_topic')
        description = DescriptionInput(self, settings, described, self._restart_with) if topic else None
        if description is not None and described is None:
            Reporter(self, '').add(description.statuses)
            self.get_logger().info(f'waiting for the robot, its URDF on {description.topic}')
            return
        if chosen['backend'] == 'compiled':
            self.get_logger().info('backend compiled: the first build takes a few seconds')
        reporter = self._begin(settings, load_model(**chosen) if described is None else described.model)
        if description is not None:
            reporter.add(description.statuses)

    def _begin(self, settings: NodeSettings, model: Model) -> Reporter:
        """Create subscriptions and publishers for a robot."""
        clocks = NodeClocks(self)
        engine = Engine(settings, model, clocks.in_seconds())
        warn_of_unknown(self)
        outputs = DynamicsOutputs(self, settings, engine)
        settings.follow()
        if settings['sole_publisher'] and not self._restarted:
            ensure_only_publisher(self, 'torque/total')
        inputs = DynamicsInputs(self, engine, clocks, self._on_torques)
        settings.on_change(partial(self._restart_with_hands, settings, settings['end_effectors']))
        self._outputs, self._health = outputs, DynamicsHealth(engine, clocks)
        reporter = Reporter(self, model.dynamics.name)
        reporter.add(self._health.statuses)
        reporter.add(outputs.commands.statuses)
        reporter.add(outputs.external.statuses)
        reporter.add(lambda: [outputs.support_wrench.status()])
        self.get_logger().info(f'{model.dynamics.name}: {model.dynamics.n} joints; waiting for {inputs.topic}')
        for line in assumptions(settings, model):
            self.get_logger().info(f'assumed: {line}')
        if not engine.inputs.hands:
            self.get_logger().info(offered_hands(model.robot))
        return reporter

    def begin_stop(self) -> None:
        """Start to take commands to zero, over seconds; the node shuts down or is replaced when `stopped`."""
        if self._outputs is not None:
            self._outputs.commands.begin_stop()

    @property
    def stopped(self) -> bool:
        """Whether commands are off, or the sender process takes them to zero on its own during a shutdown."""
        return self._outputs is None or self._outputs.commands.stopped

    def resume_commands(self) -> None:
        """Allow commands to be enabled again: the present robot is kept. Not while the node shuts down."""
        if self._outputs is not None and not stop_requested():
            self._outputs.commands.resume_commands()

    def _restart_with(self, described: Described) -> None:
        """Replace this node by a new one, so that no state of the old robot is used for the new robot."""
        self.replacement = partial(DynamicsNode, described)

    def _restart_with_hands(self, settings: NodeSettings, present: list[str]) -> None:
        """Replace this node by one with the same values if its hands are no longer the present ones."""
        if settings['end_effectors'] != present:
            values = {name: parameter.value for name, parameter in self._parameters.items()}
            removed = tuple(f'{name}.' for name in present if name not in settings['end_effectors'])
            kept = {
                name: value
                for name, value in values.items()
                if value is not None and name not in NOT_KEPT and not name.startswith(removed)
            }
            self.replacement = partial(DynamicsNode, self._described, kept)

    def _on_torques(self, torques: Torques, stamp: int) -> None:
        start = time.perf_counter()
        if self._outputs is not None:
            self._outputs.publish(torques, stamp)
        self._health.computed(stamp, time.perf_counter() - start)

    def destroy_node(self) -> None:
        """Destroy the node; if commands are still on, the sender process takes them to zero."""
        if self._outputs is not None:
            self._outputs.commands.close()
        super().destroy_node()


def offered_hands(robot: Robot) -> str:
    """Return a message for a robot without hands: the ends of arms and legs, and the option for the likely hands."""
    hands = hands_of(robot)
    links = ' '.join(f'-p {name}.link:={link}' for name, link in hands.items())
    ends = listed(hand_links(robot)[:MAX_OFFERED])
    options = f'-p end_effectors:="[{", ".join(hands)}]" {links}'
    return f'no end effectors, so no wrenches; the ends of arms and legs are {ends}. To add hands: {options}'


def _documented() -> list[ParameterSpec]:
    return [*parameters.documented(), *external.documented(), *guiding.documented(), *base.SPECS]


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; `args` are the command-line arguments, by default those of this process."""
    return run(DynamicsNode, node_arguments('dynamics_node', _DESCRIPTION, _documented, args))


if __name__ == '__main__':
    sys.exit(main())
