"""The dynamics node, robot_state_publisher for the frames unless the robot comes by topic, and RViz if asked for."""

from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import ExecutableInPackage

from krang_dynamics_ros.core.files import share
from krang_dynamics_ros.nodes.launched_robot import LaunchedRobot, launched_robot
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

# RViz's file has the topics without a namespace; each is remapped into the given namespace.
TOPICS = (
    'robot_description',
    'wrench/left',
    'wrench/right',
    'wrench/left/estimated',
    'wrench/right/estimated',
    'torque/total',
    'center_of_mass',
)
MORE = ('commands_file',)  # parameter files of the demo, after params_file
SIM_TIME = {'use_sim_time': LaunchConfiguration('use_sim_time')}


ARGUMENTS = (
    DeclareLaunchArgument(
        'robot_file',
        default_value='',
        description='robot file (YAML), URDF or xacro (a program: it runs); empty: that of params_file, or Krang',
    ),
    DeclareLaunchArgument(
        'robot_description_topic',
        default_value='',
        description='topic to wait for a URDF on, with whose publisher come the frames; none: see robot_file',
    ),
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
)


def generate_launch_description() -> LaunchDescription:
    """Return the processes of `ros2 launch krang_dynamics_ros dynamics.launch.py`."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=nodes)])


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the nodes. Check first: when launch fails, it leaves the processes that it started running."""
    asked = context.launch_configurations
    # The demo does not declare the topic.
    node, topic = f'{asked["namespace"]}/krang_dynamics', asked.get('robot_description_topic', '')
    robot = launched_robot(node, asked['params_file'], asked['robot_file'], topic)
    actions = [_dynamics(robot, _logger(node), [asked[name] for name in MORE if asked.get(name)])]
    if not robot.topic:  # else the publisher of the description publishes the frames too
        actions.append(_robot_state_publisher(robot))
    if asked['rviz'] == 'true':
        actions.append(_rviz2(robot))
    for action in actions:
        ExecutableInPackage(package=action.node_package, executable=action.node_executable).perform(context)
    return actions


def _logger(node: str) -> str:
    """Return the name of a node's logger, from the node's full name."""
    return '.'.join(word for word in node.split('/') if word)


def _dynamics(robot: LaunchedRobot, logger: str, more: list[str]) -> Node:
    return Node(
        package='krang_dynamics_ros',
        executable='dynamics_node',
        namespace=LaunchConfiguration('namespace'),
        parameters=[
            LaunchConfiguration('params_file'),
            *more,
            SIM_TIME,
            {name: ParameterValue(value, value_type=str) for name, value in robot.parameters.items()},
        ],
        arguments=['--ros-args', '--log-level', [f'{logger}:=', LaunchConfiguration('log_level')]],
        on_exit=Shutdown(reason='dynamics_node has ended'),
        output='screen',
    )


def _robot_state_publisher(robot: LaunchedRobot) -> Node:
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        namespace=LaunchConfiguration('namespace'),
        parameters=[SIM_TIME, {'robot_description': ParameterValue(robot.urdf, value_type=str)}],
        remappings=[('robot_description', 'robot_state_publisher/robot_description')],  # the node publishes it
        output='screen',
    )


def _rviz2(robot: LaunchedRobot) -> Node:
    led = {'robot_description': robot.topic} if robot.topic else {}
    return Node(
        package='rviz2',
        executable='rviz2',
        namespace=LaunchConfiguration('namespace'),
        parameters=[SIM_TIME],
        arguments=['-d', str(share('rviz', 'krang.rviz')), *(['-f', robot.base] if robot.base else [])],
        remappings=[(f'/{topic}', led.get(topic, topic)) for topic in TOPICS],
    )
