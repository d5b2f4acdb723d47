"""The links that are offered as hands: the last body before fingers, or a tool frame on it; no sensors or wheels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.robot.hands import check_hands, finger_joints, hand_links, hand_name, hands_of, link_of_hand
from krang_dynamics_ros.robot.robot import Robot
from krang_dynamics_ros.robot.robot_file import load_robot
from krang_dynamics_ros.robot.urdf_reader import read_description

FOLDER = next(
    (found for path in sys.path if (found := Path(path, 'cmeel.prefix/share/example-robot-data/robots')).is_dir()), None
)
REAL = {
    'panda_description/urdf/panda': {'hand': 'panda_hand_tcp'},
    'ur_description/urdf/ur5_robot': {'hand': 'tool0'},
    'icub_description/robots/icub': {'left': 'l_hand', 'right': 'r_hand'},
    'tiago_description/robots/tiago': {'hand': 'hand_palm_link'},
    'talos_data/robots/talos_reduced': {'left': 'gripper_left_base_link', 'right': 'gripper_right_base_link'},
    'baxter_description/urdf/baxter': {'left': 'left_gripper_base_link', 'right': 'right_gripper_base_link'},
    'z1_description/urdf/z1': {'hand': 'gripperStator'},
    'human_description/robots/human': {'left': 'left_hand', 'right': 'right_hand'},
}
LINK = '<link name="{name}">{body}</link>'
BODY = """<inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
JOINT = """<joint name="{name}_joint" type="{kind}"><parent link="{parent}"/><child link="{name}"/>
<origin xyz="0 0 {length}"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>"""
ARM = [(f'a{k}', f'a{k - 1}' if k else 'base', 'revolute', 1.0) for k in range(6)]


def robot(*links: tuple[str, str, str, float], length: float = 0.2) -> Robot:
    """Return a robot of an arm with six joints and links, each with its parent, kind of joint and mass (kg)."""
    text = '<link name="base"/>'
    for name, parent, kind, mass in (*ARM, *links):
        text += LINK.format(name=name, body=BODY.format(mass=mass) if mass else '')
        text += JOINT.format(name=name, kind=kind, parent=parent, length=0.2 if name[0] == 'a' else length)
    return read_description(f'<robot name="tree">{text}</robot>').robot


@pytest.mark.parametrize(
    ('links', 'hand'),
    [
        ([], 'a5'),
        ([('tool0', 'a5', 'fixed', 0.0), ('ee_link', 'a5', 'fixed', 0.0)], 'tool0'),
        ([('imu_frame', 'a5', 'fixed', 0.0), ('camera', 'a5', 'fixed', 0.3)], 'a5'),
        ([('hand_imu', 'a5', 'fixed', 0.0), ('palm', 'a5', 'fixed', 0.3)], 'palm'),
        ([('flange', 'a5', 'fixed', 0.0), ('sensor', 'flange', 'fixed', 0.2), ('gun', 'sensor', 'fixed', 0.5)], 'gun'),
        ([('palm', 'a5', 'fixed', 0.3), ('jaw', 'palm', 'revolute', 0.1)], 'palm'),
        ([('palm', 'a5', 'fixed', 0.3), ('f1', 'palm', 'revolute', 0.1), ('f2', 'palm', 'revolute', 0.1)], 'palm'),
        ([('gripper_yaw', 'a5', 'revolute', 0.3)], 'gripper_yaw'),
        ([('wheel', 'base', 'revolute', 0.3)], 'a5'),
    ],
    ids=lambda links: '-'.join(link[0] for link in links) if isinstance(links, list) else links,
)
def test_a_hand_is_what_a_person_would_hold(links: list[tuple[str, str, str, float]], hand: str) -> None:
    assert hand_links(robot(*links)) == [hand]


def test_the_arms_of_a_trunk_with_many_joints_are_no_fingers() -> None:
    arms = [(f'{side}{k}', f'{side}{k - 1}' if k else 'a5', 'revolute', 1.0) for side in 'lr' for k in range(7)]
    assert hands_of(robot(*arms)) == {'left': 'l6', 'right': 'r6'}
    assert finger_joints(robot(*arms)) == {}
    assert hand_links(robot(*arms, length=0.02)) == ['a5'], 'these are short enough for fingers'


def test_sides_are_read_from_names() -> None:
    arms = [
        (f'{side}_arm{k}', f'{side}_arm{k - 1}' if k else 'base', 'revolute', 1.0) for side in 'lr' for k in range(7)
    ]
    assert hands_of(robot(*arms)) == {'left': 'l_arm6', 'right': 'r_arm6'}


def test_a_hand_is_named_after_its_link_in_letters_that_topics_allow() -> None:
    links = ['tool-0', 'arm/hand.tip', '3rd', 'a b', 'a.b', 'plain']
    assert [hand_name(link) for link in links] == ['tool_0', 'arm_hand_tip', 'link_3rd', 'a_b', 'a_b', 'plain']
    assert [link_of_hand(hand_name(link), links) for link in links] == [*links[:3], '', '', 'plain']
    assert link_of_hand('a b', links) == 'a b'
    assert link_of_hand('nothing', links) == ''


def test_a_running_node_goes_on_with_further_links_and_without_those_that_were_added() -> None:
    links, hands = ['R10l', 'tool-0', 'R4l'], {'left': 'R10l', 'tool_0': 'tool-0'}
    check_hands(['left', 'R4l', 'tool_0'], hands, links)
    check_hands(['left'], hands, links)
    with pytest.raises(ArgumentError, match='left cannot be removed'):
        check_hands(['tool_0'], hands, links)
    with pytest.raises(ArgumentError, match='nowhere'):
        check_hands(['left', 'tool_0', 'nowhere'], hands, links)


@pytest.mark.parametrize('name', REAL)
def test_the_hands_of_real_robots(name: str) -> None:
    if FOLDER is None or not (FOLDER / f'{name}.urdf').exists():
        pytest.skip('pip install example-robot-data: this robot is not here')
    assert hands_of(load_robot(FOLDER / f'{name}.urdf')) == REAL[name]
