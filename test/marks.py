"""Which values of a parametrised test `make test` leaves to CI."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return the values of a parametrised test, each marked slow that is not among the quick ones."""
    few, every = [*quick], [*values]
    assert all(value in every for value in few), 'a quick value is none of the values'
    return [value if value in few else pytest.param(*_row(value), marks=pytest.mark.slow) for value in every]


def _row(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
