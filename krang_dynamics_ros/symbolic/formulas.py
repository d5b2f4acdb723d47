"""A small robot's equations as formulas that a person can read beside a textbook's, in the robot file's own terms.

SymPy simplifies what the Lagrangian's lines gave; `file_terms` says what the letters are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.errors import ArgumentError
from ..core.optional import optional
from ..robot.robot import Robot
from .expressions import Symbols
from .file_terms import FileTerms, number
from .instructions import follow

casadi, sympy = optional('casadi', 'symbols'), optional('sympy', 'formulas')
MOST_JOINTS = 3  # SymPy would take minutes for more, and the formulas pages
SHOWN = ('A', 'coriolis_torque', 'Q', 'wrench_torque', 'friction_torque')
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    '+': operator.add,
    '-': operator.sub,
    '*': operator.mul,
    '/': operator.truediv,
    'inverse': lambda x: 1 / x,
    'negative': operator.neg,
    'twice': lambda x: 2 * x,
    'square': lambda x: x**2,
}


def formulas(robot: Robot, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Return A, C dq, Q, J^T f and friction as SymPy's matrices; `progress` is told each before it is simplified."""
    if robot.n > MOST_JOINTS:
        raise ArgumentError(
            f"robot '{robot.name}': {robot.n} joints, must have at most {MOST_JOINTS}; `export` takes any"
        )
    symbols, terms = Symbols(robot, 'all'), FileTerms(robot)
    inputs: dict[str, Sequence[Any]] = {'q': terms.q, 'dq': terms.dq, 'p': terms.p}
    inputs['f'] = [
        x
        for wrench, link in zip(terms.wrenches, symbols.hands.values(), strict=True)
        for x in _in_hand(wrench, _run(_axes(symbols, link), inputs))
    ]
    simplified = {}
    for quantity in SHOWN:
        if progress:
            progress(quantity)
        raw = _run(symbols.function(quantity), inputs)
        simplified[quantity] = raw.applyfunc(lambda x: _simplified(x, terms.lengths))
    return simplified


def _run(function: Any, inputs: Mapping[str, Sequence[Any]]) -> Any:
    """Run a function of CasADi on SymPy's symbols."""
    of = [inputs[function.name_in(k)] for k in range(function.n_in())]
    return sympy.Matrix(follow(function, of, number, _operate))


def _axes(symbols: Symbols, link: str) -> Any:
    return casadi.Function('axes', [symbols.q, symbols.p], [casadi.densify(symbols.axes(link))], ['q', 'p'], ['A'])


def _in_hand(wrench: Sequence[Any], axes: Any) -> list[Any]:
    """Return f in the hand's axes, as the function takes it, of F and M in the base's, as textbooks give them."""
    return [x for part in (wrench[:3], wrench[3:]) for x in axes.T * sympy.Matrix(part)]


def _operate(operation: str, of: list[Any]) -> Any:
    return _ARITHMETIC[operation](*of) if operation in _ARITHMETIC else getattr(sympy, operation)(*of)


def _simplified(x: Any, lengths: Sequence[Any]) -> Any:
    """Return the shortest of what SymPy makes of an expression."""
    flat = sympy.trigsimp(sympy.expand(sympy.nsimplify(x, rational=True)))
    by_length = sympy.collect(sympy.expand(flat), lengths)
    return min((flat, sympy.factor_terms(flat), by_length, sympy.factor_terms(by_length)), key=sympy.count_ops)
