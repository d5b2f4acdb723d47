"""`first_run`: checks on a real arm, step by step, before its torques are used and before commands are enabled."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..calibration.effort_at_rest import POSES, is_new_pose, judge_rest
from ..calibration.first_commands import (
    RunawayError,
    TorqueAnswer,
    judge_killed,
    judge_test_torque,
    judge_zero_command,
    terms_of_zero,
)
from ..calibration.first_run import (
    ArmModel,
    Finding,
    HungMass,
    MotionRow,
    RestSample,
    judge_friction,
    judge_mass,
    judge_push,
)
from ..core.errors import ArgumentError, KrangDynamicsError, MissingError, did_you_mean, unknown_name
from ..core.files import write_whole
from ..core.spatial import Array
from ..live.parameter_edits import edited, value_text
from .common import Keys, check_outputs, command_parser, guarded, number, say_error
from .common import say as say_buffered

DESCRIPTION = """\
Checks the meaning of effort, wrenches and commands of a real arm with the running dynamics node: effort at rest in
three poses, friction, a known mass, a push on the hand, commands of zero, a small test torque, the arm after the node
is killed. Each check prints its result and proposes parameters. Every action on the arm must be confirmed, any key
stops it, and commands are off after each check. Keep a hand on the emergency stop. See docs/first_run.md."""
STEPS = {
    'rest': 'effort at rest, in three poses',
    'friction': 'slow motion both ways',
    'mass': 'a known mass on the hand',
    'push': 'a push on the hand',
    'zero': 'commands of zero, to see whether the firmware holds the arm',
    'test': 'a small test torque on the last joint',
    'kill': 'the arm after the node is killed',
}
AXES = {f'{sign}{"xyz"[k]}': float(f'{sign}1') * np.eye(3)[k] for sign in '+-' for k in range(3)}
SECONDS = {'before': 0.5, 'push': 8.0, 'zero': 5.0, 'settle': 2.5, 'kill': 60.0, 'motion': 120.0}
TORQUES = (0.1, 0.25, 0.5)  # N m (N): the next is used if the arm moves too little
TEST_TRAVEL = 0.02  # rad (m): motion at which a test torque ends; half of it is enough
TRAVEL = 0.05  # rad (m): default of the motion at which commands of zero are stopped


say = partial(say_buffered, flush=True)  # the user waits for each line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index('--ros-args') if '--ros-args' in words else len(words)
    parser = command_parser('first_run', DESCRIPTION)
    add = parser.add_argument
    add('--arm', type=Path, metavar='FILE', help='arm file (parameter file of the node), which gets the new parameters')
    add('-o', '--output', type=Path, metavar='FILE', help='write the new parameters to this new file instead')
    add('--steps', default=','.join(STEPS), help=f'checks to make, of {",".join(STEPS)} (default: all)')
    add('--hand', default='', help='hand that is loaded and pushed (default: the last)')
    travel = f'motion of the arm at which commands of zero are stopped, rad (m); default: {TRAVEL}'
    add('--travel', type=number(0.01, 0.2), default=TRAVEL, help=travel)
    add('--node', default='krang_dynamics', help='name of the dynamics node (default: krang_dynamics)')
    arguments = parser.parse_args(words[:at])
    return guarded(lambda: _run(arguments, words[at:]))


def _run(arguments: argparse.Namespace, ros_arguments: Sequence[str]) -> int:
    steps = [step.strip() for step in arguments.steps.split(',') if step.strip()]
    for step in steps:
        if step not in STEPS:
            raise ArgumentError(f'--steps: {step}, must be of {", ".join(STEPS)}. {did_you_mean(step, STEPS)}'.strip())
    _check_files(arguments)
    try:
        from ..nodes.first_run_client import FirstRunClient  # noqa: PLC0415 (--help needs no ROS)
    except ImportError:
        raise MissingError('rclpy', 'the topics of a robot', 'source ROS, or use the .venv of `make`') from None
    with _signals(), Keys() as keys, FirstRunClient(arguments.node, keys.stop, ros_arguments) as client:
        return _FirstRun(arguments, client, keys).run([step for step in STEPS if step in steps])


def _check_files(arguments: argparse.Namespace) -> None:
    """Refuse files that cannot be used, before any work."""
    check_outputs([arguments.output], [arguments.arm], overwrite=None)
    if arguments.arm:
        edited(arguments.arm.read_text(encoding='utf-8'), {}, '')


@contextmanager
def _signals() -> Iterator[None]:
    """Turn each signal that ends the program into an interrupt, so that commands go to zero first."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _FirstRun:
    """A dialogue with the user. No question is asked while commands are on."""

    def __init__(self, arguments: argparse.Namespace, client: Any, keys: Keys) -> None:
        self._arguments, self._client, self._keys = arguments, client, keys
        self._verdicts: list[tuple[str, str]] = []

    def run(self, steps: Sequence[str]) -> int:
        """Make the checks; return 0 if each result is right or corrected, or its check was skipped; else 1."""
        self._model: ArmModel = self._client.connect()
        self._hand = self._chosen_hand()
        checks: dict[str, Callable[[], Iterator[Finding]]] = {
            'rest': self._rest, 'friction': self._friction, 'mass': self._mass, 'push': self._push, 'zero': self._zero,
            'test': self._test, 'kill': self._kill,
        }  # fmt: skip
        say(f'{self._arguments.node}: {len(self._model.names)} joints: {", ".join(self._model.names)}')
        for step in steps:
            if self._keys.yes(f'\nCheck {step}: {STEPS[step]}?'):
                self._check(step, checks[step])
            else:
                self._verdicts.append((step, 'skipped'))
        say('', *(f'{name}: {verdict}' for name, verdict in self._verdicts))
        return int(any(verdict in ('wrong', 'unclear', 'stopped', 'not set') for _, verdict in self._verdicts))

    def _chosen_hand(self) -> str:
        hands = self._model.hands
        if self._arguments.hand and self._arguments.hand not in hands:
            raise unknown_name('hand', self._arguments.hand, hands)
        return self._arguments.hand or next(reversed(hands), '')

    def _check(self, step: str, check: Callable[[], Iterator[Finding]]) -> None:
        """Repeat a check until its result is clear, or the user declines."""
        while True:
            findings = self._findings(step, check)
            verdicts = [self._report(finding) for finding in findings] or [(step, 'stopped')]
            unclear = not findings or any(finding.verdict == 'unclear' for finding in findings)
            if not unclear or self._keys.closed or step == 'kill' or not self._keys.yes(f'Check {step} again?'):
                self._verdicts += verdicts
                return

    def _findings(self, step: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
        """Make a check; return [] if it was stopped."""
        try:
            return list(check())
        except KrangDynamicsError as error:
            say_error(f'{step}: {error}')
            return []
        finally:
            if state := self._client.command_state:
                say(f'  {state}')

    def _report(self, finding: Finding) -> tuple[str, str]:
        """Print a finding; set and write the parameters it proposes, if the user agrees."""
        say(*(f'    {line}' for line in finding.details))
        say(f'  {finding.check}: {finding.verdict.upper()}: {finding.text}')
        if not finding.parameters:
            return finding.check, finding.verdict
        say('  proposed:', *(f'    {name}: {value_text(value)}' for name, value in finding.parameters.items()))
        if not self._keys.yes(f'Set on {self._arguments.node}{self._destination}?'):
            return finding.check, 'not set'
        self._apply(finding)
        return finding.check, 'changed'

    @property
    def _destination(self) -> str:
        file = self._file
        return f', and write them to {file}' if file else ' (not written to a file: no --arm)'

    @property
    def _file(self) -> Path | None:
        """The file that gets the new parameters."""
        file: Path | None = self._arguments.output or self._arguments.arm
        return file

    def _apply(self, finding: Finding) -> None:
        values = dict(finding.parameters)
        file = self._file
        if file:
            text = file.read_text(encoding='utf-8') if file.exists() else ''
            write_whole(
                file, edited(text, values, f'first_run: {finding.check}', self._arguments.node.rpartition('/')[2])
            )
        try:
            self._client.set(values)
        except KrangDynamicsError as error:
            with_file = f'restart the node with {file}' if file else 'put them into a parameter file, and restart'
            say(f'  {error}', f'  {with_file}: the node reads them at its start')
        self._model = self._client.model_with(values)

    # Effort ---------------------------------------------------------------------------------------------------------

    def _rest(self) -> Iterator[Finding]:
        down = self._ask_down()
        samples: list[RestSample] = []
        say(
            'Move the arm into three poses with its own controller: first stretched out horizontally, then two in which'
        )
        say('gravity loads other joints. Nothing may touch the arm.')
        while len(samples) < POSES:
            self._keys.line(f'Pose {len(samples) + 1} of {POSES}: press Enter when the arm is at rest')
            if self._keys.closed:
                return
            sample = self._client.rest()
            self._note_stop(sample)
            if is_new_pose(sample, samples):
                samples.append(sample)
            else:
                say('  this pose is too near to an earlier pose: move joints by 0.3 rad or more')
        yield judge_rest(self._model, samples, down)

    def _note_stop(self, sample: RestSample) -> None:
        """Print a warning if a stop may hold a joint; it is none if the arm is held by its drives."""
        if text := self._model.on_stops_text(sample.q):
            say(f'  {text}; then its effort is too small: take another pose if in doubt')

    def _ask_down(self) -> Array | None:
        """Ask which axis of the base points down; None: unknown."""
        gravity, base = self._model.gravity, self._model.base
        say(f'Gravity in the node is {[round(float(x), 3) for x in gravity]} m/s^2 in the axes of {base}.')
        question = f'Which axis of {base} points down: {", ".join(AXES)}? [Enter: as in the node; ?: unknown]'
        while (answer := self._keys.line(question)) not in (*AXES, '', '?'):
            say(f'  {answer}: must be one of {", ".join(AXES)}, ? or empty')
        if answer == '?':
            return None
        return AXES[answer] if answer else np.asarray(gravity)

    def _friction(self) -> Iterator[Finding]:
        say('Move joints one by one, slowly (0.05 rad/s) and both ways: by teach pendant or trajectory, not by hand.')
        limit = f'after {SECONDS["motion"]:g} s at the latest'
        self._keys.line(f'Press Enter when they begin to move, and again after the last joint ({limit})')
        rows = self._client.motion_until_key(SECONDS['motion'])
        yield judge_friction(self._model, rows)

    def _mass(self) -> Iterator[Finding]:
        hung = self._ask_mass()
        if hung is None:
            return
        self._keys.line('Nothing on the hand yet, arm stretched out: press Enter when it is at rest')
        before = self._client.rest()
        self._note_stop(before)
        self._keys.line(
            f'Hang {hung.mass:g} kg on the hand, and press Enter when the mass is at rest; the arm must not move'
        )
        loaded = self._client.rest()
        configured = None
        if self._keys.yes('Does the robot have a payload setting of its own?'):
            self._keys.line(f'Set it to {hung.mass:g} kg, and press Enter')
            configured = self._client.rest()
        yield judge_mass(self._model, hung, before, loaded, configured)
        say('Remove the mass, and reset the payload setting of the robot.')

    def _ask_mass(self) -> HungMass | None:
        self._require_hand()
        link = self._model.hands[self._hand]
        for text in iter(
            lambda: self._keys.line(f'Mass, kg, and its position in {link}, m (for example 2.0 or 2.0 0 0 0.1)'), ''
        ):
            try:
                numbers = [float(word) for word in text.replace(',', ' ').split()]
            except ValueError:
                numbers = []
            if len(numbers) in (1, 4) and np.isfinite(numbers).all() and numbers[0] > 0:
                x, y, z = (*numbers[1:], 0.0, 0.0, 0.0)[:3]
                return HungMass(self._hand, numbers[0], (x, y, z))
            say(f'  {text}: must be a positive mass, or a mass and three coordinates')
        return None

    def _require_hand(self) -> None:
        if not self._hand:
            raise ArgumentError('the node has no hand, must have one; set end_effectors and <hand>.link')

    def _push(self) -> Iterator[Finding]:
        self._require_hand()
        base = self._model.base
        self._keys.line(f'Press Enter, wait two seconds, then push {self._hand} along +x of {base}, 10 N or more')
        rows = self._client.push(self._hand, SECONDS['push'])
        yield from judge_push(self._model, self._hand, rows)

    # Commands -------------------------------------------------------------------------------------------------------

    def _zero(self) -> Iterator[Finding]:
        say('Commands of zero. If the firmware adds no gravity, the arm FALLS: support it; emergency stop ready.')
        if not self._keys.yes('Is the arm supported, and the controller active? Any key stops it.'):
            return
        self._client.rest()
        before = {name: self._model.values[name] for name in ('total_terms', 'command_start')}
        self._client.set({'total_terms': terms_of_zero(self._model), 'command_start': 'zero'})
        try:
            rows = self._motion_at_zero()
        finally:
            self._client.set(before)
        yield judge_zero_command(self._model, rows)

    def _motion_at_zero(self) -> Sequence[MotionRow]:
        """Return the joint states while commands are zero; those of an arm that falls too fast until they are off."""
        try:
            with self._client.enabled() as answer:
                say(f'  {answer}')
                rows = self._client.run(SECONDS['zero'], lambda rows: _moved(rows) > self._arguments.travel)
                self._client.check_acknowledged()
        except RunawayError as error:
            say(f'  {error}')
            rows = self._client.rows
        return list(rows)

    def _test(self) -> Iterator[Finding]:
        joints = self._commanded()
        say(f'A torque of at most {TORQUES[-1]:g} N m (N) on {joints[-1]}, in both directions, added to {self._total}.')
        if not self._keys.yes('Hand on the emergency stop, controller active? Any key stops it.'):
            return
        self._client.rest()
        with self._client.enabled() as answer:
            say(f'  {answer}')
            self._client.rise(SECONDS['settle'])
            answers = self._answers(len(joints))
        yield judge_test_torque(self._model, joints[-1], answers)

    @property
    def _total(self) -> str:
        return ' + '.join(name for name in self._model.values.get('total_terms', []) if name) or 'nothing'

    def _commanded(self) -> list[str]:
        joints = [name for name in self._model.values.get('command_joints', []) if name]
        if not joints:
            raise ArgumentError(
                'command_joints is empty, must name the joints to command; set it, and restart the node'
            )
        return joints

    def _answers(self, count: int) -> list[TorqueAnswer]:
        """Return the responses to the smallest torques that move the arm enough, or to the largest."""
        answers: list[TorqueAnswer] = []
        for torque in TORQUES:
            answers = [self._answer(count, sign * torque) for sign in (1, -1)]
            if max(np.abs(answer.q[1] - answer.q[0]).max() for answer in answers) > TEST_TRAVEL / 2:
                break
        return answers

    def _answer(self, count: int, torque: float) -> TorqueAnswer:
        others = [0.0] * (count - 1)
        before = self._client.run(SECONDS['before'])[-1]
        self._client.set({'command_test': [*others, torque]})
        rows = self._client.run(SECONDS['settle'], lambda rows: _moved(rows) > TEST_TRAVEL)
        self._client.set({'command_test': [*others, 0.0]})
        self._client.run(SECONDS['settle'])
        return TorqueAnswer(torque, (before.q, rows[-1].q), (before.effort, rows[-1].effort))

    def _kill(self) -> Iterator[Finding]:
        self._commanded()
        say(f'Commands are sent with {self._total}; then kill the dynamics node (kill -9, in another terminal). The')
        say('arm is then as after a crash. Support the arm; brakes and emergency stop ready.')
        if not self._keys.yes('Ready? Any key stops it.'):
            return
        self._client.rest()
        with self._client.enabled() as answer:
            say(f'  {answer}')
            self._client.rise(SECONDS['settle'])
            self._client.commands.clear()  # before a person can kill the node
            say(f'  Now: kill -9 the process of {self._arguments.node}')
            rows = self._client.until_dead(SECONDS['kill'])
            commands = list(self._client.commands)
            say('  The node has ended. Restart it later: commands stay off until they are enabled.')
        yield judge_killed(self._model, commands, rows)


def _moved(rows: Sequence[Any]) -> float:
    """Return the largest motion of a joint from the first to the last row, rad (m)."""
    return float(np.abs(rows[-1].q - rows[0].q).max()) if rows else 0.0


if __name__ == '__main__':
    sys.exit(main())
