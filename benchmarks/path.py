"""From a joint state to its torque through DDS at 1 kHz, beside two nodes that only echo, in one run, in turns.

Latency is from the call of publish to the answer in the client's callback; CPU is of the node's process alone.
`--minutes 10` shows memory over ten minutes, with everything on.
"""

from __future__ import annotations

import argparse
import sys
import time
from array import array
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import Executor
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from krang_dynamics_ros import krang
from krang_dynamics_ros.dynamics.factory import BACKENDS

from .process import Running, cpu_seconds, resident

RATE = 1000  # Hz
THREE = ('gravity', 'coriolis', 'friction')
EXTERNAL = ('external', 'wrench/left/estimated', 'wrench/right/estimated')
BENT = np.array([0.1, 0.6, 0.1, *[0.3, -0.5, 0.2, -0.9, 0.1, -0.4, 0.0] * 2])  # rad; both wrenches can be computed here
TERMS = ('gravity', 'coriolis', 'friction', 'wrench', 'total')


@dataclass
class Case:
    """One node under load, and what was seen of it."""

    title: str
    namespace: str
    module: str
    topics: tuple[str, ...]
    wrenches: bool = False
    backend: str = 'pinocchio'
    words: tuple[str, ...] = ()  # before ROS's arguments
    latencies: list[float] = field(default_factory=list)  # us, of the round that is on
    percentiles: list[tuple[float, float]] = field(default_factory=list)  # p50 and p99 of each round
    sent: int = 0
    received: dict[str, int] = field(default_factory=dict)
    cpu: float = 0.0
    seconds: float = 0.0
    memory: list[float] = field(default_factory=list)
    process: Running | None = None

    def start(self) -> None:
        """Start the node's process."""
        words = ['-r', f'__ns:=/{self.namespace}', '-p', f'backend:={self.backend}']
        self.process = Running([sys.executable, '-m', self.module, *self.words, '--ros-args', *words])

    def end(self) -> None:
        """End it."""
        if self.process:
            self.process.end()

    def check(self) -> None:
        """Raise `SystemExit` if the process has ended by itself."""
        if self.process:
            self.process.check(self.title)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self.process.pid if self.process else 0


class Client(Node):
    """Sends states (and wrenches) at a rate, and hears the answers."""

    def __init__(self, case: Case) -> None:
        super().__init__('bench', namespace=case.namespace)
        self.case = case
        self._out = self.create_publisher(JointState, 'joint_states', 10)
        self._message = JointState(name=list(krang().joint_names))
        self._began: dict[int, int] = {}  # when each state that counts was sent, by its stamp
        sides = ('left', 'right') if case.wrenches else ()
        self._wrenches = [self.create_publisher(WrenchStamped, f'wrench/{side}', 10) for side in sides]
        for topic in case.topics:
            case.received.setdefault(topic, 0)
            kind, name = (WrenchStamped, topic) if topic.startswith('wrench/') else (JointState, f'torque/{topic}')
            self.create_subscription(kind, name, partial(self._on_result, topic), 100)

    def _on_result(self, topic: str, message: JointState | WrenchStamped) -> None:
        now, stamp = time.perf_counter_ns(), message.header.stamp
        began = self._began.get(stamp.sec * 10**9 + stamp.nanosec)
        if began is None:
            return
        self.case.received[topic] += 1
        if topic == self.case.topics[0]:
            self.case.latencies.append((now - began) / 1e3)

    def wait(self, executor: Executor) -> None:
        """Wait until the node is there; `SystemExit` if it ended."""
        while self._out.get_subscription_count() < 1 or self.count_publishers('torque/gravity') < 1:
            executor.spin_once(timeout_sec=0.05)
            self.case.check()

    def run(self, seconds: float, executor: Executor) -> None:
        """Keep up the load for a while; the first second does not count."""
        self.case.check()
        self._load(1.0, executor, counts=False)
        cpu, start = cpu_seconds(self.case.pid), time.monotonic()
        self._load(seconds, executor, counts=True)
        self.case.seconds += time.monotonic() - start
        self.case.cpu += cpu_seconds(self.case.pid) - cpu
        self.case.memory.append(resident(self.case.pid))
        _spin_until(time.monotonic() + 0.2, executor)
        self._began.clear()
        p50, p99 = np.percentile(self.case.latencies, [50, 99])
        self.case.percentiles.append((float(p50), float(p99)))
        self.case.latencies.clear()

    def _load(self, seconds: float, executor: Executor, counts: bool) -> None:
        start = time.monotonic()
        for k in range(int(seconds * RATE)):
            _spin_until(start + k / RATE, executor)
            self._send(counts)

    def _send(self, counts: bool) -> None:
        now = time.time_ns()
        self._message.header.stamp.sec, self._message.header.stamp.nanosec = divmod(now, 10**9)
        phase = now % 10**12 * 1e-9 + np.arange(17)
        self._message.position = array('d', (BENT + 0.1 * np.sin(phase)).tobytes())
        self._message.velocity = self._message.effort = array('d', (0.1 * np.cos(phase)).tobytes())
        for publisher in self._wrenches:
            push = WrenchStamped()
            push.header.stamp = self._message.header.stamp
            push.wrench.force.x = 10.0
            publisher.publish(push)
        if counts:
            self.case.sent += 1
            self._began[now] = time.perf_counter_ns()
        self._out.publish(self._message)


def _spin_until(due: float, executor: Executor) -> None:
    while (left := due - time.monotonic()) > 0:
        executor.spin_once(timeout_sec=left)


def measure(cases: list[Case], rounds: int, seconds: float) -> None:
    """Put each node under load in turns, so that the machine's moods fall on all alike."""
    rclpy.init()
    for case in cases:
        case.start()
    clients = [Client(case) for case in cases]
    executors = [EventsExecutor() for _ in cases]
    for client, executor in zip(clients, executors, strict=True):
        executor.add_node(client)
    try:
        for client, executor in zip(clients, executors, strict=True):
            client.wait(executor)  # for all of them: one that starts takes a processor
        for done in range(rounds):
            print(f'round {done + 1} of {rounds}', file=sys.stderr)  # no bar: its thread would count as the node's time
            for client, executor in zip(clients, executors, strict=True):
                client.run(seconds, executor)
    finally:
        for case in cases:
            case.end()
        rclpy.shutdown()


def report(cases: list[Case]) -> None:
    """Print a line for each node, with ratios to the first. Latencies are the medians over the rounds."""
    print(f'{"joint state to torque/gravity, 1 kHz":<42}{"p50":>8}{"p99":>9}{"lost":>7}{"CPU":>7}{"memory":>9}')
    for case in cases:
        p50, p99 = np.median(case.percentiles, axis=0)
        lost = sum(case.sent - count for count in case.received.values())
        share = 100 * case.cpu / case.seconds
        print(f'{case.title:<42}{p50:>5.0f} us{p99:>6.0f} us{lost:>7}{share:>6.1f}%{case.memory[-1]:>6.0f} MB')
        for echo in cases[:2]:
            if case not in cases[:2]:
                echo50, echo99 = np.median(echo.percentiles, axis=0)
                cpu = case.cpu * echo.seconds / (case.seconds * echo.cpu)
                print(
                    f'{f"    ratio to {echo.namespace}":<42}{p50 / echo50:>8.2f}{p99 / echo99:>9.2f}{"":>7}{cpu:>7.2f}'
                )
    shares = {case.namespace: case.cpu / case.seconds for case in cases}
    print('CPU of external torques and 2 wrenches, to gravity, Coriolis and friction; goal: at most 1.25')
    for backend in BACKENDS:
        print(f'    backend {backend}: {shares[f"external_{backend}"] / shares[f"three_{backend}"]:.2f}')
    print('goals of gravity alone (p50, p99, CPU): to echo 1.15, 1.15, 0.75; to raw_echo 1.35, 1.2, 1.5')
    print('goals with everything: none lost; CPU to echo at most 1.3')


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=0, help='how long to watch the memory (default: not at all)')
    arguments = parser.parse_args()
    node = 'krang_dynamics_ros.nodes.dynamics_node'
    everything = Case('dynamics_node, 5 torques and 2 wrenches', 'everything', node, TERMS, wrenches=True)
    if arguments.minutes:
        measure([everything], rounds=max(2, round(arguments.minutes * 6)), seconds=10)
        print(f'memory every 10 s, MB: {" ".join(f"{m:.1f}" for m in everything.memory)}')
        print(f'sent {everything.sent}, received {everything.received}')
        return
    cases = [
        Case('echo of messages, default executor', 'echo', 'benchmarks.echo_node', ('gravity',)),
        Case('echo of bytes, events executor', 'raw_echo', 'benchmarks.echo_node', ('gravity',), words=('--raw',)),
        Case('dynamics_node, torque/gravity', 'gravity', node, ('gravity',)),
        everything,
    ]
    for backend in BACKENDS:
        cases += [
            Case(f'gravity, Coriolis, friction, {backend}', f'three_{backend}', node, THREE, backend=backend),
            Case(f'external and 2 wrenches, {backend}', f'external_{backend}', node, EXTERNAL, backend=backend),
        ]
    measure(cases, rounds=8, seconds=3)
    report(cases)


if __name__ == '__main__':
    main()
