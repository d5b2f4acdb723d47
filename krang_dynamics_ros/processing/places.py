"""Where results go: to a folder for each recording, which takes the place of earlier results, and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import ArgumentError
from .job import Job

SUMMARY = 'summary.json'


def folder_for(recording: Path, out: Path) -> Path:
    """Return the folder for a recording's results, of its name: a bag's folder may have dots, a file has an ending."""
    named = recording if recording.name not in ('', '..') else recording.resolve()
    return (out / (named.name if named.is_dir() else named.stem)).absolute()


def check_places(jobs: Sequence[Job], read: Iterable[Path]) -> None:
    """Refuse jobs that would write to one folder, or to where something is read: a recording, or another of `read`."""
    taken: dict[Path, Path] = {}
    sources = [*(job.recording for job in jobs), *read]
    for job in jobs:
        place = job.out.resolve()
        if place in taken:
            raise ArgumentError(
                f'{taken[place]} and {job.recording}: the results of both would go to {job.out}, must be two folders; '
                'run them apart, each with its own --out'
            )
        taken[place] = job.recording
        for source in sources:
            path = source.resolve()
            if place == path or place in path.parents or path in place.parents:
                raise ArgumentError(
                    f'{job.out}: would get results, but {source} is read, must be apart from it; --out names another'
                )


def summary_in(folder: Path) -> dict[str, Any] | None:
    """Return the summary that results of ours have, as it stands there; None: there is none."""
    try:
        told = json.loads((folder / SUMMARY).read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and 'digest' in told else None


def check_replaceable(folder: Path) -> None:
    """Refuse a folder that holds anything but results of ours."""
    empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not empty and summary_in(folder) is None:
        raise ArgumentError(
            f'{folder}: is there and holds no results ({SUMMARY}), must be a folder of results, or none; '
            '--out names another'
        )
