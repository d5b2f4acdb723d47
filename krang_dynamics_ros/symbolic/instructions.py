"""A `casadi.Function` followed step by step: to write it in another language, or to run it on others' symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..core.optional import optional

casadi = optional('casadi', 'symbols')
T = TypeVar('T')
OPERATIONS = {  # CasADi's names, and ours
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
    'OP_SIGN': 'sign',
    'OP_FABS': 'absolute',
    'OP_LT': '<',
}


def follow(
    function: Any, inputs: Sequence[Sequence[T]], number: Callable[[float], T], operate: Callable[[str, list[T]], T]
) -> list[list[T]]:
    """Run a function of one dense output on values of any kind, and return the output's rows.

    `number` turns a constant into such a value; `operate` does one of `OPERATIONS` to one or two of them.
    """
    words = {getattr(casadi, name): word for name, word in OPERATIONS.items()}
    rows, columns = function.size_out(0)
    output = [[number(0.0)] * columns for _ in range(rows)]
    work: dict[int, T] = {}
    for k in range(function.n_instructions()):
        operation, into, of = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if operation == casadi.OP_INPUT:
            work[into[0]] = inputs[of[0]][of[1]]
        elif operation == casadi.OP_CONST:
            work[into[0]] = number(function.instruction_constant(k))
        elif operation == casadi.OP_OUTPUT:
            column, row = divmod(into[1], rows)  # CasADi stores by columns
            output[row][column] = work[of[0]]
        else:
            work[into[0]] = operate(words[operation], [work[i] for i in of])
    return output
