"""What a command writes is there whole, or what was there before is."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros.core.files import whole_file, write_whole

from ..real_recordings import waves

TIME = np.arange(0, 12, 0.01)


def test_the_old_file_stays_until_the_new_file_is_complete(tmp_path: Path) -> None:
    path = tmp_path / 'x.txt'
    write_whole(path, 'old')
    with pytest.raises(OSError, match='No space') as error, whole_file(path) as stream:
        stream.write('half of')
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert error.value.filename == str(path)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [('x.txt', 'old')]
    write_whole(path, 'new')
    assert path.read_text() == 'new'


def test_links_modes_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    path, link = tmp_path / 'x.txt', tmp_path / 'link.txt'
    path.write_text('old')
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, 'new')
    assert link.is_symlink()
    assert path.read_text() == 'new'
    assert path.stat().st_mode & 0o777 == 0o640
    write_whole('/dev/null', 'gone')
    assert not Path('/dev/null').is_file()


def test_a_link_that_was_put_there_beforehand_is_not_written_through(tmp_path: Path) -> None:
    """Before, the file aside was called `.out.part`, and a link of that name sent the text to another file."""
    victim, path = tmp_path / 'victim', tmp_path / 'out'
    victim.write_text('precious')
    (tmp_path / '.out.part').symlink_to(victim)
    write_whole(path, 'new')
    assert victim.read_text() == 'precious'
    assert path.read_text() == 'new'


def test_a_link_that_takes_the_place_of_the_file_aside_is_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / 'victim', tmp_path / 'out'
    victim.write_text('precious')
    with whole_file(path) as stream:
        (part,) = tmp_path.glob('.out.*.part')
        part.unlink()
        part.symlink_to(victim)
        stream.write('new')
    assert victim.read_text() == 'precious'


def test_two_files_aside_have_different_names_and_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / 'out'
    with whole_file(path) as one, whole_file(path) as other:
        one.write('one')
        other.write('other')
    assert path.read_text() == 'one'
    assert [file.name for file in tmp_path.iterdir()] == ['out']


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / 'out', 'new')
    finally:
        os.umask(before)
    assert (tmp_path / 'out').stat().st_mode & 0o777 == 0o640


def test_a_name_of_any_length_that_the_disk_takes_is_written(tmp_path: Path) -> None:
    path = tmp_path / ('x' * 255)
    write_whole(path, 'new')
    assert path.read_text() == 'new'


def full_after(size: int) -> Callable[[], None]:
    """Return what lets a process write files of so many bytes at most, as on a disk that is nearly full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize(
    'words',
    [
        ('predict', 'motion.csv', '--robot', 'arm_2r', '-o', 'out', '--overwrite'),
        ('excite', 'arm_2r', '-o', 'out', '--overwrite'),
        ('generate_urdf', '-o', 'out', '--overwrite'),
        ('identify', 'motion.csv', '--robot', 'arm_2r', '--report', 'out', '-o', 'robot.yaml', '--overwrite'),
    ],
)
def test_a_full_disk_leaves_what_was_there(words: tuple[str, ...], tmp_path: Path) -> None:
    q, dq, ddq = waves(2, TIME, 3)
    head = 'time,theta1.position,theta2.position,theta1.effort,theta2.effort'
    rows = np.column_stack([TIME, q, 3 * ddq + dq])
    np.savetxt(tmp_path / 'motion.csv', rows, delimiter=',', header=head, comments='')
    (tmp_path / 'out').write_text('before')
    line = [sys.executable, '-B', '-m', 'krang_dynamics_ros', *words]
    done = subprocess.run(
        line, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False, preexec_fn=full_after(20_000)
    )
    assert done.returncode == 2
    assert done.stderr.endswith('out: File too large\n')
    assert 'Traceback' not in done.stderr
    assert (tmp_path / 'out').read_text() == 'before'
    assert not [*tmp_path.glob('.*')]
    if words[0] == 'identify':
        assert 'RMSE' in done.stdout  # what was found is told all the same
