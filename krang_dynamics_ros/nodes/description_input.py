"""The robot's description by a topic, as robot_state_publisher and ros2_control hand it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ..core.errors import ArgumentError, KrangDynamicsError
from ..dynamics.factory import Model, model_of
from ..pipeline.dynamics_parameters import MODEL
from ..pipeline.pipeline import Pipeline
from ..pipeline.settings import Settings
from ..robot.urdf_reader import read_description
from .diagnostics import ERROR, WARN, Status
from .parameters import given_to

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
INSTEAD = ('robot_file', 'robot_description')


class Described(NamedTuple):
    """A robot, and the text that it was read from."""

    text: str
    model: Model


class DescriptionInput:
    """Listens. A description that can be is handed on, if it is not the one in use; one that cannot is refused."""

    def __init__(
        self,
        node: Node,
        settings: Settings,
        in_use: Described | None,
        before: Callable[[], None],
        take: Callable[[Described], None],
    ) -> None:
        """`before` is called when another description has come: to read and to build it takes its time."""
        given = [name for name in INSTEAD if settings[name]]
        if given:
            raise ArgumentError(f'{given[0]} and robot_description_topic are both given, must be one of the two')
        self._node, self._settings, self._in_use = node, settings, in_use
        self._before, self._take = before, take
        self._refused = ''
        subscription = node.create_subscription(
            String, settings['robot_description_topic'], self._on_description, LATCHED
        )
        self.topic: str = subscription.topic_name

    def _on_description(self, message: String) -> None:
        if self._in_use is not None and message.data == self._in_use.text:
            self._refused = ''
            return
        self._before()
        try:
            model = self._model(message.data)
        except KrangDynamicsError as error:
            self._refused = str(error)
            goes_on = 'no torque' if self._in_use is None else 'the robot before is kept'
            self._node.get_logger().error(f'{self.topic} is refused, {goes_on}: {error}')
        else:
            self._take(Described(message.data, model))

    def _model(self, text: str) -> Model:
        options = {'base_link': self._settings['base_link'], 'strict': self._settings['strict_description']}
        model = model_of(read_description(text, **options), self._settings['backend'])
        settings = Settings(given_to(self._node))
        settings.declare(MODEL)
        Pipeline(settings, model)  # raises an error of ours if the node's parameters do not go with this robot
        return model

    def statuses(self) -> Iterator[Status]:
        """Say what is wrong: none came yet, or the last one could not be used."""
        if self._in_use is None:
            words = self._refused or 'none so far'
            yield Status('robot description', ERROR, f'no torque: {self.topic}: {words}')
        elif self._refused:
            yield Status('robot description', WARN, f'the robot before is kept, for {self.topic}: {self._refused}')
