"""A long bag in portions, which several processes work on at once.

Every portion begins a little earlier than its rows, so that the pipeline knows what it would have known there. Where
more than that is remembered, there is one portion: presliding friction, the observer, a payload that was told.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..core.errors import KrangDynamicsError
from ..dynamics.terms import TERMS
from ..pipeline.pipeline import Pipeline
from ..recordings.bag import EARLIEST, LATEST, Bag, Topics
from ..recordings.recording import RecordingError
from ..recordings.table import TableFile
from .job import Job
from .portion import Found, Portion, work
from .replay import states
from .thinned import POINTS

LARGE = 60_000  # messages of joint states in a portion, about
MOST = 1000  # portions, however many messages a bag says that it has
FEWEST_POINTS = 100
LATER = ('pyarrow.parquet', 'rosbags.rosbag2', 'rosbags.typesys')  # what is imported when it is first used


def portions(job: Job, pipeline: Pipeline, recording: Bag | TableFile, topics: Topics) -> list[Portion]:
    """Return the portions of a job, whatever the number of processes is."""
    contents, begin = recording.contents, recording.begin if job.start or job.end < float('inf') else 0
    start = begin + int(job.start * 1e9) if job.start else EARLIEST
    end = begin + int(job.end * 1e9) if job.end < float('inf') else LATEST
    whole = Portion(start, end)
    inner_start, inner_end = max(start, contents.start), min(end, contents.end)
    messages = contents.topics.get(topics.joint_states, ('', 0))[1]
    share = (inner_end - inner_start) / max(contents.end - contents.start, 1)
    count = min(int(messages * share / LARGE), MOST, inner_end - inner_start)
    remember = any(TERMS[term].start_rows(pipeline.dynamics) is None for term in {*job.terms, 'friction'})
    if count < 2 or remember or topics.payloads or 'bag' in job.formats or isinstance(recording, TableFile):
        return [whole]
    first = next(states(pipeline, recording.runs(topics, start, end)), None)
    lead = int((job.margin + 2 * pipeline.inputs.longest_memory) * 1e9)
    within = [inner_start + (inner_end - inner_start) * k // count for k in range(1, count)]
    edges = [start, *within, end]  # by what the bag says of its time, so nothing depends on that at either end
    points = max(POINTS // count, FEWEST_POINTS)
    zero = None if first is None else int(first.stamp[0])
    inner = [
        Portion(edges[k], edges[k + 1], lead, int(job.margin * 1e9), k, zero, points) for k in range(count)
    ]  # fmt: skip
    return [replace(inner[0], lead=0), *inner[1:-1], replace(inner[-1], trail=0)]


def in_portions(
    job: Job, parts: Sequence[Portion], folder: Path, progress: Callable[[float], None], workers: int
) -> list[Found]:
    """Do all portions, in so many processes, this one among them; return what was found in each, in their order."""
    count = min(workers, len(parts))
    next_one = _context().Value('i', 0)
    if count == 1:
        found = _keep_on(job, parts, folder, progress, next_one)
    else:
        with pool(count - 1, _begin, next_one) as processes:
            futures = [processes.submit(_help, job, parts, folder) for _ in range(count - 1)]
            found = _keep_on(job, parts, folder, progress, next_one)
            try:
                found += [one for future in futures for one in future.result()]
            except BrokenProcessPool:
                raise RecordingError(f'{job.recording}: a process was ended; is there enough memory?') from None
    for _, result in found:
        if isinstance(result, str):
            raise RecordingError(result)
    progress(1.0)
    return [result for _, result in sorted(found, key=itemgetter(0)) if not isinstance(result, str)]


def _keep_on(
    job: Job, parts: Sequence[Portion], folder: Path, progress: Callable[[float], None], next_one: Any
) -> list[tuple[int, Found | str]]:
    """Do one portion after the other, of those that nobody has begun; return each with its number.

    A fault is returned as text, for not every error of ours can go from one process to another; then all end.
    """
    found: list[tuple[int, Found | str]] = []
    while True:
        with next_one.get_lock():
            k, next_one.value = next_one.value, next_one.value + 1
        if k >= len(parts):
            return found
        try:
            found.append((k, work(job, parts[k], folder, partial(_progress, progress, k, len(parts)))))
        except KrangDynamicsError as error:
            found.append((k, str(error)))
            next_one.value = len(parts)


def _progress(progress: Callable[[float], None], k: int, count: int, share: float) -> None:
    progress((k + share) / count)


_next_one: Any = None  # in a process that helps: the number of the portion to begin next, which all share


def _begin(next_one: Any) -> None:
    global _next_one  # noqa: PLW0603 (a process that helps has one for its whole life)
    _next_one = next_one


def _help(job: Job, parts: Sequence[Portion], folder: Path) -> list[tuple[int, Found | str]]:
    return _keep_on(job, parts, folder, lambda _: None, _next_one)


def pool(workers: int, begin: Callable[..., None] | None = None, *shared: Any) -> ProcessPoolExecutor:
    """Return processes that Ctrl-C ends at once; they share what they import, which saves time and memory."""
    return ProcessPoolExecutor(workers, _context(), initializer=_started, initargs=(begin, *shared))


def _started(begin: Callable[..., None] | None, *shared: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if begin is not None:
        begin(*shared)


def _context() -> Any:
    context = get_context('forkserver')
    context.set_forkserver_preload([work.__module__, *LATER])
    return context
