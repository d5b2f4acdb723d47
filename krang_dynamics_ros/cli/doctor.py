"""`doctor`: check that a recording is of this robot, in the expected units and signs."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from ..core.optional import optional
from ..identification.doctor import ASSUMED, Diagnosis, examine
from .common import command_parser, guarded, say
from .recorded import add_recordings, given_robot, recordings_of

threadpools = optional('threadpoolctl', 'identification')
_DESCRIPTION = """\
Looks for the usual mistakes in a recording of a robot: time, units, signs, order of joints, gravity, and load. Each
finding is a line with its value and the change to make, the most serious first. Exit code 0: no finding; 1: findings;
2: the recording could not be examined."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('doctor', _DESCRIPTION)
    add_recordings(parser, several=False)
    parser.add_argument('--json', action='store_true', help='print the findings as JSON')
    arguments = parser.parse_args(argv)
    return guarded(lambda: _doctor(arguments))


def _doctor(arguments: argparse.Namespace) -> int:
    robot, path, arm = given_robot(arguments)
    (recording,) = recordings_of(arguments, robot, arm)
    with threadpools.threadpool_limits(1):  # the matrices are small: threads would wait for each other
        found = examine(robot, recording)
    if arguments.json:
        say(json.dumps(_as_data(found, str(path), recording.source), indent=1, allow_nan=False))
    else:
        _print(found, str(path), recording.source)
    return 1 if found.findings else 0


def _print(found: Diagnosis, robot: str, source: str) -> None:
    say(f'robot: {robot}', f'recording: {source}, {found.timing}', f'assumed: {ASSUMED}')
    for k, finding in enumerate(found.findings, 1):
        say(f'{k}. {finding}')
    changed = ', once the findings are corrected' if found.findings else ''
    worst = max(zip(found.errors.tolist(), found.joint_names, strict=True))
    if not found.findings:
        say('no findings')
    fit = f'RMSE / standard deviation of the effort {found.errors.mean():.2f}, worst {worst[1]} {worst[0]:.2f}'
    say(f'fit of the robot file, with small changes of its bodies{changed}: {fit}')


def _as_data(found: Diagnosis, robot: str, source: str) -> dict[str, Any]:
    """Return the data that `--json` prints."""
    return {
        'robot': robot,
        'recording': source,
        'assumed': ASSUMED,
        'rate': found.timing.rate,
        'duration': found.timing.duration,
        'gaps': found.timing.gaps,
        'repeated_rows': found.timing.repeated,
        'errors': dict(zip(found.joint_names, found.errors.tolist(), strict=True)),
        'findings': [
            {
                'number': k,
                'kind': finding.kind,
                'names': list(finding.names),
                'value': finding.value if math.isfinite(finding.value) else None,
                'text': finding.text,
                'change': finding.change,
            }
            for k, finding in enumerate(found.findings, 1)
        ],
    }


if __name__ == '__main__':
    sys.exit(main())
