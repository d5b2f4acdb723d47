"""The formats of recordings, and the one way to open any of them."""

from __future__ import annotations

from pathlib import Path

from .bag import Bag, is_bag
from .layout import OWN, LaidOut, Layout, layouts, load_layout, refuse_incomplete
from .recording import RecordingError
from .source import Source
from .table import SUFFIXES, TableFile


def open_source(path: Path, layout: Path | None = None) -> Source:
    """Return the source at a path, for use in a `with`; a `layout` file has priority over all others."""
    if not path.exists():
        raise RecordingError(f'{path}: no such file or folder; must be a recording')
    if known := _layout_of(path, layout):
        return LaidOut(path, known)
    if is_bag(path):
        return Bag(path)
    if path.is_file() and path.suffix in SUFFIXES:
        return TableFile(path)
    refuse_incomplete(path)
    known_names = ', '.join(known.name for known in layouts())
    raise RecordingError(
        f'{path}: is laid out like none of {known_names}, and is no bag or table ({", ".join(SUFFIXES)}); put {OWN} '
        'into it, which says which file or column is which (docs/identification.md)'
    )


def robot_of(path: Path, layout: Path | None = None) -> Path | None:
    """Return the robot file that the layout of a recording names, or None."""
    known = _layout_of(path, layout)
    return None if known is None else LaidOut(path, known).robot


def _layout_of(path: Path, given: Path | None) -> Layout | None:
    """Return the given layout, that in the folder, or a known one that fits; None for bags and tables with a head."""
    if given is not None:
        return load_layout(given)
    if (path / OWN).is_file():
        return load_layout(path / OWN)
    return None if is_bag(path) else next((known for known in layouts() if known.fits(path)), None)
