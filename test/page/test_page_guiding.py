"""Guiding on the page, without a browser: the stacked bars, the coloured line, joints that blink, the folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip('viser', reason='viser is not installed: there is no page')

from krang_dynamics_ros import dynamics_of, krang
from krang_dynamics_ros.page.figure import LIT, TRIPPED, Figure
from krang_dynamics_ros.page.guiding import GuideFolder, GuidingState, tripped
from krang_dynamics_ros.page.snapshot import LatestMessages, Line, health
from krang_dynamics_ros.page.torques import TERM_COLORS, table
from krang_dynamics_ros.robot.mesh_files import MeshFiles
from krang_dynamics_ros.robot.robot import Limits

LIMITS = {'j': Limits(10.0, None)}


@pytest.fixture
def server() -> Iterator[Any]:
    viser = pytest.importorskip('viser')
    started = viser.ViserServer(host='127.0.0.1', port=8400, verbose=False)  # or the next one that is free
    yield started
    started.stop()


def stack(torques: dict[str, float], terms: Sequence[str]) -> list[tuple[str, float, float]]:
    """Return the parts of the total's stacked bar, from left to right: term, begin and end in percent of the cell."""
    heard = LatestMessages(torques={term: np.array([value]) for term, value in torques.items()})
    html = table(['j'], LIMITS, heard, {}, terms=terms)
    cell = re.search(r'<td data-term="total"[^>]*>', html)
    assert cell
    layers = re.findall(r'linear-gradient\(90deg,(.*?)\)', cell[0])
    if len(layers) < 2:
        return []
    of_color = {color: term for term, color in TERM_COLORS.items()}
    parts = re.findall(r'(#\w{6}) ([\d.]+)% ([\d.]+)%', layers[1])
    return [(of_color[color], float(begin), float(end)) for color, begin, end in parts]


def test_the_total_is_a_stack_of_its_terms_negative_ones_to_the_left() -> None:
    torques = {'total': 1.0, 'gravity': 4.0, 'coriolis': -1.0, 'damping': -3.0, 'stops': 1.0, 'wrench': 9.0}
    assert stack(torques, ['gravity', 'coriolis', 'damping', 'stops']) == [
        ('damping', 30, 45), ('coriolis', 45, 50), ('gravity', 50, 70), ('stops', 70, 75),
    ]  # fmt: skip


def test_friction_has_the_share_that_is_given_back() -> None:
    torques = {'total': 6.0, 'gravity': 4.0, 'friction': 5.0}
    assert stack(torques, ['gravity', 'friction']) == [('gravity', 50, 70), ('friction', 70, 80)]


def test_without_friction_coupling_has_the_share_that_is_given_back() -> None:
    torques = {'total': 6.0, 'gravity': 4.0, 'coupling': 5.0, 'friction': 9.0}
    assert stack(torques, ['gravity', 'coupling']) == [('gravity', 50, 70), ('coupling', 70, 80)]


def test_a_single_term_and_unknown_terms_have_no_stack() -> None:
    assert stack({'total': 4.0, 'gravity': 4.0, 'damping': 0.0}, ['gravity', 'damping']) == []
    assert stack({'total': 4.0, 'gravity': 4.0}, ['gravity', 'damping']) == []
    assert stack({'gravity': 4.0, 'damping': 3.0}, ['gravity', 'damping']) == []
    assert stack({'total': np.nan, 'gravity': 4.0, 'damping': 3.0}, ['gravity', 'damping']) == []


def test_a_stack_ends_at_the_edge_of_its_cell() -> None:
    parts = stack({'total': 40.0, 'gravity': 8.0, 'stops': 32.0}, ['gravity', 'stops'])
    assert parts == [('gravity', 50, 90), ('stops', 90, 100)]


def test_the_coloured_line_says_that_commands_go_out_where_all_else_is_well() -> None:
    fine = GuidingState('on', True, '', 'reduced, for commands come late: q_5l').line
    assert fine == 'effort commands: on; guiding: reduced, for commands come late: q_5l'
    html = health([Line('ok', 'joint states', 'fresh')], fine)
    assert fine in html
    assert 'all is well' not in html
    assert fine not in health([Line('warn', 'x', 'y')], fine)
    assert GuidingState('off').line == GuidingState().line == ''
    assert 'all is well' in health([Line('ok', 'joint states', 'fresh')], '')


def test_the_joints_that_a_fault_names_are_found_as_whole_words() -> None:
    names = ['q_1', 'q_1l', 'q_2l', 'arm/q.3', 'ended']
    fault = 'ended by a fault: q_1l moves at 2 rad/s (q_2l: arm/q.3), must be at most 1; enable again'
    assert tripped(fault, names[:4]) == ['q_1l', 'q_2l', 'arm/q.3']
    assert tripped('', names) == []


def test_links_are_drawn_in_the_given_colours_and_get_their_own_back(server: Any) -> None:
    robot = krang()
    figure = Figure(server.scene, robot, dynamics_of(robot), MeshFiles(), np.array([0.0, 0.0, 1.0]))

    def colors() -> list[tuple[int, ...]]:
        return [tuple(drawn.handle.color) for drawn in figure.visual]

    before = colors()
    for lit in ({'R4l': TRIPPED, 'R5l': LIT}, {'R4l': LIT}, {'R4l': TRIPPED}):
        figure.light(lit)
        for drawn, own in zip(figure.visual, before, strict=True):
            assert tuple(drawn.handle.color) == lit.get(drawn.link, own)
            assert drawn.handle.visible
    figure.light({})
    assert colors() == before


class Asked:
    """Stands for the page's requests."""

    def __init__(self) -> None:
        self.guided: list[bool] = []

    def guide(self, *, on: bool) -> None:
        self.guided.append(on)


@pytest.mark.parametrize(
    ('guiding', 'known', 'buttons', 'words'),
    [
        (GuidingState(), False, (False, False), ''),
        (GuidingState(), True, (True, False), 'Take hold of the arm'),
        (GuidingState('off'), True, (True, False), 'Take hold of the arm'),
        (GuidingState('off', entered=True), True, (False, False), 'Commands: off. The parameters are restored'),
        (GuidingState('rising', entered=True), True, (False, True), 'Commands go out'),
        (GuidingState('on', entered=True), True, (False, True), 'Commands go out'),
        (GuidingState('on'), True, (False, True), 'Commands were not enabled here'),
        (GuidingState('falling', entered=True), True, (False, False), 'Commands: falling.'),
        (GuidingState('off', fault='ended by a fault: <b>'), True, (True, False), 'ended by a fault: &lt;b&gt;'),
    ],
)
def test_the_folder_offers_what_can_be_done(
    guiding: GuidingState, known: bool, buttons: tuple[bool, bool], words: str, server: Any
) -> None:
    asked = Asked()
    requests: list[Callable[[Any], None]] = []
    folder = GuideFolder(server.gui, requests.append)
    folder.show(guiding, known)
    assert (not folder._start.disabled, not folder._stop.disabled) == buttons
    assert words in folder._words.content
    for button in (folder._start, folder._stop):
        for callback in button._impl.update_cb:
            callback(SimpleNamespace(client=None))
    for request in requests:
        request(asked)
    assert asked.guided == [True, False]
