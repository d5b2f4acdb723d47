"""Compilation of a robot's exported C into a shared library, cached per user.

The libraries are in `krang_dynamics_ros` under $XDG_CACHE_HOME (~/.cache). Two digests name each library: of its inputs
(the robot's numbers, our own sources, the compiler) and of the file itself. A cached library is loaded without
deriving anything.

A library runs with the user's rights as soon as it is loaded. So only the user may have access to both folders, and the
SHA-256 of the library is compared before loading with the digest that was stored at build time, in `krang_dynamics_ros`
under $XDG_STATE_HOME (~/.local/state). A library that is damaged (a truncated file would end the process), foreign or
without a stored digest is removed and built again.
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
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import BuildError, MissingError
from ..core.files import private_folder, write_whole
from ..robot.robot import Robot
from .c_wrappers import call_wrappers
from .export_c import c_files
from .expressions import Symbols, identifier

FLAGS = ('-std=c99', '-O2', '-shared', '-fPIC')
FOLDER = 'krang_dynamics_ros'
SOURCES = ('core', 'robot', 'effects', 'equations', 'symbolic')  # folders whose modules determine the C


def load_library(robot: Robot) -> ctypes.PyDLL:
    """Return the library of a robot's functions; build it (a few seconds) if it is not cached."""
    compiler = _compiler()
    identity = _digest('\0'.join([fingerprint(robot), _sources(), *compiler, *FLAGS, platform.machine()]).encode())
    stem = f'{identifier(robot.name)}_{identity}'
    try:
        path = _cached(stem) or _build(robot, compiler, stem)
        library = ctypes.PyDLL(str(path))  # keeps the GIL: a call takes a microsecond
        library.built_from.restype = ctypes.c_char_p
        if library.built_from().decode() != identity:
            raise BuildError(f'{path}: has the functions of another robot; delete it')
    except (OSError, AttributeError) as error:
        raise BuildError(f'{stem}: {error}; must be a library that can be written and loaded') from None
    return library


def fingerprint(part: Any) -> str:
    """Return a robot's data as text; two robots share it only if they are equal to the last bit."""
    if isinstance(part, np.ndarray):
        return f'array{part.shape}:{part.tobytes().hex()}'
    if is_dataclass(part):
        return f'{type(part).__name__}({",".join(fingerprint(getattr(part, field.name)) for field in fields(part))})'
    if isinstance(part, dict):
        return f'{{{",".join(f"{key!r}:{fingerprint(value)}" for key, value in part.items())}}}'
    if isinstance(part, tuple):
        return f'({",".join(map(fingerprint, part))})'
    return repr(part)


@cache
def _sources() -> str:
    """Return a digest of the modules that derive the equations and write the C."""
    package = Path(__file__).parents[1]
    files = (path for folder in SOURCES for path in sorted((package / folder).glob('*.py')))
    return _digest(b'\0'.join(path.read_bytes() for path in files))


def _compiler() -> list[str]:
    command = os.environ.get('CC', 'cc')
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BuildError(f"CC: '{command}', {error}; must be a command, such as gcc") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]


def _cached(stem: str) -> Path | None:
    """Return the cached library if it matches its stored digest; remove any other."""
    for path in sorted(_cache().glob(f'{stem}_*.so')):
        stored = _digest_file(path)
        if stored.is_file() and stored.read_text(encoding='utf-8') == hashlib.sha256(path.read_bytes()).hexdigest():
            return path
        path.unlink(missing_ok=True)
        stored.unlink(missing_ok=True)
    return None


def _cache() -> Path:
    """Return the folder of the libraries."""
    return private_folder('XDG_CACHE_HOME', '.cache', FOLDER)


def _digest_file(library: Path) -> Path:
    """Return the file with a library's SHA-256; its name depends on the cache folder too."""
    folder = private_folder('XDG_STATE_HOME', '.local/state', FOLDER)
    return folder / f'{library.stem}_{_digest(bytes(library.parent))}.sha256'


def _build(robot: Robot, compiler: list[str], stem: str) -> Path:
    """Derive the C, compile it, and move the library into the cache atomically."""
    if not compiler or not shutil.which(compiler[0]):
        raise MissingError(f"C compiler '{' '.join(compiler)}'", 'backend compiled', 'install gcc, or name yours in CC')
    symbols, name = Symbols(robot), identifier(robot.name)
    files = dict(c_files(symbols, name)) | {'call_wrappers.c': call_wrappers(symbols, stem.rpartition('_')[2])}
    cache_folder = _cache()
    with tempfile.TemporaryDirectory(dir=cache_folder) as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text, encoding='utf-8')
        built = Path(folder) / f'{stem}.so'
        command = [*compiler, *FLAGS, f'{name}.c', 'call_wrappers.c', '-lm', '-o', built.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode or not built.exists():
            raise BuildError(f'{" ".join(command)}: exit code {done.returncode}\n{done.stderr[:2000]}'.rstrip())
        content = built.read_bytes()
        library = cache_folder / f'{stem}_{_digest(content)}.so'
        # the digest first: a library without it is removed
        write_whole(_digest_file(library), hashlib.sha256(content).hexdigest())
        return built.replace(library)
