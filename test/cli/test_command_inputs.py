"""Commands listen: what they cannot use they refuse in one sentence, before any work; nothing that exists is lost."""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from krang_dynamics_ros.cli import excite, export, generate_urdf, process
from krang_dynamics_ros.cli.recorded import add_joints, moving_joints
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.live.parameter_file import read_parameters
from krang_dynamics_ros.processing.summary import JointError
from krang_dynamics_ros.robot.robot_file import load_robot

from ..robots import ROOT

ARM = ROOT / 'config' / 'textbook' / 'arm_2r.yaml'


def run(*words: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-m', 'krang_dynamics_ros', *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


@pytest.mark.parametrize('name', ['arm_2r.yaml', 'krang.urdf'])
def test_a_robot_as_params_is_refused_in_one_line(name: str) -> None:
    path = next(ROOT.rglob(f'[cu]*/**/{name}'))
    with pytest.raises(ArgumentError, match='robot description, must be a ROS parameter file; `krang') as refused:
        read_parameters(path)
    assert '\n' not in str(refused.value)


def test_a_parameter_file_as_robot_is_refused_in_one_line() -> None:
    with pytest.raises(ArgumentError, match='is a ROS parameter file, must be a robot; give an arm file as --arm'):
        load_robot(ROOT / 'config' / 'dynamics.yaml')


class TestOutputs:
    """Files are tried before the work, and replaced only where `--overwrite` says so."""

    @pytest.mark.parametrize(
        ('command', 'words'),
        [
            (generate_urdf, [str(ARM), '-o', 'mine']),
            (excite, [str(ARM), '-o', 'mine']),
            (excite, [str(ARM), '-o', 'new.yaml', '--run', 'mine']),
        ],
    )
    def test_a_file_that_exists_stays(
        self, command: object, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        monkeypatch.chdir(tmp_path)
        Path('mine').write_text('years of work')
        assert command.main(words) == 2  # type: ignore[attr-defined]
        assert (
            'mine: exists, must be a new file; set another file, or replace it with --overwrite'
            in capsys.readouterr().err
        )
        assert (Path('mine').read_text(), [*Path().iterdir()]) == ('years of work', [Path('mine')])

    def test_overwrite_replaces_it(self, tmp_path: Path) -> None:
        mine = tmp_path / 'mine'
        mine.write_text('a draft')
        assert generate_urdf.main([str(ARM), '-o', str(mine), '--overwrite']) == 0
        assert '<robot' in mine.read_text()

    def test_a_folder_in_the_place_of_a_file_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert generate_urdf.main([str(ARM), '-o', str(tmp_path)]) == 2
        assert 'is a folder, must be a file' in capsys.readouterr().err

    def test_a_folder_that_cannot_be_written_to_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert generate_urdf.main([str(ARM), '-o', '/proc/arm.urdf']) == 2
        assert '/proc/arm.urdf: cannot be written, ' in capsys.readouterr().err

    def test_export_leaves_a_folder_with_files_alone(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / 'mine.c').write_text('int main;')
        assert export.main([str(ARM), '-o', str(tmp_path)]) == 2
        assert 'contains files, must be empty or new; set another folder, or --overwrite' in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ['mine.c']


class TestProcessAgain:
    """A second run adds to the results of the first, and replaces them only where `--overwrite` says so."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip('pyarrow', reason='pyarrow, for recordings, is not installed')
        monkeypatch.chdir(tmp_path)
        rows = [f'{0.01 * k},{0.1 * k},0.2,1,2' for k in range(300)]
        head = 'time,theta1.position,theta2.position,theta1.effort,theta2.effort'
        Path('sim.csv').write_text('\n'.join([head, *rows]))

    def run(self, *words: str) -> int:
        return process.main(['sim.csv', '--robot', str(ARM), '-o', 'out', *words])

    def files(self) -> list[str]:
        return sorted(path.name for path in Path('out/sim').glob('torques*'))

    def test_fewer_kinds_of_files_remove_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run('--to', 'csv', 'parquet') == 0
        assert self.run('--to', 'parquet') == 0
        assert 'as done before' in capsys.readouterr().out
        assert self.files() == ['torques.csv', 'torques.parquet']

    def test_another_kind_of_file_is_added(self) -> None:
        assert (self.run('--to', 'csv'), self.run('--to', 'parquet')) == (0, 0)
        assert self.files() == ['torques.csv', 'torques.parquet']

    def test_other_settings_need_overwrite(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run('--to', 'csv') == 0
        before = Path('out/sim/torques.csv').read_bytes()
        assert self.run('--cutoff', '5') == 1
        assert 'has results of other settings' in capsys.readouterr().err
        assert Path('out/sim/torques.csv').read_bytes() == before
        assert self.run('--cutoff', '5', '--overwrite') == 0
        assert self.files() == ['torques.csv', 'torques.parquet']

    def test_a_file_of_the_users_among_the_results_stays(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run() == 0
        Path('out/sim/notes.md').write_text('the third joint sticks')
        assert self.run('--cutoff', '5', '--overwrite') == 1
        assert 'has notes.md, which are not results and would be lost; move them' in capsys.readouterr().err
        assert Path('out/sim/notes.md').exists()

    def test_the_largest_error_stands_first(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run() == 0
        rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith('  theta')]
        assert len(rows) == 2
        assert float(rows[0][1]) > float(rows[1][1])

    def test_the_columns_of_errors_are_below_their_names(self) -> None:
        errors = [JointError(name, 9, 1.5, 1.25, 2.0) for name in ('theta_1', 'left_shoulder_lift_joint')]
        head, *rows = process.error_lines(errors)
        for name, value in (('RMS', '1.500'), ('mean |error|', '1.250'), ('RMS / std', '0.750')):
            ends = {row.index(value) + len(value) for row in rows}
            assert ends == {head.index(name) + len(name)}


class TestNodeArguments:
    """A node takes help, an arm file, and ROS's arguments behind `--ros-args`."""

    @pytest.fixture(autouse=True)
    def ros(self) -> None:
        pytest.importorskip('trajectory_msgs', reason='rclpy and its messages are not installed: no node can run')

    @pytest.mark.parametrize('node', ['dynamics_node', 'simulator_node', 'trajectory_node', 'viewer_node'])
    def test_help_names_the_arguments_and_the_parameters(self, node: str) -> None:
        done = run(node, '--help')
        assert (done.returncode, done.stderr) == (0, '')
        parameter = {'dynamics_node': 'effort_source', 'simulator_node': 'time_factor', 'viewer_node': 'port'}
        for words in (f'krang {node}', '--arm', '--ros-args', f'  {parameter.get(node, "gravity")}  ('):
            assert words in done.stdout

    @pytest.mark.parametrize(
        ('words', 'message'),
        [
            ('my.yaml', 'unknown argument my.yaml; an arm file: --arm my.yaml; a parameter file: --ros-args'),
            ('arm.urdf', 'unknown argument arm.urdf; parameters: --ros-args -p NAME:=VALUE'),
            ('-p port:=9', "ROS's arguments come behind --ros-args: krang viewer_node --ros-args -p port:=9"),
            ('port:=9', 'krang viewer_node --ros-args port:=9'),
            ('--ros-args -p port:=9 -- fly', 'unknown argument fly'),
            ('--arm nowhere.yaml', 'nowhere.yaml: No such file or directory'),
            ('--arm urdf/krang.urdf', 'must be a ROS parameter file; `krang new_arm urdf/krang.urdf'),
        ],
    )
    def test_an_invalid_argument_ends_the_node(self, words: str, message: str) -> None:
        done = run('viewer_node', *words.split())
        assert (done.returncode, done.stdout) == (2, '')
        assert message in done.stderr

    def test_a_urdf_is_a_robot_for_a_node_that_has_one(self) -> None:
        done = run('simulator_node', 'arm.urdf')
        assert done.returncode == 2
        assert 'a robot: --ros-args -p robot_file:=arm.urdf' in done.stderr
        assert 'Traceback' not in done.stderr


class TestJoints:
    """`--joints` are the joints that move, `--fixed` those that do not, in every command that takes them."""

    def arguments(self, *words: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        add_joints(parser)
        return parser.parse_args(words)

    @pytest.mark.parametrize(
        ('words', 'moving'),
        [
            ((), ['theta1', 'theta2']),
            (('--joints', 'theta2', 'theta1'), ['theta2', 'theta1']),
            (('--fixed', 'theta1=0.2'), ['theta2']),
            (('--fixed', 'theta1=0.2', '--joints', 'theta2'), ['theta2']),
        ],
    )
    def test_joints_that_are_not_fixed_move(self, words: tuple[str, ...], moving: list[str]) -> None:
        assert moving_joints(self.arguments(*words), load_robot(ARM)) == moving

    @pytest.mark.parametrize('command', ['excite', 'identify', 'predict'])
    @pytest.mark.parametrize(
        ('words', 'message'),
        [
            (('--joints', 'theta1', '--fixed', 'theta1=0.1'), 'both have theta1, must be in one of the two'),
            (('--joints', 'theta3'), "joint 'theta3' is unknown; did you mean"),
            (('--fixed', 'theta3=0.1'), "joint 'theta3' is unknown; did you mean"),
            (('--fixed', 'theta2=much'), 'theta2=much, must be JOINT=RAD'),
            (
                ('--fixed', 'theta2=90'),
                '--fixed theta2=90, must be within its range, -25.13 to 25.13 rad; 90 deg',
            ),
        ],
    )
    def test_all_commands_refuse_the_same(
        self, command: str, words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:  # fmt: skip
        monkeypatch.chdir(tmp_path)
        Path('sim.csv').write_text('time,theta1.position,theta1.effort\n0,0,0\n0.1,0.1,0\n0.2,0.3,0\n')
        first = [str(ARM)] if command == 'excite' else ['sim.csv', '--robot', str(ARM)]
        main = importlib.import_module(f'krang_dynamics_ros.cli.{command}').main
        try:
            assert main([*first, *words]) == 2
        except SystemExit as end:
            assert end.code == 2
        assert message in capsys.readouterr().err


def test_a_misspelt_robot_of_the_package_is_hinted_at() -> None:
    refused = run('check', 'krag')
    assert refused.returncode == 2
    assert "did you mean 'krang'? known names: krang, arm_2r, pendulum" in refused.stderr
    assert 'krang_identified' in refused.stderr


def test_the_version_is_that_of_the_package() -> None:
    (version,) = re.findall('<version>(.*)</version>', (ROOT / 'package.xml').read_text())
    shown = run('--version')
    assert (shown.returncode, shown.stdout) == (0, f'krang_dynamics_ros {version}\n')
