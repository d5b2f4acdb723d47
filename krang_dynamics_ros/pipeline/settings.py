"""The values of parameters now, and who is told when one changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .spec import Spec


class Settings:
    """Values by parameter name. A set of changes is accepted as one, or refused as one with the reason."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        """`given` has values that are not the defaults."""
        self._given = dict(given or {})
        self._specs: dict[str, Spec] = {}
        self._values: dict[str, Any] = {}
        self._checks: list[Callable[[Mapping[str, Any]], None]] = []
        self._users: list[Callable[[], None]] = []

    def declare(self, specs: Sequence[Spec]) -> dict[str, Any]:
        """Take up parameters, and return their values."""
        values = {}
        for spec in specs:
            values[spec.name] = self._first(spec)
            spec.check(values[spec.name])
            self._specs[spec.name] = spec
        self._values |= values
        return values

    def _first(self, spec: Spec) -> Any:
        return self._given.get(spec.name, spec.default)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def hold_to(self, check: Callable[[Mapping[str, Any]], None]) -> None:
        """Let `check` refuse values that do not go together: it gets all of them, and raises an error of ours."""
        check(self._values)
        self._checks.append(check)

    def used_by(self, use: Callable[[], None]) -> None:
        """Call `use` now, and again whenever a value has changed."""
        use()
        self._users.append(use)

    def check(self, changes: Mapping[str, Any]) -> None:
        """Raise an error of ours if these values cannot be set."""
        ours = {name: value for name, value in changes.items() if name in self._specs}
        for name, value in ours.items():
            self._specs[name].check(value)
        for check in self._checks:
            check(self._values | ours)

    def take(self, changes: Mapping[str, Any]) -> None:
        """Set values that were checked, and tell those who use them."""
        self._values |= {name: value for name, value in changes.items() if name in self._specs}
        for use in self._users:
            use()
