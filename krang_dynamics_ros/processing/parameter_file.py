"""A node's parameter file, read without ROS: what it sets for `dynamics_node`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import FaultsError, fault
from ..robot.yaml_parsing import UNREADABLE, parse

NODE = 'krang_dynamics'


class ParameterFileError(FaultsError):
    """A parameter file that cannot be used."""


def read_parameters(path: Path) -> dict[str, Any]:
    """Return the values by parameter name that a file sets for the dynamics node, whatever its namespace."""
    data, faults = parse(path.read_text(encoding='utf-8'))
    if faults or not isinstance(data, dict):
        raise ParameterFileError(
            str(path), faults or [fault('file', None if data is UNREADABLE else data, 'must map nodes to parameters')]
        )
    found: dict[str, Any] = {}
    for node, section in data.items():
        if str(node).split('/')[-1] not in (NODE, '**', '*'):
            continue
        if not isinstance(section, dict) or not isinstance(section.get('ros__parameters'), dict):
            raise ParameterFileError(str(path), [fault(str(node), section, 'must have ros__parameters')])
        found |= dict(_flat(section['ros__parameters'], ''))
    return found


def _flat(section: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{above}{name}.')
        else:
            yield f'{above}{name}', value
