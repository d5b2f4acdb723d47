"""Files: data of the package, private folders of the user, and atomic writing of text files."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from .errors import KrangDynamicsError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class PrivateFolderError(KrangDynamicsError):
    """A folder with a relative path, or to which other users have access."""


def private_folder(variable: str, default: str, name: str) -> Path:
    """Return folder `name` below the folder that an environment variable names (else `default` in the home folder).

    A missing folder is created with mode 0700.

    Raises:
        PrivateFolderError: the path is relative, another user owns the folder or may enter it, or any user may rename
            it.
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
    """Refuse a parent in which any user can replace our folder: writable for all, without the sticky bit that /tmp has.

    Write access of a group is allowed: on many systems each user has a group of their own, and mode 0775.
    """
    mode = parent.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise PrivateFolderError(
            f'{parent}: mode {stat.S_IMODE(mode):04o}, must not be writable by every user; '
            f'chmod o-w it, or name another folder in {variable}'
        )


_PERMISSIONS = 0o777  # of a mode, without its special bits
_NAME_CHARS = 40  # of the target's name in the name of the temporary file, which may have 255 bytes


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file atomically: after an error the old file is unchanged."""
    with whole_file(path) as stream:
        stream.write(text)


@contextmanager
def whole_file(path: str | Path) -> Iterator[TextIO]:
    """Yield a stream whose file replaces `path` at the end; after an error `path` is unchanged."""
    target = Path(path).resolve()  # a link stays a link
    try:
        if target.exists() and not target.is_file():  # a device is opened directly
            with target.open('w', encoding='utf-8', newline='') as stream:
                yield stream
        else:
            with _renamed_to(target) as stream:
                yield stream
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def _renamed_to(target: Path) -> Iterator[TextIO]:
    """Yield a stream to a new file beside `target`, renamed at the end, removed after an error.

    The name is random, the file is created here (O_EXCL, O_NOFOLLOW) and written by its descriptor: a link with this
    name is never followed.
    """
    mode = _mode_of(target)
    descriptor, part = tempfile.mkstemp(prefix=f'.{target.name[:_NAME_CHARS]}.', suffix='.part', dir=target.parent)
    try:
        with os.fdopen(descriptor, 'w', encoding='utf-8', newline='') as stream:
            os.fchmod(descriptor, mode)
            yield stream
        Path(part).replace(target)
    finally:
        Path(part).unlink(missing_ok=True)


def _mode_of(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those of any new file of this process."""
    with suppress(FileNotFoundError):
        return target.stat().st_mode & _PERMISSIONS
    mask = os.umask(0)  # reading it is only possible by setting it
    os.umask(mask)
    return 0o666 & ~mask


PACKAGE = 'krang_dynamics_ros'


def share(*parts: str) -> Path:
    """Return the path of a data file of the package, from its parts, such as 'config', 'krang.yaml'."""
    here = Path(__file__).resolve()
    for folder in here.parents:
        for root in (folder, folder / 'share' / PACKAGE):
            if (root / 'package.xml').is_file() and (root / 'config' / 'krang.yaml').is_file():
                return root.joinpath(*parts)
    raise KrangDynamicsError(f'share/{PACKAGE} is not above {here}: the installation is incomplete')


def krang_file() -> Path:
    """Return Krang's robot file, the default."""
    return share('config', 'krang.yaml')


def robot_files() -> list[Path]:
    """Return the robot files of the package, without `krang_identified`: Krang again, with other numbers."""
    return [krang_file(), *sorted(share('config', 'textbook').glob('*.yaml'))]


def named_robots() -> dict[str, Path]:
    """Return all robot files of the package by their names: without folder and `.yaml`."""
    return {file.stem: file for file in (*robot_files(), share('config', 'krang_identified.yaml'))}


def robot_named(name: str) -> Path | None:
    """Return a robot file of the package by its name."""
    return named_robots().get(name)
