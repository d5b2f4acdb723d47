"""A node's parameter file, read without ROS, as ROS reads it: what it sets for `dynamics_node`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import Fault, FaultsError, did_you_mean, fault, listed
from ..dynamics.factory import load_model
from ..pipeline.dynamics_parameters import MODEL
from ..pipeline.pipeline import Pipeline
from ..pipeline.settings import Settings
from ..pipeline.spec import Spec
from ..robot.yaml_parsing import parse_file

NODE = 'krang_dynamics'
OF_ROS = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')  # every node has them


class ParameterFileError(FaultsError):
    """A parameter file that cannot be used."""


def read_parameters(path: Path, node: str = NODE) -> dict[str, Any]:
    """Return the values by parameter name that a file sets for a node of this name, whatever its namespace."""
    faults: list[Fault] = []
    sections = dict(_sections(_data(path), '', faults))
    ours = [name for name in sections if name.split('/')[-1] in (node, '**', '*')]
    if not faults and not ours:
        must = f'must have one of the node, as /{node} or /**, with ros__parameters in it'
        faults.append(Fault('sections', listed([*sections]) or 'none', must))
    if not faults and not any(all(_matches(name, _meant(one, node)) for name in ours) for one in ours):
        faults.append(Fault('sections', listed(ours), 'must be of one node; give those of another a file of their own'))
    if faults:
        raise ParameterFileError(str(path), faults)
    found: dict[str, Any] = {}
    for name in ours:
        found |= dict(_flat(sections[name], ''))
    return found


def _data(path: Path) -> dict[str, Any]:
    data, faults = parse_file(path)
    if faults or not isinstance(data, dict):
        raise ParameterFileError(str(path), faults or [fault('file', data, 'must map nodes to parameters')])
    return data


def _sections(data: Mapping[str, Any], above: str, faults: list[Fault]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the nodes' parameters by full name: namespaces may stand within each other."""
    for key, value in data.items():
        name = f'{above}/{str(key).strip("/")}'
        parameters = value.get('ros__parameters') if isinstance(value, dict) else None
        if isinstance(parameters, dict):
            yield name, parameters
        elif isinstance(value, dict) and 'ros__parameters' not in value:
            yield from _sections(value, name, faults)
        else:
            faults.append(fault(name, value, 'must be a node, with its parameters in ros__parameters'))


def _matches(section: str, node: str) -> bool:
    """Tell whether a section is of a node, by full names: `*` stands for one part of a name, `**` for any number."""
    return re.fullmatch(section.replace('/*', r'(/\w+)'), node) is not None


def _meant(section: str, node: str) -> str:
    """Return the full name of a node that a section can be of."""
    spaces = [part.replace('*', 'any') for part in section.split('/')[:-1] if part != '**']
    return '/'.join((*spaces, node))


def _flat(section: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{above}{name}.')
        else:
            yield f'{above}{name}', value


def unknown_parameters(given: Mapping[str, Any]) -> list[str]:
    """Return a line for each value that no parameter takes, with the name that may be meant."""
    settings = _Declared(given)
    chosen = settings.declare(MODEL)
    if chosen.pop('robot_description_topic'):
        return []  # the robot, and so its parameters, are not known
    Pipeline(settings, load_model(**chosen | {'backend': 'pinocchio'}))
    unknown = [name for name in given if name not in settings.names and not name.startswith(OF_ROS)]
    return [f'{name} is no parameter of this robot. {did_you_mean(name, settings.names)}'.strip() for name in unknown]


class _Declared(Settings):
    """Settings that know the names of all that was asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.names: list[str] = []

    def declare(self, specs: Sequence[Spec]) -> dict[str, Any]:
        self.names += [spec.name for spec in specs]
        return super().declare(specs)
