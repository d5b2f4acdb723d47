"""No command overwrites what it reads, or writes two things into one file; it says so before any work."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest

from ..robots import ROOT

ARM = ROOT / 'config' / 'textbook' / 'arm_2r.yaml'
READ, TWICE = 'is an input, must be another', 'is another output, must be another'


@pytest.mark.parametrize(
    ('words', 'why'),
    [
        ('predict sim.csv --robot arm.yaml -o sim.csv', READ),
        ('predict sim.csv --robot arm.yaml -o ../here/arm.yaml', READ),
        ('identify sim.csv --robot arm.yaml -o sim.csv', READ),
        ('identify sim.csv --robot arm.yaml -o new.yaml --report sim.csv', READ),
        ('identify sim.csv --robot arm.yaml -o new.yaml --report new.yaml', TWICE),
        ('predict sim.csv --arm my_arm.yaml -o my_arm.yaml', READ),
        ('identify sim.csv --arm my_arm.yaml -o my_arm.yaml', READ),
        ('excite --arm my_arm.yaml -o my_arm.yaml', READ),
        ('generate_urdf arm.yaml -o arm.yaml', READ),
        ('excite arm.yaml -o arm.yaml', READ),
        ('excite arm.yaml -o q.yaml --run q.yaml', TWICE),
        ('calibrate left --bag bag --params node.yaml -o node.yaml', READ),
        ('calibrate left --bag bag --samples s.csv -o s.csv', READ),
        ('calibrate left --bag bag --arm node.yaml -o node.yaml', READ),
        ('calibrate left --payload --efforts --fit-only --samples s.csv --empty e.csv --overwrite -o e.csv', READ),
    ],
)
def test_input_files_are_not_overwritten(
    words: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / 'here'
    here.mkdir()
    monkeypatch.chdir(here)
    shutil.copy(ARM, 'arm.yaml')
    rows = [f'{0.01 * k},{0.1 * k},0.2,1,2' for k in range(20)]
    head = 'time,theta1.position,theta2.position,theta1.effort,theta2.effort'
    Path('sim.csv').write_text('\n'.join([head, *rows]))
    Path('node.yaml').write_text('/**:\n  ros__parameters:\n    sense: applied_on_robot\n')
    Path('my_arm.yaml').write_text('/**:\n  ros__parameters:\n    robot_file: arm.yaml\n')
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    name, *rest = words.split()
    assert importlib.import_module(f'krang_dynamics_ros.cli.{name}').main(rest) == 2
    assert why in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before
