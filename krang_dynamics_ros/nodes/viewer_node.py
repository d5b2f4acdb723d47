"""`viewer_node`: a page in the browser with the robot, its torques by term, and hands to drag."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ..core.errors import KrangDynamicsError, MissingError
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..pipeline.spec import NONE, Spec, named
from ..viewer.access import VISER, Access
from ..viewer.snapshot import Line, Now
from .description_listener import DescriptionListener
from .dynamics_client import Remote
from .health_listener import HealthListener
from .listener import Heard
from .other_publishers import publishers
from .parameters import declare, warn_of_unknown
from .polling import Ears
from .run import run
from .topics import wrench_message

PICTURES = 30.0  # a second
REST = 4.0  # times what a picture took, until the next: on a busy machine robot and dynamics come before pictures
WITHOUT_HANDS = 3.0  # s: then a robot is drawn though no dynamics node says what its hands are
COMMANDS = ('pause', 'resume', 'reset')

PARAMETERS = (
    Spec('host', '127.0.0.1', 'address to serve on; `0.0.0.0` lets the whole network look, push and switch'),
    Spec('port', 8080, 'port to serve on', least=1, most=65535),
    Spec('allowed_hosts', NONE, 'names besides its own by which browsers may call this machine, as of a proxy'),
    Spec('dynamics_node', 'krang_dynamics', 'name of the node whose `total_terms` the switches set'),
)


class ViewerNode(Node):
    """Listens, and hands what is so to the page; speaks, when somebody touched the page."""

    def __init__(self) -> None:
        super().__init__('krang_viewer')
        values = declare(self, PARAMETERS)
        warn_of_unknown(self)
        try:
            from ..viewer.page import Page  # noqa: PLC0415 (viser is not on every ROS machine)
        except ModuleNotFoundError as error:
            raise MissingError(str(error.name), 'the page', f'pip install viser=={VISER}') from None
        access = Access(values['host'], named(values['allowed_hosts']))
        self.page = Page(values['host'], values['port'], access, self._on_refused)
        self._remote = Remote(self, values['dynamics_node'])
        self._ears = Ears(self)
        self._heard: Heard | None = None
        self._description = DescriptionListener(self, lambda: self._heard is not None and self._heard.alive)
        self._health_of = HealthListener(self)
        self._drawn: tuple[str, dict[str, str]] = ('', {})
        self._next_picture = 0.0
        self._robots: list[str] = []  # the nodes that joint states come from
        self._dynamics_node = f'{self.get_namespace().rstrip("/")}/{values["dynamics_node"]}'
        self._create_topics()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1 / PICTURES, self._on_tick, clock=steady)
        self.create_timer(1.0, self._look_round, clock=steady)
        self.get_logger().info(f'open {access.url(values["port"])} in a browser')

    def _on_refused(self, reason: str) -> None:
        self.get_logger().warning(f'a browser was refused: {reason}', throttle_duration_sec=5.0)

    def destroy_node(self) -> None:
        """End the page with the node."""
        self.page.close()
        self._ears.close()
        super().destroy_node()

    def _create_topics(self) -> None:
        self._pose = self.create_publisher(JointState, 'pose', 10)
        self._pushes: dict[str, Publisher] = {}
        self._triggers = {name: self.create_client(Trigger, name) for name in COMMANDS}

    # What is heard ----------------------------------------------------------------------------------------------------

    def _look_round(self) -> None:
        self._robots = publishers(self, 'joint_states')
        self._description.look_round()
        if not self._description.several:  # or the wrong one might answer
            self._remote.poll()
        wanted = (self._description.text, dict(self._remote.hands or {}))
        waited = time.monotonic() - self._description.since > WITHOUT_HANDS
        if wanted[0] and wanted != self._drawn and (self._remote.hands is not None or waited):
            self._drawn = wanted
            self._draw(*wanted)

    def _draw(self, urdf: str, hands: dict[str, str]) -> None:
        try:
            dynamics = Dynamics(urdf)
            there = {hand: link for hand, link in hands.items() if link in dynamics.link_names}
            self.page.draw(urdf, dynamics, there)
        except KrangDynamicsError as error:
            self.get_logger().error(f'robot_description: {error}')
            return
        self._ears.forget()
        self._heard = Heard(self._ears, dynamics, there)
        for hand in there:
            if hand not in self._pushes:
                self._pushes[hand] = self.create_publisher(WrenchStamped, f'push/{hand}', 1)

    def _health(self, simulated: bool) -> list[Line]:
        lines = self._health_of.lines(self._dynamics_node, 'dynamics node')
        if simulated and len(self._robots) == 1:
            lines = [*self._health_of.lines(self._robots[0], 'simulator'), *lines]
        for topic, nodes in (('joint_states', self._robots), ('robot_description', self._description.sources)):
            if simulated and len(nodes) > 1:
                who = f'{topic} comes from {" and ".join(nodes)}; end one of them'
                lines = [Line('error', 'two robots', who), *lines]
        return lines

    def _on_tick(self) -> None:
        self.page.act(self)
        if self._heard is None:
            return
        self._heard.listen()
        simulated = self._triggers['reset'].service_is_ready()
        now = Now(**self._heard.now(), terms=self._remote.terms, health=self._health(simulated), simulated=simulated)
        if (begin := time.monotonic()) >= self._next_picture:
            self.page.show(now)
            self._next_picture = begin + REST * (time.monotonic() - begin)
        if now.q is not None and now.dq is not None:
            self._push(now.q, now.dq)

    # What is said -----------------------------------------------------------------------------------------------------

    def _push(self, q: Array, dq: Array) -> None:
        for hand, force in self.page.pushes(q, dq).items():
            numbers = [*force.tolist(), 0.0, 0.0, 0.0]
            self._pushes[hand].publish(wrench_message(self._drawn[1][hand], self.get_clock().now().to_msg(), numbers))

    def command(self, name: str) -> None:
        """Do `pause`, `resume` or `reset`."""
        service = self._triggers[name]
        if not service.service_is_ready():
            self.page.tell('No simulator', f'nobody offers {name} now')
            return
        service.call_async(Trigger.Request())

    def pose(self, joint: str, position: float) -> None:
        """Put a joint (rad or m)."""
        self._pose.publish(JointState(name=[joint], position=[position]))

    def choose_terms(self, terms: Sequence[str]) -> None:
        """Let `torque/total` be the sum of these."""
        self._remote.choose_terms(terms, lambda reason: self.page.tell('Not set', reason))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ViewerNode, args)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
