"""`process`: compute the torques of recordings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.limits import MAX_QUANTITY
from ..dynamics.terms import TERMS
from ..live.parameter_file import read_parameters, unknown_parameters
from ..processing.job import DEFAULT_TERMS, FORMATS, Job
from ..processing.output_folder import check_folders, folder_for
from ..processing.process import Result, attempt, on_a_cluster, on_this_machine
from ..processing.summary import JointError, Summary
from ..recordings.formats import robot_of
from .arm_option import ROBOTS, add_arm, arm_beside, read_arm_file, with_robot
from .common import add_overwrite, command_parser, guarded, note, number, progress_bar, say, say_error, whole_number
from .recorded import add_layout

LONGEST = 1e9  # s: thirty years
MAX_RELATIVE = 100.0  # larger values only mean that the effort is nearly constant


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; exit code 0: all done, 1: some recordings failed, 2: invalid input."""
    parser = command_parser(
        'process', 'Computes every torque term of recordings over time, and compares the model with the efforts.'
    )
    _add_inputs(parser)
    _add_computation(parser)
    _add_results(parser)
    arguments = parser.parse_args(argv)
    return guarded(lambda: _run(arguments))


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('recordings', nargs='+', type=Path, metavar='RECORDING', help='bag, table or folder (docs/recordings.md)')
    add('--robot', default='', help='robot file; default: that of the parameters or the layout, or Krang')
    add('--params', type=Path, help='parameter file of dynamics_node')
    add_arm(parser)
    add_layout(parser)
    topic = 'topic of the joint states; default: that of the arm file, joint_states, or the only one'
    add('--joint-states', default='', metavar='TOPIC', help=topic)
    for end, default in (('start', 0.0), ('end', float('inf'))):
        help_ = f'{end} time, s from the beginning of the recording'
        add(f'--{end}', type=number(0, LONGEST), default=default, metavar='S', help=help_)


def _add_computation(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_ = f'torque terms; default: {" ".join(DEFAULT_TERMS)}'
    add('--terms', nargs='+', choices=TERMS, default=DEFAULT_TERMS, help=help_)
    help_ = 'cutoff frequency; motion above it counts as noise; default: %(default)g'
    add('--cutoff', type=number(1e-3, MAX_QUANTITY), default=Job.cutoff, metavar='HZ', help=help_)
    workers, help_ = os.cpu_count() or 1, 'number of processes; default: number of cores'
    add('--workers', type=whole_number(1), default=workers, metavar='N', help=help_)
    add('--ray', metavar='ADDRESS', help='distribute the recordings over a Ray cluster')


def _add_results(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('-o', '--out', type=Path, default=Path('torques'), help='folder for the results; default: torques')
    help_ = 'formats, added to those of an earlier run; default: parquet'
    add('--to', nargs='+', choices=FORMATS, default=Job.formats, help=help_)
    add_overwrite(parser)


def _run(arguments: argparse.Namespace) -> int:
    parameters = _parameters(arguments)
    jobs = [_job(recording, parameters, arguments) for recording in arguments.recordings]
    others = {arguments.arm, arguments.params, arguments.layout, *(job.parameters.get('robot_file') for job in jobs)}
    check_folders(jobs, [Path(path) for path in others if path])
    failed = 0
    for result in _results(jobs, arguments):
        failed += result.summary is None
        _print(result)
    return 1 if failed else 0


def _parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of `dynamics_node` by the arm file, the parameter file and `--robot`."""
    given = arguments.arm or arguments.robot or arguments.params
    beside = None if given else arm_beside(arguments.recordings)
    arm = read_arm_file(arguments.arm or beside, robot_file=arguments.robot)
    of_params = read_parameters(arguments.params) if arguments.params else {}
    parameters = (arm.values if arm else {}) | of_params
    if arguments.robot:
        parameters = with_robot(parameters, arguments.robot)
    if arguments.params:
        note(*(f'{arguments.params}: {line}' for line in unknown_parameters(parameters, of_params)))
    return parameters


def _job(recording: Path, parameters: Mapping[str, Any], arguments: argparse.Namespace) -> Job:
    """Return the job of a recording, with the robot of its layout if no other one is named."""
    if not any(parameters.get(name) for name in ROBOTS) and (robot := robot_of(recording, arguments.layout)):
        parameters = {**parameters, 'robot_file': str(robot)}
    return Job(
        recording=recording.absolute(),
        out=folder_for(recording, arguments.out),
        parameters=parameters,
        joint_states=arguments.joint_states,
        terms=tuple(arguments.terms),
        start=arguments.start,
        end=arguments.end,
        cutoff=arguments.cutoff,
        formats=tuple(arguments.to),
        overwrite=arguments.overwrite,
        layout=arguments.layout and arguments.layout.absolute(),
    )


def _results(jobs: Sequence[Job], arguments: argparse.Namespace) -> Iterator[Result]:
    """Yield results as they are ready, with a progress bar on a terminal."""
    name = jobs[0].recording.name if len(jobs) == 1 else f'{len(jobs)} recordings'
    with progress_bar(name, len(jobs)) as show:
        if len(jobs) == 1 and not arguments.ray:
            yield attempt(jobs[0], lambda part: show(name, part), arguments.workers)
            return
        results = on_a_cluster(jobs, arguments.ray) if arguments.ray else on_this_machine(jobs, arguments.workers)
        for done, result in enumerate(results, 1):
            show(f'{done} of {name}', done)
            yield result


def _print(result: Result) -> None:
    if result.summary is None:
        say_error(result.fault)
        return
    say('\n'.join(_lines(result.job, result.summary, result.before)))


def _lines(job: Job, summary: Summary, before: bool) -> Iterator[str]:
    found = f'{summary.states} states, {summary.seconds:.1f} s, by {summary.backend}'
    yield f'{job.recording.name}: {"as done before: " if before else ""}{found}; in {job.out}'
    yield f'  assumed: {summary.assumed}'
    yield from (f'  note: {line}' for line in summary.notes)
    for name, (count, reason) in summary.refused.items():
        yield f'  {name}: {count} messages refused; last reason: {reason}'
    yield from (f'  {fault}' for fault in summary.suspected_faults)
    if not summary.errors:
        yield f'  {summary.why_no_errors}'
        return
    yield from error_lines(summary.errors)


def error_lines(errors: Sequence[JointError]) -> Iterator[str]:
    """Yield lines with the errors of the joints, below a head."""
    width = max(16, *(len(error.joint) for error in errors))
    head = f'{"joint":<{width}}{"RMS":>9}{"mean |error|":>15}{"RMS / std":>15}'
    yield f'  {head}      (N m or N; largest RMS first)'
    for error in errors:
        relative = f'{error.relative:.3f}' if error.relative < MAX_RELATIVE else '-'  # the effort is nearly constant
        yield f'  {error.joint:<{width}}{error.rms:>9.3f}{error.mean_absolute:>15.3f}{relative:>15}'
