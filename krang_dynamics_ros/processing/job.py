"""Job: the processing of a recording, with its settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core.errors import KrangDynamicsError
from ..core.files import share
from ..dynamics.factory import COMPILED, PINOCCHIO
from ..live.engine import Engine, engine_of
from ..recordings.formats import open_source
from ..recordings.source import Source
from ..robot.file_text import text_of
from ..robot.robot_file import located

DEFAULT_TERMS = ('gravity', 'coriolis', 'friction', 'wrench')
FORMATS = ('parquet', 'csv', 'bag')


@dataclass(frozen=True)
class Job:
    """Processing of a recording: files, parameters and settings."""

    recording: Path
    out: Path  # folder for the results of this recording
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of `dynamics_node`
    joint_states: str = ''  # topic; '': that of the parameters, or the only one
    terms: tuple[str, ...] = DEFAULT_TERMS
    start: float = 0.0  # s from the start of the recording
    end: float = float('inf')
    cutoff: float = 20.0  # Hz; motion above it counts as noise
    formats: tuple[str, ...] = ('parquet',)  # of FORMATS
    overwrite: bool = True  # whether results with other settings may be replaced
    layout: Path | None = None  # layout file; None: that of the recording, if it has one

    @property
    def digest(self) -> str:
        """Hash of the settings, the input files and our version: results with the same hash are up to date.

        The output formats are not part of it, because another format is added to the results.
        """
        files = [*_files(self.recording), *([self.layout] if self.layout else [])]
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        robot = (
            '' if self.parameters.get('robot_description') else text_of(located(self.parameters.get('robot_file', '')))
        )
        ours = share('package.xml').read_text(encoding='utf-8')  # has the version
        asked = asdict(replace(self, formats=(), overwrite=True))
        return hashlib.sha256(repr((stats, asked, robot, ours)).encode()).hexdigest()

    @property
    def margin(self) -> float:
        """Time that derivatives need on both sides, s: some periods of the cutoff."""
        return max(1.0, 5 / self.cutoff)

    def open(self) -> Source:
        """Return the recording, for use in a `with`."""
        return open_source(self.recording, self.layout)


def engine_and_backend(parameters: Mapping[str, Any]) -> tuple[Engine, str]:
    """Return the engine of a node with these parameters, and its backend: compiled C if possible."""
    if 'backend' in parameters:
        return engine_of(parameters), str(parameters['backend'])
    try:
        return engine_of({**parameters, 'backend': COMPILED}), COMPILED
    except KrangDynamicsError:  # no compiler, no CasADi, an unsupported robot, or no valid robot
        return engine_of(parameters), PINOCCHIO


def _files(recording: Path) -> list[Path]:
    return sorted(path for path in recording.rglob('*') if path.is_file()) if recording.is_dir() else [recording]
