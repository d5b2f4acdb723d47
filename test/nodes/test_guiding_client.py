"""The guiding mode of the page, with a dynamics node that is played: what is set, what is restored, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')

from krang_dynamics_ros.nodes.page.clients import Calls, Done, ParametersOf
from krang_dynamics_ros.nodes.page.guiding import GuidingClient, guiding_file, network_refusal

from ..robots import ROOT

FILE = """
/**:
  ros__parameters:
    total_terms: [gravity, damping]
    guiding: {hold_required: false}
    stops: {margin: 0.2}
/**/another_node:
  ros__parameters: {total_terms: [wrench]}
"""
GUIDED = {'total_terms': ['gravity', 'damping'], 'guiding.hold_required': False, 'stops.margin': 0.2}


class Played:
    """A dynamics node: its parameters, and commands that a service enables. Answers wait until `answer`."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {
            'total_terms': ['gravity'], 'guiding.hold_required': False, 'stops.margin': 0.15, 'command_enabled': False,
        }  # fmt: skip
        self.refusal = ''  # why commands cannot be enabled
        self.silent = False  # does not answer calls of the service
        self.lost = False  # the next answer to values that were set is lost
        self.sets: list[dict[str, Any]] = []
        self._answers: list[Callable[[], None]] = []

    def answer(self) -> None:
        while self._answers:
            self._answers.pop(0)()

    # What `ParametersOf` does

    def get(self, names: Sequence[str], then: Callable[[list[Any]], None], on_failure: Done) -> None:
        known = all(name in self.values for name in names)
        self._answers.append(lambda: then([self.values[name] for name in names] if known else []))

    def set(self, values: Mapping[str, Any], done: Done) -> None:
        def answer() -> None:
            self.values |= values
            self.sets.append(dict(values))
            lost, self.lost = self.lost, False
            done('it does not answer' if lost else '')

        self._answers.append(answer)

    # What `Calls` does

    def client_of(self, kind: Any, service: str) -> None: ...

    def ask(self, kind: Any, service: str, request: Any, then: Callable[[Any], None], on_failure: Done) -> None:
        assert service == 'effort_commands/enable'

        def answer() -> None:
            if self.silent:
                on_failure('it does not answer')
                return
            refused = request.data and self.refusal
            if not refused:
                self.values['command_enabled'] = request.data
            then(SimpleNamespace(success=not refused, message=self.refusal if refused else 'enabled'))

        self._answers.append(answer)


class Page:
    """A page at a played node."""

    def __init__(self, node: Played, path: Path, refusal: str = '') -> None:
        self.node, self.answers = node, list[str]()
        file = path / 'guiding.yaml'
        file.write_text(FILE)
        self.client = GuidingClient(cast(Calls, node), cast(ParametersOf, node), 'krang_dynamics', file, refusal)

    def start(self) -> str:
        self.client.start(self.answers.append)
        self.node.answer()
        return self.answers[-1]

    def stop(self) -> None:
        self.client.stop(self.answers.append)
        self.node.answer()

    def poll(self, stage: str) -> None:
        self.client.poll(stage)
        self.node.answer()


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(Played(), tmp_path)


def test_the_mode_is_that_of_the_shipped_file() -> None:
    assert guiding_file('') == ROOT / 'config' / 'guiding.yaml'
    assert guiding_file('/my/guiding.yaml') == Path('/my/guiding.yaml')


@pytest.mark.parametrize(
    ('host', 'allowed'),
    [('127.0.0.1', True), ('127.0.1.1', True), ('localhost', True), ('::1', True), ('0.0.0.0', False), ('::', False),  # noqa: S104
     ('192.168.1.7', False), ('', False)],
)  # fmt: skip
def test_a_page_that_the_network_can_open_enables_nothing(host: str, allowed: bool, tmp_path: Path) -> None:
    node = Played()
    page = Page(node, tmp_path, network_refusal(host))
    before = dict(node.values)
    assert (page.start() == '') == allowed
    assert allowed or (node.values == before and 'anyone on the network' in page.answers[-1])


def test_nothing_is_set_or_enabled_by_itself(page: Page) -> None:
    before = dict(page.node.values)
    for stage in ('off', 'on', '', 'falling'):
        page.poll(stage)
    assert page.node.values == before
    assert not page.client.entered


def test_what_differs_is_set_before_commands_are_enabled_and_restored_when_they_have_ended(page: Page) -> None:
    before = dict(page.node.values)
    assert page.start() == ''
    assert page.node.values == GUIDED | {'command_enabled': True}
    assert page.node.sets == [{'total_terms': ['gravity', 'damping'], 'stops.margin': 0.2}]
    for stage in ('off', 'rising', 'on'):  # the first is from before
        page.poll(stage)
    page.stop()
    for stage in ('on', 'falling'):
        page.poll(stage)
        assert page.node.values['total_terms'] == ['gravity', 'damping'], 'damping while the arm sinks'
        assert page.client.entered
    page.poll('off')
    assert page.node.values == before
    assert not page.client.entered


def test_commands_that_end_by_themselves_end_the_mode(page: Page) -> None:
    page.start()
    page.node.values['command_enabled'] = False  # a fault, or the switch
    page.poll('falling by a fault')
    assert page.client.entered
    page.poll('off')
    assert not page.client.entered
    assert page.node.values['total_terms'] == ['gravity']
    assert page.start() == ''


def test_a_refusal_is_passed_on_and_restores_everything(page: Page) -> None:
    before, page.node.refusal = dict(page.node.values), 'no joints to command'
    assert page.start() == 'no joints to command'
    assert page.node.values == before
    assert not page.client.entered


def test_what_a_person_set_meanwhile_is_not_restored(page: Page) -> None:
    page.start()
    page.node.values['stops.margin'] = 0.3
    page.stop()
    page.poll('off')
    assert page.node.values['stops.margin'] == 0.3
    assert page.node.values['total_terms'] == ['gravity']


def test_a_switch_that_is_required_stays_required(page: Page) -> None:
    page.node.values['guiding.hold_required'] = True
    page.start()
    page.stop()
    page.poll('off')
    assert all('guiding.hold_required' not in values for values in page.node.sets)
    assert page.node.values['guiding.hold_required']


def test_a_second_page_that_comes_later_leaves_restoring_to_the_first(page: Page, tmp_path: Path) -> None:
    second = Page(page.node, tmp_path)
    page.start()
    second.start()
    second.stop()
    second.poll('off')
    assert not second.client.entered
    assert page.node.values['total_terms'] == ['gravity', 'damping']
    page.poll('off')
    assert page.node.values['total_terms'] == ['gravity']


def test_an_enabling_without_an_answer_is_taken_back(page: Page) -> None:
    """The node may be busy, and enable later."""
    page.node.silent = True
    assert 'does not answer' in page.start()
    page.node.silent, page.node.values['command_enabled'] = False, True
    page.poll('rising')
    assert page.client.entered
    assert page.node.values['command_enabled'] is False
    page.poll('off')
    assert page.node.values['total_terms'] == ['gravity']
    assert not page.client.entered


def test_values_whose_answer_is_lost_are_restored(page: Page) -> None:
    before, page.node.lost = dict(page.node.values), True
    assert 'does not answer' in page.start()
    assert page.node.values == before
    assert not page.client.entered


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('a: [', 'guiding.yaml'),
        ('/**/other: {ros__parameters: {x: 1}}', 'must have one of the node'),
        ('/**: {ros__parameters: {joints: {elbow: {damping: 1.0}}}}', 'lacks a parameter of'),
        (None, 'guiding.yaml'),
    ],
)
def test_a_file_that_cannot_be_used_is_a_refusal(page: Page, tmp_path: Path, text: str | None, reason: str) -> None:
    file, before = tmp_path / 'guiding.yaml', dict(page.node.values)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    assert reason in page.start()
    assert page.node.values == before
    assert not page.client.entered


def test_a_second_press_while_the_first_is_under_way_does_nothing(page: Page) -> None:
    page.client.start(page.answers.append)
    page.client.start(page.answers.append)
    assert page.answers == ['guiding is on already; stop it first']
    page.node.answer()
    assert page.answers[-1] == ''
    assert len(page.node.sets) == 1
