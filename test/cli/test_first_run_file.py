"""`first_run`: which file gets the new parameters, and what the user must do where the node cannot take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed: first_run has no client')

from krang_dynamics_ros.calibration.first_commands import RunawayError
from krang_dynamics_ros.calibration.first_run import ArmModel, MotionRow, RestSample
from krang_dynamics_ros.cli import first_run
from krang_dynamics_ros.cli.common import say
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.live.engine import engine_of

ARM = {'robot_file': 'arm_2r', 'effort_source': 'motor'}
TEXT = '/**/krang_dynamics:\n  ros__parameters:\n    effort_source: motor\n'
INVERTED = {'joints.theta1.effort_scale': -1.0, 'joints.theta2.effort_scale': -1.0}


class Client:
    """An arm whose efforts have the opposite sign, and a node that sets parameters, or none."""

    def __init__(self, *_: Any) -> None:
        self.command_state = ''
        self._poses = iter([[0.2, 0.3], [1.1, 0.4], [0.5, -1.2]])

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None: ...

    def connect(self) -> ArmModel:
        return self.model_with({})

    def model_with(self, changes: dict[str, Any]) -> ArmModel:
        self._model = ArmModel(engine_of(ARM), ARM | changes)
        return self._model

    def rest(self) -> RestSample:
        q = np.array(next(self._poses))
        return RestSample(q, -self._model.gravity_torque(q), np.zeros(2))

    def set(self, values: dict[str, Any]) -> None:
        """Set them."""


class ReadOnlyClient(Client):
    """A node that has these parameters only from its start."""

    def set(self, values: dict[str, Any]) -> None:
        raise KrangDynamicsError('cannot be set while the node runs')


class Keys:
    """A person who agrees."""

    closed = False

    def __enter__(self) -> Keys:
        return self

    def __exit__(self, *_: object) -> None: ...

    def yes(self, question: str) -> bool:
        say(question)
        return True

    def line(self, question: str) -> str:
        say(question)
        return '-y' if 'points down' in question else ''

    def stop(self) -> bool:
        return False


@pytest.fixture
def arm_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An arm file in the present folder, and a person at the keys."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(first_run, 'Keys', Keys)
    monkeypatch.setattr('krang_dynamics_ros.nodes.first_run_client.FirstRunClient', Client)
    file = Path('my_arm.yaml')
    file.write_text(TEXT)
    return file


def written(file: Path) -> Any:
    return yaml.safe_load(file.read_text())['/**/krang_dynamics']['ros__parameters']


def test_the_arm_file_gets_the_new_parameters(arm_file: Path) -> None:
    assert first_run.main(['--arm', str(arm_file), '--steps', 'rest']) == 0
    assert written(arm_file) == {'effort_source': 'motor'} | INVERTED


def test_output_gets_the_new_parameters_instead_of_the_arm_file(
    arm_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert first_run.main(['--arm', str(arm_file), '-o', 'found.yaml', '--steps', 'rest']) == 0
    assert 'and write them to found.yaml?' in capsys.readouterr().out
    assert arm_file.read_text() == TEXT
    assert written(Path('found.yaml')) == INVERTED


def test_a_file_that_exists_is_refused_without_an_option_that_first_run_lacks(
    arm_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert first_run.main(['-o', str(arm_file), '--steps', 'rest']) == 2
    assert capsys.readouterr().err == 'my_arm.yaml: exists, must be a new file; set another file\n'
    assert arm_file.read_text() == TEXT


@pytest.mark.parametrize(
    ('words', 'what'),
    [(['-o', 'found.yaml'], 'restart the node with found.yaml'), ([], 'put them into a parameter file, and restart')],
)
def test_parameters_that_a_running_node_refuses_name_the_file_to_start_it_with(
    words: list[str], what: str, arm_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr('krang_dynamics_ros.nodes.first_run_client.FirstRunClient', ReadOnlyClient)
    assert first_run.main([*words, '--steps', 'rest']) == 0
    assert what in capsys.readouterr().out


class FallingClient(Client):
    """An arm that falls so fast that commands of zero end before it has moved by the travel of the check."""

    rows: Sequence[MotionRow] = ()

    def connect(self) -> ArmModel:
        model = super().connect()
        model.values |= {'total_terms': ['gravity'], 'command_start': 'measured'}
        return model

    @contextmanager
    def enabled(self) -> Iterator[str]:
        try:
            yield 'enabled'
        finally:
            unknown, q = np.full(2, np.nan), np.array([0.2, 0.3])
            step = -0.02 * np.sign(self._model.gravity_torque(q))
            self.rows = [MotionRow(0.01 * k, q + k * step, unknown, unknown) for k in range(9)]

    def run(self, *_: Any) -> None:
        raise RunawayError('theta1 moved by 0.7 rad/s (m/s), must be below 0.6: commands off')


def test_an_arm_that_falls_fast_under_zero_commands_has_a_verdict(
    arm_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr('krang_dynamics_ros.nodes.first_run_client.FirstRunClient', FallingClient)
    code = first_run.main(['--arm', str(arm_file), '--steps', 'zero'])
    out = capsys.readouterr().out
    assert 'must be below 0.6: commands off' in out
    assert 'zero command: RIGHT: with zero commands theta' in out
    assert 'the arm sinks; its firmware adds no gravity torque' in out
    assert code == 0
