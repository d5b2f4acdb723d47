"""What the package can do without: imported when it is first used, or missed in one sentence."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingError


def optional(module: str, purpose: str) -> Any:
    """Return what stands for a module that only some uses need; using it without the module is a `MissingError`."""
    return _Later(module, purpose)


class _Later:
    def __init__(self, module: str, purpose: str) -> None:
        self._module, self._purpose = module, purpose

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):  # those who look at modules, not those who use them
            raise AttributeError(name)
        try:
            found = getattr(importlib.import_module(self._module), name)
        except ImportError:
            raise MissingError(self._module, self._purpose, f'pip install {self._module.partition(".")[0]}') from None
        setattr(self, name, found)
        return found
