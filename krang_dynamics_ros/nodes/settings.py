"""Settings of a node as ROS parameters. `live/parameters.py` lists those of `dynamics_node`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..core.errors import KrangDynamicsError, did_you_mean
from ..core.parameters import NONE, ParameterSpec, Settings
from ..core.text import shown
from ..live.parameter_file import OF_PROGRAMS
from ..live.parameters import JOINT_STATES_TOPIC, MODEL


def descriptor(spec: ParameterSpec) -> ParameterDescriptor:
    """Return the descriptor that `ros2 param describe` shows."""
    described = ParameterDescriptor(description=spec.description, read_only=not spec.settable)
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
        values[spec.name] = _declared(node, spec)
        spec.check(values[spec.name])
    return values


def _declared(node: Node, spec: ParameterSpec) -> Any:
    """Declare a parameter and return its value, overridden or default."""
    if spec.name in node._parameter_overrides:
        node._parameter_overrides[spec.name] = _of_type(spec, node._parameter_overrides[spec.name])
    return node.declare_parameter(spec.name, spec.default, descriptor(spec)).value


def _of_type(spec: ParameterSpec, given: Parameter) -> Parameter:
    """Return a given value with the type of the parameter: 1 may stand for 1.0, and [] for no text."""
    wanted, types = Parameter.Type.from_parameter_value(spec.default), Parameter.Type
    if (given.type_, wanted) == (types.INTEGER, types.DOUBLE):
        return Parameter(spec.name, wanted, float(given.value))
    if (given.type_, wanted) == (types.INTEGER_ARRAY, types.DOUBLE_ARRAY):
        return Parameter(spec.name, wanted, [float(item) for item in given.value])
    if (given.type_, wanted) == (types.NOT_SET, types.STRING_ARRAY):
        return Parameter(spec.name, wanted, NONE)
    return given


def given_to(node: Node) -> dict[str, Any]:
    """Return the parameter values that a node was started with."""
    return {name: parameter.value for name, parameter in node._parameter_overrides.items()}


def plain(value: Any) -> Any:
    """Return the value of a parameter as a parameter file has it: lists, not arrays."""
    return value if isinstance(value, (bool, int, float, str)) else list(value)


FOR_EVERY_NODE = {*(spec.name for spec in MODEL), 'gravity', 'robot.adds', JOINT_STATES_TOPIC.name}  # in an arm file


def warn_of_unknown(node: Node) -> None:
    """Warn of given parameters that are not declared: ROS ignores a misspelt name silently.

    Excepted are those that an arm file gives to every node, and those for programs.
    """
    for name in given_to(node):
        excepted = name in FOR_EVERY_NODE or name.startswith(('qos_overrides', *OF_PROGRAMS))
        if not node.has_parameter(name) and not excepted:
            hint = did_you_mean(name, node._parameters)
            node.get_logger().warning(f"parameter '{shown(name)}' is unknown and has no effect. {hint}")


class NodeSettings(Settings):
    """Settings that are ROS parameters of a node."""

    def __init__(self, node: Node) -> None:
        super().__init__(initial=lambda spec: _declared(node, spec))
        self._node = node

    def follow(self) -> None:
        """Accept changes of parameters from now on; call it at the end of the construction."""
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
