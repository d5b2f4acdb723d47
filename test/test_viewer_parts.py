"""What the page is made of, without a browser: looks read from a URDF, bars, curves, and the coloured line."""

from __future__ import annotations

import re

import numpy as np
import pytest

from krang_dynamics_ros import Robot, dynamics_of, urdf_text
from krang_dynamics_ros.viewer.bars import BEYOND, COLUMNS, table
from krang_dynamics_ros.viewer.shapes import GREY, Bounds, bounds_of, shapes_of
from krang_dynamics_ros.viewer.snapshot import Line
from krang_dynamics_ros.viewer.texts import COLORS, health

SOMEBODYS = """<robot name="somebody"><material name="red"><color rgba="1 0 0 0.5"/></material>
<link name="base"><visual><geometry><mesh filename="package://x/y.stl"/></geometry></visual></link>
<link name="arm"><visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry><box size="1 2 3"/></geometry>
<material name="red"/></visual><visual><geometry><sphere radius="0.2"/></geometry></visual></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><limit effort="0" velocity="1"/></joint>
<joint name="bare" type="prismatic"><parent link="arm"/><child link="tip"/></joint><link name="tip"/></robot>"""


def test_somebodys_shapes_are_read_and_meshes_passed_over() -> None:
    box, ball = shapes_of(SOMEBODYS)
    assert (box.link, box.kind, box.size, box.color) == ('arm', 'box', (1, 2, 3), (1, 0, 0, 0.5))
    np.testing.assert_allclose(box.position, [1, 2, 3])
    np.testing.assert_allclose(box.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    assert (ball.kind, ball.size, ball.reach) == ('sphere', (0.2,), 0.2)


def test_nonsense_is_passed_over() -> None:
    torn = SOMEBODYS.replace('size="1 2 3"', 'size="1 2"').replace('radius="0.2"', 'radius="wide"')
    assert shapes_of(torn) == []
    torn = SOMEBODYS.replace('rgba="1 0 0 0.5"', 'rgba="1 0 NaN"').replace('xyz="1 2 3"', 'xyz="x"')
    box, _ = shapes_of(torn)
    assert box.color == GREY
    np.testing.assert_array_equal(box.position, 0)
    torn = SOMEBODYS.replace('effort="0"', 'effort="inf" lower="2" upper="1"').replace('continuous', 'revolute')
    assert bounds_of(torn)['turn'] == Bounds(None, None, None)


def test_bounds_that_are_not_given_are_unknown(robot: Robot) -> None:
    assert bounds_of(SOMEBODYS) == {'turn': Bounds(None, None, None), 'bare': Bounds(None, None, None)}
    bounds = bounds_of(urdf_text(robot))
    assert list(bounds) == list(robot.joint_names)
    limits = {joint.name: joint.limits for joint in robot.moving_joints}
    for name, bound in bounds.items():
        limit = limits[name]
        assert limit
        assert (bound.lower, bound.upper, bound.effort) == pytest.approx((limit.lower, limit.upper, limit.effort))


def test_every_visual_of_krang_is_drawn(robot: Robot) -> None:
    assert len(shapes_of(urdf_text(robot))) == urdf_text(robot).count('<visual>')


def bar(html: str, term: str) -> tuple[float, float]:
    """Return where the bar of a term begins and ends, in percent of its cell."""
    found = re.search(rf'data-term="{term}"[^>]*#0000 ([\d.]+)%,#\w+ [\d.]+% ([\d.]+)%', html)
    assert found
    return float(found[1]), float(found[2])


def test_bars_are_signed_bounded_and_red_beyond_the_limit() -> None:
    torques = {'total': np.array([5.0]), 'gravity': np.array([-2.5]), 'coriolis': np.array([20.0]), 'wrench': None}
    html = table(['j'], {'j': Bounds(-1, 1, 10.0)}, torques)
    assert bar(html, 'total') == (50, 75)
    assert bar(html, 'gravity') == (37.5, 50)
    assert bar(html, 'coriolis') == (50, 100)
    cells = dict(re.findall(r'<td data-term="(\w+)"[^>]*>([^<]*)</td>', html))
    assert cells == {'total': '+5.0', 'gravity': '\N{MINUS SIGN}2.5', 'coriolis': '+20.0', 'friction': '&ndash;',
                     'wrench': '&ndash;', 'external': '&ndash;'}  # fmt: skip
    assert list(cells) == list(COLUMNS)
    assert html.count(BEYOND) == 2  # in the style, and once
    assert '±10' in html


def test_a_joint_without_a_limit_scales_to_its_largest_torque() -> None:
    html = table(['j'], {'j': Bounds(None, None, None)}, {'total': np.array([8.0]), 'gravity': np.array([-4.0])})
    assert bar(html, 'total') == (50, 100)
    assert bar(html, 'gravity') == (25, 50)


def test_what_strangers_write_is_no_html() -> None:
    name = '<script>alert(1)</script>'
    assert name not in table([name], {name: Bounds(None, None, None)}, {})
    assert name not in health([Line('ok', name, name)])


def test_the_coloured_line_is_the_worst() -> None:
    lines = [Line('ok', 'wrench left', 'fresh'), Line('error', 'joint states', 'no torque'), Line('warn', 'x', 'y')]
    html = health(lines)
    assert 'data-level="error"' in html
    assert f'background:{COLORS["error"]}' in html
    assert html.index('joint states: no torque') < html.index('wrench left')
    assert 'all is well' in health(lines[:1])


def test_the_curves_hold_the_last_seconds_and_gaps() -> None:
    plot = pytest.importorskip('krang_dynamics_ros.viewer.plot', reason='viser is not installed')
    history = plot.History(2)
    history.add({'total': np.array([1.0, 2.0]), 'position': None})
    history.add({'total': np.array([9.0, 9.0])})  # too soon after the first
    (when, second), (_, unknown) = history.curves('total', [1]), history.curves('position', [0])
    np.testing.assert_array_equal(when, [0.0])
    np.testing.assert_array_equal(second, [2.0])
    assert np.isnan(unknown).all()


def test_a_pull_points_to_the_mouse_is_damped_and_bounded(robot: Robot, rng: np.random.Generator) -> None:
    hands = pytest.importorskip('krang_dynamics_ros.viewer.hands', reason='viser is not installed')
    dynamics, q, dq = dynamics_of(robot), rng.uniform(-1, 1, robot.n), rng.uniform(-0.1, 0.1, robot.n)
    rotation, origin = dynamics.pose(q, 'R10l')
    still, unknown, away = np.zeros(robot.n), np.full(robot.n, np.nan), np.array([0.1, -0.2, 0.3])
    for at_rest in (still, unknown):
        force = rotation @ hands.pull(dynamics, 'R10l', q, at_rest, origin + away)
        np.testing.assert_allclose(force, hands.STIFFNESS * away)
    slower = rotation @ hands.pull(dynamics, 'R10l', q, dq, origin)
    velocity = (dynamics.pose(q + 1e-6 * dq, 'R10l')[1] - origin) / 1e-6
    np.testing.assert_allclose(slower, -hands.DAMPING * velocity, rtol=1e-4, atol=1e-6)
    far = rotation @ hands.pull(dynamics, 'R10l', q, still, origin + 100 * away)
    np.testing.assert_allclose(far, hands.STRONGEST * away / np.linalg.norm(away))
