"""`calibrate`: bias and tool of a wrist sensor, or a payload, from poses of an arm at rest."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ..calibration import results
from ..calibration.fit import Calibration, best_next, fit, turn_text
from ..calibration.lifting import Lifting
from ..calibration.samples import Sampler, read_samples, write_samples
from ..calibration.stands import StandSampler, read_stands, write_stands
from ..core.errors import ArgumentError, KrangDynamicsError, MissingError, unknown_name
from ..core.files import write_whole
from ..live.engine import engine_of
from ..live.messages import Message, WrenchMessage
from ..live.parameter_file import read_parameters, unknown_parameters
from ..processing.replay import deliver
from ..recordings.formats import open_source
from ..recordings.recording import RecordingError
from .arm_option import add_arm, arm_beside, read_arm_file
from .common import (
    LiveLines,
    add_overwrite,
    check_outputs,
    command_parser,
    guarded,
    note,
    say,
    say_error,
    whole_number,
)

DESCRIPTION = """\
Calibrates a wrist force sensor from poses of the arm at rest. It subscribes to the joint states and the raw readings,
takes a sample whenever the arm stands still for a second in a new orientation, and shows the result so far: bias, mass
and centre of mass of the tool, each with its standard deviation, and the direction to turn the hand next. Ctrl-C ends
it. Every sample is written at once.

With --payload --efforts it needs no sensor: a position controller brings the arm to some poses, each from below and
from above, first with the empty hand (--samples FILE), then with the load (--empty FILE)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index('--ros-args') if '--ros-args' in words else len(words)
    parser = command_parser('calibrate', DESCRIPTION)
    parser.add_argument('hand', help='left, right, or another of the end effectors')
    _add_kind(parser)
    _add_samples(parser)
    _add_node(parser)
    arguments = parser.parse_args(words[:at])
    command = _PayloadByLifting if arguments.efforts else _SensorCalibration
    return guarded(lambda: command(arguments, words[at:]).run())


def _add_kind(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('--payload', action='store_true', help='find the payload of the hand; its tool is known')
    add('--efforts', action='store_true', help='with --payload: from joint efforts, without a wrist sensor')
    help_ = 'with --efforts: stands of the empty hand; the hand is loaded now'
    add('--empty', type=Path, metavar='FILE', help=help_)
    help_ = 'let the bias change linearly with time (or from sample to sample)'
    add('--drift', action='store_true', help=help_)


def _add_samples(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('--bag', type=Path, metavar='RECORDING', help='a recording instead of a robot')
    add('--samples', type=Path, metavar='FILE', help='file for the samples; those in it already are used too')
    add('--fit-only', action='store_true', help='fit the samples of --samples, and collect no others')
    help_ = 'numbers of samples to leave out, from 1'
    add('--leave-out', type=whole_number(1), nargs='+', default=[], metavar='N', help=help_)


def _add_node(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('-o', '--output', type=Path, metavar='FILE', help='write a parameter file for the node')
    add('--apply', action='store_true', help='set the parameters of the running node at the end')
    add('--params', type=Path, metavar='FILE', help='parameter file of the node; those of a running node count more')
    add_arm(parser)
    add('--node', default='krang_dynamics', help='name of the dynamics node; default: %(default)s')
    add_overwrite(parser)


class _SensorCalibration:
    """Calibration of a wrist sensor."""

    def __init__(self, arguments: argparse.Namespace, ros_arguments: Sequence[str]) -> None:
        self._arguments, self._ros_arguments = arguments, ros_arguments
        self._lines = LiveLines()
        self._fitted: tuple[int, Calibration | None] = 0, None  # number of samples, and their fit
        self._running: dict[str, Any] = {}  # parameters of the running node, if there is one

    def run(self) -> int:
        """Collect samples, then print and write the result; return the exit code."""
        arguments = self._arguments
        if arguments.fit_only and (arguments.bag or not arguments.samples):
            raise ArgumentError('--fit-only needs --samples FILE, and no --bag: nothing else is read')
        self._check_arguments()
        inputs = [arguments.params, arguments.bag, arguments.arm, arguments.empty]
        check_outputs([arguments.samples], inputs, overwrite=True)  # its samples are kept
        check_outputs([arguments.output], [*inputs, arguments.samples], arguments.overwrite)
        alone = arguments.bag and not (arguments.arm or arguments.params)
        beside = arm_beside([arguments.bag]) if alone else None
        arm = read_arm_file(arguments.arm or beside)
        given = read_parameters(arguments.params, arguments.node.rpartition('/')[2]) if arguments.params else {}
        both = (arm.values if arm else {}) | given
        note(*(f'{arguments.params}: {line}' for line in (unknown_parameters(both, given) if given else [])))
        with ExitStack() as nodes:
            live = arguments.apply or not (arguments.bag or arguments.fit_only)
            node = nodes.enter_context(self._node()) if live else None
            with self._lines:
                self._begin(both | (self._of_running(node) if node else {}))
                if arguments.bag:
                    self._replay(arguments.bag)
                elif arguments.fit_only:
                    self._stop_sampling('no more are taken (--fit-only)')
                elif node:
                    self._listen(node)
            return self._conclude(node)

    def _check_arguments(self) -> None:
        """Refuse options that belong to the other kind of calibration."""
        if self._arguments.empty:
            raise ArgumentError('--empty is of --payload --efforts, must not stand without them')

    def _listen(self, node: Any) -> None:
        node.listen(self._engine, self._sampler, self._changed)

    def _stop_sampling(self, status: str) -> None:
        self._sampler.status = status

    def _node(self) -> Any:
        try:
            from ..nodes.calibrator import Calibrator  # noqa: PLC0415 (a recording needs no ROS)
        except ImportError:
            raise MissingError('rclpy', 'the topics of a robot', 'source ROS, or use the .venv of `make`') from None
        return Calibrator(self._arguments.node, self._ros_arguments)

    def _of_running(self, node: Any) -> dict[str, Any]:
        """Return the parameters of the running node; without it, those of a file or the defaults count."""
        try:
            self._running = node.parameters()
            return self._running
        except KrangDynamicsError as error:
            if self._arguments.apply:
                raise
            files = [str(path) for path in (self._arguments.arm, self._arguments.params) if path]
            say(f'{error}; using {" and ".join(files) or "default parameters"}')
            return {}

    def _begin(self, given: dict[str, Any]) -> None:
        arguments = self._arguments
        self._engine = engine_of(given)
        if arguments.hand not in self._engine.inputs.hands:
            raise unknown_name('hand', arguments.hand, self._engine.inputs.hands)
        self._sampler = Sampler(self._engine, arguments.hand)
        joints, links = self._engine.dynamics.joint_names, self._engine.dynamics.link_names
        if arguments.samples and (arguments.fit_only or arguments.samples.exists()):
            self._sampler.resume_with(read_samples(arguments.samples, joints, links))
        self._samples_file = self._file_of('samples')
        self._changed(False)

    def _file_of(self, kind: str) -> Path | None:
        """Return the file for samples; None: they are not kept, because the recording has them."""
        given, now = self._arguments, time.strftime('%Y%m%d_%H%M%S')
        return given.samples or (None if given.bag else Path(f'{given.hand}_{kind}_{now}.csv'))

    def _replay(self, path: Path) -> None:
        """Collect samples from a recording; Ctrl-C keeps those collected so far."""
        hand = self._arguments.hand
        with suppress(KeyboardInterrupt):
            for message in self._messages(path, with_readings=True):
                deliver(self._engine, message)
                if isinstance(message, WrenchMessage) and message.hand == hand and self._sampler.look(message.arrival):
                    self._changed(True)

    def _messages(self, path: Path, with_readings: bool) -> Iterator[Message]:
        """Yield the messages of a recording; refuse one without the readings of the hand, if they are needed."""
        inputs, hand = self._engine.inputs, self._arguments.hand
        with open_source(path) as source:
            topics = source.topics_of(inputs)
            note(*(f'{path}: {line}' for line in (*source.notes, *topics.notes)))
            if with_readings and hand not in topics.wrenches:
                topic = inputs.topics.wrenches[hand]
                raise RecordingError(f'{path}: no topic {topic}, must have the readings of the sensor')
            yield from source.messages(topics)

    def _changed(self, sampled: bool) -> None:
        """Show the state, and write a new sample to its file."""
        if sampled and self._samples_file:
            write_samples(self._samples_file, self._sampler.averages, self._engine.dynamics.joint_names)
        if self._lines.watched:
            self._lines.show(self._table())
        elif sampled:
            say(f'sample {len(self._sampler.samples)} taken', flush=True)

    def _calibration(self) -> Calibration | None:
        hand = self._sampler.hand
        known = hand.sensor.tool if self._arguments.payload else hand.payload
        samples = self._sampler.samples
        left_out = {number for number in self._arguments.leave_out if number <= len(samples)}
        if len(samples) == len(left_out):
            return None
        if self._fitted[0] != len(samples):
            self._fitted = len(samples), fit(samples, known, self._arguments.drift, left_out)
        return self._fitted[1]

    def _table(self) -> list[str]:
        sampler = self._sampler
        title = f'{sampler.hand.name} ({sampler.hand.link}), {"payload" if self._arguments.payload else "tool"}'
        best = best_next([sample.direction for sample in sampler.samples])
        words = turn_text(best, sampler.hand.link, sampler.direction)
        return results.table(self._calibration(), title, sampler.status, words)

    def _conclude(self, node: Any) -> int:
        """Print and write the result; return 0, or 1 if the poses do not determine it."""
        arguments, found, count = self._arguments, self._calibration(), len(self._sampler.samples)
        if arguments.leave_out and max(arguments.leave_out) > count:
            raise ArgumentError(f'--leave-out: sample {max(arguments.leave_out)} is not there, must be 1 to {count}')
        if not self._lines.watched:
            say('\n'.join(self._table()))
        if self._samples_file and count:
            say(f'{count} samples are in {self._samples_file}; continue with --samples {self._samples_file}')
        if found is None or found.trouble:
            reasons = found.trouble.splitlines() if found else ['no samples']
            say_error(*(f'Not concluded: {reason}.' for reason in reasons))
            return 1
        if arguments.output:
            write_whole(arguments.output, results.parameter_file(found, arguments.hand, arguments.payload))
            say(f'wrote {arguments.output}')
        if arguments.apply:
            node.apply(results.values(found, arguments.hand, arguments.payload))
            say(f'set on {arguments.node}')
        return 0


class _PayloadByLifting(_SensorCalibration):
    """Payload by the efforts of a lifting arm: with the empty hand, or with the load if `--empty` is given."""

    def _check_arguments(self) -> None:
        arguments = self._arguments
        if not arguments.payload or arguments.drift or arguments.leave_out:
            raise ArgumentError('--efforts needs --payload, and goes without --drift and --leave-out')
        if not arguments.empty and (arguments.apply or arguments.output):
            raise ArgumentError('-o and --apply need --empty FILE: the payload is the difference to the empty hand')
        if not arguments.empty and arguments.bag and not arguments.samples:
            raise ArgumentError('--bag without --empty needs --samples FILE, where the stands of the empty hand go')

    def _begin(self, given: dict[str, Any]) -> None:
        arguments = self._arguments
        self._engine = engine_of(given)
        if arguments.hand not in self._engine.inputs.hands:
            raise unknown_name('hand', arguments.hand, self._engine.inputs.hands)
        names = self._engine.dynamics.joint_names
        self._stands = StandSampler(self._engine, arguments.hand)
        if arguments.samples and (arguments.fit_only or arguments.samples.exists()):
            self._stands.stands += read_stands(arguments.samples, names)
        empty = read_stands(arguments.empty, names) if arguments.empty else None
        self._lifting = Lifting(self._engine, self._stands, empty)
        self._samples_file = self._file_of('stands')
        self._changed(False)

    def _listen(self, node: Any) -> None:
        if self._running:
            self._stands.refusal = node.commands_refusal
        node.listen_to_efforts(self._engine, self._lifting, self._changed)

    def _stop_sampling(self, status: str) -> None:
        self._stands.status = status

    def _replay(self, path: Path) -> None:
        """Collect stands from a recording; Ctrl-C keeps those collected so far."""
        with suppress(KeyboardInterrupt):
            for message in self._messages(path, with_readings=False):
                torques = deliver(self._engine, message)
                if torques is not None and self._stands.update(torques, message.arrival):
                    self._changed(True)

    def _changed(self, sampled: bool) -> None:
        stands = self._stands.stands
        if sampled and self._samples_file:
            write_stands(self._samples_file, stands, self._engine.dynamics.joint_names)
        if self._lines.watched:
            self._lines.show(self._table())
        elif sampled:
            say(f'stand {len(stands)} taken', flush=True)

    def _table(self) -> list[str]:
        return self._lifting.table()

    def _conclude(self, node: Any) -> int:
        """Print and write the payload; return 0 if there is one, or if the hand was empty and stands were taken."""
        arguments, count = self._arguments, len(self._stands.stands)
        if not self._lines.watched:
            say('\n'.join(self._table()))
        if self._samples_file and count:
            what = 'continue with --samples' if arguments.empty else 'lift the load in the same poses, with --empty'
            say(f'{count} stands are in {self._samples_file}; {what} {self._samples_file}')
        if not count or (arguments.empty and self._lifting.trouble):
            no_stands = f'no stands: {self._stands.refused or self._stands.status}'
            say_error(f'Not concluded: {self._lifting.trouble if count else no_stands}.')
            return 1
        if arguments.output:
            write_whole(arguments.output, self._lifting.parameter_file())
            say(f'wrote {arguments.output}')
        if arguments.apply:
            node.apply(self._lifting.values())
            say(f'set on {arguments.node}')
        return 0
