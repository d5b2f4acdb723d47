"""Processing of recordings to torques, in processes of this machine or of a Ray cluster."""

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
from .job import FORMATS, Job, engine_and_backend
from .output_folder import SUMMARY, remove_leftovers, results_in, summary_in
from .portions import PortionResult, pool, portions, process_portions, work
from .report import report
from .summary import Downsampled, JointError, Summary

MAX_REFUSED = 0.5  # of the joint states


def process(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Summary:
    """Process a recording unless its results are up to date; return the summary."""
    return done(job) or reprocess(job, progress, workers)


def reprocess(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Summary:
    """Process a recording; its results appear complete or not at all.

    A long bag is processed in portions by `workers` processes; the results do not depend on their number.
    """
    job = _with_earlier_formats(job)
    with results_in(job.out) as folder:
        summary = _process_into(job, folder, progress, workers)
        summary.formats = [*job.formats]
        (folder / SUMMARY).write_text(json.dumps(asdict(summary), indent=1), encoding='utf-8')
    return summary


def _with_earlier_formats(job: Job) -> Job:
    """Return the job with the formats of its earlier results added; refuse to replace results of other settings."""
    earlier = summary_in(job.out)
    if earlier is None:
        return job
    if earlier['digest'] != job.digest and not job.overwrite:
        raise ArgumentError(
            f'{job.out}: has results of other settings or of changed files, must be a new folder; set '
            '--out, or replace the results with --overwrite'
        )
    kept = [name for name in earlier.get('formats', ()) if name in FORMATS and name not in job.formats]
    return replace(job, formats=(*job.formats, *kept))


def done(job: Job) -> Summary | None:
    """Return the summary of existing results if they are up to date, or None."""
    stored = summary_in(job.out)
    if stored is None or stored['digest'] != job.digest or not {*job.formats} <= {*stored.get('formats', ())}:
        return None
    with suppress(TypeError, KeyError):  # another format of the summary: process again
        stored['errors'] = [JointError(**error) for error in stored['errors']]
        return Summary(**stored)
    return None


def _process_into(job: Job, folder: Path, progress: Callable[[float], None], workers: int) -> Summary:
    """Write the results to a folder; return the summary."""
    engine, backend = engine_and_backend(job.parameters)
    with job.open() as recording:
        topics, contents = recording.topics_of(engine.inputs, job.joint_states), recording.contents
        parts, digest, notes = portions(job, engine, recording, topics), job.digest, [*recording.notes]
    if len(parts) == 1:
        found = [work(job, parts[0], folder, progress)]
    else:
        found = process_portions(job, parts, folder, progress, workers)
    if not any(result.states for result in found):
        raise RecordingError('; '.join((f'{job.recording}: {found[0].no_states}', *topics.notes, *notes)))
    _refuse_mostly_refused(job, found)
    used = [topic for topic, _, _ in topics.all]
    summary = Summary(str(job.recording), digest, backend=backend, topics=contents.topics, used=used)
    summary.effort_source = engine.external.efforts.source
    summary.senses = {hand: engine.inputs.hands[hand].sense for hand in topics.wrenches}
    _sum_up(summary, found, engine.dynamics.joint_names)
    indexed = contents.topics.get(topics.joint_states)
    summary.notes = [*notes, *topics.notes, *_miscounted(job, indexed, summary.joint_state_count)]
    downsampled = Downsampled.of([result.downsampled for result in found])
    units = joint_units(engine.model.robot)
    efforts = {name: units[name].effort for name in engine.dynamics.joint_names}
    text = report(summary, efforts, downsampled, engine.external.estimate)
    (folder / 'report.html').write_text(text, encoding='utf-8')
    return summary


def _refuse_mostly_refused(job: Job, found: Sequence[PortionResult]) -> None:
    """Raise `RecordingError` if most joint states were refused: the others do not belong together."""
    refused = [result.refused['joint states'] for result in found if 'joint states' in result.refused]
    count, total = sum(x.count for x in refused), sum(result.joint_state_count for result in found)
    if count > MAX_REFUSED * total:
        raise RecordingError(
            f'{job.recording}: {count} of {total} joint states were refused, must be less than half: `krang doctor` '
            f'finds wrong units, signs and times. Last reason: {refused[-1].reason}'
        )


def _miscounted(job: Job, indexed: tuple[str, int] | None, read: int) -> Iterator[str]:
    """Yield a note if the number of joint states differs from the index of a recording that was read completely."""
    if indexed and indexed[1] != read and not job.start and job.end == float('inf'):
        yield f'its index has {indexed[1]} joint states, but {read} were read'


def _sum_up(summary: Summary, found: Sequence[PortionResult], names: Sequence[str]) -> None:
    """Fill a summary with the sums over all portions."""
    with_states = [result for result in found if result.states]
    summary.states = sum(result.states for result in found)
    summary.seconds = (with_states[-1].last - (with_states[0].first or 0)) * 1e-9
    summary.joint_state_count = sum(result.joint_state_count for result in found)
    summary.time_resets = sum(result.time_resets for result in found)
    summary.repeated = sum(result.repeated for result in found)
    summary.accelerated = sum(result.accelerated for result in found)
    summary.braked = sum(result.braked for result in found)
    errors, timing, velocities = with_states[0].errors, with_states[0].timing, with_states[0].velocities
    for result in with_states[1:]:
        errors.join(result.errors)
        timing.join(result.timing)
        velocities.join(result.velocities)
    summary.errors, summary.timing = errors.errors(), str(timing.timing(summary.repeated))
    summary.velocity_ratios = differing(velocities.ratio, 1.0, names)
    for result in found:
        for name, refusals in result.refused.items():
            summary.refused[name] = (summary.refused.get(name, (0, ''))[0] + refusals.count, refusals.reason)


ray = optional('ray', '--ray')
ATTEMPTS = 2  # at a recording whose process or machine was lost


class Result(NamedTuple):
    """Result of a job: a summary, or a fault."""

    job: Job
    summary: Summary | None
    fault: str = ''
    before: bool = False  # whether existing results were up to date


def attempt(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Result:
    """Process a recording; return a fault as the result, so that other recordings go on."""
    try:
        if summary := done(job):
            return Result(job, summary, before=True)
        with np.errstate(all='ignore'):  # invalid numbers are refused and counted
            return Result(job, reprocess(job, progress, workers))
    except KrangDynamicsError as error:
        return Result(job, None, str(error))
    except OSError as error:
        if error.filename:
            return Result(job, None, f'{job.recording}: {error.filename}: {error.strerror or error}')
        why = f'{error.strerror or error}; its results were to be written to {job.out}'
        return Result(job, None, f'{job.recording}: {why}')
    except Exception as error:  # unexpected: the other recordings go on
        return Result(job, None, f'{job.recording}: {type(error).__name__}: {" ".join(str(error).split())[:300]}')


def on_this_machine(jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    """Process jobs in `workers` processes; yield each result as it is ready. Partial results are removed."""
    try:
        with ExitStack() as all_processes:
            yield from _on_this_machine(jobs, min(workers, len(jobs)), all_processes)
    finally:  # Ctrl-C or a lack of memory may end a process before it removes its files
        for job in jobs:
            remove_leftovers(job.out)


def _on_this_machine(jobs: Sequence[Job], workers: int, all_processes: ExitStack) -> Iterator[Result]:
    """Use an executor per process, so that a killed process affects only its own job."""
    to_do = deque((job, 1) for job in jobs)  # each with the number of its attempt
    idle = [all_processes.enter_context(pool(1)) for _ in range(workers)]
    at_work: dict[Future[Result], tuple[ProcessPoolExecutor, Job, int]] = {}
    while to_do or at_work:
        while to_do and idle:
            executor, (job, attempts) = idle.pop(), to_do.popleft()
            at_work[_submitted(executor, job)] = (executor, job, attempts)
        ended, _ = wait(at_work, return_when=FIRST_COMPLETED)
        for future in ended:
            executor, job, attempts = at_work.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                executor.shutdown()
                executor = all_processes.enter_context(pool(1))
            idle.append(executor)
            if isinstance(error, BrokenProcessPool) and attempts < ATTEMPTS:
                to_do.append((job, attempts + 1))
            else:
                yield future.result() if error is None else Result(job, None, _why(job, error, attempts))


def _submitted(executor: ProcessPoolExecutor, job: Job) -> Future[Result]:
    """Submit a job; a process that was killed while idle is treated like one killed by the job."""
    try:
        return executor.submit(attempt, job)
    except BrokenProcessPool as error:
        broken: Future[Result] = Future()
        broken.set_exception(error)
        return broken


def _why(job: Job, error: BaseException, attempts: int) -> str:
    if isinstance(error, BrokenProcessPool):
        return f'{job.recording}: its process was killed in {attempts} of {ATTEMPTS} attempts; is there enough memory?'
    return f'{job.recording}: {type(error).__name__}: {" ".join(str(error).split())[:300]}'


def on_a_cluster(jobs: Sequence[Job], address: str) -> Iterator[Result]:
    """Process jobs on a Ray cluster with shared files; yield each result as it is ready."""
    ray.init(address=address, log_to_driver=False)
    try:
        remote = ray.remote(attempt).options(max_retries=ATTEMPTS - 1, retry_exceptions=False)
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
