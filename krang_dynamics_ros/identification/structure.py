"""Which terms the model has, and the few numbers of their shapes: chosen by cross-validation, not fitted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Structure:
    """The shape of the model. What is fitted within it is linear, given the load that the joints carry.

    Units: Hz, rad/s, rad. The relative numbers have no unit.
    """

    cutoff: float = 3.0  # of the smoothing spline
    coulomb_velocity: float = 0.0  # over which Coulomb friction turns its sign; 0: sign(dq)
    presliding: tuple[float, ...] = ()  # distances
    load_share: bool = False  # whether a load counts less while the drive pushes than while it brakes
    load_crossing: float = 1.4  # times |load| / F_v: the velocity above which a drive pushes that the load helps
    load_velocity: float = 0.1  # within which braking turns into pushing
    offset: bool = False  # whether the efforts have an offset
    spread: float = 0.3  # how far bodies may be from the file's, relative: the prior's standard deviation

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what each joint has besides the bodies, in order."""
        presliding = tuple(f'presliding {k + 1}' for k in range(len(self.presliding)))
        load = ('pushing', 'braking') if self.load_share else ()
        return ('rotor_inertia', 'viscous', 'coulomb', *presliding, *load, *(('offset',) if self.offset else ()))

    def __str__(self) -> str:
        parts = [f'cut-off {self.cutoff:g} Hz', 'viscous']
        parts.append(f'Coulomb over {self.coulomb_velocity:g} rad/s' if self.coulomb_velocity else 'Coulomb')
        if self.presliding:
            parts.append('presliding ' + ', '.join(f'{1e3 * x:g}' for x in self.presliding) + ' mrad')
        if self.load_share:
            parts.append(
                f'load by pushing and braking (crossing {self.load_crossing:g}, over {self.load_velocity:g} rad/s)'
            )
        if self.offset:
            parts.append('offset')
        return ', '.join([*parts, f'spread {self.spread:g}'])
