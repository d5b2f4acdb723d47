"""Which robot a launch file is about: of its argument, or else of the ROS parameter file, or else Krang."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from krang_dynamics_ros import krang, urdf_text
from krang_dynamics_ros.core.errors import ArgumentError, KrangDynamicsError
from krang_dynamics_ros.nodes.launched_robot import launched_robot, parameters_in

from ..robots import FILES

NODE = '/left/robot/krang_dynamics'
ARM, PR = str(FILES['arm_2r']), str(FILES['pr_robot'])


@pytest.fixture
def params_file(tmp_path: Path) -> Path:
    return tmp_path / 'params.yaml'


def write(path: Path, sections: object) -> str:
    path.write_text(yaml.safe_dump(sections, sort_keys=False))
    return str(path)


@pytest.mark.parametrize(
    ('section', 'meant'),
    [
        ('/**', True),
        ('/**/krang_dynamics', True),
        ('/left/robot/krang_dynamics', True),
        ('left/robot/krang_dynamics', True),
        ('/*/*/krang_dynamics', True),
        ('/left/*/krang_dynamics', True),
        ('/left/**', True),
        ('/*/krang_dynamics', False),
        ('krang_dynamics', False),
        ('/**/krang_simulator', False),
        ('/left/robot/krang_dynamics_2', False),
        ('/left/robot/krang.dynamics', False),
    ],
)
def test_a_section_of_a_parameter_file_means_a_node_as_rcl_reads_it(
    section: str, meant: bool, params_file: Path
) -> None:
    file = write(params_file, {section: {'ros__parameters': {'robot_file': ARM}}})
    assert parameters_in(file, NODE) == ({'robot_file': ARM} if meant else {})


def test_sections_nest_and_the_later_one_counts(params_file: Path) -> None:
    nested = {'left': {'robot': {'krang_dynamics': {'ros__parameters': {'robot_file': PR}}}}}
    file = write(params_file, {'/**': {'ros__parameters': {'robot_file': ARM, 'rate': 1}}} | nested)
    assert parameters_in(file, NODE) == {'robot_file': PR, 'rate': 1}


def test_the_argument_wins_over_the_file_and_the_file_over_krang(params_file: Path) -> None:
    empty = write(params_file, None)
    robot = launched_robot(NODE, empty)
    assert (robot.urdf, robot.base, robot.parameters) == (urdf_text(krang()), 'R0', {})
    file = write(params_file, {'/**': {'ros__parameters': {'robot_file': ARM}}})
    assert launched_robot(NODE, file).parameters == {'robot_file': ARM}
    assert launched_robot(NODE, file).base == 'base'
    assert launched_robot(NODE, file, PR).parameters == {'robot_file': PR}


def test_a_urdf_is_a_robot_file_too(params_file: Path, tmp_path: Path) -> None:
    urdf = tmp_path / 'theirs.urdf'
    urdf.write_text(urdf_text(krang()).replace('"R0"', '"floor"'))
    robot = launched_robot(NODE, write(params_file, None), str(urdf))
    assert (robot.base, robot.parameters) == ('floor', {'robot_file': str(urdf)})
    assert '<link name="floor"' in robot.urdf


def test_a_description_in_the_file_is_taken_and_gives_way_to_the_argument(params_file: Path) -> None:
    text = urdf_text(krang()).replace('"R0"', '"floor"')
    file = write(params_file, {'/**': {'ros__parameters': {'robot_description': text}}})
    robot = launched_robot(NODE, file)
    assert (robot.urdf, robot.base, robot.parameters) == (text, 'floor', {'robot_description': text})
    assert launched_robot(NODE, file, ARM).parameters == {'robot_file': ARM, 'robot_description': ''}


def test_a_robot_that_comes_by_topic_is_not_read_here(params_file: Path) -> None:
    empty = write(params_file, None)
    robot = launched_robot(NODE, empty, topic='arm/description')
    assert (robot.urdf, robot.base, robot.topic) == ('', '', 'arm/description')
    assert robot.parameters == {'robot_description_topic': 'arm/description'}
    said = {'robot_description_topic': '/theirs', 'base_link': 'torso'}
    file = write(params_file, {'/**': {'ros__parameters': said}})
    robot = launched_robot(NODE, file)
    assert (robot.base, robot.topic, robot.parameters) == ('torso', '/theirs', said)
    robot = launched_robot(NODE, file, ARM)
    assert (robot.base, robot.topic) == ('base', '')
    assert robot.parameters == {'robot_file': ARM, 'robot_description_topic': '', 'base_link': ''}
    file = write(params_file, {'/**': {'ros__parameters': {'robot_file': ARM}}})
    robot = launched_robot(NODE, file, topic='/theirs')
    assert robot.parameters == {'robot_file': '', 'robot_description_topic': '/theirs'}
    with pytest.raises(KrangDynamicsError, match='robot_file and robot_description_topic are both given'):
        launched_robot(NODE, file, ARM, '/theirs')


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('/**: {ros__parameters: {robot_file: nowhere.yaml}}', 'nowhere.yaml'),
        ('/**: {ros__parameters: {robot_description: <robot/>}}', 'robot'),
        ('a: [', 'params_file:.* must be YAML'),
        ('[' * 3000, 'params_file:.* must be YAML'),
    ],
)
def test_an_unreadable_robot_is_refused_before_the_start(content: str, message: str, params_file: Path) -> None:
    params_file.write_text(content)
    with pytest.raises(KrangDynamicsError, match=message):
        launched_robot(NODE, str(params_file))


@pytest.mark.parametrize('content', ['', 'null', '{}', '/**: {}', '/**: {ros__parameters: {}}'])
def test_a_file_that_says_nothing_of_a_robot_leaves_krang(content: str, params_file: Path) -> None:
    params_file.write_text(content)
    assert launched_robot(NODE, str(params_file)).parameters == {}


@pytest.mark.parametrize(
    ('content', 'place'),
    [
        ('7', 'its content: 7'),
        ('[1, 2]', r'its content: \[1, 2\]'),
        ('some words', 'its content: .some words.'),
        ('/**: 3', r'/\*\*: 3'),
        ('/**: {ros__parameters: 7}', 'ros__parameters: 7'),
        ('/**: {ros__parameters: }', 'ros__parameters: None'),
        ('/other: {robot_file: arm.urdf}', '/other/robot_file: .arm.urdf.'),
        ('1: {2: 3}', '/1/2: 3'),
    ],
)
def test_a_parameter_file_must_be_mappings(content: str, place: str, params_file: Path) -> None:
    params_file.write_text(content)
    with pytest.raises(ArgumentError, match=f'params_file: .*{place}, must be a mapping'):
        launched_robot(NODE, str(params_file))


def test_a_parameter_file_must_be_there() -> None:
    with pytest.raises(KrangDynamicsError, match=r"params_file: 'nowhere\.yaml', must be a file"):
        launched_robot(NODE, 'nowhere.yaml')
