"""Common parts of the commands: arguments, terminal output and input, errors as messages."""

from __future__ import annotations

import argparse
import math
import os
import select
import sys
import tempfile
import termios
import tty
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..core.errors import MAX_LISTED, ArgumentError, KrangDynamicsError
from ..core.files import krang_file
from ..core.optional import optional
from ..core.text import shown, shown_lines
from ..robot.robot import Robot
from ..robot.robot_file import load_description

rich_console = optional('rich.console', 'progress on a terminal')  # imported on terminals only
rich_live = optional('rich.live', 'progress on a terminal')
rich_progress = optional('rich.progress', 'progress on a terminal')
rich_text = optional('rich.text', 'progress on a terminal')


def command_parser(name: str, description: str) -> argparse.ArgumentParser:
    """Return the parser of a command, with the name under which it was called: its own, or `krang NAME`."""
    alone = Path(sys.argv[0]).name == name
    return argparse.ArgumentParser(prog=name if alone else f'krang {name}', description=description)


def add_robot_file(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the robot file; the default is Krang."""
    parser.add_argument(
        'robot_file',
        nargs='?',
        type=Path,
        default=None,
        help='robot file (YAML), URDF or xacro (which is executed); default: config/krang.yaml, Krang',
    )
    parser.add_argument(
        '--base-link',
        default='',
        metavar='LINK',
        help='link of a URDF that is the fixed base; only the tree below it is read; default: the whole robot',
    )


def whole_number(least: int) -> Callable[[str], int]:
    """Return a function that reads a whole number, `least` or more, from an argument."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f'{text}, must be a whole number, {least} or more')
        return int(text)

    return read


def number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return a function that reads a finite number from `least` to `most` from an argument."""
    allowed = f'a number from {least:g} to {most:g}' if math.isfinite(most) else f'a finite number, {least:g} or more'

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (least <= value <= most and math.isfinite(value)):
            raise argparse.ArgumentTypeError(f'{text}, must be {allowed}')
        return value

    return read


def robot_path(arguments: argparse.Namespace) -> Path:
    """Return the requested robot file."""
    return arguments.robot_file or krang_file()


def loaded(path: Path, base_link: str = '') -> Robot:
    """Return the robot of a file; print its warnings."""
    description = load_description(path, base_link=base_link)
    note(*map(str, description.warnings))
    return description.robot


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Add the option that allows files to be replaced."""
    parser.add_argument('--overwrite', action='store_true', help='replace files that exist')


def check_outputs(
    written: Iterable[Path | None], read: Iterable[str | Path | None] = (), overwrite: bool | None = False
) -> None:
    """Refuse, before the work begins, output files that cannot be written, exist, are inputs, or are named twice.

    Devices are allowed. `overwrite` is None for a command without this option.
    """
    used = dict.fromkeys((Path(path).resolve() for path in read if path), 'is an input')
    for path in filter(None, written):
        if path.exists() and not path.is_file() and not path.is_dir():
            continue
        if why := used.get(path.resolve()):
            raise ArgumentError(f'{path}: {why}, must be another file; set another output')
        used[path.resolve()] = 'is another output'
        _check_writable(path)
        if path.exists() and not overwrite:
            option = '' if overwrite is None else ', or replace it with --overwrite'
            raise ArgumentError(f'{path}: exists, must be a new file; set another file{option}')


def _check_writable(path: Path) -> None:
    """Refuse a path that cannot be written: a folder, or a file in a missing or read-only folder."""
    folder = path.resolve().parent
    if path.is_dir():
        raise ArgumentError(f'{path}: is a folder, must be a file')
    if not folder.is_dir():
        raise ArgumentError(f'{path.parent}: no such folder, must exist; make it with mkdir -p')
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ArgumentError(f'{path}: cannot be written, {error.strerror}; set a file in another folder') from None


class ShowProgress(Protocol):
    """A function that changes a progress bar."""

    def __call__(self, text: str, done: float | None = None) -> None:
        """Show a text, and the part of the total that is done."""


@contextmanager
def progress_bar(text: str, total: float | None = None) -> Iterator[ShowProgress]:
    """Draw a bar at the bottom of standard error while the block runs, if it is a terminal.

    Without a total, the bar shows only activity and elapsed time.
    """
    if not sys.stderr.isatty():
        yield lambda text, done=None: None
        return
    time = rich_progress.TimeRemainingColumn() if total else rich_progress.TimeElapsedColumn()
    name = rich_progress.TextColumn('{task.description}', markup=False)
    columns = (name, rich_progress.BarColumn(), rich_progress.TaskProgressColumn(), time)
    console, results_too = rich_console.Console(stderr=True), sys.stdout.isatty()  # redirected results are not changed
    with rich_progress.Progress(*columns, console=console, transient=True, redirect_stdout=results_too) as bar:
        task = bar.add_task(shown(text), total=total)
        yield lambda text, done=None: bar.update(task, description=shown(text), completed=done)


def say(*lines: object, end: str = '\n', flush: bool = False) -> None:
    """Print lines to standard output; control characters in names from files are escaped."""
    print('\n'.join(map(shown_lines, lines)), end=end, flush=flush)


def say_error(*lines: object) -> None:
    """Print lines to standard error in the same way."""
    print('\n'.join(map(shown_lines, lines)), file=sys.stderr)


def note(*lines: str) -> None:
    """Print warnings."""
    for line in lines[:MAX_LISTED]:
        say_error(f'note: {line}')


def note_friction(robot: Robot) -> None:
    """Print a warning if formulas and exports leave friction of a robot out: its smoothing by tanh, and presliding."""
    if robot.friction_beyond_report:
        joints = ', '.join(robot.friction_beyond_report)
        note(f'{joints}: only F_v dq + F_c sign(dq); smoothing by tanh and presliding are left out')


class LiveLines:
    """Lines at the bottom of a terminal that are updated while the block runs; without a terminal, nothing is shown."""

    def __init__(self) -> None:
        self.watched = sys.stdout.isatty()
        self._live: Any = rich_live.Live(auto_refresh=False, vertical_overflow='crop') if self.watched else None

    def __enter__(self) -> LiveLines:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, lines: Sequence[str]) -> None:
        """Replace the lines."""
        if self._live:
            text = rich_text.Text('\n'.join(map(shown_lines, lines)), no_wrap=True, overflow='ellipsis')
            self._live.update(text, refresh=True)


class Keys:
    """Keyboard input: answers, and any key to stop. In a `with` block, keys need no Enter."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._before: Any = None
        self._open = True

    def __enter__(self) -> Keys:
        if os.isatty(self._input):
            self._before = termios.tcgetattr(self._input)
            tty.setcbreak(self._input)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def confirm(self, question: str) -> bool:
        """Ask; return whether the answer is Enter. On a terminal, keys pressed before the question are discarded."""
        self._ask(f'{question} [Enter: yes, any other key: no]')
        key = self._read()
        if self._before is not None:
            say('')
        return key in (b'\n', b'\r')

    def pressed(self) -> bool:
        """Return whether a key was pressed; False for a closed input."""
        return self._open and bool(select.select([self._input], [], [], 0)[0]) and bool(self._read())

    def _read(self) -> bytes:
        key = os.read(self._input, 1)
        self._open = bool(key)
        return key

    def yes(self, question: str) -> bool:
        """Ask until the answer is y or n; a closed input counts as n."""
        while True:
            self._ask(f'{question} [y/n]')
            key = self._read().lower()
            if key in (b'y', b'n', b''):
                self._end_line(key)
                return key == b'y'

    def line(self, question: str) -> str:
        """Ask for a line of text; a closed input gives an empty line."""
        self._ask(question)
        typed = b''
        while (key := self._read()) not in (b'\n', b'\r', b''):
            typed = typed[:-1] if key in (b'\x7f', b'\b') else typed + key
            if self._before is not None:
                os.write(sys.stdout.fileno(), b'\b \b' if key in (b'\x7f', b'\b') else key)
        if self._before is not None:
            say('')
        return typed.decode(errors='replace').strip()

    def stop(self) -> bool:
        """Return whether to stop: a key was pressed, or the input is closed, so that no key can be pressed."""
        return self.pressed() or self.closed

    @property
    def closed(self) -> bool:
        """Whether the input is closed, so that no question can be answered."""
        return not self._open

    def _ask(self, question: str) -> None:
        if self._before is not None:
            termios.tcflush(self._input, termios.TCIFLUSH)
        say(question, end=' ' if self._before is not None else '\n', flush=True)

    def _end_line(self, key: bytes) -> None:
        """Echo a key on a terminal; otherwise discard the rest of its line."""
        if self._before is not None:
            say(key.decode())
        while self._before is None and self._open and self._read() not in (b'\n', b''):
            pass


def guarded(command: Callable[[], int]) -> int:
    """Run a command; print its errors as messages.

    Return the exit code: 0 done, 1 negative result or closed pipe, 2 invalid input or no memory, 130 interrupted.
    """
    try:
        with np.errstate(all='ignore'):  # invalid numbers are refused by later checks
            code = command()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KrangDynamicsError as error:
        say_error(error)
        return 2
    except MemoryError as error:
        print(f'not enough memory: {error}; cut the recording, or use another machine', file=sys.stderr)
        return 2
    except OSError as error:
        say_error(f'{error.filename}: {error.strerror}' if error.filename else error)
        return 2
    except KeyboardInterrupt:
        return 130
