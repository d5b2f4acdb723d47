"""An arm file at work: nodes that read it, and `krang record`, over DDS; what it records is processed as it is."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')
pytest.importorskip('rosbags.rosbag2', reason='rosbags, for recordings, is not installed')

from krang_dynamics_ros import Lagrangian, load_robot
from krang_dynamics_ros.cli import new_arm, process
from krang_dynamics_ros.recordings.bag import Bag

from ..robots import FILES, ROOT
from ..ros import PATIENCE, Client, Process, domain, effort, environment

ARM = FILES['arm_2r']
NAMES, TOPIC = ('left_theta1', 'left_theta2'), 'driver/joint_states'
Q = np.array([0.3, -0.8])


class Recording:
    """The command in a process of its own, on no terminal."""

    def __init__(self, number: int, folder: Path, *words: str) -> None:
        command = [sys.executable, '-m', 'krang_dynamics_ros', 'record', *words]
        self._log = (folder / 'record.log').open('w+')
        self.process = subprocess.Popen(
            command, env=environment(number) | {'PYTHONPATH': str(ROOT)}, cwd=folder, stdout=self._log,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        Process.started.setdefault(number, []).append(self.process)

    @property
    def output(self) -> str:
        return Path(self._log.name).read_text()

    def wait(self) -> int:
        code = self.process.wait(PATIENCE)
        self._log.close()
        return code


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run: it holds an arm file of an arm whose driver has names and a topic of its own."""
    monkeypatch.chdir(tmp_path)
    assert new_arm.main([str(ARM)]) == 0
    text = Path('my_arm.yaml').read_text().replace("joint_prefix: ''", 'joint_prefix: left_')
    text = text.replace('      theta', '      left_theta').replace('wrench_topic: wrench/', 'wrench_topic: driver/')
    Path('my_arm.yaml').write_text(text.replace('joint_states_topic: joint_states', f'joint_states_topic: {TOPIC}'))
    return tmp_path


@pytest.mark.parametrize('way', ['--arm', '--params-file'])
def test_a_node_takes_names_and_topics_of_an_arm_file(number: int, folder: Path, way: str) -> None:
    words = ['--arm'] if way == '--arm' else ['--ros-args', '--params-file']
    process, client = Process(number, *words, str(folder / 'my_arm.yaml')), Client(number)
    client.listen('torque/gravity')
    torques = client.received['torque/gravity']
    client.until(lambda: torques, lambda: client.send_state(NAMES, Q, 0 * Q, topic=TOPIC), process.output)
    assert tuple(torques[-1].name) == NAMES
    np.testing.assert_allclose(effort(torques[-1]), Lagrangian(load_robot(ARM)).Q(Q), atol=1e-9)
    assert 'assumed: robot: arm_2r, joints left_theta1, left_theta2' in process.output
    assert 'unknown' not in process.output
    client.close()
    assert process.end() == 0


def test_a_simulated_arm_has_names_topics_and_gravity_of_its_file(number: int, folder: Path) -> None:
    text = Path('my_arm.yaml').read_text().replace('gravity: [0.0, -9.81, 0.0]', 'gravity: [0.0, 0.0, 0.0]')
    Path('my_arm.yaml').write_text(text)
    process, client = Process(number, '--arm', str(folder / 'my_arm.yaml'), module='simulator_node'), Client(number)
    states: list[object] = []
    client.node.create_subscription(type(_joint_state()), TOPIC, states.append, 10)
    client.until(lambda: len(states) > 20, why=process.output)
    assert tuple(states[0].name) == NAMES  # type: ignore[attr-defined]
    first, last = (np.array(state.position) for state in (states[0], states[-1]))  # type: ignore[attr-defined]
    np.testing.assert_allclose(first, last, atol=1e-9)  # nothing holds it, and it does not fall
    client.close()
    assert process.end() == 0


def _joint_state() -> object:
    from sensor_msgs.msg import JointState  # noqa: PLC0415

    return JointState()


def test_a_recorded_folder_is_processed_without_further_options(
    number: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node, client = Process(number, '--arm', str(folder / 'my_arm.yaml')), Client(number)
    recording = Recording(number, folder, '--arm', 'my_arm.yaml', '-o', 'drive', '--seconds', '2')
    k = [0]

    def say() -> None:
        k[0] += 1
        phase = 0.01 * k[0] * np.array([1.0, 2.0])
        client.send_state(NAMES, 0.5 * np.sin(phase), np.cos(phase), effort=[1.0, 2.0], topic=TOPIC)
        client.spin(0.005)

    client.until(lambda: recording.process.poll() is not None, say, recording.output)
    assert recording.wait() == 0, recording.output
    for words in (
        'robot: arm_2r, joints left_theta1, left_theta2',
        'recording into drive; 2 s from the first joint state',
        f'/{TOPIC}: recorded',
        'missing: wrench of tip on /driver/tip',
        'per second',
        'recorded 2.',
    ):
        assert words in recording.output
    with Bag('drive') as bag:
        counts = {topic: count for topic, (_, count) in bag.contents.topics.items()}
    assert counts[f'/{TOPIC}'] > 10
    assert {'/robot_description', '/torque/gravity'} <= set(counts)
    capsys.readouterr()
    assert process.main(['drive', '--workers', '1']) == 0
    out, err = capsys.readouterr()
    assert 'assumed, by drive/arm.yaml:' in err
    assert 'left_theta1' in out
    client.close()
    assert node.end() == 0


def test_without_the_number_of_seconds_a_signal_ends_it(number: int, folder: Path) -> None:
    client, recording = Client(number), Recording(number, folder, '-o', 'drive')
    client.until(
        lambda: '/joint_states: recorded' in recording.output,
        lambda: client.send_state(('a', 'b'), Q), recording.output,
    )  # fmt: skip
    recording.process.send_signal(signal.SIGINT)
    assert recording.wait() == 0, recording.output
    assert 'missing: efforts of a, b: identify needs them' in recording.output
    assert 'missing: velocities of a, b' in recording.output
    with Bag('drive') as bag:
        assert bag.contents.topics['/joint_states'][1] > 0
    client.close()


@pytest.mark.slow
def test_no_joint_states_is_said_with_those_that_there_are(number: int, folder: Path) -> None:
    client, recording = Client(number), Recording(number, folder, '-o', 'drive', '--seconds', '1')
    publisher = client.node.create_publisher(type(_joint_state()), 'other/joint_states', 1)
    client.until(lambda: recording.process.poll() is not None, why=recording.output)
    assert recording.wait() == 1
    assert 'Nothing recorded. Missing: joint states on /joint_states; found ' in recording.output
    assert '/other/joint_states: set --ros-args -r joint_states:=NAME, or --arm' in recording.output
    assert not Path('drive').exists()
    client.node.destroy_publisher(publisher)
    client.close()


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('-o', 'there'), 'there: exists, must be a new folder; name another one, or remove it'),
        (('-o', 'nowhere/drive'), 'nowhere: no such folder, must exist'),
        (('--arm', 'there/my.urdf'), 'is a robot description, must be a ROS parameter file'),
        (('--seconds', 'long'), 'long, must be a number from 0.1'),
    ],
)
def test_nonsense_is_refused_before_anything_is_recorded(
    number: int, folder: Path, words: tuple[str, ...], message: str
) -> None:
    (folder / 'there').mkdir()
    (folder / 'there' / 'my.urdf').write_text('<robot/>')
    recording = Recording(number, folder, *words)
    assert recording.wait() == 2
    assert message in recording.output
    assert 'Traceback' not in recording.output
    assert [path.name for path in (folder / 'there').iterdir()] == ['my.urdf']
