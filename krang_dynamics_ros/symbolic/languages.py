"""Translation of CasADi functions into C, MATLAB and Python, one operation per line, and the heading of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..core.optional import optional
from ..robot.robot import Robot, units_of
from .expressions import Symbols

casadi = optional('casadi', 'symbols')
T = TypeVar('T')
OPERATIONS = {  # our names by CasADi's
    'OP_ADD': '+',
    'OP_SUB': '-',
    'OP_MUL': '*',
    'OP_DIV': '/',
    'OP_INV': 'inverse',
    'OP_NEG': 'negative',
    'OP_TWICE': 'twice',
    'OP_SQ': 'square',
    'OP_SIN': 'sin',
    'OP_COS': 'cos',
    'OP_TANH': 'tanh',
    'OP_EXP': 'exp',
    'OP_SIGN': 'sign',
    'OP_FABS': 'absolute',
    'OP_LT': '<',
}


def evaluate(
    function: Any, inputs: Sequence[Sequence[T]], constant: Callable[[float], T], operate: Callable[[str, list[T]], T]
) -> list[list[T]]:
    """Evaluate a function with one dense output on values of any type; return the rows of the output.

    `constant` turns a constant into such a value; `operate` applies one of `OPERATIONS` to one or two values.
    """
    words = {getattr(casadi, name): word for name, word in OPERATIONS.items()}
    rows, columns = function.size_out(0)
    output = [[constant(0.0)] * columns for _ in range(rows)]
    work: dict[int, T] = {}
    for k in range(function.n_instructions()):
        operation, into, of = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if operation == casadi.OP_INPUT:
            work[into[0]] = inputs[of[0]][of[1]]
        elif operation == casadi.OP_CONST:
            work[into[0]] = constant(function.instruction_constant(k))
        elif operation == casadi.OP_OUTPUT:
            column, row = divmod(into[1], rows)  # CasADi stores by columns
            output[row][column] = work[of[0]]
        else:
            work[into[0]] = operate(words[operation], [work[i] for i in of])
    return output


TEMPLATES = {
    '+': '{} + {}',
    '-': '{} - {}',
    '*': '{} * {}',
    '/': '{} / {}',
    'inverse': '1.0 / {}',
    'negative': '-{}',
    'twice': '2.0 * {}',
    'square': '{0} * {0}',
    'sin': 'sin({})',
    'cos': 'cos({})',
    'tanh': 'tanh({})',
    'exp': 'exp({})',
    'absolute': 'fabs({})',
}


@dataclass(frozen=True)
class Language:
    """Templates of a language: a line of code, an entry of a vector, and operations that differ from `TEMPLATES`."""

    line: str
    entry: str
    first: int  # index of a vector's first entry
    own: dict[str, str] = field(default_factory=dict)

    def vector(self, name: str, length: int) -> list[str]:
        """Return the expressions of the entries of a vector."""
        return [self.entry.format(name, k + self.first) for k in range(length)]

    def steps(self, function: Any) -> tuple[list[str], list[list[str]]]:
        """Return the lines of a function's body, and the expressions of its output's entries, by rows."""
        inputs = [self.vector(function.name_in(k), function.numel_in(k)) for k in range(function.n_in())]
        templates = TEMPLATES | self.own
        lines: list[str] = []
        known: dict[str, str] = {}

        def operate(operation: str, of: list[str]) -> str:
            right = templates[operation].format(*(sorted(of) if operation in '+*' else of))
            if right not in known:  # x y = y x, which CasADi's search for common terms misses
                known[right] = f't{len(lines)}'
                lines.append(self.line.format(f'{known[right]} = {right}'))
            return known[right]

        return lines, evaluate(function, inputs, number, operate)


def number(x: float) -> str:
    """Return a constant to the last bit, in parentheses if it is negative."""
    return f'({x!r})' if x < 0 else repr(x)


C = Language(
    '    const double {};',
    '{}[{}]',
    0,
    {'sign': '({0} > 0.0) - ({0} < 0.0)', '<': '{} < {}'},
)
MATLAB = Language('  {};', '{}({})', 1, {'sign': 'sign({})', 'absolute': 'abs({})'})
PYTHON = Language('    {}', '{}[{}]', 0, {'sign': '1.0 * ({0} > 0.0) - 1.0 * ({0} < 0.0)'})


def tables(symbols: Symbols, first: int = 0) -> dict[str, list[str]]:
    """Return the rows of three tables, indices counted from `first`: joints, hands and parameters."""
    joints = [
        (joint.name, units_of(joint).position + _followers(symbols.robot, joint.name))
        for joint in symbols.robot.moving_joints
    ]
    hands = [f'{hand}, link {link}' if hand != link else f'link {link}' for hand, link in symbols.hands.items()]
    named = [(x.name, f'{x.meaning}: {x.value!r}') for x in symbols.parameters]
    rows = {
        'joints': [f'{k:<4}{name}, {unit}' for k, (name, unit) in enumerate(joints, first)],
        'hands': [f'{first + 6 * k} to {first + 6 * k + 5}: {hand}' for k, hand in enumerate(hands)],
        'parameters': [f'{k:<4}{name:<10} {what}' for k, (name, what) in enumerate(named, first)],
    }
    return {table: [comment_safe(row) for row in of] for table, of in rows.items()}


def _followers(robot: Robot, name: str) -> str:
    """Return the positions of the mimic joints of a joint, as functions of its position q."""
    following = {follower: mimic for follower, mimic in robot.mimics.items() if mimic.joint == name}
    return ''.join(f'; {follower}: {x.multiplier:.12g} q + {x.offset:.12g}' for follower, x in following.items())


def comment_safe(text: str) -> str:
    """Return text, which may contain any name, so that it cannot end a comment."""
    shown = ''.join(x if x.isprintable() else ' ' for x in text)
    return shown.replace('*/', '* /').replace('/*', '/ *').replace('??', '? ?')


def head(symbols: Symbols, first: int, parameters: str) -> Iterator[str]:
    """Yield the lines of the comment at the top of a MATLAB or Python file; the function `parameters` returns p."""
    yield f'The equations of motion of {comment_safe(symbols.robot.name)}. Written by krang_dynamics_ros: do not edit.'
    yield ''
    yield '    tau = A(q) ddq + C(q, dq) dq + Q(q) + friction + spring + coupling + J^T f'
    yield ''
    yield 'Letters and equation numbers: M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015).'
    yield 'Units: m, kg, s, rad, N, N m.'
    meanings = {
        'joints': 'q, dq, ddq',
        'hands': "f, the wrenches that the robot applies: [force; moment], in the hand's own axes, about its origin",
        'parameters': f'p; {parameters}() returns those of the robot file',
    }
    for what, rows in tables(symbols, first).items():
        yield from ['', f'{meanings[what]}:', *(f'    {row}' for row in rows)]
