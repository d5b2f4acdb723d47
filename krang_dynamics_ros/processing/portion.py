"""A portion of a recording's time: its messages through the pipeline, its rows into files, and what was found in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..core.spatial import Array
from ..inputs.refusals import Refusals
from ..messages.messages import JointStateRun, Message
from ..pipeline.pipeline import Pipeline
from ..recordings.bag import Bag, Topics
from ..recordings.table import TableFile
from .columns import Computer, Efforts, columns
from .errors_by_joint import ErrorSums
from .job import Job, session
from .replay import states
from .states import States
from .stretches import Stretch, stretches
from .tables import Table
from .thinned import POINTS, Thinned
from .torque_bag import TorqueBag


@dataclass(frozen=True)
class Portion:
    """Times of arrival (ns) from `start` to before `end`; what came shortly before and after is looked at besides."""

    start: int
    end: int
    lead: int = 0  # ns before it
    trail: int = 0  # ns after it
    number: int | None = None  # None: it is all that is asked for
    zero: int | None = None  # stamp of the recording's first state, if that is in another portion
    points: int = POINTS  # in a chart


@dataclass
class Found:
    """What was found in a portion, but for its rows."""

    errors: ErrorSums
    thinned: Thinned
    states: int = 0
    first: int | None = None  # arrival of the first and the last state, ns
    last: int = 0
    heard: int = 0
    jumps: int = 0
    repeated: int = 0
    accelerated: int = 0
    refused: dict[str, Refusals] = field(default_factory=dict)
    nothing: str = ''  # why there is no state


def work(job: Job, portion: Portion, folder: Path, progress: Callable[[float], None] = lambda _: None) -> Found:
    """Do a portion of a job: its rows go into files in a folder."""
    with job.open() as recording:
        return _Work(job, portion, recording, session(job.parameters)[0], progress).into(folder)


class _Work:
    def __init__(
        self,
        job: Job,
        portion: Portion,
        recording: Bag | TableFile,
        pipeline: Pipeline,
        progress: Callable[[float], None],
    ) -> None:
        self._job, self._portion, self._recording, self._pipeline = job, portion, recording, pipeline
        self._progress = progress
        self._topics = topics_for(job, pipeline, recording)
        thinned = Thinned((*job.terms, 'inertia', 'residual', 'model', 'effort'), portion.points)
        observer = pipeline.external.observer
        self._efforts = Efforts(observer.source, observer.effort_scale)
        self._found = Found(ErrorSums(pipeline.dynamics.joint_names), thinned)

    def into(self, folder: Path) -> Found:
        """Write the rows, and return what was found."""
        computer = Computer(self._pipeline.dynamics, self._job.terms, self._job.cutoff, self._efforts)
        terms = tuple(dict.fromkeys((*self._job.terms, 'friction')))  # to be computed one by one, if they remember
        with ExitStack() as open_files:
            files = self._open(open_files, folder)
            for stretch in stretches(states(self._pipeline, self._messages(), terms), self._job.margin):
                ours = self._ours(stretch)
                if len(ours.states[ours.core]):
                    self._write(ours.states[ours.core], computer.columns(ours), files)
        self._found.nothing = '' if self._found.states else self._nothing()
        return self._found

    def _messages(self) -> Iterator[Message | JointStateRun]:
        """Return the messages, and count those of the portion itself."""
        portion, inputs, payloads = self._portion, self._pipeline.inputs, self._pipeline.payloads
        if portion.lead:
            yield from self._recording.runs(self._topics, portion.start - portion.lead, portion.start)
        refused = {'joint states': inputs.states.refusals}
        refused |= {f'wrench {name}': hand.refusals for name, hand in inputs.hands.items()}
        refused |= {f'payload {name}': refusals for name, refusals in payloads.refusals.items()}
        for refusals in refused.values():
            refusals.count = 0
        timeline = inputs.states.timeline
        heard, jumps, repeated = inputs.heard, timeline.time_resets, inputs.states.repeated
        yield from self._recording.runs(self._topics, portion.start, portion.end)
        self._found.refused = {name: replace(refusals) for name, refusals in refused.items() if refusals.count}
        self._found.heard, self._found.jumps = inputs.heard - heard, timeline.time_resets - jumps
        self._found.repeated = inputs.states.repeated - repeated
        if portion.trail:
            yield from self._recording.runs(self._topics, portion.end, portion.end + portion.trail)

    def _ours(self, stretch: Stretch) -> Stretch:
        """Return a stretch whose core is of the portion."""
        arrival = stretch.states.arrival[stretch.core]
        inside = np.flatnonzero((arrival >= self._portion.start) & (arrival < self._portion.end))
        first, last = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else (0, 0)
        return Stretch(stretch.states, slice(stretch.core.start + first, stretch.core.start + last))

    def _open(self, open_files: ExitStack, folder: Path) -> list[Table | TorqueBag]:
        robot, dynamics = self._pipeline.model.robot, self._pipeline.dynamics
        sliding = [joint.kind == 'prismatic' for joint in robot.moving_joints]
        files: list[Table | TorqueBag] = []
        for kind in self._job.formats:
            if kind == 'bag':
                space, frame_id = self._topics.joint_states.rpartition('/')[0], dynamics.link_names[-1]
                terms = (*self._job.terms, 'model')
                files.append(TorqueBag(folder / 'torques', space, frame_id, dynamics.joint_names, terms))
            else:
                path = table_path(folder, kind, self._portion.number)
                wanted = columns(self._job.terms, self._efforts)
                files.append(Table(path, dynamics.joint_names, sliding, wanted, self._portion.zero))
            open_files.callback(files[-1].close)
        return files

    def _write(self, core: States, found: Mapping[str, Array], files: list[Table | TorqueBag]) -> None:
        for file in files:
            file.write(core, found)
        self._found.errors.add(found['measured'], found['residual'])
        self._found.thinned.add(core, {**found, 'effort': found['measured']})
        self._found.states += len(core)
        self._found.accelerated += int(np.isfinite(found['acceleration']).all(axis=1).sum())
        self._found.first = int(core.arrival[0]) if self._found.first is None else self._found.first
        self._found.last = int(core.arrival[-1])
        contents = self._recording.contents
        start, end = max(self._portion.start, contents.start), min(self._portion.end, contents.end)
        self._progress(min(max((self._found.last - start) / max(end - start, 1), 0.0), 1.0))

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


def topics_for(job: Job, pipeline: Pipeline, recording: Bag | TableFile) -> Topics:
    """Return the topics of a recording that a job listens to."""
    inputs = pipeline.inputs
    return recording.topics(tuple(inputs.hands), job.joint_states, bool(inputs.imu_joints))


def table_path(folder: Path, kind: str, number: int | None) -> Path:
    """Return where a table goes: a file, or one of a folder of that name."""
    whole = folder / f'torques.{kind}'
    if number is None:
        return whole
    whole.mkdir(exist_ok=True)
    return whole / f'part-{number:04}.{kind}'
