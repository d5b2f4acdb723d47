"""Hand guiding: the dynamics node with config/guiding.yaml, and a joystick's button as the switch that is held."""

from launch.actions import DeclareLaunchArgument, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from krang_dynamics_ros.core.files import share
from launch import LaunchDescription


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
            # First, for launch leaves running what it has started when a package is missing.
            Node(
                package='joy',
                executable='joy_node',
                namespace=LaunchConfiguration('namespace'),
                parameters=[{'autorepeat_rate': 20.0}],  # a switch that is silent for 0.2 s counts as released
                output='screen',
            ),
            Node(
                package='krang_dynamics_ros',
                executable='dynamics_node',
                namespace=LaunchConfiguration('namespace'),
                parameters=[LaunchConfiguration('params_file'), {'guiding.hold_required': True}],
                on_exit=Shutdown(reason='dynamics_node has ended'),
                output='screen',
            ),
            Node(
                package='krang_dynamics_ros',
                executable='hold_switch_node',
                namespace=LaunchConfiguration('namespace'),
                parameters=[{'button': ParameterValue(LaunchConfiguration('button'), value_type=int)}],
                on_exit=Shutdown(reason='hold_switch_node has ended'),
                output='screen',
            ),
        ]
    )
