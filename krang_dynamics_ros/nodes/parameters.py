"""Parameters as ROS has them: declared from their specs, and set while the node runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..core.errors import KrangDynamicsError, did_you_mean
from ..core.parameters import ParameterSpec, Settings
from ..core.text import shown
from ..live.parameter_file import OF_COMMANDS
from ..live.parameters import MODEL


def descriptor(spec: ParameterSpec) -> ParameterDescriptor:
    """Return what `ros2 param describe` shows."""
    described = ParameterDescriptor(description=spec.meaning, read_only=not spec.live)
    if spec.choices:
        described.additional_constraints = f'one of {", ".join(spec.choices)}'
    if spec.least is not None and spec.most is not None and isinstance(spec.default, float):
        described.floating_point_range = [FloatingPointRange(from_value=spec.least, to_value=spec.most)]
    if spec.least is not None and spec.most is not None and isinstance(spec.default, int):
        described.integer_range = [IntegerRange(from_value=int(spec.least), to_value=int(spec.most), step=1)]
    return described


def declare(node: Node, specs: Iterable[ParameterSpec]) -> dict[str, Any]:
    """Declare parameters and return their values, overridden or default, checked."""
    values = {}
    for spec in specs:
        values[spec.name] = node.declare_parameter(spec.name, spec.default, descriptor(spec)).value
        spec.check(values[spec.name])
    return values


def given_to(node: Node) -> dict[str, Any]:
    """Return the values that a node was started with."""
    return {name: parameter.value for name, parameter in node._parameter_overrides.items()}


OF_ROBOT = {*(spec.name for spec in MODEL), 'gravity', 'robot.adds'}


def warn_of_unknown(node: Node) -> None:
    """Warn of parameters that no declaration has: ROS would pass over a misspelt one in silence.

    An arm file describes the robot to every node: not each of them uses all of it.
    """
    for name in given_to(node):
        of_robot = name in OF_ROBOT or name.startswith(('qos_overrides', *OF_COMMANDS))
        if not node.has_parameter(name) and not of_robot:
            hint = did_you_mean(name, node._parameters)
            node.get_logger().warning(f"parameter '{shown(name)}' is unknown and has no effect. {hint}")


class NodeSettings(Settings):
    """Settings that are a node's parameters."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    def _first(self, spec: ParameterSpec) -> Any:
        return self._node.declare_parameter(spec.name, spec.default, descriptor(spec)).value

    def follow(self) -> None:
        """Let parameters be set from now on; until then the node is still being made."""
        self._node.add_on_set_parameters_callback(self._on_set)
        self._node.add_post_set_parameters_callback(lambda changes: self.update(_values(changes)))

    def _on_set(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            self.check(_values(changes))
        except KrangDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def _values(changes: Iterable[Parameter]) -> dict[str, Any]:
    return {change.name: change.value for change in changes}
