"""The commands of `krang` for tests: within the test's process, or in a process of their own, which takes longer."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from krang_dynamics_ros.__main__ import NODES, main

from .robots import ROOT

Done = subprocess.CompletedProcess[str]


class _Text(io.TextIOWrapper):
    """A file of text in memory. Unlike `io.StringIO` it has an encoding, which decides how formulas are printed."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding='utf-8', write_through=True)

    @property
    def text(self) -> str:
        return self._bytes.getvalue().decode()


def run(*words: object, cwd: Path = ROOT) -> Done:
    """Run a command within this process, with `cwd` as working folder; return its exit code and what it printed."""
    line = [str(word) for word in words]
    assert not NODES.keys() & set(line[:1]), 'a node changes the signals of its process: use run_process'
    out, err, before = _Text(), _Text(), Path.cwd()
    os.chdir(cwd)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = _code(line)
    finally:
        os.chdir(before)
    return Done(line, code, out.text, err.text)


def _code(line: list[str]) -> int:
    try:
        return main(line)
    except SystemExit as end:  # of argparse
        assert isinstance(end.code, int)
        return end.code


def run_process(*words: object, cwd: Path = ROOT) -> Done:
    """Run a command in a process of its own, as a user does."""
    line = [sys.executable, '-m', 'krang_dynamics_ros', *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, timeout=900, check=False)
