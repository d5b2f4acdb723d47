"""The simulator, if there is one: its services, and the friction that it adds, asked for without waiting for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from std_srvs.srv import Trigger

COMMANDS = ('pause', 'resume', 'reset')
FRICTION = ('coulomb', 'viscous')  # parameters of the simulator, N m and N m s/rad


class SimulatorClient:
    """What can be asked of a simulator."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._commands = {name: node.create_client(Trigger, name) for name in COMMANDS}
        self._asked = ''
        self.friction = ''

    @property
    def there(self) -> bool:
        """Whether there is a simulator now."""
        return bool(self._commands['reset'].service_is_ready())

    def command(self, name: str) -> bool:
        """Ask for `pause`, `resume` or `reset`; return whether there is anybody to ask."""
        ready: bool = self._commands[name].service_is_ready()
        if ready:
            self._commands[name].call_async(Trigger.Request())
        return ready

    def poll(self, publishers: Sequence[str]) -> None:
        """Ask the one who publishes the robot's state, by the name of its node, once, for the friction that it adds."""
        name = publishers[0] if self.there and len(publishers) == 1 else ''
        if name == self._asked:
            return
        self._asked, self.friction = name, ''
        if not name:
            return
        client = self._node.create_client(GetParameters, f'{name}/get_parameters')
        future = client.call_async(GetParameters.Request(names=list(FRICTION)))

        def answered(future: Any) -> None:
            values = [parameter_value_to_python(value) for value in future.result().values]
            if name == self._asked and len(values) == len(FRICTION) and None not in values:
                self.friction = _in_words(*values)
            self._node.destroy_client(client)

        future.add_done_callback(answered)


def _in_words(coulomb: float, viscous: float) -> str:
    parts = [f'{coulomb:g} N m'] * bool(coulomb) + [f'{viscous:g} N m s/rad'] * bool(viscous)
    return ' and '.join(parts)
