"""Where results go: to a folder for each recording, which takes the place of earlier results, and of nothing else."""

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
OURS = (SUMMARY, 'report.html', 'torques')  # how the names of results begin


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
    if others := [path.name for path in folder.glob('*') if not path.name.startswith(OURS)]:
        raise ArgumentError(f'{folder}: holds {listed(others)}, which are no results, and would be lost; move them')


@contextmanager
def results_in(out: Path) -> Iterator[Path]:
    """Give a new folder for results, which takes the place of `out` in the end; after an error that is as it was.

    Beside it lies a lock, which the system takes back when the process ends, however it ends: a second process that
    would write there meanwhile gets a `TakenError`. What a process that was killed left is removed; the folder has a
    name of its own, so that nothing of a process that still works for a killed one comes into it.
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


def remove_left(out: Path) -> None:
    """Remove what a process of this run left that was ended; leave alone what another run is writing."""
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
    """Lock the place of results for this process; `TakenError` if another one has it."""
    lock = _lock(out)
    try:
        yield
    finally:
        _lock_of(out).unlink(missing_ok=True)  # while it is locked: another process that has it open finds it gone
        os.close(lock)


def _lock(out: Path) -> int:
    """Return the open file of a lock that is ours."""
    path = _lock_of(out)
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            where = f'{out}: another process writes its results there, must be one at a time'
            raise TakenError(f'{where}; wait for it, or name another folder by --out') from None
        except OSError as error:
            os.close(lock)
            raise OSError(error.errno, f'cannot be locked: {error.strerror}', str(path)) from None
        if _is_at(lock, path):
            return lock
        os.close(lock)  # of a file that another process has removed since


def _is_at(lock: int, path: Path) -> bool:
    """Tell whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False
