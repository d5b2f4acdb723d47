"""The robots that the tests run on: those of the package, and random trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from hypothesis import strategies as st

from krang_dynamics_ros.core.files import robot_files, share
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import frozen, rotation_from_rpy
from krang_dynamics_ros.robot.mimic import Mimic
from krang_dynamics_ros.robot.motor_and_friction import Friction, Motor
from krang_dynamics_ros.robot.robot import Joint, Limits, Link, Robot
from krang_dynamics_ros.robot.urdf_reader import read_description

ROOT = Path(__file__).resolve().parent.parent
FILES = {path.stem: path for path in robot_files()}
IDENTIFIED = share('config', 'krang_identified.yaml')  # Krang with other numbers: test_identification has it


def _body(mass: float, at: str) -> str:
    moments = 'ixx="0.012" ixy="0.001" ixz="-0.002" iyy="0.011" iyz="0.0005" izz="0.008"'
    return f'<inertial><origin xyz="{at}" rpy="0.1 0.2 0.3"/><mass value="{mass}"/><inertia {moments}/></inertial>'


def _joint(name: str, kind: str, between: str, at: str, axis: str, more: str = '') -> str:
    parent, child = between.split()
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{at}" rpy="0.4 -0.2 0.7"/>'
    limits = '<limit lower="-2" upper="2" effort="50" velocity="2"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<axis xyz="{axis}"/>{limits}{more}</joint>'


def arm_with_gripper() -> str:
    """An arm of seven joints with two fingers, as widespread arms have them: the second finger follows the first."""
    arm = ''.join(
        f'<link name="link{k}">{_body(2.5 - 0.2 * k, f"0.0{k} -0.02 0.1")}</link>'
        + _joint(f'joint{k}', 'revolute', f'link{k - 1} link{k}', '0.05 0 0.3', '0 0 1', '<dynamics damping="0.3"/>')
        for k in range(1, 8)
    )
    rubs, follows = '<dynamics damping="2" friction="1.5"/>', '<mimic joint="finger_joint1"/>'
    fingers = (
        f'<link name="finger1">{_body(0.1, "0 0.01 0.02")}</link><link name="finger2">{_body(0.1, "0 0 0.02")}</link>'
    )
    return f"""<robot name="arm_with_gripper"><link name="link0">{_body(3.0, '0 0 0')}</link>{arm}
      <link name="hand">{_body(0.7, '0 0 0.04')}</link>{_joint('hand_joint', 'fixed', 'link7 hand', '0 0 0.1', '0 0 1')}
      {fingers}{_joint('finger_joint1', 'prismatic', 'hand finger1', '0 0 0.06', '0 1 0', rubs)}
      {_joint('finger_joint2', 'prismatic', 'hand finger2', '0 0 0.06', '0 -1 0', rubs + follows)}</robot>"""


def hand_with_followers() -> str:
    """A hand in which joints follow others with a factor and an offset, in chains, and one even in another branch."""
    names = ('palm', 'near', 'middle', 'tip', 'thumb', 'nail', 'slide')
    links = ''.join(
        f'<link name="{name}">{_body(0.2 + 0.1 * k, f"0.0{k} 0.02 -0.03")}</link>' for k, name in enumerate(names)
    )
    rubs = '<dynamics damping="0.4" friction="0.7"/>'
    return f"""<robot name="hand_with_followers"><link name="base"/>{links}
      {
        _joint(
            'tip_joint',
            'revolute',
            'middle tip',
            '0 0.02 0.1',
            '0 1 0',
            rubs + '<mimic joint="middle_joint" multiplier="-0.8" offset="-0.1"/>',
        )
    }
      {_joint('wrist', 'revolute', 'base palm', '0 0 0.2', '1 0 1', rubs)}
      {_joint('near_joint', 'revolute', 'palm near', '0.1 0 0.1', '0 1 0', rubs)}
      {
        _joint(
            'middle_joint',
            'revolute',
            'near middle',
            '0 0 0.1',
            '0 1 0',
            rubs + '<mimic joint="near_joint" multiplier="1.5" offset="0.2"/>',
        )
    }
      {
        _joint(
            'thumb_joint',
            'prismatic',
            'palm thumb',
            '-0.1 0 0',
            '1 2 0',
            rubs + '<mimic joint="near_joint" multiplier="0.25"/>',
        )
    }
      {
        _joint(
            'nail_joint',
            'revolute',
            'thumb nail',
            '0 0.1 0',
            '0 0 -1',
            rubs + '<mimic joint="slide_joint" multiplier="-3" offset="0.4"/>',
        )
    }
      {_joint('slide_joint', 'prismatic', 'palm slide', '0 -0.1 0', '0 1 1', rubs)}</robot>"""


WITH_FOLLOWERS = {'arm_with_gripper': arm_with_gripper(), 'hand_with_followers': hand_with_followers()}


def robot_with_followers(name: str) -> Robot:
    return read_description(WITH_FOLLOWERS[name]).robot


def random_body(rng: np.random.Generator) -> Inertia:
    """Six points with masses: an inertia that a body can have, whatever the draw."""
    masses, points = rng.uniform(0.1, 2.0, 6), rng.normal(size=(6, 3)) * 0.3
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return Inertia.about_com(float(masses.sum()), com, np.asarray(inertia))


def random_joint(rng: np.random.Generator, name: str, kind: Any, parent: str, child: str) -> Joint:
    axis = rng.normal(size=3)
    limits = Limits(effort=10, velocity=5, lower=-2.0, upper=2.0) if kind == 'prismatic' else None
    return Joint(
        name, kind, parent, child,
        position=frozen(rng.normal(size=3) * 0.4),
        rotation=frozen(rotation_from_rpy(rng.uniform(-np.pi, np.pi, 3))),
        axis=frozen(axis / np.linalg.norm(axis)),
        limits=limits,
        motor=Motor(rng.uniform(1, 50), rng.uniform(0, 1e-4), rng.uniform(0, 1e-4)),
        friction=Friction(rng.uniform(0, 2), rng.uniform(0, 3)),
    )  # fmt: skip


@st.composite
def trees(draw: st.DrawFn, largest: int = 20) -> Robot:
    """Trees of 1 to `largest` moving joints: branching, revolute, prismatic and fixed, in any order of names."""
    kinds = draw(st.lists(st.sampled_from(['revolute', 'prismatic']), min_size=1, max_size=largest))
    kinds += draw(st.lists(st.just('fixed'), max_size=3))
    kinds = draw(st.permutations(kinds))
    parents = [draw(st.integers(0, k)) for k in range(len(kinds))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    links = [f'link{k}' for k in rng.permutation(len(kinds) + 1)]
    names = [f'joint{k}' for k in rng.permutation(len(kinds))]
    joints = [
        random_joint(rng, name, kind, links[parent], links[k + 1])
        for k, (name, kind, parent) in enumerate(zip(names, kinds, parents, strict=True))
    ]
    order = draw(st.permutations(joints))
    gravity = frozen(rng.normal(size=3) * 9.81)
    return Robot('tree', tuple(Link(name, random_body(rng)) for name in links), tuple(order), gravity)


@st.composite
def trees_with_followers(draw: st.DrawFn, largest: int = 10) -> Robot:
    """Trees in which some joints follow another one, revolute or prismatic, or follow a joint that does."""
    tree = draw(trees(largest))
    moving = draw(st.permutations([joint.name for joint in tree.joints if joint.moves]))
    mimics = {}
    for k, name in enumerate(moving[1:], 1):
        if draw(st.booleans()):
            ratio, offset = draw(st.sampled_from([1.0, -1.0, 0.5, -2.5])), draw(st.sampled_from([0.0, 0.3, -1.2]))
            mimics[name] = Mimic(moving[draw(st.integers(0, k - 1))], ratio, offset)
    return replace(tree, joints=tuple(replace(joint, mimic=mimics.get(joint.name)) for joint in tree.joints))


def inertials(text: str) -> Iterator[tuple[str, list[float], list[float]]]:
    for link in ET.fromstring(text).iter('link'):
        inertial = link.find('inertial')
        if inertial is not None:
            tensor = [float(inertial.find('inertia').get(key)) for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')]
            com = [float(x) for x in inertial.find('origin').get('xyz').split()]
            yield link.get('name'), [float(inertial.find('mass').get('value')), *com], tensor
