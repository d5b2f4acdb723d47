"""A parameter file holds for `process` and `calibrate` what it holds for the node: read by rcl itself, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krang_dynamics_ros.cli import calibrate, process
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.parameter_file import FALSE, TRUE, ParameterFileError, read_parameters

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed: nothing reads parameters as the node does')
context = pytest.importorskip('rclpy.context')

WORDS = [
    *sorted(TRUE | FALSE), 'tRue', 'oFF', '"no"', "'off'", '1', '1.0', '010', '-010', '0x10', '0', '00', '-0', '1e-3',
    '1e3', '1_000', '1:30', '.5', '5.', '-.5', '+5', '+1.5', '~', 'null', '.nan', 'nan', 'inf', '.inf', '-.inf',
    '-.Inf', '+.inf', '.NaN', '0o7', '09', '0b1', '[no, off]', '[1.0, 2.0]', '[1, 2]', '[a, b]', '9223372036854775807',
    '9223372036854775808', '99999999999999999999', '1e400', '{b: no}', '2001-01-01', '1.5.2', '=', 'y1', 'no no',
    '9' * 5000,
]  # fmt: skip


@pytest.fixture(scope='module')
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp('parameters') / 'node.yaml'


def by_rcl(file: Path) -> dict[str, Any] | None:
    """Return what a node named krang_dynamics is started with by a parameter file; None: the file is refused."""
    alone = context.Context()
    try:
        rclpy.init(args=['test', '--ros-args', '--log-level', 'fatal', '--params-file', str(file)], context=alone)
    except Exception:
        return None
    node = rclpy.create_node('krang_dynamics', context=alone, enable_rosout=False, start_parameter_services=False)
    values = {name: parameter.value for name, parameter in node._parameter_overrides.items()}
    node.destroy_node()
    rclpy.shutdown(context=alone)
    return values


def plain(value: Any) -> Any:
    """Return a value that can be compared: a list for an array, a text for NaN."""
    if isinstance(value, float):
        return 'NaN' if math.isnan(value) else value
    return value if isinstance(value, (str, bool, int)) else [plain(item) for item in value]


def same_as_rcl(file: Path, text: str) -> None:
    file.write_text(f'/**:\n  ros__parameters:\n    a: {text}\n')
    expected = by_rcl(file)
    if expected is not None:  # else the node does not start
        found = read_parameters(file)
        assert {name: plain(value) for name, value in found.items()} == {k: plain(v) for k, v in expected.items()}
        for name, value in expected.items():
            assert isinstance(found[name], bool) == isinstance(value, bool)


@pytest.mark.parametrize('text', WORDS)
def test_a_value_is_read_as_rcl_reads_it(file: Path, text: str) -> None:
    same_as_rcl(file, text)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text('0123456789xXeE+-._aAfFoOnNyYsStTrRuUlLiI', min_size=1, max_size=6))
def test_any_value_is_read_as_rcl_reads_it(file: Path, text: str) -> None:
    same_as_rcl(file, text)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('[0, 0, -9.81]', 'must be of one type, because ROS refuses the file otherwise; write 0.0 for 0'),
        ('[0.0, 1]', 'write 0.0 for 0'),
        ('{b: [1, .nan]}', 'write 0.0 for 0'),
        ('[no, a]', 'put texts into quotes'),
        ('[a, 1]', 'put texts into quotes'),
        ('[1, 99999999999999999999]', 'write 0.0 for 0'),
        ('', "no value, must have one; write '' for an empty text"),
        ('&one [0.0]\n    b: *one', '*one, must be the value: ROS has no aliases'),
    ],
)
@pytest.mark.parametrize('section', ['/**', '/**/krang_simulator'])
def test_what_rcl_refuses_is_refused_with_a_reason(file: Path, section: str, text: str, reason: str) -> None:
    file.write_text(f'/**: {{ros__parameters: {{c: 1}}}}\n{section}/other:\n  ros__parameters:\n    a: {text}\n')
    assert by_rcl(file) is None
    with pytest.raises(ParameterFileError) as error:
        read_parameters(file)
    assert f'/other.{"ros__parameters.b" if "*" in text else "a.b" if "{" in text else "a"}: ' in str(error.value)
    assert reason in str(error.value)


@pytest.mark.parametrize('text', ['[[1]]', '[{a: 1}]'])
def test_lists_in_lists_are_refused(file: Path, text: str) -> None:
    """ROS makes other parameters of them."""
    file.write_text(f'/**: {{ros__parameters: {{a: {text}}}}}\n')
    with pytest.raises(ParameterFileError, match='must be a list of single values'):
        read_parameters(file)


@pytest.mark.parametrize('name', ['/ro(bot', '/ro(bot/krang_dynamics', '/a+/**', '/[a', '/a b/krang_dynamics', '/a*/*'])
def test_a_section_that_can_be_no_node_is_refused_as_by_rcl(file: Path, name: str) -> None:
    file.write_text(f'"{name}": {{ros__parameters: {{a: 1}}}}\n/**: {{ros__parameters: {{a: 2}}}}\n')
    assert by_rcl(file) is None
    with pytest.raises(ParameterFileError, match='must be a name of a node'):
        read_parameters(file)


def test_many_wildcards_take_no_time(file: Path) -> None:
    sections = ['/**' * 40 + '/krang_dynamics', '/a' * 60 + '/krang_dynamics', '/b' * 60 + '/krang_dynamics']
    file.write_text('\n'.join(f'"{name}": {{ros__parameters: {{a: 1}}}}' for name in sections))
    with pytest.raises(ParameterFileError, match='must be of a single node'):
        read_parameters(file)


@pytest.mark.parametrize(
    ('name', 'value', 'must'),
    [
        ('strict_description', 'no', "'no', must be true or false"),
        ('strict_description', 0, '0, must be true or false'),
        ('command_enabled', 'off', "'off', must be true or false"),
        ('left.sensor.subtract_from_external', 'false', "'false', must be true or false"),
        ('state_timeout', '0.2', '0.2, must be 0.001 to 10'),
        ('state_timeout', True, 'True, must be a number'),
        ('gravity', '0 0 -9.81', "'0 0 -9.81', must be a list of numbers"),
        ('gravity', [0.0, 0.0, '-9.81'], 'must be -100 to 100'),
        ('gravity', [0.0, 0.0, 981.0], '981.0], must be -100 to 100'),
        ('command_start', ['zero'], "['zero'], must be text"),
        ('joints.q_1l.effort_scale', 0.0, '0, must not be 0'),
        ('gravity', -9.81, '-9.81, must be a list of numbers'),
        ('end_effectors', 'left', "'left', must be a list of texts"),
        ('left.payload.com', [0.0, 'a', 0.0], "'a', must be a list of numbers"),
        ('end_effectors', [['a'], {}], 'must be a list of texts'),
        ('end_effectors', [True], 'must be a list of texts'),
        ('imu_joint', False, 'False, must be text'),
        ('robot_file', 3, '3, must be text'),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, value: object, must: str) -> None:
    with pytest.raises(ArgumentError) as error:
        engine_of({name: value})
    assert str(error.value).startswith(f'{name}: ')
    assert must in str(error.value)


@pytest.mark.parametrize('word', ['no', 'off', 'N'])
def test_no_is_no_for_every_command(
    tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An inertia that no body can have is refused by a file that asks for it, and taken by one that does not."""
    monkeypatch.chdir(tmp_path)
    urdf = (
        '<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous">'
        '<parent link="base"/><child link="arm"/></joint></robot>'
    )
    Path('r.urdf').write_text(urdf)
    for said, refused in ((word, False), ('yes', True)):
        given = f'robot_file: r.urdf, end_effectors: [h], h.link: arm, strict_description: {said}'
        Path('node.yaml').write_text(f'/**: {{ros__parameters: {{{given}}}}}')
        assert process.main(['nothing.mcap', '--params', 'node.yaml']) == (2 if refused else 1)
        assert ('breaks the triangle inequality: principal' in capsys.readouterr().err) == refused
        assert calibrate.main(['h', '--bag', 'nothing.mcap', '--params', 'node.yaml']) == 2
        assert ('breaks the triangle inequality: principal' in capsys.readouterr().err) == refused
