"""Hand guiding: the dynamics node with config/guiding.yaml, and a joystick's button as the switch that is held."""

from typing import Any

from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import ExecutableInPackage

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.files import share
from krang_dynamics_ros.nodes.launched_robot import launched_robot
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch krang_dynamics_ros guiding.launch.py` starts; package `joy` reads the joystick."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'params_file',
                default_value=str(share('config', 'guiding.yaml')),
                description='ROS parameters; begin with a copy of the default, and add robot_file and command_joints',
            ),
            DeclareLaunchArgument('button', default_value='5', description='number of the button that is held'),
            DeclareLaunchArgument('namespace', default_value='', description='namespace of nodes and topics'),
            OpaqueFunction(function=nodes),
        ]
    )


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes. Check first: when launch fails, it leaves the processes that it started running."""
    asked = context.launch_configurations
    if not asked['button'].isdecimal():
        raise ArgumentError(f"button: '{asked['button']}', must be a whole number from 0, as in joy's `buttons`")
    launched_robot(f'{asked["namespace"]}/krang_dynamics', asked['params_file'])
    button = ParameterValue(LaunchConfiguration('button'), value_type=int)
    actions = [
        _joystick(),
        _own('dynamics_node', LaunchConfiguration('params_file'), {'guiding.hold_required': True}),
        _own('hold_switch_node', {'button': button}),
    ]
    for action in actions:
        ExecutableInPackage(package=action.node_package, executable=action.node_executable).perform(context)
    return actions


def _joystick() -> Node:
    return Node(
        package='joy',
        executable='joy_node',
        namespace=LaunchConfiguration('namespace'),
        parameters=[{'autorepeat_rate': 20.0}],  # a switch that is silent for 0.2 s counts as released
        output='screen',
    )


def _own(executable: str, *parameters: Any) -> Node:
    """Return a node of this package; when it ends, all end."""
    return Node(
        package='krang_dynamics_ros',
        executable=executable,
        namespace=LaunchConfiguration('namespace'),
        parameters=list(parameters),
        on_exit=Shutdown(reason=f'{executable} has ended'),
        output='screen',
    )
