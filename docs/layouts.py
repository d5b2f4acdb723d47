"""Writes layouts of PlotJuggler and Foxglove into layouts/, or for another robot: python -m docs.layouts ROBOT FOLDER.

The structures are those that the tools themselves save. A layout names each joint, so it is of one robot.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from krang_dynamics_ros.dynamics.terms import TERMS, terms_of
from krang_dynamics_ros.robot.robot import Robot
from krang_dynamics_ros.robot.robot_file import load_robot

FOLDER = Path(__file__).parents[1] / 'layouts'
COLORS = ('#1f77b4', '#d62728', '#1ac938', '#ff7f0e', '#9467bd', '#17becf', '#bcbd22', '#f14cc1', '#8c564b')
STREAMER = 'ROS2 Topic Subscriber'  # PlotJuggler's name of its ROS 2 source
PER_PLOT = 9  # curves, as many as there are colours


class Curve(NamedTuple):
    """A curve of a plot: its name or path in the tool, and its label."""

    path: str
    label: str


class Plot(NamedTuple):
    """A plot with its title and curves."""

    title: str
    curves: Sequence[Curve]


def groups(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Return the joints by the hand that they alone move; those of several hands are the trunk."""
    chains = {hand: [joint.name for joint in robot.chain(link)] for hand, link in robot.hands.items()}
    moves = {name: [hand for hand, chain in chains.items() if name in chain] for name in robot.joint_names}
    found: dict[str, list[str]] = {}
    for name, hands in moves.items():
        found.setdefault(hands[0] if len(hands) == 1 and len(chains) > 1 else 'trunk', []).append(name)
    return {group: tuple(names) for group, names in found.items()}


def parts(names: Sequence[str]) -> list[Sequence[str]]:
    """Return names in parts that fit one plot."""
    return [names[k : k + PER_PLOT] for k in range(0, len(names), PER_PLOT)]


def summed(robot: Robot) -> list[str]:
    """Return the terms of the robot that can be part of the total."""
    return [term for term in terms_of(robot) if TERMS[term].summed]


# PlotJuggler ----------------------------------------------------------------------------------------------------------


def live(robot: Robot) -> dict[str, list[Plot]]:
    """Return tabs for the topics of the node, live or from a bag."""
    tabs: dict[str, list[Plot]] = {}
    terms = ('total', *summed(robot))
    for group, names in groups(robot).items():
        tabs[group] = [
            Plot(title, [Curve(f'/{topic}/{name}/effort', name) for name in part])
            for part in parts(names)
            for title, topic in (('total, N m', 'torque/total'), ('measured effort', 'joint_states'),
                                 ('external, N m', 'torque/external'))
        ]  # fmt: skip
        tabs[f'{group}, by term'] = [
            Plot(f'{name}, N m', [Curve(f'/torque/{term}/{name}/effort', term) for term in terms]) for name in names[:4]
        ]
    tabs['hands'] = [
        Plot(f'{hand}, {title}', [Curve(f'/wrench/{hand}/{kind}/wrench/{part}/{axis}', axis) for axis in 'xyz'])
        for hand in robot.end_effectors
        for kind in ('compensated', 'estimated')
        for title, part in ((f'{kind} force, N', 'force'),)
    ]
    return {name: plots for name, plots in tabs.items() if plots}


def processed(robot: Robot) -> dict[str, list[Plot]]:
    """Return tabs for a table of `krang process`."""
    return {
        group: [
            Plot(f'{name}, N m', [Curve(f'{name}.{column}', column) for column in ('effort', 'model', 'residual')])
            for name in names
        ]
        for group, names in groups(robot).items()
    }


def plotjuggler(tabs: dict[str, list[Plot]], topics: Sequence[str] = ()) -> str:
    """Return a layout of PlotJuggler; with topics, it subscribes to them."""
    root = ET.Element('root')
    area = ET.SubElement(root, 'tabbed_widget', {'name': 'Main Window', 'parent': 'main_window'})
    for name, plots in tabs.items():
        container = ET.SubElement(ET.SubElement(area, 'Tab', tab_name=name, containers='1'), 'Container')
        share = ';'.join([f'{1 / len(plots):.6f}'] * len(plots))
        splitter = ET.SubElement(container, 'DockSplitter', orientation='-', count=str(len(plots)), sizes=share)
        for plot in plots:
            _add_plot(ET.SubElement(splitter, 'DockArea', name=plot.title), plot)
    ET.SubElement(area, 'currentTabIndex', index='0')
    ET.SubElement(root, 'use_relative_time_offset', enabled='1')
    ET.SubElement(root, 'streaming_buffer_size', value='20')
    plugins = ET.SubElement(root, 'Plugins')
    if topics:
        plugin = ET.SubElement(plugins, 'plugin', ID=STREAMER)
        settings = {
            'use_header_stamp': 'true', 'discard_large_arrays': 'true', 'max_array_size': '100',
            'boolean_strings_to_number': 'false', 'remove_suffix_from_strings': 'false',
            'selected_topics': ';'.join(topics),
        }  # fmt: skip
        for key, value in settings.items():
            ET.SubElement(plugin, key, value=value)
        ET.SubElement(root, 'previouslyLoaded_Datafiles')
        ET.SubElement(root, 'previouslyLoaded_Streamer', name=STREAMER)
    ET.SubElement(root, 'customMathEquations')
    ET.SubElement(root, 'snippets')
    ET.indent(root, ' ')
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ET.tostring(root, 'unicode')}\n"


def _add_plot(area: ET.Element, plot: Plot) -> None:
    look = {'mode': 'TimeSeries', 'style': 'Lines', 'line_width': '1.0', 'flip_x': 'false', 'flip_y': 'false'}
    element = ET.SubElement(area, 'plot', look)
    ET.SubElement(element, 'range', left='0.0', right='20.0', bottom='-10.0', top='10.0')
    ET.SubElement(element, 'limitY')
    for curve, color in zip(plot.curves, COLORS, strict=False):
        ET.SubElement(element, 'curve', name=curve.path, color=color)


# Foxglove -------------------------------------------------------------------------------------------------------------


def foxglove(robot: Robot) -> dict[str, Any]:
    """Return a layout of Foxglove: robot, torques by joint and by term, hands, diagnostics; live or from bags."""
    indices = {name: k for k, name in enumerate(robot.joint_names)}
    tabs = {
        group: [
            Plot(title, [Curve(f'/{topic}.effort[{indices[name]}]', name) for name in part])
            for part in parts(names)
            for title, topic in (('total, N m', 'torque/total'), ('external, N m', 'torque/external'))
        ]
        for group, names in groups(robot).items()
    }
    terms = ('total', *summed(robot))
    first = max(groups(robot).values(), key=len)[:2]
    tabs['by term'] = [
        Plot(f'{name}, N m', [Curve(f'/torque/{term}.effort[{indices[name]}]', term) for term in terms])
        for name in first
    ]
    tabs['hands'] = [
        Plot(f'{hand}: compensated force, N', [Curve(f'/wrench/{hand}/compensated.wrench.force.{axis}', axis)
                                               for axis in 'xyz'])
        for hand in robot.end_effectors
    ]  # fmt: skip
    panels: dict[str, Any] = {'3D!robot': _scene(robot), 'DiagnosticSummary!health': {
        'topicToRender': '/diagnostics', 'minLevel': 0, 'pinnedIds': [], 'hardwareIdFilter': '', 'sortByLevel': True,
    }}  # fmt: skip
    pages = []
    for name, plots in tabs.items():
        ids = [f'Plot!{name.replace(" ", "_")}_{k}' for k in range(len(plots))]
        panels |= {key: _panel(plot) for key, plot in zip(ids, plots, strict=True)}
        if ids:
            pages.append({'title': name, 'layout': _stacked(ids)})
    panels['Tab!torques'] = {'activeTabIdx': 0, 'tabs': pages}
    left = {'direction': 'column', 'first': '3D!robot', 'second': 'DiagnosticSummary!health', 'splitPercentage': 70}
    return {
        'configById': panels, 'globalVariables': {}, 'userNodes': {}, 'playbackConfig': {'speed': 1},
        'layout': {'direction': 'row', 'first': left, 'second': 'Tab!torques', 'splitPercentage': 40},
    }  # fmt: skip


def _scene(robot: Robot) -> dict[str, Any]:
    urdf = {
        'layerId': 'foxglove.Urdf', 'instanceId': 'robot', 'label': robot.name, 'visible': True, 'frameLocked': True,
        'sourceType': 'topic', 'topic': '/robot_description', 'framePrefix': '', 'displayMode': 'auto', 'order': 2,
        'url': '', 'filePath': '', 'parameter': '',
    }  # fmt: skip
    grid = {
        'layerId': 'foxglove.Grid', 'instanceId': 'grid', 'label': 'Grid', 'visible': True, 'frameLocked': True,
        'size': 4, 'divisions': 8, 'lineWidth': 1, 'color': '#808890', 'position': [0, 0, 0], 'rotation': [0, 0, 0],
        'order': 1,
    }  # fmt: skip
    return {
        'followMode': 'follow-pose', 'followTf': robot.base, 'scene': {'backgroundColor': '#eef1f4'}, 'topics': {},
        'transforms': {}, 'publish': {}, 'imageMode': {}, 'layers': {'grid': grid, 'robot': urdf},
        'cameraState': {'distance': 4, 'phi': 70, 'thetaOffset': 45, 'perspective': True, 'target': [0, 0, 0],
                        'targetOffset': [0, 0, 0.5], 'targetOrientation': [0, 0, 0, 1], 'fovy': 45, 'near': 0.1,
                        'far': 1000},
    }  # fmt: skip


def _panel(plot: Plot) -> dict[str, Any]:
    paths = [
        {'value': curve.path, 'label': curve.label, 'enabled': True, 'timestampMethod': 'headerStamp', 'color': color}
        for curve, color in zip(plot.curves, COLORS, strict=False)
    ]
    return {  # Lichtblick has its own key of the title
        'foxglovePanelTitle': plot.title, 'lichtblickPanelTitle': plot.title,
        'paths': paths, 'showXAxisLabels': True, 'showYAxisLabels': True,
        'showLegend': True, 'legendDisplay': 'left', 'showPlotValuesInLegend': True, 'isSynced': True,
        'xAxisVal': 'timestamp', 'sidebarDimension': 160, 'followingViewWidth': 20,
    }  # fmt: skip


def _stacked(ids: Sequence[str]) -> Any:
    """Return panels one above the other, as Foxglove nests them."""
    if len(ids) == 1:
        return ids[0]
    return {
        'direction': 'column', 'first': ids[0], 'second': _stacked(ids[1:]), 'splitPercentage': 100 / len(ids),
    }  # fmt: skip


def files(robot: Robot) -> dict[str, str]:
    """Return each file's name and content."""
    topics = ['/joint_states', '/torque/total', *(f'/torque/{term}' for term in terms_of(robot))]
    topics += [f'/wrench/{hand}/{kind}' for hand in robot.end_effectors for kind in ('compensated', 'estimated')]
    return {
        'plotjuggler.xml': plotjuggler(live(robot), topics),
        'plotjuggler_process.xml': plotjuggler(processed(robot)),
        'foxglove.json': json.dumps(foxglove(robot), indent=1) + '\n',
    }


def main() -> None:
    """Write the layouts of Krang, or of the robot that is named first into the folder that is named second."""
    words = sys.argv[1:]
    folder = Path(words[1]) if len(words) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files(load_robot(words[0] if words else '')).items():
        (folder / name).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
