"""The nodes of `make run` with a page in a real browser, for tests, and for the picture in the README."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PolygonStamped, WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from krang_dynamics_ros import Robot, dynamics_of

from .browser import FIND, Browser
from .robots import ROOT
from .ros import Client, Process

NO_BAG = SetParameters.Request(parameters=[Parameter('left.payload.mass', value=0.0).to_parameter_msg()])
DEMO = (
    '--params-file',
    str(ROOT / 'config' / 'demo.yaml'),
    '--params-file',
    str(ROOT / 'config' / 'demo_commands.yaml'),
)
PATIENT = ('-p', 'state_timeout:=1.0', '-p', 'wrench_timeout:=1.0')  # the browser may take both cores for a while


def simulator(number: int, robot: Sequence[str] = DEMO) -> Process:
    words = ('-r', 'torque:=torque/total', *robot, '-p', 'timeout:=1.0')
    return Process(number, '--ros-args', *words, module='simulator_node')


def dynamics(number: int, robot: Sequence[str] = DEMO) -> Process:
    return Process(number, '--ros-args', *robot, *PATIENT)


def other_robot(file: Path, link: str) -> tuple[str, ...]:
    """Return the parameters of another robot than Krang, with a single hand, as `make run ROBOT=file HAND=link`."""
    return (*DEMO[:2], '-p', f'robot_file:={file}', '-p', 'end_effectors:=[hand]', '-p', f'hand.link:={link}')


def viewer(number: int, *words: str) -> Process:
    return Process(number, '--ros-args', '-p', f'port:={8100 + number}', *words, module='viewer_node')


UNKNOWN = '\N{EN DASH}'


class World:
    """The nodes of `make run`, a client that hears what they say, and the browser."""

    def __init__(
        self, number: int, page: Browser, robot: Sequence[str] = DEMO, hands: Sequence[str] = ('left', 'right')
    ) -> None:
        """`robot` are the parameters of simulator and dynamics node, `hands` the names in them."""
        self.number, self.page = number, page
        self.simulator, self.dynamics, self.viewer = simulator(number, robot), dynamics(number, robot), viewer(number)
        self.client = Client(number)
        self.heard: dict[str, Any] = {}
        for topic, kind in (
            ('joint_states', JointState), ('torque/gravity', JointState), ('torque/total', JointState),
            ('pull', PolygonStamped), *((f'wrench/{hand}', WrenchStamped) for hand in hands),
        ):  # fmt: skip
            self.client.node.create_subscription(kind, topic, lambda m, t=topic: self.heard.update({t: m}), 1)
        self.open()

    def open(self) -> None:
        self.client.until(lambda: 'open http://' in self.viewer.output, why='the viewer to serve')
        self.page.open(8100 + self.number)

    def begin(self) -> None:
        """Begin with gravity alone, at rest, where it started."""
        self.client.set(total_terms=['gravity'], left__payload__mass=0.0)
        self.client.call('/krang_simulator/set_parameters', SetParameters, NO_BAG)
        self.page.until(lambda: not self.page.ticked('wrench'), 'gravity alone')
        self.page.until(lambda: not self.page.grey('Reset'), 'a simulator')
        self.page.until(self._runs, 'the simulation to run')
        for _ in range(3):  # a call to a service that has only just come may be lost
            self.page.press('Reset')
            with contextlib.suppress(AssertionError):
                self.client.until(lambda: abs(self.q()[1] - 0.6) < 0.01, why='the start')
                return
        raise AssertionError('three resets, and not at the start')

    def _runs(self) -> bool:
        """Return whether the simulation runs by the page; press *Resume* if it does not."""
        return self.page.grey('Resume') or bool(self.page.script(f'{FIND} button(arguments[0])?.click()', 'Resume'))

    def now(self, topic: str) -> Any:
        """Return the next message of a topic."""
        self.heard.pop(topic, None)
        return self.client.until(lambda: self.heard.get(topic), why=topic)

    def q(self) -> np.ndarray:
        return np.array(self.now('joint_states').position)

    def pull(self, pixels: tuple[int, int], ball: int = 0, look: Callable[[], object] | None = None) -> float:
        """Drag a ball, and return the force that comes of it (N); again if the robot moved from under the mouse.

        Balls count from left to right; `look` is called on the way.
        """
        for _ in range(3):
            x, y = self.page.until(lambda: self.page.balls()[ball:2], 'the ball')[0]
            self.heard.clear()
            self.page.hold((x, y), (x + pixels[0], y + pixels[1]), look=look)
            with contextlib.suppress(AssertionError):
                return float(self.client.until(self.push, why='a push'))
            self.page.let_go()
            self.page.press('Reset')
        raise AssertionError('three times the ball was not gripped')

    def push(self) -> float:
        """Return the largest force on a hand (N), as the simulated sensors read it."""
        read = [message.wrench.force for topic, message in self.heard.items() if topic.startswith('wrench/')]
        return max((float(np.linalg.norm([f.x, f.y, f.z])) for f in read), default=0.0)

    def heights(self, robot: Robot) -> np.ndarray:
        """How high the hands are (m), in the base's axes."""
        q, dynamics = self.q(), dynamics_of(robot)
        return np.array([dynamics.pose(q, link)[1][2] for link in robot.end_effectors.values()])

    def settled(self, robot: Robot) -> np.ndarray:
        """Return how high the hands are (m) once they have stood still for half a second."""
        seen = [(time.monotonic(), self.heights(robot))]

        def still() -> bool:
            now, heights = time.monotonic(), self.heights(robot)
            if np.abs(heights - seen[0][1]).max() > 1e-3:
                seen[:] = [(now, heights)]
            return now - seen[0][0] > 0.5

        self.client.until(still, why='the hands to stand still')
        return self.heights(robot)

    def well(self) -> bool:
        """Whether the coloured line says so, or else that this machine is busy."""
        text = self.page.text
        return 'all is well' in text or 'this machine is busy' in text or 'torques came late' in text

    def terms(self) -> list[str]:
        return list(self.client.get('total_terms'))

    def close(self) -> None:
        self.page.driver.get('about:blank')  # a page that is slow to say goodbye holds its server
        self.client.close()
        for process in (self.viewer, self.dynamics, self.simulator):
            assert process.end() == 0, process.output
            assert 'Traceback' not in process.output


@contextlib.contextmanager
def unfolded(page: Browser, folder: str) -> Iterator[None]:
    page.unfold(folder)
    try:
        yield
    finally:
        page.unfold(folder)
