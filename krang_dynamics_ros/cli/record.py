"""`record`: record joint states, wrenches, IMU, description and torques of a robot to a bag (mcap)."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import MissingError, listed
from ..live.robot_inputs import InputTopics
from ..recordings.bag import BagWriter, check_new_folder
from .arm_option import add_arm, read_arm_file, write_arm_beside
from .common import LiveLines, command_parser, guarded, number, say, say_error

if TYPE_CHECKING:
    from ..nodes.recorder import Recorder

_DESCRIPTION = """\
Records joint states, wrenches, IMU, robot description, payloads, torques and effort commands to a bag (mcap), which
process, identify, predict and calibrate read. Shows the recorded topics with duration and rate, and what is missing.
Ctrl-C or --seconds ends it. For other topics, use `ros2 bag record` at the same time. ROS arguments follow --ros-args,
for example: krang record -o drive --ros-args -r joint_states:=franka/joint_states."""
# s: with --seconds, the command ends if no joint state came until then. After a subscriber was killed, a publisher may
# send nothing to the next one until DDS forgets the first, 20 s later.
FIRST_STATE_TIMEOUT = 25.0
JOINT_STATE = 'sensor_msgs/msg/JointState'
LONGEST = 1e6  # s
SHOW_PERIOD = 0.2  # s, of the table
SETTLED = 1.0  # s from the first joint state: until then, every publisher of joint states has sent
RUNNING = 'the recording runs'  # printed without a terminal, once the missing parts are known


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; exit code 0: recorded, 1: no joint states received, 2: invalid input."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index('--ros-args') if '--ros-args' in words else len(words)
    parser = command_parser('record', _DESCRIPTION)
    now = time.strftime('%Y%m%d_%H%M%S')
    add = parser.add_argument
    add('-o', '--output', type=Path, default=Path(f'recording_{now}'), metavar='FOLDER', help='default: recording_TIME')
    add(
        '--seconds',
        type=number(0.1, LONGEST),
        metavar='S',
        help='duration from the first joint state; default: until Ctrl-C',
    )
    add_arm(parser)
    add('--topics', nargs='+', default=[], metavar='TOPIC', help='further topics, of the same types')
    arguments = parser.parse_args(words[:at])
    return guarded(lambda: _Command(arguments, words[at:]).run())


class _Command:
    """A run of the command."""

    def __init__(self, given: argparse.Namespace, ros_arguments: Sequence[str]) -> None:
        self._given, self._ros_arguments = given, ros_arguments
        self._lines, self._announced = LiveLines(), set[str]()
        self._arm = read_arm_file(given.arm)
        self._expected = self._arm.robot.joint_names if self._arm else ()
        self._topics = self._arm.engine.inputs.topics if self._arm else InputTopics()
        self._started, self._shown, self._running = time.monotonic(), 0.0, False

    def run(self) -> int:
        """Record; return the exit code."""
        folder: Path = self._given.output
        check_new_folder(folder)
        recorder_of, caught, signals = _recorder()
        also = [*self._given.topics, *self._topics.wrenches.values(), self._topics.imu]
        with caught(signals) as ended:  # a further signal must not leave a bag without its index, or without messages
            with (
                BagWriter(folder) as writer,
                recorder_of(writer, self._topics.joint_states, also, self._ros_arguments) as recorder,
            ):
                if self._arm:
                    write_arm_beside(folder, self._arm)
                say(f'recording into {folder}; {self._until}', flush=True)
                recorder.run(lambda: bool(ended) or self._done(recorder))
                received = self._conclude(recorder)
            if not received:
                shutil.rmtree(folder)
        return 0 if received else 1

    @property
    def _until(self) -> str:
        seconds = self._given.seconds
        return f'{seconds:g} s from the first joint state' if seconds else 'Ctrl-C ends it'

    def _done(self, recorder: Recorder) -> bool:
        self._show(recorder)
        seconds = self._given.seconds
        if recorder.began is None:
            return bool(seconds) and time.monotonic() - self._started > FIRST_STATE_TIMEOUT
        return bool(seconds) and recorder.seconds >= seconds

    def _show(self, recorder: Recorder) -> None:
        if time.monotonic() - self._shown < SHOW_PERIOD:
            return
        self._shown = time.monotonic()
        if self._lines.watched:
            self._lines.show(self._table(recorder))
            return
        for name in [name for name, topic in recorder.topics.items() if topic.count and name not in self._announced]:
            self._announced.add(name)
            say(f'  {name}: recorded', flush=True)
        if recorder.seconds > SETTLED and not self._running:
            self._running = True
            say(*(f'missing: {line}' for line in self._missing(recorder)), RUNNING, flush=True)

    def _table(self, recorder: Recorder) -> list[str]:
        now = time.monotonic()
        lines = [f'{recorder.seconds:6.1f} s   {"topic":<44}{"messages":>10}{"per second":>12}']
        topics = sorted(recorder.topics.values(), key=lambda topic: topic.name)
        lines += [f'{"":<11}{topic.name:<44}{topic.count:>10}{topic.rate(now):>12.1f}' for topic in topics]
        return [*lines, *(f'missing: {line}' for line in self._missing(recorder))]

    def _missing(self, recorder: Recorder) -> Iterator[str]:
        """Yield what a recording lacks."""
        if recorder.began is None:
            yield f'joint states on {recorder.joint_states}{self._hint(recorder)}'
            return
        for hand, name in self._topics.wrenches.items():
            if not (topic := recorder.topics.get(recorder.resolved(name))) or not topic.count:
                yield f'wrench of {hand} on {recorder.resolved(name)}'
        joints = recorder.joints
        if joints.refused:
            yield f'valid joint states: {joints.refused}'
        if lacking := [name for name in self._expected if name not in joints.position]:
            yield f'joints {listed(lacking)}: not in the joint states'
        names = sorted(joints.position)
        if without := [name for name in names if name not in joints.effort]:
            yield f'efforts of {listed(without)}: identify needs them'
        if without := [name for name in names if name not in joints.velocity]:
            yield f'velocities of {listed(without)}'

    @staticmethod
    def _hint(recorder: Recorder) -> str:
        found = [name for name in recorder.of_type(JOINT_STATE) if name.endswith('joint_states')]
        if recorder.joint_states in found:
            return ': the topic exists, but no message came'
        return f'; found {listed(found)}: set --ros-args -r joint_states:=NAME, or --arm' if found else ''

    def _conclude(self, recorder: Recorder) -> bool:
        """Print what was recorded; return whether joint states were received."""
        missing = [*self._missing(recorder)]
        if recorder.began is None:
            say_error(f'Nothing recorded. Missing: {missing[0]}.')
            return False
        if not self._lines.watched:
            say(*self._totals(recorder), *(f'missing: {line}' for line in missing))
        say(f'recorded {recorder.seconds:.1f} s: {self._given.output}')
        return True

    def _totals(self, recorder: Recorder) -> Iterator[str]:
        for topic in sorted(filter(lambda topic: topic.count, recorder.topics.values()), key=lambda topic: topic.name):
            yield f'  {topic.name}: {topic.count} messages, {topic.mean_rate:.1f} per second'


def _recorder() -> tuple[Any, Any, Any]:
    """Return the node, the context that catches signals, and the signals that end a recording."""
    try:
        from ..nodes.recorder import SIGNALS, Recorder  # noqa: PLC0415 (--help needs no ROS)
        from ..nodes.run import caught  # noqa: PLC0415
    except ImportError:
        raise MissingError('rclpy', 'the topics of a robot', 'source ROS, or use the .venv of `make`') from None
    return Recorder, caught, SIGNALS


if __name__ == '__main__':
    sys.exit(main())
