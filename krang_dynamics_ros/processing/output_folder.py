"""The folder of a recording's results, which one process at a time writes: they are there whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.errors import TakenError
from .places import check_replaceable


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
