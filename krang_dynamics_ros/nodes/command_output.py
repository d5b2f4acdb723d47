"""`effort_commands`: the topic, the service that enables it, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool

from ..core.spatial import Array
from ..dynamics.terms import Torques
from ..pipeline.commanding import UNHEARD, Commanding
from .diagnostics import ERROR, OK, WARN, Status
from .ending import FAREWELL, TAKING_BACK
from .other_publishers import others
from .topics import NumbersTopic

TOPIC = 'effort_commands'
TICK = 0.01  # s: how often commands are looked after when no joint state comes
LOOK_ROUND = 1.0  # s


class CommandTopic(NumbersTopic):
    """Knows as well when all who listened have gone, though others may listen already."""

    def __init__(self, node: Node, deserted: Callable[[], None]) -> None:
        self._deserted = deserted
        super().__init__(node, TOPIC)

    def _matched(self, info: Any) -> None:
        super()._matched(info)
        if info.current_count <= info.total_count_change:  # nobody but those who have come just now
            self._deserted()


class CommandOutput:
    """Sends what the switch lets out. `command_enabled` is the one truth; the service sets it."""

    def __init__(self, node: Node, commanding: Commanding) -> None:
        self._node, self._commanding, self._switch = node, commanding, commanding.switch
        node.create_service(SetBool, f'{TOPIC}/enable', self._on_enable)
        if self._switch.joint_names:
            self._topic = CommandTopic(node, commanding.deserted)
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            node.create_timer(TICK, self._on_tick, clock=steady)
            node.create_timer(LOOK_ROUND, self._look_round, clock=steady)

    def follow(self, torques: Torques) -> None:
        """Take in the torques of a joint state."""
        if self._switch.joint_names:
            self._commanding.heard = self._topic.wanted
            self._send(self._commanding.follow(torques))

    def end(self) -> None:
        """Take the commands back before the node ends: nobody could do so after it."""
        if self._switch.idle:
            return
        self._switch.hurry(time.monotonic(), TAKING_BACK)
        while not self._switch.idle:
            command = self._switch.tick(time.monotonic())
            if command is not None:
                self._topic.send(command)
            time.sleep(TICK)
        self._topic.wait_until_taken(Duration(seconds=FAREWELL))

    def stop(self, why: str) -> None:
        """Take the commands back now, and stay off until somebody enables them again."""
        if self._commanding.wanted:
            self._switch.disable(time.monotonic(), why)
            self.end()
            self._send(None)

    def _on_tick(self) -> None:
        self._commanding.heard = self._topic.wanted
        self._send(self._commanding.tick())

    def _look_round(self) -> None:
        """See who else gives commands to the same controller."""
        self._commanding.others = others(self._node, TOPIC)

    def _send(self, command: Array | None) -> None:
        if command is not None and self._topic.wanted:
            self._topic.send(command)
        if self._switch.fault and self._commanding.wanted:
            self._node.get_logger().error(f'effort_commands disabled: {self._switch.fault}; enable it again')
            self._set_enabled(False)

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._switch.joint_names:
            self._look_round()
        refused = self._set_enabled(request.data)
        response.success = not refused
        response.message = refused or ('enabled' if request.data else 'disabled')
        return response

    def _set_enabled(self, enabled: bool) -> str:
        """Set the parameter; return why it was refused, or nothing."""
        (result,) = self._node.set_parameters([Parameter('command_enabled', value=enabled)])
        return '' if result.successful else result.reason

    def statuses(self) -> Iterator[Status]:
        """Say what goes out."""
        switch = self._switch
        if not switch.joint_names:
            return
        pairs = zip(switch.joint_names, switch.limits.tolist(), strict=True)
        cut = [f'{name} ({switch.cut[name]:.1f}, limit {limit:g})' for name, limit in pairs if name in switch.cut]
        level, words = OK, switch.stage.value
        if switch.fault:
            level, words = ERROR, f'disabled itself: {switch.fault}'
        elif cut:
            level, words = WARN, f'cut to the limit: {", ".join(cut)}'
        elif why := switch.trouble():
            words = f'off; {why}'
        elif self._commanding.wanted and not switch.enabled:
            level, words = WARN, f'enabled, and waiting: {"no torques yet" if self._commanding.heard else UNHEARD}'
        switch.forget_cuts()
        yield Status('effort commands', level, words, {
            'stage': switch.stage.value,
            'cut to the limit': ', '.join(cut),
            'disabled itself because': switch.fault,
        })  # fmt: skip
