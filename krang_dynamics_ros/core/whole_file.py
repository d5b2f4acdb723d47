"""Files that are there whole or not at all: written aside, then put in place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: str | Path, text: str) -> None:
    """Write a text, or leave what was there as it was."""
    with whole_file(path) as part:
        part.write_text(text, encoding='utf-8')


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a file to write, which takes the place of `path` in the end; after an error that is as it was."""
    place = Path(path).resolve()  # a link stays one
    aside = place.is_file() or not place.exists()  # nothing takes the place of a device
    part = place.with_name(f'.{place.name}.part') if aside else place
    try:
        yield part
        if aside:
            if place.exists():
                shutil.copymode(place, part)
            part.replace(place)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        if aside:
            part.unlink(missing_ok=True)
