"""How C, MATLAB and Python write the steps of a function: one operation to a line, constants to the last bit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .instructions import follow

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
}


@dataclass(frozen=True)
class Language:
    """One language: a line of code, an entry of a vector, and the operations that it writes in its own way."""

    line: str
    entry: str
    first: int  # index of a vector's first entry
    own: dict[str, str] = field(default_factory=dict)

    def vector(self, name: str, length: int) -> list[str]:
        """Return how the entries of a vector are written."""
        return [self.entry.format(name, k + self.first) for k in range(length)]

    def steps(self, function: Any) -> tuple[list[str], list[list[str]]]:
        """Return a function's lines, and what its output's entries are after them, by rows."""
        inputs = [self.vector(function.name_in(k), function.numel_in(k)) for k in range(function.n_in())]
        templates = TEMPLATES | self.own
        lines: list[str] = []
        known: dict[str, str] = {}

        def operate(operation: str, of: list[str]) -> str:
            right = templates[operation].format(*(sorted(of) if operation in '+*' else of))
            if right not in known:  # x y is y x, which CasADi's own search for common terms does not see
                known[right] = f't{len(lines)}'
                lines.append(self.line.format(f'{known[right]} = {right}'))
            return known[right]

        return lines, follow(function, inputs, number, operate)


def number(x: float) -> str:
    """Return a constant to the last bit, in parentheses if it has a sign."""
    return f'({x!r})' if x < 0 else repr(x)


C = Language(
    '    const double {};',
    '{}[{}]',
    0,
    {'sign': '({0} > 0.0) - ({0} < 0.0)', 'absolute': 'fabs({})', '<': '{} < {}'},
)
MATLAB = Language('  {};', '{}({})', 1, {'sign': 'sign({})'})
PYTHON = Language('    {}', '{}[{}]', 0, {'sign': '1.0 * ({0} > 0.0) - 1.0 * ({0} < 0.0)'})
