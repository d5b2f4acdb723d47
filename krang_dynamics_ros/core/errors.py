"""Errors of this package. Each message names the thing, its value and what is allowed."""

from __future__ import annotations

import copyreg
import itertools
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from .text import shown, shown_lines


class KrangDynamicsError(Exception):
    """Base of all errors of this package. Its text is always printable, even with names from outside."""

    def __str__(self) -> str:
        return shown_lines(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        """Return the data for pickle, so that the error can be sent to another process."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring = 2, 80
_MAX_PART_CHARS = 2000  # of a part of a fault
MAX_LISTED = 20  # names or faults in a message


@dataclass(frozen=True)
class Fault:
    """A fault in a file: path, value, what is allowed."""

    path: str
    value: str
    allowed: str

    def __str__(self) -> str:
        path, value, allowed = (shown(part, _MAX_PART_CHARS) for part in (self.path, self.value, self.allowed))
        return f'{path}: {value}, {allowed}'


def fault(path: str, value: object, allowed: str) -> Fault:
    """Return a fault with a short text of the value."""
    return Fault(path, short_repr(value), allowed)


def short_repr(value: object) -> str:
    """Return a short text of a value of any size, for messages."""
    return _SHORT.repr(value)


class FaultsError(KrangDynamicsError):
    """A file with faults; the message has one line for each."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        count = '1 fault' if len(self.faults) == 1 else f'{len(self.faults)} faults'
        more = [f'and {len(self.faults) - MAX_LISTED} more'] if len(self.faults) > MAX_LISTED else []
        super().__init__('\n  '.join([f'{source}: {count}', *map(str, self.faults[:MAX_LISTED]), *more]))


class RobotError(FaultsError):
    """A robot file, or the data of a robot, with faults."""


class DescriptionError(FaultsError):
    """A robot description (URDF) with faults."""


class ArgumentError(KrangDynamicsError, ValueError):
    """A call with a value of a wrong shape or range, or with an unknown name."""


class TakenError(KrangDynamicsError):
    """A port, or the topics of a robot, are already in use."""


class SingularityError(KrangDynamicsError, ArithmeticError):
    """A result does not exist or is numerically meaningless at this state: the state is singular."""


class SimulationError(KrangDynamicsError, ArithmeticError):
    """A simulation that cannot continue: its forces or velocities are impossible."""


class MissingError(KrangDynamicsError):
    """An optional package or program is not installed."""

    def __init__(self, what: str, purpose: str, remedy: str) -> None:
        super().__init__(f'{what}, needed for {purpose}, is not installed; {remedy}')


class BuildError(KrangDynamicsError):
    """Generated code cannot be built or loaded."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ArgumentError:
    """Return the error for an unknown name, with the nearest known name as a hint."""
    names = list(known)
    return ArgumentError(f"{kind} '{shown(name)}' is unknown; {did_you_mean(name, names)}known: {listed(names)}")


def listed(names: Sequence[str]) -> str:
    """Return names, separated by commas; of many, the first `MAX_LISTED` and the number of the others."""
    more = f' and {len(names) - MAX_LISTED} more' if len(names) > MAX_LISTED else ''
    return ', '.join(map(shown, names[:MAX_LISTED])) + more


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'? " for the nearest known name, or an empty text."""
    near = get_close_matches(str(name)[:_MAX_COMPARED_CHARS], itertools.islice(known, _MAX_COMPARED), n=1)
    return f"did you mean '{shown(near[0])}'? " if near else ''


_MAX_COMPARED_CHARS, _MAX_COMPARED = 100, 1000  # characters and names that are compared
