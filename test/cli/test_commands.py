"""The commands, with right and wrong words; some as a user runs them, in a process of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from krang_dynamics_ros import krang, urdf_text
from krang_dynamics_ros.__main__ import COMMANDS, NODES

from ..commands import run, run_process
from ..robots import FILES, ROOT


def test_check_proves_krang_and_prints_a_table() -> None:
    done = run_process('check', '--states', 10)
    assert (done.returncode, done.stderr) == (0, '')
    assert 'krang: 17 joints, 152.838 kg; 10 random states, seed 0; bare hands and payloads.' in done.stdout
    assert 'All 28 comparisons agree to 1e-09.' in done.stdout
    for quantity in ('iT_j', 'A ', 'C ', 'C dq', 'Q ', 'J^T f', 'E ', 'U ', 'dA/dt - 2C'):
        assert f'\n{quantity}' in done.stdout


def test_check_takes_krang_as_urdf_where_no_length_has_a_name() -> None:
    done = run('check', 'urdf/krang.urdf', '--states', 2)
    assert (done.returncode, done.stderr) == (0, '')
    assert 'All 27 comparisons agree to 1e-09.' in done.stdout  # all but iT_j, which is of the report's lengths


def test_check_takes_the_backend_that_the_node_would_run_on() -> None:
    pytest.importorskip('casadi', reason='casadi is not installed: there is no compiled backend')
    done = run('check', '--backend', 'compiled', '--states', 5)
    assert (done.returncode, done.stderr) == (0, '')
    assert "krang.yaml in C, by the Lagrangian's equations" in done.stdout
    refused = run('check', '--backend', 'compiled', '--urdf', 'urdf/krang.urdf')
    assert refused.returncode == 2
    assert "must be 'pinocchio' with a URDF" in refused.stderr


def test_a_command_that_lacks_a_module_names_what_to_install(tmp_path: Path) -> None:
    (tmp_path / 'scipy.py').write_text("raise ModuleNotFoundError('no scipy', name='scipy.interpolate')")
    command = [sys.executable, '-m', 'krang_dynamics_ros', 'process', '--help']
    environment = os.environ | {'PYTHONPATH': f'{tmp_path}:{ROOT}'}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith('scipy, which `process` needs, is not on this machine; ')
    assert "pip install '.[recordings,identification]'" in done.stderr


def test_who_stops_reading_hears_no_complaint() -> None:
    line = f'{sys.executable} -m krang_dynamics_ros generate_urdf | true'
    done = subprocess.run(['/bin/sh', '-c', line], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    assert done.stderr == ''


def test_a_seed_draws_the_same_states_again() -> None:
    first, again, other = (run('check', '--states', 5, '--seed', seed).stdout for seed in (1, 1, 2))
    assert first == again
    assert first.splitlines()[3:] != other.splitlines()[3:]


def test_check_takes_a_robot_of_ones_own_and_follows_an_edited_length(tmp_path: Path) -> None:
    mine = tmp_path / 'mine.yaml'
    mine.write_text(FILES['krang'].read_text().replace('L7: 0.328', 'L7: 0.4'))
    done = run('check', mine, '--states', 5, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_check_says_where_a_urdf_differs(tmp_path: Path) -> None:
    theirs = tmp_path / 'theirs.urdf'
    theirs.write_text(urdf_text(krang()).replace('<mass value="4.531" />', '<mass value="4.5" />', 1))
    done = run('check', '--urdf', theirs, '--states', 5)
    assert done.returncode == 1
    assert 'Pinocchio with theirs.urdf,' in done.stdout
    assert 'gravity torque' in done.stdout
    assert '<-- differs at q_' in done.stdout
    assert 'comparisons differ by more than 1e-09.' in done.stdout


def test_check_says_when_a_krang_is_not_the_reports(tmp_path: Path) -> None:
    mine = tmp_path / 'mine.yaml'
    mine.write_text(FILES['krang'].read_text().replace('xyz: [0, L1, -L2]', 'xyz: [0.026, L1, -L2]'))
    done = run('check', mine, '--states', 5)
    assert done.returncode == 1
    assert "The joints of this file are not the report's (q_w)." in done.stdout
    mine.write_text(mine.read_text().replace('name: krang', 'name: krang_2018'))
    assert run('check', mine, '--states', 5).returncode == 0


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('check', 'nowhere.yaml'), 'nowhere.yaml: 1 fault'),
        (('check', '--urdf', 'nowhere.urdf'), 'nowhere.urdf: 1 fault'),
        (('check', '--urdf', 'README.md'), 'must be well-formed XML'),
        (('check', 'package.xml'), 'must be'),
        (('check', '--states', '0'), '0, must be a whole number, 1 or more'),
        (('check', '--states', 'many'), 'many, must be a whole number'),
        (('check', '--seed', '-1'), '-1, must be a whole number, 0 or more'),
        (('excite', '--seed', '-1'), '-1, must be a whole number, 0 or more'),
        (('excite', '--motion', 'a.yaml', '--run', 'b.csv'), '--run: for planning, must not be given with --motion'),
        (('excite', '--motion', 'a.yaml', '-o', 'b.yaml'), '--output: for planning, must not be given with --motion'),
        (('excite', '--motion', 'a.yaml', '--seed', '0', '--joints', 'q_1l'), '--seed, --joints: for planning'),
        (('check', '--stats', '3'), 'unrecognized arguments'),
        (('generate_urdf', '-o', '/nowhere/at/all.urdf'), '/nowhere/at: no such folder, must exist'),
        (('fly',), "invalid choice: 'fly'"),
        ((), 'commands:'),
    ],
)
def test_nonsense_gets_a_plain_word_and_exit_code_2(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert message in done.stdout + done.stderr
    assert 'Traceback' not in done.stderr


@pytest.mark.parametrize('words', [('check', '--states', '0'), ('check', 'nowhere.yaml')])
def test_the_process_of_a_command_ends_with_its_code_and_words(words: tuple[str, ...]) -> None:
    done, expected = run_process(*words), run(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, expected.stdout, expected.stderr)


def test_a_urdf_of_another_robot_is_refused_by_name(tmp_path: Path) -> None:
    theirs = tmp_path / 'theirs.urdf'
    theirs.write_text(urdf_text(krang()).replace('"q_7r"', '"wrist"'))
    done = run('check', '--urdf', theirs)
    assert done.returncode == 2
    assert 'q_7r' in done.stderr
    assert 'wrist' in done.stderr


def test_generate_urdf_writes_to_a_file_or_to_standard_output(tmp_path: Path) -> None:
    written = run('generate_urdf', '-o', tmp_path / 'krang.urdf')
    assert written.returncode == 0
    assert '18 links, 17 joints that move, 152.838 kg' in written.stdout
    assert run('generate_urdf').stdout == (tmp_path / 'krang.urdf').read_text()


@pytest.mark.parametrize('command', ['check', 'generate_urdf'])
def test_help_tells_what_a_command_does(command: str) -> None:
    done = run(command, '--help')
    assert done.returncode == 0
    assert 'default: config/krang.yaml, Krang' in ' '.join(done.stdout.split())


def test_the_list_of_commands_tells_names_and_meanings_apart() -> None:
    listed = run('--help').stdout
    for name, meaning in (COMMANDS | NODES).items():
        assert re.search(rf'^  {name} +{re.escape(meaning)}$', listed, re.MULTILINE), name
