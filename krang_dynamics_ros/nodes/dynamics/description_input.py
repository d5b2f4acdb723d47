"""The robot's description by a topic, as robot_state_publisher and ros2_control hand it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, cast

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.timer import Timer
from std_msgs.msg import String

from ...core.errors import ArgumentError, KrangDynamicsError
from ...core.parameters import Settings
from ...dynamics.factory import Model, model_of
from ...live.engine import Engine
from ...live.parameters import MODEL
from ...robot.adapted import SPECS as ADAPTATION
from ...robot.adapted import Adaptation
from ...robot.urdf_reader import read_description
from ..diagnostics import ERROR, WARN, Status
from ..parameters import given_to
from ..run import Stopping

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LOOK = 0.02  # s: how often a description that waits for commands to end is looked after
INSTEAD = ('robot_file', 'robot_description')


class Described(NamedTuple):
    """A robot, and the text that it was read from."""

    text: str
    model: Model


class StoppingNode(Stopping, Protocol):
    """A node that stops its commands before another robot is built, and goes on if that cannot be."""

    def resume_commands(self) -> None:
        """Let commands be enabled again."""


class DescriptionInput:
    """Waits for URDFs. Another one than that in use is handed on, or refused if it cannot be used.

    Commands fall to zero first: to read and to build a robot takes seconds.
    """

    def __init__(
        self, node: StoppingNode, settings: Settings, in_use: Described | None, take: Callable[[Described], None]
    ) -> None:
        given = [name for name in INSTEAD if settings[name]]
        if given:
            raise ArgumentError(f'{given[0]} and robot_description_topic are both given, must be one of the two')
        self._stopping, self._node = node, cast(Node, node)
        self._settings, self._in_use, self._take = settings, in_use, take
        self._refused = ''
        self._waiting: str | None = None  # a description that is read when no command goes out any more
        self._timer: Timer | None = None
        subscription = self._node.create_subscription(
            String, settings['robot_description_topic'], self._on_description, LATCHED
        )
        self.topic: str = subscription.topic_name

    def _on_description(self, message: String) -> None:
        if self._in_use is not None and message.data == self._in_use.text:
            self._refused = ''
            self._keep()
            return
        self._waiting = message.data
        self._stopping.begin_stop()
        if self._timer is None:
            self._timer = self._node.create_timer(LOOK, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._on_timer()

    def _on_timer(self) -> None:
        if self._waiting is not None and self._stopping.stopped:
            text, self._waiting = self._waiting, None
            self._read(text)

    def _keep(self) -> None:
        """Go on with the robot in use."""
        self._waiting = None
        self._stopping.resume_commands()

    def _read(self, text: str) -> None:
        try:
            model = self._model(text)
        except KrangDynamicsError as error:
            self._refused = str(error)
            goes_on = 'no torque' if self._in_use is None else 'the robot before is kept'
            self._node.get_logger().error(f'{self.topic} is refused, {goes_on}: {error}')
            self._keep()
        else:
            self._take(Described(text, model))

    def _model(self, text: str) -> Model:
        options = {'base_link': self._settings['base_link'], 'strict': self._settings['strict_description']}
        adapted = Adaptation.of({spec.name: self._settings[spec.name] for spec in ADAPTATION})
        model = model_of(adapted.of_description(read_description(text, **options)), self._settings['backend'])
        settings = Settings(given_to(self._node))
        settings.declare(MODEL)
        Engine(settings, model)  # raises an error of ours if the node's parameters do not go with this robot
        return model

    def statuses(self) -> Iterator[Status]:
        """Say what is wrong: none came yet, or the last one could not be used."""
        if self._in_use is None:
            words = self._refused or 'none so far'
            yield Status('robot description', ERROR, f'no torque: {self.topic}: {words}')
        elif self._refused:
            yield Status('robot description', WARN, f'the robot before is kept, for {self.topic}: {self._refused}')
