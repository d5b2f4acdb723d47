"""The robot of a launch file, read and checked before nodes are started."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..core.errors import ArgumentError, short_repr
from ..dynamics.factory import load_model
from ..robot.adapted import SPECS as ADAPTATION

TOPIC = 'robot_description_topic'
CHOICES = ('robot_file', 'robot_description', TOPIC, 'base_link')  # the parameters that choose the robot


@dataclass(frozen=True)
class LaunchedRobot:
    """The robot of a launch file. A robot by topic is unknown until its description is received."""

    urdf: str  # '' if it comes by topic
    base: str  # the link that does not move; '' if unknown
    parameters: dict[str, str]  # for every node that loads the robot; empty: Krang

    @property
    def topic(self) -> str:
        """The topic of its description, or ''."""
        return self.parameters.get(TOPIC, '')


def launched_robot(node: str, params_file: str, robot_file: str = '', topic: str = '') -> LaunchedRobot:
    """Return the robot of a launch argument, or else of a ROS parameter file, or else Krang.

    `node` is the full name of the node whose parameters choose the robot; `topic` is the argument for a description by
    topic. Raise the package's own errors if the robot cannot be read.
    """
    in_file = parameters_in(params_file, node)
    asked = {key: value for key, value in (('robot_file', robot_file), (TOPIC, topic)) if value}
    chosen = asked or {key: str(in_file[key]) for key in CHOICES if in_file.get(key)}
    if TOPIC in chosen and (more := chosen.keys() & {'robot_file', 'robot_description'}):
        raise ArgumentError(f'{more.pop()} and {TOPIC} are both given, must be one of the two')
    text = {key: chosen.get(key, '') for key in CHOICES}
    instead = {key: '' for key in CHOICES if in_file.get(key)}
    if TOPIC in chosen:
        return LaunchedRobot('', text['base_link'], instead | chosen)
    adaptation = {spec.name: in_file[spec.name] for spec in ADAPTATION if spec.name in in_file}
    model = load_model(text['robot_file'], text['robot_description'], base_link=text['base_link'], **adaptation)
    return LaunchedRobot(model.urdf, model.dynamics.base, instead | chosen)


def parameters_in(params_file: str, node: str) -> dict[str, Any]:
    """Return what a ROS parameter file sets for a node, by its full name; a later section overrides an earlier one."""
    path = Path(params_file)
    if not path.is_file():
        raise ArgumentError(f"params_file: '{params_file}', must be a file")
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ArgumentError(f"params_file: '{params_file}', must be YAML: {error}") from None
    try:
        return _of_node({} if content is None else content, '', node)
    except ArgumentError as error:
        raise ArgumentError(f"params_file: '{params_file}', {error}") from None


def _of_node(section: Any, name: str, node: str) -> dict[str, Any]:
    """Return the parameters of a node in the section `name`, which holds parameters or nested sections."""
    if not isinstance(section, dict):
        raise ArgumentError(f'{name or "its content"}: {short_repr(section)}, must be a mapping, as in /**: {{...}}')
    found: dict[str, Any] = {}
    for key, inner in section.items():
        if key == 'ros__parameters' and not isinstance(inner, dict):
            raise ArgumentError(f'{name}: ros__parameters: {short_repr(inner)}, must be a mapping of names to values')
        if key == 'ros__parameters' and _matches(name, node):
            found |= inner
        elif key != 'ros__parameters':
            found |= _of_node(inner, f'{name}/{key}'.replace('//', '/'), node)
    return found


def _matches(pattern: str, node: str) -> bool:
    """Return whether a section matches a node: `*` stands for a single word, `**` for any number, also zero."""
    words = {'**': '(/[^/]+)*', '*': '/[^/]+'}
    expression = ''.join(words.get(word, f'/{re.escape(word)}') for word in pattern.strip('/').split('/'))
    return re.fullmatch(expression, '/' + node.strip('/')) is not None
