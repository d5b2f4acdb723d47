"""`calibrate`: a wrist sensor's bias and what hangs on it, or a payload by efforts, from poses of an arm at rest."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..calibration import fit as orientations
from ..calibration import results
from ..calibration.fit import Calibration, fit
from ..calibration.lifting import Lifting
from ..calibration.samples import Sampler, read_samples, write_samples
from ..calibration.stands import StandSampler, read_stands, write_stands
from ..core.errors import ArgumentError, KrangDynamicsError, MissingError, unknown_name
from ..core.files import write_whole
from ..live.engine import engine_of
from ..live.messages import WrenchMessage
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
Listens to the joint states and to the raw sensor, takes a sample whenever the arm stands still for a second in a new
orientation, and shows what that says: bias, mass and centre of mass of what hangs beyond the sensor, each with its
standard deviation, and which way to turn the hand next. Ctrl-C ends it. Every sample is on disk at once.

With --payload --efforts it needs no sensor: a position controller brings the arm to some poses, to each from below and
from above, once with the empty hand (--samples FILE), once with the load (--empty FILE)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index('--ros-args') if '--ros-args' in words else len(words)
    parser = command_parser('calibrate', DESCRIPTION)
    parser.add_argument('hand', help='left, right, or another of the end effectors')
    parser.add_argument('-o', '--output', type=Path, metavar='FILE', help='write a parameter file for the node')
    parser.add_argument('--apply', action='store_true', help='set the parameters of the running node in the end')
    parser.add_argument('--payload', action='store_true', help='find what the hand holds; the tool is known already')
    parser.add_argument(
        '--efforts', action='store_true', help='with --payload: by the efforts of the joints, without a wrist sensor'
    )
    parser.add_argument(
        '--empty', type=Path, metavar='FILE', help='with --efforts: stands of the empty hand; the hand is loaded now'
    )
    parser.add_argument('--bag', type=Path, metavar='BAG', help='a recording (mcap or sqlite3) instead of a robot')
    parser.add_argument('--params', type=Path, metavar='FILE', help="the node's parameter file; a running node's count")
    add_arm(parser)
    parser.add_argument('--samples', type=Path, metavar='FILE', help='keep samples here, and go on with those there')
    parser.add_argument('--fit-only', action='store_true', help='fit the samples of --samples, and wait for no others')
    parser.add_argument(
        '--drift', action='store_true', help='let the bias change linearly in time (or from sample to sample)'
    )
    parser.add_argument(
        '--leave-out',
        type=whole_number(1),
        nargs='+',
        default=[],
        metavar='N',
        help='samples that do not count, from 1',
    )
    parser.add_argument('--node', default='krang_dynamics', help='name of the dynamics node (default: krang_dynamics)')
    add_overwrite(parser)
    arguments = parser.parse_args(words[:at])
    command = _LiftingCommand if arguments.efforts else _Command
    return guarded(lambda: command(arguments, words[at:]).run())


class _Command:
    """One run."""

    def __init__(self, told: argparse.Namespace, ros_arguments: Sequence[str]) -> None:
        self._told, self._ros_arguments = told, ros_arguments
        self._lines = LiveLines()
        self._fitted: tuple[int, Calibration | None] = 0, None  # of how many samples

    def run(self) -> int:
        """Listen, then say and write what was found; return the exit code."""
        told = self._told
        if told.fit_only and (told.bag or not told.samples):
            raise ArgumentError('--fit-only needs --samples FILE, and no --bag: nothing else is read')
        self._check_arguments()
        check_outputs([told.samples], [told.params, told.bag, told.empty], overwrite=True)  # what is there is kept
        check_outputs([told.output], [told.params, told.bag, told.samples], told.overwrite)
        beside = arm_beside([told.bag]) if told.bag and not told.params else None
        arm = read_arm_file(told.arm or beside)
        given = read_parameters(told.params, told.node.rpartition('/')[2]) if told.params else {}
        note(*(f'{told.params}: {line}' for line in (unknown_parameters(given) if given else [])))
        with ExitStack() as nodes:
            node = nodes.enter_context(self._node()) if told.apply or not (told.bag or told.fit_only) else None
            with self._lines:
                self._begin((arm.values if arm else {}) | given | (self._of_running(node) if node else {}))
                if told.bag:
                    self._replay(told.bag)
                elif told.fit_only:
                    self._stop_sampling('no more are taken (--fit-only)')
                elif node:
                    self._listen(node)
            return self._conclude(node)

    def _check_arguments(self) -> None:
        """Refuse options that belong to the other kind of calibration."""
        if self._told.empty:
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
        return Calibrator(self._told.hand, self._told.node, self._ros_arguments)

    def _of_running(self, node: Any) -> dict[str, Any]:
        """Return what the running node says; without it, a parameter file or the defaults must do."""
        try:
            return self._parameters_of(node)
        except KrangDynamicsError as error:
            if self._told.apply:
                raise
            say(f'{error}: {self._told.params or "its defaults"} must do')
            return {}

    def _parameters_of(self, node: Any) -> dict[str, Any]:
        return dict(node.known())

    def _begin(self, given: dict[str, Any]) -> None:
        told = self._told
        self._engine = engine_of(given)
        if told.hand not in self._engine.inputs.hands:
            raise unknown_name('hand', told.hand, self._engine.inputs.hands)
        self._sampler = Sampler(self._engine, told.hand)
        joints, links = self._engine.dynamics.joint_names, self._engine.dynamics.link_names
        if told.samples and (told.fit_only or told.samples.exists()):
            self._sampler.resume_with(read_samples(told.samples, joints, links))
        now = time.strftime('%Y%m%d_%H%M%S')
        self._kept = told.samples or (None if told.bag else Path(f'{told.hand}_samples_{now}.csv'))
        self._changed(False)

    def _replay(self, path: Path) -> None:
        """Take samples from a recording; Ctrl-C leaves what was sampled so far."""
        hands, hand = self._engine.inputs.hands, self._told.hand
        with open_source(path) as source, suppress(KeyboardInterrupt):
            inputs = self._engine.inputs
            topics = source.topics(tuple(hands), '', inputs.uses_imu, inputs.topics)
            note(*(f'{path}: {line}' for line in (*source.notes, *topics.notes)))
            if hand not in topics.wrenches:
                topic = inputs.topics.wrenches[hand]
                raise RecordingError(f'{path}: no topic {topic}, must have the readings of the sensor')
            for message in source.messages(topics):
                deliver(self._engine, message)
                if isinstance(message, WrenchMessage) and message.hand == hand and self._sampler.look(message.arrival):
                    self._changed(True)

    def _changed(self, sampled: bool) -> None:
        """Show how things are, and keep a sample that was taken."""
        if sampled and self._kept:
            write_samples(self._kept, self._sampler.averages, self._engine.dynamics.joint_names)
        if self._lines.watched:
            self._lines.show(self._table())
        elif sampled:
            say(f'sample {len(self._sampler.samples)} taken', flush=True)

    def _found(self) -> Calibration | None:
        hand = self._sampler.hand
        known = hand.sensor.tool if self._told.payload else hand.payload
        samples = self._sampler.samples
        left_out = {number for number in self._told.leave_out if number <= len(samples)}
        if len(samples) == len(left_out):
            return None
        if self._fitted[0] != len(samples):
            self._fitted = len(samples), fit(samples, known, self._told.drift, left_out)
        return self._fitted[1]

    def _table(self) -> list[str]:
        sampler = self._sampler
        title = f'{sampler.hand.name} ({sampler.hand.link}), {"payload" if self._told.payload else "tool"}'
        best = orientations.best_next([sample.direction for sample in sampler.samples])
        words = orientations.summary_text(best, sampler.hand.link, sampler.direction)
        return results.table(self._found(), title, sampler.status, words)

    def _conclude(self, node: Any) -> int:
        """Say and write what was found; return 0 if it was, and 1 if the poses do not determine it."""
        told, found, count = self._told, self._found(), len(self._sampler.samples)
        if told.leave_out and max(told.leave_out) > count:
            raise ArgumentError(f'--leave-out: sample {max(told.leave_out)} is not there, must be 1 to {count}')
        if not self._lines.watched:
            say('\n'.join(self._table()))
        if self._kept and count:
            say(f'{count} samples are in {self._kept}; go on with them by --samples {self._kept}')
        if found is None or found.trouble:
            reasons = found.trouble.splitlines() if found else ['no samples']
            say_error(*(f'Not concluded: {reason}.' for reason in reasons))
            return 1
        if told.output:
            write_whole(told.output, results.parameter_file(found, told.hand, told.payload))
            say(f'wrote {told.output}')
        if told.apply:
            node.apply(results.values(found, told.hand, told.payload))
            say(f'set on {told.node}')
        return 0


class _LiftingCommand(_Command):
    """One run of payload by lifting: with the empty hand, or with the load where `--empty` is given."""

    _asked: Mapping[str, Any] = MappingProxyType({})  # parameters of the running node, if there is one

    def _check_arguments(self) -> None:
        told = self._told
        if not told.payload or told.drift or told.leave_out:
            raise ArgumentError('--efforts needs --payload, and goes without --drift and --leave-out')
        if not told.empty and (told.apply or told.output):
            raise ArgumentError('-o and --apply need --empty FILE: the payload is the difference to the empty hand')
        if not told.empty and told.bag and not told.samples:
            raise ArgumentError('--bag without --empty needs --samples FILE, where the stands of the empty hand go')

    def _parameters_of(self, node: Any) -> dict[str, Any]:
        self._asked = node.all_known()  # of efforts, all that the node does counts
        return dict(self._asked)

    def _begin(self, given: dict[str, Any]) -> None:
        told = self._told
        self._engine = engine_of(given)
        if told.hand not in self._engine.inputs.hands:
            raise unknown_name('hand', told.hand, self._engine.inputs.hands)
        names = self._engine.dynamics.joint_names
        self._stands = StandSampler(self._engine, told.hand)
        if told.samples and (told.fit_only or told.samples.exists()):
            self._stands.stands += read_stands(told.samples, names)
        empty = read_stands(told.empty, names) if told.empty else None
        self._lifting = Lifting(self._engine, self._stands, empty)
        now = time.strftime('%Y%m%d_%H%M%S')
        self._kept = told.samples or (None if told.bag else Path(f'{told.hand}_stands_{now}.csv'))
        self._changed(False)

    def _listen(self, node: Any) -> None:
        if self._asked:
            self._stands.refusal = node.commands_refusal
        node.listen_to_efforts(self._engine, self._lifting, self._changed)

    def _stop_sampling(self, status: str) -> None:
        self._stands.status = status

    def _replay(self, path: Path) -> None:
        """Take stands from a recording; Ctrl-C leaves what was found so far."""
        inputs = self._engine.inputs
        with open_source(path) as source, suppress(KeyboardInterrupt):
            topics = source.topics(tuple(inputs.hands), '', inputs.uses_imu, inputs.topics)
            note(*(f'{path}: {line}' for line in (*source.notes, *topics.notes)))
            for message in source.messages(topics):
                torques = deliver(self._engine, message)
                if torques is not None and self._stands.update(torques, message.arrival):
                    self._changed(True)

    def _changed(self, sampled: bool) -> None:
        stands = self._stands.stands
        if sampled and self._kept:
            write_stands(self._kept, stands, self._engine.dynamics.joint_names)
        if self._lines.watched:
            self._lines.show(self._table())
        elif sampled:
            say(f'stand {len(stands)} taken', flush=True)

    def _table(self) -> list[str]:
        return self._lifting.table()

    def _conclude(self, node: Any) -> int:
        """Say and write the payload; return 0 if it was found, or if the hand was empty and stands were taken."""
        told, count = self._told, len(self._stands.stands)
        if not self._lines.watched:
            say('\n'.join(self._table()))
        if self._kept and count:
            what = 'go on with them by --samples' if told.empty else 'lift the load in the same poses, with --empty'
            say(f'{count} stands are in {self._kept}; {what} {self._kept}')
        if not count or (told.empty and self._lifting.trouble):
            no_stands = f'no stands: {self._stands.refused or self._stands.status}'
            say_error(f'Not concluded: {self._lifting.trouble if count else no_stands}.')
            return 1
        if told.output:
            write_whole(told.output, self._lifting.parameter_file())
            say(f'wrote {told.output}')
        if told.apply:
            node.apply(self._lifting.values())
            say(f'set on {told.node}')
        return 0
