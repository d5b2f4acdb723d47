"""New values in the text of a parameter file: found, nested or dotted, and everything else as it was."""

from __future__ import annotations

import pytest
import yaml

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.live.parameter_edits import edited, value_text

ARM = """\
# Arm file
/**:  # every node
  ros__parameters:
    robot_file: my.urdf
    gravity: [0.0, 0.0, -9.81]  # GUESS: mounted upright

/**/krang_dynamics:
  ros__parameters:
    # what effort means
    effort_source: motor
    joints:
      a: {effort_scale: 1.0}
      b:
        effort_scale: 1.0  # GUESS
        viscous: 0.5
    total_terms:
      - gravity
      - coriolis
    # the end
"""


def test_values_are_replaced_with_the_comment_behind_them_and_all_else_stays() -> None:
    values = {
        'gravity': [9.81, 0.0, 0.0], 'joints.a.effort_scale': -1.0, 'joints.b.effort_scale': -1.0,
        'total_terms': [''], 'effort_source': 'joint',
    }  # fmt: skip
    text = edited(ARM, values, 'first run')
    expected = ARM.replace('[0.0, 0.0, -9.81]  # GUESS: mounted upright', '[9.81, 0.0, 0.0]  # first run')
    expected = expected.replace('a: {effort_scale: 1.0}', 'a: {effort_scale: -1.0}')
    expected = expected.replace('effort_scale: 1.0  # GUESS', 'effort_scale: -1.0  # first run')
    expected = expected.replace('\n      - gravity\n      - coriolis', ' [""]  # first run')
    expected = expected.replace('effort_source: motor', 'effort_source: "joint"  # first run')
    assert text == expected


def test_new_values_come_into_the_section_of_the_node() -> None:
    values = {'effort_without': ['gravity'], 'joints.a.viscous': 0.1, 'joints.b.coulomb': 2.0, 'joints.c.viscous': 3.0}
    data = yaml.safe_load(edited(ARM, values, 'first run'))
    node = data['/**/krang_dynamics']['ros__parameters']
    assert node['effort_without'] == ['gravity']
    assert node['joints'] == {
        'a': {'effort_scale': 1.0, 'viscous': 0.1}, 'b': {'coulomb': 2.0, 'effort_scale': 1.0, 'viscous': 0.5},
        'c.viscous': 3.0,
    }  # fmt: skip
    assert data['/**'] == yaml.safe_load(ARM)['/**']


@pytest.mark.parametrize('text', ['', '# nothing yet', '/**/other:\n  ros__parameters:\n    gravity: [1.0]\n'])
def test_a_file_without_the_node_gets_a_section_of_it(text: str) -> None:
    data = yaml.safe_load(edited(text, {'a.b': 1.0, 'c': True}, 'first run'))
    assert data['/**/krang_dynamics']['ros__parameters'] == {'a.b': 1.0, 'c': True}


def test_the_same_values_again_change_nothing() -> None:
    values = {'gravity': [9.81, 0.0, 0.0], 'effort_without': ['gravity'], 'joints.c.viscous': 3.0}
    once = edited(ARM, values, 'first run')
    assert edited(once, values, 'first run') == once


@pytest.mark.parametrize('text', ['[1, 2]', 'a: [', 'word'])
def test_an_invalid_parameter_file_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match='parameter file'):
        edited(text, {'a': 1.0}, 'first run')


def test_values_keep_their_type() -> None:
    assert [value_text(value) for value in (1.0, 2, True, [1.0, -0.5], 'no', [''])] == [
        '1.0', '2', 'true', '[1.0, -0.5]', '"no"', '[""]',
    ]  # fmt: skip
