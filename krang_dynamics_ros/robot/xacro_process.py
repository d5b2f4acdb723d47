"""Expansion of xacro files, in a process of its own.

A xacro file is a program: it evaluates expressions, includes other files, reads the environment and any YAML file that
this user can read. So it gets a process with limits of time, memory and output, and nothing from the standard input.
The limits bound what a faulty file costs; they do not make a foreign file trustworthy.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from ..core.errors import Fault, MissingError, RobotError
from .xml_reading import LARGEST

TIME_LIMIT = 20.0  # s; the largest robots take two
MEMORY_LIMIT = 1_000_000_000  # bytes of address space; Python itself takes a tenth
_CHARACTERS = 500  # of an error
_BY_HAND = 'run it yourself if you trust it: xacro FILE > robot.urdf, and name that file'
_OUT_OF_MEMORY, _FAILED = 3, 4
# The folder the program was started in is taken off the path: no file there shall be imported in the place of xacro.
_PROGRAM = f"""
import resource, sys
sys.path[:] = [entry for entry in sys.path if entry]
path, memory, output, seconds = sys.argv[1], *map(int, sys.argv[2:])
for limit, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, output), (resource.RLIMIT_CPU, seconds)):
    resource.setrlimit(limit, (value, value))
try:
    import xacro
    text = xacro.process_file(path).toxml().encode()
    if len(text) > output:
        raise ValueError(f'makes {{len(text)}} bytes, must be at most {{output}}')
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
except BaseException as error:
    cause = error
    while cause is not None:  # xacro wraps what it meets
        if isinstance(cause, MemoryError):
            sys.exit({_OUT_OF_MEMORY})
        cause = cause.__cause__ or cause.__context__
    sys.stderr.write('\\0' + ' '.join((str(error) or type(error).__name__).split()))
    sys.exit({_FAILED})
"""


def expanded(path: str | Path, time_limit: float = TIME_LIMIT) -> str:
    """Return the URDF that a xacro file makes with the defaults of its arguments, or raise `RobotError`."""
    if importlib.util.find_spec('xacro') is None:
        raise MissingError('xacro', 'a .xacro file', 'pip install xacro')
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # files: the limit of their size holds there
        code = _run(path, out, err, time_limit)
        if code is None:
            raise _refused(path, f'takes more than {time_limit:g} s', f'must end within that; {_BY_HAND}')
        if code == _OUT_OF_MEMORY:
            megabytes = f'{MEMORY_LIMIT / 1e6:g} MB'
            raise _refused(path, f'takes more than {megabytes}', f'must need less memory; {_BY_HAND}')
        if code:
            raise _failed(path, code, _text(err))
        return _text(out)


def _run(path: str | Path, out: IO[bytes], err: IO[bytes], time_limit: float) -> int | None:
    """Run xacro; return the exit code, or None if it was ended because it took too long."""
    words = [str(path), str(MEMORY_LIMIT), str(4 * LARGEST), str(int(time_limit) + 1)]  # 4 bytes at most a character
    process = subprocess.Popen(  # noqa: S603 (this interpreter, and a program of ours)
        [sys.executable, '-B', '-c', _PROGRAM, *words],
        stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(time_limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own group: what it may have started ends with it
        process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors='replace')


def _failed(path: str | Path, code: int, said: str) -> RobotError:
    why = said.rpartition('\0')[2].strip()[-_CHARACTERS:] or f'ended with code {code}'
    return _refused(path, why, 'must be expanded by xacro; to give it arguments: xacro FILE name:=value > robot.urdf')


def _refused(path: str | Path, value: str, allowed: str) -> RobotError:
    return RobotError(str(path), [Fault('xacro', value, allowed)])
