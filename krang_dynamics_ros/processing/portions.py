"""A long bag in portions, which several processes work on at once.

Every portion begins a little earlier than its rows, so that the pipeline knows what it would have known there. Where
more than that is remembered, there is one portion: presliding friction, the observer, a payload that was told.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from ..core.errors import KrangDynamicsError
from ..dynamics.terms import TERMS
from ..pipeline.pipeline import Pipeline
from ..recordings.bag import Bag, Topics
from ..recordings.recording import RecordingError
from ..recordings.table import TableFile
from .job import Job
from .portion import MARGIN, Found, Portion, work
from .replay import states
from .thinned import POINTS

LARGE = 60_000  # messages of joint states in a portion, about
FEWEST_POINTS = 100


def portions(job: Job, pipeline: Pipeline, recording: Bag | TableFile, topics: Topics) -> list[Portion]:
    """Return the portions of a job, whatever the number of processes is."""
    contents = recording.contents
    start = contents.start + int(job.start * 1e9)
    end = contents.end if job.end == float('inf') else contents.start + int(job.end * 1e9)
    whole = Portion(start, end)
    messages = contents.topics.get(topics.joint_states, ('', 0))[1]
    share = (min(end, contents.end) - start) / max(contents.end - contents.start, 1)
    count = int(messages * share / LARGE)
    remember = any(TERMS[term].start_rows(pipeline.dynamics) is None for term in {*job.terms, 'friction'})
    if count < 2 or remember or topics.payloads or 'bag' in job.formats or isinstance(recording, TableFile):
        return [whole]
    first = next(states(pipeline, recording.runs(topics, start, end)), None)
    lead = int((2 * max(pipeline.inputs.longest_memory, MARGIN) + MARGIN) * 1e9)
    edges = [start + (end - start) * k // count for k in range(count + 1)]
    points = max(POINTS // count, FEWEST_POINTS)
    zero = None if first is None else int(first.stamp[0])
    inner = [
        Portion(edges[k], edges[k + 1], lead, int(2 * MARGIN * 1e9), k, zero, points) for k in range(count)
    ]  # fmt: skip
    return [replace(inner[0], lead=0), *inner[1:-1], replace(inner[-1], trail=0)]


def in_portions(
    job: Job, parts: Sequence[Portion], folder: Path, progress: Callable[[float], None], workers: int
) -> list[Found]:
    """Do all portions, in so many processes, and return what was found in each, in their order."""
    if workers == 1:
        return [
            work(job, part, folder, lambda share, k=k: progress((k + share) / len(parts)))  # type: ignore[misc]
            for k, part in enumerate(parts)
        ]
    found: dict[int, Found] = {}
    with pool(min(workers, len(parts))) as processes:
        waiting = {processes.submit(_attempt, job, part, folder): k for k, part in enumerate(parts)}
        try:
            for future in as_completed(waiting):
                result = future.result()
                if isinstance(result, str):
                    raise RecordingError(result)
                found[waiting[future]] = result
                progress(len(found) / len(parts))
        except BrokenProcessPool:
            raise RecordingError(f'{job.recording}: a process was ended; is there enough memory?') from None
        finally:
            processes.shutdown(wait=True, cancel_futures=True)
    return [found[k] for k in range(len(parts))]


def _attempt(job: Job, part: Portion, folder: Path) -> Found | str:
    """Do a portion, or return what is wrong: not every error of ours can go from one process to another."""
    try:
        return work(job, part, folder)
    except KrangDynamicsError as error:
        return str(error)


def pool(workers: int) -> ProcessPoolExecutor:
    """Return processes that Ctrl-C ends at once."""
    return ProcessPoolExecutor(
        workers, get_context('spawn'), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL)
    )
