"""What the page is made of, without a browser: looks read from a URDF, bars, curves, and the coloured line."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Robot, dynamics_of, load_robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.terms import SUMMED, terms_of
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.identification.collision_shapes import Shapes
from krang_dynamics_ros.page.camera import FIELD, Window, frame_of, framed, to_camera
from krang_dynamics_ros.page.panel import Panel, groups_of, leaves, limits_of, movers
from krang_dynamics_ros.page.pulls import Pulls
from krang_dynamics_ros.page.snapshot import (
    LEVEL_COLORS,
    LatestMessages,
    Line,
    Snapshot,
    diagnostics,
    health,
    intro,
    not_drawn,
)
from krang_dynamics_ros.page.torques import BEYOND, OBSERVED, SUBSCRIBED, USUAL, search_field, table
from krang_dynamics_ros.robot.hands import finger_joints
from krang_dynamics_ros.robot.mesh_files import MAX_MESH_BYTES, MeshFiles, check_mesh_data, read_mesh
from krang_dynamics_ros.robot.mimic import Mimic
from krang_dynamics_ros.robot.robot import Limits, Shape
from krang_dynamics_ros.robot.urdf_reader import read_description

from ..robots import FILES

TREE = """<robot name="tree"><link name="base"/>{}</robot>"""
LINK = """<link name="{0}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{0}_joint" type="{2}"><parent link="{1}"/><child link="{0}"/><origin xyz="0.1 0 0.2"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>"""


def tree(*links: tuple[str, str, str]) -> Robot:
    return read_description(TREE.format(''.join(LINK.format(*link) for link in links))).robot


def test_joints_of_a_large_robot_are_grouped_by_limb() -> None:
    arms = [(f'{side}{k}', 'chest' if k == 0 else f'{side}{k - 1}', 'revolute') for side in 'lr' for k in range(12)]
    hand = [('palm', 'l11', 'fixed'), ('thumb', 'palm', 'revolute'), ('finger', 'palm', 'revolute')]
    large = tree(('hip', 'base', 'revolute'), ('chest', 'hip', 'revolute'), *arms, *hand)
    groups = groups_of(large)
    assert list(groups) == ['hip_joint ... chest_joint', 'l0_joint ... l11_joint', 'r0_joint ... r11_joint',
                            'thumb_joint', 'finger_joint']  # fmt: skip
    assert sorted(name for names in groups.values() for name in names) == sorted(large.joint_names)
    assert groups_of(tree(('hip', 'base', 'revolute'))) == {'joints': ['hip_joint']}


def box_file(path: Path, kind: str = 'stl') -> Path:
    trimesh = pytest.importorskip('trimesh')
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box(extents=(1, 2, 3)).export(path, file_type=kind)
    return path


def test_meshes_are_found_where_packages_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'ros'))
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path / 'old'))
    ament = box_file(tmp_path / 'ros' / 'share' / 'arm' / 'meshes' / 'a.stl')
    old = box_file(tmp_path / 'old' / 'arm' / 'b.stl')
    beside = box_file(tmp_path / 'x' / 'hand' / 'meshes' / 'c d.stl')
    (beside.parent.parent / 'urdf').mkdir()
    files = MeshFiles([str(beside.parent.parent / 'urdf')])
    assert files.find('package://arm/meshes/a.stl') == ament
    assert files.find('package://arm/b.stl') == old
    assert files.find('package://hand/meshes/c d.stl') == beside
    assert files.find('../meshes/c d.stl') == beside
    assert files.find(f'file://{str(beside).replace(" ", "%20")}') == beside
    for name in ('package://arm/none.stl', 'http://localhost/a.stl', '', 'package://', 'a\0b.stl'):
        with pytest.raises(ArgumentError, match='not found'):
            files.find(name)


def test_folders_of_meshes_must_exist_but_for_that_of_the_robot(tmp_path: Path) -> None:
    mesh = box_file(tmp_path / 'robots' / 'meshes' / 'a.stl')
    robot = tmp_path / 'robots' / 'urdf' / 'none.urdf'
    assert MeshFiles(near=robot).has('package://meshes/a.stl')
    assert MeshFiles([''], robot).find('package://robots/meshes/a.stl') == mesh
    assert not MeshFiles().has('package://robots/meshes/a.stl')
    with pytest.raises(ArgumentError, match=f'{robot.parent}, must be a folder that exists'):
        MeshFiles([str(robot.parent)])


def test_a_description_gets_no_other_file_than_a_mesh(tmp_path: Path) -> None:
    secret = tmp_path / 'secret.txt'
    secret.write_text('secret')
    link = tmp_path / 'mesh.stl'
    link.symlink_to(secret)
    large = tmp_path / 'large.stl'
    with large.open('wb') as file:
        file.truncate(MAX_MESH_BYTES + 1)
    files = MeshFiles([str(tmp_path)])
    climbing = 'package://x/' + '../' * 12 + 'etc/passwd'
    for name in (str(secret), 'mesh.stl', 'large.stl', '/etc/passwd', climbing):
        with pytest.raises(ArgumentError, match=r'not a mesh|not found|bytes'):
            files.find(name)


@pytest.mark.parametrize('kind', ['stl', 'obj', 'glb'])
def test_meshes_are_read_by_their_kind(tmp_path: Path, kind: str) -> None:
    mesh = read_mesh(box_file(tmp_path / f'box.{kind}', kind))
    np.testing.assert_allclose(mesh.extents, [1, 2, 3], rtol=1e-6)


UNITS = {'0.01': 0.01, '.0254': 0.0254, '2.5': 2.5, '1000': 1000.0, '0': 1.0, '-1': 1.0, '1.2.3': 1.0, '1e999': 1.0}


@pytest.mark.parametrize(
    ('unit', 'size'),
    [('', 1.0), *((f'<unit name="any" meter="{x}"/>', size) for x, size in UNITS.items())],
)
def test_a_collada_file_says_its_unit_to_page_and_clearance(unit: str, size: float, tmp_path: Path) -> None:
    pytest.importorskip('collada', reason='pycollada is not installed: no .dae')
    file = box_file(tmp_path / 'box.dae', 'dae')
    file.write_text(file.read_text().replace('<up_axis>', f'{unit}<up_axis>'))
    np.testing.assert_allclose(np.sort(read_mesh(file).extents), size * np.array([1, 2, 3]), rtol=1e-6)
    shape = Shape('mesh', (0.5, 0.5, 0.5), np.zeros(3), np.eye(3), None, 'box.dae')
    arm = load_robot('arm_2r')
    links = [replace(link, visual=(), collision=(shape,) if link.name == 'link1' else ()) for link in arm.links]
    long = [replace(joint, position=np.array([0.0, 0.0, size])) for joint in arm.joints]  # else the mesh is too large
    shapes = Shapes(replace(arm, links=tuple(links), joints=tuple(long)), MeshFiles([str(tmp_path)]), has_floor=False)
    assert shapes.links[0].radius == pytest.approx(0.5 * size * 14**0.5 / 2, rel=1e-6)


@pytest.mark.parametrize('name', ['a.stl', 'a.obj', 'a.glb', 'a.dae'])
def test_a_mesh_that_is_none_is_refused_by_name(tmp_path: Path, name: str) -> None:
    pytest.importorskip('trimesh')
    (tmp_path / name).write_bytes(b'<nonsense' * 20)
    with pytest.raises(ArgumentError, match=re.escape(name)):
        read_mesh(tmp_path / name)


def glb(nodes: list[dict[str, Any]], roots: Sequence[int], count: int = 3) -> bytes:
    """Return a glb with one triangle, and these nodes of it."""
    body = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], '<f4').tobytes() + np.array([0, 1, 2, 0], '<u2').tobytes()
    views = [{'buffer': 0, 'byteLength': 36}, {'buffer': 0, 'byteOffset': 36, 'byteLength': 6}]
    accessors = [
        {'bufferView': 0, 'componentType': 5126, 'count': count, 'type': 'VEC3', 'min': [0, 0, 0], 'max': [1, 1, 0]},
        {'bufferView': 1, 'componentType': 5123, 'count': 3, 'type': 'SCALAR'},
    ]
    tree = {
        'asset': {'version': '2.0'}, 'scene': 0, 'scenes': [{'nodes': [*roots]}], 'nodes': nodes,
        'meshes': [{'primitives': [{'attributes': {'POSITION': 0}, 'indices': 1}]}],
        'accessors': accessors, 'bufferViews': views, 'buffers': [{'byteLength': len(body)}],
    }  # fmt: skip
    text = json.dumps(tree).encode()
    text += b' ' * (-len(text) % 4)
    head = struct.pack('<4sIII4s', b'glTF', 2, 28 + len(text) + len(body), len(text), b'JSON')
    return head + text + struct.pack('<I4s', len(body), b'BIN\0') + body


DOUBLED = [{'children': [k + 1, k + 1], 'mesh': 0} for k in range(40)] + [{'mesh': 0}]


@pytest.mark.parametrize(
    ('nodes', 'roots', 'count', 'reason'),
    [
        ([{'mesh': 0}] * 100_000, range(100_000), 3, 'it has 100000 nodes, must have at most 10000'),
        ([{'mesh': 0}] * 5000, range(5000), 3, 'it has 5000 shapes, must have at most 2000'),
        (DOUBLED, [0], 3, f'it has {2**41 - 1} shapes, must have at most 2000'),
        ([{'children': [0], 'mesh': 0}], [0], 3, 'its nodes are nested more than 50 deep'),
        ([{'children': [k + 1]} for k in range(60)] + [{'mesh': 0}], range(60, -1, -1), 3, 'its nodes are nested more'),
        ([{'mesh': 0}], [0], 10**9, 'it has 1000000003 array elements, must have at most 20000000'),
    ],
)
def test_a_glb_that_unfolds_to_very_much_is_refused_before_it_does(
    tmp_path: Path, nodes: list[dict[str, Any]], roots: Sequence[int], count: int, reason: str
) -> None:
    pytest.importorskip('trimesh')
    file = tmp_path / 'many.glb'
    file.write_bytes(glb(nodes, roots, count))
    with pytest.raises(ArgumentError, match=f'many.glb cannot be read: {reason}'):
        read_mesh(file)


def test_a_glb_of_some_instances_is_read_with_all_of_them(tmp_path: Path) -> None:
    pytest.importorskip('trimesh')
    file = tmp_path / 'some.glb'
    file.write_bytes(glb([{'mesh': 0, 'translation': [k, 0, 0]} for k in range(30)], range(30)))
    assert len(read_mesh(file).faces) == 30


def test_an_array_with_a_negative_count_makes_no_room_for_another() -> None:
    tree = json.dumps({'accessors': [{'count': 10**9}, {'count': -(10**9)}]}).encode()
    head = struct.pack('<4sIII4s', b'glTF', 2, 20 + len(tree), len(tree), b'JSON')
    with pytest.raises(ArgumentError, match='it has 1000000000 array elements'):
        check_mesh_data(head + tree, '.glb')


def test_a_collada_file_that_unfolds_to_very_much_is_refused_before_it_does(tmp_path: Path) -> None:
    pytest.importorskip('collada', reason='pycollada is not installed: no .dae')
    file = box_file(tmp_path / 'box.dae', 'dae')
    whole = file.read_text()
    shape = re.search('<instance_geometry.*?</instance_geometry>', whole, re.DOTALL)
    assert shape
    chain = f'<node id="n0">{shape[0]}</node>' + ''.join(
        f'<node id="n{k}"><instance_node url="#n{k - 1}"/><instance_node url="#n{k - 1}"/></node>' for k in range(1, 31)
    )
    linked = whole.replace('<library_visual_scenes>', f'<library_nodes>{chain}</library_nodes><library_visual_scenes>')
    file.write_text(re.sub(r'(<visual_scene\b[^>]*>)', r'\1<node><instance_node url="#n30"/></node>', linked))
    with pytest.raises(ArgumentError, match=f'it has {2**30 + 1} shapes, must have at most 2000'):
        read_mesh(file)
    file.write_text('<!DOCTYPE x [<!ENTITY a "b">]>' + whole.partition('?>')[2])
    with pytest.raises(ArgumentError, match='it declares entities, must have none'):
        read_mesh(file)


def test_parts_that_are_not_drawn_are_named_without_html() -> None:
    assert not_drawn([]) == ''
    assert '<b>' not in not_drawn(['<b>', 'c'])
    assert '1 more' in not_drawn(['a', 'c'])


def bar(html: str, term: str) -> tuple[float, float]:
    """Return where the bar of a term begins and ends, in percent of its cell."""
    found = re.search(rf'data-term="{term}"[^>]*#0000 ([\d.]+)%,#\w+ [\d.]+% ([\d.]+)%', html)
    assert found
    return float(found[1]), float(found[2])


def test_bars_are_signed_bounded_and_red_beyond_the_limit() -> None:
    torques = {'total': np.array([5.0]), 'gravity': np.array([-2.5]), 'coriolis': np.array([20.0]), 'wrench': None}
    html = table(['j'], {'j': Limits(10.0, None, -1, 1)}, LatestMessages(torques=torques), {})
    assert bar(html, 'total') == (50, 75)
    assert bar(html, 'gravity') == (37.5, 50)
    assert bar(html, 'coriolis') == (50, 100)
    cells = dict(re.findall(r'<td [^>]*data-term="(\w+)"[^>]*>([^<]*)</td>', html))
    assert (cells.pop('position'), cells.pop('velocity')) == ('&ndash;', '&ndash;')
    known = {'total': '+5.0', 'gravity': '\N{MINUS SIGN}2.5', 'coriolis': '+20.0'}
    assert [*cells.items()] == [(term, known.get(term, '&ndash;')) for term in SUBSCRIBED]
    assert html.count(f'{BEYOND} ') == 1  # of a bar
    assert '±10' in html


def test_large_numbers_keep_to_their_column() -> None:
    efforts = {'a': 10_000.0, 'b': 2.645, 'c': 1e6, 'd': 1e308, 'e': 123.456, 'f': 1000.0}
    limits = {name: Limits(effort, None) for name, effort in efforts.items()}
    torques = {'total': np.array([1204.2, -0.04, -1e9, 999.94, 3.25, -12345.6])}
    html = table([*efforts], limits, LatestMessages(torques=torques), {})
    assert re.findall('<td class="grey">(±[^<]*)<', html) == ['±1e4', '±2.645', '±1e6', '±1e308', '±123.5', '±1000']
    cells = re.findall('data-term="total"[^>]*>([^<]*)<', html)
    assert cells == ['+1204', '0.0', '\N{MINUS SIGN}1e+09', '+999.9', '+3.2', '\N{MINUS SIGN}12346']


def test_a_joint_without_a_limit_scales_to_its_largest_torque() -> None:
    torques = {'total': np.array([8.0]), 'gravity': np.array([-4.0])}
    html = table(['j'], {'j': Limits(None, None)}, LatestMessages(torques=torques), {})
    assert bar(html, 'total') == (50, 100)
    assert bar(html, 'gravity') == (25, 50)


def test_foreign_text_is_escaped() -> None:
    name = '<script>alert(1)</script>'
    assert name not in table([name], {name: Limits(None, None)}, LatestMessages(), {})
    for html in (health, diagnostics):
        assert name not in html([Line('warn', name, name)]) + html([Line('ok', name, name)])


def test_the_coloured_line_is_the_worst_and_the_rest_stands_below() -> None:
    lines = [Line('ok', 'wrench left', 'fresh'), Line('error', 'joint states', 'no torque'), Line('warn', 'x', 'y')]
    html = health(lines)
    assert 'data-level="error"' in html
    assert f'background:{LEVEL_COLORS["error"]}' in html
    assert 'joint states: no torque (and 1 more' in html
    assert 'wrench left' not in html
    rows = diagnostics(lines)
    assert rows.index('no torque') < rows.index('wrench left')
    assert '<b>x</b>: y' in rows
    assert 'all is well' in health(lines[:1])


def test_the_curves_hold_the_last_seconds_and_gaps() -> None:
    plot = pytest.importorskip('krang_dynamics_ros.page.torques', reason='viser is not installed')
    history = plot.History(2)
    history.add({'total': np.array([1.0, 2.0]), 'position': None})
    history.add({'total': np.array([9.0, 9.0])})  # too soon after the first
    (when, second), (_, unknown) = history.curves('total', [1]), history.curves('position', [0])
    np.testing.assert_array_equal(when, [0.0])
    np.testing.assert_array_equal(second, [2.0])
    assert np.isnan(unknown).all()


def test_a_row_shows_where_a_joint_is_and_what_marks_it() -> None:
    bounds = {'j': Limits(10.0, 2.0, -1, 3)}
    heard = LatestMessages(q=np.array([1.0]), dq=np.array([-2.5]))
    html = table(['j'], bounds, heard, {'j': '#123456'})
    assert re.search(r'title="-1 to 3"[^>]*#64748b 48% 52%[^>]*>\+1.00<', html)
    assert re.search(r'class="beyond" data-term="velocity" title="at most 2">\N{MINUS SIGN}2.50<', html)
    assert 'color:#123456' in html
    unknown = table(['j'], bounds, LatestMessages(q=np.array([np.nan]), dq=None), {})
    assert unknown.count('&ndash;') == 2 + len(SUBSCRIBED)


def test_external_torque_has_a_column_while_it_is_listened_to() -> None:
    names, limits = ['i', 'j'], dict.fromkeys('ij', Limits(10.0, None))
    assert OBSERVED not in table(names, limits, LatestMessages(), {})
    html = table(names, limits, LatestMessages(torques={OBSERVED: np.array([np.nan, 5.0])}), {})
    assert re.findall(rf'data-term="{OBSERVED}"[^>]*>([^<]*)<', html) == ['&ndash;', '+5.0']
    assert bar(html, OBSERVED) == (50, 75)


def test_unusual_terms_have_a_column_only_while_they_are_in_the_total() -> None:
    limits, heard = {'j': Limits(10.0, None)}, LatestMessages(torques=dict.fromkeys(SUBSCRIBED, np.zeros(1)))
    unusual = next(term for term in SUBSCRIBED if term not in USUAL)
    assert re.findall(r'data-term="(\w+)"', table(['j'], limits, heard, {}, terms=()))[2:] == list(USUAL)
    assert f'data-term="{unusual}"' in table(['j'], limits, heard, {}, terms=(unusual,))


def test_only_terms_that_the_robot_has_can_be_ticked(server: Any) -> None:
    robot = load_robot('arm_2r')
    sprung = replace(robot, joints=tuple(replace(joint, other_effects=(Spring(3.0, -2.0),)) for joint in robot.joints))
    panel = Panel(server.gui, lambda _: None)

    def boxes(robot: Robot, *terms: str) -> list[str]:
        panel.show(Snapshot(terms=terms, possible_terms=terms_of(robot)))
        return [term for term, box in panel._terms.items() if box.visible]

    common = [term for term in SUMMED if term not in ('spring', 'coupling')]
    assert [term for term, box in panel._terms.items() if box.visible] == common  # before anything is known
    assert boxes(sprung) == [term for term in SUMMED if term != 'coupling']
    assert boxes(robot) == common
    assert 'coupling' in boxes(robot, 'gravity', 'coupling'), 'to untick it'


class LateThreads:
    """The pool of a busy machine: it does something else first."""

    def __init__(self, first: Callable[[], None]) -> None:
        self._first = first

    def submit(self, callback: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self._first()
        done = Future[Any]()
        done.set_result(callback(*arguments))
        return done


def test_an_input_is_not_lost_where_the_page_writes_before_a_thread_is_free(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = pytest.importorskip('viser._messages')
    asked: list[Callable[[Any], None]] = []
    panel = Panel(server.gui, asked.append)
    panel.add_sliders(server.gui, {'joints': ['j']}, {'j': Limits(-1.0, 1.0)})
    now = Snapshot(LatestMessages(q=np.zeros(1)), terms=['gravity'], simulated=True)
    panel.show(now)
    monkeypatch.setattr(server.gui, '_thread_executor', LateThreads(lambda: panel.show(now)))
    monkeypatch.setattr(server.gui, '_resolve_client', lambda _: SimpleNamespace(client_id=0))
    done: dict[str, Any] = {}
    controls = SimpleNamespace(
        choose_terms=lambda terms: done.update(terms=terms),
        pose=lambda joint, position: done.update({joint: position}),
    )
    for control, value in ((panel._terms['wrench'], True), (panel._sliders['j'], 0.5)):
        panel._touched = 0.0
        asyncio.run(server.gui._handle_gui_updates(0, messages.GuiUpdateMessage(control._impl.uuid, {'value': value})))
        asked.pop()(controls)
    assert done == {'terms': ['gravity', 'wrench'], 'j': 0.5}


def test_the_row_of_a_link_that_was_clicked_on_is_marked() -> None:
    html = table(['i', 'j'], dict.fromkeys('ij', Limits(10.0, None)), LatestMessages(), {}, 'j')
    assert re.findall(r'<tr data-joint="(\w)" class="marked">', html) == ['j']


def test_a_link_belongs_to_the_last_joint_that_moves_it() -> None:
    arm = (('a', 'base', 'revolute'), ('tool', 'a', 'fixed'), ('b', 'tool', 'prismatic'))
    robot = tree(*arm, ('mast', 'base', 'fixed'))
    assert movers(robot) == {'a': 'a_joint', 'tool': 'a_joint', 'b': 'b_joint'}


def test_a_robot_without_hands_is_pulled_by_its_arms_and_legs() -> None:
    arm = [(f'a{k}', f'a{k - 1}' if k else 'base', 'revolute') for k in range(6)]
    leg = [(f'b{k}', f'b{k - 1}' if k else 'base', 'revolute') for k in range(3)]
    head = (('head', 'base', 'revolute'), ('camera', 'head', 'revolute'), ('antenna', 'a3', 'fixed'))
    wheels = [(f'wheel{k}', 'base', 'continuous') for k in range(4)]
    fingers = (('finger', 'a5', 'revolute'), ('thumb', 'a5', 'revolute'))
    robot = tree(*arm, *fingers, *leg, *head, *wheels, ('mast', 'base', 'fixed'))
    assert leaves(robot) == ['a5', 'b2']
    assert finger_joints(robot) == {'a5': ['finger_joint', 'thumb_joint']}
    assert leaves(tree(('a', 'base', 'revolute'))) == ['a']
    assert leaves(tree(('mast', 'base', 'fixed'), ('a', 'base', 'revolute'))) == ['a']


def test_the_rows_of_fingers_are_folded_into_one() -> None:
    names = ['i', 'finger', 'j', 'thumb']
    limits, hand_of = dict.fromkeys(names, Limits(10.0, None)), {'finger': '<palm', 'thumb': '<palm'}
    html = table(names, limits, LatestMessages(), {}, hand_of=hand_of)
    assert re.findall(r'<tr [^>]*data-(?:fold|joint)="([^"]*)"', html) == ['i', '&lt;palm', 'finger', 'j', 'thumb']
    assert '&lt;palm: 2 finger joints' in html
    assert html.count('data-hand="&lt;palm"') == 2


def test_the_curves_begin_with_the_joints_that_are_loaded_most(server: Any) -> None:
    parts = pytest.importorskip('krang_dynamics_ros.page.torques')
    arm = tree(*((f'a{k}', f'a{k - 1}' if k else 'base', 'revolute') for k in range(6)), ('f', 'a5', 'revolute'))
    torques = parts.TorqueView(server.gui, dynamics_of(arm), limits_of(arm), 'a5', {'a5': ['f_joint']})
    total = np.array([0.0, -4.0, 1.0, 3.0, 2.0, 0.0, 9.0])
    torques.remember(LatestMessages(torques={'total': total}))
    assert [*torques.plot.colors] == ['a1_joint', 'a3_joint']
    torques.remember(LatestMessages(torques={'total': total[::-1]}))
    assert [*torques.plot.colors] == ['a1_joint', 'a3_joint'], 'they stay until a link is pulled'
    torques.suggest('a1')
    assert [*torques.plot.colors] == ['a0_joint', 'a1_joint']


def test_oddities_of_a_description_do_not_hide_that_all_is_well() -> None:
    odd = Line('warn', 'robot description', 'accepted with 3 warnings: ...')
    assert 'data-level="ok"' in health([Line('ok', 'x', 'y'), odd])
    assert 'oddities' in health([Line('ok', 'x', 'y'), odd])
    assert 'data-level="error"' in health([Line('error', 'x', 'y'), odd])
    assert 'accepted with 3 warnings' in diagnostics([odd])


def test_a_camera_that_the_browser_puts_back_is_framed_again_but_not_for_ever() -> None:
    camera = pytest.importorskip('krang_dynamics_ros.page.camera')
    first, ours = np.array([1.0, 0, 0]), np.array([5.0, 0, 0])
    viewer = camera.Viewer((390, 844), (390, 844), [(first, 1.0), (ours, 4.0)])
    assert not viewer.was_put_back(ours * 1.01)
    assert not viewer.was_put_back(np.array([0.0, 9, 0])), 'a person has moved it'
    assert [viewer.was_put_back(first) for _ in range(camera.TRIES + 1)] == [True] * camera.TRIES + [False]


def test_a_browser_that_is_there_before_the_robot_is_framed_again_after_it_takes_the_first_camera() -> None:
    camera = pytest.importorskip('krang_dynamics_ros.page.camera')
    connected: list[Callable[[Any], None]] = []
    updated: list[Callable[[Any], None]] = []
    seen = SimpleNamespace(image_width=390, image_height=844, position=np.full(3, 3.0), on_update=updated.append)
    client = SimpleNamespace(client_id=0, camera=seen, atomic=nullcontext)
    server = SimpleNamespace(
        initial_camera=SimpleNamespace(position=np.full(3, 3.0), look_at=np.zeros(3)), get_clients=lambda: {0: client},
        on_client_connect=connected.append, on_client_disconnect=lambda _: None,
    )  # fmt: skip
    views = camera.Views(server)
    connected[0](client)
    views.look(np.array([[0, -1, 0], [0, 1, 0.5]]), np.array([1.0, 0, 0.3]), np.array([0, 0, 1.0]))
    ours, seen.position = seen.position, server.initial_camera.position
    assert np.linalg.norm(ours - seen.position) > 1, 'a phone is narrow'
    updated[0](None)
    np.testing.assert_array_equal(seen.position, ours)


@pytest.fixture
def server() -> Iterator[Any]:
    viser = pytest.importorskip('viser', reason='viser is not installed: there is no page')
    started = viser.ViserServer(host='127.0.0.1', port=8400, verbose=False)  # or the next one that is free
    yield started
    started.stop()


def test_each_slider_of_many_in_groups_shows_its_own_joint(server: Any) -> None:
    """The robot's order goes from side to side, that of the groups along each arm."""
    panel_module = pytest.importorskip('krang_dynamics_ros.page.panel')
    arms = [(f'{side}{k}', f'{side}{k - 1}' if k else 'base', 'revolute') for k in range(12) for side in 'lr']
    robot = tree(*arms)
    panel = panel_module.Panel(server.gui, print)
    panel.add_sliders(server.gui, groups_of(robot), limits_of(robot))
    q = np.linspace(-0.9, 0.9, robot.n)
    panel.show(Snapshot(LatestMessages(q=q), simulated=True))
    assert {slider.label: slider.value for slider in panel._sliders.values()} == pytest.approx(
        dict(zip(robot.joint_names, q.tolist(), strict=True)), abs=0.01
    )


def test_a_link_without_a_shape_is_a_ball_and_a_stick_to_each_joint_on_it(server: Any) -> None:
    figure = pytest.importorskip('krang_dynamics_ros.page.figure')
    robot = tree(('a', 'base', 'revolute'), ('b', 'a', 'revolute'), ('c', 'a', 'fixed'))
    drawn = figure.Figure(server.scene, robot, dynamics_of(robot), MeshFiles(), np.array([0.0, 0.0, 1.0]))
    assert sorted(one.link for one in drawn.visual) == ['a', 'a', 'a', 'b', 'base', 'base', 'c']
    for one in drawn.visual:
        one.handle.on_click(lambda _: None)  # refused for what is not in the scene any more


def test_a_ball_sticks_out_of_the_body_that_its_hand_is_in(server: Any) -> None:
    figure, hands = (pytest.importorskip(f'krang_dynamics_ros.page.{name}') for name in ('figure', 'hands'))
    robot = load_robot(FILES['arm_2r'])  # its hand is the middle of a ball of 45 mm
    drawn = figure.Figure(server.scene, robot, dynamics_of(robot), MeshFiles(), np.array([0.0, 0.0, 1.0]))
    assert drawn.depth('tip', ['link2', 'tip']) == pytest.approx(0.045)
    assert drawn.depth('tip', ['link1']) == 0
    assert hands.ball_radius(0.8, 0.045) > 0.045 > hands.ball_radius(0.8, 0.0)
    assert hands.ball_radius(0.8, 10.0) < 0.1


def test_an_arm_reaches_above_its_link_and_hangs_below_the_first_joint_that_is_its_own(server: Any) -> None:
    figure, up = pytest.importorskip('krang_dynamics_ros.page.figure'), np.array([0.0, 0.0, 1.0])
    robot = tree(
        ('trunk', 'base', 'revolute'),
        *((f'{s}{k}', f'{s}{k - 1}' if k else 'trunk', 'revolute') for s in 'lr' for k in range(3)),
    )
    drawn = figure.Figure(server.scene, robot, dynamics_of(robot), MeshFiles(), up)
    length = 2 * np.hypot(0.1, 0.2)  # of two links beyond the shoulder, which is on the trunk

    def reach(shoulder: float, length: float) -> list[list[float]]:
        below = [[shoulder + ahead * length, 0, 2 * shoulder - 0.8 * length] for ahead in (0, 0.2)]
        return [*below, [0.4, 0, 0.8 + 0.25 * length]]

    np.testing.assert_allclose(drawn.reach(['l2', 'r2'], up), reach(0.2, length) * 2, atol=1e-6)
    np.testing.assert_allclose(drawn.reach(['l2'], up), reach(0.1, 1.5 * length), atol=1e-6)
    assert drawn.reach(['base'], up).shape == (0, 3)


@pytest.mark.parametrize(('joint', 'low'), [('0 0 0.3', (-0.01, -0.01, 0.0)), ('0 -0.3 0', (-0.01, -0.4, -0.01))])
def test_a_mesh_is_turned_as_its_file_says_only_if_the_joints_say_so_too(
    joint: str, low: Sequence[float], server: Any, tmp_path: Path
) -> None:
    trimesh, figure = pytest.importorskip('trimesh'), pytest.importorskip('krang_dynamics_ros.page.figure')
    long = trimesh.creation.box(bounds=[[-0.01, -0.01, 0.0], [0.01, 0.01, 0.4]])
    written = trimesh.exchange.dae.export_collada(long)
    assert b'Y_UP' in written
    (tmp_path / 'long.dae').write_bytes(written)
    text = TREE.format(LINK.format('a', 'base', 'revolute') + LINK.format('b', 'a', 'revolute'))
    text = text.replace('</link>', '<visual><geometry><mesh filename="long.dae"/></geometry></visual></link>', 1)
    before, _, after = text.rpartition('0.1 0 0.2')
    robot = read_description(f'{before}{joint}{after}').robot
    drawn = figure.Figure(
        server.scene, robot, dynamics_of(robot), MeshFiles([str(tmp_path)]), np.array([0.0, 0.0, 1.0])
    )
    corners = next(one.corners for one in drawn.visual if one.link == 'a')
    np.testing.assert_allclose(corners.min(axis=0), low, atol=1e-6)


def test_a_slash_in_a_name_puts_no_link_into_another_ones_frame(server: Any) -> None:
    figure = pytest.importorskip('krang_dynamics_ros.page.figure')
    robot = tree(('a', 'base', 'revolute'), ('a/b', 'a', 'revolute'))
    drawn = figure.Figure(server.scene, robot, dynamics_of(robot), MeshFiles(), np.array([0.0, 0.0, 1.0]))
    links = {one.link: one.handle.name.rsplit('/', 1)[0] for one in drawn.visual}
    assert len({*links.values()}) == len(robot.links)
    assert all(name.count('/') == 2 for name in links.values())


def test_many_joints_can_be_searched() -> None:
    assert 'class="find"' in search_field([f'joint_{k}' for k in range(59)])
    assert search_field(['a', 'b']) == ''


def test_the_intro_says_what_is_known_and_no_more() -> None:
    assert 'motors get' in intro('x', Snapshot(simulated=True, obeyed=True))
    assert 'motors get' not in intro('x', Snapshot(simulated=True))
    assert 'friction, 1 N m at every' in intro('x', Snapshot(simulated=True, friction='1 N m'))
    assert 'friction' not in intro('x', Snapshot(simulated=True))
    assert 'no simulator' in intro('x', Snapshot(obeyed=True, friction='1 N m'))


@pytest.mark.parametrize('window', [Window(), Window(0.4), Window(2.5), Window(0.46, 0.42)])
def test_the_camera_sees_all_of_a_robot_and_no_more(window: Window, rng: np.random.Generator) -> None:
    for _ in range(20):
        points, up = rng.normal(size=(30, 3)) * rng.uniform(0.1, 3, 3), rng.normal(size=3)
        up /= np.linalg.norm(up)
        position, target = framed(points, frame_of(up) @ rng.uniform(0.1, 1, 3), up, window)
        forward = (target - position) / np.linalg.norm(target - position)
        right = np.cross(forward, up)
        right /= np.linalg.norm(right)
        depth = (points - position) @ forward
        t = np.tan(FIELD / 2)
        across = (points - position) @ right / depth / t / window.aspect
        along = (points - position) @ np.cross(right, forward) / depth / t
        assert depth.min() > 0
        assert np.abs(across).max() < 0.901
        assert along.max() < 0.901
        assert along.min() > -0.901 * (1 - 2 * window.covered)
        fills = np.isclose(np.abs(across).max(), 0.9) or np.isclose(along.max(), 0.9)
        assert fills


def test_up_is_against_gravity_and_planar_robots_are_seen_from_their_side() -> None:
    np.testing.assert_array_equal(frame_of(np.array([0.0, 0, 1])), np.eye(3))
    for up in (np.array([0.0, 1, 0]), np.array([-1.0, 0, 0]), np.array([0.6, 0, 0.8])):
        frame = frame_of(up)
        np.testing.assert_allclose(frame @ [0, 0, 1], up, atol=1e-12)
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame) > 0
    z, y = np.array([0.0, 0, 1]), np.array([0.0, 1, 0])
    assert to_camera(y, [z, -z]) @ z > 0.8  # arm_2r: y is up, its joints turn about z, x is on the right
    assert to_camera(z, [y]) @ y < -0.8  # the pendulum: seen along y, x is on the right
    np.testing.assert_allclose(to_camera(z, [y, z]), [0.8, 0.5, 0.3])


def test_pulls_end_with_their_client_and_exist_only_where_they_are_allowed() -> None:
    pulls, grip, target = Pulls(), np.zeros(3), np.array([0.1, 0, 0])
    pulls.grip(1, 'R10l', grip, target)
    assert pulls.by_link() == {}
    pulls.allowed = True
    pulls.grip(2, 'R10l', grip, target)
    pulls.grip(3, 'R3', grip, target)
    assert {link: len(of_link) for link, of_link in pulls.by_link().items()} == {'R10l': 2, 'R3': 1}
    for away in (np.array([np.nan, 0, 0]), np.array([0, np.inf, 0]), np.array([0, 0, 1e39])):
        pulls.move(1, away)
    pulls.let_go(2)
    pulls.let_go(3)
    ((left,),) = pulls.by_link().values()
    np.testing.assert_array_equal(left.target, target)
    pulls.let_go(1)
    assert pulls.by_link() == {}


def test_an_arc_has_the_colour_of_its_share_of_the_limit() -> None:
    rings = pytest.importorskip('krang_dynamics_ros.page.overlays', reason='viser is not installed')
    blue, violet, red = (rings.color(share) for share in (0.0, 0.5, 1.0))
    assert blue[2] > 200 > red[2]
    assert red[0] > 200 > blue[0]
    assert blue[0] < violet[0] < red[0]
    assert blue[2] > violet[2] > red[2]
    np.testing.assert_array_equal(rings.color(-3.0), red)
    np.testing.assert_array_equal(rings.color(-0.3), rings.color(0.3))


def test_the_plot_follows_the_hand_until_a_joint_is_chosen() -> None:
    viser = pytest.importorskip('viser', reason='viser is not installed')
    parts = pytest.importorskip('krang_dynamics_ros.page.torques')
    with socket.create_server(('127.0.0.1', 0)) as probe:
        port = probe.getsockname()[1]
    server = viser.ViserServer(host='127.0.0.1', port=port, verbose=False)
    try:
        plot = parts.Plot(server.gui, ['a', 'b', 'c'], ['a'])
        plot.suggest(['b', 'c'])
        assert [*plot.colors] == ['b', 'c']
        plot.suggest([])
        plot.toggle('c')
        plot.toggle('unknown')
        plot.suggest(['a', 'b'])
        assert [*plot.colors] == ['b']
    finally:
        server.stop()


def test_a_follower_narrows_the_range_of_a_slider() -> None:
    """A finger that may move by 0.2 and follows at -2 times its joint leaves that joint 0.1."""
    robot = tree(('j', 'base', 'revolute'), ('f', 'j', 'revolute'), ('c', 'base', 'continuous'))
    leading, following, free = robot.joints
    leading = replace(leading, limits=Limits(5.0, 2.0, -1.0, 1.0))
    following = replace(following, limits=Limits(5.0, 2.0, -0.2, 0.2), mimic=Mimic(leading.name, -2.0))
    free = replace(free, limits=None)
    assert limits_of(replace(robot, joints=(leading, following, free))) == {
        leading.name: Limits(5.0, 2.0, -0.1, 0.1),
        free.name: Limits(None, None),
    }
