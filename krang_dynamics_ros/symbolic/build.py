"""A robot's exported C, built once for this machine and loaded.

The libraries are kept in `krang_dynamics_ros` under $XDG_CACHE_HOME (~/.cache), named by two digests: of all that went
into them, so that other numbers have another name, and of the file itself, so that a damaged one is known before it is
loaded (a truncated one would end the process), and is built anew.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from itertools import accumulate
from pathlib import Path

from ..core.errors import BuildError, MissingError
from .export_c import c_files
from .expressions import QUANTITIES, Symbols, identifier

FLAGS = ('-std=c99', '-O2', '-shared', '-fPIC')


def places(symbols: Symbols) -> dict[str, slice]:
    """Return where in the one array the arguments stand, and the output behind them."""
    sizes = {x: getattr(symbols, x).numel() for x in ('q', 'dq', 'f', 'p')} | {'output': symbols.robot.n**2}
    ends = accumulate(sizes.values())
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def load_library(symbols: Symbols) -> ctypes.PyDLL:
    """Return the library of a robot's functions, built now if it is not there yet (a few seconds)."""
    name = identifier(symbols.robot.name)
    files = dict(c_files(symbols, name)) | {'calls.c': _calls(symbols, name)}
    compiler = _compiler()
    stem = f'{name}_{_digest(chr(0).join([*files.values(), *compiler, *FLAGS, platform.machine()]).encode())}'
    try:
        path = _kept(stem) or _build(files, [f'{name}.c', 'calls.c'], compiler, stem)
        library = ctypes.PyDLL(str(path))  # the calls take a microsecond: not worth giving the interpreter away for
        identity = getattr(library, f'{name}_identity')
        identity.restype = ctypes.c_char_p
        if f'"{identity().decode()}"' not in files[f'{name}.c']:
            raise BuildError(f'{path}: has the functions of another robot; delete it')
    except (OSError, AttributeError) as error:
        raise BuildError(f'{_cache() / stem}: {error}; must be a library that can be written and loaded') from None
    return library


def _compiler() -> list[str]:
    command = os.environ.get('CC', 'cc')
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BuildError(f"CC: '{command}', {error}; must be a command, such as gcc") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]


def _kept(stem: str) -> Path | None:
    """Return the library that was built before, if it is still what it was; remove a damaged one."""
    for path in sorted(_cache().glob(f'{stem}_*.so')):
        if path.stem == f'{stem}_{_digest(path.read_bytes())}':
            return path
        path.unlink(missing_ok=True)
    return None


def _calls(symbols: Symbols, name: str) -> str:
    """Return C that calls each function on places of one array, and C that calls it for many states in a row.

    ctypes is quicker with one pointer than with four; and a loop is quicker in C.
    """
    place = places(symbols)
    calls, prototypes = [], []
    for quantity, what in QUANTITIES.items():
        here = [f'w + {place[x].start}' for x in (*what.inputs, 'output')]
        size = symbols.robot.n ** (2 if quantity in ('A', 'C') else 1)
        steps = {x: place[x].stop - place[x].start for x in what.inputs if x != 'p'} | {'output': size}
        rows = [f'{x} + {steps[x]} * i' if x in steps else f'w + {place[x].start}' for x in (*what.inputs, 'output')]
        given = ', '.join([f'const double *{x}' for x in what.inputs if x != 'p'] + ['double *output'])
        heads = (f'void call_{quantity}(double *w)', f'void many_{quantity}(long m, const double *w, {given})')
        prototypes += [f'{head};' for head in heads]
        calls += [
            f'{heads[0]} {{ {name}_{quantity}({", ".join(here)}); }}',
            f'{heads[1]} {{ for (long i = 0; i < m; ++i) {name}_{quantity}({", ".join(rows)}); }}',
        ]
    return '\n'.join([f'#include "{name}.h"', *prototypes, *calls, ''])


def _cache() -> Path:
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'krang_dynamics_ros'


def _build(files: dict[str, str], sources: list[str], compiler: list[str], stem: str) -> Path:
    """Compile, and put the library in its place whole or not at all."""
    if not compiler or not shutil.which(compiler[0]):
        raise MissingError(f"C compiler '{' '.join(compiler)}'", 'backend compiled', 'install gcc, or name yours in CC')
    _cache().mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=_cache()) as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding='utf-8')
        built = Path(folder) / f'{stem}.so'
        command = [*compiler, *FLAGS, *sources, '-lm', '-o', built.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode or not built.exists():
            raise BuildError(f'{" ".join(command)}: exit code {done.returncode}\n{done.stderr[:2000]}'.rstrip())
        return built.replace(_cache() / f'{stem}_{_digest(built.read_bytes())}.so')
