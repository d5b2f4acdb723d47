"""`krang excite --send` on the simulator, over DDS: played, stopped by a key, by a joint that stands, by silence."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')

from krang_dynamics_ros.cli import identify
from krang_dynamics_ros.cli.record import RUNNING
from krang_dynamics_ros.dynamics.trajectory import Spline, Trajectory
from krang_dynamics_ros.nodes.trajectory_player import ActionFollower
from krang_dynamics_ros.recordings.joint_recording import read_joints
from krang_dynamics_ros.recordings.trajectory_file import read_trajectory
from krang_dynamics_ros.robot.robot_file import load_robot

from ..robots import ROOT
from ..ros import PATIENCE, Client, Process, domain, environment

JOINTS = load_robot('arm_2r').joint_names
READY, PLAY = 'move to the start of the motion', 'play the motion at'
RECORDED = ('--send', 'simulator', '--duration', 4, '--speeds', 1, '-o', 'x.yaml', '--record', 'bag')


@pytest.fixture  # of each test: what one that fails leaves behind disturbs no other
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


class Excite:
    """The command in a process, with a person at its keys."""

    def __init__(self, number: int, *words: object, folder: Path) -> None:
        self._output = tempfile.TemporaryFile('w+')  # noqa: SIM115 (it is read for as long as there is this object)
        code = 'import sys; from krang_dynamics_ros.__main__ import main; sys.exit(main())'
        self.process = subprocess.Popen(
            [sys.executable, '-c', code, 'excite', 'arm_2r', *map(str, words)], cwd=folder, stdin=subprocess.PIPE,
            stdout=self._output, stderr=subprocess.STDOUT, env=environment(number) | {'PYTHONPATH': str(ROOT)},
        )  # fmt: skip
        Process.started.setdefault(number, []).append(self.process)

    @property
    def output(self) -> str:
        self._output.seek(0)
        return self._output.read()

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 2 * PATIENCE
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < end, self.output
            time.sleep(0.02)

    def press(self, key: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(key.encode())
        self.process.stdin.flush()

    def end(self) -> int:
        return self.process.wait(2 * PATIENCE)


def is_dead(process: int) -> bool:
    """Return whether a process has ended with all of its threads, so that its parent sees it."""
    state = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0]
    return state == 'Z' and len([*Path(f'/proc/{process}/task').iterdir()]) <= 1


def simulator(number: int, *more: str) -> Process:
    """A robot whose time is its own: a busy machine makes it slower, not worse."""
    words = ['robot_file:=arm_2r', 'brakes:=true', 'publish_clock:=true', 'timeout:=1.0', *more]
    parameters = [word for parameter in words for word in ('-p', parameter)]
    return Process(number, '--ros-args', *parameters, module='simulator_node')


def positions(number: int) -> np.ndarray:
    client, states = Client(number), []
    from sensor_msgs.msg import JointState  # noqa: PLC0415 (of ROS, which may be missing)

    client.node.create_subscription(JointState, 'joint_states', states.append, 10)
    client.until(lambda: len(states) > 2)
    client.close()
    return np.array([states[-1].position[list(states[-1].name).index(name)] for name in JOINTS])


def ready_to_record(number: int, folder: Path) -> tuple[Process, Excite, np.ndarray]:
    """Start a simulator and a motion that is recorded, up to its first question; return both, and the positions."""
    robot = simulator(number)
    excite = Excite(number, *RECORDED, folder=folder)
    excite.wait_for(READY)
    return robot, excite, positions(number)


def wait_until_moved(number: int, excite: Excite, begun: np.ndarray) -> None:
    while np.abs(positions(number) - begun).max() < 0.02:
        assert excite.process.poll() is None, excite.output


@pytest.mark.slow
def test_a_motion_is_played_to_its_end_and_faster_from_its_start_again(number: int, tmp_path: Path) -> None:
    robot = simulator(number)
    excite = Excite(number, '--send', 'simulator', '--duration', 4, '--speeds', 0.5, 1, '-o', 'x.yaml', folder=tmp_path)
    for speed in ('0.5', '1'):
        excite.wait_for(f'{PLAY} {speed}' if f'{PLAY} {speed}' in excite.output else READY)
        if f'{PLAY} {speed}' not in excite.output:
            excite.press('\n')
        excite.wait_for(f'{PLAY} {speed}')
        excite.press('\n')
        excite.wait_for(f'played at {speed} of its speed')
    assert excite.end() == 0, excite.output
    motion = read_trajectory(tmp_path / 'x.yaml')
    np.testing.assert_allclose(positions(number), motion.position[-1], atol=0.05)
    again = Excite(number, '--send', 'simulator', '--motion', 'x.yaml', '--speeds', 1, folder=tmp_path)
    again.wait_for(READY)
    again.press('q')
    assert again.end() == 1
    assert 'ended, the robot does not move' in again.output
    robot.end()


@pytest.mark.slow
def test_it_records_while_it_plays(number: int, tmp_path: Path) -> None:
    robot = simulator(number)
    excite = Excite(number, *RECORDED, folder=tmp_path)
    for question in (READY, PLAY):
        excite.wait_for(question)
        excite.press('\n')
    assert excite.end() == 0, excite.output
    started, recorded = excite.output.index(RUNNING), excite.output.index('recorded ')
    assert started < excite.output.index(READY) < excite.output.index('played at 1') < recorded  # before, and after
    assert '/joint_states: recorded' in excite.output[:started]
    recording = read_joints(tmp_path / 'bag', JOINTS).recording
    motion = read_trajectory(tmp_path / 'x.yaml')
    columns = [recording.joint_names.index(name) for name in motion.joint_names]
    begun = np.linalg.norm(recording.position[:, columns] - motion.position[0], axis=1).argmin()
    played = recording.time[begun:] - recording.time[begun]
    assert played[-1] > motion.duration
    assert len(played) > 50 * motion.duration / 2  # rows while it plays: the recorder runs beside it
    reached = recording.position[-1, columns]
    np.testing.assert_allclose(reached, motion.position[-1], atol=0.05)
    assert recording.effort is not None
    assert np.ptp(recording.effort, axis=0).min() > 0.1
    assert identify.main([str(tmp_path / 'bag'), '-o', str(tmp_path / 'identified.yaml')]) == 0
    assert load_robot(tmp_path / 'identified.yaml').joint_names == JOINTS
    again = Excite(number, *RECORDED, '--overwrite', folder=tmp_path)
    assert again.end() == 2
    assert 'bag: exists, must be a new folder' in again.output  # before anything else
    robot.end()


@pytest.mark.slow
def test_without_its_recording_no_step_begins(number: int, tmp_path: Path) -> None:
    robot, excite, begun = ready_to_record(number, tmp_path)
    (recorder,) = Path(f'/proc/{excite.process.pid}/task/{excite.process.pid}/children').read_text().split()
    os.kill(int(recorder), signal.SIGKILL)
    while not is_dead(int(recorder)):
        time.sleep(0.02)
    excite.press('\n')
    assert excite.end() == 2
    assert 'the recording ended before the motion' in excite.output
    np.testing.assert_allclose(positions(number), begun, atol=1e-3)
    robot.end()


@pytest.mark.slow
def test_ctrl_c_while_it_plays_leaves_a_whole_bag(number: int, tmp_path: Path) -> None:
    robot, excite, begun = ready_to_record(number, tmp_path)
    excite.press('\n')
    wait_until_moved(number, excite, begun)
    excite.process.send_signal(signal.SIGINT)
    assert excite.end() == 130, excite.output
    assert 'stopped: interrupted by Ctrl-C or a signal\n' in excite.output
    assert len(read_joints(tmp_path / 'bag', JOINTS).recording) > 10
    robot.end()


def test_a_motion_that_is_not_confirmed_leaves_no_recording(number: int, tmp_path: Path) -> None:
    robot, excite, _ = ready_to_record(number, tmp_path)
    excite.press('n')
    assert excite.end() == 1, excite.output
    assert 'bag: removed, the robot did not move' in excite.output
    assert not (tmp_path / 'bag').exists()
    robot.end()


def test_a_recording_without_sending_is_refused(number: int, tmp_path: Path) -> None:
    excite = Excite(number, '--record', 'bag', folder=tmp_path)
    assert excite.end() == 2
    assert '--record: only with --send' in excite.output


def test_a_key_stops_it_where_it_is(number: int, tmp_path: Path) -> None:
    robot = simulator(number)
    excite = Excite(number, '--send', 'simulator', '--duration', 8, '--speeds', 0.2, '-o', 'x.yaml', folder=tmp_path)
    excite.wait_for(READY)
    excite.press('\n')
    excite.wait_for(PLAY)
    excite.press('\n')
    begun = positions(number)
    wait_until_moved(number, excite, begun)
    excite.press(' ')
    assert excite.end() == 1
    assert 'stopped: a key was pressed' in excite.output
    motion = read_trajectory(tmp_path / 'x.yaml')
    path = Spline(motion).at(np.linspace(0, 8, 500)).q
    first, later = positions(number), positions(number)
    np.testing.assert_allclose(first, later, atol=1e-3)  # it stands
    assert np.linalg.norm(path - first, axis=1).min() < 0.1  # on its path
    robot.end()


@pytest.mark.slow
def test_joints_that_do_not_follow_stop_it(number: int, tmp_path: Path) -> None:
    robot = simulator(number, 'coulomb:=500.0')  # as if brakes were closed
    excite = Excite(number, '--send', 'simulator', '--duration', 4, '--speeds', 1, folder=tmp_path)
    excite.wait_for(READY)
    excite.press('\n')
    assert excite.end() == 1
    assert 'stopped: joint theta' in excite.output
    robot.end()


def test_a_robot_that_falls_silent_stops_it(number: int, tmp_path: Path) -> None:
    robot = simulator(number)
    excite = Excite(number, '--send', 'simulator', '--duration', 8, '--speeds', 0.1, folder=tmp_path)
    excite.wait_for(READY)
    robot.end(signal.SIGKILL)
    excite.press('\n')
    assert excite.end() == 1
    assert 'stopped: no joint states for 1 s' in excite.output


@pytest.mark.slow
@pytest.mark.skipif(find_spec('control_msgs') is not None, reason='control_msgs is here: the action is used')
def test_without_the_action_files_and_the_command_that_sends_them_are_left(number: int, tmp_path: Path) -> None:
    robot = simulator(number)
    words = ('--send', '/arm/follow_joint_trajectory', '--duration', 4, '--speeds', 0.5, 1, '-o', 'x.yaml')
    excite = Excite(number, *words, folder=tmp_path)
    assert excite.end() == 0, excite.output
    assert 'control_msgs, needed for an action, is not installed' in excite.output
    for name in ('x_approach', 'x_at_0.5', 'x'):
        command = f'--yaml-file {name}.yaml /arm/joint_trajectory trajectory_msgs/msg/JointTrajectory'
        assert f'ros2 topic pub --once {command}' in excite.output
    approach, motion = (read_trajectory(tmp_path / name) for name in ('x_approach.yaml', 'x.yaml'))
    np.testing.assert_allclose(approach.position[-1], motion.position[0])
    np.testing.assert_allclose(approach.position[0], positions(number), atol=0.01)
    assert read_trajectory(tmp_path / 'x_at_0.5.yaml').duration == pytest.approx(8.0)
    kept = Excite(number, *words[:2], '--motion', 'x.yaml', '--speeds', 1, folder=tmp_path)
    assert kept.end() == 2
    assert 'x_approach.yaml: exists, must be a new file' in kept.output
    again = Excite(number, *words[:2], '--motion', 'x.yaml', '--speeds', 1, '--overwrite', folder=tmp_path)
    assert again.end() == 0, again.output
    sent = re.findall(r'--yaml-file (\S+)', again.output)
    assert sent == ['x_approach.yaml', 'x.yaml'], 'only files of this motion are sent'
    robot.end()


# --- the action, whose messages are not on PyPI: its client is played by these


class Later:
    """A future that is done from the second look on."""

    def __init__(self, value: object) -> None:
        self._value, self._looks = value, 0

    def done(self) -> bool:
        self._looks += 1
        return self._looks > 1

    def result(self) -> object:
        return self._value


class FakeClient:
    accepts, code, cancelled = True, 0, 0

    def __init__(self, *_: object) -> None:
        self.goals: list[object] = []

    def server_is_ready(self) -> bool:
        return True

    def send_goal_async(self, goal: object) -> Later:
        self.goals.append(goal)
        result = SimpleNamespace(result=SimpleNamespace(error_code=self.code, error_string='path tolerance'))
        return Later(
            SimpleNamespace(
                accepted=self.accepts, get_result_async=lambda: Later(result), cancel_goal_async=self.cancel
            )
        )

    def cancel(self) -> Later:
        type(self).cancelled += 1
        return Later(None)


@pytest.fixture
def action(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeClient]]:
    pytest.importorskip('trajectory_msgs', reason='trajectory_msgs is not installed')
    import rclpy.action  # noqa: PLC0415 (of ROS, which may be missing)

    goal = SimpleNamespace(FollowJointTrajectory=SimpleNamespace(Goal=SimpleNamespace))
    monkeypatch.setitem(sys.modules, 'control_msgs', SimpleNamespace(action=goal))
    monkeypatch.setitem(sys.modules, 'control_msgs.action', goal)

    class Fresh(FakeClient):
        pass

    monkeypatch.setattr(rclpy.action, 'ActionClient', Fresh)
    return Fresh


def follower_of(player: object) -> ActionFollower:
    return ActionFollower(player, '/arm/follow_joint_trajectory')  # type: ignore[arg-type]


PLAYER = SimpleNamespace(node=None, spin=lambda: None)
MOTION = Trajectory.of(['a', 'b'], [0.0, 1.5], [[0.0, 1.0], [2.0, 3.0]], [[0.0, 0.0], [0.0, 0.0]])


def test_a_goal_is_the_trajectory_and_ends_as_the_controller_says(action: type[FakeClient]) -> None:
    for code, outcome in ((0, ''), (-4, 'the controller ended with error -4: path tolerance')):
        action.code = code
        follower = follower_of(PLAYER)
        follower.begin(MOTION)
        assert follower.outcome() is None
        assert follower.outcome() == outcome
        (goal,) = follower._client.goals
        assert goal.trajectory.joint_names == ['a', 'b']
        last = goal.trajectory.points[-1]
        assert (last.positions.tolist(), last.velocities.tolist()) == ([2.0, 3.0], [0.0, 0.0])
        assert not last.accelerations
        assert (last.time_from_start.sec, last.time_from_start.nanosec) == (1, 500_000_000)


def test_a_refused_goal_is_said_and_a_halt_cancels(action: type[FakeClient]) -> None:
    action.accepts = False
    refused = follower_of(PLAYER)
    refused.begin(MOTION)
    assert refused.outcome() == 'the controller refused the trajectory; see its log'
    action.accepts = True
    follower = follower_of(PLAYER)
    follower.begin(MOTION)
    follower.halt()
    assert action.cancelled == 1
