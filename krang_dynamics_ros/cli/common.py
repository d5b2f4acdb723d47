"""What the commands share: the robot file argument, what stands on a terminal, errors as one message."""

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
    """Return a command's parser, which names the command as it was called: by itself, or after `krang`."""
    alone = Path(sys.argv[0]).name == name
    return argparse.ArgumentParser(prog=name if alone else f'krang {name}', description=description)


def add_robot_file(parser: argparse.ArgumentParser) -> None:
    """Give a command its robot file, Krang's by default."""
    parser.add_argument(
        'robot_file',
        nargs='?',
        type=Path,
        default=None,
        help='robot file (YAML), URDF or xacro (a program: it runs); default: config/krang.yaml, Krang',
    )
    parser.add_argument(
        '--base-link', default='', metavar='LINK', help='link of a URDF that stands still, with what is below it'
    )


def whole_number(least: int) -> Callable[[str], int]:
    """Return what reads an argument that must be a whole number, `least` or more."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f'{text}, must be a whole number, {least} or more')
        return int(text)

    return read


def number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return what reads an argument that must be a finite number from `least` to `most`."""
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
    """Return the robot file that was asked for."""
    return arguments.robot_file or krang_file()


def loaded(path: Path, base_link: str = '') -> Robot:
    """Return the robot of a file; say what is odd in it though it is taken."""
    description = load_description(path, base_link=base_link)
    note(*map(str, description.warnings))
    return description.robot


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Give a command that writes files the option without which it replaces none."""
    parser.add_argument('--overwrite', action='store_true', help='replace files that exist')


def check_outputs(
    written: Iterable[Path | None], read: Iterable[str | Path | None] = (), overwrite: bool = False
) -> None:
    """Refuse, before any work, files that cannot be written, exist, are read too, or are written twice.

    A device is not a file that can be lost.
    """
    taken = dict.fromkeys((Path(path).resolve() for path in read if path), 'is read')
    for path in filter(None, written):
        if path.exists() and not path.is_file() and not path.is_dir():
            continue
        if why := taken.get(path.resolve()):
            raise ArgumentError(f'{path}: {why}, must be another file to be written')
        taken[path.resolve()] = 'is written already'
        _check_writable(path)
        if path.exists() and not overwrite:
            raise ArgumentError(f'{path}: exists, must be a new file; name another one, or replace it by --overwrite')


def _check_writable(path: Path) -> None:
    """Refuse a file that cannot be written: a folder, one in no folder, or in one that is closed to this user."""
    folder = path.resolve().parent
    if path.is_dir():
        raise ArgumentError(f'{path}: is a folder, must be a file')
    if not folder.is_dir():
        raise ArgumentError(f'{path.parent}: no such folder; must be there to write into')
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ArgumentError(f'{path}: cannot be written, {error.strerror}; name a file elsewhere') from None


class ShowProgress(Protocol):
    """A function that changes a progress bar."""

    def __call__(self, text: str, done: float | None = None) -> None:
        """Show a text, and how much of the total is done."""


@contextmanager
def progress_bar(text: str, total: float | None = None) -> Iterator[ShowProgress]:
    """Draw a bar at the bottom of standard error while the block runs, if that is a terminal.

    Without a total, the bar only shows that work goes on, and for how long it has.
    """
    if not sys.stderr.isatty():
        yield lambda text, done=None: None
        return
    time = rich_progress.TimeRemainingColumn() if total else rich_progress.TimeElapsedColumn()
    name = rich_progress.TextColumn('{task.description}', markup=False)
    columns = (name, rich_progress.BarColumn(), rich_progress.TaskProgressColumn(), time)
    console, results_too = rich_console.Console(stderr=True), sys.stdout.isatty()  # else results stay in their file
    with rich_progress.Progress(*columns, console=console, transient=True, redirect_stdout=results_too) as bar:
        task = bar.add_task(shown(text), total=total)
        yield lambda text, done=None: bar.update(task, description=shown(text), completed=done)


def say(*lines: object, end: str = '\n', flush: bool = False) -> None:
    """Print lines to standard output; what a terminal would obey in names from files is escaped."""
    print('\n'.join(map(shown_lines, lines)), end=end, flush=flush)


def say_error(*lines: object) -> None:
    """Print lines to standard error in the same way."""
    print('\n'.join(map(shown_lines, lines)), file=sys.stderr)


def note(*lines: str) -> None:
    """Say what is odd though it is taken."""
    for line in lines[:MAX_LISTED]:
        say_error(f'note: {line}')


def note_friction(robot: Robot) -> None:
    """Say so if a robot's friction is more than eq. (17), which is all that formulas and exports have."""
    if robot.friction_beyond_report:
        joints = ', '.join(robot.friction_beyond_report)
        note(f'friction here is eq. (17) alone, which is NOT all of it for {joints}')


class LiveLines:
    """A block of lines below all that is printed while the block runs; nothing where no terminal is."""

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
        """Draw the lines in the place of those before."""
        if self._live:
            text = rich_text.Text('\n'.join(map(shown_lines, lines)), no_wrap=True, overflow='ellipsis')
            self._live.update(text, refresh=True)


class Keys:
    """What a person types: answers, and any key to stop. Use it in a `with`: keys then need no Enter."""

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
        """Ask; tell whether the answer is Enter. Keys from before the question do not count on a terminal."""
        self._ask(f'{question} [Enter: yes, any other key: no]')
        return self._read() in (b'\n', b'\r')

    def pressed(self) -> bool:
        """Tell whether a key was pressed; a closed input has none."""
        return self._open and bool(select.select([self._input], [], [], 0)[0]) and bool(self._read())

    def _read(self) -> bytes:
        key = os.read(self._input, 1)
        self._open = bool(key)
        return key

    def yes(self, question: str) -> bool:
        """Ask until the answer is y or n; a closed input says no."""
        while True:
            self._ask(f'{question} [y/n]')
            key = self._read().lower()
            if key in (b'y', b'n', b''):
                self._end_line(key)
                return key == b'y'

    def line(self, question: str) -> str:
        """Ask for a line of text; a closed input gives an empty one."""
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
        """Tell whether to stop: a key was pressed, or the input has ended, so that none can be pressed."""
        return self.pressed() or self.closed

    @property
    def closed(self) -> bool:
        """Whether the input has ended: nothing can be asked or stopped any more."""
        return not self._open

    def _ask(self, question: str) -> None:
        if self._before is not None:
            termios.tcflush(self._input, termios.TCIFLUSH)
        say(question, end=' ' if self._before is not None else '\n', flush=True)

    def _end_line(self, key: bytes) -> None:
        """Show a key on a terminal; elsewhere drop what follows it on its line."""
        if self._before is not None:
            say(key.decode())
        while self._before is None and self._open and self._read() not in (b'\n', b''):
            pass


def guarded(command: Callable[[], int]) -> int:
    """Run a command; print our own errors, and return its exit code: 0 done, 1 no, 2 not understood."""
    try:
        with np.errstate(all='ignore'):  # numbers that no robot has are refused where they are looked at
            code = command()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # who reads has seen enough
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
