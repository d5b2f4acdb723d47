"""`record`: its folder is whole or gone, however it is stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: record has no topics')

from krang_dynamics_ros.cli import record
from krang_dynamics_ros.nodes.recorder import SIGNALS, SeenJoints
from krang_dynamics_ros.nodes.run import caught


class Recorder:
    """A recorder that hears nothing; while it ends, a second Ctrl-C comes."""

    joint_states = '/joint_states'
    began = None
    topics: dict[str, Any]

    def __init__(self, *_: Any) -> None:
        self.topics, self.joints = {}, SeenJoints()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def run(self, done: Callable[[], bool]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert done()

    def of_type(self, _: str) -> list[str]:
        return []


def test_a_second_ctrl_c_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, '_recorder', lambda: (Recorder, caught, SIGNALS))
    assert record.main(['-o', str(tmp_path / 'bag')]) == 1
    assert 'Nothing recorded' in capsys.readouterr().err
    assert not (tmp_path / 'bag').exists()
