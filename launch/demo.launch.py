"""A robot to try it on: simulator, dynamics node, and the page in the browser; RViz too if asked for."""

import runpy

from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.files import share
from krang_dynamics_ros.live.parameter_file import flat
from krang_dynamics_ros.nodes.launched_robot import launched_robot, parameters_in
from krang_dynamics_ros.nodes.simulator.parameters import shared
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

DYNAMICS = runpy.run_path(str(share('launch', 'dynamics.launch.py')))
OWN = ('params_file', 'robot_description_topic')  # arguments that differ here, or are refused


def generate_launch_description() -> LaunchDescription:
    """Return the processes of `ros2 launch krang_dynamics_ros demo.launch.py`."""
    return LaunchDescription(
        [
            DeclareLaunchArgument('port', default_value='8080', description='of the page, on this machine only'),
            DeclareLaunchArgument(
                'params_file',
                default_value=str(share('config', 'demo.yaml')),
                description='ROS parameters of simulator, dynamics node and page; begin with a copy of the default',
            ),
            *(argument for argument in DYNAMICS['ARGUMENTS'] if argument.name not in OWN),
            OpaqueFunction(function=_refuse),
            OpaqueFunction(function=_choose_commands),
            OpaqueFunction(function=DYNAMICS['nodes']),  # reads the robot, so it may fail, so it comes first
            OpaqueFunction(function=_simulator),
            _viewer(),
        ]
    )


def _refuse(context: LaunchContext) -> None:
    """Refuse invalid arguments before any process starts: when launch fails, it leaves its processes running.

    So is a robot that comes by topic: the simulator is the robot, and must know it first.
    """
    asked = context.launch_configurations
    port = asked['port']
    if not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise ArgumentError(f"port: '{port}', must be a whole number from 1 to 65535")
    topic = asked.get('robot_description_topic', '')
    robot = launched_robot(f'{asked["namespace"]}/krang_dynamics', asked['params_file'], asked['robot_file'], topic)
    if robot.topic:
        raise ArgumentError(f"robot_description_topic: '{robot.topic}', must be empty: the simulator wants robot_file")


def _choose_commands(context: LaunchContext) -> None:
    """Let both arms of Krang take commands too, unless params_file names joints of its own."""
    asked = context.launch_configurations
    node = f'{asked["namespace"]}/krang_dynamics'
    robot = launched_robot(node, asked['params_file'], asked['robot_file'])
    krang = not any(robot.parameters.values())
    if krang and 'command_joints' not in parameters_in(asked['params_file'], node):
        asked['commands_file'] = str(share('config', 'demo_commands.yaml'))


def _simulator(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    asked = context.launch_configurations
    dynamics = f'{asked["namespace"]}/krang_dynamics'
    robot = launched_robot(dynamics, asked['params_file'], asked['robot_file'])
    known = {name: value for name, value in robot.parameters.items() if name in ('robot_file', 'base_link')}
    own = {name: ParameterValue(value, value_type=str) for name, value in known.items()}
    return [
        Node(
            package='krang_dynamics_ros',
            executable='simulator_node',
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                shared(dict(flat(parameters_in(asked['params_file'], dynamics)))),  # first: the file may say otherwise
                LaunchConfiguration('params_file'),
                *[asked[name] for name in DYNAMICS['MORE'] if asked.get(name)],
                own,
                {'publish_clock': LaunchConfiguration('use_sim_time')},
            ],
            remappings=[('torque', 'torque/total')],
            on_exit=Shutdown(reason='simulator_node has ended'),
            output='screen',
        )
    ]


def _viewer() -> Node:
    return Node(
        package='krang_dynamics_ros',
        executable='viewer_node',
        namespace=LaunchConfiguration('namespace'),
        parameters=[
            LaunchConfiguration('params_file'),
            {'port': ParameterValue(LaunchConfiguration('port'), value_type=int)},
        ],
        exec_name='viewer_node',  # or its lines would bear the name of the prefix
        prefix='nice -n 5',  # pictures come after robot and dynamics
        on_exit=Shutdown(reason='viewer_node has ended'),
        output='screen',
    )
