"""A small robot's equations as formulas that a person can read beside a textbook's, in the robot file's own terms.

SymPy simplifies what the Lagrangian's lines gave: links with mass count from 1 in the order of the file (m_1, and I_1zz
about the centre of mass), lengths have the names of the file, gravity is g, and a hand applies F and M in the base's
axes. What is zero in the file is zero here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..core.algebra import ZERO
from ..core.errors import ArgumentError
from ..core.optional import optional
from ..equations.bodies import Body, moved
from ..equations.frames import STILL, Transform
from ..robot.robot import Joint, Link, Robot
from .expressions import Symbols
from .instructions import follow
from .parameters import TEN

casadi, sympy = optional('casadi', 'symbols'), optional('sympy', 'formulas')
LARGEST = 3  # joints; SymPy would take minutes for more, and the formulas pages
SHOWN = ('A', 'coriolis_torque', 'Q', 'wrench_torque', 'friction_torque')
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    '+': operator.add,
    '-': operator.sub,
    '*': operator.mul,
    '/': operator.truediv,
    'negative': operator.neg,
    'twice': lambda x: 2 * x,
    'square': lambda x: x**2,
}


def formulas(robot: Robot, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Return A, C dq, Q, J^T f and friction as SymPy's matrices; `progress` is told each before it is simplified."""
    if robot.n > LARGEST:
        raise ArgumentError(f"robot '{robot.name}': {robot.n} joints, must have at most {LARGEST}; `export` takes any")
    symbols, meaning = Symbols(robot, 'all'), dict(_meanings(robot))
    inputs = {
        'q': [sympy.Symbol(name) for name in robot.joint_names],
        'dq': [sympy.Symbol(_rate(name)) for name in robot.joint_names],
        'p': [meaning[parameter.name] for parameter in symbols.parameters],
    }
    inputs['f'] = [
        x
        for k, link in zip(_indices(len(symbols.hands)), symbols.hands.values(), strict=True)
        for x in _wrench(k, _run(_axes(symbols, link), inputs))
    ]
    lengths = [sympy.Symbol(name) for name in robot.lengths]
    simplified = {}
    for quantity in SHOWN:
        if progress:
            progress(quantity)
        raw = _run(symbols.function(quantity), inputs)
        simplified[quantity] = raw.applyfunc(lambda x: _simplified(x, lengths))
    return simplified


def _run(function: Any, inputs: Mapping[str, Sequence[Any]]) -> Any:
    """Run a function of CasADi on SymPy's symbols."""
    of = [inputs[function.name_in(k)] for k in range(function.n_in())]
    return sympy.Matrix(follow(function, of, _number, _operate))


def _axes(symbols: Symbols, link: str) -> Any:
    return casadi.Function('axes', [symbols.q, symbols.p], [casadi.densify(symbols.axes(link))], ['q', 'p'], ['A'])


def _wrench(k: str, axes: Any) -> list[Any]:
    """Return f in the hand's axes, as the function takes it, of F and M in the base's, as textbooks give them."""
    return [
        x for letter in 'FM' for x in axes.T * sympy.Matrix([sympy.Symbol(f'{letter}{k}_{along}') for along in 'xyz'])
    ]


def _operate(operation: str, of: list[Any]) -> Any:
    return _ARITHMETIC[operation](*of) if operation in _ARITHMETIC else getattr(sympy, operation)(*of)


def _number(x: float) -> Any:
    return sympy.nsimplify(x, rational=True)


def _simplified(x: Any, lengths: Sequence[Any]) -> Any:
    """Return the shortest of what SymPy makes of an expression."""
    flat = sympy.trigsimp(sympy.expand(sympy.nsimplify(x, rational=True)))
    by_length = sympy.collect(sympy.expand(flat), lengths)
    return min((flat, sympy.factor_terms(flat), by_length, sympy.factor_terms(by_length)), key=sympy.count_ops)


def _rate(name: str) -> str:
    """Return the name that SymPy prints as the joint's with a dot on it."""
    return re.sub(r'^([^\W\d_]+)', r'\1dot', name)


def _indices(count: int) -> list[str]:
    return [''] if count == 1 else [str(k + 1) for k in range(count)]


def _meanings(robot: Robot) -> Iterator[tuple[str, Any]]:
    """Yield for each parameter of `Symbols` its name, and what it is in the file's terms."""
    yield from _gravity(robot)
    yield from ((name, sympy.Symbol(name)) for name in robot.lengths)
    for k, joint in zip(_indices(robot.n), robot.moving_joints, strict=True):
        yield from _motor(joint, k)
    yield from ((f'{letters}_payload_{hand}', sympy.S.Zero) for hand in robot.hands for letters, _, _ in TEN)
    heavy = [link for link in robot.links if link.inertia.m]
    for k, link in zip(_indices(len(heavy)), heavy, strict=True):
        yield from _inertia(link, f'_{k}' if k else '_', robot)


def _gravity(robot: Robot) -> Iterator[tuple[str, Any]]:
    along = [x for x, g in zip('xyz', robot.gravity, strict=True) if g]
    for x, g in zip('xyz', robot.gravity.tolist(), strict=True):
        yield f'g{x}', sympy.Symbol('g' if len(along) == 1 else f'g_{x}') * int(g > 0 or -(g < 0))


def _motor(joint: Joint, k: str) -> Iterator[tuple[str, Any]]:
    """Yield I_a = N^2 J_m, F_v with the motor's own behind the gear, and F_c."""
    N, motor, friction = _if(joint.motor.gear_ratio != 1, f'N{k}', 1), joint.motor, joint.friction
    yield f'Ia_{joint.name}', N**2 * _if(motor.rotor_inertia, f'J_m{k}')
    yield f'Fv_{joint.name}', _if(friction.viscous, f'F_v{k}') + N**2 * _if(motor.viscous, f'F_vm{k}')
    yield f'Fc_{joint.name}', _if(friction.coulomb, f'F_c{k}')


def _if(there: Any, name: str, otherwise: int = 0) -> Any:
    return sympy.Symbol(name) if there else sympy.Integer(otherwise)


def _inertia(link: Link, k: str, robot: Robot) -> Iterator[tuple[str, Any]]:
    """Yield the ten parameters from the mass, the centre of mass and the inertia about it."""
    S = [
        _number(x) if not name else -sympy.Symbol(name[1:]) if name[0] == '-' else sympy.Symbol(name)
        for x, name in zip(link.inertia.com, link.com_as, strict=True)
    ]
    about_com = link.inertia.I_G.round(12).tolist()
    I_G = [[_if(about_com[i][j], f'I{k}{"xyz"[min(i, j)]}{"xyz"[max(i, j)]}') for j in range(3)] for i in range(3)]
    body = moved(Body(sympy.Symbol(f'm{k}'.rstrip('_')), ZERO, I_G), Transform(STILL.A, S))
    J = [body.J[i][j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    for (letters, _, _), value in zip(TEN, [body.m, *body.MS, *J], strict=True):
        yield f'{letters}_{link.name}', value
