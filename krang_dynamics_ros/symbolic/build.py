"""A robot's exported C, built once for this machine and loaded.

The libraries are kept in `krang_dynamics_ros` under $XDG_CACHE_HOME (~/.cache), named by the digest of all that went
into them: one of other numbers has another name, and says inside which it is.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
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
    compiler = shlex.split(os.environ.get('CC', 'cc'))
    digest = hashlib.sha256('\0'.join([*files.values(), *compiler, *FLAGS]).encode()).hexdigest()
    path = _cache() / f'{name}_{digest[:20]}.so'
    try:
        if not path.exists():
            _build(files, [f'{name}.c', 'calls.c'], compiler, path)
        library = ctypes.PyDLL(str(path))  # the calls take a microsecond: not worth giving the interpreter away for
        identity = getattr(library, f'{name}_identity')
        identity.restype = ctypes.c_char_p
        if f'"{identity().decode()}"' not in files[f'{name}.c']:
            raise BuildError(f'{path}: has the functions of another robot; delete it')
    except (OSError, AttributeError) as error:
        raise BuildError(f'{path}: {error}; must be a library that can be written and loaded') from None
    return library


def _calls(symbols: Symbols, name: str) -> str:
    """Return C that calls each function on places of one array: ctypes is quicker with one pointer than with four."""
    start = {x: place.start for x, place in places(symbols).items()}
    calls = [
        f'void call_{quantity}(double *w) {{ {name}_{quantity}('
        f'{", ".join(f"w + {start[x]}" for x in (*what.inputs, "output"))}); }}'
        for quantity, what in QUANTITIES.items()
    ]
    prototypes = [f'void call_{quantity}(double *w);' for quantity in QUANTITIES]
    return '\n'.join([f'#include "{name}.h"', *prototypes, *calls, ''])


def _cache() -> Path:
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'krang_dynamics_ros'


def _build(files: dict[str, str], sources: list[str], compiler: list[str], path: Path) -> None:
    """Compile, and put the library in its place whole or not at all."""
    if not compiler or not shutil.which(compiler[0]):
        raise MissingError(f"C compiler '{' '.join(compiler)}'", 'backend compiled', 'install gcc, or name yours in CC')
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding='utf-8')
        command = [*compiler, *FLAGS, *sources, '-lm', '-o', path.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise BuildError(f'{" ".join(command)}: exit code {done.returncode}\n{done.stderr[:2000]}'.rstrip())
        (Path(folder) / path.name).replace(path)
