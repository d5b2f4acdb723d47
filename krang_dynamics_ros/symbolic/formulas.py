"""Formulas of a small robot as SymPy expressions, in the robot file's names and the symbols of textbooks.

Links with mass count from 1 in the order of the file (m_1, and I_1zz about the centre of mass), and so do all joints
that move (N1, J_m1, F_v1); a single one has no number. Lengths and joints have the names of the file, gravity is g, and
a hand applies F and M in the base's axes. A number that is zero in the file is zero here. A symbol that collides with a
name of the file gets a prime.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..core.algebra import ZERO
from ..core.errors import ArgumentError
from ..core.optional import optional
from ..equations.bodies import Body, moved
from ..equations.frames import IDENTITY, Transform
from ..robot.robot import Joint, Link, Robot
from .expressions import Symbols
from .languages import evaluate
from .parameters import TEN, open_lengths, other_effects

casadi, sympy = optional('casadi', 'symbols'), optional('sympy', 'formulas')


class FileSymbols:
    """SymPy's symbols for q, dq, lengths, the hands' wrenches, and the entries of p."""

    def __init__(self, robot: Robot) -> None:
        self._meanings: dict[str, str] = {}  # by the symbol's name
        self.robot = robot
        self.q = [self._symbol(name, 'joint') for name in robot.joint_names]
        self._lengths = {name: self._symbol(name, 'length') for name in robot.lengths}
        self.lengths = [*self._lengths.values()]
        self.dq = [self._symbol(_marked(name, 'dot'), f'rate of {name}') for name in robot.joint_names]
        self.wrenches = [
            [self._symbol(f'{letter}{k}_{along}', 'wrench') for letter in 'FM' for along in 'xyz']
            for k in _indices(len(robot.hands))
        ]
        self.p = [
            *self._gravity(), *self._rotors(), *self._viscous(), *self._coulomb(),
            *[sympy.S.Zero] * (len(TEN) * len(robot.hands)),
            *(self._lengths[name] for name in open_lengths(robot)),
            *self._inertias(),
            *self._effects(), *self._couplings(),
        ]  # fmt: skip

    def _symbol(self, name: str, what: str = '') -> Any:
        """Return the symbol of a name; if the name already has another meaning, add a prime."""
        while self._meanings.setdefault(name, what) != what:
            name = _marked(name, 'prime')
        return sympy.Symbol(name)

    def _if(self, there: Any, name: str, otherwise: int = 0) -> Any:
        return self._symbol(name) if there else sympy.Integer(otherwise)

    def _gravity(self) -> Iterator[Any]:
        along = [x for x, g in zip('xyz', self.robot.gravity, strict=True) if g]
        for x, g in zip('xyz', self.robot.gravity.tolist(), strict=True):
            yield self._symbol('g' if len(along) == 1 else f'g_{x}') * int(g > 0 or -(g < 0))

    def _joints(self) -> Iterator[tuple[str, Joint, Any]]:
        """Yield every joint that moves, mimic joints included, with its index and gear ratio N."""
        moving = [joint for joint in self.robot.joints if joint.moves]
        for k, joint in zip(_indices(len(moving)), moving, strict=True):
            yield k, joint, self._if(joint.motor.gear_ratio != 1, f'N{k}', 1)

    def _rotors(self) -> list[Any]:
        """Return I_a = N^2 J_m of every coordinate."""
        found = {joint.name: N**2 * self._if(joint.motor.rotor_inertia, f'J_m{k}') for k, joint, N in self._joints()}
        return self._on_coordinates(found, lambda ratio: ratio**2)

    def _viscous(self) -> list[Any]:
        """Return F_v of every coordinate: F_v of the joint and N^2 F_vm of the motor."""
        found = {
            joint.name: self._if(joint.friction.viscous, f'F_v{k}') + N**2 * self._if(joint.motor.viscous, f'F_vm{k}')
            for k, joint, N in self._joints()
        }
        return self._on_coordinates(found, lambda ratio: ratio**2)

    def _coulomb(self) -> list[Any]:
        found = {joint.name: self._if(joint.friction.coulomb, f'F_c{k}') for k, joint, _ in self._joints()}
        return self._on_coordinates(found, abs)

    def _effects(self) -> Iterator[Any]:
        effects = [effect for _, effect in other_effects(self.robot)]
        total, seen = Counter(map(type, effects)), Counter[type]()
        for effect in effects:
            k = _indices(total[type(effect)])[seen[type(effect)]]
            seen[type(effect)] += 1
            yield from (self._if(getattr(effect, x.name), f'{x.letter}{k}') for x in effect.factors())

    def _couplings(self) -> Iterator[Any]:
        for k, pair in zip(_indices(len(self.robot.couplings)), self.robot.couplings, strict=True):
            yield from (self._if(pair.viscous, f'v{k}'), self._if(pair.coulomb, f'c{k}'))

    def _on_coordinates(self, found: dict[str, Any], share: Callable[[Any], Any]) -> list[Any]:
        """Return the symbols (n) of the coordinates, each with the share of the joints that follow it."""
        for name, mimic in self.robot.mimics.items():
            found[mimic.joint] += share(number(mimic.multiplier)) * found[name]
        return [found[name] for name in self.robot.joint_names]

    def _inertias(self) -> Iterator[Any]:
        heavy = [link for link in self.robot.links if link.inertia.m]
        for k, link in zip(_indices(len(heavy)), heavy, strict=True):
            yield from self._inertia(link, f'_{k}' if k else '_')

    def _inertia(self, link: Link, k: str) -> Iterator[Any]:
        """Yield the ten parameters from the mass, the centre of mass and the inertia about it."""
        S = [self._entry(x, written) for x, written in zip(link.inertia.com, link.com_lengths, strict=True)]
        about_com = link.inertia.I_G.round(12).tolist()
        I_G = [
            [self._if(about_com[i][j], f'I{k}{"xyz"[min(i, j)]}{"xyz"[max(i, j)]}') for j in range(3)] for i in range(3)
        ]
        body = moved(Body(self._symbol(f'm{k}'.rstrip('_')), ZERO, I_G), Transform(IDENTITY.A, S))
        yield from (body.m, *body.MS, *(body.J[i][j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))

    def _entry(self, x: float, written: str) -> Any:
        """Return a coordinate (m) as the file writes it: a length, its negative, or a number."""
        length = self.robot.as_length(written, x)
        return number(x) if length is None else int(length[1]) * self._lengths[length[0]]


def number(x: float) -> Any:
    """Return a number as an exact SymPy number."""
    return sympy.nsimplify(x, rational=True)


def _marked(name: str, mark: str) -> str:
    """Return the name that SymPy prints with a mark: a dot or a prime."""
    marked = re.sub(r'^([^\W\d_]+)', rf'\1{mark}', name)
    return marked if marked != name else f'{name}{mark}'


def _indices(count: int) -> list[str]:
    return [''] if count == 1 else [str(k + 1) for k in range(count)]


MAX_JOINTS = 3  # more take minutes, and the formulas fill pages
SHOWN = ('A', 'coriolis_torque', 'Q', 'wrench_torque', 'friction_torque', 'spring_torque', 'coupling_torque')
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    '+': operator.add,
    '-': operator.sub,
    '*': operator.mul,
    '/': operator.truediv,
    'inverse': lambda x: 1 / x,
    'negative': operator.neg,
    'twice': lambda x: 2 * x,
    'square': lambda x: x**2,
    'absolute': abs,
}


def formulas(robot: Robot, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Return `SHOWN` as SymPy's matrices, without springs or coupled friction that a robot does not have.

    `progress` gets each name first.
    """
    if robot.n > MAX_JOINTS:
        raise ArgumentError(
            f"robot '{robot.name}': {robot.n} joints, must have at most {MAX_JOINTS}; use `krang export`"
        )
    symbols, names = Symbols(robot, 'all'), FileSymbols(robot)
    inputs: dict[str, Sequence[Any]] = {'q': names.q, 'dq': names.dq, 'p': names.p}
    inputs['f'] = [
        x
        for wrench, link in zip(names.wrenches, symbols.hands.values(), strict=True)
        for x in _in_hand(wrench, _run(_axes(symbols, link), inputs))
    ]
    simplified = {}
    has = {'spring_torque': robot.has_effect('spring'), 'coupling_torque': bool(robot.couplings)}
    for quantity in [name for name in SHOWN if has.get(name, True)]:
        if progress:
            progress(quantity)
        raw = _run(symbols.function(quantity), inputs)
        simplified[quantity] = raw.applyfunc(lambda x: _simplified(x, names.lengths))
    return simplified


def _run(function: Any, inputs: Mapping[str, Sequence[Any]]) -> Any:
    """Run a function of CasADi on SymPy's symbols."""
    of = [inputs[function.name_in(k)] for k in range(function.n_in())]
    return sympy.Matrix(evaluate(function, of, number, _operate))


def _axes(symbols: Symbols, link: str) -> Any:
    return casadi.Function('axes', [symbols.q, symbols.p], [casadi.densify(symbols.axes(link))], ['q', 'p'], ['A'])


def _in_hand(wrench: Sequence[Any], axes: Any) -> list[Any]:
    """Return f in the hand's axes, as the function expects it, from F and M in the base's axes, as in textbooks."""
    return [x for part in (wrench[:3], wrench[3:]) for x in axes.T * sympy.Matrix(part)]


def _operate(operation: str, of: list[Any]) -> Any:
    return _ARITHMETIC[operation](*of) if operation in _ARITHMETIC else getattr(sympy, operation)(*of)


def _simplified(x: Any, lengths: Sequence[Any]) -> Any:
    """Return the shortest form of an expression that SymPy finds."""
    flat = sympy.trigsimp(sympy.expand(sympy.nsimplify(x, rational=True)))
    by_length = sympy.collect(sympy.expand(flat), lengths)
    return min((flat, sympy.factor_terms(flat), by_length, sympy.factor_terms(by_length)), key=sympy.count_ops)
