"""Reading XML with care: a tree of elements, bounded in size, and numbers checked as they are taken.

Names with a prefix (`sensor:camera`, `drake:...`) are names like any other, declared or not, as urdfdom reads them:
files from simulators have many that nobody declares.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET
from xml.parsers import expat

import numpy as np

from ..core.errors import Fault, fault
from ..core.spatial import Array

MAX_CHARS = 16_000_000  # characters of a text
ELEMENTS = 250_000  # of a text, those that are kept
DEEPEST = 50  # elements within each other
LONGEST = 200  # characters of a name
ENOUGH = 1000  # faults
MOST = 1e30  # of a number in its SI unit: squares and products of such are numbers still
_SPACE = ' \t\r\n'
_NUMBER = re.compile(r'[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?')


class _RefusedError(Exception):
    """What expat cannot say by itself."""


class _Tree:
    """What expat calls: builds the tree, without the elements that are not asked for and what is in them."""

    def __init__(self, kept: frozenset[str]) -> None:
        self._kept, self._depth, self._skipped, self._count = kept, 0, 0, 0
        self._builder = ET.TreeBuilder()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _RefusedError(f'elements nested more than {DEEPEST} deep', f'must be at most {DEEPEST} deep')
        if self._skipped or (self._depth > 1 and tag not in self._kept):
            self._skipped += 1
            return
        self._count += 1
        if self._count > ELEMENTS:
            raise _RefusedError(f'more than {ELEMENTS} elements', f'must be at most {ELEMENTS}')
        self._builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._skipped:
            self._skipped -= 1
        else:
            self._builder.end(tag)

    def entity(self, name: str, *_: object) -> None:
        raise _RefusedError(f'entity {name[:LONGEST]!r}', 'must not be declared: XML for a robot has no need of it')

    def close(self) -> ET.Element:
        return self._builder.close()


def parse_xml(text: str, kept: frozenset[str]) -> ET.Element | Fault:
    """Return the root of an XML text with those of its elements that have one of these names, or what is wrong."""
    if len(text) > MAX_CHARS:
        return Fault('size', f'{len(text)} characters', f'must be at most {MAX_CHARS}')
    tree = _Tree(kept)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = tree.start, tree.end
    parser.EntityDeclHandler = tree.entity
    try:
        parser.Parse(text.lstrip('\ufeff' + _SPACE), True)
        return tree.close()
    except _RefusedError as error:
        return Fault('xml', *error.args)
    except (expat.ExpatError, UnicodeEncodeError) as error:
        return Fault('xml', str(error), 'must be well-formed XML')


def number_of(word: str) -> float:
    """Return the number that a word is, or NaN: `1_0`, `0x1F`, `nan` and digits of other scripts are none."""
    return float(word) if _NUMBER.fullmatch(word) else math.nan


class EnoughError(Exception):
    """So many faults that no more are looked for."""


class Reader:
    """Takes numbers and names out of attributes, and notes what is wrong with them."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []  # what is odd, and taken as it stands

    def refuse(self, path: str, value: object, allowed: str) -> None:
        """Note a fault; None stands for a value that is missing."""
        self.faults.append(Fault(path, 'missing', allowed) if value is None else fault(path, value, allowed))
        if len(self.faults) >= ENOUGH:
            raise EnoughError

    def numbers(
        self, element: ET.Element | None, key: str, count: int, path: str, default: str | None = None,
        *, most: float = MOST,
    ) -> Array:  # fmt: skip
        """Return `count` finite numbers of an attribute, or note the fault and return NaN."""
        text = default if element is None else element.get(key, default)
        values = [number_of(word) for word in re.split(f'[{_SPACE}]+', (text or '').strip(_SPACE))]
        finite = len(values) == count and all(map(math.isfinite, values))
        if finite and max(map(abs, values)) <= most:
            return np.array(values)
        what = 'a finite number' if count == 1 else f'{count} finite numbers'
        self.refuse(f'{path}.{key}', text, f'must be at most {most:g} in size' if finite else f'must be {what}')
        return np.full(count, math.nan)

    def number(
        self, element: ET.Element | None, key: str, path: str, default: str | None = None, *, most: float = MOST
    ) -> float:
        """Return one finite number of an attribute."""
        return float(self.numbers(element, key, 1, path, default, most=most)[0])

    def name(self, attributes: Mapping[str, str], key: str, path: str) -> str:
        """Return a name: something that can be printed, and is not too long for it."""
        name = attributes.get(key, '')
        if name and name.isprintable() and len(name) <= LONGEST:
            return name
        allowed = f'must be a name: printable, of {LONGEST} characters at most'
        self.refuse(f'{path}.{key}', attributes.get(key), allowed)
        return ''
