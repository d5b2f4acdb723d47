"""Declarations of parameters (name, type, default, range, meaning), and their current values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .errors import ArgumentError, did_you_mean, short_repr

PART_OF_A_TOPIC = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
NONE = ['']  # an empty list: in ROS 2, a list without entries has no type


class Kind(NamedTuple):
    """A type of parameters: its names in messages, and its types in Python. Integers are accepted as floats."""

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
    """Return the entries of a list parameter without empty names."""
    return [name for name in names if name]


@dataclass(frozen=True)
class ParameterSpec:
    """Declaration of a parameter. A `settable` parameter can be set while the node runs."""

    name: str
    default: Any
    meaning: str
    settable: bool = False
    fixed_while_on: bool = False  # whether it cannot be set while commands are sent
    least: float | None = None  # with `most`: a range; neither alone has an effect
    most: float | None = None
    choices: tuple[str, ...] = ()  # of a text, or of the entries of a list
    refused: Mapping[str, str] = field(default_factory=dict)  # values that users may expect to be choices, and why not
    default_text: str = ''  # for the documents, where the default depends on the robot
    count: int | None = None  # number of entries of a list
    distinct: bool = False  # whether the entries of a list must differ
    may_be_unset: bool = False  # whether NaN is allowed: an unset number
    in_topics: bool = False  # whether entries are parts of topic names

    @property
    def type_name(self) -> str:
        """Name of the type in ROS."""
        kinds = {bool: 'bool', int: 'integer', float: 'double', str: 'string'}
        if isinstance(self.default, list):
            return f'{kinds[type(self.default[0])]}[]'
        return kinds[type(self.default)]

    @property
    def description(self) -> str:
        """Meaning, with the times at which it cannot be set, for ROS, the documents and `--help`."""
        return f'{self.meaning}; fixed while commands are sent' if self.fixed_while_on else self.meaning

    @property
    def allowed(self) -> str:
        """Range as text, for documents and messages."""
        if self.choices:
            return ', '.join(f'`{choice}`' for choice in self.choices)
        return '' if self.least is None else f'{self.least:g} to {self.most:g}'

    def check(self, value: Any) -> None:
        """Raise `ArgumentError` if a value is not allowed."""
        items = self._items(value)
        for item in items:
            if self.choices and item not in self.choices and not (item == '' and isinstance(self.default, list)):
                hint = did_you_mean(str(item), self.choices)
                reason = f'{self.refused[item]}; ' if item in self.refused else ''
                allowed = f'{reason}must be one of {", ".join(self.choices)}'
                raise ArgumentError(f"{self.name}: '{item}', {allowed}. {hint if not reason else ''}".strip())
        if allowed := self._violated(items):
            raise ArgumentError(f'{self.name}: {items if isinstance(self.default, list) else value}, must be {allowed}')
        self._check_types(items)
        if self.distinct and len(set(items)) != len(items):
            raise ArgumentError(f'{self.name}: {items}, must not name anything twice')
        for item in named(items) if self.in_topics else ():
            if not PART_OF_A_TOPIC.fullmatch(item):
                allowed = 'letters, digits and underscores, no digit first: topics are named after it'
                raise ArgumentError(f"{self.name}: '{item}', must be {allowed}")

    def _items(self, value: Any) -> list[Any]:
        """Return the entries of a list, or a single value; refuse one in place of the other."""
        if not isinstance(self.default, list):
            if isinstance(value, (list, dict)):
                raise ArgumentError(f'{self.name}: {short_repr(value)}, must be {self._kind.single}')
            return [value]
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, '__len__'):
            raise ArgumentError(f'{self.name}: {short_repr(value)}, must be a list of {self._kind.several}')
        return list(value)

    @property
    def _kind(self) -> Kind:
        return KINDS[type(self.default[0] if isinstance(self.default, list) else self.default)]

    def _check_types(self, items: Sequence[Any]) -> None:
        """Refuse entries of another type; the text `no`, for example, would count as true."""
        kind = self._kind
        for item in items:
            if not isinstance(item, kind.types) or (isinstance(item, bool) and bool not in kind.types):
                expected = f'a list of {kind.several}' if isinstance(self.default, list) else kind.single
                raise ArgumentError(f'{self.name}: {short_repr(item)}, must be {expected}')

    def _violated(self, items: Sequence[Any]) -> str:
        """Return the violated condition of entries (finite, count, range), or an empty text."""
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
    rows = ['| parameter | type | default | settable | range | what |', '|---|---|---|---|---|---|']
    for spec in specs:
        default = spec.default_text or f'`{_yaml(spec.default)}`'
        settable = 'yes' if spec.settable else ''
        rows.append(
            f'| `{spec.name}` | {spec.type_name} | {default} | {settable} | {spec.allowed} | {spec.description} |'
        )
    return '\n'.join(rows)


def _yaml(value: Any) -> str:
    if isinstance(value, list):
        return f'[{", ".join(str(x) if isinstance(x, float) else _yaml(x) for x in value)}]'  # ROS: one type in a list
    return f'{value:g}' if isinstance(value, float) else str(value) or "''"


class Settings:
    """Values by parameter name. A set of changes is accepted or refused as a whole."""

    def __init__(
        self, given: Mapping[str, Any] | None = None, initial: Callable[[ParameterSpec], Any] | None = None
    ) -> None:
        """Create settings; `given` are values that replace defaults, or `initial` returns the first value of each."""
        values = dict(given or {})
        self._initial = initial or (lambda spec: values.get(spec.name, spec.default))
        self._specs: dict[str, ParameterSpec] = {}
        self._values: dict[str, Any] = {}
        self._checks: list[Callable[[Mapping[str, Any]], object]] = []
        self._callbacks: list[Callable[[], None]] = []

    def declare(self, specs: Sequence[ParameterSpec]) -> dict[str, Any]:
        """Declare parameters and return their values."""
        values = {}
        for spec in specs:
            values[spec.name] = self._initial(spec)
            spec.check(values[spec.name])
            self._specs[spec.name] = spec
        self._values |= values
        return values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    @property
    def fixed_while_on(self) -> list[str]:
        """Names of the parameters that cannot be set while commands are sent."""
        return [name for name, spec in self._specs.items() if spec.fixed_while_on]

    def require(self, check: Callable[[Mapping[str, Any]], object]) -> None:
        """Register a check of all values together; it raises a `KrangDynamicsError`."""
        check(self._values)
        self._checks.append(check)

    def on_change(self, use: Callable[[], None]) -> None:
        """Call `use` now, and again whenever a value has changed."""
        use()
        self._callbacks.append(use)

    def check(self, changes: Mapping[str, Any]) -> None:
        """Raise a `KrangDynamicsError` if these values cannot be set."""
        ours = {name: value for name, value in changes.items() if name in self._specs}
        for name, value in ours.items():
            self._specs[name].check(value)
        for check in self._checks:
            check(self._values | ours)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Set checked values and call what `on_change` has registered."""
        self._values |= {name: value for name, value in changes.items() if name in self._specs}
        for use in self._callbacks:
            use()
