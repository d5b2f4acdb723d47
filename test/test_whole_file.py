"""Results are written whole or not at all: what a full disk cuts short does not stand in their place."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.core.whole_file import write_whole

from .recordings import waves

TIME = np.arange(0, 12, 0.01)


def full_after(size: int) -> Callable[[], None]:
    """Return what lets a process write files of so many bytes at most, as on a disk that is nearly full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize(
    'words',
    [
        ('predict', 'motion.csv', '--robot', 'arm_2r', '-o', 'out'),
        ('excite', 'arm_2r', '-o', 'out'),
        ('identify', 'motion.csv', '--robot', 'arm_2r', '--report', 'out', '-o', 'robot.yaml'),
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
    assert 'out: File too large; not written' in done.stderr
    assert 'Traceback' not in done.stderr
    assert (tmp_path / 'out').read_text() == 'before'
    assert not [*tmp_path.glob('.*')]
    if words[0] == 'identify':
        assert 'RMSE' in done.stdout  # what was found is told all the same


def test_a_file_is_whole_a_link_stays_and_a_device_is_written_to(tmp_path: Path) -> None:
    link = tmp_path / 'link'
    link.symlink_to(tmp_path / 'file')
    write_whole(link, lambda path: path.write_text('whole'))
    assert link.is_symlink()
    assert (tmp_path / 'file').read_text() == 'whole'
    write_whole(Path('/dev/null'), lambda path: path.write_text('nothing'))
    with pytest.raises(KrangDynamicsError, match=r'/dev/full: No space left on device; not written'):
        write_whole(Path('/dev/full'), lambda path: path.write_text('x'))
