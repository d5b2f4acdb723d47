"""The tour of the page, without a browser: what must be so before a step, from any state, and what ticks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import pytest

pytest.importorskip('viser', reason='viser is not installed: there is no page')

from krang_dynamics_ros.page.snapshot import Load, Snapshot
from krang_dynamics_ros.page.tour import (
    FALL,
    HANG,
    OBSERVE,
    PULL_HAND,
    RESIST,
    TELL,
    WITH_HANDS,
    WITHOUT_HANDS,
    Moment,
    Step,
    Tour,
    needs,
)

READY = Snapshot(
    terms=['gravity'],
    simulated=True,
    obeyed=True,
    mode='driven',
    loads={'left': Load(0.0, 0.0), 'right': Load(0.0, 0.0)},
)
PULLED = {'hand': 20.0}


@dataclass
class Robot:
    """Stands for simulator and dynamics node: does what the page asks for."""

    now: Snapshot
    asked: list[str] = field(default_factory=list)

    def call_simulator(self, name: str) -> None:
        self.asked.append(name)
        self.now = replace(self.now, mode='driven')

    def pose(self, joint: str, position: float) -> None: ...

    def choose_terms(self, terms: Sequence[str]) -> None:
        self.now = replace(self.now, terms=[*terms])

    def hang(self, hand: str, mass: float) -> None:
        self._load(hand, self.now.loads[hand]._replace(hung=mass))

    def set_payload(self, hand: str, mass: float) -> None:
        self._load(hand, self.now.loads[hand]._replace(known_mass=mass))

    def make_hand(self, link: str) -> None: ...

    def remove_hand(self, hand: str) -> None: ...

    def zero_sensor(self, hand: str) -> None: ...

    def _load(self, hand: str, load: Load) -> None:
        self.now = replace(self.now, loads={**self.now.loads, hand: load})


@pytest.mark.parametrize('step', WITH_HANDS + WITHOUT_HANDS, ids=lambda step: step.title)
@pytest.mark.parametrize('mode', ['driven', 'paused', 'broken', 'braked'])
def test_after_the_button_a_step_needs_nothing_more_from_any_state(step: Step, mode: str) -> None:
    tour = Tour([step])
    for terms, hung, known in product([[], ['wrench'], ['gravity', 'friction', 'wrench']], (0.0, 2.0), (0.0, 2.0, 5.0)):
        loads = {'left': Load(hung, known), 'right': Load(0.0, 0.0)}
        robot = Robot(replace(READY, terms=terms, mode=mode, loads=loads))
        tour.prepare(1, robot.now, robot)
        assert needs(step, robot.now) == []
        assert robot.now.mode == ('braked' if mode == 'braked' else 'driven')
        assert 'friction' in (robot.now.terms or ()) or 'friction' not in terms, 'what does not matter stays'


def test_the_bag_sinks_only_without_wrench_and_its_step_is_reached_once_it_hangs() -> None:
    wrench = replace(READY, terms=['gravity', 'wrench'])
    assert [need.words for need in needs(HANG, wrench)] == ['untick <b>wrench</b>']
    assert needs(HANG, READY) == needs(RESIST, wrench) == []
    assert [need.words for need in needs(TELL, READY)] == ['hang a bag on <i>left</i>']


def moment(now: Snapshot = READY, pulls: Mapping[str, float] = PULLED, **others: bool) -> Moment:
    return Moment(now, pulls, **others)


BAG = replace(READY, loads={'left': Load(2.0, 0.0)})
TOLD = replace(READY, loads={'left': Load(2.0, 2.0)})


@pytest.mark.parametrize(
    ('step', 'before', 'after'),
    [
        (PULL_HAND, moment(pulls={'hand': 1.0}), moment()),
        (RESIST, moment(), moment(replace(READY, terms=['gravity', 'wrench']))),
        (HANG, moment(), moment(BAG)),
        (HANG, moment(replace(BAG, terms=['gravity', 'wrench'])), moment(BAG)),
        (TELL, moment(BAG), moment(TOLD)),
        (TELL, moment(TOLD, {}), moment(TOLD)),
        (OBSERVE, moment(), moment(observing=True)),
        (FALL, moment(), moment(replace(READY, terms=['friction']))),
        (FALL, moment(replace(READY, terms=None)), moment(replace(READY, terms=[]))),
        (WITHOUT_HANDS[0], moment(), moment(posed=True)),
    ],
)
def test_a_step_is_ticked_when_it_was_done_and_stays_ticked(step: Step, before: Moment, after: Moment) -> None:
    tour = Tour([step])
    assert f'data-first="{step.title}"' in tour.html(before), 'the page begins anew where the tour is another one'
    tour.update(before)
    assert 'data-done' not in tour.html(before)
    tour.update(after)
    tour.update(before)
    assert 'data-done' in tour.html(before)


def test_there_is_no_card_where_nothing_can_be_tried() -> None:
    tour = Tour(WITH_HANDS)
    assert tour.html(moment(replace(READY, simulated=False))) == tour.html(moment(replace(READY, obeyed=False))) == ''
    assert tour.html(moment()).count('You should see') == len(WITH_HANDS)


def test_a_hand_may_have_any_name() -> None:
    loads = {'<script>': Load(2.0, 0.0)}
    assert '<script>' not in Tour(WITH_HANDS).html(moment(replace(READY, loads=loads), {}))


def test_a_number_that_no_step_has_prepares_nothing() -> None:
    robot = Robot(replace(READY, mode='paused'))
    for number in (0, len(WITH_HANDS) + 1):
        Tour(WITH_HANDS).prepare(number, robot.now, robot)
    assert robot.asked == []
