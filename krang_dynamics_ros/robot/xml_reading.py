"""Safe reading of XML: a tree of elements of bounded size, and checked numbers.

A prefix of a name (`sensor:camera`, `drake:...`) need not be declared, as in urdfdom: many simulators' files have
undeclared prefixes.
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
MAX_ELEMENTS = 250_000  # of a text, without ignored elements
MAX_DEPTH = 50  # nested elements
MAX_NAME_CHARS = 200
MAX_FAULTS = 1000
MAX_NUMBER = 1e30  # in its SI unit: its square is finite
_SPACE = ' \t\r\n'
_NUMBER = re.compile(r'[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?')


class _RefusedError(Exception):
    """A fault that expat does not detect."""


class _Tree:
    """Handlers of expat that build the tree, without ignored elements and their content."""

    def __init__(self, kept: frozenset[str]) -> None:
        self._kept, self._depth, self._skipped, self._count = kept, 0, 0, 0
        self._builder = ET.TreeBuilder()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _RefusedError(f'elements nested more than {MAX_DEPTH} deep', f'must be at most {MAX_DEPTH} deep')
        if self._skipped or (self._depth > 1 and tag not in self._kept):
            self._skipped += 1
            return
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise _RefusedError(f'more than {MAX_ELEMENTS} elements', f'must be at most {MAX_ELEMENTS}')
        self._builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._skipped:
            self._skipped -= 1
        else:
            self._builder.end(tag)

    def entity(self, name: str, *_: object) -> None:
        raise _RefusedError(f'entity {name[:MAX_NAME_CHARS]!r}', 'must not be declared in the XML of a robot')

    def close(self) -> ET.Element:
        return self._builder.close()


def parse_xml(text: str, kept: frozenset[str]) -> ET.Element | Fault:
    """Return the root of an XML text with only the elements of the names `kept`, or a fault."""
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
    """Return a word as a number, or NaN; `1_0`, `0x1F`, `nan` and digits of other scripts are not numbers."""
    return float(word) if _NUMBER.fullmatch(word) else math.nan


class TooManyFaultsError(Exception):
    """The number of faults is `MAX_FAULTS`; the reader stops."""


class Reader:
    """Reads numbers and names from attributes, and collects faults."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []  # odd but accepted

    def refuse(self, path: str, value: object, allowed: str) -> None:
        """Add a fault; a value of None is missing."""
        self.faults.append(Fault(path, 'missing', allowed) if value is None else fault(path, value, allowed))
        if len(self.faults) >= MAX_FAULTS:
            raise TooManyFaultsError

    def numbers(
        self, element: ET.Element | None, key: str, count: int, path: str, default: str | None = None,
        *, most: float = MAX_NUMBER,
    ) -> Array:  # fmt: skip
        """Return `count` finite numbers of an attribute, or add a fault and return NaN."""
        text = default if element is None else element.get(key, default)
        values = [number_of(word) for word in re.split(f'[{_SPACE}]+', (text or '').strip(_SPACE))]
        finite = len(values) == count and all(map(math.isfinite, values))
        if finite and max(map(abs, values)) <= most:
            return np.array(values)
        what = 'a finite number' if count == 1 else f'{count} finite numbers'
        self.refuse(f'{path}.{key}', text, f'must be at most {most:g} in size' if finite else f'must be {what}')
        return np.full(count, math.nan)

    def number(
        self, element: ET.Element | None, key: str, path: str, default: str | None = None, *, most: float = MAX_NUMBER
    ) -> float:
        """Return a finite number of an attribute."""
        return float(self.numbers(element, key, 1, path, default, most=most)[0])

    def name(self, attributes: Mapping[str, str], key: str, path: str) -> str:
        """Return a printable name of at most `MAX_NAME_CHARS` characters."""
        name = attributes.get(key, '')
        if name and name.isprintable() and len(name) <= MAX_NAME_CHARS:
            return name
        allowed = f'must be a name: printable, at most {MAX_NAME_CHARS} characters'
        self.refuse(f'{path}.{key}', attributes.get(key), allowed)
        return ''
