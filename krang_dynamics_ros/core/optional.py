"""Lazy import of optional dependencies. A missing dependency raises `MissingError`."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingError


def optional(module: str, purpose: str) -> Any:
    """Return a proxy of a module that is imported on first use; `purpose` is part of the message if it is missing."""
    return _LazyModule(module, purpose)


class _LazyModule:
    def __init__(self, module: str, purpose: str) -> None:
        self._module, self._purpose = module, purpose

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):  # inspection, not use
            raise AttributeError(name)
        try:
            value = getattr(importlib.import_module(self._module), name)
        except ImportError:
            raise MissingError(self._module, self._purpose, f'pip install {self._module.partition(".")[0]}') from None
        setattr(self, name, value)
        return value
