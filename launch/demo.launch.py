"""A robot to try it on: the simulator, and the dynamics node that holds it up; RViz if asked for."""

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from krang_dynamics_ros.share import share
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch krang_dynamics_ros demo.launch.py` starts."""
    return LaunchDescription(
        [
            DeclareLaunchArgument('robot_file', default_value='', description='robot file (YAML); none: Krang'),
            DeclareLaunchArgument(
                'rviz', default_value='false', choices=['true', 'false'], description='open RViz with rviz/krang.rviz'
            ),
            Node(
                package='krang_dynamics_ros',
                executable='simulator_node',
                parameters=[str(share('config', 'demo.yaml')), {'robot_file': LaunchConfiguration('robot_file')}],
                remappings=[('torque', 'torque/total')],
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
