"""The simulated robot and the dynamics node in one loop, over DDS: held up, let fall, pushed, told to pause."""

from __future__ import annotations

import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point32, PolygonStamped, WrenchStamped
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from krang_dynamics_ros import Inertia, Robot, Wrench, dynamics_of, load_robot
from krang_dynamics_ros.live.messages import stamp_of
from krang_dynamics_ros.nodes.simulator.diagnostics import SimulatorHealth
from krang_dynamics_ros.simulation.pulls import STIFFNESS
from krang_dynamics_ros.simulation.simulated_robot import SimulatedRobot
from krang_dynamics_ros.simulation.simulation import Simulation

from ..page.test_viewer_parts import LINK, TREE
from ..robot.test_urdf_reader import HAND
from ..robots import FILES, ROOT
from ..ros import Client, Process, domain, environment

KEY = 'dropped, from before a reset or a pose'
GIVEN = {'q_w': 0.5, 'q_2l': -0.7, 'q_3l': 0.1}  # where it starts by parameters
START = {'q_2r': 0.8, 'q_4l': -0.9, 'q_4r': 0.9, **GIVEN}  # the rest is the robot file's


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


def simulator(number: int, *more: str) -> Process:
    names, positions = ', '.join(GIVEN), ', '.join(map(str, GIVEN.values()))
    return Process(
        number, '--ros-args', '-r', 'torque:=torque/total', '-p', f'start.names:=[{names}]',
        '-p', f'start.positions:=[{positions}]', '-p', 'timeout:=1.0',
        '-p', 'viscous:=1.0', '-p', 'coulomb:=3.0', *more, module='simulator_node',
    )  # fmt: skip


class Watcher:
    """Keeps the joint states and a wrist's readings that come."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.states: list[JointState] = []
        self.readings: list[WrenchStamped] = []
        client.node.create_subscription(JointState, 'joint_states', self.states.append, 100)
        client.node.create_subscription(WrenchStamped, 'wrench/left', self.readings.append, 100)

    def now(self) -> np.ndarray:
        """Return the next position that comes."""
        self.states.clear()
        self.client.until(lambda: self.states, why='joint states')
        return np.array(self.states[-1].position)

    def efforts(self) -> np.ndarray:
        """Return the efforts of the next state that comes."""
        self.now()
        return np.array(self.states[-1].effort)

    def after(self, states: int) -> np.ndarray:
        """Return the position that many states later."""
        self.states.clear()
        self.client.until(lambda: len(self.states) >= states, why=f'{states} joint states')
        return np.array(self.states[-1].position)


def test_a_stamp_is_the_instant_of_its_state(number: int) -> None:
    """States are whole milliseconds apart, the step of the simulation, and so are their stamps, also under load."""
    process = Process(number, '--ros-args', '-p', 'robot_file:=arm_2r', module='simulator_node')
    client = Client(number)
    watcher = Watcher(client)
    watcher.after(100)
    stamps = np.array([stamp_of(state) for state in watcher.states])
    off = np.abs((np.diff(stamps) + 500_000) % 1_000_000 - 500_000)  # ns to the nearest whole millisecond
    assert np.median(off) < 20_000
    client.close()
    assert process.end() == 0, process.output


def trigger(client: Client, name: str) -> Trigger.Response:
    service = client.node.create_client(Trigger, name)
    client.until(service.service_is_ready, why=name)
    future = service.call_async(Trigger.Request())
    client.until(future.done, why=name)
    return future.result()


def call(client: Client, name: str) -> None:
    assert trigger(client, name).success


def reset(client: Client, watcher: Watcher) -> JointState:
    """Reset it, and return a state from after that: others may still be on their way."""
    call(client, 'reset')
    done = time.time_ns()
    client.until(lambda: watcher.states and stamp_of(watcher.states[-1]) > done, why='a state from after the reset')
    return watcher.states[-1]


def status(client: Client, name: str) -> DiagnosticStatus:
    """Return what the simulator says of itself."""
    return client.diagnostics.get(name, DiagnosticStatus())


def paused(number: int, *more: str) -> tuple[Client, Watcher, Process]:
    client = Client(number)
    watcher = Watcher(client)
    sim = simulator(number, *more)
    watcher.now()
    call(client, 'pause')
    return client, watcher, sim


def test_without_torques_it_falls_and_with_gravity_compensation_it_stays(number: int, robot: Robot) -> None:
    client = Client(number)
    watcher = Watcher(client)
    sim = simulator(number)
    client.until(lambda: np.abs(watcher.now() - dynamics_of(robot).vector(START)).max() > 0.3, why='it to fall')
    dynamics = Process(number)
    call(client, 'pause')
    call(client, 'reset')
    client.until(lambda: 'receiving torques' in sim.output)
    watcher.after(200)  # until the node answers the pose that was reset to
    call(client, 'resume')
    held = watcher.after(300)
    np.testing.assert_allclose(held, dynamics_of(robot).vector(START), atol=1e-3)
    assert dynamics.end() == 0, dynamics.output
    client.until(lambda: 'the joints are slack' in status(client, 'simulation').message, why='diagnostics to say so')
    client.until(lambda: np.abs(watcher.now() - held).max() > 0.3, why='it to fall when the torques stop')
    assert sim.end() == 0, sim.output
    assert 'Traceback' not in sim.output
    client.close()


@pytest.mark.slow
def test_it_says_what_it_does(number: int) -> None:
    client = Client(number)
    sim = simulator(number, '-p', 'brakes:=true')
    client.until(lambda: 'the brakes are closed' in status(client, 'simulation').message, why='it to be braked')
    client.until(lambda: 'none for 17 of 17 joints' in status(client, 'torques').message, why='no torques')
    dynamics = Process(number)
    client.until(lambda: status(client, 'simulation').message.startswith('runs'), why='it to run')
    values = {pair.key: pair.value for pair in status(client, 'simulation').values}
    assert values['friction added'] == 'viscous 1 N m s/rad, coulomb 3 N m'
    call(client, 'pause')
    client.until(lambda: status(client, 'simulation').message == 'paused', why='it to be paused')
    call(client, 'resume')
    client.until(lambda: status(client, 'simulation').message.startswith('runs'), why='it to run again')
    other = client.publisher(JointState, 'torque/total')
    client.until(lambda: 'published by /client and /krang_dynamics' in status(client, 'torques').message, why='two')
    assert other
    assert dynamics.end() == 0
    assert sim.end() == 0
    client.close()


def test_torques_without_measure_break_it_until_a_reset(number: int, robot: Robot) -> None:
    client = Client(number)
    watcher = Watcher(client)
    sim = simulator(number, '-p', 'brakes:=true')
    torques = client.publisher(JointState, 'torque/total')
    message = JointState(name=robot.joint_names, effort=[1e5] * 17)
    client.until(
        lambda: status(client, 'simulation').message.startswith('broken, reset it: q_'),
        lambda: torques.publish(message), 'it to break',
    )  # fmt: skip
    assert status(client, 'simulation').level == DiagnosticStatus.ERROR
    assert np.isfinite(watcher.now()).all()
    assert not trigger(client, 'resume').success
    np.testing.assert_array_equal(reset(client, watcher).position, dynamics_of(robot).vector(START))
    client.until(lambda: 'the brakes are closed' in status(client, 'simulation').message, why='it to stand')
    assert sim.end() == 0
    assert 'Traceback' not in sim.output
    client.close()


def test_torques_for_a_state_from_before_a_pose_are_dropped(number: int, robot: Robot) -> None:
    client = Client(number)
    watcher = Watcher(client)
    sim = simulator(number, '-p', 'brakes:=true')
    watcher.now()
    old = watcher.states[-1].header.stamp
    torques, pose = client.publisher(JointState, 'torque/total'), client.publisher(JointState, 'pose')
    pose.publish(JointState(name=['q_3r'], position=[0.25]))
    expected = dynamics_of(robot).vector(START | {'q_3r': 0.25})
    client.until(lambda: np.array_equal(watcher.now(), expected), why='the pose')
    message = JointState(name=robot.joint_names, effort=[500.0] * 17)

    def dropped() -> int:
        return int({pair.key: pair.value for pair in status(client, 'torques').values}.get(KEY, '0'))

    message.header.stamp = old
    client.until(lambda: dropped() > 20, lambda: torques.publish(message), 'old torques to be dropped')
    np.testing.assert_array_equal(watcher.now(), expected)
    message.header.stamp = watcher.states[-1].header.stamp
    client.until(lambda: np.abs(watcher.now() - expected).max() > 0.01, lambda: torques.publish(message), 'it to move')
    assert sim.end() == 0
    client.close()


def test_the_wrist_reads_the_push_in_the_hands_axes(number: int, robot: Robot) -> None:
    client, watcher, sim = paused(number)
    q = np.array(reset(client, watcher).position)
    R, _ = dynamics_of(robot).pose(q, 'R10l')
    push = client.publisher(WrenchStamped, 'push/left')
    message = WrenchStamped()
    message.header.frame_id = 'R10l'
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = (R.T @ [0, 0, -20]).tolist()

    def read() -> bool:
        f = watcher.readings[-1].wrench.force if watcher.readings else None
        return f is not None and np.allclose(R @ [f.x, f.y, f.z], [0, 0, -20], atol=1e-6)

    client.until(read, lambda: push.publish(message), 'the wrist to feel the push')
    assert watcher.readings[-1].header.frame_id == 'R10l'
    client.until(lambda: watcher.readings[-1].wrench.force.x == 0, why='the push to end when it stops coming')
    assert sim.end() == 0
    client.close()


def test_a_pull_is_a_spring_to_its_target_and_ends_when_it_stops_coming(number: int, robot: Robot) -> None:
    client, watcher, sim = paused(number)
    q = np.array(reset(client, watcher).position)
    R, origin = dynamics_of(robot).pose(q, 'R10l')
    pull, message = client.publisher(PolygonStamped, 'pull'), PolygonStamped(header=Header(frame_id='R10l'))
    x, y, z = (origin + np.array([0, 0, 0.1])).tolist()
    message.polygon.points = [Point32(), Point32(x=x, y=y, z=z)]

    def read() -> np.ndarray:
        f = watcher.readings[-1].wrench.force if watcher.readings else None
        return R @ [f.x, f.y, f.z] if f else np.zeros(3)

    client.until(
        lambda: np.allclose(read(), [0, 0, 0.1 * STIFFNESS], atol=1e-3),
        lambda: pull.publish(message),
        'the wrist to feel the pull',
    )
    client.until(lambda: not read().any(), why='the pull to end when it stops coming')
    message.header.frame_id = 'R11'
    client.until(lambda: "pull refused: 'R11' is not a link" in sim.output, lambda: pull.publish(message), 'the reason')
    assert sim.end() == 0
    client.close()


@pytest.mark.parametrize('topic', ['push', 'push/left'])
def test_a_reset_ends_every_push(number: int, robot: Robot, topic: str) -> None:
    client, watcher, sim = paused(number, '-p', 'timeout:=10.0', '-p', 'effort:=joint')
    start, message = reset(client, watcher), WrenchStamped()
    q, standing = np.array(start.position), np.array(start.effort)
    push, message.header.frame_id = client.publisher(WrenchStamped, topic), 'R10l'

    def more() -> None:
        message.wrench.force.x += 1.0
        push.publish(message)

    def all_felt() -> bool:  # the last one too: none is on its way any more
        by_push = dynamics_of(robot).wrench_torque(q, [Wrench('R10l', [message.wrench.force.x, 0, 0])])
        return np.allclose(watcher.efforts(), standing - by_push, atol=1e-9)

    client.until(all_felt, more, 'the pushes to be felt')
    np.testing.assert_allclose(np.array(reset(client, watcher).effort), standing, atol=1e-9)
    assert sim.end() == 0
    client.close()


def test_a_wrist_reads_bias_and_weight_and_the_payload_is_carried(number: int, robot: Robot) -> None:
    client, sim = Client(number, node='krang_simulator'), simulator(number, '-p', 'brakes:=true')
    watcher = Watcher(client)
    done = client.set(
        left__tool__mass=1.0, left__tool__com=[0.1, 0.0, 0.0], left__payload__mass=2.0,
        left__sensor__bias=[1.0, 2.0, 3.0, 0.1, 0.2, 0.3],
    )  # fmt: skip
    assert all(result.successful for result in done), done
    R, _ = dynamics_of(robot).pose(dynamics_of(robot).vector(START), 'R10l')
    down = R.T @ robot.gravity
    moment = np.cross([0.1, 0, 0], down)
    expected = np.concatenate([np.array([1, 2, 3]) + 3.0 * down, np.array([0.1, 0.2, 0.3]) + moment])

    def read() -> bool:
        w = watcher.readings[-1].wrench if watcher.readings else None
        return w is not None and np.allclose(
            [w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z], expected, atol=1e-9
        )

    client.until(read, why='bias and weight')
    loaded = dynamics_of(robot)
    loaded.payload = {'R10l': Inertia(2.0)}
    q = loaded.vector(START)
    client.until(lambda: np.allclose(watcher.efforts(), loaded.Q(q), atol=1e-9), why='the payload in the efforts')
    refused = client.set(left__payload__mass=-1.0)[0]
    assert not refused.successful
    assert 'left.payload' in refused.reason or 'range' in refused.reason
    client.set(effort='motor')
    client.until(lambda: not np.any(watcher.efforts()), why='motors that rest behind brakes')
    assert sim.end() == 0
    client.close()


def test_a_start_that_cannot_be_ends_it_with_a_word(number: int) -> None:
    for given, message in (
        ('start.names:=[q_x]', "start.names, start.positions: joint 'q_x' is unknown"),
        ('start.names:=[q_w, q_1l]', 'start.names, start.positions: 2 joints, but 1 positions'),
        ('rate:=0.0', 'rate'),
    ):
        process = Process(number, '--ros-args', '-p', given, module='simulator_node')
        assert process.wait() == 1
        assert message in process.output
        assert 'Traceback' not in process.output


def test_simulated_time_goes_at_its_own_pace_and_stands_still_when_paused(number: int) -> None:
    client = Client(number)
    watcher = Watcher(client)
    times: list[float] = []
    client.node.create_subscription(Clock, '/clock', lambda m: times.append(seconds(m.clock)), 100)
    sim = simulator(number, '-p', 'publish_clock:=true', '-p', 'time_factor:=0.25', '-p', 'rate:=200.0')
    client.until(lambda: len(times) > 20, why='/clock')
    begin, first = time.monotonic(), times[-1]
    client.until(lambda: times[-1] > first + 0.5, why='half a second to pass')
    assert 0.5 / (time.monotonic() - begin) < 0.6  # a quarter, and not one; who listens may be late itself
    assert times == sorted(times)
    call(client, 'pause')
    watcher.after(5)  # what was on its way when the service answered has arrived
    paused_at = seconds(watcher.states[-1].header.stamp)
    client.until(lambda: times[-1] == paused_at, why='the clock to stand where the robot does')
    watcher.after(50)
    assert times[-1] == paused_at == seconds(watcher.states[-1].header.stamp)
    assert sim.end() == 0
    client.close()


def seconds(stamp: Time) -> float:
    return float(stamp.sec + stamp.nanosec * 1e-9)


def test_it_is_posed_by_topic_and_says_why_not(number: int, robot: Robot) -> None:
    client, watcher, sim = paused(number)
    pose, lean = client.publisher(JointState, 'pose'), watcher.now()[1]
    pose.publish(JointState(name=['q_3r', 'q_6l'], position=[0.25, -0.5]))
    index = [robot.joint_names.index(name) for name in ('q_3r', 'q_6l')]
    client.until(lambda: np.allclose(watcher.now()[index], [0.25, -0.5], atol=1e-12), why='the pose')
    pose.publish(JointState(name=['q_w'], position=[9.0]))
    client.until(lambda: 'pose refused: q_w: 9, must be within its limits' in sim.output)
    assert watcher.now()[1] == lean
    assert sim.end() == 0
    client.close()


def test_joints_that_follow_are_named_and_those_without_mass_get_a_rotor(number: int, tmp_path: Path) -> None:
    urdf = tmp_path / 'gripper.urdf'
    idle = '<link name="ring"/><joint name="turn" type="continuous"><parent link="arm"/><child link="ring"/></joint>'
    urdf.write_text(HAND.replace('</robot>', f'{idle}</robot>'))
    sim = Process(number, '--ros-args', '-p', f'robot_file:={urdf}', '-p', 'brakes:=true', module='simulator_node')
    client = Client(number)
    watcher = Watcher(client)
    q = dict(zip(('shoulder', 'left_joint', 'turn', 'right_joint', 'tip_joint'), watcher.now(), strict=True))
    assert watcher.states[-1].name == [*q]
    assert [*q.values()] == pytest.approx([0, 0.025, 0, 0.0875, 3 * 0.0875 - 0.2])
    assert watcher.efforts().shape == (5,)
    assert 'joints turn move no mass: simulated with a rotor of 0.001 kg m^2 or kg each' in sim.output
    assert sim.end() == 0
    client.close()


def test_torques_are_late_only_after_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr('krang_dynamics_ros.nodes.simulator.diagnostics.time.monotonic', lambda: now)
    simulated = SimulatedRobot(Simulation(load_robot(FILES['arm_2r'])), timeout=0.1, brakes=True)
    health = SimulatorHealth(simulated, 1.0, '')

    def message(seconds: float, with_torques: bool) -> str:
        nonlocal now
        for _ in range(round(seconds / 0.02)):
            now += 0.02
            health.add_time(0.02)
            if with_torques:
                simulated.on_torque(['theta1', 'theta2'], np.zeros(2), 0)
            simulated.advance(0.02, ())
        return next(iter(health.statuses())).message

    assert message(0.5, with_torques=False) == 'no torques for 0.1 s: the brakes are closed'
    assert 'late' not in message(1.0, with_torques=True)
    message(0.3, with_torques=False)
    assert 'torques came late' in message(0.7, with_torques=True)
    assert 'late' not in message(1.0, with_torques=True)
    simulated.reset()
    message(0.3, with_torques=False)
    assert 'late' not in message(0.7, with_torques=True)


def test_a_second_robot_on_the_domain_is_refused_and_a_second_source_of_torques_is_named(number: int) -> None:
    client = Client(number)
    first = simulator(number)
    Watcher(client).now()
    second = Process(
        number, code='import sys; from krang_dynamics_ros.nodes.simulator_node import main; sys.exit(main())'
    )
    assert second.wait() == 1
    assert 'joint_states is published by /krang_simulator already' in second.output
    assert f'ROS_DOMAIN_ID (now {number})' in second.output
    assert 'Traceback' not in second.output
    others = [client.node.create_publisher(JointState, topic, 1) for topic in ('joint_states', 'torque/total')]
    dynamics = Process(number)
    expected = 'joint_states are also published by /client; torques are published by /client and /krang_dynamics'
    client.until(lambda: expected in first.output, why=expected)
    assert len(others) == 2
    assert dynamics.end() == 0
    assert first.end() == 0
    client.close()


def test_a_second_dynamics_node_that_must_be_alone_publishes_nothing(number: int, robot: Robot) -> None:
    """In a second demo: the robot of the first one must get no torque of it."""
    client = Client(number)
    first = client.node.create_publisher(JointState, 'torque/total', 1)
    client.listen('torque/total')
    second = Process(number, '--ros-args', '-p', 'sole_publisher:=true')
    states = client.node.create_publisher(JointState, 'joint_states', 1)
    message = JointState(name=list(robot.joint_names), position=array('d', np.zeros(17)))

    def publish() -> None:
        message.header.stamp = client.stamp()
        states.publish(message)

    client.until(lambda: second.process.poll() is not None, publish, 'its end')
    assert second.wait() == 1
    assert 'torque/total is published by /client already' in second.output
    assert not client.received['torque/total']
    assert first
    client.close()


@pytest.mark.slow
def test_a_second_robot_is_found_at_the_pace_of_discovery(number: int) -> None:
    """Without the tests' quick discovery it takes up to three seconds."""
    ours = environment(number)
    ordinary = {name: value for name, value in ours.items() if name != 'FASTRTPS_DEFAULT_PROFILES_FILE'}
    command = [sys.executable, '-m', 'krang_dynamics_ros.nodes.simulator_node']
    with subprocess.Popen(command, env=ordinary, cwd=ROOT, stderr=subprocess.PIPE, text=True) as first:
        try:
            assert first.stderr
            while 'waiting for torques' not in first.stderr.readline():
                assert first.poll() is None
            for _ in range(3):
                done = subprocess.run(
                    command, env=ordinary, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False
                )
                assert done.returncode == 1
                assert 'already; two robots on a ROS domain would drive each other' in done.stderr
        finally:
            first.terminate()


def test_messages_of_very_many_or_long_names_are_refused_and_it_goes_on(number: int) -> None:
    node, client = simulator(number), Client(number)
    watcher, many = Watcher(client), [f'joint_{k}' for k in range(30_000)]
    try:
        watcher.now()

        def spoil() -> None:
            client.send_state(many, np.zeros(len(many)), topic='pose')
            client.send_state(many, (), topic='torque/total', effort=np.zeros(len(many)))
            client.publisher(WrenchStamped, 'push').publish(WrenchStamped(header=Header(frame_id='\x1b' * 400_000)))

        for reason in ('pose refused: 30000 names, must be at most 2000', 'push refused: '):
            client.until(lambda reason=reason: reason in node.output, spoil, reason)
        watcher.now()
        assert '\x1b' not in node.output
        assert max(map(len, node.output.splitlines())) < 300
    finally:
        client.close()
        node.end()


@pytest.mark.slow
def test_a_link_becomes_a_hand_while_the_nodes_run(number: int, robot: Robot) -> None:
    """The simulator gives it a sensor; the dynamics node starts anew with the same values, and hears it."""
    sim, node = simulator(number, '-p', 'brakes:=true'), Process(number)
    client = Client(number)
    watcher = Watcher(client)
    client.until(lambda: watcher.states, why='joint states')
    hands = ['left', 'right', 'R4l']
    assert set_in_simulator(client, 'end_effectors', hands).successful
    assert client.set(total_terms=['gravity', 'friction'])[0].successful
    assert client.set(end_effectors=hands)[0].successful
    heard: list[JointState] = []
    client.node.create_subscription(JointState, 'torque/wrench', heard.append, 1)
    push, message = client.publisher(WrenchStamped, 'push/R4l'), WrenchStamped(header=Header(frame_id='R4l'))
    message.wrench.force.x = 10.0
    expected = dynamics_of(robot)

    def felt() -> bool:
        q = np.array(watcher.states[-1].position)
        torque = expected.wrench_torque(q, [Wrench('R4l', (10.0, 0, 0))])
        return bool(heard) and np.allclose(np.abs(heard[-1].effort), np.abs(torque), atol=1e-3) and np.any(torque)

    client.until(felt, lambda: push.publish(message), 'the new hand to be heard')
    assert list(client.get('total_terms')) == ['gravity', 'friction'], 'what was set stays'
    refused = client.set(end_effectors=['left', 'right', 'R4l', 'nowhere'])[0]
    assert not refused.successful
    assert "'nowhere'" in refused.reason
    assert 'right cannot be removed' in client.set(end_effectors=['left'])[0].reason
    assert 'right cannot be removed' in set_in_simulator(client, 'end_effectors', ['left']).reason

    def bare() -> bool:
        topics = ('wrench/R4l', 'push/R4l', 'wrench/R4l/compensated')
        return all(client.node.count_publishers(t) + client.node.count_subscribers(t) == 0 for t in topics)

    client.node.destroy_publisher(push)
    for kept in (['left', 'right'], hands, ['left', 'right']):  # also a second time
        assert set_in_simulator(client, 'end_effectors', kept).successful
        assert set_hands(client, kept).successful
        client.until(lambda kept=kept: bare() == ('R4l' not in kept), why='the topics of the hand to come or go')
    assert list(client.get('total_terms')) == ['gravity', 'friction']
    for process in (node, sim):
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output
        assert 'is unknown' not in process.output
    client.close()


def set_hands(client: Client, hands: list[str]) -> SetParametersResult:
    """Set the hands of the dynamics node; again if the call is lost because the node is starting anew."""
    service = client.node.create_client(SetParametersAtomically, 'krang_dynamics/set_parameters_atomically')
    request = SetParametersAtomically.Request(parameters=[Parameter('end_effectors', value=hands).to_parameter_msg()])
    for _ in range(6):
        client.until(service.service_is_ready, why='the dynamics node')
        future = service.call_async(request)
        with suppress(AssertionError):
            client.until(future.done, seconds=10.0)
            return future.result().result
    raise AssertionError('six calls, and no answer')


def set_in_simulator(client: Client, name: str, value: object) -> SetParametersResult:
    asking = SetParametersAtomically.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    return client.call('/krang_simulator/set_parameters_atomically', SetParametersAtomically, asking).result


def test_a_link_whose_name_topics_do_not_allow_becomes_a_hand(number: int, tmp_path: Path) -> None:
    file = tmp_path / 'arm.urdf'
    file.write_text(TREE.format(LINK.format('a/tool-0.x', 'base', 'revolute')))
    robot = ('--ros-args', '-p', f'robot_file:={file}', '-p', 'brakes:=true')
    sim, node = Process(number, *robot, module='simulator_node'), Process(number, *robot[:3])
    client, read = Client(number), list[WrenchStamped]()
    client.node.create_subscription(WrenchStamped, 'wrench/a_tool_0_x', read.append, 1)
    assert set_in_simulator(client, 'end_effectors', ['a_tool_0_x']).successful
    assert client.set(end_effectors=['a_tool_0_x'])[0].successful
    client.until(lambda: read and read[-1].header.frame_id == 'a/tool-0.x', why='its sensor')
    client.until(lambda: client.node.count_subscribers('wrench/a_tool_0_x') > 1, why='the dynamics node to listen')
    assert client.get('a_tool_0_x.link') == 'a/tool-0.x'
    for process in (node, sim):
        assert process.end() == 0, process.output
    client.close()
