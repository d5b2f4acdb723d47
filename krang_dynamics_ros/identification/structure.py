"""Structure of a model: the effects of each joint and the smoothing, chosen by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..effects.coupling import CouplingEffect
from ..effects.effect import Effect
from ..effects.load import LoadFrictionEffect, LoadShareEffect
from ..effects.offset import OffsetEffect
from ..effects.presliding import PreslidingEffect
from ..effects.rotor import RotorEffect
from ..effects.sliding import CoulombEffect, ViscousEffect
from ..effects.spring import SpringEffect
from .samples import DISTANCES

COULOMB_VELOCITIES = (0.005, 0.02, 0.05, 0.1)  # rad/s
EVERY_JOINT: tuple[Effect, ...] = (RotorEffect(), ViscousEffect(), CoulombEffect(), OffsetEffect())
LIBRARY: tuple[Effect, ...] = (
    RotorEffect(),
    ViscousEffect(),
    *(CoulombEffect(v) for v in COULOMB_VELOCITIES),
    OffsetEffect(),
    *(PreslidingEffect(d) for d in DISTANCES),
    LoadShareEffect(),
    LoadFrictionEffect(),
    SpringEffect(),
)  # all that a joint may have


@dataclass(frozen=True)
class Structure:
    """The structure of the model. With a given load of the joints, the model is linear in its unknowns."""

    joints: tuple[tuple[Effect, ...], ...]  # of each joint that counts
    couplings: tuple[CouplingEffect, ...] = ()
    cutoff: float = 3.0  # Hz, of the smoothing spline
    spread: float = 1.0  # how far bodies may be from the file's, relative: the prior's standard deviation

    @classmethod
    def plain(cls, joints: int) -> Structure:
        """Return the model that every search starts from."""
        return cls((EVERY_JOINT,) * joints)

    def with_effect(self, effect: Effect, joints: tuple[int, ...] | None = None) -> Structure:
        """Return the structure with an effect on some joints (default: all); Coulomb friction replaces its like."""
        which = range(len(self.joints)) if joints is None else joints
        new = tuple(_added(own, effect) if j in which else own for j, own in enumerate(self.joints))
        return replace(self, joints=new)

    def names(self, joint: int) -> tuple[str, ...]:
        """Return the names of a joint's factors, in order."""
        return tuple(name for effect in self.joints[joint] for name in effect.names)

    def __str__(self) -> str:
        parts = [f'cut-off {self.cutoff:g} Hz', f'spread {self.spread:g}']
        for effect in LIBRARY:
            which = [str(j + 1) for j, own in enumerate(self.joints) if effect in own]
            if which and not (effect in EVERY_JOINT and len(which) == len(self.joints)):
                parts.append(f'{describe(effect)} on {", ".join(which)}')
        couplings = (
            f'coupling of {pair.first + 1} {"+" if pair.sign > 0 else "-"} {pair.second + 1}' for pair in self.couplings
        )
        return '; '.join([*parts, *couplings])


def describe(effect: Effect) -> str:
    """Return an effect's name for reports."""
    if isinstance(effect, CoulombEffect):
        return f'Coulomb over {effect.velocity:g} rad/s'
    if isinstance(effect, LoadShareEffect):
        return 'load share'
    if isinstance(effect, SpringEffect):
        return 'spring'
    return effect.names[0]


def _added(own: tuple[Effect, ...], effect: Effect) -> tuple[Effect, ...]:
    if effect in own:
        return own
    if isinstance(effect, CoulombEffect):
        return tuple(effect if isinstance(other, CoulombEffect) else other for other in own)
    return (*own, effect)
