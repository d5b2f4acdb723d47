"""`hold_switch_node`: the button of a joystick as the switch that a person holds while guiding. See docs/guiding.md."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Joy
from std_msgs.msg import Bool

from ..core.parameters import ParameterSpec
from ..live.guiding import HOLD_TOPIC
from .arguments import node_arguments
from .run import run
from .settings import NodeSettings, warn_of_unknown

_DESCRIPTION = f'Publishes whether a button of a joystick is held: `joy` in, `{HOLD_TOPIC}` out.'
PARAMETERS = (
    ParameterSpec('button', 5, 'number of the button in `joy`, from 0', settable=True, least=0, most=1000),
)  # fmt: skip


class HoldSwitchNode(Node):
    """Answers each joystick message at once: a joystick that falls silent is a switch that falls silent."""

    def __init__(self) -> None:
        super().__init__('krang_hold_switch')
        self._settings = NodeSettings(self)
        self._settings.declare(PARAMETERS)
        warn_of_unknown(self)
        self._settings.follow()
        self._out = self.create_publisher(Bool, HOLD_TOPIC, QoSProfile(depth=1))
        self.create_subscription(Joy, 'joy', self._on_joy, QoSProfile(depth=1))

    def _on_joy(self, message: Joy) -> None:
        button = self._settings['button']
        self._out.publish(Bool(data=button < len(message.buttons) and message.buttons[button] == 1))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; `args` are the words behind its name, by default those of this process."""
    return run(HoldSwitchNode, node_arguments('hold_switch_node', _DESCRIPTION, lambda: [*PARAMETERS], args))


if __name__ == '__main__':
    sys.exit(main())
