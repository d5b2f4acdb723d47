"""The text of a robot's file: of bounded size, in whatever encoding it says, xacro expanded."""

from __future__ import annotations

import re
from pathlib import Path

from ..core.errors import Fault, RobotError
from ..core.share import robot_files
from .xacro_process import expanded
from .xml_reading import LARGEST

_ENCODING = re.compile(rb'^\s*<\?xml[^>]*\bencoding\s*=\s*["\']([A-Za-z0-9._-]+)["\']')


def text_of(path: str | Path) -> str:
    """Return the text of a file, or raise `RobotError` if it cannot be read."""
    try:
        with Path(path).open('rb') as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        shipped = ', '.join(str(file) for file in robot_files())
        allowed = f'must be a readable robot file, URDF or xacro; with the package come {shipped}'
        raise _refused(path, 'file', str(error), allowed) from None
    if len(content) > LARGEST:
        raise _refused(path, 'size', f'more than {LARGEST} bytes', f'must be at most {LARGEST}')
    return expanded(path) if Path(path).suffix == '.xacro' else _decoded(path, content)


def is_there(path: str | Path) -> bool:
    """Tell whether there is such a file; no file can have a name that is too long, or has a zero byte."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def is_xml(text: str) -> bool:
    """Tell whether a text is meant as XML, a URDF."""
    return text.lstrip('\ufeff \t\r\n').startswith('<')


def _decoded(path: str | Path, content: bytes) -> str:
    said = _ENCODING.match(content)
    encoding = said.group(1).decode() if said else 'utf-8'
    try:
        return content.decode('utf-8-sig' if encoding.lower() in ('utf-8', 'utf8') else encoding)
    except (UnicodeError, LookupError) as error:
        allowed = 'must be text in UTF-8, or in the encoding that its XML names'
        raise _refused(path, 'file', str(error)[:200], allowed) from None


def _refused(path: str | Path, where: str, value: str, allowed: str) -> RobotError:
    return RobotError(str(path), [Fault(where, value, allowed)])
