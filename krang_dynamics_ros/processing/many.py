"""Many recordings: each one is a task of its own, in a process of this machine or of a Ray cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.optional import optional
from .job import Job
from .output_folder import remove_left
from .portions import pool
from .process import done, process_anew
from .summary import Summary

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
