"""Structure of a model: the effects of each joint and the smoothing, chosen by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core.spatial import Array
from ..effects.coupling import CouplingEffect
from ..effects.effect import Effect, JointEffect, JointMotion
from ..effects.joint_effects import EQ_17, JOINT_EFFECTS
from ..effects.load import LoadFriction, LoadShare
from ..effects.offset import Offset
from ..effects.presliding import Presliding
from ..effects.rotor import Rotor
from ..effects.sliding import Coulomb, Viscous
from .samples import DISTANCES

EVERY_JOINT: tuple[Effect, ...] = (Rotor(), Viscous(), Coulomb(coulomb_velocity=0.02), Offset())


def columns_of_every_joint(q: Array, dq: Array, ddq: Array) -> Array:
    """Return the columns (rows, joints, factors) of `EVERY_JOINT`, which do not depend on the load."""
    x = JointMotion(q, dq, ddq, np.zeros_like(q), np.zeros(q.shape[1]), {})
    return np.concatenate([effect.columns(x) for effect in EVERY_JOINT], axis=-1)


def library() -> tuple[Effect, ...]:
    """Return all effects that a joint may have, each with the constants that are tried, in the order of the search."""
    others = [effect for kind in JOINT_EFFECTS if kind not in EQ_17 for effect in kind.tried()]
    return (
        Rotor(),
        *(effect for kind in EQ_17 for effect in kind.tried()),
        Offset(),
        *(Presliding(0.0, distance) for distance in DISTANCES),
        *(effect for effect in others if effect.term == 'friction'),
        LoadShare(),
        LoadFriction(),
        *(effect for effect in others if effect.term != 'friction'),
    )


@dataclass(frozen=True)
class Structure:
    """The structure of the model. With a given load of the joints, the model is linear in its unknowns."""

    joints: tuple[tuple[Effect, ...], ...]  # of each counted joint
    couplings: tuple[CouplingEffect, ...] = ()
    cutoff: float = 3.0  # Hz, of the smoothing spline
    prior_width: float = 1.0  # of bodies about those of the file: standard deviation, relative

    @classmethod
    def plain(cls, joints: int) -> Structure:
        """Return the model that every search starts from."""
        return cls((EVERY_JOINT,) * joints)

    def with_effect(self, effect: Effect, joints: tuple[int, ...] | None = None) -> Structure:
        """Return the structure with an effect on some joints (default: all), in place of one with other constants."""
        which = range(len(self.joints)) if joints is None else joints
        new = tuple(_added(own, effect) if j in which else own for j, own in enumerate(self.joints))
        return replace(self, joints=new)

    def names(self, joint: int) -> tuple[str, ...]:
        """Return the names of a joint's factors, in order."""
        return tuple(name for effect in self.joints[joint] for name in effect.names)

    def __str__(self) -> str:
        parts = [f'cut-off {self.cutoff:g} Hz', f'prior width {self.prior_width:g}']
        for effect in library():
            which = [str(j + 1) for j, own in enumerate(self.joints) if effect in own]
            if which and not (effect in EVERY_JOINT and len(which) == len(self.joints)):
                parts.append(f'{effect} on {", ".join(which)}')
        couplings = (
            f'coupling of {pair.first + 1} {"+" if pair.sign > 0 else "-"} {pair.second + 1}' for pair in self.couplings
        )
        return '; '.join([*parts, *couplings])


def _added(own: tuple[Effect, ...], effect: Effect) -> tuple[Effect, ...]:
    if effect in own:
        return own
    same = [isinstance(effect, JointEffect) and type(other) is type(effect) for other in own]
    if any(same):
        return tuple(effect if replaced else other for other, replaced in zip(own, same, strict=True))
    return (*own, effect)
