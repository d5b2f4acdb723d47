"""A file that is written whole or not at all: a full disk leaves what was there before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .errors import KrangDynamicsError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` write a file, which takes its place at `path` once it is whole; a device is written as it is."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        _tried(path, lambda: write(target))
        return
    part = target.with_name(f'.part-{target.name}')
    try:
        _tried(path, lambda: write(part))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _tried(path: Path, work: Callable[[], object]) -> None:
    try:
        work()
    except OSError as error:
        raise KrangDynamicsError(f'{path}: {error.strerror}; not written') from None
