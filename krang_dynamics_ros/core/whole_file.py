"""Text files that are there whole or not at all: written aside under a random name, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

_PERMISSIONS = 0o777  # of a mode, without its special bits
_SHORT = 40  # characters of a name that the name of the file aside keeps: no name may have more than 255 bytes


def write_whole(path: str | Path, text: str) -> None:
    """Write a text, or leave what was there as it was."""
    with whole_file(path) as stream:
        stream.write(text)


@contextmanager
def whole_file(path: str | Path) -> Iterator[TextIO]:
    """Yield a stream whose file takes the place of `path` in the end; after an error `path` is as it was."""
    target = Path(path).resolve()  # a link stays a link
    try:
        if target.exists() and not target.is_file():  # a device is written to as it is
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

    The name is random and the file is created by this call (O_EXCL, O_NOFOLLOW), then written by its descriptor: a link
    that was put there beforehand, or meanwhile, is never followed.
    """
    mode = _mode_of(target)
    descriptor, part = tempfile.mkstemp(prefix=f'.{target.name[:_SHORT]}.', suffix='.part', dir=target.parent)
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
    mask = os.umask(0)  # there is no way to read it without setting it
    os.umask(mask)
    return 0o666 & ~mask
