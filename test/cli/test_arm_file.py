"""The road to an arm of one's own: from a URDF to an arm file, and with it through the commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import dynamics_of, urdf_text
from krang_dynamics_ros.cli import (
    check,
    doctor,
    excite,
    export,
    formulas,
    generate_urdf,
    identify,
    new_arm,
    predict,
    process,
    trajectory,
)
from krang_dynamics_ros.cli.arm_option import ArmFile, arm_beside, read_arm_file, write_arm_beside
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.trajectory import Trajectory
from krang_dynamics_ros.live.parameter_file import read_arm, unknown_parameters
from krang_dynamics_ros.recordings.joint_recording import read_recording
from krang_dynamics_ros.recordings.recording import Recording
from krang_dynamics_ros.recordings.table import write_csv
from krang_dynamics_ros.recordings.trajectory_file import write_trajectory
from krang_dynamics_ros.robot.known_arms import known_arm
from krang_dynamics_ros.robot.robot_file import load_robot

from ..bags import BEGIN, joint_state, write_bag
from ..robots import FILES, WITH_FOLLOWERS

FOLDER = next(
    (found for path in sys.path if (found := Path(path, 'cmeel.prefix/share/example-robot-data/robots')).is_dir()), None
)
REAL = {path.stem: path for path in sorted(FOLDER.rglob('*.urdf'))} if FOLDER else {}
real = pytest.mark.skipif(not REAL, reason='pip install example-robot-data: there are no real robots here')
ARM = FILES['arm_2r']


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(robot: Path, *words: str) -> ArmFile:
    assert new_arm.main([str(robot), '-o', 'my_arm.yaml', *words]) == 0
    return ArmFile(Path('my_arm.yaml'), read_arm(Path('my_arm.yaml')))


def recorded(
    robot: Path = ARM, names: Sequence[str] = (), scale: float = 1.0, topic: str = '/joint_states', gravity: bool = True
) -> Path:
    """Write a bag of a robot that moves slowly, its efforts those of its dynamics times a scale."""
    dynamics = dynamics_of(load_robot(robot))

    def messages() -> Iterator[tuple[str, int, object]]:
        for k in range(1500):
            t, stamp = 0.004 * k, BEGIN + 4_000_000 * k
            phase = t * np.arange(1.0, dynamics.n + 1)
            q, dq, ddq = 0.5 * np.sin(phase), 0.0 * phase, 0.0 * phase
            dq, ddq = (
                0.5 * np.arange(1, dynamics.n + 1) * np.cos(phase),
                -0.5 * np.arange(1, dynamics.n + 1) ** 2 * np.sin(phase),
            )
            torque = dynamics.inverse_dynamics(q, dq, ddq) - (0 if gravity else dynamics.Q(q))
            yield topic, stamp, joint_state(stamp, names or dynamics.joint_names, q, (), scale * torque)

    return write_bag(Path('drive'), messages())


class TestNewArm:
    """An arm file has what every command needs, and marks its guesses."""

    @real
    @pytest.mark.parametrize(
        ('name', 'joints', 'link', 'known'),
        [
            ('ur5_robot', 6, 'tool0', 'Universal Robots (Universal_Robots_ROS2_Driver)'),
            ('panda', 7, 'panda_hand_tcp', 'Franka FER or FR3 (franka_ros2)'),
            ('kinova', 6, 'j2s6s200_end_effector', ''),
        ],
    )
    def test_real_arms(self, name: str, joints: int, link: str, known: str, capsys: pytest.CaptureFixture[str]) -> None:
        arm = made(REAL[name])
        assert (arm.robot.n, arm.values['hand.link'], known_arm(arm.robot).name) == (joints, link, known)
        assert unknown_parameters(arm.values) == []
        assert arm.path.read_text().count('GUESS:') >= 3
        out, err = capsys.readouterr()
        assert 'check these first' in out
        assert 'gravity: [0.0, 0.0, -9.81] m/s^2' in err
        assert check.main(['--arm', 'my_arm.yaml', '--states', '3']) == 0

    @real
    @pytest.mark.parametrize('name', ['ur5_robot', 'panda', 'tiago', 'talos_reduced', 'xarm7', 'baxter'])
    def test_every_real_robot_gets_one_that_is_valid(self, name: str) -> None:
        if name not in REAL:
            pytest.skip(f'{name} is not among these robots')
        assert unknown_parameters(made(REAL[name]).values) == []

    def test_pr2_is_not_taken_for_a_universal_robot(self) -> None:
        if 'pr2' not in REAL:
            pytest.skip('pr2 is not among these robots')
        assert known_arm(load_robot(REAL['pr2'])).name == ''

    def test_a_file_that_exists_stays(self, capsys: pytest.CaptureFixture[str]) -> None:
        made(ARM)
        assert new_arm.main([str(ARM)]) == 2
        assert 'my_arm.yaml: exists, must be a new file' in capsys.readouterr().err

    def test_a_gripper_in_a_urdf_is_a_hand(self) -> None:
        Path('arm.urdf').write_text(WITH_FOLLOWERS['arm_with_gripper'])
        assert unknown_parameters(made(Path('arm.urdf')).values) == []


@pytest.mark.parametrize(
    ('kind', 'limit', 'position', 'message'),
    [
        ('revolute', '-2 2', 90, '=90, must be within its range, -2 to 2 rad; 90 degrees are 1.571 rad'),
        ('revolute', '-2 2', 2.2, '=2.2, must be within its range, -2 to 2 rad'),
        ('revolute', '-2 2', 2.05, ''),  # a real joint stands there
        ('continuous', '0 0', -90, '=-90, must be within its range, -25.13 to 25.13 rad; -90 degrees are -1.571 rad'),
        ('continuous', '0 0', 20, ''),
        ('prismatic', '-0.1 0.3', 30, '=30, must be within its range, -0.1 to 0.3 m; 30 mm are 0.03 m'),
        ('prismatic', '-0.1 0.3', -0.105, ''),
    ],
)
def test_a_fixed_joint_is_within_its_range(
    kind: str, limit: str, position: float, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lower, upper = limit.split()
    new = f'type="{kind}"><limit lower="{lower}" upper="{upper}" effort="9" velocity="9"/>'
    Path('arm.urdf').write_text(
        urdf_text(load_robot(ARM)).replace('name="theta2" type="continuous">', f'name="theta2" {new}')
    )
    made(Path('arm.urdf'))
    file = Path('my_arm.yaml').read_text()
    Path('my_arm.yaml').write_text(file.replace("fixed_joints: ['']", f'fixed_joints: [theta2={position}]'))
    recorded()
    q = np.array([[0.0], [0.1]])
    write_trajectory(Path('way.yaml'), Trajectory.of(['theta1'], np.array([0.0, 2.0]), q, 0 * q))
    fixed = ['--fixed', f'theta2={position}']
    for command, *words in (
        (check, '--arm', 'my_arm.yaml', '--states', '1'),
        (excite, 'arm.urdf', '--without-missing', '--duration', '6', *fixed),
        (trajectory, 'way.yaml', '--robot', 'arm.urdf', *fixed),
        (predict, 'drive', '--robot', 'arm.urdf', *fixed),
    ):
        capsys.readouterr()
        assert command.main(words) == (2 if message else 0)
        option = 'fixed_joints:' if command is check else '--fixed'
        assert not message or f'{option} theta2{message}\n' in capsys.readouterr().err


class TestRecording:
    """A recording corrects the guesses: names, sign, rate."""

    def test_right_names_and_sign_are_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        arm = made(ARM, '--recording', str(recorded(topic='/arm/joint_states')))
        out = capsys.readouterr().out
        assert '1500 joint states on /arm/joint_states, 250.0 per second' in out
        assert 'sign and unit are right, gravity is included' in out
        assert arm.values['joint_states_topic'] == '/arm/joint_states'

    def test_a_table_names_no_topic(self, capsys: pytest.CaptureFixture[str]) -> None:
        recording = read_recording(recorded(scale=-1.0))
        write_csv(recording, 'table.csv')
        arm = made(ARM, '--recording', 'table.csv')
        assert arm.values['joint_states_topic'] == 'joint_states'
        assert arm.values['joints.theta1.effort_scale'] == -1.0
        assert 'table.csv: 1500 joint states, 250.0 per second' in capsys.readouterr().out

    def test_a_turned_sign_is_found(self, capsys: pytest.CaptureFixture[str]) -> None:
        arm = made(ARM, '--recording', str(recorded(scale=-1.0)))
        assert 'the sign is reversed' in capsys.readouterr().out
        assert arm.effort_scale(['theta1', 'theta2']).tolist() == [-1, -1]

    def test_efforts_in_which_gravity_does_not_show_are_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        made(ARM, '--recording', str(recorded(scale=0.03)))
        assert 'gravity seems not to be included' in capsys.readouterr().out

    def test_efforts_in_another_unit_are_not_called_different_joints(self, capsys: pytest.CaptureFixture[str]) -> None:
        made(ARM, '--recording', str(recorded(scale=0.4)))
        assert ': neither all near 1 nor all near -1 or 0: check unit (A or N m), sign' in capsys.readouterr().out

    def test_only_a_recording_with_velocities_shows_what_is_at_rest(self, capsys: pytest.CaptureFixture[str]) -> None:
        made(ARM, '--recording', str(recorded()))
        assert 'model, at rest and in motion, as there are no velocities: theta1' in capsys.readouterr().out
        recording = read_recording(Path('drive'))
        still = replace(recording, velocity=np.zeros_like(recording.position))
        write_csv(still, 'still.csv')
        made(ARM, '--recording', 'still.csv', '--overwrite')
        assert 'model, at rest: theta1' in capsys.readouterr().out

    @pytest.mark.parametrize(
        ('names', 'prefix', 'pairs'),
        [
            (('left_theta1', 'left_theta2'), 'left_', ['']),
            (('axis_1', 'axis_2'), '', ['theta1=axis_1', 'theta2=axis_2']),
        ],
    )
    def test_other_names_are_found(self, names: tuple[str, str], prefix: str, pairs: list[str]) -> None:
        arm = made(ARM, '--recording', str(recorded(names=names)))
        assert (arm.values['joint_prefix'], arm.values['joint_names']) == (prefix, pairs)
        assert arm.robot.joint_names == names

    def test_names_of_another_robot_are_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        bag = recorded(names=('wheel', 'steering'))
        assert new_arm.main([str(ARM), '--recording', str(bag)]) == 2
        assert 'has joints wheel, steering, must be of arm_2r: theta1, theta2' in capsys.readouterr().err
        assert not Path('my_arm.yaml').exists()


class TestCommands:
    """Each command takes an arm file, and says what it assumes by it."""

    def test_they_say_what_they_assume_first(self, capsys: pytest.CaptureFixture[str]) -> None:
        made(ARM)
        capsys.readouterr()
        assert excite.main(['--arm', 'my_arm.yaml', '--duration', '6', '-o', 'q.yaml']) == 0
        err = capsys.readouterr().err
        for words in (
            'assumed, by my_arm.yaml:',
            'robot: arm_2r, joints theta1, theta2',
            'joint states: topic joint_states',
        ):
            assert words in err

    def test_hands_are_those_of_the_arm_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A URDF names none."""
        Path('arm.urdf').write_text(urdf_text(load_robot(ARM)))
        arm = made(Path('arm.urdf'))
        assert arm.robot.end_effectors == {'hand': arm.values['hand.link']}
        recorded(Path('arm.urdf'))
        identify.main(['--payload', 'hand', 'drive', '--arm', 'my_arm.yaml'])  # planar: it may not be determined
        assert 'is unknown' not in capsys.readouterr().err
        q = np.array([[0.0, 0.0], [0.1, 0.1]])
        write_trajectory(Path('way.yaml'), Trajectory.of(['theta1', 'theta2'], np.array([0.0, 2.0]), q, 0 * q))
        for name in ('hand', arm.values['hand.link']):
            words = ['way.yaml', '--arm', 'my_arm.yaml', '--overwrite', '--largest-payload', name]
            assert trajectory.main(words) == 0
            assert f'largest payload at (0, 0, 0) m of {arm.values["hand.link"]}: ' in capsys.readouterr().out

    def test_it_is_exported_and_printed_too(self, capsys: pytest.CaptureFixture[str]) -> None:
        made(ARM)
        text = Path('my_arm.yaml').read_text().replace("joint_prefix: ''", 'joint_prefix: left_')
        Path('my_arm.yaml').write_text(text.replace('      theta', '      left_theta'))
        assert generate_urdf.main(['--arm', 'my_arm.yaml', '-o', 'arm.urdf']) == 0
        assert load_robot('arm.urdf').joint_names == ('left_theta1', 'left_theta2')
        assert 'Generated from my_arm.yaml' in Path('arm.urdf').read_text()
        assert generate_urdf.main(['--arm', 'my_arm.yaml', '-o', 'my_arm.yaml', '--overwrite']) == 2
        assert 'my_arm.yaml: is an input' in capsys.readouterr().err
        pytest.importorskip('casadi', reason='casadi is not installed: nothing is exported')
        assert formulas.main(['--arm', 'my_arm.yaml']) == 0
        assert 'arm_2r: q = (left_theta1, left_theta2)' in capsys.readouterr().out
        assert export.main(['--arm', 'my_arm.yaml', '-o', 'exported']) == 0
        assert 'left_theta1' in Path('exported/arm_2r.h').read_text()

    @pytest.mark.parametrize('option', ['--arm', '--params'])
    @pytest.mark.parametrize('other', ['robot_description: <robot/>', 'robot_description_topic: robot_description'])
    def test_robot_replaces_a_robot_that_is_given_otherwise(self, option: str, other: str) -> None:
        made(ARM)
        text = Path('my_arm.yaml').read_text().replace(f'robot_file: {ARM}', other)
        Path('my_arm.yaml').write_text(text)
        recorded()
        q = np.array([[0.0, 0.0], [0.1, 0.1]])
        write_trajectory(Path('way.yaml'), Trajectory.of(['theta1', 'theta2'], np.array([0.0, 2.0]), q, 0 * q))
        assert trajectory.main(['way.yaml', option, 'my_arm.yaml', '--robot', str(ARM)]) == 0
        assert process.main(['drive', option, 'my_arm.yaml', '--robot', str(ARM), '--workers', '1']) == 0

    def test_parameters_are_of_the_robot_of_the_arm_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        made(ARM)
        Path('more.yaml').write_text('/**:\n  ros__parameters:\n    joints.theta1: {viscous: 1, viscuos: 1}\n')
        q = np.array([[0.0, 0.0], [0.1, 0.1]])
        write_trajectory(Path('way.yaml'), Trajectory.of(['theta1', 'theta2'], np.array([0.0, 2.0]), q, 0 * q))
        assert trajectory.main(['way.yaml', '--arm', 'my_arm.yaml', '--params', 'more.yaml']) == 0
        err = capsys.readouterr().err
        assert err.count('is not a parameter of this arm') == 1
        assert "joints.theta1.viscuos is not a parameter of this arm. did you mean 'joints.theta1.viscous'?" in err

    def test_gravity_is_that_of_the_arm_file(self) -> None:
        made(ARM)
        text = Path('my_arm.yaml').read_text()
        assert 'gravity: [0.0, -9.81, 0.0]' in text
        Path('my_arm.yaml').write_text(text.replace('gravity: [0.0, -9.81, 0.0]', 'gravity: [0.0, 9.81, 0.0]'))
        arm = read_arm_file(Path('my_arm.yaml'))
        assert arm
        assert arm.robot.gravity.tolist() == [0, 9.81, 0]

    def test_recorded_efforts_are_scaled_and_joints_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A drive that reports half of the torque, with other names, on another topic: predicted without an error."""
        names = ('left_theta1', 'left_theta2')
        recorded(names=names, scale=0.5, topic='/arm/joint_states')
        made(ARM)
        text = Path('my_arm.yaml').read_text().replace('effort_scale: 1.0', 'effort_scale: 2.0')
        text = text.replace("joint_prefix: ''", 'joint_prefix: left_').replace('      theta', '      left_theta')
        Path('my_arm.yaml').write_text(
            text.replace('joint_states_topic: joint_states', 'joint_states_topic: arm/joint_states')
        )
        assert predict.main(['drive', '--arm', 'my_arm.yaml']) == 0
        rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith('left_theta')]
        assert len(rows) == 2
        assert all(float(raw) < 0.05 for _, raw, *_ in rows)
        assert process.main(['drive', '--arm', 'my_arm.yaml', '--workers', '1']) == 0
        errors = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith('  left_theta')]
        assert all(float(relative) < 0.05 for *_, relative in errors)

    def test_doctor_reads_efforts_by_the_arm_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A driver with the other sign: a finding, unless the arm file says so."""
        recorded(scale=-1.0)
        made(ARM)
        assert doctor.main(['drive', '--arm', 'my_arm.yaml']) == 1
        assert 'sign: ' in capsys.readouterr().out
        text = Path('my_arm.yaml').read_text()
        Path('my_arm.yaml').write_text(text.replace('effort_scale: 1.0', 'effort_scale: -1.0'))
        doctor.main(['drive', '--arm', 'my_arm.yaml'])
        assert 'sign: ' not in capsys.readouterr().out
        assert doctor.main(['drive', '--arm', 'no_such.yaml']) == 2
        assert 'no_such.yaml' in capsys.readouterr().err

    def test_gravity_that_a_driver_has_subtracted_is_added(self, capsys: pytest.CaptureFixture[str]) -> None:
        recorded(gravity=False)
        made(ARM)
        text = Path('my_arm.yaml').read_text()
        Path('my_arm.yaml').write_text(text.replace("effort_without: ['']", 'effort_without: [gravity]'))
        assert predict.main(['drive', '--arm', 'my_arm.yaml']) == 0
        out, err = capsys.readouterr()
        assert 'motor torque at the joint (effort_source: motor), with coriolis, friction' in err
        rows = [line.split() for line in out.splitlines() if line.startswith('theta')]
        assert all(float(raw) < 0.05 for _, raw, *_ in rows)

    def test_coriolis_torque_is_added_only_with_all_velocities(self) -> None:
        made(ARM)
        path = Path('my_arm.yaml')
        path.write_text(path.read_text().replace("effort_without: ['']", 'effort_without: [coriolis]'))
        arm = ArmFile(path, read_arm(path))
        q, dq = np.array([[0.1, 0.7], [0.2, 0.8]]), np.array([[1.0, 2.0], [2.0, 3.0]])
        both = Recording('drive', ('theta1', 'theta2'), np.array([0.0, 0.1]), q, dq, np.zeros((2, 2)))
        expected = arm.engine.dynamics.batch('coriolis_torque', q, dq)
        assert np.abs(expected).min() > 0.1
        np.testing.assert_allclose(arm.with_torques(both).measured_effort, expected)
        first = both.joints(('theta1',))
        with pytest.raises(ArgumentError, match='effort_without coriolis: drive has no velocities of theta2, must'):
            arm.with_torques(replace(first, moving_uncounted={'theta2': q[:, 1]}))
        with pytest.raises(ArgumentError, match='drive has no velocities of theta1'):
            arm.with_torques(replace(first, velocity=None))

    def test_a_base_that_moves_identifies_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        recorded()
        made(ARM)
        text = Path('my_arm.yaml').read_text()
        Path('my_arm.yaml').write_text(
            text.replace("    effort_without: ['']", "    base_motion: orientation\n    effort_without: ['']")
        )
        assert predict.main(['drive', '--arm', 'my_arm.yaml']) == 2
        assert 'base_motion orientation, must be fixed: this needs a recording on a base' in capsys.readouterr().err

    def test_external_torques_identify_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        recorded()
        made(ARM)
        text = Path('my_arm.yaml').read_text()
        Path('my_arm.yaml').write_text(text.replace('effort_source: motor', 'effort_source: external'))
        assert predict.main(['drive', '--arm', 'my_arm.yaml']) == 2
        assert 'others do not determine the parameters' in capsys.readouterr().err

    def test_another_robot_file_is_read_as_on_this_arm(self) -> None:
        made(ARM)
        arm = read_arm_file(Path('my_arm.yaml'), robot_file=str(FILES['pr_robot']))
        assert arm
        assert arm.robot.name == 'pr_robot'

    def test_a_relative_robot_file_is_beside_the_arm_file(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made(ARM)
        (folder / 'arm').mkdir()
        text = Path('my_arm.yaml').read_text().replace(str(ARM), 'robot.yaml')
        (folder / 'arm' / 'robot.yaml').write_text(ARM.read_text())
        (folder / 'arm' / 'my_arm.yaml').write_text(text)
        arm = read_arm_file(Path('arm/my_arm.yaml'))
        assert arm
        assert arm.robot.name == 'arm_2r'

    @pytest.mark.parametrize(
        ('box', 'message'),
        [
            ('{centre: [0, 0, 1], size: [1, 1]}', 'keep_out.table.size: .*, must be three positive numbers, m'),
            ('{centre: [0, 0, 1], size: [1, 1, -1]}', 'keep_out.table.size: .*, must be three positive numbers, m'),
            ('{size: [1, 1, 1]}', 'keep_out.table.centre: None, must be three numbers, m'),
        ],
    )
    def test_a_box_that_is_none_is_refused_before_the_work(self, box: str, message: str) -> None:
        made(ARM)
        with Path('my_arm.yaml').open('a') as file:
            file.write(f'    keep_out:\n      table: {box}\n')
        with pytest.raises(ArgumentError, match=message):
            read_arm_file(Path('my_arm.yaml'))

    def test_boxes_are_read(self) -> None:
        made(ARM)
        with Path('my_arm.yaml').open('a') as file:
            file.write('    keep_out:\n      table: {centre: [0.0, 0.0, -0.5], size: [2, 2, 1]}\n')
        arm = read_arm_file(Path('my_arm.yaml'))
        assert arm
        assert {name: (box.centre.tolist(), box.size.tolist()) for name, box in arm.keep_out.items()} == {
            'table': ([0, 0, -0.5], [2, 2, 1])
        }


MESH = '<visual><geometry><mesh filename="package://my_arm/meshes/box.stl"/></geometry></visual>'


class TestMeshes:
    """An arm file says once where the meshes are, for `excite` and the page."""

    @pytest.fixture
    def arm(self, folder: Path) -> Path:
        """Write an arm of one joint with a mesh that is not near its URDF; return its arm file."""
        mesh = folder / 'far' / 'my_arm' / 'meshes' / 'box.stl'
        mesh.parent.mkdir(parents=True)
        pytest.importorskip('trimesh').creation.box(extents=(0.1, 0.1, 0.3)).export(mesh)
        (folder / 'near').mkdir()
        inertia = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
        (folder / 'near' / 'my.urdf').write_text(
            f'<robot name="my"><link name="a"/><link name="b">{MESH}<inertial><mass value="1"/>{inertia}</inertial>'
            '</link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>'
            '<origin xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>'
        )
        assert new_arm.main(['near/my.urdf', '-o', 'near/my_arm.yaml']) == 0
        return folder / 'near' / 'my_arm.yaml'

    def test_one_that_is_not_found_is_named_in_a_new_arm_file(self, arm: Path) -> None:
        assert '# mesh_folders: [' in arm.read_text()
        assert 'package://my_arm/meshes/box.stl.' in arm.read_text()
        assert 'mesh_folders' not in made(ARM).path.read_text()

    def test_excite_finds_them_in_the_folders_of_the_arm_file(
        self, arm: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ['--arm', str(arm), '--floor', 'none', '--duration', '4', '--period', '4']
        assert excite.main([*words, '-o', 'motion.yaml']) == 2
        assert '(--meshes, or mesh_folders in the arm file)' in capsys.readouterr().err
        text = arm.read_text()
        arm.write_text(f'{text}    mesh_folders: [../far]\n')
        assert unknown_parameters(read_arm(arm)) == []
        assert excite.main([*words, '-o', 'motion.yaml']) == 0
        arm.write_text(f'{text}    mesh_folders: [../fra]\n')
        assert excite.main([*words, '-o', 'motion_2.yaml']) == 2
        assert 'fra, must be a folder that exists' in capsys.readouterr().err
        arm.write_text(f'{text}    mesh_folders: 3\n')
        with pytest.raises(ArgumentError, match='mesh_folders: 3, must be a list of folders'):
            read_arm_file(arm)

    def test_a_recording_refers_to_none(self, arm: Path) -> None:
        arm.write_text(f'{arm.read_text()}    mesh_folders: [../far]\n')
        found = read_arm_file(arm)
        assert found
        assert found.mesh_folders == [str(arm.parent / '../far')]
        write_arm_beside(arm.parent, found)
        assert 'mesh_folders' not in read_arm(arm.parent / 'arm.yaml')


class TestBeside:
    """A recording with its arm file needs no other word, and names no file outside its folder."""

    def test_commands_take_the_arm_file_of_the_recording(self, capsys: pytest.CaptureFixture[str]) -> None:
        bag = recorded()
        write_arm_beside(bag, made(ARM))
        capsys.readouterr()
        assert process.main(['drive', '--workers', '1']) == 0
        out, err = capsys.readouterr()
        assert 'assumed, by drive/arm.yaml:' in err
        assert '  theta1' in out
        assert predict.main(['drive']) == 0

    @pytest.mark.parametrize('robot_file', ['/etc/hostname', '../robot.yaml', 'robot.urdf.xacro'])
    def test_a_file_elsewhere_or_a_program_is_refused(self, robot_file: str) -> None:
        bag = recorded()
        (bag / 'arm.yaml').write_text(f'/**:\n  ros__parameters:\n    robot_file: {robot_file}\n')
        with pytest.raises(ArgumentError, match='must not refer to other files; set an arm file with --arm'):
            arm_beside([bag])

    def test_the_option_replaces_an_arm_file_of_the_recording_that_is_refused(self) -> None:
        (recorded() / 'arm.yaml').write_text('/**:\n  ros__parameters:\n    robot_file: /etc/hostname\n')
        made(ARM)
        assert predict.main(['drive']) == 2
        assert predict.main(['drive', '--arm', 'my_arm.yaml']) == 0
        assert process.main(['drive', '--arm', 'my_arm.yaml', '--workers', '1']) == 0
