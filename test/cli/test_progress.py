"""Progress is drawn on terminals only, and away from results."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from ..robots import ROOT

pytest.importorskip('rich', reason='rich, for progress, is not installed')
ARM = str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')
CLEARED = '\x1b[2K'  # a line of the terminal


def run_on_a_terminal(words: Sequence[str], results: Path | None = None) -> str:
    """Run Python on a terminal of 40 columns, results in a file if there is one; return all that the terminal got."""
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack('HHHH', 10, 40, 0, 0))
    with (results or Path(os.devnull)).open('wb') as file:
        running = subprocess.Popen(
            [sys.executable, *words], stdin=inside, stdout=file if results else inside, stderr=inside, cwd=ROOT,
            env=os.environ | {'TERM': 'xterm', 'PYTHONPATH': str(ROOT), 'COLUMNS': '40', 'LINES': '10'},
        )  # fmt: skip
    os.close(inside)
    shown = b''
    with suppress(OSError):  # the last that wrote on the terminal has ended
        while True:
            shown += os.read(terminal, 65536)
    os.close(terminal)
    assert running.wait(60) == 0, shown
    return shown.decode()


def test_results_go_to_their_file_while_a_bar_is_on_the_terminal(tmp_path: Path) -> None:
    code = (
        'from krang_dynamics_ros.cli.common import progress_bar, say\n'
        "with progress_bar('begin[red]\\x1b[7m', 4) as show:\n    show('3 of 4', 3)\n    say('a result')\n"
    )
    shown = run_on_a_terminal(['-c', code], tmp_path / 'results')
    assert (tmp_path / 'results').read_text() == 'a result\n'
    assert 'a result' not in shown
    assert '75%' in shown
    assert 'begin[red]\\x1b[7m' in shown, 'a name is shown as it is: no markup, no escape sequence'
    assert shown.endswith(CLEARED), 'the bar goes in the end'


def test_a_bar_without_a_total_shows_what_is_at_work() -> None:
    shown = run_on_a_terminal(['-m', 'krang_dynamics_ros', 'formulas', str(ROOT / 'config/textbook/pendulum.yaml')])
    assert 'friction_torque' in shown, 'the last; the others are drawn if they take long enough'
    assert shown.rindex(CLEARED) < shown.index('A(q) =')


def test_nothing_is_drawn_where_no_terminal_is() -> None:
    done = subprocess.run(
        [sys.executable, '-m', 'krang_dynamics_ros', 'check', ARM, '--states', '8'],
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert done.stderr == ''
    assert '\x1b' not in done.stdout
    assert 'comparisons agree' in done.stdout


def test_live_lines_are_drawn_anew_in_their_place_and_stay_in_the_end() -> None:
    code = (
        'from krang_dynamics_ros.cli.common import LiveLines, say\n'
        "with LiveLines() as lines:\n    lines.show(['first', 'x' * 99])\n    lines.show(['second', 'y' * 99])\n"
        "say('after')\n"
    )
    shown = run_on_a_terminal(['-c', code])
    assert 'x' * 39 in shown
    assert 'x' * 40 not in shown, 'a line is cut, not wrapped'
    _, _, last = shown.rpartition('\x1b[1A')
    assert shown.index('first') < shown.index('\x1b[1A') < shown.index('second')
    assert last.index('y' * 39) < last.index('after')
