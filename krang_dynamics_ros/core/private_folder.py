"""Folders of this user alone, for files that a program trusts: compiled libraries, which run as soon as they load."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .errors import KrangDynamicsError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class PrivateFolderError(KrangDynamicsError):
    """A folder that others may write to, or whose place depends on where the program was started."""


def private_folder(variable: str, default: str, name: str) -> Path:
    """Return folder `name` below the folder that an environment variable names (else `default` in the home folder).

    It is made with mode 0700 if it is missing. `PrivateFolderError` if its path is relative, if another user owns it or
    may enter it, or if every user may rename it.
    """
    base = Path(os.environ.get(variable) or Path.home() / default)
    if not base.is_absolute():
        raise PrivateFolderError(f"{variable}: '{base}', must be an absolute path; unset it for ~/{default}")
    folder = base / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = folder.resolve()
    _check_own(folder, variable)
    for parent in folder.parents:
        _check_parent(parent, variable)
    return folder


def _check_own(folder: Path, variable: str) -> None:
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise PrivateFolderError(
            f'{folder}: belongs to user {status.st_uid}, must belong to user {os.geteuid()}, who runs this; '
            f'name another folder in {variable}'
        )
    if mode := status.st_mode & _OTHERS:
        raise PrivateFolderError(
            f'{folder}: mode {stat.S_IMODE(status.st_mode):04o}, must be 0700: other users can '
            f'{"write to" if mode & (stat.S_IWGRP | stat.S_IWOTH) else "enter"} it; '
            f'look at what is in it, then chmod 700 it, or delete it'
        )


def _check_parent(parent: Path, variable: str) -> None:
    """Refuse a parent where every user can put another folder in the place of ours: writable, and not sticky as /tmp.

    A group may write to it: on many systems each user has a group of their own, and 0775 is usual there.
    """
    mode = parent.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise PrivateFolderError(
            f'{parent}: mode {stat.S_IMODE(mode):04o}, must not be writable by every user; '
            f'chmod o-w it, or name another folder in {variable}'
        )
