"""Layouts of PlotJuggler and Foxglove: the structure that the tools save, and topics, joints and columns that exist."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from docs.layouts import COLORS, PER_PLOT, STREAMER, files
from krang_dynamics_ros import Robot, load_robot
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.spring import Spring

from .robots import FILES, ROOT
from .test_ros_files import topics

# What PlotJuggler 3 writes: each element's attributes, and the elements within it.
PLOTJUGGLER: dict[str, tuple[set[str], set[str]]] = {
    'root': (set(), {'tabbed_widget', 'use_relative_time_offset', 'streaming_buffer_size', 'Plugins', 'snippets',
                     'previouslyLoaded_Datafiles', 'previouslyLoaded_Streamer', 'customMathEquations'}),
    'tabbed_widget': ({'name', 'parent'}, {'Tab', 'currentTabIndex'}),
    'Tab': ({'tab_name', 'containers'}, {'Container'}),
    'Container': (set(), {'DockSplitter'}),
    'DockSplitter': ({'orientation', 'count', 'sizes'}, {'DockSplitter', 'DockArea'}),
    'DockArea': ({'name'}, {'plot'}),
    'plot': ({'mode', 'style', 'line_width', 'flip_x', 'flip_y'}, {'range', 'limitY', 'curve'}),
    'range': ({'left', 'right', 'bottom', 'top'}, set()),
    'limitY': (set(), set()),
    'curve': ({'name', 'color'}, set()),
    'currentTabIndex': ({'index'}, set()),
    'use_relative_time_offset': ({'enabled'}, set()),
    'streaming_buffer_size': ({'value'}, set()),
    'Plugins': (set(), {'plugin'}),
    'plugin': ({'ID'}, {'use_header_stamp', 'discard_large_arrays', 'max_array_size', 'boolean_strings_to_number',
                        'remove_suffix_from_strings', 'selected_topics'}),
    'previouslyLoaded_Datafiles': (set(), set()),
    'previouslyLoaded_Streamer': ({'name'}, set()),
    'customMathEquations': (set(), set()),
    'snippets': (set(), set()),
}  # fmt: skip
SETTING = ({'value'}, set[str]())
LAYOUT = {'configById', 'globalVariables', 'userNodes', 'playbackConfig', 'layout'}  # what Foxglove exports
PLOT = {'paths', 'showXAxisLabels', 'showYAxisLabels', 'showLegend', 'legendDisplay', 'showPlotValuesInLegend',
        'isSynced', 'xAxisVal', 'sidebarDimension'}  # fmt: skip
PATH = {'value', 'enabled', 'timestampMethod'}
FOXGLOVE: dict[str, Any] = json.loads((ROOT / 'layouts' / 'foxglove.json').read_text())
PANELS: dict[str, dict[str, Any]] = FOXGLOVE['configById']


def xml(name: str) -> ET.Element:
    return ET.parse(ROOT / 'layouts' / name).getroot()


def test_the_layouts_are_those_of_krang_now(robot: Robot) -> None:
    for name, text in files(robot).items():
        assert (ROOT / 'layouts' / name).read_text() == text, 'run `python -m docs.layouts`'


@pytest.mark.parametrize('name', ['plotjuggler.xml', 'plotjuggler_process.xml'])
def test_plotjugglers_elements_are_those_that_it_writes(name: str) -> None:
    def check(element: ET.Element) -> None:
        attributes, inside = PLOTJUGGLER.get(element.tag, SETTING)
        assert set(element.keys()) == attributes, element.tag
        assert {child.tag for child in element} <= inside, element.tag
        for child in element:
            check(child)

    root = xml(name)
    assert root.tag == 'root'
    check(root)
    for widget in root.iter('tabbed_widget'):  # PlotJuggler ends with an error if it has no window of this name
        assert widget.attrib == {'name': 'Main Window', 'parent': 'main_window'}
        assert widget.find('currentTabIndex').attrib['index'] == '0'  # type: ignore[union-attr]
    for tab in root.iter('Tab'):
        assert [len(container) for container in tab] == [1] * int(tab.attrib['containers'])  # only the first is read
    assert all(len(area) == 1 for area in root.iter('DockArea')), 'only the first plot is read'
    for plot in root.iter('plot'):
        chosen = {'mode': 'TimeSeries', 'style': 'Lines', 'line_width': '1.0', 'flip_x': 'false', 'flip_y': 'false'}
        assert plot.attrib == chosen, 'other words are taken for others of those that PlotJuggler knows'
        low, high = (
            [float(plot.find('range').attrib[x]) for x in pair] for pair in (('left', 'bottom'), ('right', 'top'))
        )  # type: ignore[union-attr]
        assert low[0] < high[0] and low[1] < high[1]
    assert all(re.fullmatch('#[0-9a-f]{6}', curve.attrib['color']) for curve in root.iter('curve'))
    assert root.find('use_relative_time_offset').attrib['enabled'] in '01'  # type: ignore[union-attr]
    for splitter in root.iter('DockSplitter'):
        shares = [float(share) for share in splitter.attrib['sizes'].split(';')]
        assert len(splitter) == int(splitter.attrib['count']) == len(shares)
        assert sum(shares) == pytest.approx(1, abs=1e-5)
        assert splitter.attrib['orientation'] in '-|'
    for plot in root.iter('plot'):
        colors = [curve.attrib['color'] for curve in plot.iter('curve')]
        assert 1 <= len(colors) == len(set(colors)) <= PER_PLOT


def test_plotjuggler_shows_topics_and_joints_that_exist(robot: Robot) -> None:
    root = xml('plotjuggler.xml')
    (chosen,) = root.iter('selected_topics')
    subscribed = set(chosen.attrib['value'].split(';'))
    assert {topic.lstrip('/') for topic in subscribed} <= set(topics())
    shown = set()
    for curve in root.iter('curve'):
        joint = re.fullmatch(r'(/[\w/]+)/(\w+)/effort', curve.attrib['name'])
        wrench = re.fullmatch(r'(/wrench/\w+/\w+)/wrench/force/[xyz]', curve.attrib['name'])
        assert joint or wrench, curve.attrib['name']
        shown.add((joint or wrench)[1])  # type: ignore[index]
        assert wrench or (joint and joint[2] in robot.joint_names)
    assert shown == subscribed
    (streamer,) = root.iter('previouslyLoaded_Streamer')
    (plugin,) = root.iter('plugin')
    assert streamer.attrib['name'] == plugin.attrib['ID'] == STREAMER


def test_the_table_of_process_has_the_columns_that_are_shown(robot: Robot) -> None:
    names = {curve.attrib['name'] for curve in xml('plotjuggler_process.xml').iter('curve')}
    assert names == {f'{joint}.{part}' for joint in robot.joint_names for part in ('effort', 'model', 'residual')}
    document = (ROOT / 'docs' / 'recordings.md').read_text()
    assert all(f'.{part}`' in document for part in ('effort', 'model', 'residual'))


def leaves(layout: Any) -> list[str]:
    """Return the panels of a Foxglove layout; refuse what is no split."""
    if isinstance(layout, str):
        return [layout]
    assert set(layout) == {'direction', 'first', 'second', 'splitPercentage'}
    assert layout['direction'] in ('row', 'column')
    assert 0 < layout['splitPercentage'] < 100
    return leaves(layout['first']) + leaves(layout['second'])


def test_foxglove_places_each_panel_once() -> None:
    assert set(FOXGLOVE) == LAYOUT
    placed = leaves(FOXGLOVE['layout'])
    for tab in PANELS['Tab!torques']['tabs']:
        assert set(tab) == {'title', 'layout'}
        placed += leaves(tab['layout'])
    assert sorted(placed) == sorted(PANELS)
    assert {name.partition('!')[0] for name in PANELS} == {'3D', 'Plot', 'Tab', 'DiagnosticSummary'}


def test_foxglove_shows_topics_and_joints_that_exist(robot: Robot) -> None:
    for name, panel in PANELS.items():
        if not name.startswith('Plot!'):
            continue
        assert set(panel) >= PLOT
        assert panel['foxglovePanelTitle'] == panel['lichtblickPanelTitle']
        assert panel['legendDisplay'] in ('floating', 'top', 'left', 'none')
        assert panel['xAxisVal'] in ('timestamp', 'index', 'custom', 'currentCustom')
        for path in panel['paths']:
            assert set(path) >= PATH
            assert path['timestampMethod'] in ('headerStamp', 'receiveTime')
            assert path['color'] in COLORS
            found = re.fullmatch(r'(/[\w/]+)\.(?:effort\[(\d+)\]|wrench\.force\.[xyz])', path['value'])
            assert found and found[1].lstrip('/') in topics()
            if found[2] and path['label'] in robot.joint_names:
                assert robot.joint_names[int(found[2])] == path['label']
    scene = PANELS['3D!robot']
    assert scene['followMode'] in ('follow-pose', 'follow-position', 'follow-none')
    assert scene['followTf'] == robot.base
    assert all(key == layer['instanceId'] for key, layer in scene['layers'].items())
    robot_layer = scene['layers']['robot']
    assert robot_layer['sourceType'] in ('url', 'filePath', 'param', 'topic')
    assert robot_layer['displayMode'] in ('auto', 'visual', 'collision')
    assert set(scene['layers']['grid']) >= {'size', 'divisions', 'lineWidth', 'color', 'position', 'rotation'}
    layers = scene['layers'].values()
    assert [layer['topic'] for layer in layers if layer['layerId'] == 'foxglove.Urdf'] == ['/robot_description']


@pytest.mark.parametrize('name', sorted(FILES))
def test_every_robot_has_layouts(name: str) -> None:
    robot = load_robot(FILES[name])
    text = '\n'.join(files(robot).values())
    assert all(joint in text for joint in robot.joint_names)


def test_springs_and_couplings_are_shown_for_a_robot_that_has_them() -> None:
    robot = load_robot('arm_2r')
    for term in ('spring', 'coupling'):
        assert f'/torque/{term}' not in '\n'.join(files(robot).values())
    springs = tuple(replace(joint, other_effects=(Spring(1.0, 0.0),)) for joint in robot.joints)
    pair = Coupling(robot.joint_names, 1, 0.1, 0.0, 0.05)  # type: ignore[arg-type]
    for name, text in files(replace(robot, joints=springs, couplings=(pair,))).items():
        for term in ('spring', 'coupling'):
            assert (f'/torque/{term}' in text) == (name != 'plotjuggler_process.xml')
