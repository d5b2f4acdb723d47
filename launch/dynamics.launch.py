"""The dynamics node, robot_state_publisher for the frames, and RViz if asked for."""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from krang_dynamics_ros.core.share import share
from krang_dynamics_ros.dynamics.factory import load_urdf
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

# RViz's file names the topics as they are without a namespace; each is led into the one that was asked for.
TOPICS = ('robot_description', 'wrench/left', 'wrench/right', 'torque/total', 'center_of_mass')


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch krang_dynamics_ros dynamics.launch.py` starts."""
    return LaunchDescription(
        [
            DeclareLaunchArgument('robot_file', default_value='', description='robot file (YAML); none: Krang'),
            DeclareLaunchArgument(
                'params_file',
                default_value=str(share('config', 'dynamics.yaml')),
                description='ROS parameters of the dynamics node',
            ),
            DeclareLaunchArgument('namespace', default_value='', description='namespace of nodes and topics'),
            DeclareLaunchArgument(
                'use_sim_time',
                default_value='false',
                choices=['true', 'false'],
                description="follow /clock: a simulator's, or a bag's played with --clock",
            ),
            DeclareLaunchArgument(
                'rviz', default_value='false', choices=['true', 'false'], description='open RViz with rviz/krang.rviz'
            ),
            DeclareLaunchArgument(
                'log_level',
                default_value='info',
                choices=['debug', 'info', 'warn', 'error', 'fatal'],
                description='of the dynamics node',
            ),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    namespace, robot_file = LaunchConfiguration('namespace'), LaunchConfiguration('robot_file').perform(context)
    sim_time = {'use_sim_time': LaunchConfiguration('use_sim_time')}
    robot = [{'robot_file': robot_file}] if robot_file else []
    return [
        Node(
            package='krang_dynamics_ros',
            executable='dynamics_node',
            namespace=namespace,
            parameters=[LaunchConfiguration('params_file'), sim_time, *robot],
            arguments=['--ros-args', '--log-level', ['krang_dynamics:=', LaunchConfiguration('log_level')]],
            output='screen',
        ),
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            namespace=namespace,
            parameters=[sim_time, {'robot_description': load_urdf(robot_file)}],
            remappings=[('robot_description', 'robot_state_publisher/robot_description')],  # the node publishes it
            output='screen',
        ),
        Node(
            package='rviz2',
            executable='rviz2',
            namespace=namespace,
            parameters=[sim_time],
            arguments=['-d', str(share('rviz', 'krang.rviz'))],
            remappings=[(f'/{topic}', topic) for topic in TOPICS],
            condition=IfCondition(LaunchConfiguration('rviz')),
        ),
    ]
