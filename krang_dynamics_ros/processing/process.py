"""One recording in, its torques out: as tables, as a bag, with how far the model is from what was measured.

`process` is a function of its job alone: it may run in any process, on any machine that sees the files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ..recordings.recording import RecordingError
from .errors_by_joint import JointError
from .job import Job, session
from .output_folder import results_in
from .places import SUMMARY, summary_in
from .portion import Found, topics_for, work
from .portions import in_portions, portions
from .report import report
from .summary import Summary
from .thinned import Thinned


def process(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Summary:
    """Do a job, if it is not done already; return what was found."""
    return done(job) or process_anew(job, progress, workers)


def process_anew(job: Job, progress: Callable[[float], None] = lambda _: None, workers: int = 1) -> Summary:
    """Do a job; its results are there whole or not at all.

    A long bag is done in portions, by so many processes; the results are the same for any number of them.
    """
    with results_in(job.out) as folder:
        summary = _worked(job, folder, progress, workers)
        (folder / SUMMARY).write_text(json.dumps(asdict(summary), indent=1), encoding='utf-8')
    return summary


def done(job: Job) -> Summary | None:
    """Return the summary of results that are there, if they are those of this job."""
    told = summary_in(job.out)
    if told is None or told['digest'] != job.digest:
        return None
    with suppress(TypeError, KeyError):  # it was changed since; the job is done anew
        told['errors'] = [JointError(**error) for error in told['errors']]
        return Summary(**told)
    return None


def _worked(job: Job, folder: Path, progress: Callable[[float], None], workers: int) -> Summary:
    """Write the results into a folder, and return what was found."""
    pipeline, backend = session(job.parameters)
    with job.open() as recording:
        topics, contents = topics_for(job, pipeline, recording), recording.contents
        parts, digest, notes = portions(job, pipeline, recording, topics), job.digest, [*recording.notes]
    if len(parts) == 1:
        found = [work(job, parts[0], folder, progress)]
    else:
        found = in_portions(job, parts, folder, progress, workers)
    if not any(one.states for one in found):
        raise RecordingError('; '.join((f'{job.recording}: {found[0].nothing}', *topics.notes, *notes)))
    used = [topic for topic, _, _ in topics.all]
    summary = Summary(str(job.recording), digest, backend=backend, topics=contents.topics, used=used)
    summary.effort_source = pipeline.external.observer.source
    _sum_up(summary, found)
    summary.notes = [*notes, *topics.notes, *_miscounted(job, contents.topics.get(topics.joint_states), summary.heard)]
    thinned = Thinned.of([one.thinned for one in found])
    text = report(summary, pipeline.dynamics.joint_names, thinned, pipeline.external.estimate)
    (folder / 'report.html').write_text(text, encoding='utf-8')
    return summary


def _miscounted(job: Job, said: tuple[str, int] | None, read: int) -> Iterator[str]:
    """Say so if a whole recording had other numbers of joint states than its index says."""
    if said and said[1] != read and not job.start and job.end == float('inf'):
        yield f'its index says {said[1]} joint states, {read} were read'


def _sum_up(summary: Summary, found: Sequence[Found]) -> None:
    """Put into a summary what was found in all portions."""
    with_states = [one for one in found if one.states]
    summary.states = sum(one.states for one in found)
    summary.seconds = (with_states[-1].last - (with_states[0].first or 0)) * 1e-9
    summary.heard, summary.jumps = sum(one.heard for one in found), sum(one.jumps for one in found)
    summary.repeated = sum(one.repeated for one in found)
    summary.accelerated = sum(one.accelerated for one in found)
    errors = with_states[0].errors
    for one in with_states[1:]:
        errors.join(one.errors)
    summary.errors = errors.errors()
    for one in found:
        for name, refusals in one.refused.items():
            summary.refused[name] = (summary.refused.get(name, (0, ''))[0] + refusals.count, refusals.reason)
