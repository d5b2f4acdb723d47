"""Many recordings: each one is a task of its own, in a process of this machine or of a Ray cluster."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from ..core.errors import KrangDynamicsError
from ..core.optional import optional
from .job import Job
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
        yield from _on_this_machine(jobs, workers)
    finally:  # Ctrl-C, and a lack of memory, end a process before it tidies up
        for job in jobs:
            shutil.rmtree(job.part, ignore_errors=True)


def _on_this_machine(jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    tries = dict.fromkeys(range(len(jobs)), 0)
    while tries:
        with pool(min(workers, len(tries))) as processes:
            waiting: dict[Future[Result], int] = {processes.submit(attempt, jobs[k]): k for k in tries}
            while waiting:
                ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ended:
                    k = waiting.pop(future)
                    if (result := _result(future, jobs[k], tries, k)) is not None:
                        tries.pop(k)
                        yield result


def _result(future: Future[Result], job: Job, tries: dict[int, int], k: int) -> Result | None:
    """Return a result, or None if its process went away and it is worth another try."""
    try:
        return future.result()
    except BrokenProcessPool:
        tries[k] += 1
        fault = f'{job.recording}: its process was ended, {tries[k]} times of {TRIES}; is there enough memory?'
        return Result(job, None, fault) if tries[k] >= TRIES else None


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
