"""Real processes over real DDS, each module of tests on a domain of its own: a node, and a client that talks to it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped, WrenchStamped
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool, Float64MultiArray, String

from .robots import ROOT

PATIENCE = 60.0  # s: how long to wait for what must come, on a machine that is busy with other things
PAUSE = 0.02  # s: so a robot that speaks meanwhile has 50 joint states a second
TORQUES = ('gravity', 'coriolis', 'friction', 'wrench', 'total')
TYPES: dict[str, type] = (
    {f'torque/{name}': JointState for name in TORQUES}
    | {
        'effort_commands': Float64MultiArray,
        'dynamics/inertia': Float64MultiArray,
        'dynamics/coriolis': Float64MultiArray,
        'center_of_mass': PointStamped,
    }
    | {f'wrench/{side}/compensated': WrenchStamped for side in ('left', 'right')}
)
ESTIMATES: dict[str, type] = {
    'torque/external': JointState,
    **{f'wrench/{side}/estimated': WrenchStamped for side in ('left', 'right')},
    **dict.fromkeys(('contact', 'contact/left', 'contact/right'), Bool),
}


DRIVES: dict[str, type] = dict.fromkeys(('torque/spring', 'torque/coupling'), JointState)
SUPPORT: dict[str, type] = {'wrench/base': WrenchStamped, 'zero_moment_point': PointStamped}


def inhabited(number: int) -> bool:
    """Return whether a participant of a DDS domain is on this machine: RTPS gives each domain 250 UDP ports."""
    lines = Path('/proc/net/udp').read_text().splitlines()[1:]
    return number in {(int(line.split()[1].rpartition(':')[2], 16) - 7400) // 250 for line in lines}


@contextmanager
def domain() -> Iterator[int]:
    """Take a DDS domain that no other test on this machine has, and no forgotten node, and keep it."""
    folder = Path(tempfile.gettempdir()) / 'krang_dynamics_ros_domains'
    folder.mkdir(exist_ok=True)
    for number in range(1, 100):
        with (folder / str(number)).open('w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if inhabited(number):
                continue
            try:
                yield number
            finally:  # what a failed test left must not speak to the next one
                for process in Process.started.pop(number, []):
                    if process.poll() is None:
                        process.kill()
                        process.wait()
            return
    raise RuntimeError('all DDS domains are taken')


def environment(number: int) -> dict[str, str]:
    return os.environ | {
        'ROS_DOMAIN_ID': str(number),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'FASTRTPS_DEFAULT_PROFILES_FILE': str(ROOT / 'test' / 'fast_discovery.xml'),
        'PYTHONUNBUFFERED': '1',
    }


# The simulator looks for other robots for 4 s before it starts, as nodes announce themselves every 3 s. In tests they
# do so every 0.05 s at first and then every 0.2 s (fast_discovery.xml).
QUICK_SIMULATOR = """
import sys
from krang_dynamics_ros.nodes import endpoints
from krang_dynamics_ros.nodes.simulator_node import main
endpoints.DISCOVERY_TIMEOUT = 0.5
sys.exit(main())
"""


class Process:
    """A node in a process of its own, with its output in a file."""

    started: ClassVar[dict[int, list[subprocess.Popen[bytes]]]] = {}

    def __init__(self, number: int, *arguments: str, module: str = 'dynamics_node', code: str = '') -> None:
        """`code` is what to run instead of a module."""
        code = code or (QUICK_SIMULATOR if module == 'simulator_node' else '')
        what = ['-c', code] if code else ['-m', f'krang_dynamics_ros.nodes.{module}']
        command = [sys.executable, *what, *arguments]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (it is read for as long as there is this object)
        weakref.finalize(self, self._output.close)
        self.process = subprocess.Popen(
            command, env=environment(number), cwd=ROOT, stdout=self._output, stderr=subprocess.STDOUT
        )
        self.started.setdefault(number, []).append(self.process)

    @property
    def output(self) -> str:
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode()  # it writes where it is; reading moves nothing

    def end(self, with_signal: int = signal.SIGINT) -> int:
        """Ask it to end, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Client:
    """Publishes joint states and wrenches, and keeps what comes back; knows only the contract."""

    def __init__(self, number: int, namespace: str = '', node: str = 'krang_dynamics') -> None:
        os.environ.update(environment(number))
        self.context = Context()
        rclpy.init(context=self.context, domain_id=number)
        self.node = rclpy.create_node('client', context=self.context, namespace=namespace, use_global_arguments=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.received: dict[str, list[Any]] = {}
        self._publishers: dict[str, Any] = {}
        self._services: dict[str, Any] = {}
        self._target = node
        self._stamp = time.time_ns()
        self.diagnostics: dict[str, Any] = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self.diagnostics |= {status.name.split(': ', 1)[1]: status for status in message.status}

    # Waiting

    def spin(self, seconds: float = 0.01) -> None:
        self.executor.spin_once(timeout_sec=seconds)

    def until(
        self,
        condition: Callable[[], Any],
        doing: Callable[[], Any] | None = None,
        why: str = '',
        seconds: float = PATIENCE,
        pause: float = PAUSE,
    ) -> Any:
        """Spin until a condition holds; do something again and again meanwhile, with a pause between (s)."""
        deadline = time.monotonic() + seconds
        due = 0.0
        while time.monotonic() < deadline:
            if doing and time.monotonic() >= due:
                doing()
                due = time.monotonic() + pause
            if result := condition():
                return result
            self.spin(0.005)
        raise AssertionError(f'nothing came in {seconds} s: {why or condition}')

    def listen(self, *topics: str) -> None:
        for topic in topics:
            self.received[topic] = []
            kind = (TYPES | ESTIMATES | DRIVES | SUPPORT)[topic]
            self.node.create_subscription(kind, topic, self.received[topic].append, 100)

    def publisher(self, kind: type, topic: str) -> Any:
        """Return a publisher that the node under test listens to."""
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(kind, topic, 100)
        publisher = self._publishers[topic]
        self.until(lambda: publisher.get_subscription_count() > 0, why=f'no subscriber of {topic}')
        return publisher

    def ready(self) -> None:
        """Wait until the node listens to us and we to it."""
        self.publisher(JointState, 'joint_states')
        for topic in self.received:
            self.until(lambda t=topic: self.node.count_publishers(t) > 0, why=f'no publisher of {topic}')

    # Saying

    def stamp(self) -> Time:
        """Return a stamp that has not been used: of now, and never ahead of it by more than microseconds."""
        self._stamp = max(self._stamp + 1_000, time.time_ns())
        return Time(sec=self._stamp // 10**9, nanosec=self._stamp % 10**9)

    def send_state(
        self,
        names: Sequence[str],
        q: Any,
        dq: Any = (),
        stamp: Time | None = None,
        topic: str = 'joint_states',
        effort: Any = (),
    ) -> Time:
        columns = {'position': q, 'velocity': dq, 'effort': effort}
        message = JointState(name=list(names), **{key: array('d', column) for key, column in columns.items()})
        message.header.stamp = stamp or self.stamp()
        self.publisher(JointState, topic).publish(message)
        return message.header.stamp

    def send_wrench(self, side: str, numbers: Any, frame: str = '', stamp: Time | None = None) -> None:
        message = WrenchStamped()
        message.header.frame_id, message.header.stamp = frame, stamp or self.stamp()
        f, m = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, m.x, m.y, m.z = (float(x) for x in numbers)
        self.publisher(WrenchStamped, f'wrench/{side}').publish(message)

    def send_imu(self, quaternion: Any, rate: float = 0.0, stamp: Time | None = None) -> None:
        message = Imu()
        message.header.stamp = stamp or self.stamp()
        o = message.orientation
        o.w, o.x, o.y, o.z = (float(x) for x in quaternion)
        message.angular_velocity.y = rate
        self.publisher(Imu, 'imu').publish(message)

    # Asking

    def ask(
        self, names: Sequence[str], q: Any, dq: Any = (), *topics: str, before: Callable[[], Any] | None = None
    ) -> Any:
        """Publish a state, again if need be, and return the answers on topics that carry its stamp."""
        found: dict[str, Any] = {}

        def say() -> None:
            if before:
                before()
            found['stamp'] = self.send_state(names, q, dq)

        def heard() -> list[Any] | None:
            answers = [answer(self.received[topic], found['stamp']) for topic in topics]
            return answers if all(answers) else None

        answers = self.until(heard, say, f'no answer on {topics}')
        return answers[0] if len(answers) == 1 else answers

    def silent(self, *topics: str, seconds: float = 0.3) -> bool:
        """Return whether nothing comes on topics for a while. (What must not come can only be waited for.)"""
        for topic in topics:
            self.received[topic].clear()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.spin(0.01)
        return not any(self.received[topic] for topic in topics)

    def description(self) -> str:
        got: list[String] = []
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_subscription(String, 'robot_description', got.append, latched)
        self.until(lambda: got, why='robot_description')
        return str(got[0].data)

    def call(self, service: str, kind: Any, request: Any, doing: Callable[[], Any] | None = None) -> Any:
        """Call a service of the node under test by its full name, or one of those below its own name."""
        name = service if service.startswith('/') else f'{self._target}/{service}'
        if name not in self._services:
            self._services[name] = self.node.create_client(kind, name)
        client = self._services[name]
        self.until(client.service_is_ready, doing, why=service)
        future = client.call_async(request)
        self.until(future.done, doing, why=service)
        return future.result()

    def set(self, **values: Any) -> list[Any]:
        """Set parameters one by one; a double underscore in a name stands for a dot."""
        request = SetParameters.Request(parameters=_parameters(values))
        return list(self.call('set_parameters', SetParameters, request).results)

    def set_together(self, **values: Any) -> Any:
        request = SetParametersAtomically.Request(parameters=_parameters(values))
        return self.call('set_parameters_atomically', SetParametersAtomically, request).result

    def get(self, name: str) -> Any:
        request = GetParameters.Request(names=[name])
        return rclpy.parameter.parameter_value_to_python(self.call('get_parameters', GetParameters, request).values[0])


def _parameters(values: dict[str, Any]) -> list[Any]:
    return [Parameter(name.replace('__', '.'), value=value).to_parameter_msg() for name, value in values.items()]


def answer(messages: list[Any], stamp: Time) -> Any:
    """Return the message with a stamp; one without stamps, if it is the latest."""
    for message in reversed(messages):
        if not hasattr(message, 'header') or message.header.stamp == stamp:
            return message
    return None


def effort(message: JointState) -> np.ndarray:
    return np.array(message.effort)
