"""Text of robot files: bounded size, declared encoding, xacro expanded in a separate process."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from ..core.errors import Fault, MissingError, RobotError, did_you_mean
from ..core.files import named_robots
from .xml_reading import MAX_CHARS

_ENCODING = re.compile(rb'^\s*<\?xml[^>]*\bencoding\s*=\s*["\']([A-Za-z0-9._-]+)["\']')


def text_of(path: str | Path) -> str:
    """Return the text of a file, or raise `RobotError` if it cannot be read."""
    try:
        with Path(path).open('rb') as file:
            content = file.read(MAX_CHARS + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        shipped = named_robots()
        allowed = 'must be a readable robot file, URDF or xacro, or the name of a robot of the package; '
        allowed += f'{did_you_mean(str(path), shipped)}known names: {", ".join(shipped)}'
        raise _refused(path, 'file', str(error), allowed) from None
    if len(content) > MAX_CHARS:
        raise _refused(path, 'size', f'more than {MAX_CHARS} bytes', f'must be at most {MAX_CHARS}')
    return expanded(path) if Path(path).suffix == '.xacro' else _decoded(path, content)


def exists(path: str | Path) -> bool:
    """Return whether a file exists; False also for a name that is too long or has a zero byte."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def is_xml(text: str) -> bool:
    """Return whether a text is XML: a URDF."""
    return text.lstrip('\ufeff \t\r\n').startswith('<')


def _decoded(path: str | Path, content: bytes) -> str:
    declared = _ENCODING.match(content)
    encoding = declared.group(1).decode() if declared else 'utf-8'
    try:
        return content.decode('utf-8-sig' if encoding.lower() in ('utf-8', 'utf8') else encoding)
    except (UnicodeError, LookupError) as error:
        allowed = 'must be text in UTF-8, or in the encoding that its XML names'
        raise _refused(path, 'file', str(error)[:200], allowed) from None


def _refused(path: str | Path, where: str, value: str, allowed: str) -> RobotError:
    return RobotError(str(path), [Fault(where, value, allowed)])


TIME_LIMIT = 20.0  # s; the largest robots need two
MEMORY_LIMIT = 1_000_000_000  # bytes of address space; Python itself needs a tenth
_MAX_ERROR_CHARS = 500
_BY_HAND = 'run it yourself if you trust it: xacro FILE > robot.urdf, and name that file'
_OUT_OF_MEMORY, _FAILED = 3, 4
# The current folder is removed from the path, so that a file there is not imported instead of xacro.
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
    while cause is not None:  # xacro wraps errors
        if isinstance(cause, MemoryError):
            sys.exit({_OUT_OF_MEMORY})
        cause = cause.__cause__ or cause.__context__
    sys.stderr.write('\\0' + ' '.join((str(error) or type(error).__name__).split()))
    sys.exit({_FAILED})
"""


def expanded(path: str | Path, time_limit: float = TIME_LIMIT) -> str:
    """Return the URDF of a xacro file with the defaults of its arguments, or raise `RobotError`."""
    if importlib.util.find_spec('xacro') is None:
        raise MissingError('xacro', 'a .xacro file', 'pip install xacro')
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # files: RLIMIT_FSIZE limits their size
        code = _run(path, out, err, time_limit)
        if code is None:
            raise _not_expanded(path, f'needs more than {time_limit:g} s', f'must end earlier; {_BY_HAND}')
        if code == _OUT_OF_MEMORY:
            megabytes = f'{MEMORY_LIMIT / 1e6:g} MB'
            raise _not_expanded(path, f'needs more than {megabytes}', f'must need less memory; {_BY_HAND}')
        if code:
            raise _failed(path, code, _text(err))
        return _text(out)


def _run(path: str | Path, out: IO[bytes], err: IO[bytes], time_limit: float) -> int | None:
    """Run xacro; return the exit code, or None after a timeout."""
    words = [str(path), str(MEMORY_LIMIT), str(4 * MAX_CHARS), str(int(time_limit) + 1)]  # 4 bytes a character
    process = subprocess.Popen(  # noqa: S603 (this interpreter, and our own program)
        [sys.executable, '-B', '-c', _PROGRAM, *words],
        stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(time_limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its process group: its children end too
        process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors='replace')


def _failed(path: str | Path, code: int, stderr: str) -> RobotError:
    why = stderr.rpartition('\0')[2].strip()[-_MAX_ERROR_CHARS:] or f'ended with code {code}'
    return _not_expanded(
        path, why, 'must be a file that xacro can expand; to give it arguments: xacro FILE name:=value > robot.urdf'
    )


def _not_expanded(path: str | Path, value: str, allowed: str) -> RobotError:
    return RobotError(str(path), [Fault('xacro', value, allowed)])
