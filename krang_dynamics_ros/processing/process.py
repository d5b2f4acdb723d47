"""One recording in, its torques out: as tables, as a bag, with how far the model is from what was measured.

`process` is a function of its job alone: it may run in any process, on any machine that sees the files.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from ..pipeline.pipeline import Pipeline, pipeline_of
from ..recordings.bag import Bag, Topics
from ..recordings.recording import RecordingError
from ..recordings.table import TableFile, is_table
from .columns import Computer, columns
from .errors_by_joint import ErrorSums, JointError
from .replay import states
from .report import report
from .states import States
from .stretches import stretches
from .summary import Summary
from .tables import Table
from .thinned import Thinned
from .torque_bag import TorqueBag

TERMS_ASKED = ('gravity', 'coriolis', 'friction', 'wrench')
FORMATS = ('parquet', 'csv', 'bag')
SUMMARY = 'summary.json'


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

    @property
    def digest(self) -> str:
        """What tells whether results are those of this job, and of these very files."""
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in _files(self.recording)]
        return hashlib.sha256(repr((stats, asdict(self))).encode()).hexdigest()


def process(job: Job, progress: Callable[[float], None] = lambda _: None) -> Summary:
    """Do a job; its results are there whole or not at all. What is done already is not done again."""
    if done := _done(job):
        return done
    part = job.out.with_name(f'.{job.out.name}.part')
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        with (TableFile if is_table(job.recording) else Bag)(job.recording) as bag:
            summary = _Run(job, bag, part, progress).run()
        (part / SUMMARY).write_text(json.dumps(asdict(summary), indent=1), encoding='utf-8')
        shutil.rmtree(job.out, ignore_errors=True)
        part.replace(job.out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return summary


def _done(job: Job) -> Summary | None:
    """Return the summary of results that are there, if they are those of this job."""
    try:
        told = json.loads((job.out / SUMMARY).read_text(encoding='utf-8'))
    except (OSError, ValueError):
        return None
    if not isinstance(told, dict) or told.get('digest') != job.digest:
        return None
    told['errors'] = [JointError(**error) for error in told['errors']]
    return Summary(**told)


def session(parameters: Mapping[str, Any]) -> tuple[Pipeline, str]:
    """Return the node's pipeline for these parameters, and its back end: compiled C where that can be had."""
    if 'backend' in parameters:
        return pipeline_of(parameters), str(parameters['backend'])
    try:
        return pipeline_of({**parameters, 'backend': 'compiled'}), 'compiled'
    except KrangDynamicsError:  # no compiler, no CasADi, a robot that C is not made for; or no robot at all
        return pipeline_of(parameters), 'pinocchio'


class _Run:
    """One pass over one recording."""

    def __init__(self, job: Job, bag: Bag | TableFile, out: Path, progress: Callable[[float], None]) -> None:
        self._job, self._bag, self._out, self._progress = job, bag, out, progress
        self._contents = bag.contents
        self._pipeline, backend = session(job.parameters)
        self._summary = Summary(str(job.recording), job.digest, backend=backend, topics=self._contents.topics)
        self._errors = ErrorSums(self._pipeline.dynamics.joint_names)
        self._columns = columns(job.terms)
        self._thinned = Thinned((*job.terms, 'inertia', 'residual', 'model', 'effort'))

    def run(self) -> Summary:
        """Write what is asked for, and return what was found."""
        job, hands = self._job, tuple(self._pipeline.inputs.hands)
        topics = self._bag.topics(hands, job.joint_states)
        self._summary.used = [topics.joint_states, *topics.wrenches.values()]
        start = self._contents.start + int(job.start * 1e9)
        end = self._contents.end if job.end == float('inf') else self._contents.start + int(job.end * 1e9)
        messages = self._bag.runs(topics, start, end)
        computer = Computer(self._pipeline.dynamics, job.terms, job.cutoff)
        with ExitStack() as open_files:
            files = self._open(open_files, topics)
            for stretch in stretches(self._told(states(self._pipeline, messages, self._remembered()), start, end), 1.0):
                core = stretch.states[stretch.core]
                self._write(core, computer.columns(stretch), files)
        if not self._summary.states:
            raise RecordingError(f'{job.recording}: {self._nothing()}')
        return self._conclude()

    def _remembered(self) -> tuple[str, ...]:
        """The terms to compute one by one, if they remember: those asked for, and what the whole Gamma is made of."""
        return tuple(dict.fromkeys((*self._job.terms, 'friction')))

    def _open(self, open_files: ExitStack, topics: Topics) -> list[Table | TorqueBag]:
        model = self._pipeline.model
        names, sliding = model.dynamics.joint_names, [False] * model.dynamics.n
        files: list[Table | TorqueBag] = []
        for kind in self._job.formats:
            if kind == 'bag':
                namespace, frame_id = topics.joint_states.rpartition('/')[0], model.dynamics.link_names[-1]
                files.append(TorqueBag(self._out / 'torques', namespace, frame_id, names, (*self._job.terms, 'model')))
            else:
                files.append(Table(self._out / f'torques.{kind}', names, sliding, self._columns))
            open_files.callback(files[-1].close)
        return files

    def _write(self, core: States, found: Mapping[str, Array], files: list[Table | TorqueBag]) -> None:
        for file in files:
            file.write(core, found)
        self._errors.add(core.effort, found['residual'])
        self._thinned.add(core, found)
        self._summary.states += len(core)

    def _told(self, blocks: Iterator[States], start: int, end: int) -> Iterator[States]:
        """Tell how far it has come."""
        first = last = 0
        for block in blocks:
            first, last = first or int(block.arrival[0]), int(block.arrival[-1])
            self._summary.seconds = (last - first) * 1e-9
            self._progress(min((last - start) / max(end - start, 1), 1.0))
            yield block

    def _conclude(self) -> Summary:
        inputs, summary = self._pipeline.inputs, self._summary
        refusals = {'joint states': inputs.states.refusals}
        refusals |= {f'wrench {name}': hand.refusals for name, hand in inputs.hands.items()}
        summary.refused = {name: (one.count, one.reason) for name, one in refusals.items() if one.count}
        summary.heard, summary.jumps, summary.errors = inputs.heard, inputs.states.jumps, self._errors.errors()
        text = report(summary, self._pipeline.dynamics.joint_names, self._thinned, self._pipeline.external.estimate)
        (self._out / 'report.html').write_text(text, encoding='utf-8')
        return summary

    def _nothing(self) -> str:
        """Say why there is not one state."""
        inputs = self._pipeline.inputs
        if not inputs.heard:
            return 'has no joint states in the time that was asked for'
        names, known = inputs.states.joint_names, ~np.isnan(inputs.states.position)
        missing = [name for name, there in zip(names, known, strict=True) if not there]
        if inputs.states.refusals.count:
            return f'all joint states were refused: {inputs.states.refusals.reason}'
        return f'never all joints were known at once; missing: {", ".join(missing[:10])}'


def _files(recording: Path) -> list[Path]:
    return sorted(path for path in recording.iterdir() if path.is_file()) if recording.is_dir() else [recording]
