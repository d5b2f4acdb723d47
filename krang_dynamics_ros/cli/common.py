"""What the commands share: the robot file argument, what stands on a terminal, errors as one message."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from ..core.errors import MOST, ArgumentError, KrangDynamicsError
from ..core.share import krang_file
from ..core.text import shown, shown_lines
from ..robot.robot import Robot
from ..robot.robot_file import load_description


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


def refuse_overwriting(written: Iterable[Path | None], read: Iterable[str | Path | None]) -> None:
    """Refuse a file to be written that is read too, or written twice: before any work. A device is no file."""
    taken = dict.fromkeys((Path(path).resolve() for path in read if path), 'is read')
    for path in (path for path in written if path and (path.is_file() or not path.exists())):
        if why := taken.get(path.resolve()):
            raise ArgumentError(f'{path}: {why}, must be another file to be written')
        taken[path.resolve()] = 'is written already'


def show_progress(what: str) -> None:
    """Show the name of the thing at work, in the place of the one before; on a terminal only."""
    if sys.stderr.isatty():
        print(f'\r\033[K{shown(what)}', end='', file=sys.stderr, flush=True)


def say(*lines: object, end: str = '\n', flush: bool = False) -> None:
    """Print lines to standard output; what a terminal would obey in names from files is escaped."""
    print('\n'.join(map(shown_lines, lines)), end=end, flush=flush)


def say_error(*lines: object) -> None:
    """Print lines to standard error in the same way."""
    print('\n'.join(map(shown_lines, lines)), file=sys.stderr)


def note(*lines: str) -> None:
    """Say what is odd though it is taken."""
    for line in lines[:MOST]:
        say_error(f'note: {line}')


def note_friction(robot: Robot) -> None:
    """Say so if a robot's friction is more than eq. (17), which is all that formulas and exports have."""
    if robot.friction_beyond_report:
        joints = ', '.join(robot.friction_beyond_report)
        note(f'friction here is eq. (17) alone, which is NOT all of it for {joints}')


class LiveLines:
    """A block of lines at the bottom of what was printed; nothing where nobody watches."""

    def __init__(self) -> None:
        self.watched = sys.stdout.isatty()
        self._height = 0

    def show(self, lines: Sequence[str]) -> None:
        """Draw the lines in the place of those before."""
        if not self.watched:
            return
        columns, rows = shutil.get_terminal_size()
        cut = [shown(line, columns - 1) for line in lines[: rows - 1]]
        back = f'\033[{self._height}A' if self._height else ''
        print(back + '\033[J' + '\n'.join(cut), flush=True)
        self._height = len(cut)


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
