"""Output folders: a folder per recording, which replaces earlier results and nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..core.errors import ArgumentError, TakenError, listed
from .job import Job

SUMMARY = 'summary.json'
RESULT_PREFIXES = (SUMMARY, 'report.html', 'torques')  # of the names of results


def folder_for(recording: Path, out: Path) -> Path:
    """Return the folder for the results of a recording: named like a bag folder, or like a file without suffix."""
    named = recording if recording.name not in ('', '..') else recording.resolve()
    return (out / (named.name if named.is_dir() else named.stem)).absolute()


def check_folders(jobs: Sequence[Job], read: Iterable[Path]) -> None:
    """Refuse jobs with the same output folder, or with one inside or above a recording or a path in `read`."""
    recordings: dict[Path, Path] = {}
    sources = [*(job.recording for job in jobs), *read]
    for job in jobs:
        folder = job.out.resolve()
        if folder in recordings:
            raise ArgumentError(
                f'{recordings[folder]} and {job.recording}: both have output folder {job.out}, must be two folders; '
                'run them separately, each with its own --out'
            )
        recordings[folder] = job.recording
        for source in sources:
            path = source.resolve()
            if folder == path or folder in path.parents or path in folder.parents:
                raise ArgumentError(
                    f'{job.out}: output folder, must not contain or be inside of the input {source}; set another --out'
                )


def summary_in(folder: Path) -> dict[str, Any] | None:
    """Return the content of the summary in a folder of results; None if there is none."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError):
        return None
    return summary if isinstance(summary, dict) and 'digest' in summary else None


def check_replaceable(folder: Path) -> None:
    """Refuse a folder with other content than results."""
    empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not empty and summary_in(folder) is None:
        raise ArgumentError(
            f'{folder}: exists and has no results ({SUMMARY}), must be a folder of results or a new one; '
            'set another --out'
        )
    if others := [path.name for path in folder.glob('*') if not path.name.startswith(RESULT_PREFIXES)]:
        raise ArgumentError(f'{folder}: has {listed(others)}, which are not results and would be lost; move them')


@contextmanager
def results_in(out: Path) -> Iterator[Path]:
    """Yield a new folder for results, which replaces `out` at the end; after an error, `out` is unchanged.

    A lock file next to it, which the system releases when the process ends, makes a second process that writes there
    fail with `TakenError`. Leftovers of a killed process are removed. The new folder has a unique name, so that a child
    of a killed process cannot write into it.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        check_replaceable(out)
        try:
            part = _new_folder(out)
            yield part
            if out.is_symlink() or out.exists():
                out.replace(_new_folder(out) / out.name)
            part.replace(out)
        finally:
            _remove_parts(out)


def remove_leftovers(out: Path) -> None:
    """Remove leftovers of a killed process of this run, but not the files of another run."""
    if _lock_of(out).exists():
        with suppress(TakenError, OSError), _locked(out):
            _remove_parts(out)


def _new_folder(out: Path) -> Path:
    folder = out.with_name(f'.{out.name}.{secrets.token_hex(4)}.part')
    folder.mkdir()
    return folder


def _remove_parts(out: Path) -> None:
    named = re.compile(rf'\.{re.escape(out.name)}\.[0-9a-f]{{8}}\.part')
    for path in out.parent.iterdir():
        if named.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


def _lock_of(out: Path) -> Path:
    return out.with_name(f'.{out.name}.lock')


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Lock an output folder for this process; raise `TakenError` if another process has it."""
    lock = _lock(out)
    try:
        yield
    finally:
        _lock_of(out).unlink(missing_ok=True)  # while locked, so that a waiting process detects it
        os.close(lock)


def _lock(out: Path) -> int:
    """Acquire the lock of an output folder; return its open file."""
    path = _lock_of(out)
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            fault = f'{out}: another process writes results there, must be a single one'
            raise TakenError(f'{fault}; wait for it, or set another --out') from None
        except OSError as error:
            os.close(lock)
            raise OSError(error.errno, f'cannot be locked: {error.strerror}', str(path)) from None
        if _is_at(lock, path):
            return lock
        os.close(lock)  # another process has removed this file


def _is_at(lock: int, path: Path) -> bool:
    """Return whether an open file is still the file at a path."""
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False
