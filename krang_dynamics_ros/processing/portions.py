"""Portions of a recording, by time: replay, columns, files and statistics of each, in parallel processes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from ..core.spatial import Array
from ..dynamics.efforts import braked_rows
from ..dynamics.terms import TERMS
from ..live.engine import Engine
from ..live.messages import JointStateRun, Message, Refusals
from ..recordings.recording import RecordingError
from ..recordings.source import EARLIEST, LATEST, Source, Topics
from ..recordings.timing import TimingSums, VelocityRatio
from .columns import Computer, Segment, columns, segments
from .job import Job, engine_and_backend
from .replay import States, states
from .summary import POINTS, Downsampled, ErrorSums
from .writers import Table, TorqueBag


@dataclass(frozen=True)
class Portion:
    """Arrivals (ns) in [start, end), with margins before and after that are replayed but not written."""

    start: int
    end: int
    lead: int = 0  # ns before it
    trail: int = 0  # ns after it
    number: int | None = None  # None: the only portion
    zero: int | None = None  # stamp (ns) of the first state of the recording; None: of this portion's own
    points: int = POINTS  # maximum in a chart


@dataclass
class PortionResult:
    """Statistics of a portion."""

    errors: ErrorSums
    downsampled: Downsampled
    timing: TimingSums
    velocities: VelocityRatio
    states: int = 0
    first: int | None = None  # arrival of the first and the last state, ns
    last: int = 0
    joint_state_count: int = 0
    time_resets: int = 0
    repeated: int = 0
    accelerated: int = 0  # states whose acceleration is known
    braked: int = 0  # states in which brakes hold the arm
    refused: dict[str, Refusals] = field(default_factory=dict)
    no_states: str = ''  # reason if there are no states


def work(job: Job, portion: Portion, folder: Path, progress: Callable[[float], None] = lambda _: None) -> PortionResult:
    """Process a portion of a job: write its rows to files in a folder, return its statistics."""
    with job.open() as recording:
        return _Work(job, portion, recording, engine_and_backend(job.parameters)[0], progress).write_to(folder)


class _Work:
    def __init__(
        self,
        job: Job,
        portion: Portion,
        recording: Source,
        engine: Engine,
        progress: Callable[[float], None],
    ) -> None:
        self._job, self._portion, self._recording, self._engine = job, portion, recording, engine
        self._progress = progress
        self._topics = recording.topics_of(engine.inputs, job.joint_states)
        downsampled = Downsampled((*job.terms, 'inertia', 'residual', 'model', 'effort'), portion.points)
        self._efforts = engine.external.efforts
        names = engine.dynamics.joint_names
        self._result = PortionResult(ErrorSums(names), downsampled, TimingSums(), VelocityRatio(len(names)))

    def write_to(self, folder: Path) -> PortionResult:
        """Write the rows to files in a folder; return the statistics."""
        computer = Computer(self._engine.dynamics, self._job.terms, self._job.cutoff, self._efforts)
        terms = tuple(
            dict.fromkeys((*self._job.terms, 'friction'))
        )  # computed one by one if they depend on earlier states
        with ExitStack() as open_files:
            files = self._open(open_files, folder)
            for segment in segments(states(self._engine, self._messages(), terms), self._job.margin):
                own = self._own(segment)
                if len(own.states[own.core]):
                    self._write(own.states[own.core], computer.columns(own), files)
        self._result.no_states = '' if self._result.states else self._no_states()
        return self._result

    def _messages(self) -> Iterator[Message | JointStateRun]:
        """Yield the messages, and count those of the portion without margins."""
        portion, inputs, payloads = self._portion, self._engine.inputs, self._engine.payloads
        if portion.lead:
            yield from self._recording.runs(self._topics, portion.start - portion.lead, portion.start)
        refused = {'joint states': inputs.states.refusals}
        refused |= {f'wrench {name}': hand.refusals for name, hand in inputs.hands.items()}
        refused |= {f'payload {name}': refusals for name, refusals in payloads.refusals.items()}
        refused |= {} if inputs.base is None else {'imu': inputs.base.refusals}
        for refusals in refused.values():
            refusals.count = 0
        timeline = inputs.states.timeline
        count, time_resets, repeated = inputs.joint_state_count, timeline.time_resets, inputs.states.repeated
        yield from self._recording.runs(self._topics, portion.start, portion.end)
        self._result.refused = {name: replace(refusals) for name, refusals in refused.items() if refusals.count}
        self._result.joint_state_count = inputs.joint_state_count - count
        self._result.time_resets = timeline.time_resets - time_resets
        self._result.repeated = inputs.states.repeated - repeated
        if portion.trail:
            yield from self._recording.runs(self._topics, portion.end, portion.end + portion.trail)

    def _own(self, segment: Segment) -> Segment:
        """Return a segment whose core is limited to the portion."""
        arrival = segment.states.arrival[segment.core]
        inside = np.flatnonzero((arrival >= self._portion.start) & (arrival < self._portion.end))
        first, last = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else (0, 0)
        return Segment(segment.states, slice(segment.core.start + first, segment.core.start + last))

    def _open(self, open_files: ExitStack, folder: Path) -> list[Table | TorqueBag]:
        robot, dynamics = self._engine.model.robot, self._engine.dynamics
        prismatic = [joint.kind == 'prismatic' for joint in robot.moving_joints]
        files: list[Table | TorqueBag] = []
        for kind in self._job.formats:
            if kind == 'bag':
                space, frame_id = self._topics.joint_states.rpartition('/')[0], self._engine.torque_frame
                terms = (*self._job.terms, 'model')
                files.append(TorqueBag(folder / 'torques', space, frame_id, dynamics.joint_names, terms))
            else:
                path = table_path(folder, kind, self._portion.number)
                wanted = columns(self._job.terms, self._efforts)
                files.append(Table(path, dynamics.joint_names, prismatic, wanted, self._portion.zero))
            open_files.callback(files[-1].close)
        return files

    def _write(self, core: States, found: Mapping[str, Array], files: list[Table | TorqueBag]) -> None:
        for file in files:
            file.write(core, found)
        self._result.timing.add(core.stamp)
        self._result.velocities.add((core.stamp - core.stamp[0]) * 1e-9, core.q, core.dq)
        measured, residual = found['measured'], found['residual']
        braked = braked_rows(core.dq, measured, residual, self._engine.supervisor.joints.effort)
        self._result.errors.add(measured[~braked], residual[~braked])
        self._result.braked += int(braked.sum())
        self._result.downsampled.add(core, {**found, 'effort': found['measured']})
        self._result.states += len(core)
        self._result.accelerated += int(np.isfinite(found['acceleration']).all(axis=1).sum())
        self._result.first = int(core.arrival[0]) if self._result.first is None else self._result.first
        self._result.last = int(core.arrival[-1])
        contents = self._recording.contents
        start, end = max(self._portion.start, contents.start), min(self._portion.end, contents.end)
        self._progress(min(max((self._result.last - start) / max(end - start, 1), 0.0), 1.0))

    def _no_states(self) -> str:
        """Return the reason why there are no states."""
        inputs = self._engine.inputs
        if not inputs.joint_state_count:
            return 'has no joint states in the requested time'
        names, known = inputs.states.joint_names, ~np.isnan(inputs.states.position)
        missing = [name for name, is_known in zip(names, known, strict=True) if not is_known]
        if inputs.states.refusals.count >= inputs.joint_state_count:
            return f'all joint states were refused: {inputs.states.refusals.reason}'
        if inputs.base is not None and not missing:
            return f'the motion of the base was never known: {inputs.base.fault(0, inputs.base.arrival)}'
        return f'all joints were never known at the same time; missing: {", ".join(missing[:10])}'


def table_path(folder: Path, kind: str, number: int | None) -> Path:
    """Return the path of a table: a file, or a numbered part in a folder of that name."""
    whole = folder / f'torques.{kind}'
    if number is None:
        return whole
    whole.mkdir(exist_ok=True)
    return whole / f'part-{number:04}.{kind}'


PORTION_SIZE = 60_000  # joint states in a portion, at least
MAX_PORTIONS = 1000
MIN_POINTS = 100  # of a portion in a chart
PRELOADED = ('pyarrow.parquet', 'rosbags.rosbag2', 'rosbags.typesys')  # imported once for all processes


def portions(job: Job, engine: Engine, recording: Source, topics: Topics) -> list[Portion]:
    """Return the portions of a job, which do not depend on the number of processes."""
    contents, begin = recording.contents, recording.first_arrival if job.start or job.end < float('inf') else 0
    start = begin + int(job.start * 1e9) if job.start else EARLIEST
    end = begin + int(job.end * 1e9) if job.end < float('inf') else LATEST
    whole = Portion(start, end)
    inner_start, inner_end = max(start, contents.start), min(end, contents.end)
    messages = contents.topics.get(topics.joint_states, ('', 0))[1]
    share = (inner_end - inner_start) / max(contents.end - contents.start, 1)
    count = min(int(messages * share / PORTION_SIZE), MAX_PORTIONS, inner_end - inner_start)
    stateful = any(TERMS[term].start_rows(engine.dynamics) is None for term in {*job.terms, 'friction'})
    if count < 2 or stateful or topics.payloads or 'bag' in job.formats or not recording.seekable:
        return [whole]
    first = next(states(engine, recording.runs(topics, start, end)), None)
    lead = int((job.margin + 2 * engine.inputs.max_age) * 1e9)
    within = [inner_start + (inner_end - inner_start) * k // count for k in range(1, count)]
    edges = [start, *within, end]  # start and end are as requested; the index of the bag only gives the inner edges
    points = max(POINTS // count, MIN_POINTS)
    zero = None if first is None else int(first.stamp[0])
    inner = [
        Portion(edges[k], edges[k + 1], lead, int(job.margin * 1e9), k, zero, points) for k in range(count)
    ]  # fmt: skip
    return [replace(inner[0], lead=0), *inner[1:-1], replace(inner[-1], trail=0)]


def process_portions(
    job: Job, parts: Sequence[Portion], folder: Path, progress: Callable[[float], None], workers: int
) -> list[PortionResult]:
    """Process all portions in `workers` processes; return the results in order."""
    count = len(parts)
    if workers == 1:
        return [work(job, part, folder, partial(_progress, progress, k, count)) for k, part in enumerate(parts)]
    with pool(min(workers, count)) as processes:
        futures = [processes.submit(work, job, part, folder) for part in parts]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(done / count)
        except BrokenProcessPool:
            raise RecordingError(f'{job.recording}: a process was killed; is there enough memory?') from None
        finally:  # after a fault, start no further portion
            processes.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


def _progress(progress: Callable[[float], None], k: int, count: int, share: float) -> None:
    progress((k + share) / count)


def pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of processes that Ctrl-C ends at once; they share imports, which saves time and memory."""
    context = get_context('forkserver')
    context.set_forkserver_preload([work.__module__, *PRELOADED])
    return ProcessPoolExecutor(workers, context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL))
