"""All effects on single joints, in one list, and their sum over the joints of a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError
from ..core.spatial import Array
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
        total = 0.0 * x
        for effect in self.effects:
            total = total + effect.torque(x)
        return total

    def slope(self, x: Array) -> Array:
        """Return d torque / dx (..., n)."""
        total = 0.0 * x
        for effect in self.effects:
            total = total + effect.slope(x)
        return total

    def integral(self, x: Array) -> float:
        """Return the integral of the torque over x, summed over joints."""
        return float(sum(np.sum(effect.integral(x)) for effect in self.effects))


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
            kind, count = max(Counter(map(type, effects)).items(), key=lambda item: item[1], default=(None, 0))
            if kind is not None and count > 1:
                raise ArgumentError(f'{kind.__name__}: {count} on a joint, must be one')
        for kind in self._kinds:
            own = [next((effect for effect in effects if type(effect) is kind), kind()) for effects in joints]
            for number in kind.numbers():
                self._values[number.name] = self._checked(number.name, [getattr(effect, number.name) for effect in own])
        self._update()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        return tuple(self._values)

    def __getitem__(self, name: str) -> Array:
        return self._values[name].copy()

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        self._values[name] = self._checked(name, value)
        self._update()

    def _checked(self, name: str, value: ArrayLike) -> Array:
        """Return a vector (n) of finite numbers in the range of the number, or raise `ArgumentError`."""
        vector, least = np.array(value, dtype=float), self._declared[name].least
        in_range = vector.shape == (self.n,) and bool((np.isfinite(vector) & (least is None or vector >= least)).all())
        if not in_range:
            allowed = {None: '', 0.0: ', none negative'}.get(least, f', at least {least:g}')
            raise ArgumentError(f'{name}: {value!r}, must be {self.n} finite numbers{allowed}')
        return vector

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
