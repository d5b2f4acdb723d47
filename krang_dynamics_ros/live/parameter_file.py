"""Reading of a ROS parameter file for `dynamics_node`, without ROS but by its rules."""

from __future__ import annotations

import json
import math
import os
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import ArgumentError, Fault, FaultsError, did_you_mean, fault, listed
from ..core.parameters import ParameterSpec, Settings
from ..dynamics.factory import PINOCCHIO, load_model
from ..robot.file_text import is_xml
from ..robot.yaml_reading import parse_file
from .engine import Engine
from .parameters import MODEL

NODE = 'krang_dynamics'
TRUE = {'Y', 'y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'}
FALSE = {'N', 'n', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'}
_WHOLE = re.compile(r'([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]{0,18})')  # as C writes it: 010 is 8
_REAL = re.compile(r'[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?')
_NO_NUMBER = re.compile(r'([-+]?)\.?(inf|nan)', re.IGNORECASE)
ANY_NODE = ('**', '*')  # last parts of the names of sections for every node
_SECTION = re.compile(r'(/(\w+|\*\*?))+', re.ASCII)
OF_ROS = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')  # parameters of every node
MESH_FOLDERS = 'mesh_folders'
OF_PROGRAMS = ('keep_out.', MESH_FOLDERS)  # in an arm file, for `krang` programs and the page


class ParameterFileError(FaultsError):
    """A parameter file that cannot be used."""


def read_parameters(path: Path, node: str = NODE) -> dict[str, Any]:
    """Return the values by parameter name that a file sets for a node of this name, in any namespace."""
    found: dict[str, Any] = {}
    for section in _sections_of(path, node).values():
        found |= dict(flat(section))
    return found


def _sections_of(path: Path, node: str, *, required: bool = True) -> dict[str, dict[str, Any]]:
    """Return the sections of a file that are for a node of this name, in any namespace, by section.

    Raise `ParameterFileError` if they are of several nodes; if there is none, only where one is `required`.
    """
    faults: list[Fault] = []
    sections = dict(_sections(_data(path), '', faults))
    for name, parameters in sections.items():
        faults += _not_of_ros(parameters, name)
    ours = [name for name in sections if name.split('/')[-1] in (node, *ANY_NODE)]
    if not faults and not ours and required:
        must = f'must have one of the node, as /{node} or /**, with ros__parameters in it'
        faults.append(Fault('sections', listed([*sections]) or 'none', must))
    one_node = any(all(_matches(name, _example_name(section, node)) for name in ours) for section in ours)
    if not faults and ours and not one_node:
        faults.append(Fault('sections', listed(ours), 'must be of a single node; put other nodes into other files'))
    if faults:
        raise ParameterFileError(str(path), faults)
    return {name: sections[name] for name in ours}


def _not_of_ros(value: Any, path: str) -> Iterator[Fault]:
    """Yield the values with which rcl refuses a whole file: missing ones, and lists that are not of one type."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _not_of_ros(inner, f'{path}.{name}')
    elif value is None:
        yield Fault(path, 'no value', "must have one; write '' for an empty text")
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) or item is None for item in value):
        yield fault(path, value, 'must be a list of single values')
    elif isinstance(value, list) and len(types := {type(item) for item in value}) > 1:
        how = 'write 0.0 for 0' if types == {int, float} else 'put texts into quotes'
        yield fault(path, value, f'must be of one type, because ROS refuses the file otherwise; {how}')


def scalar_of_ros(text: str) -> Any:
    """Return the value of an unquoted text as rcl reads it: `no` is false, `010` is 8, `~` is a string; None: none."""
    if not text:
        return None
    if text in TRUE or text in FALSE:
        return text in TRUE
    if (whole := _WHOLE.fullmatch(text)) and -(2**63) <= (integer := _whole(*whole.groups())) < 2**63:
        return integer
    if _REAL.fullmatch(text) and math.isfinite(real := float(text)):
        return real
    if other := _NO_NUMBER.fullmatch(text):
        return float(''.join(other.groups()))
    return text


def _whole(sign: str, digits: str) -> int:
    base = 16 if digits[:2] in ('0x', '0X') else 8 if digits[0] == '0' else 10
    return int(digits, base) * (-1 if sign == '-' else 1)


ROBOT_KEYS = {'links', 'joints'}  # of a robot file
HEAD = 1000  # characters of a file that are searched for XML


def _refuse_robot(path: Path, data: Any = None) -> None:
    """Refuse a robot file or URDF that was given instead of a parameter file."""
    if data is None:
        with path.open(encoding='utf-8', errors='replace') as file:
            is_robot = is_xml(file.read(HEAD))
    else:
        is_robot = isinstance(data, dict) and data.keys() >= ROBOT_KEYS
    if is_robot:
        raise ArgumentError(
            f'{path}: is a robot description, must be a ROS parameter file; '
            f'`krang new_arm {path} -o my_arm.yaml` writes one'
        )


def _data(path: Path) -> dict[str, Any]:
    _refuse_robot(path)
    data, faults = parse_file(path, scalar_of_ros)
    _refuse_robot(path, data)
    if faults or not isinstance(data, dict):
        raise ParameterFileError(str(path), faults or [fault('file', data, 'must map nodes to parameters')])
    return data


def _sections(data: Mapping[str, Any], above: str, faults: list[Fault]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the full name and the parameters of each node; namespaces may be nested."""
    for key, value in data.items():
        name = f'{above}/{str(key).strip("/")}'
        parameters = value.get('ros__parameters') if isinstance(value, dict) else None
        if isinstance(parameters, dict) and not _SECTION.fullmatch(name):
            faults.append(
                fault('section', name, 'must be a name of a node: letters, digits, _, /, and the wildcards * and **')
            )
        elif isinstance(parameters, dict):
            yield name, parameters
        elif isinstance(value, dict) and 'ros__parameters' not in value:
            yield from _sections(value, name, faults)
        else:
            faults.append(fault(name, value, 'must be a node with its parameters in ros__parameters'))


def _matches(section: str, node: str) -> bool:
    """Return whether a section matches the full name of a node: `*` is a single part of a name, `**` any number."""
    parts = node.split('/')
    reached = {0}  # possible numbers of matched parts of the node's name
    for part in section.split('/'):
        if part == '**':
            reached = set(range(min(reached, default=len(parts) + 1), len(parts) + 1))
        else:
            reached = {k + 1 for k in reached if k < len(parts) and part in ('*', parts[k])}
    return len(parts) in reached


def _example_name(section: str, node: str) -> str:
    """Return the full name of a node that a section matches."""
    spaces = [part.replace('*', 'any') for part in section.split('/')[:-1] if part != '**']
    return '/'.join((*spaces, node))


def flat(section: Mapping[str, Any], above: str = '') -> Iterator[tuple[str, Any]]:
    """Yield the full names of nested parameters, such as `left.link`, with their values."""
    for name, value in section.items():
        if isinstance(value, dict):
            yield from flat(value, f'{above}{name}.')
        else:
            yield f'{above}{name}', value


def read_arm(path: Path) -> dict[str, Any]:
    """Return the values of an arm file. A relative `robot_file` or mesh folder is in the arm file's folder."""
    return _with_paths(read_parameters(path), path.parent)


def _with_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return values with absolute paths where a file or folder of this name is in a folder."""
    robot_file, meshes = values.get('robot_file', ''), values.get(MESH_FOLDERS, ())
    if isinstance(robot_file, str) and robot_file and (beside := folder / robot_file).is_file():
        values['robot_file'] = str(beside.absolute())
    if isinstance(meshes, list):
        values[MESH_FOLDERS] = [str((folder / Path(name).expanduser()).absolute()) if name else '' for name in meshes]
    return values


Shared = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns those parameters of the dynamics node that another node has too."""


def arm_arguments(path: Path, node: str = NODE, shared: Shared | None = None) -> list[str]:
    """Return the command-line arguments that give a ROS node the values that an arm file has for it.

    A value for every node is overridden by one that is `shared` with the dynamics node, and this by one for the node
    itself. What comes later on the command line overrides them all: in the file itself, ROS prefers a section for one
    node to anything without one.
    """
    values = read_arm(path)
    if node != NODE:
        sections = _sections_of(path, node, required=False)
        general = {name for name in sections if name.split('/')[-1] in ANY_NODE}
        parts = [dict(flat(section)) for name, section in sections.items() if name in general]
        parts += [dict(shared(values))] if shared else []
        parts += [dict(flat(section)) for name, section in sections.items() if name not in general]
        values = _with_paths(dict(ChainMap(*reversed(parts))), path.parent)
    return ['--ros-args', '--params-file', _file_of(values), '--'] if values else []


def _file_of(values: Mapping[str, Any]) -> str:
    """Return the path of a parameter file with values for any node; it is in memory while this process runs."""
    lines = [f'    {json.dumps(name, ensure_ascii=False)}: {_ros_text(value)}\n' for name, value in values.items()]
    file = os.memfd_create('arm')
    os.write(file, ''.join(['/**:\n  ros__parameters:\n', *lines]).encode())
    return f'/proc/self/fd/{file}'


def _ros_text(value: Any) -> str:
    """Return a value as rcl reads it from a file."""
    if isinstance(value, list):
        return f'[{", ".join(map(_ros_text, value))}]'
    if isinstance(value, float) and not math.isfinite(value):
        return str(value).replace('inf', '.inf').replace('nan', '.nan')
    return json.dumps(value, ensure_ascii=False)


def unknown_parameters(given: Mapping[str, Any], among: Collection[str] | None = None) -> list[str]:
    """Return a message for each unknown parameter, with a suggestion.

    `among` are the names that are looked at, of all that choose the robot and its hands; by default all of them.
    """
    settings = _Declared(given)
    chosen = settings.declare(MODEL)
    if chosen.pop('robot_description_topic'):
        return []  # the robot and so its parameters are unknown
    Engine(settings, load_model(**chosen | {'backend': PINOCCHIO}))
    looked_at = given if among is None else among
    unknown = [
        name for name in looked_at if name not in settings.names and not name.startswith((*OF_ROS, *OF_PROGRAMS))
    ]
    return [f'{name} is not a parameter of this arm. {did_you_mean(name, settings.names)}'.strip() for name in unknown]


class _Declared(Settings):
    """Settings that record the names of all declared parameters."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.names: list[str] = []

    def declare(self, specs: Sequence[ParameterSpec]) -> dict[str, Any]:
        self.names += [spec.name for spec in specs]
        return super().declare(specs)
