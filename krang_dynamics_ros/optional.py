"""What the package can do without, or miss in one sentence."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingError


def optional(module: str, purpose: str) -> Any:
    """Return a module that only some uses need, or raise `MissingError`."""
    try:
        return importlib.import_module(module)
    except ImportError:
        remedy = f"pip install {module}, or with the package: pip install 'krang_dynamics_ros[symbolic]'"
        raise MissingError(module, purpose, remedy) from None
