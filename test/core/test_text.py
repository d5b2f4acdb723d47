"""Names from messages and files: bounded in number and length, and harmless where they are shown."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics
from krang_dynamics_ros.cli.common import guarded, note, say
from krang_dynamics_ros.core.errors import ArgumentError, Fault, RobotError, listed, unknown_name
from krang_dynamics_ros.core.limits import MAX_CACHE_BYTES, MAX_NAME_CHARS, MAX_NAMES, NamesCache, names_fault, size_of
from krang_dynamics_ros.core.text import shown, shown_lines, to_html, to_markdown
from krang_dynamics_ros.live.joints import JointStates
from krang_dynamics_ros.live.messages import Refusals
from krang_dynamics_ros.live.wrenches import WrenchInput
from krang_dynamics_ros.reports.html_report import HtmlReport
from krang_dynamics_ros.robot.urdf_reader import read_description

HOSTILE = {
    'clear the screen': '\x1b[2J\x1b[H',
    'one-byte escape sequence': '\x9b31m',
    'another line of the log': 'a\n[INFO] all is well',
    'carriage return': 'wrong\rright',
    'right to left': '\u202etxt.exe',
    'isolate': '\u2067x\u2069',
    'no width': 'a\u200bb',
    'line separator': 'a\u2028b',
    'half a pair': '\ud800',
    'bell': '\a',
    'null': 'a\0b',
}


@pytest.mark.parametrize('name', HOSTILE.values(), ids=HOSTILE)
def test_a_name_is_shown_in_one_printable_line(name: str) -> None:
    for text in (shown(name), *map(str, (unknown_name('joint', name, ['q']), Fault(name, name, 'must be x')))):
        assert text.isprintable()
    assert shown_lines(f'first\n{name.replace(chr(10), "")}\nlast').count('\n') == 2
    for line in shown_lines(f'first\n{name}').split('\n'):
        assert line.isprintable()


def test_an_ordinary_name_is_shown_as_it_is() -> None:
    for name in ('q_1l', 'left/shoulder joint', 'Gelenk_ü', '関節', 'a' * 80):
        assert shown(name) == name


@pytest.mark.parametrize('name', ['x' * 400_000, '\x1b' * 400_000, '\U0001f600' * 400_000])
def test_a_long_name_is_cut_to_80_characters(name: str) -> None:
    assert len(shown(name)) == 80
    assert shown(name).endswith('…')
    assert len(str(unknown_name('frame', name, ['R0']))) < 200
    assert len(listed([name] * 3)) < 250


def test_an_error_can_be_printed_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise RobotError('\x1b[2Jrobot.yaml', [Fault('links.\x1b[31m', '\u202e', 'must be\nless')])

    assert guarded(fail) == 2
    note('\x1b[2J')
    say('\x1b[2J', 'second')
    said = capsys.readouterr()
    assert (said.out + said.err).replace('\n', '').isprintable()
    assert said.out.count('\n') == 2
    assert str(ArgumentError('a\nb')) == 'a\nb'


def test_markdown_and_html_of_a_name_show_it_and_do_nothing() -> None:
    name = '![x](https://example.org/a.png) <script>alert(1)</script> **b** `c`'
    for mark in '![](<>*`':
        assert mark not in to_markdown(name)
    assert '<' not in to_html(name)
    assert 'a &lt; b' in to_html('a < b')
    page = HtmlReport('<b>\u202e')
    page.table(('<i>',), [('</td><script>',)])
    page.chart('</script>', 's', 'N', [])
    text = page.text()
    assert '<b>' not in text
    assert '</td><script>' not in text
    assert '\u202e' not in text


def test_the_name_of_a_robot_in_a_urdf_is_printable_and_short() -> None:
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>'
    for name in ('\u202ea&#10;b', 'x' * 100_000):
        urdf = f'<robot name="{name}"><link name="a"/><link name="b">{inertial}</link>{joint}</robot>'
        robot = read_description(urdf).robot
        assert robot.name.isprintable()
        assert len(robot.name) <= 80
        assert Dynamics(robot).name == robot.name


class Counted(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_names_are_checked_in_linear_time() -> None:
    """Every comparison of two names is counted: 1500 names that are all different need hardly any."""
    names = [Counted(f'joint_{k}') for k in range(1500)]
    Counted.compared = 0
    assert names_fault([*names, Counted('joint_7')]) == 'named twice: joint_7'
    assert Counted.compared < 10 * len(names)


@pytest.mark.parametrize(
    ('names', 'reason'),
    [
        ([f'joint_{k}' for k in range(MAX_NAMES + 1)], '2001 names, must be at most 2000'),
        (['q'] * 30_000, '30000 names, must be at most 2000'),
        (['q', 'x' * 400_000], f"x…' has 400000 characters, must be at most {MAX_NAME_CHARS}"),
        (['a', 'b', 'a', 'c', 'b'], 'named twice: a, b'),
        (['\x1b[2J'] * 2, r'named twice: \x1b[2J'),
    ],
)
def test_joint_states_with_names_that_cannot_be_are_refused_and_counted(names: list[str], reason: str) -> None:
    states, empty = JointStates(('q', 'a'), 0.1), np.empty(0)
    for count in (1, 2):
        assert not states.update(names, np.zeros(len(names)), empty, empty, 0, 0)
        assert states.refusals.count == count
        assert states.refusals.reason.endswith(reason)
        assert len(states.refusals.reason) < 200


def test_the_cache_of_name_lists_is_bounded_in_bytes() -> None:
    cache: NamesCache[int] = NamesCache()
    kept = [tuple(f'{"x" * 200}_{k}_{j}' for j in range(k % 40)) for k in range(1000)]
    for k, names in enumerate(kept):
        cache.put(names, k)
    found = [names for names in kept if cache.get(names) is not None]
    assert kept[-1] in found
    assert sum(map(size_of, set(found))) <= MAX_CACHE_BYTES
    cache.put(too_large := ('x' * 2_000_000,), 1)
    assert cache.get(too_large) is None
    assert cache.get(kept[-1]) is not None


def test_a_wrench_in_a_frame_with_a_name_of_400_kb_is_refused_in_a_line() -> None:
    hand = WrenchInput('left', 'R10l', links=('R10l', 'R0'))
    assert not hand.update('\x1b' * 400_000, (0, 0, 0), (0, 0, 0), 0, 0)
    assert hand.refusals.count == 1
    assert len(hand.refusals.reason) < 200
    assert hand.refusals.reason.isprintable()


def test_a_reason_is_bounded() -> None:
    refusals = Refusals()
    refusals.note('\x1b' + 'x' * 1_000_000)
    assert len(refusals.reason) <= 1010
