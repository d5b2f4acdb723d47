"""Effects of a drive: what an effect of a fit is, and how a class declares an effect on single joints.

A subclass of `JointEffect`, listed in `joint_effects.py`, is all that a new effect needs: robot files, parameters of
the node, torques, simulator, exports, identification and the tables of the documents follow from it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from ..core.spatial import Array

EffectTerm = Literal['friction', 'spring']  # torque terms that consist of effects on single joints
NAMES = ('name', 'label', 'symbol', 'letter')  # names of a number: that of its field, unless `factor` gives another
PART_OF_EFFORT = {'friction': 'sliding friction', 'spring': 'spring'}  # names in reports


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Motion of joints and the load that they carry: arrays (rows, joints) in SI units."""

    q: Array
    dq: Array
    ddq: Array
    load: Array  # gravity and Coriolis torque
    # (joints), rad/s per N m (m/s per N): where the load helps the motion, the motor brakes below the velocity
    # crossing * load and pushes above it.
    crossing: Array
    z: Mapping[float, Array]  # presliding states by distance, rad (m), from raw encoder positions


class Effect(Protocol):
    """What a fit may add to the effort of one joint: columns times factors.

    While a fit searches, effects carry no values (all factors are zero), so they are equal if kind and constants are,
    and serve as keys.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name of each factor, for reports."""

    @property
    def part(self) -> str:
        """Return the name, in reports, of the part of the effort that the effect belongs to."""

    @property
    def not_negative(self) -> bool:
        """Return whether a negative factor is impossible."""

    @property
    def prior(self) -> float:
        """Return the prior standard deviation of a factor.

        Its unit is the standard deviation of the effort over the RMS of the factor's column.
        """

    def columns(self, x: JointMotion) -> Array:
        """Return the columns (rows, joints, factors)."""

    def fitted(self, factors: Sequence[float], crossing: float) -> Effect:
        """Return the effect with the factors of a fit and the joint's crossing."""


@dataclass(frozen=True)
class Number:
    """Declaration of a number of an effect; its field's name is its key in robot files and its parameter's name."""

    name: str
    default: float
    meaning: str
    unit: str  # of a revolute joint
    least: float | None
    is_factor: bool  # whether the torque is proportional to it
    label: str  # name of a factor in reports
    symbol: str  # prefix of its name among the parameters p of exports (docs/export.md)
    letter: str  # symbol in formulas

    @property
    def described(self) -> str:
        """Meaning with the letter, for documents."""
        return self.meaning if self.letter == self.name else f'{self.meaning} {self.letter}'

    def unit_of(self, prismatic: bool) -> str:
        """Return the unit for a joint."""
        return self.unit.replace('N m', 'N').replace('rad', 'm') if prismatic else self.unit


def factor(meaning: str, unit: str, *, least: float | None = 0.0, **names: str) -> Any:
    """Declare a number that the torque is proportional to; zero: no effect. `least` None: it may be negative.

    `names` are `label`, `symbol` and `letter` (see `Number`) where they differ from the name of the field.
    """
    return field(default=0.0, metadata={'meaning': meaning, 'unit': unit, 'least': least, 'is_factor': True, **names})


def constant(default: float, meaning: str, unit: str, *, least: float) -> Any:
    """Declare a number that a fit cannot find, such as the velocity over which friction changes its sign."""
    return field(default=default, metadata={'meaning': meaning, 'unit': unit, 'least': least, 'is_factor': False})


@dataclass(frozen=True)
class JointEffect(ABC):
    """An effect on a single joint, whose torque is a function of the joint's velocity (friction) or position (spring).

    Robot files, exports and the simulator take from its declaration all that they need.

    The fields of a subclass are its numbers, each declared by `factor` or `constant`: floats of one joint, vectors (n)
    of all joints of a robot, or symbols of an export. So a formula may use arithmetic, `abs` and the functions of
    `core.algebra`, and no truth value of a number. Friction must not give power.
    """

    term: ClassVar[EffectTerm]  # torque term; of friction x is dq (rad/s, m/s), of a spring q (rad, m)
    linear: ClassVar[bool] = False  # whether the torque is proportional to x
    prior: ClassVar[float] = 1.0  # standard deviation of a factor before a fit; see `Effect`

    @abstractmethod
    def torque(self, x: Any) -> Any:
        """Return the torque that the motor gives against the effect, N m (N), linear in the factors."""

    @abstractmethod
    def slope(self, x: Any) -> Any:
        """Return d torque / dx. The simulator counts a negative slope as zero."""

    @abstractmethod
    def integral(self, x: Any) -> Any:
        """Return the integral of the torque from 0 to x; of a spring its energy, J, up to a constant."""

    @property
    def smooth(self) -> JointEffect:
        """The effect without a jump of its torque at standstill."""
        return self

    @property
    def dry(self) -> Any:
        """Torque of the jump at standstill, N m (N); zero for a torque that has none."""
        return 0.0

    @classmethod
    def tried(cls) -> tuple[JointEffect, ...]:
        """Return the effects, each with other constants, that a fit tries."""
        return (cls(),)

    def __str__(self) -> str:
        return self.names[0]

    @classmethod
    def key(cls) -> str:
        """Return the key of the effect in the section of a joint; numbers of friction are in its section `friction`."""
        return re.sub(r'(?<!^)(?=[A-Z])', '_', cls.__name__).lower()

    @classmethod
    @cache
    def numbers(cls) -> tuple[Number, ...]:
        """Return the declarations of the numbers, in order."""
        declared: list[dict[str, Any]] = [
            {**dict.fromkeys(NAMES, x.name), 'default': x.default, **x.metadata} for x in fields(cls)
        ]
        return tuple(Number(**of_field) for of_field in declared)

    @classmethod
    def factors(cls) -> tuple[Number, ...]:
        """Return the declarations of the factors."""
        return tuple(number for number in cls.numbers() if number.is_factor)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the factors in reports."""
        return tuple(number.label for number in self.factors())

    @property
    def part(self) -> str:
        """Name, in reports, of the part of the effort."""
        return PART_OF_EFFORT[self.term]

    @property
    def not_negative(self) -> bool:
        """Whether a negative factor is impossible."""
        return all(number.least is not None for number in self.factors())

    def columns(self, x: JointMotion) -> Array:
        """Return the columns (rows, joints, factors): the torque if one factor is 1 and the others are 0."""
        along = x.dq if self.term == 'friction' else x.q
        nothing = {number.name: 0.0 for number in self.factors()}
        return np.stack([replace(self, **{**nothing, name: 1.0}).torque(along) for name in nothing], axis=-1)

    def fitted(self, factors: Sequence[float], crossing: float) -> JointEffect:
        """Return the effect with the factors of a fit."""
        return replace(self, **dict(zip((number.name for number in self.factors()), factors, strict=True)))
