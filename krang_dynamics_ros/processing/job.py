"""What is to be done with one recording."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core.errors import KrangDynamicsError
from ..core.files import share
from ..live.engine import Engine, engine_of
from ..recordings.bag import Bag
from ..recordings.table import TableFile, is_table
from ..robot.file_text import text_of
from ..robot.robot_file import located

TERMS_ASKED = ('gravity', 'coriolis', 'friction', 'wrench')
FORMATS = ('parquet', 'csv', 'bag')


@dataclass(frozen=True)
class Job:
    """What is to be done with one recording."""

    recording: Path
    out: Path  # folder for the results of this recording alone
    parameters: Mapping[str, Any] = field(default_factory=dict)  # as of `dynamics_node`
    joint_states: str = ''  # topic; none: the only one there is
    terms: tuple[str, ...] = TERMS_ASKED
    start: float = 0.0  # s from the beginning of the recording
    end: float = float('inf')
    cutoff: float = 20.0  # Hz; motion above it counts as noise
    formats: tuple[str, ...] = ('parquet',)  # of FORMATS
    overwrite: bool = True  # whether results of another job may be replaced

    @property
    def digest(self) -> str:
        """What tells whether results are those of this job, of these very files, and of this version of ours.

        The kinds of files are no part of it: another kind adds to the results.
        """
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in _files(self.recording)]
        robot = (
            '' if self.parameters.get('robot_description') else text_of(located(self.parameters.get('robot_file', '')))
        )
        ours = share('package.xml').read_text(encoding='utf-8')  # it says the version
        asked = asdict(replace(self, formats=(), overwrite=True))
        return hashlib.sha256(repr((stats, asked, robot, ours)).encode()).hexdigest()

    @property
    def margin(self) -> float:
        """How far to both sides derivatives look, s: some periods of the cutoff."""
        return max(1.0, 5 / self.cutoff)

    def open(self) -> Bag | TableFile:
        """Return the recording, to be used in a `with`."""
        return (TableFile if is_table(self.recording) else Bag)(self.recording)


def session(parameters: Mapping[str, Any]) -> tuple[Engine, str]:
    """Return the node's engine for these parameters, and its back end: compiled C where that can be had."""
    if 'backend' in parameters:
        return engine_of(parameters), str(parameters['backend'])
    try:
        return engine_of({**parameters, 'backend': 'compiled'}), 'compiled'
    except KrangDynamicsError:  # no compiler, no CasADi, a robot that C is not made for; or no robot at all
        return engine_of(parameters), 'pinocchio'


def _files(recording: Path) -> list[Path]:
    return sorted(path for path in recording.iterdir() if path.is_file()) if recording.is_dir() else [recording]
