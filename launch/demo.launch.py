"""A robot to try it on: simulator, dynamics node, and the page in the browser; RViz too if asked for."""

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from krang_dynamics_ros.core.share import share
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch krang_dynamics_ros demo.launch.py` starts."""
    return LaunchDescription(
        [
            DeclareLaunchArgument('robot_file', default_value='', description='robot file (YAML); none: Krang'),
            DeclareLaunchArgument('namespace', default_value='', description='namespace of nodes and topics'),
            DeclareLaunchArgument('port', default_value='8080', description='of the page, on this machine only'),
            DeclareLaunchArgument(
                'rviz', default_value='false', choices=['true', 'false'], description='open RViz with rviz/krang.rviz'
            ),
            OpaqueFunction(function=_simulator),
            Node(
                package='krang_dynamics_ros',
                executable='viewer_node',
                namespace=LaunchConfiguration('namespace'),
                parameters=[{'port': ParameterValue(LaunchConfiguration('port'), value_type=int)}],
                output='screen',
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(share('launch', 'dynamics.launch.py'))),
                launch_arguments={
                    'robot_file': LaunchConfiguration('robot_file'),
                    'params_file': str(share('config', 'demo.yaml')),
                    'rviz': LaunchConfiguration('rviz'),
                }.items(),
            ),
        ]
    )


def _simulator(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    robot_file = LaunchConfiguration('robot_file').perform(context)
    own = [{'robot_file': robot_file}] if robot_file else [str(share('config', 'demo_start.yaml'))]
    return [
        Node(
            package='krang_dynamics_ros',
            executable='simulator_node',
            namespace=LaunchConfiguration('namespace'),
            parameters=[str(share('config', 'demo.yaml')), *own],
            remappings=[('torque', 'torque/total')],
            output='screen',
        )
    ]
