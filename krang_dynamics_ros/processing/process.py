"""Recordings in, torques out: one recording, or many, each in a process of this machine or of a Ray cluster."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ArgumentError, KrangDynamicsError
from ..core.optional import optional
from ..recordings.recording import RecordingError
from ..recordings.timing import differing
from ..robot.robot import joint_units
from .job import FORMATS, Job, session
from .output_folder import SUMMARY, remove_left, results_in, summary_in
from .portions import PortionResult, in_portions, pool, portions, topics_for, work
from .report import report
from .summary import Downsampled, JointError, Summary


def process(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Summary:
    """Do a job, if it is not done already; return what was found."""
    return done(job) or process_anew(job, progress, workers)


def process_anew(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Summary:
    """Do a job; its results are there whole or not at all.

    A long bag is done in portions, by so many processes; the results are the same for any number of them.
    """
    job = _with_earlier_formats(job)
    with results_in(job.out) as folder:
        summary = _worked(job, folder, progress, workers)
        summary.formats = [*job.formats]
        (folder / SUMMARY).write_text(json.dumps(asdict(summary), indent=1), encoding='utf-8')
    return summary


def _with_earlier_formats(job: Job) -> Job:
    """Return the job with the kinds of files that its earlier results have; refuse to lose those of another job."""
    earlier = summary_in(job.out)
    if earlier is None:
        return job
    if earlier['digest'] != job.digest and not job.overwrite:
        raise ArgumentError(
            f'{job.out}: holds results of other settings, or of another state of the files, must be a new folder; name '
            'one by --out, or replace the results by --overwrite'
        )
    kept = [name for name in earlier.get('formats', ()) if name in FORMATS and name not in job.formats]
    return replace(job, formats=(*job.formats, *kept))


def done(job: Job) -> Summary | None:
    """Return the summary of results that are there, if they are those of this job."""
    told = summary_in(job.out)
    if told is None or told['digest'] != job.digest or not {*job.formats} <= {*told.get('formats', ())}:
        return None
    with suppress(TypeError, KeyError):  # it was changed since; the job is done anew
        told['errors'] = [JointError(**error) for error in told['errors']]
        return Summary(**told)
    return None


def _worked(job: Job, folder: Path, progress: Callable[[float], None], workers: int) -> Summary:
    """Write the results into a folder, and return what was found."""
    engine, backend = session(job.parameters)
    with job.open() as recording:
        topics, contents = topics_for(job, engine, recording), recording.contents
        parts, digest, notes = portions(job, engine, recording, topics), job.digest, [*recording.notes]
    if len(parts) == 1:
        found = [work(job, parts[0], folder, progress)]
    else:
        found = in_portions(job, parts, folder, progress, workers)
    if not any(one.states for one in found):
        raise RecordingError('; '.join((f'{job.recording}: {found[0].nothing}', *topics.notes, *notes)))
    used = [topic for topic, _, _ in topics.all]
    summary = Summary(str(job.recording), digest, backend=backend, topics=contents.topics, used=used)
    summary.effort_source = engine.external.efforts.source
    summary.senses = {hand: engine.inputs.hands[hand].sense for hand in topics.wrenches}
    _sum_up(summary, found, engine.dynamics.joint_names)
    summary.notes = [*notes, *topics.notes, *_miscounted(job, contents.topics.get(topics.joint_states), summary.heard)]
    downsampled = Downsampled.of([one.downsampled for one in found])
    units = joint_units(engine.model.robot)
    efforts = {name: units[name].effort for name in engine.dynamics.joint_names}
    text = report(summary, efforts, downsampled, engine.external.estimate)
    (folder / 'report.html').write_text(text, encoding='utf-8')
    return summary


def _miscounted(job: Job, said: tuple[str, int] | None, read: int) -> Iterator[str]:
    """Say so if a whole recording had other numbers of joint states than its index says."""
    if said and said[1] != read and not job.start and job.end == float('inf'):
        yield f'its index says {said[1]} joint states, {read} were read'


def _sum_up(summary: Summary, found: Sequence[PortionResult], names: Sequence[str]) -> None:
    """Put into a summary what was found in all portions."""
    with_states = [one for one in found if one.states]
    summary.states = sum(one.states for one in found)
    summary.seconds = (with_states[-1].last - (with_states[0].first or 0)) * 1e-9
    summary.heard, summary.jumps = sum(one.heard for one in found), sum(one.jumps for one in found)
    summary.repeated = sum(one.repeated for one in found)
    summary.accelerated = sum(one.accelerated for one in found)
    errors, timing, velocities = with_states[0].errors, with_states[0].timing, with_states[0].velocities
    for one in with_states[1:]:
        errors.join(one.errors)
        timing.join(one.timing)
        velocities.join(one.velocities)
    summary.errors, summary.timing = errors.errors(), str(timing.timing(summary.repeated))
    summary.velocity_ratios = differing(velocities.ratio, 1.0, names)
    for one in found:
        for name, refusals in one.refused.items():
            summary.refused[name] = (summary.refused.get(name, (0, ''))[0] + refusals.count, refusals.reason)


ray = optional('ray', '--ray')
TRIES = 2  # of a recording whose process or machine went away


class Result(NamedTuple):
    """A job and what came of it: a summary, or why there is none."""

    job: Job
    summary: Summary | None
    fault: str = ''
    before: bool = False  # whether it was done already, and nothing was done now


def attempt(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Result:
    """Do a job; what is wrong with one recording is its result, and does not end the others."""
    try:
        if summary := done(job):
            return Result(job, summary, before=True)
        with np.errstate(all='ignore'):  # numbers that no robot has are refused, and counted
            return Result(job, process_anew(job, progress, workers))
    except KrangDynamicsError as error:
        return Result(job, None, str(error))
    except OSError as error:
        if error.filename:
            return Result(job, None, f'{job.recording}: {error.filename}: {error.strerror or error}')
        return Result(job, None, f'{job.recording}: {error.strerror or error}; results were to go to {job.out}')
    except Exception as error:  # whatever it is, the other recordings go on
        return Result(job, None, f'{job.recording}: {type(error).__name__}: {" ".join(str(error).split())[:300]}')


def on_this_machine(jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    """Do jobs in so many processes, and return each result as it comes; no half results stay of those that ended."""
    try:
        with ExitStack() as all_processes:
            yield from _on_this_machine(jobs, min(workers, len(jobs)), all_processes)
    finally:  # Ctrl-C, and a lack of memory, end a process before it tidies up
        for job in jobs:
            remove_left(job.out)


def _on_this_machine(jobs: Sequence[Job], workers: int, all_processes: ExitStack) -> Iterator[Result]:
    """Give every process an executor of its own: one that is killed takes no other job with it."""
    to_do = deque((job, 1) for job in jobs)  # each with the number of its try
    idle = [all_processes.enter_context(pool(1)) for _ in range(workers)]
    at_work: dict[Future[Result], tuple[ProcessPoolExecutor, Job, int]] = {}
    while to_do or at_work:
        while to_do and idle:
            executor, (job, tries) = idle.pop(), to_do.popleft()
            at_work[_submitted(executor, job)] = (executor, job, tries)
        ended, _ = wait(at_work, return_when=FIRST_COMPLETED)
        for future in ended:
            executor, job, tries = at_work.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                executor.shutdown()
                executor = all_processes.enter_context(pool(1))
            idle.append(executor)
            if isinstance(error, BrokenProcessPool) and tries < TRIES:
                to_do.append((job, tries + 1))
            else:
                yield future.result() if error is None else Result(job, None, _why(job, error, tries))


def _submitted(executor: ProcessPoolExecutor, job: Job) -> Future[Result]:
    """Hand a job to a process; one that was killed while it had nothing to do is as one that was killed by the job."""
    try:
        return executor.submit(attempt, job)
    except BrokenProcessPool as error:
        broken: Future[Result] = Future()
        broken.set_exception(error)
        return broken


def _why(job: Job, error: BaseException, tries: int) -> str:
    if isinstance(error, BrokenProcessPool):
        return f'{job.recording}: its process was ended, {tries} times of {TRIES}; is there enough memory?'
    return f'{job.recording}: {type(error).__name__}: {" ".join(str(error).split())[:300]}'


def on_a_cluster(jobs: Sequence[Job], address: str) -> Iterator[Result]:
    """Do jobs on a Ray cluster whose machines see the same files, and return each result as it comes."""
    ray.init(address=address, log_to_driver=False)
    try:
        remote = ray.remote(attempt).options(max_retries=TRIES - 1, retry_exceptions=False)
        waiting: dict[Any, Job] = {remote.remote(job): job for job in jobs}
        while waiting:
            (ended,), _ = ray.wait([*waiting], num_returns=1)
            job = waiting.pop(ended)
            try:
                yield ray.get(ended)
            except ray.exceptions.RayError as error:
                yield Result(job, None, f'{job.recording}: {" ".join(str(error).split())[:300]}')
    finally:
        ray.shutdown()
