"""Runs a launch file with stand-ins for `launch` and `launch_ros`, which are not on PyPI, and returns its nodes.

The real ones run the same files in test_launch.py, where they are installed.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from .robots import ROOT


class LaunchConfiguration(NamedTuple):
    """The value of a launch argument, by name."""

    name: str


class DeclareLaunchArgument:
    def __init__(self, name: str, default_value: str, **_: Any) -> None:
        self.name, self.default_value = name, default_value


class OpaqueFunction(NamedTuple):
    """A function of the context that returns nodes."""

    function: Callable[[Any], list[Any] | None]


class Node(SimpleNamespace):
    """The arguments that a node is started with."""

    @property
    def node_package(self) -> str:
        return str(self.package)

    @property
    def node_executable(self) -> str:
        return str(self.executable)


def _found(**_: str) -> Any:
    """Stand in for the search for an executable: it is there."""
    return SimpleNamespace(perform=lambda _: None)


STAND_INS: Mapping[str, Mapping[str, Any]] = {
    'launch': {'LaunchContext': Any, 'LaunchDescription': list, 'LaunchDescriptionEntity': Any},
    'launch.actions': {
        'DeclareLaunchArgument': DeclareLaunchArgument,
        'OpaqueFunction': OpaqueFunction,
        'Shutdown': lambda reason: reason,
    },
    'launch.substitutions': {'LaunchConfiguration': LaunchConfiguration},
    'launch_ros': {},
    'launch_ros.actions': {'Node': Node},
    'launch_ros.parameter_descriptions': {'ParameterValue': lambda value, value_type: value},
    'launch_ros.substitutions': {'ExecutableInPackage': _found},
}


def _arguments_and_nodes(name: str, given: Mapping[str, str]) -> Iterator[Node]:
    asked: dict[str, str] = {}
    context = SimpleNamespace(launch_configurations=asked)
    for entity in runpy.run_path(str(ROOT / 'launch' / name))['generate_launch_description']():
        if isinstance(entity, DeclareLaunchArgument):
            asked[entity.name] = given.get(entity.name, entity.default_value)
        elif isinstance(entity, OpaqueFunction):
            yield from entity.function(context) or []
        else:
            yield entity


def launched(name: str, **given: str) -> dict[str, Node]:
    """Return what a launch file starts with these arguments, by executable."""
    with pytest.MonkeyPatch.context() as patch:
        for module, content in STAND_INS.items():
            stand_in = ModuleType(module)
            stand_in.__dict__.update(content)
            patch.setitem(sys.modules, module, stand_in)
        return {node.executable: node for node in _arguments_and_nodes(name, given)}
