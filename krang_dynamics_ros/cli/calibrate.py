"""`calibrate`: a wrist sensor's bias and what hangs on it, out of poses at which the arm stands still."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ..calibration import orientations, results
from ..calibration.fit import Calibration, fit
from ..calibration.sampler import Sampler
from ..calibration.samples_file import read_samples, write_samples
from ..core.errors import KrangDynamicsError, MissingError, unknown_name
from ..core.whole_file import write_whole
from ..messages.messages import WrenchMessage
from ..pipeline.pipeline import pipeline_of
from ..processing.parameter_file import read_parameters, unknown_parameters
from ..processing.replay import take
from ..recordings.bag import Bag
from ..recordings.recording import RecordingError
from .common import LiveLines, command_parser, guarded, note, refuse_overwriting, say, say_error

DESCRIPTION = """\
Listens to the joint states and to the raw sensor, takes a sample whenever the arm stands still for a second in a new
orientation, and shows what that says: bias, mass and centre of mass of what hangs beyond the sensor, each with its
standard deviation, and which way to turn the hand next. Ctrl-C ends it. Every sample is on disk at once."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index('--ros-args') if '--ros-args' in words else len(words)
    parser = command_parser('calibrate', DESCRIPTION)
    parser.add_argument('hand', help='left, right, or another of the end effectors')
    parser.add_argument('-o', '--output', type=Path, metavar='FILE', help='write a parameter file for the node')
    parser.add_argument('--apply', action='store_true', help='set the parameters of the running node in the end')
    parser.add_argument('--payload', action='store_true', help='find what the hand holds; the tool is known already')
    parser.add_argument('--bag', type=Path, metavar='BAG', help='a recording (mcap or sqlite3) instead of a robot')
    parser.add_argument('--params', type=Path, metavar='FILE', help="the node's parameter file; a running node's count")
    parser.add_argument('--samples', type=Path, metavar='FILE', help='keep samples here, and go on with those there')
    parser.add_argument('--node', default='krang_dynamics', help='name of the dynamics node (default: krang_dynamics)')
    arguments = parser.parse_args(words[:at])
    return guarded(lambda: _Command(arguments, words[at:]).run())


class _Command:
    """One run."""

    def __init__(self, told: argparse.Namespace, ros_arguments: Sequence[str]) -> None:
        self._told, self._ros_arguments = told, ros_arguments
        self._lines, self._status = LiveLines(), ''

    def run(self) -> int:
        """Listen, then say and write what was found; return the exit code."""
        told = self._told
        if told.output and not told.output.parent.is_dir():  # before somebody turns a hand for minutes
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(told.output.parent))
        refuse_overwriting([told.output, told.samples], [told.params, told.bag])
        given = read_parameters(told.params, told.node.rpartition('/')[2]) if told.params else {}
        note(*(f'{told.params}: {line}' for line in (unknown_parameters(given) if given else [])))
        with ExitStack() as nodes:
            node = nodes.enter_context(self._node()) if told.apply or not told.bag else None
            self._begin(given | (self._of_running(node) if node else {}))
            if told.bag:
                self._replay(told.bag)
            elif node:
                node.listen(self._pipeline, self._sampler, self._changed)
            return self._conclude(node)

    def _node(self) -> Any:
        try:
            from ..nodes.calibrator import Calibrator  # noqa: PLC0415 (a recording needs no ROS)
        except ImportError:
            raise MissingError('rclpy', 'the topics of a robot', 'source ROS, or use the .venv of `make`') from None
        return Calibrator(self._told.hand, self._told.node, self._ros_arguments)

    def _of_running(self, node: Any) -> dict[str, Any]:
        """Return what the running node says; without it, a parameter file or the defaults must do."""
        try:
            return dict(node.known())
        except KrangDynamicsError as error:
            if self._told.apply:
                raise
            say(f'{error}: {self._told.params or "its defaults"} must do')
            return {}

    def _begin(self, given: dict[str, Any]) -> None:
        told = self._told
        self._pipeline = pipeline_of(given)
        if told.hand not in self._pipeline.inputs.hands:
            raise unknown_name('hand', told.hand, self._pipeline.inputs.hands)
        self._sampler = Sampler(self._pipeline, told.hand)
        joints, links = self._pipeline.dynamics.joint_names, self._pipeline.dynamics.link_names
        if told.samples and told.samples.exists():
            self._sampler.take_up(read_samples(told.samples, joints, links))
        now = time.strftime('%Y%m%d_%H%M%S')
        self._kept = told.samples or (None if told.bag else Path(f'{told.hand}_samples_{now}.csv'))
        self._changed(False)

    def _replay(self, path: Path) -> None:
        """Take samples from a recording; Ctrl-C leaves what was sampled so far."""
        hands, hand = self._pipeline.inputs.hands, self._told.hand
        with Bag(path) as bag, suppress(KeyboardInterrupt):
            topics = bag.topics(tuple(hands), imu=bool(self._pipeline.inputs.imu_joints))
            note(*(f'{path}: {line}' for line in (*bag.notes, *topics.notes)))
            if hand not in topics.wrenches:
                raise RecordingError(f'{path}: no topic wrench/{hand}, must have the readings of the sensor')
            for message in bag.messages(topics):
                take(self._pipeline, message)
                if isinstance(message, WrenchMessage) and message.hand == hand and self._sampler.look(message.arrival):
                    self._changed(True)

    def _changed(self, sampled: bool) -> None:
        """Show how things are, and keep a sample that was taken."""
        if sampled and self._kept:
            write_samples(self._kept, self._sampler.averages, self._pipeline.dynamics.joint_names)
        if self._lines.watched:
            self._lines.show(self._table())
        elif sampled:
            say(f'sample {len(self._sampler.samples)} taken', flush=True)

    def _found(self) -> Calibration | None:
        hand = self._sampler.hand
        known = hand.sensor.tool if self._told.payload else hand.payload
        return fit(self._sampler.samples, known) if self._sampler.samples else None

    def _table(self) -> list[str]:
        sampler = self._sampler
        title = f'{sampler.hand.name} ({sampler.hand.link}), {"payload" if self._told.payload else "tool"}'
        best = orientations.best_next([sample.direction for sample in sampler.samples])
        words = orientations.in_words(best, sampler.hand.link, sampler.direction)
        return results.table(self._found(), title, sampler.status, words)

    def _conclude(self, node: Any) -> int:
        """Say and write what was found; return 0 if it was, and 1 if the poses do not determine it."""
        told, found = self._told, self._found()
        if not self._lines.watched:
            say('\n'.join(self._table()))
        if self._kept and self._sampler.samples:
            say(f'{len(self._sampler.samples)} samples are in {self._kept}; go on with them by --samples')
        if found is None or found.trouble:
            say_error(f'Not concluded: {found.trouble if found else "no samples"}.')
            return 1
        if told.output:
            write_whole(told.output, results.parameter_file(found, told.hand, told.payload))
            say(f'wrote {told.output}')
        if told.apply:
            node.apply(results.values(found, told.hand, told.payload))
            say(f'set on {told.node}')
        return 0
