"""`viewer_node`: a page in the browser with the robot, its torques by term, and hands to drag."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ..core.errors import KrangDynamicsError, MissingError
from ..core.parameters import NONE, ParameterSpec, named
from ..dynamics.dynamics import Dynamics
from ..dynamics.terms import COMMON
from ..live.parameter_file import MESH_FOLDERS
from ..live.parameters import JOINT_STATES_TOPIC
from ..page.panel import limits_of
from ..page.server import VISER, Access
from ..page.snapshot import LatestMessages, Line, Load, Snapshot
from ..robot.file_text import exists
from ..robot.mesh_files import MeshFiles
from ..robot.robot_file import located
from ..robot.urdf_reader import read_description
from .arguments import node_arguments
from .endpoints import publishers, subscribers
from .page.clients import DynamicsClient, HandSensor, SimulatorClient
from .page.controls import PageControls, PullTopic
from .page.guiding import COMMANDS, GuidingClient, guiding_file, network_refusal
from .page.listener import DescriptionListener, HealthListener, PolledTopics, RobotListener
from .run import run
from .settings import declare, given_to, warn_of_unknown

if TYPE_CHECKING:
    from ..page.page import Page

PICTURES = 30.0  # per second
REST = 4.0  # pause after a picture, times its duration: on a busy machine the robot and the dynamics come first
WITHOUT_HANDS = 3.0  # s, after which a robot is drawn without the hands of a dynamics node
UP = (0.0, 0.0, 1.0)  # while gravity is unknown

PARAMETERS = (
    ParameterSpec('host', '127.0.0.1', 'address of the page; with `0.0.0.0` the whole network has access'),
    ParameterSpec('port', 8080, 'port of the page', least=1, most=65535),
    ParameterSpec(
        'allowed_hosts', NONE, 'further names of this machine that browsers may use, for example that of a proxy'
    ),
    ParameterSpec(
        MESH_FOLDERS,
        NONE,
        'folders with meshes, or with packages of meshes, in addition to those of ROS and that of '
        '`robot_file`; those of an arm file count',
    ),
    JOINT_STATES_TOPIC,
    ParameterSpec('dynamics_node', 'krang_dynamics', 'name of the dynamics node that the page shows and changes'),
    ParameterSpec(
        'guiding_file', '', 'parameter file that *Guide* sets on the dynamics node; empty: `config/guiding.yaml`'
    ),
)

_DESCRIPTION = 'Shows the robot and its torques as a page in the browser (docs/demo.md).'


def shared(arm: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page's parameters from an arm's parameters of the dynamics node."""
    return {MESH_FOLDERS: arm[MESH_FOLDERS]} if MESH_FOLDERS in arm else {}


class ViewerNode(Node):
    """Passes messages to the page, and requests of the page to the nodes."""

    def __init__(self) -> None:
        super().__init__('krang_viewer')
        values = declare(self, PARAMETERS)
        warn_of_unknown(self)
        access = Access(values['host'], named(values['allowed_hosts']))
        self.page = self._new_page(values, access)
        self._dynamics = DynamicsClient(self, values['dynamics_node'])
        self._topics, self._joint_states = PolledTopics(self), values['joint_states_topic']
        self._robot: RobotListener | None = None
        self._description = DescriptionListener(self, lambda: self._robot is not None and self._robot.alive)
        self._health_of = HealthListener(self)
        self._drawn: tuple[str, dict[str, HandSensor], tuple[float, ...]] = ('', {}, UP)
        self._simulator, self._obeyed = SimulatorClient(self), False
        file, calls = guiding_file(values['guiding_file']), self._dynamics.calls
        self._guiding = GuidingClient(
            calls, self._dynamics.parameters, values['dynamics_node'], file, network_refusal(values['host'])
        )
        self._controls = PageControls(self, self._dynamics, self._simulator, self._guiding, self.page.notify)
        self._next_picture = 0.0
        self._robots: list[str] = []  # the publishers of joint states
        self._dynamics_node = f'{self.get_namespace().rstrip("/")}/{values["dynamics_node"]}'
        self._pull = PullTopic(self)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1 / PICTURES, self._on_tick, clock=steady)
        self.create_timer(1.0, self._check_nodes, clock=steady)
        self.get_logger().info(f'open {access.url(values["port"])} in a browser')

    def _new_page(self, values: Mapping[str, Any], access: Access) -> Page:
        try:
            from ..page.page import Page  # noqa: PLC0415 (viser is not on every ROS machine)
        except ModuleNotFoundError as error:
            raise MissingError(str(error.name), 'the page', f'pip install viser=={VISER}') from None
        robot_file = str(given_to(self).get('robot_file') or '')  # of an arm file: meshes may be in its folder
        if robot_file and not exists(located(robot_file)):
            self.get_logger().warning(
                f'robot_file: {robot_file}, no such file, so meshes are not searched in its folder; the robot of the '
                'page is that of robot_description, which the dynamics node publishes'
            )
        meshes = MeshFiles(named(values[MESH_FOLDERS]), robot_file)
        return Page(values['host'], values['port'], access, self._on_refused, meshes)

    def _on_refused(self, reason: str) -> None:
        self.get_logger().warning(f'a browser was refused: {reason}', throttle_duration_sec=5.0)

    def destroy_node(self) -> None:
        """End the page with the node."""
        self.page.close()
        self._topics.close()
        super().destroy_node()

    def _check_nodes(self) -> None:
        self._robots = publishers(self, self._joint_states)
        self._description.check_publishers()
        if not self._description.several:  # else the wrong node may answer
            self._dynamics.poll()
            self._guiding.poll(self._stage)
        self._simulator.poll(self._robots, list(self._dynamics.hands or ()))
        drives = subscribers(self, 'torque/total')  # also recorders and tools, which do not move a robot
        self._obeyed = any(robot in drives for robot in self._robots)
        new = (self._description.text, dict(self._dynamics.hands or {}), _up(self._dynamics.gravity))
        waited = time.monotonic() - self._description.since > WITHOUT_HANDS
        if new[0] and new != self._drawn and (self._dynamics.hands is not None or waited):
            self._drawn = new
            self._draw(*new)

    def _draw(self, urdf: str, hands: dict[str, HandSensor], up: tuple[float, ...]) -> None:
        try:
            robot = read_description(urdf).robot
            dynamics = Dynamics(robot)
            known = {name: hand for name, hand in hands.items() if hand.link in robot.link_of}
            self.page.draw(robot, dynamics, {name: hand.link for name, hand in known.items()}, np.array(up))
        except KrangDynamicsError as error:
            self.get_logger().error(f'robot_description: {error}')
            return
        self._topics.forget()
        self._robot = RobotListener(self._topics, dynamics, known, self._joint_states)
        self._controls.limits = limits_of(robot)

    def _health(self, simulated: bool) -> list[Line]:
        lines = self._health_of.lines(self._dynamics_node, 'dynamics node')
        lines.sort(key=lambda line: line.about != COMMANDS)  # the coloured line shows the first of equally bad lines
        if simulated and len(self._robots) == 1:
            lines = [*self._health_of.lines(self._robots[0], 'simulator'), *lines]
        for topic, nodes in ((self._joint_states, self._robots), ('robot_description', self._description.sources)):
            if simulated and len(nodes) > 1:
                message = f'{topic} is published by {" and ".join(nodes)}; stop one of them'
                lines = [Line('error', 'two robots', message), *lines]
        return [*self._controls.health(), *lines]

    @property
    def _stage(self) -> str:
        """Stage of the commands of the dynamics node."""
        return self._health_of.value(self._dynamics_node, COMMANDS, 'stage')

    @property
    def _possible_terms(self) -> Sequence[str]:
        """Terms that can be other than zero, as the dynamics node says."""
        words = self._health_of.value(self._dynamics_node, 'torques', 'terms')
        return words.split(', ') if words else COMMON

    def _loads(self) -> dict[str, Load]:
        bags, payloads, zeroed = self._simulator.bags, self._dynamics.payloads, self._controls.zeroed
        hands = self._dynamics.hands or ()
        return {hand: Load(bags.get(hand), payloads.get(hand), zeroed.get(hand, '')) for hand in hands}

    def _on_tick(self) -> None:
        self.page.act(self._controls)
        if self._robot is None:
            return
        self._robot.observe(self.page.observing)
        self._robot.update()
        latest, simulated, begin = self._robot.latest(), self._simulator.available, time.monotonic()
        if begin >= self._next_picture:
            self.page.show(self._snapshot(latest, simulated))
            self._next_picture = begin + REST * (time.monotonic() - begin)
        self._pull.publish(self.page.pulls())

    def _snapshot(self, latest: LatestMessages, simulated: bool) -> Snapshot:
        mode = self._health_of.value(self._robots[0], 'simulation', 'mode') if len(self._robots) == 1 else ''
        guiding = self._guiding.state(self._health_of.lines(self._dynamics_node, ''), self._stage)
        return Snapshot(
            latest, self._dynamics.terms, self._health(simulated), simulated, self._obeyed, self._loads(), mode,
            self._simulator.friction, guiding, self._possible_terms,
        )  # fmt: skip


def _up(gravity: Sequence[float]) -> tuple[float, ...]:
    """Return the upward unit vector (3): opposite to gravity (3), or along z without gravity."""
    size = float(np.linalg.norm(gravity)) if len(gravity) == 3 else 0.0
    return tuple(-float(g) / size for g in gravity) if size > 0 else UP


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; `args` are the command-line arguments, by default those of this process."""
    return run(ViewerNode, node_arguments('viewer_node', _DESCRIPTION, lambda: PARAMETERS, args, shared))


if __name__ == '__main__':
    sys.exit(main())
