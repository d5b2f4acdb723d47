"""Parameters declared in one place (name, type, default, range, meaning), and their values now."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .errors import ArgumentError, did_you_mean, short_repr

PART_OF_A_TOPIC = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
NONE = ['']  # a list without entries has no type in ROS 2, so nothing is one empty name


class Kind(NamedTuple):
    """A type of parameters, in words, and what values of it are in Python; a whole number is a number too."""

    single: str
    several: str
    types: tuple[type, ...]


KINDS = {
    bool: Kind('true or false', 'true and false', (bool, np.bool_)),
    int: Kind('a whole number', 'whole numbers', (int, np.integer)),
    float: Kind('a number', 'numbers', (float, int, np.floating, np.integer)),
    str: Kind('text', 'texts', (str,)),
}


def named(names: Sequence[str]) -> list[str]:
    """Return the names of a list parameter, without the empty one that stands for none."""
    return [name for name in names if name]


@dataclass(frozen=True)
class ParameterSpec:
    """One parameter. `live` ones can be set while the node runs; a list allows each of `choices`, or `NONE`."""

    name: str
    default: Any
    meaning: str
    live: bool = False
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    default_text: str = ''  # for the documents, where the default depends on the robot
    count: int | None = None  # how many entries a list must have
    once: bool = False  # whether a list must name each entry once
    may_be_unset: bool = False  # whether NaN is a value, that of a number which is not set
    in_topics: bool = False  # whether entries become parts of the names of topics

    @property
    def type_name(self) -> str:
        """ROS's name of the type."""
        kinds = {bool: 'bool', int: 'integer', float: 'double', str: 'string'}
        if isinstance(self.default, list):
            return f'{kinds[type(self.default[0])]}[]'
        return kinds[type(self.default)]

    @property
    def allowed(self) -> str:
        """The range, in words."""
        if self.choices:
            return ', '.join(f'`{choice}`' for choice in self.choices)
        return '' if self.least is None else f'{self.least:g} to {self.most:g}'

    def check(self, value: Any) -> None:
        """Raise `ArgumentError` if a value cannot be."""
        items = self._items(value)
        for item in items:
            if self.choices and item not in self.choices and not (item == '' and isinstance(self.default, list)):
                hint = did_you_mean(str(item), self.choices)
                raise ArgumentError(f"{self.name}: '{item}', must be one of {', '.join(self.choices)}. {hint}".strip())
        if wanted := self._wanted(items):
            raise ArgumentError(f'{self.name}: {items if isinstance(self.default, list) else value}, must be {wanted}')
        self._check_types(items)
        if self.once and len(set(items)) != len(items):
            raise ArgumentError(f'{self.name}: {items}, must name each once')
        for item in named(items) if self.in_topics else ():
            if not PART_OF_A_TOPIC.fullmatch(item):
                allowed = 'letters, digits and underscores, no digit first: topics are named after it'
                raise ArgumentError(f"{self.name}: '{item}', must be {allowed}")

    def _items(self, value: Any) -> list[Any]:
        """Return the entries of a list, or a single value; of a text in a list's place every letter would count."""
        if not isinstance(self.default, list):
            return [value]
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, '__len__'):
            raise ArgumentError(f'{self.name}: {short_repr(value)}, must be a list of {self._kind.several}')
        return list(value)

    @property
    def _kind(self) -> Kind:
        return KINDS[type(self.default[0] if isinstance(self.default, list) else self.default)]

    def _check_types(self, items: Sequence[Any]) -> None:
        """Refuse entries of another type: the text `no` would be true."""
        kind = self._kind
        for item in items:
            if not isinstance(item, kind.types) or (isinstance(item, bool) and bool not in kind.types):
                must = f'a list of {kind.several}' if isinstance(self.default, list) else kind.single
                raise ArgumentError(f'{self.name}: {short_repr(item)}, must be {must}')

    def _wanted(self, items: Sequence[Any]) -> str:
        """Say what entries must be, if they are not: finite, so many, numbers within the range."""
        unset = self.may_be_unset
        finite = all(math.isfinite(x) or (unset and math.isnan(x)) for x in items if isinstance(x, float))
        if not finite or (self.count is not None and len(items) != self.count):
            return 'finite' if self.count is None else f'{self.count} finite numbers'
        least, most = self.least, self.most
        if least is None or most is None:
            return ''
        return '' if all(isinstance(item, (int, float)) and least <= item <= most for item in items) else self.allowed


ROBOT_FILE = ParameterSpec(
    'robot_file', '', 'robot file (YAML), URDF or xacro (a program: it runs); empty: Krang', default_text="`''`, Krang"
)
BASE_LINK = ParameterSpec(
    'base_link', '', 'link of a URDF that is the fixed base of the tree below it; empty: the whole robot'
)


def markdown_table(specs: Sequence[ParameterSpec]) -> str:
    """Return the table of parameters for a document."""
    rows = ['| parameter | type | default | live | range | what |', '|---|---|---|---|---|---|']
    for spec in specs:
        default = spec.default_text or f'`{_yaml(spec.default)}`'
        live = 'yes' if spec.live else ''
        rows.append(f'| `{spec.name}` | {spec.type_name} | {default} | {live} | {spec.allowed} | {spec.meaning} |')
    return '\n'.join(rows)


def _yaml(value: Any) -> str:
    if isinstance(value, list):
        return f'[{", ".join(_yaml(item) for item in value)}]'
    return f'{value:g}' if isinstance(value, float) else str(value) or "''"


class Settings:
    """Values by parameter name. A set of changes is accepted as one, or refused as one with the reason."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        """`given` has values that are not the defaults."""
        self._given = dict(given or {})
        self._specs: dict[str, ParameterSpec] = {}
        self._values: dict[str, Any] = {}
        self._checks: list[Callable[[Mapping[str, Any]], None]] = []
        self._users: list[Callable[[], None]] = []

    def declare(self, specs: Sequence[ParameterSpec]) -> dict[str, Any]:
        """Take up parameters, and return their values."""
        values = {}
        for spec in specs:
            values[spec.name] = self._first(spec)
            spec.check(values[spec.name])
            self._specs[spec.name] = spec
        self._values |= values
        return values

    def _first(self, spec: ParameterSpec) -> Any:
        return self._given.get(spec.name, spec.default)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def require(self, check: Callable[[Mapping[str, Any]], None]) -> None:
        """Let `check` refuse values that do not go together: it gets all of them, and raises an error of ours."""
        check(self._values)
        self._checks.append(check)

    def on_change(self, use: Callable[[], None]) -> None:
        """Call `use` now, and again whenever a value has changed."""
        use()
        self._users.append(use)

    def check(self, changes: Mapping[str, Any]) -> None:
        """Raise an error of ours if these values cannot be set."""
        ours = {name: value for name, value in changes.items() if name in self._specs}
        for name, value in ours.items():
            self._specs[name].check(value)
        for check in self._checks:
            check(self._values | ours)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Set values that were checked, and tell those who use them."""
        self._values |= {name: value for name, value in changes.items() if name in self._specs}
        for use in self._users:
            use()
