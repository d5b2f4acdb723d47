"""Everything this package raises on purpose. Each message names the thing, its value and what is allowed."""

from __future__ import annotations

import copyreg
import itertools
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from .text import shown, shown_lines


class KrangDynamicsError(Exception):
    """Base of all errors of this package. Whatever names are in its text, it can be printed as it is."""

    def __str__(self) -> str:
        return shown_lines(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle needs to hand the error to another process, whatever the arguments of its class are."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring = 2, 80
_LONG = 2000  # characters of a part of a fault, in which names may be
MAX_LISTED = 20  # names or faults in a message


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong in a file: where, what stands there, what is allowed."""

    path: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f'{shown(self.path, _LONG)}: {shown(self.value, _LONG)}, {shown(self.allowed, _LONG)}'


def fault(path: str, value: object, allowed: str) -> Fault:
    """Return a fault that shows the value in a few characters, however large it is."""
    return Fault(path, short_repr(value), allowed)


def short_repr(value: object) -> str:
    """Return a value as a message shows it: in a few characters, however large it is."""
    return _SHORT.repr(value)


class FaultsError(KrangDynamicsError):
    """A file with faults; the message has one line for each."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        count = '1 fault' if len(self.faults) == 1 else f'{len(self.faults)} faults'
        rest = [f'and {len(self.faults) - MAX_LISTED} more'] if len(self.faults) > MAX_LISTED else []
        super().__init__('\n  '.join([f'{source}: {count}', *map(str, self.faults[:MAX_LISTED]), *rest]))


class RobotError(FaultsError):
    """A robot file, or the data of a robot, with faults."""


class DescriptionError(FaultsError):
    """A robot description (URDF) with faults."""


class ArgumentError(KrangDynamicsError, ValueError):
    """A call with a value of a wrong shape or range, or with an unknown name."""


class TakenError(KrangDynamicsError):
    """A port or the topics of a robot are in use already."""


class SingularityError(KrangDynamicsError, ArithmeticError):
    """A result does not exist at this state, or would be noise: the state is singular."""


class SimulationError(KrangDynamicsError, ArithmeticError):
    """A simulation that cannot continue: its forces or velocities are those of no robot."""


class MissingError(KrangDynamicsError):
    """An optional package or program is not installed."""

    def __init__(self, what: str, purpose: str, remedy: str) -> None:
        super().__init__(f'{what}, needed for {purpose}, is not on this machine; {remedy}')


class BuildError(KrangDynamicsError):
    """Generated code cannot be built or loaded."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ArgumentError:
    """Return the error for a name that is not among the known ones, with the nearest as a hint."""
    names = list(known)
    return ArgumentError(f"{kind} '{shown(name)}' is unknown; {did_you_mean(name, names)}known: {listed(names)}")


def listed(names: Sequence[str]) -> str:
    """Return names with commas between them; of many, the first few and how many more there are."""
    rest = f' and {len(names) - MAX_LISTED} more' if len(names) > MAX_LISTED else ''
    return ', '.join(map(shown, names[:MAX_LISTED])) + rest


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'? " for the known name nearest to this one, or nothing."""
    near = get_close_matches(str(name)[:_LONGEST], itertools.islice(known, _COMPARED), n=1)
    return f"did you mean '{shown(near[0])}'? " if near else ''


_LONGEST, _COMPARED = 100, 1000  # characters, and names, that are looked at for one that is meant
