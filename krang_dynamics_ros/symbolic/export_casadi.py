"""A robot's functions as CasADi's own files, which `casadi.Function.load` reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.optional import optional
from .expressions import QUANTITIES, Symbols

casadi = optional('casadi', 'symbols')


def casadi_files(symbols: Symbols, name: str) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the files."""
    for quantity in QUANTITIES:
        yield f'{name}_{quantity}.casadi', _packed(symbols.function(quantity))
    p = casadi.Function(f'{name}_parameters', [], [casadi.DM(symbols.values)], [], ['p'])
    yield f'{name}_parameters.casadi', _packed(p)


def _packed(function: Any) -> str:
    packer = casadi.StringSerializer()  # what Function.save writes; Function.serialize lacks the head that load wants
    packer.pack(function)
    return str(packer.encode())
