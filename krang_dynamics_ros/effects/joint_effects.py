"""All effects on single joints, in one list, and their sum over the joints of a robot."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError
from ..core.spatial import Array, numbers
from .effect import EffectTerm, JointEffect, Number
from .sliding import Coulomb, Viscous
from .spring import Spring

JOINT_EFFECTS: list[type[JointEffect]] = [Viscous, Coulomb, Spring]  # one line for each effect
EQ_17: tuple[type[JointEffect], ...] = (Viscous, Coulomb)  # the friction of the report and of a URDF


def kinds(term: EffectTerm) -> list[type[JointEffect]]:
    """Return the effects of a torque term."""
    return [kind for kind in JOINT_EFFECTS if kind.term == term]


def numbers_of(term: EffectTerm) -> Iterator[Number]:
    """Yield the declarations of all numbers of a torque term."""
    for kind in kinds(term):
        yield from kind.numbers()


@dataclass(frozen=True)
class EffectSum:
    """The sum of effects whose numbers are vectors (n), at velocities or positions x (..., n)."""

    effects: tuple[JointEffect, ...]

    @property
    def linear(self) -> bool:
        """Whether the torque is proportional to x."""
        return all(effect.linear for effect in self.effects)

    def torque(self, x: Array) -> Array:
        """Return the torque (..., n)."""
        return _total([effect.torque(x) for effect in self.effects], x)

    def slope(self, x: Array) -> Array:
        """Return d torque / dx (..., n)."""
        return _total([effect.slope(x) for effect in self.effects], x)

    def integral(self, x: Array) -> float:
        """Return the integral of the torque over x, summed over joints."""
        return float(sum(np.sum(effect.integral(x)) for effect in self.effects))


def _total(parts: Sequence[Array], x: Array) -> Array:
    """Return the sum of arrays in the shape of x; of none it is zero, or NaN where x is NaN."""
    return reduce(operator.add, parts) if parts else 0.0 * x


class JointEffects:
    """The effects of one torque term on n joints. Their numbers are vectors (n) by name; all can be set at any time."""

    def __init__(self, term: EffectTerm, n: int) -> None:
        """Create effects of zero."""
        self.n, self._kinds = n, kinds(term)
        self._declared = {number.name: number for number in numbers_of(term)}
        self._values = {name: np.full(n, number.default) for name, number in self._declared.items()}
        self._update()

    @classmethod
    def of(cls, term: EffectTerm, joints: Sequence[Sequence[JointEffect]]) -> JointEffects:
        """Return the effects of one term, of joints with these effects; those of other terms are left out."""
        of_all = cls(term, len(joints))
        of_all.set_joints(joints)
        return of_all

    def set_joints(self, joints: Sequence[Sequence[JointEffect]]) -> None:
        """Set all numbers, from the effects of each joint."""
        for effects in joints:
            for kind, count in Counter(map(type, effects)).items():
                if count > 1 or kind not in JOINT_EFFECTS:
                    raise ArgumentError(f'{kind.__name__}: {count} on a joint, must be one that JOINT_EFFECTS lists')
        for kind in self._kinds:
            own = [next((effect for effect in effects if type(effect) is kind), kind()) for effects in joints]
            for number in kind.numbers():
                self._set(number.name, [getattr(effect, number.name) for effect in own])
        self._update()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        return tuple(self._values)

    def __getitem__(self, name: str) -> Array:
        return self._values[name].copy()

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        self._set(name, value)
        self._update()

    def _set(self, name: str, value: ArrayLike) -> None:
        self._values[name] = numbers(name, value, self.n, self._declared[name].least)

    def _update(self) -> None:
        """Set the sums of the effects that act: those with a factor that is not zero."""
        all_of = [kind(**{x.name: self._values[x.name] for x in kind.numbers()}) for kind in self._kinds]
        self.sum = EffectSum(tuple(effect for effect in all_of if _acts(effect)))
        self.smooth = EffectSum(tuple(part for effect in self.sum.effects if _acts(part := effect.smooth)))
        self.dry: Array = sum((effect.dry for effect in self.sum.effects), np.zeros(self.n))

    @property
    def acts(self) -> bool:
        """Whether any effect has a factor that is not zero."""
        return bool(self.sum.effects)


def _acts(effect: JointEffect) -> bool:
    values: list[Any] = [getattr(effect, number.name) for number in effect.factors()]
    return any(np.any(value) for value in values)
