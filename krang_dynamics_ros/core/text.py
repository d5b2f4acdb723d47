"""Escaping of text from outside (names in messages and files) for logs, terminals, diagnostics and HTML.

Unprintable characters are escaped: control characters, such as escape sequences of terminals and line feeds that forge
lines of a log, and marks that change the direction of writing.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container

MAX_NAME_SHOWN = 80  # characters of a name
MAX_TEXT_SHOWN = 20_000  # characters of a message; a compiler's output has 2000, twenty faults rarely more
_CUT = '\u2026'
_MARKDOWN = re.compile(r'([\\`*_{}\[\]()#+\-.!|<>&~$:])')


def shown(name: object, limit: int = MAX_NAME_SHOWN) -> str:
    """Return a name as printable text in one line, cut to `limit` characters."""
    text = str(name)
    if len(text) <= limit and text.isprintable():
        return text
    escaped = ''.join(map(_escaped, text[: limit + 1]))
    return escaped if len(escaped) <= limit else escaped[: limit - 1] + _CUT


def shown_lines(text: object, limit: int = MAX_TEXT_SHOWN) -> str:
    """Return a text of several lines as printable lines, cut to `limit` characters in total."""
    whole = str(text)
    cut = whole if len(whole) <= limit else whole[: limit - 1] + _CUT
    return cut if cut.isprintable() else '\n'.join(''.join(map(_escaped, line)) for line in cut.split('\n'))


def to_html(text: object, limit: int = MAX_TEXT_SHOWN) -> str:
    """Return a text as HTML, with escaped tags."""
    return html.escape(shown(text, limit))


def to_markdown(name: object) -> str:
    """Return a name as Markdown, with escaped links, images and tags."""
    return _MARKDOWN.sub(lambda mark: f'&#{ord(mark[0])};', shown(name))


def signed_name(text: str, names: Container[str]) -> tuple[str, float] | None:
    """Return the name and the sign that a text, `name` or `-name`, has; None if it is not of `names`."""
    if text in names:
        return text, 1.0
    return (text[1:], -1.0) if text.startswith('-') and text[1:] in names else None


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode('unicode_escape').decode()
