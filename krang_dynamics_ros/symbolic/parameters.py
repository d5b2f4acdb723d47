"""A robot with CasADi symbols for its numbers, from which the equations of `lagrangian` become expressions.

The symbols are the robot's parameters p. With `settings` they are the numbers that can be set at any time: gravity,
rotor inertia, friction and the payload of each hand (zero in the robot file). With `all`, also the report's ten
inertial parameters of each link with mass, and the lengths between joints. A, C and Q are linear in the inertial
parameters (section 5.1), those of a payload included. Other effects of joints, such as springs, and coupled friction
come last, for the joints that have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import unknown_name
from ..core.inertia import Inertia
from ..core.optional import optional
from ..core.spatial import Array
from ..effects.coupling import Coupling
from ..effects.effect import JointEffect
from ..effects.sliding import Coulomb, Viscous
from ..robot.robot import Joint, Link, Robot, Units, units_of

casadi = optional('casadi', 'symbols')
OPEN = ('settings', 'all')
TEN = (
    ('m', 'mass', 'kg'),
    *((f'M{x}', f'first moment M{x}', 'kg m') for x in 'XYZ'),
    *((xx, f'inertia {xx} about the origin', 'kg m^2') for xx in ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ')),
)


class Parameter(NamedTuple):
    """One entry of p: its name, its number in the robot file, and its meaning with the unit."""

    name: str
    value: float
    meaning: str


@dataclass
class SymbolicRobot:
    """A robot with the symbols p among its numbers, and vectors of symbols for which `Robot` has no field."""

    robot: Robot
    parameters: tuple[Parameter, ...]
    p: Any
    rotor_inertia: Any
    friction: tuple[Viscous, Coulomb]  # eq. 17, of all joints
    effects: list[tuple[int, JointEffect]]  # besides eq. 17, each with the index of its joint
    couplings: list[tuple[Coupling, Any, Any]]  # with v and c

    @property
    def values(self) -> Array:
        """The numbers of the robot file for p."""
        return np.array([parameter.value for parameter in self.parameters])


def setting_slices(robot: Robot) -> dict[str, slice]:
    """Return the slices of p where only settings are open; `payload`: ten numbers per hand, as `robot.hands` orders."""
    sizes = {'gravity': 3, 'rotor_inertia': robot.n, 'viscous': robot.n, 'coulomb': robot.n}
    sizes['payload'] = len(TEN) * len(robot.hands)
    sizes |= {'effects': len(_effect_values(robot)), 'coupling': 2 * len(robot.couplings)}
    ends = accumulate(sizes.values())
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def setting_values(robot: Robot) -> Array:
    """Return the numbers of the robot file for the settings, in their order in p; the payloads are zero."""
    nothing = np.zeros(len(TEN) * len(robot.hands))
    couplings = [x for pair in robot.couplings for x in (pair.viscous, pair.coulomb)]
    return np.concatenate(
        [robot.gravity, robot.rotor_inertia, robot.viscous, robot.coulomb, nothing, _effect_values(robot), couplings]
    )


def other_effects(robot: Robot) -> list[tuple[int, JointEffect]]:
    """Return the effects besides eq. 17 in the order of their factors in p, each with the index of its joint."""
    return [(k, effect) for k, joint in enumerate(robot.moving_joints) for effect in joint.other_effects]


def _effect_values(robot: Robot) -> list[float]:
    return [getattr(effect, x.name) for _, effect in other_effects(robot) for x in effect.factors()]


def open_lengths(robot: Robot) -> list[str]:
    """Return the lengths between joints, in the file's order; other lengths are not parameters."""
    entries = [zip(joint.position_lengths, joint.position, strict=True) for joint in robot.joints]
    used = {length[0] for of in entries for written, x in of if (length := robot.as_length(written, x))}
    return [name for name in robot.lengths if name in used]


def symbolic(robot: Robot, leave_open: str = 'settings') -> SymbolicRobot:
    """Return a robot whose parameters are symbols: the settings, or all."""
    if leave_open not in OPEN:
        raise unknown_name('parameters', leave_open, OPEN)
    table = _Table()
    gravity = [table.symbol(f'g{x}', g, f'gravity along {x}, m/s^2') for x, g in zip('xyz', robot.gravity, strict=True)]
    Ia = table.of_joints(robot, 'Ia', robot.rotor_inertia, 'rotor inertia N^2 J_m', 'inertia')
    Fv = table.of_joints(robot, 'Fv', robot.viscous, 'viscous friction', 'viscous')
    Fc = table.of_joints(robot, 'Fc', robot.coulomb, 'Coulomb friction', 'effort')
    friction = Viscous(Fv), Coulomb(Fc)
    carried = [(link, table.payload(hand, link)) for hand, link in robot.hands.items()]
    links, joints = robot.links, robot.joints
    if leave_open == 'all':
        lengths = {name: table.symbol(name, robot.lengths[name], 'length, m') for name in open_lengths(robot)}
        joints = tuple(replace(joint, position=_position(joint, robot, lengths)) for joint in joints)
        links = tuple(replace(link, inertia=table.inertia(link)) if link.inertia.m else link for link in links)
    effects = [(k, table.effect(robot.moving_joints[k], effect)) for k, effect in other_effects(robot)]
    units = {joint.name: units_of(joint) for joint in robot.moving_joints}
    couplings = [(pair, *table.coupling(pair, units[pair.joints[0]])) for pair in robot.couplings]
    open_robot = replace(robot, gravity=_array(gravity), joints=joints, links=links)
    for link, body in carried:
        open_robot = open_robot.carrying({link: body})
    return SymbolicRobot(
        open_robot, tuple(table.rows), casadi.vertcat(*table.symbols), Ia, friction, effects, couplings
    )


class _Table:
    """Collects the parameters."""

    def __init__(self) -> None:
        self.rows: list[Parameter] = []
        self.symbols: list[Any] = []

    def symbol(self, name: str, value: float, meaning: str) -> Any:
        """Add a parameter and return its symbol."""
        self.rows.append(Parameter(name, float(value), meaning))
        self.symbols.append(casadi.SX.sym(name))
        return self.symbols[-1]

    def of_joints(self, robot: Robot, letters: str, values: Array, meaning: str, unit: str) -> Any:
        """Add a parameter of every joint and return the vector; `unit` is a field of `Units`."""
        units: list[str] = [getattr(units_of(joint), unit) for joint in robot.moving_joints]
        if letters == 'Fc':
            units = [unit + _missing_effects(joint) for unit, joint in zip(units, robot.moving_joints, strict=True)]
        followed = {mimic.joint for mimic in robot.mimics.values()}
        of = [f'{name} and the joints that follow it' if name in followed else name for name in robot.joint_names]
        rows = zip(robot.joint_names, values, of, units, strict=True)
        return casadi.vertcat(
            *(self.symbol(f'{letters}_{name}', x, f'{meaning} of {what}, {unit}') for name, x, what, unit in rows)
        )

    def inertia(self, link: Link) -> Inertia:
        """Add the ten parameters of a link (section 5.1)."""
        return self._ten(link.name, link.inertia, link.name)

    def payload(self, hand: str, link: str) -> Inertia:
        """Add the ten parameters of a hand's payload (zero), about the origin and in the axes of its link."""
        return self._ten(f'payload_{hand}', Inertia(), f'the payload on {link}')

    def effect(self, joint: Joint, effect: JointEffect) -> JointEffect:
        """Add the factors of a joint's effect and return the effect with them; its constants stay numbers."""
        symbols = {
            x.name: self.symbol(
                f'{x.symbol}_{joint.name}', getattr(effect, x.name),
                f'{x.meaning} of {joint.name}, {x.unit_of(joint.kind == "prismatic")}',
            )
            for x in effect.factors()
        }  # fmt: skip
        return replace(effect, **symbols)

    def coupling(self, pair: Coupling, units: Units) -> tuple[Any, Any]:
        """Add the two coefficients of a coupled friction, with the units of its first joint."""
        first, second = pair.joints
        of = f'{first}{"+" if pair.sign > 0 else "-"}{second}'
        viscous = self.symbol(f'Wv_{of}', pair.viscous, f'coupled viscous friction of {of}, {units.viscous}')
        return viscous, self.symbol(f'Wc_{of}', pair.coulomb, f'coupled Coulomb friction of {of}, {units.effort}')

    def _ten(self, suffix: str, inertia: Inertia, of: str) -> Inertia:
        m, *rest = [
            self.symbol(f'{letters}_{suffix}', x, f'{meaning} of {of}, {unit}')
            for (letters, meaning, unit), x in zip(TEN, inertia.parameters, strict=True)
        ]
        XX, XY, XZ, YY, YZ, ZZ = rest[3:]
        return Inertia(m, _array(rest[:3]), _array([[XX, XY, XZ], [XY, YY, YZ], [XZ, YZ, ZZ]]))


def _missing_effects(joint: Joint) -> str:
    """Return a warning for a joint with smooth Coulomb friction or presliding: the symbols have eq. (17) alone."""
    return '; its smoothing by tanh and presliding are left out' if joint.friction.beyond_report else ''


def _position(joint: Joint, robot: Robot, symbols: dict[str, Any]) -> Any:
    """Return iP_j with symbols where the file has lengths; a number that was changed since stays a number."""
    entries: list[Any] = joint.position.tolist()
    for k, written in enumerate(joint.position_lengths):
        if length := robot.as_length(written, entries[k]):
            name, sign = length
            entries[k] = sign * symbols[name]
    return _array(entries)


def _array(entries: Sequence[Any]) -> Any:
    """Return scalars of any type as an object array; NumPy itself would split up a symbol."""
    array = np.empty((len(entries), len(entries[0])) if isinstance(entries[0], list) else len(entries), dtype=object)
    for index in np.ndindex(array.shape):
        array[index] = entries[index[0]] if array.ndim == 1 else entries[index[0]][index[1]]
    return array
