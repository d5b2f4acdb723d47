"""A parameter file is read as ROS reads it; one that says nothing to the node is refused, for it would change signs."""

from __future__ import annotations

from pathlib import Path

import pytest

from krang_dynamics_ros.live.parameter_file import ParameterFileError, read_parameters, unknown_parameters

SET = 'ros__parameters: {sense: applied_on_robot}'


def read(tmp_path: Path, text: str) -> dict[str, object]:
    (tmp_path / 'node.yaml').write_text(text)
    return read_parameters(tmp_path / 'node.yaml')


@pytest.mark.parametrize(
    'names',
    [
        'krang_dynamics', '/krang_dynamics', 'robot1/krang_dynamics', '/robot1/krang_dynamics', '/**', '/*', '"**"',
        '/robot1/**', '/robot1/*', '/*/krang_dynamics', '/**/krang_dynamics', 'robot1: {krang_dynamics', '/**: {"*"',
    ],
)  # fmt: skip
def test_parameter_files_are_read_as_ros_reads_them(tmp_path: Path, names: str) -> None:
    closing = '}' * names.count('{')
    assert read(tmp_path, f'{names}: {{{SET}}}{closing}\nviewer: {{ros__parameters: {{port: 1}}}}\n') == {
        'sense': 'applied_on_robot'
    }


def test_of_two_sections_the_later_one_counts(tmp_path: Path) -> None:
    text = '/a/krang_dynamics: {ros__parameters: {x: 1, y.z: 1}}\n/**: {ros__parameters: {x: 2}}\n'
    assert read(tmp_path, text) == {'x': 2, 'y.z': 1}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (f'/my_dynamics: {{{SET}}}\nviewer: {{{SET}}}', 'sections: /my_dynamics, /viewer, must have one of the node'),
        ('left: {sense: applied_on_robot}', "/left/sense: 'applied_on_robot', must be a node"),
        (SET, '/ros__parameters/sense: '),
        ('sense: applied_on_robot', '/sense: '),
        ('/**: {ros__parameters: 3}', '/\\*\\*: '),
        ('{}', 'sections: none'),
        (f'/a/krang_dynamics: {{{SET}}}\n/b/krang_dynamics: {{{SET}}}', 'must be of a single node'),
        (f'/a/**: {{{SET}}}\n/b/**: {{{SET}}}', 'must be of a single node'),
        (f'/*/krang_dynamics: {{{SET}}}\nkrang_dynamics: {{{SET}}}', 'must be of a single node'),
    ],
)
def test_a_parameter_file_without_a_section_for_the_node_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ParameterFileError, match=message):
        read(tmp_path, text)


def test_a_renamed_node_has_its_section(tmp_path: Path) -> None:
    (tmp_path / 'node.yaml').write_text(f'/my_dynamics: {{{SET}}}')
    assert read_parameters(tmp_path / 'node.yaml', 'my_dynamics') == {'sense': 'applied_on_robot'}


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / 'node.yaml').write_bytes(b'\xff\xfe\x00\x80')
    with pytest.raises(ParameterFileError, match='must be text in UTF-8'):
        read_parameters(tmp_path / 'node.yaml')


def test_an_unknown_parameter_is_named_with_a_suggestion() -> None:
    known = {'left.sense': 'applied_on_robot', 'joints.q_1l.effort_scale': 2.0, 'use_sim_time': True}
    wrong = {'left.sence': 'applied_on_robot', 'lefft.sensor.bias': [0.0] * 6}
    said = unknown_parameters(known | wrong)
    assert [line.split()[0] for line in said] == ['left.sence', 'lefft.sensor.bias']
    assert "did you mean 'left.sense'?" in said[0]
