"""Robot descriptions from a topic, as robot_state_publisher publishes them for ros2_control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, cast

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
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
from ..run import Stopping
from ..settings import given_to
from ..topics import LATCHED

LOOK = 0.02  # s, period of the check whether commands have ended
INSTEAD = ('robot_file', 'robot_description')


class Described(NamedTuple):
    """A robot, and its description text."""

    text: str
    model: Model


class StoppingNode(Stopping, Protocol):
    """A node that stops its commands before another robot is built, and can resume them."""

    def resume_commands(self) -> None:
        """Allow enabling again."""


class DescriptionInput:
    """Subscription to URDFs. A new robot is passed to a callback, or refused if it is not valid.

    Commands fall to zero first, because building a robot takes seconds.
    """

    def __init__(
        self, node: StoppingNode, settings: Settings, in_use: Described | None, on_robot: Callable[[Described], None]
    ) -> None:
        given = [name for name in INSTEAD if settings[name]]
        if given:
            raise ArgumentError(f'{given[0]} and robot_description_topic are both given, must be one of the two')
        self._stopping, self._node = node, cast(Node, node)
        self._settings, self._in_use, self._on_robot = settings, in_use, on_robot
        self._refused = ''
        self._waiting: str | None = None  # a description that is read when commands are off
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
        """Keep the present robot."""
        self._waiting = None
        self._stopping.resume_commands()

    def _read(self, text: str) -> None:
        try:
            model = self._model(text)
        except KrangDynamicsError as error:
            self._refused = str(error)
            effect = 'no torque' if self._in_use is None else 'the present robot is kept'
            self._node.get_logger().error(f'{self.topic} is refused, {effect}: {error}')
            self._keep()
        else:
            self._on_robot(Described(text, model))

    def _model(self, text: str) -> Model:
        options = {'base_link': self._settings['base_link'], 'strict': self._settings['strict_description']}
        adapted = Adaptation.of({spec.name: self._settings[spec.name] for spec in ADAPTATION})
        model = model_of(adapted.of_description(read_description(text, **options)), self._settings['backend'])
        settings = Settings(given_to(self._node))
        settings.declare(MODEL)
        Engine(settings, model)  # raises our errors if the parameters do not fit this robot
        return model

    def statuses(self) -> Iterator[Status]:
        """Yield a status if no description was received yet, or if the last one was refused."""
        if self._in_use is None:
            reason = self._refused or 'none received yet'
            yield Status('robot description', ERROR, f'no torque: {self.topic}: {reason}')
        elif self._refused:
            yield Status('robot description', WARN, f'the present robot is kept; {self.topic}: {self._refused}')
